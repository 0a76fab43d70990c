"""What Python calls where events and switches are concerned: a file of its own, of which runs without them need no machine code."""

from __future__ import annotations

from ..errors import OK
from ..kernels.memory import RUN
from ..kernels.signatures import EVENT_ARRAYS, EVENT_RATES, EVENTS, LOOP, MODEL, call_function
from ..native.marks import entry
from ..native.types import f8, i8, ints, mat, vec
from .begin import enter_again
from .sides import arm_switches, enter_modes


@entry(MODEL, RUN.type, LOOP)
def enter_compiled(model, run, loop):
    """What of a beginning is done again after an event, for compiled models."""
    return enter_again(model, run, loop)


@entry(ints, f8, vec, mat, i8, vec, vec)
def events_compiled(fns, t, x, K, at, data, out):
    """Event values for compiled models."""
    call_function(fns, EVENTS, t, x, 0, K, at, data, out, 0)


@entry(ints, f8, vec, mat, i8, vec, vec)
def rates_compiled(fns, t, x, K, at, data, out):
    """Time derivatives of the event functions for compiled models."""
    call_function(fns, EVENT_RATES, t, x, 0, K, at, data, out, 0)


@entry(MODEL, RUN.type, LOOP, EVENT_ARRAYS, i8)
def enter_modes_compiled(model, run, loop, events, again):
    """`enter_modes` for compiled models; interpreted ones have no switches."""
    return enter_modes(model, run, loop.state, events, again)


@entry(MODEL, RUN.type, LOOP, EVENT_ARRAYS)
def arm_switches_compiled(model, run, loop, events):
    """`arm_switches` for compiled models."""
    arm_switches(model, run, loop.state, events)
    return OK
