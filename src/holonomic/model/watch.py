"""What a system's functions reach outside themselves, and whether it has changed since.

A model is made once for a system. A user who then gives a global another value, changes a table in place or
defines a helper function anew means the next run to see it, as plain Python would. Everything that functions reach is
followed, as long as it is on the positive list of `pure_functions`; looking costs about 0.1 µs for every name that is read, so it
is done before every run. Where something else is reached, nothing is claimed: the model is *unknown* and traced anew.

Whether two models are the same is not decided here: what was traced decides.
"""

from __future__ import annotations

import dataclasses
import functools
import reprlib
import sys
import types
from operator import is_
from typing import Any

import numpy as np

from .bytecode import Chain, reads
from .made_functions import MadeFunction
from .opaque import Opaque
from .pure_functions import PLAIN, is_pure

MOST = 100_000  # things that are followed: to look at them takes some 10 ms, as long as tracing a large system
_MISSING = object()
_PACKAGE = __name__.partition(".")[0]
# Modules of this package whose functions make equations of what they are given; those that read files are not among them.
_MAKING = tuple(f"{_PACKAGE}.{place}." for place in ("model", "multibody", "problems"))
_READING = (f"{_PACKAGE}.multibody.urdf", f"{_PACKAGE}.multibody.meshes")
_HEAP_TYPE = 1 << 9  # of a class made by a class statement
_UNREAD = {
    "__module__", "__doc__", "__qualname__", "__annotations__", "__match_args__", "__dataclass_fields__",
    "__dataclass_params__", "__firstlineno__", "__static_attributes__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__orig_bases__", "__parameters__", "__type_params__",
}  # fmt: skip  # of a class; no function that is followed can read these
_DECIDING = {"__getattr__", "__getattribute__", "__get__", "__set__", "__slots__", "__class__", "__mro_entries__"}


class Unknown(Exception):
    """Something that is not on the positive list."""


