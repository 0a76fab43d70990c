"""How a user's function is called: by the names of its arguments; and calls of ours that do not fit.

The message says what a function takes, instead of Python's own words.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType, SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from ..errors import BadArgument, UnknownArgument
from .function_signature import Taken, given_to, taken
from .made_functions import MadeFunction
from .names_in_order import NamesInOrder, NumbersInOrder, PlacesInOrder

BASIC = ("t", "q", "v", "p", "u")  # what every function of a System may name
FULL = (*BASIC, "a", "lam")  # outputs and events
ODE = ("t", "y", "p", "u")

OF_RUNS = ("step", "rtol", "atol", "max_step", "first_step", "save_at", "max_steps")  # not settings of a method

Stated = TypeVar("Stated", bound=type)


def nearest(name: str, known) -> str:
    """What was meant by a name that does not exist: those near it, or all there are."""
    near = difflib.get_close_matches(str(name), list(known), 3)
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {', '.join(known) or 'none'}."


def refuses_unknown(kind: Stated) -> Stated:
    """Let a class refuse arguments that it does not have, with the nearest one it has."""
    made = kind.__init__
    known = list(inspect.signature(made).parameters)[1:]

    @functools.wraps(made)
    def __init__(self, *args, **given):
        for name in given:
            if name not in known:
                run = f"It goes to simulate(..., {name}=...)." if name in OF_RUNS else nearest(name, known)
                raise UnknownArgument(f"{kind.__name__} has no argument {name!r}. {run}")
        made(self, *args, **given)

    kind.__init__ = __init__  # pyright: ignore[reportAttributeAccessIssue]
    return kind


def takes_nothing(self, *args, **given) -> None:
    """The __init__ of a method without settings: say where a step or a tolerance belongs."""
    for name in given:
        where = f"{name}= goes to simulate(..., {name}=...)." if name in OF_RUNS else f"It has no {name}=."
        raise UnknownArgument(f"{type(self).__name__}() has no settings. {where}")
    if args:
        raise UnknownArgument(f"{type(self).__name__}() has no settings, got {args[0]!r}. A step goes to simulate(..., step=...).")


takes_nothing.__signature__ = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)])  # pyright: ignore[reportFunctionMemberAccess]


class UnknownParameter(BadArgument, AttributeError):
    """A name that is neither in params= nor in inputs=."""


class Names(SimpleNamespace):
    """Parameters or inputs, by attribute (p.mass) or by name (p["mass"])."""

    def __getitem__(self, name):
        return getattr(self, name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownParameter(f"unknown parameter or input {name!r}. {nearest(name, vars(self))}")


class NamesOfNumbers(Names):
    """Parameters by attribute or by name, out of a flat array; `more` are further ones."""

    def __init__(self, flat: Any, names: NamesInOrder, **more: Any):
        super().__init__(**more)
        self.__dict__["_flat"], self.__dict__["_names"] = flat, names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        at = self.__dict__["_names"].find(name)
        if at < 0:
            raise UnknownParameter(f"unknown parameter or input {name!r}. There are {len(self.__dict__['_names'])} others.")
        return self.__dict__["_flat"][at]

    def __reduce__(self):
        return _with_numbers, (self.__dict__["_flat"], self.__dict__["_names"], self._more())

    def _more(self) -> dict[str, Any]:
        """Those that are not in the array."""
        return {name: value for name, value in vars(self).items() if name not in ("_flat", "_names")}

    def changed(self, part: Callable[[Any], Any], flat: Callable[[Any], Any]) -> NamesOfNumbers:
        """The same names of what functions make of the array, and of each further one."""
        more = {name: part(value) for name, value in self._more().items()}
        return NamesOfNumbers(flat(self.__dict__["_flat"]), self.__dict__["_names"], **more)


def _with_numbers(flat: Any, names: NamesInOrder, more: dict[str, Any]) -> NamesOfNumbers:
    return NamesOfNumbers(flat, names, **more)


class _Known(Mapping):
    """What names such parameters have, to be asked whether one is among them."""

    def __init__(self, p: NamesOfNumbers):
        self._p, self._names = p, vars(p)["_names"]

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        return self._p[name]

    def __contains__(self, name: object) -> bool:
        return name in vars(self._p) or name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def known_in(p: Names) -> Mapping[str, Any]:
    """Parameters by name, as a mapping."""
    return _Known(p) if isinstance(p, NamesOfNumbers) else vars(p)


def with_more(p: Names, more: Mapping[str, Any]) -> Names:
    """The same parameters and further ones."""
    if not isinstance(p, NamesOfNumbers):
        return type(p)(**vars(p), **more)
    own = dict(vars(p))
    flat, names = own.pop("_flat"), own.pop("_names")
    return NamesOfNumbers(flat, names, **own, **more)


def wanted(function, role: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names a function asks for, refusing any that it cannot have."""
    return asked(function, role, allowed)[1]


_known: dict[tuple, tuple[Taken, tuple[str, ...]]] = {}  # of functions that makers made, by the text they were made from


def asked(function, role: str, allowed: tuple[str, ...]) -> tuple[Taken, tuple[str, ...]]:
    """Return what a function takes, and the names it asks for, refusing any that it cannot have."""
    inside = function.function if isinstance(function, MadeFunction) else None
    if not isinstance(inside, FunctionType) or inside.__defaults__ or inside.__kwdefaults__ or inside.__dict__:
        return _asked(function, role, allowed)
    key = (inside.__code__, allowed)
    if key not in _known:
        _known[key] = _asked(function, role, allowed)
    return _known[key]


