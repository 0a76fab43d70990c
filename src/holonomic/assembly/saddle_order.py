"""In which order bodies and rows leave Newton's matrix: fronts of a body and the rows that it can carry.

Nodes are lumps of bodies and the rows of a joint; cliques say what is coupled. Bodies go by minimum degree, and each takes along
rows whose pivots are there by then: what is left of an eliminated part has as many freedoms as its bodies have, less its rows, and
rows are taken while there are that many, if all of them are held by a body that is gone. Rows that wait go with a later body. So a
body with a thousand joints goes last, when each of these has gone with its other end, and the rest of it is a front of one body.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np


class Front(NamedTuple):
    """What goes together."""

    own: list[int]  # nodes
    border: list[int]  # nodes that are coupled with these and go later


def saddle_order(heights, cliques, freedom, held, waiting: set[int] | None = None) -> list[Front]:
    """Return the fronts in their order.

    Parameters
    ----------
    heights : list of int
        Variables of each node, lumps first.
    cliques : list of tuple of int
        Nodes that are coupled with each other.
    freedom : list of int
        Freedoms of each lump that rows can take.
    held : set of (lump, node)
        Rows that can go with that lump alone.
    waiting : set of int
        Rows that wait until all bodies that hold them are gone.
    """
    n_lumps, waiting = len(freedom), waiting or set()
    members: dict[int, set[int]] = {c: set(nodes) for c, nodes in enumerate(cliques) if len(nodes) > 1}
    of: list[set[int]] = [set() for _ in heights]
    for c, nodes in members.items():
        for node in nodes:
            of[node].add(c)
    ends = [
        {other for c in of[node] for other in members[c] if other < n_lumps} for node in range(n_lumps, len(heights))
    ]
    weight = {c: sum(heights[node] for node in nodes) for c, nodes in members.items()}
    degrees = [sum(weight[c] - heights[k] for c in of[k]) for k in range(n_lumps)]
    room: dict[int, int] = {}  # freedoms of eliminated parts, by the clique that is left of them
    queue = [(degree, k) for k, degree in enumerate(degrees)]
    heapq.heapify(queue)
    gone = bytearray(len(heights))
    fronts, number = [], len(cliques)
    while queue:
        degree, lump = heapq.heappop(queue)
        if gone[lump] or degree != degrees[lump]:
            continue
        own, merged = [lump], set(of[lump])
        around = set().union(*(members[c] for c in merged)) - {lump}
        freedoms = freedom[lump] + sum(room.get(c, 0) for c in merged)
        carries = set()  # rows that an eliminated part holds already, or this body does
        for c in merged:
            if c in room:
                carries |= {node for node in members[c] if node >= n_lumps}
        while True:
            best = None
            for row in around:
                if row < n_lumps:
                    continue
                rest = of[row] - merged
                more = freedoms + sum(room.get(c, 0) for c in rest)
                if row in waiting:
                    if not all(other == lump or gone[other] for other in ends[row - n_lumps]):
                        continue
                elif heights[row] > more or not ((lump, row) in held or row in carries or not rest):
                    continue
                fill = sum(heights[node] for c in rest for node in members[c] if node not in around) if rest else 0
                if best is None or (fill, row) < best[:2]:
                    best = (fill, row, rest, more)
            if best is None:
                break
            _, row, rest, more = best
            for c in rest:
                around |= members[c]
                if c in room:
                    carries |= {node for node in members[c] if node >= n_lumps}
            around -= {row, lump}
            around.difference_update(own)
            merged |= rest
            own.append(row)
            freedoms = more - heights[row]
        _leave(own, merged, around, number, heights, members, of, weight, degrees, n_lumps, queue)
        for node in own:
            gone[node] = 1
        room[number] = max(0, freedoms)
        fronts.append(Front(own, list(around)))
        number += 1
    left = [node for node in range(n_lumps, len(heights)) if not gone[node] and heights[node]]
    for node in left:  # rows that nobody could carry: together, where pivots are looked for among all of them
        if gone[node]:
            continue
        own, todo = [], [node]
        while todo:
            each = todo.pop()
            if gone[each]:
                continue
            gone[each] = 1
            own.append(each)
            todo += [other for c in of[each] for other in members[c] if not gone[other]]
        fronts.append(Front(own, []))
    return fronts


def _leave(own, merged, around, number, heights, members, of, weight, degrees, n_lumps, queue) -> None:
    """One clique in the place of those that are merged."""
    for c in merged:
        for node in members[c]:
            of[node].discard(c)
            if node < n_lumps:
                degrees[node] -= weight[c] - heights[node]
        del members[c], weight[c]
    members[number], weight[number] = set(around), sum(heights[node] for node in around)
    for node in around:
        of[node].add(number)
        if node < n_lumps:
            degrees[node] += weight[number] - heights[node]
            heapq.heappush(queue, (degrees[node], node))


def when_of(fronts: list[Front], n_nodes: int) -> np.ndarray:
    """In which front each node goes; -1 of one that is not there."""
    when = np.full(n_nodes, -1, dtype=np.int64)
    for k, front in enumerate(fronts):
        when[front.own] = k
    return when
