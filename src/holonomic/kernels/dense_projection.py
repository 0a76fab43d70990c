"""Projections by dense Cholesky, for models whose functions run as plain Python.

Emitted models unroll these solves over their sparsity; here they are loops. Both keep to one layout as far as
kernels look: F[0] = ρ and then 1/‖row‖ for every row of J. The rest of F is X = W⁻¹Jᵀ, J, the Cholesky factor
of J X, and room for two right-hand sides.
"""

from __future__ import annotations

import math

from ..native.marks import leaf
from ..native.types import b1, i8, mat, vec
from .linalg import chol_solve, cholesky

# invariants: a row of whose square the rows before it leave less than this is left out; its pivot is endless then
DEPENDENT, OUT = 1e-12, 1e300
# redundant constraints: what is added to the diagonal, of itself, and how often is solved again. Predicted states are 1e-8 to
# 1e-5 off the constraints, and rows that repeat others then have 1e-16 to 1e-10 of their own, which must not count
EVENLY, TURNS = 1e-8, 1
BESIDE = 1e-4  # the other number on the diagonal, by which the pivots' product is compared


def factors_length(rows, columns):
    """Length of F for a Jacobian of this shape."""
    return 1 + 3 * rows + 2 * rows * columns + rows * rows


@leaf
def cholesky_kept(A):
    """Factor A = L Lᵀ in place, row by row; a row that depends on those before it is left out, its pivot endless."""
    n = A.shape[0]
    for i in range(n):
        diagonal = A[i, i]
        pivot = diagonal
        for k in range(i):
            for m in range(k):
                A[i, k] -= A[i, m] * A[k, m]
            A[i, k] /= A[k, k]
            pivot -= A[i, k] * A[i, k]
        if pivot > DEPENDENT * diagonal:
            A[i, i] = math.sqrt(pivot)
        else:
            for k in range(i):
                A[i, k] = 0.0
            A[i, i] = math.sqrt(OUT)
    return 0


@leaf
def squared(J, X, L, more):
    """L = J X, its lower triangle, the diagonal times 1 + `more`."""
    rows, columns = J.shape
    for i in range(rows):
        for k in range(i + 1):
            total = 0.0
            for j in range(columns):
                total += J[i, j] * X[j, k]
            L[i, k] = total
        L[i, i] *= 1.0 + more
        L[0, i] = L[i, i]  # the first row above the diagonal is free: it keeps the diagonal until ρ is known


@leaf
def ratio_of_short(J, X, L, short):
    """ρ where rows are redundant, as in `model.short.factor_even`; L is left with the factors of J X + ε D."""
    rows, share = J.shape[0], 0.0
    squared(J, X, L, BESIDE)
    if cholesky(L) != 0:
        return 0.0
    for i in range(rows):
        share -= 2.0 * math.log(L[i, i])
    squared(J, X, L, EVENLY)
    if cholesky(L) != 0:
        return 0.0
    for i in range(rows):
        share += 2.0 * math.log(L[i, i])
    share = math.exp(share + short * math.log(BESIDE / EVENLY))
    return min(1.0, BESIDE * share / max(1.0 - share, BESIDE))


@leaf
def factor_rows(J: mat, X: mat, F: vec, droppable: b1 = False, short: i8 = 0):
    """Fill F from J and X = W⁻¹Jᵀ; ρ = 0 where J X is not positive definite.

    With `droppable`, rows that depend on others are left out: their 1/‖row‖ is 0. With `short`, so many of them repeat
    others, see `model.redundant_rows`.
    """
    rows, columns = J.shape
    at_J = 1 + rows + rows * columns
    at_L = at_J + rows * columns
    L = F[at_L : at_L + rows * rows].reshape((rows, rows))
    for i in range(rows):
        length = 0.0
        for j in range(columns):
            length += J[i, j] * J[i, j]
            F[at_J + i * columns + j] = J[i, j]
            F[1 + rows + j * rows + i] = X[j, i]
        F[1 + i] = 1.0 / max(math.sqrt(length), 1e-300)
    if short > 0:
        F[0] = ratio_of_short(J, X, L, short)
        return
    squared(J, X, L, 0.0)
    first = L[0, 0]
    F[0] = 0.0
    failed = cholesky_kept(L) if droppable else cholesky(L)
    if failed == 0:
        rho = 1.0
        for i in range(rows):
            if droppable and L[i, i] * L[i, i] > 0.5 * OUT:
                F[1 + i] = 0.0
            else:
                rho = min(rho, L[i, i] * L[i, i] / (first if i == 0 else L[0, i]))
        F[0] = rho


@leaf
def ratio_of_rows(W: vec, at_G: i8, rows: i8, columns: i8, at: i8):
    """ρ of G Gᵀ, its smallest pivot ratio, above 0; W is used from `at` on."""
    A = W[at : at + rows * rows].reshape((rows, rows))
    for i in range(rows):
        for k in range(i + 1):
            total = 0.0
            for j in range(columns):
                total += W[at_G + i * columns + j] * W[at_G + k * columns + j]
            A[i, k] = total
        A[0, i] = A[i, i]  # kept as in `factor_rows`
    first, rho = A[0, 0] if rows > 0 else 1.0, 1.0
    if cholesky(A) != 0:
        return 1e-300
    for i in range(rows):
        rho = min(rho, A[i, i] * A[i, i] / (first if i == 0 else A[0, i]))
    return max(rho, 1e-300)


@leaf
def solve_again(F, rows, columns, L, held):
    """held = (J X)⁻¹ held by the factors of J X + ε D: each turn with what ε has left."""
    at_b = 1 + 2 * rows + 2 * rows * columns + rows * rows
    b = F[at_b : at_b + rows]
    for i in range(rows):
        b[i] = held[i]
    chol_solve(L, held)
    for _ in range(TURNS):
        for i in range(rows):
            diagonal = 0.0
            for j in range(columns):
                diagonal += F[1 + rows + rows * columns + i * columns + j] * F[1 + rows + j * rows + i]
            held[i] = b[i] + EVENLY * diagonal * held[i]
        chol_solve(L, held)


@leaf
def spread_held(F, rows, columns, out, short):
    """out = X (J X)⁻¹ r with the factors of `factor_rows`; r stands behind them and is used up."""
    at_X = 1 + rows
    at_L = at_X + 2 * rows * columns
    at_r = at_L + rows * rows
    held = F[at_r : at_r + rows]
    L = F[at_L:at_r].reshape((rows, rows))
    if short > 0:
        solve_again(F, rows, columns, L, held)
    else:
        chol_solve(L, held)
    for j in range(columns):
        total = 0.0
        for i in range(rows):
            total += F[at_X + j * rows + i] * held[i]
        out[j] = total


@leaf
def solve_rows(F: vec, rows: i8, columns: i8, r: vec, out: vec, short: i8 = 0):
    """out = X (J X)⁻¹ r with the factors of `factor_rows`."""
    at_r = 1 + rows + 2 * rows * columns + rows * rows
    held = F[at_r : at_r + rows]
    for i in range(rows):
        held[i] = r[i]
    spread_held(F, rows, columns, out, short)


@leaf
def tangent_rows(F: vec, rows: i8, columns: i8, e: vec, out: vec, short: i8 = 0):
    """out = X (J X)⁻¹ J e: the part of e that leads off the constraints."""
    at_J = 1 + rows + rows * columns
    at_r = at_J + rows * columns + rows * rows
    held = F[at_r : at_r + rows]
    for i in range(rows):
        total = 0.0
        for j in range(columns):
            total += F[at_J + i * columns + j] * e[j]
        held[i] = total
    spread_held(F, rows, columns, out, short)
