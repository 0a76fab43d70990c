"""The crossings of a step, none of which is missed: where bounds of a function exclude a change there is none.

Over a part of a step `kernels.bounds` tells between which values a function lies, and its rate. With the values at both ends of the
part that decides, where

    all values are on one side: there is no crossing, or
    the rate has one sign: there is one if the ends are on different sides, and none otherwise.

Any other part is cut in two, until one of these holds or time can tell no shorter parts: that is where a function jumps, and its
ends decide. A change that the ends give away is closed in first, and cut off.

First the whole step stands between bounds that cost no dense output: a state goes no further, and no faster, than by the slopes of
the stages, and as far again. Steps that come near no change are passed so. In others the states are polynomials, by their values at
eight points of the dense output; two further points tell how far the curve may be from that.

A function that is nothing but rounding could be cut for ever. It is given up in a step after so many parts, and followed less
closely from then on, until a step is decided; the run says so at its end.
"""

from __future__ import annotations

import math

from ..errors import OK
from ..kernels.signatures import BOUNDS, EVENTS, call_interpolate, call_model, has_function
from ..kernels.sliding import is_along, nothing_watched, sliding
from ..kernels.vectors import EPS, copy, copy_row
from ..native.marks import inner, leaf
from ..native.types import b1, f8, i8, int_mat, mat, vec
from .event_pieces import begin_step, check_values, end_step, find_sampled
from .event_search import (
    AS_SWITCH,
    BY_SHARE,
    CHECK,
    DIRECTION,
    END,
    FAST,
    HIGH,
    HOLDS_AT_ZERO,
    IN_A_PIECE,
    LARGEST,
    LEAD,
    LEFT,
    LOW,
    NEVER,
    NEXT,
    PIECE,
    ROUGH,
    SAMPLED,
    SIGN,
    SLOW,
    START,
    STOPS,
    close_in,
    event_values,
    has_nan,
    resolution,
    search_part,
    side_of,
)

COEFFICIENTS = 8  # of a state along a step; behind them stands how far the curve may be from that
STRIDE = COEFFICIENTS + 1
HEAD = 8  # numbers in front of them, that tell of a part
MOST_PARTS, FEW_PARTS = 4000, 24  # of a step; where functions are given up in one step, they are cut so far in the next ones
DEEPEST = 120  # parts that wait to the right of one
FIRST_LOOK, SECOND_LOOK = 0.0671, 0.6127  # where the polynomials are compared with the curve, between their points
DOUBT = 4.0  # how far the curve may be, in the larger of these differences
NEAR_END = 32.0 * EPS
# Of a step: parts of which the bounds are compared with those at a point, and by how much these may be narrower
SHORT, ROUNDED = 1e-2, 4.0
MOST_DOUBLINGS = 12  # of the shortest part, to get away from a jump
FASTEST = 1e-3  # of a step: where a function has filled by then what there is room for, it is too fast for the steps
NEAR_ZERO = 1e-3  # of the largest value so far: what says nothing of the size of a function
AS_AT_START = 4.0  # times the value that rounding has left of a zero at the start: no more than that


def curve_work(states: int) -> int:
    """How many numbers of the workspace the states of a step take, as polynomials; and parts that wait."""
    return HEAD + DEEPEST + STRIDE * (states + 1)


@leaf
def polynomial(W: vec, at: i8, room: i8):
    """Bernstein coefficients in the place of values at even points, by Newton's form; `room` has place for as many."""
    n = COEFFICIENTS
    for level in range(1, n):
        for j in range(n - 1, level - 1, -1):
            W[at + j] = (W[at + j] - W[at + j - 1]) * (n - 1.0) / level
    W[room] = W[at + n - 1]
    for j in range(n - 2, -1, -1):
        node, degree = j / (n - 1.0), n - 1 - j
        for i in range(degree, -1, -1):
            right = W[room + i - 1] * (1.0 - node) * i / degree if i > 0 else 0.0
            left = -W[room + i] * node * (degree - i) / degree if i < degree else 0.0
            W[room + i] = left + right + W[at + j]
    for i in range(n):
        W[at + i] = W[room + i]


@leaf
def polynomial_at(W: vec, at: i8, room: i8, theta: f8):
    """Its value."""
    n = COEFFICIENTS
    for i in range(n):
        W[room + i] = W[at + i]
    for level in range(1, n):
        for i in range(n - level):
            W[room + i] = (1.0 - theta) * W[room + i] + theta * W[room + i + 1]
    return W[room]


