"""What NumPy says of types, asked of symbols: they have those of the numbers they stand for.

    np.result_type(q, 1) == np.float64,  np.can_cast(q[0], int) is False

NumPy itself would see objects, and a function that asks would go another way than on numbers.
"""

from __future__ import annotations

import numpy as np

from .refusals import asked_by_user
from .symbol import Condition, Symbol, WholeNumber
from .symbol_array import SymbolArray, implements


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
