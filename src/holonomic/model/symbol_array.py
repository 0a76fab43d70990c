"""SymbolArray: an array of symbols and floats on which NumPy's functions build expressions.

A `SymbolArray` answers every NumPy function itself. Below it is an object array, which gives views, broadcasting and
indexing as NumPy has them. (Where NumPy itself made an array of symbols, outside `numpy_on_symbols`, arithmetic goes through
the entries, but ``np.maximum`` and ``>`` ask for a truth value, so these raise.)
"""

import numpy as np

from ..errors import UntraceableFunction
from .refusals import REASONS, asked_by_user, refusal, refuse_named
from .symbol import WHOLE, Condition, Symbol, WholeNumber, as_sx
from .symbol_loops import LOOPS, TRUTHS, choose_each, counted, floated
from .symbolics import is_equal

_DTYPE = np.ndarray.dtype.__get__


class SymbolArray(np.ndarray):
    """An object array of symbols and numbers on which NumPy's functions build expressions."""

    __array_priority__ = 1000

    @property
    def dtype(self):
        """For the user what NumPy has, floats, integers or truths; for NumPy and us the objects below."""
        own = _DTYPE(self)
        return self.told_dtype() if own.kind == "O" and asked_by_user() else own

    def told_dtype(self) -> np.dtype:
        """The type that the array has in NumPy."""
        own, entries = _DTYPE(self), self.view(np.ndarray)
        if own.kind != "O":
            return own
        truths = self.size and all(isinstance(x, (Condition, bool, np.bool_)) for x in entries.flat)
        return np.dtype(bool if truths else int if _is_whole(entries) else float)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return apply_function(func, args, kwargs)

    def __getitem__(self, key):
        mask = _mask(key)
        if mask is not None:
            return MaskedPart(self, mask) if is_symbolic(mask) else np.ndarray.__getitem__(self, mask.astype(bool))
        found = np.ndarray.__getitem__(self, key)
        # a number out of an array of NumPy's divides by zero without an exception
        return np.float64(found) if type(found) is float or type(found) is int else found

    def __setitem__(self, key, value):
        mask = _mask(key)
        if mask is not None:
            if is_symbolic(mask):
                return _set_masked(self, mask, value)
            key = mask.astype(bool)
        value = _fitting(self, value)
        if not isinstance(value, (Symbol, float, int)):
            value = as_array(value).view(np.ndarray)
            if not isinstance(np.ndarray.__getitem__(self, key), np.ndarray):
                if value.size != 1:
                    raise ValueError("setting an array element with a sequence.")
                value = value.item()
        np.ndarray.__setitem__(self, key, value)

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __bool__(self):
        if self.size == 1:
            return bool(self.item())
        raise refusal("decides by an array of symbols", "Use np.where(condition, a, b).")

    def astype(self, dtype, *args, **kwargs):
        """Copy; symbols already stand for floats of double precision."""
        if dtype is object or np.dtype(dtype) == float:
            return self.copy() if dtype is object else floated(self.view(np.ndarray)).view(SymbolArray)
        return self.view(np.ndarray).astype(dtype)

    def fill(self, value):
        """Set every entry."""
        self[...] = value

    def clip(self, min=None, max=None, out=None):
        """Limit to [min, max]."""
        low = self if min is None else np.maximum(self, min)
        return np.minimum(low, max, out=out) if max is not None else np.positive(low, out=out)


def _is_whole(array) -> bool:
    """Whether an array is one of integers in NumPy: whole numbers that are not known, and known ones beside them."""
    first = array.flat[0] if array.size else None
    if type(first) is not WholeNumber and type(first) is not int:
        return False
    return all(type(x) is WholeNumber or type(x) is int for x in array.flat) and any(type(x) is WholeNumber for x in array.flat)


