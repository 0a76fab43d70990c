"""How a step is cut into pieces in which functions can be followed that nothing bounds, such as opaque ones.

Steps follow the motion, and an event function may be much faster. So the cubic through its four values in a piece has to
predict two more values. Where it does not, the piece is too long for that function, and a shorter one is looked into, down
to a thousandth of the step. The next piece, in this step or the next one, is as long as this one suggests: a function
that oscillates is met by pieces of the right length from step to step, and a smooth one has the whole step as its piece.

The two values are evaluated inside the piece. Where the piece is a whole step, those inside the step before are known
already: if the cubic leads back to both of them, and closely, nothing has to be evaluated.

No step changes for that, unless more crossings lie in it than there is room for: then it is taken shorter.
"""

from __future__ import annotations

import math

from ..errors import OK
from ..kernels.signatures import EVENTS, call_interpolate, call_model
from ..kernels.sliding import sliding
from ..native.marks import inner, leaf
from ..native.types import f8, i8, int_mat, mat
from .event_search import (
    BEFORE,
    CHECK,
    DIRECTION,
    END,
    FIRED,
    IN_A_PIECE,
    INNER,
    LARGEST,
    LEFT,
    NEVER,
    NEXT,
    OUTER,
    PIECE,
    ROUGH,
    SAMPLED,
    SIGN,
    START,
    between,
    cubic,
    event_values,
    has_nan,
    point,
    search_piece,
)

# Where the cubic is checked, as shares of a piece: in its first and its second part, where a fourth power is off the most,
# and on no fraction.
FIRST_CHECK, SECOND_CHECK = 0.1339745962155614, 0.5436563656918091
MOST_OFF = 0.0138  # |s (s - INNER) (s - OUTER) (s - 1)| at most, for s from 0 to 1
# Of the larger value at the two ends of a part, the error of the cubic that is allowed in each part: sin over 2.5 rad.
TOLERANCE = 0.1
# What may be left of that where nothing is evaluated: sin over 1.5 rad. Going back is so sensitive that of functions that
# are faster than a step one in a thousand passes.
CLOSELY = 0.03
NEGLIGIBLE = 1e-6  # of the largest value: below this the curve itself is in doubt, which is not projected where it is checked
# Of the largest value so far: rounding. A ball that has come to rest 1000 m up is there to within 1e-13 m, after a fall of 1 m.
ROUNDING = 1e-9
FINEST = 1e-3  # of a step: the shortest piece
SHORTER = 0.3  # the next try after a piece that was too long
LONGER, LONGER_AFTER = 10.0, 3.0  # how much longer the next piece may be; where one was too long in this step
REACH = 2.0  # a step that is longer by this is tried in one piece all the same
# Shortest pieces, one after the other, after which a function is taken for rounding or noise: what they may hold, and the
# rest of the step in one piece, leaves room in a step.
GIVEN_UP = 4


@inner
def check_values(slots, model, method, run, theta, loop, events, row):
    """Event functions at t + θ h_used, not projected where that does: a projection takes longer than the rest."""
    size = model.size
    xe, ke = loop.inside.x, loop.inside.K
    ev_f = events.values
    if run.event_field == 0 and run.along == 0 and not (size.n_switches > 0 and sliding(model) >= 0):
        status = call_interpolate(slots, model, method, theta, run.h_used, loop.state, xe)
        if status == OK:
            t = run.t + theta * run.h_used
            call_model(model, EVENTS, t, xe, 0, ke, size.nq, ev_f, row * size.n_events)
            if not has_nan(ev_f, row, size.n_events):
                return OK
    return event_values(slots, model, method, run, theta, loop, events, row)


@leaf
def allowed(ev_f, k):
    """The error that the cubic of event k may have."""
    f0, f1, f2, f3 = abs(ev_f[PIECE, k]), abs(ev_f[PIECE + 1, k]), abs(ev_f[PIECE + 2, k]), abs(ev_f[PIECE + 3, k])
    least = min(max(f0, f1), max(f1, f2), max(f2, f3))
    return max(TOLERANCE * least + NEGLIGIBLE * max(f0, f1, f2, f3) + ROUNDING * ev_f[LARGEST, k], 1e-300)


@leaf
def off_at(ev_f, k, s, row):
    """By how much the cubic of event k misses its value in a row, at a share s of the piece."""
    return abs(ev_f[row, k] - cubic(ev_f, k, s))


@leaf
def scaled_off(ev_f, k, s, row):
    """The same at a point beside the piece, scaled to what it means inside."""
    return off_at(ev_f, k, s, row) * MOST_OFF / abs(s * (s - INNER) * (s - OUTER) * (s - 1.0))


@leaf
def worst_misfit(ev: int_mat, ev_f: mat, nev: i8):
    """The largest error of the cubic at the checks, of all events that have not been given up, in what is allowed.

    The error of each event is kept in the place of its first check.
    """
    worst = 0.0
    for k in range(nev):
        off = max(off_at(ev_f, k, FIRST_CHECK, CHECK), off_at(ev_f, k, SECOND_CHECK, CHECK + 1)) / allowed(ev_f, k)
        if ev[DIRECTION, k] == NEVER or ev[SAMPLED, k] == 0:
            off = 0.0
        ev_f[CHECK, k] = off
        if off > worst and ev[ROUGH, k] < GIVEN_UP:
            worst = off
    return worst


