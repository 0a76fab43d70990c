"""Newton's method for one implicit step: steps, and how it is told that they have come to rounding.

Newton's matrix is that of `newton_operators`; behind its factors lie the vectors named here, `newton_work` says how much
that is. Changes are measured in the error norm, so that neither units nor the length of the step say where an iteration
ends.

Where there are more equations than unknowns, the algebraic ones c hold exactly and the others d in the sense of
least squares: Newton's matrix is then that of the constrained Gauss-Newton method, of dense rows,

    [ Jdᵀ Jd  Jcᵀ ] [ Δ ]     [ Jdᵀ d ]
    [   Jc     0  ] [ κ ] = - [   c   ]
"""

from __future__ import annotations

import numpy as np

from ..native.marks import inner, leaf
from .linalg import lu_factor, lu_solve
from .newton_operators import solve_real, vectors_at
from .sizes import TOLERANCES, raised
from .vectors import EPS

# vectors behind the factors, in units of ny; pivots are those of least squares
AT_R, AT_SLOPE, AT_STEP, AT_PIVOTS, AT_BETA, AT_MIDDLE, AT_OLD = range(7)
N_VECTORS = 7
# Fixed steps: where changes no longer fall, and are this small beside tolerances of 1e-10, it is by rounding; more with
# Jacobians that are always new, where masses of 1 and 1000 on constraints that turn rapidly leave 1e-7
AT_ROUNDING, ROUNDING, LOOSE = 0.9, 10.0, 1e4
# Steps chosen by their error: changes that fell quickly, or that are this many times what the rounding of the unknowns can
# make, and that stop falling, have come to it; what they leave is this small beside the tolerance
STALLED, QUICK, ROUNDED, SMALL = 0.3, 0.03, 100.0, 0.1


def newton_work(size) -> int:
    """Numbers of workspace that Newton's method takes."""
    return size.n_linear + size.n_factors + N_VECTORS * max(size.ny, size.n_equations) + 8


def least_squares_work(ny: int, equations: int, exact: int) -> int:
    """The same for more equations than unknowns, `exact` of them to hold exactly."""
    size = matrix_size(ny, equations, exact)
    return 2 * equations * ny + size * size + N_VECTORS * max(size, equations) + 8


def matrix_size(ny: int, equations: int, exact: int) -> int:
    """Rows of Newton's matrix."""
    return ny if equations == ny else ny + exact


@inner
def newton_step_scaled(model, run, W, y, damping, h, fp):
    """y -= damping J⁻¹ R; return the size of the change in the error norm."""
    run.residuals += 1
    ny, v = model.size.ny, vectors_at(model.size, 0)
    at_step = v + AT_STEP * ny
    solve_real(model, W, v + AT_R * ny, at_step)
    return subtract_scaled(model.size, y, W, at_step, ny, damping, h, fp)


@leaf
def subtract_scaled(sizes, y, W, at_step, ny, damping, h, fp):
    """y -= damping step; return the size of the change in the error norm.

    fp holds rtol, the stopping bound and, for every unknown, its power of the step.
    """
    steps, powers, at, at_rates = W[at_step : at_step + ny], fp[2 : 2 + ny], sizes.at_sizes + TOLERANCES, sizes.at_rates
    rtol, largest = fp[0], 0.0
    for i in range(ny):
        step = damping * steps[i]
        scale = W[at + i] + rtol * abs(y[i])
        y[i] -= step
        change = abs(step) * raised(h, W[at_rates + i], powers[i]) / scale
        if not change <= largest:
            largest = change
    return largest