class Watch:
    """What functions reach, and the values that were there when the watch was made.

    Parameters
    ----------
    *things
        Functions, or containers with functions in them.

    Attributes
    ----------
    unknown : str or None
        What was reached that nothing can be told of, in words.
    changes : bool
        Whether a function may change objects, its own or others.
    """

    def __init__(self, *things):
        self.unknown: str | None = None
        self.changes = False
        self._bound: list[tuple[dict, str, object]] = []  # a name, its place, its value
        self._cells: list[tuple[types.CellType, object]] = []
        self._functions: list[tuple[types.FunctionType, types.CodeType, tuple | None, dict | None, dict]] = []
        self._partials: list[tuple[functools.partial, tuple]] = []
        self._arrays: list[tuple[np.ndarray, tuple, np.dtype, bytes]] = []
        self._rows: list[tuple[Any, tuple]] = []  # lists and sets
        self._tables: list[tuple[dict, tuple, tuple]] = []
        self._classes: list[tuple[type, tuple, tuple, tuple]] = []
        self._opaque: list[tuple[Opaque, int]] = []  # called as they are, unless they were compiled
        self._instances: list[tuple[object, type, dict]] = []
        self._modules: dict[int, tuple[types.ModuleType, set[str]]] = {}  # that are handed on, and names looked for in them
        self._names: set[str] = set()  # that the functions may take of them
        self._seen: dict[int, object] = {}  # what has been followed; kept, so that no identity is given away anew
        self._waiting: list[object] = list(things)
        try:
            while self._waiting or self._follow_modules():
                self._follow(self._waiting.pop())
        except Unknown as found:
            self.unknown = str(found)

    def unchanged(self) -> bool:
        """Tell whether everything is known, and as it was."""
        return self.unknown is None and not self._changed()

    def _changed(self) -> bool:
        """Plain loops: this is done before every run, and generators would take three times as long."""
        for place, name, value in self._bound:
            if place.get(name, _MISSING) is not value:
                return True
        for cell, value in self._cells:
            if _content(cell) is not value:
                return True
        for function, code, defaults, named, own in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults or function.__kwdefaults__ is not named:
                return True
            if function.__dict__ is not own:
                return True
        for row, items in self._rows:
            if not _same(row, items):
                return True
        for table, names, values in self._tables:
            if len(table) != len(names) or (names and not (_same(table, names) and _same(table.values(), values))):
                return True
        for thing, kind, own in self._instances:
            if type(thing) is not kind or thing.__dict__ is not own:
                return True
        for kind, mro, names, values in self._classes:
            if kind.__mro__ is not mro or not (_same(vars(kind), names) and _same(vars(kind).values(), values)):
                return True
        for outside, version in self._opaque:
            if not outside.is_current(version):
                return True
        for partial, parts in self._partials:
            if not _same((partial.func, partial.args, partial.keywords, partial.__dict__), parts):
                return True
        for array, shape, dtype, content in self._arrays:
            if array.shape != shape or array.dtype is not dtype or array.tobytes() != content:
                return True
        return False

    def _follow(self, thing) -> None:
        """Note a value, and put what it leads to on the list of those that wait."""
        kind = type(thing)
        if kind in PLAIN or id(thing) in self._seen or is_pure(thing):
            return
        self._seen[id(thing)] = thing
        if len(self._seen) > MOST:
            raise Unknown(f"more than {MOST} things")
        if kind is types.FunctionType:
            self._follow_function(thing)
        elif kind is np.ndarray:
            if thing.dtype.isbuiltin != 1 or thing.dtype.kind not in "biufc":
                raise Unknown(f"an array of {thing.dtype}")
            self._arrays.append((thing, thing.shape, thing.dtype, thing.tobytes()))
        elif kind is tuple or kind is frozenset:
            self._waiting += thing
        elif kind is list or kind is set:
            self._rows.append((thing, tuple(thing)))
            self._waiting += thing
        elif kind is dict:
            self._tables.append((thing, tuple(thing), tuple(thing.values())))
            self._waiting += thing
            self._waiting += thing.values()
        elif kind is Opaque:
            self._opaque.append((thing, thing.version))
        elif kind is MadeFunction:
            self._waiting.append(thing.function)
        elif kind is types.ModuleType:
            if "__getattr__" in vars(thing) and thing is not np:
                raise Unknown(f"the module {thing.__name__} as a value")
            self._modules[id(thing)] = thing, set()
        elif kind is functools.partial:
            parts = (thing.func, thing.args, thing.keywords, thing.__dict__)
            self._partials.append((thing, parts))
            self._waiting += parts
        elif kind is types.MethodType:
            self._waiting += (thing.__func__, thing.__self__)
        elif kind is types.BuiltinFunctionType and type(thing.__self__) in (list, dict, set, tuple, str, np.ndarray):
            self._waiting.append(thing.__self__)  # [..].index, {..}.get
        elif kind is type:
            self._follow_class(thing)
        elif kind is types.SimpleNamespace:
            self._follow_instance(thing)
        elif type(kind) is type and kind.__flags__ & _HEAP_TYPE:
            self._waiting.append(kind)
            self._follow_instance(thing)
        else:
            raise Unknown(f"an instance of {kind.__name__}")

    def _follow_function(self, function: types.FunctionType) -> None:
        parts = (function.__defaults__, function.__kwdefaults__, function.__dict__)
        self._functions.append((function, function.__code__, *parts))
        self._waiting += parts
        read = reads(function.__code__)
        self._names |= read.names
        own = _of_package(function.__globals__)  # of those, only what they were given is followed
        if read.refused is not None and not own:
            raise Unknown(read.refused)
        self.changes |= read.changes and function.__name__ not in ("__init__", "__post_init__")  # these fill what is new
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            value = _content(cell)
            self._cells.append((cell, value))
            if value is not _MISSING:
                self._follow_chains(value, read.around.get(name, ()))
        if own:
            return
        spaces = function.__globals__, function.__builtins__
        if any(type(space) is not dict for space in spaces):
            raise Unknown("globals that are no plain dict")
        for name, chains in read.outside.items():
            for space in spaces:
                value = space.get(name, _MISSING)
                self._bound.append((space, name, value))
                if value is not _MISSING:
                    self._follow_chains(value, chains)
                    break

    def _follow_chains(self, value, chains: set[Chain] | tuple) -> None:
        """Follow a value; of a module, what the code takes of it."""
        if type(value) is not types.ModuleType:
            self._waiting.append(value)
            return
        for chain in chains:
            place = value
            for name in chain:
                found = vars(place).get(name, _MISSING)
                if found is _MISSING:  # made by the module's __getattr__, or not at all
                    raise Unknown(f"{place.__name__}.{name}")
                self._bound.append((vars(place), name, found))
                place = found
                if type(place) is not types.ModuleType:
                    self._waiting.append(place)
                    break
            else:
                self._waiting.append(place)

    def _follow_modules(self) -> bool:
        """Follow what the functions may take of modules that are handed on: `self.xp.sin`; tell whether that is anything new."""
        for module, looked in self._modules.values():
            names = self._names - looked
            made = names & set(dir(np)) if names and module is np else ()  # some by its __getattr__
            for name in names:
                found = vars(module).get(name, _MISSING)
                if found is _MISSING and name in made:
                    raise Unknown(f"numpy.{name}")
                self._bound.append((vars(module), name, found))
                if found is not _MISSING:
                    self._waiting.append(found)
            looked |= self._names
        return bool(self._waiting)

    def _follow_class(self, kind: type) -> None:
        """Note everything that a class of a class statement and those it inherits from say."""
        for each in kind.__mro__[:-1]:  # what inherits from a type of the list is not on it
            if is_pure(each) or not each.__flags__ & _HEAP_TYPE:
                raise Unknown(f"a class that inherits from {each.__name__}" if each is not kind else f"the class {kind.__name__}")
        self._waiting += kind.__mro__[1:-1]
        if _of_package_class(kind):
            return
        self._classes.append((kind, kind.__mro__, tuple(vars(kind)), tuple(vars(kind).values())))
        for name, value in vars(kind).items():
            slot = name in ("__dict__", "__weakref__")
            if name in _DECIDING or (slot and type(value) is not types.GetSetDescriptorType):
                raise Unknown(f"{kind.__name__}.{name}")
            if name not in _UNREAD and not slot and not (name == "__replace__" and value.__module__ == "dataclasses"):
                self._follow_member(name, value)

    def _follow_member(self, name: str, value) -> None:
        kind = type(value)
        if kind is staticmethod or kind is classmethod:
            self._waiting.append(value.__func__)
        elif kind is property:
            self._waiting += (value.fget, value.fset, value.fdel)
        elif not (kind is types.FunctionType and _of_dataclass(name, value)):
            self._waiting.append(value)

    def _follow_instance(self, thing) -> None:
        own = getattr(thing, "__dict__", None)
        if type(own) is not dict:
            raise Unknown(f"an instance of {type(thing).__name__}")
        self._instances.append((thing, type(thing), own))
        self._waiting.append(own)


