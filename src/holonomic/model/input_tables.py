"""Inputs of a system: checked when it is stated; tables are linear between their times, so that each stretch is smooth."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from .call_by_name import wanted
from .given_numbers import NO_NUMBERS


def own_input(name: str, given):
    """Return a checked input; a table as a pair of arrays of our own, however its rows were given."""
    if callable(given):
        wanted(given, f"input {name!r}", ("t", "p"))
        return given
    if isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim):
        given = tuple(given)
    times, values = input_table(name, given)
    return (times, values) if isinstance(given, tuple) else given


def input_table(name: str, given) -> tuple[np.ndarray, np.ndarray]:
    """Return a checked input as (times, values); a number is a table of one time."""
    try:
        if any(np.asarray(part).dtype.kind in NO_NUMBERS + "b" for part in (given if isinstance(given, tuple) else (given,))):
            raise TypeError
        if not isinstance(given, tuple):
            number = float(given)
            if not np.isfinite(number):
                raise BadArgument(f"input {name!r} must be finite, got {given!r}.")
            return np.zeros(1), np.array([number])
        times, values = (np.array(part, dtype=float) for part in given)
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
    """The tabulated and constant inputs of a model, and their entries (value, slope, time) in data."""

    def __init__(self, model):
        self.at = model.data_places["inputs"].start if model.inputs else 0
        self.tables: list[tuple[int, np.ndarray, np.ndarray]] = []
        breaks: set[float] = set()
        for i, (name, given) in enumerate(model.inputs.items()):
            if callable(given):
                continue
            times, values = input_table(name, given)
            if len(times) > 1:
                breaks.update(times.tolist())
            self.tables.append((i, times, values))
        self.breaks = np.array(sorted(breaks))

    def set(self, data: np.ndarray, t: float, direction: float) -> None:
        """Enter the piece of every table that begins at t."""
        for i, times, values in self.tables:
            at = self.at + 3 * i
            side = "right" if direction > 0 else "left"
            k = int(np.searchsorted(times, t, side=side))
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
            later = self.breaks[self.breaks > t]
            return float(min(later[0], t_end)) if len(later) else t_end
        earlier = self.breaks[self.breaks < t]
        return float(max(earlier[-1], t_end)) if len(earlier) else t_end
