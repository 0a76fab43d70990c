"""max_time=, max_memory= and cancel=: a call stops where it is told to, says where and what to do, and loses nothing."""

import threading
import time

import numpy as np
import pytest

from holonomic import (
    RK4,
    BadArgument,
    Cancelled,
    Event,
    HolonomicError,
    LimitReached,
    Ode,
    System,
    compare,
    gradient,
    simulate,
    sweep,
)

PENDULUM = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})
SWING = System(mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint={"rod": lambda q: q @ q - 1}, params={"g": 9.81})
LONG = {"q0": [1, 0], "v0": [0, 0], "max_steps": 10**9}
BALL = System(mass=[[1.0]], force=[-9.81])
# compiled, fixed steps, through Python at every bounce, and plain Python throughout
KINDS = {
    "chosen": (PENDULUM, 1e6, LONG),
    "fixed step": (PENDULUM, 1e6, LONG | {"integrator": RK4(), "step": 1e-3}),
    "stiff": (Ode(lambda y: np.array([y[1], 1e3 * (1 - y[0] ** 2) * y[1] - y[0]])), 1e9, {"y0": [2, 0], "max_steps": 10**9}),
    "bouncing": (BALL, 1e6, {"q0": [1.0], "v0": [0.0], "max_steps": 10**9,
                             "events": {"floor": Event(lambda q: q[0], "falling", then=lambda q, v: (0 * q, -v))}}),
    "Python": (System(mass=[[1.0]], force=lambda q: -q, trace=False), 1e6, {"q0": [1.0], "v0": [0.0], "max_steps": 10**9}),
}  # fmt: skip


class After:
    """Is set after so many looks; for runs whose length in time must not matter."""

    def __init__(self, looks: int):
        self.left = looks

    def is_set(self) -> bool:
        self.left -= 1
        return self.left < 0


def stopped(call, kind=LimitReached) -> HolonomicError:
    with pytest.raises(kind) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_stops_after_max_time_with_everything_so_far(kind):
    system, t_end, given = KINDS[kind]
    simulate(system, 0.1, **given)  # compiled before the clock starts
    began = time.perf_counter()
    error = stopped(lambda: simulate(system, t_end, **given, max_time=0.2))
    assert 0.2 <= time.perf_counter() - began < 1.2  # the last stretch, and a machine that has other things to do
    sol = error.solution
    assert sol.ended == "interrupted" and len(sol.t) == sol.stats["steps"] + 1 + len(sol.events.get("floor", ()))
    assert 0.0 < sol.t[-1] < t_end and np.all(np.isfinite(sol.y if isinstance(system, Ode) else sol.q))
    what = "take a larger step" if kind == "fixed step" else "loosen rtol"
    assert str(error) == (
        f"max_time = 0.2 s were used up at t = {sol.t[-1]:.6g} of {t_end:.6g}, after {sol.stats['steps']} steps. Raise max_time, "
        f"or {what}. See error.solution."
    )


def test_what_was_computed_until_then_is_what_the_whole_run_computes():
    whole = simulate(PENDULUM, 1e4, **LONG)
    sol = stopped(lambda: simulate(PENDULUM, 1e4, **LONG, cancel=After(3)), Cancelled).solution
    count = len(sol.t)
    assert 10 < count < len(whole.t)
    assert np.array_equal(sol.t, whole.t[:count]) and np.array_equal(sol.q, whole.q[:count])
    assert np.array_equal(simulate(PENDULUM, 1e4, **LONG, max_time=600.0, max_memory=1e9, cancel=threading.Event()).q, whole.q)


def test_another_thread_cancels_a_run():
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    began = time.perf_counter()
    error = stopped(lambda: simulate(PENDULUM, 1e6, **LONG, cancel=cancel), Cancelled)
    assert time.perf_counter() - began < 1.2
    sol = error.solution
    assert str(error) == (
        f"the run was cancelled at t = {sol.t[-1]:.6g} of 1e+06, after {sol.stats['steps']} steps. See error.solution."
    )
    again = simulate(PENDULUM, sol.end.t + 1.0, q0=sol.end)  # the end of what there is starts another run
    assert again.t[0] == sol.end.t