@inner
def take_curve(slots, model, method, run, loop):
    """The states of a step as polynomials, into the workspace."""
    size, state, xe = model.size, loop.state, loop.inside.x
    x, xn, W = state.x, state.xn, state.W
    nz, n = size.nq + size.nv, COEFFICIENTS
    at = size.at_curve + HEAD + DEEPEST
    room = at + STRIDE * nz
    for j in range(n + 2):
        theta = j / (n - 1.0) if j < n else (FIRST_LOOK if j == n else SECOND_LOOK)
        if j == 0:
            copy(x, xe, size.nx)
        elif j == n - 1:
            copy(xn, xe, size.nx)
        else:
            status = call_interpolate(slots, model, method, theta, run.h_used, state, xe)
            if status != OK:
                return status
        for i in range(nz):
            here = at + STRIDE * i
            if j < n:
                W[here + j] = xe[i]
            if j == n - 1:
                polynomial(W, here, room)
                W[here + n] = 0.0
            if j >= n:
                W[here + n] = max(W[here + n], DOUBT * abs(xe[i] - polynomial_at(W, here, room, theta)))
    return OK


@inner
def take_cubic(model, run, state):
    """The same for an attempt, as the cubic with the states and slopes of both its ends."""
    size, W, K, h = model.size, state.W, state.K, run.h_tried
    for i in range(size.nq + size.nv):
        at = size.at_curve + HEAD + DEEPEST + STRIDE * i
        W[at], W[at + 3] = state.x[i], state.xn[i]
        W[at + 1], W[at + 2] = state.x[i] + h * K[0, i] / 3.0, state.xn[i] - h * K[run.last_stage, i] / 3.0
        for degree in range(4, COEFFICIENTS):
            W[at + degree] = W[at + degree - 1]
            for j in range(degree - 1, 0, -1):
                W[at + j] += (W[at + j - 1] - W[at + j]) * j / degree
        W[at + COEFFICIENTS] = 0.0


@inner
def state_at(model, state, theta, out):
    """The state there."""
    size, W = model.size, state.W
    at = size.at_curve + HEAD + DEEPEST
    for i in range(size.nx):
        out[i] = state.xn[i]
    for i in range(size.nq + size.nv):
        out[i] = polynomial_at(W, at + STRIDE * i, at + STRIDE * (size.nq + size.nv), theta)


@inner
def bound_part(model, run, state, events, a, b):
    """Bounds of all functions from θ = a to b, where the states are polynomials."""
    size, W, at = model.size, state.W, model.size.at_curve
    W[at], W[at + 1], W[at + 2], W[at + 3] = COEFFICIENTS, a, b, run.h_tried
    call_model(model, BOUNDS, run.t, W, at + HEAD + DEEPEST, W, at, events.values, LOW * size.n_events)


@inner
def bound_step(model, run, state, events):
    """The same for a whole attempt whose states go no further, and no faster, than by its slopes, and as far again.

    These are the slopes of its stages, or those of the cubic with the states and slopes of both ends.
    """
    size, W, K, h = model.size, state.W, state.K, run.h_tried
    at, last = size.at_curve, run.last_stage
    W[at], W[at + 1], W[at + 2], W[at + 3] = 0.0, 0.0, 1.0, h
    at += HEAD + DEEPEST
    for i in range(size.nq + size.nv):
        slow, fast = min(K[0, i], K[last, i]), max(K[0, i], K[last, i])
        if size.slopes != 0:
            for row in range(1, last):
                slow, fast = min(slow, K[row, i]), max(fast, K[row, i])
        else:
            middle = 3.0 * (state.xn[i] - state.x[i]) / h - K[0, i] - K[last, i]
            slow, fast = min(slow, middle), max(fast, middle)
        wide = fast - slow
        slow, fast = slow - wide, fast + wide
        low, high = min(min(h * slow, h * fast), 0.0), max(max(h * slow, h * fast), 0.0)
        spare = 8.0 * EPS * abs(state.x[i])
        W[at + 4 * i] = min(state.x[i] + low, state.xn[i]) - spare
        W[at + 4 * i + 1] = max(state.x[i] + high, state.xn[i]) + spare
        W[at + 4 * i + 2], W[at + 4 * i + 3] = slow, fast
    call_model(model, BOUNDS, run.t, W, at, W, size.at_curve, events.values, LOW * size.n_events)


