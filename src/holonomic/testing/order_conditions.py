"""Order conditions of explicit Runge-Kutta methods: which of them a tableau meets.

A method has order p if for every rooted tree τ with at most p vertices

    b · Φ(τ) = 1 / γ(τ)        Φ(τ) = Π over the children σ of the root: A Φ(σ), and c where σ is a leaf

with products by components, and γ(τ) the number of vertices times γ of all children. There are 1, 1, 2, 4, 9, 20, 48, 115 trees
with 1, 2, ... 8 vertices. Where c is not A (1, ..., 1), a leaf stands for either: for the time of a stage, and for its point.

References
----------
[HNW93] Sec. II.2, Theorem 2.13.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import numpy as np

ALLOWED = 1e-12  # of the sum of absolute values: coefficients are doubles, or numbers of as many digits
MOST = 10  # orders beyond are not looked at; no explicit method is known that has them

Tree = tuple[Any, ...]  # the children of the root: trees, and numbers for leaves


@cache
def trees(vertices: int, leaves: int = 1) -> tuple[Tree, ...]:
    """Return all rooted trees with so many vertices, and with so many kinds of leaves."""
    return tuple(_forests(vertices - 1, vertices - 1, leaves))


def _forests(vertices: int, largest: int, leaves: int) -> Iterator[Tree]:
    """Yield all sets of trees with so many vertices together, none larger than `largest`."""
    if vertices == 0:
        yield ()
    for size in range(min(vertices, largest), 0, -1):
        kinds = range(leaves) if size == 1 else trees(size, leaves)
        for count in range(vertices // size, 0, -1):
            for group in combinations_with_replacement(kinds, count):
                for others in _forests(vertices - size * count, size - 1, leaves):
                    yield (*group, *others)


def missed_condition(tableau, order: int) -> str:
    """Say which condition of an order a tableau misses, in words; nothing where it meets all of them."""
    A, b, c = tableau.A, tableau.b, tableau.c
    sums = A.sum(axis=1)
    leaves = {"c": c} if np.allclose(sums, c, rtol=0.0, atol=ALLOWED) else {"c": c, "A 1": sums}
    values = tuple(leaves.values())
    sizes = tuple(np.abs(each) for each in values)
    for vertices in range(1, min(order, MOST) + 1):
        for tree in trees(vertices, len(leaves)):
            want = _density(tree)[1]
            found = float(b @ _weights(tree, A, values))
            off, allowed = abs(found - 1 / want), ALLOWED * max(1 / want, float(np.abs(b) @ _weights(tree, np.abs(A), sizes)))
            if off > allowed:
                return (
                    f"its tableau has order {vertices - 1}: {_text(tree, tuple(leaves))} is {found:.12g}, and order {vertices} "
                    f"needs {'1' if want == 1 else f'1/{want}'} (products by components; off by {off:.1e}, allowed {allowed:.1e})"
                )
    return ""


def _weights(tree: Tree, A: np.ndarray, leaves: tuple[np.ndarray, ...]) -> np.ndarray:
    """Φ of a tree, a number for each stage."""
    found = np.ones(len(A))
    for child in tree:
        found = found * (leaves[child] if isinstance(child, int) else A @ _weights(child, A, leaves))
    return found


def _density(tree) -> tuple[int, int]:
    """The number of vertices of a tree, and γ."""
    if isinstance(tree, int):
        return 1, 1
    below = [_density(child) for child in tree]
    vertices = 1 + sum(each for each, _ in below)
    return vertices, vertices * prod(each for _, each in below)


def _text(tree: Tree, leaves: tuple[str, ...]) -> str:
    """The left side of the condition of a tree."""

    def inside(tree: Tree) -> str:
        return " ".join(leaves[child] if isinstance(child, int) else f"A({inside(child)})" for child in tree)

    return f"b·({inside(tree)})" if tree else "the sum of b"
