"""Operators of a model that is tables: what its elements give, and an elimination by fronts.

Rooms for numbers are taken at every call and given back, as many runs share one context; see `elements` for what lies where.
"""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.marks import inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from ..native.types import f8, i8
from .elements import (
    KIND,
    LUMP,
    clear,
    evaluate_kinds,
    gather,
    judged,
    largest,
    mean_diagonal,
    minus,
    over_weights,
    plus,
    rates,
    rows_of,
    scatter,
    see,
    start_forces,
    times_G,
    times_GT,
)
from .fronts import eliminate, substitute

OPERATOR = i8(i8, i8, f8, i8, i8, i8, i8)  # context, mode, t, a, b, data, out, all by their addresses
REFINED = 1e-12  # residual G v' + γ beside its parts, above which the solution is refined
MOST_REFINEMENTS = 12
LOST = 1e-9  # residual beside its parts that no refinement takes away: the position counts as singular


@kernel(OPERATOR)
def table_field(context, mode, t, a, b, data, out):
    """FIELD: (q', v', λ, ρ)."""
    head = see(numbers_at(context, 1))
    address = take_room(head.room)
    if address == 0:
        return NOT_FINITE
    status = _field(head, address, t, numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1))
    leave_room(address)
    return status


@inner
def _field(head, address, t, x, data, out):
    nq, nv, n = head.nq, head.nv, head.n_rows
    T, O = numbers_at(address, head.room), numbers_at(address + 8 * head.at_kept, 1)
    kinds, lumps = whole_at(head.kinds, KIND * head.n_kinds), whole_at(head.lumps, LUMP * head.n_lumps)
    order_q, order_v = whole_at(head.order_q, nq), whole_at(head.order_v, nv)
    gather(order_q, x, 0, T, head.at_q, nq)
    gather(order_v, x, nq, T, head.at_v, nv)
    clear(T, head.at_f, nv)
    evaluate_kinds(head, address, t, data, T, O)
    start_forces(kinds, head.n_kinds, lumps, O, T, head.at_f)
    over_weights(lumps, head.n_lumps, O, 0, T, head.at_f, T, head.at_a)  # M⁻¹ f
    least, r, lam, f = 1.0, head.at_r, head.at_s, head.at_f
    if n > 0:
        program, order = whole_at(head.program, 1), whole_at(head.order, head.fronts)
        eps = 0.0 if head.redundant == 0 else small_part(n) * mean_diagonal(kinds, head.n_kinds, lumps, O, n)
        least, tiny = eliminate(
            program, head.fronts, O, numbers_at(address + 8 * head.at_left, 1), head.at_front - head.at_left,
            head.at_row - head.at_left, head.at_diagonal - head.at_left, n, eps,
        )  # fmt: skip
        if tiny > max(head.redundant, 0):
            least = 0.0
        # λ = S⁻¹ (G M⁻¹ f + γ), then v' = M⁻¹ f - M⁻¹ Gᵀ λ; λ is corrected by what G v' + γ leaves
        rows_of(kinds, head.n_kinds, O, 2, T, head.at_c)
        times_G(kinds, head.n_kinds, lumps, O, T, head.at_a, T, head.at_g)
        plus(T, head.at_g, T, head.at_c, n)
        if head.redundant > 0:
            _consistent(head, O, T, program, order, out)
        for i in range(n):
            T[r + i] = T[head.at_g + i]
        clear(T, lam, n)
        left = before = 0.0
        for refinement in range(MOST_REFINEMENTS):
            substitute(program, order, head.fronts, O, T, r)
            plus(T, lam, T, r, n)
            times_GT(kinds, head.n_kinds, lumps, O, T, lam, T, f, nv)
            over_weights(lumps, head.n_lumps, O, 0, T, f, out, nq)
            if head.redundant > 0:
                times_G(kinds, head.n_kinds, lumps, O, out, nq, T, r)
                minus(T, head.at_g, T, r, n, T, r)
                minus(T, head.at_a, out, nq, nv, out, nq)
            else:
                minus(T, head.at_a, out, nq, nv, out, nq)  # v' in the order of the tables, for the moment
                times_G(kinds, head.n_kinds, lumps, O, out, nq, T, r)
                plus(T, r, T, head.at_c, n)
            left = judged(T, r, head.at_g, lam, head.at_diagonal, n)
            if not left > REFINED or (refinement > 0 and not left < 0.5 * before):
                break
            before = left
        if not left <= LOST:
            least = 0.0 if left > LOST else left  # NaN stays one
        for i in range(nv):
            T[f + i] = out[nq + i]
        scatter(order_v, T, f, out, nq, nv, 1.0)
        for i in range(n):
            out[nq + nv + i] = T[lam + i]
    else:
        scatter(order_v, T, head.at_a, out, nq, nv, 1.0)
    rates(kinds, head.n_kinds, lumps, order_q, O, T, head.at_v, nv, out)
    out[nq + nv + n] = least
    return OK


