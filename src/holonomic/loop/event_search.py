"""Finding events inside one step.

Event functions are looked at on the projected dense output at θ = 1/3, 2/3, 1, and where the cubic through the
values of a step dips towards zero between two of them. A crossing is a change between nonzero signs, so none is
counted twice and a zero that is only touched is none. Two crossings between two of these points are seen only if the
cubic dips there. Each crossing is closed in by regula falsi with Illinois' weights.

Where a function starts from zero (at the start of a run, or because its event has just happened) the sign
says nothing. LEAD, the sign of its time derivative there, takes its place: a ball that has just bounced
rises, however short its flight.
"""

from __future__ import annotations

import math

from ..errors import ACCUMULATES, NOT_FINITE, OK, SINGULAR
from ..kernels.compile import inner, leaf
from ..kernels.evaluate import evaluate
from ..kernels.settle import settle
from ..kernels.signatures import EVENTS, call_dense, call_interpolate, call_model, call_pull
from ..kernels.vectors import copy, copy_row
from ..passage.alarm import LANDING

EPS = 2.220446049250313e-16
MAX_ITERATIONS = 80
DIVES = 5  # parabolas for the deepest point of a dip towards zero
MOST = 8  # crossings of one event in one step: a zero at the start, two in each third, one to spare

# rows of `ev` (int64), one column per event
DIRECTION, STOPS, SIGN, NEXT, LEAD, CAME = range(6)
# DIRECTION 0 both, 1 rising, -1 falling; STOPS 1 where the run has to stop; SIGN the last nonzero sign before
# this step, NEXT the one at its end; LEAD the sign to which a function leaves zero, 0 where unknown; CAME the sign
# towards which it crossed zero when its event last happened. SIGN besides ±1:
COUNTED = 0  # zero, and its event has been counted: armed again when it has left zero
AT_START = 2  # zero at the start of the run: counts if it leaves in its direction

# rows of `ev_f` (float64): values at θ = 0, 1/3, 2/3, 1, and at a trial
START, END, TRIAL = 0, 3, 4


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
    return LANDING / run.rtol if run.along != 0 else 0.0


@inner
def event_values(slots, model, method, run, theta, loop, events, row):
    """Event functions at T + θ H_USED into a row of ev_f."""
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
        )  # fmt: skip
        if status != OK:
            return status
        t = run.t + theta * run.h_used
    call_model(model, EVENTS, t, xe, 0, ke, size.nq, ev_f, row * size.n_events)
    return NOT_FINITE if has_nan(ev_f, row, size.n_events) else OK


@leaf
def has_nan(ev_f, row, nev):
    """Tell whether an event function is NaN in a row of values."""
    for k in range(nev):
        if ev_f[row, k] != ev_f[row, k]:
            return True
    return False


@leaf
def sign_of(value):
    """-1, 0 or 1"""
    return 1 if value > 0.0 else (-1 if value < 0.0 else 0)


@leaf
def keep(found_theta, found, count, theta, k, sign):
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
def dip(ev_f, k, third, sign):
    """θ in (third/3, (third+1)/3) where event k comes closer to zero than at both ends, or -1.

    By the cubic through the four values of the step.
    """
    f0, f1, f2, f3 = ev_f[0, k], ev_f[1, k], ev_f[2, k], ev_f[3, k]
    # Newton's form in s = 3 θ: f0 + d1 s + d2 s(s-1)/2 + d3 s(s-1)(s-2)/6
    d1, d2, d3 = f1 - f0, f2 - 2.0 * f1 + f0, f3 - 3.0 * f2 + 3.0 * f1 - f0
    a, b, c = 0.5 * d3, d2 - d3, d1 - 0.5 * d2 + d3 / 3.0  # derivative: a s² + b s + c
    least = min(abs(ev_f[third, k]), abs(ev_f[third + 1, k]))
    root = b * b - 4.0 * a * c
    if root < 0.0:
        return -1.0
    pivot = -0.5 * (b + math.copysign(math.sqrt(root), b))
    for i in range(2):
        below, above = (a, pivot) if i == 0 else (pivot, c)
        if below == 0.0:
            continue
        s = above / below
        if s > third and s < third + 1:
            value = f0 + s * (d1 + 0.5 * (s - 1.0) * (d2 + (s - 2.0) * d3 / 3.0))
            if sign * value < least:
                return s / 3.0
    return -1.0