@leaf
def rounding(sizes, W, y, h, fp, nq, differential, ny):
    """What rounding of the unknowns can make of a change, in the error norm.

    Positions are known to ε times the largest; velocities of index 3 are their differences over h, multipliers of index 2
    and 3 differences of velocities, so that times their power of h they carry the same.
    """
    rtol, powers, at, at_rates, size = fp[0], fp[2 : 2 + ny], sizes.at_sizes + TOLERANCES, sizes.at_rates, abs(h)
    worst, carried, first = 0.0, 0.0, 0
    for block in range(3):
        last = nq if block == 0 else (differential if block == 1 else ny)
        largest, carries = 0.0, False
        for i in range(first, last):
            largest = max(largest, abs(y[i]) * size ** int(powers[i]))
            carries = carries or powers[i] > 0.0
        level = EPS * largest + (carried if carries else 0.0)
        for i in range(first, last):
            by_rate = raised(h, W[at_rates + i], powers[i]) / size ** int(powers[i])
            worst = max(worst, level * by_rate / (W[at + i] + rtol * abs(y[i])))
        if last > first:
            carried, first = level, last
    return worst


@leaf
def small(sizes, W, change, limit, y, h, fp, nq, differential, ny):
    """Whether a change that no longer falls may be rounding, in a fixed step."""
    return change <= limit or change <= ROUNDED * rounding(sizes, W, y, h, fp, nq, differential, ny)


@leaf
def stalled(sizes, W, change, fall, quickest, y, h, fp, nq, differential, ny):
    """Whether changes have come to rounding: they fell quickly before, or are no larger than that can be."""
    if not (fall > STALLED and change <= SMALL):
        return False
    return quickest <= QUICK or change <= ROUNDED * rounding(sizes, W, y, h, fp, nq, differential, ny)


@leaf
def factor_least_squares(run, W, at, ny, nr, first_algebraic, alpha, weight_y):
    """Form Jd, Jc in the place of ∂R/∂y, then the Gauss-Newton matrix, and factor it."""
    nk = ny + nr - first_algebraic
    A = W[at : at + nr * ny].reshape((nr, ny))
    B = W[at + nr * ny : at + 2 * nr * ny].reshape((nr, ny))
    J = W[at + 2 * nr * ny : at + 2 * nr * ny + nk * nk].reshape((nk, nk))
    for i in range(nr):
        weight = weight_y if i < first_algebraic else 1.0
        for j in range(ny):
            A[i, j] = weight * A[i, j] + alpha * B[i, j]
    for i in range(ny):
        for j in range(ny):
            total = 0.0
            for k in range(first_algebraic):
                total += A[k, i] * A[k, j]
            J[i, j] = total
    for k in range(nk - ny):
        for j in range(ny):
            J[ny + k, j] = A[first_algebraic + k, j]
            J[j, ny + k] = A[first_algebraic + k, j]
        for j in range(nk - ny):
            J[ny + k, ny + j] = 0.0
    run.factorizations += 1
    start = at + 2 * nr * ny + nk * nk + AT_PIVOTS * max(nk, nr)
    return lu_factor(J, W[start : start + nk].view(np.int64))


@leaf
def least_squares_step(sizes, run, W, at, ny, nr, first_algebraic, y, h, fp):
    """y += Δ; return the size of the change in the error norm."""
    run.residuals += 1
    nk = ny + nr - first_algebraic
    A = W[at : at + nr * ny].reshape((nr, ny))
    J = W[at + 2 * nr * ny : at + 2 * nr * ny + nk * nk].reshape((nk, nk))
    vectors, stride = at + 2 * nr * ny + nk * nk, max(nk, nr)
    pivots = W[vectors + AT_PIVOTS * stride : vectors + AT_PIVOTS * stride + nk].view(np.int64)
    R = W[vectors + AT_R * stride : vectors + AT_R * stride + nr]
    right = W[vectors + AT_STEP * stride : vectors + AT_STEP * stride + nk]
    for j in range(ny):
        total = 0.0
        for k in range(first_algebraic):
            total += A[k, j] * R[k]
        right[j] = total
    for k in range(nk - ny):
        right[ny + k] = R[first_algebraic + k]
    lu_solve(J, pivots, right)
    return subtract_scaled(sizes, y, W, vectors + AT_STEP * stride, ny, 1.0, h, fp)
