"""Events, maps, tabulated inputs and joint forces of an exported run: those of simulate."""

import ctypes

import numpy as np
import pytest
from c_library import Instance, Library, needs_compiler

from holonomic import (
    BDF,
    DOP853,
    GGL,
    RK4,
    BackwardEuler,
    Dae,
    Event,
    GaussLegendre4,
    ImplicitMidpoint,
    Index1,
    Index2,
    Projection,
    Radau,
    Stepper,
    System,
    Trapezoidal,
    export,
    simulate,
)
from holonomic.multibody import Mechanism, rod

pytestmark = needs_compiler
EXPLICIT = {"integrator": DOP853(), "stabilization": Projection()}
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


def pendulum():
    return System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1.0}, params={"e": 0.9})


def driven():
    tables = {"push": ([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, -1.0, 0.5], "hold"), "ramp": ([0.5, 2.5], [0.0, 1.0]), "own": 0.0}
    return System(mass=np.eye(1), force=lambda q, u: -q + u.push + u.ramp + u.own, inputs=tables)


BOUNCE = Event(lambda q: q[0] + 0.5, direction="falling", then=lambda q, v, p: (q, -p.e * v))
MOVE = Event(lambda q, u: q[0] - 0.3 * u.push - 0.2, direction="falling", then=lambda q, v: (q + 0.5, v))


def compared(system, t_end, folder, **options):
    """An instance and a run at their ends, whose states, steps and events are the same bits."""
    m, sol = Instance(Library(export(system, t_end, **options, folder=folder))), simulate(system, t_end, **options)
    status = m.step_to(t_end)
    assert m.time() == sol.t[-1] and m.steps() == sol.stats["steps"]
    assert (m.numbers("q", sol.q.shape[1]) == sol.q[-1]).all() and (m.numbers("v", sol.v.shape[1]) == sol.v[-1]).all()
    times, which = m.happened()
    for k, name in enumerate(options["events"]):
        assert (times[which == k] == sol.events[name].t).all()
        assert m.event_count(k) == len(sol.events[name].t)
    return m, sol, status


@pytest.mark.parametrize(
    "methods",
    [
        EXPLICIT,
        pytest.param({"integrator": RK4(), "step": 0.01}, marks=pytest.mark.slow),
        pytest.param({"integrator": Radau(), "formulation": GGL()}, marks=pytest.mark.slow),
        pytest.param({"integrator": BDF(), "formulation": Index2()}, marks=pytest.mark.slow),
    ],
    ids=["DOP853", "RK4", "Radau", "BDF"],
)
def test_a_map_on_constraints_gives_the_bits_of_simulate(methods, tmp_path):
    events = {"wall": BOUNCE, "bottom": lambda q: q[0], "slack": lambda lam: lam[0] - 5.0}
    m, sol, status = compared(pendulum(), 5.0, tmp_path, **START, **methods, events=events)
    assert status == 0 and len(sol.events["wall"].t) == 4
    assert m.position_drift() < 1e-10
    assert m.step_to(5.01) == 0 and len(m.happened()[0]) == 0


def test_jumps_of_inputs_and_events_on_accelerations_give_the_bits_of_simulate(tmp_path):
    options = {"q0": [1.0], "v0": [0.0], "integrator": DOP853(), "events": {"turn": Event(lambda a: a[0]), "move": MOVE}}
    m, sol, status = compared(driven(), 5.0, tmp_path, **options)
    assert status == 0 and len(sol.events["move"].t) > 0 and len(sol.events["turn"].t) > 2
    assert m.begin() == 0  # a start is made again with its tables
    assert m.step_to(5.0) == 0 and (m.numbers("q", 1) == sol.q[-1]).all()
    header = next(tmp_path.glob("*.h")).read_text()
    assert "_U_OWN" in header and "_U_PUSH" not in header  # what follows a table is not set


def test_a_terminal_event_ends_a_call_and_the_next_goes_on(tmp_path):
    events = {"stop": Event(lambda q: q[0] + 0.5, terminal=True)}
    m, sol, status = compared(pendulum(), 5.0, tmp_path, **START, **EXPLICIT, events=events)
    assert b"terminal event" in m.library.text(status) and sol.ended == "stop"
    assert m.step_to(m.time() + 0.01) == 0
    room = ctypes.create_string_buffer(m.library.size())
    m.save(room)
    there = [m.step_to(5.0), m.time()]
    m.restore(room)
    assert there == [m.step_to(5.0), m.time()] and there[1] < 5.0


