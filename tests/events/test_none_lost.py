"""Event functions that are faster than the motion: every zero is found, once; what cannot be promised is counted."""

from dataclasses import replace

import numpy as np
import pytest

from holonomic import BDF, GGL, RK4, RK45, Event, EventWarning, Index2, Ode, Radau, StepFailed, System, simulate, sweep

pytestmark = pytest.mark.filterwarnings("error::holonomic.EventWarning")  # what is found whole is not warned of
FLIGHT = System(mass=np.eye(1), force=[0.0])
SLOW = System(mass=np.eye(2), potential=lambda q: q[1], constraint={"rod": lambda q: q @ q - 1})
STILL = Ode(lambda y: 0 * y, params={"rate": 100.0, "phase": 0.5})
TICK = {"tick": Event(lambda t: np.sin(100 * t + 0.5))}
TICKS = (np.arange(1, 319) * np.pi - 0.5) / 100  # in 10 s
START = {"q0": [1, 0], "v0": [0, 0]}


def swing(events, t_end=10.0, **more):
    return simulate(SLOW, t_end, events=events, **START, **more)


def zeros_of(f, t_end):
    """Zeros of a function of t by a dense scan, to within a millionth of the time."""
    t = np.linspace(0.0, t_end, 1_000_001)
    return t[1:][np.sign(f(t[1:])) != np.sign(f(t[:-1]))]


def test_every_metre_of_a_flight_is_found():
    sol = simulate(FLIGHT, 100.0, q0=[0.5], v0=[1.0], events={"metre": Event(lambda q: np.sin(np.pi * q[0]))})
    assert sol.stats["steps"] < 12  # the flight needs few steps, and has 100 events
    assert sol.events["metre"].t == pytest.approx(np.arange(1, 101) - 0.5, abs=1e-9)


@pytest.mark.parametrize(
    "methods",
    [{}, {"integrator": RK45()}, {"integrator": RK4(), "step": 0.5}, {"integrator": Radau(), "formulation": GGL()},
     {"integrator": BDF(), "formulation": Index2()}],
    ids=["auto", "RK45", "RK4", "Radau", "BDF"],
)  # fmt: skip
def test_every_tick_on_a_slow_pendulum_is_found_with_every_kind_of_method(methods):
    found = swing(TICK, **methods).events["tick"].t
    assert found == pytest.approx(TICKS, abs=1e-13)  # t is known to rounding


def test_looking_for_fast_events_changes_no_step():
    plain, watched = simulate(SLOW, 10.0, **START), swing(TICK)
    assert np.array_equal(plain.t, watched.t) and np.array_equal(plain.q, watched.q)


def test_a_backward_run_finds_every_tick_too():
    assert np.sort(swing(TICK, (10.0, 0.0)).events["tick"].t) == pytest.approx(TICKS, abs=1e-13)


def test_interpreted_runs_find_every_tick():
    plain = Ode(lambda y: 0 * y, trace=False)
    sol = simulate(plain, 2.0, y0=[1.0], events=TICK)
    assert sol.events["tick"].t == pytest.approx(TICKS[TICKS < 2.0], abs=1e-13)


