"""Whether a function has written into what it was given: arrays, containers and objects, looked at before and after."""

from __future__ import annotations

import collections
import functools
import numbers
import types
from operator import is_

import numpy as np

from .casadi_door import SX
from .symbol import Symbol

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
