"""The size of an error estimate, and what follows from it for the step."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.integrate

from holonomic import DOP853, RK4, RK45, Ode, System, simulate
from holonomic.kernels import sizes
from holonomic.kernels.step_control import error_norm, first_step, joined_error, largest_errors, ratio_to_keep

OWN = np.full(4, sizes.OWN)
X = np.array([1.0, 0.0, 2.0, 0.0])
NONE_LEAST = (0.0, 0.0)  # speeds count for as little as any


def tolerated(atol, **largest):
    """A workspace with these absolute tolerances, and the largest of some kinds."""
    W = np.concatenate([np.zeros(sizes.TOLERANCES), atol])
    for name, value in largest.items():
        W[getattr(sizes, name)] = value
    return W


W = tolerated(np.full(4, 1e-3))


def test_one_error_vector_counts_by_the_larger_rms_of_positions_and_velocities():
    E = np.array([[2e-3, 2e-3, 0.0, 5e-3]])
    # rtol = 0: q has 2, 2 and v has 0, 5 times the tolerance
    assert error_norm(E, X, X, W, 0, 0.0, OWN, *NONE_LEAST, 2, 4) == pytest.approx(5 / np.sqrt(2))


def test_coordinates_that_count_turns_are_measured_by_their_change():
    kinds = np.array([sizes.TURNS, *OWN[1:]])
    E, far = np.array([[2e-3, 0.0, 0.0, 0.0]]), np.array([1e6, 0.0, 0.0, 0.0])
    found = error_norm(E, far, far + [0.5, 0, 0, 0], tolerated([0.0, 1e-3, 1e-3, 1e-3]), 0, 1e-3, kinds, *NONE_LEAST, 1, 4)
    assert found == pytest.approx(2.0)


@pytest.mark.parametrize(("kind", "largest"), [(sizes.SPEED, {"LENGTHS": 3.0, "SPEEDS": 1e6}), (sizes.SPIN, {"SPINS": 1e6})])
def test_velocities_count_for_no_less_than_rounding_leaves_of_positions_in_a_step(kind, largest):
    kinds, h, length = np.full(4, kind), 1e-5, largest.get("LENGTHS", 1.0)
    E, none = np.full((2, 4), np.finfo(float).eps * length / h), np.zeros(4)
    there = tolerated(np.full(4, 1e-30), **largest)
    least = sizes.rounding_in_step(there, 0, h)
    for found in (
        error_norm(E, none, none, there, 0, 0.0, kinds, *least, 0, 4),
        *largest_errors(E, none, none, there, 0, 0.0, kinds, *least, 0, 4),
    ):
        assert found == pytest.approx(1.0 / sizes.LEFT_OF_SPEEDS)


def test_of_two_error_vectors_one_light_body_among_many_is_not_averaged_away():
    E = np.zeros((2, 100))
    E[0, 57], E[1, 57] = 3.0, 40.0
    ones, kinds = np.ones(100), np.full(100, sizes.OWN)
    assert largest_errors(E, ones, ones, tolerated(ones), 0, 0.0, kinds, *NONE_LEAST, 50, 100) == (3.0, 40.0)
    assert largest_errors(E, ones, ones, tolerated(ones), 0, 0.0, kinds, *NONE_LEAST, 0, 50) == (0.0, 0.0)


def test_an_estimate_in_two_parts_is_of_order_seven():
    sizes = [joined_error(1e3 * h**6, 1e3 * h**4, 0.0) for h in (0.02, 0.01)]
    assert np.log2(sizes[0] / sizes[1]) == pytest.approx(8, abs=0.01)


def test_a_part_that_is_small_by_chance_does_not_hide_the_error():
    usual, lucky = joined_error(5.0, 1000.0, 0.0), joined_error(0.05, 1000.0, 0.0)
    assert lucky < 1e-3 * usual
    assert joined_error(0.05, 1000.0, ratio_to_keep(5.0, 1000.0)) == pytest.approx(usual)


def test_rounding_is_not_remembered_as_an_error():
    assert ratio_to_keep(1e-9, 1e-9) == 0.0
    assert ratio_to_keep(1e-9, 0.0) == 0.0


@pytest.mark.parametrize("parts", [(np.nan, 1.0), (1.0, np.nan), (np.nan, np.nan)])
def test_an_error_that_is_no_number_is_never_small(parts):
    E = np.array([[parts[0], 0.0, 0.0, 0.0], [parts[1], 0.0, 0.0, 0.0]])
    assert not joined_error(*largest_errors(E, X, X, W, 0, 0.0, OWN, *NONE_LEAST, 0, 4), 1.0) <= 1e300
    for i in range(4):
        one = np.where(np.arange(4) == i, np.nan, 0.0)[None, :]
        assert not error_norm(one, X, X, W, 0, 0.0, OWN, *NONE_LEAST, 2, 4) <= 1.0


def test_a_start_at_rest_is_no_reason_for_a_tiny_first_step():
    # v = 0 and acceleration 1000, of which the pace is √1000: by atol = 1e-9 alone the trial would be a millionth of this
    x, f, pace = np.array([1.0, 0.0]), np.array([0.0, 1000.0]), np.sqrt(1000.0)
    arguments = (7, np.full(2, 1e-9), 0, 1e-6, pace, 1.0, 1.0, 2)
    trial = first_step(x, f, f, *arguments, 0)
    assert trial == pytest.approx(1e-4 / pace)
    assert first_step(x, f, f, *arguments, 1) == pytest.approx((1e12 / np.sqrt(2.0) / pace) ** (-1 / 8) / pace)


def test_the_first_step_goes_with_the_unit_of_time():
    x, f, f1, tolerances = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.1, 0.9]), np.full(2, 1e-9)
    for stage in (0, 1):
        once, fast = (first_step(x, pace * f, pace * f1, 7, tolerances, 0, 1e-6, pace, 1.0, 1e9, 2, stage) for pace in (1.0, 1e6))
        assert fast == pytest.approx(1e-6 * once)


@pytest.mark.filterwarnings("ignore::holonomic.StiffnessWarning")
def test_saved_times_at_the_limit_of_stability_are_as_good_as_the_steps():
    rate, t = 2000.0, np.linspace(0.0, 3.0, 17)
    follower = System(mass=[[1.0]], force=lambda t, v: np.array([-rate * (v[0] - np.cos(t))]))
    sol = simulate(follower, 3.0, q0=[0.0], v0=[0.0], integrator=DOP853(), stabilization=None, save_at=t)
    exact = (rate**2 * (np.cos(t) - np.exp(-rate * t)) + rate * np.sin(t)) / (rate**2 + 1)
    # rtol = 1e-6; dense output leaves 5e-6 here, the steps 2e-7
    assert np.max(np.abs(sol.v[:, 0] - exact)) < 1e-6


@pytest.mark.filterwarnings("ignore::holonomic.StiffnessWarning")
def test_saved_times_that_are_close_together_cost_no_steps():
    rate = 2000.0
    follower = System(mass=[[1.0]], force=lambda t, v: np.array([-rate * (v[0] - np.cos(t))]))
    runs = [
        simulate(follower, 1.0, q0=[0.0], v0=[0.0], integrator=DOP853(), stabilization=None, save_at=n).stats["steps"]
        for n in (2, 2000)
    ]
    assert runs[1] == runs[0]


@pytest.mark.parametrize("trace", [True, False], ids=["compiled", "interpreted"])
def test_no_step_is_accepted_whose_estimated_error_is_above_the_tolerance(trace):
    """The estimate is made again from the recorded steps with SciPy's coefficients; on an orbit many steps are rejected."""

    def orbit(y):
        return np.array([y[2], y[3], -y[0] / np.hypot(y[0], y[1]) ** 3, -y[1] / np.hypot(y[0], y[1]) ** 3])

    rtol, atol = 1e-6, 1e-9
    given = {"y0": [0.1, 0.0, 0.0, np.sqrt(19.0)], "integrator": RK45(), "rtol": rtol, "atol": atol}
    sol = simulate(Ode(orbit, trace=trace), 13.0, **given)
    assert sol.stats["rejected"] > 20
    errors = []
    for t, y, after in zip(sol.t[:-1], sol.y[:-1], sol.y[1:], strict=True):
        h, slopes = sol.t[len(errors) + 1] - t, [orbit(y)]
        for row in scipy.integrate.RK45.A[1:]:
            slopes.append(orbit(y + h * np.array(slopes).T @ row[: len(slopes)]))
        slopes.append(orbit(after))
        scale = atol + rtol * np.maximum(np.abs(y), np.abs(after))
        errors.append(np.sqrt(np.mean((h * np.array(slopes).T @ scipy.integrate.RK45.E / scale) ** 2)))
    assert max(errors[:-1]) <= 1.0 + 1e-6  # rounding; the last step is cut at the end
    assert max(errors) > 0.9


@pytest.mark.parametrize("trace", [True, False], ids=["compiled", "interpreted"])
def test_the_rounding_of_a_thousand_fixed_steps_does_not_add_up(trace):
    sol = simulate(Ode(lambda y: -0.01 * y, trace=trace), (7.0, 107.0), y0=[1.0], integrator=RK4(), step=0.1)
    np.testing.assert_allclose(sol.t, 7.0 + 0.1 * np.arange(1001), rtol=0, atol=3e-14)  # 2 units in the last place of 107
