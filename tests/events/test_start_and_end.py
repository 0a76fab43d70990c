"""Event functions that are zero where a run starts or ends."""

from dataclasses import replace

import numpy as np
import pytest

from holonomic import RK4, Event, Ode, System, simulate

RISING = Ode(lambda y: 0 * y + 1.0)
BALL = System(mass=np.eye(1), force=[-10.0])


@pytest.mark.parametrize("system", [RISING, replace(RISING, trace=False)], ids=["compiled", "interpreted"])
@pytest.mark.parametrize(("direction", "times"), [("both", [0.0]), ("rising", [0.0]), ("falling", [])])
def test_a_zero_at_the_start_counts_only_if_it_leaves_in_its_direction(direction, times, system):
    sol = simulate(system, 1.0, y0=[0.0], events={"zero": Event(lambda y: y[0], direction)})
    assert sol.events["zero"].t.tolist() == times
    down = simulate(system, 1.0, y0=[0.0], events={"zero": Event(lambda y: -y[0], direction)})
    assert len(down.events["zero"].t) == (direction != "rising")


def test_a_zero_at_the_start_that_comes_back_within_the_first_step_is_seen():
    # thrown up from the ground: back at t = 2 v/g = 0.02, long before the first sample at a third of the step
    sol = simulate(BALL, 3.0, q0=[0.0], v0=[0.1], events={"ground": Event(lambda q: q[0], "falling")}, first_step=3.0)
    assert sol.stats["steps"] == 1
    assert np.allclose(sol.events["ground"].t, [0.02], rtol=1e-12)
    both = simulate(BALL, 3.0, q0=[0.0], v0=[0.1], events={"ground": lambda q: q[0]}, first_step=3.0)
    assert np.allclose(both.events["ground"].t, [0.0, 0.02], rtol=1e-12)


def test_leaving_zero_by_acceleration_alone_counts():
    events = {"falls": Event(lambda q: q[0], "falling"), "rises": Event(lambda q: q[0], "rising")}
    sol = simulate(BALL, 1.0, q0=[0.0], v0=[0.0], events=events)
    assert sol.events["falls"].t.tolist() == [0.0]
    assert sol.events["rises"].t.tolist() == []


def test_a_terminal_event_at_the_start_ends_the_run_there():
    sol = simulate(RISING, 1.0, y0=[0.0], events={"zero": Event(lambda y: y[0], terminal=True)})
    assert sol.ended == "zero"
    assert sol.t.tolist() == [0.0]
    against = simulate(RISING, 1.0, y0=[0.0], events={"zero": Event(lambda y: y[0], "falling", terminal=True)})
    assert against.ended == "end"


def test_a_mapping_event_at_the_start_maps_the_state():
    turn = Event(lambda q: q[0], "falling", then=lambda q, v: (q, -v))
    sol = simulate(BALL, 0.1, q0=[0.0], v0=[-1.0], events={"floor": turn})
    assert sol.events["floor"].t.tolist() == [0.0]
    assert np.allclose(sol.end.v, [1.0 - 10 * 0.1])


def test_a_zero_exactly_at_the_end_is_counted():
    for more in ({}, {"integrator": RK4(), "step": 0.25}):
        events = {"both": lambda t: t - 1.0, "falling": Event(lambda t: t - 1.0, "falling")}
        sol = simulate(RISING, 1.0, y0=[0.0], events=events, **more)
        assert sol.events["both"].t.tolist() == [1.0]
        assert sol.events["falling"].t.tolist() == []


def test_a_terminal_event_exactly_at_the_end_is_what_ended_the_run():
    sol = simulate(RISING, 1.0, y0=[0.0], events={"clock": Event(lambda t: t - 1.0, terminal=True)})
    assert sol.ended == "clock"
    assert sol.events["clock"].t.tolist() == [1.0]
    assert sol.t[-1] == 1.0


def test_no_event_where_the_function_stays_zero():
    sol = simulate(RISING, 1.0, y0=[0.0], events={"zero": lambda y: np.maximum(y[0] - 5.0, 0.0)})
    assert len(sol.events["zero"].t) == 0


def test_a_function_that_rests_at_zero_counts_once_when_it_goes_on_to_the_other_side():
    # below zero, then zero for a while, then above
    ramp = lambda y: np.where(y[0] < 0.3, y[0] - 0.3, np.where(y[0] > 0.7, y[0] - 0.7, 0.0))
    sol = simulate(RISING, 1.0, y0=[0.0], events={"through": ramp}, max_step=0.05)
    assert len(sol.events["through"].t) == 1
    assert 0.3 <= sol.events["through"].t[0] <= 0.7 + 1e-12
