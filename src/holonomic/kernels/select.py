"""Selectors: the combinations of the differential equations that are kept beside the constraints.

With N an orthonormal basis of ker G, a selector S (nf x nv) is good while S N is well conditioned. Three
choices, all frozen over a step:

    null space    S = Nᵀ, taken anew before every step
    rows          rows of the identity: the coordinates that pivoted QR of G leaves free
    constant      Nᵀ of a reference point

The last two are kept until the smallest pivot of S_p N, about its smallest singular value, falls below 1/2, or that
of S_v M N below 1/2 of what it was when they were chosen; then they are chosen anew. The unknowns stay the same, so a
change needs no restart.
"""

from __future__ import annotations

import numpy as np

from ..errors import NEED_TERMS, OK, SINGULAR
from ..native.marks import kernel, leaf
from .linalg import apply_q, lu_factor, lu_solve_rows, qr_pivoted
from .signatures import PREPARE, TERMS, call_model, has_function

NULL_SPACE, ROWS, CONSTANT = range(3)
GOOD = 0.5  # cosine of the largest angle between what is selected and the tangent space
RANK = 1e-12


def select_work(nv: int, nl: int) -> int:
    """Numbers of workspace behind the terms."""
    return 3 * nv * nl + 4 * nv * nv + 8 * (nv + nl) + 8


def select_data(nv: int, nl: int) -> int:
    """Numbers in data: both selectors, and the smallest pivot of S_v M N they began with (0: there are none yet)."""
    return 2 * (nv - nl) * nv + 1


@leaf
def null_space(W, at_G, at, nv, nl):
    """QR of Gᵀ at `at`, and N (nv x nf, row by row) behind it; return where N is, or -1."""
    A = W[at : at + nv * nl].reshape((nv, nl))
    for i in range(nv):
        for j in range(nl):
            A[i, j] = W[at_G + j * nv + i]
    tau = W[at + nv * nl : at + nv * nl + nl]
    pivots = W[at + nv * nl + nl : at + nv * nl + 2 * nl].view(np.int64)
    work = W[at + nv * nl + 2 * nl : at + nv * nl + 5 * nl]
    if qr_pivoted(A, tau, pivots, work, RANK) < nl:
        return -1
    nf = nv - nl
    start = at + nv * nl + 5 * nl
    column = W[start : start + nv]
    N = W[start + nv : start + nv + nv * nf].reshape((nv, nf))
    for k in range(nf):
        for i in range(nv):
            column[i] = 1.0 if i == nl + k else 0.0
        apply_q(A, tau, column)
        for i in range(nv):
            N[i, k] = column[i]
    return start + nv


@leaf
def smallest_pivot(W, data, at_S, at_N, at, nv, nf):
    """Smallest pivot of S N: about the smallest singular value."""
    B = W[at : at + nf * nf].reshape((nf, nf))
    for i in range(nf):
        for j in range(nf):
            total = 0.0
            for k in range(nv):
                total += data[at_S + i * nv + k] * W[at_N + k * nf + j]
            B[i, j] = total
    tau = W[at + nf * nf : at + nf * nf + nf]
    pivots = W[at + nf * nf + nf : at + nf * nf + 2 * nf].view(np.int64)
    work = W[at + nf * nf + 2 * nf : at + nf * nf + 5 * nf]
    qr_pivoted(B, tau, pivots, work, 0.0)
    least = 1e300
    for i in range(nf):
        least = min(least, abs(B[i, i]))
    return least


@leaf
def weigh(W, at_M, at_N, at, nv, nf):
    """M N (nv x nf, row by row) at `at`."""
    for i in range(nv):
        for j in range(nf):
            total = 0.0
            for k in range(nv):
                total += W[at_M + i * nv + k] * W[at_N + k * nf + j]
            W[at + i * nf + j] = total


@leaf
def choose_rows(W, data, at_A, at_S, at, nv, nl):
    """S = rows of the identity at the columns that pivoted QR of the nl x nv matrix at at_A leaves."""
    A = W[at : at + nl * nv].reshape((nl, nv))
    for i in range(nl):
        for j in range(nv):
            A[i, j] = W[at_A + i * nv + j]
    tau = W[at + nl * nv : at + nl * nv + nv]
    pivots = W[at + nl * nv + nv : at + nl * nv + 2 * nv].view(np.int64)
    work = W[at + nl * nv + 2 * nv : at + nl * nv + 5 * nv]
    if qr_pivoted(A, tau, pivots, work, RANK) < nl:
        return 1
    for k in range(nv - nl):
        for j in range(nv):
            data[at_S + k * nv + j] = 1.0 if j == pivots[nl + k] else 0.0
    return 0


@leaf
def accelerations_of_rows(W, at_M, at_G, at, nv, nl):
    """G M⁻¹ (nl x nv, row by row) at `at`."""
    M = W[at + nl * nv : at + nl * nv + nv * nv].reshape((nv, nv))
    for i in range(nv):
        for j in range(nv):
            M[i, j] = W[at_M + i * nv + j]
    start = at + nl * nv + nv * nv
    pivots = W[start : start + nv].view(np.int64)
    if lu_factor(M, pivots) != 0:
        return 1
    lu_solve_rows(M, pivots, W, at_G, at, nl)
    return 0


@leaf
def choose(W, data, at_data, kind, nq, nv, nl):
    """Keep the selectors, or choose them anew; 0, or 1 where G has lost rank."""
    nf = nv - nl
    at_M, at_G = nq, nq + nv * nv + nv
    at = at_G + nl * nv + nl
    at_Sp, at_Sv, at_flag = at_data, at_data + nf * nv, at_data + 2 * nf * nv
    at_N = null_space(W, at_G, at, nv, nl)
    if at_N < 0:
        return 1
    at_MN = at_N + nv * nf
    free = at_MN + nv * nf
    weigh(W, at_M, at_N, at_MN, nv, nf)
    if kind != NULL_SPACE and data[at_flag] != 0.0 and smallest_pivot(W, data, at_Sp, at_N, free, nv, nf) >= GOOD:
        if smallest_pivot(W, data, at_Sv, at_MN, free, nv, nf) >= GOOD * data[at_flag]:
            return 0
    if kind == ROWS:
        if choose_rows(W, data, at_G, at_Sp, free, nv, nl) != 0:
            return 1
        if accelerations_of_rows(W, at_M, at_G, free, nv, nl) != 0:
            return 1
        if choose_rows(W, data, free, at_Sv, free + nl * nv + nv * nv, nv, nl) != 0:
            return 1
    else:
        for k in range(nf):
            for j in range(nv):
                data[at_Sp + k * nv + j] = W[at_N + j * nf + k]
                data[at_Sv + k * nv + j] = W[at_N + j * nf + k]
    data[at_flag] = max(smallest_pivot(W, data, at_Sv, at_MN, free, nv, nf), 1e-300)
    return 0


@kernel(PREPARE)
def select(model, run, t, x, W):
    """Look at the selectors before a step."""
    size, data = model.size, model.data
    if not has_function(model, TERMS):
        return NEED_TERMS
    call_model(model, TERMS, t, x, 0, x, 0, W, 0)
    if choose(W, data, size.at_selectors, size.selector, size.nq, size.select_nv, size.select_nl) != 0:
        return SINGULAR
    return OK
