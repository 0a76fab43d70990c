"""Kernels called from Python: compiled ones through leaves, interpreted ones as they are."""

from __future__ import annotations

import sys

import numpy as np

from ..kernels.compile import is_compiled, leaf
from ..kernels.evaluate import evaluate
from ..kernels.settle import pull_and_settle
from ..kernels.signatures import EVENT_RATES, EVENTS, call_function
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


@leaf
def begin_compiled(model, run, loop, record):
    """`begin` for compiled models, from Python."""
    return begin(model, run, loop, record)


@leaf
def enter_compiled(model, run, loop):
    """What of a beginning is done again after an event, for compiled models, from Python."""
    return enter_again(model, run, loop)


@leaf
def events_compiled(fns, t, x, K, at, data, out):
    """Event values for compiled models, from Python."""
    call_function(fns, EVENTS, t, x, 0, K, at, data, out, 0)


def announce() -> None:
    """Say that the kernels are being compiled, where they have not been on this installation."""
    if not is_compiled(drive):
        text = "holonomic: compiling the kernels, once per installation (10 to 30 s) ..."
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
