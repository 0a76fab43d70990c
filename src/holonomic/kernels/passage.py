"""Passing a position in which rows of G become dependent at an instant.

There two or more branches of motion meet. The solution that goes straight on is smooth, but the field around it is not:
off the constraints by δ, at the time τ from the position, it is wrong by δ/τ. So the position is passed on one
polynomial: Gauss collocation of high order, every stage projected onto the constraints before the field is evaluated,
and no stage near the position. Both sides then determine the motion between them.

What goes straight on must be told from a narrow miss, where the branches do not meet and the motion turns sharply from
one into the other (see `miss`). A miss is left to short steps.
"""

from __future__ import annotations

import math

from ..errors import MORE, NEED_REFINED, NEED_TERMS, OK, STEP_COLLAPSED
from .compile import inner, kernel, leaf
from .control import error_norm
from .evaluate import evaluate
from .gauss import (
    LEAST,
    POINTS,
    begin_path,
    carry_over,
    clearance,
    finish_series,
    guess,
    integrate_points,
    note_point,
    singular_at,
    widest,
)
from .locate import LANDING
from .miss import NARROW_MISS, misses
from .path import (
    AT,
    BEGIN,
    CLEAR,
    KEPT,
    LENGTH,
    NEW,
    NUMBERS,
    PIECE,
    ROOM,
    SERIES,
    SLOPE,
    T0,
    USED,
    WHERE,
    path_slope,
    path_state,
)
from .settle import settle
from .signatures import NC, NQ, NROW, NV, PASSAGE, WV, call_pull
from .singular import MAX_DODGES, expected
from .state import (
    AFTER_REJECT,
    AHEAD,
    ALARM,
    ALONG,
    ANSWERED,
    DENSE_READY,
    DODGES,
    GUIDED,
    H_ACC,
    H_MAX,
    H_USED,
    HIT,
    LAST,
    PATHS,
    PHASE,
    REJECTED,
    RETAKE,
    RHO_ASKED,
    RHO_LEAST,
    RTOL,
    STEPPING,
    T_NEW,
    T_STOP,
    TRIES,
    WATCHING,
    H,
    T,
)
from .vectors import copy_row

SWEEPS = 40
LOOKS = 5  # tries to put the position between two points
NOISE = 1e-11  # of the size of a state: what rounding leaves near a singular position
ENOUGH = 1e-2  # of the tolerance: by so much the next sweep may change a point
SHORTER = 0.5  # than the step that gave the alarm, which may have been too long: for the dense output of steps on a path
MISSES = 60  # how often a step is halved to follow the turn of a narrow miss
# why there is no path: it cannot be found from here, there is no position, two branches nearly meet
NO_PATH, NOTHING, MISSED = 201, 202, 203


@leaf
def is_velocity(path, nq, nv):
    """Tell whether q' = v."""
    for i in range(nv):
        if path[SLOPE, i] != path[BEGIN, nq + i]:
            return False
    return True


@leaf
def note_sizes(path, r, atol, rtol, size):
    """What a change of each component is measured by; return the noise of the largest."""
    largest = 0.0
    for k in range(size):
        most = abs(path[BEGIN, k])
        for i in range(LEAST + r):
            most = max(most, abs(path[AT + i, k]))
        path[ROOM, k] = most
        largest = max(largest, most)
    noise = NOISE * (1.0 + largest)
    for k in range(size):
        path[ROOM, k] = max(atol[k] + rtol * path[ROOM, k], noise)
    return noise


@leaf
def take_over(path, r, size):
    """New states in the place of the old ones; return the largest change by its measure, and the largest itself."""
    change, most = 0.0, 0.0
    for i in range(LEAST + r):
        for k in range(size):
            moved = abs(path[NEW + i, k] - path[AT + i, k])
            if not moved / path[ROOM, k] <= change:  # NaN wins
                change = moved / path[ROOM, k]
            most = max(most, moved)
            path[AT + i, k] = path[NEW + i, k]
    return change, most


@leaf
def left_out(path, r, noise, size, E):
    """The first coefficient of the series that is left out, about, as an error vector."""
    m = LEAST + r
    last, before = 0.0, 0.0
    for k in range(size):
        last += path[SERIES + m - 1, k] ** 2
        before += path[SERIES + m - 2, k] ** 2
    fall = min(1.0, math.sqrt(last) / max(math.sqrt(before), 1e-300))
    for k in range(size):
        E[0, k] = path[NUMBERS, LENGTH] * fall * path[SERIES + m - 1, k] / (2 * m - 1)
        if abs(E[0, k]) < noise:
            E[0, k] = 0.0


