"""Newton's matrix of tables: contexts of the operators of `kernels.table_factors`, the fronts among them.

What is coupled follows from the entries that the kinds write (`newton_entries`); the order of fronts is found once, with the
numbers of G at the start, by which rows that a body holds are told from rows that it does not (`what_lumps_hold`).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..kernels import body_order
from ..kernels.elements import BODY, FORCE, LUMP, ROWS, SPEEDS, STATE
from ..kernels.newton_memory import ACROSS, BY_LAM, JACOBIAN, KIND, LOADED, MASS, NEWTON, TELLS
from ..kernels.saddle_fronts import BITS, BY_SLOPE, HEAD, PLAIN, WIDEST
from .collection import Collection, Context, fitting
from .newton_entries import entries_of
from .newton_kinds import VELOCITY, Levels
from .saddle_order import saddle_order
from .what_lumps_hold import held_by_lumps

# what an order is found from
FOUND_FROM = ("lumps", "moving", "widths", "turn_rows", "node_of", "inside_of", "heights", "names_of", "orders")


class NewtonTables:
    """Context and lengths of the operators of equations with constraints at some levels.

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
        What small pivots are looked for, see `kernels.newton_memory.NEWTON`. Rows that repeat others are looked for with all
        masses 1, a number that stands behind the linearized equations: there may be bodies without inertia.
    accelerations : bool
        For M v' = f - Gᵀλ and Ḡ v' + s = 0 alone, entries of Ḡ standing behind those of the linearized equations.
    levels : tuple of str
        Of the constraints, see `newton_kinds`. With two of them coordinates and μ are variables of the matrix, too.
    ends : bool
        Rows of constraints are those of a second point, whose linearized equations stand behind those of the first.
    moves : bool
        For M x + Gᵀμ = 0, G x = r alone.
    """

    by_accelerations = False  # whether these are unknowns, see `acceleration_tables`

    def __init__(
        self, c: Collection, dropped: np.ndarray, linearized: np.ndarray | None = None, waits=None, looks: int = 0,
        accelerations: bool = False, levels: Levels = VELOCITY, ends: bool = False, moves: bool = False,
    ):  # fmt: skip
        self.c, self.dropped, self.tables = c, dropped, c.of(BODY, STATE, FORCE, ROWS, SPEEDS, LOADED)
        self.accelerations, self.levels, self.both, self.ends = accelerations, levels, len(levels) > 1, ends
        some = (MASS, JACOBIAN) if moves else (MASS, JACOBIAN, BY_LAM) if accelerations else (*range(ACROSS + 1),)
        self.codes = set(some) - ({MASS} if looks == 1 else set())  # of the entries that count
        self.waits = np.zeros(c.n_rows, dtype=bool) if waits is None else waits
        self.context = Context(NEWTON, c.shared)
        self.context.memory.looks = self.looks = looks
        self._lay_out()
        if linearized is None:
            return
        self._fronts(linearized)
        head = self.context.memory
        typed = self.n_turned * (head.spun + head.turned) + self.panels
        self.real, self.complex = TELLS + head.n_linear + typed, TELLS + head.n_linear + 2 * typed

    def as_found(self) -> NewtonTables:
        """These tables, to be used: no small pivots are looked for any more, and what the order was found from is not needed."""
        self.context.memory.looks = self.looks = 0
        for name in FOUND_FROM:
            delattr(self, name)
        return self

    def replaced(self, factors: np.ndarray) -> np.ndarray:
        """Rows whose pivots were replaced in these real factors."""
        found = np.zeros(self.c.n_rows, dtype=bool)
        m, n, at, panel = self.words[:, [0, 1, 2, 9]].T
        pivots = factors[self.real - self.panels :][runs(panel + m * n + (n - m) * m, m)]
        names = self.names[runs(at, m)]
        found[(names[(pivots % 1.0 != 0.0) & (names >= self.n_free)] - self.n_free) % max(1, self.n_lam)] = True
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
        self.lumps, self.n_lam, self.n_mu = lumps, c.n_rows, c.n_constraints * self.both
        n_moving = c.nv * c.n_bodies + c.n_states
        # variables that are no multipliers: velocities, states, then coordinates of bodies
        self.n_free = n_moving + c.nq * c.n_bodies * self.both
        # of lumps among them: without coordinates, and all
        self.moving = np.where(np.arange(c.n_lumps) < len(sizes), lumps[:, 3], lumps[:, 1])
        self.widths = self.moving + np.where(np.arange(c.n_lumps) < len(sizes), lumps[:, 1], 0) * self.both
        plain = np.full(c.nq * c.n_bodies + c.n_states, -1, dtype=np.int64)
        words = np.zeros((len(self.tables), KIND), dtype=np.int64)
        self.at, at, turns, turned, spun = [], 0, [], 0, 0
        most_data, most_arguments, most_written = 1, 1, 1
        for k, table in enumerate(self.tables):
            kind, newton, count = table.kind, table.kind.newton(self.levels), len(table.ends)
            ends = np.array(table.ends, dtype=np.int64).reshape(count, -1)
            equations = newton.equations or kind.functions["main"]
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
            words[k, 22:] = [kind.own, *self._words(newton)]
            if kind.what in (ROWS, SPEEDS):
                main = kind.functions["main"]
                places = c.places(table, main)
                words[k, 19:22] = [main.address, places.shape[1], made.hold(places)]
                most_data, most_written = max(most_data, places.shape[1]), max(most_written, main.length)
            self.at.append(at)
            most_arguments = max(most_arguments, nq + nv + self._read(kind, newton, nv))
            if kind.what == BODY and not self.by_accelerations:
                own_q = lumps[ends[:, 0], 0][:, None] + np.arange(nq)
                own_v = lumps[ends[:, 0], 2]
                steady = [i for i in range(nq) if i not in newton.turned]
                for i, velocity in zip(steady, [j for j in range(nv) if j not in newton.spun], strict=True):
                    plain[own_q[:, i]] = own_v + velocity
                if newton.turned and not self.both:
                    turned, spun = len(newton.turned), len(newton.spun)
                    first = (own_q[:, newton.turned[0]], own_v + newton.spun[0], at + newton.blocks.length * np.arange(count))
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
        head.plain = made.hold(plain)
        head.dropped = made.hold(np.append(self.dropped, self.dropped[: self.n_mu]))
        head.nq, head.nv, head.n_rows = c.nq * c.n_bodies + c.n_states, c.nv * c.n_bodies, c.n_rows
        head.free, head.multipliers = self.n_free, self.n_lam + self.n_mu
        head.hidden = self.n_lam * (self.levels[0] == "acceleration")
        self.n_equations = head.nq + head.nv + head.multipliers
        head.states = c.n_states
        head.n_linear = at * (1 + (self.accelerations or self.ends)) + (head.looks == 1)
        head.turning, head.turned, head.spun = len(turns), turned, spun
        head.loaded = int(any(table.kind.what == LOADED for table in self.tables))
        head.turns = made.hold(turns)
        head.most_arguments, head.most_data, head.most_written = most_arguments, most_data, most_written

    def _nodes(self) -> None:
        """Rows of one element are one node, with all their multipliers; those that are left out are in none."""
        n = self.n_lam
        self.node_of, kept = np.zeros(n + self.n_mu, dtype=np.int64), (~self.dropped).astype(np.int64)
        heights, names, number = [self.widths], [self._names_of_lumps()], 0
        orders = [self.moving]  # heights by which the order is found: of λ, velocities and states
        self.inside_of = np.full(n + self.n_mu, -1, dtype=np.int64)
        for table in self.tables:
            if table.kind.what in (ROWS, SPEEDS):
                rows = table.first[:, None] + np.arange(table.kind.rows)
                many, numbers, here = kept[rows].sum(axis=1), [], kept[rows] == 1
                for which in range(table.kind.newton(self.levels).multipliers):
                    of = which * n + rows
                    self.node_of[of] = number + np.arange(len(rows))[:, None]
                    place = which * many[:, None] + np.cumsum(kept[rows], axis=1) - 1
                    self.inside_of[of] = np.where(here, place, -1)
                    numbers.append(self.n_free + of)
                heights.append(many * len(numbers))
                names.append(np.concatenate(numbers, axis=1)[np.tile(here, len(numbers))])
                orders.append(many)
                number += len(rows)
        self.heights, self.names_of = np.concatenate(heights), np.concatenate(names)  # variables node by node
        self.orders = np.concatenate(orders)

    def _names_of_lumps(self) -> np.ndarray:
        """Variables lump by lump: coordinates, if they are among them, then velocities, or a state."""
        if not self.both:
            return np.arange(self.n_free)
        moving = np.cumsum(self.moving) - self.moving
        starts = np.stack([int(self.moving.sum()) + self.lumps[:, 0], moving], axis=1).ravel()
        return runs(starts, np.stack([self.widths - self.moving, self.moving], axis=1).ravel())

    def _words(self, newton) -> tuple[int, int]:
        """What kernels know of the unknowns of a kind: multipliers of each row, whether it reads v'."""
        return newton.multipliers, newton.sees_slopes

    def _read(self, kind, newton, nv: int) -> int:
        """Numbers of b."""
        return max(nv, newton.multipliers * kind.rows + nv * newton.sees_slopes)

    # fronts

    def _held(self, L: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return held_by_lumps(self, L)

    def _entries(self) -> list[np.ndarray]:
        return entries_of(self)

    @staticmethod
    def _rooms(parents: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, int]:
        """Places of what fronts leave, used again by what is as large once it is taken; and how much room that is."""
        nothing = lambda many: np.full(max(1, many), -1, dtype=np.int64)
        fronts, places = len(parents), np.zeros_like(parents)
        room = body_order.LeftRoom(*(nothing(fronts) for _ in range(3)), nothing(int(left.max(initial=0)) + 1), nothing(fronts))
        return places, int(body_order.places_of_what_is_left(parents, np.ascontiguousarray(left), places, room))

    def _fronts(self, L: np.ndarray) -> None:
        """The order, and the words of all fronts."""
        made, head = self.context, self.context.memory
        self._nodes()
        row_node, row_in, col_node, col_in, what, source, turn = self._entries()
        heights, n_lumps, n_nodes = self.heights, self.c.n_lumps, len(self.heights)
        freedom, held = self._held(L)
        waiting = np.zeros(n_nodes, dtype=bool)
        waiting[n_lumps + self.node_of[: self.n_lam][self.waits]] = True
        order = saddle_order(self.orders, _pairs(row_node, col_node, n_nodes), freedom, held, waiting)
        when, fronts = order.when, len(order.own_first) - 1
        # nodes of each front, its own first; how many variables these have, and where they stand in it
        n_own, n_border = np.diff(order.own_first), np.diff(order.border_first)
        front = np.concatenate([np.repeat(np.arange(fronts), n_own), np.repeat(np.arange(fronts), n_border)])
        sort = np.argsort(front, kind="stable")
        front, nodes = front[sort], np.concatenate([order.own, order.border])[sort]
        ends = np.cumsum(heights[nodes])
        n = np.bincount(front, weights=heights[nodes], minlength=fronts).astype(np.int64)
        m = np.bincount(when[order.own], weights=heights[order.own], minlength=fronts).astype(np.int64)
        begins = np.cumsum(n) - n
        at = ends - heights[nodes] - begins[front]
        names = self.names_of[runs((np.cumsum(heights) - heights)[nodes], heights[nodes])]
        panels = m * n + (n - m) * m + m
        panel, largest = int(panels.sum()), int(n.max(initial=0))
        words = np.zeros((fronts, HEAD), dtype=np.int64)
        words[:, 0], words[:, 1], words[:, 2], words[:, 9] = m, n, begins, np.cumsum(panels) - panels
        keys = front * n_nodes + nodes
        sort = np.argsort(keys)
        keys, places = keys[sort], at[sort]
        inside = lambda front, node: places[np.searchsorted(keys, front * n_nodes + node)]
        # what fronts leave to the one in which the first of their border goes
        parents = np.full(fronts, -1, dtype=np.int64)
        leaves = np.flatnonzero(n_border > 0)
        parents[leaves] = when[order.border[order.border_first[leaves]]]
        at_left, free = self._rooms(parents, n - m)
        each = leaves[np.argsort(parents[leaves], kind="stable")]  # children, parent by parent
        of_child = np.repeat(each, n_border[each])
        rest = order.border[runs(order.border_first[each], n_border[each])]
        rows = runs(inside(parents[of_child], rest), heights[rest])
        lengths = 2 + (n - m)[each]
        children = np.empty(int(lengths.sum()), dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        children[starts], children[starts + 1] = at_left[each], (n - m)[each]
        children[runs(starts + 2, (n - m)[each])] = rows
        words[:, 8] = np.bincount(parents[each], minlength=fronts)
        taken = np.bincount(parents[each], weights=lengths, minlength=fronts).astype(np.int64)
        words[:, 7], words[:, 10] = np.cumsum(taken) - taken, at_left
        if largest >= WIDEST:
            raise MemoryError(f"a front of {largest} variables")
        # entries go to the front in which the first of their nodes goes
        front_of = np.minimum(when[row_node], when[col_node])
        local = [fitting([inside(front_of, node) + place]) for node, place in ((row_node, row_in), (col_node, col_in))]
        del row_node, row_in, col_node, col_in  # there are many entries: what is not needed makes room for what comes
        packed, turning, counts = _by_front(fitting([front_of]), fronts, local, what, source, turn)
        words[:, 3] = np.concatenate([[0], np.cumsum(counts.sum(axis=1))[:-1]])
        words[:, 4:7] = counts
        words[:, 11] = np.concatenate([[0], np.cumsum(counts[:, 2])[:-1]])
        own = partial(made.hold, shared=False)  # of other orders that are tried they would be kept
        head.heads, head.fronts, head.names = own(words), fronts, own(names)
        head.entries, head.entry_turns = own(packed), own(turning)
        head.children, head.panels, head.left, head.largest = own(children), panel, free, largest
        self.panels, self.words, self.names = panel, words, names


def _pairs(one: np.ndarray, other: np.ndarray, n_nodes: int) -> np.ndarray:
    """Nodes that are coupled with each other, the smaller one first; each pair once."""
    apart = one != other
    one, other = one[apart], other[apart]
    keys = np.sort(np.minimum(one, other).astype(np.int64) * n_nodes + np.maximum(one, other))
    keys = keys[np.diff(keys, prepend=-1) > 0]  # not np.unique, whose hashes take longer
    return np.stack(np.divmod(keys, n_nodes), axis=1)


def _by_front(
    front_of: np.ndarray, fronts: int, local: list[np.ndarray], what: np.ndarray, source: np.ndarray, turn: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries front by front, as `saddle_fronts` reads them; rows of N of those that turn; how many of each kind fronts have."""
    kind = np.where(what <= 1, 0, what - 1).astype(np.int32)  # constant in q, by q, by coordinates that turn
    order = np.lexsort((source, kind, front_of))
    packed = source[order].astype(np.int64)
    for each in local:
        packed <<= BITS
        packed |= each[order]
    packed <<= 1
    packed |= np.where(what == 1, BY_SLOPE, PLAIN)[order]
    counts = np.bincount(3 * front_of.astype(np.int64) + kind, minlength=3 * fronts).reshape(-1, 3)
    return packed, turn[order][kind[order] == 2], counts


def runs(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Whole numbers from each start on, so many of them, one run after the other."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))
