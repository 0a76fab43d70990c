"""Events that end a run."""

import numpy as np
import pytest

from holonomic import RK4, Event, Ode, System, simulate

SPRING = System(mass=[[1.0]], force=lambda q: -q)
PENDULUM = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})


def at_centre(**more):
    return Event(lambda q: q[0], terminal=True, **more)


def test_a_terminal_event_between_saved_times_ends_the_run_at_the_event():
    sol = simulate(SPRING, 10.0, q0=[1.0], v0=[0.0], save_at=11, events={"centre": at_centre()}, rtol=1e-9)
    assert sol.ended == "centre"
    assert sol.t.tolist() == [0.0, 1.0]  # the kept times before the event at π/2
    assert np.allclose(sol.events["centre"].t, [np.pi / 2], atol=1e-8)
    # the end is the state at the event, not the last kept one
    assert np.isclose(sol.end.t, np.pi / 2, atol=1e-8)
    assert np.allclose(sol.end.q, 0.0, atol=1e-14)
    assert np.allclose(sol.end.v, -1.0, atol=1e-8)


def test_the_last_row_is_the_event_where_every_step_is_kept():
    sol = simulate(PENDULUM, 10.0, q0=[1, 0], v0=[0, 0], events={"bottom": at_centre()}, rtol=1e-9)
    assert sol.t[-1] == sol.events["bottom"].t[0] == sol.end.t
    assert np.array_equal(sol.q[-1], sol.events["bottom"].q[0])
    assert abs(sol.q[-1, 0]) < 1e-14
    assert np.allclose(sol.q[-1] @ sol.q[-1], 1.0, atol=1e-10)


def test_a_terminal_event_keeps_the_order_of_the_integrator():
    # the last step is taken to the event, not cut out of the dense output (order 3 for RK4)
    errors = []
    for step in (0.2, 0.1):
        sol = simulate(SPRING, 10.0, q0=[1.0], v0=[0.0], events={"centre": at_centre()}, integrator=RK4(), step=step)
        errors.append(abs(sol.end.t - np.pi / 2))
        assert abs(sol.end.q[0]) < 1e-14
    assert np.log2(errors[0] / errors[1]) > 3.8


def test_the_first_of_several_terminal_events_ends_the_run():
    events = {"late": Event(lambda q: q[0] + 0.5, terminal=True), "early": Event(lambda q: q[0] - 0.5, terminal=True)}
    sol = simulate(SPRING, 10.0, q0=[1.0], v0=[0.0], events=events, rtol=1e-3, first_step=2.5)
    assert sol.ended == "early"
    assert len(sol.events["late"].t) == 0
    assert np.isclose(sol.end.t, np.arccos(0.5), atol=1e-2)


def test_other_events_before_the_terminal_one_are_kept_and_those_after_are_not():
    events = {"stop": at_centre(), "before": lambda q: q[0] - 0.9, "after": lambda q: q[0] + 0.1}
    sol = simulate(SPRING, 10.0, q0=[1.0], v0=[0.0], events=events, rtol=1e-8)
    assert np.allclose(sol.events["before"].t, [np.arccos(0.9)], atol=1e-7)
    assert len(sol.events["after"].t) == 0


def test_direction_decides_which_crossing_ends_the_run():
    sol = simulate(SPRING, 10.0, q0=[1.0], v0=[0.0], events={"up": at_centre(direction="rising")}, rtol=1e-9)
    assert np.isclose(sol.end.t, 3 * np.pi / 2, atol=1e-7)


@pytest.mark.parametrize("edge", [0.3, -0.7])
def test_a_jump_of_the_event_function_ends_the_run_too(edge):
    jump = Event(lambda q: np.where(q[0] > edge, 1.0, -1.0), terminal=True)
    sol = simulate(SPRING, 10.0, q0=[1.0], v0=[0.0], events={"jump": jump}, rtol=1e-8)
    assert sol.ended == "jump"
    assert np.isclose(sol.end.t, np.arccos(edge), atol=1e-7)


def test_the_next_run_goes_on_from_the_event():
    first = simulate(SPRING, 10.0, q0=[1.0], v0=[0.0], events={"centre": at_centre()}, rtol=1e-10, atol=1e-12)
    # zero at the start again: it leaves zero falling, so "rising" does not stop at once
    up = {"up": at_centre(direction="rising")}
    second = simulate(SPRING, 10.0, q0=first.end, events=up, rtol=1e-10, atol=1e-12)
    assert np.isclose(second.t[0], np.pi / 2, atol=1e-9)
    assert np.isclose(second.end.t, 3 * np.pi / 2, atol=1e-8)


def test_a_terminal_event_on_a_break_of_an_input_is_found():
    ramp = Ode(lambda u: np.array([u.pull]), inputs={"pull": ([0.0, 1.0, 2.0], [1.0, 1.0, 3.0])})
    sol = simulate(ramp, 2.0, y0=[0.0], events={"one": Event(lambda y: y[0] - 1.0, terminal=True)})
    assert sol.ended == "one"
    assert np.isclose(sol.end.t, 1.0, atol=1e-12)


def test_a_run_in_short_stretches_gives_the_same_events():
    # the loop returns to Python at any step; nothing of the search for events may be lost with it
    from holonomic.running.run import Run

    def run():
        watched = {"zero": lambda q: q[0], "turn": lambda v: v[0]}
        return simulate(SPRING, 40.0, q0=[1.0], v0=[0.0], events=watched, max_step=0.1)

    whole = run()
    first = Run.__init__

    def hurried(self, *args, **more):
        first(self, *args, **more)
        self._quota = 1

    try:
        Run.__init__ = hurried
        pieces = run()
    finally:
        Run.__init__ = first
    for name in ("zero", "turn"):
        assert np.array_equal(whole.events[name].t, pieces.events[name].t)
    assert np.array_equal(whole.q, pieces.q)