@inner
def on_constraints(slots, fns, n, data, tight, t, x, ke, W):
    """Move x onto the constraints, down to rounding, and evaluate the field there."""
    status = call_pull(slots, fns, n, data, tight, t, 0.0, x, x, x, W)
    if status == OK:
        status = settle(fns, n, data, t, x, W)
    return status if status != OK else evaluate(fns, n, t, x, data, ke, 0, W)


@inner
def asks(status):
    """Tell whether a status asks for a model function."""
    return status == NEED_REFINED or status == NEED_TERMS


@inner
def first_guess(slots, fns, n, data, path, r, xe, ke, W, tight):
    """States, slopes and √ρ at the points, each extrapolated from those before."""
    size = n[NQ] + n[NV]
    for i in range(LEAST + r):
        guess(path, r, i, size, xe)
        t = path[NUMBERS, T0] + POINTS[r, i] * path[NUMBERS, LENGTH]
        status = on_constraints(slots, fns, n, data, tight, t, xe, ke, W)
        if status != OK:
            return status if asks(status) else NO_PATH
        note_point(path, AT, i, xe, ke, W[n[WV]], size)  # ρ of G Gᵀ: of the geometry alone, whatever the masses
    return OK


@inner
def collocate(slots, fns, n, data, path, r, xe, ke, W, tight, x, atol, rtol, turns):
    """Iterate to the polynomial whose slopes at the points are the field there."""
    nq, nv, size = n[NQ], n[NV], n[NQ] + n[NV]
    noise = note_sizes(path, r, atol, rtol, size)
    plain = n[NC] == nv and is_velocity(path, nq, nv)
    before, converged = math.inf, False
    for sweep in range(SWEEPS):
        if plain:
            integrate_points(path, r, 0, LEAST + r, nq, size)
            carry_over(path, r, nq, nv)
        for i in range(LEAST + r):
            t = path[NUMBERS, T0] + POINTS[r, i] * path[NUMBERS, LENGTH]
            integrate_points(path, r, i, i + 1, 0, size)
            copy_from(path, NEW + i, xe, size)
            status = on_constraints(slots, fns, n, data, tight, t, xe, ke, W)
            if status != OK:
                return status if asks(status) else NO_PATH
            note_point(path, NEW, i, xe, ke, W[n[WV]], size)
        change, most = take_over(path, r, size)
        stays = change >= 0.5 * before and (change <= 1.0 or most <= 10.0 * noise)
        coming = change * min(1.0, change / before) if sweep > 0 else change  # in the next sweep
        if coming <= ENOUGH or stays:
            converged = True
            break
        if not change <= (1e3 if sweep < 4 else 0.7) * before:
            return NO_PATH
        before = change
    if not converged:
        return NO_PATH
    finish_series(path, r, size)
    left_out(path, r, noise, size, ke)
    copy_from(path, AT + LEAST + r - 1, xe, size)
    return OK if error_norm(ke, x, xe, atol, rtol, turns, nq, size) <= 1.0 else NO_PATH


@leaf
def copy_from(path, row, x, size):
    """x = row of a path"""
    for k in range(size):
        x[k] = path[row, k]


@inner
def find_path(slots, fns, n, data, S, I, x, K, xe, ke, W, atol, turns, path, tight, nodes):
    """Find the path from the current state over the singular position that is expected.

    A position behind the stop time need not be passed; the path may be longer.
    """
    h, size = S[H_USED], n[NQ] + n[NV]
    forward = 1.0 if h > 0.0 else -1.0
    reach = abs(h) if I[RETAKE] != 0 else abs(S[T_STOP] - S[T])
    distance = abs(h) * expected(K, I[LAST], n[NROW] - 1, I[ALARM], nodes)
    placed, where, r, length = False, 0.0, 0, 0.0
    for _ in range(LOOKS):
        length = max(2.0 * distance, abs(h))
        r = widest(distance / length)
        clear = clearance(r, distance / length)
        begin_path(path, S[T], forward * length, r, x, K, size)
        status = first_guess(slots, fns, n, data, path, r, xe, ke, W, tight)
        if status != OK:
            return status
        where = singular_at(path, r)
        distance = where * length
        if where <= 0.0 or distance > 1.05 * reach:
            return NOTHING
        if where < 1.0 and clearance(r, where) > 0.6 * clear:
            placed = True
            break
    if not placed:
        return NOTHING if where >= 1.0 else NO_PATH
    status = collocate(slots, fns, n, data, path, r, xe, ke, W, tight, x, atol, S[RTOL], turns)
    if status != OK:
        return status
    where = singular_at(path, r)
    if where <= 0.0 or where * length >= reach or where >= 1.0:
        return NOTHING
    path[NUMBERS, WHERE] = where
    path[NUMBERS, CLEAR] = clearance(r, where)
    path[NUMBERS, PIECE] = min(1.0, SHORTER * abs(h) / length)
    status = misses(fns, n, data, path, xe, W)
    if status == OK or asks(status):
        return status
    return MISSED if status == NARROW_MISS else NO_PATH


