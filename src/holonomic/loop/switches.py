"""Where a step ends on a switch: its mode changes, and the run goes on with the field of the other one.

A mode is a number in data, ±∞ while a run follows the switch (see `model.switchboard`). It is constant within a step, so that the
field is smooth there; the zero of the switch is found as that of an event, and the step taken again to end on it. Then

    the mode becomes the sign towards which the function crosses; other switches, which may count now or no longer, take the
    sign that theirs have; the field is evaluated anew, methods that look back begin anew, and the next step is the one with
    which this mode was left before, or what the step was to be without the switch.

Where the new field leads straight back, both point towards the switch: there is no motion to either side, and the run goes on
along it, with the mean of both fields that stays on it (`kernels.sliding`), until that mean is one of them. FACING tells of
methods that cannot do that, and of two such switches at once.
"""

from __future__ import annotations

import math

from ..errors import EVENT, FACING, NOT_FINITE, OK
from ..kernels.evaluate import asks_for_function, evaluate
from ..kernels.memory import STEPPING, SWITCHING
from ..kernels.signatures import EVENTS, call_model
from ..kernels.sliding import sliding
from ..kernels.vectors import write_row
from ..native.marks import apart, inner, leaf
from ..native.types import f8
from .after_events import event_rates, forget_steps, leave_path
from .begin import enter_point
from .event_search import (
    CAME,
    CHECK,
    COUNTED,
    DIRECTION,
    FIRED,
    HOLDS_AT_ZERO,
    LEAD,
    NEVER,
    SIGN,
    START,
    STEP,
    STOPS,
    TRIAL,
    has_nan,
    sign_of,
)
from .lenience import loosen
from .look import write_event

MOST_AT_ONCE = 20  # changes of one instant, for each switch: more are no motion
# How a change is written among the events, behind their numbers: of each switch, whether it is true from here on, 2 more where it
# did not cross zero but counts from here on, or no longer; and ALONG where the motion goes along it from here on.
CODES, ALONG = 8, 4
SAME, SLOWLY = 1e-9, 1e-5  # values and rates, beside the fastest of the state, of switches that are zero together
AHEAD = 1e-6  # of a step: where a switch is looked at that has no value here, or one beside another


@inner
def enter_modes(model, run, state, events):
    """Give every switch the mode of its sign where the run stands; of one that is zero, of the side to which the field leads.

    Where the field leads to neither side or to both, the comparison decides as it was written. A function may have to be
    compiled first.
    """
    size, ev, ev_f = model.size, events.marks, events.values
    nev, at = size.n_events, size.at_modes
    first = nev - size.n_switches
    forward = 1.0 if run.t_stop >= run.t else -1.0
    for j in range(size.n_switches):
        model.data[at + j] = 0.0
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    for k in range(first, nev):
        model.data[at + k - first] = math.inf if ev_f[TRIAL, k] > 0.0 else -math.inf
        ev[FIRED, k] = 1 if ev_f[TRIAL, k] == 0.0 else 0
    for k in range(first, nev):
        if ev[FIRED, k] == 0:
            continue
        falls = rises = 0.0
        for side in range(2):
            model.data[at + k - first] = math.inf if side == 1 else -math.inf
            status = evaluate(model, run, run.t, state.x, state.K, 0, state.W)
            if asks_for_function(status):
                return status
            if status == OK:
                event_rates(model, run, state, events)
                if side == 1:
                    rises = forward * events.rates[k]
                else:
                    falls = -forward * events.rates[k]
        if falls < 0.0 and rises < 0.0 and size.may_slide != 0 and sliding(model) < 0:
            model.data[at + k - first] = math.nan
            continue
        below, above = falls > 0.0 or (falls == 0.0 and rises < 0.0), rises > 0.0 or (rises == 0.0 and falls < 0.0)
        true = above if below != above else ev[STOPS, k] == HOLDS_AT_ZERO
        model.data[at + k - first] = math.inf if true else -math.inf
    run.evaluated = 0
    return OK


@leaf
def known(value: f8):
    """A value, or 0 where there is none: at the zero of a switch, one inside its branch may be NaN by rounding."""
    return value if value == value else 0.0


