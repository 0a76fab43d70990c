"""Kernels called from Python: compiled ones through leaves, interpreted ones as they are."""

from __future__ import annotations

import functools
import sys

import numpy as np

from ..kernels.compile import is_compiled, leaf
from ..kernels.evaluate import evaluate
from ..kernels.settle import pull_and_settle
from ..kernels.signatures import (
    EVENT_RATES,
    EVENTS,
    Events,
    Inside,
    Loop,
    Method,
    Model,
    Passing,
    Record,
    Scale,
    State,
    call_function,
)
from .begin import begin, enter_again
from .drive import drive


@leaf
def invoke(fns, which, t, a, b, data, out):
    """Call one model function from Python."""
    call_function(fns, which, t, a, 0, b, 0, data, out, 0)


@leaf
def pull_compiled(slots, model, sp, run, t, x, W):
    """`pull_and_settle` for compiled models, from Python."""
    return pull_and_settle(slots, model, sp, run, t, x, W)


@leaf
def evaluate_compiled(model, run, t, x, K, row, W):
    """`evaluate` for compiled models, from Python."""
    return evaluate(model, run, t, x, K, row, W)


def flat(loop: Loop) -> tuple:
    """The arrays of a loop without their names: Numba takes one flat tuple in 9 µs, tuples in tuples with names in 14."""
    return (*loop.state, *loop.inside, *loop.scale, *loop.passing)


@leaf
def begin_compiled(given):
    """`begin` for compiled models, from Python."""
    (fns, size, data, run, x, xn, xs, K, E, W, xe, ke, atol, turns, path, kept, tight, nodes, t, rows, k, dense,
     save_t) = given  # fmt: skip
    loop = Loop(State(x, xn, xs, K, E, W), Inside(xe, ke), Scale(atol, turns), Passing(path, kept, tight, nodes))
    return begin(Model(fns, size, data), run, loop, Record(t, rows, k, dense, save_t))


@leaf
def drive_compiled(given):
    """`drive` for compiled models, from Python."""
    (fns, size, data, run, x, xn, xs, K, E, W, xe, ke, atol, turns, path, kept, tight, nodes, t, rows, k, dense, save_t,
     slots, ip, fp, sp, marks, values, rates, theta, found, event_t, index, event_x, event_k) = given  # fmt: skip
    loop = Loop(State(x, xn, xs, K, E, W), Inside(xe, ke), Scale(atol, turns), Passing(path, kept, tight, nodes))
    events = Events(marks, values, rates, theta, found, event_t, index, event_x, event_k)
    return drive(
        slots, Model(fns, size, data), Method(ip, fp, sp), run, loop, Record(t, rows, k, dense, save_t), events
    )  # fmt: skip


@leaf
def enter_compiled(model, run, loop):
    """What of a beginning is done again after an event, for compiled models, from Python."""
    return enter_again(model, run, loop)


@leaf
def events_compiled(fns, t, x, K, at, data, out):
    """Event values for compiled models, from Python."""
    call_function(fns, EVENTS, t, x, 0, K, at, data, out, 0)


@functools.cache
def announce() -> None:
    """Say once that the kernels are being compiled, where they have not been on this installation."""
    if not is_compiled(drive):
        text = "holonomic: compiling the kernels, once per installation (about a minute on two cores) ..."
        print(text, file=sys.stderr, flush=True)


def drive_interpreted(*arguments):
    """The step loop as plain Python."""
    with np.errstate(all="ignore"):  # what is not finite is found and named by us
        return drive.py_func(*arguments)


def evaluate_interpreted(*arguments):
    """`evaluate` for interpreted models."""
    with np.errstate(all="ignore"):
        return evaluate(*arguments)


@leaf
def rates_compiled(fns, t, x, K, at, data, out):
    """Time derivatives of the event functions for compiled models, from Python."""
    call_function(fns, EVENT_RATES, t, x, 0, K, at, data, out, 0)


def field_at(plan, run, t: float, x, data, K, row: int, W) -> int:
    """Put the field at (t, x) into a row of K, compiling what it needs; return a status."""
    go = evaluate_interpreted if plan.model.interpreted else evaluate_compiled
    while True:
        status = go(plan.for_kernels(data), run, t, x, K, row, W)
        if not plan.supplies(status):
            return status
