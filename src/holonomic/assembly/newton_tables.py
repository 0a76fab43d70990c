"""Newton's matrix of tables: contexts of the operators of `kernels.table_newton`, the fronts among them.

What is coupled follows from the entries that the kinds write; the order of fronts is found once, with the numbers of G at the
start, by which rows that a body holds are told from rows that it does not.
"""

from __future__ import annotations

import numpy as np

from ..kernels.elements import BODY, FORCE, LUMP, ROWS, SPEEDS, STATE
from ..kernels.saddle_fronts import BITS, BY_SLOPE, HEAD, PLAIN, WIDEST
from ..kernels.table_newton import BY_LAM, BY_Q, JACOBIAN, KIND, LOADED, MASS, NEWTON, TELLS
from .collection import Collection, Context
from .saddle_order import saddle_order, when_of

HELD = 1e-9  # singular values of rows beside the largest, above which they count


class NewtonTables:
    """Context and lengths of the operators of index 2.

    Parameters
    ----------
    c : Collection
    dropped : array of bool
        Rows that repeat others.
    linearized : array, optional
        Numbers of the linearized equations at the start; without them there are no fronts.
    waits : array of bool, optional
        Rows that wait until all bodies that hold them are gone.
    looks : int
        What small pivots are looked for, see `kernels.table_newton.NEWTON`. Rows that repeat others are looked for with all
        masses 1, a number that stands behind the linearized equations: there may be bodies without inertia.
    accelerations : bool
        For M v' = f - Gᵀλ and Ḡ v' + s = 0 alone, entries of Ḡ standing behind those of the linearized equations.
    """

    def __init__(
        self, c: Collection, dropped: np.ndarray, linearized: np.ndarray | None = None, waits=None, looks: int = 0,
        accelerations: bool = False,
    ):  # fmt: skip
        self.c, self.dropped, self.tables = c, dropped, c.of(BODY, STATE, FORCE, ROWS, SPEEDS, LOADED)
        self.accelerations = accelerations
        self.waits = np.zeros(c.n_rows, dtype=bool) if waits is None else waits
        self.context = Context(NEWTON)
        self.context.memory.looks = self.looks = looks
        self._lay_out()
        if linearized is None:
            return
        self._fronts(linearized)
        head = self.context.memory
        typed = self.n_turned * (head.spun + head.turned) + self.panels
        self.real, self.complex = TELLS + head.n_linear + typed, TELLS + head.n_linear + 2 * typed

    def replaced(self, factors: np.ndarray) -> np.ndarray:
        """Rows whose pivots were replaced in these real factors."""
        found = np.zeros(self.c.n_rows, dtype=bool)
        panels = factors[self.real - self.panels :]
        for m, n, at, panel in self.words[:, [0, 1, 2, 9]].tolist():
            pivots = panels[panel + m * n + (n - m) * m :][:m]
            for p in np.flatnonzero(pivots % 1.0 != 0.0):
                if self.names[at + p] >= self.n_free:
                    found[self.names[at + p] - self.n_free] = True
        return found

    def _lay_out(self) -> None:
        """Tables of elements, and where everything stands."""
        c, made, head = self.c, self.context, self.context.memory
        sizes = c.lumps.sizes
        states = np.array(c.states, dtype=np.int64)
        lumps = np.zeros((c.n_lumps, LUMP), dtype=np.int64)
        lumps[:, 1], lumps[: len(sizes), 3] = np.concatenate([c.nq * sizes, states]), c.nv * sizes
        for at in (0, 2):
            lumps[1:, at] = np.cumsum(lumps[:-1, at + 1])
        self.n_free = c.nv * c.n_bodies + c.n_states  # variables that are no multipliers: velocities, states
        self.widths = np.where(np.arange(c.n_lumps) < len(sizes), lumps[:, 3], lumps[:, 1])  # of lumps among them
        plain = np.full(c.nq * c.n_bodies + c.n_states, -1, dtype=np.int64)
        words = np.zeros((len(self.tables), KIND), dtype=np.int64)
        self.at, at, turns, turned, spun = [], 0, [], 0, 0
        most_data, most_arguments, most_written = 1, 1, 1
        for k, table in enumerate(self.tables):
            kind, newton, count = table.kind, table.kind.newton, len(table.ends)
            ends = np.array(table.ends, dtype=np.int64).reshape(count, -1)
            equations = kind.functions["main"] if kind.what in (FORCE, STATE) else newton.equations
            nq, nv = (sum(each) for each in zip(*kind.widths, strict=True))
            words[k, :6] = [kind.what, count, ends.shape[1], kind.rows, nq, nv]
            for first, function in ((6, equations), (11, newton.blocks)):
                places = c.places(table, function)
                most_data = max(most_data, places.shape[1])
                most_written = max(most_written, function.length)
                words[k, first : first + 3] = [function.address, places.shape[1], function.length]
                words[k, first + 4] = made.hold(places)
            words[k, 14] = at
            words[k, 16:19] = [made.hold(ends), made.hold(table.first), kind.rates]
            words[k, 22] = kind.own
            if kind.what in (ROWS, SPEEDS):
                main = kind.functions["main"]
                places = c.places(table, main)
                words[k, 19:22] = [main.address, places.shape[1], made.hold(places)]
                most_data, most_written = max(most_data, places.shape[1]), max(most_written, main.length)
            self.at.append(at)
            most_arguments = max(most_arguments, nq + nv + max(nv, kind.rows))
            if kind.what == BODY:
                own_q = lumps[ends[:, 0], 0][:, None] + np.arange(nq)
                own_v = lumps[ends[:, 0], 2]
                steady = [i for i in range(nq) if i not in newton.turned]
                for i, velocity in zip(steady, [j for j in range(nv) if j not in newton.spun], strict=True):
                    plain[own_q[:, i]] = own_v + velocity
                if newton.turned:
                    turned, spun = len(newton.turned), len(newton.spun)
                    first = (
                        own_q[:, newton.turned[0]],
                        own_v + newton.spun[0],
                        at + newton.blocks.length * np.arange(count),
                    )
                    turns += np.stack(first, axis=1).tolist()
            at += newton.blocks.length * count
        self.n_linear = at
        self.turn_rows = np.full(c.n_lumps, -1, dtype=np.int64)  # of each lump the first row of N
        lump_of = np.searchsorted(lumps[:, 0], [first for first, _, _ in turns], side="right") - 1
        self.turn_rows[lump_of] = turned * np.arange(len(turns))
        self.n_turned = turned * len(turns)
        head.kinds, head.n_kinds = made.hold(words), len(words)
        head.lumps, head.n_lumps = made.hold(lumps), len(lumps)
        head.order_q, head.order_v = made.hold(c.places_of_coordinates()), made.hold(c.order(c.nv))
        head.plain, head.dropped = made.hold(plain), made.hold(self.dropped)
        head.nq, head.nv, head.n_rows = c.nq * c.n_bodies + c.n_states, c.nv * c.n_bodies, c.n_rows
        head.states = c.n_states
        head.n_linear = at * (1 + self.accelerations) + (head.looks == 1)
        head.turning, head.turned, head.spun = len(turns), turned, spun
        head.loaded = int(any(table.kind.what == LOADED for table in self.tables))
        head.turns = made.hold(turns)
        head.most_arguments, head.most_data, head.most_written = most_arguments, most_data, most_written

    # entries

    def _entries(self):
        """All entries: row and column as (node, place in it), what they are, source, row of N."""
        n_lumps, parts = self.c.n_lumps, []
        for table, at in zip(self.tables, self.at, strict=True):
            kind, newton, count = table.kind, table.kind.newton, len(table.ends)
            if not len(newton.entries):
                continue
            ends = np.array(table.ends, dtype=np.int64).reshape(count, -1)
            first = np.array(table.first, dtype=np.int64)
            ends_q, ends_v = ends_of(kind.widths)
            head = newton.blocks.length - len(newton.entries)
            source = at + head + newton.blocks.length * np.arange(count)
            nv = len(ends_v)
            for i, (code, row, column) in enumerate(newton.entries.tolist()):
                place = source + i
                if (self.accelerations and code not in (MASS, JACOBIAN, BY_LAM)) or (self.looks == 1 and code == MASS):
                    continue

                def velocity(j, ends=ends, ends_v=ends_v):
                    end, inside = ends_v[j]
                    return ends[:, end], np.full(len(ends), inside)

                def own(j, first=first, nv=nv, kind=kind, ends=ends):
                    if kind.what == STATE:
                        return ends[:, kind.own], np.full(len(ends), j - nv)
                    return -1 - (first + j - nv), np.zeros(len(first), dtype=np.int64)

                rows = velocity(row) if row < nv else own(row)
                if code == BY_Q:
                    end, inside = ends_q[column]
                    lumps = ends[:, end]
                    if kind.widths[end][1] == 0:  # a state, itself a variable
                        zero = np.zeros(count, dtype=np.int64)
                        parts.append((*rows, lumps, np.full(count, inside), zero, place, zero))
                        continue
                    steady, where = self._column(inside, kind, end)
                    what = 2 if steady else 3
                    turn = self.turn_rows[lumps] + where[1] if not steady else np.zeros(count, dtype=np.int64)
                    parts.append((*rows, lumps, np.full(count, where[0]), np.full(count, what), place, turn))
                    continue
                columns, zero = velocity(column) if column < nv else own(column), np.zeros(count, dtype=np.int64)
                what = np.full(count, 1 if code == MASS else 0)
                if code == JACOBIAN:
                    parts.append((*columns, *rows, what, place, zero))
                    place = place + self.n_linear * self.accelerations
                parts.append((*rows, *columns, what, place, zero))
        if self.looks == 1:
            widths = self.widths
            lumps, inside = np.repeat(np.arange(n_lumps), widths), np.concatenate([np.arange(width) for width in widths])
            ones = np.ones(len(lumps), dtype=np.int64)
            parts.append((lumps, inside, lumps, inside, ones, self.n_linear * ones, 0 * ones))
        found = [np.concatenate(each) for each in zip(*parts, strict=True)]
        # rows of constraints: from their numbers to nodes
        for one in (0, 2):
            row = found[one] < 0
            number = -1 - found[one][row]
            found[one][row], found[one + 1][row] = n_lumps + self.node_of[number], self.inside_of[number]
        keep = np.ones(len(found[0]), dtype=bool)
        for one in (0, 2):
            keep &= found[one + 1] >= 0  # of rows that are left out
        return [each[keep] for each in found]

    def _column(self, inside: int, kind, end: int) -> tuple[bool, tuple[int, int]]:
        """Whether a coordinate of a lump is the integral of one velocity; which, or the first of those and its row of N."""
        newton = next(table.kind.newton for table in self.tables if table.kind.what == BODY)
        if not newton.turned:
            return True, (inside, 0)
        if inside in newton.turned:
            return False, (newton.spun[0], newton.turned.index(inside))
        steady = [i for i in range(self.c.nq) if i not in newton.turned]
        return True, ([j for j in range(self.c.nv) if j not in newton.spun][steady.index(inside)], 0)

    def _nodes(self) -> None:
        """Rows of one element are one node; those that are left out are in none."""
        n = self.c.n_rows
        self.node_of, self.inside_of = np.zeros(n, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        self.heights, self.first_of = self.widths.tolist(), []
        for table in self.tables:
            for first in table.first if table.kind.what in (ROWS, SPEEDS) else ():
                kept = [row for row in range(first, first + table.kind.rows) if not self.dropped[row]]
                self.node_of[first : first + table.kind.rows] = len(self.first_of)
                self.inside_of[kept] = np.arange(len(kept))
                self.first_of.append(kept)
                self.heights.append(len(kept))

    def _held(self, L: np.ndarray) -> tuple[list[int], set[tuple[int, int]]]:
        """Freedoms of lumps that rows can take, and which rows can go with which lump alone, by the numbers of G."""
        n_lumps = self.c.n_lumps
        touched = [[] for _ in range(n_lumps)]
        held = set()
        for table, at in zip(self.tables, self.at, strict=True):
            kind, newton, count = table.kind, table.kind.newton, len(table.ends)
            if kind.what not in (ROWS, SPEEDS):
                continue
            ends, (_, ends_v) = table.ends, ends_of(kind.widths)
            G = np.zeros((count, kind.rows, len(ends_v)))
            source = at + newton.blocks.length - len(newton.entries) + newton.blocks.length * np.arange(count)
            for i, (code, row, column) in enumerate(newton.entries.tolist()):
                if code == JACOBIAN:
                    G[:, row - len(ends_v), column] = L[source + i]
            of_end = np.array([end for end, _ in ends_v])
            nodes = self.node_of[table.first]
            for end in range(len(kind.widths)):
                block = G[:, :, of_end == end]
                values = np.linalg.svd(block, compute_uv=False)
                whole = (block.shape[2] >= kind.rows) & (values[:, -1] > HELD * values[:, 0])
                for e in range(count):
                    lump, node = ends[e][end], n_lumps + int(nodes[e])
                    touched[lump].append(block[e])
                    if whole[e]:
                        held.add((lump, node))
        freedom = []
        for blocks in touched:
            if not blocks:
                freedom.append(0)
            elif len(blocks) > 50:  # of a body with many joints all
                freedom.append(blocks[0].shape[1])
            else:
                freedom.append(int(np.linalg.matrix_rank(np.concatenate(blocks), tol=None)))
        return freedom, held

    # fronts

    def _fronts(self, L: np.ndarray) -> None:
        """The order, and the words of all fronts."""
        made, head = self.context, self.context.memory
        self._nodes()
        row_node, row_in, col_node, col_in, what, source, turn = self._entries()
        heights, n_lumps = self.heights, self.c.n_lumps
        freedom, held = self._held(L)
        pairs = np.unique(np.stack([np.minimum(row_node, col_node), np.maximum(row_node, col_node)], axis=1), axis=0)
        waiting = {n_lumps + int(node) for node in self.node_of[self.waits]}
        coupled = [tuple(pair) for pair in pairs[pairs[:, 0] < pairs[:, 1]].tolist()]
        fronts = saddle_order(heights, coupled, freedom, held, waiting)
        when = when_of(fronts, len(heights))
        starts = np.concatenate([[0], np.cumsum(self.widths)[:-1], [0] * (len(heights) - n_lumps)])
        words = np.zeros((len(fronts), HEAD), dtype=np.int64)
        names: list[int] = []
        at_left, free, children = [0] * len(fronts), Freed(), []
        leaving: list[list[int]] = [[] for _ in fronts]
        members, where_front, where_node, where_at = [], [], [], []
        panel = largest = 0
        when_list, start_list = when.tolist(), starts.tolist()
        for k, front in enumerate(fronts):
            border = sorted(front.border, key=when_list.__getitem__)
            nodes = [*front.own, *border]
            local, at = {}, 0
            for node in nodes:
                local[node] = at
                at += heights[node]
                if node < n_lumps:
                    names += range(start_list[node], start_list[node] + heights[node])
                else:
                    names += [self.n_free + row for row in self.first_of[node - n_lumps]]
            n, m = at, sum(heights[node] for node in front.own)
            where_front += [k] * len(nodes)
            where_node += nodes
            where_at += local.values()
            members.append(border)
            words[k, [0, 1, 2, 9]] = m, n, len(names) - n, panel
            panel += m * n + (n - m) * m + m
            largest = max(largest, n)
            if n > m:
                at_left[k] = free.take((n - m) ** 2)
                leaving[when_list[border[0]]].append(k)
            words[k, [7, 8, 10]] = len(children), len(leaving[k]), at_left[k]
            for child in leaving[k]:
                rest = members[child]
                children += [at_left[child], sum(heights[node] for node in rest)]
                for node in rest:
                    children += range(local[node], local[node] + heights[node])
            for child in leaving[k]:
                free.give_back(at_left[child], sum(heights[node] for node in members[child]) ** 2)
        if largest >= WIDEST:
            raise MemoryError(f"a front of {largest} variables")
        # entries go to the front in which the first of their nodes goes
        n_nodes = len(heights)
        keys = np.array(where_front, dtype=np.int64) * n_nodes + np.array(where_node, dtype=np.int64)
        order = np.argsort(keys)
        keys, places = keys[order], np.array(where_at, dtype=np.int64)[order]
        front_of = np.minimum(when[row_node], when[col_node])
        local_row = places[np.searchsorted(keys, front_of * n_nodes + row_node)] + row_in
        local_col = places[np.searchsorted(keys, front_of * n_nodes + col_node)] + col_in
        kind = np.where(what <= 1, 0, what - 1)  # constant in q, by q, by coordinates that turn
        order = np.lexsort((source, kind, front_of))
        flag = np.where(what == 1, BY_SLOPE, PLAIN)
        packed = (((source << BITS | local_row) << BITS | local_col) << 1 | flag)[order]
        counts = np.zeros((len(fronts), 3), dtype=np.int64)
        np.add.at(counts, (front_of, kind), 1)
        words[:, 3] = np.concatenate([[0], np.cumsum(counts.sum(axis=1))[:-1]])
        words[:, 4:7] = counts
        words[:, 11] = np.concatenate([[0], np.cumsum(counts[:, 2])[:-1]])
        head.heads, head.fronts, head.names = made.hold(words), len(fronts), made.hold(names)
        head.entries, head.entry_turns = made.hold(packed), made.hold(turn[order][kind[order] == 2])
        head.children, head.panels, head.left, head.largest = made.hold(children), panel, free.end, largest
        self.panels, self.words, self.names = panel, words, names


class Freed:
    """Room that is used again by what is as large."""

    def __init__(self):
        self.end, self._of_size = 0, {}

    def take(self, size: int) -> int:
        """Return the place of some room."""
        known = self._of_size.get(size)
        if known:
            return known.pop()
        self.end += size
        return self.end - size

    def give_back(self, at: int, size: int) -> None:
        """Let others have it."""
        self._of_size.setdefault(size, []).append(at)


def ends_of(widths) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """End, and place in it, of every coordinate and of every velocity of a kind."""
    of_q = [(end, i) for end, (nq, _) in enumerate(widths) for i in range(nq)]
    return of_q, [(end, i) for end, (_, nv) in enumerate(widths) for i in range(nv)]
