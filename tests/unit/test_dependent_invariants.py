"""Invariants whose gradients depend on each other: the run goes on, and says what it leaves out.

On a circular orbit the gradients of energy and angular momentum are parallel. Beside it they enclose an angle about as
large as the eccentricity e, and both invariants meet in a double root: momentum is off by e²/2.
"""

import warnings

import numpy as np
import pytest

from holonomic import RK4, RK45, InvariantStabilization, Ode, PostStabilization, Projection, simulate, sweep
from holonomic.errors import RedundancyWarning

T = 50.0  # eight turns


def rhs(y):
    return np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5])


def energy(y):
    return 0.5 * (y[2:] @ y[2:]) - 1 / np.sqrt(y[:2] @ y[:2])


def momentum(y):
    return y[0] * y[3] - y[1] * y[2]


BOTH = {"energy": energy, "momentum": momentum}
KEPLER = Ode(rhs, BOTH)
CIRCLE = np.array([np.cos(T), np.sin(T), -np.sin(T), np.cos(T)])


def orbit(e):
    """Start in the pericentre of an orbit of axis 1."""
    return [1.0 - e, 0.0, 0.0, np.sqrt((1.0 + e) / (1.0 - e))]


@pytest.mark.parametrize(
    "methods",
    [
        {},
        {"integrator": RK45()},
        {"integrator": RK4(), "step": 0.02},
        {"stabilization": PostStabilization()},
        {"stabilization": Projection(at="new")},
        {"stabilization": Projection(metric=(1.0, 2.0, 1.0, 3.0))},
    ],
    ids=repr,
)
def test_a_circular_orbit_runs_with_both_invariants(methods):
    with pytest.warns(RedundancyWarning, match=r"'momentum' is not corrected .*from t = 0 on"):
        sol = simulate(KEPLER, T, y0=orbit(0.0), **methods)
    assert abs(sol.y[-1] - CIRCLE).max() < 3e-4  # RK45 at rtol 1e-6 over eight turns; the others a tenth of it
    for name in BOTH:
        assert abs(sol.drift[name]).max() < 2e-10  # constraint_tol, as a distance; rows are √2 long


def test_an_interpreted_orbit_does_the_same():
    with pytest.warns(RedundancyWarning, match="momentum"):
        sol = simulate(Ode(rhs, BOTH, trace=False), 10.0, y0=orbit(0.0), rtol=1e-4, atol=1e-7)
    assert max(abs(sol.drift[name]).max() for name in BOTH) < 2e-10


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("e", [0.0, 1e-7, 1e-5, 1e-3, 1e-2])
def test_nearly_circular_orbits_cost_no_accuracy(e, rtol):
    """Corrections are magnified by 1/e where e is no larger than the error of a step: they must not be taken then."""
    y0 = orbit(e)
    exact = simulate(Ode(rhs), T, y0=y0, rtol=1e-13, atol=1e-14).y[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RedundancyWarning)
        both = simulate(KEPLER, T, y0=y0, rtol=rtol, atol=1e-3 * rtol)
    plain = simulate(Ode(rhs), T, y0=y0, rtol=rtol, atol=1e-3 * rtol)
    error, without = (abs(sol.y[-1] - exact).max() for sol in (both, plain))
    assert error < 3.0 * without  # measured: 0.1 to 2.2
    assert len(both.t) < 1.3 * len(plain.t)  # no step is refused for a pull that creeps; measured: 1.22
    assert max(abs(both.drift[name]).max() for name in BOTH) < 3e-10


def test_an_eccentric_orbit_says_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RedundancyWarning)
        simulate(KEPLER, 5.0, y0=orbit(0.1))


def test_a_field_that_pulls_goes_round_too():
    sol = simulate(KEPLER, 10.0, y0=orbit(0.0), stabilization=InvariantStabilization(gain=5))
    assert abs(sol.y[-1] - [np.cos(10), np.sin(10), -np.sin(10), np.cos(10)]).max() < 1e-4  # rtol 1e-6, γ h about 1


def test_a_sweep_says_it_once():
    with pytest.warns(RedundancyWarning, match="momentum"):
        runs = sweep(KEPLER, 5.0, y0=np.array([orbit(0.0), orbit(0.1)]))
    assert not runs.failed
