"""Calls that do not fit their function: the message says what the function takes, instead of Python's own words."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TypeVar

from ..errors import UnknownArgument
from .call_by_name import nearest

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