@inner
def arm_switches(model, run, state, events):
    """Note on which side of zero switches start; one that is zero goes on to the side of its mode."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    first = nev - size.n_switches
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    run.event_past = 0.0
    run.event_reach = 0.0
    along = sliding(model)
    if along >= 0:  # for α
        evaluate(model, run, run.t, state.x, state.K, 0, state.W)
    watch_others(model, run, state, events, along)
    for k in range(first, nev):
        if k - first == along:
            arm_along(run, ev, ev_f, k)
            continue
        value = known(ev_f[TRIAL, k])
        mode = sign_of(model.data[size.at_modes + k - first])
        ev_f[START, k] = value
        ev[SIGN, k], ev[LEAD, k], ev[FIRED, k] = mode if sign_of(value) == mode else COUNTED, mode, 0


@inner
def arm_along(run, ev, ev_f, k):
    """Of a switch along which the motion goes, α (1 - α) is watched, which is positive."""
    ev_f[START, k] = run.share * (1.0 - run.share)
    ev[SIGN, k], ev[LEAD, k], ev[FIRED, k] = COUNTED if ev_f[START, k] <= 0.0 else 1, 1, 0


@inner
def rates_here(model, run, state, events):
    """Time derivatives of all that is watched, where the field has just been evaluated."""
    size = model.size
    if sliding(model) < 0:
        event_rates(model, run, state, events)
        return
    for k in range(2 * size.n_events):
        events.rates[k] = state.W[size.at_sliding + k]


@inner
def watch_others(model, run, state, events, along):
    """Do not watch switches that are zero along the one on which the motion goes, as `v < 0` beside `v > 0`; all others are."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    first = nev - size.n_switches
    for k in range(first, nev):
        ev[DIRECTION, k] = 0
    if along < 0:
        return
    # A little ahead along the motion: rates are not those of functions that count in one of its two fields alone.
    ahead, W, at, fastest = AHEAD * run.h, state.W, size.at_sliding + 4 * nev, 1.0
    for i in range(size.nq + size.nv):
        W[at + i] = state.x[i] + ahead * state.K[0, i]
        fastest = max(fastest, abs(state.K[0, i]))
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    call_model(model, EVENTS, run.t + ahead, W, at, state.K, size.nq, ev_f, CHECK * nev)
    for k in range(first, nev):
        here, there = ev_f[TRIAL, k], ev_f[CHECK, k]
        if k - first != along and abs(here) <= SAME * fastest and abs(there - here) <= SLOWLY * abs(ahead) * fastest:
            ev[DIRECTION, k] = NEVER


@apart
def change_modes(model, run, loop, events):
    """Change the modes of the switches that cross zero here; EVENT where Python has to deal with an event first."""
    size, state = model.size, loop.state
    ev, ev_f = events.marks, events.values
    first = size.n_events - size.n_switches
    for k in range(first):
        if ev[FIRED, k] != 0 and ev[STOPS, k] != 0:
            return EVENT
    forward = 1.0 if run.t_stop >= run.t else -1.0
    along = sliding(model)
    if along >= 0:
        status = evaluate(model, run, run.t, state.x, state.K, 0, state.W)
        if status != OK:
            return status
    if run.evaluated != 0:
        rates_here(model, run, state, events)
    else:
        for k in range(2 * size.n_events):
            events.rates[k] = 0.0
    if run.t != run.t_switch:
        run.t_switch = run.t
        run.at_once = 0
    for k in range(first, size.n_events):
        towards = ev[FIRED, k]
        if towards == 0:
            continue
        if k - first == along:  # it leaves the switch, to the side whose field is the whole of it
            ev[FIRED, k] = 0
            left = 0 if run.share > 0.5 else 1
            model.data[size.at_modes + k - first] = math.inf if left == 0 else -math.inf
            write_event(events, run, size.n_events + CODES * (k - first) + 1 - left, run.t, state.x, state.K, 0, size)
            run.h = run.h_whole
            run.at_once += 1
            continue
        run.switched = k - first + 1
        if forward * towards * events.rates[k] < 0.0:
            ev[FIRED, k] = 0  # rounding alone made it cross
            run.at_once += 1
            continue
        run.at_once += 1
        left = 0 if towards > 0 else 1
        ev_f[STEP + left, k] = run.h_whole
        run.h = ev_f[STEP + 1 - left, k] if ev_f[STEP + 1 - left, k] != 0.0 else run.h_whole
        model.data[size.at_modes + k - first] = towards * math.inf
        write_event(events, run, size.n_events + CODES * (k - first) + 1 - left, run.t, state.x, state.K, 0, size)
    if along >= 0 and sliding(model) < 0:
        watch_others(model, run, state, events, -1)
    leave_path(run)
    run.evaluated = 0
    run.phase = SWITCHING
    return FACING if run.at_once > MOST_AT_ONCE * size.n_switches else OK


