"""A run asked for again skips what was settled by the first one: its numbers and its words must be the same."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import holonomic as h
from holonomic import problems
from holonomic.errors import BadArgument, HolonomicError
from holonomic.running import prepared


def pendulum(**more) -> h.System:
    return h.System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1, **more)


def models_of(system) -> list:
    return list(system.made.models.values())


def ready(model) -> bool:
    """Whether something is settled for later runs."""
    return any(model.prepared.values())


def forget(system) -> None:
    """Let the next run be the first one that is asked for so."""
    for model in models_of(system):
        model.prepared.clear()


def told(sol) -> dict:
    """Everything of a solution that can be compared, word for word and bit for bit."""
    trail = sol.trail
    story, memory, dense = trail.story, trail.memory.copy(), trail.dense
    # where no step ends, nothing is written but its length; beside times that were asked for, nothing at all
    dense = dense[(dense[:, 0] != 0.0) & trail.steps_kept] if dense.shape[1] else dense
    memory.quota = 0  # how many steps a stretch may have follows from the time they take
    return {
        "t": sol.t.tobytes(), "x": trail.arrays[1].tobytes(), "k": trail.arrays[2].tobytes(), "memory": bytes(memory),
        "dense": dense.tobytes(), "noted": trail.noted.tobytes(), "data": trail.data.tobytes(), "ended": sol.ended,
        "stats": sol.stats, "start": (trail.start[0], trail.start[1].tobytes()), "stop": repr(trail.stop),
        "begin": repr(trail.begin), "plan": repr(sol.plan), "story": repr(story), "why": sol.plan.why(), "paths": len(trail.paths),
        "parts": [told(part) for part in trail.parts], "printed": repr(sol).partition(" in ")[0], "first": trail.first_step,
        "limits": trail.limits, "span": sol.span, "inside": sol(0.5 * sum(sol.span)).q.tobytes(),
    }  # fmt: skip


def outcome(call) -> dict:
    """What a call gives: a solution, or an error with its words; and what it warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = told(call())
        except HolonomicError as problem:
            found = {type(problem).__name__: str(problem)}
    return found | {"warnings": [str(warning.message) for warning in caught]}


def same_again(system, *args, times=2, prepared_runs=True, **options) -> None:
    """Ask for a run the long way, then again, and compare."""
    model_of = system if isinstance(system, h.System | h.Ode) else system.system
    call = lambda: h.simulate(system, *args, **options)
    outcome(call)  # what is compiled on the way, and whether little happens, is known from here on
    forget(model_of)
    first = outcome(call)
    assert prepared_runs is None or any(ready(model) for model in models_of(model_of)) is prepared_runs
    for _ in range(times):
        again = outcome(call)
        assert again.keys() == first.keys()
        assert not {name: (first[name], again[name]) for name in first if first[name] != again[name]}


SYSTEMS = {
    "pendulum": (pendulum(), {"q0": [1, 0], "v0": [0, 0]}),
    "spring": (h.System(mass=np.diag([1.0, 2.0]), force=lambda q, v: -40 * q - 0.1 * v), {"q0": [1, 0.5], "v0": [0, 1]}),
    "van der Pol": (h.Ode(lambda y: np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])), {"y0": [2.0, 0.0]}),
    "driven": (
        h.System(mass=np.eye(1), force=lambda q, u: u.push - q, inputs={"push": ([0.0, 0.02, 0.3], [0.0, 1.0, 0.5])}),
        {"q0": [0.0], "v0": [0.0]},
    ),
    "pushed": (h.System(mass=np.eye(1), force=lambda q, u: u.push - q, inputs={"push": 0.7}), {"q0": [0.0], "v0": [0.0]}),
    "stiff": (h.Ode(lambda y: np.array([-1e5 * (y[0] - np.cos(y[1])), 1.0])), {"y0": [1.0, 0.0]}),
}
METHODS = {
    "open": {},
    "RK45": {"integrator": h.RK45()},
    "DOP853, none": {"integrator": h.DOP853(), "stabilization": None},
    "Radau": {"integrator": h.Radau()},
    "BDF": {"integrator": h.BDF()},
    "AB2": {"integrator": h.AdamsBashforth2(), "step": 1e-3},
    "RK4, fixed": {"integrator": h.RK4(), "step": 1e-3},
    "tight": {"rtol": 1e-11, "atol": 1e-13},
    "loose": {"rtol": 1e-3},
    "first step": {"first_step": 1e-4, "max_step": 0.004},
    "saved": {"save_at": 7},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("t_end", [1e-3, 0.05, 1.0, (0.3, 0.1)])
def test_a_run_asked_for_again_is_the_same(name, method, t_end):
    system, start = SYSTEMS[name]
    options = METHODS[method]
    if method == "DOP853, none" and name == "pendulum":
        options = options | {"rtol": 1e-9}
    same_again(system, t_end, **start, **options, prepared_runs=None)


FOUND = [
    "four-bar-spatial",
    "stewart-platform",
    "pendulum",
    "chain",
    "peaucellier",
    "jansen",
    "seven-body",
    "slider-crank",
    "car-axis",
    "heavy-top",
    "kepler",
    "spring-pendulum",
    "double-wishbone",
    "rolling-disk",
]


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("part", [1e-4, 0.02])
def test_a_problem_asked_for_again_is_the_same(name, part):
    problem = problems.get(name)
    same_again(problem, problem.t0 + part * (problem.t_end - problem.t0), prepared_runs=None)


def hires() -> h.Ode:
    """The high irradiance response of plants, [HW96] Sec. IV.10."""

    def rate(y):
        meets = 280.0 * y[5] * y[7]
        return np.array([
            -1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
            -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
            -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6], -meets + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6],
            meets - 1.81 * y[6], -meets + 1.81 * y[6],
        ])  # fmt: skip

    return h.Ode(rate)


