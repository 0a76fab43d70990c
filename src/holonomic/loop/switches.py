"""Where a step ends on a switch: its mode changes, and the run goes on with the field of the other one.

A mode is a number in data, ±∞ while a run follows the switch (see `model.switchboard`). It is constant within a step, so that the
field is smooth there; the zero of the switch is found as that of an event, and the step taken again to end on it. Then

    the mode becomes the sign towards which the function crosses; other switches, which may count now or no longer, take the
    sign that theirs have; the field is evaluated anew, methods that look back begin anew, and the next step is the one with
    which this mode was left before, or what the step was to be without the switch.

Where the new field leads straight back, both point towards the switch: there is no motion to either side, and the run goes on
along it, with the mean of both fields that stays on it (`kernels.sliding`), until that mean is one of them. So it does along
several at once, as masses on each other that all stick. FACING tells of methods that cannot do that, and of fields that do
not add up.
"""

from __future__ import annotations

import math

from ..errors import EVENT, FACING, NOT_FINITE, OK
from ..kernels.evaluate import asks_for_function, evaluate
from ..kernels.memory import STEPPING, SWITCHING
from ..kernels.signatures import EVENTS, call_model
from ..kernels.sliding import is_along, likeness, share_of, sleeps, sliding
from ..kernels.vectors import write_row
from ..native.marks import apart, inner
from .after_events import forget_steps, leave_path, write_event
from .begin import enter_point
from .event_search import (
    CAME,
    CHECK,
    COUNTED,
    DIRECTION,
    FIRED,
    JUMPS,
    LEAD,
    LEFT_ALONG,
    NEVER,
    SIGN,
    START,
    STEP,
    STOPS,
    TRIAL,
    has_nan,
    side_of,
    sign_of,
)
from .lenience import loosen
from .sides import (
    AHEAD,
    SAME,
    arm_along,
    arm_at_zero,
    arm_switches,
    end_hold,
    forget_holds,
    holds_at,
    joins,
    known,
    leave_equality,
    may_join,
    rates_here,
    watch_others,
    write_equality,
    write_mode,
)
from .wake import WOKEN, again, clear_multipliers, put_to_sleep

JUST_BEHIND = 64.0 * 2.220446049250313e-16  # of time: where a jump is surely over that was met at an instant
MOST_AT_ONCE = 20  # changes of one instant, for each switch: more are no motion


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
    along = sliding(model) >= 0
    if along:
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
        forget_holds(model)
    if run.at_once > size.n_switches:
        change_one(model, run, events, forward)
    for k in range(size.n_events - 1, first - 1, -1):  # shares are counted from the first one that the motion goes along
        if ev[FIRED, k] != 0 and is_along(model, k - first):  # it leaves, to the side whose field is the whole of it
            leave(model, run, state, events, k - first, 1 if share_of(model, state.W, k - first) > 0.5 else -1)
            run.h = run.h_whole
            run.at_once += 1
    for k in range(first, size.n_events):
        towards = ev[FIRED, k]
        if abs(towards) != 1:
            continue
        run.switched = k - first + 1
        if ev[JUMPS, k] == 0 and forward * towards * events.rates[k] < 0.0:
            ev[FIRED, k] = 0  # rounding alone made it cross
            run.at_once += 1
            continue
        run.at_once += 1
        left = 0 if towards > 0 else 1
        ev_f[STEP + left, k] = run.h_whole
        run.h = ev_f[STEP + 1 - left, k] if ev_f[STEP + 1 - left, k] != 0.0 else run.h_whole
        model.data[size.at_modes + k - first] = towards * math.inf
        write_mode(model, run, state, events, k - first, 0)
        if ev[JUMPS, k] == 0:
            leave_equality(model, k - first)
    if along:
        watch_others(model, run, state, events)
    leave_path(run)
    run.evaluated = 0
    run.phase = SWITCHING
    if run.at_once <= MOST_AT_ONCE * size.n_switches:
        return OK
    if put_to_sleep(model, run, state, events, -1) == 0:
        return FACING
    run.at_once = 0
    return OK


@inner
def change_one(model, run, events, forward):
    """Of all that would change here leave the first one: where they go round together, one by one they come to an end."""
    size, ev = model.size, events.marks
    first, found = size.n_events - size.n_switches, False
    for k in range(first, size.n_events):
        towards = ev[FIRED, k]
        by_rounding = ev[JUMPS, k] == 0 and forward * towards * events.rates[k] < 0.0
        if towards == 0 or (not is_along(model, k - first) and by_rounding):
            continue
        if found:
            ev[FIRED, k] = 0
        found = True


@inner
def leave(model, run, state, events, j, side):
    """Let the motion along switch j go on to one side; those that are alike are on it, too."""
    size = model.size
    at, first = size.at_modes, size.n_events - size.n_switches
    for k in range(size.n_switches):
        alike = 1 if k == j else likeness(model, j, k)
        if alike == 0 or (k != j and sleeps(model, k)):
            continue
        events.marks[SIGN, first + k] = COUNTED  # its sign here is rounding
        events.marks[FIRED, first + k] = LEFT_ALONG
        if model.data[at + k] != alike * side * math.inf:
            model.data[at + k] = alike * side * math.inf
            write_mode(model, run, state, events, k, 0)
    end_hold(model, j)
    write_equality(model, run, state, events, j)


