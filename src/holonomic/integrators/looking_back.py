"""A past for a multistep method with a fixed step: where the motion would have come from.

DOP853 takes `order` steps back from the first point. Their backward differences let the method begin with its full order;
from order 1 on, the first step alone would leave an error of h² for good. Where the motion is too stiff for that, the
differences do not fall, and the method begins with the order up to which they do.
"""

from __future__ import annotations

import numpy as np

from ..errors import OK
from ..kernels.compile import inner, leaf
from ..kernels.evaluate import evaluate
from ..kernels.signatures import ND, NQ, NV, NY
from ..kernels.vectors import copy
from . import tableaus
from .runge_kutta import combine

STAGES = tableaus.DOP853.n_stages


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
def smooth_order(K, at, order, fp, differential):
    """Order up to which scaled differences fall."""
    first, reached = 0.0, 1
    for j in range(1, order + 1):
        size = 0.0
        for i in range(differential):
            part = abs(K[at + j, i]) / (fp[2 + i] + fp[0] * abs(K[at, i]))
            if not part <= size:  # NaN wins
                size = part
        # from rest, second differences are twice as large as first ones
        if j <= 2:
            if not size <= max(4.0 * first, 1e300 if j == 1 else 0.0):
                return reached
            first = max(first, size)
        elif not size <= first:
            return reached
        reached = j
    return reached


@inner
def look_back(fns, n, data, fp, numbers, t, h, x, K, xn, xs, W, at, stages, order):
    """Write backward differences of the motion before t to rows at .. at + order of K; return the order they are good for.

    `numbers` is where the tableau begins in fp, `stages` the first of the rows of K for its stages.
    """
    given, differential, s = n[NQ] + n[NV], n[ND], STAGES
    copy(x, xn, n[NY])
    for j in range(order + 1):
        if evaluate(fns, n, t - j * h, xn, data, K, stages, W) != OK:
            return 1
        keep_point(K, at + j, xn, stages, given, differential)
        if j == order:
            break
        for i in range(1, s):
            combine(xs, xn, -h, fp, numbers + i * s, K[stages:], i, given)
            if evaluate(fns, n, t - (j + fp[numbers + s * s + s + i]) * h, xs, data, K, stages + i, W) != OK:
                return 1
        combine(xs, xn, -h, fp, numbers + s * s, K[stages:], s, given)
        copy(xs, xn, given)
    copy(x, xn, n[NY])
    for i in range(n[NY]):
        K[at, i] = x[i]
    to_differences(K, at, order, differential, n[NY])
    return smooth_order(K, at, order, fp, differential)