@leaf
def is_decided(ev: int_mat, ev_f: mat, k: i8, fa: f8, fb: f8, time: f8):
    """Tell whether the ends of a part, with these values and so long in time, tell of the crossings of function k in it."""
    low, high, slow, fast = ev_f[LOW, k], ev_f[HIGH, k], ev_f[SLOW, k] * time, ev_f[FAST, k] * time
    if time < 0.0:
        slow, fast = fast, slow
    if slow > -math.inf and fast < math.inf:
        if slow >= 0.0 or fast <= 0.0:
            return True
        low = max(low, max(fa + slow, fb - fast))
        high = min(high, min(fa + fast, fb - slow))
        ev_f[LOW, k], ev_f[HIGH, k] = low, high
    if ev[STOPS, k] < AS_SWITCH:
        return low >= 0.0 or high <= 0.0
    if ev[STOPS, k] == HOLDS_AT_ZERO:
        return low >= 0.0 or high < 0.0
    return low > 0.0 or high <= 0.0


@inner
def mark_sampled(model, run, events):
    """Note which functions have to be looked at point by point: nothing bounds them; tell how many that are."""
    size, ev, ev_f = model.size, events.marks, events.values
    first, count = size.n_events - size.n_switches, 0
    for k in range(size.n_events):
        ev[SAMPLED, k] = 1
        if k >= first and is_along(model, k - first):
            ev[SAMPLED, k] = BY_SHARE
        elif has_function(model, BOUNDS) and run.along == 0 and ev_f[LOW, k] == ev_f[LOW, k]:
            ev[SAMPLED, k] = 0
        count += 1 if ev[SAMPLED, k] != 0 else 0
    return count


@inner
def must_be_watched(model, run, loop, events):
    """Tell whether the attempt that has just passed has to be looked into: 1 or 0."""
    size, state, ev, ev_f = model.size, loop.state, events.marks, events.values
    nev = size.n_events
    if nothing_watched(size, run):
        return 0
    if not has_function(model, BOUNDS):
        return 1
    if run.retake != 0 or run.lenient != 0 or run.along != 0 or run.event_field != 0 or sliding(model) >= 0:
        return 1
    bound_step(model, run, state, events)
    for k in range(nev):
        if abs(ev[SIGN, k]) != 1 or ev_f[LOW, k] != ev_f[LOW, k]:
            return 1
    call_model(model, EVENTS, run.t + run.h_tried, state.xn, 0, loop.inside.K, size.nq, ev_f, END * nev)
    if has_nan(ev_f, END, nev):
        return 1
    for k in range(nev):
        fa, fb = ev_f[START, k], ev_f[END, k]
        here = side_of(ev, k, fb) == ev[SIGN, k] and side_of(ev, k, fa) == ev[SIGN, k]
        if ev[DIRECTION, k] != NEVER and not (here and is_decided(ev, ev_f, k, fa, fb, run.h_tried)):
            return 1
    begin_step(ev, nev)
    return 0


@inner
def pass_by(model, run, events):
    """Go on from a step that need not be looked into."""
    if nothing_watched(model.size, run):
        return
    ev_f, nev = events.values, model.size.n_events
    copy_row(ev_f, END, ev_f, PIECE + 1, nev)
    copy_row(ev_f, END, ev_f, PIECE + 2, nev)
    run.event_reach = run.event_piece = 0.0
    end_step(run, events.marks, ev_f, nev)


@inner
def find_events(slots, model, method, run, loop, events):
    """Collect the crossings of this step in order of time; return their number, or minus a status.

    The step has been looked into up to θ = run.looked, which is 1 unless there is no room for more crossings. What lies behind a
    crossing that stops the run is not looked at, where the step is to be taken again.
    """
    size, ev = model.size, events.marks
    nev = size.n_events
    begin_step(ev, nev)
    bounds = has_function(model, BOUNDS) and run.along == 0
    if bounds:
        status = take_curve(slots, model, method, run, loop)
        if status != OK:
            return -status
        bound_part(model, run, loop.state, events, 0.0, 1.0)
    sampled = mark_sampled(model, run, events)
    count, stop = 0, 1.0
    if sampled < nev:
        status = event_values(slots, model, method, run, 1.0, loop, events, END)
        if status != OK:
            return -status
        count = find_bounded(slots, model, method, run, loop, events)
        stop = run.looked
    if count < 0 or sampled == 0:
        return count
    found = find_sampled(slots, model, method, run, loop, events, stop, count)
    while found > 0 and run.looked < 1.0 and events.theta[found - 1] > run.looked:
        found -= 1
    return found