def test_a_run_stops_where_what_it_keeps_takes_more_than_max_memory():
    error = stopped(lambda: simulate(PENDULUM, 1e6, **LONG, max_memory=1e6))
    sol = error.solution
    kept = 8 * len(sol.t) * (1 + 4 + 3)
    assert 1e6 < kept < 1e8  # what a stretch of 50 ms adds
    start, _, end = str(error).partition(", after ")
    assert start == f"max_memory = 1.0 MB are used up at t = {sol.t[-1]:.6g} of 1e+06"
    assert end.startswith(f"{sol.stats['steps']} steps: what is kept takes ")
    assert end.endswith("MB. Keep fewer times (save_at=), or raise max_memory. See error.solution.")
    # with few times kept the same run has nothing to grow
    stopped(lambda: simulate(PENDULUM, 1e6, **LONG, max_memory=1e6, save_at=10, cancel=After(5)), Cancelled)


def test_rows_are_counted_across_changes_of_methods():
    stiff = KINDS["stiff"]
    error = stopped(lambda: simulate(stiff[0], 1e9, **stiff[2], max_memory=2e5))
    sol = error.solution
    assert len(sol.trail.parts) > 1  # an implicit method took over
    assert sum(part.trail.record.bytes_from(0) for part in sol.trail.parts) > 2e5


def test_times_that_cannot_be_kept_are_refused_before_the_run():
    error = stopped(lambda: simulate(PENDULUM, 1.0, q0=[1, 0], v0=[0, 0], max_memory=1e3, save_at=1000))
    assert error.solution is None
    assert str(error) == (
        "what is kept at 1000 times takes 64.0 kB, more than max_memory = 1.0 kB. Keep fewer times, or raise max_memory."
    )


def test_compiling_counts_and_trials_are_limited_too():
    new = System(mass=np.eye(1), force=lambda q: -q * np.exp(-(q**2)), potential=lambda q: q @ q)
    error = stopped(lambda: simulate(new, 1e5, q0=[1.0], v0=[0.0], max_time=1e-6, prefer="energy"))
    assert str(error).startswith("max_time = 1e-06 s were used up at t = 0 of 100000, after 0 steps.")
    assert len(error.solution.t) == 1


# the first members are short, the others would take minutes: their gravity makes them swing a thousand times faster
G = np.where(np.arange(200) < 40, 1e-3, 1e3)


def test_a_sweep_stops_after_max_time_with_the_members_so_far():
    sweep(SWING, 1.0, **LONG, params={"g": G[:2]})
    began = time.perf_counter()
    error = stopped(lambda: sweep(SWING, 3e3, **LONG, params={"g": G}, max_time=0.7))
    assert time.perf_counter() - began < 2.0
    runs, done = error.solution, int(error.solution.ok.sum())
    assert 16 <= done < 60
    assert np.isfinite(runs.q[runs.ok]).all() and np.isnan(runs.q[~runs.ok, -1]).all()
    assert str(error) == (
        f"max_time = 0.7 s were used up after {done} of 200 runs. Raise max_time, or give a store=, with which resume=True goes "
        "on. The members so far are in error.solution."
    )
    assert {failure.why for failure in runs.failed} == {
        "not finished: the sweep was stopped by max_time = 0.7 s", "not run: the sweep was stopped by max_time = 0.7 s"
    }  # fmt: skip
    whole = sweep(SWING, 3e3, **LONG, params={"g": G[:40]}, max_time=600.0)
    here = np.flatnonzero(runs.ok[:40])
    assert np.array_equal(runs.q[here], whole.q[here])


def test_a_store_goes_on_where_max_time_left_it(tmp_path):
    pytest.importorskip("zarr", reason="extra store")
    path, call = tmp_path / "runs.zarr", LONG | {"params": {"g": G}}
    sweep(SWING, 1.0, **LONG, params={"g": G[:2]}, store=tmp_path / "first.zarr")  # loads what stores need
    error = stopped(lambda: sweep(SWING, 3e3, **call, store=path, max_time=0.7))
    done = int(error.solution.ok.sum())
    assert str(error) == (
        f"max_time = 0.7 s were used up after {done} of 200 runs. They are in {path}; call sweep again with resume=True to go on."
    )
    assert done >= 16
    again = stopped(lambda: sweep(SWING, 3e3, **call, store=path, resume=True, cancel=After(0)), Cancelled)
    assert str(again) == (
        f"the sweep was cancelled after {done} of 200 runs. They are in {path}; call sweep again with resume=True to go on."
    )
    assert again.solution.failed[-1].why == "not run: the sweep was cancelled"


