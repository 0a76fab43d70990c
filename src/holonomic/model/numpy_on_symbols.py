"""NumPy, math and the builtins as a function sees them while it runs on symbols.

Every name of NumPy leads to a function that hands plain numbers on to NumPy itself and answers symbols with the ones of
`symbol_array`. Arrays of floats that come back can hold symbols, too, so that `r = np.zeros(9); r[3:6] += F` works as
written: they are object arrays below, which gives views, broadcasting and indexing for nothing.
"""

from __future__ import annotations

import builtins
import functools
import math
import types

import numpy as np

from . import numpy_linalg  # noqa: F401  registers np.linalg on symbols; float_stand_ins does np.result_type
from .float_stand_ins import as_floats, holding, is_floating, made_of, standing_for, symbol_of
from .refusals import ROTATION, refusal
from .symbol import Symbol, erf
from .symbol_array import SymbolArray, apply_function, as_array, is_symbolic

_FUNCTION = type(np.linalg.norm)  # what NumPy makes of most of its functions


FLOAT, FLOAT64, FLOATING, NUMBER = map(standing_for, (float, np.float64, np.floating, np.number))


# functions of NumPy


def _handing(function):
    """A function of NumPy: itself on numbers, ours on symbols."""

    @functools.wraps(function)
    def called(*args, **kwargs):
        if any(map(is_symbolic, args)) or (kwargs and any(map(is_symbolic, kwargs.values()))):
            return apply_function(function, args, kwargs)
        given = (*args, *kwargs.values())
        if function in _VIEWS and any(isinstance(each, SymbolArray) for each in given):
            return apply_function(function, args, kwargs)
        floats = list(map(as_floats, given))
        with np.errstate(all="ignore"):
            result = function(*floats[: len(args)], **dict(zip(kwargs, floats[len(args) :], strict=True)))
        for array, numbers in zip(given, floats, strict=True):
            if isinstance(array, SymbolArray):
                _write_back(array, numbers)
                result = array if result is numbers else result
        return holding(result)

    return called


def _write_back(array: SymbolArray, numbers: np.ndarray) -> None:
    """Put into an array what NumPy has written into its numbers: out=, np.put_along_axis, copy=False."""
    if not np.array_equal(as_floats(array), numbers, equal_nan=True):
        array[...] = numbers


# Their results share memory with what they are given: what is written into one is in the other.
_VIEWS = frozenset(
    getattr(np, name)
    for name in (
        "reshape", "ravel", "transpose", "matrix_transpose", "permute_dims", "swapaxes", "moveaxis", "rollaxis", "squeeze",
        "expand_dims", "atleast_1d", "atleast_2d", "atleast_3d", "split", "array_split", "hsplit", "vsplit", "dsplit", "flip",
        "fliplr", "flipud", "rot90", "diagonal", "broadcast_to", "broadcast_arrays", "real",
        "meshgrid", "unstack")
    if hasattr(np, name)  # some have come with versions of NumPy
) | {
    np.linalg.diagonal, np.linalg.matrix_transpose,
    np.lib.stride_tricks.as_strided, np.lib.stride_tricks.sliding_window_view,
}  # fmt: skip


class _Ufunc:
    """A ufunc: itself where an array can answer, ours on lists of symbols."""

    def __init__(self, ufunc):
        self._ufunc = ufunc
        self.__name__ = ufunc.__name__

    def __call__(self, *args, **kwargs):
        args = [as_array(x) if isinstance(x, (list, tuple)) and is_symbolic(x) else x for x in args]
        if "dtype" in kwargs:
            kwargs["dtype"] = as_floats(kwargs["dtype"])
        return self._ufunc(*args, **kwargs)

    def __getattr__(self, name):
        found = getattr(self._ufunc, name)
        if name in ("reduce", "accumulate", "outer", "at", "reduceat"):
            return lambda x, *more, **named: found(
                *(as_array(y) if isinstance(y, (list, tuple)) and is_symbolic(y) else y for y in (x, *more)), **named
            )
        return found


def _array(obj, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):
    """np.array: of symbols, or of floats that may become symbols."""
    made = made_of(obj, dtype)
    if made is None:
        return holding(np.array(as_floats(obj), as_floats(dtype), ndmin=ndmin))
    if copy and (made is obj or np.shares_memory(made, obj) if isinstance(obj, np.ndarray) else False):
        made = made.copy()
    return made.reshape((1,) * (ndmin - made.ndim) + made.shape) if made.ndim < ndmin else made


def _asarray(a, dtype=None, order=None, **kwargs):
    """np.asarray: the array itself where it is one."""
    if type(a) is SymbolArray and (dtype is None or is_floating(dtype)):
        return a
    return _array(a, dtype, copy=False)


