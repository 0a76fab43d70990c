"""Accelerations and multipliers of tables: λ = S⁻¹ (G M⁻¹ f + γ), then v' = M⁻¹ f - M⁻¹ Gᵀ λ.

In a mechanism that is not too large the next function reads what some groups have written while that is still near the processor.
"""

from __future__ import annotations

from ..errors import OK
from ..native.eight import eight, first_of, greater, put, size_of, spread
from ..native.marks import inner, leaf, numbers_at, whole_at
from .eights import (
    KIND,
    bend_rows,
    clear,
    copied,
    evaluate_kind,
    greatest,
    into_places,
    largest,
    minus,
    numbers_of_kinds,
    out_of_places,
    plus,
    rates,
    weighed_forces,
)
from .elements import BODY, FORCE, ROWS
from .front_groups import eliminate, way_ahead, way_behind
from .row_products import both_of, over_weights, times_G_of
from .table_products import factored, pulls_of, rows_along, solved, weighed

REFINED = 1e-12  # residual G v' + γ beside its parts, above which the solution is refined
MOST_REFINEMENTS = 12
CANCELLED = 1e-3  # of the largest M⁻¹ f, that rows are measured by where G M⁻¹ f + γ and λ are next to nothing: in free fall
LOST = 1e-9  # residual beside its parts that no refinement takes away: the position counts as singular
NO_PARTS = 1e-2  # of the largest parts of a row, by which all are measured that have hardly any
BLOCK, FRONTS = 16, 32  # groups of elements, and of fronts, that are worked on before the next function reads what they wrote
NEAR = 5_000_000  # numbers of room up to which these stay near; beyond, loops over all are faster: what they need comes in order


@inner
def _parts(T, at_g, at_lam, at_diagonal, i):
    """What eight rows are summed from: G M⁻¹ f + γ, and S λ, of which the diagonal is known."""
    return size_of(eight(T, at_g + i)) + eight(T, at_diagonal + i) * size_of(eight(T, at_lam + i))


@leaf
def look_at_rest(kinds, base, T, at_r, at_g, at_lam, at_diagonal, at_most, begin, end):
    """Note the largest parts of rows in some groups of a kind, at `at_most`, and what of r is more than `REFINED` of its.

    Of eight rows side by side; behind both stands a sum that is NaN where a row is.
    """
    count, groups, m, first = kinds[base + 2], kinds[base + 13], kinds[base + 5], kinds[base + 12]
    whole = count - 7 * groups  # groups without copies
    most, more, sum_ = eight(T, at_most), eight(T, at_most + 8), eight(T, at_most + 16)
    for g in range(begin, end):
        for i in range(first + 8 * m * g, first + 8 * m * (g + 1), 8):
            part, rest = _parts(T, at_g, at_lam, at_diagonal, i), size_of(eight(T, at_r + i))
            if g >= whole:
                some = (count - g - 1) // groups + 1
                part, rest = first_of(part, some), first_of(rest, some)
            rest = rest - part * REFINED
            most, more = greater(most, part), greater(more, rest)
            sum_ += rest
    put(T, at_most, most)
    put(T, at_most + 8, more)
    put(T, at_most + 16, sum_)


