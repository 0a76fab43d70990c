"""Looking into a finished run: a recorded step replayed or read from what it left, and model functions along recorded rows."""

from __future__ import annotations

import math

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import RUN
from ..kernels.signatures import KEPT, LOOP, METHOD, MODEL, Inside, call_advance, call_dense, call_finish, call_function
from ..native.marks import entry, inner, leaf
from ..native.types import Group, i8, ints, mat, vec
from .event_search import state_inside
from .kept_steps import take_step

GIVEN = (ints, MODEL, METHOD, RUN.type, LOOP, KEPT, ints, vec, i8, Group(Inside, (mat, mat)), ints)


@leaf
def take_row(source, row, target, n):
    """target = source[row]"""
    for i in range(n):
        target[i] = source[row, i]


@leaf
def put_state(xe, ke, nq, nx, nk, out_x, out_k, row):
    """Keep a state and (v', λ) in one row of the results."""
    for i in range(nx):
        out_x[row, i] = xe[i]
    for i in range(nk):
        out_k[row, i] = ke[0, nq + i]


@entry(*GIVEN)
def replay(slots, model, method, run, loop, kept, steps, wanted, last, out, done):
    """States at `wanted[done[0]:last]`, in the order of the run; the step of time j begins at row steps[j].

    Each step is taken again from its recorded beginning, once for all times inside it. Its recorded end takes
    the place of the end computed here, so that the curve joins the recorded points. done[0] counts the times
    that are finished: after NEED_REFINED or NEED_TERMS the call is repeated.
    """
    size = model.size
    x, xn, K, W = loop.state.x, loop.state.xn, loop.state.K, loop.state.W
    xe, ke = loop.inside.x, loop.inside.K
    rec_t, rec_x = kept.t, kept.x
    nx, nq, nk = size.nx, size.nq, size.nk
    now = -1
    while done[0] < last:
        j = done[0]
        i = steps[j]
        t = rec_t[i]
        h = rec_t[i + 1] - t
        if i != now:
            take_row(rec_x, i, x, nx)
            status = evaluate(model, run, t, x, K, 0, W)
            if status != OK:
                return status
            status = call_advance(slots, model, method, run, t, h, loop.state)
            if status != OK:
                return status
            take_row(rec_x, i + 1, xn, nx)
            status = call_finish(slots, model, method, run, t, h, loop.state)
            if status != OK:
                return status
            status = call_dense(slots, model, method, run, t, h, loop.state)
            if status != OK:
                return status
            now = i
        theta = (wanted[j] - t) / h
        status = state_inside(slots, model, method, run, theta, t, h, loop.state, loop.inside, True, 0.0)
        if status != OK:
            return status
        put_state(xe, ke, nq, nx, nk, out.x, out.K, j)
        done[0] += 1
    return OK


@inner
def dense_again(slots, model, method, run, state, kept, row):
    """Make the dense output of the step that begins at a row from what it left; return its length, 0 where none begins there."""
    size = model.size
    take_row(kept.x, row, state.x, size.nx)
    take_row(kept.x, row + 1, state.xn, size.nx)
    h = take_step(kept.dense, row + 1, state.K, size.dense_first)
    return h, call_dense(slots, model, method, run, kept.t[row], h, state) if h != 0.0 else OK


@entry(ints, MODEL, METHOD, RUN.type, LOOP, KEPT, ints, vec)
def doubts_inside(slots, model, method, run, loop, kept, steps, out):
    """How wrong the dense output of the steps that begin at these rows is between their ends, in tolerances; 0: not known.

    Infinite where no step was kept.
    """
    for j in range(steps.shape[0]):
        run.doubt = 0.0
        h, status = dense_again(slots, model, method, run, loop.state, kept, steps[j])
        out[j] = run.doubt if h != 0.0 and status == OK else math.inf


@entry(*GIVEN)
def from_trail(slots, model, method, run, loop, kept, steps, wanted, last, out, done):
    """The same for steps that cannot be taken again: from what their dense output is made of."""
    size, state = model.size, loop.state
    h, now = 0.0, -1
    while done[0] < last:
        j = done[0]
        i = steps[j]
        if i != now:
            h, status = dense_again(slots, model, method, run, state, kept, i)
            if status != OK:
                return status
            now = i
        theta = (wanted[j] - kept.t[i]) / h
        status = state_inside(slots, model, method, run, theta, kept.t[i], h, state, loop.inside, True, 0.0)
        if status != OK:
            return status
        put_state(loop.inside.x, loop.inside.K, size.nq, size.nx, size.nk, out.x, out.K, j)
        done[0] += 1
    return OK


@entry(ints, i8, vec, mat, mat, vec, i8, i8, mat)
def along(fns, which, t, x, b, data, first, last, out):
    """Model function `which` at rows first .. last-1: out[row] = f(t[row], x[row], b[row])."""
    for row in range(first, last):
        call_function(fns, which, t[row], x, row * x.shape[1], b, row * b.shape[1], data, out, row * out.shape[1])
