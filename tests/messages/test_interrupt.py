"""Ctrl-C ends a run, not the work done so far."""

import signal
import sys
import threading
import traceback

import numpy as np
import pytest

from holonomic import Event, Ode, System, simulate

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread(),
    reason="needs signals in the main thread",
)


def interrupted_after(seconds, run):
    """Call `run` and press Ctrl-C after a while."""

    def press(signum, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


PENDULUM = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})


def test_ctrl_c_keeps_the_solution_so_far(caplog):
    simulate(PENDULUM, 0.1, q0=[1, 0], v0=[0, 0], save_at=10)  # compiled
    events = {"bottom": lambda q: q[0]}
    simulate(PENDULUM, 0.1, q0=[1, 0], v0=[0, 0], events=events, save_at=10)
    sol = interrupted_after(
        1.0, lambda: simulate(PENDULUM, 1e6, q0=[1, 0], v0=[0, 0], events=events, max_steps=10**9, save_at=10**6)
    )
    assert sol.ended == "interrupted"
    assert 10 < sol.end.t < 1e6
    assert len(sol.t) == int(sol.end.t // 1.000001) + 1
    assert np.max(np.abs(np.sum(sol.q**2, axis=1) - 1)) < 1e-9
    # two zeros in each period of 2.3678 s
    assert np.isclose(len(sol.events["bottom"].t), sol.end.t / 1.1839, rtol=1e-3, atol=2)
    said = f"holonomic: interrupted at t = {sol.end.t:.6g} of 1e+06; the solution so far is returned."
    assert caplog.messages[-1] == said


def test_an_interrupted_run_can_be_continued_without_a_seam():
    oscillator = Ode(lambda y: np.array([y[1], -y[0]]))
    simulate(oscillator, 1.0, y0=[1.0, 0.0])
    first = interrupted_after(0.5, lambda: simulate(oscillator, 1e7, y0=[1.0, 0.0], rtol=1e-12, atol=1e-12, max_steps=10**9))
    assert first.ended == "interrupted"
    assert first.t[-1] == first.end.t
    assert np.all(np.diff(first.t) > 0)  # no row twice
    t_end = first.end.t + 1.0
    second = simulate(oscillator, t_end, y0=first.end, rtol=1e-12, atol=1e-12)
    assert np.allclose(np.hypot(*second.y[-1]), 1.0, atol=1e-6)


def test_ctrl_c_in_a_mapping_keeps_the_solution_too():
    def then(q, v):
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(1)
        return q, -v

    calls = []
    ball = System(mass=[[1.0]], force=[-9.81])
    sol = simulate(ball, 100.0, q0=[1.0], v0=[0.0], events={"floor": Event(lambda q: q[0], "falling", then=then)})
    assert sol.ended == "interrupted"
    assert len(sol.events["floor"].t) == 4
    assert sol.t[-1] == sol.events["floor"].t[-1]


@pytest.mark.parametrize("moment", range(0, 90, 5))
def test_ctrl_c_while_rows_are_taken_over_loses_none(moment):
    """The press comes at some line of the code that takes over what the step loop has written."""
    events = {"bottom": lambda q: q[0]}
    call = {"q0": [1, 0], "v0": [0, 0], "events": events, "save_at": 200}
    whole = simulate(PENDULUM, 60.0, **call)
    passed = []

    def trace(frame, event, argument):
        names = [each.f_code.co_name for each, _ in traceback.walk_stack(frame)]
        if names[0] in ("_collect", "add", "collect", "<listcomp>") and "go" in names[:4]:
            passed.append(names[0])
            if len(passed) == moment + 1:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        sol = simulate(PENDULUM, 60.0, **call)
    finally:
        sys.settrace(before)
    assert sol.end.t <= 60.0
    n, found = len(sol.t), sol.events["bottom"].t
    assert np.array_equal(sol.t, whole.t[:n]) and np.array_equal(sol.q, whole.q[:n])
    assert np.array_equal(found, whole.events["bottom"].t[: len(found)])
    assert n == np.sum(whole.t <= sol.end.t) and len(found) == np.sum(whole.events["bottom"].t <= sol.end.t)
