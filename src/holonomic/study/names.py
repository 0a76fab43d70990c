"""Short names of methods, as tables and legends show them."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache

from ..stabilizations import post
from ..stabilizations.base import Stabilization


@cache
def named_stabilizations() -> dict:
    """Return the stabilizations that have a name of their own, S_both2 and the like: name -> function."""
    return {name: make for name, make in vars(post).items() if name.startswith("S_") and callable(make)}


def short_name(method) -> str:
    """Return the name of a method with those of its settings that are not the default ones.

    >>> from holonomic import Baumgarte, PostStabilization
    >>> short_name(Baumgarte(alpha=20)), short_name(PostStabilization("both", 2))
    ('Baumgarte(alpha=20)', 'S_both2')
    """
    if method is None or (isinstance(method, Stabilization) and method.acts == "none"):
        return "none"
    if isinstance(method, str):
        return method
    if isinstance(method, type):
        return method.__name__
    for name, make in named_stabilizations().items():
        if method == make():
            return name
    if not is_dataclass(method):
        settings = {name: value for name, value in vars(method).items() if not name.startswith("_")}
    else:
        settings = {
            item.name: getattr(method, item.name)
            for item in fields(method)
            if item.repr and not _is_default(item, getattr(method, item.name))
        }
    if not settings:
        return type(method).__name__
    return f"{type(method).__name__}({', '.join(f'{name}={_plain(value)}' for name, value in settings.items())})"


def _is_default(item, value) -> bool:
    if item.default is not MISSING:
        return value is item.default or value == item.default
    return item.default_factory is not MISSING and value == item.default_factory()


def _plain(value) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return getattr(value, "__name__", None) or repr(value)
