"""Where the integrator is left open, every member of a sweep does what `simulate` would do with it."""

import multiprocessing
import pickle
import warnings
from concurrent.futures import Executor, Future, ProcessPoolExecutor

import numpy as np
import pytest

import holonomic as h
from holonomic import Event, Ode, System, simulate, sweep
from holonomic.sweeping.members import UNDECIDED

SAVED = 5


def robertson():
    """Kinetics that start smooth and turn stiff at once."""

    def rates(y, p):
        return np.array([-0.04 * y[0] + 1e4 * y[1] * y[2], 0.04 * y[0] - 1e4 * y[1] * y[2] - p.b * y[1] ** 2, p.b * y[1] ** 2])

    return Ode(rates, params={"b": 3e7}), 40.0, {"y0": [1.0, 0, 0]}, {"b": np.geomspace(3e3, 3e8, 5)}


def van_der_pol():
    """Half of the members are stiff, and not everywhere."""
    oscillator = Ode(lambda y, p: np.array([y[1], p.mu * (1 - y[0] ** 2) * y[1] - y[0]]), params={"mu": 1.0})
    return oscillator, 100.0, {"y0": [2.0, 0]}, {"mu": np.geomspace(1, 1000, 6)}


def bar_with_stop():
    """A pendulum that falls onto a damped stop, harder from member to member."""

    def force(q, v, p):
        depth = np.maximum(0.0, -0.5 - q[1])
        return np.array([0, -9.81 + p.k * depth * (1.0 - 10 * v[1])])

    bar = System(mass=np.eye(2), force=force, constraint={"rod": lambda q: q @ q - 1}, params={"k": 1e4})
    return bar, 2.0, {"q0": [1.0, 0], "v0": [0.0, 0.0]}, {"k": np.geomspace(1e3, 1e8, 5)}


def suspension():
    """Body, wheel and a tyre that is stiff from the start in half of the members."""

    def force(t, q, v, p):
        spring = 2e4 * (q[0] - q[1]) + 1.5e3 * (v[0] - v[1])
        return np.array([-spring, spring - p.k * (q[1] - 0.05 * np.sin(3 * t)) - 0.02 * p.k * v[1]])

    quarter = System(mass=np.diag([250.0, 30.0]), force=force, params={"k": 2e5})
    return quarter, 2.0, {"q0": [0.0, 0], "v0": [0.0, 0]}, {"k": np.geomspace(1e4, 1e10, 6)}


def hanging():
    """Little happens where gravity is weak: there RK45 is right, elsewhere DOP853."""
    swing = System(mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint=lambda q: q @ q - 1, params={"g": 9.81})
    return swing, 2.0, {"q0": [np.sin(0.3), -np.cos(0.3)], "v0": [0.0, 0]}, {"g": np.geomspace(1e-3, 50, 6)}


def growing(rates=(1.0, 1e4, 1e6)):
    """Smooth up to t = 1, then stiffer and stiffer."""
    follow = Ode(lambda t, y, p: -p.r * np.maximum(0.0, t - 1.0) * (y - np.cos(t)) - np.sin(t), params={"r": 1.0})
    return follow, 5.0, {"y0": [1.0]}, {"r": np.array(rates)}


GRIDS = [robertson, van_der_pol, bar_with_stop, suspension, hanging, growing]


def alone(system, t_end, start, params, m, **more):
    return simulate(system.with_params(**{name: values[m] for name, values in params.items()}), t_end, **start, **more)


@pytest.mark.parametrize("grid", GRIDS)
def test_members_are_bit_for_bit_what_simulate_gives(grid):
    system, t_end, start, params = grid()
    runs = sweep(system, t_end, params=params, save_at=SAVED, **start)
    assert not runs.failed
    changed = {}
    for change in runs.changed:
        changed.setdefault(change.member, []).append((change.t, change.why))
    for m in range(len(runs)):
        sol = alone(system, t_end, start, params, m, save_at=SAVED)
        assert np.array_equal(runs.q[m], sol.q) and np.array_equal(runs.a[m], sol.a) and np.array_equal(runs.lam[m], sol.lam)
        assert runs.steps[m] == sol.stats["steps"] + sol.stats["rejected"]
        on_the_way = [(change.t, change.reason) for change in sol.trail.story.changes if change.t != 0.0]
        assert changed.get(m, []) == on_the_way


