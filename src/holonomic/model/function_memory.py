"""What a function keeps or changes outside itself.

What it remembers from one call to the next are attributes and arrays that it reads before it has written them. A run on symbols
sees one call: a relay that keeps its position in `self.on` would be taken for a function of the state, which it is not. So what a
function both reads and writes outside itself is replaced by symbols of their own in a second run: a counter or a buffer
leaves no trace of them in the result, a memory does and is refused.

Whether a function has written into what it was given, arrays, containers and objects, is seen by looking before and after.
"""

from __future__ import annotations

import collections
import functools
import numbers
import types
from dataclasses import dataclass, field
from operator import is_

import numpy as np

from .make_symbols import to_sx
from .refusals import refusal
from .symbol import Symbol
from .symbol_array import SymbolArray
from .symbolics import SX, depends_on

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


DEPTH = 8  # of containers inside containers; what lies deeper may have been written into
# Nothing can be written into these, or it is seen elsewhere: attributes of functions and classes are looked at after a run.
FIXED = (
    type(None), type(Ellipsis), type(NotImplemented), numbers.Number, str, bytes, frozenset, slice, range, np.generic, np.dtype,
    Symbol, SX, type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType,
)  # fmt: skip
HOLDERS = (list, dict, set, collections.deque)


class Written:
    """What things held when this was made.

    Parameters
    ----------
    given
        Arguments and the closure of a function.
    more : list
        Further things that it may reach.
    """

    def __init__(self, given, more: list):
        self._held: list[tuple] = []  # (thing, what it held); contents stay alive, so that their addresses stay theirs
        self._seen: set[int] = set()
        self._unseen = 0
        self._follow(given, DEPTH)
        self._is_complete = self._unseen == 0  # as far as it was given; of the others, what they hold is among them
        for thing in more:
            self._follow(thing, 1)

    def _follow(self, thing, depth: int) -> None:
        if isinstance(thing, FIXED) or id(thing) in self._seen:
            return
        if isinstance(thing, tuple):
            for each in thing:
                self._follow(each, depth)
        elif isinstance(thing, types.CellType):
            try:
                self._follow(thing.cell_contents, depth)
            except ValueError:
                return
        elif isinstance(thing, types.MethodType):
            self._follow(thing.__self__, depth)
        elif isinstance(thing, functools.partial):
            self._follow((thing.func, thing.args, thing.keywords), depth)
        elif isinstance(thing, np.ndarray):
            self._seen.add(id(thing))
            self._held.append((thing, thing.copy(), thing.tobytes()))
        else:
            self._follow_into(thing, depth)

    def _follow_into(self, thing, depth: int) -> None:
        parts = _parts(thing)
        if parts is None or depth == 0:
            self._unseen += 1
            return
        self._seen.add(id(thing))
        self._held.append((thing, parts, None))
        for each in parts:
            self._follow(each, depth - 1)

    def holds(self, value) -> bool:
        """Tell whether a value is one of these things, shares memory with one, or holds such a thing."""
        if isinstance(value, np.ndarray):
            return any(np.shares_memory(value, held[0]) for held in self._held if isinstance(held[0], np.ndarray))
        if isinstance(value, tuple | list | dict):
            inside = value.values() if isinstance(value, dict) else value
            return id(value) in self._seen or any(map(self.holds, inside))
        return id(value) in self._seen

    def may_have_changed(self) -> bool:
        """Tell whether anything holds something else now, or cannot be looked into."""
        for thing, before, raw in self._held:
            if raw is not None:
                if thing.tobytes() != raw:
                    return True
            else:
                now = _parts(thing)
                if len(now) != len(before) or not all(map(is_, now, before)):
                    return True
        return not self._is_complete


def _parts(thing) -> tuple | None:
    """What a container or an instance of a class written in Python holds, in a fixed order; None where that cannot be told."""
    kind = type(thing)
    found = [*thing, *thing.values()] if isinstance(thing, dict) else list(thing) if isinstance(thing, HOLDERS) else None
    if kind.__module__ == "builtins":
        return None if found is None else tuple(found)
    slots = slots_of(kind)
    try:
        attributes = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        if not slots and found is None:
            return None
        attributes = {}
    in_slots = [part for each in slots for part in filling(each, thing) or (None,)]
    return (*(found or ()), *attributes, *attributes.values(), *in_slots)


def slots_of(kind: type) -> list[types.MemberDescriptorType]:
    """The __slots__ of a class and of those it inherits from."""
    members = (value for each in kind.__mro__ if "__slots__" in vars(each) for value in vars(each).values())
    return [each for each in members if type(each) is types.MemberDescriptorType]


def filling(slot: types.MemberDescriptorType, thing) -> tuple:
    """What is in a slot, or nothing."""
    try:
        return (slot.__get__(thing),)
    except AttributeError:
        return ()


def empty(kind: type):
    """An instance of a class, without attributes; TypeError where the class allows none."""
    return (types.SimpleNamespace if issubclass(kind, types.SimpleNamespace) else object).__new__(kind)
