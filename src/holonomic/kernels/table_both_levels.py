"""Solutions with the factors of Newton's matrix of tables where constraints stand at two levels, by λ and by μ.

    [ cM - f_v + K ..   Gᵀ      ] [ δv ]
    [   -Z     c + ..       g_qᵀ ] [ δq ]
    [    G     L                 ] [ δλ ]
    [          g_q               ] [ δμ ]

Coordinates are variables of the matrix here: what μ moves them by couples bodies, so that δq does not follow from δv body by body.
Variables are velocities, states, coordinates of bodies, λ, μ.
"""

from __future__ import annotations

import numpy as np

from ..errors import NOT_FINITE, OK
from ..native.marks import kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .newton_memory import OPERATOR, TELLS, program_of, see
from .refined_fronts import Solving, refined
from .saddle_fronts import Matrix


@leaf
def place_of(i, order_q, order_v, nq, nv, states, free):
    """Place of a variable among the unknowns of the model."""
    if i < nv:
        return nq + order_v[i]
    if i < nv + states:
        return order_q[nq - nv - states + i]
    if i < free:
        return order_q[i - nv - states]
    return nq + nv + i - free


@leaf
def take_right(r, order_q, order_v, nq, nv, states, free, n, z):
    """A right hand side in the order of the variables."""
    for i in range(n):
        z[i] = r[place_of(i, order_q, order_v, nq, nv, states, free)]


@leaf
def give_solution(x, r, dropped, order_q, order_v, nq, nv, states, free, n, found):
    """A solution in the order of the model; multipliers of rows that are left out are what the equations say."""
    for i in range(n):
        at = place_of(i, order_q, order_v, nq, nv, states, free)
        found[at] = r[at] if i >= free and dropped[i - free] == 1 else x[i]


@kernel(OPERATOR)
def table_both_solve(context, mode, t, a, b, data, out):
    """NEWTON_SOLVE: a = factors, b = r -> solution."""
    head = see(numbers_at(context, 1))
    nq, nv, states, free = head.nq, head.nv, head.states, head.free
    n = free + head.multipliers
    address = take_room(4 * n + head.largest)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    P = numbers_at(a + 8 * (TELLS + head.n_linear), 1)
    z, x, rest = numbers_at(address, 1), numbers_at(address + 8 * n, 1), numbers_at(address + 16 * n, 1)
    sizes, front = numbers_at(address + 24 * n, 1), numbers_at(address + 32 * n, 1)
    order_q, order_v, dropped = whole_at(head.order_q, 1), whole_at(head.order_v, 1), whole_at(head.dropped, 1)
    take_right(r, order_q, order_v, nq, nv, states, free, n, z)
    refined(program_of(head), Matrix(F, TELLS, F, 1, F[1], F[4]), P, Solving(x, z, rest, sizes, front), n, int(F[3]))
    give_solution(x, r, dropped, order_q, order_v, nq, nv, states, free, n, found)
    leave_room(address)
    return OK


@leaf
def take_pair(r, apart, order_q, order_v, nq, nv, states, free, n, z):
    """The same of a complex one."""
    for i in range(n):
        at = place_of(i, order_q, order_v, nq, nv, states, free)
        z[i] = complex(r[at], r[apart + at])


@leaf
def give_pair(x, r, apart, dropped, order_q, order_v, nq, nv, states, free, n, found):
    """Real parts, then imaginary parts."""
    for i in range(n):
        at = place_of(i, order_q, order_v, nq, nv, states, free)
        left = i >= free and dropped[i - free] == 1
        found[at] = r[at] if left else x[i].real
        found[apart + at] = r[apart + at] if left else x[i].imag


@kernel(OPERATOR)
def table_both_complex_solve(context, mode, t, a, b, data, out):
    """COMPLEX_SOLVE: the same with real parts, then imaginary parts."""
    head = see(numbers_at(context, 1))
    nq, nv, states, free = head.nq, head.nv, head.states, head.free
    n, ny = free + head.multipliers, head.nq + head.nv + head.multipliers
    address = take_room(7 * n + 2 * head.largest)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    c = complex(F[1], F[2])
    N = numbers_at(a + 8 * (TELLS + head.n_linear), 2).view(np.complex128)  # panels; nothing turns
    z, x = numbers_at(address, 2).view(np.complex128), numbers_at(address + 16 * n, 2).view(np.complex128)
    rest, sizes = numbers_at(address + 32 * n, 2).view(np.complex128), numbers_at(address + 48 * n, 1)
    front = numbers_at(address + 56 * n, 2).view(np.complex128)
    order_q, order_v, dropped = whole_at(head.order_q, 1), whole_at(head.order_v, 1), whole_at(head.dropped, 1)
    take_pair(r, ny, order_q, order_v, nq, nv, states, free, n, z)
    refined(program_of(head), Matrix(F, TELLS, N, 1, c, 1.0 / c), N, Solving(x, z, rest, sizes, front), n, int(F[3]))
    give_pair(x, r, ny, dropped, order_q, order_v, nq, nv, states, free, n, found)
    leave_room(address)
    return OK
