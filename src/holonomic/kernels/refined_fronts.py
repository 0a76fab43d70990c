"""What solutions by fronts are worth, tried with one that is known; and refinement where that is too little.

Where a pivot has cancelled, what factors are worth is measured at once: where a solution misses by more than `GOOD` of its
parts it is refined, where that does not help the growth of the factors says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..native.marks import leaf
from .saddle_fronts import size_of, substitute_fronts, take_product

GOOD, SEVERAL = 1e-9, 4  # what solutions miss beside their parts; the most refinements


class Solving(NamedTuple):
    """A solution, and what refines it."""

    x: Any
    right: Any  # right hand side
    rest: Any  # what x leaves of it
    sizes: Any  # of the parts that this is summed from
    front: Any  # room for the variables of a front


@leaf
def known_solution(x, n):
    """Numbers of no pattern that a solution is tried with."""
    for i in range(n):
        x[i] = 1.0 + 0.1 * ((7 * i) % 11)


@leaf
def worst(r, sizes, n):
    """The largest of r beside the parts it was summed from."""
    found = 0.0
    for i in range(n):
        part = size_of(r[i])
        if part > 0.0 and not part <= found * sizes[i]:
            found = part / sizes[i] if sizes[i] > 0.0 else 1e300
    return found


@leaf
def negated(r, x, n):
    """x = -r"""
    for i in range(n):
        x[i] = -r[i]


@leaf
def add_on(x, z, n):
    """x += z"""
    for i in range(n):
        x[i] += z[i]


@leaf
def tried(program, matrix, P, solving, dropped, free, n):
    """How often solutions are to be refined, so that they miss by `GOOD` at most; and what they miss by then."""
    x, right, rest, sizes, front = solving
    known_solution(x, n)
    for i in range(n):
        right[i], sizes[i], rest[i] = 0.0, 0.0, 0.0
        if i >= free and dropped[i - free] == 1:
            x[i] = 0.0
    take_product(program, matrix, x, right, sizes)
    negated(right, rest, n)  # A x
    negated(right, right, n)
    substitute_fronts(program, P, rest, front)
    for i in range(n):
        x[i] = rest[i]
    before = 1e300
    for times in range(SEVERAL + 1):
        for i in range(n):
            rest[i], sizes[i] = right[i], size_of(right[i])
        take_product(program, matrix, x, rest, sizes)
        missed = worst(rest, sizes, n)
        if missed <= GOOD or not missed < 0.5 * before or times == SEVERAL:
            return times, missed
        before = missed
        substitute_fronts(program, P, rest, front)
        add_on(x, rest, n)
    return SEVERAL, before


@leaf
def refined(program, matrix, P, solving, n, times):
    """x <- A⁻¹ of the right hand side, with so many refinements."""
    x, right, rest, sizes, front = solving
    for i in range(n):
        x[i] = right[i]
    substitute_fronts(program, P, x, front)
    for _ in range(times):
        for i in range(n):
            rest[i] = right[i]
        take_product(program, matrix, x, rest, sizes)
        substitute_fronts(program, P, rest, front)
        add_on(x, rest, n)