def braked(since: float) -> h.System:
    grip = lambda t: 0.5 * (1.0 + np.tanh(40.0 * (t - since)))
    force = lambda t, q, v: np.array([0.0, -9.81, 2.0 - 1e5 * grip(t) * (v[2] - 0.1 * q[0])])
    return h.System(mass=np.diag([1.0, 1.0, 0.5]), force=force, constraint=lambda q: q[0] ** 2 + q[1] ** 2 - 1.0)


BRAKED = {"q0": [np.sin(1.0), -np.cos(1.0), 0.0], "v0": [0.0, 0.0, 0.1 * np.sin(1.0)]}


@pytest.mark.parametrize("options", [{}, {"rtol": 1e-3}, {"save_at": 9}, {"rtol": 1e-9, "atol": 1e-12}])
@pytest.mark.parametrize("of", ["stiff on the way", "stiff on the way, constrained", "stiff at the start", "stiff, constrained"])
def test_an_implicit_plan_is_remembered_too(monkeypatch, of, options):
    system, t_end, start = {
        "stiff on the way": (hires(), 100.0, {"y0": [1.0, *[0.0] * 6, 0.0057]}),
        "stiff on the way, constrained": (braked(2.0), 3.0, BRAKED),
        "stiff at the start": (*SYSTEMS["stiff"][:1], 10.0, SYSTEMS["stiff"][1]),
        "stiff, constrained": (braked(-1.0), 3.0, BRAKED),
    }[of]
    run = lambda: h.simulate(system, t_end, **start, **options)
    same_again(system, t_end, **start, **options)
    (change,) = run().trail.story.changes
    assert change.choice.integrator.implicit
    assert (change.t == 0.0) is of.startswith(("stiff at", "stiff,"))
    monkeypatch.setattr(prepared, "walk", None)  # a few hundred steps at most
    run()


def test_a_start_that_is_not_plain_is_refused_in_the_same_words():
    system = pendulum()
    for start in (
        {"q0": [1.1, 0.0], "v0": [0, 0]}, {"q0": [1, 0], "v0": [0.1, 0]}, {"q0": [1, 0], "v0": [np.nan, 0]},
        {"q0": [1, 0], "v0": [0]}, {"q0": [0, 0], "v0": [0, 0]}, {"q0": [1, 0], "v0": [0, 0], "hold": ["x"]},
        {"q0": [1, 0], "v0": [0, 0], "lam0": [3.0]}, {"q0": [1, 0], "v0": [0, 0], "redundant": "all"},
        {"q0": [1, 0], "v0": [0, 0], "initial": "guess"}, {"q0": [1, 0], "v0": [0, 0], "initial": np.array(["check"])},
        {"q0": [1, 0], "v0": [0, 0], "max_steps": True}, {"q0": [1, 0], "v0": [0, 0], "s0": [1.0]},
    ):  # fmt: skip
        forget(system)
        first = outcome(lambda start=start: h.simulate(system, 0.01, **start))
        assert "x" not in first, start
        h.simulate(system, 0.01, q0=[1, 0], v0=[0, 0])
        assert all(ready(model) for model in models_of(system))
        assert outcome(lambda start=start: h.simulate(system, 0.01, **start)) == first


