"""Whether a function has written into what it was given: arrays, containers and objects, looked at before and after."""

from __future__ import annotations

import types

import numpy as np

DEPTH = 4  # of containers inside containers


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
        self._follow(given, DEPTH)
        for thing in more:
            self._follow(thing, 1)

    def _follow(self, thing, depth: int) -> None:
        if isinstance(thing, np.ndarray):
            if thing.dtype == object and id(thing) not in self._seen:
                self._seen.add(id(thing))
                self._held.append((thing, thing.copy(), thing.tobytes()))
        elif isinstance(thing, tuple):
            for each in thing:
                self._follow(each, depth)
        elif isinstance(thing, types.CellType):
            try:
                self._follow(thing.cell_contents, depth)
            except ValueError:
                return
        elif isinstance(thing, list | dict) or (hasattr(type(thing), "__dict__") and _attributes(thing) is not None):
            if depth and id(thing) not in self._seen:
                self._seen.add(id(thing))
                place = thing if isinstance(thing, list | dict) else _attributes(thing)
                self._held.append((place, place.copy(), None))
                for each in place.values() if isinstance(place, dict) else place:
                    self._follow(each, depth - 1)

    def holds(self, value) -> bool:
        """Tell whether a value is one of these things, shares memory with one, or holds such a thing."""
        if isinstance(value, np.ndarray):
            return any(np.shares_memory(value, held[0]) for held in self._held if isinstance(held[0], np.ndarray))
        if isinstance(value, tuple | list | dict):
            inside = value.values() if isinstance(value, dict) else value
            return id(value) in self._seen or any(map(self.holds, inside))
        return id(value) in self._seen

    def changed(self) -> bool:
        """Tell whether anything holds something else now."""
        for thing, before, raw in self._held:
            if raw is not None:
                if thing.tobytes() != raw:
                    return True
            elif len(thing) != len(before) or any(a is not b for a, b in zip(_items(thing), _items(before), strict=True)):
                return True
        return False


def _items(place):
    return place.values() if isinstance(place, dict) else place


def _attributes(thing) -> dict | None:
    """The attributes of an instance of a class of the user's, or None."""
    kind = type(thing)
    if kind.__module__ == "builtins" or isinstance(thing, type | types.FunctionType | types.ModuleType):
        return None
    try:
        return object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None
