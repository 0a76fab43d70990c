"""The saddle-point matrix [M Gᵀ; G 0] as one dense system: how it is scaled, factored and solved."""

from __future__ import annotations

import math

import numpy as np

from ..errors import NOT_FINITE, OK, SINGULAR
from ..native.marks import leaf
from ..native.types import i8, vec
from .linalg import lu_factor, lu_refine, lu_solve, qr_pivoted
from .vectors import all_finite

HETEROGENEOUS = 1e5  # heaviest over lightest coordinate, in the units of the constraints


@leaf
def column_size(W, at_G, nv, nl, j):
    """What one unit of coordinate j moves a constraint by, at most."""
    largest = 0.0
    for k in range(nl):
        largest = max(largest, abs(W[at_G + k * nv + j]))
    return largest


@leaf
def kinematic_scales(W: vec, at_M: i8, at_G: i8, nv: i8, nl: i8, scale: vec):
    """Units of the constraints for coordinates, and of the heaviest for forces; return heaviest over lightest.

    With them elimination takes accelerations from the constraints first, and forces from what is left. A column of G that
    is small only here, as close to a singular position, is no unit: 0.01 of the largest is the least.
    """
    most, heaviest, lightest = 0.0, 0.0, math.inf
    for j in range(nv):
        most = max(most, column_size(W, at_G, nv, nl, j))
    for j in range(nv):
        moves, mass = column_size(W, at_G, nv, nl, j), W[at_M + j * nv + j]
        scale[j] = 1.0
        if moves > 0.0:
            scale[j] = 1.0 / max(moves, 0.01 * most)
            lightest = min(lightest, mass * scale[j] * scale[j])
        elif mass > 0.0:
            scale[j] = 1.0 / math.sqrt(mass)
        heaviest = max(heaviest, mass * scale[j] * scale[j])
    for k in range(nl):
        scale[nv + k] = heaviest if heaviest > 0.0 else 1.0
    return heaviest / lightest if lightest > 0.0 and heaviest > 0.0 else 1.0


@leaf
def missed_rows(W: vec, nq: i8, nv: i8, nl: i8, row: vec):
    """The largest |G v' + γ| beside the largest sum of the sizes of its terms, rows of G scaled to 1; v' stands in a row of K."""
    at_G = nq + nv * nv + nv
    at_gamma = at_G + nl * nv
    missed, terms = 0.0, 0.0
    for k in range(nl):
        total, size, largest = W[at_gamma + k], abs(W[at_gamma + k]), 0.0
        for j in range(nv):
            slope = W[at_G + k * nv + j]
            part = slope * row[nq + j]
            total += part
            size += abs(part)
            largest = max(largest, abs(slope))
        if largest > 0.0:
            missed = max(missed, abs(total) / largest)
            terms = max(terms, size / largest)
    return missed / terms if terms > 0.0 else 0.0


def dense_work(nq, nv, nl):
    """Numbers of workspace the dense solve takes."""
    size = nv + nl
    return nq + nv * nv + nv + nl * nv + nl + 2 * size * size + 5 * size + 8


@leaf
def angular_scales(W, at_M, at_G, nv, nl, scale):
    """Unit diagonal of M and largest entry 1 in each row of G: pivots then measure angles, not units; False if G has no row."""
    for i in range(nv):
        diagonal = W[at_M + i * nv + i]
        scale[i] = 1.0 / math.sqrt(diagonal) if diagonal > 0.0 else 1.0
    for k in range(nl):
        largest = 0.0
        for j in range(nv):
            largest = max(largest, abs(W[at_G + k * nv + j]) * scale[j])
        if largest == 0.0:
            return False
        scale[nv + k] = 1.0 / largest
    return True


@leaf
def fill_saddle(W, at_M, at_low, at_gamma, nv, nl, scale, K, b):
    """K = [M Gᵀ; Ḡ 0] and b = (f, -γ) from the terms in W, rows and columns scaled."""
    at_f = at_M + nv * nv
    at_G = at_f + nv
    for i in range(nv):
        for j in range(nv):
            K[i, j] = W[at_M + i * nv + j] * scale[i] * scale[j]
        b[i] = W[at_f + i] * scale[i]
    for k in range(nl):
        for j in range(nv):
            K[nv + k, j] = W[at_low + k * nv + j] * scale[j] * scale[nv + k]
            K[j, nv + k] = W[at_G + k * nv + j] * scale[j] * scale[nv + k]
        for j in range(nl):
            K[nv + k, nv + j] = 0.0
        b[nv + k] = -W[at_gamma + k] * scale[nv + k]


