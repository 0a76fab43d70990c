"""SymbolArray: an array of symbols on which NumPy's functions build expressions.

A `SymbolArray` answers every NumPy function itself. ``np.array([q[0], 1.0])`` is NumPy's own object array: arithmetic
goes through the entries, but NumPy decides ``np.maximum``, ``np.sign`` and ``>`` by asking for a truth value, so
these raise and propose ``np.block([q[0], 1.0])``, which gives a `SymbolArray`.
"""

import math
import operator

import numpy as np

from ..errors import UntraceableFunction
from .symbol import BINARY, COMPARISONS, LOGIC, UNARY, Condition, Symbol, as_sx, chosen, negated, refusal


class SymbolArray(np.ndarray):
    """An object array of symbols and numbers on which NumPy's functions build expressions."""

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return _apply_function(func, args, kwargs)

    def __bool__(self):
        if self.size == 1:
            return bool(self.item())
        raise refusal("decides by an array of symbols", "Use np.where(condition, a, b).")

    def astype(self, dtype, *args, **kwargs):
        """Copy; symbols already stand for floats, so a floating dtype changes nothing."""
        return self.copy() if np.issubdtype(dtype, np.floating) else super().astype(dtype, *args, **kwargs)

    def clip(self, min=None, max=None, out=None):
        """Limit to [min, max]."""
        low = self if min is None else np.maximum(self, min)
        return np.minimum(low, max, out=out) if max is not None else np.positive(low, out=out)


def as_array(value):
    """A SymbolArray, 0-dimensional for a scalar, sharing the memory of an object array."""
    if isinstance(value, Symbol):
        array = np.empty((), dtype=object)
        array[()] = value
        return array.view(SymbolArray)
    return np.asarray(value, dtype=object).view(SymbolArray)


def _plain(value):
    """What NumPy's object loops can take without coming back to us."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (int, float)) else as_array(value).view(np.ndarray)


def _ours(result):
    """Results as the user should see them: arrays of symbols know that they are."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result.view(SymbolArray) if result.ndim else result[()]
    if isinstance(result, (list, tuple)) and any(isinstance(x, np.ndarray) for x in result):
        return type(result)(map(_ours, result)) if type(result) in (list, tuple) else result
    return result


def _apply_ufunc(ufunc, method, inputs, kwargs):
    loop = _LOOPS.get(ufunc)
    if loop is None and all(set(types) <= set("O->") for types in ufunc.types):
        loop = ufunc  # made by np.frompyfunc or np.vectorize
    if loop is None:
        raise refusal(
            f"uses np.{ufunc.__name__} on symbols", "It has no derivative here; use arithmetic or np.where."
        )
    out = kwargs.pop("out", None)
    for name in ("dtype", "casting", "subok", "order"):
        kwargs.pop(name, None)
    changed = out or (inputs[:1] if method == "at" else ())
    if any(array.dtype != object for array in changed):
        raise refusal(
            "changes an array of floats in place by a symbol",
            "Write a = a + b instead of a += b, or make the array with np.zeros_like(q) or dtype=object.",
        )
    indices = 1 if method in ("at", "reduceat") else None
    args = [x if k == indices else _plain(x) for k, x in enumerate(inputs)]
    with np.errstate(all="ignore"):  # casadi leaves floating-point flags behind that mean nothing here
        result = _ours(getattr(loop, method)(*args, **kwargs))
    if out is None:
        return result
    out[0][...] = result
    return out[0]


def _elementwise(name, nin, build):
    """NumPy's function `name` entry by entry: `build` on symbols, NumPy itself on numbers."""
    numeric = getattr(np, name)

    def one(*args):
        if any(isinstance(x, Symbol) for x in args):
            return Symbol(build(*map(as_sx, args)))
        return float(numeric(*map(float, args)))  # beside symbols 2 means 2.0, also in np.reciprocal

    return np.frompyfunc(one, nin, 1)


def _join(sign, build, number):
    def one(x, y):
        if isinstance(x, Symbol) or isinstance(y, Symbol):
            return Condition(build(as_sx(x), as_sx(y)), (x, sign, y))
        return number(bool(x), bool(y))

    return one


def _choose(condition, a, b):
    if isinstance(condition, Symbol) and not condition.sx.is_constant():
        return Symbol(chosen(condition.sx, as_sx(a), as_sx(b)))
    return a if condition else b


