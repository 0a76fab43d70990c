"""Telling a singular position from a narrow miss by what dependent rows leave where the independent ones hold."""

from __future__ import annotations

import numpy as np

from ..errors import NEED_TERMS, OK
from ..kernels.linalg import apply_q, qr_pivoted, solve_upper_transposed
from ..kernels.signatures import RESIDUAL, TERMS, call_model, has_function
from ..native.marks import inner, leaf
from ..native.types import b1, i8, mat, vec
from .path import LENGTH, NUMBERS, ROOM, T0, WHERE, path_state

MISS = 1e-12  # of the size of q: where branches are closer than this, rounding decides that they meet
DEPENDENT = 0.05  # of what is left of a row elsewhere
ROUNDS = 8
# what the test finds besides OK
NARROW_MISS, UNKNOWN = 1, 2


def room_of_misses(nq, nv, nl, nh):
    """Numbers of workspace that `misses` takes: the terms, and what `part` has behind them."""
    return nq + nv * nv + nv + nl * nv + nl + nv * nh + 7 * nh + nv


@leaf
def part(W, count, nv, nh):
    """Room behind the terms: Gᵀ, factors of reflections, residuals, workspace, the order of the rows, a step, lengths."""
    at = count + nv * nh
    A = W[count:at].reshape((nv, nh))
    tau, g, work = W[at : at + min(nv, nh)], W[at + nh : at + 2 * nh], W[at + 2 * nh : at + 5 * nh]
    order, lengths = W[at + 5 * nh : at + 6 * nh].view(np.int64), W[at + 6 * nh : at + 7 * nh]
    return A, tau, g, work, order, W[at + 7 * nh : at + 7 * nh + nv], lengths


@leaf
def factor_scaled(W: vec, count: i8, at_G: i8, nv: i8, nh: i8):
    """Factor rows of length 1, as columns; -1 where they are not finite."""
    A, tau, _, work, order, _, lengths = part(W, count, nv, nh)
    for i in range(nh):
        length = 0.0
        for j in range(nv):
            length += W[at_G + i * nv + j] ** 2
        lengths[i] = max(np.sqrt(length), 1e-300)
        for j in range(nv):
            A[j, i] = W[at_G + i * nv + j] / lengths[i]
    return qr_pivoted(A, tau, order, work, 0.0)


@leaf
def note_usual(W: vec, count: i8, nv: i8, nh: i8, path: mat, first: b1):
    """What is left of each row in the order of the factors, at the worse end of a path."""
    A = part(W, count, nv, nh)[0]
    for k in range(min(nv, nh)):
        path[ROOM, k] = abs(A[k, k]) if first else min(path[ROOM, k], abs(A[k, k]))


@leaf
def shortest_step(W: vec, count: i8, nv: i8, nh: i8, most: i8, path: mat, x: vec, nq: i8):
    """Enter as velocities of x the shortest step to where the independent rows hold, `most` at most; its largest entry."""
    A, tau, g, _, order, b, _ = part(W, count, nv, nh)
    rank = 0
    while rank < most and abs(A[rank, rank]) > DEPENDENT * path[ROOM, rank]:
        rank += 1
    for k in range(nv):
        b[k] = g[order[k]] if k < rank else 0.0
    solve_upper_transposed(A, rank, b)
    apply_q(A, tau, b)
    largest = 0.0
    for k in range(nv):
        x[nq + k] = b[k]
        largest = max(largest, abs(b[k]))
    return largest


@leaf
def left_over(W: vec, count: i8, at_r: i8, nv: i8, nh: i8):
    """Scale the residuals; return the largest."""
    _, _, g, _, _, _, lengths = part(W, count, nv, nh)
    largest = 0.0
    for i in range(nh):
        g[i] = W[at_r + i] / lengths[i]
        if not abs(g[i]) <= largest:  # NaN wins
            largest = abs(g[i])
    return largest


@leaf
def moved(W: vec, x: vec, n: i8):
    """x -= W, n entries; the size of x."""
    size = 0.0
    for i in range(n):
        x[i] -= W[i]
        size += x[i] * x[i]
    return np.sqrt(size)


@leaf
def farthest(path: mat, x: vec, n: i8):
    """Largest distance of a coordinate of x from the path at the singular position; x becomes the state there."""
    for i in range(n):
        path[ROOM, i] = x[i]
    path_state(path, path[NUMBERS, WHERE], n, x)
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(path[ROOM, i] - x[i]))
    return largest


@inner
def factor_at(model, t, x, W, count):
    """Factor the Jacobian of the constraints at position level."""
    size = model.size
    nv = size.nv
    call_model(model, TERMS, t, x, 0, x, 0, W, 0)
    return factor_scaled(W, count, size.nq + nv * nv + nv, nv, size.nh)


@inner
def misses(model, path, x, W):
    """OK where a path leads over a singular position; x is workspace."""
    size = model.size
    nh, nv, nq, nz = size.nh, size.nv, size.nq, size.nq + size.nv
    if nh == 0:
        return OK
    if not has_function(model, TERMS):
        return NEED_TERMS
    count = nq + nv * nv + nv + size.nl * nv + size.nl
    for end in range(2):
        path_state(path, 1.0 * end, nz, x)
        if factor_at(model, path[NUMBERS, T0] + end * path[NUMBERS, LENGTH], x, W, count) < 0:
            return UNKNOWN
        note_usual(W, count, nv, nh, path, end == 0)
    t = path[NUMBERS, T0] + path[NUMBERS, WHERE] * path[NUMBERS, LENGTH]
    path_state(path, path[NUMBERS, WHERE], nz, x)
    if factor_at(model, t, x, W, count) < 0:
        return UNKNOWN
    left, before, length = 0.0, 0.0, 0.0
    for _ in range(ROUNDS):  # Newton's method with the factors of the first point
        call_model(model, RESIDUAL, t, x, 0, x, 0, W, size.at_residual)
        left = left_over(W, count, size.at_residual, nv, nh)
        step = shortest_step(W, count, nv, nh, min(nv, size.rank_nh), path, x, nq)
        call_model(model, TERMS, t, x, 0, x, 0, W, 0)  # q' of these velocities
        length = moved(W, x, size.nc)
        if step <= 1e-15 * length or step >= 0.5 * before > 0.0:
            break
        before = step
    off = farthest(path, x, size.nc)
    return OK if left <= MISS * max(1.0, length) + off * off else NARROW_MISS
