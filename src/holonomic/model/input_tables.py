"""Inputs of a system: numbers, functions of t, and tables over time; checked when they are stated, entered where steps end.

A table is linear between its times, or held: (times, values, "hold") keeps each value until the next time. Each stretch between two
times is smooth, and steps end on them. A held table is kept as a linear one in which every time but the first stands twice, so
that one search serves both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import BadArgument
from .call_by_name import wanted
from .given_numbers import floats

KINDS = ("linear", "hold")


def own_input(name: str, given):
    """Return a checked input; a table as arrays of our own, however its rows were given."""
    if callable(given):
        wanted(given, f"input {name!r}", ("t", "p"))
        return given
    if isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim):
        given = tuple(given)
    table, hold = split_kind(name, given)
    times, values = _checked(name, table)
    if not isinstance(given, tuple):
        return given
    return (times, values, "hold") if hold else (times, values)


def split_kind(name: str, given) -> tuple[Any, bool]:
    """Return an input without the word that says how it goes between its times, and whether it is held."""
    if not isinstance(given, tuple) or len(given) != 3:
        return given, False
    *table, kind = given
    if not isinstance(kind, str):
        return given, False
    if kind not in KINDS:
        raise BadArgument(
            f'input {name!r} is (times, values, "hold") or (times, values, "linear"), got {kind!r} in the third place.'
        )
    return tuple(table), kind == "hold"


def held(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a table that keeps its values, as a linear one; values run along the last axis."""
    return np.repeat(times, 2)[1:], np.repeat(values, 2, axis=-1)[..., :-1]


def input_table(name: str, given) -> tuple[np.ndarray, np.ndarray]:
    """Return a checked input as (times, values), linear in between; a number is a table of one time."""
    table, hold = split_kind(name, given)
    times, values = _checked(name, table)
    return held(times, values) if hold else (times, values)


def _checked(name: str, given) -> tuple[np.ndarray, np.ndarray]:
    try:
        if any(np.asarray(part).dtype.kind == "b" for part in (given if isinstance(given, tuple) else (given,))):
            raise TypeError
        if not isinstance(given, tuple):
            number = float(floats(given))
            if not np.isfinite(number):
                raise BadArgument(f"input {name!r} must be finite, got {given!r}.")
            return np.zeros(1), np.array([number])
        times, values = map(floats, given)
    except (TypeError, ValueError, OverflowError) as problem:
        if isinstance(problem, BadArgument):
            raise
        raise BadArgument(f"input {name!r} must be a number, a function of t, or a pair (times, values).") from None
    if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
        raise BadArgument(f"input {name!r} must be a pair (times, values) of equal length, at least 2.")
    if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
        raise BadArgument(f"input {name!r} is not finite everywhere: {times}, {values}.")
    if np.any(np.diff(times) <= 0):
        raise BadArgument(f"the times of input {name!r} must increase.")
    return times, values


class InputTables:
    """The tabulated and constant inputs of a run, and their entries (value, slope, time) in data.

    Parameters
    ----------
    model : Model
        Whose inputs they are.
    given : {name: (times, values)}, optional
        Tables, linear in between, in the place of the system's own.
    stops : sequence of arrays
        Other times at which steps end.
    """

    def __init__(self, model, given: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None, stops: Sequence = ()):
        given = given or {}
        own = model.inputs
        self.at = model.data_places["inputs"].start if own else 0
        self.functions = {name: each for name, each in own.items() if callable(each)}
        self.names: list[str] = []
        self.tables: list[tuple[int, np.ndarray, np.ndarray]] = []
        for i, (name, each) in enumerate(own.items()):
            if name not in self.functions:
                self.names.append(name)
                self.tables.append((i, *(given[name] if name in given else input_table(name, each))))
        breaks = [*(times for _, times, _ in self.tables if len(times) > 1), *stops]
        self.breaks = np.unique(np.concatenate(breaks)) if breaks else np.zeros(0)

    def begin(self, data: np.ndarray, t: float, direction: float) -> None:
        """Enter the numbers, and the piece of every table that begins at t."""
        for i, times, values in self.tables:
            if len(times) == 1:
                data[self.at + 3 * i : self.at + 3 * i + 3] = (values[0], 0.0, t)
        self.set(data, t, direction)

    def set(self, data: np.ndarray, t: float, direction: float) -> None:
        """Enter the piece of every table that begins at t; numbers stay as they are."""
        for i, times, values in self.tables:
            if len(times) == 1:
                continue
            at = self.at + 3 * i
            side = "right" if direction > 0 else "left"
            k = int(times.searchsorted(t, side))
            if k == 0 or k == len(times):
                data[at : at + 3] = (values[0] if k == 0 else values[-1], 0.0, t)
            else:
                slope = (values[k] - values[k - 1]) / (times[k] - times[k - 1])
                data[at : at + 3] = (values[k - 1], slope, times[k - 1])

    def next_break(self, t: float, t_end: float) -> float:
        """Return where the piece that begins at t ends."""
        if not len(self.breaks):
            return t_end
        if t_end >= t:
            k = int(self.breaks.searchsorted(t, "right"))
            return float(min(self.breaks[k], t_end)) if k < len(self.breaks) else t_end
        k = int(self.breaks.searchsorted(t, "left"))
        return float(max(self.breaks[k - 1], t_end)) if k > 0 else t_end

    def jumps(self, t: float) -> bool:
        """Tell whether an input has another value after t than before it."""
        for _, times, values in self.tables:
            if len(times) == 1:
                continue
            k = int(times.searchsorted(t, "left"))
            if k + 1 < len(times) and times[k] == t == times[k + 1] and values[k] != values[k + 1]:
                return True
        return False

    def along(self, t: np.ndarray, direction: float) -> dict[str, np.ndarray]:
        """Return the values of all tables at times, by name; where one jumps, the value after the jump."""
        found = {}
        for name, (_, times, values) in zip(self.names, self.tables, strict=True):
            found[name] = values_at(times, values, t, direction)
        return found


def values_at(times: np.ndarray, values: np.ndarray, t: np.ndarray, direction: float = 1.0) -> np.ndarray:
    """Return a table at times; where it jumps, the value after the jump."""
    k = np.searchsorted(times, t, side="right" if direction > 0 else "left")
    low, high = np.clip(k - 1, 0, len(times) - 1), np.clip(k, 0, len(times) - 1)
    inside = times[high] > times[low]
    share = (t - times[low]) / np.where(inside, times[high] - times[low], 1.0)
    return np.where(inside, values[low] + share * (values[high] - values[low]), np.where(k == 0, values[0], values[low]))