def _fitting(target, value):
    """What is written into an array: into one of integers no fractions, into one of floats no integers."""
    plain = value if isinstance(value, (Symbol, float, int)) else as_array(value)
    if not _is_whole(target.view(np.ndarray)):
        return floated(plain) if isinstance(plain, (WholeNumber, np.ndarray)) else value
    entries = plain.flat if isinstance(plain, np.ndarray) else [plain]
    if not all(isinstance(x, WHOLE) or (type(x) is float and x.is_integer()) for x in entries):
        raise refusal(
            "puts a number into an array of whole numbers, which cuts it",
            "Make the array of floats: np.where(condition, 1.0, 2.0), or .astype(float).",
        )
    return value


def _on_numbers(name):
    """A method of arrays that has a meaning on numbers alone."""

    def method(self, *args, **kwargs):
        if is_symbolic(self):
            refuse_named(name, f"array.{name}()")
        own = self.view(np.ndarray).astype(float)
        result = getattr(own, name)(*args, **kwargs)
        if result is None:  # it has changed the array
            self[...] = own
        return result

    return method


for _name in ("sort", "argsort", "partition", "argpartition", "argmax", "argmin", "nonzero", "searchsorted", "round"):
    setattr(SymbolArray, _name, _on_numbers(_name))


def is_symbolic(value) -> bool:
    """Tell whether there is a symbol in a number, an array or a nested sequence."""
    kind = type(value)
    if kind in _NEVER:
        return False
    if kind in (list, tuple):
        return any(map(is_symbolic, value))
    if isinstance(value, np.ndarray):
        return value.dtype == object and any(isinstance(entry, Symbol) for entry in value.flat)
    return isinstance(value, (Symbol, MaskedPart))


_NEVER = frozenset({int, float, bool, str, type(None), np.float64, np.int64, slice, np.dtype})


def _mask(key):
    """The mask by which entries are picked, or None for any other index."""
    return key if isinstance(key, np.ndarray) and key.dtype == object else None


class MaskedPart(np.lib.mixins.NDArrayOperatorsMixin):
    """The entries of an array where a mask of conditions holds: how many there are is not known.

    Calculated with as a whole, written back with the same mask, or summed.
    """

    def __init__(self, whole, mask):
        self.whole = as_array(whole)
        self.mask = np.broadcast_to(mask.reshape(mask.shape + (1,) * (self.whole.ndim - mask.ndim)), self.whole.shape)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        parts = [x for x in inputs if isinstance(x, MaskedPart)]
        others = [x for x in inputs if not isinstance(x, MaskedPart)]
        if method != "__call__" or any(np.ndim(x) for x in others) or not all(_same_mask(self.mask, x.mask) for x in parts):
            raise refusal("calculates with entries picked by a mask", _MASKED)
        kwargs.pop("out", None)  # a[mask] += b comes here and then sets a[mask]
        return MaskedPart(ufunc(*(x.whole if isinstance(x, MaskedPart) else x for x in inputs), **kwargs), self.mask)

    def __array_function__(self, func, types, args, kwargs):
        if func is np.sum and len(args) == 1 and not kwargs:
            return self.sum()
        raise refusal(f"uses np.{func.__name__} on entries picked by a mask", _MASKED)

    def sum(self):
        """The sum over the entries that are picked."""
        return np.sum(_where(self.mask, self.whole, 0.0))


_MASKED = "How many there are is not known. Use np.where(mask, a, b) on whole arrays."


def _same_mask(one, other):
    return one.shape == other.shape and all(map(_same_condition, one.flat, other.flat))


def _same_condition(x, y):
    return is_equal(as_sx(x), as_sx(y))


def _set_masked(target, mask, value):
    if isinstance(value, MaskedPart):
        if not _same_mask(MaskedPart(target, mask).mask, value.mask):
            raise refusal("puts entries picked by one mask where another holds", _MASKED)
        value = value.whole
    elif np.ndim(value):
        raise refusal("puts an array into the places where a mask holds", _MASKED)
    target[...] = _where(MaskedPart(target, mask).mask, value, target)