@inner
def shortest_part(run):
    """The length, in θ, of a part that is not cut: some thirty units in the last place of time, or of the step."""
    return max(NEAR_END, 4.0 * resolution(run))


@inner
def starts_from_zero(ev, nev):
    """Tell whether the sign of a function that is bounded says nothing yet."""
    for k in range(nev):
        if ev[SAMPLED, k] == 0 and abs(ev[SIGN, k]) != 1:
            return True
    return False


@inner
def find_bounded(slots, model, method, run, loop, events):
    """Collect the crossings of functions that are bounded, from the left, up to the first one that stops the run."""
    size, ev, ev_f, W = model.size, events.marks, events.values, loop.state.W
    nev, waiting, parts = size.n_events, size.at_curve + HEAD, 0
    finest = shortest_part(run)
    copy_row(ev_f, START, ev_f, PIECE, nev)
    for k in range(nev):
        ev_f[PIECE + 2, k] = abs(ev_f[START, k])
    W[waiting], depth, count, a, soon, run.looked = 1.0, 1, 0, 0.0, 0.0, 1.0
    if starts_from_zero(ev, nev):  # what it is at once is rounding
        soon = min(0.5, 4.0 * finest)
        W[waiting + 1], depth = soon, 2
    while depth > 0:
        b = W[waiting + depth - 1]
        status = OK
        if b >= 1.0:
            copy_row(ev_f, END, ev_f, PIECE + 1, nev)
        else:
            status = check_values(slots, model, method, run, b, loop, events, PIECE + 1)
        if status != OK:
            return -status
        parts += 1
        at = -1.0
        for k in range(nev):
            ev_f[CHECK, k] = -1.0
        if b - a > finest and depth < DEEPEST:
            at = where_to_cut(slots, model, method, run, loop, events, a, b, parts)
            if at < -1.0:
                return int(at)
        if at > a:
            W[waiting + depth] = at
            depth += 1
            continue
        for k in range(nev):
            if ev[SAMPLED, k] == 0 and ev_f[CHECK, k] < 0.0 and not says_nothing(ev, ev_f, k, b <= soon):
                count = search_part(slots, model, method, run, loop, events, k, a, ev_f[PIECE, k], b, ev_f[PIECE + 1, k], count)
                if count < 0:
                    return count
            ev_f[PIECE + 2, k] = max(ev_f[PIECE + 2, k], abs(ev_f[PIECE + 1, k]))
        copy_row(ev_f, PIECE + 1, ev_f, PIECE, nev)
        a = b
        depth -= 1
        if a < 1.0 and may_end(run, events, count):
            return count
        if count + (IN_A_PIECE + 1) * nev > events.theta.shape[0]:  # one to spare, for what ends the step
            count = without_fast(run, events, nev, count) if a < FASTEST else count
        if count + (IN_A_PIECE + 1) * nev > events.theta.shape[0]:
            run.looked = a
            return count
    if may_be_larger_inside(ev_f, nev):
        status = check_values(slots, model, method, run, 0.5, loop, events, PIECE + 1)
        if status != OK:
            return -status
        for k in range(nev):
            ev_f[PIECE + 2, k] = max(ev_f[PIECE + 2, k], abs(ev_f[PIECE + 1, k]))
    copy_row(ev_f, END, ev_f, PIECE + 1, nev)
    return count


@leaf
def may_be_larger_inside(ev_f: mat, nev: i8):
    """Tell whether a function starts and ends near zero, so that the ends do not tell its size."""
    for k in range(nev):
        if not ev_f[PIECE + 2, k] > NEAR_ZERO * ev_f[LARGEST, k]:
            return True
    return False


