"""The crossings of one event in a part of a step; which parts a step has is chosen in `event_bounds` and `event_pieces`.

In a part a function has one sign, or goes one way, or the part is as short as can be: its two ends tell of a crossing. A crossing
of an event is a change between nonzero signs, so none is counted twice and a zero that is only touched is none. A comparison that
decides is true or false at every point: what counts is its truth, which may change by a jump, or away from where it was flat at
its bound. Each crossing is closed in by regula falsi with Illinois' weights, and by halves.

Where a function starts from zero (at the start of a run, or because its event has just happened) the sign
says nothing. LEAD, the sign of its time derivative there, takes its place: a ball that has just bounced
rises, however short its flight.
"""

from __future__ import annotations

import math

from ..errors import ACCUMULATES, NOT_FINITE, OK, SINGULAR
from ..kernels.evaluate import evaluate
from ..kernels.settle import settle
from ..kernels.signatures import EVENTS, call_dense, call_interpolate, call_model, call_pull
from ..kernels.sliding import is_along, share_of, sliding
from ..kernels.vectors import EPS, ROUNDING, copy, copy_row
from ..native.marks import apart, inner, leaf
from ..native.types import f8, i8, int_mat, ints, mat, vec

MAX_ITERATIONS, DIRECT = 80, 24  # of closing in; from the second number on by halves alone
ROUNDED = 1.0 + 8.0 * EPS  # states that differ by this factor cannot be told apart
DIVES = 5  # parabolas for the deepest point of a dip towards zero
# The points between the ends of a piece, as shares of it: ρ - 1 and 1/ρ of the plastic number ρ. No multiples of both are
# close to whole numbers, so that an oscillation whose period fits into equal steps is not met at equal phases.
INNER, OUTER = 0.32471795724474605, 0.7548776662466927
IN_A_PIECE = 7  # crossings of one event in one piece: a zero at the start, two in each of its three parts
MOST = 32  # crossings in one step for each event there is; where there are more, the step is taken shorter

# rows of `ev` (int64), one column per event
DIRECTION, STOPS, SIGN, NEXT, LEAD, CAME, ROUGH, FIRED, SAMPLED, JUMPS = range(10)
MARKS = 10
# DIRECTION 0 both, 1 rising, -1 falling, NEVER; STOPS 1 where the run has to stop, AS_SWITCH or more where
# the field changes, HOLDS_AT_ZERO where a switch is true at zero, CORNER where nothing jumps; SIGN the last nonzero sign before
# this step, NEXT the one where what has been looked into ends; LEAD the sign to which a function leaves zero, 0 where unknown; CAME
# the sign towards which it crossed zero when its event last happened; ROUGH how many of the shortest pieces, one after the
# other, were too long for it; FIRED the sign towards which it crosses where the step ends, 0 where it does not; SAMPLED whether it
# is looked at point by point, because nothing bounds it (BY_SHARE: a switch along which the motion goes, of which a share is
# watched); JUMPS 1 where it was seen to jump where it crossed last. SIGN besides ±1:
COUNTED = 0  # zero, and its event has been counted: armed again when it has left zero
NEVER = 2
LEFT_ALONG = 2  # FIRED besides ±1: the motion along this switch has ended here, where its rate is zero but for rounding
AS_SWITCH, HOLDS_AT_ZERO, CORNER = 2, 3, 4
BY_SHARE = 2
AT_START = 2  # zero at the start of the run: counts if it leaves in its direction

# rows of `ev_f` (float64): values at the start of the step; at the four points of a piece, the last of which ends where the
# step ends; at a trial; at two points where the cubic through the four is checked; at the two points inside the last piece
# of the step before; the largest size at the points of pieces so far; the time at which a function was given up first, NaN
# where it was not; of a switch, the step with which it was last left false, and true; and bounds along a part of the step
START, PIECE, END, TRIAL, CHECK, BEFORE, LARGEST, LEFT, STEP = 0, 1, 4, 5, 6, 8, 10, 11, 12
LOW, HIGH, SLOW, FAST = 14, 15, 16, 17
VALUES = 18
JUMP = 1e-9  # of the largest value in the step: what a function that does not jump changes by, where it has been closed in


