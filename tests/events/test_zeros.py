"""Zeros of event functions inside steps: those that the page promises are found, each once, where they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holonomic import DOP853, RK4, RK23, RK45, Euler, Event, Ode, System, simulate

# y = (sin(ωt + φ), cos(ωt + φ)) / (1, 1): zeros of y[0] at (kπ - φ)/ω
ROTOR = Ode(lambda y, p: np.array([p.omega * y[1], -p.omega * y[0]]), params={"omega": 1.0})


def rotor(phase, t_end, events, omega=1.0, **more):
    system = ROTOR if omega == 1.0 else ROTOR.with_params(omega=omega)
    return simulate(system, t_end, y0=[np.sin(phase), np.cos(phase)], events=events, **more)


def exact_zeros(omega, phase, t_end):
    """Zeros of sin(ωt + φ) in (0, t_end)."""
    k = np.arange(np.floor(phase / np.pi) + 1, np.ceil((omega * t_end + phase) / np.pi))
    return (k * np.pi - phase) / omega


@settings(max_examples=60, deadline=None)
@given(omega=st.floats(0.5, 40.0), phase=st.floats(0.01, 3.13))
def test_every_zero_of_an_oscillation_is_found_once(omega, phase):
    events = {"both": lambda y: y[0], "up": Event(lambda y: y[0], "rising"), "down": Event(lambda y: y[0], "falling")}
    expected = exact_zeros(omega, phase, 7.0)
    if len(expected) and min(expected[0], 7.0 - expected[-1]) < 1e-4:
        return  # within the error of the run, a zero at the very ends may lie outside
    sol = rotor(phase, 7.0, events, omega)
    found = sol.events["both"].t
    assert len(found) == len(expected)
    # rtol 1e-6 per step, a few steps per radian, global error below 1e-4 over 280 rad
    assert np.allclose(found, expected, atol=1e-4)
    up, down = sol.events["up"].t, sol.events["down"].t
    assert np.array_equal(np.sort(np.concatenate([up, down])), found)
    assert abs(len(up) - len(down)) <= 1


@pytest.mark.parametrize("integrator", [RK23(), RK45(), DOP853()])
def test_zeros_are_as_accurate_as_the_run(integrator):
    sol = rotor(0.3, 20.0, {"zero": lambda y: y[0]}, integrator=integrator, rtol=1e-9, atol=1e-12)
    # observed global errors at rtol 1e-9 are below 1e-7 for all three
    assert np.allclose(sol.events["zero"].t, exact_zeros(1.0, 0.3, 20.0), atol=2e-7)
    assert np.max(np.abs(sol.events["zero"].y[:, 0])) < 1e-14  # closed in to rounding on the dense output


@pytest.mark.parametrize(("integrator", "order"), [(Euler(), 1), (RK4(), 3)])
def test_fixed_steps_find_zeros_on_the_hermite_curve(integrator, order):
    errors = []
    for step in (0.02, 0.01):
        sol = rotor(0.3, 6.0, {"zero": lambda y: y[0]}, integrator=integrator, step=step)
        expected = exact_zeros(1.0, 0.3, 6.0)
        assert len(sol.events["zero"].t) == len(expected)
        errors.append(np.max(np.abs(sol.events["zero"].t - expected)))
    assert np.log2(errors[0] / errors[1]) > order - 0.3  # the curve is of order 3 at least, Euler's error of 1


def test_two_and_three_zeros_in_one_step_are_all_found():
    # constant speed: the step is as long as the run, and the event functions are polynomials of t
    still = Ode(lambda y: 0 * y + 1.0)
    roots = {"two": [0.2, 0.45], "three": [0.15, 0.5, 0.9], "close": [0.40, 0.41]}
    events = {name: (lambda y, at=tuple(at): np.prod([y[0] - root for root in at])) for name, at in roots.items()}
    sol = simulate(still, 1.0, y0=[0.0], events=events, first_step=1.0)
    assert sol.stats["steps"] == 1
    for name in roots:
        assert np.allclose(sol.events[name].t, roots[name], atol=1e-14), name


@pytest.mark.parametrize("phase", np.linspace(0.1, 3.0, 12))
def test_zeros_no_closer_together_than_a_third_of_the_longest_step_are_all_found(phase):
    """Steps as long as they may be, since nothing happens: only the points inside them can see the zeros."""
    wave = {"wave": Event(lambda t, p: np.sin(20.0 * t + p.phase))}
    still = Ode(lambda y: 0 * y, params={"phase": phase})
    sol = simulate(still, 5.0, y0=[1.0], events=wave, max_step=3 * np.pi / 20)
    assert sol.stats["steps"] < 20  # 33 zeros
    assert sol.events["wave"].t == pytest.approx(exact_zeros(20.0, phase, 5.0), abs=1e-12)


def test_direction_chooses_among_the_zeros_of_one_step():
    still = Ode(lambda y: 0 * y + 1.0)
    cubic = lambda y: (y[0] - 0.2) * (y[0] - 0.21) * (y[0] - 0.8)
    events = {"up": Event(cubic, "rising"), "down": Event(cubic, "falling"), "one": Event(cubic, 1)}
    sol = simulate(still, 1.0, y0=[0.0], events=events, first_step=1.0)
    assert np.allclose(sol.events["up"].t, [0.2, 0.8], atol=1e-14)
    assert np.allclose(sol.events["down"].t, [0.21], atol=1e-14)
    assert np.array_equal(sol.events["one"].t, sol.events["up"].t)


def test_a_zero_that_is_only_touched_is_no_event():
    still = Ode(lambda y: 0 * y + 1.0)
    touch = {"square": lambda y: (y[0] - 0.5) ** 2, "third": lambda y: (y[0] - 1 / 3) ** 2}
    sol = simulate(still, 1.0, y0=[0.0], events=touch, first_step=1.0)
    assert len(sol.events["square"].t) == 0
    assert len(sol.events["third"].t) == 0


def test_a_zero_at_a_step_end_is_counted_once():
    still = Ode(lambda y: 0 * y + 1.0)
    events = {"both": lambda t: t - 0.5, "up": Event(lambda t: t - 0.5, "rising"), "state": lambda y: y[0] - 0.75}
    sol = simulate(still, 1.0, y0=[0.0], events=events, integrator=RK4(), step=0.25)
    assert 0.5 in sol.t and 0.75 in sol.t  # binary fractions: the steps end there exactly
    for name, at in (("both", 0.5), ("up", 0.5), ("state", 0.75)):
        assert sol.events[name].t.tolist() == [at]


def test_a_zero_in_a_rejected_step_is_counted_once():
    # a jump in the force at t = 1.01 lets many steps fail around it; the zero lies close by
    kick = Ode(lambda t, y: np.array([np.where(t > 1.01, 50.0, 1.0)]))
    sol = simulate(kick, 2.0, y0=[0.0], events={"low": lambda y: y[0] - 1.0, "high": lambda y: y[0] - 1.2}, rtol=1e-8)
    assert sol.stats["rejected"] > 3
    assert np.allclose(sol.events["low"].t, [1.0], atol=1e-7)
    assert np.allclose(sol.events["high"].t, [1.01 + 0.19 / 50], atol=1e-7)


def test_events_do_not_change_the_run():
    # watching costs evaluations of the dense output, but no step and no bit of the solution
    plain = rotor(0.3, 5.0, None)
    watched = rotor(0.3, 5.0, {"zero": lambda y: y[0], "t": lambda t: t - 2})
    assert np.array_equal(plain.t, watched.t)
    assert np.array_equal(plain.y, watched.y)


def test_backward_runs_find_the_same_zeros_with_directions_along_the_run():
    start = [np.sin(6.0), np.cos(6.0)]
    events = {"zero": lambda y: y[0], "up": Event(lambda y: y[0], "rising")}
    sol = simulate(ROTOR, (6.0, 0.5), y0=start, events=events, rtol=1e-9, atol=1e-12)
    assert np.allclose(sol.events["zero"].t, [np.pi], atol=1e-8)
    # sin falls through zero at π; seen backward in time it rises
    assert np.allclose(sol.events["up"].t, [np.pi], atol=1e-8)


def test_discontinuous_event_functions_are_located_where_they_jump():
    still = Ode(lambda y: 0 * y + 1.0)
    sol = simulate(still, 1.0, y0=[0.0], events={"jump": lambda y: np.where(y[0] > 0.3, 1.0, -1.0)})
    assert np.allclose(sol.events["jump"].t, [0.3], atol=1e-14)


PENDULUM = System(mass=np.eye(2), force=[0, -9.81], constraint={"rod": lambda q: q @ q - 1})


def test_states_at_events_lie_on_the_constraints():
    sol = simulate(PENDULUM, 5.0, q0=[1, 0], v0=[0, 0], events={"bottom": lambda q: q[0]}, integrator=RK45())
    log = sol.events["bottom"]
    assert len(log.t) == 4  # period 2.36 s
    # the run's own constraint tolerance
    assert np.max(np.abs(np.sum(log.q**2, axis=1) - 1)) < 2e-10
    assert np.max(np.abs(np.sum(log.q * log.v, axis=1))) < 1e-9
    # at the bottom the tension is m g + m v²/L = 3 m g, λ half of it
    assert np.allclose(log.lam[:, 0], 3 * 9.81 / 2, rtol=1e-5)
    assert np.allclose(log.a[:, 1], 2 * 9.81, rtol=1e-5)


def test_events_may_use_multipliers_and_accelerations():
    # λ = m g (3 cos φ)/2L at speed 0 from the horizontal: half of its largest value at cos φ = 1/2
    half = {"tension": lambda lam: lam[0] - 0.75 * 9.81, "outputs": lambda a: a[0]}
    sol = simulate(PENDULUM, 1.0, q0=[1, 0], v0=[0, 0], events=half, rtol=1e-9)
    assert np.allclose(sol.events["tension"].q[:, 1], -0.5, atol=1e-8)
    # a_x = -2 λ x vanishes at the bottom, and at the start where λ = 0
    assert np.allclose(sol.events["outputs"].q[-1], [0, -1], atol=1e-8)


def test_events_may_use_parameters_and_inputs():
    pull = ([0.0, 1.0, 2.0], [0.0, 2.0, 0.0])
    driven = Ode(lambda u: np.array([u.pull]), params={"level": 0.5}, inputs={"pull": pull})
    events = {"level": lambda y, p: y[0] - p.level, "weak": lambda u: u.pull - 1.0}
    # y = t² up to t = 1; the input is 1 at t = 0.5 and t = 1.5
    sol = simulate(driven, 2.0, y0=[0.0], events=events)
    assert np.allclose(sol.events["level"].t, [np.sqrt(0.5)], atol=1e-9)
    assert np.allclose(sol.events["weak"].t, [0.5, 1.5], atol=1e-12)
    sol = simulate(driven.with_params(level=0.25), 2.0, y0=[0.0], events=events)
    assert np.allclose(sol.events["level"].t, [0.5], atol=1e-9)


def test_a_named_output_can_be_an_event():
    swing = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1, outputs={"tension": lambda lam: 2 * lam[0]})
    sol = simulate(swing, 3.0, q0=[0, -1], v0=[6.0, 0], events={"slack": Event("tension", "falling", terminal=True)})
    # tension v² - g cos: zero where 36 - 2 g (1 + y) = g y
    y = (36 - 2 * 9.81) / (3 * 9.81)
    assert sol.ended == "slack"
    assert np.allclose(sol.end.q[1], y, atol=1e-6)