@leaf
def misfit_before(ev: int_mat, ev_f: mat, nev: i8, past: f8):
    """The same from the two values before, inside a piece of length `past`, in steps: where it is small they are enough."""
    worst = 0.0
    inner, outer = past * (INNER - 1.0), past * (OUTER - 1.0)
    for k in range(nev):
        off = max(scaled_off(ev_f, k, inner, BEFORE), scaled_off(ev_f, k, outer, BEFORE + 1)) / allowed(ev_f, k)
        if not off > CLOSELY and ev[SAMPLED, k] != 0:
            ev[ROUGH, k] = 0
        if off > worst and ev[ROUGH, k] < GIVEN_UP and ev[DIRECTION, k] != NEVER and ev[SAMPLED, k] != 0:
            worst = off
    return worst


@leaf
def note_rough(ev: int_mat, ev_f: mat, nev: i8, t: f8):
    """Count the shortest pieces that were too long for an event, one after the other; tell whether one is given up now, at t."""
    given_up = False
    for k in range(nev):
        if ev[SAMPLED, k] == 0:
            continue
        if not ev_f[CHECK, k] > 1.0:
            ev[ROUGH, k] = 0
        elif ev[ROUGH, k] < GIVEN_UP:
            ev[ROUGH, k] += 1
            if ev[ROUGH, k] == GIVEN_UP:
                given_up = True
                if math.isnan(ev_f[LEFT, k]):
                    ev_f[LEFT, k] = t
    return given_up


@leaf
def begin_step(ev: int_mat, nev: i8):
    """Signs at the start of the step are those at the start of its first piece."""
    for k in range(nev):
        ev[FIRED, k] = 0
        ev[NEXT, k] = ev[SIGN, k]


@leaf
def next_piece(ev_f: mat, nev: i8):
    """Values at the end of a piece are those at the start of the next one."""
    for k in range(nev):
        ev_f[PIECE, k] = ev_f[END, k]


@inner
def end_step(run, ev, ev_f, nev):
    """The step is accepted: its end is the start of the next one, and the points inside its last piece lie before it."""
    for k in range(nev):
        ev[SIGN, k] = ev[NEXT, k]
        ev_f[START, k] = ev_f[END, k]
        ev_f[BEFORE, k] = ev_f[PIECE + 1, k]
        ev_f[BEFORE + 1, k] = ev_f[PIECE + 2, k]
        largest = max(abs(ev_f[PIECE + 1, k]), abs(ev_f[PIECE + 2, k]), abs(ev_f[END, k]))
        if largest > ev_f[LARGEST, k]:
            ev_f[LARGEST, k] = largest
    run.event_past = run.event_piece


@inner
def values_in_piece(slots, model, method, run, loop, events, first, last):
    """Event functions at the points of a piece."""
    for part in range(1, 4):
        theta = between(first, last, point(part))
        status = event_values(slots, model, method, run, theta, loop, events, PIECE + part)
        if status != OK:
            return status
    return OK


@inner
def check_piece(slots, model, method, run, loop, events, first, last):
    """The worst misfit of the events in a piece, or minus a status."""
    ev, ev_f = events.marks, events.values
    nev = model.size.n_events
    if last - first == 1.0 and run.event_past > 0.0:
        worst = misfit_before(ev, ev_f, nev, run.event_past / abs(run.h_used))
        if worst <= CLOSELY:
            return worst
    status = check_values(slots, model, method, run, between(first, last, FIRST_CHECK), loop, events, CHECK)
    if status == OK:
        status = check_values(slots, model, method, run, between(first, last, SECOND_CHECK), loop, events, CHECK + 1)
    if status != OK:
        return -float(status)
    return worst_misfit(ev, ev_f, nev)


@inner
def find_sampled(slots, model, method, run, loop, events, stop, count):
    """Collect the crossings of sampled functions up to θ = stop, beside `count` others; return their number, or minus a status.

    The step has been looked into up to θ = run.looked, which is `stop` unless there is no room for more crossings.
    """
    ev, ev_f = events.marks, events.values
    nev = model.size.n_events
    for k in range(nev):
        ev_f[PIECE, k] = ev_f[START, k]
    h = abs(run.h_used)
    width, longer = 1.0, LONGER
    if run.event_reach > 0.0 and REACH * run.event_reach < h:
        width = max(FINEST, run.event_reach / h)
    run.looked = 0.0
    while run.looked < stop:
        if count + (IN_A_PIECE + 1) * nev > events.theta.shape[0]:  # one to spare, for what ends the step
            return count
        first = run.looked
        last = first + width
        if first + 1.2 * width > 1.0:
            last = 1.0
        status = values_in_piece(slots, model, method, run, loop, events, first, last)
        if status != OK:
            return -status
        worst = check_piece(slots, model, method, run, loop, events, first, last)
        if worst < 0.0:
            return int(worst)
        shortest = last - first <= 1.25 * FINEST
        if worst > 1.0 and not shortest:
            width = max(FINEST, SHORTER * (last - first))
            longer = LONGER_AFTER
            continue
        given_up = shortest and note_rough(ev, ev_f, nev, run.t + first * run.h_used)
        count = search_piece(slots, model, method, run, loop, events, first, last, count)
        if count < 0:
            return count
        if given_up:
            width = 1.0  # for the others
        elif worst <= 1.0:  # the error grows with the fourth power
            width = max(width, (last - first) * min(longer, max(1.0, (0.3 / max(worst, 1e-9)) ** 0.25)))
        run.event_reach = width * h
        run.event_piece = (last - first) * h
        run.looked = last
        next_piece(ev_f, nev)
    return count