def test_another_thread_cancels_a_sweep():
    cancel = threading.Event()
    threading.Timer(0.3, cancel.set).start()
    began = time.perf_counter()
    error = stopped(lambda: sweep(SWING, 3e3, **LONG, params={"g": G}, cancel=cancel), Cancelled)
    assert time.perf_counter() - began < 1.5
    done = int(error.solution.ok.sum())
    assert str(error) == f"the sweep was cancelled after {done} of 200 runs. The members so far are in error.solution."


def test_results_of_a_sweep_that_take_more_than_max_memory_are_refused_before_it():
    call = {"q0": [1, 0], "v0": [0, 0], "params": {"g": np.linspace(1, 20, 100)}, "max_memory": 1e5}
    words = ', more than max_memory = 100.0 kB. Name what you need in outputs=, pass keep="summary", or stream them to store=.'
    assert str(stopped(lambda: sweep(SWING, 1.0, **call, save_at=50))) == (
        f"the results of 100 runs at 50 times take 280.0 kB{words}"
    )
    assert sweep(SWING, 1.0, **call, save_at=50, outputs=["q"]).q.shape == (100, 50, 2)  # 80 kB
    assert str(stopped(lambda: sweep(SWING, 1.0, **call, save_at=50, outputs=["q", "v"]))) == (
        f"the results of 100 runs at 50 times take 160.0 kB{words}"
    )


def test_events_of_a_sweep_count_as_results():
    low = {"low": lambda q: q[0]}
    error = stopped(
        lambda: sweep(SWING, 100.0, q0=[1, 0], v0=[0, 0], params={"g": np.linspace(5, 20, 200)}, events=low, max_memory=1e5)
    )
    done = int(error.solution.ok.sum())
    assert 0 < done < 200
    assert str(error).startswith(f"max_memory = 100.0 kB are used up after {done} of 200 runs: results and events take ")
    assert str(error).endswith("kB. Raise max_memory, or watch fewer events. The members so far are in error.solution.")


def test_a_sweep_that_is_just_finished_is_not_stopped():
    runs = sweep(SWING, 1.0, q0=[1, 0], v0=[0, 0], params={"g": [1.0, 2.0]}, cancel=After(10**6))
    assert runs.failed == []


def test_calls_that_make_several_runs_stop_as_well():
    # as many looks as the reference and a first row take, and no more
    with pytest.raises(Cancelled):
        compare(PENDULUM, 50.0, q0=[1, 0], v0=[0, 0], integrator=[RK4()] * 50, step=1e-4, repeat=1, cancel=After(40))
    with pytest.raises(Cancelled):
        gradient(lambda sol: sol.q[-1, 0], SWING, 1.0, q0=[1, 0], v0=[0, 0], wrt="g", cancel=After(0))


@pytest.mark.parametrize("call", ["simulate", "sweep"])
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"max_time": 0}, "max_time=0 must be a positive number."),
        ({"max_time": "1 min"}, "max_time='1 min' must be a positive number."),
        ({"max_memory": -1}, "max_memory=-1 must be a positive number."),
        ({"cancel": True}, "cancel=True: give an object with is_set(), for example threading.Event()."),
        ({"cancel": After}, "cancel=<class 'test_limits.After'>: give an object with is_set(), for example threading.Event()."),
    ],
)
def test_limits_that_cannot_be_meant_are_told(call, given, text):
    calls = {"simulate": simulate, "sweep": lambda *args, **given: sweep(*args, **given, params={"g": [1.0]})}
    assert str(stopped(lambda: calls[call](SWING, 1.0, q0=[1, 0], v0=[0, 0], **given), BadArgument)) == text