@inner
def dense_ready(slots, model, method, run, state):
    """Make the dense output of an accepted step, once."""
    if run.dense_ready != 0:
        return OK
    status = call_dense(slots, model, method, run, run.t, run.h_used, state)
    if status == OK:
        run.dense_ready = 1
        run.dense_outputs += 1
    return status


@inner
def state_inside(slots, model, method, run, theta, t, h, state, inside, with_field, shy):
    """Projected state at t + θ h into xe, and (if asked) the field there into ke.

    Where a step leads over a singular position, `shy` is a pivot ratio below which the state inside it is better
    than what a projection makes of it; λ is NaN where it does not exist.
    """
    size = model.size
    sp = method.sp
    K, W = state.K, state.W
    xe, ke = inside.x, inside.K
    status = call_interpolate(slots, model, method, theta, h, state, xe)
    if status != OK:
        return status
    status = call_pull(slots, model, sp, run, t + theta * h, 0.0, xe, xe, xe, W)
    if shy > 0.0 and (status != OK or not W[size.at_position if size.n_position > 0 else size.at_velocity] > shy):
        status = call_interpolate(slots, model, method, theta, h, state, xe)
    if status != OK:
        return status
    status = settle(model, t + theta * h, xe, W)
    if status != OK or not with_field:
        return status
    status = evaluate(model, run, t + theta * h, xe, ke, 0, W)
    if shy > 0.0 and status == SINGULAR:
        without_multipliers(K, ke, size.nq + size.nv, size.nq + size.nk)
        status = OK
    return status


@leaf
def without_multipliers(K, ke, size, length):
    """Slopes of the start of the step into ke, and NaN for λ."""
    for i in range(length):
        ke[0, i] = K[0, i] if i < size else math.nan


@inner
def shyness(run):
    """The pivot ratio below which states of this step are not projected: rounding would outgrow the tolerance."""
    return ROUNDING / run.rtol if run.along != 0 else 0.0


@inner
def event_values(slots, model, method, run, theta, loop, events, row):
    """Event functions at t + θ h_used into a row of ev_f."""
    size = model.size
    xn, K = loop.state.xn, loop.state.K
    xe, ke = loop.inside.x, loop.inside.K
    ev_f = events.values
    last = run.last_stage
    if theta >= 1.0:
        copy(xn, xe, size.nx)
        copy_row(K, last, ke, 0, size.nq + size.nk)
        t = run.t_new
    else:
        run.pulls += 1
        status = state_inside(
            slots, model, method, run, theta, run.t, run.h_used, loop.state, loop.inside, run.event_field != 0, shyness(run)
        )
        if status != OK:
            return status
        t = run.t + theta * run.h_used
    call_model(model, EVENTS, t, xe, 0, ke, size.nq, ev_f, row * size.n_events)
    if size.n_switches > 0:
        status = watch_share(model, run, t, loop, events, row)
        if status != OK:
            return status
    return NOT_FINITE if has_nan(ev_f, row, size.n_events) else OK


@inner
def watch_share(model, run, t, loop, events, row):
    """Of switches along which the motion goes, watch whether it leaves: α (1 - α), in the place of their functions."""
    size, ev_f, W = model.size, events.values, loop.state.W
    if sliding(model) < 0:
        return OK
    status = evaluate(model, run, t, loop.inside.x, loop.inside.K, 0, W)
    for j in range(size.n_switches):
        if is_along(model, j):
            share = share_of(model, W, j)
            ev_f[row, size.n_events - size.n_switches + j] = share * (1.0 - share)
    return status


@leaf
def has_nan(ev_f: mat, row: i8, nev: i8):
    """Tell whether an event function is NaN in a row of values."""
    for k in range(nev):
        if ev_f[row, k] != ev_f[row, k]:
            return True
    return False


@leaf
def sign_of(value: f8):
    """-1, 0 or 1"""
    return 1 if value > 0.0 else (-1 if value < 0.0 else 0)


