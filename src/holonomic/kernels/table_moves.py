"""Moves onto the rows of a model that is tables, in a metric: F = (ρ, 1/‖rows‖, what rows write, W⁻¹, panels)."""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.marks import inner, kernel, numbers_at, whole_at
from .eights import copied, into_places, inverse_metric, largest, lengths, minus, out_of_places, plus, see
from .row_products import diagonal_of_S
from .table_evaluation import MOST_REFINEMENTS, REFINED
from .table_operators import OPERATOR, call_room, elements_at, end_call, in_line, rows_given
from .table_products import factored, pulls_of, rows_along, solved, weighed


@inner
def _rows_at(head, address, t, x, data, T, F):
    """Rows, and W⁻¹ where that is of a metric."""
    elements_at(head, address, t, x, data, T, F)
    if head.metric != 0:
        metric, factors = whole_at(head.metric, 1), numbers_at(head.factors, 1)
        inverse_metric(metric, factors, data, F, head.at_weights, head.places_c)


@kernel(OPERATOR)
def table_factor(context, mode, t, a, b, data, out):
    """FACTOR: F of the rows at x."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, F = numbers_at(begin, head.room), numbers_at(out, 1)
    _rows_at(head, begin, t, numbers_at(a, 1), numbers_at(data, 1), T, F)
    lengths(whole_at(head.kinds, 1), head.n_kinds, head.measured, F, T, head.at_s)
    out_of_places(whole_at(head.into_rows, 1), whole_at(head.from_rows, 1), T, head.at_s, F, 1, head.places_rows)
    diagonal_of_S(whole_at(head.kinds, 1), head.n_kinds, whole_at(head.weights_of, 1), F, T, head.at_arg, head.at_diagonal)
    least, tiny = factored(head, F, T)
    F[0] = -tiny if tiny > max(head.redundant, 0) else least  # below zero: how many rows repeat others
    end_call(head, address)
    return OK


@inner
def _multipliers(head, F, T):
    """λ = S⁻¹ r, r in T, and W⁻¹Gᵀλ."""
    r, lam, left, n, rows = head.at_r, head.at_s, head.at_g, head.n_rows, head.places_rows
    from_rows = whole_at(head.from_rows, 1)
    copied(T, r, rows, T, lam)
    solved(head, F, T, lam)
    pulls_of(head, F, lam, T, head.at_f)
    weighed(head, F, T, head.at_f, head.at_a)
    if head.redundant != 0:
        size, before = largest(from_rows, T, r, n), 0.0
        for refinement in range(MOST_REFINEMENTS):
            rows_along(head, F, head.at_a, T, left)
            minus(T, r, T, left, rows, T, left)
            most = largest(from_rows, T, left, n)
            if not most > REFINED * size or (refinement > 0 and not most < 0.5 * before):
                break
            before = most
            solved(head, F, T, left)
            plus(T, lam, T, left, rows)
            pulls_of(head, F, left, T, head.at_f)
            weighed(head, F, T, head.at_f, head.at_b)
            plus(T, head.at_a, T, head.at_b, head.places_c)


@inner
def _way_back(head, F, T, out):
    """W⁻¹Gᵀ S⁻¹ r, r in T, in the order of the model."""
    _multipliers(head, F, T)
    out_of_places(whole_at(head.into_c, 1), whole_at(head.from_c, 1), T, head.at_a, out, 0, head.places_c)
    return OK


@kernel(OPERATOR)
def table_solve(context, mode, t, a, b, data, out):
    """SOLVE: a = F, b = r -> W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ r."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T = numbers_at(begin, head.room)
    rows_given(head, numbers_at(b, 1), T)
    _way_back(head, numbers_at(a, 1), T, numbers_at(out, 1))
    end_call(head, address)
    return OK


@kernel(OPERATOR)
def table_inverse(context, mode, t, a, b, data, out):
    """INVERSE: a = F, b = r -> (G W⁻¹ Gᵀ)⁻¹ r."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    T = numbers_at(in_line(address), head.room)
    rows_given(head, numbers_at(b, 1), T)
    _multipliers(head, numbers_at(a, 1), T)
    into, back = whole_at(head.into_rows, 1), whole_at(head.from_rows, 1)
    out_of_places(into, back, T, head.at_s, numbers_at(out, 1), 0, head.places_rows)
    end_call(head, address)
    return OK


@kernel(OPERATOR)
def table_tangent(context, mode, t, a, b, data, out):
    """TANGENT: a = F, b = e -> W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ G e."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, F = numbers_at(begin, head.room), numbers_at(a, 1)
    into_places(whole_at(head.into_c, 1), numbers_at(b, 1), 0, T, head.at_f, head.places_c)
    rows_along(head, F, head.at_f, T, head.at_r)
    _way_back(head, F, T, numbers_at(out, 1))
    end_call(head, address)
    return OK


@kernel(OPERATOR)
def table_spread(context, mode, t, a, b, data, out):
    """SPREAD: a = x, b = μ -> W⁻¹Gᵀ μ."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, O = numbers_at(begin, head.room), numbers_at(begin + 8 * head.at_kept, 1)
    _rows_at(head, begin, t, numbers_at(a, 1), numbers_at(data, 1), T, O)
    rows_given(head, numbers_at(b, 1), T)
    pulls_of(head, O, head.at_r, T, head.at_f)
    weighed(head, O, T, head.at_f, head.at_a)
    into, back = whole_at(head.into_c, 1), whole_at(head.from_c, 1)
    out_of_places(into, back, T, head.at_a, numbers_at(out, 1), 0, head.places_c)
    end_call(head, address)
    return OK


@kernel(OPERATOR)
def table_curvature(context, mode, t, a, b, data, out):
    """CURVATURE: a = x, b = Δq -> L Δq, of rows by the whole state."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, O = numbers_at(begin, head.room), numbers_at(begin + 8 * head.at_kept, 1)
    moved, found, spare = numbers_at(b, 1), numbers_at(out, 1), head.at_a
    elements_at(head, begin, t, numbers_at(a, 1), numbers_at(data, 1), T, O)
    for i in range(head.nc):
        T[spare + i] = moved[i] if i < head.nq else 0.0
    into_places(whole_at(head.into_c, 1), T, spare, T, head.at_f, head.places_c)
    rows_along(head, O, head.at_f, T, head.at_r)
    back = whole_at(head.from_rows, 1)
    for i in range(head.n_rows - head.n_position):
        found[i] = T[head.at_r + back[head.n_position + i]]
    end_call(head, address)
    return OK