@pytest.mark.parametrize("name", ["step", "max_step", "first_step", "atol"])
def test_equal_words_of_another_kind_are_read_anew(name):
    system = h.System(mass=np.eye(1), force=lambda q: -0.1 * q)
    options = {"integrator": h.RK4()} if name == "step" else {}
    for _ in range(2):
        h.simulate(system, 1.0, q0=[1], v0=[0], **{name: 1}, **options)
    with pytest.raises(BadArgument, match=name):
        h.simulate(system, 1.0, q0=[1], v0=[0], **{name: True}, **options)


def test_other_starts_methods_and_ends_between_leave_no_trace():
    system, rng = pendulum(), np.random.default_rng(5)
    options = [{}, {"rtol": 1e-9}, {"save_at": 3}, {"integrator": h.RK45()}, {"save_at": [0.1, 0.2]}, {"initial": "project"}]
    calls = []
    for _ in range(60):
        a, w = rng.uniform(0, 6), rng.normal()
        calls.append((float(rng.choice([1e-3, 0.4, 8.0])), options[rng.integers(len(options))], a, w))

    def run(t_end, more, a, w):
        t_end = max(t_end, 0.3) if "save_at" in more else t_end
        q, v = [np.cos(a), np.sin(a)], [-w * np.sin(a), w * np.cos(a)]
        return told(h.simulate(system, t_end, q0=q, v0=v, **more))

    mixed = [run(*call) for call in calls]
    for call, found in zip(calls, mixed, strict=True):
        forget(system)
        assert run(*call) == found


def test_what_functions_read_is_looked_at_before_every_run():
    pull = {"g": 9.81}
    system = h.System(mass=np.eye(2), force=lambda: np.array([0.0, -pull["g"]]), constraint=lambda q: q @ q - 1)
    fall = lambda: h.simulate(system, 0.01, q0=[1, 0], v0=[0, 0]).v[-1, 1]
    before = [fall(), fall(), fall()]
    pull["g"] = 1.62
    after = [fall(), fall(), fall()]
    assert len({*before}) == len({*after}) == 1
    assert after[0] == pytest.approx(before[0] * 1.62 / 9.81, rel=1e-3)


def test_threads_share_a_system():
    system = pendulum()
    angles = np.linspace(0.0, 6.0, 24)
    run = lambda a: h.simulate(system, 0.02, q0=[np.cos(a), np.sin(a)], v0=[0, 0])
    alone = [told(run(a)) for a in angles]
    found: dict[int, list] = {}

    def work(number):
        found[number] = [told(run(a)) for _ in range(5) for a in angles]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(found[number] == alone * 5 for number in range(4))


def test_solutions_of_later_runs_do_not_touch_earlier_ones():
    system = pendulum()
    first = h.simulate(system, 0.01, q0=[1, 0], v0=[0, 0])
    second = h.simulate(system, 0.01, q0=[1, 0], v0=[0, 0])
    kept = told(second)
    h.simulate(system, 0.01, q0=[0, 1], v0=[0.5, 0])
    assert told(second) == kept == told(first)
    second.trail.data[:] = np.nan
    assert told(h.simulate(system, 0.01, q0=[1, 0], v0=[0, 0])) == kept


def test_ways_of_asking_are_forgotten_in_time():
    system = pendulum()
    for k in range(2 * prepared.MOST):
        h.simulate(system, 0.001, q0=[1, 0], v0=[0, 0], rtol=1e-6 * (1 + k / 100))
    (model,) = models_of(system)
    assert len(model.prepared) <= prepared.MOST
    assert sum(map(bool, model.prepared.values())) == 1  # all others came only once


def test_words_that_come_again_are_settled_beside_others():
    system = pendulum()
    for k in range(60):
        h.simulate(system, 0.001, q0=[1, 0], v0=[0, 0], max_step=1.0 + k)
        for rtol in (1e-5, 1e-6, 1e-7):
            h.simulate(system, 0.001, q0=[1, 0], v0=[0, 0], rtol=rtol)
    (model,) = models_of(system)
    assert sum(map(bool, model.prepared.values())) == 4


def test_a_second_call_is_short():
    """Frames of Python, and files they stand in: what the compiled part saves must not come back elsewhere."""
    import sys

    system, frames, files = pendulum(), 0, set()
    h.simulate(system, 0.001, q0=[1, 0], v0=[0, 0])

    def look(frame, event, _):
        nonlocal frames
        if event == "call" and "holonomic" in frame.f_code.co_filename:
            frames += 1
            files.add(frame.f_code.co_filename)

    sys.setprofile(look)
    h.simulate(system, 0.001, q0=[1, 0], v0=[0, 0])
    sys.setprofile(None)
    assert frames < 40
    assert len(files) < 14


