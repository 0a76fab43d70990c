"""A run that is called from outside Python: the same beginning, the same loop and the same starts as words of a C function.

An exported model has these entries and nothing else of the loop. Memory is the caller's, and all of it is given.
"""

from __future__ import annotations

from ..errors import DONE, EVENT, MORE, NOT_FINITE, OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import RUN
from ..kernels.signatures import CAREFULLY, EVENT_ARRAYS, LOOP, METHOD, MODEL, RECORD, Model
from ..native.marks import inner, kernel
from ..native.types import Group, f8, i8, ints, mat, vec
from .after_events import IMPACTS, arm, collect_events, forget_steps, happened, leave_path, over_a_jump
from .batch import TABLES, any_jumps, enter_tables
from .begin import begin
from .drive import drive
from .starts import QR, START, Room, assemble, nearest_step

ROOM = Group(Room, (vec, vec, vec, vec, vec, vec, vec, mat, mat, vec, vec, ints, ints, QR, QR, QR))


@kernel(i8(ints, MODEL, METHOD, RUN.type, LOOP, RECORD, EVENT_ARRAYS))
def go_on(slots, model, method, run, loop, record, events):
    """The step loop, until there is something to say."""
    return drive(slots, model, method, run, loop, record, events)


STARTED = Group(Model, (ints, START.type, vec))  # the model as starts and impacts take it


@inner
def next_stop(t, goal, breaks):
    """Where the stretch that begins at t ends: at the next time of a table, or at the goal."""
    for i in range(breaks.shape[0]):
        if breaks[i] > t:
            return min(breaks[i], goal)
    return goal


@kernel(i8(ints, MODEL, METHOD, RUN.type, LOOP, RECORD, EVENT_ARRAYS, TABLES, STARTED, ROOM, IMPACTS, vec))
def walk_there(slots, model, method, run, loop, record, events, tables, started, room, impacts, goal):
    """Go on to a time, over events and breaks of inputs: DONE, EVENT at a terminal event, MORE where the quota is used up."""
    state = loop.state
    impacts.counts[0] = 0
    status = OK
    while status == OK:
        run.t_stop = next_stop(run.t, goal[0], tables.stops)
        if run.fixed != 0:
            run.t_base = run.t
            run.step_number = 0
        status = MORE
        while status == MORE and run.quota > 0:
            status = drive(slots, model, method, run, loop, record, events)
            if status != EVENT:
                collect_events(run, events, impacts)
        if status == DONE:
            jumps = any_jumps(0, run.t, tables)
            if jumps or run.t != goal[0]:
                enter_tables(0, run.t, 1.0, model.data, tables)
                leave_path(run)
                run.evaluated = 0
                if run.remembers != 0:
                    forget_steps(run, state.K, 0)
                status = OK
            if jumps:
                status = evaluate(model, run, run.t, state.x, state.K, 0, state.W)
                run.evaluated = 1 if status == OK else 0
                if status == OK and model.size.n_events > 0:
                    status = over_a_jump(model, run, state, events)
        if status == EVENT:
            status = happened(model, started, run, loop, events, room, impacts)
        if status == OK and run.t == goal[0]:
            return DONE
    return status


@kernel(i8(MODEL, RUN.type, LOOP, RECORD, EVENT_ARRAYS, TABLES, ints))
def begin_there(model, run, loop, record, events, tables, fired):
    """Begin where the run stands: inputs, field, first step, on which side of zero event functions are."""
    enter_tables(0, run.t, 1.0, model.data, tables)
    status = begin(model, run, loop, record)
    if status == OK and model.size.n_events > 0:
        return arm(model, run, loop.state, events, fired, True)
    return status


@kernel(CAREFULLY)
def field_there(model, run, t, x, K, row, W):
    """The field at a point into a row of K."""
    return evaluate(model, run, t, x, K, row, W)


@kernel(i8(STARTED, ints, f8, mat, mat, ROOM, mat, ints))
def ready_there(model, ranked, t, X, DATA, room, FOUND, STATUS):
    """Make the one start in X consistent; its status, see `starts`."""
    assemble(model, ranked, t, X, DATA, room, FOUND, STATUS)
    return STATUS[0]


@kernel(i8(vec, i8, mat, ints, i8, i8, QR, vec, vec, vec, vec))
def smallest_there(terms, at_G, K, places, nq, nv, qr, b, rows, r, shown):
    """Accelerations and the shortest multipliers with the same Gᵀλ into `shown`, from those of the independent rows."""
    G = qr[0]
    for j in range(nv):
        shown[j] = K[0, nq + j]
        r[j] = 0.0
        for i in range(G.shape[0]):
            G[i, j] = terms[at_G + i * nv + j]
        for i in range(places.shape[0]):
            r[j] += G[places[i], j] * K[0, nq + nv + i]
    if nearest_step(qr, b, rows, r) < 0:
        return NOT_FINITE
    for i in range(G.shape[0]):
        shown[nv + i] = b[i]
    return OK
