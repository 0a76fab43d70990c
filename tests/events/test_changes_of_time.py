"""What changes with time alone is known before a step is taken: it costs its switches, and no step twice."""

import numpy as np
import pytest

from holonomic import BDF, DOP853, RK45, Radau, System, simulate

WAYS = [DOP853(), RK45(), Radau()]


def pushed(force, end, integrator, **more):
    system = System(mass=np.eye(1), force=lambda t, q, v: [force(t, q[0], v[0])])
    return simulate(system, end, q0=[0.0], v0=[0.0], integrator=integrator, rtol=1e-8, **more)


def times_of(sol):
    return np.sort(np.concatenate([each.t for each in sol.switches.values()]))


@pytest.mark.parametrize("integrator", WAYS)
def test_a_pulse_of_every_second_costs_no_step_twice(integrator):
    sol = pushed(lambda t, q, v: 1.0 if t % 1 < 0.3 else 0.0, 100.0, integrator)
    assert sol.stats["taken again for events"] == 0 and sol.stats["rejected"] == 0
    assert sol.stats["steps"] <= 210
    assert times_of(sol) == pytest.approx(sorted([*range(1, 101), *(k + 0.3 for k in range(100))])[: len(times_of(sol))], abs=1e-12)
    assert sol.v[-1, 0] == pytest.approx(30.0, abs=1e-9)


@pytest.mark.parametrize("integrator", WAYS)
def test_a_thousandth_of_each_millisecond_is_met(integrator):
    sol = pushed(lambda t, q, v: 1e3 if t % 1e-3 < 1e-6 else 0.0, 0.1, integrator)
    assert sol.stats["taken again for events"] <= 1 and len(times_of(sol)) >= 199
    assert sol.v[-1, 0] == pytest.approx(0.1, abs=1e-9)


def test_backwards_in_time_it_is_the_same():
    sol = pushed(lambda t, q, v: 1.0 if t % 1 < 0.3 else 0.0, -5.5, DOP853())
    assert sol.stats["taken again for events"] <= 1 and len(times_of(sol)) >= 11
    assert sol.v[-1, 0] == pytest.approx(-1.5, abs=1e-9)


def test_what_a_state_has_a_part_in_is_found_after_the_step_as_before():
    pulse = lambda t: 1.0 if t % 1 < 0.3 else 0.0
    sol = pushed(lambda t, q, v: pulse(t) - (9.0 if max(q, 0.05 - 0.01 * t) > 0.08 else 2.0) * q, 6.0, RK45())
    alone = pushed(lambda t, q, v: pulse(t) - (9.0 if q > 0.08 else 2.0) * q, 6.0, RK45())
    assert sol.q[-1] == pytest.approx(alone.q[-1], abs=1e-6)
    assert sol.stats["taken again for events"] > 0


def test_saved_times_and_a_method_that_looks_back_stay_as_they_are():
    save_at = np.linspace(0.0, 4.0, 41)
    sol = pushed(lambda t, q, v: (1.0 if t % 1 < 0.3 else 0.0) - q, 4.0, BDF(), save_at=save_at)
    exact = pushed(lambda t, q, v: (1.0 if t % 1 < 0.3 else 0.0) - q, 4.0, DOP853(), save_at=save_at)
    assert np.array_equal(sol.t, save_at) and sol.q == pytest.approx(exact.q, abs=1e-5)


def test_a_select_that_changes_with_the_switch_where_a_step_ends_wakes_at_once():
    """`t < 1 or t > 2` gives the comparison itself where it holds, which is a select then; a brake holds the mass up to t = 1."""
    pedal = lambda t: t < 1 or t > 2
    sol = pushed(lambda t, q, v: 1.0 - (2.0 * np.copysign(1.0, v) if pedal(t) else 0.0), 1.5, RK45())
    assert sol.v[-1, 0] == pytest.approx(0.5, abs=1e-9) and sol.stats["steps"] < 100


def test_a_pulse_is_met_behind_a_motion_that_was_held():
    """What is no more than rounding there, the speed that leaves zero, uses up no parts of a step that others need."""

    def force(t, q, v):
        late = t + 1e-300 * q  # no change of time alone
        a = 1.14 * np.sin(1.89 * t + 4.51) - 6.03 * q
        if late < 0.76 or late > 1.25:
            a -= 1.5 * np.sign(v)
        return a + (200.0 if abs(late - 1.56) < 0.001 else 0.0)

    system = System(mass=np.eye(1), force=lambda t, q, v: [force(t, q[0], v[0])])
    sol = simulate(system, 2.0, q0=[0.24], v0=[0.29], rtol=1e-6)
    exact = simulate(system, 2.0, q0=[0.24], v0=[0.29], rtol=1e-10, atol=1e-12, max_step=1e-3)
    assert sol.v[-1] == pytest.approx(exact.v[-1], abs=1e-5)