def test_a_later_end_fails_in_the_same_words():
    def run(system, t_end, **options):
        forget(system)
        h.simulate(system, 0.01, q0=[1, 0], v0=[0, 0], **options)
        assert all(ready(model) for model in models_of(system))
        again = outcome(lambda: h.simulate(system, t_end, q0=[1, 0], v0=[0, 0], **options))
        forget(system)
        assert again == outcome(lambda: h.simulate(system, t_end, q0=[1, 0], v0=[0, 0], **options))
        return again

    assert "max_steps = 60" in run(pendulum(), 50.0, max_steps=60)["StepFailed"]
    assert "x" in run(pendulum(), 50.0)
    sinks = h.System(mass=np.eye(2), force=lambda q: np.array([0.0, -9.81]) / np.sqrt(0.2 + q[1]), constraint=lambda q: q @ q - 1)
    assert "force() gives NaN" in run(sinks, 5.0)["NotFinite"]
    assert "force() gives NaN" in run(sinks, 5.0, integrator=h.RK45())["NotFinite"]


def test_ctrl_c_behind_the_first_stretch_leaves_the_run_so_far(monkeypatch):
    system = pendulum()
    whole = h.simulate(system, 400.0, q0=[1, 0], v0=[0, 0])

    class Interrupted:
        @staticmethod
        def native(*arguments):
            run_compiled.native(*arguments)
            raise KeyboardInterrupt

    run_compiled = prepared.run_compiled
    monkeypatch.setattr(prepared, "run_compiled", Interrupted)
    sol = h.simulate(system, 400.0, q0=[1, 0], v0=[0, 0])
    assert sol.ended == "interrupted"
    assert 10 < len(sol.t) < len(whole.t)
    assert np.array_equal(sol.q, whole.q[: len(sol.t)])


def test_a_singular_position_on_the_way_is_met_alike():
    problem = problems.get("four-bars")
    for options in (
        {}, {"integrator": h.RK45(), "stabilization": h.PostStabilization()}, {"integrator": h.Radau(), "formulation": h.Index2()},
    ):  # fmt: skip
        far = lambda options=options: h.simulate(problem, 3.0, **options)
        outcome(far)
        forget(problem.system)
        first = outcome(far)
        forget(problem.system)
        h.simulate(problem, 0.01, **options)
        assert all(ready(model) for model in models_of(problem.system))
        assert outcome(far) == first


def test_plans_with_events_are_made_once_and_anew_where_their_functions_read_something_else():
    system, level = pendulum(), [0.5]
    run = lambda event: h.simulate(system, 1.0, q0=[1, 0], v0=[0, 0], events={"low": event})
    event = h.Event(lambda q: q[0] - level[0])
    first = run(event)
    again = run(h.Event(lambda q: q[0] - level[0]))
    assert run(event).trail.plan is first.trail.plan
    assert again.events["low"].t == first.events["low"].t
    level[0] = 0.9
    assert run(event).events["low"].q[0, 0] == pytest.approx(0.9)
    falling, rising = (run(h.Event(lambda q: q[1] + 0.1, direction=way)) for way in ("falling", "rising"))
    assert len(falling.events["low"].t) == 1
    assert len(rising.events["low"].t) == 0
    for k in range(40):
        run(h.Event(lambda q, k=k: q[0] - k / 50))
    (model,) = models_of(system)
    assert len(model.plans) < 24


def test_a_second_run_with_events_is_the_same():
    system = pendulum()
    events = {"low": h.Event(lambda q: q[0], terminal=True), "fast": lambda v: v @ v - 4.0}
    bounce = {"hit": h.Event(lambda q: q[0] - 0.2, direction="falling", then=lambda q, v: (q, -0.5 * v))}
    for given in (events, bounce):
        found = [told(h.simulate(system, 2.0, q0=[1, 0], v0=[0, 0], events=given)) for _ in range(3)]
        assert found[0] == found[1] == found[2]


def test_times_to_keep_are_read_for_each_run():
    system, times = pendulum(), np.array([0.1, 0.3])
    run = lambda given: h.simulate(system, 0.4, q0=[1, 0], v0=[0, 0], save_at=given).t.tolist()
    assert run(3) == [0.0, 0.2, 0.4]
    assert run(times) == [0.1, 0.3]
    times[0] = 0.2
    assert run(times) == [0.2, 0.3]
    assert run([0.4]) == [0.4]
    assert run(3) == [0.0, 0.2, 0.4]
    with pytest.raises(BadArgument, match="save_at"):
        run([0.3, 0.5])
