"""Radau IIA: order 5 with a fixed step on every formulation, and an iteration that neither gives up nor gets stuck."""

from __future__ import annotations

import numpy as np
import pytest

import holonomic as h
from holonomic import Radau, System, simulate
from holonomic.problems import get

FORMULATIONS = [h.Index1(), h.Index2(), h.Index3(), h.GGL(), h.StrangenessFree(), h.StateSpace()]


@pytest.fixture(scope="module")
def pendulum():
    return System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)


@pytest.fixture(scope="module")
def angle():
    """q at t = 0.4 from [0, -1] with v = [3, 0], by the angle alone."""
    swing = h.Ode(lambda y: np.array([y[1], -9.81 * np.sin(y[0])]))
    turned = simulate(swing, 0.4, y0=[0.0, 3.0], rtol=1e-13, atol=1e-13).end.y[0]
    return np.array([np.sin(turned), -np.cos(turned)])


@pytest.mark.parametrize("formulation", FORMULATIONS, ids=repr)
def test_a_fixed_step_has_order_five_in_q(pendulum, angle, formulation):
    """A coordinate that starts at zero has a tolerance of atol alone; Newton's iteration must not give up over it."""
    options = {"q0": [0, -1], "v0": [3, 0], "integrator": Radau(), "formulation": formulation, "stabilization": None}
    errors = [np.max(np.abs(simulate(pendulum, 0.4, step=step, **options).end.q - angle)) for step in (0.1, 0.05)]
    # 2^5 = 32 at order 5; index 3 has order 5 in q, too, but its Newton error is 1e-3 of rtol in every step
    assert errors[0] / errors[1] > 16.0
    assert errors[1] < 1e-6


@pytest.mark.parametrize("formulation", FORMULATIONS[:4], ids=repr)
def test_few_attempts_are_given_up(formulation):
    """The changes of Newton's iteration need not fall evenly where the index is above 1."""
    arm = get("two-link-arm")
    sol = simulate(arm, 5.0, integrator=Radau(), formulation=formulation, stabilization=None)
    assert sol.stats["failed attempts"] < 0.05 * sol.stats["steps"]


def test_a_start_that_misses_its_equations_by_more_than_the_tolerance_stops_no_step():
    """v of theta2 goes through zero: what was good enough is then too much for its relative tolerance."""
    sol = simulate(get("two-link-arm"), 5.0, integrator=Radau(), formulation=h.GGL(), stabilization=None, rtol=1e-4)
    assert sol.ended == "end"


@pytest.mark.parametrize("integrator", [Radau(), h.BDF(), h.GeneralizedAlpha(), h.BackwardEuler()], ids=repr)
def test_an_implicit_run_says_what_it_did(pendulum, integrator):
    options = {} if integrator.adaptive else {"step": 0.01}
    form = h.Index3() if isinstance(integrator, h.GeneralizedAlpha) else h.Index2()
    for _ in range(2):  # the second run finds the workspace of the first
        sol = simulate(pendulum, 0.4, q0=[0, -1], v0=[3, 0], integrator=integrator, formulation=form, stabilization=None, **options)
        stats = sol.stats
        attempts = stats["steps"] + stats["rejected"] + stats["failed attempts"]
        # at least one residual an attempt, at most thirty Newton steps of three stages; a Jacobian serves its factors
        assert attempts <= stats["residuals"] < 90 * attempts
        assert 1 <= stats["Jacobians"] <= stats["factorizations"] <= stats["residuals"]
        assert f"{stats['residuals']} residuals" in str(sol)


def test_an_explicit_run_counts_no_residuals(pendulum):
    sol = simulate(pendulum, 0.4, q0=[0, -1], v0=[3, 0])
    assert sol.stats["residuals"] == sol.stats["factorizations"] == 0 and "residuals" not in str(sol)


@pytest.mark.parametrize("stiffness", [1e2, 1e3, 1e4])
@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_a_driven_stiff_equation_is_solved_to_its_tolerance(stiffness, rtol):
    """Prothero and Robinson's equation; its solution is cos t whatever the stiffness."""
    driven = h.Ode(lambda t, y, p: np.array([-p.stiffness * (y[0] - np.cos(t)) - np.sin(t)]), params={"stiffness": stiffness})
    sol = h.simulate(driven, 10.0, y0=[1.0], integrator=h.Radau(), rtol=rtol, atol=1e-3 * rtol)
    # 2 rtol is what RADAU5's estimate gives here; 20 times that was the error of an estimate filtered at every step
    assert np.max(np.abs(sol.y[:, 0] - np.cos(sol.t))) < 3 * rtol
