"""LU, Cholesky and pivoted QR for small dense matrices.

Matrices are C-contiguous float64 arrays (rows first), pivots int64. Everything is done in place in arrays of
the caller; nothing is allocated and nothing raised: a function that can fail returns a status. Plain loops
only, so that the same source compiles for the CPU and, inside a kernel, for a GPU.

`lu_factor`, `lu_solve`, `lu_solve_rows`, `lu_refine`   any square matrix; the saddle-point matrix, Newton's matrix
`cholesky`, `chol_solve`                              symmetric positive definite; mass matrix, G M⁻¹ Gᵀ
`qr_pivoted`, `apply_q`, `solve_upper_transposed`     rank, independent rows, the shortest solution

References
----------
[golub-van-loan-2013] Sec. 3.4, 3.5 (LU, scaling, refinement), 4.2 (Cholesky), 5.4 (QR with column pivoting).
"""

from __future__ import annotations

import math

import numpy as np

from ..native.marks import leaf
from ..native.types import ints, mat, vec

HUGE = 1.7976931348623157e308  # largest float64; anything not below it in size is inf or nan
SQRT_EPS = 1.4901161193847656e-08


@leaf
def lu_factor(A: mat, piv: ints):
    """Factor P A = L U by elimination with scaled partial pivoting; A becomes L (below) and U.

    The pivot of a column is the entry largest beside the largest entry of its own row, both as given, so
    the choice does not change when an equation is written in other units.

    Parameters
    ----------
    A : (n, n) array
        The matrix; overwritten by its factors. L has a unit diagonal that is not stored.
    piv : (n,) int64 array
        Filled with the row that was exchanged with row k, in the order of k.

    Returns
    -------
    int
        0, or k + 1 if column k holds inf or nan, or nothing but zeros where its pivot should be.
        A small pivot is no failure: whether it is too small depends on the units of the unknowns.
    """
    n = A.shape[0]
    scale = piv.view(np.float64)
    for i in range(n):
        largest = 0.0
        for j in range(n):
            size = abs(A[i, j])
            if not size <= HUGE:
                return j + 1
            if size > largest:
                largest = size
        # piv[i] is free until step i and keeps the power of two that brings the row to the size of 1 until then
        scale[i] = math.ldexp(1.0, -max(math.frexp(largest)[1], -1000))
    for k in range(n):
        row, best = -1, 0.0
        for i in range(k, n):
            size = abs(A[i, k]) * scale[i]
            if size > best and size <= HUGE:
                row, best = i, size
        if row < 0:
            return k + 1
        if row != k:
            for j in range(n):
                held = A[k, j]
                A[k, j] = A[row, j]
                A[row, j] = held
            scale[row] = scale[k]
        piv[k] = row
        pivot = A[k, k]
        for i in range(k + 1, n):
            if A[i, k] != 0.0:
                factor = A[i, k] / pivot
                A[i, k] = factor
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
    return 0


@leaf
def lu_solve(LU: mat, piv: ints, b: vec):
    """Solve A x = b with the factors of `lu_factor`; b becomes x."""
    n = LU.shape[0]
    for k in range(n):
        row = piv[k]
        held = b[k]
        b[k] = b[row]
        b[row] = held
    for i in range(n):
        rest = b[i]
        for j in range(i):
            rest -= LU[i, j] * b[j]
        b[i] = rest
    for i in range(n - 1, -1, -1):
        rest = b[i]
        for j in range(i + 1, n):
            rest -= LU[i, j] * b[j]
        b[i] = rest / LU[i, i]


@leaf
def lu_solve_rows(LU, piv, W, at_rows, at, rows):
    """Solve A x = b for each of `rows` right-hand sides in W, one after the other; the solutions stand from `at` on."""
    n = LU.shape[0]
    for k in range(rows):
        x = W[at + k * n : at + (k + 1) * n]
        for j in range(n):
            x[j] = W[at_rows + k * n + j]
        lu_solve(LU, piv, x)


@leaf
def lu_refine(A, LU, piv, b, x, r):
    """Improve x, a solution of A x = b from `lu_solve`, by one step of iterative refinement.

    With the residual in working precision one step makes the backward error of each equation small beside
    the equation itself, which pivoting alone does not.

    Parameters
    ----------
    A, LU, piv
        The matrix as given, its factors and pivots.
    b : (n,) array
        Right-hand side as given.
    x : (n,) array
        The solution; improved in place.
    r : (n,) array
        Workspace; holds the correction on return.

    Returns
    -------
    float
        Σ|correction| / Σ|x|: about the relative error before this step; nan if anything is.
    """
    n = A.shape[0]
    for i in range(n):
        rest = b[i]
        for j in range(n):
            rest -= A[i, j] * x[j]
        r[i] = rest
    lu_solve(LU, piv, r)
    change, size = 0.0, 0.0
    for i in range(n):
        x[i] += r[i]
        change += abs(r[i])
        size += abs(x[i])
    if change == 0.0:
        return 0.0
    return change / size


@leaf
def cholesky(A):
    """Factor A = L Lᵀ; the lower triangle of A becomes L, the rest is neither read nor written.

    Returns
    -------
    int
        0, or k + 1 if the leading block of size k + 1 is not positive definite.
    """
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            rest = A[i, j]
            for k in range(j):
                rest -= A[i, k] * A[j, k]
            if j < i:
                A[i, j] = rest / A[j, j]
            elif rest > 0.0 and rest <= HUGE:
                A[i, i] = math.sqrt(rest)
            else:
                return i + 1
    return 0


