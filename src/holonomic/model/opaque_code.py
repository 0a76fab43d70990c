"""Where the code of a user's function is, by what kind of function it is: Python's, Numba's, or C's.

Each kind gives its `Code` for one way of being called.
"""

from __future__ import annotations

import ctypes
import inspect
import re
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadArgument
from ..native.callbacks import address_of, as_callback
from .function_signature import is_compiled

IN_REGISTERS = 8  # numbers that a call hands over in registers


class Code(NamedTuple):
    """Where the code of a function is, for one way of calling it."""

    address: int  # of f(x, out)
    kept: Any  # what the code needs to live on
    # Of the same as double f(double, ...), or void f(double, ..., double *out) where it gives several numbers; 0: there is none.
    # Numbers stay in registers then: to write them into memory and to read them there at once takes longer than the call.
    by_value: int = 0
    calls_python: bool = False


class PythonCode:
    """A Python function: compiled code calls it under Python's lock."""

    in_python = True  # whether it can be called from Python as it is
    fixes = True  # whether integers and texts among its arguments stand for themselves
    copied = False  # whether compiled code has a copy of it, which may become stale

    def __init__(self, f):
        self.f = f
        self.name = getattr(f, "__name__", type(f).__name__)
        self.place = place_of(f)
        try:
            self.signature = inspect.signature(f)
        except (TypeError, ValueError):
            self.signature = None

    def shape(self, given, points, told) -> tuple[int, ...]:
        """The shape of what it returns, at the first of some points where it returns anything."""
        raised = None
        for x in points:
            try:
                with np.errstate(all="ignore"):
                    result = np.asarray(self.f(*given.rebuilt(x.tolist())), dtype=float)
            except Exception as problem:  # of the user's function; elsewhere it may be defined
                raised = raised or problem
                continue
            if told is not None and result.shape != told:
                raise BadArgument(f"opaque {self.name!r} returns shape {result.shape}, but shape={told} was given.")
            return result.shape
        raise raised or BadArgument(f"opaque {self.name!r} was given no numbers.")

    def compiled(self, given, shape, points, role: str) -> Code:
        """Its code."""
        f, m = self.f, int(np.prod(shape))

        def called(x):
            result = f(*given.rebuilt(x))
            if type(result) is float and m == 1:
                return (result,)
            result = np.asarray(result, dtype=float)
            if result.size != m:
                raise BadArgument(f"{role} returned {result.size} numbers, expected {m}.")
            return result.ravel().tolist()

        callback = as_callback(called, len(given.flat), m)
        return Code(address_of(callback), callback, calls_python=True)


class NumbaCode(PythonCode):
    """A function of numba.njit: compiled once more, in the form that is called by its address; where that fails, as Python."""

    copied = True

    def __init__(self, f):
        super().__init__(f)
        self.signature = inspect.signature(f.py_func)

    def compiled(self, given, shape, points, role: str) -> Code:
        from numba import carray, cfunc, types
        from numba.core.errors import NumbaError

        from .numba_room import put, room_for

        if any(kind == "names" for kind, _ in given.forms):  # which Numba does not have
            return super().compiled(given, shape, points, role)
        result = self.f(*given.rebuilt(points[0].tolist()))
        n, m = len(given.flat), int(np.prod(shape))
        by_value = n <= IN_REGISTERS
        one = by_value and m == 1
        names = [f"x{i}" for i in range(n)] if by_value else ["x_"]
        lines = [f"def called({', '.join([*names, *['out_'] * (not one)])}):"]
        if not by_value:
            lines.append(f"    x = carray(x_, {n})")
        elif any(kind == "array" for kind, _ in given.forms):
            lines += ["    room = room_for()", *(f"    put(room, {i}, x{i})" for i in range(n)), f"    x = carray(room, {n})"]
        if not one:
            lines.append(f"    out = carray(out_, {m})")
        made = f"f({', '.join(_arguments(given.forms, by_value))})"
        lines += ["    try:", f"        made = {made}", *(f"        {line}" for line in _kept(result, one))]
        lines += ["    except Exception:", "        return np.nan" if one else "        out[0] = np.nan"]
        if one:
            lines.append("    return np.nan")
        names = {"f": self.f, "carray": carray, "np": np, "room_for": room_for(n), "put": put}
        exec("\n".join(lines), names)
        pointer, number = types.CPointer(types.float64), types.float64
        takes = [number] * n + [pointer] * (not one) if by_value else [pointer, pointer]
        model = self.f.targetoptions.get("error_model", "python")
        try:
            code = cfunc((number if one else types.void)(*takes), error_model=model)(names["called"])
        except NumbaError:
            return super().compiled(given, shape, points, role)
        if not by_value:
            return Code(code.address, code)
        from .outside_functions import adapted

        forms = ("double",) * n + ("out",) * (not one)
        return Code(adapted(code.address, n, forms, "double" if one else "void", 0), code, code.address)


def _arguments(forms, by_value: bool) -> list[str]:
    """How a function is called with the numbers in x, or, by value, in x0, x1, ..."""
    found, at = [], 0
    for kind, what in forms:
        size = int(np.prod(what)) if kind == "array" else 1
        if kind == "fixed":
            found.append(repr(what))
            continue
        part = (f"x{at}" if by_value else f"x[{at}]") if kind == "number" else f"x[{at}:{at + size}]"
        found.append(part if kind == "number" or len(what) == 1 else f"{part}.reshape({what!r})")
        at += size
    return found


