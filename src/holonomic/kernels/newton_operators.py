"""Newton's matrix as operators: linearize R(t, y, y') = 0, factor ∂R/∂y + c ∂R/∂y' for real and complex c, solve.

Methods know neither the matrix nor its form. They ask for these operators, and what they leave lies in the workspace from
size.at_newton on: the linearized equations (size.n_linear numbers), real factors (size.n_factors), complex factors
(size.n_pair for each pair of shifts), then the vectors of the method.

A model may have operators of its own, LINEARIZED, NEWTON_FACTOR and NEWTON_SOLVE with their complex twins: then their
results are its own affair, but for the growth of the elimination, with which factors begin. Or it offers ∂R/∂y and ∂R/∂y'
as dense matrices, row by row (BY_Y, BY_SLOPE). What is made of these stands here and nowhere else: factors by straight-line
code where there is some, and where their growth says that its order of pivots serves, otherwise those of dense LU.

An unknown that is raised to an index above 1 is divided by its power of h before dense LU, and every equation by its
largest coefficient: of index 3 with h = 1e-6 and masses from 1e-5 to 10 the condition of the matrix falls from 4e19 to 3e2,
and the error of solutions from 6e-13 to 1e-15. Real and complex matrices have one scale for a row.
"""

from __future__ import annotations

import numpy as np

from ..errors import OK, SINGULAR
from ..native.marks import inner, leaf
from .complex_lu import complex_lu_factor, complex_lu_solve
from .linalg import lu_factor, lu_solve
from .signatures import (
    BY_SLOPE,
    BY_Y,
    COMPLEX_FACTOR,
    COMPLEX_SOLVE,
    EQUATIONS,
    GRADIENTS,
    LINEARIZED,
    MOTION_FACTOR,
    MOTION_TIMES,
    NEWTON_FACTOR,
    NEWTON_SOLVE,
    Fn,
    call_model,
    has_function,
)

GROWTH = 1e5  # of the elimination in a fixed order, up to which it is trusted: solutions have ten digits then
# the first number of real factors says whose they are; that of complex ones is the imaginary part of their shift
DENSE_LU, OWN = 0.0, 1.0


def dense_sizes(ny: int) -> tuple[int, int, int]:
    """Numbers of the linearized equations, of real and of complex factors, where matrices are dense.

    Straight-line factors take one number more than a matrix. Behind dense LU are pivots, scales of rows and of columns.
    """
    return 2 * ny * ny, 1 + ny * ny + 4 * ny, 1 + 2 * ny * ny + 2 * ny


def own_sizes(lengths: dict[Fn, int]) -> tuple[int, int, int]:
    """The same where the model's operators write so many numbers; real and complex factors begin with one of ours."""
    real = max(lengths.get(fn, 0) for fn in (Fn.NEWTON_FACTOR, Fn.MOTION_FACTOR, Fn.ENDS_FACTOR))
    return lengths.get(Fn.LINEARIZED, 0) * (1 + (Fn.ENDS_FACTOR in lengths)), 1 + real, 1 + lengths.get(Fn.COMPLEX_FACTOR, 0)


@inner
def vectors_at(size, pairs):
    """Where the vectors of a method begin that has so many pairs of complex shifts."""
    return size.at_newton + size.n_linear + size.n_factors + pairs * size.n_pair


@inner
def real_at(size):
    """Where real factors begin."""
    return size.at_newton + size.n_linear


@inner
def pair_at(size, pair):
    """Where the complex factors of one pair begin."""
    return size.at_newton + size.n_linear + size.n_factors + pair * size.n_pair


@inner
def linearize(model, t, y, at_y, W, at_slope):
    """The equations linearized at (t, y, y')."""
    at = model.size.at_newton
    if has_function(model, LINEARIZED):
        call_model(model, LINEARIZED, t, y, at_y, W, at_slope, W, at)
    else:
        linearize_by_rows(model, t, y, at_y, W, at_slope, at)


@inner
def linearize_by_rows(model, t, y, at_y, W, at_slope, at):
    """∂R/∂y and ∂R/∂y' as dense matrices: a service that not every model has."""
    size = model.size
    call_model(model, BY_Y, t, y, at_y, W, at_slope, W, at)
    call_model(model, BY_SLOPE, t, y, at_y, W, at_slope, W, at + size.n_equations * size.ny)