def test_steps_over_events_are_those_of_a_stepper(tmp_path):
    options = {**START, "integrator": RK4(), "stabilization": Projection(), "step": 0.004, "events": {"wall": BOUNCE}}
    m, stepper = Instance(Library(export(pendulum(), 5.0, **options, folder=tmp_path))), Stepper(pendulum(), **options)
    for k in range(1, 101):
        names = stepper.step(0.05 * k - stepper.t)
        assert m.step_to(stepper.t) == 0
        assert len(m.happened()[0]) == len(names)
    assert (m.numbers("q", 2) == stepper.q).all() and m.event_count(0) == 4 and m.event_count(1) == -1


@pytest.mark.slow
def test_impacts_that_accumulate_are_said_in_words(tmp_path):
    ball = System(mass=np.eye(1), force=[-9.81])
    floor = Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -0.5 * v))
    made = export(ball, 1.0, q0=[1.0], v0=[0.0], integrator=DOP853(), events={"floor": floor}, folder=tmp_path)
    m = Instance(Library(made))
    assert b"impacts accumulate" in m.library.text(m.step_to(5.0))


def crank():
    O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    m = Mechanism(gravity=(0, -9.81))
    turning, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    slider = m.body("slider", at=B, mass=1.0)
    m.revolute("O", m.ground, turning, at=O)
    m.revolute("A", turning, link, at=A)
    m.revolute("B", link, slider, at=B)
    m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    m.input("push", 0.0)
    m.motor("O", torque=lambda u: u.push)
    m.output("reach", lambda slider: slider.position[0])
    return m


def arm():
    m = Mechanism(gravity=(0, 0, -9.81))
    upper, fore = m.body("upper", rod((0, 0, 0), (1, 0, 0), mass=1.0)), m.body("fore", rod((1, 0, 0), (1, 1, 0), mass=1.0))
    m.revolute("hip", m.ground, upper, at=(0, 0, 0), axis=(0, 1, 0))
    m.spherical("knee", upper, fore, at=(1, 0, 0))
    return m


def coupled():
    """Two hinges and a slide of one chain, coupled: the bodies belong to both joints of each coupling."""
    m = Mechanism(gravity=(0, -9.81))
    for k in range(3):
        m.body(f"link {k}", rod((k, 0), (k + 1, 0), mass=1.0))
    m.revolute("O", m.ground, "link 0", at=(0, 0))
    m.prismatic("A", "link 0", "link 1", at=(1, 0), axis=(1, 0))
    m.revolute("B", "link 1", "link 2", at=(2, 0))
    m.couple("tie", "B", "O", ratio=0.7)
    m.couple("lift", "B", "A", ratio=-0.2)
    return m


@pytest.mark.parametrize("machine", [crank, coupled, pytest.param(arm, marks=pytest.mark.slow)])
def test_forces_of_joints_are_those_of_results(machine, tmp_path):
    mechanism = machine()
    made = export(mechanism, 1.0, **EXPLICIT, folder=tmp_path / "machine")
    m, sol = Instance(Library(made)), simulate(mechanism, 1.0, **EXPLICIT)
    assert m.step_to(1.0) == 0
    assert (m.numbers("q", sol.q.shape[1]) == sol.q[-1]).all()
    names = [name for name in ("O", "A", "B", "guide", "hip", "knee") if name in mechanism.joints]
    found = m.numbers("joint_forces", len(names) * (6 if machine is arm else 3)).reshape(len(names), -1)
    size = abs(found).max()
    for row, name in zip(found, names, strict=True):
        expected = np.concatenate([np.ravel(sol[name].force[-1]), np.ravel(sol[name].torque[-1])])
        np.testing.assert_allclose(row, expected, atol=1e-12 * size)  # rounding: the sums are made in another order
    if machine is crank:
        assert m.outputs()[0] == sol["reach"][-1]
        assert "MACHINE_J_GUIDE_FORCE_Y" in made.header.read_text()


def cranks():
    """A beam on three parallel cranks: one of them too many."""
    m = Mechanism(gravity=(2.0, -9.81))
    beam = m.body("beam", rod((0, 1), (2, 1), mass=2.0))
    for k in range(3):
        arm = m.body(f"arm {k}", rod((k, 0), (k, 1), mass=1.0))
        m.revolute(f"foot {k}", m.ground, arm, at=(k, 0))
        m.revolute(f"head {k}", arm, beam, at=(k, 1))
    return m


