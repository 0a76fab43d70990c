"""What may differ between members: inputs, events on the way, starts to be assembled, redundant rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import holonomic as h
from holonomic import BadArgument, Event, System, simulate, sweep
from holonomic.multibody import Mechanism, rod
from holonomic.problems import rapid_pair, seven_body


@pytest.fixture(scope="module")
def pushed():
    """A pendulum pushed by a force, given as a table or as a number."""
    return System(
        mass=np.eye(2), force=lambda q, u: np.array([u.push, -9.81 + u.lift]), constraint={"rod": lambda q: q @ q - 1},
        inputs={"push": (np.array([0.0, 1.0]), np.array([0.0, 0.0])), "lift": 0.0},
        outputs={"power": lambda v, u: u.push * v[0]},
    )  # fmt: skip


def with_inputs(system, **inputs):
    return replace(system, inputs={**system.inputs, **inputs})


START = {"q0": [0.0, -1.0], "v0": [0.0, 0.0]}
TIMES = np.linspace(0.0, 2.0, 6)


@pytest.mark.parametrize("methods", [{}, {"integrator": h.RK4(), "step": 0.03}, {"integrator": h.BDF()}], ids=repr)
def test_tabulated_inputs_of_members_give_what_single_runs_give(pushed, methods):
    values = np.random.default_rng(1).normal(size=(3, len(TIMES)))
    lifts = np.array([0.0, 2.0, -1.0])
    runs = sweep(pushed, 1.7, **START, inputs={"push": (TIMES, values), "lift": lifts}, save_at=9, **methods)
    for m in range(3):
        alone = simulate(with_inputs(pushed, push=(TIMES, values[m]), lift=lifts[m]), 1.7, **START, save_at=9, **methods)
        assert np.array_equal(alone.q, runs.q[m])
        assert np.array_equal(alone["power"], runs["power"][m])


def test_tabulated_inputs_backward_in_time(pushed):
    values = np.random.default_rng(2).normal(size=(2, len(TIMES)))
    runs = sweep(pushed, (1.7, 0.0), **START, inputs={"push": (TIMES, values)}, save_at=9)
    alone = simulate(with_inputs(pushed, push=(TIMES, values[1])), (1.7, 0.0), **START, save_at=9)
    assert np.array_equal(alone.q, runs.q[1])


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"pull": [1.0, 2.0]}, "no such input; known: push, lift"),
        ({"lift": [1.0, np.nan]}, "not finite everywhere .member 1."),
        ({"push": (TIMES, np.zeros((2, 3)))}, "6 times go with values of shape .members, 6., got .2, 3."),
        ({"push": (TIMES, np.zeros((2, 6))), "lift": [1.0]}, "equal length, got push 2, lift 1"),
        ({"lift": np.zeros((2, 2))}, "one number per member"),
    ],
)
def test_bad_inputs_are_named(pushed, inputs, text):
    with pytest.raises(BadArgument, match=text):
        sweep(pushed, 1.0, **START, inputs=inputs)


def test_an_input_that_is_a_function_cannot_be_set():
    driven = System(mass=np.eye(1), force=lambda u: np.array([u.f]), inputs={"f": lambda t: np.sin(t)})
    with pytest.raises(BadArgument, match="is a function of t in the system"):
        sweep(driven, 1.0, q0=[0.0], v0=[0.0], inputs={"f": [1.0, 2.0]})


SWING = System(mass=np.eye(2), force=lambda p: np.array([0.0, -p.g]), constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
G = np.array([3.0, 9.81, 15.0])


def events_alone(g, events, t_end, **start):
    return simulate(SWING.with_params(g=g), t_end, events=events, save_at=5, **start)


@pytest.mark.parametrize(
    "start", [{"q0": [0.6, -0.8], "v0": [0.0, 0.0]}, {"q0": [0.0, -1.0], "v0": [2.0, 0.0]}], ids=["aside", "at zero"]
)
def test_events_are_found_as_in_single_runs(start):
    events = {"low": lambda q: q[0], "turn": Event(lambda v: v[0], direction="falling")}
    runs = sweep(SWING, 6.0, params={"g": G}, events=events, save_at=5, **start)
    for m, g in enumerate(G):
        alone = events_alone(g, events, 6.0, **start)
        for name in events:
            mine = runs.events[name].member == m
            assert np.array_equal(runs.events[name].t[mine], alone.events[name].t)
            assert np.array_equal(runs.events[name].q[mine], alone.events[name].q)
    assert runs.events["low"].count.sum() == len(runs.events["low"])
    assert set(runs.ended) == {"end"}


def test_a_terminal_event_ends_one_member_and_not_the_others():
    events = {"left": Event(lambda q: q[0] + 0.5, terminal=True)}
    start = {"q0": [0.0, -1.0], "v0": [2.0, 0.0]}
    runs = sweep(SWING, 2.0, params={"g": np.array([9.81, 60.0])}, events=events, save_at=41, **start)
    alone = simulate(SWING, 2.0, events=events, save_at=41, **start)
    assert runs.ended.tolist() == ["left", "end"]
    assert runs.ok.all() and not runs.failed
    assert runs.reached[0] == alone.end.t == runs.events["left"].first[0]
    assert np.isnan(runs.events["left"].first[1])
    assert np.array_equal(runs.q[0, : len(alone.t)], alone.q)
    assert np.isnan(runs.q[0, len(alone.t) :]).all() and np.isfinite(runs.q[1]).all()
    # at the end only the second member counts
    assert np.array_equal(runs.mean("q")[-1], runs.q[1, -1])


def test_more_events_than_there_is_room_for_at_first():
    runs = sweep(SWING, 60.0, params={"g": np.array([0.0, 400.0])}, q0=[0.0, -1.0], v0=[2.0, 0.0], events={"x": lambda q: q[0]})
    alone = simulate(SWING.with_params(g=400.0), 60.0, q0=[0.0, -1.0], v0=[2.0, 0.0], events={"x": lambda q: q[0]}, save_at=2)
    assert len(alone.events["x"].t) > 150
    assert np.array_equal(runs.events["x"].t[runs.events["x"].member == 1], alone.events["x"].t)


def test_events_that_map_the_state_and_those_of_multipliers():
    events = {"wall": Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -v)), "tight": lambda lam, p: lam[0] - p.g}
    start = {"q0": [0.6, -0.8], "v0": [0.0, 0.0]}
    runs = sweep(SWING, 3.0, params={"g": G}, events=events, save_at=5, **start)
    for m, g in enumerate(G):
        alone = events_alone(g, events, 3.0, **start)
        assert np.array_equal(alone.q, runs.q[m])
        for name in events:
            assert np.array_equal(runs.events[name].t[runs.events[name].member == m], alone.events[name].t)


def test_an_event_of_multipliers_that_starts_at_zero():
    events = {"a": lambda a: a[0]}
    start = {"q0": [0.0, -1.0], "v0": [2.0, 0.0]}
    runs = sweep(SWING, 3.0, params={"g": G}, events=events, save_at=5, **start)
    assert np.array_equal(runs.events["a"].t[runs.events["a"].member == 2], events_alone(15.0, events, 3.0, **start).events["a"].t)


def test_a_multistep_method_is_started_member_by_member():
    methods = {"integrator": h.FixedBDF(3), "formulation": h.Index2(), "step": 0.01}
    runs = sweep(SWING, 0.5, params={"g": G}, q0=[0.6, -0.8], v0=[0.0, 0.0], save_at=3, **methods)
    alone = simulate(SWING.with_params(g=15.0), 0.5, q0=[0.6, -0.8], v0=[0.0, 0.0], save_at=3, **methods)
    assert np.array_equal(runs.q[2], alone.q)


def test_compiled_assembly_agrees_with_that_of_a_single_run():
    problem = seven_body()
    names = [name for name in problem.system.params if name in ("ra", "rr", "d", "e", "zf")]
    assert len(names) == 5
    random = np.random.default_rng(0)
    params = {name: problem.system.params[name] * (1 + 0.01 * random.uniform(-1, 1, 6)) for name in names}
    runs = sweep(problem.system, 0.002, q0=problem.q0, v0=problem.v0, params=params, initial="project", hold=[0])
    assert not runs.failed
    for m in range(6):
        system = problem.system.with_params(**{name: float(params[name][m]) for name in names})
        alone = simulate(system, 0.002, q0=problem.q0, v0=problem.v0, initial="project", hold=[0], save_at=2)
        assert runs.q[m, 0, 0] == problem.q0[0]
        # both stop within 1e-2 of the tolerance 1e-10, on the same branch, nearest to the same point
        assert np.allclose(alone.q[0], runs.q[m, 0], rtol=0, atol=1e-11)
        assert np.allclose(alone.v[0], runs.v[m, 0], rtol=1e-10, atol=1e-9)


def test_members_that_cannot_be_assembled_are_named_and_the_rest_run():
    problem = seven_body()
    factor = np.array([1.0, 30.0, 1.0])
    runs = sweep(
        problem.system, 0.001, q0=problem.q0, v0=problem.v0, initial="project", params={"rr": problem.system.params["rr"] * factor}
    )
    assert [failure.member for failure in runs.failed] == [1]
    assert "cannot be moved onto the constraints" in runs.failed[0].why
    assert np.isfinite(runs.q[[0, 2]]).all()


def test_many_starts_that_are_off_get_short_messages():
    q0 = np.tile([0.0, -1.5], (100, 1))
    q0[50] = [0.0, -1.0]
    runs = sweep(SWING, 0.1, q0=q0, v0=[0.0, 0.0])
    assert len(runs.failed) == 99
    assert all("misses" in failure.why and 'initial="project"' in failure.why for failure in runs.failed)
    assert runs.ok[50]


def parallelogram() -> Mechanism:
    """Three parallel cranks under one beam: the third repeats what two say."""
    m = Mechanism(gravity=(0, -9.81))
    beam = m.body("beam", rod((0, 1), (2, 1), mass=1.0))
    for i, x in enumerate((0.0, 1.0, 2.0)):
        crank = m.body(f"crank{i}", rod((x, 0), (x, 1), mass=1.0))
        m.revolute(f"O{i}", m.ground, crank, at=(x, 0))
        m.revolute(f"A{i}", crank, beam, at=(x, 1))
    return m


def test_redundant_rows_are_the_same_for_all_members():
    m = parallelogram()
    masses = np.array([1.0, 2.0, 3.0])
    with pytest.warns(h.RedundancyWarning):
        runs = sweep(m, 0.3, params={"beam.mass": masses}, redundant="minimum-norm", save_at=4)
    assert not runs.failed
    system, q, v = m.to_system()
    with pytest.warns(h.RedundancyWarning):
        alone = simulate(system.with_params(**{"beam.mass": 3.0}), 0.3, q0=q, v0=v, redundant="minimum-norm", save_at=4)
    assert np.allclose(alone.q, runs.q[2], rtol=0, atol=1e-9)  # the start is projected in the sweep
    assert np.allclose(alone.lam, runs.lam[2], rtol=1e-6, atol=1e-6)
    assert runs.lam.shape[2] == alone.lam.shape[1]


def test_redundant_rows_are_refused_by_name_as_in_a_single_run():
    system, q, v = parallelogram().to_system()
    plain = replace(system, redundant=None) if hasattr(system, "redundant") else system
    runs = sweep(plain, 0.1, q0=q, v0=v, params={"beam.mass": [1.0, 2.0]})
    assert len(runs.failed) == 2 and "has rank" in runs.failed[0].why


def test_methods_are_chosen_for_the_parameters_of_members_not_for_those_of_the_system():
    still = rapid_pair(nu=0.0)
    runs = sweep(still, params={"nu": [1e4, 1e4]})
    assert isinstance(runs.plan.choice.integrator, h.BDF)
    assert np.abs(runs.q[:, -1] - np.e).max() < 1e-5  # 10 rtol
    assert not simulate(still).plan.choice.integrator.implicit  # and the system itself is still seen as it is
