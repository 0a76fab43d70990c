"""Operators of a model that is tables: what its elements give, and an elimination by fronts.

Many runs share one context. It has one room for numbers, which a call takes and gives back; calls of other threads meanwhile take
rooms of their own. See `eights` for what lies where.
"""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.eight import exchange
from ..native.marks import inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from ..native.types import f8, i8
from .eights import (
    KIND,
    SPARE,
    bend_rows,
    clear,
    copied,
    evaluate_kinds,
    given_rows,
    greatest,
    into_places,
    judged,
    largest,
    mean,
    minus,
    out_of_places,
    plus,
    rates,
    rows_of,
    see,
    start_forces,
)
from .front_groups import eliminate, substitute
from .row_products import diagonal_of_S, over_weights, times_G, times_GT

OPERATOR = i8(i8, i8, f8, i8, i8, i8, i8)  # context, mode, t, a, b, data, out, all by their addresses
REFINED = 1e-12  # residual G v' + γ beside its parts, above which the solution is refined
MOST_REFINEMENTS = 12
CANCELLED = 1e-3  # of the largest M⁻¹ f, that rows are measured by where G M⁻¹ f + γ and λ are next to nothing: in free fall
LOST = 1e-9  # residual beside its parts that no refinement takes away: the position counts as singular


@inner
def call_room(head, context):
    """Address of room for a call, 0 where there is none: the context's own, or, where another call has that, new memory."""
    address = exchange(whole_at(context, SPARE + 1), SPARE, 0)
    return address if address != 0 else take_room(head.room)


@inner
def end_call(head, context, address):
    """Give room back."""
    if address == head.own_room:
        exchange(whole_at(context, SPARE + 1), SPARE, address)
    else:
        leave_room(address)


@leaf
def in_line(address):
    """Where a room begins as the vectors want it: none of them lies across two lines of the processor's memory."""
    return (address + 63) // 64 * 64


@inner
def elements_at(head, address, t, x, data, T, O):
    """Everything that elements give at a state."""
    into_places(whole_at(head.into_q, 1), x, 0, T, head.at_q, head.places_q)
    into_places(whole_at(head.into_v, 1), x, head.nq, T, head.at_v, head.places_v)
    evaluate_kinds(head, address, t, data, T, O)


@inner
def times_rows(head, O, at_u, T, at_r):
    times_G(whole_at(head.kinds, 1), head.n_kinds, O, T, at_u, T, at_r, T, head.at_arg, False)


@inner
def _G_and_gamma(head, O, at_u, T, at_r):
    times_G(whole_at(head.kinds, 1), head.n_kinds, O, T, at_u, T, at_r, T, head.at_arg, True)


@inner
def forces_of_rows(head, O, at_r, T, at_u):
    times_GT(whole_at(head.kinds, 1), head.n_kinds, O, T, at_r, T, at_u, head.places_c, T, head.at_arg)


@inner
def bent_rows(head, kinds, O, data):
    """γ with the terms of a stabilization, where it has some."""
    by_g, by_rate = data[head.at_gains], data[head.at_gains + 1]
    if by_g != 0.0 or by_rate != 0.0:
        bend_rows(kinds, head.n_kinds, O, by_g, by_rate)


@inner
def over_metric(head, O, T, at_u, at_v):
    over_weights(whole_at(head.shelves, 1), head.n_shelves, O, T, at_u, T, at_v, False, at_v)


@inner
def less_over_metric(head, O, T, at_u, at_from, at_v):
    over_weights(whole_at(head.shelves, 1), head.n_shelves, O, T, at_u, T, at_v, True, at_from)


@inner
def eliminated(head, O, T):
    """Factor S; return ρ, and how many rows repeat others."""
    n = max(1, head.n_rows)
    diagonal_of_S(
        whole_at(head.kinds, 1), head.n_kinds, whole_at(head.shelves, 1), whole_at(head.weights_of, 1), O, T, head.at_arg,
        head.at_diagonal,
    )  # fmt: skip
    eps = 0.0 if head.redundant == 0 else small_part(n) * mean(whole_at(head.from_rows, 1), head.n_rows, T, head.at_diagonal)
    return eliminate(
        whole_at(head.program, 1), head.groups, O, T, head.at_front, head.at_block, head.at_diagonal, head.at_left, eps
    )