@leaf
def side_of(ev: int_mat, k: i8, value: f8):
    """1 or -1: whether comparison k is true at a value; of an event the sign, which may be 0."""
    if ev[STOPS, k] < AS_SWITCH or ev[SAMPLED, k] == BY_SHARE:
        return sign_of(value)
    return 1 if value > 0.0 or (value == 0.0 and ev[STOPS, k] == HOLDS_AT_ZERO) else -1


@leaf
def keep(found_theta: vec, found: ints, count: i8, theta: f8, k: i8, sign: i8):
    """Add a crossing of event k towards `sign` in order of time, equal times in the order of the events.

    Event and sign are kept as one number, 2 k or 2 k + 1. Return the new number of crossings.
    """
    code = 2 * k + (1 if sign > 0 else 0)
    i = count
    while i > 0 and (found_theta[i - 1] > theta or (found_theta[i - 1] == theta and found[i - 1] > code)):
        found_theta[i] = found_theta[i - 1]
        found[i] = found[i - 1]
        i -= 1
    found_theta[i] = theta
    found[i] = code
    return count + 1


@leaf
def point(part: i8):
    """Where a part of a piece begins, as a share of the piece; part 3 is its end."""
    return 0.0 if part <= 0 else (INNER if part == 1 else (OUTER if part == 2 else 1.0))


@leaf
def between(first: f8, last: f8, share: f8):
    """θ of a point of a piece."""
    return last if share >= 1.0 else first + share * (last - first)


@leaf
def differences(ev_f, k):
    """Divided differences of the four values of event k in a piece."""
    f0, f1, f2, f3 = ev_f[PIECE, k], ev_f[PIECE + 1, k], ev_f[PIECE + 2, k], ev_f[PIECE + 3, k]
    first, second, third = (f1 - f0) / INNER, (f2 - f1) / (OUTER - INNER), (f3 - f2) / (1.0 - OUTER)
    below, above = (second - first) / OUTER, (third - second) / (1.0 - INNER)
    return first, below, above - below


@leaf
def cubic(ev_f, k, s):
    """The cubic through the four values of event k in a piece, at a share s of it."""
    d1, d2, d3 = differences(ev_f, k)
    return ev_f[PIECE, k] + s * (d1 + (s - INNER) * (d2 + (s - OUTER) * d3))


@leaf
def dip(ev_f: mat, k: i8, part: i8, sign: i8):
    """Where in a part of the piece, as a share of the piece, event k comes closer to zero than at both ends; or -1.

    By the cubic through the four values of the piece.
    """
    d1, d2, d3 = differences(ev_f, k)
    # the derivative of the cubic: a s² + b s + c
    a, b, c = 3.0 * d3, 2.0 * (d2 - (INNER + OUTER) * d3), d1 - INNER * d2 + INNER * OUTER * d3
    least = min(abs(ev_f[PIECE + part, k]), abs(ev_f[PIECE + part + 1, k]))
    root = b * b - 4.0 * a * c
    if root < 0.0:
        return -1.0
    pivot = -0.5 * (b + math.copysign(math.sqrt(root), b))
    for i in range(2):
        below, above = (a, pivot) if i == 0 else (pivot, c)
        if below == 0.0:
            continue
        s = above / below
        if s > point(part) and s < point(part + 1) and sign * cubic(ev_f, k, s) < least:
            return s
    return -1.0


@apart
def bottom(slots, model, method, run, loop, events, k, part, sign, first, last):
    """θ in a part of the piece where event k, of one sign at both ends, has the other; its value stands in TRIAL.

    -1 where there is none, -10 and below is minus a status. The deepest point is sought by parabolas.
    """
    ev_f = events.values
    s = dip(ev_f, k, part, sign)
    if s < 0.0:
        return -1.0
    m = between(first, last, s)
    a, b = between(first, last, point(part)), between(first, last, point(part + 1))
    if not (m > a and m < b):
        return -1.0
    fa, fb = ev_f[PIECE + part, k], ev_f[PIECE + part + 1, k]
    for _ in range(DIVES):
        status = event_values(slots, model, method, run, m, loop, events, TRIAL)
        if status != OK:
            return -float(status)
        fm = ev_f[TRIAL, k]
        if sign * fm < 0.0:
            return m
        left, right = (fm - fa) / (m - a), (fb - fm) / (b - m)
        curve = (right - left) / (b - a)
        if not sign * curve > 0.0:
            return -1.0
        # f(θ) ≈ fa + left (θ - a) + curve (θ - a)(θ - m)
        new = 0.5 * (a + m) - 0.5 * left / curve
        if not (new > a and new < b):
            return -1.0
        value = fa + (new - a) * (left + curve * (new - m))
        if sign * value > 0.9 * abs(fm) or abs(new - m) < 1e-6 * (b - a):
            return -1.0
        if new < m:
            b, fb = m, fm
        else:
            a, fa = m, fm
        m = new
    return -1.0


