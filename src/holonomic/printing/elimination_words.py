"""An order of elimination of S = G W⁻¹ Gᵀ for one member on a GPU, and which entries of its factors there are.

Rows of an element are eliminated together, those of the element with the fewest neighbours first: one thread gains nothing from
fronts that do not wait for each other, and the fewer entries there are the better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Element = tuple[int, int]  # number of its part, and in it


@dataclass(frozen=True)
class EliminationOrder:
    """Rows in the order of pivots, and their lower triangle, column by column.

    Attributes
    ----------
    first : dict
        First row of each element.
    place : dict
        Place of each entry (row, column).
    below : list of lists
        Rows below each pivot.
    touches : dict
        Of each lump the elements that it is an end of, with the number of the end, in the order of their rows.
    """

    n_rows: int
    first: dict[Element, int]
    place: dict[tuple[int, int], int]
    below: list[list[int]]
    touches: dict[int, list[tuple[int, int, int]]]

    @property
    def n_entries(self) -> int:
        return len(self.place)

    @staticmethod
    def pairs(touches: list[tuple[int, int, int]]) -> list[tuple[int, list[int]]]:
        """Ends at one lump, each with those of elements before it and, last, with itself; then two ends of one element."""
        found = []
        for k, one in enumerate(touches):
            before = [j for j in range(k) if touches[j][:2] != one[:2]]
            found.append((k, [*before, k]))
        for k, one in enumerate(touches):
            found += [(k, [j]) for j, other in enumerate(touches) if j != k and other[:2] == one[:2]]
        return found


def eliminated(elements: list[tuple[int, int, int, np.ndarray]]) -> EliminationOrder:
    """Find an order for elements: number of their part and in it, rows, lumps at their ends."""
    at_lump: dict[int, list[int]] = {}
    for node, (_, _, _, ends) in enumerate(elements):
        for lump in dict.fromkeys(ends.tolist()):
            at_lump.setdefault(lump, []).append(node)
    near: list[set[int]] = [set() for _ in elements]
    for nodes in at_lump.values():
        for node in nodes:
            near[node].update(nodes)
    for node, others in enumerate(near):
        others.discard(node)
    height = [rows for _, _, rows, _ in elements]
    left, order, after = set(range(len(elements))), [], {}
    while left:
        node = min(left, key=lambda each: (sum(height[other] for other in near[each]), each))
        left.discard(node)
        order.append(node)
        after[node] = near[node]
        for other in near[node]:
            near[other] |= near[node]
            near[other] -= {other, node}
    starts, at = {}, 0
    for node in order:
        starts[node] = at
        at += height[node]
    below: list[list[int]] = []
    for node in order:
        later = sorted(starts[other] + i for other in after[node] for i in range(height[other]))
        below += [[*range(starts[node] + i + 1, starts[node] + height[node]), *later] for i in range(height[node])]
    place: dict[tuple[int, int], int] = {}
    for pivot, rows in enumerate(below):
        for row in (pivot, *rows):
            place[row, pivot] = len(place)
    touches: dict[int, list[tuple[int, int, int]]] = {}
    for node in order:
        k, e, _, ends = elements[node]
        for end, lump in enumerate(ends.tolist()):
            touches.setdefault(lump, []).append((k, e, end))
    return EliminationOrder(at, {elements[node][:2]: starts[node] for node in order}, place, below, touches)
