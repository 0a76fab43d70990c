"""What happens to the events of an accepted step: written down, or the step taken again to end on one."""

from __future__ import annotations

from ..errors import ACCUMULATES, EVENT, FACING, MANY_CROSSINGS, MORE, OK
from ..kernels.evaluate import asks_for_function
from ..kernels.memory import STEPPING, WRITING
from ..kernels.sliding import sliding
from ..native.marks import apart, leaf, part
from ..native.types import i8, mat
from .after_events import write_event
from .attempt import refuse
from .event_bounds import NEAR_END, find_events, pass_by
from .event_pieces import end_step
from .event_search import (
    AS_SWITCH,
    CAME,
    COUNTED,
    DIRECTION,
    END,
    FIRED,
    JUMPS,
    MOST,
    NEVER,
    NEXT,
    SIGN,
    STOPS,
    TRIAL,
    dense_ready,
    event_values,
    keep,
    resolution,
    shyness,
    state_inside,
)
from .lenience import loosen
from .sides import still_add_up

AGAIN = -1  # the step is taken again, to end on an event
MAX_TRIES = 6
FURTHER = 4.0  # with every try, where a comparison is flat in front of its change, and the end of the step lies there
NEAR = 1e-3  # in θ: over this distance an event function is as good as straight
FAR = 0.1  # in θ: how far beyond its end an attempt may be made longer, where the dense output is 0.1 % off or more: rtol = 1e-2


@leaf
def distance_left(ev_f: mat, k: i8):
    """How far beyond the end of the step, in θ, event k is zero, going straight on; 2 where that leads nowhere, or it lies flat."""
    value = ev_f[END, k]
    slope = (value - ev_f[TRIAL, k]) / NEAR
    if value == 0.0 or slope == 0.0:
        return 0.0 if slope != 0.0 else 2.0
    missing = -value / slope
    return missing if missing > 0.0 else 2.0