def as_array(value):
    """A SymbolArray, 0-dimensional for a scalar, sharing the memory of an object array."""
    if isinstance(value, Symbol):
        array = np.empty((), dtype=object)
        array[()] = value
        return array.view(SymbolArray)
    if isinstance(value, MaskedPart):
        raise refusal("uses entries picked by a mask as an array", _MASKED)
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
    loop = LOOPS.get(ufunc)
    if loop is None and all(set(types) <= set("O->") for types in ufunc.types):
        loop = ufunc  # made by np.frompyfunc or np.vectorize
    if loop is None:
        raise refusal(f"uses np.{ufunc.__name__} on symbols", "It has no derivative here; use arithmetic or np.where.")
    out = kwargs.pop("out", None)
    for name in ("dtype", "casting", "subok", "order"):
        kwargs.pop(name, None)
    changed = out or (inputs[:1] if method == "at" else ())
    if any(array.dtype != object for array in changed):
        raise refusal(
            "changes an array of floats in place by a symbol",
            "Write a = a + b instead of a += b, or make the array inside the function.",
        )
    indices = 1 if method in ("at", "reduceat") else None
    args = [x if k == indices else _plain(x) for k, x in enumerate(inputs)]
    if ufunc is np.add and method in ("reduce", "accumulate", "reduceat"):
        args[0] = counted(args[0])
    with np.errstate(all="ignore"):  # operations on constants leave floating-point flags behind
        result = _ours(getattr(loop, method)(*args, **kwargs))
    if ufunc in TRUTHS and isinstance(result, SymbolArray) and not is_symbolic(result):
        result = result.view(np.ndarray).astype(bool)
    if out is None:
        return result
    out[0][...] = result
    return out[0]


def apply_function(func, args, kwargs):
    """Answer one of NumPy's functions on symbols."""
    special = _FUNCTIONS.get(func)
    name = f"{func.__module__}.{func.__name__}".replace("numpy", "np", 1)
    if special is not None:
        return special(*args, **kwargs)
    if func.__name__ in REASONS and any(map(is_symbolic, args)):
        refuse_named(func.__name__, name)
    known = _without_scalars if func is np.block else _without_lists
    args, kwargs = known(args), {key: known(value) for key, value in kwargs.items()}
    try:
        # NumPy's own code, whose inner calls come back to us
        result = np.ndarray.__array_function__(np.empty(0), func, (SymbolArray,), args, kwargs)
    except UntraceableFunction:
        raise
    except (TypeError, AttributeError) as error:
        raise refusal(
            f"uses {name} on symbols", f"Use arithmetic, np.where or np.linalg.solve. NumPy says: {str(error).rstrip('.')}."
        ) from error
    return _ours(result)


def _without_scalars(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_scalars, value)) if type(value) in (list, tuple) else value
    return as_array(value) if isinstance(value, Symbol) else value


def _without_lists(args):
    """Arguments with symbols alone and rows of symbols as arrays, of which NumPy knows that they are ours."""
    if type(args) not in (list, tuple):
        return as_array(args) if isinstance(args, Symbol) else args
    return type(args)(as_array(x) if _is_row(x) else _without_lists(x) for x in args)


def _is_row(value):
    return type(value) in (list, tuple) and any(isinstance(x, Symbol) for x in value) and not any(map(np.ndim, value))


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
    with np.errstate(all="ignore"):  # as in `_apply_ufunc`
        return _ours(choose_each(*map(_plain, (condition, *branches))))


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
    result = default
    for condition, value in zip(condlist, values, strict=True):  # the last one that holds counts, in np.select the first
        result = _where(condition, value, result)
    return result + 0.0 * x


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
    if dtype is None and isinstance(a, np.ndarray) and a.dtype == object and _is_whole(a.view(np.ndarray)):
        dtype = int
    floats = dtype is None or dtype is object or np.issubdtype(dtype, np.floating)
    result = np.empty(np.shape(a) if shape is None else shape, dtype=object if floats else dtype)
    result[...] = _plain(fill_value)
    return result.view(SymbolArray) if floats else result


Symbol.__array_ufunc__ = SymbolArray.__array_ufunc__
Symbol.__array_function__ = SymbolArray.__array_function__
