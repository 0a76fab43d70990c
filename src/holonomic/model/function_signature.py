"""What a user's function really takes: through decorators, functools.partial, methods and objects that are called.

`functools.wraps` gives a wrapper the signature of the function inside, whatever the wrapper itself takes. So both are
looked at: a wrapper is asked for what it names itself; what it takes by *args, or under other names, goes by position,
in the order of the function inside.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import reprlib
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import BadArgument
from .made_functions import MadeFunction, maker

CACHED = type(functools.cache(len))  # not written in Python; takes what the function inside takes
# gives the copy of a function under which it is run on symbols, while one is
COPIES: contextvars.ContextVar[Callable | None] = contextvars.ContextVar("copies for a run on symbols", default=None)
MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True)
class Taken:
    """The arguments of a function, and those among them that go by position, from the first on."""

    parameters: tuple[inspect.Parameter, ...]
    by_position: tuple[inspect.Parameter, ...] = ()

    def split(self, names) -> tuple[tuple[inspect.Parameter, ...], tuple[str, ...]]:
        """What goes by position so that these names are given, and which of them go by name.

        A parameter in between that is not among the names goes with its default value.
        """
        last = max((k for k, one in enumerate(self.by_position) if one.name in names), default=-1)
        ordered = self.by_position[: last + 1]
        placed = {one.name for one in ordered}
        return ordered, tuple(name for name in names if name not in placed)


def taken(function, role: str, known) -> Taken:
    """Return what a function takes, out of names that it can be given; refuses a function that does not say."""
    if isinstance(function, MadeFunction):
        function = function.function
    said, own = _signatures(function, role)
    bound = set(function.keywords) if isinstance(function, functools.partial) else set()
    kinds = {one.kind for one in own.parameters.values()}
    inside, outside = ([one for one in each.parameters.values() if one.kind not in MANY] for each in (said, own))
    same = [(one.name, one.kind) for one in said.parameters.values()] == [
        (one.name, one.kind) for one in own.parameters.values()
    ]  # default values may be arrays, which do not compare
    if same and kinds & set(MANY) and not outside:
        raise BadArgument(
            f"{role}: {_name(function)}{own} does not say which arguments it takes. Name them, or, where it stands for "
            "another function, write @functools.wraps(that_function) above it."
        )
    renamed = len(inside) == len(outside) and any(one.name not in known and one.default is one.empty for one in outside)
    if same or not (kinds & set(MANY) or renamed):
        return _with_state(Taken(tuple(one for one in outside if one.name not in bound)), known)
    free = tuple(one for one in inside if one.name not in bound)
    if not renamed and inspect.Parameter.VAR_POSITIONAL not in kinds:
        return _with_state(Taken(free), known)
    return _with_state(Taken(free, tuple(one for one in free if one.kind is not one.KEYWORD_ONLY)), known)


def _with_state(takes: Taken, known) -> Taken:
    """The same with y for the one argument of an Ode's function beside t that has a name of its own: rhs(t, x), rhs(state, t)."""
    needed = [one for one in takes.parameters if one.default is one.empty]
    strange = [one for one in needed if one.name not in known]
    if "y" not in known or "x" in known or len(strange) != 1 or {"t"} != {one.name for one in needed} - {strange[0].name, "p", "u"}:
        return takes
    if strange[0].kind is strange[0].KEYWORD_ONLY:
        return takes
    named = [one.replace(name="y") if one is strange[0] else one for one in takes.parameters]
    return Taken(tuple(named), tuple(one for one in named if one.kind is not one.KEYWORD_ONLY))


def given_to(function, takes: Taken, values: dict[str, Any]):
    """Call a user's function with values by the names of its arguments; on symbols, call its copy."""
    ordered, named = takes.split(values)
    by_position = (values.get(one.name, one.default) for one in ordered)
    return in_run(function)(*by_position, **{name: values[name] for name in named})


def in_run(function):
    """Return what to call for a user's function: its copy on symbols, otherwise the function itself."""
    copies = COPIES.get()
    return function if copies is None else copies(function)


def by_name(function, takes: Taken, names):
    """Return a function that takes these names; the given one itself, where it already takes them by name."""
    if not takes.by_position:
        return function
    ordered, named = takes.split(names)
    return placed(function, tuple((one.name, one.default) for one in ordered), named)


@maker
def placed(function, ordered, named):
    """Return a function that passes some arguments by position; missing ones take their default values."""

    def called(**given):
        by_position = [given[name] if name in given else default for name, default in ordered]
        return in_run(function)(*by_position, **{name: given[name] for name in named})

    return called


def is_compiled(function) -> bool:
    """Whether a function was compiled by Numba from one written in Python, its `py_func`."""
    return type(function).__module__.startswith("numba.") and hasattr(function, "py_func")


def _signatures(function, role: str) -> tuple[inspect.Signature, inspect.Signature]:
    """The signature that a function shows, and the one it has itself."""
    if is_compiled(function):
        function = function.py_func
    try:
        said = inspect.signature(function)
        if _is_plain(function) or isinstance(function, CACHED):
            return said, said
        return said, inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):
        if isinstance(function, functools.partial):
            raise BadArgument(f"{role}: {function!r} sets an argument that {_name(function.func)} does not have.") from None
        if callable(function):
            raise BadArgument(
                f"{role}: Python cannot tell which arguments {function!r} takes. Write a function of named arguments that calls it."
            ) from None
        raise BadArgument(f"{role} must be a function, got {reprlib.repr(function)}.") from None


def _is_plain(function) -> bool:
    """Whether a function is a plain one: its signature is what it takes."""
    return isinstance(function, types.FunctionType) and "__wrapped__" not in function.__dict__


def _name(function) -> str:
    """A function by its name, as a user knows it."""
    return getattr(function, "__name__", type(function).__name__)
