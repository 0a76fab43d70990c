"""Passing a position in which rows of G become dependent at an instant.

There two or more branches of motion meet. The solution that goes straight on is smooth, but the field around it is not:
off the constraints by δ, at the time τ from the position, it is wrong by δ/τ. So the position is passed on one
polynomial (see `collocation`), whose steps are handed to the loop as if they had been taken.

What goes straight on must be told from a narrow miss, where the branches do not meet and the motion turns sharply from
one into the other (see `branch_gap`). A miss is left to short steps.
"""

from __future__ import annotations

import math

from ..errors import MORE, NOT_FINITE, OK, STEP_COLLAPSED
from ..kernels.evaluate import asks_for_function, evaluate
from ..kernels.memory import AHEAD, ANSWERED, STEPPING, WATCHING
from ..kernels.signatures import PASSAGE
from ..kernels.sliding import nothing_watched
from ..kernels.vectors import ROUNDING, copy_row
from ..native.marks import inner, kernel, leaf
from ..native.types import f8, mat
from .alarm import MAX_DODGES
from .collocation import MISSED, NOTHING, find_path, on_constraints
from .path import CLEAR, KEPT, LENGTH, NUMBERS, PIECE, T0, USED, WHERE, path_slope, path_state

MISSES = 60  # how often a step is halved to follow the turn of a narrow miss


@leaf
def next_end(path: mat, theta: f8, most: f8):
    """θ at which the step along a path from θ ends: about PIECE long, one of them around the singular position.

    None is longer than `most`: the one around the position is divided so that none ends on it.
    """
    usual, where = min(path[NUMBERS, PIECE], most), path[NUMBERS, WHERE]
    half = max(0.5 * usual, 2.0 * path[NUMBERS, CLEAR])
    low, high, last = where - half, where + half, 1.0
    if low > 0.1 * usual and theta < low:
        parts = math.ceil(low / usual)
        for i in range(1, parts + 1):
            if low * i / parts > theta:
                return low * i / parts
    if high < 1.0 - 0.1 * usual:
        parts = math.ceil((1.0 - high) / usual)
        last = high
        for i in range(1, parts):
            if last <= theta:
                last = high + (1.0 - high) * i / parts
        if last <= theta:
            last = 1.0
    if last - theta <= most:
        return last
    # an odd number of parts, the position in the middle of one; room for a tenth more where a rest is left over
    part = 2.0 * half / (2 * math.ceil(half / (0.9 * most)) + 1)
    end = where + (math.floor((theta - where) / part - 0.5) + 1.5) * part
    if end - theta < 0.1 * part:
        end += part
    return end if end < last - 0.1 * part else last


@inner
def keep_path(run, path, kept):
    """Write down a path that has been followed to its end."""
    if kept.shape[0] > 0:
        for row in range(KEPT):
            copy_row(path, row, kept, run.paths * KEPT + row, path.shape[1])
        run.paths += 1


@inner
def decline(run, why, away, rho):
    """There is no path: go on with a shorter step, or as it is; a miss is `away` from here."""
    limit = MAX_DODGES
    if why == MISSED:  # inside the step, whatever its stages say, or behind its end
        limit = MISSES if away < abs(run.h_used) else 0
    elif why == NOTHING:
        limit = 0
    elif run.alarm == AHEAD:
        limit = 2  # from closer by, perhaps
    if run.dodges < limit:
        run.dodges += 1
        run.rejected += 1
        run.after_reject = 1
        run.retake = run.tries = run.alarm = 0
        run.h = 0.5 * run.h_used
    else:
        if run.alarm == AHEAD:
            run.rho_asked = rho
        run.alarm = ANSWERED


@inner
def supply(slots, model, run, loop):
    """Write the next step along the path into the loop's arrays, as if it had been taken; or the path has ended."""
    size = model.size
    xn, K, W = loop.state.xn, loop.state.K, loop.state.W
    ke = loop.inside.K
    path, kept, tight, nodes = loop.passing.path, loop.passing.kept, loop.passing.sp, loop.passing.nodes
    nz, length, last, row = size.nq + size.nv, path[NUMBERS, LENGTH], run.last_stage, size.nrow
    begin = (run.t - path[NUMBERS, T0]) / length
    stop = min(1.0, (run.t_stop - path[NUMBERS, T0]) / length)
    here = begin + 1e-12 + 1e-15 * abs(run.t / length)
    if here >= stop:
        keep_path(run, path, kept)
        run.guided = 0
        run.phase = STEPPING
        return OK
    end = begin + run.h / length
    if run.retake == 0:
        usual = min(stop, next_end(path, here, run.h_max / abs(length)))
        if run.along == 0:
            end = usual
        elif end <= here:
            return STEP_COLLAPSED
        else:  # one from here has been refused: run.h is shorter
            end = min(end, usual)
    t_new = path[NUMBERS, T0] + end * length
    path_state(path, end, nz, xn)
    status = on_constraints(slots, model, tight, run, t_new, xn, ke, W)
    if asks_for_function(status):
        return status
    if status != OK or not W[size.at_velocity] > ROUNDING / run.rtol:
        # an end on the position itself: the path knows better
        path_state(path, end, nz, xn)
        status = evaluate(model, run, t_new, xn, ke, 0, W)
        if asks_for_function(status):
            return status
        if status == NOT_FINITE:  # a function of the system, not the position: as in any other step
            run.h_used = t_new - run.t
            run.along = 1
            return status
        if status != OK:
            for i in range(nz, row - 1):
                ke[0, i] = math.nan
        path_slope(path, end, nz, ke, 0)
    for i in range(1, nodes.shape[0]):
        path_slope(path, begin + nodes[i] * (end - begin), nz, K, i)
    copy_row(ke, 0, K, last, row)
    path[NUMBERS, USED] = end
    run.h_used = t_new - run.t
    run.reaches_stop = 1 if abs(run.t_stop - t_new) <= 1e-14 * max(abs(t_new), abs(length)) else 0
    run.t_new = run.t_stop if run.reaches_stop != 0 else t_new
    run.rho_least = min(run.rho_least, ke[0, row - 1])
    run.dense_ready = run.along = 1
    run.watched = 0 if nothing_watched(size, run) else 1
    run.phase = WATCHING
    return OK


@kernel(PASSAGE)
def pass_on(slots, model, run, loop):
    """Supply the next step along a path, or find one; else let the loop go on as it is, or with a shorter step."""
    size = model.size
    K = loop.state.K
    kept = loop.passing.kept
    if run.guided == 0:
        if kept.shape[0] > 0 and (run.paths + 1) * KEPT > kept.shape[0]:
            return MORE
        found = find_path(slots, model, run, loop)
        if asks_for_function(found):
            return found
        if found != OK:
            path = loop.passing.path
            decline(run, found, abs(path[NUMBERS, WHERE] * path[NUMBERS, LENGTH]), K[run.last_stage, size.nrow - 1])
            run.phase = STEPPING
            return OK
        run.guided = 1
        run.alarm = run.dodges = 0
        run.h = run.h_used
        run.h_before = 0.0  # the step before the next one will not be its like
        run.rho_asked = 1e300
    return supply(slots, model, run, loop)