def test_a_sweep_tells_who_changed_methods_and_why():
    system, t_end, start, params = growing()
    runs = sweep(system, t_end, params=params, save_at=SAVED, **start)
    assert {change.member for change in runs.changed} == {1, 2}
    assert [len(run.changed) for run in runs] == [0, 1, 1] and not runs[1].noted
    assert all(change.t > 1.0 and "Radau(order=9)" in change.to for change in runs.changed)
    why = runs.plan.why()
    assert "members: 3 begin with Index1() + DOP853() + None" in why
    assert "2 members changed methods on the way, 2 times because stability, not accuracy, limits the step. Member 1:" in why
    assert "2 changed methods on the way, see plan.why()" in repr(runs)


def test_members_begin_with_what_suits_their_own_start():
    system, t_end, start, params = suspension()
    runs = sweep(system, t_end, params=params, save_at=SAVED, **start)
    why = runs.plan.why()
    assert "begin with Index1() + Radau(order=9) + None, because the start is stiff" in why
    assert "begin with Index1() + DOP853() + None" in why
    system, t_end, start, params = hanging()
    why = sweep(system, t_end, params=params, save_at=SAVED, **start).plan.why()
    assert "begin with Index1() + RK45() + Projection(), because the run is short" in why
    assert "begin with Index1() + DOP853() + Projection()" in why


def test_members_that_do_not_change_methods_do_not_see_those_that_do():
    system, t_end, start, params = van_der_pol()
    runs = sweep(system, t_end, params=params, save_at=SAVED, **start)
    calm = sweep(system, t_end, params={"mu": params["mu"][:2]}, save_at=SAVED, **start)
    assert not calm.changed and np.array_equal(calm.y, runs.y[:2])


def test_a_member_that_used_up_its_steps_before_now_reaches_the_end():
    system, t_end, start, params = growing()
    explicit = {"integrator": h.DOP853(), "max_steps": 2000}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", h.StiffnessWarning)
        stuck = sweep(system, t_end, params=params, save_at=SAVED, **explicit, **start)
    assert [failure.member for failure in stuck.failed] == [1, 2]
    assert "max_steps = 2000 steps were used up: the step is limited by stability" in stuck.failed[0].why
    assert "stiff for DOP853. Leave integrator= open" in stuck[1].failure
    free = sweep(system, t_end, params=params, save_at=SAVED, max_steps=2000, **start)
    assert not free.failed
    assert np.abs(free.y[:, -1, 0] - np.cos(t_end)).max() < 1e-5  # the solution is cos t; 10 rtol


def test_members_that_use_up_their_steps_say_what_simulate_says():
    system = Ode(lambda y, p: np.array([y[1], -p.k * y[0]]), params={"k": 1.0})
    given = {"y0": [1.0, 0], "max_steps": 1000}
    runs = sweep(system, 50.0, params={"k": [1.0, 1e7, 1e8]}, **given)
    with pytest.raises(h.StepFailed) as failed:
        simulate(system.with_params(k=1e7), 50.0, save_at=2, **given)
    assert [failure.member for failure in runs.failed] == [1, 2]
    assert runs[1].failure == str(failed.value).replace(" See error.solution.", "")
    assert runs[2].failure == "max_steps = 1000 steps were used up, as by member 1; its failure says more."


def test_stiffness_met_by_a_method_that_was_named_is_told_by_member():
    system, t_end, start, params = growing((1.0, 1e3, 1e4))
    with pytest.warns(h.StiffnessWarning, match=r"2 of 3 members\. Member 1: the step is limited by stability"):
        runs = sweep(system, t_end, params=params, save_at=SAVED, integrator=h.RK45(), **start)
    assert [note.member for note in runs.noted] == [1, 2]
    assert "stiff for RK45" in runs.noted[0].text and "StiffnessWarning: 2 members, first 1" in repr(runs)


