"""Symbols for ordinary NumPy code: made here, collected into one expression when the code returns.

The user's function receives a `SymbolArray` where it expects coordinates; `to_sx` collects what it returned.
"""

import numpy as np

from ..errors import UntraceableFunction, WrongShape
from . import piecewise
from .refusals import SUBJECT, tracing
from .symbol import Condition, Symbol, as_sx
from .symbol_array import SymbolArray, as_array, implements
from .symbolics import SX, sparsify, vertcat

__all__ = ["Condition", "Symbol", "SymbolArray", "symbol_scalar", "symbol_vector", "to_sx", "tracing"]


def symbol_scalar(name):
    """Make one named symbol.

    Returns
    -------
    sx : SX
    symbol : Symbol
    """
    sx = SX.sym(name)
    return sx, Symbol(sx)


def symbol_vector(name, n):
    """Make the named symbols ``name[0] ... name[n-1]``.

    Returns
    -------
    sx : SX
        Column of n symbols.
    symbols : SymbolArray
        The same symbols, shape (n,).
    """
    entries = [SX.sym(f"{name}[{i}]") for i in range(n)]
    array = np.empty(n, dtype=object)
    array[:] = [Symbol(entry) for entry in entries]
    return vertcat(SX(0, 1), *entries), array.view(SymbolArray)


def to_sx(value, shape=None):
    """Collect what a traced function returned into one expression.

    Parameters
    ----------
    value : Symbol, number, array, nested sequence or SX
        At most two axes; one axis gives a column.
    shape : tuple of int, optional
        What the result must have as a NumPy shape; a scalar passes for one entry.

    Returns
    -------
    SX
        Entries that are exactly zero are left out of its sparsity pattern.
    """
    if isinstance(value, SX):
        result = sparsify(value)
    else:
        result = _collect(value)
    if shape is not None and result.shape != (*shape, 1, 1)[:2]:
        raise WrongShape(f"{SUBJECT.get()} returned shape {result.shape}, but shape {shape} is needed here.")
    return result


def _collect(value):
    try:
        array = as_array(_symbols(value))
    except ValueError as error:
        raise UntraceableFunction(f"{SUBJECT.get()} returned rows of different lengths. Join them with np.concatenate.") from error
    if array.ndim > 2:
        raise WrongShape(f"{SUBJECT.get()} returned an array of {array.ndim} axes. Return at most two.")
    places, entries = [], []
    for place, entry in np.ndenumerate(array):
        if isinstance(entry, float) and entry == 0.0:  # most entries of a large mass matrix
            continue
        sx = as_sx(entry)
        if sx is None:
            raise UntraceableFunction(f"{SUBJECT.get()} returned {_misfit(entry, place)}")
        if not sx.is_zero():
            places.append((*place, 0, 0)[:2])
            entries.append(sx)
    rows, columns = zip(*places, strict=True) if places else ((), ())
    return SX.triplet(rows, columns, vertcat(SX(0, 1), *entries), *(*array.shape, 1, 1)[:2])


def _symbols(value):
    """Nested sequences with their single SX as symbols and 0-dimensional arrays as numbers."""
    if isinstance(value, (list, tuple)):
        return [_symbols(entry) for entry in value]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    return Symbol(value) if isinstance(value, SX) and value.is_scalar() else value


def _misfit(entry, place):
    at = f" at {list(place)}" if place else ""
    if entry is None and not place:
        return "nothing: is a `return` missing?"
    if isinstance(entry, (list, tuple, np.ndarray)):
        return f"an array inside an array{at}. Join the parts with np.concatenate."
    kind = "None" if entry is None else f"a {type(entry).__name__}"
    return f"{kind}{at}. Return real numbers and symbols, alone, in a list or in an array."


implements(np.interp)(piecewise.interp)
