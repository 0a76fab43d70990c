"""In which order rows are eliminated, and the program of block operations that does it; see `kernels.fronts`.

Minimum degree on the quotient graph: nodes (rows of one joint) are the variables, lumps (bodies) the elements. A node touches
two lumps, a coupling four; what is left of the lumps of an eliminated node becomes one element of the graph, so that a node never
touches more than at the beginning, and the whole takes O(n) where fronts stay small.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from ..kernels.fronts import ANY, FRONT, LINK


class Lump(NamedTuple):
    """Velocities that one block of W⁻¹ belongs to."""

    weights: int  # place of W⁻¹
    width: int
    full: bool  # a full matrix; otherwise its diagonal


class Touch(NamedTuple):
    """One node at one lump: its block of G."""

    node: int
    lump: int
    place: int
    stride: int


class FrontProgram(NamedTuple):
    """What `kernels.fronts` runs."""

    words: np.ndarray
    order: np.ndarray  # place of each front among the words
    panels: int  # numbers of all panels
    left: int  # numbers of room for what fronts leave
    largest: int  # rows of the largest front
    widest: int  # of the lumps


def elimination_order(heights: list[int], of_lump: list[list[int]]) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """Return nodes in the order in which they go, which nodes are coupled with each by then, and the lumps it adds.

    `heights` are the rows of each node, `of_lump` the nodes that touch each lump.
    """
    n = len(heights)
    elements: dict[int, list[int]] = {e: nodes for e, nodes in enumerate(of_lump) if nodes}
    touching: list[set[int]] = [set() for _ in range(n)]
    for e, nodes in elements.items():
        for node in nodes:
            touching[node].add(e)
    lumps, number = len(of_lump), len(of_lump)

    def degree(node: int) -> int:
        around = touching[node]
        if len(around) == 1:
            return sum(heights[other] for other in elements[next(iter(around))])
        return sum(heights[other] for other in {other for e in around for other in elements[e]})

    degrees = [degree(node) for node in range(n)]
    queue = [(degrees[node], node) for node in range(n)]
    heapq.heapify(queue)
    gone = [False] * n
    order, coupled, added = [], [], []
    while queue:
        size, node = heapq.heappop(queue)
        if gone[node] or size != degrees[node]:
            continue
        gone[node] = True
        around = touching[node]
        rest = sorted({other for e in around for other in elements[e]} - {node})
        order.append(node)
        coupled.append(rest)
        added.append(sorted(e for e in around if e < lumps))
        for e in around:
            del elements[e]
        elements[number] = rest
        for other in rest:
            touching[other] -= around
            touching[other].add(number)
        for other in rest:
            degrees[other] = degree(other)
            heapq.heappush(queue, (degrees[other], other))
        number += 1
    return order, coupled, added


def program(heights: list[int], rows: list[int], lumps: list[Lump], touches: list[Touch], at_panels: int) -> FrontProgram:
    """Write the program: `rows` has the first row of each node, panels lie in K from `at_panels` on."""
    of_lump: list[list[int]] = [[] for _ in lumps]
    touched: list[list[Touch]] = [[] for _ in lumps]
    for touch in touches:
        of_lump[touch.lump].append(touch.node)
        touched[touch.lump].append(touch)
    order, coupled, added = elimination_order(heights, of_lump)
    when = {node: k for k, node in enumerate(order)}
    waiting: list[list[int]] = [[] for _ in order]  # fronts that leave something to this one
    members, at_left, free = [], [0] * len(order), Freed()
    words, places, at_panel, largest = [], [], at_panels, 1
    for k, node in enumerate(order):
        nodes = [node, *sorted(coupled[k], key=when.__getitem__)]
        members.append(nodes)
        local, at = {}, 0
        for each in nodes:
            local[each], at = at, at + heights[each]
        m, n = heights[node], at
        largest = max(largest, n)
        if n > m:
            at_left[k] = free.take((n - m) ** 2)
            waiting[when[nodes[1]]].append(k)
        places.append(len(words))
        words += [m, n, len(added[k]), len(waiting[k]), at_panel, at_left[k], ANY]
        at_panel += m * n
        for each in nodes:
            words += range(rows[each], rows[each] + heights[each])
        for e in added[k]:
            lump = lumps[e]
            words += [lump.weights, lump.width, int(lump.full), len(touched[e])]
            for touch in sorted(touched[e], key=lambda touch: local[touch.node]):
                words += [touch.place, touch.stride, heights[touch.node], local[touch.node]]
        for child in waiting[k]:
            rest = members[child][1:]
            words += [at_left[child], sum(heights[each] for each in rest)]
            for each in rest:
                words += range(local[each], local[each] + heights[each])
        if m == 2 and n == 4 and len(added[k]) == 1 and len(nodes) == 2 and len(waiting[k]) < 2:
            lump, own = lumps[added[k][0]], touched[added[k][0]]
            if lump.width == 3 and not lump.full and len(own) == 2 and all(len(members[child]) == 2 for child in waiting[k]):
                words[places[-1] + FRONT - 1] = LINK
        for child in waiting[k]:
            free.give_back(at_left[child], sum(heights[each] for each in members[child][1:]) ** 2)
    widest = max((lump.width for lump in lumps), default=1)
    whole, fronts = (np.array(each, dtype=np.int64) for each in (words, places))
    return FrontProgram(whole, fronts, at_panel - at_panels, free.end, largest, widest)


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