def _of_dataclass(name: str, function: types.FunctionType) -> bool:
    """Whether a method is one that `dataclass` writes: the text of the fields, or the refusal to set them."""
    if name == "__repr__":
        return function.__code__.co_filename in (dataclasses.__file__, reprlib.__file__)
    refuses = any(_content(cell) is dataclasses.FrozenInstanceError for cell in function.__closure__ or ())
    return refuses and name in ("__setattr__", "__delattr__") and function.__code__.co_filename == "<string>"


def _same(items, held: tuple) -> bool:
    return len(items) == len(held) and all(map(is_, items, held))


def _content(cell: types.CellType):
    try:
        return cell.cell_contents
    except ValueError:  # not bound, or not any more
        return _MISSING


def _of_package(space: dict) -> bool:
    """Whether globals are those of a module of ours that makes equations, whose functions do not change in a session."""
    name = space.get("__name__")
    return type(name) is str and _makes_equations(name) and vars(sys.modules.get(name, types)) is space


def _of_package_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return _makes_equations(kind.__module__) and module is not None and vars(module).get(kind.__name__) is kind


def _makes_equations(module: str) -> bool:
    return module.startswith(_MAKING) and module not in _READING


def alike(thing):
    """Return a key of a function or value that is the same for all that cannot differ while a watch on one is quiet.

    Two functions of one piece of code, as a lambda in a loop gives them, are alike where they stand on equal numbers and
    on the same objects. Keep the thing along with its key: objects are compared by identity.
    """
    if type(thing) is tuple:
        return tuple(map(alike, thing))
    if type(thing) is types.FunctionType and not thing.__dict__ and not thing.__kwdefaults__:
        given = (*(thing.__defaults__ or ()), *map(_content, thing.__closure__ or ()))
        return id(thing.__code__), id(thing.__globals__), tuple(map(_told, given))
    return _told(thing)


def _told(value) -> tuple:
    return (type(value), repr(value)) if type(value) in PLAIN else (None, id(value))
