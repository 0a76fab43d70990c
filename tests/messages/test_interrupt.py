"""Ctrl-C ends a run, not the work done so far."""

import signal
import threading

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


def test_ctrl_c_keeps_the_solution_so_far(capsys):
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
    said = capsys.readouterr().err
    assert said.endswith(f"holonomic: interrupted at t = {sol.end.t:.6g} of 1e+06; the solution so far is returned.\n")


def test_an_interrupted_run_can_be_continued_without_a_seam():
    oscillator = Ode(lambda y: np.array([y[1], -y[0]]))
    simulate(oscillator, 1.0, y0=[1.0, 0.0])
    first = interrupted_after(
        0.5, lambda: simulate(oscillator, 1e7, y0=[1.0, 0.0], rtol=1e-12, atol=1e-12, max_steps=10**9)
    )
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
