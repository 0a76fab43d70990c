"""Tables of elements as the operators of `kernels.elements` take them: what lies where, and the contexts.

A `Collection` is what a mechanism is as tables: lumps of bodies, and one table per kind of element. `arrange` lays out one
context of it: which kinds are called, what their columns are, and the program of elimination.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels.elements import BODY, FORCE, KIND, LUMP, ROWS, TABLES
from .elimination import Lump, Touch, program
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
    n_inputs: int = 0
    n_constraints: int = 0
    n_speeds: int = 0  # rows of velocities alone
    redundant: int = -1  # rows that repeat others; -1: not known yet
    redundant_q: int = -1  # the same of rows by q, those of invariants with them

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
            for function in table.kind.functions.values():
                for source in function.sources:
                    if source.kind == "number" and source.which not in self._shared:
                        self._shared[source.which] = self.constant(source.which)


class Context:
    """Memory of the layout TABLES and everything that it refers to by address.

    Attributes
    ----------
    address : int
        Of the memory.
    length : int
        Numbers that lie in K: what kinds write, W⁻¹ and panels.
    """

    def __init__(self):
        self.memory = TABLES.new()
        self.length = 0
        self._held: list[np.ndarray] = []  # as long as their addresses are in use

    @property
    def address(self) -> int:
        return self.memory.array.ctypes.data

    def hold(self, values, kind: Any = np.int64) -> int:
        """Keep an array, and return its address."""
        self._held.append(np.ascontiguousarray(values, dtype=kind))
        if not self._held[-1].size:
            self._held[-1] = np.zeros(1, dtype=kind)
        return self._held[-1].ctypes.data


def arrange(
    c: Collection, tables: list[tuple[KindTable, str]], *, by: str = "v", weights: str | None = None, factors: bool = False
) -> Context:  # fmt: skip
    """Return a context for these tables, each with the name of the function that is called.

    `by` says what the columns of rows are, velocities or coordinates. `weights`: "mass" where bodies give W⁻¹, "metric" where it
    is that of projections; None: nothing is eliminated. With `factors`, K is what the operator writes, behind ρ and the lengths
    of the rows.
    """
    made = Context()
    head, n_lumps = made.memory, len(c.lumps)
    sizes = np.array([len(lump) for lump in c.lumps], dtype=np.int64)
    lumps = np.zeros((n_lumps, LUMP), dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    columns = c.nv if by == "v" else c.nq
    for at, each in ((0, c.nq), (2, c.nv), (4, columns)):
        lumps[:, at], lumps[:, at + 1] = each * starts, each * sizes
    n_rows = sum(table.kind.rows * len(table.ends) for table, _ in tables)
    at = 1 + n_rows if factors else 0
    words = np.zeros((len(tables), KIND), dtype=np.int64)
    nodes: list[tuple[int, int, int, KindTable, int]] = []
    most_data, most_arguments = 1, 1
    for k, (table, name) in enumerate(tables):
        kind, function, count = table.kind, table.kind.functions[name], len(table.ends)
        places = c.places(table, function)
        ends = np.array(table.ends, dtype=np.int64).reshape(count, -1)
        what = BODY if name == "energy" else kind.what  # energies stand one after the other, forces are added up
        words[k] = [
            what, function.address, count, ends.shape[1], places.shape[1], kind.rows, function.length, at, kind.full,
            kind.rates, made.hold(ends), made.hold(places), made.hold(table.first),
        ]  # fmt: skip
        most_data = max(most_data, places.shape[1])
        most_arguments = max(most_arguments, int(sum(q + v for q, v in kind.widths)))
        if kind.what == BODY and weights == "mass":
            lumps[ends[:, 0], 6] = at + function.length * np.arange(count)
            lumps[ends[:, 0], 7] = int(kind.full)
        if kind.what >= ROWS:
            nodes += [(table.first[e], at + e * function.length + 3 * kind.rows, kind.rows, table, e) for e in range(count)]
        at += function.length * (1 if what == FORCE else count)
    if weights == "metric":
        lumps[:, 6] = at + lumps[:, 4]
        at += columns * c.n_bodies
    if weights is not None:
        order = _eliminated(made, c, lumps, nodes, columns, at)
        at += order.panels
        left, largest, widest = order.left, order.largest, order.widest
    else:
        left, largest, widest = 0, 0, 1
    made.length = at
    given = c.weights if by == "v" else c.weights_q
    head.kinds, head.n_kinds = made.hold(words), len(tables)
    head.lumps, head.n_lumps = made.hold(lumps), n_lumps
    head.order_q, head.order_v, head.order_c = (made.hold(c.order(each)) for each in (c.nq, c.nv, columns))
    head.nq, head.nv, head.nc = c.nq * c.n_bodies, c.nv * c.n_bodies, columns * c.n_bodies
    head.n_rows, head.n_position = n_rows, c.n_constraints + (len(c.norms.ends) if c.norms is not None else 0)
    if weights == "metric":
        inside = c.order(columns)
        head.metric = made.hold([given[i][0] for i in inside])
        head.factors = made.hold([given[i][1] for i in inside], float)
    head.redundant = c.redundant if by == "v" else c.redundant_q
    room = 0
    most = max(head.nq, head.nv, head.nc) + 1
    for name, size in (
        ("at_q", head.nq), ("at_v", head.nv), ("at_f", most), ("at_a", most), ("at_r", max(n_rows, head.n_position)),
        ("at_s", n_rows), ("at_g", n_rows),
        ("at_c", n_rows), ("at_arg", most_arguments), ("at_data", most_data), ("at_left", left), ("at_front", largest**2),
        ("at_row", widest), ("at_diagonal", n_rows), ("at_kept", 0 if factors else made.length),
    ):  # fmt: skip
        setattr(head, name, room)
        room += size
    head.room = room + 1
    return made


def _eliminated(made: Context, c: Collection, lumps: np.ndarray, nodes, columns: int, at: int):
    """Write the program of elimination into a context."""
    heights, rows = [node[2] for node in nodes], [node[0] for node in nodes]
    blocks = [Lump(int(lump[6]), int(lump[5]), bool(lump[7])) for lump in lumps]
    touches = []
    for number, (_, place, _, table, e) in enumerate(nodes):
        ends = table.ends[e]
        stride = sum(blocks[lump].width for lump in ends)
        for lump in ends:
            touches.append(Touch(number, lump, place, stride))
            place += blocks[lump].width
    written = program(heights, rows, blocks, touches, at)
    head = made.memory
    head.program, head.order, head.fronts = made.hold(written.words), made.hold(written.order), len(written.order)
    return written