def _einsum(*operands, **kwargs):
    """np.einsum: of one array it may be a view, into which is written."""
    subscripts = isinstance(operands[0], str)
    whole, rest = (operands[1:2], operands[2:]) if subscripts else (operands[:1], operands[1:])
    one = not any(isinstance(part, np.ndarray) for part in rest) and (subscripts <= (not rest))
    if kwargs or not one or len(whole) != 1 or type(whole[0]) is not SymbolArray:
        return _EINSUM(*operands, **kwargs)
    found = np.einsum(*(part.view(np.ndarray) if part is whole[0] else part for part in operands))
    return found.view(SymbolArray) if found.ndim else found[()]


def _zeros(shape, dtype=float, order="C", **kwargs):
    return _filled(shape, 0.0, dtype, np.zeros)


def _ones(shape, dtype=float, order="C", **kwargs):
    return _filled(shape, 1.0, dtype, np.ones)


def _empty(shape, dtype=float, order="C", **kwargs):
    return _filled(shape, math.nan, dtype, np.empty)  # what is never written is seen


def _full(shape, fill_value, dtype=None, order="C", **kwargs):
    if dtype is None and not is_symbolic(fill_value):
        return holding(np.full(shape, as_floats(fill_value)))
    return _filled(shape, fill_value, float if dtype is None else dtype, lambda s, d: np.full(s, as_floats(fill_value), d))


def _filled(shape, value, dtype, numeric):
    if dtype is not None and not is_floating(dtype):
        return numeric(shape, as_floats(dtype))
    made = np.empty(shape, dtype=object)
    made[...] = value.view(np.ndarray) if isinstance(value, SymbolArray) else value
    return made.view(SymbolArray)


def _like(numeric):
    """np.zeros_like and its kin: of an array of integers it is one of integers."""

    @functools.wraps(numeric)
    def made(a, *args, **kwargs):
        given = _asarray(a)
        asked = kwargs.get("dtype")
        if isinstance(given, SymbolArray) if asked is None else is_floating(asked):
            return apply_function(numeric, (as_array(given), *args), kwargs)
        return numeric(as_floats(given), *args, **{name: as_floats(each) for name, each in kwargs.items()})

    return made


def _writing(function):
    """A function of NumPy that writes into its first argument."""

    @functools.wraps(function)
    def called(target, *args, **kwargs):
        if not isinstance(target, SymbolArray):
            return function(target, *args, **kwargs)
        parts = [as_array(x).view(np.ndarray) if is_symbolic(x) or isinstance(x, SymbolArray) else x for x in args]
        return function(target.view(np.ndarray), *parts, **kwargs)

    return called


def _asked(name, of_symbol):
    """np.isnan and its kin: inputs are finite numbers; whether what is computed from them is, comparisons tell."""
    numeric = getattr(np, name)

    def one(x):
        if not isinstance(x, Symbol):
            return bool(numeric(x))
        return bool(numeric(0.0)) if x.sx.is_leaf() else of_symbol(abs(x) < math.inf, abs(x) <= math.inf)

    each = np.frompyfunc(one, 1, 1)

    @functools.wraps(numeric)
    def called(x):
        if not is_symbolic(x):
            return numeric(as_floats(x))
        found = each(as_array(x).view(np.ndarray))
        if is_symbolic(found):
            return found.view(SymbolArray) if isinstance(found, np.ndarray) else found
        return np.asarray(found, dtype=bool)[()]

    return called


_isfinite = _asked("isfinite", lambda finite, number: finite)
_isnan = _asked("isnan", lambda finite, number: ~number)
_isinf = _asked("isinf", lambda finite, number: number & ~finite)


def _nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if not is_symbolic(x):
        return _handing(np.nan_to_num)(x, copy, nan, posinf, neginf)
    largest = np.finfo(float).max
    made = np.where(_isnan(x), nan, x)
    made = np.where(made > largest, largest if posinf is None else posinf, made)
    made = np.where(made < -largest, -largest if neginf is None else neginf, made)
    if not copy and isinstance(x, SymbolArray):
        x[...] = made
    return made


def _isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    a, b = as_array(a), as_array(b)
    return np.abs(a - b) <= atol + rtol * np.abs(b)


def _allclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    return np.all(_isclose(a, b, rtol, atol))


class _Joined:
    """np.r_ and np.c_: lists of symbols are arrays of them."""

    def __init__(self, own):
        self._own = own

    def __getitem__(self, key):
        parts = key if isinstance(key, tuple) else (key,)
        return holding(self._own[tuple(as_array(x) if isinstance(x, (list, tuple)) and is_symbolic(x) else x for x in parts)])


# math


def _math(name):
    """A function of math: itself on numbers, NumPy's on symbols."""
    function = getattr(math, name)

    @functools.wraps(function)
    def called(*args, **named):
        if not any(map(is_symbolic, (*args, *named.values()))):
            return function(*args, **named)
        if name not in MATH:
            raise refusal(f"uses math.{name} on symbols", "It has no derivative here; use arithmetic or np.where.")
        if name not in ("dist", "fsum", "prod"):
            args = [symbol_of(x) if isinstance(x, np.ndarray) else x for x in args]
        return MATH[name](*args, **named)

    return called


