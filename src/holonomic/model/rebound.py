"""Copies of a user's functions whose names for NumPy, math and some builtins are ours.

A function is run on symbols under globals of its own, and so are its helpers in whatever module they stand, what its
closure holds, and the methods of objects that it reaches. Nothing of the user's is changed: containers, arrays and
objects are copied when they are first reached, and the copies are forgotten after the run. NumPy itself is never touched,
so other threads notice nothing. Functions of libraries stay as they are.
"""

from __future__ import annotations

import array
import collections
import copy
import enum
import functools
import itertools
import pickle
import sys
import types
from typing import Any

import numpy as np

from .branches import each_way
from .bytecode import branches, builds_classes, keeps_memory
from .float_stand_ins import LARGE, holding
from .function_memory import ADVICE, HOLDERS, Remembered, empty, filling, holds_other, slots_of
from .function_signature import CACHED, is_compiled
from .numpy_on_symbols import BUILTINS, in_use
from .refusals import refusal
from .scipy_interpolants import stand_in
from .symbol import Symbol
from .symbol_array import SymbolArray

# Their code is run as it is: it knows nothing of symbols, or (ours) all about them.
LIBRARIES = frozenset(
    {"numpy", "scipy", "holonomic", "numba", "llvmlite", "sympy", "mpmath", "pandas", "matplotlib", "_pytest", "pytest"}
)
# Objects of libraries that are changed in use: tables, and random numbers.
CHANGING = ("pandas", "numpy.random")
PLAIN = (int, float, complex, str, bytes, bool, type(None), type(Ellipsis), slice, range, np.dtype, Symbol, SymbolArray)
_PLAIN = frozenset(PLAIN)
COPIED = frozenset({
    list, dict, set, bytearray, array.array, collections.deque, collections.OrderedDict, collections.defaultdict,
    collections.Counter,
})  # fmt: skip


def is_library(name: str | None) -> bool:
    """Tell whether the code of a module is run as it is."""
    root = (name or "").partition(".")[0]
    return root in LIBRARIES or (root in sys.stdlib_module_names and root != "__main__")


ANNOTATE = ("__annotate__", "__annotate_func__")


class Globals(dict):
    """The names of one module, each copied when it is first asked for."""

    def __init__(self, copies: Rebound, own: dict[str, Any]):
        super().__init__({name: own[name] for name in ("__name__", "__file__", "__package__") if name in own})
        self["__builtins__"] = BUILTINS | {"__import__": copies.imported}
        self._copies, self._own = copies, own

    def __missing__(self, name):
        self[name] = found = self._copies(self._own[name])
        return found


class Module(types.ModuleType):
    """A user's module, whose names lead to copies."""

    def __init__(self, copies: Rebound, own: types.ModuleType):
        super().__init__(own.__name__)
        self.__dict__.update(_copies=copies, _own=own)

    def __getattr__(self, name):
        return self._copies(getattr(self._own, name))

    def __setattr__(self, name, value):
        raise refusal(f"sets {name!r} of the module {self._own.__name__}, which compiled code cannot do", ADVICE)


