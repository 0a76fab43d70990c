"""Where the code of a user's function is, by what kind of function it is: Python's, Numba's, or C's.

Each kind gives the address of f(x, out) for one way of being called, and what must live as long as that address.
"""

from __future__ import annotations

import ctypes
import inspect
import re
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..native.callbacks import address_of, as_callback
from .function_signature import is_compiled


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

    def address(self, given, shape, points, role: str) -> tuple[int, Any]:
        """The address, and what to keep."""
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
        return address_of(callback), callback


class NumbaCode(PythonCode):
    """A function of numba.njit: compiled once more, in the form that is called by its address; where that fails, as Python."""

    copied = True

    def __init__(self, f):
        super().__init__(f)
        self.signature = inspect.signature(f.py_func)

    def address(self, given, shape, points, role: str) -> tuple[int, Any]:
        from numba import carray, cfunc, types
        from numba.core.errors import NumbaError

        result = self.f(*given.rebuilt(points[0].tolist()))
        if isinstance(result, tuple):
            kept = [f"out[{i}] = made[{i}]" for i in range(len(result))]
        elif isinstance(result, np.ndarray):
            kept = [f"if made.size == {result.size}:", "    for i, value in enumerate(made.flat):", "        out[i] = value"]
        else:
            kept = ["out[0] = made"]
        arguments, at = [], 0
        for kind, what in given.forms:
            size = int(np.prod(what)) if kind == "array" else 1
            if kind == "fixed":
                arguments.append(repr(what))
            elif kind == "number":
                arguments.append(f"x[{at}]")
            elif kind == "array":
                part = f"x[{at}:{at + size}]"
                arguments.append(part if len(what) == 1 else f"{part}.reshape({what!r})")
            else:  # names, which Numba does not have
                return super().address(given, shape, points, role)
            at += 0 if kind == "fixed" else size
        source = "\n".join([
            "def called(x_, out_):", f"    x, out = carray(x_, {max(at, 1)}), carray(out_, {int(np.prod(shape))})", "    try:",
            f"        made = f({', '.join(arguments)})", *(f"        {line}" for line in kept),
            "    except Exception:", "        out[0] = np.nan",
        ])  # fmt: skip
        names = {"f": self.f, "carray": carray, "np": np}
        exec(source, names)
        pointer = types.CPointer(types.float64)
        model = self.f.targetoptions.get("error_model", "python")
        try:
            made = cfunc(types.void(pointer, pointer), error_model=model)(names["called"])
        except NumbaError:
            return super().address(given, shape, points, role)
        return made.address, made


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

    def address(self, given, shape, points, role: str) -> tuple[int, Any]:
        """The address, and what to keep."""
        from .outside_functions import adapted

        if not self.writes and int(np.prod(shape)) != 1:
            raise BadArgument(f"{role} returns one number, expected {int(np.prod(shape))}.")
        if self.takes == ("double *", "double *"):
            return self.at, self.f
        return adapted(self.at, len(given.flat), self.takes, self.gives, self.user_data), self.f


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