@pytest.mark.parametrize("redundant", ["minimum-norm", pytest.param("drop", marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore::holonomic.RedundancyWarning")
def test_redundant_rows_share_their_forces_as_results_do(redundant, tmp_path):
    options = {**EXPLICIT, "redundant": redundant}
    m, sol = Instance(Library(export(cranks(), 0.3, **options, folder=tmp_path))), simulate(cranks(), 0.3, **options)
    assert m.step_to(0.3) == 0 and (m.numbers("q", 12) == sol.q[-1]).all()
    size = abs(sol.lam[-1]).max()
    np.testing.assert_allclose(m.numbers("lambda", 12), sol.lam[-1], atol=1e-12 * size)  # two ways to the shortest
    found = m.numbers("joint_forces", 18).reshape(6, 3)[:, :2]
    wanted = [sol[name].force[-1] for k in range(3) for name in (f"foot {k}", f"head {k}")]
    np.testing.assert_allclose(found, wanted, atol=1e-12 * size)


def test_a_dae_shows_its_algebraic_unknowns(tmp_path):
    swing = Dae(f=lambda: [0.0, -9.81], B=lambda x: 2.0 * x[:, None], g=lambda x: [x @ x - 1.0], order=2)
    options = {"x0": [1.0, 0.0], "dx0": [0.0, 0.0], **EXPLICIT}
    m, sol = Instance(Library(export(swing, 1.0, **options, folder=tmp_path))), simulate(swing, 1.0, **options)
    assert m.step_to(1.0) == 0
    assert (m.numbers("q", 4) == sol.q[-1]).all() and (m.numbers("lambda", 1) == sol.lam[-1]).all()
    assert b"cannot be made consistent" in m.library.text(m.begin(0.0, [0.0, -1.0, 1.0, 0.0]))


def test_fixed_steps_cost_no_more_than_their_bound(tmp_path):
    calls = []

    def counted(q):
        calls.append(1)
        return [0.0, -9.81]

    def swing(force, **more):
        return System(mass=np.eye(2), force=force, constraint=lambda q: q @ q - 1.0, **more)

    options = {**START, "integrator": RK4(), "step": 0.01, "stabilization": Projection(max_iterations=3)}
    made = export(swing([0.0, -9.81]), 1.0, **options, folder=tmp_path)
    simulate(swing(counted, trace=False), 0.01, **options)  # what is looked at before the first step
    before = len(calls)
    calls.clear()
    simulate(swing(counted, trace=False), 1.0, **options)
    each = (len(calls) - before) / 99
    assert 4 <= each <= made.bound.evaluations == 5 and made.bound.rounds == 4
    assert made.bound.usual < made.bound.operations
    assert str(made.bound).split(", ")[0] in " ".join(made.header.read_text().replace(" * ", " ").split())
    assert export(swing([0.0, -9.81]), 1.0, **START, **EXPLICIT, folder=tmp_path).bound is None


@pytest.mark.parametrize(
    ("integrator", "formulation"), [(BackwardEuler(), GGL()), (Trapezoidal(), Index2()), (ImplicitMidpoint(), Index1())], ids=repr
)
def test_fixed_steps_of_implicit_methods_cost_no_more_than_their_bound(integrator, formulation, tmp_path):
    swing = System(mass=np.eye(2), force=[0.0, -9.81], constraint=lambda q: q @ q - 1.0)
    options = {**START, "integrator": integrator, "formulation": formulation, "step": 0.05}
    made = export(swing, 1.0, **options, folder=tmp_path / "bound")
    bound, stats = made.bound, simulate(swing, 1.0, **options).stats
    assert bound.iterations == 20 and bound.evaluations == 20 * integrator.points and bound.usual < bound.operations
    assert stats["residuals"] <= bound.iterations * stats["steps"] and stats["factorizations"] <= bound.solves * stats["steps"]
    assert str(bound) in " ".join(made.header.read_text().replace(" * ", " ").split())
    no_bound = {**options, "integrator": GaussLegendre4(), "formulation": Index1()}
    assert export(swing, 1.0, **no_bound, folder=tmp_path / "none").bound is None