def _make_loops():
    """The object loop for each ufunc: NumPy's own where it only does arithmetic on the entries."""
    own = ("add", "subtract", "multiply", "divide", "negative", "positive", "conjugate", "matmul", "vecdot",
           "matvec", "vecmat")  # fmt: skip
    loops = {getattr(np, name): getattr(np, name) for name in own if hasattr(np, name)}
    loops |= {getattr(np, name): _elementwise(name, 1, build) for name, build in UNARY.items()}
    loops |= {getattr(np, name): _elementwise(name, 2, build) for name, build in BINARY.items()}
    for name, (sign, _) in COMPARISONS.items():
        compare = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
                   ">": operator.gt, ">=": operator.ge}[sign]  # fmt: skip
        loops[getattr(np, name)] = np.frompyfunc(compare, 2, 1)
    for name, (sign, build) in LOGIC.items():
        number = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[name]
        join = np.frompyfunc(_join(sign, build, number), 2, 1, identity=name == "and")
        loops[getattr(np, "logical_" + name)] = loops[getattr(np, "bitwise_" + name)] = join
    loops[np.logical_not] = loops[np.invert] = np.frompyfunc(negated, 1, 1)
    return loops


_LOOPS = _make_loops()
_choose_each = np.frompyfunc(_choose, 3, 1)


def _apply_function(func, args, kwargs):
    special = _FUNCTIONS.get(func)
    if special is not None:
        return special(*args, **kwargs)
    args, kwargs = _without_scalars(args), {key: _without_scalars(value) for key, value in kwargs.items()}
    try:
        # NumPy's own code, whose inner calls come back to us
        result = np.ndarray.__array_function__(np.empty(0), func, (SymbolArray,), args, kwargs)
    except UntraceableFunction:
        raise
    except TypeError as error:
        name = f"{func.__module__}.{func.__name__}".replace("numpy", "np", 1)
        raise refusal(
            f"uses {name} on symbols", f"Use arithmetic, np.where or np.linalg.solve. NumPy says: {error}."
        ) from error
    return _ours(result)


def _without_scalars(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_scalars, value)) if type(value) in (list, tuple) else value
    return as_array(value) if isinstance(value, Symbol) else value


_FUNCTIONS = {}


def implements(*functions):
    """Let symbols answer these functions of NumPy with the decorated one."""
    def register(implementation):
        _FUNCTIONS.update(dict.fromkeys(functions, implementation))
        return implementation

    return register


@implements(np.where)
def _where(condition, *branches):
    if len(branches) != 2:
        raise refusal("uses np.where(condition) to find indices", "Use np.where(condition, a, b).")
    return _ours(_choose_each(*map(_plain, (condition, *branches))))


@implements(np.select)
def _select(condlist, choicelist, default=0):
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = _where(condition, choice, result)
    return result


@implements(np.piecewise)
def _piecewise(x, condlist, funclist, *args, **kw):
    condlist = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    default = values.pop() if len(values) == len(condlist) + 1 else 0.0
    return _select(condlist, values, default) + 0.0 * x


@implements(np.clip)
def _clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    return _ours(as_array(a).clip(a_min if min is None else min, a_max if max is None else max, out))


@implements(np.zeros_like, np.empty_like)
def _zeros_like(a, dtype=None, order="K", subok=True, shape=None, **kw):
    return _full_like(a, 0.0, dtype, order, subok, shape)


@implements(np.ones_like)
def _ones_like(a, dtype=None, order="K", subok=True, shape=None, **kw):
    return _full_like(a, 1.0, dtype, order, subok, shape)


@implements(np.full_like)
def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, **kw):
    # an array of floats was asked for; one of objects takes floats and symbols
    floats = dtype is None or dtype is object or np.issubdtype(dtype, np.floating)
    result = np.empty(np.shape(a) if shape is None else shape, dtype=object if floats else dtype)
    result[...] = _plain(fill_value)
    return result.view(SymbolArray) if floats else result


@implements(np.linalg.norm)
def _norm(x, ord=None, axis=None, keepdims=False):
    x = as_array(x)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return np.sqrt(np.sum(x * x, axis=axes, keepdims=keepdims))
    if ord == 1 and len(axes) == 1:
        return np.sum(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == math.inf and len(axes) == 1:
        return np.max(np.abs(x), axis=axes, keepdims=keepdims)
    raise refusal(f"uses np.linalg.norm(..., ord={ord!r}) on symbols", "Use ord=None, or ord=1 on a vector.")


Symbol.__array_ufunc__ = SymbolArray.__array_ufunc__
Symbol.__array_function__ = SymbolArray.__array_function__
