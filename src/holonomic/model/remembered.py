"""What a function remembers from one call to the next: attributes and arrays that it reads before it has written them.

A run on symbols sees one call. A relay that keeps its position in `self.on` would be taken for a function of the state,
which it is not. So what a function both reads and writes outside itself is replaced by symbols of their own in a second
run: a counter or a buffer leaves no trace of them in the result, a memory does and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from casadi import SX, depends_on

from .symbol import Symbol, refusal
from .symbol_array import SymbolArray
from .symbols import to_sx

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
    markers: list[SX] = field(default_factory=list)
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

    def look(self, thing, made, copies) -> None:
        """Look whether the copy of an array or a container still holds what it held."""
        if isinstance(made, SymbolArray):
            key = (id(thing), "")
            if key not in self.marked and any(map(_differs, made.flat, thing.flat)):
                self.read.add(key)
                self.written[key] = "an array outside itself"
        else:
            pairs = [(made.get(key), thing[key]) for key in thing] if isinstance(thing, dict) else []
            if isinstance(thing, list) and len(made) == len(thing):
                pairs = list(zip(made, thing, strict=True))
            if len(made) != len(thing) or any(a is not copies(b) for a, b in pairs):
                kind = type(thing).__name__
                raise refusal(f"changes a {kind} outside itself, which compiled code cannot do", ADVICE, line=False)

    @property
    def kept(self) -> frozenset[Key]:
        """What may carry something from one call to the next."""
        return frozenset(self.read & self.written.keys())

    def marker(self, thing, name: str, value):
        """Return symbols in the place of a value that may be remembered."""
        if isinstance(value, bool | int | float | np.generic):
            self.markers.append(SX.sym(f"remembered {name}"))
            return Symbol(self.markers[-1])
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            made = np.empty(value.shape, dtype=object)
            for place in np.ndindex(value.shape):
                made[place] = self.marker(thing, name, 0.0)
            return made.view(SymbolArray)
        raise self.refused()

    def check(self, result) -> None:
        """Refuse a result that depends on what may be remembered."""
        value = to_sx(result)
        if any(depends_on(value, marker) for marker in self.markers):
            raise self.refused()

    def refused(self):
        """The refusal of a function with a memory."""
        what = next((self.written[key] for key in sorted(self.kept, key=str)), "something")
        return refusal(f"remembers {what} from one call to the next", ADVICE, line=False)


def _differs(now, before) -> bool:
    return isinstance(now, Symbol) or (now != before and now == now)