@inner
def back_substituted(head, O, T, at_r):
    substitute(
        whole_at(head.program, 1), whole_at(head.order, 1), head.groups, O, T, at_r, head.at_block, head.at_sides
    )


@kernel(OPERATOR)
def table_field(context, mode, t, a, b, data, out):
    """FIELD: (q', v', λ, ρ)."""
    head = see(numbers_at(context, 1))
    address = call_room(head, context)
    if address == 0:
        return NOT_FINITE
    status = _field(head, in_line(address), t, numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1))
    end_call(head, context, address)
    return status


@inner
def _field(head, address, t, x, data, out):
    nq, nv, n, rows = head.nq, head.nv, head.n_rows, head.places_rows
    T, O = numbers_at(address, head.room), numbers_at(address + 8 * head.at_kept, 1)
    kinds, shelves = whole_at(head.kinds, 1), whole_at(head.shelves, 1)
    f, a, b, lam, r = head.at_f, head.at_a, head.at_b, head.at_s, head.at_r
    clear(T, f, head.places_v)
    elements_at(head, address, t, x, data, T, O)
    start_forces(kinds, head.n_kinds, shelves, O, T, f)
    bent_rows(head, kinds, O, data)
    over_metric(head, O, T, f, a)  # M⁻¹ f
    least = 1.0
    if n > 0:
        least, tiny = eliminated(head, O, T)
        if tiny > max(head.redundant, 0):
            least = 0.0
        # λ = S⁻¹ (G M⁻¹ f + γ), then v' = M⁻¹ f - M⁻¹ Gᵀ λ; λ is corrected by what G v' + γ leaves
        _G_and_gamma(head, O, a, T, head.at_g)
        if head.redundant > 0:
            _consistent(head, O, T)
        copied(T, head.at_g, rows, T, lam)
        left = before = floor = 0.0
        for refinement in range(MOST_REFINEMENTS):
            if refinement == 0:
                back_substituted(head, O, T, lam)
            else:
                back_substituted(head, O, T, r)
                plus(T, lam, T, r, rows)
            forces_of_rows(head, O, lam, T, f)
            if head.redundant > 0:
                over_metric(head, O, T, f, b)
                times_rows(head, O, b, T, r)
                minus(T, head.at_g, T, r, rows, T, r)
                minus(T, a, T, b, head.places_v, T, b)
            else:
                less_over_metric(head, O, T, f, a, b)
                _G_and_gamma(head, O, b, T, r)
            left = judged(kinds, head.n_kinds, T, r, head.at_g, lam, head.at_diagonal, head.at_arg, floor)
            if floor == 0.0 and left > REFINED:
                floor = CANCELLED * greatest(T, a, head.places_v, head.at_arg)
                left = judged(kinds, head.n_kinds, T, r, head.at_g, lam, head.at_diagonal, head.at_arg, floor)
            if not left > REFINED or (refinement > 0 and not left < 0.5 * before):
                break
            before = left
        if not left <= LOST:
            least = 0.0 if left > LOST else left  # NaN stays one
        out_of_places(whole_at(head.into_rows, 1), whole_at(head.from_rows, 1), T, lam, out, nq + nv, rows)
    else:
        copied(T, a, head.places_v, T, b)
    out_of_places(whole_at(head.into_v, 1), whole_at(head.from_v, 1), T, b, out, nq, head.places_v)
    plain = rates(kinds, head.n_kinds, shelves, O, T, head.at_v, b)
    out_of_places(whole_at(head.into_q, 1), whole_at(head.from_q, 1), T, head.at_v if plain else b, out, 0, head.places_q)
    out[nq + nv + n] = least
    return OK


