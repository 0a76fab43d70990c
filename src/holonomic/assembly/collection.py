"""What a mechanism is as tables: lumps of bodies, and one table per kind of element."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .front_program import Fronts
from .kinds import Function, Kind


@dataclass
class KindTable:
    """All elements of one kind.

    Parameters
    ----------
    kind : Kind
    ends : list of tuple of int
        Lumps at the ends of each element.
    slots : list of list of int
        Places in data of its own numbers.
    first : list of int
        First row of each, of constraints.
    """

    kind: Kind
    ends: list[tuple[int, ...]] = field(default_factory=list)
    slots: list[list[int]] = field(default_factory=list)
    first: list[int] = field(default_factory=list)


@dataclass
class Collection:
    """A mechanism as tables.

    Parameters
    ----------
    lumps : list of tuple of int
        Bodies of each lump.
    nq, nv : int
        Coordinates and velocities of one body.
    params : dict
        Places of parameters in data, by name.
    numbers : list of float
        Constants, which follow them.
    tables : list of KindTable
        Bodies first; then forces and rows.
    weights : list of (place, factor)
        By what each velocity is weighed in projections: the factor times the square of what stands at the place in data, -1: 1.
    norms : KindTable, optional
        Rows that keep lengths of quaternions, by q.
    weights_q : list of (place, factor)
        The same for coordinates.
    """

    lumps: list[tuple[int, ...]]
    nq: int
    nv: int
    params: dict[str, int]
    numbers: list[float]
    tables: list[KindTable]
    weights: list[tuple[int, float]]
    weights_q: list[tuple[int, float]] = field(default_factory=list)
    norms: KindTable | None = None
    start: np.ndarray = field(default_factory=lambda: np.zeros(0))  # coordinates at which it was drawn
    values: tuple[float, ...] = ()  # parameters at that time
    whole: bool = False  # accelerations come from the whole matrix, not from blocks of M⁻¹
    n_inputs: int = 0
    n_constraints: int = 0
    n_speeds: int = 0  # rows of velocities alone
    redundant: int = -1  # rows that repeat others; -1: not known yet
    redundant_q: int = -1  # the same of rows by q, those of invariants with them
    orders: list[Fronts] = field(default_factory=list)  # of elimination, that have been found

    @property
    def n_rows(self) -> int:
        """Rows at velocity level."""
        return self.n_constraints + self.n_speeds

    @property
    def n_bodies(self) -> int:
        return sum(map(len, self.lumps))

    def order(self, each: int) -> np.ndarray:
        """Place in the model of every coordinate, lump by lump; `each` body has so many."""
        bodies = np.concatenate([np.array(lump) for lump in self.lumps])
        return (each * bodies[:, None] + np.arange(each)).ravel()

    def of(self, *what: int) -> list[KindTable]:
        """Tables of these kinds of elements."""
        return [table for table in self.tables if table.kind.what in what]

    def constant(self, value: float) -> int:
        """Place in data of a constant."""
        self.numbers.append(value)
        return len(self.params) + len(self.numbers) - 1

    def places(self, table: KindTable, function: Function) -> np.ndarray:
        """Place in data of every number of every element, row by row."""
        count, slots = len(table.ends), np.array(table.slots, dtype=np.int64).reshape(len(table.ends), -1)
        found = np.empty((count, len(function.sources)), dtype=np.int64)
        for i, source in enumerate(function.sources):
            if source.kind == "slot":
                found[:, i] = slots[:, source.which]
            elif source.kind == "param":
                found[:, i] = self.params[source.which]
            elif source.kind == "number":
                found[:, i] = self._shared[source.which]
            elif source.kind == "input":
                found[:, i] = len(self.params) + len(self.numbers) + source.which
            else:  # the value at the start of an invariant
                behind = len(self.params) + len(self.numbers) + 3 * self.n_inputs - self.n_constraints
                found[:, i] = behind + np.array(table.first)
        return found

    def settle_numbers(self) -> None:
        """Give the constants inside functions their places, once all kinds are known."""
        self._shared: dict[float, int] = {}
        for table in (*self.tables, *([self.norms] if self.norms else [])):
            for value in table.kind.numbers:
                if value not in self._shared:
                    self._shared[value] = self.constant(value)


class Context:
    """Memory of a layout, and everything that it refers to by address.

    Attributes
    ----------
    address : int
        Of the memory.
    length : int
        Numbers that lie in K: what kinds write, W⁻¹ and panels.
    """

    def __init__(self, layout):
        self.memory = layout.new()
        self.length = 0
        self._held: list[np.ndarray] = []  # as long as their addresses are in use

    @property
    def address(self) -> int:
        return self.memory.array.ctypes.data

    def keep(self, array: np.ndarray) -> int:
        """Keep an array itself, and return its address."""
        self._held.append(array)
        return array.ctypes.data

    def hold(self, values, kind: Any = np.int64) -> int:
        """Keep an array, and return its address."""
        self._held.append(np.ascontiguousarray(values, dtype=kind))
        if not self._held[-1].size:
            self._held[-1] = np.zeros(8, dtype=kind)
        return self._held[-1].ctypes.data
