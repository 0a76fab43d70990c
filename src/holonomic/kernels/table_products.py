"""What operators of tables are made of: products with all of G and W⁻¹, and the elimination of all of S."""

from __future__ import annotations

from ..native.marks import inner, leaf, whole_at
from .eights import mean
from .front_groups import eliminate, substitute
from .row_products import over_weights, times_G, times_GT


@inner
def rows_along(head, O, at_u, T, at_r):
    """r = G u"""
    times_G(whole_at(head.kinds, 1), head.n_kinds, O, T, at_u, T, at_r, T, head.at_arg, False)


@inner
def pulls_of(head, O, at_r, T, at_u):
    """u = Gᵀ r"""
    times_GT(whole_at(head.kinds, 1), head.n_kinds, O, T, at_r, T, at_u, head.places_c, T, head.at_arg)


@inner
def weighed(head, O, T, at_u, at_v):
    """v = W⁻¹ u"""
    over_weights(whole_at(head.shelves, 1), head.n_shelves, O, T, at_u, T, at_v, False, at_v)


@inner
def factored(head, O, T):
    """Factor S, whose diagonal is known; return ρ, and how many rows repeat others."""
    return eliminate(
        whole_at(head.program, 1), whole_at(head.order, 1), 0, head.groups, O, T, head.at_front, head.at_block, head.at_diagonal,
        head.at_left, added_part(head, T),
    )  # fmt: skip


@inner
def added_part(head, T):
    """What keeps pivots of rows that repeat others away from zero."""
    if head.redundant == 0:
        return 0.0
    return small_part(max(1, head.n_rows)) * mean(whole_at(head.from_rows, 1), head.n_rows, T, head.at_diagonal)


@inner
def solved(head, O, T, at_r):
    """r <- S⁻¹ r"""
    substitute(whole_at(head.program, 1), whole_at(head.order, 1), head.groups, O, T, at_r, head.at_block, head.at_sides)


@leaf
def small_part(n):
    """ε beside the mean of S's diagonal, where rows repeat others.

    λ is the smallest one to 1e-16/ε. The least singular values of S, which fall as 1/n² in a chain, have to stay above it.
    """
    return min(1e-10, 1e-4 / (n * n))