@inner
def search_part(slots, model, method, run, loop, events, k, a, fa, b, fb, count):
    """Add the crossing of event k between θ = a and b, if there is one, to `count` others; their number, or minus a status.

    Its sign at b goes to NEXT: it counts once the step is accepted. ACCUMULATES: an event that has just mapped the state
    happens again at once.
    """
    ev, found_theta, found = events.marks, events.theta, events.found
    sign, wanted, new = ev[NEXT, k], ev[DIRECTION, k], side_of(ev, k, fb)
    if a == 0.0 and abs(sign) == 1 and ev[STOPS, k] >= AS_SWITCH and side_of(ev, k, fa) == -sign:
        ev[NEXT, k] = -sign  # it is known to change at once, and the step is given up
        return keep(found_theta, found, count, 0.0, k, -sign) if wanted == 0 or wanted == -sign else count
    if new == 0:
        return count
    if sign == COUNTED or sign == AT_START:
        left = ev[LEAD, k] if ev[LEAD, k] != 0 else new
        if sign == COUNTED and new != left and ev[STOPS, k] >= AS_SWITCH and fa * fb > 0.0 and abs(fb) < abs(fa):
            return count  # rounding has left it before its zero, and it is on its way
        if sign == COUNTED and ev[LEAD, k] == 0 and ev[STOPS, k] == 1 and ev[CAME, k] == new:
            run.retake = k + 1  # mapped, left without speed, and now it passes on
            return -ACCUMULATES
        if sign == AT_START and (wanted == 0 or wanted == left):
            count = keep(found_theta, found, count, 0.0, k, left)
        ev[NEXT, k] = new
        if new != left and (wanted == 0 or wanted == new):
            zero = way_back(slots, model, method, run, loop, events, k, left, b, fb)
            if zero < 0.0:
                return int(zero)
            if zero > 0.0 or ev[STOPS, k] >= AS_SWITCH:
                return keep(found_theta, found, count, zero, k, new)
            if ev[STOPS, k] != 0:
                run.retake = k + 1
                return -ACCUMULATES
    elif new != sign:
        ev[NEXT, k] = new
        if wanted == 0 or wanted == new:
            zero = a  # it has crossed before, where it was nothing but rounding
            if side_of(ev, k, fa) != new:
                zero = close_in(slots, model, method, run, loop, events, k, a, fa, b, fb)
            if zero < 0.0:
                return int(zero)
            return keep(found_theta, found, count, zero, k, new)
    return count


@inner
def search_piece(slots, model, method, run, loop, events, first, last, count):
    """Add the crossings of sampled events between θ = first and last to `count` others, in order of time; or minus a status.

    A function that has one sign at both ends of a part may dip through zero between them, as the cubic has it.
    """
    ev, ev_f = events.marks, events.values
    for k in range(model.size.n_events):
        if ev[SAMPLED, k] == 0:
            continue
        for part in range(3):
            a, b = between(first, last, point(part)), between(first, last, point(part + 1))
            fa, fb = ev_f[PIECE + part, k], ev_f[PIECE + part + 1, k]
            sign, wanted = ev[NEXT, k], ev[DIRECTION, k]
            if abs(sign) != 1 or side_of(ev, k, fb) != sign or fa == 0.0 or (a == 0.0 and side_of(ev, k, fa) == -sign):
                count = search_part(slots, model, method, run, loop, events, k, a, fa, b, fb, count)
                if count < 0:
                    return count
                continue
            middle = bottom(slots, model, method, run, loop, events, k, part, sign, first, last)
            if middle < -1.0:
                return int(middle)
            if middle < 0.0:
                continue
            value = ev_f[TRIAL, k]
            if wanted == 0 or wanted == -sign:
                zero = close_in(slots, model, method, run, loop, events, k, a, fa, middle, value)
                if zero < 0.0:
                    return int(zero)
                count = keep(events.theta, events.found, count, zero, k, -sign)
            if wanted == 0 or wanted == sign:
                zero = close_in(slots, model, method, run, loop, events, k, middle, value, b, fb)
                if zero < 0.0:
                    return int(zero)
                count = keep(events.theta, events.found, count, zero, k, sign)
    return count


