"""A key for a user's functions: equal key, equal behaviour, so that a known model is not traced again.

The key covers bytecode, constants, default values, attributes, closure values and the globals a function reads,
functions among them in turn, also those of other modules. Where something cannot be told (an object of an
unknown class, a module imported inside a function), there is no key, and the model is traced in every process;
that is slower, never wrong.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import sys
import types
from collections.abc import Mapping

import numpy as np

from .makers import Made

# Their functions are told by name and version; those of all other modules by what they do.
LIBRARIES = ("builtins", "cmath", "math", "numpy", "operator", "scipy")
_NUMPY_FUNCTION = type(np.linalg.norm)  # what NumPy makes of most of its functions
# What these find when they are called, no walk through the code of a function finds.
OPAQUE = {"__import__", "eval", "exec", "globals", "locals", "open"}
LOOKUPS = {"getattr", "vars"}  # the same, on a module
READERS = {"fromfile", "genfromtxt", "loadtxt", "memmap"}
_IMPORT = dis.opmap["IMPORT_NAME"]


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


def _feed(digest, thing, seen: dict) -> None:
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
        if not _told_by_name(thing):
            raise Unknown
        add(f"builtin:{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', thing.__name__)}")
    elif isinstance(thing, functools.partial):
        for part in (thing.func, thing.args, thing.keywords):
            _feed(digest, part, seen)
    elif isinstance(thing, Made):
        _feed(digest, thing.function, seen)
        _feed(digest, thing.notes, seen)
    elif isinstance(thing, types.MethodType):
        raise Unknown  # bound to an object whose state may matter
    elif type(thing) is np.poly1d or type(thing).__module__.startswith("numpy.polynomial"):
        add(type(thing).__qualname__)
        _feed(digest, vars(thing), seen)
    else:
        raise Unknown


def _of_library(name: str | None) -> bool:
    return (name or "").split(".")[0] in LIBRARIES


def _told_by_name(thing) -> bool:
    """Whether the name of something that is not Python code says all: not of bound methods, nor of made ufuncs."""
    if isinstance(thing, np.ufunc):  # np.frompyfunc makes others
        return getattr(np, thing.__name__, None) is thing or _is_special(thing)
    if isinstance(thing, type):
        return thing is types.SimpleNamespace or _of_library(thing.__module__)
    if isinstance(thing, types.BuiltinFunctionType):
        owner = thing.__self__
        if isinstance(owner, types.ModuleType):
            return _of_library(owner.__name__) or owner.__name__ in sys.stdlib_module_names
        return owner is None or (isinstance(owner, type) and _of_library(owner.__module__))
    return True


def _is_special(ufunc: np.ufunc) -> bool:
    special = sys.modules.get("scipy.special")
    return special is not None and getattr(special, ufunc.__name__, None) is ufunc


def _feed_module(digest, module: types.ModuleType, names: set[str], seen: dict) -> None:
    """A library by its version, any other module by those of its things that go by one of the names."""
    digest.update(f"module:{module.__name__}:{getattr(module, '__version__', '')}".encode() + b"\0")
    if _of_library(module.__name__):
        return
    if not names or names & LOOKUPS:
        raise Unknown
    if (id(module), frozenset(names)) in seen:  # with other names there may be more to read
        return
    seen[id(module), frozenset(names)] = len(seen)
    for name in sorted(names & set(vars(module))):
        digest.update(name.encode() + b"\0")
        _feed_named(digest, vars(module)[name], names, seen)


def _feed_named(digest, thing, names: set[str], seen: dict) -> None:
    if isinstance(thing, types.ModuleType):
        _feed_module(digest, thing, names, seen)
    else:
        _feed(digest, thing, seen)


def _feed_function(digest, function: types.FunctionType, seen: dict) -> None:
    if id(function) in seen:  # which one: the same names may be bound to functions in another order
        digest.update(f"seen {seen[id(function)]}".encode() + b"\0")
        return
    # where its code stands, not __module__, which a decorator may have changed
    if _of_library(function.__globals__.get("__name__")) and not function.__closure__:
        digest.update(f"{function.__module__}.{function.__qualname__}".encode() + b"\0")
        return
    seen[id(function)] = len(seen)
    _feed_code(digest, function.__code__, seen)
    for part in (function.__defaults__, function.__kwdefaults__, vars(function)):
        _feed(digest, part, seen)
    names = global_names(function.__code__)
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


def _feed_code(digest, code: types.CodeType, seen: dict) -> None:
    if _is_opaque(code):
        raise Unknown
    digest.update(code.co_code)
    digest.update(repr((code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount)).encode())
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _feed_code(digest, constant, seen)
        else:
            _feed(digest, constant, seen)


def _is_opaque(code: types.CodeType) -> bool:
    """Whether code imports a module that is no library, reads a file, or looks things up by names it makes."""
    names = set(code.co_names)
    if names & READERS:
        return True
    if not names & OPAQUE and _IMPORT not in code.co_code[::2]:
        return False
    return any(
        (step.opname == "IMPORT_NAME" and not _of_library(step.argval))
        or (step.opname == "LOAD_GLOBAL" and step.argval in OPAQUE)
        for step in dis.get_instructions(code)
    )


def global_names(code: types.CodeType) -> set[str]:
    """Names that code looks up outside itself, inner functions included."""
    # co_names also holds attribute names; a name that happens to be a global too only makes the key finer
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    return names