def test_events_and_tables_of_stiff_members_are_those_of_a_single_run():
    follow = Ode(
        lambda t, y, p, u: -p.r * np.maximum(0.0, t - 1.0) * (y - np.cos(t)) - np.sin(t) + u.push, params={"r": 1.0},
        inputs={"push": (np.array([0.0, 2.0, 5.0]), np.array([0.0, 0.1, 0.0]))},
    )  # fmt: skip
    params = {"r": np.array([1.0, 1e5])}
    events = {"low": lambda y: y[0] + 0.5, "up": Event(lambda y: y[0], direction="rising", terminal=True)}
    runs = sweep(follow, 8.0, y0=[1.0], params=params, events=events, save_at=SAVED)
    assert {change.member for change in runs.changed} == {1}
    for m in range(2):
        sol = alone(follow, 8.0, {"y0": [1.0]}, params, m, events=events, save_at=SAVED)
        mine = runs.events["low"].of_member(m)
        assert np.array_equal(mine.t, sol.events["low"].t) and len(mine.t) == 2
        assert runs.ended[m] == sol.ended == "up" and runs.reached[m] == sol.events["up"].t[0]
        assert np.array_equal(runs.y[m, : len(sol.y)], sol.y) and np.isnan(runs.y[m, len(sol.y) :]).all()


def test_members_with_mapping_events_choose_as_single_runs_do():
    system, t_end, start, params = growing()
    events = {"kick": Event(lambda t: t - 3.0, then=lambda y: y + 0.1)}
    runs = sweep(system, t_end, params=params, events=events, save_at=SAVED, **start)
    assert {change.member for change in runs.changed} == {1, 2}
    for m in range(3):
        assert np.array_equal(runs.y[m], alone(system, t_end, start, params, m, events=events, save_at=SAVED).y)


def test_stiff_members_of_other_processes_are_not_lost():
    system, t_end, start, params = growing()
    here = sweep(system, t_end, params=params, save_at=SAVED, **start)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        there = sweep(system, t_end, params=params, save_at=SAVED, on=pool, **start)
    assert np.array_equal(here.y, there.y) and here.changed == there.changed


class Elsewhere(Executor):
    """Runs pieces as another process would, from bytes and without the user's functions; counts what it leaves."""

    def __init__(self):
        self.left = 0

    def submit(self, function, /, *arguments):
        chunk = function(*pickle.loads(pickle.dumps(arguments)))
        self.left += sum(why == UNDECIDED for why in chunk.why.values())
        future = Future()
        future.set_result(chunk)
        return future


@pytest.mark.parametrize(("grid", "left"), [(hanging, 0), (growing, 2), (suspension, 1)])
def test_only_members_that_change_methods_come_back_from_other_processes(grid, left):
    system, t_end, start, params = grid()
    there = Elsewhere()
    runs = sweep(system, t_end, params=params, save_at=SAVED, on=there, **start)
    assert there.left == left  # those that begin with RK45 or Radau run there
    here = sweep(system, t_end, params=params, save_at=SAVED, **start)
    assert np.array_equal(here.q, runs.q) and here.plan.why() == runs.plan.why() and here.changed == runs.changed


def test_a_store_remembers_what_members_did(tmp_path):
    pytest.importorskip("zarr")
    system, t_end, start, params = growing()
    given = {"params": params, "save_at": SAVED, "store": tmp_path / "runs.zarr", **start}
    first = sweep(system, t_end, **given)
    again = sweep(system, t_end, resume=True, **given)
    assert first.changed and again.changed == first.changed and again.plan.why() == first.plan.why()


def test_a_second_run_repeats_the_first_bit_for_bit():
    """Functions that are compiled on the way must not move the looks of the automatic choice."""
    system, t_end, start, _ = bar_with_stop()
    one = system.with_params(k=2.4e8)
    first, second = (simulate(one, t_end, save_at=SAVED, **start) for _ in range(2))
    assert [change.t for change in first.trail.story.changes] == [change.t for change in second.trail.story.changes]
    assert np.array_equal(first.q, second.q)
