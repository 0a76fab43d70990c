"""R(t, y, y') on tables, and what it is linearized to.

    q' - Z v,   M v' - f + Gᵀλ,   rows of constraints at their level;   with two levels  q' - Z v + (∂g/∂q)ᵀμ,   g behind these

Elements write their parts, and the entries of their Jacobians that are not zero; no matrix of the whole system is there. Rows
that were found to repeat others are left out: there R is λ, and μ.
"""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.marks import apart, call_model_at, inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .elements import BODY, FORCE, LUMP, STATE, arguments, clear, gather, numbers, scatter
from .newton_memory import KIND, LOADED, OPERATOR, program_of, see
from .saddle_fronts import row_gradients
from .signatures import NO_MODE


@leaf
def multipliers_of(first, rows, dropped, lam, at, T, to):
    """Multipliers of an element's rows; none of those that are left out."""
    for i in range(rows):
        T[to + i] = 0.0 if dropped[first + i] == 1 else lam[at + first + i]


@leaf
def slopes_of(lumps, own, s, at_s, T, to):
    """v' of a lump."""
    start = at_s + lumps[own + 2]
    for i in range(lumps[own + 3]):
        T[to + i] = s[start + i]


@apart
def moved_by(head, kinds, base, e, T, at, at_moved, r):
    """Rows of μ, and what they do to the coordinates of the ends."""
    if kinds[base + 23] == 1:
        return
    lumps, ends, many, rows = whole_at(head.lumps, 1), whole_at(kinds[base + 16], 1), kinds[base + 2], kinds[base + 3]
    first = head.nq + head.nv + head.n_rows + whole_at(kinds[base + 17], 1)[e]
    for i in range(rows):
        r[first + i] = T[at + i]
    at += rows
    for j in range(e * many, (e + 1) * many):
        own = LUMP * ends[j]
        start = at_moved + lumps[own]
        for i in range(lumps[own + 1]):
            T[start + i] += T[at]
            at += 1


@leaf
def add_to_ends(lumps, ends, first, many, T, at, r, at_r):
    """What an element does to the velocities of its ends."""
    for j in range(many):
        own = LUMP * ends[first + j]
        start = at_r + lumps[own + 2]
        for i in range(lumps[own + 3]):
            r[start + i] += T[at]
            at += 1


@leaf
def add_scattered(order, T, at, r, n):
    """Numbers of the tables added in the order of the model."""
    for i in range(n):
        r[order[i]] += T[at + i]


@inner
def prepare(head, y, slope, T):
    """q, v and v' lump by lump, from the beginning of T on."""
    nq, nv = head.nq, head.nv
    gather(whole_at(head.order_q, nq), y, 0, T, 0, nq)
    gather(whole_at(head.order_v, nv), y, nq, T, nq, nv)
    gather(whole_at(head.order_v, nv), slope, nq, T, nq + nv, nv)


@apart
def further_arguments(head, kinds, base, e, y, T, to):
    """What an element reads behind λ: μ, and v' of its ends."""
    nq, nv, many, rows = head.nq, head.nv, kinds[base + 2], kinds[base + 3]
    if kinds[base + 23] == 2:
        first = head.n_rows + whole_at(kinds[base + 17], 1)[e]
        multipliers_of(first, rows, whole_at(head.dropped, 1), y, nq + nv, T, to)
        to += rows
    if kinds[base + 24] == 1:
        lumps, ends = whole_at(head.lumps, 1), whole_at(kinds[base + 16], 1)
        for j in range(e * many, (e + 1) * many):
            own = LUMP * ends[j]
            slopes_of(lumps, own, T, nq + nv, T, to)
            to += lumps[own + 3]


@inner
def element_arguments(head, kinds, base, e, y, T, at):
    """a and b of an element, from `at` on."""
    lumps, ends = whole_at(head.lumps, 1), whole_at(kinds[base + 16], 1)
    many, nq, nv = kinds[base + 2], head.nq, head.nv
    arguments(lumps, ends, e * many, many, T, 0, nq, at)
    b = at + kinds[base + 4] + kinds[base + 5]
    if kinds[base] == BODY:
        slopes_of(lumps, LUMP * ends[e], T, nq + nv, T, b)
    elif kinds[base] > FORCE:
        first = whole_at(kinds[base + 17], 1)
        multipliers_of(first[e], kinds[base + 3], whole_at(head.dropped, 1), y, nq + nv, T, b)
    return b


@inner
def equations_room(head):
    """Numbers of room that `equations_of` takes, and `linearized_of`."""
    return 3 * head.nq + 3 * head.nv + head.most_arguments + head.most_data + head.most_written