@inner
def gradient_lengths(model, W, lengths):
    """1 / length² of the gradients in q and v of the algebraic equations that are linearized; 0 where there is none."""
    size = model.size
    if has_function(model, GRADIENTS):
        call_model(model, GRADIENTS, 0.0, W, size.at_newton, W, size.at_newton, W, lengths)
    else:
        lengths_of_rows(W, size.at_newton, lengths, size.ny, size.nq + size.nv)


@leaf
def lengths_of_rows(W, at, lengths, ny, differential):
    """The same of dense rows."""
    for i in range(differential, ny):
        row = W[at + i * ny : at + (i + 1) * ny]
        total = 0.0
        for j in range(differential):
            total += row[j] * row[j]
        W[lengths + i] = 1.0 / total if total > 0.0 else 0.0


@inner
def cheap_factors(size, W):
    """Whether factors are the model's own, and so worth renewing often."""
    return W[real_at(size)] == OWN


@inner
def factor_real(model, run, W, shift, weight_y, first_algebraic, h, fp):
    """Factor weight_y ∂R/∂y + shift ∂R/∂y' (algebraic rows with weight 1); a weight other than 1 takes dense rows."""
    size = model.size
    at = real_at(size)
    run.factorizations += 1
    if has_function(model, NEWTON_FACTOR) and own_factors(model, W, shift):
        return OK
    if not has_function(model, BY_Y):
        return SINGULAR
    W[at] = DENSE_LU
    failed = factor_dense(W, size.at_newton, at + 1, size.ny, shift, weight_y, first_algebraic, h, fp)
    return OK if failed == 0 else SINGULAR


@inner
def own_factors(model, W, shift):
    """The model's own real factors; whether they serve."""
    size = model.size
    at = real_at(size)
    status = call_model(model, NEWTON_FACTOR, shift, W, size.at_newton, W, size.at_newton, W, at + 1)
    W[at] = OWN
    return status == OK and W[at + 1] <= GROWTH


@inner
def factor_systems(model, run, W, h, fp, shifts, pairs):
    """Factor ∂R/∂y + γ/h ∂R/∂y', and for every pair ∂R/∂y + (α - iβ)/h ∂R/∂y'; fp has γ, then α and β of each pair."""
    size = model.size
    run.factorizations += 1
    if has_function(model, NEWTON_FACTOR) and own_systems(model, W, h, fp, shifts, pairs):
        return OK
    if not has_function(model, BY_Y):
        return SINGULAR
    at = real_at(size)
    W[at] = DENSE_LU
    failed = factor_dense(W, size.at_newton, at + 1, size.ny, fp[shifts] / h, 1.0, 0, h, fp)
    for pair in range(pairs):
        if failed == 0:
            alpha, beta = fp[shifts + 1 + 2 * pair], fp[shifts + 2 + 2 * pair]
            failed = factor_dense_pair(W, size.at_newton, at + 1, pair_at(size, pair) + 1, size.ny, alpha / h, -beta / h)
    return OK if failed == 0 else SINGULAR


@inner
def own_systems(model, W, h, fp, shifts, pairs):
    """The model's own factors, real and complex; whether they serve."""
    return own_factors(model, W, fp[shifts] / h) and own_pairs(model, W, h, fp, shifts, pairs)


@inner
def own_pairs(model, W, h, fp, shifts, pairs):
    """Those of the pairs."""
    size = model.size
    for pair in range(pairs):
        at = pair_at(size, pair)
        W[at] = -fp[shifts + 2 + 2 * pair] / h
        status = call_model(model, COMPLEX_FACTOR, fp[shifts + 1 + 2 * pair] / h, W, size.at_newton, W, at, W, at + 1)
        if status != OK or not W[at + 1] <= GROWTH:
            return False
    return True


