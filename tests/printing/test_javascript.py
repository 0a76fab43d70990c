"""The program of a page gives what Python gives: bit for bit with fixed steps, with step control to within rounding."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import holonomic as h
from holonomic.arguments import GivenStart
from holonomic.multibody import Mechanism, box, rod
from holonomic.printing.in_page import page_program
from holonomic.printing.javascript import Untranslatable, functions_as_javascript
from holonomic.problems import jansen, pendulum, seven_body
from holonomic.sweeping.chunk_run import run_all
from printing.played import NODE, by_node, by_python, job

node = pytest.mark.skipif(NODE is None, reason="needs node: apt-get install nodejs")
SWING = h.System(
    mass=lambda p: p.m * np.eye(2),
    force=lambda q, v, p: np.array([-0.1 * v[0], -p.m * p.g - 0.1 * v[1]]),
    constraint={"rod": lambda q, p: q @ q - p.L**2},
    params={"m": 1.0, "g": 9.81, "L": 1.0},
)
LOWEST = GivenStart(q0=[0.0, -1.0], v0=[2.0, 0.0], initial="project")
METHODS = [(h.RK4(), h.Projection()), (h.DOP853(), h.S_both2())]
MORE = [(h.Euler(), None), (h.PHEM56(), h.Projection()), (h.RK45(), h.Baumgarte(alpha=10.0))] + [(h.RK4(), each) for each in (
    None, h.Projection(at="new"), h.Projection(on="full"), h.Projection(metric="mass"), h.S_vel(), h.S_pos(), h.S_both(),
    h.S_full(), h.PostStabilization(on="cheap-full"), h.PostStabilization(freeze="inverse"), h.PostStabilization(freeze="stage"),
    h.PostStabilization(keep=3), h.InvariantStabilization(10.0), h.ForwardEulerStabilization(), h.BackwardEulerStabilization(),
)] + [(each, h.Projection()) for each in (h.Heun(), h.Midpoint(), h.RK23(), h.RK45(), h.DOP853())]  # fmt: skip


def named(methods):
    return [pytest.param(*each, id=f"{each[0]!r}+{each[1]!r}") for each in methods]


def same_bits(made) -> None:
    told, states = by_python(made)
    said, found = by_node(made)
    assert told["status"] == 1 and {name: said[name] for name in told} == told
    assert np.array_equal(states, found)


@node
@pytest.mark.parametrize(("integrator", "stabilization"), named(METHODS))
def test_with_fixed_steps_every_bit_is_that_of_python(integrator, stabilization):
    same_bits(job(SWING, 1.0, {"g": 9.81, "L": 1.0}, 21, LOWEST, integrator=integrator, stabilization=stabilization, step=0.02))


@node
@pytest.mark.slow
@pytest.mark.parametrize(("integrator", "stabilization"), named(MORE))
def test_with_fixed_steps_every_method_of_a_gpu_has_the_bits_of_python(integrator, stabilization):
    same_bits(job(SWING, 1.0, {"g": 9.81, "L": 1.0}, 21, LOWEST, integrator=integrator, stabilization=stabilization, step=0.02))


@node
def test_sines_and_cosines_have_the_bits_of_python():
    problem = seven_body()
    name = next(iter(problem.system.params))
    same_bits(job(problem, 0.003, {name: problem.system.params[name]}, 11, integrator=h.RK4(), step=1e-4))


@node
@pytest.mark.parametrize(
    ("problem", "t_end", "rtol"),
    [(pendulum(), 10.0, 1e-6), pytest.param(jansen(), 1.0, 1e-6, marks=pytest.mark.slow)],
    ids=["pendulum", "jansen"],
)
def test_with_step_control_steps_and_ends_are_those_of_the_compiled_loop(problem, t_end, rtol):
    name = next(iter(problem.system.params))
    made = job(problem, t_end, {name: problem.system.params[name]}, 21, integrator=h.DOP853(), rtol=rtol)
    compiled = run_all(made, 0, 1)
    told, states = by_node(made)
    assert (told["status"], told["accepted"] + told["rejected"]) == (1, compiled.steps[0])
    # rounding alone: pow of V8 in the step control, and products that the compiled code rounds once
    assert np.max(np.abs(states - compiled.x[0])) <= 1e-3 * rtol


@node
def test_a_moved_parameter_and_start_give_the_run_of_these_numbers():
    made = job(SWING, 2.0, {"g": 9.81, "L": 1.0}, 11, LOWEST, integrator=h.DOP853(), stabilization=h.Projection())
    told, states = by_node(made, x0=[0.0, -1.0, 3.0, 0.5], moved=[(0, 3.7), (1, 1.3)])
    sol = h.simulate(
        SWING.with_params(g=3.7, L=1.3), 2.0, q0=[0, -1], v0=[3, 0.5], initial="project", save_at=11,
        integrator=h.DOP853(), stabilization=h.Projection(),
    )  # fmt: skip
    assert told["accepted"] == sol.stats["steps"]
    assert np.max(np.abs(states - np.hstack([sol.q, sol.v]))) <= 1e-9


def slider_crank() -> Mechanism:
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    m = Mechanism(gravity=(0, -9.81))
    crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, crank, at=O)
    m.revolute("A", crank, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    return m


@node
def test_a_mechanism_with_other_lengths_is_assembled_by_the_program():
    """Its stabilization measures angles by the size of bodies, its start does not: two sets of functions."""
    names, values = ("A.x", "link.mass"), (0.32, 3.0)
    m = slider_crank()
    system, q0, v0 = m.to_system(varying=names)
    begin = GivenStart(q0=q0 + 0.05 * np.cos(np.arange(len(q0))), v0=v0, initial="project", redundant="minimum-norm")
    methods = {"integrator": h.DOP853(), "stabilization": h.Projection()}
    made = job(system, 1.0, {name: m.params[name] for name in names}, 11, begin, **methods)
    raw = np.concatenate([made.q0[0], made.v0[0]])
    own = [int(made.places[name].start) for name in names]
    places = [sorted(own).index(place) for place in own]
    told, states = by_node(made, x0=raw, moved=list(zip(places, values, strict=True)))
    runs = h.sweep(
        system, 1.0, q0=raw[:9], v0=raw[9:], params={name: [value] for name, value in zip(names, values, strict=True)}, save_at=11,
        initial="project", **methods,
    )  # fmt: skip
    assert told["accepted"] + told["rejected"] == runs.steps[0]
    assert np.max(np.abs(states[:, :9] - runs.q[0])) <= 1e-8  # a hundredth of the tolerance
    assert np.max(np.abs(states[0, :9] - runs.q[0, 0])) <= 1e-11  # the same start, to a tenth of the constraints' tolerance


@node
def test_a_start_in_space_keeps_its_unit_quaternions():
    """The invariants of the start are told to the program, as a page tells them: those of the raw start."""
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("bar", box(size=(0.4, 0.1, 0.1), mass=2.0, at=(0.2, 0, 0)))
    m.spherical("ball", m.ground, "bar", at=(0, 0, 0))
    system, q0, v0 = m.to_system(varying=("ball.x",))
    begin = GivenStart(q0=q0, v0=v0, initial="project", redundant="minimum-norm")
    methods = {"integrator": h.DOP853(), "stabilization": h.Projection()}
    made = job(system, 0.5, {"ball.x": 0.0}, 11, begin, **methods)
    raw = np.concatenate([q0, v0 + np.array([0.0, 0.0, 0.0, 3.0, 1.0, 2.0])])
    own = page_program(made).program.own
    told, states = by_node(made, x0=raw, moved=[(own.index(made.places["ball.x"].start), 0.05)])
    runs = h.sweep(system, 0.5, q0=raw[:7], v0=raw[7:], params={"ball.x": [0.05]}, save_at=11, initial="project", **methods)
    assert told["accepted"] + told["rejected"] == runs.steps[0]
    assert np.max(np.abs(states[:, :7] - runs.q[0])) <= 1e-8  # a hundredth of the tolerance
    assert np.max(np.abs(np.linalg.norm(states[:, 3:7], axis=1) - 1.0)) <= 1e-12


@node
@pytest.mark.slow
def test_events_are_found_and_end_a_run():
    events = {
        "lowest": h.Event(lambda q: q[0], direction="rising"),
        "top": h.Event(lambda v: v[1], direction="falling", terminal=True),
    }
    made = job(SWING, 5.0, {"g": 9.81}, 11, LOWEST, integrator=h.DOP853(), events=events)
    compiled = run_all(made, 0, 1)
    told, _ = by_node(made)
    assert told["status"] == compiled.status[0] and told["event"] == compiled.ended[0] == 1
    assert told["t"] == pytest.approx(compiled.reached[0], abs=1e-12)
    assert [which for which, _ in told["events"]] == compiled.events.which.tolist()


@pytest.mark.parametrize(
    ("python", "told"),
    [
        ("def f(x):\n    return x[-1]", r"x\[-1\]"),
        ("def f(x):\n    return x[1:]", r"x\[1:\]"),
        ("def f(x):\n    return math.erf(x)", "math.erf"),
        ("def f(n):\n    for i in range(n):\n        pass\n    return i", "f reads 'i' after its loop"),
    ],
    ids=["negative", "slice", "erf", "counter"],
)
def test_what_has_no_javascript_is_refused_by_name(python, told):
    with pytest.raises(Untranslatable, match=told):
        functions_as_javascript(ast.parse(python).body)