@inner
def _consistent(head, O, T):
    """Take out of the right hand side, G M⁻¹ f + γ, what no λ can give; beside the constraints rows that repeat others disagree.

    Refined, S y with y = (S + ε)⁻¹ r comes to that part of r which S can give. What it cannot give stands in y, divided by ε; λ is
    solved for anew without it, and is the smallest one.
    """
    n, rows, g, r, given = head.n_rows, head.places_rows, head.at_g, head.at_r, head.at_s
    from_rows = whole_at(head.from_rows, 1)
    clear(T, given, rows)
    before = 0.0
    copied(T, g, rows, T, r)
    for refinement in range(MOST_REFINEMENTS):
        back_substituted(head, O, T, r)
        forces_of_rows(head, O, r, T, head.at_f)
        over_metric(head, O, T, head.at_f, head.at_b)
        times_rows(head, O, head.at_b, T, r)
        change = largest(from_rows, T, r, n)
        plus(T, given, T, r, rows)
        minus(T, g, T, given, rows, T, r)
        if not change > 1e-15 * largest(from_rows, T, given, n) or (refinement > 0 and not change < 0.5 * before):
            break
        before = change
    copied(T, given, rows, T, g)
    return OK


@leaf
def small_part(n):
    """ε beside the mean of S's diagonal, where rows repeat others.

    λ is the smallest one to 1e-16/ε. The least singular values of S, which fall as 1/n² in a chain, have to stay above it.
    """
    return min(1e-10, 1e-4 / (n * n))


@kernel(OPERATOR)
def table_residual(context, mode, t, a, b, data, out):
    """RESIDUAL: position rows, then velocity rows."""
    head = see(numbers_at(context, 1))
    address = call_room(head, context)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, O, r = numbers_at(begin, head.room), numbers_at(begin + 8 * head.at_kept, 1), numbers_at(out, 1)
    elements_at(head, begin, t, numbers_at(a, 1), numbers_at(data, 1), T, O)
    kinds, first = whole_at(head.kinds, 1), head.n_position
    rows_of(kinds, head.n_kinds, O, 0, T, head.at_r)
    out_of_places(whole_at(head.into_position, 1), whole_at(head.from_position, 1), T, head.at_r, r, 0, head.places_rows)
    rows_of(kinds, head.n_kinds, O, 1, T, head.at_r)
    out_of_places(whole_at(head.into_rows, 1), whole_at(head.from_rows, 1), T, head.at_r, r, first, head.places_rows)
    end_call(head, context, address)
    return OK


@kernel(OPERATOR)
def table_reactions(context, mode, t, a, b, data, out):
    """REACTIONS: -Gᵀλ."""
    head = see(numbers_at(context, 1))
    address = call_room(head, context)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, O = numbers_at(begin, head.room), numbers_at(begin + 8 * head.at_kept, 1)
    elements_at(head, begin, t, numbers_at(a, 1), numbers_at(data, 1), T, O)
    rows_given(head, numbers_at(b, 1), T)
    forces_of_rows(head, O, head.at_r, T, head.at_f)
    v, places = numbers_at(out, 1), whole_at(head.from_v, 1)
    for i in range(head.nv):
        v[i] = -T[head.at_f + places[i]]
    end_call(head, context, address)
    return OK


@inner
def rows_given(head, b, T):
    """Rows in the order of the model, to where they stand here."""
    given_rows(whole_at(head.into_rows, 1), whole_at(head.from_rows, 1), b, T, head.at_r, head.places_rows)


@kernel(OPERATOR)
def table_energy(context, mode, t, a, b, data, out):
    """ENERGY: kinetic, potential; every element writes its own two numbers."""
    head = see(numbers_at(context, 1))
    address = call_room(head, context)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, O, total = numbers_at(begin, head.room), numbers_at(begin + 8 * head.at_kept, 1), numbers_at(out, 1)
    elements_at(head, begin, t, numbers_at(a, 1), numbers_at(data, 1), T, O)
    total[0] = total[1] = 0.0
    kinds = whole_at(head.kinds, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        for e in range(kinds[base + 2]):
            place = kinds[base + 7] + 16 * (e % kinds[base + 13]) + e // kinds[base + 13]
            total[0] += O[place]
            total[1] += O[place + 8]
    end_call(head, context, address)
    return OK
