"""Whether the change of the constraints' direction matters to a step: what `automatic.indicators` tells, without singular values.

With C = G along the motion, B = M⁻¹Gᵀ and F = B (C B)⁻¹, the rates ‖F C'‖ and ‖C'‖ (rows of C of length 1) of
[ascher-petzold-1993] Sec. 3 to 5 are compared with a bound. The largest singular value of a matrix lies between the root of the sum
of its squares, over the root of its rank, and that root: mostly this tells.
"""

from __future__ import annotations

import math

from ..kernels.linalg import lu_factor, lu_solve
from ..kernels.signatures import TERMS, call_function
from ..native.marks import entry, inner, leaf
from ..native.types import Group, f8, i8, ints, mat, vec

NO, YES, UNSURE = 0, 1, 2


@entry(ints, f8, f8, vec, vec, vec, ints, Group(None, (i8, i8)), f8, mat, Group(None, (mat, mat, mat, mat, ints)), vec)
def constraints_alter(fns, t, s, x, slope, data, kept, sizes, limit, found, room, y):
    """Tell whether a step of length 1/limit, in units of 2 s, feels the constraints turn: NO, YES, or UNSURE.

    `kept` are the rows that count; `found` has room for the terms (q', M, f, G, γ) at three times, `room` for M, C B, B and its
    like, each by rows, and pivots. UNSURE also where masses vanish.
    """
    nq, nv = sizes
    n, width, at = kept.shape[0], found.shape[1], nq + nv * nv + nv
    for k in range(3):
        away = (k - 1) * s
        for i in range(y.shape[0]):
            y[i] = x[i] + away * slope[i]
        call_function(fns, TERMS, t + away, y, 0, y, 0, data, found, k * width)
    total = turned(kept, nv, at, found)
    if limit * limit < total and total < math.inf:
        return YES if total > limit * limit * min(n, nv) else UNSURE
    M, S, B, D, piv = room
    for i in range(nv):
        for j in range(nv):
            M[i, j] = found[1, nq + i * nv + j]
        if not M[i, i] > 0.0:
            return UNSURE
    if lu_factor(M, piv[:nv]) != 0:
        return NO
    for r in range(n):
        first = at + kept[r] * nv
        for j in range(nv):
            B[r, j] = found[1, first + j]
        lu_solve(M, piv[:nv], B[r])
    for r in range(n):
        first = at + kept[r] * nv
        for k in range(n):
            S[r, k] = 0.0
            for j in range(nv):
                S[r, k] += found[1, first + j] * B[k, j]
    if lu_factor(S, piv[:n]) != 0:
        return NO
    total = forced(kept, nv, at, found, S, B, D, piv[:n])
    if limit * limit < total and total < math.inf:
        return YES if total > limit * limit * nv else UNSURE
    return NO


@inner
def turned(kept, nv, at, found):
    """Sum of squares of the change of C from the first to the last time, rows being of length 1."""
    total = 0.0
    for r in range(kept.shape[0]):
        first, before, after = at + kept[r] * nv, 0.0, 0.0
        for j in range(first, first + nv):
            before += found[0, j] * found[0, j]
            after += found[2, j] * found[2, j]
        before, after = max(math.sqrt(before), 1e-300), max(math.sqrt(after), 1e-300)
        for j in range(first, first + nv):
            change = found[2, j] / after - found[0, j] / before
            total += change * change
    return total


@leaf
def forced(kept: ints, nv: i8, at: i8, found: mat, S: mat, B: mat, D: mat, piv: ints):
    """Sum of squares of B (C B)⁻¹ (C1 - C0), of which S has the factors of C B, `B` the rows of Bᵀ; D is used up."""
    n, total = kept.shape[0], 0.0
    for j in range(nv):
        for r in range(n):
            D[j, r] = found[2, at + kept[r] * nv + j] - found[0, at + kept[r] * nv + j]
        lu_solve(S, piv, D[j])
    for i in range(nv):
        for j in range(nv):
            entry_ij = 0.0
            for r in range(n):
                entry_ij += B[r, i] * D[j, r]
            total += entry_ij * entry_ij
    return total
