"""Singular positions in the way of the step loop: how pivot ratios give them away, and what deals with them.

Where rows of G become dependent at an instant, two branches of motion meet, and a step that ends there does not know
which to follow. Where the methods allow, the position is passed on a path (see `steps`); others give the alarm and let
such methods lead over it. Where neither is possible, as with fixed steps, end and stages of a step are placed around it:
twelve tries, each 7 % shorter.
"""

from __future__ import annotations

import math

from ..errors import NEED_PASSAGE, OK, SINGULAR
from ..kernels.evaluate import evaluate
from ..kernels.memory import AHEAD, INSIDE
from ..kernels.signatures import PASSAGE, call_dense, call_interpolate
from ..kernels.vectors import ROUNDING
from ..native.marks import apart, inner, kernel, leaf
from ..native.types import b1, f8, i8, mat, vec

DODGE, MAX_DODGES = 0.93, 12
NARROW = 1e-2  # pivot ratios above this say nothing about singular positions
BESIDE = 0.2  # of the largest pivot ratio so far: where both ends of a step have more, no position is between them
EARLY = 0.01  # of the largest: methods that hand over do so here, a tenth of a radian or so before the position
VALLEY = 0.6  # of the pivot ratios at both ends: a position in the widest gap of the stages of RK45 leaves 0.31, of DOP853 0.5
DEEP = 0.1  # of the largest pivot ratio so far, `most`: where it is always small, a shallow valley is none
FALLING = 0.9999  # of a pivot ratio in one step: steps that max_step keeps short see no more of it before it is too late
NEARING = 5.0  # times ROUNDING: rounding of the state, times 250


@leaf
def in_the_way(K: mat, last: i8, rho: i8, rtol: f8, passed: b1):
    """Tell whether a singular position lies so close to a stage, or to the end of the step, that others are better.

    A failed step: the pivot ratio at an inner stage is far below those at both ends, so the position is inside,
    and the error comes from that stage. A step that passed: the end is so close that rounding, magnified
    by 1/ρ in its velocity, exceeds the tolerance, and the start is not.
    """
    start, end = K[0, rho], K[last, rho]
    if passed:
        return end < ROUNDING / rtol and start > 10.0 * end
    least = 1.0
    for i in range(1, last):
        least = min(least, K[i, rho])
    return least < 0.1 * min(start, end)


@leaf
def alarm(K: mat, last: i8, rho: i8, rtol: f8, asked: f8, most: f8):
    """Tell from the pivot ratios of one attempt whether a singular position lies inside it, or close behind its end.

    √ρ falls in proportion to the time that is left: where it has halved, zero is less than one such step away. With
    short steps that is too late, as rounding is magnified by 1/ρ; so the question is put earlier, and put again only
    when ρ has fallen to a quarter of what it was, `asked`.

    A step may jump over what was seen ahead and found no path from there: no stage is lower than its start, its end is higher.
    """
    start, end = K[0, rho], K[last, rho]
    least = 1.0
    for i in range(1, last):
        least = min(least, K[i, rho])
    if least < NARROW and least < 0.35 * min(start, end):
        return INSIDE
    if least < min(3.0 * NARROW, DEEP * most) and least < VALLEY * min(start, end):
        return INSIDE
    if start <= asked < 1e300 and start < NARROW and start <= least and end > 4.0 * start:
        return INSIDE
    if end > 0.25 * asked:
        return 0
    if end < NARROW and end < 0.25 * start:
        return AHEAD
    if end < min(3.0 * NARROW, NEARING * ROUNDING / rtol) and end < FALLING * start:
        return AHEAD
    return 0


@apart
def between(slots, model, method, run, t, h, loop):
    """The alarm of a step whose rows of K are no stages: the pivot ratio has fallen far, or is lower inside the step.

    Newton's method asks for short steps long before a position, which then never reach far enough to see it.
    """
    size = model.size
    K, W = loop.state.K, loop.state.W
    xe, ke = loop.inside.x, loop.inside.K
    last = run.last_stage
    rho = size.nrow - 1
    ends, least = min(K[0, rho], K[last, rho]), 1.0
    if not ends < BESIDE * run.rho_most:
        return 0
    if K[last, rho] < EARLY * run.rho_most and K[last, rho] < 0.99 * K[0, rho] and K[last, rho] <= 0.25 * run.rho_asked:
        return AHEAD
    if call_dense(slots, model, method, run, t, h, loop.state) != OK:
        return 0
    for i in range(1, 3):
        theta = i / 3.0
        if call_interpolate(slots, model, method, theta, h, loop.state, xe) != OK:
            return 0
        status = evaluate(model, run, t + theta * h, xe, ke, 0, W)
        if status == SINGULAR:
            return INSIDE
        least = min(least, ke[0, rho])
    return INSIDE if least < NARROW and least < 0.35 * ends and least <= 0.25 * run.rho_asked else 0


@leaf
def expected(K: mat, last: i8, rho: i8, why: i8, nodes: vec):
    """Where the pivot ratios of an attempt place the singular position, in steps."""
    if why == INSIDE:
        least = 1
        for i in range(2, last):
            if K[i, rho] < K[least, rho]:
                least = i
        return nodes[least]
    if why == AHEAD:
        start, end = math.sqrt(max(K[0, rho], 0.0)), math.sqrt(max(K[last, rho], 0.0))
        return start / (start - end)
    return 0.5


@inner
def note_ratio(run, t, h, rho, x, K, row, size):
    """Keep the smallest and the largest pivot ratio at the ends of steps, and where the smallest was."""
    run.rho_most = max(run.rho_most, rho)
    if rho < run.rho_least:
        run.rho_least = rho
        run.t_least = t
        run.h_least = h
        if run.notes != 0:
            bottom = K.shape[0] - 2
            for i in range(size):
                K[bottom, i] = x[i]
                K[bottom + 1, i] = K[row, i]


@kernel(PASSAGE)
def ask_for_passage(slots, model, run, loop):
    """In the place of `passage.pass_on` until a run comes to a singular position: most never do."""
    return NEED_PASSAGE