@apart
def watch(slots, model, method, run, loop, events):
    """Look for events in an accepted step and write them down.

    A step that contains a stopping event is taken again so that it ends there: the state then has the full order
    of the integrator. AGAIN asks for that, with the length in run.h and the event in run.retake. As the dense output
    is not quite the new step, two or three attempts bring the end onto the zero to rounding; one that ends before a jump is
    accepted, and the jump found in the next. A step with more crossings
    than there is room for is taken again, too, as far as it was looked into. EVENT: a stopping event at the very start of
    the step, which is given up.
    """
    size = model.size
    x, xn, K = loop.state.x, loop.state.xn, loop.state.K
    xe, ke = loop.inside.x, loop.inside.K
    ev, ev_f, found_theta, found = events.marks, events.values, events.theta, events.found
    last = run.last_stage
    nev = size.n_events
    if run.tries == 0:
        run.h_whole = run.h
    status = dense_ready(slots, model, method, run, loop.state)
    if status != OK:
        return status
    count = find_events(slots, model, method, run, loop, events)
    if count < 0:
        return -count
    shortest = resolution(run)
    stop = -1
    for i in range(count):
        if stop < 0 and ev[STOPS, found[i] // 2] != 0:
            stop = i
    cut = 2.0  # events from here on are at the end of the step
    close = max(NEAR_END, 4.0 * shortest)
    if stop >= 0:
        cut = found_theta[stop]
        if ev[STOPS, found[stop] // 2] >= AS_SWITCH:
            shortest = close  # as near as the end of a step comes to its zero: a shorter step would be none
        if cut <= shortest:
            for i in range(count):
                if found_theta[i] <= shortest:
                    k = found[i] // 2
                    write_event(events, run, k, run.t, x, K, 0, size)
                    ev[SIGN, k] = COUNTED
                    ev[CAME, k] = ev[FIRED, k] = 2 * (found[i] % 2) - 1
            run.retake = 0
            run.tries = 0
            return EVENT
        run.retake = found[stop] // 2 + 1
        if 1.0 - cut > close and run.tries < MAX_TRIES:
            run.h = cut * run.h_used
            run.tries += 1
            return AGAIN
    if run.looked < 1.0:
        run.retake = 0
        if run.fixed != 0:
            run.retake = found[count - 1] // 2 + 1
            return MANY_CROSSINGS
        run.tries = 0
        run.h = run.looked * run.h_used
        run.after_reject = 1
        return AGAIN
    if stop < 0 and run.retake != 0 and ev[JUMPS, run.retake - 1] != 0:
        run.retake = 0
    if run.retake != 0:
        status = event_values(slots, model, method, run, 1.0 - NEAR, loop, events, TRIAL)
        if status != OK:
            return status
        if stop < 0:
            # the end does not quite reach the zero it was taken for: a little further, or this is as near as rounding
            # and the error of the dense output let it come
            missing = distance_left(ev_f, run.retake - 1)
            if ev_f[END, run.retake - 1] == 0.0 and ev[STOPS, run.retake - 1] >= AS_SWITCH:
                missing = FURTHER**run.tries * close  # it lies flat there, on its old side
            if missing > close and missing <= FAR and run.tries < MAX_TRIES:
                run.h = (1.0 + missing) * run.h_used
                run.tries += 1
                return AGAIN
            cut = 1.0
            k = run.retake - 1
            count = keep(found_theta, found, count, 1.0, k, -ev[NEXT, k])
        for other in range(nev):  # at the same instant, which rounding has left on this side of zero
            here = abs(ev[NEXT, other]) == 1 and ev[DIRECTION, other] != ev[NEXT, other] and ev[DIRECTION, other] != NEVER
            if here and distance_left(ev_f, other) <= 2.0 * close:
                for i in range(count):
                    here = here and not (found[i] // 2 == other and found_theta[i] >= cut)
                if here:
                    count = keep(found_theta, found, count, 1.0, other, -ev[NEXT, other])
    rows = run.event_rows
    for i in range(count):
        theta, k = found_theta[i], found[i] // 2
        if theta >= cut or theta >= 1.0:
            write_event(events, run, k, run.t_new, xn, K, last, size)
            continue
        status = state_inside(slots, model, method, run, theta, run.t, run.h_used, loop.state, loop.inside, True, shyness(run))
        if status != OK:
            run.event_rows = rows
            return status
        write_event(events, run, k, run.t + theta * run.h_used, xe, ke, 0, size)
    end_step(run, ev, ev_f, nev)
    for i in range(count):
        if found_theta[i] >= cut:
            ev[SIGN, found[i] // 2] = COUNTED
            ev[CAME, found[i] // 2] = ev[FIRED, found[i] // 2] = 2 * (found[i] % 2) - 1
    return OK


@part
def look_inside(slots, model, method, run, loop, events):
    """Look for events in an accepted step; go on to write it, or to take it again."""
    if model.size.n_events > 0 and run.watched == 0:
        pass_by(model, run, events)
    elif model.size.n_events > 0:
        if run.event_rows + MOST * model.size.n_events + 4 * model.size.n_switches > events.t.shape[0]:
            return MORE
        status = watch(slots, model, method, run, loop, events)
        if status == AGAIN or status == EVENT:
            run.phase = STEPPING
            run.retaken += 1
            return OK if status == AGAIN else EVENT
        if asks_for_function(status) or status == ACCUMULATES or status == MANY_CROSSINGS:
            return status
        if status != OK:
            if model.size.n_switches > 0 and loosen(model, run, status):
                run.h = run.h_used
                run.phase = STEPPING
                return OK
            if run.fixed != 0:
                run.last_status = status
                run.t_failed = run.t
                return status
            refuse(run, run.h_used, status)
            run.phase = STEPPING
            return OK
        if model.size.n_switches > 0 and not still_add_up(model, run, run.t_new, loop.state.xn, loop.inside.K, loop.state.W):
            run.switched = sliding(model) + 1
            run.t_failed = run.t
            return FACING
    run.phase = WRITING
    run.rows_of_step = 0
    return OK