@inner
def without_fast(run, events, nev, count):
    """Give up functions that cross so often that the step would be cut to a fraction; return how many crossings are left."""
    ev, ev_f, found, theta = events.marks, events.values, events.found, events.theta
    for k in range(nev):
        own = 0
        for i in range(count):
            own += 1 if found[i] // 2 == k else 0
        if own * nev < count or ev[STOPS, k] != 0:
            continue
        ev[ROUGH, k] = 1
        if math.isnan(ev_f[LEFT, k]):
            ev_f[LEFT, k] = run.t
        left = 0
        for i in range(count):
            if found[i] // 2 != k:
                found[left], theta[left] = found[i], theta[i]
                left += 1
        count = left
    return count


@leaf
def says_nothing(ev: int_mat, ev_f: mat, k: i8, soon: b1):
    """Tell whether a function that started from zero is not yet where it leaves to: so `soon`, or but for rounding."""
    if abs(ev[NEXT, k]) == 1:
        return False
    value, switch = ev_f[PIECE + 1, k], ev[STOPS, k] >= AS_SWITCH
    if switch and side_of(ev, k, value) == ev[LEAD, k]:
        return False
    return soon or (switch and value != 0.0 and abs(value) <= AS_AT_START * abs(ev_f[START, k]))


@inner
def may_end(run, events, count):
    """Tell whether a crossing has been found at which the step will be taken again, and end."""
    for i in range(count):
        if events.marks[STOPS, events.found[i] // 2] != 0 and events.theta[i] < 1.0 - shortest_part(run):
            return True
    return False


@inner
def where_to_cut(slots, model, method, run, loop, events, a, b, parts):
    """θ at which a part is cut in two; -1.0 where its ends tell all; less is minus a status.

    In the place of the first check stands -1 of functions of which the ends decide, and of those that are nothing but rounding here
    how wide their bounds are.
    """
    ev, ev_f, nev = events.marks, events.values, model.size.n_events
    if parts > 1 or b < 1.0:  # the whole step has been bounded
        bound_part(model, run, loop.state, events, a, b)
    first, jumps = -1, False
    for k in range(nev):
        if ev[SAMPLED, k] != 0 or ev[DIRECTION, k] == NEVER:
            continue
        if is_decided(ev, ev_f, k, ev_f[PIECE, k], ev_f[PIECE + 1, k], (b - a) * run.h_used):
            if a == 0.0 and b == 1.0:
                ev[ROUGH, k] = 0
            continue
        if parts > (FEW_PARTS if ev[ROUGH, k] != 0 else MOST_PARTS):
            ev[ROUGH, k] = 1
            if math.isnan(ev_f[LEFT, k]):
                ev_f[LEFT, k] = run.t + a * run.h_used
            continue
        ev_f[CHECK, k] = ev_f[HIGH, k] - ev_f[LOW, k]
        if first < 0:
            first, jumps = k, ev_f[SLOW, k] == -math.inf
    if first >= 0 and b - a < SHORT:  # what is left of its bounds may be rounding
        bound_part(model, run, loop.state, events, a, a)
        first = -1
        for k in range(nev):
            jumps_there = ev_f[SLOW, k] == -math.inf
            if ev_f[CHECK, k] >= 0.0 and (jumps_there or ev_f[CHECK, k] > ROUNDED * (ev_f[HIGH, k] - ev_f[LOW, k])):
                first = k
    if first < 0:
        return -1.0
    here, there = side_of(ev, first, ev_f[PIECE, first]), side_of(ev, first, ev_f[PIECE + 1, first])
    if here != there and here != 0 and there != 0 and jumps:  # it is cut off
        zero = close_in(slots, model, method, run, loop, events, first, a, ev_f[PIECE, first], b, ev_f[PIECE + 1, first])
        if zero < 0.0:
            return zero
        reach = reach_of_jump(model, run, loop.state, events, first, zero)
        if zero + 1.5 * reach < b:
            return zero + reach
        if zero - 1.5 * reach > a:
            return zero - reach
        for k in range(nev):
            ev_f[CHECK, k] = -1.0
        return -1.0
    return 0.5 * (a + b)


@inner
def reach_of_jump(model, run, state, events, k, zero):
    """How far from θ, where function k jumps, rounding of the states leaves it open on which side of the jump they are."""
    reach = 0.5 * shortest_part(run)
    for _ in range(MOST_DOUBLINGS):
        bound_part(model, run, state, events, min(1.0, zero + reach), min(1.0, zero + reach))
        if events.values[SLOW, k] > -math.inf:
            return reach
        reach *= 2.0
    return reach
