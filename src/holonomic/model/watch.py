"""What a system's functions read outside themselves, and whether it has changed since.

A model is made once for a system. A user who then gives a global another value, changes a table in place or
defines a helper function anew means the next run to see it, as plain Python would. Looking costs about 0.1 µs
for every name that is read, so it is done before every run.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from .fingerprint import LIBRARIES, global_names
from .makers import Made

MOST = 2000  # names that are followed: an object that leads everywhere would never end
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, types.BuiltinFunctionType)


class Watch:
    """The names that functions read and the values these had when they were last looked at.

    Parameters
    ----------
    *things
        Functions, or containers with functions in them.
    """

    def __init__(self, *things):
        self._bound: list[tuple[Mapping, str, object]] = []  # names, their place, their value
        self._cells: list[tuple[types.CellType, object]] = []
        self._arrays: list[tuple[np.ndarray, bytes]] = []
        self._lists: list[tuple[Any, list]] = []
        self._seen: dict = {}
        for thing in things:
            with contextlib.suppress(RecursionError):  # what lies deeper is not followed
                self._follow(thing, set())
        self._seen.clear()

    def changed(self) -> bool:
        """Tell whether a name has another value now, or a container other contents."""
        for names, name, value in self._bound:
            if names.get(name) is not value:
                return True
        for cell, value in self._cells:
            if _content(cell) is not value:
                return True
        for array, content in self._arrays:
            if array.tobytes() != content:
                return True
        return any(
            len(items) != len(held) or any(a is not b for a, b in zip(items, held, strict=True))
            for items, held in self._lists
        )

    def _follow(self, thing, names: set[str]) -> None:
        """Note what there is behind a value; of modules and classes, what goes by one of the names."""
        key = (id(thing), frozenset(names) if isinstance(thing, types.ModuleType | type) else None)
        if isinstance(thing, _PLAIN) or key in self._seen or len(self._seen) > MOST:
            return
        self._seen[key] = thing
        if isinstance(thing, types.FunctionType):
            self._follow_function(thing)
        elif isinstance(thing, Made):
            self._follow(thing.function, names)
        elif isinstance(thing, functools.partial):
            for part in (thing.func, thing.args, thing.keywords):
                self._follow(part, names)
        elif isinstance(thing, types.MethodType):
            self._follow(thing.__func__, names)
            code = getattr(thing.__func__, "__code__", None)
            self._follow(thing.__self__, set() if code is None else global_names(code))
        elif isinstance(thing, np.ndarray):
            if not thing.dtype.hasobject:
                self._arrays.append((thing, thing.tobytes()))
        elif isinstance(thing, list | tuple | set | frozenset):
            if isinstance(thing, list | set):
                self._lists.append((thing, list(thing)))
            for item in thing:
                self._follow(item, names)
        elif isinstance(thing, Mapping):
            self._hold_all(thing, names)
        elif isinstance(thing, types.ModuleType | type):
            for place in (thing,) if isinstance(thing, types.ModuleType) else thing.__mro__:
                if not _is_library(place):
                    self._hold(vars(place), names & set(vars(place)), names)
        elif hasattr(thing, "__dict__") and not _is_library(type(thing), instance=True):
            self._hold_all(vars(thing), names)
            self._follow(type(thing), names | {"__call__"})

    def _follow_function(self, function: types.FunctionType) -> None:
        names = global_names(function.__code__)
        for cell in function.__closure__ or ():
            value = _content(cell)
            self._cells.append((cell, value))
            self._follow(value, names)
        for part in (function.__defaults__, function.__kwdefaults__, vars(function)):
            if part:
                self._follow(part, names)
        if not _is_library(function):
            self._hold(function.__globals__, names & set(function.__globals__), names)

    def _hold_all(self, place: Mapping, followed: set[str]) -> None:
        self._lists.append((place.keys(), list(place)))
        self._hold(place, list(place), followed)

    def _hold(self, place: Mapping, names, followed: set[str]) -> None:
        for name in names:
            value = place[name]
            if not (isinstance(value, types.ModuleType) and _is_library(value)):
                self._bound.append((place, name, value))
                self._follow(value, followed)


def _content(cell: types.CellType):
    try:
        return cell.cell_contents
    except ValueError:  # not bound, or not any more
        return None


def _is_library(thing, instance: bool = False) -> bool:
    """Whether a module, class or function comes from an installed package, which does not change in a session.

    Instances of the standard library's classes hold a user's values (SimpleNamespace), those of others their own.
    """
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None) or ""
    root = name.split(".")[0]
    if root in LIBRARIES:
        return root != "builtins" or not instance
    if root in sys.stdlib_module_names:
        return not instance
    return "site-packages" in (getattr(sys.modules.get(name), "__file__", None) or "")