@inner
def resolution(run):
    """The smallest θ that time itself can tell from 0."""
    return 8.0 * EPS * max(abs(run.t), abs(run.t_new)) / abs(run.h_used)


@inner
def close_in(slots, model, method, run, loop, events, k, a, fa, b, fb):
    """Return θ behind which event k has crossed, between a and b, where its sides differ; minus a status on failure."""
    ev, ev_f = events.marks, events.values
    tolerance = max(2.0 * EPS, 0.0625 * resolution(run))  # half a unit in the last place of time, or one
    if run.tries == 0:
        ev[JUMPS, k] = 0
    if fa == 0.0 and side_of(ev, k, fa) == 0:
        return a
    before, behind, here, side = fa, fb, side_of(ev, k, fa), 0
    for i in range(MAX_ITERATIONS):
        if b - a <= tolerance:
            break
        c = (fa * b - fb * a) / (fa - fb) if i % 3 != 2 and i < DIRECT else 0.5 * (a + b)
        if not (c > a and c < b):
            c = 0.5 * (a + b)
        if c <= a or c >= b:
            break
        status = event_values(slots, model, method, run, c, loop, events, TRIAL)
        if status != OK:
            return -float(status)
        fc = ev_f[TRIAL, k]
        if fc == 0.0 and here != 0 and side_of(ev, k, fc) == 0:
            return c
        if side_of(ev, k, fc) == here:
            a, fa, before = c, fc, fc
            if side == 1:
                fb *= 0.5
            side = 1
        else:
            b, fb, behind = c, fc, fc
            if side == -1:
                fa *= 0.5
            side = -1
    if run.tries == 0:
        largest = max(max(abs(ev_f[START, k]), abs(ev_f[END, k])), ev_f[LARGEST, k])
        ev[JUMPS, k] = 1 if abs(behind - before) > JUMP * max(largest, max(abs(behind), abs(before))) else 0
    return b


@inner
def rounding_of(model, t, inside, ev_f, k):
    """What rounding of the state can make of event k, whose values here stand in TRIAL; the state is used up.

    A ball that rests on a floor 1000 m up is there to within 1e-13 m: a flight no higher than that is none.
    """
    value = ev_f[TRIAL, k]
    for i in range(model.size.nx):
        inside.x[i] *= ROUNDED
    call_model(model, EVENTS, t, inside.x, 0, inside.K, model.size.nq, ev_f, TRIAL * model.size.n_events)
    return abs(ev_f[TRIAL, k] - value)


@apart
def way_back(slots, model, method, run, loop, events, k, left, b, fb):
    """Return θ in (0, b) where event k, which left zero towards `left`, comes back; 0 where that is at once."""
    ev_f = events.values
    shortest = resolution(run)
    a = 0.5 * b
    while a > shortest:
        status = event_values(slots, model, method, run, a, loop, events, TRIAL)
        if status != OK:
            return -float(status)
        fa = ev_f[TRIAL, k]
        ahead = side_of(events.marks, k, fa) == left
        if ahead and (fa == 0.0 or abs(fa) > rounding_of(model, run.t + a * run.h_used, loop.inside, ev_f, k)):
            return close_in(slots, model, method, run, loop, events, k, a, fa, b, fb)
        if not ahead:
            b, fb = a, fa
        a *= 0.5
    return 0.0
