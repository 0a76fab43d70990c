"""Calling users' functions: with what they name, on numbers, on symbols or, for results, at every time of a run.

A user writes for one time: `np.linalg.norm(ball.position)`, `if`, `np.array([np.cos(t), 0.0])`. Results are computed for
whole time series, whose components are arrays; there such a function is called once for every time.
"""

from __future__ import annotations

import difflib
from itertools import islice
from typing import Any

import numpy as np

from ..errors import BadArgument, WrongShape
from ..model.call_by_name import Names, NamesOfNumbers, known_in
from ..model.function_signature import in_run
from ..model.time_rates import value_and_rate

LISTED = 50  # names of parameters in a message


class NotSeen(BadArgument, AttributeError):
    """What a function asks of a body, a point or a joint, and cannot have."""


class Seen:
    """What a user's function sees of a body, a point or a joint, by attribute; `asking` names the part and who asks for it.

    Parts are numbers, vectors and matrices: components, tuples of them, tuples of rows.
    """

    def __init__(self, asking: str, parts: dict[str, Any]):
        self._asking, self._parts = asking, parts

    def __getattr__(self, name: str):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._parts:
            return _array(self._parts[name])
        near = difflib.get_close_matches(name, self._parts, 1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise NotSeen(f"{self._asking} for {name!r}, which functions do not see. {hint}There is {', '.join(self._parts)}.")

    def __repr__(self) -> str:
        return f"<what functions see: .{', .'.join(self._parts)}>"


def _array(part):
    """Components as an array on which NumPy's functions work, of numbers or of symbols; a number as it is."""
    if not isinstance(part, tuple):
        return part
    whole = np.array(part)
    if whole.dtype != object:
        return whole
    from ..model.symbol_array import as_array  # brings expression graphs: not where there are only numbers

    return as_array(part)


def answered(function, names, given, role: str, n: int | None = None):
    """Call a user's function with what it names; states are found in u. Time series are gone through time by time.

    It must return one number (n = 1), a vector of n numbers, which becomes a tuple, or anything (None).
    """
    function = in_run(function)
    asked = {name: given[name] if name in given else given["u"][name] for name in names}
    t = given["t"]
    if not (isinstance(t, np.ndarray) and t.dtype != object and t.ndim == 1):
        return _checked(function(**asked), role, n)
    found = [_checked(function(**{name: _at(value, i) for name, value in asked.items()}), role, n) for i in range(len(t))]
    series = np.array(found, dtype=float)
    return series if series.ndim == 1 else tuple(series.T)


def answered_along(function, names, given, role: str, n: int):
    """The same of a function of time at a complex time, whose imaginary part is a step: with the derivative times that step.

    A user's function need not take complex numbers: the derivative is that of the function on symbols.
    """
    t = given["t"]
    values, rates = value_and_rate(lambda symbol: answered(function, names, given | {"t": symbol}, role, n), role, t.real)
    found = (values + 1j * t.imag * rates).tolist()
    return found[0] if n == 1 else tuple(found)


def _at(value, i: int):
    """One time of what a function is given: whatever has an axis has that of time, the last one."""
    if isinstance(value, NamesOfNumbers):
        return value.changed(lambda part: _at(part, i), lambda flat: flat if flat.ndim == 1 else flat[..., i])
    if isinstance(value, Names):
        return Names(**{name: _at(part, i) for name, part in vars(value).items()})
    if isinstance(value, Seen):
        return Seen(value._asking, {name: _at(part, i) for name, part in value._parts.items()})
    if isinstance(value, tuple):
        return tuple(_at(part, i) for part in value)
    return value[..., i] if np.ndim(value) else value


def _checked(value, role: str, n: int | None):
    """What a user's function returned, if it has n numbers; or what is wrong with it."""
    if n is None:
        return value
    if value is None:
        raise WrongShape(f"{role} must return {_numbers(n)}; it returned nothing: is a `return` missing?")
    shape = np.shape(value)
    size = int(np.prod(shape))
    if size != n or len(shape) > 1 or (n > 1 and not shape):
        raise WrongShape(f"{role} must return {_numbers(n)}; it returned {size if len(shape) < 2 else f'an array {shape}'}.")
    for part in value if shape else (value,):
        if isinstance(part, (Names, Seen)):
            raise WrongShape(f"{role} must return {_numbers(n)}; it returned {_what(part)}.")
    return tuple(value) if n > 1 else value[0] if shape else value


def _what(value) -> str:
    """What a user's function returned in the place of a number."""
    names = list(islice(known_in(value), LISTED)) if isinstance(value, Names) else list(value._parts)
    if isinstance(value, Seen):
        return f"what it was given, not a number of it; it has {', '.join(names)}"
    return f"all of p or u, not a number of it: {', '.join(names)}" if names else "p or u, which have no entries here"


def _numbers(n: int) -> str:
    return "one number" if n == 1 else f"{n} numbers, one an axis"
