"""A run that is called from outside Python: the same beginning, the same loop and the same starts as words of a C function.

An exported model has these entries and nothing else of the loop. Memory is the caller's, and all of it is given.
"""

from __future__ import annotations

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import RUN
from ..kernels.signatures import CAREFULLY, EVENT_ARRAYS, LOOP, METHOD, MODEL, RECORD, Model
from ..native.marks import kernel
from ..native.types import Group, f8, i8, ints, mat, vec
from .batch import arm_events
from .begin import begin
from .drive import drive
from .starts import QR, START, Room, assemble

ROOM = Group(Room, (vec, vec, vec, vec, vec, vec, vec, mat, mat, vec, vec, ints, ints, QR, QR, QR))


@kernel(i8(ints, MODEL, METHOD, RUN.type, LOOP, RECORD, EVENT_ARRAYS))
def go_on(slots, model, method, run, loop, record, events):
    """The step loop, until there is something to say."""
    return drive(slots, model, method, run, loop, record, events)


@kernel(i8(MODEL, RUN.type, LOOP, RECORD, EVENT_ARRAYS))
def begin_there(model, run, loop, record, events):
    """Begin where the run stands: field, first step, on which side of zero event functions are."""
    status = begin(model, run, loop, record)
    if status == OK and model.size.n_events > 0:
        return arm_events(model, run, loop.state, events, 1.0)
    return status


@kernel(CAREFULLY)
def field_there(model, run, t, x, K, row, W):
    """The field at a point into a row of K."""
    return evaluate(model, run, t, x, K, row, W)


@kernel(i8(Group(Model, (ints, START.type, vec)), ints, f8, mat, mat, ROOM, mat, ints))
def ready_there(model, ranked, t, X, DATA, room, FOUND, STATUS):
    """Make the one start in X consistent; its status, see `starts`."""
    assemble(model, ranked, t, X, DATA, room, FOUND, STATUS)
    return STATUS[0]
