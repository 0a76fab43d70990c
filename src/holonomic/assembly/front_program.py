"""The program of an elimination: from nodes, lumps and where they touch to what `kernels.front_groups` runs.

The order depends on the structure alone; it is found once and serves all eliminations of a mechanism, by masses and by
lengths. Which numbers stand where is written for each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import front_order
from ..kernels.lone_front import ALONE


class Structure(NamedTuple):
    """Nodes (rows of one joint) and lumps (bodies), and which touch."""

    heights: np.ndarray  # rows of each node
    touch_node: np.ndarray  # of each touch, lump by lump
    touch_lump: np.ndarray
    n_lumps: int


class FrontProgram(NamedTuple):
    """What `kernels.front_groups` runs."""

    words: np.ndarray
    order: np.ndarray  # place of each group among the words
    panels: int  # numbers of all panels
    left: int  # numbers of room for what fronts leave
    sides: int  # for their right hand sides
    front: int  # numbers of room for the front that is summed
    block: int  # numbers of room for blocks of lumps


class Fronts:
    """Order of elimination and the fronts that it makes.

    Attributes
    ----------
    levels : array of int
        A front is above all that leave it something.
    first_node : array of int
        The first node of each front.
    """

    def __init__(self, s: Structure):
        n, lumps = len(s.heights), s.n_lumps
        self.structure = s
        whole = lambda size: np.empty(max(1, size), dtype=np.int64)
        lump_first = _begins(s.touch_lump, lumps)
        by_node = np.argsort(s.touch_node, kind="stable")
        node_first = _begins(s.touch_node, n)
        touches, more = len(s.touch_node), 4 * len(s.touch_node) + 64
        self.starts, self.counts, absorbed = whole(lumps + n), whole(lumps + n), whole(lumps + n)
        own, own_first, levels = whole(n), whole(n + 1), whole(n)
        while True:
            lists = whole(touches + more)
            lists[:touches] = s.touch_node
            slots = np.ascontiguousarray(s.touch_lump[by_node])
            many = front_order.order_fronts(
                front_order.Graph(s.heights, lump_first, node_first, slots),
                front_order.Elements(self.starts, self.counts, lists),
                front_order.Order(own, own_first, levels, absorbed),
                front_order.Marks(*(whole(n) for _ in range(5))),
            )
            if many != front_order.FULL:
                break
            more *= 4
        self.many, self.lists, self.own, self.own_first = many, lists, own, np.ascontiguousarray(own_first[: many + 1])
        self.levels, self.lump_first = levels[:many], lump_first
        self._merge(absorbed)
        many = self.many
        own = self.own
        self.when = whole(n)
        self.when[own[:n]] = np.arange(n)
        self.of_front, self.lumps_of = _taken(absorbed[:lumps], many)
        self.child_first, self.children = _taken(absorbed[lumps : lumps + many], many)
        self.first_node = own[self.own_first[:-1]]

    def _merge(self, absorbed: np.ndarray) -> None:
        """Put a large front into the one that takes what it leaves, where that has hardly more rows."""
        s, many, lumps = self.structure, self.many, self.structure.n_lumps
        first, count = self.starts[lumps : lumps + many], self.counts[lumps : lumps + many]
        sums = lambda nodes: np.concatenate([[0], np.cumsum(s.heights[nodes])])
        own = np.diff(sums(self.own[: len(s.heights)])[self.own_first])
        left = sums(self.lists[: int(np.max(first + count, initial=0))])
        rest = left[first + count] - left[first]
        parent = absorbed[lumps : lumps + many]
        into = np.arange(many)
        taken = np.zeros(many, dtype=bool)
        for f in np.flatnonzero((parent >= 0) & (own + rest >= ALONE)):
            p = parent[f]
            if not taken[p] and own[p] + rest[p] <= MORE * rest[f]:
                into[f], taken[p] = p, True
        if not taken.any():
            return
        for f in range(many - 1, -1, -1):
            into[f] = into[into[f]]
        kept = np.flatnonzero(into == np.arange(many))
        number = np.full(many, -1)
        number[kept] = np.arange(len(kept))
        into = number[into]
        before = np.repeat(np.arange(many), np.diff(self.own_first))  # the front of each node in `own`
        order = np.argsort(into[before], kind="stable")
        self.own = np.append(self.own[: len(before)][order], 0)
        self.own_first = _begins(into[before], len(kept))
        for each in (self.starts, self.counts):
            each[lumps : lumps + len(kept)] = each[lumps + kept]
        fronts = absorbed[: lumps + many]
        fronts[fronts >= 0] = into[fronts[fronts >= 0]]
        absorbed[lumps : lumps + len(kept)] = absorbed[lumps + kept]
        self.many, self.levels = len(kept), np.zeros(len(kept), dtype=np.int64)
        for f, p in enumerate(absorbed[lumps : lumps + len(kept)]):
            if p >= 0:
                self.levels[p] = max(self.levels[p], self.levels[f] + 1)

    def _early(self, members: np.ndarray, group_first: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Groups in another order: each as soon as what it needs is there, so that this is still near the processor."""
        first, sizes = group_first[:-1], np.diff(group_first)
        group = np.empty(self.many, dtype=np.int64)
        group[members] = np.repeat(np.arange(len(first)), sizes)
        child = group[self.children[: self.child_first[-1]]]
        parent = np.repeat(group, np.diff(self.child_first))
        level = self.levels[members[first]]
        when = np.maximum.reduceat(where[members], first) if len(first) else first
        by_level = np.argsort(level[parent], kind="stable")
        for pairs in np.split(by_level, np.cumsum(np.bincount(level[parent]))[:-1]):
            np.maximum.at(when, parent[pairs], when[child[pairs]])
        order = np.lexsort((level, when))
        starts = np.concatenate([[0], np.cumsum(sizes[order])]).astype(np.int64)
        taken = np.repeat(first[order] - starts[:-1], sizes[order]) + np.arange(len(members))
        return np.ascontiguousarray(members[taken]), starts

    def program(self, width, full, weights, touch_place, touch_stride, row_place, at_panels: int) -> FrontProgram:
        """Write the program.

        For each lump: its width, whether W⁻¹ is a whole matrix, the place of it; for each touch, the place of the block of G, and
        the numbers in its rows; for each node, the place of its first row. Panels lie in K from `at_panels` on.
        """
        s, many, n = self.structure, self.many, len(self.structure.heights)
        as_whole = lambda x: np.ascontiguousarray(x, dtype=np.int64)
        width, full, weights = as_whole(width), as_whole(full), as_whole(weights)
        touch_place, touch_stride, row_place = as_whole(touch_place), as_whole(touch_stride), as_whole(row_place)
        shape, sizes = np.empty(max(1, many), dtype=np.int64), np.zeros(max(1, 3 * many), dtype=np.int64)
        contents = front_order.Contents(
            self.own, self.own_first, front_order.Elements(self.starts, self.counts, self.lists), self.of_front,
            self.lumps_of.copy(), self.child_first, self.children.copy(),
        )  # fmt: skip
        nodes, lumps = front_order.Nodes(s.heights, self.when, row_place), front_order.Lumps(width, full, weights)
        touches = front_order.Touches(self.lump_first, np.arange(len(s.touch_node)), s.touch_node, touch_stride, touch_place)
        forms = front_order.Forms(shape, sizes)
        front_order.describe_fronts(
            many, contents, nodes, touches, lumps, forms, np.zeros(max(1, n), dtype=np.int64), np.empty_like(s.touch_node),
            np.empty(max(1, many, len(width)), dtype=np.int64),
        )  # fmt: skip
        places = row_place[self.first_node]
        members, group_first = _in_eights(self.levels, shape[:many], places, sizes[1 : 3 * many : 3] >= ALONE)
        members, group_first = self._early(members, group_first, places // 8)
        words = np.empty(int(sizes[2::3][members[group_first[:-1]]].sum()) + 1 if many else 1, dtype=np.int64)
        order, used = np.empty(len(group_first) - 1, dtype=np.int64), np.zeros(4, dtype=np.int64)
        room = np.empty(many + 4 * len(order) + ALONE, dtype=np.int64)
        answer = front_order.write_groups(
            front_order.Groups(members, group_first), contents, nodes, touches, lumps, sizes, np.empty_like(sizes),
            np.empty_like(sizes), at_panels, front_order.GroupProgram(words, order, used, room), np.empty(8, dtype=np.int64),
        )  # fmt: skip
        if answer < 0:
            raise RuntimeError(f"fronts of group {-1 - answer} are not alike: their forms have the same number by chance")
        words = words[:answer].copy() if many else words
        rows = sizes[1 : 3 * many : 3]
        front = int(np.where(rows < ALONE, 4 * rows * (rows + 1), rows * (8 * ((rows + 7) // 8))).max(initial=8))
        return FrontProgram(words, order, *(int(each) for each in used[:3]), front + ROOM, int(used[3]) + ROOM)


def _begins(of: np.ndarray, many: int) -> np.ndarray:
    """Where what belongs to each of so many begins, sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(of, minlength=many))]).astype(np.int64)


def _taken(by: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Which are taken by each front: where they begin, and which they are; -1 means none."""
    taken = np.argsort(by, kind="stable")[np.count_nonzero(by < 0) :]
    return _begins(by[taken], many), np.ascontiguousarray(np.append(taken, 0))


ROOM = 64  # numbers beside a front, for the pivots of links
MORE = 1.2  # times the rows that one leaves, which the next may have

ENOUGH = 5  # fronts whose rows stand side by side are a group of their own; fewer are put together with others


def _in_eights(levels: np.ndarray, shapes: np.ndarray, rows: np.ndarray, large: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fronts in the order of groups, and where groups begin: of one level and shape, at most eight, of the large ones one."""
    order = np.lexsort((rows, shapes, levels))
    key = lambda *columns: np.cumsum(np.concatenate([[0], np.any([x[1:] != x[:-1] for x in columns], axis=0)])[: len(order)])
    side_by_side = key(levels[order], shapes[order], rows[order] // 8)
    alone = np.bincount(side_by_side, minlength=1)[side_by_side] < ENOUGH
    again = np.lexsort((np.arange(len(order)), alone, shapes[order], levels[order]))
    order, alone, side_by_side = order[again], alone[again], side_by_side[again]
    one = key(levels[order], shapes[order], alone, np.where(alone, 0, side_by_side))
    since = np.arange(len(order)) - np.searchsorted(one, one)
    return order, np.append(np.flatnonzero((since % 8 == 0) | large[order]), len(order)).astype(np.int64)
