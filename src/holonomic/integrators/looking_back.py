"""Points for a multistep method with a fixed step to begin with, by DOP853.

It takes `order` steps back from the first point: where the motion would have come from. Their backward differences let
the method begin with its full order; from order 1 on, the first step alone would leave an error of h² for good. Where the
equations cannot be evaluated there, or are too stiff for steps of that length, the differences do not fall. Then the first
steps themselves are taken by DOP853, forward, in as many pieces as it needs.
"""

from __future__ import annotations

import numpy as np

from ..errors import NO_PAST, OK
from ..kernels.evaluate import asks_for_function, evaluate
from ..kernels.sizes import TOLERANCES
from ..kernels.vectors import copy
from ..native.marks import inner, leaf
from . import tableaus
from .runge_kutta import combine

STAGES = tableaus.DOP853.n_stages
ROWS = STAGES + 1  # of K: the stages, and the result with half as many pieces
MOST_PIECES = 1024  # of a step: rates up to 6000 / h; 25 000 evaluations are spent before that is given up
# Beside tolerances of 1e-10: what another doubling may change, and at what it may stop because of rounding
ENOUGH, ROUNDED = 1e-3, 1.0


def looking_back_numbers() -> np.ndarray:
    """A, b and c of DOP853, as `look_back` reads them."""
    tableau = tableaus.DOP853
    return np.concatenate([tableau.A.ravel(), tableau.b, tableau.c])


@leaf
def keep_point(K, to, x, row, given, differential):
    """Differential unknowns at one point: q and v, and integrated multipliers out of a row of K."""
    for i in range(differential):
        K[to, i] = x[i] if i < given else K[row, i]


@leaf
def to_differences(K, at, order, differential, ny):
    """Values y(t), y(t - h), .. in rows of K become backward differences; those of algebraic unknowns vanish."""
    for j in range(1, order + 1):
        for k in range(order, j - 1, -1):
            for i in range(differential):
                K[at + k, i] = K[at + k - 1, i] - K[at + k, i]
        for i in range(differential, ny):
            K[at + j, i] = 0.0


@leaf
def scaled_size(W, at, K, row, other, fp, count):
    """The largest entry of a row beside its tolerance, at the size of another row; NaN wins."""
    size = 0.0
    for i in range(count):
        part = abs(K[row, i]) / (W[at + i] + fp[0] * abs(K[other, i]))
        if not part <= size:
            size = part
    return size


@leaf
def fall(W, tolerances, K, at, order, fp, differential):
    """Whether scaled differences fall from the first to the last."""
    first = 0.0
    for j in range(1, order + 1):
        size = scaled_size(W, tolerances, K, at + j, at, fp, differential)
        # from rest, second differences are twice as large as first ones
        if j <= 2:
            if not size <= max(4.0 * first, 1e300 if j == 1 else 0.0):
                return False
            first = max(first, size)
        elif not size <= first:
            return False
    return True


@inner
def dop853_step(model, run, fp, numbers, t, h, y, K, xs, W, stages):
    """y at t + h in place, the field at its start being in the first of the stages."""
    size = model.size
    given, s = size.nq + size.nv, STAGES
    for i in range(1, s):
        combine(xs, y, h, fp, numbers + i * s, K[stages:], i, given)
        status = evaluate(model, run, t + fp[numbers + s * s + s + i] * h, xs, K, stages + i, W)
        if status != OK:
            return status
    combine(xs, y, h, fp, numbers + s * s, K[stages:], s, given)
    copy(xs, y, given)
    return evaluate(model, run, t + h, y, K, stages, W)


@inner
def look_back(model, run, fp, numbers, t, h, state, at, stages, order):
    """Write backward differences of the motion before t to rows at .. at + order of K; NO_PAST where they do not fall.

    `numbers` is where the tableau begins in fp, `stages` the first of the rows of K for its stages.
    """
    size = model.size
    x, xn, xs, K, W = state.x, state.xn, state.xs, state.K, state.W
    given, differential = size.nq + size.nv, size.n_differential
    copy(x, xn, size.ny)
    status = evaluate(model, run, t, xn, K, stages, W)
    for j in range(order + 1):
        if status != OK:
            return status if asks_for_function(status) else NO_PAST
        keep_point(K, at + j, xn, stages, given, differential)
        if j < order:
            status = dop853_step(model, run, fp, numbers, t - j * h, -h, xn, K, xs, W, stages)
    copy(x, xn, size.ny)
    for i in range(size.ny):
        K[at, i] = x[i]
    to_differences(K, at, order, differential, size.ny)
    return OK if fall(W, size.at_sizes + TOLERANCES, K, at, order, fp, differential) else NO_PAST


@leaf
def compare(W, at, K, row, y, fp, differential, first):
    """Put y to a row of K; return by how much it differs from what stood there, in tolerances."""
    largest = 0.0
    for i in range(differential):
        change = abs(y[i] - K[row, i]) / (W[at + i] + fp[0] * abs(y[i]))
        if not change <= largest:
            largest = change
        K[row, i] = y[i]
    return 1e300 if first else largest


@inner
def in_pieces(model, run, fp, numbers, t, h, state, stages, pieces):
    """xn = the unknowns at t + h by DOP853, in twice as many pieces until nothing changes; return (status, pieces).

    Algebraic unknowns stay as they are.
    """
    size = model.size
    x, xn, xs, K, W = state.x, state.xn, state.xs, state.K, state.W
    given, differential, before = size.nq + size.nv, size.n_differential, 1e300
    first = True
    while pieces <= MOST_PIECES:
        copy(x, xn, size.ny)
        status = evaluate(model, run, t, xn, K, stages, W)
        for j in range(pieces):
            if status == OK:
                status = dop853_step(model, run, fp, numbers, t + j * h / pieces, h / pieces, xn, K, xs, W, stages)
        if asks_for_function(status):
            return status, pieces
        if status == OK:
            keep_point(K, stages + 1, xn, stages, given, differential)
            copy(K[stages + 1], xn, differential)
            change = compare(W, size.at_sizes + TOLERANCES, K, stages + STAGES, xn, fp, differential, first)
            if change <= ENOUGH or (change <= ROUNDED and change >= 0.1 * before):
                return OK, pieces
            before, first = change, False
        pieces *= 2
    return NO_PAST, 1
