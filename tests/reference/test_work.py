"""The work of Radau and BDF beside that of RADAU5, at equal digits."""

from __future__ import annotations

import numpy as np
import pytest

import holonomic as h
from holonomic import BDF, Radau, simulate
from holonomic.problems import get

# RADAU5 of Hairer and Wanner, as published, index 2 or 3, compiled with gfortran; digits of q at the end by
# -log10 max |dq| / (1 + |q|), evaluations without those of difference Jacobians (10 unknowns), factorizations
RADAU5 = {
    "seven-body": ([2.8, 4.18, 5.83, 6.8, 7.48], [802, 1053, 1690, 3138, 4363], [93, 97, 145, 259, 364]),
    "car-axis": ([2.89, 4.41, 5.97, 7.58, 8.39], [849, 1762, 3785, 8131, 11893], [98, 203, 419, 884, 1283]),
}
T_END = {"seven-body": 0.03, "car-axis": 3.0}


def run(name, formulation, integrator, tol):
    problem = get(name)
    sol = simulate(
        problem, T_END[name], formulation=formulation, integrator=integrator, rtol=tol, atol=tol,
        stabilization="auto" if formulation.index == 3 else None,
    )  # fmt: skip
    known = problem.reference(T_END[name]).q
    return float(-np.log10(np.max(np.abs(sol.q[-1] - known) / (1 + np.abs(known))))), sol.stats


@pytest.mark.parametrize("tol", [1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("formulation", [h.Index2(), h.GGL()], ids=repr)
@pytest.mark.parametrize("name", RADAU5)
def test_radau_needs_no_more_than_radau5(name, formulation, tol):
    digits, stats = run(name, formulation, Radau(), tol)
    known, evaluations, factorizations = RADAU5[name]
    assert known[0] <= digits <= known[-1] + 0.2  # where there is something to compare with
    allowed = 1.2  # as much as two runs of one method differ by chance
    assert stats["residuals"] <= allowed * np.exp(np.interp(digits, known, np.log(evaluations)))
    assert stats["factorizations"] <= allowed * np.exp(np.interp(digits, known, np.log(factorizations)))


@pytest.mark.parametrize("formulation", [h.Index1(), h.Index2(), h.GGL()], ids=repr)
@pytest.mark.parametrize("name", RADAU5)
def test_bdf_takes_few_iterations_and_keeps_its_factors(name, formulation):
    digits, stats = run(name, formulation, BDF(), 1e-8)
    attempts = stats["steps"] + stats["rejected"]
    # of at most four; two are what it takes to know that an iteration converges: 2.0 and 2.3
    assert stats["residuals"] < 2.5 * attempts
    assert stats["factorizations"] < 0.5 * attempts  # new ones for another step, and where old ones take longer: 0.2 and 0.4
    assert stats["Jacobians"] < stats["factorizations"]
    assert digits > 5.5  # 2000 steps, each with an error of up to rtol; index 1 drifts, too


@pytest.mark.parametrize("integrator", [Radau(), BDF()], ids=repr)
def test_the_error_follows_the_tolerance(integrator):
    found = [run("seven-body", h.Index2(), integrator, tol)[0] for tol in (1e-4, 1e-6, 1e-8)]
    assert np.all(np.diff(found) > 1.4)  # two digits of tolerance; half a digit is chance


def test_index_3_left_to_itself_keeps_its_digits():
    """A projection of the velocities along Gᵀ, not M⁻¹Gᵀ, would leave 4.4 of them."""
    assert run("seven-body", h.Index3(), Radau(), 1e-8)[0] > 6.5  # 6.9