@inner
def factor_pairs(model, run, W, h, fp, shifts, pairs):
    """The same of the pairs alone, for methods without a real shift: fp has a number that is not read, then α and β of each."""
    size = model.size
    at = real_at(size)
    run.factorizations += 1
    if has_function(model, COMPLEX_FACTOR) and own_pairs(model, W, h, fp, shifts, pairs):
        W[at] = OWN
        return OK
    if not has_function(model, BY_Y):
        return SINGULAR
    W[at] = DENSE_LU
    scale_dense(W, size.at_newton, at + 1, size.ny, fp[shifts + 1] / h, h, fp)
    failed = 0
    for pair in range(pairs):
        if failed == 0:
            alpha, beta = fp[shifts + 1 + 2 * pair], fp[shifts + 2 + 2 * pair]
            failed = factor_dense_pair(W, size.at_newton, at + 1, pair_at(size, pair) + 1, size.ny, alpha / h, -beta / h)
    return OK if failed == 0 else SINGULAR


@inner
def factor_motion(model, run, W, c, over):
    """The model's own factors with shift c where δq = `over` Z δv holds, as in methods that have such formulas of their own."""
    size = model.size
    at = real_at(size)
    run.factorizations += 1
    W[at] = over
    status = call_model(model, MOTION_FACTOR, c, W, size.at_newton, W, at, W, at + 1)
    W[at] = OWN
    return OK if status == OK and W[at + 1] <= GROWTH else SINGULAR


@inner
def times_motion(model, W, at_x, at_out):
    """Their matrix times x."""
    call_model(model, MOTION_TIMES, 0.0, W, real_at(model.size) + 1, W, at_x, W, at_out)


@inner
def solve_real(model, W, at_r, at_x):
    """x = J⁻¹ r with the real factors."""
    size = model.size
    at = real_at(size)
    if W[at] == OWN:
        call_model(model, NEWTON_SOLVE, 0.0, W, at + 1, W, at_r, W, at_x)
    else:
        solve_dense(W, at + 1, size.ny, at_r, at_x)


@inner
def solve_pair(model, W, pair, at_r, at_x):
    """The same with the complex factors of one pair: real parts, then imaginary parts."""
    size = model.size
    at = pair_at(size, pair) + 1
    if W[real_at(size)] == OWN:
        call_model(model, COMPLEX_SOLVE, 0.0, W, at, W, at_r, W, at_x)
    else:
        solve_dense_pair(W, real_at(size) + 1, at, size.ny, at_r, at_x)


@inner
def times_by_y(model, t, y, W, at_slope, shift, at_r, at_x, at_base, at_spare):
    """r = ∂R/∂y x, where r is (∂R/∂y + shift ∂R/∂y') x before.

    Without dense rows it is r less what the slopes make of it: equations are linear in them. At at_base stands R(t, y, y'), at
    at_spare is room for two vectors.
    """
    ny = model.size.ny
    if has_function(model, LINEARIZED):
        add_slopes(W, at_slope, at_x, shift, at_spare, ny)
        call_model(model, EQUATIONS, t, y, 0, W, at_spare, W, at_spare + ny)
        take_change_off(W, at_r, at_spare + ny, at_base, ny)
    else:
        times_rows(W, model.size.at_newton, at_x, at_r, ny)


@leaf
def add_slopes(W, at_slope, at_x, shift, to, ny):
    """y' + shift x"""
    for i in range(ny):
        W[to + i] = W[at_slope + i] + shift * W[at_x + i]


@leaf
def take_change_off(W, at_r, at_new, at_base, ny):
    """r -= new - base"""
    for i in range(ny):
        W[at_r + i] -= W[at_new + i] - W[at_base + i]


# dense matrices


@leaf
def times_rows(W, at, at_x, at_out, ny):
    """A x, A standing row by row: four rows at a time, whose sums do not wait for each other."""
    x, four = W[at_x : at_x + ny], ny - ny % 4
    for i in range(0, four, 4):
        one, two, three, last = at + i * ny, at + (i + 1) * ny, at + (i + 2) * ny, at + (i + 3) * ny
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(ny):
            a += W[one + j] * x[j]
            b += W[two + j] * x[j]
            c += W[three + j] * x[j]
            d += W[last + j] * x[j]
        W[at_out + i], W[at_out + i + 1], W[at_out + i + 2], W[at_out + i + 3] = a, b, c, d
    for i in range(four, ny):
        row, total = W[at + i * ny : at + (i + 1) * ny], 0.0
        for j in range(ny):
            total += row[j] * x[j]
        W[at_out + i] = total


