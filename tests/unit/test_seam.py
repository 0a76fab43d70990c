"""A run whose plan changes on the way is one Solution, whatever is asked of it."""

import pickle

import numpy as np
import pytest

from holonomic import DOP853, Event, Radau, StepFailed, StiffnessWarning, System, load, problems, simulate, sweep

END, START = 1.5, {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
TIMES = np.linspace(0.0, END, 77)


# functions of a module can be pickled
def force(t, q, v, p):
    return np.array([-q[1], q[0]]) - (1.0 + np.tanh(50 * (t - 0.5))) / 2 * p.rate * v


def rod(q):
    return q @ q - 1


def speed(v):
    return v @ v


def high(q):
    return q[1] - 0.05


def later(t):
    return t - 1.0


def turned(q, v):
    return q, -v


RELAXING = System(mass=np.eye(2), force=force, constraint={"rod": rod}, params={"rate": 1e4}, outputs={"speed": speed})


@pytest.fixture(scope="module")
def sol():
    found = simulate(RELAXING, END, **START)
    assert [type(change.choice.integrator) for change in found.trail.story.changes] == [Radau]
    return found


@pytest.fixture(scope="module")
def reference():
    with pytest.warns(match="limited by stability"):
        return simulate(RELAXING, END, **START, integrator=DOP853(), rtol=1e-10, atol=1e-12)


def test_counters_are_those_of_both_parts(sol):
    parts = [part.stats for part in sol.trail.parts]
    for name in ("steps", "rejected", "field evaluations", "residuals", "Jacobians", "factorizations", "pulls"):
        assert sol.stats[name] == sum(part[name] for part in parts)
    assert parts[0]["Jacobians"] == 0 < sol.stats["Jacobians"]


def test_any_time_can_be_asked_for_in_any_order(sol, reference):
    order = np.random.default_rng(0).permutation(len(TIMES))
    mixed, straight = sol(TIMES[order]), sol(TIMES)
    assert np.array_equal(mixed.q, straight.q[order]) and np.array_equal(mixed["speed"], straight["speed"][order])
    assert np.abs(straight.q - reference(TIMES).q).max() < 1e-6
    assert np.abs(straight.lam - reference(TIMES).lam).max() < 1e-5


def test_pickling_keeps_the_parts_the_story_and_what_is_between_the_steps(sol):
    again = pickle.loads(pickle.dumps(sol))
    assert np.array_equal(again.q, sol.q) and np.array_equal(again(TIMES).q, sol(TIMES).q)
    assert again.plan.why() == sol.plan.why() and again.stats == sol.stats
    assert again.trail.story.changes[0].t == sol.trail.story.changes[0].t


def test_a_file_keeps_what_was_written(sol, tmp_path):
    sol.save(tmp_path / "run.nc")
    again = load(tmp_path / "run.nc")
    assert np.array_equal(again.q, sol.q) and np.array_equal(again["speed"], sol["speed"])
    assert again.plan.why() == sol.plan.why() and again.stats == sol.stats and again.end.t == END


def test_tables_pictures_and_pages_hold_all_rows(sol, tmp_path):
    assert len(sol.to_dataframe()) == len(sol.t)
    assert len(sol.plot("q", "lam", "drift", "energy", "speed").axes) == 5
    page = sol.view(path=tmp_path / "run.html", show=False)
    assert (tmp_path / "run.html").stat().st_size > 10_000 and f"{len(sol.t)} frames" in repr(page)


def test_events_that_map_the_state_on_both_sides(reference):
    events = {"high": Event(high), "turn": Event(later, then=turned)}
    sol = simulate(RELAXING, END, **START, events=events)
    assert len(sol.trail.story.changes) >= 1 and [len(sol.events[name]) for name in events] == [1, 1]
    with pytest.warns(match="limited by stability"):
        fine = simulate(RELAXING, END, **START, events=events, integrator=DOP853(), rtol=1e-10, atol=1e-12)
    assert sol.events["high"].t == pytest.approx(fine.events["high"].t, abs=1e-5)
    assert np.abs(sol(TIMES).q - fine(TIMES).q).max() < 1e-6
    again = pickle.loads(pickle.dumps(sol))
    assert np.array_equal(again.events["turn"].v, sol.events["turn"].v)


def test_a_run_goes_on_from_behind_the_seam(reference):
    half = simulate(RELAXING, 1.0, **START)
    rest = simulate(RELAXING, END, q0=half.end)
    assert half.trail.story.changes and rest.t[0] == 1.0 and np.abs(rest.end.q - reference.end.q).max() < 1e-7


def test_what_there_is_of_a_run_that_fails_behind_the_seam(sol):
    before = sol.trail.parts[0].stats
    with pytest.raises(StepFailed) as caught:
        simulate(RELAXING, END, **START, max_steps=before["steps"] + before["rejected"] + 3)
    left = caught.value.solution
    assert len(left.trail.parts) == 2 and "max_steps" in left.failure
    assert np.abs(left(0.3).q - sol(0.3).q).max() < 1e-12
    assert pickle.loads(pickle.dumps(left)).failure == left.failure


def test_no_state_is_lost_where_the_stiffness_comes_and_goes():
    # a damper that is switched on and off by its input, twice
    times = [0.0, 1.0, 1.001, 2.0, 2.001, 3.0, 3.001, 4.0, 4.001, 5.0]
    system = System(
        mass=np.eye(2),
        force=lambda q, v, u: np.array([-q[1], q[0]]) - u.damper * v,
        constraint={"rod": lambda q: q @ q - 1},
        inputs={"damper": (times, [0, 0, 1e5, 1e5, 0, 0, 1e5, 1e5, 0, 0])},
    )
    sol = simulate(system, 5.0, **START)
    kinds = [type(change.choice.integrator).__name__ for change in sol.trail.story.changes]
    assert kinds and kinds[0] in ("BDF", "Radau") and np.all(np.diff(sol.t) > 0)
    with pytest.warns(match="limited by stability"):
        fine = simulate(system, 5.0, **START, integrator=DOP853(), rtol=1e-10, atol=1e-12)
    t = np.linspace(0, 5, 101)
    assert np.abs(sol(t).q - fine(t).q).max() < 1e-5


def test_the_same_start_is_chosen_alike():
    problem = problems.heterogeneous_masses(nu=1000.0)
    first, second = simulate(problem), simulate(problem)
    assert np.array_equal(first.t, second.t) and np.array_equal(first.q, second.q)
    assert first.plan.why() == second.plan.why() and len(second.trail.story.changes) == 1
    # another start, and other numbers, are another matter
    other = simulate(problem.system, (0.5, 1.0), q0=np.exp([0.5, 0.5]), v0=np.exp([0.5, 0.5]))
    assert other.end.q == pytest.approx(np.exp([1.0, 1.0]), rel=1e-5)
    assert not simulate(problems.heterogeneous_masses(nu=1.0)).trail.story.changes


def test_members_of_a_sweep_begin_with_an_implicit_method_where_their_own_start_is_stiff():
    nu = np.linspace(1.0, 2000.0, 9)
    runs = sweep(problems.heterogeneous_masses(), 1.0, params={"nu": nu})
    assert "Radau" in repr(runs.plan) and not len(runs.failed)
    assert "1 begin with Index1() + RK45()" in runs.plan.why()  # short, not stiff
    for m in (0, 1, 8):
        alone = simulate(problems.heterogeneous_masses(nu=nu[m]), save_at=2)
        assert np.array_equal(runs.q[m], alone.q) and np.array_equal(runs.lam[m], alone.lam)
    with pytest.warns(StiffnessWarning, match="7 of 9 members. Member 2"):
        chosen = sweep(problems.heterogeneous_masses(), 1.0, params={"nu": nu}, integrator=DOP853())
    assert "DOP853" in repr(chosen.plan)


def test_preferences_of_a_sweep():
    p, g = problems.pendulum(), np.linspace(1.0, 20.0, 5)
    lost = {}
    for prefer in ("speed", "accuracy", "energy"):
        runs = sweep(p.system, 100.0, q0=p.q0, v0=p.v0, params={"g": g}, prefer=prefer, save_at=50)
        total = 0.5 * np.sum(runs.v**2, axis=-1) + g[:, None] * runs.q[..., 1]
        lost[prefer] = np.abs((total - total[:, :1]) / g[:, None]).max()
    assert lost["accuracy"] < 0.2 * lost["speed"] and lost["energy"] < 1e-6 < lost["speed"]
