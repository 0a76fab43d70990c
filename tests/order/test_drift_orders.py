"""Drift orders of the stabilizations for integrators of order p = 1, 2, 4.

    |g|; |G v + g_t|:  none p; p.  S_vel p; exact.  S_pos 2(p+1); p.  S_both 2(p+1); p+1.
                       S_full, S_both2 2(p+1); 2(p+1).

A correction squares what a step has left, h^(p+1) from a state that was on the constraints.
"""

import numpy as np
import pytest

from holonomic import (
    RK4,
    Baumgarte,
    Euler,
    Heun,
    Midpoint,
    PostStabilization,
    Projection,
    S_both,
    S_both2,
    S_full,
    S_pos,
    S_vel,
    problems,
    simulate,
)
from holonomic.study.order import drift_sizes, observed_order
from holonomic.testing import SLACK, bead, moving_pendulum

EXACT = np.inf
THEORY = {
    "none": (None, lambda p: (p, p)),
    "Baumgarte": (Baumgarte(alpha=3), lambda p: (p, p)),
    "S_vel": (S_vel(), lambda p: (p, EXACT)),
    "S_pos": (S_pos(), lambda p: (2 * (p + 1), p)),
    "S_both": (S_both(), lambda p: (2 * (p + 1), p + 1)),
    "S_both2": (S_both2(), lambda p: (2 * (p + 1), 2 * (p + 1))),
    "S_full": (S_full(), lambda p: (2 * (p + 1), 2 * (p + 1))),
    "S_both2 in the mass metric": (PostStabilization(metric="mass"), lambda p: (2 * (p + 1), 2 * (p + 1))),
}
# (integrator, problem): smallest number of steps for orders up to p + 1, and for the high ones, which reach
# roundoff early and need large steps
STEPS = {
    (Euler, "bead"): (200, 200),
    (Heun, "bead"): (80, 80),
    (Midpoint, "bead"): (80, 80),
    (RK4, "bead"): (60, 24),
    (Euler, "moving bead"): (200, 200),
    (Heun, "moving bead"): (80, 80),
    (Midpoint, "moving bead"): (80, 80),
    (RK4, "moving pendulum"): (60, 20),
}
MAKE = {"bead": bead, "moving bead": lambda: bead(speed=0.5, rise=2.0, g=3.0), "moving pendulum": moving_pendulum}


@pytest.mark.parametrize("name", THEORY)
@pytest.mark.parametrize(("integrator", "system"), STEPS)
def test_drift_has_the_order_of_theory(integrator, system, name):
    stabilization, theory = THEORY[name]
    problem, p = MAKE[system](), integrator.order
    for level, wanted in zip(("position", "velocity"), theory(p), strict=True):
        n = STEPS[integrator, system][0 if wanted <= p + 1 else 1]
        steps = [problem.t_end / k for k in (n, n * 5 // 4, n * 3 // 2, n * 2)]
        study = observed_order(problem, integrator(), stabilization, steps)
        if wanted == EXACT:
            assert study.drift[level].exact, study
        else:
            assert study.drift[level].order >= wanted - SLACK, study


ON_INVARIANTS = [name for name in THEORY if name not in ("S_vel", "S_both2 in the mass metric")]


@pytest.mark.parametrize("name", ON_INVARIANTS)
@pytest.mark.parametrize(("integrator", "n"), [(Euler, 200), (Heun, 80), (Midpoint, 80), (RK4, 24)])
def test_invariants_of_an_ode_drift_like_positions(integrator, n, name):
    stabilization, theory = THEORY[name]
    problem = problems.kepler(c=0.5, t_end=2.0)
    steps = [2.0 / k for k in (n, n * 5 // 4, n * 3 // 2, n * 2)]
    study = observed_order(problem, integrator(), stabilization, steps)
    assert study.drift["position"].order >= theory(integrator.order)[0] - SLACK, study


@pytest.mark.parametrize("integrator", [Euler, Heun, RK4])
@pytest.mark.parametrize("tol", [1e-6, 1e-10, 1e-13])
@pytest.mark.parametrize("system", MAKE)
def test_projection_keeps_the_drift_below_its_tolerance(system, tol, integrator):
    problem = MAKE[system]()
    sol = simulate(problem, integrator=integrator(), stabilization=Projection(tol), step=problem.t_end / 200)
    drift = drift_sizes(sol)
    assert drift["position"] <= tol
    # the velocity is projected by a linear solve: what is left is its rounding
    assert drift["velocity"] <= 1e-14
