"""Kernels called from Python: compiled ones through leaves, interpreted ones as they are."""

from __future__ import annotations

import numpy as np

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import RUN, SIZE
from ..kernels.settle import pull_and_settle
from ..kernels.signatures import LOOP, MODEL, Events, Inside, Loop, Method, Model, Passing, Record, Scale, State, call_function
from ..native.marks import entry
from ..native.types import Group, f8, i8, int_mat, ints, mat, vec
from .automatic_looks import look_at_start
from .begin import begin
from .drive import drive
from .opening import ASIDE, OPENING, go_on, is_consistent, keep_invariants, suits

# what a loop has, without names: Python makes one flat tuple of it in a tenth of the time
_LOOP = (ints, SIZE.type, vec, RUN.type, vec, vec, vec, mat, mat, vec, vec, mat, vec, ints, mat, mat, vec, vec)
_RECORD = (vec, mat, mat, mat, vec)
_REST = (ints, ints, vec, vec, int_mat, mat, vec, vec, ints, vec, ints, mat, mat)


@entry(ints, i8, f8, vec, vec, vec, vec)
def invoke(fns, which, t, a, b, data, out):
    """Call one model function from Python."""
    call_function(fns, which, t, a, 0, b, 0, data, out, 0)


@entry(ints, MODEL, vec, RUN.type, f8, vec, vec)
def pull_compiled(slots, model, sp, run, t, x, W):
    """`pull_and_settle` for compiled models, from Python."""
    return pull_and_settle(slots, model, sp, run, t, x, W)


@entry(MODEL, RUN.type, f8, vec, mat, i8, vec)
def evaluate_compiled(model, run, t, x, K, row, W):
    """`evaluate` for compiled models, from Python."""
    return evaluate(model, run, t, x, K, row, W)


def flat(loop: Loop) -> tuple:
    """The arrays of a loop without their names, as compiled kernels take them."""
    return (*loop.state, *loop.inside, *loop.scale, *loop.passing)


# what `run_compiled` does, in this order, and what it is given where it neither checks nor looks
CHECK, KEEP, BEGIN, LOOK, DRIVE = 1, 2, 4, 8, 16
NOT_OPENED = (OPENING.new(), np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0), np.zeros((0, 0)))


@entry(Group(None, (*_LOOP, *_RECORD, *_REST)), Group(None, (OPENING.type, ints, vec, vec, vec, mat)), i8)
def run_compiled(given, opened, stages):
    """Check the start of a run, note its invariants, begin it, look at its field, take steps: the stages that are asked for.

    Return a status: that of the beginning where it is not OK, that of the step loop where it is asked for; ASIDE where a start is
    not plain, so that somebody has to look at it closer.
    """
    (fns, size, data, run, x, xn, xs, K, E, W, xe, ke, atol, kinds, path, kept, tight, nodes, t, rows, k, dense, save_t,
     slots, ip, fp, sp, marks, values, rates, theta, found, event_t, index, event_x, event_k) = given  # fmt: skip
    opening, plain, F, r, seen, spare = opened
    model, record = Model(fns, size, data), Record(t, rows, k, dense, save_t)
    loop = Loop(State(x, xn, xs, K, E, W), Inside(xe, ke), Scale(atol, kinds), Passing(path, kept, tight, nodes))
    if stages & CHECK and not is_consistent(opening, plain, size, run, x, data, F, r, seen):
        return ASIDE
    if stages & KEEP:
        keep_invariants(opening, plain, size, run, x, data, r)
    if stages & BEGIN:
        status = begin(model, run, loop, record)
        if status != OK or not stages & DRIVE:
            return status
    if stages & LOOK and not suits(opening, model, run, loop, seen):
        return ASIDE
    if stages & BEGIN:
        run.t_stop = opening.t_stop
        run.crosses = opening.crosses
        run.quota = opening.quota
    events = Events(marks, values, rates, theta, found, event_t, index, event_x, event_k)
    return go_on(opening, slots, model, Method(ip, fp, sp), run, loop, record, events, seen, spare)


@entry(MODEL, RUN.type, f8, LOOP, i8, f8, vec)
def look_at_start_compiled(model, run, t, loop, positions, left, found):
    """`look_at_start` of a single run, from Python."""
    look_at_start(model, run, t, loop.state, loop.inside.x, positions, left, found)


def drive_interpreted(*arguments):
    """The step loop as plain Python."""
    with np.errstate(all="ignore"):  # what is not finite is found and named by us
        return drive.py(*arguments)


def evaluate_interpreted(*arguments):
    """`evaluate` for interpreted models."""
    with np.errstate(all="ignore"):
        return evaluate(*arguments)


def field_at(plan, run, t: float, x, data, K, row: int, W) -> int:
    """Put the field at (t, x) into a row of K, compiling what it needs; return a status."""
    go = evaluate_interpreted if plan.model.interpreted else evaluate_compiled
    while True:
        status = go(plan.for_kernels(data), run, t, x, K, row, W)
        if not plan.supplies(status):
            return status
