"""Arrays of floats that can hold symbols, and the types that stand in for float while a function runs on symbols.

What NumPy says of types, asked of symbols, is what it says of the numbers they stand for:

    np.result_type(q, 1) == np.float64,    np.can_cast(q[0], int) is False

NumPy itself would see objects, and a function that asks would go another way than on numbers.
"""

from __future__ import annotations

import numpy as np

from .refusals import asked_by_user
from .symbol import Condition, Symbol, WholeNumber
from .symbol_array import SymbolArray, as_array, implements, is_symbolic

LARGE = 10_000  # entries from which an array is taken for a table that nobody writes into


class Standing(type):
    """The type of float and np.float64 in use: called, they let symbols pass; asked, symbols are floats."""

    stands_for: type

    def __instancecheck__(cls, thing):
        return isinstance(thing, cls.stands_for) or (isinstance(thing, Symbol) and not isinstance(thing, Condition | WholeNumber))

    def __subclasscheck__(cls, kind):
        return issubclass(kind, cls.stands_for)

    def __eq__(cls, other):
        return other is cls or other is cls.stands_for

    def __hash__(cls):
        return hash(cls.stands_for)

    def __call__(cls, *args):
        if len(args) == 1 and is_symbolic(args[0]):
            return Symbol(symbol_of(args[0]).sx)  # of a comparison 1.0 or 0.0, which can be added
        return cls.stands_for(*map(as_floats, args))

    def __getattr__(cls, name):
        return getattr(cls.stands_for, name)


def standing_for(kind: type) -> Standing:
    """Return what stands for a type of real numbers; as a dtype it is float."""
    return Standing(kind.__name__, (), {"stands_for": kind, "dtype": np.dtype(float), "__module__": kind.__module__})


def symbol_of(value):
    """The one symbol in an array of one entry, or the symbol itself; refuses more, as float() does."""
    if isinstance(value, Symbol):
        return value
    if np.size(value) != 1:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return as_array(value).item()


def holding(result):
    """Return what NumPy returned, with arrays of floats turned into arrays that can hold symbols."""
    if isinstance(result, np.ndarray):
        kind = result.dtype.kind
        if type(result) is np.ndarray and kind == "f" and result.size <= LARGE:
            return result.astype(object).view(SymbolArray)
        return result.view(SymbolArray) if kind == "O" and type(result) is np.ndarray else result
    if type(result) in (list, tuple):
        return type(result)(map(holding, result))
    return result


def as_floats(value):
    """Return what NumPy can take: our arrays of numbers as arrays of floats, our types as what they stand for."""
    if isinstance(value, SymbolArray):
        return value.view(np.ndarray).astype(float)
    if isinstance(value, Standing):
        return value.stands_for
    if type(value) in (list, tuple) and any(isinstance(x, SymbolArray | list | tuple) for x in value):
        return type(value)(map(as_floats, value))
    return value


def is_floating(dtype) -> bool:
    """Tell whether arrays of a dtype hold floats of double precision, and so may hold symbols."""
    return np.dtype(as_floats(dtype)) in (float, object)


def made_of(obj, dtype=None) -> SymbolArray | None:
    """np.array(obj) of symbols, or None where there are none."""
    if isinstance(obj, SymbolArray) and (dtype is None or is_floating(dtype)):
        return obj
    if not is_symbolic(obj):
        return None
    if dtype is not None and not is_floating(dtype):
        return as_array(obj).view(np.ndarray).astype(as_floats(dtype))  # which says why it cannot be
    made = as_array(obj)
    for place, entry in np.ndenumerate(made):
        if isinstance(entry, np.ndarray) and entry.ndim == 0:
            made[place] = entry.item()
        elif isinstance(entry, np.ndarray | list | tuple):
            raise ValueError("setting an array element with a sequence. The requested array has an inhomogeneous shape.")
    return made


def of_symbol(symbol: Symbol) -> np.dtype:
    """The type of the number that a symbol stands for."""
    return np.dtype(bool if isinstance(symbol, Condition) else int if isinstance(symbol, WholeNumber) else float)


def _standing_for(value):
    """Numbers of the type that symbols stand for, zeros of their shape; anything else as it is."""
    if isinstance(value, Symbol):
        return of_symbol(value).type(0)
    return np.zeros(value.shape, value.told_dtype()) if isinstance(value, SymbolArray) else value


@implements(np.result_type)
def _result_type(*given):
    return np.result_type(*map(_standing_for, given))


@implements(np.common_type)
def _common_type(*given):
    return np.common_type(*map(_standing_for, given))


@implements(np.can_cast)
def _can_cast(from_, to, casting="safe"):
    kind = from_ if not isinstance(from_, Symbol | SymbolArray) else _standing_for(from_).dtype
    return np.can_cast(kind, to, casting)


def _told(symbol: Symbol) -> np.dtype:
    """`.dtype` for the user, as NumPy's scalars have it; NumPy's own functions would take the symbol for one of them."""
    if not asked_by_user():
        raise AttributeError("'Symbol' object has no attribute 'dtype'")
    return of_symbol(symbol)


Symbol.dtype = property(_told)
