"""Inputs of the members: tables over time and numbers, one for all or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arguments import given_inputs
from ..loop import batch
from ..model.input_tables import InputTables, input_table
from ..running.sampled import Answers

NONE = np.zeros(0)


@dataclass(frozen=True)
class MemberTables:
    """All inputs that are no functions; a number is a table of one time."""

    at: np.ndarray  # where each stands in data: value, slope, time
    first: np.ndarray  # where the times of each begin, and where all end
    times: np.ndarray
    values: tuple[np.ndarray, ...]  # (member, time) each, or one row for all
    looks: np.ndarray = field(default_factory=lambda: NONE)  # other times at which steps end

    @classmethod
    def of(cls, model, given: Mapping[str, Any] | None, answers: Answers | None = None) -> MemberTables:
        """Collect the inputs of a model, those of `given` and those that controllers write in the place of its own."""
        own, given = model.inputs, given_inputs(model.inputs, given) | ({} if answers is None else answers.tables)
        at, times, values = [], [], []
        for i, name in enumerate(own):
            if callable(own[name]):
                continue
            t, v = given[name] if name in given else _own(name, own[name])
            at.append(model.data_places["inputs"].start + 3 * i)
            times.append(t)
            values.append(v)
        first = np.concatenate([[0], np.cumsum([len(t) for t in times])]).astype(np.int64)
        joined = np.concatenate(times) if times else np.zeros(0)
        return cls(np.array(at, dtype=np.int64), first, joined, tuple(values), NONE if answers is None else answers.stops)

    def rows(self, first: int, last: int) -> np.ndarray:
        """Values of a stretch of members, all tables side by side."""
        n = last - first
        parts = [np.broadcast_to(v, (n, v.shape[1])) if len(v) == 1 else v[first:last] for v in self.values]
        return np.ascontiguousarray(np.hstack(parts)) if parts else np.zeros((n, 0))

    def for_kernels(self, values: np.ndarray, stops: np.ndarray = NONE) -> batch.Tables:
        """The tables with the values of some members, and the times at which stretches end, as kernels take them."""
        return batch.Tables(self.at, self.first, self.times, values, stops)

    @property
    def jump(self) -> bool:
        """Whether a table is held between its times."""
        cut = self.first[1:-1] - 1  # where another table begins
        return bool(np.any(np.delete(np.diff(self.times) == 0.0, cut))) if len(self.times) else False

    def part(self, first: int, last: int) -> MemberTables:
        """The tables of a stretch of members."""
        values = tuple(v if len(v) == 1 else v[first:last] for v in self.values)
        return MemberTables(self.at, self.first, self.times, values, self.looks)

    def stops(self, t0: float, t1: float) -> np.ndarray:
        """Times at which steps end: where tables have a corner, and the end."""
        corners = [self.times[a:b] for a, b in zip(self.first[:-1], self.first[1:], strict=True) if b - a > 1]
        breaks = np.unique(np.concatenate([*corners, self.looks]))
        inside = breaks[(breaks > min(t0, t1)) & (breaks < max(t0, t1))]
        return np.append(inside if t1 >= t0 else inside[::-1], t1)

    def of_member(self, model, m: int) -> InputTables:
        """The inputs of one member, as a single run has them."""
        names = [name for name, given in model.inputs.items() if not callable(given)]
        return InputTables(model, {
            name: (self.times[a:b], v[0 if len(v) == 1 else m])
            for name, a, b, v in zip(names, self.first[:-1], self.first[1:], self.values, strict=True)
        }, [self.looks] if len(self.looks) else ())  # fmt: skip


def _own(name: str, given) -> tuple[np.ndarray, np.ndarray]:
    times, values = input_table(name, given)
    return times, values[None]
