"""Drift: what the constraints leave along a whole solution, by level; and invariants, by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import UnknownName
from . import quantities, sampling
from .naming import order_of

LEVELS = ("position", "velocity", "acceleration")
FORMULAS = {"position": "g", "velocity": "G v + g_t", "acceleration": "G v' + γ"}


@dataclass(frozen=True)
class Worst:
    """The largest residual of one level: how much, of which row, when (s)."""

    value: float
    label: str
    t: float


class Drift(Mapping):
    """Residuals along a solution, (time, row): g itself, not scaled.

    `drift["position"]` is g, `drift["velocity"]` is G v + g_t (then the nonholonomic rows), each invariant
    has its change since the start (or since an event mapped the state) under its own name. Levels without
    rows are left out; `drift["acceleration"]`, G v' + γ, is computed when asked for and not listed. A Dae of
    order m has the first m levels of g, g', g''.
    """

    def __init__(self, sol):
        self._sol, self._handed = sol, {}
        model = sol.plan.model
        n, first = model.n_constraints, model.n_constraints + model.n_invariants
        self._labels: dict[str, tuple[Sequence[str], range]] = {}  # names, and which of them; large mechanisms make them on demand
        self._columns: dict[str, slice | int] = {}
        each = n // order_of(model)
        for level in range(order_of(model) if n else 0):
            rows = slice(level * each, (level + 1) * each)
            self._labels[LEVELS[level]] = model.constraint_labels, range(level * each, (level + 1) * each)
            self._columns[LEVELS[level]] = rows
        if model.n_lam:
            self._labels["velocity"] = model.row_labels, range(len(model.row_labels))
            self._columns["velocity"] = slice(first, None)
        for row, label in enumerate(model.invariant_labels, start=n):
            self._labels[label] = [label], range(1)
            self._columns[label] = row

    def __getitem__(self, level: str) -> np.ndarray:
        self._check(level)
        if level not in self._handed:
            self._handed[level] = self._values(level).copy()  # the reader's own
        return self._handed[level]

    def _values(self, level: str) -> np.ndarray:
        self._check(level)
        sol = self._sol
        if level in self._columns:
            return sol.trail.shaped(sampling.residuals(sol)[:, self._columns[level]])
        return sol.trail.shaped(quantities.accelerations_left(sol))

    def _check(self, level: str) -> None:
        """Refuse what names no level and no invariant."""
        if isinstance(level, str) and (level in self._columns or (level == "acceleration" and self._sol.plan.model.n_lam)):
            return
        near = difflib.get_close_matches(str(level), [*self._labels, "acceleration"], 3)
        hint = f"It has {', '.join(self) or 'none'}."
        if near:
            hint = f"Did you mean {' or '.join(map(repr, near))}?"
        raise UnknownName(f"drift has no level or invariant {level!r}. {hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    @property
    def position(self) -> np.ndarray:
        """g(t, q)."""
        return self["position"]

    @property
    def velocity(self) -> np.ndarray:
        """G v + g_t, then the nonholonomic rows."""
        return self["velocity"]

    @property
    def acceleration(self) -> np.ndarray:
        """G v' + γ."""
        return self["acceleration"]

    def labels(self, level: str) -> list[str]:
        """Names of the rows of a level."""
        names, rows = self._named(level)
        return list(names) if len(rows) == len(names) else [names[row] for row in rows]

    def _named(self, level: str) -> tuple[Sequence[str], range]:
        """Names, and which of them are the rows of a level."""
        self._check(level)
        return self._labels.get(level) or self._labels["velocity"]

    def max(self) -> dict[str, float]:
        """Largest absolute residual by level and invariant."""
        return {level: self.worst(level).value for level in self}

    def worst(self, level: str) -> Worst:
        """Largest absolute residual of one level, with the label of its row and its time."""
        values = np.abs(self._values(level))
        if values.size == 0:
            return Worst(0.0, "", float("nan"))
        t = np.atleast_1d(self._sol.t)
        values = values.reshape(len(t), -1)
        at = int(np.argmax(np.nan_to_num(values, nan=np.inf)))
        when, row = divmod(at, values.shape[1])
        names, rows = self._named(level)
        return Worst(float(values[when, row]), names[rows[row]], float(t[when]))

    def __repr__(self) -> str:
        if not self._labels:
            return "Drift: no constraints and no invariants"
        wide = max(map(len, self))
        lines = ["Drift: largest residual by level"]
        for level in self:
            worst = self.worst(level)
            what = FORMULAS.get(level, "change since the start")
            row = "" if worst.label == level else f"{worst.label!r} "
            lines.append(f"  {level:<{wide}}  {worst.value:9.2e}  {row}at t = {worst.t:.6g} s   ({what})")
        return "\n".join(lines)
