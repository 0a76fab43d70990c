"""Impacts in ever shorter order: an explanation, never a hang and never a fall through the floor."""

import numpy as np
import pytest

from holonomic import RK4, Event, StepFailed, System, simulate

G = 9.81
BALL = System(mass=[[1.0]], force=[-G])


def bounce(e, floor=0.0):
    return {"floor": Event(lambda q: q[0] - floor, "falling", then=lambda q, v: (q, -e * v))}


@pytest.mark.parametrize("floor", [0.0, 1.0, 1e3])
@pytest.mark.parametrize("e", [0.9, 0.5, 0.1, 1e-3, 1e-8])
def test_accumulating_impacts_end_in_an_explanation(e, floor):
    with pytest.raises(StepFailed, match=r"event 'floor' becomes a lasting contact at t = ") as caught:
        simulate(BALL, 100.0, q0=[floor + 1.0], v0=[0.0], events=bounce(e, floor))
    sol = caught.value.solution
    # all impacts together: first fall times (1 + e)/(1 - e)
    limit = np.sqrt(2 / G) * (1 + e) / (1 - e)
    assert np.isclose(sol.end.t, limit, rtol=1e-4)  # near it rounding decides about the flights
    assert np.all(np.diff(sol.events["floor"].t) >= 0)
    assert np.min(sol.q) > floor - 1e-9 * max(1.0, floor)
    assert sol.ended == "failed"


def test_accumulating_impacts_are_noticed_with_a_fixed_step():
    with pytest.raises(StepFailed, match="lasting contact"):
        simulate(BALL, 100.0, q0=[1.0], v0=[0.0], events=bounce(0.5), integrator=RK4(), step=0.05)


def test_an_impact_that_leaves_no_speed_is_a_lasting_contact():
    stick = {"floor": Event(lambda q: q[0], "falling", then=lambda q, v: (q, 0 * v))}
    with pytest.raises(StepFailed) as caught:
        simulate(BALL, 100.0, q0=[1.0], v0=[0.0], events=stick)
    assert str(caught.value) == (
        "event 'floor' becomes a lasting contact at t = 0.451523641 (1 impact so far): then= leaves no speed to move "
        "away. Go on from error.solution.end with a system that rests there."
    )
    rest = System(mass=[[1.0]], force=[-G], constraint=lambda q: q[0])
    sol = simulate(rest, 1.0, q0=caught.value.solution.end)
    assert np.allclose(sol.lam, -G)


def test_an_impact_without_speed_is_fine_where_the_motion_leads_away():
    # thrown up against a ceiling, stopped there, falling again
    stop = {"ceiling": Event(lambda q: q[0] - 1.0, "rising", then=lambda q, v: (q, 0 * v))}
    sol = simulate(BALL, 1.0, q0=[0.0], v0=[5.0], events=stop)
    up = (5.0 - np.sqrt(25.0 - 2 * G)) / G
    assert np.allclose(sol.events["ceiling"].t, [up])
    assert np.allclose(sol.end.q, 1.0 - G / 2 * (1.0 - up) ** 2)


def test_a_mapping_that_resets_the_event_function_goes_on():
    # a clock that counts to 1 and starts again
    clock = System(mass=[[1.0]], force=[0.0])
    reset = {"tick": Event(lambda q: q[0] - 1.0, then=lambda q, v: (0 * q, v))}
    sol = simulate(clock, 10.5, q0=[0.0], v0=[1.0], events=reset)
    assert np.allclose(sol.events["tick"].t, np.arange(1, 11))


@pytest.mark.parametrize("speed", [0.0, 1.0, 30.0])
@pytest.mark.parametrize("e", [0.7, 0.2])
def test_accumulating_impacts_on_a_slope_are_noticed_too(e, speed):
    # gravity at right angles to the slope: the exact times, then rounding in two coordinates
    n = np.array([np.sin(0.4), np.cos(0.4)])
    slope = System(mass=np.eye(2), force=-G * n)
    hit = Event(lambda q: n @ q - 3.0, "falling", then=lambda q, v: (q, v - (1 + e) * (n @ v) * n))
    with pytest.raises(StepFailed, match="lasting contact") as caught:
        simulate(slope, 100.0, q0=4.0 * n, v0=speed * np.array([n[1], -n[0]]), events={"slope": hit})
    sol = caught.value.solution
    assert np.isclose(sol.end.t, np.sqrt(2 / G) * (1 + e) / (1 - e), rtol=1e-4)
    assert np.min(sol.q @ n) > 3.0 - 1e-8


def test_impacts_count_towards_max_steps():
    with pytest.raises(StepFailed, match="max_steps = 300 steps were used up") as caught:
        simulate(BALL, 1e4, q0=[1.0], v0=[0.0], events=bounce(1.0), max_steps=300)
    assert 30 < len(caught.value.solution.events["floor"].t) < 300


def test_a_mapping_that_does_nothing_does_not_stop_the_run():
    idle = {"level": Event(lambda q: q[0] - 0.5, then=lambda q, v: (q, v))}
    sol = simulate(BALL, 1.0, q0=[1.0], v0=[0.0], events=idle)
    assert len(sol.events["level"].t) == 1
    assert np.allclose(sol.end.q, 1 - G / 2)


def test_a_mapping_that_keeps_the_state_beyond_the_wall_is_not_repeated_for_ever():
    # the map throws the ball back below the floor: it leaves zero downwards, and that is its own doing
    under = {"floor": Event(lambda q: q[0], "falling", then=lambda q, v: (q - 0.5, v))}
    sol = simulate(BALL, 1.0, q0=[1.0], v0=[0.0], events=under)
    assert len(sol.events["floor"].t) == 1