@leaf
def next_end(path, theta, most):
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
def keep_path(I, path, kept):
    """Write down a path that has been followed to its end."""
    if kept.shape[0] > 0:
        for row in range(KEPT):
            copy_row(path, row, kept, I[PATHS] * KEPT + row, path.shape[1])
        I[PATHS] += 1


@inner
def decline(S, I, why, rho):
    """There is no path: go on with a shorter step, or as it is."""
    limit = MISSES if why == MISSED else MAX_DODGES
    if why == NOTHING:
        limit = 0
    elif I[ALARM] == AHEAD:
        limit = 0 if why == MISSED else 2  # from closer by, perhaps
    if I[DODGES] < limit:
        I[DODGES] += 1
        I[REJECTED] += 1
        I[AFTER_REJECT] = 1
        I[RETAKE] = I[TRIES] = I[ALARM] = 0
        S[H] = 0.5 * S[H_USED]
    else:
        if I[ALARM] == AHEAD:
            S[RHO_ASKED] = rho
        I[ALARM] = ANSWERED


@inner
def supply(slots, fns, n, data, S, I, x, xn, K, ke, W, path, kept, tight, nodes):
    """Write the next step along the path into the loop's arrays, as if it had been taken; or the path has ended."""
    size, length, last, row = n[NQ] + n[NV], path[NUMBERS, LENGTH], I[LAST], n[NROW]
    begin = (S[T] - path[NUMBERS, T0]) / length
    stop = min(1.0, (S[T_STOP] - path[NUMBERS, T0]) / length)
    here = begin + 1e-12 + 1e-15 * abs(S[T] / length)
    if here >= stop:
        keep_path(I, path, kept)
        I[GUIDED] = 0
        I[PHASE] = STEPPING
        return OK
    end = begin + S[H] / length
    if I[RETAKE] == 0:
        usual = min(stop, next_end(path, here, S[H_MAX] / abs(length)))
        if I[ALONG] == 0:
            end = usual
        elif end <= here:
            return STEP_COLLAPSED
        else:  # one from here has been refused: S[H] is shorter
            end = min(end, usual)
    t_new = path[NUMBERS, T0] + end * length
    path_state(path, end, size, xn)
    status = on_constraints(slots, fns, n, data, tight, t_new, xn, ke, W)
    if asks(status):
        return status
    if status != OK or not W[n[WV]] > LANDING / S[RTOL]:
        # an end on the position itself: the path knows better
        path_state(path, end, size, xn)
        status = evaluate(fns, n, t_new, xn, data, ke, 0, W)
        if asks(status):
            return status
        if status != OK:
            for i in range(size, row - 1):
                ke[0, i] = math.nan
        path_slope(path, end, size, ke, 0)
    for i in range(1, nodes.shape[0]):
        path_slope(path, begin + nodes[i] * (end - begin), size, K, i)
    copy_row(ke, 0, K, last, row)
    path[NUMBERS, USED] = end
    S[H_USED] = t_new - S[T]
    I[HIT] = 1 if abs(S[T_STOP] - t_new) <= 1e-14 * max(abs(t_new), abs(length)) else 0
    S[T_NEW] = S[T_STOP] if I[HIT] != 0 else t_new
    S[RHO_LEAST] = min(S[RHO_LEAST], ke[0, row - 1])
    I[DENSE_READY] = I[ALONG] = 1
    I[PHASE] = WATCHING
    return OK


@kernel(PASSAGE)
def pass_on(slots, fns, n, data, S, I, x, xn, K, xe, ke, W, atol, turns, passing):
    """Supply the next step along a path, or find one; else let the loop go on as it is, or with a shorter step."""
    path, kept, tight, nodes = passing
    if I[GUIDED] == 0:
        if kept.shape[0] > 0 and (I[PATHS] + 1) * KEPT > kept.shape[0]:
            return MORE
        found = find_path(slots, fns, n, data, S, I, x, K, xe, ke, W, atol, turns, path, tight, nodes)
        if asks(found):
            return found
        if found != OK:
            decline(S, I, found, K[I[LAST], n[NROW] - 1])
            I[PHASE] = STEPPING
            return OK
        I[GUIDED] = 1
        I[ALARM] = I[DODGES] = 0
        S[H] = S[H_USED]
        S[H_ACC] = 0.0  # the step before the next one will not be its like
        S[RHO_ASKED] = 1e300
    return supply(slots, fns, n, data, S, I, x, xn, K, ke, W, path, kept, tight, nodes)
