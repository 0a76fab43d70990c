"""Selects that wake, and those that are put to sleep again.

A function with a corner or a jump inside, such as `np.where(d > 0, k * d, 0)`, `max(0, d)` or `np.sign(v)`, has modes like that of
an `if`, but they sleep: the values decide at every evaluation, nothing is watched, and where no step fails, every bit is as if
they were not there. An attempt that fails, by its error or otherwise, wakes those whose sign changes inside it, by its two ends
and by the straight line from the first: the corner is the reason, or may be. Their modes take the sign they have at the start,
where nothing changes; the attempt is taken again with the same length, and what comes is as for an `if`: see `switches`.

A step that passes may have leapt over what a select does inside, such as a short pulse. So what sleeps is bounded in every step, by
its slopes (see `event_bounds`). One that jumps is woken where both ends differ; at a mere corner, as of abs or max, a single change
is left to the error of the step. Where both ends are alike, and it is not sure that nothing happens between them, changes are
looked for on the cubic through the step: with any the select is woken, and the attempt taken again.

One that is zero where the step starts is given to the side to which the field leads, or to its zero itself: dry friction
by `np.sign(v)`, at rest. One that leads to what a run cannot follow, such as a zero that both sides point to and a method that
cannot go along it, is left to its values for the rest of the run: nothing is worse than it was without modes.
"""

from __future__ import annotations

import math

from ..errors import NEED_SWITCHES, OK
from ..kernels.evaluate import asks_for_function
from ..kernels.signatures import BOUNDS, EVENTS, call_model, has_function
from ..kernels.sliding import sleeps
from ..kernels.vectors import copy_row, write_row
from ..native.marks import apart, inner, leaf
from ..native.types import b1, f8, i8, mat
from .after_events import forget_steps
from .begin import enter_point
from .event_bounds import HEAD, bound_part, bound_step, is_decided, state_at, take_cubic
from .event_search import (
    CAME,
    CHECK,
    CORNER,
    COUNTED,
    DIRECTION,
    FAST,
    FIRED,
    HIGH,
    HOLDS_AT_ZERO,
    JUMPS,
    LARGEST,
    LEFT,
    LOW,
    NEXT,
    PIECE,
    ROUGH,
    SIGN,
    SLOW,
    START,
    STEP,
    STOPS,
    TRIAL,
    side_of,
    sign_of,
)
from .lenience import NO_MODE
from .sides import TIRED, arm_switches, enter_at_zero, settle_sides, write_mode

MOST_LOOKS, SHORTEST = 200, 1e-9  # parts of an attempt in which changes of selects are looked for, and the shortest one, in steps
OPEN = -1  # NEXT of a select of which that has to be done
PATIENCE = 3  # attempts that fail in a row: a weak corner costs one or two each time, and so does a zero that is met
WOKEN = -1  # status: the attempt is to be taken again, with other modes


@apart
def wake(model, run, loop, record, events):
    """Wake the selects that change inside an attempt that failed: WOKEN, or OK where there is none."""
    run.in_a_row += 1
    patience = PATIENCE if run.planned == 0 else 1  # it may be a select that changes with the switch where the attempt ends
    if run.in_a_row < patience or asleep(model) == 0:
        return OK
    if not has_function(model, EVENTS):
        run.in_a_row -= 1
        return NEED_SWITCHES
    size, state, xe, ev_f = model.size, loop.state, loop.inside.x, events.values
    nev, at, first = size.n_events, size.at_modes, size.n_events - size.n_switches
    let_count(model, events)
    for i in range(size.nx):
        xe[i] = state.x[i] + (run.h_tried * state.K[0, i] if i < size.nq + size.nv else 0.0)
    t_new = run.t + run.h_tried
    call_model(model, EVENTS, run.t, state.x, 0, loop.inside.K, size.nq, ev_f, TRIAL * nev)
    call_model(model, EVENTS, t_new, state.xn, 0, loop.inside.K, size.nq, ev_f, CHECK * nev)
    call_model(model, EVENTS, t_new, xe, 0, loop.inside.K, size.nq, ev_f, (CHECK + 1) * nev)
    for k in range(first, nev):
        here = sign_of(ev_f[TRIAL, k])
        if events.marks[FIRED, k] != 0 and sign_of(ev_f[CHECK, k]) == here and sign_of(ev_f[CHECK + 1, k]) == here:
            model.data[at + k - first] = 0.0
            events.marks[FIRED, k] = 0
    return wake_those(model, run, loop, record, events)


@inner
def asleep(model):
    """How many selects sleep, and may wake."""
    size, count = model.size, 0
    for j in range(size.n_switches - size.n_selects, size.n_switches):
        count += 1 if may_wake(model.data[size.at_modes + j]) else 0
    return count