@leaf
def factored(K0, K, piv):
    """Factor a copy of K0."""
    for i in range(K.shape[0]):
        for j in range(K.shape[0]):
            K[i, j] = K0[i, j]
    return lu_factor(K, piv) == 0


@leaf
def dense_saddle(W: vec, nq: i8, nv: i8, nl: i8, size: i8, count: i8, at_low: i8, at_gamma: i8, out: vec):
    """Solve [M Gᵀ; Ḡ 0](v', λ) = (f, -γ) from the terms in W, scaled to the size of 1; Ḡ and γ stand at the given places.

    The pivots of the first factorization tell how close to singular the position is, and solve where masses are alike.
    """
    at_G = nq + nv * nv + nv
    K0 = W[count : count + size * size].reshape((size, size))
    K = W[count + size * size : count + 2 * size * size].reshape((size, size))
    at = count + 2 * size * size
    b = W[at : at + size]
    x = W[at + size : at + 2 * size]
    r = W[at + 2 * size : at + 3 * size]
    piv = W[at + 3 * size : at + 4 * size].view(np.int64)
    scale = W[at + 4 * size : at + 5 * size]
    uneven = kinematic_scales(W, nq, at_G, nv, nl, scale) > HETEROGENEOUS
    if not angular_scales(W, nq, at_G, nv, nl, scale):
        return SINGULAR
    fill_saddle(W, nq, at_low, at_gamma, nv, nl, scale, K0, b)
    if not factored(K0, K, piv):
        return SINGULAR
    smallest, largest = 1e300, 0.0
    for i in range(size):
        smallest = min(smallest, abs(K[i, i]))
        largest = max(largest, abs(K[i, i]))
    if smallest <= 1e-14 * largest:
        return SINGULAR
    if uneven:
        kinematic_scales(W, nq, at_G, nv, nl, scale)
        fill_saddle(W, nq, at_low, at_gamma, nv, nl, scale, K0, b)
        if not factored(K0, K, piv):
            return SINGULAR
    for i in range(size):
        x[i] = b[i]
    lu_solve(K, piv, x)
    lu_refine(K0, K, piv, b, x, r)
    for i in range(nq):
        out[i] = W[i]
    for i in range(nv):
        out[nq + i] = x[i] * scale[i]
    for k in range(nl):
        out[nq + nv + k] = x[nv + k] * scale[nv + k]
    out[nq + nv + nl] = smallest / largest
    return OK if all_finite(out, nq + nv + nl) else NOT_FINITE


@leaf
def mark_independent(W, at_M, at_G, nv, nl, rank, at, marks):
    """Mark the rows, as many as the rank, that pivoted QR takes first, with 1 and the others with 0; False: not finite."""
    A = W[at : at + nv * nl].reshape((nv, nl))
    for k in range(nl):
        length = 0.0
        for j in range(nv):
            mass = W[at_M + j * nv + j]
            A[j, k] = W[at_G + k * nv + j] / (math.sqrt(mass) if mass > 0.0 else 1.0)
            length += A[j, k] * A[j, k]
        length = max(math.sqrt(length), 1e-300)
        for j in range(nv):
            A[j, k] /= length
        marks[k] = 0.0
    at += nv * nl
    tau, order, work = W[at : at + nl], W[at + nl : at + 2 * nl].view(np.int64), W[at + 2 * nl : at + 5 * nl]
    if qr_pivoted(A, tau[: min(nv, nl)], order, work, 0.0) < 0:
        return False
    for k in range(rank):
        marks[order[k]] = 1.0
    return True


@leaf
def dense_short(W: vec, nq: i8, nv: i8, nl: i8, rank: i8, count: i8, out: vec):
    """`dense_saddle` where only `rank` of the rows are independent: those that are so most clearly here have multipliers."""
    at_G = nq + nv * nv + nv
    at_gamma, size = at_G + nl * nv, nv + nl
    end = count + 2 * size * size + 5 * size + 8
    marks = W[end - nl : end]  # behind all that the solve of fewer rows uses
    if not mark_independent(W, nq, at_G, nv, nl, rank, count, marks):
        return NOT_FINITE
    place = 0
    for k in range(nl):
        if marks[k] > 0.0:
            for j in range(nv):
                W[at_G + place * nv + j] = W[at_G + k * nv + j]
            W[at_gamma + place] = W[at_gamma + k]
            place += 1
    status = dense_saddle(W, nq, nv, rank, nv + rank, count, at_G, at_gamma, out)
    out[nq + size] = out[nq + nv + rank]
    place = rank - 1
    for k in range(nl - 1, -1, -1):
        if marks[k] > 0.0:
            out[nq + nv + k] = out[nq + nv + place]
            place -= 1
        else:
            out[nq + nv + k] = 0.0
    return status