@leaf
def judged(kinds, n_kinds, T, at_r, at_g, at_lam, at_diagonal, at_arg, floor):
    """The largest ratio of what is left of a row, r, to the parts it is summed from; NaN where there is one.

    A row that has no parts is measured by a part of what the others have, and by `floor` at least.
    """
    most = found = wrong = 0.0
    for again in range(2):
        top, sum_ = spread(0.0), spread(0.0)
        for k in range(n_kinds):
            base = KIND * k
            if kinds[base] < ROWS:
                continue
            count, groups, m, first = kinds[base + 2], kinds[base + 13], kinds[base + 5], kinds[base + 12]
            whole = count - 7 * groups  # groups without copies
            for g in range(groups):
                for i in range(first + 8 * m * g, first + 8 * m * (g + 1), 8):
                    part = _parts(T, at_g, at_lam, at_diagonal, i)
                    if again == 1:
                        part = size_of(eight(T, at_r + i)) / (part + most)
                    if g >= whole:
                        part = first_of(part, (count - g - 1) // groups + 1)
                    top = greater(top, part)
                    sum_ += part * 0.0
        put(T, at_arg, top)
        put(T, at_arg + 8, sum_)
        for i in range(8):
            if again == 0:
                most = max(most, T[at_arg + i])
            else:
                found = max(found, T[at_arg + i])
                wrong += T[at_arg + 8 + i]
        if again == 0:
            most = max(NO_PARTS * most, floor, 1e-300)
    return found + wrong


@inner
def accelerations(head, address, t, x, data, out):
    """(q', v', λ, ρ)"""
    nq, nv, n, rows = head.nq, head.nv, head.n_rows, head.places_rows
    redundant = head.redundant  # which another thread may learn meanwhile
    T, O = numbers_at(address, head.room), numbers_at(address + 8 * head.at_kept, 1)
    kinds, shelves = whole_at(head.kinds, 1), whole_at(head.shelves, 1)
    order, program = whole_at(head.order, 1), whole_at(head.program, 1)
    f, a, b, g, lam, r = head.at_f, head.at_a, head.at_b, head.at_g, head.at_s, head.at_r
    into_places(whole_at(head.into_q, 1), x, 0, T, head.at_q, head.places_q)
    into_places(whole_at(head.into_v, 1), x, nq, T, head.at_v, head.places_v)
    numbers_of_kinds(head, address, data, T)
    _forces(head, address, t, T, O)
    least = 1.0
    if n > 0:
        _rows(head, address, t, data, T, O)
        if redundant == 0:
            tiny = 0
            some = FRONTS if head.room < NEAR else head.groups
            for begin in range(0, head.groups, some):
                end = min(head.groups, begin + some)
                one, more = eliminate(
                    program, order, begin, end, O, T, head.at_front, head.at_block, head.at_diagonal, head.at_left, 0.0
                )
                tiny += more
                if one < least or one != one:  # NaN is kept
                    least = one
                way_ahead(program, order, begin, end, O, T, g, head.at_block, head.at_sides)
        else:
            least, tiny = factored(head, O, T)
            if redundant > 0:
                consistent(head, O, T)
            way_ahead(program, order, 0, head.groups, O, T, g, head.at_block, head.at_sides)
        if tiny > max(redundant, 0):
            least = 0.0
        way_behind(program, order, head.groups, O, T, lam, head.at_block, head.at_sides)
        # λ is corrected by what G v' + γ leaves
        left = before = floor = 0.0
        for refinement in range(MOST_REFINEMENTS):
            if refinement > 0:
                solved(head, O, T, r)
                plus(T, lam, T, r, rows)
            pulls_of(head, O, lam, T, f)
            if redundant > 0:
                weighed(head, O, T, f, b)
                rows_along(head, O, b, T, r)
                minus(T, g, T, r, rows, T, r)
                minus(T, a, T, b, head.places_v, T, b)
            else:
                over_weights(shelves, head.n_shelves, O, T, f, T, b, True, a)
                if _fits(head, T, O):
                    left = 0.0
                    break
            left = judged(kinds, head.n_kinds, T, r, g, lam, head.at_diagonal, head.at_arg, floor)
            if floor == 0.0 and left > REFINED:
                floor = CANCELLED * greatest(T, a, head.places_v, head.at_arg)
                left = judged(kinds, head.n_kinds, T, r, g, lam, head.at_diagonal, head.at_arg, floor)
            if not left > REFINED or (refinement > 0 and not left < 0.5 * before):
                break
            before = left
        if not left <= LOST:
            least = 0.0 if left > LOST else left  # NaN stays one
        out_of_places(whole_at(head.into_rows, 1), whole_at(head.from_rows, 1), T, lam, out, nq + nv, rows)
    else:
        copied(T, a, head.places_v, T, b)
    out_of_places(whole_at(head.into_v, 1), whole_at(head.from_v, 1), T, b, out, nq, head.places_v)
    if rates(kinds, head.n_kinds, shelves, O, T, head.at_v, b):
        if head.into_q == head.into_v:
            for i in range(nq):
                out[i] = x[nq + i]
        else:
            out_of_places(whole_at(head.into_q, 1), whole_at(head.from_q, 1), T, head.at_v, out, 0, head.places_q)
    else:
        out_of_places(whole_at(head.into_q, 1), whole_at(head.from_q, 1), T, b, out, 0, head.places_q)
    out[nq + nv + n] = least
    return OK


@inner
def _forces(head, address, t, T, O):
    """Bodies and forces: a = M⁻¹ f."""
    kinds, shelves = whole_at(head.kinds, 1), whole_at(head.shelves, 1)
    clear(T, head.at_f, head.places_v)
    for k in range(head.n_kinds):
        base = KIND * k
        if kinds[base] <= FORCE:
            evaluate_kind(head, address, t, T, O, base, 0, kinds[base + 13])
    for k in range(head.n_kinds):
        base = KIND * k
        if kinds[base] == BODY:
            weighed_forces(kinds, base, shelves, O, T, head.at_f, head.at_a, 0, kinds[base + 13])


@inner
def _rows(head, address, t, data, T, O):
    """Rows, the diagonal of S, and G a + γ, γ with the terms of a stabilization, where it has some."""
    by_g, by_rate = data[head.at_gains], data[head.at_gains + 1]
    kinds, weights_of = whole_at(head.kinds, 1), whole_at(head.weights_of, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        groups = kinds[base + 13] if kinds[base] >= ROWS else 0
        some = BLOCK if head.room < NEAR else max(1, groups)
        for begin in range(0, groups, some):
            end = min(groups, begin + some)
            evaluate_kind(head, address, t, T, O, base, begin, end)
            bend_rows(kinds, base, O, by_g, by_rate, begin, end)
            both_of(kinds, base, weights_of, O, T, head.at_a, head.at_g, head.at_arg, head.at_diagonal, begin, end)


@inner
def _fits(head, T, O):
    """r = G b + γ; tell whether it is no more than rounding in every row: `judged` would find no more than `REFINED`."""
    kinds, at_most = whole_at(head.kinds, 1), head.at_block
    clear(T, at_most, 24)
    for k in range(head.n_kinds):
        base = KIND * k
        groups = kinds[base + 13] if kinds[base] >= ROWS else 0
        some = BLOCK if head.room < NEAR else max(1, groups)
        for begin in range(0, groups, some):
            end = min(groups, begin + some)
            times_G_of(kinds, base, O, T, head.at_b, T, head.at_r, T, head.at_arg, True, begin, end)
            look_at_rest(kinds, base, T, head.at_r, head.at_g, head.at_s, head.at_diagonal, at_most, begin, end)
    most = more = sum_ = 0.0
    for i in range(at_most, at_most + 8):
        most, more, sum_ = max(most, T[i]), max(more, T[i + 8]), sum_ + T[i + 16]
    return sum_ == sum_ and more <= REFINED * NO_PARTS * most


@inner
def consistent(head, O, T):
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
        solved(head, O, T, r)
        pulls_of(head, O, r, T, head.at_f)
        weighed(head, O, T, head.at_f, head.at_b)
        rows_along(head, O, head.at_b, T, r)
        change = largest(from_rows, T, r, n)
        plus(T, given, T, r, rows)
        minus(T, g, T, given, rows, T, r)
        if not change > 1e-15 * largest(from_rows, T, given, n) or (refinement > 0 and not change < 0.5 * before):
            break
        before = change
    copied(T, given, rows, T, g)
    return OK