@leaf
def may_wake(mode: f8):
    """Tell whether a mode is that of a select that sleeps and is not tired."""
    return mode == 0.0 and math.copysign(1.0, mode) > 0.0


@inner
def let_count(model, events):
    """Mark the selects that sleep, and let them count while their values decide; others may do so in an attempt, too."""
    size = model.size
    first, begin = size.n_events - size.n_switches, size.n_switches - size.n_selects
    for j in range(size.n_switches):
        sleeps = j >= begin and may_wake(model.data[size.at_modes + j])
        events.marks[FIRED, first + j] = 1 if sleeps else 0
        if sleeps:  # where both sides are equal, too
            model.data[size.at_modes + j] = NO_MODE if events.marks[STOPS, first + j] == HOLDS_AT_ZERO else -NO_MODE


@apart
def wake_hidden(model, run, loop, record, events):
    """Wake the selects that may change and change back inside an attempt that has passed: WOKEN, or OK where there is none."""
    if run.retake != 0 or run.lenient != 0 or run.along != 0 or not has_function(model, BOUNDS) or asleep(model) == 0:
        return OK
    size, state, ev_f = model.size, loop.state, events.values
    nev, at, first = size.n_events, size.at_modes, size.n_events - size.n_switches
    let_count(model, events)
    bound_step(model, run, state, events)
    unsure = 0
    for k in range(first, nev):
        if events.marks[FIRED, k] != 0 and is_sure(ev_f, k, events.marks[STOPS, k] == CORNER):
            model.data[at + k - first] = 0.0
            events.marks[FIRED, k] = 0
        unsure += 1 if events.marks[FIRED, k] != 0 else 0
    if unsure == 0:
        return OK
    if not has_function(model, EVENTS):
        for k in range(first, nev):
            if events.marks[FIRED, k] != 0:
                model.data[at + k - first] = 0.0
        return NEED_SWITCHES
    call_model(model, EVENTS, run.t, state.x, 0, loop.inside.K, size.nq, ev_f, TRIAL * nev)
    call_model(model, EVENTS, run.t + run.h_tried, state.xn, 0, loop.inside.K, size.nq, ev_f, CHECK * nev)
    unsure = 0
    for k in range(first, nev):
        if events.marks[FIRED, k] == 0:
            continue
        before, behind, jumps = ev_f[TRIAL, k], ev_f[CHECK, k], events.marks[STOPS, k] != CORNER
        if side_of(events.marks, k, before) != side_of(events.marks, k, behind):
            events.marks[NEXT, k] = 1 if jumps else 0
        else:
            events.marks[NEXT, k] = 0 if is_decided(events.marks, ev_f, k, before, behind, run.h_tried) else OPEN
            unsure += 1 if events.marks[NEXT, k] == OPEN else 0
    if unsure > 0:
        count_changes(model, run, loop, events)
        call_model(model, EVENTS, run.t, state.x, 0, loop.inside.K, size.nq, ev_f, TRIAL * nev)
    for k in range(first, nev):
        value = ev_f[TRIAL, k]
        if events.marks[FIRED, k] != 0 and (value != value or events.marks[NEXT, k] == 0):
            model.data[at + k - first] = 0.0
            events.marks[FIRED, k] = 0
        elif value == 0.0:  # it lies flat there: what it is, not where it goes
            ev_f[TRIAL, k] = side_of(events.marks, k, value) * NO_MODE
    return wake_those(model, run, loop, record, events)


@inner
def count_changes(model, run, loop, events):
    """Tell of the selects that are open whether they change in an attempt, on its cubic: NEXT is 1, or 0."""
    size, state, xe, ev, ev_f, W = model.size, loop.state, loop.inside.x, events.marks, events.values, loop.state.W
    nev, first, waiting = size.n_events, size.n_events - size.n_switches, size.at_curve + HEAD
    take_cubic(model, run, state)
    copy_row(ev_f, TRIAL, ev_f, PIECE, nev)
    W[waiting], depth, a, parts, unsure = 1.0, 1, 0.0, 0, True
    while depth > 0 and unsure and parts < MOST_LOOKS:
        b = W[waiting + depth - 1]
        bound_part(model, run, state, events, a, b)
        state_at(model, state, b, xe)
        call_model(model, EVENTS, run.t + b * run.h_tried, xe, 0, loop.inside.K, size.nq, ev_f, (PIECE + 1) * nev)
        parts += 1
        unsure = is_open = False
        for k in range(first, nev):
            fa, fb = ev_f[PIECE, k], ev_f[PIECE + 1, k]
            if ev[FIRED, k] == 0 or ev[NEXT, k] != OPEN:
                continue
            if side_of(ev, k, fa) != side_of(ev, k, fb):
                ev[NEXT, k] = 1  # and back again, as both ends of the step are alike
                continue
            unsure = True
            is_open = is_open or (b - a > SHORTEST and not is_decided(ev, ev_f, k, fa, fb, (b - a) * run.h_tried))
        if is_open:
            W[waiting + depth] = 0.5 * (a + b)
            depth += 1
            continue
        copy_row(ev_f, PIECE + 1, ev_f, PIECE, nev)
        a = b
        depth -= 1
    for k in range(first, nev):
        if ev[NEXT, k] == OPEN:
            ev[NEXT, k] = 1 if parts >= MOST_LOOKS else 0


