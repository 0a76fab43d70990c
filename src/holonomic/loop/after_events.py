"""What events do to a run that no Python attends: told, ended, or its state mapped and the run gone on with.

The same as `running.watching` and `running.walk` do between two calls of the loop, compiled. Maps are operators of the model that
follow those of `Fn`; velocities are made consistent as by an impulse, as in `starts`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import ACCUMULATES, EVENT, NOT_FINITE, OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import PASSING, STEPPING
from ..kernels.signatures import EVENT_RATES, EVENTS, RESIDUAL, call_function, call_model
from ..kernels.vectors import write_row
from ..native.marks import inner
from ..native.types import Group, ints, mat, vec
from .begin import enter_again
from .event_search import (
    AT_START,
    CAME,
    COUNTED,
    DIRECTION,
    END,
    LARGEST,
    LEAD,
    LEFT,
    PIECE,
    ROUGH,
    SIGN,
    START,
    STOPS,
    TRIAL,
    has_nan,
    sign_of,
)
from .starts import FINE, by_impulse, distances_here

TOLD, ENDS, MAPS = 0, 1, 2  # kinds of events
MAP_FAILED = 110  # the map of an event left the constraints, or no velocity is consistent there
MANY_IMPACTS = 50  # in ever shorter order: they accumulate
SHORT_WAIT = 1e-5  # of the longest wait for an impact
LAST, LONGEST, WAITS, WAIT = 0, 1, 2, 3  # columns of `waits`: time of the last impact, longest wait, how many waits; these
DIFFERENCE = 1e-5  # relative step of central differences: truncation 1e-10, rounding 1e-11
UNCLEAR, UNCLEAR_ESTIMATE = 1e-14, 1e-9  # of the sum of sizes: a derivative below this may be rounding
STILL = 1e-12  # of what a function went through in the step before: what a mapping leaves below this has no speed
OFF = 1e-8  # how far off the constraints an impact may find the position


class Impacts(NamedTuple):
    """Events of a run that no Python attends."""

    kinds: Any  # TOLD, ENDS or MAPS, by event
    fired: Any  # 1 for those that happen now
    waits: Any  # (event, column)
    log_t: Any  # times of those since the last call
    log: Any  # which
    counts: Any  # in the log, then of each event since the start
    new: Any  # a state that is mapped, and room behind it
    numbers: Any  # of the first map among the operators; 1 for a method that takes several steps together


IMPACTS = Group(Impacts, (ints, ints, mat, vec, ints, ints, vec, ints))


@inner
def collect_events(run, events, impacts):
    """Write down what the loop has found; where the log is full, it is counted alone."""
    for row in range(run.event_rows):
        k, at = events.index[row], impacts.counts[0]
        if k < 0:  # taken back
            continue
        if at < impacts.log_t.shape[0]:
            impacts.log_t[at], impacts.log[at] = events.t[row], k
            impacts.counts[0] = at + 1
        impacts.counts[1 + k] += 1
    run.event_rows = 0


@inner
def write_event(events, run, k, t, x, K, stage, size):
    """Write down event k."""
    row = run.event_rows
    write_row(events.t, events.x, events.k, row, t, x, K, stage, size.nq, size.nx, size.nk)
    events.index[row] = k
    run.event_rows += 1


@inner
def event_rates(model, run, state, events):
    """Time derivatives of the event functions at the current state into `rates`; 0 where rounding decides their sign."""
    size, rates, ev_f, x, K = model.size, events.rates, events.values, state.x, state.K
    nev, nz = size.n_events, size.nq + size.nv
    share = UNCLEAR
    if run.event_field == 0:
        call_model(model, EVENT_RATES, run.t, x, 0, K, size.nq, rates, 0)
    else:
        share = UNCLEAR_ESTIMATE
        for k in range(2 * nev):
            rates[k] = 0.0
        for i in range(-1, nz):
            change = 1.0 if i < 0 else K[0, i]
            if change == 0.0:
                continue
            here = run.t if i < 0 else x[i]
            step = DIFFERENCE * (1.0 + abs(here))
            for side in range(2):
                moved = here + (step if side == 0 else -step)
                t = moved if i < 0 else run.t
                if i >= 0:
                    x[i] = moved
                status = evaluate(model, run, t, x, K, 1, state.W)
                if status == OK:
                    call_model(model, EVENTS, t, x, 0, K, K.shape[1] + size.nq, ev_f, (TRIAL + side) * nev)
                if i >= 0:
                    x[i] = here
                if status != OK:
                    for k in range(2 * nev):
                        rates[k] = 0.0
                    return
            for k in range(nev):
                part = change * (ev_f[TRIAL, k] - ev_f[TRIAL + 1, k]) / (2.0 * step)
                rates[k] += part
                rates[nev + k] += abs(part)
    for k in range(nev):
        if not abs(rates[k]) > share * rates[nev + k]:
            rates[k] = 0.0


@inner
def usual_size(ev_f, k):
    """The largest value of an event function inside the piece of a step that led here."""
    usual = 0.0
    for row in range(PIECE + 1, END):
        usual = max(usual, abs(ev_f[row, k]))
    return usual


@inner
def arm(model, run, state, events, fired, fresh):
    """Note on which side of zero the event functions start, and where they leave zero, to which side.

    Unless it is `fresh`, events that have just happened start from zero unless their mapping has clearly moved them off it.
    """
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    if has_nan(ev_f, TRIAL, nev):
        run.last_status = NOT_FINITE
        run.t_failed = run.t
        return NOT_FINITE
    run.event_past = 0.0
    run.event_reach = 0.0
    any_zero = False
    for k in range(nev):
        value = ev_f[TRIAL, k]
        zero = value == 0.0
        if not fresh and fired[k] != 0:
            zero = zero or abs(value) <= 1e-9 * usual_size(ev_f, k) + 4.0 * abs(ev_f[START, k])
        if fresh:
            ev[ROUGH, k] = 0
            ev_f[LARGEST, k], ev_f[LEFT, k] = abs(value), math.nan
        ev[SIGN, k], ev[LEAD, k], ev_f[START, k] = sign_of(value), 0, value
        if zero:
            ev[SIGN, k] = AT_START if fresh else COUNTED
            any_zero = True
    if any_zero:
        event_rates(model, run, state, events)
        for k in range(nev):
            if ev[SIGN, k] == AT_START or ev[SIGN, k] == COUNTED:
                ev[LEAD, k] = sign_of(events.rates[k])
                if ev[SIGN, k] == COUNTED and abs(events.rates[k] * run.h_used) < STILL * usual_size(ev_f, k):
                    ev[LEAD, k] = 0
    return OK


@inner
def accumulates(run, waits, k):
    """Note that event k maps the state; tell whether it does so in ever shorter order."""
    wait = abs(run.t - waits[k, LAST])
    n = int(waits[k, WAITS])
    if n == MANY_IMPACTS:
        for i in range(n - 1):
            waits[k, WAIT + i] = waits[k, WAIT + i + 1]
        n -= 1
    waits[k, WAIT + n] = wait
    waits[k, LAST] = run.t
    waits[k, WAITS] = n + 1
    waits[k, LONGEST] = max(waits[k, LONGEST], wait)
    if n + 1 < MANY_IMPACTS:
        return False
    most = 0.0
    for i in range(MANY_IMPACTS):
        most = max(most, waits[k, WAIT + i])
    return most <= SHORT_WAIT * waits[k, LONGEST] and wait <= 0.5 * waits[k, WAIT]


@inner
def mapped(model, impact_model, t, state, room, impacts, k):
    """Apply the map of event k to the state; where there are constraints, the velocity is made consistent by impulses."""
    size, x, new = model.size, state.x, impacts.new
    nz = size.nq + size.nv
    call_function(model.fns, impacts.numbers[0] + k, t, x, 0, model.data, 0, model.data, new, 0)
    for i in range(nz):
        if not abs(new[i]) <= 1e300:
            return MAP_FAILED
    if impact_model.size.nl == 0:
        for i in range(nz):
            x[i] = new[i]
        return OK
    found = new[nz:]
    for i in range(nz):
        room.z[i] = x[i]
    distances_here(impact_model, t, room, found)
    before = found[0]
    for i in range(nz):
        room.z[i] = new[i]
    distances_here(impact_model, t, room, found)
    if not found[0] <= max(OFF, 2.0 * before):
        return MAP_FAILED
    if by_impulse(impact_model, t, room) != FINE:
        return MAP_FAILED
    for i in range(nz):
        x[i] = room.z[i]
    return OK


@inner
def go_on_from(model, impact_model, run, loop, events, room, impacts):
    """Go on from another state at the same time: new first step, controller memory forgotten, invariants kept at their values."""
    size, state = model.size, loop.state
    x, start = state.x, impact_model.size
    if start.n_invariants > 0:
        for i in range(start.n_invariants):
            model.data[start.at_invariants + i] = 0.0
        call_function(impact_model.fns, RESIDUAL, run.t, x, 0, x, 0, model.data, room.g, 0)
        for i in range(start.n_invariants):
            model.data[start.at_invariants + i] = room.g[start.n_constraints + i]
    leave_path(run)
    run.err_old, run.h_before, run.h_sure = 1e-4, 0.0, 0.0
    run.after_reject = run.stiff_steps = run.nonstiff_steps = run.prepared = 0
    forget_steps(run, state.K, impacts.numbers[1])
    for i in range(size.nq + size.nv, size.nx):
        x[i] = 0.0
    status = enter_again(model, run, loop)
    if status != OK:
        return status
    if run.fixed != 0:
        run.t_base = run.t
        run.step_number = 0
    return arm(model, run, state, events, impacts.fired, False)


@inner
def leave_path(run):
    """Leave a path over a singular position: the state or the field has changed."""
    run.guided = run.alarm = 0
    if run.phase == PASSING:
        run.phase = STEPPING


@inner
def forget_steps(run, K, several):
    """Let a method that looks back, or takes `several` steps together, begin anew."""
    first = 1 if run.remembers != 0 else 2
    if run.remembers != 0 or several != 0:
        for row in range(first, K.shape[0] - 2):
            for i in range(K.shape[1]):
                K[row, i] = 0.0


@inner
def happened(model, impact_model, run, loop, events, room, impacts):
    """Deal with the events at the current time: EVENT where one ends the run; OK where it goes on from a mapped state."""
    ev, fired, kinds = events.marks, impacts.fired, impacts.kinds
    for k in range(model.size.n_events):
        fired[k] = 0
    for row in range(run.event_rows):
        if events.t[row] == run.t:
            fired[events.index[row]] = 1
    for k in range(model.size.n_events):
        if fired[k] != 0 and kinds[k] == ENDS:
            for i in range(model.size.n_events):
                if fired[i] != 0 and ev[STOPS, i] != 0:
                    ev[LEAD, i] = ev[CAME, i]  # nothing has mapped the state: the next call passes on
            collect_events(run, events, impacts)
            return EVENT
    event_rates(model, run, loop.state, events)
    for row in range(run.event_rows):
        k = events.index[row]
        if events.t[row] != run.t or kinds[k] != MAPS:
            continue
        if ev[CAME, k] * events.rates[k] < 0.0:
            events.index[row] = -1  # rounding alone made it cross
            continue
        seen = False
        for before in range(row):
            seen = seen or (events.index[before] == k and events.t[before] == run.t)
        if seen:
            continue
        if accumulates(run, impacts.waits, k):
            return ACCUMULATES
        status = mapped(model, impact_model, run.t, loop.state, room, impacts, k)
        if status != OK:
            return status
    collect_events(run, events, impacts)
    return go_on_from(model, impact_model, run, loop, events, room, impacts)


@inner
def over_a_jump(model, run, state, events):
    """Look at the event functions where inputs have jumped; EVENT: one that has to be dealt with has jumped over zero."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    if has_nan(ev_f, TRIAL, nev):
        run.last_status = NOT_FINITE
        run.t_failed = run.t
        return NOT_FINITE
    run.event_past = 0.0
    run.event_reach = 0.0
    found = OK
    for k in range(nev):
        before, after, wanted = ev[SIGN, k], sign_of(ev_f[TRIAL, k]), ev[DIRECTION, k]
        ev_f[START, k] = ev_f[TRIAL, k]
        if after == 0 or before == after:
            continue
        ev[SIGN, k], ev[CAME, k] = after, 0
        if before == -after and (wanted == 0 or wanted == after):
            events.t[run.event_rows], events.index[run.event_rows] = run.t, k
            run.event_rows += 1
            if ev[STOPS, k] != 0:
                found = EVENT
    return found