@leaf
def chol_solve(L, b):
    """Solve L Lᵀ x = b with the factor of `cholesky`; b becomes x."""
    n = L.shape[0]
    for i in range(n):
        rest = b[i]
        for j in range(i):
            rest -= L[i, j] * b[j]
        b[i] = rest / L[i, i]
    for i in range(n - 1, -1, -1):
        b[i] /= L[i, i]
        for j in range(i):
            b[j] -= L[i, j] * b[i]


@leaf
def qr_pivoted(A, tau, jpvt, work, tol):
    """Factor A P = Q R by Householder reflections, taking at each step the column with most left in it.

    Parameters
    ----------
    A : (m, n) array
        The matrix, of any shape. Overwritten: R on and above the diagonal, below it the vectors v of the
        reflections I - tau v vᵀ whose product, in order, is Q; the leading 1 of each v is not stored.
    tau : (min(m, n),) array
        Filled with the factors of the reflections.
    jpvt : (n,) int64 array
        Filled with the permutation: column k of A P is column jpvt[k] of A.
    work : (3 n,) array
        Workspace.
    tol : float
        A diagonal entry of R counts for the rank when it exceeds tol times the first, in size.

    Returns
    -------
    int
        The rank; -1 if A contains inf or nan (A is then as it was).
    """
    m, n = A.shape
    largest = 0.0
    for i in range(m):
        for j in range(n):
            size = abs(A[i, j])
            if not size <= HUGE:
                return -1
            if size > largest:
                largest = size
    # lengths are measured in units of about the largest entry, so that no square overflows
    exponent = max(math.frexp(largest)[1], -1000)
    unit, per_unit = math.ldexp(1.0, exponent), math.ldexp(1.0, -exponent)

    # work: length of what is left of each column | the same when last computed afresh | vᵀ A
    for j in range(n):
        jpvt[j] = j
        work[j] = 0.0
    for i in range(m):
        for j in range(n):
            size = A[i, j] * per_unit
            work[j] += size * size
    for j in range(n):
        work[j] = math.sqrt(work[j])
        work[n + j] = work[j]

    steps = min(m, n)
    for k in range(steps):
        column = k
        for j in range(k + 1, n):
            if work[j] > work[column]:
                column = j
        if column != k:
            for i in range(m):
                held = A[i, k]
                A[i, k] = A[i, column]
                A[i, column] = held
            moved = jpvt[k]
            jpvt[k] = jpvt[column]
            jpvt[column] = moved
            work[column] = work[k]
            work[n + column] = work[n + k]

        below = 0.0
        for i in range(k + 1, m):
            size = A[i, k] * per_unit
            below += size * size
        tau[k] = 0.0
        if below > 0.0:
            first = A[k, k] * per_unit
            length = -math.copysign(math.sqrt(first * first + below), first)
            tau[k] = (length - first) / length
            for i in range(k + 1, m):
                A[i, k] = A[i, k] * per_unit / (first - length)
            A[k, k] = length * unit
            for j in range(k + 1, n):
                work[2 * n + j] = A[k, j]
            for i in range(k + 1, m):
                for j in range(k + 1, n):
                    work[2 * n + j] += A[i, k] * A[i, j]
            for j in range(k + 1, n):
                work[2 * n + j] *= tau[k]
                A[k, j] -= work[2 * n + j]
            for i in range(k + 1, m):
                for j in range(k + 1, n):
                    A[i, j] -= A[i, k] * work[2 * n + j]

        for j in range(k + 1, n):
            if work[j] > 0.0:
                taken = abs(A[k, j]) * per_unit / work[j]
                left = max(0.0, 1.0 - taken * taken)
                since = work[j] / work[n + j]
                if left * since * since > SQRT_EPS:
                    work[j] *= math.sqrt(left)
                else:  # too much has cancelled since the length was computed
                    length = 0.0
                    for i in range(k + 1, m):
                        size = A[i, j] * per_unit
                        length += size * size
                    work[j] = math.sqrt(length)
                    work[n + j] = work[j]

    rank = 0
    while rank < steps and abs(A[rank, rank]) > tol * abs(A[0, 0]):
        rank += 1
    return rank


@leaf
def apply_q(QR, tau, b):
    """Replace b, of length m, by Q b; Q (m x m) as `qr_pivoted` left it."""
    m = QR.shape[0]
    for k in range(tau.shape[0] - 1, -1, -1):
        along = b[k]
        for i in range(k + 1, m):
            along += QR[i, k] * b[i]
        along *= tau[k]
        b[k] -= along
        for i in range(k + 1, m):
            b[i] -= QR[i, k] * along


@leaf
def solve_upper_transposed(R, k, b):
    """Solve Rᵀ x = b with the leading k x k block of R, upper triangular; the first k of b become x.

    Returns
    -------
    int
        0, or i + 1 if diagonal entry i is zero.
    """
    for i in range(k):
        if R[i, i] == 0.0:
            return i + 1
        b[i] /= R[i, i]
        for j in range(i + 1, k):
            b[j] -= R[i, j] * b[i]
    return 0