@inner
def _consistent(head, O, T, program, order, out):
    """Take out of the right hand side, G M⁻¹ f + γ, what no λ can give; beside the constraints rows that repeat others disagree.

    Refined, S y with y = (S + ε)⁻¹ r comes to that part of r which S can give. What it cannot give stands in y, divided by ε; λ is
    solved for anew without it, and is the smallest one.
    """
    n, g, r, given = head.n_rows, head.at_g, head.at_r, head.at_c
    kinds, lumps = whole_at(head.kinds, 1), whole_at(head.lumps, 1)
    clear(T, given, n)
    before = 0.0
    for i in range(n):
        T[r + i] = T[g + i]
    for refinement in range(MOST_REFINEMENTS):
        substitute(program, order, head.fronts, O, T, r)
        times_GT(kinds, head.n_kinds, lumps, O, T, r, T, head.at_f, head.nv)
        over_weights(lumps, head.n_lumps, O, 0, T, head.at_f, out, head.nq)
        times_G(kinds, head.n_kinds, lumps, O, out, head.nq, T, r)
        change = largest(T, r, n)
        plus(T, given, T, r, n)
        minus(T, g, T, given, n, T, r)
        if not change > 1e-15 * largest(T, given, n) or (refinement > 0 and not change < 0.5 * before):
            break
        before = change
    for i in range(n):
        T[g + i] = T[given + i]
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
    address = take_room(head.room)
    if address == 0:
        return NOT_FINITE
    x, T, O, r = numbers_at(a, 1), numbers_at(address, head.room), numbers_at(address + 8 * head.at_kept, 1), numbers_at(out, 1)
    gather(whole_at(head.order_q, 1), x, 0, T, head.at_q, head.nq)
    gather(whole_at(head.order_v, 1), x, head.nq, T, head.at_v, head.nv)
    evaluate_kinds(head, address, t, numbers_at(data, 1), T, O)
    kinds = whole_at(head.kinds, 1)
    rows_of(kinds, head.n_kinds, O, 1, r, head.n_position)  # first: of rows without g nothing is to stay
    rows_of(kinds, head.n_kinds, O, 0, T, head.at_r)
    for i in range(head.n_position):
        r[i] = T[head.at_r + i]
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_reactions(context, mode, t, a, b, data, out):
    """REACTIONS: -Gᵀλ."""
    head = see(numbers_at(context, 1))
    address = take_room(head.room)
    if address == 0:
        return NOT_FINITE
    x, T, O = numbers_at(a, 1), numbers_at(address, head.room), numbers_at(address + 8 * head.at_kept, 1)
    gather(whole_at(head.order_q, 1), x, 0, T, head.at_q, head.nq)
    gather(whole_at(head.order_v, 1), x, head.nq, T, head.at_v, head.nv)
    evaluate_kinds(head, address, t, numbers_at(data, 1), T, O)
    times_GT(whole_at(head.kinds, 1), head.n_kinds, whole_at(head.lumps, 1), O, numbers_at(b, 1), 0, T, head.at_f, head.nv)
    scatter(whole_at(head.order_v, 1), T, head.at_f, numbers_at(out, 1), 0, head.nv, -1.0)
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_energy(context, mode, t, a, b, data, out):
    """ENERGY: kinetic, potential; every element writes its own two numbers."""
    head = see(numbers_at(context, 1))
    address = take_room(head.room)
    if address == 0:
        return NOT_FINITE
    x, T, O, total = numbers_at(a, 1), numbers_at(address, head.room), numbers_at(address + 8 * head.at_kept, 1), numbers_at(out, 1)
    gather(whole_at(head.order_q, 1), x, 0, T, head.at_q, head.nq)
    gather(whole_at(head.order_v, 1), x, head.nq, T, head.at_v, head.nv)
    evaluate_kinds(head, address, t, numbers_at(data, 1), T, O)
    clear(total, 0, 2)
    kinds = whole_at(head.kinds, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        for e in range(kinds[base + 2]):
            plus(total, 0, O, kinds[base + 7] + 2 * e, 2)
    leave_room(address)
    return OK


# moves onto the rows: F = (ρ, 1/‖rows‖, what rows write, W⁻¹, panels)


@leaf
def lengths(kinds, n_kinds, lumps, O, out):
    """1/‖row‖ of every row, from out[1] on."""
    for k in range(n_kinds):
        base = KIND * k
        many, m, written, at = kinds[base + 3], kinds[base + 5], kinds[base + 6], kinds[base + 7] + 3 * kinds[base + 5]
        ends, first = whole_at(kinds[base + 10], 1), whole_at(kinds[base + 12], 1)
        for e in range(kinds[base + 2]):
            width = 0
            for j in range(many):
                width += lumps[LUMP * ends[e * many + j] + 5]
            for i in range(m):
                total = 0.0
                for c in range(width):
                    total += O[at + i * width + c] ** 2
                out[1 + first[e] + i] = 1.0 / max(total**0.5, 1e-300)
            at += written


@leaf
def inverse_metric(metric, factors, data, lumps, n_lumps, O):
    """W⁻¹ of every column to where lumps have it."""
    for k in range(n_lumps):
        own = LUMP * k
        for i in range(lumps[own + 5]):
            column = lumps[own + 4] + i
            size = 1.0 if metric[column] < 0 else data[metric[column]]
            O[lumps[own + 6] + i] = 1.0 / (factors[column] * size * size)


@kernel(OPERATOR)
def table_factor(context, mode, t, a, b, data, out):
    """FACTOR: F of the rows at x."""
    head = see(numbers_at(context, 1))
    address = take_room(head.room)
    if address == 0:
        return NOT_FINITE
    x, T, F, numbers_given = numbers_at(a, 1), numbers_at(address, head.room), numbers_at(out, 1), numbers_at(data, 1)
    gather(whole_at(head.order_q, 1), x, 0, T, head.at_q, head.nq)
    gather(whole_at(head.order_v, 1), x, head.nq, T, head.at_v, head.nv)
    evaluate_kinds(head, address, t, numbers_given, T, F)
    kinds, lumps = whole_at(head.kinds, 1), whole_at(head.lumps, 1)
    inverse_metric(whole_at(head.metric, 1), numbers_at(head.factors, 1), numbers_given, lumps, head.n_lumps, F)
    lengths(kinds, head.n_kinds, lumps, F, F)
    n = max(1, head.n_rows)
    eps = 0.0 if head.redundant == 0 else small_part(n) * mean_diagonal(kinds, head.n_kinds, lumps, F, n)
    least, tiny = eliminate(
        whole_at(head.program, 1), head.fronts, F, numbers_at(address + 8 * head.at_left, 1), head.at_front - head.at_left,
        head.at_row - head.at_left, head.at_diagonal - head.at_left, head.n_rows, eps,
    )  # fmt: skip
    F[0] = -tiny if tiny > max(head.redundant, 0) else least  # below zero: how many rows repeat others
    leave_room(address)
    return OK


@inner
def _way_back(head, F, T, out):
    """W⁻¹Gᵀ S⁻¹ r, r in T, in the order of the model."""
    kinds, lumps = whole_at(head.kinds, 1), whole_at(head.lumps, 1)
    program, order = whole_at(head.program, 1), whole_at(head.order, 1)
    r, lam, n = head.at_r, head.at_s, head.n_rows
    size, before = largest(T, r, n), 0.0
    for i in range(n):
        T[lam + i] = T[r + i]
    substitute(program, order, head.fronts, F, T, lam)
    times_GT(kinds, head.n_kinds, lumps, F, T, lam, T, head.at_f, head.nc)
    over_weights(lumps, head.n_lumps, F, 0, T, head.at_f, T, head.at_a)
    if head.redundant != 0:
        for refinement in range(MOST_REFINEMENTS):
            times_G(kinds, head.n_kinds, lumps, F, T, head.at_a, T, lam)
            minus(T, r, T, lam, n, T, lam)
            left = largest(T, lam, n)
            if not left > REFINED * size or (refinement > 0 and not left < 0.5 * before):
                break
            before = left
            substitute(program, order, head.fronts, F, T, lam)
            times_GT(kinds, head.n_kinds, lumps, F, T, lam, T, head.at_f, head.nc)
            over_weights(lumps, head.n_lumps, F, 0, T, head.at_f, T, head.at_f)
            plus(T, head.at_a, T, head.at_f, head.nc)
    scatter(whole_at(head.order_c, 1), T, head.at_a, out, 0, head.nc, 1.0)
    return OK


@kernel(OPERATOR)
def table_solve(context, mode, t, a, b, data, out):
    """SOLVE: a = F, b = r -> W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ r."""
    head = see(numbers_at(context, 1))
    address = take_room(head.room)
    if address == 0:
        return NOT_FINITE
    T, r = numbers_at(address, head.room), numbers_at(b, 1)
    for i in range(head.n_rows):
        T[head.at_r + i] = r[i]
    _way_back(head, numbers_at(a, 1), T, numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_tangent(context, mode, t, a, b, data, out):
    """TANGENT: a = F, b = e -> W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹ G e."""
    head = see(numbers_at(context, 1))
    address = take_room(head.room)
    if address == 0:
        return NOT_FINITE
    T, F = numbers_at(address, head.room), numbers_at(a, 1)
    gather(whole_at(head.order_c, 1), numbers_at(b, 1), 0, T, head.at_f, head.nc)
    times_G(whole_at(head.kinds, 1), head.n_kinds, whole_at(head.lumps, 1), F, T, head.at_f, T, head.at_r)
    _way_back(head, F, T, numbers_at(out, 1))
    leave_room(address)
    return OK
