"""A member whose events map its state, for a program that no Python attends: the walk of `loop.outside`, for one plan alone.

Maps, and the functions by which an impulse makes velocities consistent, are model functions of the program with numbers of
their own. Constraints are taken as independent, as everywhere in such programs: where that is not clear, the run ends.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import ACCUMULATES, DONE, EVENT, MORE, OK
from ..kernels.signatures import N_FUNCTIONS, call_model
from ..kernels.vectors import largest_scaled, subtract
from ..loop.after_events import MAP_FAILED, OFF, accumulates, arm, event_rates
from ..loop.batch import MANY_EVENTS, PLENTY, keep_events, note_ends
from ..loop.begin import begin, enter_again
from ..loop.drive import drive
from ..loop.event_search import CAME
from .ready import CLEAR

# numbers of model functions besides those of `Fn`: residuals and plain distances, velocities in the metric of masses, maps
IMPACT_RESIDUAL, IMPACT_DISTANCE, IMPACT_FACTOR, IMPACT_SOLVE, FIRST_MAP = range(N_FUNCTIONS, N_FUNCTIONS + 5)


class MapRoom(NamedTuple):
    """What a member needs to go on from mapped states."""

    ends: Any  # numbers of the events that end a run
    maps: Any  # and of those that map its state
    n_ends: Any
    n_maps: Any
    fired: Any  # 1 for events that happen now
    waits: Any  # (event, column), see `loop.after_events`
    new: Any  # the mapped state
    W: Any  # residuals, factors, a change of velocities, one behind the other
    at_distance: Any
    at_factor: Any
    at_change: Any


def misses(model, t, x, room):
    """Return the largest distance of a position from the constraints, as `loop.starts` measures it."""
    size = model.size
    call_model(model, IMPACT_RESIDUAL, t, x, 0, x, 0, room.W, 0)
    call_model(model, IMPACT_DISTANCE, t, x, 0, x, 0, room.W, room.at_distance)
    return largest_scaled(room.W, 0, room.at_distance, size.n_position)


def by_impulse_here(model, t, x, room):
    """Give the velocity what an impulse -GᵀΛ gives it, in the metric of masses; False: not clearly possible."""
    size = model.size
    call_model(model, IMPACT_FACTOR, t, x, 0, x, 0, room.W, room.at_factor)
    if not room.W[room.at_factor] > CLEAR:
        return False
    call_model(model, IMPACT_RESIDUAL, t, x, 0, x, 0, room.W, 0)
    call_model(model, IMPACT_SOLVE, t, room.W, room.at_factor, room.W, size.n_position, room.W, room.at_change)
    subtract(x, size.nq, room.W, room.at_change, size.nv, 1.0)
    return True


def enter_map(model, number, t, x, room):
    """Put the state where a map leaves it, with consistent velocities; False: off the constraints, or not finite."""
    size = model.size
    before = 0.0
    if size.n_position > 0:
        before = misses(model, t, x, room)
    call_model(model, number, t, x, 0, x, 0, room.new, 0)
    for i in range(size.nq + size.nv):
        if not abs(room.new[i]) <= 1e300:
            return False
    for i in range(size.nq + size.nv):
        x[i] = room.new[i]
    if size.n_position > 0 and not misses(model, t, x, room) <= max(OFF, 2.0 * before):
        return False
    if size.nl > 0:
        return by_impulse_here(model, t, x, room)
    return True


def go_on_mapped(model, run, loop, events, room):
    """Deal with the events at the current time: EVENT where one ends the run, OK where it goes on from a mapped state."""
    size, state = model.size, loop.state
    for each in range(size.n_events):
        room.fired[each] = 0
    for row in range(run.event_rows):
        if events.t[row] == run.t:
            room.fired[events.index[row]] = 1
    for i in range(room.n_ends):
        if room.fired[room.ends[i]] != 0:
            return EVENT
    event_rates(model, run, state, events)
    for i in range(room.n_maps):
        k = room.maps[i]
        if room.fired[k] != 0:
            if events.marks[CAME, k] * events.rates[k] < 0.0:
                for row in range(run.event_rows):  # rounding alone made it cross
                    if events.index[row] == k and events.t[row] == run.t:
                        events.index[row] = -1
            else:
                if accumulates(run, room.waits, k):
                    return ACCUMULATES
                if not enter_map(model, FIRST_MAP + k, run.t, state.x, room):
                    return MAP_FAILED
    run.err_old = 1e-4
    run.h_before = 0.0
    run.h_sure = 0.0
    run.after_reject = 0
    run.stiff_steps = 0
    run.nonstiff_steps = 0
    run.prepared = 0
    if run.remembers != 0:
        for row in range(1, state.K.shape[0]):
            for i in range(state.K.shape[1]):
                state.K[row, i] = 0.0
    for i in range(size.nq + size.nv, size.nx):
        state.x[i] = 0.0
    status = enter_again(model, run, loop)
    if status != OK:
        return status
    return arm(model, run, state, events, room.fired, False)


def run_with_maps(m, slots, model, method, run, loop, record, events, tables, log, room):
    """Run member m, as `loop.batch.run_member` does, through events that map its state; return its status."""
    size, K = model.size, loop.state.K
    for row in range(1, K.shape[0]):
        for i in range(K.shape[1]):
            K[row, i] = 0.0
    for k in range(size.n_events):
        for i in range(room.waits.shape[1]):
            room.waits[k, i] = 0.0
        room.waits[k, 0] = run.t
    log.ended[m] = -1
    log.count[m] = 0
    status = begin(model, run, loop, record)
    if status != OK:
        return status
    run.quota = PLENTY
    status = arm(model, run, loop.state, events, room.fired, True)
    while status == OK:
        run.t_stop = tables.stops[0]
        if run.fixed != 0:
            run.t_base = run.t
            run.step_number = 0
        status = MORE
        while status == MORE:
            status = drive(slots, model, method, run, loop, record, events)
            if status == EVENT:
                status = go_on_mapped(model, run, loop, events, room)
                if status == EVENT:
                    for i in range(room.n_ends):
                        if log.ended[m] < 0 and room.fired[room.ends[i]] != 0:
                            log.ended[m] = room.ends[i]
            kept = keep_events(m, size, run, events, log)
            if kept and status == DONE:
                note_ends(m, size, run, loop.state, events, log)
                kept = keep_events(m, size, run, events, log)
            if not kept:
                status = MANY_EVENTS
    return status
