"""Operators of a model that is tables: what its elements give, and an elimination by fronts.

Many runs share one context, and all contexts of a mechanism one room for numbers, which a call takes and gives back; calls of other
threads meanwhile take rooms of their own. See `eights` for what lies where.
"""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.eight import exchange
from ..native.marks import inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from ..native.types import f8, i8
from .eights import KIND, evaluate_kinds, given_rows, into_places, out_of_places, rows_of, see
from .table_evaluation import accelerations
from .table_products import pulls_of

OPERATOR = i8(i8, i8, f8, i8, i8, i8, i8)  # context, mode, t, a, b, data, out, all by their addresses


@inner
def call_room(head):
    """Address of room for a call, 0 where there is none: the shared one, or, where another call has that, new memory."""
    address = exchange(whole_at(head.spare, 1), 0, 0)
    return address if address != 0 else take_room(head.room)


@inner
def end_call(head, address):
    """Give room back."""
    if address == head.own_room:
        exchange(whole_at(head.spare, 1), 0, address)
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


@kernel(OPERATOR)
def table_field(context, mode, t, a, b, data, out):
    """FIELD: (q', v', λ, ρ)."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    status = accelerations(head, in_line(address), t, numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1))
    end_call(head, address)
    return status


@kernel(OPERATOR)
def table_residual(context, mode, t, a, b, data, out):
    """RESIDUAL: position rows, then velocity rows."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
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
    end_call(head, address)
    return OK


@kernel(OPERATOR)
def table_reactions(context, mode, t, a, b, data, out):
    """REACTIONS: -Gᵀλ."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    begin = in_line(address)
    T, O = numbers_at(begin, head.room), numbers_at(begin + 8 * head.at_kept, 1)
    elements_at(head, begin, t, numbers_at(a, 1), numbers_at(data, 1), T, O)
    rows_given(head, numbers_at(b, 1), T)
    pulls_of(head, O, head.at_r, T, head.at_f)
    v, places = numbers_at(out, 1), whole_at(head.from_v, 1)
    for i in range(head.nv):
        v[i] = -T[head.at_f + places[i]]
    end_call(head, address)
    return OK


@inner
def rows_given(head, b, T):
    """Rows in the order of the model, to where they stand here."""
    given_rows(whole_at(head.into_rows, 1), whole_at(head.from_rows, 1), b, T, head.at_r, head.places_rows)


@kernel(OPERATOR)
def table_energy(context, mode, t, a, b, data, out):
    """ENERGY: kinetic, potential; every element writes its own two numbers."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
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
    end_call(head, address)
    return OK
