"""Newton's method for one implicit stage, with exact Jacobians.

The matrices live in the workspace from size.at_newton on: ∂R/∂y, ∂R/∂y', Newton's matrix and its factors, then
vectors. `newton_work` says how much that is. Where the model has straight-line code for the factors, and their growth
says that its order of pivots serves, they are its own; otherwise they are those of dense LU.

An unknown that is raised to an index above 1 is divided by its power of h before dense LU, and every equation by its
largest coefficient: of index 3 with h = 1e-6 and masses from 1e-5 to 10 the condition of the matrix falls from 4e19 to 3e2,
and the error of solutions from 6e-13 to 1e-15. Changes are measured in the error norm, so that neither units nor the
length of the step say where an iteration ends.

Where there are more equations than unknowns, the algebraic ones c hold exactly and the others d in the sense of
least squares: Newton's matrix is then that of the constrained Gauss-Newton method,

    [ Jdᵀ Jd  Jcᵀ ] [ Δ ]     [ Jdᵀ d ]
    [   Jc     0  ] [ κ ] = - [   c   ]
"""

from __future__ import annotations

import numpy as np

from .compile import inner, leaf
from .linalg import lu_factor, lu_solve
from .signatures import NEWTON_FACTOR, NEWTON_SOLVE, call_model, has_function
from .vectors import EPS

# vectors behind the three matrices, in units of NY; the last begins with whose factors there are
AT_R, AT_SLOPE, AT_STEP, AT_PIVOTS, AT_BETA, AT_MIDDLE, AT_OLD, AT_ROWS, AT_COLUMNS, AT_KIND = range(10)
N_VECTORS = 10
DENSE_LU, STRAIGHT = 0.0, 1.0
GROWTH = 1e5  # of the elimination in a fixed order, up to which it is trusted: solutions have ten digits then
# Fixed steps: where changes no longer fall, and are this small beside tolerances of 1e-10, it is by rounding; more with
# Jacobians that are always new, where masses of 1 and 1000 on constraints that turn rapidly leave 1e-7
AT_ROUNDING, ROUNDING, LOOSE = 0.9, 10.0, 1e4
# Steps chosen by their error: changes that fell quickly, or that are this many times what the rounding of the unknowns can
# make, and that stop falling, have come to it; what they leave is this small beside the tolerance
STALLED, QUICK, ROUNDED, SMALL = 0.3, 0.03, 100.0, 0.1


def newton_work(ny: int) -> int:
    """Numbers of workspace that Newton's method takes."""
    return 3 * ny * ny + (N_VECTORS + 1) * ny + 8


def least_squares_work(ny: int, equations: int, exact: int) -> int:
    """The same for more equations than unknowns, `exact` of them to hold exactly."""
    size = matrix_size(ny, equations, exact)
    return 2 * equations * ny + size * size + N_VECTORS * max(size, equations) + 8


def matrix_size(ny: int, equations: int, exact: int) -> int:
    """Rows of Newton's matrix."""
    return ny if equations == ny else ny + exact


@leaf
def vectors_at(at, ny):
    """Where the vectors begin: factors out of straight-line code take one number more than a matrix."""
    return at + 3 * ny * ny + ny


@inner
def factor_newton(model, run, W, at, ny, alpha, weight_y, first_algebraic, h, fp):
    """Factor weight_y ∂R/∂y + alpha ∂R/∂y' (algebraic rows with weight 1); return 0 if that went well."""
    run.factorizations += 1
    kind, factors = vectors_at(at, ny) + AT_KIND * ny, at + 2 * ny * ny
    if has_function(model, NEWTON_FACTOR):
        call_model(model, NEWTON_FACTOR, alpha, W, at, W, at, W, factors)
        if W[factors] <= GROWTH:
            W[kind] = STRAIGHT
            return 0
    W[kind] = DENSE_LU
    return factor_dense(W, at, ny, alpha, weight_y, first_algebraic, h, fp)


@leaf
def scale_columns(columns, h, fp, ny):
    """By what unknowns are divided: their powers of h, which begin at 2 + ny in fp."""
    size, powers = abs(h), fp[2 + ny : 2 + 2 * ny]
    for j in range(ny):
        columns[j] = size ** -int(powers[j])


@leaf
def scale_row(row, columns):
    """Divide one equation by its largest coefficient, unknowns by theirs; return by what."""
    largest = 0.0
    for j in range(row.shape[0]):
        row[j] *= columns[j]
        largest = max(largest, abs(row[j]))
    scale = 1.0 / largest if largest > 0.0 else 1.0
    for j in range(row.shape[0]):
        row[j] *= scale
    return scale