class Rebound:
    """The copies made for one run on symbols: each thing once, so that what was one thing stays one."""

    def __init__(self, inline: frozenset, memory: Remembered):
        self._inline, self._memory = inline, memory
        self._known: dict[int, tuple[Any, Any]] = {}  # the original is kept, so that its id stays its own
        self._globals: dict[int, Globals] = {}
        self._class_cells: dict[int, types.CellType] = {}
        self._held: list[tuple[Any, Any]] = []  # arrays, containers, classes and functions with their copies
        self._given: dict[int, dict[str, Any]] = {}  # what copies of classes and functions had as attributes
        self._puts = 0  # attributes set on copies of objects
        self._objects: dict[int, tuple[Any, dict, dict]] = {}  # by ids of copied instances: the original, attributes, as given
        self._states: list[tuple[Any, bytes | None]] = []  # copied objects of libraries that change when used, and how they were
        self.changeable: list = []  # copies that the user's code may write into

    def __call__(self, thing):
        kind = type(thing)
        if kind in _PLAIN:
            return thing
        known = self._known.get(id(thing))
        if known is None:
            made = self._made(thing, kind)
            self._known[id(thing)] = known = (thing, made)
            self._known[id(made)] = (made, made)
        return known[1]

    def given_to(self, made) -> dict[str, Any]:
        """The attributes that the copy of a class or a function was made with."""
        return self._given[id(made)]

    @property
    def mark(self) -> tuple[int, int, int]:
        """How far things have been copied and written."""
        return len(self._held), len(self._objects), self._puts

    def changed_since(self, mark: tuple[int, int, int]) -> bool:
        """Tell whether anything outside has been written that was copied after the mark, or an object at all."""
        held, objects, puts = mark
        if self._puts != puts or any(holds_other(made, thing, self) for thing, made in self._held[held:]):
            return True
        return any(map(_rewritten, itertools.islice(self._objects.values(), objects, None)))

    def look_back(self) -> None:
        """Look at what the run has changed of things that were there before."""
        for made, before in self._states:
            if _state(made) != before:
                kind = type(made)
                does = "uses random numbers of" if kind.__module__.startswith("numpy.random") else "changes"
                what = f"{does} a {kind.__name__} outside itself, so that its value depends on earlier calls"
                raise refusal(what, ADVICE, line=False)
        for thing, made in self._held:
            self._memory.look(thing, made, self)
        for copied in self._objects.values():
            for name in _rewritten(copied):
                self._memory.found_changed(copied[0], name)

    def imported(self, *args, **kwargs):
        """What `import` gives inside a function: a library of ours, or a module whose names lead to copies."""
        return self(BUILTINS["__import__"](*args, **kwargs))

    def _made(self, thing, kind):
        if kind is types.FunctionType:
            return self._function(thing)
        ours = in_use(thing)
        if ours is not thing:
            return ours
        if kind is types.MethodType:
            return types.MethodType(self(thing.__func__), self(thing.__self__))
        if isinstance(thing, np.ndarray):
            return self._array(thing)
        if kind is tuple:
            return tuple(map(self, thing))
        if kind in COPIED:
            return self._container(thing, copy.copy(thing))
        if kind is types.MappingProxyType:
            return types.MappingProxyType(self(dict(thing)))
        if kind is types.ModuleType:
            return thing if is_library(thing.__name__) else Module(self, thing)
        if kind is functools.partial:
            named = {name: self(value) for name, value in thing.keywords.items()}
            return functools.partial(self(thing.func), *map(self, thing.args), **named)
        if kind is CACHED:  # what it remembers of symbols would outlast the run
            return self(thing.__wrapped__)
        if kind is np.vectorize:
            vectorized = np.vectorize(self(thing.pyfunc), otypes=[object])
            return lambda *args, **named: holding(vectorized(*args, **named))
        if is_compiled(thing):
            return self(thing.py_func)
        if kind is types.BuiltinMethodType and type(thing.__self__) in (list, dict, set):
            return getattr(self(thing.__self__), thing.__name__)
        if isinstance(thing, type):
            return thing if _is_library_class(thing) else self._class(thing)
        return self._instance(thing, kind)

    def _noted(self, made):
        self.changeable.append(made)
        return made

    def _array(self, thing):
        if (id(thing), "") in self._memory.marked:
            return self._noted(self._memory.marker(thing, "", thing))
        if thing.size > LARGE:
            made = thing.view()
            made.flags.writeable = False
            return made
        made = holding(thing)
        if np.may_share_memory(made, thing):  # of integers, truths or objects, or of a kind of its own
            made = made.copy()
        self._held.append((thing, made))
        return self._noted(made)

    def _container(self, thing, made):
        """The copy of a container, which holds copies."""
        self._noted(made)
        self._held.append((thing, made))
        self._known[id(thing)] = (thing, made)  # it may hold itself
        if isinstance(thing, dict):
            for key, value in dict.items(thing):
                dict.__setitem__(made, key, self(value))
        for base in (list, collections.deque):
            if isinstance(thing, base):
                for place, value in enumerate(base.__iter__(thing)):
                    base.__setitem__(made, place, self(value))
        if isinstance(thing, set):
            set.clear(made)
            set.update(made, map(self, thing))
        return made

    # functions

    def _function(self, function: types.FunctionType):
        if is_library(function.__globals__.get("__name__")):
            return in_use(function)
        code = function.__code__
        memory = keeps_memory(code)
        if memory is not None:
            raise refusal(f"sets {memory} in {function.__name__}(), so that its value depends on earlier calls", ADVICE, line=False)
        made = types.FunctionType(code, self._names(function, code), function.__name__, None, self._closure(function))
        made.__defaults__ = self(function.__defaults__)
        made.__kwdefaults__ = self(function.__kwdefaults__)
        made.__dict__.update(function.__dict__)
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        if branches(code) and code not in self._inline:
            self._known[id(made)] = (made, made)
            made = each_way(made, self)
        return self._watched(function, made)

    def _watched(self, thing, made):
        """The copy of a class or a function, whose attributes are looked at after the run."""
        self._given[id(made)] = dict(vars(made))
        self._held.append((thing, made))
        return made

    def _names(self, function, code) -> Globals:
        own = function.__globals__
        names = self._globals.get(id(own))
        if names is None:
            names = self._globals[id(own)] = Globals(self, own)
        for name in builds_classes(code):  # the body of a class looks names up past __missing__
            if name in own and name not in names:
                names[name] = self(own[name])
        return names

    def _closure(self, function):
        cells = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            known = self._known.get(id(cell))
            if known is None:
                made = types.CellType()
                self._known[id(cell)] = known = (cell, made)  # first: a function may be in its own closure
                try:
                    content = cell.cell_contents
                except ValueError:
                    pass
                else:
                    if name == "__class__" and id(content) in self._class_cells:
                        made = self._class_cells[id(content)]
                        self._known[id(cell)] = known = (cell, made)
                    else:
                        made.cell_contents = self(content)
            cells.append(known[1])
        return tuple(cells) if cells else None

    # classes and their instances

    def _class(self, kind: type):
        """A class that inherits from the user's, with copies of its methods; the class itself where it allows none."""
        if isinstance(kind, enum.EnumType):
            return kind
        self._class_cells[id(kind)] = cell = types.CellType()
        self._known[id(kind)] = (kind, kind)  # while its methods are copied
        bases = tuple(self(base) for base in kind.__bases__ if not is_library(base.__module__))
        look, put = kind.__getattribute__, kind.__setattr__
        # what makes annotations (Python 3.14) holds the names of the class itself, and no function of the user's calls it
        names = {name: self._member(value) for name, value in vars(kind).items() if _is_method(value) and name not in ANNOTATE}
        names |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": None}
        names["__getattribute__"] = lambda one, name: self._looked_up(look, one, name)
        names["__setattr__"] = lambda one, name, value: self._put(put, one, name, value)
        try:
            made = type(kind)(kind.__name__, (*(base for base in bases if base is not kind), kind), names)
        except TypeError:  # slots in several bases, or arguments that the class wants of those who inherit
            made = kind
        cell.cell_contents = made
        return made if made is kind else self._watched(kind, made)

    def _looked_up(self, look, one, name):
        value = look(one, name)
        if name[:2] == "__":
            return value
        if id(one) in self._objects and not isinstance(value, types.MethodType):
            self._memory.reads(self._objects[id(one)][0], name)
        return self(value)

    def _put(self, put, one, name, value):
        put(one, name, value)
        if id(one) in self._objects:
            self._puts += 1
            self._memory.writes(self._objects[id(one)][0], name)

    def _member(self, value):
        if isinstance(value, staticmethod | classmethod):
            return type(value)(self(value.__func__))
        if isinstance(value, property):
            return property(*(self(part) for part in (value.fget, value.fset, value.fdel)))
        if isinstance(value, functools.cached_property):
            made = functools.cached_property(self(value.func))
            made.__set_name__(None, value.attrname)
            return made
        return self(value)

    def _instance(self, thing, kind: type):
        if kind.__module__.startswith("scipy.interpolate"):
            return stand_in(thing)
        if kind.__module__.startswith(CHANGING):
            made = copy.deepcopy(thing)
            self._states.append((made, _state(made)))
            return made
        slots = slots_of(kind)
        if _is_library_class(kind) or isinstance(thing, enum.Enum) or not (slots or hasattr(thing, "__dict__")):
            return thing
        shadow = self(kind)
        if shadow is kind:
            return thing
        try:
            made = copy.copy(thing) if isinstance(thing, HOLDERS) else empty(shadow)
            object.__setattr__(made, "__class__", shadow)
        except TypeError:
            return thing
        if isinstance(thing, HOLDERS):
            self._container(thing, made)
        for slot in slots:
            for value in filling(slot, thing):
                slot.__set__(made, value)
        own = object.__getattribute__(made, "__dict__")
        own.update(_own_attributes(thing))
        for owner, name in self._memory.marked:
            if owner == id(thing):
                marker = self._memory.marker(thing, name, getattr(thing, name))
                (own.__setitem__ if name in own else functools.partial(object.__setattr__, made))(name, marker)
        self._objects[id(made)] = thing, own, own.copy()
        return self._noted(made)


def _state(thing) -> bytes | None:
    """What an object of a library holds, to be compared; None where it holds what cannot be told, such as symbols."""
    try:
        return pickle.dumps(thing)
    except Exception:  # whatever its own code says to a symbol
        return None


def _is_library_class(kind: type) -> bool:
    """Whether a class is used as it is; those whose instances hold what users put there are as good as the users' own."""
    return is_library(kind.__module__) and kind not in (types.SimpleNamespace, collections.UserDict, collections.UserList)


def _rewritten(copied: tuple[Any, dict, dict]) -> list[str]:
    """The attributes of a copied instance that hold something else than they were given."""
    _, now, given = copied
    return [name for name, value in given.items() if now.get(name) is not value]


def _own_attributes(thing) -> dict[str, Any]:
    return vars(thing) if hasattr(thing, "__dict__") else {}


def _is_method(value) -> bool:
    return isinstance(value, types.FunctionType | staticmethod | classmethod | property | functools.cached_property)