@leaf
def scale_columns(columns, h, fp, ny):
    """By what unknowns are divided: their powers of h, which begin at 2 in fp."""
    size, powers = abs(h), fp[2 : 2 + ny]
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
def factor_dense(W, at, to, ny, shift, weight_y, first_algebraic, h, fp):
    """Form weight_y ∂R/∂y + shift ∂R/∂y' (algebraic rows with weight 1), scale and factor it; 0 if that went well."""
    size = ny * ny
    A = W[at : at + size].reshape((ny, ny))
    B = W[at + size : at + 2 * size].reshape((ny, ny))
    J = W[to : to + size].reshape((ny, ny))
    pivots, rows = to + size + ny, to + size + 2 * ny
    columns = W[rows + ny : rows + 2 * ny]
    scale_columns(columns, h, fp, ny)
    for i in range(ny):
        weight = weight_y if i < first_algebraic else 1.0
        for j in range(ny):
            J[i, j] = weight * A[i, j] + shift * B[i, j]
        W[rows + i] = scale_row(J[i], columns)
    return lu_factor(J, W[pivots : pivots + ny].view(np.int64))


@leaf
def scale_dense(W, at, to, ny, shift, h, fp):
    """Scales of rows and columns alone, where `factor_dense` leaves them; the matrix itself is not factored."""
    size = ny * ny
    rows = to + size + 2 * ny
    columns = W[rows + ny : rows + 2 * ny]
    scale_columns(columns, h, fp, ny)
    for i in range(ny):
        row, slopes, J = W[at + i * ny : at + (i + 1) * ny], W[at + size + i * ny : at + size + (i + 1) * ny], W[to : to + ny]
        for j in range(ny):
            J[j] = row[j] + shift * slopes[j]
        W[rows + i] = scale_row(J, columns)


@leaf
def solve_dense(W, at, ny, at_r, at_x):
    """x = J⁻¹ r with the factors of dense LU at `at`."""
    size = ny * ny
    pivots, rows = at + size + ny, at + size + 2 * ny
    scales, columns = W[rows : rows + ny], W[rows + ny : rows + 2 * ny]
    x = W[at_x : at_x + ny]
    for i in range(ny):
        x[i] = W[at_r + i] * scales[i]
    lu_solve(W[at : at + size].reshape((ny, ny)), W[pivots : pivots + ny].view(np.int64), x)
    for i in range(ny):
        x[i] *= columns[i]


@leaf
def factor_dense_pair(W, at, real, to, ny, shift, imaginary):
    """Form ∂R/∂y + (shift + i imaginary) ∂R/∂y' with the scales of the real factors, and factor it."""
    size = ny * ny
    A = W[at : at + size].reshape((ny, ny))
    B = W[at + size : at + 2 * size].reshape((ny, ny))
    re = W[to : to + size].reshape((ny, ny))
    im = W[to + size : to + 2 * size].reshape((ny, ny))
    rows, pivots = real + size + 2 * ny, to + 2 * size + ny
    scales, columns = W[rows : rows + ny], W[rows + ny : rows + 2 * ny]
    for i in range(ny):
        scale = scales[i]
        for j in range(ny):
            re[i, j] = (A[i, j] + shift * B[i, j]) * columns[j] * scale
            im[i, j] = imaginary * B[i, j] * columns[j] * scale
    return complex_lu_factor(re, im, W[pivots : pivots + ny].view(np.int64))


@leaf
def solve_dense_pair(W, real, at, ny, at_r, at_x):
    """Solve with these: real parts, then imaginary parts."""
    size = ny * ny
    re = W[at : at + size].reshape((ny, ny))
    im = W[at + size : at + 2 * size].reshape((ny, ny))
    rows, pivots = real + size + 2 * ny, at + 2 * size + ny
    scales, columns = W[rows : rows + ny], W[rows + ny : rows + 2 * ny]
    x, y = W[at_x : at_x + ny], W[at_x + ny : at_x + 2 * ny]
    for i in range(ny):
        x[i], y[i] = W[at_r + i] * scales[i], W[at_r + ny + i] * scales[i]
    complex_lu_solve(re, im, W[pivots : pivots + ny].view(np.int64), x, y)
    for i in range(ny):
        x[i] *= columns[i]
        y[i] *= columns[i]
