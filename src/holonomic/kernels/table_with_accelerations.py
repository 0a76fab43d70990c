"""R(t, y, y') on tables with accelerations w among the unknowns, what it is linearized to, and solutions with its factors.

`assembly.acceleration_kinds` has the equations and their letters. What an element adds stands in blocks, letter by letter: of all
ends to the equations of q, v and w, then its own rows. Rows that repeat others are left out: there R is the multiplier.

In the sense of least squares, J being the Jacobian of the differential equations d and C that of all others, solutions are those of

    [ -I  J  0  ] [ s ]   [ d ]
    [ Jᵀ  0  Cᵀ ] [ Δ ] = [ 0 ]
    [ 0   C  0  ] [ κ ]   [ c ]

so that CΔ = c, and d - JΔ = -s is as small as can be; nothing is squared, and no row of one body meets one of another.
"""

from __future__ import annotations

import numpy as np

from ..errors import NOT_FINITE, OK
from ..native.marks import call_model_at, inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .elements import LUMP, arguments, clear, gather, numbers
from .newton_memory import KIND, OPERATOR, TELLS, program_of, see
from .refined_fronts import Solving, refined
from .saddle_fronts import Matrix, row_gradients
from .signatures import NO_MODE
from .table_equations import multipliers_of, prepare, slopes_of

LETTERS = "qvwτμλ"
OF_Q, OF_V, OF_W, OF_TAU, OF_MU, OF_LAM = 1, 2, 4, 8, 16, 32  # of a kind: what it adds to, in word 23; what it reads, in word 24


@inner
def accelerations_room_of(head):
    """Numbers of room that `equations_with` takes, and `linearized_with`."""
    return 2 * head.nq + 5 * head.nv + head.most_arguments + head.most_data + head.most_written


@inner
def arguments_with(head, kinds, base, e, y, T, at):
    """a and b of an element, from `at` on; where b begins."""
    lumps, ends, many, rows = whole_at(head.lumps, 1), whole_at(kinds[base + 16], 1), kinds[base + 2], kinds[base + 3]
    nq, nv, reads = head.nq, head.nv, kinds[base + 24]
    arguments(lumps, ends, e * many, many, T, 0, nq, at)
    b = at + kinds[base + 4] + kinds[base + 5]
    to = b
    for block in range(2):
        for j in range(e * many, (e + 1) * many):
            own = LUMP * ends[j]
            slopes_of(lumps, own, T, nq + (1 + block) * nv, T, to)
            to += lumps[own + 3]
    if reads == 0:
        return b
    first, dropped = whole_at(kinds[base + 17], 1)[e], whole_at(head.dropped, 1)
    if reads & OF_TAU:
        multipliers_of(first, rows, dropped, y, nq + nv, T, to)
        to += rows
    if reads & OF_MU:
        multipliers_of(first, rows, dropped, y, nq + nv + head.n_rows, T, to)
        to += rows
    if reads & OF_LAM:
        multipliers_of(first, rows, dropped, y, head.at_w + nv, T, to)
    return b


@leaf
def add_at_ends(lumps, ends, first, many, word, T, at, to):
    """What an element adds to coordinates (word 0) or velocities (word 2) of its ends; where the next block begins."""
    for j in range(many):
        own = LUMP * ends[first + j]
        start = to + lumps[own + word]
        for i in range(lumps[own + word + 1]):
            T[start + i] += T[at]
            at += 1
    return at


@leaf
def write_rows(T, at, r, to, rows):
    """Own rows of an element; where the next block begins."""
    for i in range(rows):
        r[to + i] = T[at + i]
    return at + rows


@leaf
def write_differential(y, slope, at_w, least, order_q, order_v, nq, nv, T, at, r):
    """What all elements have added, with q', and v' - w where that is the equation."""
    for i in range(nq):
        r[order_q[i]] = slope[order_q[i]] + T[at + i]
    for i in range(nv):
        own = order_v[i]
        r[nq + own] = T[at + nq + i] + (0.0 if least == 1 else slope[nq + own] - y[at_w + own])


@leaf
def write_in_order(order, T, at, r, to, n):
    """Numbers of the tables in the order of the model."""
    for i in range(n):
        r[to + order[i]] = T[at + i]


@leaf
def leave_out(names, paired, dropped, columns, y, r, n):
    """Rows that are left out: there R is the multiplier that belongs to them, or nothing."""
    for i in range(n):
        if dropped[i] == 1 and paired[i] >= 0:
            r[paired[i]] = y[columns[i]]
        elif dropped[i] == 1 and names[i] >= 0:
            r[names[i]] = 0.0


