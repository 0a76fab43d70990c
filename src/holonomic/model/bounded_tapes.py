"""Tapes laid out for `kernels.bounds`: what functions can be along a piece of a step."""

from __future__ import annotations

from weakref import WeakValueDictionary

import numpy as np

from ..kernels.signatures import Fn
from ..native.layout import Memory
from .tape import INPUTS, Tape

LONGEST = 20_000  # nodes, above which nothing is bounded: the functions are looked at point by point
_known: WeakValueDictionary[str, BoundedTape] = WeakValueDictionary()  # by their tapes: runs that begin again share one


def bounds_of(events: Tape | None) -> dict[Fn, BoundedTape]:
    """Return BOUNDS of functions of events, where there are any."""
    if events is None:
        return {}
    text = events.text()
    found = _known.get(text)
    if found is None:
        found = _known[text] = BoundedTape(events)
    return {Fn.BOUNDS: found}


class BoundedTape:
    """A tape in memory, as the context of an operator that bounds its functions.

    A function that calls what cannot be looked into, or asks for accelerations or multipliers, is not bounded.

    Attributes
    ----------
    address, context, length : int
        The operator, and how many numbers it writes.
    held : list of arrays
        Code, constants and places, to which the context points.
    """

    def __init__(self, tape: Tape):
        from ..kernels.bounds import bounded  # most runs watch nothing, and import holonomic without it

        self.held, self.memory = _laid_out(tape)
        self.address = bounded.address
        self.context = self.memory.array.ctypes.data
        self.length = 4 * len(tape.outputs)


def _laid_out(tape: Tape) -> tuple[list[np.ndarray], Memory]:
    from ..kernels.bounds import BOUNDED, OPERATIONS

    number = {name: i for i, name in enumerate(OPERATIONS)}
    known, constants, code = [], [], []
    for name, *given in tape.nodes if len(tape.nodes) <= LONGEST else ():
        words, is_known = (0, 0, 0), True
        if name == "in":
            which = INPUTS[given[0]]
            is_known = which != "b"
            words = (number[{"t": "t", "a": "state"}.get(which, "data")], given[1] if is_known and which != "t" else 0, 0)
        elif name == "const":
            words = (number["const"], len(constants), 0)
            constants.append(given[0])
        elif name in number:
            is_known = all(known[i] for i in given)
            words = (number[name], given[0], given[-1])
        else:
            is_known = False
        known.append(is_known)
        code += words if is_known else (number["t"], 0, 0)
    zero = len(known)
    code += (number["const"], len(constants), 0)
    constants.append(0.0)
    places = [zero if i is None else i if i < len(known) and known[i] else -1 for i in tape.outputs]
    held = [np.array(code, dtype=np.int64), np.array(constants), np.array(places, dtype=np.int64)]
    memory = BOUNDED.new()
    memory.code, memory.constants, memory.places = (each.ctypes.data for each in held)
    memory.nodes, memory.outputs = len(code) // 3, len(places)
    return held, memory
