"""Entries of Newton's matrix of tables: rows and columns of all that elements write, node by node.

A node is a lump of bodies, or the rows of one element.
"""

from __future__ import annotations

import numpy as np

from ..kernels.elements import BODY, ROWS, SPEEDS, STATE
from ..kernels.newton_memory import ACROSS, BY_Q, JACOBIAN, MASS
from .collection import KindTable, fitting


class Numbering:
    """Variables of the elements of a kind, as (node, place in it); rows of constraints have their numbers, from -1 down.

    Parameters
    ----------
    made : NewtonTables
    table : KindTable
    """

    def __init__(self, made, table: KindTable):
        self.made, self.kind, self.count = made, table.kind, len(table.ends)
        self.ends = np.array(table.ends, dtype=np.int64).reshape(self.count, -1)
        self.first = np.array(table.first, dtype=np.int64)
        self.ends_q, self.ends_v = ends_of(table.kind.widths)
        self.coordinates = len(self.ends_v) + table.kind.newton(made.levels).multipliers * table.kind.rows

    def coordinate(self, j: int):
        """A coordinate of the ends, where these are variables of the matrix."""
        end, inside = self.ends_q[j]
        return self.ends[:, end], np.full(self.count, inside)

    def velocity(self, j: int):
        """A velocity of the ends; coordinates come before these."""
        end, inside = self.ends_v[j]
        lumps = self.ends[:, end]
        return lumps, self.made.widths[lumps] - self.made.moving[lumps] + inside

    def variable(self, j: int):
        """A variable by its number in the kind, see `newton_kinds`."""
        own = j - len(self.ends_v)
        if own < 0:
            return self.velocity(j)
        if self.kind.what == STATE:
            return self.ends[:, self.kind.own], np.full(self.count, own)
        if j >= self.coordinates:
            return self.coordinate(j - self.coordinates)
        which, inside = divmod(own, self.kind.rows)
        return -1 - (which * self.made.n_lam + self.first + inside), np.zeros(self.count, dtype=np.int64)

    def by_coordinate(self, j: int):
        """The column of an entry by a coordinate, what it is, and its row of N; where q is no variable, it is one of velocities."""
        made, (end, inside) = self.made, self.ends_q[j]
        lumps, zero = self.ends[:, end], np.zeros(self.count, dtype=np.int64)
        if made.both or self.kind.widths[end][1] == 0:  # a coordinate that is a variable, or a state, which is one
            return *self.coordinate(j), zero, zero
        steady, where = self._column(inside)
        turn = zero if steady else made.turn_rows[lumps] + where[1]
        return lumps, zero + where[0], zero + (2 if steady else 3), turn

    def _column(self, inside: int) -> tuple[bool, tuple[int, int]]:
        """Whether a coordinate of a lump is the integral of one velocity; which, or the first of those and its row of N."""
        made = self.made
        newton = next(table.kind.newton(made.levels) for table in made.tables if table.kind.what == BODY)
        if not newton.turned:
            return True, (inside, 0)
        if inside in newton.turned:
            return False, (newton.spun[0], newton.turned.index(inside))
        steady = [i for i in range(made.c.nq) if i not in newton.turned]
        return True, ([j for j in range(made.c.nv) if j not in newton.spun][steady.index(inside)], 0)


def entries_of(made) -> list[np.ndarray]:
    """All entries: row and column as (node, place in it), what they are, source, row of N."""
    parts = []
    for table, at in zip(made.tables, made.at, strict=True):
        newton, numbered = table.kind.newton(made.levels), Numbering(made, table)
        zero = np.zeros(numbered.count, dtype=np.int64)
        source = at + newton.blocks.length - len(newton.entries) + newton.blocks.length * np.arange(numbered.count)
        for i, (code, row, column) in enumerate(newton.entries.tolist()):
            place = source + i
            if code not in made.codes:
                continue
            own = table.kind.what in (ROWS, SPEEDS) and len(numbered.ends_v) <= row < numbered.coordinates
            second = made.n_linear if (made.ends and own) or (made.accelerations and code == JACOBIAN) else 0
            rows = numbered.variable(row)
            if code == BY_Q:
                *columns, what, turn = numbered.by_coordinate(column)
                parts.append((*rows, *columns, what, place + second, turn))
                continue
            columns, what = numbered.variable(column), zero + (code == MASS)
            if code in (JACOBIAN, ACROSS):
                parts.append((*columns, *rows, what, place, zero))
                if code == ACROSS:
                    continue
            parts.append((*rows, *columns, what, place + second, zero))
    if made.looks == 1:
        widths = made.widths
        lumps = np.repeat(np.arange(len(widths)), widths)
        inside = np.arange(len(lumps)) - (np.cumsum(widths) - widths)[lumps]
        ones = np.ones(len(lumps), dtype=np.int64)
        parts.append((lumps, inside, lumps, inside, ones, made.n_linear * ones, 0 * ones))
    found, columns = [], [list(column) for column in zip(*parts, strict=True)]
    parts.clear()
    while columns:  # one goes as the next comes: all entries are the most memory that finding an order takes
        found.append(fitting(columns.pop(0)))
    # rows of constraints: from their numbers to nodes
    for one in (0, 2):
        row = found[one] < 0
        number = -1 - found[one][row]
        found[one][row], found[one + 1][row] = made.c.n_lumps + made.node_of[number], made.inside_of[number]
    keep = np.ones(len(found[0]), dtype=bool)
    for one in (0, 2):
        keep &= found[one + 1] >= 0  # of rows that are left out
    return found if keep.all() else [each[keep] for each in found]


def ends_of(widths) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """End, and place in it, of every coordinate and of every velocity of a kind."""
    of_q = [(end, i) for end, (nq, _) in enumerate(widths) for i in range(nq)]
    return of_q, [(end, i) for end, (_, nv) in enumerate(widths) for i in range(nv)]