def _asked(function, role: str, allowed: tuple[str, ...]) -> tuple[Taken, tuple[str, ...]]:
    names, takes = [], taken(function, role, allowed)
    for parameter in takes.parameters:
        only = parameter.kind is parameter.POSITIONAL_ONLY and parameter not in takes.by_position
        if only and parameter.default is parameter.empty:
            raise BadArgument(
                f"{role} takes {parameter.name!r} by position only, but arguments are chosen by name. Leave out the /."
            )
        if parameter.name in allowed:
            names.append(parameter.name)
        elif parameter.default is inspect.Parameter.empty:
            if parameter.name == "lam" and role == "force()":
                raise BadArgument(
                    "force() asks for 'lam': forces that depend on the multipliers, such as friction, need trace=True. "
                    "With trace=False it can have t, q, v, p, u."
                )
            raise BadArgument(f"{role} asks for {parameter.name!r}; it can have {', '.join(allowed)} (chosen by name).")
    return takes, tuple(names)


def call(function, role: str, allowed: tuple[str, ...], values: dict[str, Any]):
    """Call a user's function with what it names; a constant stands for itself."""
    if not callable(function):
        return function
    takes, names = asked(function, role, allowed)
    return given_to(function, takes, {name: values[name] for name in names})


def flatten_params(params: Mapping[str, Any]) -> np.ndarray:
    """Return all parameters as one flat array, in order."""
    if isinstance(params, NumbersInOrder):
        return params.flat
    if not params:
        return np.zeros(0)
    if all(type(value) is float for value in params.values()):
        return np.array(list(params.values()))
    return np.concatenate([np.asarray(value, dtype=float).ravel() for value in params.values()])


def param_slices(params: Mapping[str, Any]) -> Mapping[str, tuple[slice, tuple[int, ...]]]:
    """Return where each parameter lies in the flat array, and its shape."""
    if isinstance(params, NumbersInOrder):
        return params.places
    places, at = {}, 0
    for name, value in params.items():
        if type(value) is float:  # the many numbers of a mechanism
            places[name], at = (slice(at, at + 1), ()), at + 1
            continue
        shape = np.shape(value)
        size = int(np.prod(shape))
        places[name] = (slice(at, at + size), shape)
        at += size
    return places


def param_names(flat: Any, places: Mapping[str, tuple[slice, tuple[int, ...]]]) -> Names:
    """Return parameters by name out of a flat array of numbers or symbols."""
    if isinstance(places, PlacesInOrder):
        return NamesOfNumbers(flat, places.names)
    found = {}
    for name, (where, shape) in places.items():
        values = flat[where]
        found[name] = values[0] if shape == () else values.reshape(shape)
    return Names(**found)


Function = TypeVar("Function", bound=Callable)
Kind = TypeVar("Kind", bound=type)


def says_what_it_takes(function: Function, title: str = "", foreign: Mapping[str, str] | None = None) -> Function:
    """Let a function refuse arguments that it does not have, or that are missing, and say how it is called.

    `foreign` maps names that other packages use for an argument to ours.
    """
    name = title or function.__name__

    @functools.wraps(function)
    def called(*args, **given):
        try:
            return function(*args, **given)
        except TypeError as problem:
            if problem.__traceback__ is None or problem.__traceback__.tb_next is not None:
                raise  # from within: it was called as it should be
            raise UnknownArgument(_what_fits(function, name, args, given, foreign or {})) from None

    return called  # pyright: ignore[reportReturnType]


def methods_say_what_they_take(foreign: Mapping[str, str]) -> Callable[[Kind], Kind]:
    """Let every public method of a class, inherited ones too, refuse what it does not take."""

    def change(kind: Kind) -> Kind:
        for name in dir(kind):
            own = inspect.getattr_static(kind, name)
            if isinstance(own, classmethod):
                title = f"{kind.__name__}.{name}"
                setattr(kind, name, classmethod(says_what_it_takes(own.__func__, title, foreign)))
            if inspect.isfunction(own) and (name == "__init__" or not name.startswith("_")):
                title = kind.__name__ if name == "__init__" else f"m.{name}"
                setattr(kind, name, says_what_it_takes(own, title, foreign))
        return kind

    return change


def _what_fits(function, name: str, args, given, foreign: Mapping[str, str]) -> str:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")]
    known = [p.name for p in parameters]
    written = f"It is written {name}({_written(parameters)})."
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for each in given:
        if each not in known and not takes_any:
            meant = foreign.get(each)
            hint = f"Here it is called {meant!r}." if meant in known else nearest(each, known)
            return f"{name} has no argument {each!r}. {hint if hint.startswith(('Did', 'Here')) else written}"
    try:
        inspect.signature(function).bind(*args, **given)
    except TypeError as problem:
        return f"{name}: {problem}. {written}"
    return f"{name}: these arguments do not fit. {written}"


def _written(parameters) -> str:
    """The arguments as one writes them: those without a name first, then those by name."""
    found, by_name = [], False
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not by_name:
            found.append("*")
        by_name = by_name or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        found.append(str(p.replace(annotation=p.empty)))
    return ", ".join(found)
