"""Newton's matrix of tables with accelerations among the unknowns: which variable is where, and what couples them.

Variables of a lump are its coordinates, velocities and accelerations, those of an element its multipliers τ, μ and λ. In the sense
of least squares each equation has a variable of its own beside the unknowns, see `kernels.table_with_accelerations`: what
differential ones leave, and multipliers κ of the others.
"""

from __future__ import annotations

import numpy as np

from ..kernels.elements import ROWS, SPEEDS
from ..kernels.table_with_accelerations import LETTERS
from .acceleration_kinds import LEAST_SQUARES, OF_SQUARES, SLOPE
from .collection import Collection
from .newton_entries import ends_of
from .newton_kinds import Levels
from .newton_tables import NewtonTables, runs
from .what_lumps_hold import held_by_lumps

OF_LUMPS, OF_ROWS = "qvw", "τμλ"


class AccelerationTables(NewtonTables):
    """Context and lengths of the operators of such equations.

    Parameters
    ----------
    c, dropped, waits, levels, ends
        As of `NewtonTables`.
    linearized : array
        Numbers of the linearized equations of index 2 at the start: of G, by which the order is found.
    """

    by_accelerations = True

    def __init__(self, c: Collection, dropped: np.ndarray, linearized: np.ndarray, waits, levels: Levels, ends: bool = False):
        self._plain = NewtonTables(c, dropped)
        self._plain._nodes()
        self._least = LEAST_SQUARES in levels
        super().__init__(c, dropped, linearized, waits, levels=levels, ends=ends)

    @property
    def _sets(self) -> tuple[list[tuple[str, bool]], list[tuple[str, bool]]]:
        """Variables of lumps and of rows: their letters, and whether they stand for an equation instead of an unknown."""
        if not self._least:
            return [(each, False) for each in OF_LUMPS], [(each, False) for each in OF_ROWS]
        of_lumps = [(each, equation) for equation in (True, False) for each in OF_LUMPS]
        return of_lumps, [*((each, True) for each in OF_ROWS), ("λ", False)]

    def _lay_out(self) -> None:
        super()._lay_out()
        c, made, head, n_mu = self.c, self.context, self.context.memory, self.c.n_constraints
        nq, nv, n = head.nq, head.nv, c.n_rows
        of_lumps, of_rows = self._sets
        sizes = {"q": nq, "v": nv, "w": nv, "τ": n, "μ": n_mu, "λ": n}
        # equations, and unknowns
        rows, at = {}, 0
        for letter in ("q", "v", "τ", "μ", "w", "λ"):
            rows[letter], at = at, at + sizes[letter]
        columns = {"q": 0, "v": nq, "w": nq + nv, "λ": nq + 2 * nv} if self._least else rows
        order = {"q": c.places_of_coordinates(), "v": c.order(c.nv), "w": c.order(c.nv)}
        self._begins, places = {}, []
        begin = 0
        for letter, equation in (*of_lumps, *of_rows):
            inside = np.asarray(order.get(letter, np.arange(sizes[letter])))[: sizes[letter]]
            none = np.full(sizes[letter], -1)
            of_row = none if self._least and not equation else rows[letter] + inside
            of_column = none if equation else columns[letter] + inside
            paired = rows[letter] + inside if not equation and letter in OF_ROWS else none
            places.append(np.stack([of_row, of_column, paired]))
            self._begins[letter, equation] = begin
            begin += sizes[letter]
            if (letter, equation) == of_lumps[-1]:
                self.n_free = begin
        names = np.concatenate(places, axis=1).astype(np.int64)
        head.row_places, head.column_places, head.paired = (made.hold(each) for each in names)
        left = [self.dropped[: sizes[letter]] for letter, _ in of_rows]
        head.dropped = made.hold(np.concatenate(left))
        head.free, head.multipliers = self.n_free, begin - self.n_free
        head.at_w, head.positions, head.least = columns["w"], n_mu, int(self._least)
        self.n_unknowns, self.n_equations = columns["λ"] + n, at
        is_lump = np.arange(c.n_lumps) < len(c.lumps.sizes)
        self._heights_of = {"q": self.lumps[:, 1], **{each: np.where(is_lump, self.lumps[:, 3], 0) for each in "vw"}}

    def _words(self, newton) -> tuple[int, int]:
        """Which equations a kind adds to, and which multipliers it reads."""
        adds, reads = (sum(1 << LETTERS.index(letter) for letter in letters) for letters in (newton.adds, newton.reads))
        return adds, reads

    def _read(self, kind, newton, nv: int) -> int:
        return 2 * nv + len(newton.reads) * kind.rows

    def _nodes(self) -> None:
        """Nodes are those of index 2; they have more variables each."""
        plain, (of_lumps, of_rows) = self._plain, self._sets
        self.node_of, self.orders = plain.node_of, plain.orders
        firsts = {"q": self.lumps[:, 0], "v": self.lumps[:, 2], "w": self.lumps[:, 2]}
        self._inside: dict[tuple[str, bool], np.ndarray] = {}
        heights, starts, counts = np.zeros(self.c.n_lumps, dtype=np.int64), [], []
        for which in of_lumps:
            self._inside[which] = heights.copy()
            starts.append(self._begins[which] + firsts[which[0]])
            counts.append(self._heights_of[which[0]])
            heights += counts[-1]
        names, tall = [runs(np.stack(starts, axis=1).ravel(), np.stack(counts, axis=1).ravel())], [heights]
        for which in of_rows:
            self._inside[which] = np.full(self.c.n_rows, -1, dtype=np.int64)
        kept = ~self.dropped
        for table in self.tables:
            if table.kind.what not in (ROWS, SPEEDS):
                continue
            rows = table.first[:, None] + np.arange(table.kind.rows)
            here = kept[rows]
            many = here.sum(axis=1)
            sets = [which for which in of_rows if which[0] != "μ" or table.kind.what == ROWS]
            for k, which in enumerate(sets):
                self._inside[which][rows] = np.where(here, k * many[:, None] + np.cumsum(here, axis=1) - 1, -1)
            numbers = np.concatenate([self._begins[which] + rows for which in sets], axis=1)
            names.append(numbers[np.tile(here, len(sets))])
            tall.append(many * len(sets))
        self.heights, self.names_of = np.concatenate(tall), np.concatenate(names)

    def _held(self, L: np.ndarray):
        return held_by_lumps(self._plain, L)

    def _entries(self) -> list[np.ndarray]:
        """All entries: row and column as (node, place in it), what they are, source; nothing turns."""
        parts = []
        for table, at in zip(self.tables, self.at, strict=True):
            kind, count = table.kind.newton(self.levels), len(table.ends)
            ends = np.asarray(table.ends, dtype=np.int64).reshape(count, -1)
            ends_q, ends_v = ends_of(table.kind.widths)
            source, zero = at + kind.blocks.length * np.arange(count), np.zeros(count, dtype=np.int64)

            def variable(letter: str, equation: bool, j: int, ends=ends, ends_q=ends_q, ends_v=ends_v, first=table.first):
                """A variable of the elements as (node, place in it)."""
                if letter in OF_LUMPS:
                    end, inside = (ends_q if letter == "q" else ends_v)[j]
                    return ends[:, end], self._inside[letter, equation][ends[:, end]] + inside
                rows = first + j
                return self.c.n_lumps + self.node_of[rows], self._inside[letter, equation][rows]

            for i, (code, row, m, column, n) in enumerate(kind.entries.tolist()):
                one, other = LETTERS[row], LETTERS[column]
                second = self.n_linear if self.ends and one in "τμ" else 0
                found = variable(one, self._least, m), variable(other, self._least and code == OF_SQUARES, n)
                last = zero + (code == SLOPE), source + i + second, zero
                parts.append((*found[0], *found[1], *last))
                if self._least and code != OF_SQUARES:
                    parts.append((*found[1], *found[0], *last))
        found = [np.concatenate(each) for each in zip(*parts, strict=True)]
        keep = (found[1] >= 0) & (found[3] >= 0)  # without rows that are left out
        return [each[keep] for each in found]
