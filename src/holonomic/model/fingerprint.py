"""A key for a user's functions: equal key, equal behaviour, so that a known model is not traced again.

The key covers bytecode, constants, default values, closure values and the globals a function reads,
functions among them in turn, also those of other modules. Where something cannot be told (an object of an
unknown class), there is no key, and the model is traced in every process; that is slower, never wrong.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import types
from collections.abc import Mapping

import numpy as np

# Their functions are told by name and version; those of all other modules by what they do.
LIBRARIES = ("builtins", "cmath", "math", "numpy", "operator", "scipy")
_NUMPY_FUNCTION = type(np.linalg.norm)  # what NumPy makes of most of its functions


class Unknown(Exception):
    """Something whose value cannot be told."""


def fingerprint(*things) -> str | None:
    """Return the key of the given values and functions, or None where there is none."""
    digest = hashlib.sha256()
    try:
        for thing in things:
            _feed(digest, thing, {})
    except (Unknown, RecursionError):
        return None
    return digest.hexdigest()[:32]


def _feed(digest, thing, seen: dict[int, int]) -> None:
    add = lambda text: digest.update(text.encode() + b"\0")
    if thing is None or thing is Ellipsis or isinstance(thing, bool | int | float | complex | str | bytes):
        add(f"{type(thing).__name__}:{thing!r}")
    elif type(thing) is np.ndarray:
        if thing.dtype.hasobject:
            raise Unknown
        add(f"array:{thing.dtype.str}:{thing.shape}")
        digest.update(np.ascontiguousarray(thing).tobytes())
    elif isinstance(thing, np.generic | np.dtype):
        add(f"numpy:{thing!r}:{getattr(thing, 'dtype', '')}")
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
        _feed_module(digest, thing, set(), seen)
    elif isinstance(thing, types.FunctionType):
        _feed_function(digest, thing, seen)
    elif isinstance(thing, types.BuiltinFunctionType | np.ufunc | _NUMPY_FUNCTION | type):
        if isinstance(thing, type) and not _of_library(thing):
            raise Unknown
        add(f"builtin:{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', thing.__name__)}")
    elif isinstance(thing, functools.partial):
        for part in (thing.func, thing.args, thing.keywords):
            _feed(digest, part, seen)
    elif isinstance(thing, types.MethodType):
        raise Unknown  # bound to an object whose state may matter
    elif type(thing) is np.poly1d or type(thing).__module__.startswith("numpy.polynomial"):
        add(type(thing).__qualname__)
        _feed(digest, vars(thing), seen)
    else:
        raise Unknown


def _of_library(thing) -> bool:
    return (getattr(thing, "__module__", "") or "").split(".")[0] in LIBRARIES


def _feed_module(digest, module: types.ModuleType, names: set[str], seen: dict[int, int]) -> None:
    """A library by its version, any other module by those of its things that go by one of the names."""
    digest.update(f"module:{module.__name__}:{getattr(module, '__version__', '')}".encode() + b"\0")
    if module.__name__.split(".")[0] in LIBRARIES:
        return
    if not names:
        raise Unknown
    if id(module) in seen:
        return
    seen[id(module)] = len(seen)
    for name in sorted(names & set(vars(module))):
        digest.update(name.encode() + b"\0")
        _feed_named(digest, vars(module)[name], names, seen)


def _feed_named(digest, thing, names: set[str], seen: dict[int, int]) -> None:
    if isinstance(thing, types.ModuleType):
        _feed_module(digest, thing, names, seen)
    else:
        _feed(digest, thing, seen)


def _feed_function(digest, function: types.FunctionType, seen: dict[int, int]) -> None:
    if id(function) in seen:  # which one: the same names may be bound to functions in another order
        digest.update(f"seen {seen[id(function)]}".encode() + b"\0")
        return
    if _of_library(function):
        digest.update(f"{function.__module__}.{function.__qualname__}".encode() + b"\0")
        return
    seen[id(function)] = len(seen)
    _feed_code(digest, function.__code__, seen)
    _feed(digest, function.__defaults__, seen)
    _feed(digest, function.__kwdefaults__, seen)
    names = _global_names(function.__code__)
    for cell in function.__closure__ or ():
        try:
            _feed_named(digest, cell.cell_contents, names, seen)
        except ValueError:
            raise Unknown from None
    for name in sorted(names):
        if name in function.__globals__:
            digest.update(name.encode() + b"\0")
            _feed_named(digest, function.__globals__[name], names, seen)
        elif hasattr(builtins, name):
            digest.update(f"builtin {name}".encode() + b"\0")


def _feed_code(digest, code: types.CodeType, seen: dict[int, int]) -> None:
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