def _kept(result, one: bool) -> list[str]:
    """How what a function gives, like this result, is written into out, or returned."""
    if isinstance(result, tuple):
        return ["return made[0]"] if one else [f"out[{i}] = made[{i}]" for i in range(len(result))]
    if isinstance(result, np.ndarray):
        each = ["return value"] if one else ["out[i] = value"]
        return [f"if made.size == {result.size}:", "    for i, value in enumerate(made.flat):", f"        {each[0]}"]
    return ["return made"] if one else ["out[0] = made"]


C_NAMES = {"float64": "double", "int32": "int", "int64": "long", "none": "void", "void*": "void *", "float64*": "double *"}


class CCode:
    """A C function with a known form, called by its address."""

    in_python = fixes = copied = False
    signature = None

    def __init__(self, f, name: str, address: int, takes: tuple[str, ...], gives: str, user_data: int = 0):
        self.place = place_of(f)
        self.f, self.name, self.at, self.takes, self.gives, self.user_data = f, name, address, takes, gives, user_data
        numbers = [kind for kind in takes if kind != "void *"]
        self.writes = numbers == ["double *", "double *"]
        counted = numbers in (["int", "double *"], ["long", "double *"])
        fits = self.writes or (gives == "double" and (counted or set(numbers) == {"double"}))
        if not fits or takes.count("void *") > 1:
            raise BadArgument(
                f"opaque {name!r}: {gives} ({', '.join(takes)}) is not a form that can be called. It must be double (double, ...), "
                "double (int, double *) or void (double *x, double *out)."
            )

    def shape(self, given, points, told) -> tuple[int, ...]:
        """The shape of what it gives: as told, or one number."""
        n, own = len(given.flat), self.takes.count("double")
        if own and n != own:
            raise BadArgument(f"opaque {self.name!r} takes {own} numbers, got {n}.")
        if not self.writes:
            if told not in (None, ()):
                raise BadArgument(f"opaque {self.name!r} returns one number; leave out shape=.")
            return ()
        if told is None:
            raise BadArgument(f"opaque {self.name!r} writes into double *out: say how many numbers, opaque(f, shape=3).")
        return told

    def compiled(self, given, shape, points, role: str) -> Code:
        """Its code."""
        from .outside_functions import adapted

        if not self.writes and int(np.prod(shape)) != 1:
            raise BadArgument(f"{role} returns one number, expected {int(np.prod(shape))}.")
        if self.takes == ("double *", "double *"):
            return Code(self.at, self.f)
        by_value = self.at if set(self.takes) == {"double"} else 0
        return Code(adapted(self.at, len(given.flat), self.takes, self.gives, self.user_data), self.f, by_value)


def place_of(f) -> tuple[str, str]:
    """The module that a function stands in, and its name there."""
    return getattr(f, "__module__", None) or "", getattr(f, "__qualname__", "")


def code_of(f) -> PythonCode | CCode:
    """What kind of function it is."""
    kind = type(f)
    if is_compiled(f):
        return NumbaCode(f)
    if kind.__module__.startswith("numba.") and hasattr(f, "address"):  # of numba.cfunc
        return CCode(f, f.__name__, f.address, *_of_numba(f))
    if kind.__module__.startswith("scipy.") and kind.__name__ == "LowLevelCallable":
        return _low_level(f)
    if isinstance(f, ctypes._CFuncPtr):
        return _of_ctypes(f)
    if not callable(f):
        raise BadArgument(f"opaque takes a function, got {f!r}.")
    return PythonCode(f)


def _of_numba(f) -> tuple[tuple[str, ...], str]:
    signature = f._sig
    name = lambda kind: C_NAMES.get(str(kind), str(kind))
    return tuple(map(name, signature.args)), name(signature.return_type)


def _low_level(f) -> CCode:
    """The function in a LowLevelCallable; its capsule says where it is."""
    capsule, text = tuple.__getitem__(f, 0), f.signature
    python = ctypes.pythonapi
    get, context = python.PyCapsule_GetPointer, python.PyCapsule_GetContext
    get.restype = context.restype = ctypes.c_void_p
    get.argtypes, context.argtypes = [ctypes.py_object, ctypes.c_char_p], [ctypes.py_object]
    gives, _, rest = text.partition("(")
    takes = tuple(re.sub(r"\s*\*", " *", part.strip()) for part in rest.rstrip(") ").split(","))
    name = getattr(f.function, "__name__", "LowLevelCallable")
    return CCode(f, name, get(capsule, text.encode()), takes, gives.strip(), context(capsule) or 0)


def _of_ctypes(f) -> CCode:
    name = getattr(f, "__name__", "function")
    if f.argtypes is None:
        raise BadArgument(f"opaque {name!r}: set its argtypes and restype, as ctypes takes them.")
    return CCode(f, name, address_of(f), tuple(map(_in_c, f.argtypes)), "void" if f.restype is None else _in_c(f.restype))


def _in_c(kind) -> str:
    """A type of ctypes, or an array of NumPy's ctypeslib, as C has it."""
    if kind is ctypes.c_double:
        return "double"
    if kind is ctypes.POINTER(ctypes.c_double) or getattr(kind, "_dtype_", None) == np.float64:
        return "double *"
    if kind is ctypes.c_void_p:
        return "void *"
    if kind in (ctypes.c_int, ctypes.c_long, ctypes.c_longlong, ctypes.c_int32, ctypes.c_int64):
        return "int" if ctypes.sizeof(kind) == 4 else "long"
    return getattr(kind, "__name__", str(kind))
