"""A small part of benchmarks/automatic_choice.py: the automatic choice is right, and takes no more steps than it must."""

import numpy as np
import pytest

from holonomic import DOP853, Radau, problems, simulate

RTOL = 1e-6
SMOOTH = ("pendulum-a01", "double-pendulum", "slider-crank", "car-axis", "seven-body", "kepler", "rolling-disk")
STIFF = {  # problem: explicit steps, at rtol 1e-6
    "heterogeneous-masses, c = 1": (problems.heterogeneous_masses(nu=1000.0), 127),
    "heterogeneous-masses, c = 2": (problems.heterogeneous_masses(nu=1000.0, damping=0.0), 228),
    "rapid-constraint, nu = 100": (problems.rapid_constraint(nu=100.0), 1564),
    "rapid-constraint, nu = 1000": (problems.rapid_constraint(nu=1000.0), 156_403),
    "index-2-pair": (problems.index2_pair(nu=1000.0), 121),
    "suspension": (problems.suspension(), 14_654),
}


def error(problem, sol):
    known = problem.reference()
    pairs = [(sol.end.q, known.y)] if known.y is not None else [(sol.end.q, known.q), (sol.end.v, known.v)]
    return max(np.max(np.abs(x - ref) / np.maximum(1.0, np.abs(ref))) for x, ref in pairs if ref is not None)


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_problems_are_right(name):
    problem = problems.get(name)
    kappa = max(1.0, error(problem, simulate(problem, rtol=1e-9, atol=1e-12, integrator=DOP853())) / 1e-9)
    sol = simulate(problem)
    assert isinstance(sol.plan.choice.integrator, DOP853)
    assert error(problem, sol) <= 10 * kappa * RTOL


@pytest.mark.parametrize("name", STIFF)
def test_stiff_problems_are_right_and_take_few_steps(name):
    problem, explicit = STIFF[name]
    sol = simulate(problem)
    assert error(problem, sol) <= 10 * RTOL  # they damp errors: κ = 1
    assert sol.stats["steps"] < explicit / 3


@pytest.mark.parametrize("name", ["heterogeneous-masses, c = 1", "suspension"])
def test_errors_of_stiff_problems_follow_the_tolerance(name):
    problem, _ = STIFF[name]
    tolerances = np.array([1e-5, 1e-6, 1e-7, 1e-8])
    known = states(simulate(problem, rtol=1e-11, atol=1e-14, integrator=Radau(), save_at=64))
    errors = []
    for rtol in tolerances:  # over the whole run: at its end alone chance decides
        x = states(simulate(problem, rtol=rtol, atol=rtol / 1e3, save_at=64))
        errors.append(np.max(np.abs(x - known) / np.maximum(1.0, np.abs(known))))
    assert np.all(np.array(errors) <= 10 * tolerances)
    assert 0.6 <= np.polyfit(np.log10(tolerances), np.log10(errors), 1)[0] <= 1.3


def states(sol):
    return np.hstack([sol.q, sol.v])
