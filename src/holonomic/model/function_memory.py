"""What a function remembers from one call to the next: attributes and arrays that it reads before it has written them.

A run on symbols sees one call. A relay that keeps its position in `self.on` would be taken for a function of the state,
which it is not. So what a function both reads and writes outside itself is replaced by symbols of their own in a second
run: a counter or a buffer leaves no trace of them in the result, a memory does and is refused.
"""

from __future__ import annotations

import collections
import types
from dataclasses import dataclass, field

import numpy as np

from .casadi_door import SX, depends_on
from .make_symbols import to_sx
from .refusals import refusal
from .symbol import Symbol
from .symbol_array import SymbolArray

Key = tuple[int, str]  # whose, and which attribute; "" for the entries of an array

ADVICE = "Leave that out, or state what it remembers as a state, System(..., states=...)."


@dataclass
class Remembered:
    """What one run on symbols, or several, have read and written of things that were there before.

    `marked` are those that symbols stand for in this run.
    """

    marked: frozenset[Key] = frozenset()
    read: set[Key] = field(default_factory=set)
    written: dict[Key, str] = field(default_factory=dict)  # with their names in messages
    markers: list[tuple[SX, Key]] = field(default_factory=list)
    _now: set[Key] = field(default_factory=set)  # written in the run that is going on

    def begin(self) -> None:
        """Begin another run: nothing is written yet."""
        self._now.clear()

    def reads(self, thing, name: str) -> None:
        """Note that an attribute is read."""
        if (id(thing), name) not in self._now:
            self.read.add((id(thing), name))

    def writes(self, thing, name: str) -> None:
        """Note that an attribute is written."""
        self._now.add((id(thing), name))
        self.written[id(thing), name] = f"{name!r} of a {type(thing).__name__}"

    def found_changed(self, thing, name: str) -> None:
        """Note that an attribute holds something else after a run, however it was written."""
        if (id(thing), name) not in self.marked and (id(thing), name) not in self.written:
            self.read.add((id(thing), name))
            self.writes(thing, name)

    def look(self, thing, made, copies) -> None:
        """Look whether the copy of an array or a container still holds what it held."""
        if not holds_other(made, thing, copies):
            return
        if not isinstance(thing, np.ndarray):
            kind = "class" if isinstance(thing, type) else type(thing).__name__
            article = "an" if kind[0] in "aeiouAEIOU" else "a"
            raise refusal(f"changes {article} {kind} outside itself, which compiled code cannot do", ADVICE, line=False)
        if (id(thing), "") not in self.marked:
            self.read.add((id(thing), ""))
            self.written[id(thing), ""] = "an array outside itself"

    @property
    def kept(self) -> frozenset[Key]:
        """What may carry something from one call to the next."""
        return frozenset(self.read & self.written.keys())

    def marker(self, thing, name: str, value):
        """Return symbols in the place of a value that may be remembered; name is "" for the entries of an array."""
        if isinstance(value, bool | int | float | np.generic):
            self.markers.append((SX.sym("remembered"), (id(thing), name)))
            return Symbol(self.markers[-1][0])
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            made = np.empty(value.shape, dtype=object)
            for place in np.ndindex(value.shape):
                made[place] = self.marker(thing, name, 0.0)
            return made.view(SymbolArray)
        raise self._refused((id(thing), name))

    def check(self, result) -> None:
        """Refuse a result that depends on what may be remembered."""
        value = to_sx(result)
        for marker, key in self.markers:
            if depends_on(value, marker):
                raise self._refused(key)

    def _refused(self, key: Key):
        return refusal(f"remembers {self.written[key]} from one call to the next", ADVICE, line=False)


def holds_other(made, thing, copies) -> bool:
    """Tell whether the copy of something holds something else than the original: entries, items, attributes."""
    if isinstance(made, SymbolArray):
        return any(map(_differs, made.flat, thing.flat))
    if isinstance(made, np.ndarray):
        return made.tobytes() != thing.tobytes()
    if isinstance(thing, type | types.FunctionType):
        return any(name not in copies.given_to(made) for name in vars(made)) or any(
            vars(made)[name] is not value for name, value in copies.given_to(made).items()
        )
    if len(made) != len(thing):
        return True
    if isinstance(thing, dict):
        return any(dict.get(made, key) is not copies(value) for key, value in dict.items(thing))
    if isinstance(thing, list | collections.deque):
        return any(a is not copies(b) for a, b in zip(made, thing, strict=True))
    return made != (set(map(copies, thing)) if isinstance(thing, set) else thing)


def _differs(now, before) -> bool:
    return isinstance(now, Symbol) or (now != before and (now == now or before == before))