@inner
def follow_others(model, run, state, xe, events):
    """Give switches that did not cross here the modes of their sides: what counts has changed.

    One along which the motion went, and whose function is not there any more, is released: it counts no longer, or has jumped.
    """
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    first, fastest = nev - size.n_switches, 1.0
    for i in range(size.nq + size.nv):
        fastest = max(fastest, abs(state.K[0, i]))
    ahead = math.copysign(JUST_BEHIND * max(abs(run.t), abs(run.h_used)), run.h_used)
    for i in range(size.nx):
        xe[i] = state.x[i] + (ahead * state.K[0, i] if i < size.nq + size.nv else 0.0)
    for _ in range(size.n_switches + 1):
        call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
        call_model(model, EVENTS, run.t + ahead, xe, 0, state.K, size.nq, ev_f, CHECK * nev)
        settled = True
        for k in range(first, nev):
            at = size.at_modes + k - first
            value = ev_f[TRIAL, k]
            if is_along(model, k - first):
                released = abs(value) > SAME * fastest
            elif ev[FIRED, k] != 0 and ev[JUMPS, k] != 0:  # it may jump back, or not at all, as another one has changed
                value = ev_f[CHECK, k]
                released = value == value and side_of(ev, k, value) * model.data[at] < 0.0
            else:
                free = ev[FIRED, k] == 0 and ev[SIGN, k] != COUNTED and ev[DIRECTION, k] != NEVER and value == value
                released = free and not sleeps(model, k - first) and side_of(ev, k, value) * model.data[at] < 0.0
            if released:
                was_along = is_along(model, k - first)
                if was_along:
                    end_hold(model, k - first)
                    write_equality(model, run, state, events, k - first)
                model.data[at] = (1.0 if value > 0.0 else side_of(ev, k, value)) * math.inf
                write_mode(model, run, state, events, k - first, 2)
                settled = False
                if was_along:  # those that are alike are followed again
                    watch_others(model, run, state, events)
                    break
        if settled:
            return


@inner
def hold_here(model, run, state, events):
    """Let the motion stay on the switches that crossed here, if the branch taken at equality can hold it."""
    size, ev = model.size, events.marks
    first, found = size.n_events - size.n_switches, False
    for k in range(first, size.n_events):
        if abs(ev[FIRED, k]) != 1 or ev[JUMPS, k] != 0 or not holds_at(model, run, state, events, k - first, 1):
            continue
        found = True
        run.h = run.h_whole
        write_mode(model, run, state, events, k - first, 2)
        write_equality(model, run, state, events, k - first)
        for other in range(first, size.n_events):
            if other == k or likeness(model, k - first, other - first) != 0:
                ev[FIRED, other] = 0
    if found:
        watch_others(model, run, state, events)


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
            write_mode(model, run, state, events, k - first, 2)
            changed = True
    return changed


@apart
def go_on_in_mode(model, run, loop, record, events):
    """Begin anew where modes have changed; a function may have to be compiled first."""
    size, state = model.size, loop.state
    ev_f = events.values
    nev = size.n_events
    first = nev - size.n_switches
    follow_others(model, run, state, loop.inside.x, events)
    clear_multipliers(size, state.x)
    hold_here(model, run, state, events)
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
    if facing != FACING:
        return facing
    if size.may_slide != 0 and may_join(model):
        status = go_along(model, run, loop, record, events)
        if status != FACING:
            return status
    if put_to_sleep(model, run, state, events, int(run.switched) - 1) == 0:
        return FACING
    status = again(model, run, loop, record, events)
    return OK if status == WOKEN else status


@inner
def go_along(model, run, loop, record, events):
    """Go on along the switch towards which both fields lead, besides those along which it goes already; or FACING."""
    size, state = model.size, loop.state
    j = int(run.switched) - 1
    mode = model.data[size.at_modes + j]
    model.data[size.at_modes + j] = math.nan
    if not joins(model, run, state):
        model.data[size.at_modes + j] = mode
        return FACING
    write_mode(model, run, state, events, j, 2)
    run.h = run.h_whole
    status = enter_point(model, run, state)
    if status != OK:
        return status
    at = run.rows - 1
    if at >= 0 and record.t[at] == run.t:
        write_row(record.t, record.x, record.k, at, run.t, state.x, state.K, 0, size.nq, size.nx, size.nk)
    arm_switches(model, run, state, events)
    rates_here(model, run, state, events)
    for k in range(size.n_events - size.n_switches, size.n_events):
        if not is_along(model, k - size.n_events + size.n_switches):
            arm_at_zero(model, run, events, k)
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
        if is_along(model, k - first):
            arm_along(model, state, ev, ev_f, k)
            continue
        ev_f[START, k], ev[FIRED, k] = value, 0
        mode = 1 if sleeps(model, k - first) else sign_of(model.data[size.at_modes + k - first])
        ev[SIGN, k], ev[LEAD, k] = COUNTED if crossed != 0 or sign_of(value) != mode else mode, mode
        if crossed == 0:
            arm_at_zero(model, run, events, k)
        if abs(crossed) == 1 and ev[JUMPS, k] == 0 and forward * mode * events.rates[k] < 0.0:
            run.switched = k - first + 1
            run.t_failed = run.t
            found = FACING
    return found