@inner
def equations_with(head, address, t, y, slope, given, r):
    """R at (y, y'), with the room at an address."""
    nq, nv, n = head.nq, head.nv, head.n_rows
    at_sums = nq + 3 * nv
    at_arg = at_sums + nq + 2 * nv
    at_data, at_out = at_arg + head.most_arguments, at_arg + head.most_arguments + head.most_data
    T, D = numbers_at(address, 1), numbers_at(address + 8 * at_data, 1)
    order_q, order_v = whole_at(head.order_q, nq), whole_at(head.order_v, nv)
    prepare(head, y, slope, T)
    gather(order_v, y, head.at_w, T, nq + 2 * nv, nv)
    clear(T, at_sums, nq + 2 * nv)
    at_mu = nq + nv + n
    at_rest = at_mu + head.positions
    kinds, lumps = whole_at(head.kinds, 1), whole_at(head.lumps, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        many, rows, function, n_data, adds = kinds[base + 2], kinds[base + 3], kinds[base + 6], kinds[base + 7], kinds[base + 23]
        ends, places = whole_at(kinds[base + 16], 1), whole_at(kinds[base + 10], 1)
        for e in range(kinds[base + 1]):
            at_b = arguments_with(head, kinds, base, e, y, T, at_arg)
            numbers(places, e * n_data, n_data, given, D)
            call_model_at(function, 0, NO_MODE, t, T, at_arg, T, at_b, D, T, at_out)
            at = at_out
            if adds & OF_Q:
                at = add_at_ends(lumps, ends, e * many, many, 0, T, at, at_sums)
            if adds & OF_V:
                at = add_at_ends(lumps, ends, e * many, many, 2, T, at, at_sums + nq)
            if adds & OF_W:
                at = add_at_ends(lumps, ends, e * many, many, 2, T, at, at_sums + nq + nv)
            if adds & OF_TAU:
                first = whole_at(kinds[base + 17], 1)[e]
                at = write_rows(T, at, r, nq + nv + first, rows)
                if adds & OF_MU:
                    at = write_rows(T, at, r, at_mu + first, rows)
                write_rows(T, at, r, at_rest + nv + first, rows)
    write_differential(y, slope, head.at_w, head.least, order_q, order_v, nq, nv, T, at_sums, r)
    write_in_order(order_v, T, at_sums + nq + nv, r, at_rest, nv)
    free, many = head.free, head.multipliers
    names, paired = whole_at(head.row_places + 8 * free, 1), whole_at(head.paired + 8 * free, 1)
    leave_out(names, paired, whole_at(head.dropped, 1), whole_at(head.column_places + 8 * free, 1), y, r, many)


@inner
def linearized_with(head, address, t, y, slope, given, L):
    """What all elements write of the linearized equations."""
    nq, nv = head.nq, head.nv
    at_arg = 2 * nq + 5 * nv
    T, D = numbers_at(address, 1), numbers_at(address + 8 * (at_arg + head.most_arguments), 1)
    prepare(head, y, slope, T)
    gather(whole_at(head.order_v, nv), y, head.at_w, T, nq + 2 * nv, nv)
    kinds = whole_at(head.kinds, 1)
    for k in range(head.n_kinds):
        base = KIND * k
        function, n_data, written, at = kinds[base + 11], kinds[base + 12], kinds[base + 13], kinds[base + 14]
        places = whole_at(kinds[base + 15], 1)
        for e in range(kinds[base + 1]):
            at_b = arguments_with(head, kinds, base, e, y, T, at_arg)
            numbers(places, e * n_data, n_data, given, D)
            call_model_at(function, 0, NO_MODE, t, T, at_arg, T, at_b, D, L, at + e * written)


@kernel(OPERATOR)
def table_equations_with(context, mode, t, a, b, data, out):
    """EQUATIONS: a = y, b = y' -> R."""
    head = see(numbers_at(context, 1))
    address = take_room(accelerations_room_of(head))
    if address == 0:
        return NOT_FINITE
    equations_with(head, address, t, numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_linearized_with(context, mode, t, a, b, data, out):
    """LINEARIZED: a = y, b = y' -> what all elements write."""
    head = see(numbers_at(context, 1))
    address = take_room(accelerations_room_of(head))
    if address == 0:
        return NOT_FINITE
    linearized_with(head, address, t, numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_gradients_with(context, mode, t, a, b, data, out):
    """GRADIENTS: a = LINEARIZED -> 1 / length² of the rows of positions and velocities, 0 of all others."""
    head = see(numbers_at(context, 1))
    n, free, shown = head.free + head.multipliers, head.free, head.n_rows + head.positions
    address = take_room(n + 1)
    if address == 0:
        return NOT_FINITE
    lengths, found, names = numbers_at(address, 1), numbers_at(out, 1), whole_at(head.row_places, 1)
    clear(lengths, 0, n)
    row_gradients(program_of(head), numbers_at(a, 1), free, lengths)
    for i in range(n):
        if names[i] >= 0:
            count = free <= i < free + shown and lengths[i] > 0.0
            found[names[i]] = 1.0 / lengths[i] if count else 0.0
    leave_room(address)
    return OK


@leaf
def take_equations(r, names, n, z):
    """A right hand side in the order of the variables; what is no equation has none."""
    for i in range(n):
        z[i] = r[names[i]] if names[i] >= 0 else 0.0


@leaf
def give_unknowns(x, r, columns, paired, dropped, free, n, found):
    """A solution in the order of the model; multipliers of rows that are left out are what the equations say."""
    for i in range(n):
        if columns[i] >= 0:
            found[columns[i]] = r[paired[i]] if i >= free and dropped[i - free] == 1 else x[i]


@kernel(OPERATOR)
def table_solve_with(context, mode, t, a, b, data, out):
    """NEWTON_SOLVE: a = factors, b = r -> solution."""
    head = see(numbers_at(context, 1))
    n = head.free + head.multipliers
    address = take_room(4 * n + head.largest)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    P = numbers_at(a + 8 * (TELLS + head.n_linear), 1)
    z, x, rest = numbers_at(address, 1), numbers_at(address + 8 * n, 1), numbers_at(address + 16 * n, 1)
    sizes, front = numbers_at(address + 24 * n, 1), numbers_at(address + 32 * n, 1)
    names, columns = whole_at(head.row_places, 1), whole_at(head.column_places, 1)
    paired, dropped = whole_at(head.paired, 1), whole_at(head.dropped, 1)
    take_equations(r, names, n, z)
    refined(program_of(head), Matrix(F, TELLS, F, 1, F[1], F[4]), P, Solving(x, z, rest, sizes, front), n, int(F[3]))
    give_unknowns(x, r, columns, paired, dropped, head.free, n, found)
    leave_room(address)
    return OK


@leaf
def take_pairs(r, apart, names, n, z):
    """The same of a complex one."""
    for i in range(n):
        z[i] = complex(r[names[i]], r[apart + names[i]]) if names[i] >= 0 else 0.0j


@leaf
def give_pairs(x, r, apart, columns, paired, dropped, free, n, found):
    """Real parts, then imaginary parts."""
    for i in range(n):
        at = columns[i]
        if at >= 0:
            left = i >= free and dropped[i - free] == 1
            found[at] = r[paired[i]] if left else x[i].real
            found[apart + at] = r[apart + paired[i]] if left else x[i].imag


@kernel(OPERATOR)
def table_complex_solve_with(context, mode, t, a, b, data, out):
    """COMPLEX_SOLVE: the same with real parts, then imaginary parts."""
    head = see(numbers_at(context, 1))
    n, ny = head.free + head.multipliers, head.at_w + head.nv + head.n_rows
    address = take_room(7 * n + 2 * head.largest)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    c = complex(F[1], F[2])
    N = numbers_at(a + 8 * (TELLS + head.n_linear), 2).view(np.complex128)  # panels; nothing turns
    z, x = numbers_at(address, 2).view(np.complex128), numbers_at(address + 16 * n, 2).view(np.complex128)
    rest, sizes = numbers_at(address + 32 * n, 2).view(np.complex128), numbers_at(address + 48 * n, 1)
    front = numbers_at(address + 56 * n, 2).view(np.complex128)
    names, columns = whole_at(head.row_places, 1), whole_at(head.column_places, 1)
    paired, dropped = whole_at(head.paired, 1), whole_at(head.dropped, 1)
    take_pairs(r, ny, names, n, z)
    refined(program_of(head), Matrix(F, TELLS, N, 1, c, 1.0 / c), N, Solving(x, z, rest, sizes, front), n, int(F[3]))
    give_pairs(x, r, ny, columns, paired, dropped, head.free, n, found)
    leave_room(address)
    return OK
