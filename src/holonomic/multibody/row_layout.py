"""Which rows of the multipliers belong to which joint or drive, and what these rows and the coordinates are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..model.names_in_order import KindsInOrder, NamesInOrder, NumberedNames
from .series import DrawnBodies, DrawnParts, ElementSeries

LEVELS = ("position", "velocity")


class RowLayout(Mapping):
    """Rows of each joint and drive, by name: those at position level come first."""

    def __init__(self, joints: DrawnParts, drives: Mapping[str, Any]):
        self._alone: dict[str, slice] = {}
        self._series: list[tuple[ElementSeries, int, int]] = []
        self._order: list[Any] = []
        at = 0
        for level in LEVELS:
            for each in (*joints.in_order, dict(drives)):
                if isinstance(each, ElementSeries):
                    if each.whole.level == level:
                        height = len(each.whole.labels)
                        self._series.append((each, at, height))
                        self._order.append(self._series[-1])
                        at += height * each.count
                    continue
                own = {}
                for part in each.values():
                    if part.level == level:
                        own[part.name] = slice(at, at + len(part.labels))
                        at += len(part.labels)
                self._alone |= own
                self._order.append(own)

    def starts(self) -> np.ndarray:
        """The first row of each, in order."""
        found = [
            np.array([where.start for where in each.values()], dtype=np.int64) if isinstance(each, dict)
            else each[1] + each[2] * np.arange(each[0].count) for each in self._order
        ]  # fmt: skip
        return np.concatenate([np.zeros(0, dtype=np.int64), *found])

    def names(self) -> NamesInOrder:
        """Names in this order."""
        return NamesInOrder([list(each) if isinstance(each, dict) else each[0].names for each in self._order])

    def __getitem__(self, name: str) -> slice:
        found = self._alone.get(name)
        if found is not None:
            return found
        for series, start, height in self._series:
            at = NamesInOrder([series.names]).find(name)
            if at >= 0:
                return slice(start + height * at, start + height * (at + 1))
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self._alone) + sum(series.count for series, _, _ in self._series)


def row_labels(m) -> dict[str, Sequence[str]]:
    """What rows of joints and drives are called, by level."""
    found: dict[str, Any] = {level: [] for level in LEVELS}
    for each in (*m.joints.in_order, m.drives):
        if isinstance(each, ElementSeries):
            part, suffix = each.whole, each.suffix
            ends = (suffix,) if len(part.labels) == 1 else tuple(f"{suffix}[{row}]" for row in part.rows.row_names)
            found[part.level].append(NumberedNames(each.stem, each.first, each.count, ends))
            continue
        for part in each.values():
            names = part.rows.row_names
            labels = [part.name] if len(part.labels) == 1 else [f"{part.name}[{row}]" for row in names]
            pieces = found[part.level]
            if not pieces or isinstance(pieces[-1], NumberedNames):
                pieces.append([])
            pieces[-1] += labels
    return {level: in_order(pieces) for level, pieces in found.items()}


def in_order(pieces: list[Any]) -> Sequence[str]:
    """Names in order: a plain list where all are listed."""
    if any(isinstance(piece, NumberedNames) for piece in pieces):
        return NamesInOrder(pieces)
    return [name for piece in pieces for name in piece]


def coordinate_kinds(kit, bodies: DrawnBodies) -> Mapping[str, str]:
    """Names and kinds of all coordinates."""
    if not bodies.series:
        found: dict[str, str] = {}
        for name in bodies:
            found |= kit.labels(name)
        return found
    plain = kit.labels("")
    return KindsInOrder(NamesInOrder(body_names(bodies, "", tuple(plain))), tuple(plain.values()))


def body_names(bodies: DrawnBodies, before: str, suffixes: tuple[str, ...]) -> list[Any]:
    """Names of something of every body, in the order of their numbers, as pieces of `NamesInOrder`."""
    return [
        [f"{before}{name}{suffix}" for name in each for suffix in suffixes] if isinstance(each, dict)
        else NumberedNames(before + each.stem, each.first, each.count, suffixes) for each in bodies.in_order
    ]  # fmt: skip