@inner
def bottom(slots, model, method, run, loop, events, k, third, sign):
    """θ in this third where event k, of one sign at both ends, has the other; its value stands in TRIAL.

    -1 where there is none, -10 and below is minus a status. The deepest point is sought by parabolas.
    """
    ev_f = events.values
    m = dip(ev_f, k, third, sign)
    if m < 0.0:
        return -1.0
    a, b = third / 3.0, (third + 1) / 3.0
    fa, fb = ev_f[third, k], ev_f[third + 1, k]
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
def find_events(slots, model, method, run, loop, events):
    """Collect the crossings of this step in order of time; return their number, or minus a status.

    Signs at the end of the step go to NEXT: they count once the step is accepted. ACCUMULATES: an event that has
    just mapped the state happens again at once.
    """
    size = model.size
    ev, ev_f, found_theta, found = events.marks, events.values, events.theta, events.found
    for third in range(1, 4):
        theta = third / 3.0 if third < 3 else 1.0
        status = event_values(slots, model, method, run, theta, loop, events, third)
        if status != OK:
            return -status
    count = 0
    for k in range(size.n_events):
        sign, wanted = ev[SIGN, k], ev[DIRECTION, k]
        for third in range(3):
            a, b = third / 3.0, (third + 1) / 3.0 if third < 2 else 1.0
            fa, fb = ev_f[third, k], ev_f[third + 1, k]
            new = sign_of(fb)
            if new == 0:
                continue
            if sign == COUNTED or sign == AT_START:
                left = ev[LEAD, k] if ev[LEAD, k] != 0 else new
                if sign == COUNTED and ev[LEAD, k] == 0 and ev[STOPS, k] != 0 and ev[CAME, k] == new:
                    run.retake = k + 1  # mapped, left without speed, and now it passes on
                    return -ACCUMULATES
                if sign == AT_START and (wanted == 0 or wanted == left):
                    count = keep(found_theta, found, count, 0.0, k, left)
                sign = new
                if new != left and (wanted == 0 or wanted == new):
                    zero = way_back(slots, model, method, run, loop, events, k, left, b, fb)
                    if zero < 0.0:
                        return int(zero)
                    if zero > 0.0:
                        count = keep(found_theta, found, count, zero, k, new)
                    elif ev[STOPS, k] != 0:
                        run.retake = k + 1
                        return -ACCUMULATES
            elif new != sign:
                sign = new
                if wanted == 0 or wanted == new:
                    zero = close_in(slots, model, method, run, loop, events, k, a, fa, b, fb)
                    if zero < 0.0:
                        return int(zero)
                    count = keep(found_theta, found, count, zero, k, new)
            elif fa != 0.0:
                middle = bottom(slots, model, method, run, loop, events, k, third, sign)
                if middle < -1.0:
                    return int(middle)
                if middle < 0.0:
                    continue
                value = ev_f[TRIAL, k]
                if wanted == 0 or wanted == -sign:
                    zero = close_in(slots, model, method, run, loop, events, k, a, fa, middle, value)
                    if zero < 0.0:
                        return int(zero)
                    count = keep(found_theta, found, count, zero, k, -sign)
                if wanted == 0 or wanted == sign:
                    zero = close_in(slots, model, method, run, loop, events, k, middle, value, b, fb)
                    if zero < 0.0:
                        return int(zero)
                    count = keep(found_theta, found, count, zero, k, sign)
        ev[NEXT, k] = sign
    return count


@inner
def resolution(run):
    """The smallest θ that time itself can tell from 0."""
    return 8.0 * EPS * max(abs(run.t), abs(run.t_new)) / abs(run.h_used)


@inner
def close_in(slots, model, method, run, loop, events, k, a, fa, b, fb):
    """Return θ of the zero of event k between a and b, where its signs differ; minus a status on failure."""
    ev_f = events.values
    tolerance = max(2.0 * EPS, 0.25 * resolution(run))
    if fa == 0.0:
        return a
    side = 0
    for i in range(MAX_ITERATIONS):
        if b - a <= tolerance:
            break
        c = (fa * b - fb * a) / (fa - fb) if i % 3 != 2 else 0.5 * (a + b)
        if not (c > a and c < b):
            c = 0.5 * (a + b)
        if c <= a or c >= b:
            break
        status = event_values(slots, model, method, run, c, loop, events, TRIAL)
        if status != OK:
            return -float(status)
        fc = ev_f[TRIAL, k]
        if fc == 0.0:
            return c
        if fc * fa > 0.0:
            a, fa = c, fc
            if side == 1:
                fb *= 0.5
            side = 1
        else:
            b, fb = c, fc
            if side == -1:
                fa *= 0.5
            side = -1
    return b


@inner
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
        if fa * left > 0.0:
            return close_in(slots, model, method, run, loop, events, k, a, fa, b, fb)
        b, fb = a, fa
        a *= 0.5
    return 0.0