def _log(x, base=None):
    return np.log(x) if base is None else np.log(x) / np.log(base)


MATH = {
    **{name: getattr(np, name) for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log1p", "log2", "log10", "sqrt", "cbrt", "fabs", "floor",
        "ceil", "trunc", "degrees", "radians", "copysign", "fmod", "exp2") if hasattr(math, name)},
    **{name: getattr(np, "arc" + name[1:]) for name in ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh")},
    "pow": lambda x, y: x**y, "log": _log,
    "erf": lambda x: Symbol(erf(x.sx)), "erfc": lambda x: 1.0 - Symbol(erf(x.sx)),
    "hypot": lambda *x: np.sqrt(sum(y * y for y in x)), "dist": lambda p, q: np.linalg.norm(as_array(p) - as_array(q)),
    "fsum": lambda x: sum(x), "prod": lambda x, *, start=1: functools.reduce(lambda a, b: a * b, x, start),
    "isfinite": _isfinite, "isnan": _isnan, "isinf": _isinf,
    "isclose": lambda a, b, *, rel_tol=1e-9, abs_tol=0.0: (
        np.abs(a - b) <= np.maximum(rel_tol * np.maximum(np.abs(a), np.abs(b)), abs_tol)),
    "remainder": lambda x, y: x - y * np.floor(x / y + 0.5),
}  # fmt: skip


# builtins


def _extreme(own, choose):
    """max or min: NumPy's between symbols, which is a select and no decision."""

    @functools.wraps(own)
    def called(*args, **kwargs):
        items = list(args[0]) if len(args) == 1 else args
        if kwargs or not any(type(x) is Symbol for x in items):
            return own(items, **kwargs)
        return functools.reduce(choose, items)

    return called


BUILTINS = vars(builtins) | {"max": _extreme(max, np.maximum), "min": _extreme(min, np.minimum), "float": FLOAT}


# who stands for whom


class _Library(types.ModuleType):
    """A module of NumPy, or math, whose names lead to ours."""

    def __init__(self, own: types.ModuleType):
        super().__init__(own.__name__)
        self.__dict__["_own"] = own

    def __getattr__(self, name):
        found = in_use(getattr(self._own, name))
        setattr(self, name, found)
        return found

    def __dir__(self):
        return dir(self._own)


_REPLACED = {
    **{f: made for f, made in (
        (np.zeros, _zeros), (np.ones, _ones), (np.empty, _empty), (np.full, _full), (np.array, _array), (np.asarray, _asarray),
        (np.asanyarray, _asarray), (np.ascontiguousarray, _asarray), (np.isfinite, _isfinite), (np.isnan, _isnan),
        (np.isinf, _isinf), (np.nan_to_num, _nan_to_num), (np.isclose, _isclose), (np.allclose, _allclose),
        (np.isscalar, np.isscalar), (np.einsum, _einsum))},
    **{f: _like(f) for f in (np.zeros_like, np.ones_like, np.empty_like, np.full_like)},
    **{f: _writing(f) for f in (np.fill_diagonal, np.copyto, np.put, np.place, np.putmask)},
    float: FLOAT, np.float64: FLOAT64, np.floating: FLOATING, np.number: NUMBER, max: BUILTINS["max"], min: BUILTINS["min"],
}  # fmt: skip
_EINSUM = _handing(np.einsum)
_KNOWN: dict[int, tuple] = {}  # things of NumPy and math, and what stands for them


def in_use(thing):
    """Return what stands for something of NumPy, math or the builtins; anything else as it is."""
    known = _KNOWN.get(id(thing))
    if known is None:
        made = _standing_in(thing)
        if made is thing:
            return thing
        known = _KNOWN[id(thing)] = (thing, made)
    return known[1]


def _standing_in(thing):
    if isinstance(thing, types.ModuleType):
        root = thing.__name__.partition(".")[0]
        return _Library(thing) if root in ("math", "numpy", "scipy") and not isinstance(thing, _Library) else thing
    if isinstance(thing, type):
        if thing.__name__ == "Rotation" and thing.__module__.startswith("scipy.spatial"):
            return ROTATION
        return _REPLACED.get(thing, thing)
    if isinstance(thing, np.ufunc):
        return _REPLACED.get(thing) or _Ufunc(thing)
    if isinstance(thing, (types.BuiltinFunctionType, _FUNCTION, types.FunctionType)):
        if thing in _REPLACED:
            return _REPLACED[thing]
        module = thing.__module__ or ""
        if module == "math":
            return _math(thing.__name__)
        if module.startswith("scipy.linalg") and thing.__name__ in ("solve", "inv", "det", "norm"):
            return in_use(getattr(np.linalg, thing.__name__))
        if module.partition(".")[0] == "numpy" and not module.startswith("numpy.random"):
            return _handing(thing)
    if thing is np.r_ or thing is np.c_:
        return _Joined(thing)
    return thing
