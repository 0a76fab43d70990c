"""Inputs of the members: tables over time and numbers, one for all or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..loop import batch
from ..model.input_tables import input_table

NONE = np.zeros(0)


@dataclass(frozen=True)
class MemberTables:
    """All inputs that are no functions; a number is a table of one time."""

    at: np.ndarray  # where each stands in data: value, slope, time
    first: np.ndarray  # where the times of each begin, and where all end
    times: np.ndarray
    values: tuple[np.ndarray, ...]  # (member, time) each, or one row for all

    @classmethod
    def of(cls, model, given: Mapping[str, Any] | None) -> MemberTables:
        """Collect the inputs of a model, those of `given` in the place of its own."""
        given = dict(given or {})
        own = model.inputs
        for name in given:
            if name not in own:
                known = ", ".join(own) or "none"
                raise BadArgument(f"inputs={{{name!r}: ...}}: the system has no such input; known: {known}.")
            if callable(own[name]):
                raise BadArgument(
                    f"input {name!r} is a function of t in the system. Give it there as a number or a table, so that a "
                    "sweep can set it."
                )
        at, times, values = [], [], []
        for i, name in enumerate(own):
            if callable(own[name]):
                continue
            t, v = _table(name, given[name]) if name in given else _own(name, own[name])
            at.append(model.data_places["inputs"].start + 3 * i)
            times.append(t)
            values.append(v)
        first = np.concatenate([[0], np.cumsum([len(t) for t in times])]).astype(np.int64)
        joined = np.concatenate(times) if times else np.zeros(0)
        return cls(np.array(at, dtype=np.int64), first, joined, tuple(values))

    def rows(self, first: int, last: int) -> np.ndarray:
        """Values of a stretch of members, all tables side by side."""
        n = last - first
        parts = [np.broadcast_to(v, (n, v.shape[1])) if len(v) == 1 else v[first:last] for v in self.values]
        return np.ascontiguousarray(np.hstack(parts)) if parts else np.zeros((n, 0))

    def for_kernels(self, values: np.ndarray, stops: np.ndarray = NONE) -> batch.Tables:
        """The tables with the values of some members, and the times at which stretches end, as kernels take them."""
        return batch.Tables(self.at, self.first, self.times, values, stops)

    def part(self, first: int, last: int) -> MemberTables:
        """The tables of a stretch of members."""
        values = tuple(v if len(v) == 1 else v[first:last] for v in self.values)
        return MemberTables(self.at, self.first, self.times, values)

    def stops(self, t0: float, t1: float) -> np.ndarray:
        """Times at which steps end: where tables have a corner, and the end."""
        corners = [self.times[a:b] for a, b in zip(self.first[:-1], self.first[1:], strict=True) if b - a > 1]
        breaks = np.unique(np.concatenate(corners)) if corners else np.zeros(0)
        inside = breaks[(breaks > min(t0, t1)) & (breaks < max(t0, t1))]
        return np.append(inside if t1 >= t0 else inside[::-1], t1)

    def of_member(self, m: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """(times, values) of every table of one member."""
        return [
            (self.times[a:b], v[0 if len(v) == 1 else m])
            for a, b, v in zip(self.first[:-1], self.first[1:], self.values, strict=True)
        ]


def lengths(given: Mapping[str, Any] | None) -> dict[str, int]:
    """How many members each of the given inputs is for."""
    found = {}
    for name, value in (given or {}).items():
        try:
            values = np.asarray(value[1] if isinstance(value, tuple) else value, dtype=float)
        except (TypeError, ValueError, IndexError):
            text = f"inputs[{name!r}] must be numbers, one per member, or a pair (times, values), got {value!r}."
            raise BadArgument(text) from None
        if values.ndim >= (2 if isinstance(value, tuple) else 1):
            found[name] = len(values)
    return found


def _own(name: str, given) -> tuple[np.ndarray, np.ndarray]:
    times, values = input_table(name, given)
    return times, values[None]


def _table(name: str, given) -> tuple[np.ndarray, np.ndarray]:
    """(times, values) with one row of values per member, or one for all."""
    if not isinstance(given, tuple):
        values = np.asarray(given, dtype=float)
        if values.ndim > 1:
            raise BadArgument(
                f"inputs[{name!r}] has shape {values.shape}: give one number per member, or a pair (times, values) with "
                "values (members, times)."
            )
        values = values.reshape(-1, 1)
        times = np.zeros(1)
    else:
        times, values = (np.asarray(part, dtype=float) for part in given)
        if values.ndim == 1:
            values = values[None]
        if times.ndim != 1 or values.ndim != 2 or values.shape[1] != len(times) or len(times) < 2:
            raise BadArgument(
                f"inputs[{name!r}]: {len(np.atleast_1d(times))} times go with values of shape (members, "
                f"{len(np.atleast_1d(times))}), got {values.shape}."
            )
        if np.any(np.diff(times) <= 0):
            raise BadArgument(f"the times of input {name!r} must increase.")
    if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) if not np.all(np.isfinite(values)) else 0
        raise BadArgument(f"inputs[{name!r}] is not finite everywhere (member {bad}).")
    return times, np.ascontiguousarray(values)
