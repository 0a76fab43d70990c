"""Newton's method of implicit steps: neither units nor the length of the step decide where it ends."""

import numpy as np
import pytest

from holonomic import (
    RATTLE,
    BackwardEuler,
    FixedBDF,
    GaussLegendre4,
    GeneralizedAlpha,
    ImplicitMidpoint,
    Index2,
    Index3,
    Radau,
    System,
    Trapezoidal,
    problems,
    simulate,
)
from holonomic.kernels.newton_operators import dense_sizes, factor_dense, solve_dense


def in_units(unit):
    """A pendulum of 1 m in another unit of length: 1000 for millimetres."""
    return System(mass=np.eye(2), force=[0.0, -9.81 * unit], constraint=lambda q: (q @ q) / unit**2 - 1)


METHODS = [
    (BackwardEuler(), Index2()), (FixedBDF(3), Index3()), (Trapezoidal(), Index2()), (ImplicitMidpoint(), Index2()),
    (GaussLegendre4(), Index2()), (GeneralizedAlpha(), Index3()), (RATTLE(), Index3()),
]  # fmt: skip


@pytest.mark.parametrize(("integrator", "formulation"), METHODS, ids=repr)
def test_fixed_steps_are_the_same_in_other_units(integrator, formulation):
    """In nanometres and in gigametres, with atol in the same unit; the same digits, whichever."""
    given = {"formulation": formulation, "integrator": integrator, "stabilization": None, "step": 0.01}
    plain = simulate(in_units(1.0), 0.5, q0=[0.6, -0.8], v0=[0.8, 0.6], atol=1e-10, **given)
    for unit in (1e-9, 1e9):
        start = {"q0": np.array([0.6, -0.8]) * unit, "v0": np.array([0.8, 0.6]) * unit, "initial": "project"}
        sol = simulate(in_units(unit), 0.5, atol=1e-10 * unit, **start, **given)
        # fifty steps, each to about 1e-15
        assert np.abs(sol.q / unit - plain.q).max() < 1e-12
        assert np.abs(sol.v / unit - plain.v).max() < 1e-11


def test_scaled_solves_of_index_3_do_not_depend_on_the_step():
    """Masses from 1e-5 to 10 with six constraints: condition 4e19 at h = 1e-6 as it stands, 3e2 scaled."""
    rng = np.random.default_rng(0)
    n, m = 7, 6
    ny = 2 * n + m
    M, G = np.diag(10.0 ** rng.uniform(-5, 1, n)), rng.normal(size=(m, n))
    K, C = 1e3 * rng.normal(size=(n, n)), 0.1 * rng.normal(size=(n, n))
    for h in (1e-2, 1e-5, 1e-8):
        alpha = 2.0 ** round(np.log2(4 / h))
        A, B = np.zeros((ny, ny)), np.zeros((ny, ny))
        B[:n, :n], B[n : 2 * n, n : 2 * n] = np.eye(n), M
        A[:n, n : 2 * n], A[n : 2 * n, :n], A[n : 2 * n, n : 2 * n] = -np.eye(n), K, C
        A[n : 2 * n, 2 * n :], A[2 * n :, :n] = G.T, G
        wanted = np.concatenate([rng.normal(size=n), rng.normal(size=n) / h, rng.normal(size=m) / h**2])
        linear, factors, _ = dense_sizes(ny)
        W, fp = np.zeros(linear + factors + 2 * ny), np.zeros(3 + ny)
        fp[2 + n : 2 + 2 * n], fp[2 + 2 * n : 2 + ny] = 1, 2
        W[: ny * ny], W[ny * ny : 2 * ny * ny] = A.ravel(), B.ravel()
        right = ((A + alpha * B).astype(np.longdouble) @ wanted.astype(np.longdouble)).astype(float)
        at_r, at_x = linear + factors, linear + factors + ny
        W[at_r:at_x] = right
        assert factor_dense(W, 0, linear + 1, ny, alpha, 1.0, ny, h, fp) == 0
        solve_dense(W, linear + 1, ny, at_r, at_x)
        found = W[at_x:]
        for part in (slice(0, n), slice(n, 2 * n), slice(2 * n, ny)):
            # 6e-13 at h = 1e-6 without scales
            assert np.abs(found - wanted)[part].max() < 3e-14 * np.abs(wanted[part]).max(), (h, part)


@pytest.mark.parametrize("atol", [1e-9, 1e-12, 1e-13])
def test_radau_with_index_3_reaches_tight_tolerances(atol):
    """The seven-body mechanism failed with atol = 1e-13, because rounding of q let Newton's changes fall no further."""
    problem = problems.seven_body()
    sol = simulate(problem, formulation=Index3(), integrator=Radau(), stabilization=None, rtol=1e-10, atol=atol)
    # velocities count times h, which is some 1e-5 here: errors along the constraints add up to tolerance / h
    assert np.abs(sol.q[-1] - problem.reference().q).max() < 2e-7
    if atol <= 1e-12:
        swing = problems.pendulum_a01()
        sol = simulate(swing, formulation=Index3(), integrator=Radau(), stabilization=None, rtol=1e-10, atol=0.1 * atol)
        known = simulate(swing, rtol=1e-13, atol=1e-14)
        assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-8


def test_tolerances_below_rounding_are_met_as_far_as_it_lets_them():
    """Errors are measured by no less than it leaves: such runs once stopped, with what can be had."""
    given = {"formulation": Index3(), "integrator": Radau(), "stabilization": None, "rtol": 1e-10}
    known = simulate(problems.seven_body(), atol=3e-13, **given).q[-1]
    assert simulate(problems.seven_body(), atol=1e-14, **given).q[-1] == pytest.approx(known, abs=1e-7)
    assert simulate(problems.seven_body(), atol=0.0, **given).q[-1] == pytest.approx(known, abs=1e-7)
