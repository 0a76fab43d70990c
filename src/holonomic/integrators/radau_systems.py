"""The two systems of a Radau step, one real and one complex: factors and solutions.

Where the model has straight-line code for both, and their growth says that its order of pivots serves, the factors are its
own; otherwise they are those of dense LU.
"""

from __future__ import annotations

import numpy as np

from ..kernels.compile import inner, leaf
from ..kernels.complex_lu import complex_lu_factor, complex_lu_solve
from ..kernels.linalg import lu_factor
from ..kernels.newton import DENSE_LU, GROWTH, STRAIGHT, scale_columns, scale_row, solve_dense
from ..kernels.signatures import (
    COMPLEX_FACTOR,
    COMPLEX_SOLVE,
    NEWTON_FACTOR,
    NEWTON_SOLVE,
    call_model,
    has_function,
)

# the workspace from size.at_newton on, in units of ny²: ∂R/∂y, ∂R/∂y', real factors, complex factors (each with room for ny
# numbers more); then vectors, in units of ny: real and complex pivots, three residuals, y and y' of a stage, three
# solutions, scales of rows and columns; last the imaginary weight of ∂R/∂y' and whose factors there are
MATRICES = 5
AT_R, AT_Y, AT_SLOPE, AT_SOLVED, AT_ROWS, AT_COLUMNS, AT_KIND = 2, 5, 6, 7, 10, 11, 12


def radau_work(ny: int) -> int:
    """Numbers of workspace that a Radau step takes."""
    return MATRICES * ny * ny + (2 + AT_KIND) * ny + 10


@leaf
def vectors_at(at, ny):
    """Where the vectors begin."""
    return at + MATRICES * ny * ny + 2 * ny


@leaf
def complex_at(at, ny):
    """Where the complex factors begin."""
    return at + 3 * ny * ny + ny


@inner
def factor_both(model, run, W, at, ny, h, gamma, alpha, beta, fp):
    """Factor the real and the complex matrix; return 0 if that went well."""
    run.factorizations += 1
    kind, real, pair = vectors_at(at, ny) + AT_KIND * ny, at + 2 * ny * ny, complex_at(at, ny)
    if has_function(model, NEWTON_FACTOR):
        call_model(model, NEWTON_FACTOR, gamma / h, W, at, W, at, W, real)
        if W[real] <= GROWTH:
            W[kind + 1] = -beta / h
            call_model(model, COMPLEX_FACTOR, alpha / h, W, at, W, kind + 1, W, pair)
            if W[pair] <= GROWTH:
                W[kind] = STRAIGHT
                return 0
    W[kind] = DENSE_LU
    return factor_dense(W, at, ny, h, gamma, alpha, beta, fp)


@leaf
def factor_dense(W, at, ny, h, gamma, alpha, beta, fp):
    """Form and factor both by dense LU, with one scale for a row of both."""
    size, pair = ny * ny, complex_at(at, ny)
    Jy = W[at : at + size].reshape((ny, ny))
    Js = W[at + size : at + 2 * size].reshape((ny, ny))
    real = W[at + 2 * size : at + 3 * size].reshape((ny, ny))
    re = W[pair : pair + size].reshape((ny, ny))
    im = W[pair + size : pair + 2 * size].reshape((ny, ny))
    v = vectors_at(at, ny)
    columns = W[v + AT_COLUMNS * ny : v + (AT_COLUMNS + 1) * ny]
    scale_columns(columns, h, fp, ny)
    for i in range(ny):
        for j in range(ny):
            real[i, j] = Jy[i, j] + gamma / h * Js[i, j]
        scale = scale_row(real[i], columns)
        W[v + AT_ROWS * ny + i] = scale
        for j in range(ny):
            re[i, j] = (Jy[i, j] + alpha / h * Js[i, j]) * columns[j] * scale
            im[i, j] = -beta / h * Js[i, j] * columns[j] * scale
    if lu_factor(real, W[v : v + ny].view(np.int64)) != 0:
        return 1
    return complex_lu_factor(re, im, W[v + ny : v + 2 * ny].view(np.int64))


@inner
def solve_real(model, W, at, at_r, ny):
    """E⁻¹ r with the real factors; return where it stands."""
    v = vectors_at(at, ny)
    solved = v + AT_SOLVED * ny
    if W[v + AT_KIND * ny] == STRAIGHT:
        call_model(model, NEWTON_SOLVE, 0.0, W, at + 2 * ny * ny, W, at_r, W, solved)
    else:
        solve_dense(W, at + 2 * ny * ny, v, v + AT_ROWS * ny, ny, at_r, solved)
    return solved


@inner
def solve_pair(model, W, at, at_r, ny):
    """The solution of the complex system behind that of the real one; return where the latter stands."""
    v = vectors_at(at, ny)
    solved = v + AT_SOLVED * ny
    if W[v + AT_KIND * ny] == STRAIGHT:
        call_model(model, COMPLEX_SOLVE, 0.0, W, complex_at(at, ny), W, at_r, W, solved + ny)
    else:
        solve_pair_dense(W, at, at_r, solved + ny, ny)
    return solved


@leaf
def solve_pair_dense(W, at, at_r, solved, ny):
    """The complex system by dense LU."""
    size, v, pair = ny * ny, vectors_at(at, ny), complex_at(at, ny)
    re = W[pair : pair + size].reshape((ny, ny))
    im = W[pair + size : pair + 2 * size].reshape((ny, ny))
    rows, columns = W[v + AT_ROWS * ny : v + (AT_ROWS + 1) * ny], W[v + AT_COLUMNS * ny : v + (AT_COLUMNS + 1) * ny]
    real, imaginary = W[solved : solved + ny], W[solved + ny : solved + 2 * ny]
    for i in range(ny):
        real[i], imaginary[i] = W[at_r + i] * rows[i], W[at_r + ny + i] * rows[i]
    complex_lu_solve(re, im, W[v + ny : v + 2 * ny].view(np.int64), real, imaginary)
    for i in range(ny):
        real[i] *= columns[i]
        imaginary[i] *= columns[i]
