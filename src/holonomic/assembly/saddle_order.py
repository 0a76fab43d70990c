"""In which order bodies and rows leave Newton's matrix: fronts of a body and the rows that it can carry.

Nodes are lumps of bodies and the rows of a joint; pairs of them are coupled. Bodies go by minimum degree, and each takes along
rows whose pivots are there by then: what is left of an eliminated part has as many freedoms as its bodies have, less its rows, and
rows are taken while there are that many, if all of them are held by a body that is gone. Rows that wait go with a later body. So a
body with a thousand joints goes last, when each of these has gone with its other end, and the rest of it is a front of one body.
Of the rows that may go, those go first that bring the least fill. `kernels.body_order` finds the order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import body_order


class SaddleFronts(NamedTuple):
    """Fronts in their order: what goes together, and what is coupled with it and goes later, in the order in which that goes."""

    own: np.ndarray  # nodes of front after front
    own_first: np.ndarray  # where those of each front begin
    border: np.ndarray
    border_first: np.ndarray
    when: np.ndarray  # in which front each node goes; -1 of one that is not there


def saddle_order(
    heights: np.ndarray, pairs: np.ndarray, freedom: np.ndarray, held: np.ndarray, waiting: np.ndarray
) -> SaddleFronts:
    """Return the fronts in their order.

    Parameters
    ----------
    heights : array of int
        Variables of each node, lumps first.
    pairs : (n, 2) array of int
        Nodes that are coupled with each other, the smaller one first; each pair once.
    freedom : array of int
        Freedoms of each lump that rows can take.
    held : array of int
        lump * nodes + node of rows that can go with that lump alone.
    waiting : array of bool
        Nodes of rows that wait until all bodies that hold them are gone.
    """
    n, n_lumps, many = len(heights), len(freedom), len(pairs)
    whole = lambda size: np.zeros(max(1, size), dtype=np.int64)
    ints = lambda x: np.ascontiguousarray(x, dtype=np.int64)
    node_first, slots = _by_group(pairs.ravel(), np.repeat(np.arange(many), 2), n)
    joined = pairs[(pairs[:, 0] < n_lumps) & (pairs[:, 1] >= n_lumps)]
    ends_first, ends = _by_group(joined[:, 1] - n_lumps, joined[:, 0], n - n_lumps)
    rows = np.repeat(np.arange(n_lumps, n), np.diff(ends_first))
    one, held = ends * n + rows, np.append(np.sort(held), -1)
    alone = held[np.searchsorted(held[:-1], one)] == one
    coupling = body_order.Coupling(ints(heights), ints(freedom), node_first, slots, ends_first, ends, ints(alone), ints(waiting))
    more = 4 * len(slots) + 64
    cliques = many + n_lumps
    while True:
        starts, counts, weights, rooms = (whole(cliques) for _ in range(4))
        starts[:many], counts[:many] = 2 * np.arange(many), 2
        weights[:many] = coupling.heights[pairs].sum(axis=1)
        lists = whole(2 * many + more)
        lists[: 2 * many] = pairs.ravel()
        found = body_order.FrontsFound(whole(n), whole(n_lumps + 1), whole(n))
        room = body_order.OrderRoom(
            whole(n_lumps), whole(n_lumps), whole(n_lumps), whole(n), whole(n), whole(n), whole(cliques), whole(n)
        )
        used = coupling._replace(slots=np.append(slots, 0))
        fronts = body_order.order_bodies(used, body_order.Cliques(starts, counts, lists, weights, rooms), many, found, room)
        if fronts != body_order.FULL:
            break
        more *= 4
    own, own_first = found.own[: found.own_first[fronts]], found.own_first[: fronts + 1]
    border = [lists[starts[many] : starts[many + fronts - 1] + counts[many + fronts - 1]]] if fronts else []
    border_counts = counts[many : many + fronts]
    left = _left(found.gone, coupling.heights, used, room.touched, starts, counts, lists, n_lumps)
    own = np.concatenate([own, *map(np.array, left)]).astype(np.int64)
    own_first = np.concatenate([own_first, own_first[-1] + np.cumsum([len(each) for each in left])]).astype(np.int64)
    border = np.concatenate([np.zeros(0, dtype=np.int64), *border])
    border_first = np.concatenate([[0], np.cumsum(border_counts), np.full(len(left), len(border))]).astype(np.int64)
    when = np.full(n, -1, dtype=np.int64)
    when[own] = np.repeat(np.arange(len(own_first) - 1), np.diff(own_first))
    of = np.repeat(np.arange(len(border_first) - 1), np.diff(border_first))
    border = border[np.lexsort((border, when[border], of))]
    return SaddleFronts(own, own_first, border, border_first, when)


def _by_group(group: np.ndarray, values: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
    """Values group by group, and where each group begins."""
    order = np.argsort(group, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=many))]).astype(np.int64)
    return first, np.ascontiguousarray(values[order], dtype=np.int64)


def _left(gone, heights, coupling, touched, starts, counts, lists, n_lumps: int) -> list[list[int]]:
    """Rows that nobody could carry: together, where pivots are looked for among all of them."""
    found = []
    for node in n_lumps + np.flatnonzero((gone[n_lumps:] == 0) & (heights[n_lumps:] > 0)):
        if gone[node]:
            continue
        own, todo = [], [int(node)]
        while todo:
            each = todo.pop()
            if gone[each]:
                continue
            gone[each] = 1
            own.append(each)
            for clique in coupling.slots[coupling.node_first[each] :][: touched[each]]:
                todo += [other for other in lists[starts[clique] :][: counts[clique]].tolist() if not gone[other]]
        found.append(own)
    return found