@leaf
def is_sure(ev_f: mat, k: i8, corner: b1):
    """Tell whether what is bounded has one sign, or cannot be told at all; of a corner, too, whether it goes one way."""
    low, high, slow, fast = ev_f[LOW, k], ev_f[HIGH, k], ev_f[SLOW, k], ev_f[FAST, k]
    one_way = (slow >= 0.0 and fast < math.inf) or (fast <= 0.0 and slow > -math.inf)
    return low != low or low >= 0.0 or high <= 0.0 or (corner and one_way)


@inner
def wake_those(model, run, loop, record, events):
    """Wake the selects that are marked, by their values at the start of the attempt."""
    size, state, ev_f = model.size, loop.state, events.values
    nev, at, first = size.n_events, size.at_modes, size.n_events - size.n_switches
    woken, at_zero = 0, 0
    for k in range(first, nev):
        if events.marks[FIRED, k] == 0:
            continue
        here = sign_of(ev_f[TRIAL, k])
        woken += 1
        begin_watch(events, k, ev_f[TRIAL, k])
        model.data[at + k - first] = -math.inf if here < 0 else math.inf
        events.marks[FIRED, k] = 1 if here == 0 else 2
        at_zero += 1 if here == 0 else 0
    if woken == 0:
        return OK
    run.awake += woken
    for k in range(first, nev):
        if events.marks[FIRED, k] == 2:
            events.marks[FIRED, k] = 0
            write_mode(model, run, state, events, k - first, 2)
    run.rejected += 1
    run.retake = run.tries = 0
    run.h = run.h_tried
    if at_zero == 0:
        arm_switches(model, run, state, events)
        return WOKEN
    status = enter_at_zero(model, run, state, events)
    for k in range(first, nev):
        if events.marks[FIRED, k] == 1:
            write_mode(model, run, state, events, k - first, 2)
    status = again(model, run, loop, record, events) if status == OK else status
    if status == WOKEN or asks_for_function(status):
        return status
    put_to_sleep(model, run, state, events, -1)
    return again(model, run, loop, record, events)


@inner
def begin_watch(events, k, value):
    """Know nothing of a switch but its value: the arrays may be those of a run that is over."""
    ev, ev_f = events.marks, events.values
    ev[DIRECTION, k] = ev[CAME, k] = ev[NEXT, k] = ev[ROUGH, k] = ev[JUMPS, k] = 0
    ev_f[LARGEST, k], ev_f[LEFT, k] = abs(value), math.nan
    ev_f[STEP, k] = ev_f[STEP + 1, k] = 0.0


@inner
def clear_multipliers(size, x):
    """Forget what a formulation adds to q and v, which begins with what the field gives; y of a Dae goes on from where it is."""
    for i in range(size.nq + size.nv, size.nx if size.nv > 0 else 0):
        x[i] = 0.0


@inner
def again(model, run, loop, record, events):
    """Begin anew where modes have changed and nothing else: WOKEN, or what failed."""
    size, state = model.size, loop.state
    clear_multipliers(size, state.x)
    follow_changed(model, run, state, events)
    forget_steps(run, state.K, 1)
    arm_switches(model, run, state, events)
    status = enter_point(model, run, state)
    if status != OK:
        return status
    at = run.rows - 1
    if at >= 0 and record.t[at] == run.t:
        write_row(record.t, record.x, record.k, at, run.t, state.x, state.K, 0, size.nq, size.nx, size.nk)
    return WOKEN


@inner
def follow_changed(model, run, state, events):
    """Give switches whose functions jump as the modes of others have changed, as q (t > 1) > 0.1 at t = 1, the mode of their side.

    One that has just changed, and whose value is still that in front, is left.
    """
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    for k in range(nev - size.n_switches, nev):
        ev[FIRED, k] = 1 if ev[SIGN, k] == COUNTED and ev_f[TRIAL, k] == ev_f[START, k] else 0
    settle_sides(model, run, state, events, 1)


@inner
def put_to_sleep(model, run, state, events, only):
    """Leave select `only`, or all that are awake where it is -1, to their values from here on; tell how many that are."""
    size, put = model.size, 0
    for j in range(size.n_switches - size.n_selects, size.n_switches):
        if (only < 0 or j == only) and not sleeps(model, j):
            model.data[size.at_modes + j] = TIRED
            write_mode(model, run, state, events, j, 2)
            put += 1
    run.awake -= put
    return put