@inner
def follow_others(model, run, state, events):
    """Give switches that did not cross zero here the modes of their signs: what counts has changed."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    first = nev - size.n_switches
    for _ in range(size.n_switches + 1):
        call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
        settled = True
        for k in range(first, nev):
            at = size.at_modes + k - first
            value = ev_f[TRIAL, k]
            if ev[FIRED, k] == 0 and ev[SIGN, k] != COUNTED and sign_of(value) * model.data[at] < 0.0:
                model.data[at] = sign_of(value) * math.inf
                write_event(
                    events, run, nev + CODES * (k - first) + 2 + (1 if value > 0.0 else 0), run.t, state.x, state.K, 0, size
                )  # fmt: skip
                settled = False
        if settled:
            return


@inner
def look_ahead(model, run, loop, events):
    """Give switches that have no value here, by rounding, the sign a little ahead; tell whether any changed."""
    size, state, xe, ev_f = model.size, loop.state, loop.inside.x, events.values
    nev = size.n_events
    first = nev - size.n_switches
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, START * nev)
    if not has_nan(ev_f, START, nev):
        return False
    ahead = AHEAD * run.h_used
    for i in range(size.nx):
        xe[i] = state.x[i]
    for i in range(size.nq + size.nv):
        xe[i] += ahead * state.K[0, i]
    call_model(model, EVENTS, run.t + ahead, xe, 0, state.K, size.nq, ev_f, TRIAL * nev)
    changed = False
    for k in range(first, nev):
        at, value = size.at_modes + k - first, ev_f[TRIAL, k]
        if ev_f[START, k] != ev_f[START, k] and sign_of(value) * model.data[at] < 0.0:
            model.data[at] = sign_of(value) * math.inf
            code = nev + CODES * (k - first) + 2 + (1 if value > 0.0 else 0)
            write_event(events, run, code, run.t, state.x, state.K, 0, size)
            changed = True
    return changed


@apart
def go_on_in_mode(model, run, loop, record, events):
    """Begin anew where modes have changed; a function may have to be compiled first."""
    size, state = model.size, loop.state
    ev_f = events.values
    nev = size.n_events
    first = nev - size.n_switches
    follow_others(model, run, state, events)
    for i in range(size.nq + size.nv, size.nx):
        state.x[i] = 0.0
    forget_steps(run, state.K, 1)
    status = enter_point(model, run, state)
    if status != OK and not asks_for_function(status) and loosen(model, run, status):
        status = enter_point(model, run, state)
    if status == OK and look_ahead(model, run, loop, events):
        status = enter_point(model, run, state)
    if status != OK:
        return status
    run.phase = STEPPING
    run.err_old, run.h_before, run.h_sure = 1e-4, 0.0, 0.0
    run.after_reject = run.stiff_steps = run.nonstiff_steps = run.prepared = 0
    if run.fixed != 0:
        run.h = run.h_fixed
        run.t_base = run.t
        run.step_number = 0
    at = run.rows - 1
    if at >= 0 and record.t[at] == run.t:
        write_row(record.t, record.x, record.k, at, run.t, state.x, state.K, 0, size.nq, size.nx, size.nk)
    rates_here(model, run, state, events)
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    if has_nan(ev_f, TRIAL, first):
        run.last_status = NOT_FINITE
        run.t_failed = run.t
        return NOT_FINITE
    facing = arm_again(model, run, state, events, first)
    if facing != FACING or size.may_slide == 0 or sliding(model) >= 0:
        return facing
    return go_along(model, run, loop, record, events)


@inner
def go_along(model, run, loop, record, events):
    """Go on along the switch towards which both fields lead."""
    size, state = model.size, loop.state
    j = int(run.switched) - 1
    model.data[size.at_modes + j] = math.nan
    write_event(events, run, size.n_events + CODES * j + ALONG, run.t, state.x, state.K, 0, size)
    run.h = run.h_whole
    status = enter_point(model, run, state)
    if status != OK:
        return status
    at = run.rows - 1
    if at >= 0 and record.t[at] == run.t:
        write_row(record.t, record.x, record.k, at, run.t, state.x, state.K, 0, size.nq, size.nx, size.nk)
    arm_switches(model, run, state, events)
    return OK


@inner
def arm_again(model, run, state, events, first):
    """Note on which side of zero all functions are in the new mode: EVENT where one of an event that stops has jumped over zero."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    forward = 1.0 if run.t_stop >= run.t else -1.0
    run.event_past = 0.0
    run.event_reach = 0.0
    found = OK
    for k in range(first):
        before, after, wanted = ev[SIGN, k], sign_of(ev_f[TRIAL, k]), ev[DIRECTION, k]
        ev_f[START, k] = ev_f[TRIAL, k]
        ev[FIRED, k] = 0
        if run.event_field == 0 or after == 0 or before == after:
            continue
        ev[SIGN, k], ev[CAME, k] = after, 0
        if before == -after and (wanted == 0 or wanted == after):
            write_event(events, run, k, run.t, state.x, state.K, 0, size)
            found = EVENT if ev[STOPS, k] != 0 else found
    for k in range(first, nev):
        value, crossed = known(ev_f[TRIAL, k]), ev[FIRED, k]
        if model.data[size.at_modes + k - first] != model.data[size.at_modes + k - first]:
            arm_along(run, ev, ev_f, k)
            continue
        ev_f[START, k], ev[FIRED, k] = value, 0
        mode = sign_of(model.data[size.at_modes + k - first])
        ev[SIGN, k], ev[LEAD, k] = COUNTED if crossed != 0 or sign_of(value) != mode else mode, mode
        if crossed != 0 and forward * mode * events.rates[k] < 0.0:
            run.switched = k - first + 1
            run.t_failed = run.t
            found = FACING
    return found