def test_members_of_a_sweep_find_every_tick():
    rates = np.array([1.0, 10.0, 100.0, 300.0])
    tick = {"tick": Event(lambda t, p: np.sin(p.rate * t + 0.5))}
    runs = sweep(STILL, 10.0, y0=[1.0], params={"rate": rates}, events=tick, save_at=2, on="threads", progress=False)
    counts = [int(np.sum(runs.events["tick"].member == m)) for m in range(len(rates))]
    assert counts == [int((10 * rate + 0.5) // np.pi) for rate in rates] == [3, 31, 318, 955]


def test_rising_and_falling_ticks_are_told_apart():
    wave = lambda t: np.sin(100 * t + 0.5)
    sol = swing({"up": Event(wave, "rising"), "down": Event(wave, "falling"), "all": Event(wave)})
    assert sol.events["down"].t == pytest.approx(TICKS[::2], abs=1e-13)
    assert sol.events["up"].t == pytest.approx(TICKS[1::2], abs=1e-13)
    assert len(sol.events["all"]) == 318


def test_the_first_tick_ends_a_run():
    sol = swing({"tick": Event(lambda t: np.sin(100 * t + 0.5), "rising", terminal=True)})
    assert sol.ended == "tick" and sol.end.t == pytest.approx(TICKS[1], abs=1e-13)


def test_every_tick_maps_the_state():
    # each tick turns the velocity around: the flight stays within a tick's length of its start
    turn = {"tick": Event(lambda t: np.sin(100 * t + 0.5), then=lambda q, v: (q, -v))}
    sol = simulate(FLIGHT, 2.0, q0=[0.0], v0=[1.0], events=turn)
    assert sol.events["tick"].t == pytest.approx(TICKS[TICKS < 2.0], abs=1e-12)


def test_every_zero_of_a_chirp_is_found():
    # from 0 to 150 rad/s within 10 s
    sol = swing({"chirp": Event(lambda t: np.sin(0.5 * t**3 + 0.001))})
    expected = (2 * (np.arange(1, 160) * np.pi - 0.001)) ** (1 / 3)
    assert sol.events["chirp"].t == pytest.approx(expected, abs=1e-12)


def test_every_zero_of_twenty_random_fourier_sums_is_found_once():
    """Eight frequencies up to 60 rad/s each: 2261 zeros, on a pendulum in 38 steps each and where nothing moves."""
    there = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        rate, size, phase = random.uniform(0, 60, 8), random.normal(size=8), random.uniform(0, 6.28, 8)
        wave = lambda t, r=rate, s=size, f=phase: sum(s[i] * np.sin(r[i] * t + f[i]) for i in range(8))
        expected = zeros_of(wave, 10.0)
        there += len(expected)
        for sol in (swing({"wave": Event(wave)}), simulate(STILL, 10.0, y0=[1.0], events={"wave": Event(wave)})):
            found = sol.events["wave"].t
            assert len(found) == len(expected), seed
            assert found == pytest.approx(expected, abs=2e-5), seed  # two steps of the scan
    assert there == 2261


@pytest.mark.parametrize("limit", [{"integrator": RK4(), "step": 0.1}, {"max_step": 0.1}], ids=["fixed", "longest"])
def test_an_oscillation_that_fits_into_equal_steps_is_found(limit):
    """Its phase is the same in all steps: 1/3 to 10 periods in each, of 0.1 s."""
    wave = {"wave": Event(lambda t, p: np.sin(p.rate * t + p.phase))}
    for sixth in range(1, 61):
        rate = 2 * np.pi * sixth / 6 / 0.1
        sol = simulate(STILL.with_params(rate=rate, phase=1.5), 1.0, y0=[1.0], events=wave, **limit)
        assert len(sol.events["wave"]) == int((rate + 1.5) // np.pi), sixth


def test_pulses_much_shorter_than_a_step_are_all_found():
    """By the width of a pulse, in steps of about 0.26 s: the last one is a thousandth of a step wide."""
    found = {}
    for width in (1e-1, 3e-2, 1e-2, 2.6e-4):
        found[width] = 0
        for at in 1.0 + 8.0 * np.random.default_rng(1).random(50):
            pulse = Event(lambda t, p: np.exp(-(((t - p.at) / p.width) ** 2)) - 0.5)
            system = System(
                mass=np.eye(2), potential=lambda q: q[1], constraint={"rod": lambda q: q @ q - 1}, params={"at": at, "width": width}
            )
            log = simulate(system, 10.0, events={"pulse": pulse}, **START).events["pulse"]
            found[width] += len(log) == 2
    assert set(found.values()) == {50}


def test_functions_that_jump_are_found_where_they_jump_and_cost_no_step():
    sign = {"metre": Event(lambda q: np.sign(np.sin(np.pi * q[0]))), "floor": Event(lambda q: np.floor(q[0]) - 50.5)}
    sol = simulate(FLIGHT, 100.0, q0=[0.5], v0=[1.0], events=sign)
    assert sol.stats["steps"] < 12
    assert sol.events["metre"].t == pytest.approx(np.arange(1, 101) - 0.5, abs=1e-9)
    assert sol.events["floor"].t == pytest.approx([50.5], abs=1e-9)
    assert len(swing({"side": Event(lambda q: np.sign(q[0]))}).t) == len(simulate(SLOW, 10.0, **START).t)


@pytest.mark.parametrize("f", [lambda q: q @ q - 1, lambda t: np.sin(1e7 * t)], ids=["rounding", "too fast"])
@pytest.mark.parametrize("methods", [{}, {"integrator": RK4(), "step": 0.1}], ids=["adaptive", "fixed"])
def test_a_function_that_no_piece_resolves_does_not_stop_the_run_and_is_named(f, methods):
    with pytest.warns(EventWarning, match=r"event 'noise' was given up at t = ") as said:
        watched = swing({"smooth": Event(lambda q: q[0]), "noise": Event(f), "more": Event(f)}, **methods)
    assert len(said) == 1  # one word for all of them
    plain = simulate(SLOW, 10.0, **START, **methods)
    assert watched.t[-1] == 10.0 and len(watched.t) == len(plain.t)


def test_a_function_that_is_given_up_on_the_way_is_told_with_its_time_and_its_remedy():
    late = {"late": Event(lambda t: np.where(t > 5.0, np.sin(1e7 * t), 1.0))}
    with pytest.warns(EventWarning) as said:
        swing(late)
    text = str(said[0].message)
    assert 5.0 <= float(text.split("t = ")[1].split(":")[0]) < 5.5
    assert text.endswith(
        "its function changes within a thousandth of a step, or is no more than rounding, and not all of its changes of sign are "
        "found. Pass a smaller max_step=, or watch a function that is smooth."
    )
    slower = {"late": Event(lambda t: np.where(t > 5.0, np.sin(1e5 * t), 1.0))}
    found = swing(slower, t_end=5.2, max_step=0.01).events["late"].t
    exact = np.arange(np.ceil(5.0 * 1e5 / np.pi), np.floor(5.2 * 1e5 / np.pi) + 1) * np.pi / 1e5
    assert len(found) in (len(exact), len(exact) + 1)  # the jump at t = 5 may cross zero, too


def test_members_whose_event_function_is_given_up_are_named():
    by_rate = {"half": Event(lambda t: t - 5.0), "tick": Event(lambda t, p: np.sin(p.rate * t + 0.5))}
    slow = replace(SLOW, params={"rate": 1.0})
    with pytest.warns(EventWarning, match="event 'tick' was given up"):
        runs = sweep(slow, 10.0, **START, params={"rate": [100.0, 1e7, 3.0]}, events=by_rate)
    assert [(note.member, note.kind) for note in runs.noted] == [(1, "EventWarning")]
    assert runs.noted[0].text.startswith("event 'tick' was given up at t = ")


def test_smooth_functions_cost_no_evaluation_more():
    """Three a step, as many as there were before functions were checked, and what closes in on the zeros."""
    called = [0]

    def low(y):
        called[0] += 1
        return y[0]

    rotor = Ode(lambda y: np.array([y[1], -y[0]]), trace=False)
    sol = simulate(rotor, 40.0, y0=[0.3, 1.0], events={"low": Event(low)})
    zeros, steps = len(sol.events["low"]), sol.stats["steps"]
    assert zeros == 12
    assert called[0] <= 3.2 * steps + 12 * zeros


def test_a_fixed_step_with_more_events_than_there_is_room_for_is_refused_with_a_step_that_works():
    with pytest.raises(StepFailed) as caught:
        swing(TICK, integrator=RK4(), step=1.0)
    assert str(caught.value) == (
        "event 'tick' happens so often that there is no room for all of it in the step of 1 from t = 0. Take step=0.4, or rtol= "
        "in the place of step=. See error.solution."
    )
    assert len(swing(TICK, integrator=RK4(), step=0.4).events["tick"]) == 318