@inner
def equations_of(head, address, t, y, slope, given, r, kinematic):
    """R at (y, y'), with the room at an address; `kinematic`: of the equations of q' and of states alone."""
    nq, nv, n = head.nq, head.nv, head.multipliers
    at_f, at_rate = nq + 2 * nv, nq + 3 * nv
    at_moved = at_rate + nq
    at_arg = at_moved + nq
    at_data, at_out = at_arg + head.most_arguments, at_arg + head.most_arguments + head.most_data
    T, D = numbers_at(address, 1), numbers_at(address + 8 * at_data, 1)
    prepare(head, y, slope, T)
    clear(T, at_f, nv)
    if n > head.n_rows:
        clear(T, at_moved, nq)
    kinds, lumps, dropped = whole_at(head.kinds, 1), whole_at(head.lumps, 1), whole_at(head.dropped, 1)
    order_q, order_v, plain = whole_at(head.order_q, 1), whole_at(head.order_v, 1), whole_at(head.plain, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        what, many, rows, function, n_data = kinds[base], kinds[base + 2], kinds[base + 3], kinds[base + 6], kinds[base + 7]
        ends, places, more = whole_at(kinds[base + 16], 1), whole_at(kinds[base + 10], 1), kinds[base + 23] + kinds[base + 24] > 1
        if function == 0 or (kinematic and kinds[base + 18] == 0):
            continue
        for e in range(kinds[base + 1]):
            at_b = element_arguments(head, kinds, base, e, y, T, at_arg)
            if more:
                further_arguments(head, kinds, base, e, y, T, at_b + kinds[base + 3])
            numbers(places, e * n_data, n_data, given, D)
            call_model_at(function, 0, NO_MODE, t, T, at_arg, T, at_b, D, T, at_out)
            if what == FORCE:
                for i in range(kinds[base + 5]):
                    T[at_out + i] = -T[at_out + i]
                add_to_ends(lumps, ends, e * many, many, T, at_out, T, at_f)
            elif what == BODY:
                at = at_out
                if kinds[base + 18] == 1:
                    own = LUMP * ends[e]
                    for i in range(lumps[own + 1]):
                        T[at_rate + lumps[own] + i] = T[at]
                        at += 1
                add_to_ends(lumps, ends, e, 1, T, at, T, at_f)
            elif what == STATE:
                own = LUMP * ends[e * many + kinds[base + 22]]
                for i in range(lumps[own + 1]):
                    T[at_rate + lumps[own] + i] = T[at_out + i]
            else:
                add_to_ends(lumps, ends, e * many, many, T, at_out, T, at_f)
                if what == LOADED:
                    continue
                first = whole_at(kinds[base + 17], 1)[e]
                for i in range(rows):
                    r[nq + nv + first + i] = T[at_out + kinds[base + 5] + i]
                if more:
                    moved_by(head, kinds, base, e, T, at_out + kinds[base + 5] + rows, at_moved, r)
    for i in range(nq):
        r[order_q[i]] = slope[order_q[i]] - (T[nq + plain[i]] if plain[i] >= 0 else T[at_rate + i])
    if n > head.n_rows:
        add_scattered(order_q, T, at_moved, r, nq)
    scatter(order_v, T, at_f, r, nq, nv, 1.0)
    for i in range(n):
        if dropped[i] == 1:
            r[nq + nv + i] = y[nq + nv + i]


@inner
def linearized_of(head, address, t, y, slope, given, L):
    """What all elements write of the linearized equations."""
    nq, nv = head.nq, head.nv
    at_arg = nq + 2 * nv
    T, D = numbers_at(address, 1), numbers_at(address + 8 * (at_arg + head.most_arguments), 1)
    prepare(head, y, slope, T)
    kinds = whole_at(head.kinds, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        function, n_data, written, at = kinds[base + 11], kinds[base + 12], kinds[base + 13], kinds[base + 14]
        places, more = whole_at(kinds[base + 15], 1), kinds[base + 23] + kinds[base + 24] > 1
        if function == 0:
            continue
        for e in range(kinds[base + 1]):
            at_b = element_arguments(head, kinds, base, e, y, T, at_arg)
            if more:
                further_arguments(head, kinds, base, e, y, T, at_b + kinds[base + 3])
            numbers(places, e * n_data, n_data, given, D)
            call_model_at(function, 0, NO_MODE, t, T, at_arg, T, at_b, D, L, at + e * written)


@kernel(OPERATOR)
def table_equations(context, mode, t, a, b, data, out):
    """EQUATIONS: a = y, b = y' -> R."""
    head = see(numbers_at(context, 1))
    address = take_room(equations_room(head))
    if address == 0:
        return NOT_FINITE
    equations_of(head, address, t, numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), numbers_at(out, 1), False)
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_linearized(context, mode, t, a, b, data, out):
    """LINEARIZED: a = y, b = y' -> what all elements write."""
    head = see(numbers_at(context, 1))
    address = take_room(equations_room(head))
    if address == 0:
        return NOT_FINITE
    linearized_of(head, address, t, numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_gradients(context, mode, t, a, b, data, out):
    """GRADIENTS: a = LINEARIZED -> 1 / length² of the rows of constraints, 0 of those of accelerations."""
    head = see(numbers_at(context, 1))
    nq, nv, n, free = head.nq, head.nv, head.multipliers, head.free
    address = take_room(free + n + 1)
    if address == 0:
        return NOT_FINITE
    lengths, found = numbers_at(address, 1), numbers_at(out, 1)
    clear(lengths, 0, free + n)
    row_gradients(program_of(head), numbers_at(a, 1), free, lengths)
    for i in range(n):
        found[nq + nv + i] = 1.0 / lengths[free + i] if lengths[free + i] > 0.0 and i >= head.hidden else 0.0
    leave_room(address)
    return OK