@leaf
def factor_dense(W, at, ny, alpha, weight_y, first_algebraic, h, fp):
    """Form weight_y ∂R/∂y + alpha ∂R/∂y' (algebraic rows with weight 1), scale and factor it."""
    size = ny * ny
    A = W[at : at + size].reshape((ny, ny))
    B = W[at + size : at + 2 * size].reshape((ny, ny))
    J = W[at + 2 * size : at + 3 * size].reshape((ny, ny))
    v = vectors_at(at, ny)
    columns, at_rows = W[v + AT_COLUMNS * ny : v + (AT_COLUMNS + 1) * ny], v + AT_ROWS * ny
    scale_columns(columns, h, fp, ny)
    for i in range(ny):
        weight = weight_y if i < first_algebraic else 1.0
        for j in range(ny):
            J[i, j] = weight * A[i, j] + alpha * B[i, j]
        W[at_rows + i] = scale_row(J[i], columns)
    start = v + AT_PIVOTS * ny
    return lu_factor(J, W[start : start + ny].view(np.int64))


@inner
def solve_newton(model, run, W, at, ny):
    """J⁻¹ R with the factors in place; return where it stands."""
    run.residuals += 1
    vectors = vectors_at(at, ny)
    at_r, at_step = vectors + AT_R * ny, vectors + AT_STEP * ny
    if W[vectors + AT_KIND * ny] == STRAIGHT:
        call_model(model, NEWTON_SOLVE, 0.0, W, at + 2 * ny * ny, W, at_r, W, at_step)
    else:
        solve_dense(W, at + 2 * ny * ny, vectors + AT_PIVOTS * ny, vectors + AT_ROWS * ny, ny, at_r, at_step)
    return at_step


@leaf
def solve_dense(W, at_factors, at_pivots, at_scales, ny, at_r, at_x):
    """The same with the factors of dense LU; the scales are those of rows, then those of columns."""
    factors = W[at_factors : at_factors + ny * ny].reshape((ny, ny))
    x, rows, columns = W[at_x : at_x + ny], W[at_scales : at_scales + ny], W[at_scales + ny : at_scales + 2 * ny]
    for i in range(ny):
        x[i] = W[at_r + i] * rows[i]
    lu_solve(factors, W[at_pivots : at_pivots + ny].view(np.int64), x)
    for i in range(ny):
        x[i] *= columns[i]


@inner
def newton_step_scaled(model, run, W, at, ny, y, damping, h, fp):
    """y -= damping J⁻¹ R; return the size of the change in the error norm."""
    return subtract_scaled(y, W, solve_newton(model, run, W, at, ny), ny, damping, h, fp)


@leaf
def subtract_scaled(y, W, at_step, ny, damping, h, fp):
    """y -= damping step; return the size of the change in the error norm.

    fp holds rtol, the stopping bound, atol and the powers of h, the last two for every unknown.
    """
    steps, atol, powers = W[at_step : at_step + ny], fp[2 : 2 + ny], fp[2 + ny : 2 + 2 * ny]
    rtol, size, largest = fp[0], abs(h), 0.0
    for i in range(ny):
        step = damping * steps[i]
        scale = atol[i] + rtol * abs(y[i])
        y[i] -= step
        change = abs(step) * size ** int(powers[i]) / scale
        if not change <= largest:
            largest = change
    return largest


@leaf
def rounding(y, h, fp, nq, differential, ny):
    """What rounding of the unknowns can make of a change, in the error norm.

    Positions are known to ε times the largest; velocities of index 3 are their differences over h, multipliers of index 2
    and 3 differences of velocities, so that times their power of h they carry the same.
    """
    rtol, atol, powers, size = fp[0], fp[2 : 2 + ny], fp[2 + ny : 2 + 2 * ny], abs(h)
    worst, carried, first = 0.0, 0.0, 0
    for block in range(3):
        last = nq if block == 0 else (differential if block == 1 else ny)
        largest, raised = 0.0, False
        for i in range(first, last):
            largest = max(largest, abs(y[i]) * size ** int(powers[i]))
            raised = raised or powers[i] > 0.0
        level = EPS * largest + (carried if raised else 0.0)
        for i in range(first, last):
            worst = max(worst, level / (atol[i] + rtol * abs(y[i])))
        if last > first:
            carried, first = level, last
    return worst


@leaf
def small(change, limit, y, h, fp, nq, differential, ny):
    """Whether a change that no longer falls may be rounding, in a fixed step."""
    return change <= limit or change <= ROUNDED * rounding(y, h, fp, nq, differential, ny)


@leaf
def stalled(change, fall, quickest, y, h, fp, nq, differential, ny):
    """Whether changes have come to rounding: they fell quickly before, or are no larger than that can be."""
    if not (fall > STALLED and change <= SMALL):
        return False
    return quickest <= QUICK or change <= ROUNDED * rounding(y, h, fp, nq, differential, ny)


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
def least_squares_step(run, W, at, ny, nr, first_algebraic, y, h, fp):
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
    return subtract_scaled(y, W, vectors + AT_STEP * stride, ny, 1.0, h, fp)
