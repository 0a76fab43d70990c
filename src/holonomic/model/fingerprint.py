"""A key for a user's functions: equal key, equal behaviour, so that a known model is not traced again.

The key covers bytecode, constants, default values, closure values and the globals a function reads,
functions among them in turn. Where something cannot be told (an object of an unknown class), there is no
key, and the model is traced in every process; that is slower, never wrong.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import types
from collections.abc import Mapping

import numpy as np


class Unknown(Exception):
    """Something whose value cannot be told."""


def fingerprint(*things) -> str | None:
    """Return the key of the given values and functions, or None where there is none."""
    digest = hashlib.sha256()
    try:
        for thing in things:
            _feed(digest, thing, set())
    except (Unknown, RecursionError):
        return None
    return digest.hexdigest()[:32]


def _feed(digest, thing, seen: set[int]) -> None:
    add = lambda text: digest.update(text.encode() + b"\0")  # noqa: E731
    if thing is None or thing is Ellipsis or isinstance(thing, bool | int | float | complex | str | bytes):
        add(f"{type(thing).__name__}:{thing!r}")
    elif isinstance(thing, np.ndarray):
        if thing.dtype.hasobject:
            raise Unknown
        add(f"array:{thing.dtype.str}:{thing.shape}")
        digest.update(np.ascontiguousarray(thing).tobytes())
    elif isinstance(thing, np.generic):
        add(f"numpy:{thing.dtype.str}:{thing!r}")
    elif isinstance(thing, tuple | list | frozenset | set):
        add(f"{type(thing).__name__}:{len(thing)}")
        for item in sorted(thing, key=repr) if isinstance(thing, frozenset | set) else thing:
            _feed(digest, item, seen)
    elif isinstance(thing, Mapping):
        add(f"mapping:{len(thing)}")
        for key, value in thing.items():
            _feed(digest, key, seen)
            _feed(digest, value, seen)
    elif isinstance(thing, types.ModuleType):
        add(f"module:{thing.__name__}:{getattr(thing, '__version__', '')}")
    elif isinstance(thing, types.BuiltinFunctionType | np.ufunc | type):
        module = getattr(thing, "__module__", "")
        name = getattr(thing, "__qualname__", thing.__name__)
        if isinstance(thing, type) and module.split(".")[0] not in ("builtins", "numpy", "math"):
            raise Unknown
        add(f"builtin:{module}.{name}")
    elif isinstance(thing, functools.partial):
        for part in (thing.func, thing.args, thing.keywords):
            _feed(digest, part, seen)
    elif isinstance(thing, types.MethodType):
        raise Unknown  # bound to an object whose state may matter
    elif isinstance(thing, types.FunctionType):
        _feed_function(digest, thing, seen)
    elif getattr(thing, "__module__", "").startswith("numpy"):
        add(f"numpy:{thing!r}")
    else:
        raise Unknown


def _feed_function(digest, function: types.FunctionType, seen: set[int]) -> None:
    if id(function) in seen:
        digest.update(b"recursion")
        return
    if function.__module__ and function.__module__.split(".")[0] == "numpy":
        digest.update(f"numpy:{function.__qualname__}".encode())
        return
    seen.add(id(function))
    _feed_code(digest, function.__code__, seen)
    _feed(digest, function.__defaults__, seen)
    _feed(digest, function.__kwdefaults__, seen)
    for cell in function.__closure__ or ():
        try:
            _feed(digest, cell.cell_contents, seen)
        except ValueError:
            raise Unknown from None
    for name in sorted(_global_names(function.__code__)):
        if name in function.__globals__:
            digest.update(name.encode())
            _feed(digest, function.__globals__[name], seen)
        elif hasattr(builtins, name):
            digest.update(f"builtin {name}".encode())


def _feed_code(digest, code: types.CodeType, seen: set[int]) -> None:
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _feed_code(digest, constant, seen)
        else:
            _feed(digest, constant, seen)


def _global_names(code: types.CodeType) -> set[str]:
    # co_names also holds attribute names; a name that happens to be a global too only makes the key finer
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names
