"""Dense terms of a model that is tables, for single looks where it is small: at a start, at an impact, over a singular position."""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.eight import eight, put
from ..native.marks import inner, kernel, leaf, numbers_at, whole_at
from .eights import KIND, SHELF, bend_rows, clear, out_of_places, rates, rows_of, see
from .elements import BODY, ROWS
from .table_operators import OPERATOR, call_room, elements_at, end_call, in_line
from .table_products import pulls_of


@leaf
def add_own_forces(kinds, base, shelves, O, T, at_f):
    """Forces of bodies by themselves: gravity, gyroscopic torques."""
    own = SHELF * kinds[base + 16]
    width, to = shelves[own + 2], at_f + shelves[own + 5]
    at = kinds[base + 7] + 8 * (width * width if kinds[base + 8] else width)
    for _ in range(kinds[base + 13]):
        for i in range(width):
            put(T, to + 8 * i, eight(T, to + 8 * i) + eight(O, at + 8 * i))
        to += 8 * width
        at += 8 * kinds[base + 6]


@leaf
def invert(T, at, n):
    """The inverse of a positive definite matrix, in its place."""
    for k in range(n):
        pivot = 1.0 / T[at + k * n + k]
        T[at + k * n + k] = 1.0
        for j in range(n):
            T[at + k * n + j] *= pivot
        for i in range(n):
            if i != k:
                factor = T[at + i * n + k]
                T[at + i * n + k] = 0.0
                for j in range(n):
                    T[at + i * n + j] -= factor * T[at + k * n + j]


@leaf
def masses_of(shelves, n_shelves, from_v, nv, O, T, at_name, at_block, M, at):
    """M row by row, from W⁻¹ of each lump; an entry without inertia has none in W⁻¹ either."""
    for i in range(nv * nv):
        M[at + i] = 0.0
    for i in range(nv):  # which of the model's velocities stands at each place
        T[at_name + from_v[i]] = i
    for i in range(nv):
        place, own = from_v[i], 0
        while own < SHELF * n_shelves and not (
            shelves[own + 2] > 0 and shelves[own + 5] <= place < shelves[own + 5] + 8 * shelves[own] * shelves[own + 2]
        ):
            own += SHELF
        width, inside = shelves[own + 2], place - shelves[own + 5]
        group, which, lane = inside // (8 * width), inside % (8 * width) // 8, inside % 8
        W = shelves[own + 7] + 8 * shelves[own + 8] * group + lane
        if shelves[own + 9] == 0:
            weight = O[W + 8 * which]
            M[at + i * nv + i] = 1.0 / weight if weight != 0.0 else 0.0
        elif which == 0:
            for k in range(width * width):
                T[at_block + k] = O[W + 8 * k]
            invert(T, at_block, width)
            for k in range(width):
                for j in range(width):
                    row, column = int(T[at_name + place + 8 * k]), int(T[at_name + place + 8 * j])
                    M[at + row * nv + column] = T[at_block + k * width + j]


@kernel(OPERATOR)
def table_terms(context, mode, t, a, b, data, out):
    """TERMS: (q', M, f, G, γ), matrices row by row."""
    head = see(numbers_at(context, 1))
    address = call_room(head)
    if address == 0:
        return NOT_FINITE
    _terms(head, in_line(address), t, numbers_at(a, 1), numbers_at(data, 1), numbers_at(out, 1))
    end_call(head, address)
    return OK


@inner
def _terms(head, address, t, x, data, out):
    nq, nv, n = head.nq, head.nv, head.n_rows
    T, O = numbers_at(address, head.room), numbers_at(address + 8 * head.at_kept, 1)
    kinds, shelves, from_v = whole_at(head.kinds, 1), whole_at(head.shelves, 1), whole_at(head.from_v, 1)
    into_v, into_rows, from_rows = whole_at(head.into_v, 1), whole_at(head.into_rows, 1), whole_at(head.from_rows, 1)
    at_f = nq + nv * nv
    at_G = at_f + nv
    clear(T, head.at_f, head.places_v)
    elements_at(head, address, t, x, data, T, O)
    for k in range(head.n_kinds):
        base = KIND * k
        if kinds[base] == BODY:
            add_own_forces(kinds, base, shelves, O, T, head.at_f)
        elif kinds[base] >= ROWS:
            bend_rows(kinds, base, O, data[head.at_gains], data[head.at_gains + 1], 0, kinds[base + 13])
    out_of_places(into_v, from_v, T, head.at_f, out, at_f, head.places_v)
    plain = rates(kinds, head.n_kinds, shelves, O, T, head.at_v, head.at_b)
    from_q = whole_at(head.from_q, 1)
    out_of_places(whole_at(head.into_q, 1), from_q, T, head.at_v if plain else head.at_b, out, 0, head.places_q)
    masses_of(shelves, head.n_shelves, from_v, nv, O, T, head.at_a, head.at_arg, out, nq)
    for i in range(n):
        clear(T, head.at_r, head.places_rows)
        T[head.at_r + from_rows[i]] = 1.0
        pulls_of(head, O, head.at_r, T, head.at_a)
        out_of_places(into_v, from_v, T, head.at_a, out, at_G + i * nv, head.places_v)
    rows_of(kinds, head.n_kinds, O, 2, T, head.at_r)
    out_of_places(into_rows, from_rows, T, head.at_r, out, at_G + n * nv, head.places_rows)
