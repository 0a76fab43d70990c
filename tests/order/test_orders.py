"""Observed order of every integrator with every stabilization: at least the declared one minus 0.2."""

import numpy as np
import pytest

from holonomic import (
    DOP853,
    RK4,
    RK23,
    RK45,
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
)
from holonomic.study.order import observed_order
from holonomic.testing import SLACK, bead, moving_pendulum

STABILIZATIONS = {
    "none": None,
    "Baumgarte": Baumgarte(alpha=3),
    "Projection": Projection(),
    "S_vel": S_vel(),
    "S_pos": S_pos(),
    "S_both": S_both(),
    "S_both2": S_both2(),
    "S_full": S_full(),
    "S_both2 in the mass metric": PostStabilization(metric="mass"),
}
ON_INVARIANTS = [name for name in STABILIZATIONS if name not in ("S_vel", "S_both2 in the mass metric")]

# Smallest number of steps on the interval; the others are 1.5 and 2 times as many. Few enough for the errors
# to stay above roundoff, many enough for the leading term of the error to rule.
PENDULUM = {Euler: 100, Heun: 80, Midpoint: 40, RK23: 60, RK4: 64, RK45: 24, DOP853: 12}
MOVING = {Euler: 100, Heun: 40, Midpoint: 40, RK23: 60, RK4: 64, RK45: 24, DOP853: 20}
ARM = {Euler: 100, Heun: 80, Midpoint: 80, RK23: 60, RK4: 96, RK45: 24, DOP853: 12}
KEPLER = {Euler: 100, Heun: 40, Midpoint: 40, RK23: 30, RK4: 16, RK45: 10, DOP853: 88}
ONE_OF_EACH = [Euler, Heun, Midpoint, RK23, RK4, RK45, DOP853]


def shows_its_order(problem, integrator, stabilization, coarsest):
    steps = [problem.t_end / n for n in (coarsest, coarsest * 3 // 2, coarsest * 2)]
    # at eighth order the errors are small: 1e-13 is still a few hundred roundings above the last digit
    roundoff = 1e-13 if integrator.order > 5 else 1e-12
    study = observed_order(problem, integrator, stabilization, steps, roundoff=roundoff)
    assert study.order >= integrator.order - SLACK, study


def orbit(integrator):
    """A short arc of the ellipse; for eighth order a rounder one and two turns, to stay above roundoff."""
    c, t_end = (1.2, 4 * np.pi) if integrator is DOP853 else (0.8, 2.0)
    return problems.kepler(c=c, t_end=t_end)


@pytest.mark.parametrize("name", STABILIZATIONS)
@pytest.mark.parametrize("integrator", ONE_OF_EACH)
def test_order_on_the_pendulum(integrator, name):
    problem = problems.pendulum_a01(t_end=1.0)
    shows_its_order(problem, integrator(), STABILIZATIONS[name], PENDULUM[integrator])


@pytest.mark.parametrize("name", STABILIZATIONS)
@pytest.mark.parametrize("integrator", ONE_OF_EACH)
def test_order_where_the_constraint_moves_with_time(integrator, name):
    shows_its_order(moving_pendulum(), integrator(), STABILIZATIONS[name], MOVING[integrator])


@pytest.mark.parametrize("name", STABILIZATIONS)
@pytest.mark.parametrize("integrator", ONE_OF_EACH)
def test_order_on_the_two_link_arm_that_is_raised_and_lowered(integrator, name):
    problem = problems.two_link_arm("II", t_end=1.0)
    shows_its_order(problem, integrator(), STABILIZATIONS[name], ARM[integrator])


@pytest.mark.parametrize("name", ON_INVARIANTS)
@pytest.mark.parametrize("integrator", ONE_OF_EACH)
def test_order_on_an_ode_with_invariants(integrator, name):
    shows_its_order(orbit(integrator), integrator(), STABILIZATIONS[name], KEPLER[integrator])


# Larger systems and longer runs. Fewer integrators: those of order above 4 are at roundoff here before their
# leading term rules, or need a window of their own.
LONG = {
    "two-link arm I": (lambda: problems.two_link_arm("I", t_end=1.0), (200, 80, 60, 48)),
    "double pendulum": (lambda: problems.double_pendulum(t_end=1.0), (400, 160, 120, 64)),
    "bead": (bead, (400, 160, 120, 96)),
    "moving bead": (lambda: bead(speed=0.5, rise=2.0, g=3.0), (400, 160, 120, 96)),
    "Jansen's linkage": (lambda: problems.jansen(t_end=0.5), (800, 200, 160, 160)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STABILIZATIONS)
@pytest.mark.parametrize("system", LONG)
def test_order_on_larger_systems(system, name):
    make, coarsest = LONG[system]
    problem = make()
    for integrator, n in zip((Euler, Midpoint, RK23, RK4), coarsest, strict=True):
        shows_its_order(problem, integrator(), STABILIZATIONS[name], n)
