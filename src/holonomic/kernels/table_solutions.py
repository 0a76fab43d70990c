"""Solutions with the factors of Newton's matrix of tables, and the product of that matrix with a vector."""

from __future__ import annotations

import numpy as np

from ..errors import NOT_FINITE, OK
from ..native.marks import kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .elements import clear, scatter
from .newton_memory import OPERATOR, TELLS, program_of, see
from .refined_fronts import Solving, refined
from .saddle_fronts import Matrix, take_coordinates, take_product
from .turning import coordinates_of, eliminate_coordinates


@leaf
def moved(x, at_x, y, at_y, n):
    """Copy n numbers."""
    for i in range(n):
        y[at_y + i] = x[at_x + i]


@leaf
def take_right(b, at, to, order, n):
    """Part of a right hand side in the order of the tables."""
    for i in range(n):
        to[i] = b[at + order[i]]


@kernel(OPERATOR)
def table_newton_solve(context, mode, t, a, b, data, out):
    """NEWTON_SOLVE: a = factors, b = r -> solution."""
    head = see(numbers_at(context, 1))
    nq, nv, rows, dim = head.nq, head.nv, head.n_rows, head.turning * head.turned
    ns = head.states
    n = nv + ns + rows
    room = nq + nv + dim + 4 * n + head.largest
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    c, times = F[1], int(F[3])
    at = a + 8 * (TELLS + head.n_linear)
    N, A, P = (numbers_at(at, 1), numbers_at(at + 8 * dim * head.spun, 1), numbers_at(at + 8 * dim * (head.spun + head.turned), 1))
    rq, s, st = numbers_at(address, 1), numbers_at(address + 8 * nq, 1), numbers_at(address + 8 * (nq + nv), 1)
    at = address + 8 * (nq + nv + dim)
    z, x, rest, sizes = (numbers_at(at, 1), numbers_at(at + 8 * n, 1), numbers_at(at + 16 * n, 1), numbers_at(at + 24 * n, 1))
    front = numbers_at(at + 32 * n, 1)
    order_q, order_v, plain, dropped = (
        whole_at(head.order_q, 1),
        whole_at(head.order_v, 1),
        whole_at(head.plain, 1),
        whole_at(head.dropped, 1),
    )
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, c, F[4])
    take_right(r, 0, rq, order_q, nq)
    take_right(r, nq, z, order_v, nv)
    moved(rq, nq - ns, z, nv, ns)
    moved(r, nq + nv, z, nv + ns, rows)
    eliminate_coordinates(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, A, s, st)
    take_coordinates(program, matrix, s, st, z)
    refined(program, matrix, P, Solving(x, z, rest, sizes, front), n, times)
    coordinates_of(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, head.spun, N, s, st, x)
    moved(x, nv, rq, nq - ns, ns)
    scatter(order_q, rq, 0, found, 0, nq, 1.0)
    scatter(order_v, x, 0, found, nq, nv, 1.0)
    for i in range(rows):
        found[nq + nv + i] = r[nq + nv + i] if dropped[i] == 1 else x[nv + ns + i]
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_motion_times(context, mode, t, a, b, data, out):
    """MOTION_TIMES: the matrix of real factors times a vector, in the rows of dynamics and of constraints."""
    head = see(numbers_at(context, 1))
    nq, nv, rows = head.nq, head.nv, head.n_rows
    free = nv + head.states
    n = free + rows
    address = take_room(3 * n + 1)
    if address == 0:
        return NOT_FINITE
    F, given, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    x, r, sizes = numbers_at(address, 1), numbers_at(address + 8 * n, 1), numbers_at(address + 16 * n, 1)
    N = numbers_at(a + 8 * (TELLS + head.n_linear), 1)
    order_v = whole_at(head.order_v, 1)
    take_right(given, nq, x, order_v, nv)
    clear(x, nv, head.states)
    moved(given, nq + nv, x, free, rows)
    clear(r, 0, n)
    clear(sizes, 0, n)
    take_product(program_of(head), Matrix(F, TELLS, N, head.spun, F[1], F[4]), x, r, sizes)
    clear(found, 0, nq)
    scatter(order_v, r, 0, found, nq, nv, -1.0)
    for i in range(rows):
        found[nq + nv + i] = -r[free + i]
    leave_room(address)
    return OK


@leaf
def take_right_pair(b, at, apart, to, order, n):
    """The same of a complex one."""
    for i in range(n):
        to[i] = complex(b[at + order[i]], b[apart + at + order[i]])


@leaf
def scatter_pair(order, x, out, at, apart, n):
    """Real parts, then imaginary parts, in the order of the model."""
    for i in range(n):
        out[at + order[i]] = x[i].real
        out[apart + at + order[i]] = x[i].imag


@kernel(OPERATOR)
def table_complex_solve(context, mode, t, a, b, data, out):
    """COMPLEX_SOLVE: the same with real parts, then imaginary parts."""
    head = see(numbers_at(context, 1))
    nq, nv, rows, dim = head.nq, head.nv, head.n_rows, head.turning * head.turned
    ns = head.states
    n, ny = nv + ns + rows, nq + nv + rows
    room = 2 * (nq + nv + dim + 3 * n + head.largest) + n
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F, r, found = numbers_at(a, 1), numbers_at(b, 1), numbers_at(out, 1)
    c, times = complex(F[1], F[2]), int(F[3])
    at = a + 8 * (TELLS + head.n_linear)
    N = numbers_at(at, 2).view(np.complex128)
    A = numbers_at(at + 16 * dim * head.spun, 2).view(np.complex128)
    P = numbers_at(at + 16 * dim * (head.spun + head.turned), 2).view(np.complex128)
    rq = numbers_at(address, 2).view(np.complex128)
    s = numbers_at(address + 16 * nq, 2).view(np.complex128)
    st = numbers_at(address + 16 * (nq + nv), 2).view(np.complex128)
    at = address + 16 * (nq + nv + dim)
    z, x = numbers_at(at, 2).view(np.complex128), numbers_at(at + 16 * n, 2).view(np.complex128)
    rest, sizes = numbers_at(at + 32 * n, 2).view(np.complex128), numbers_at(at + 48 * n, 1)
    front = numbers_at(at + 56 * n, 2).view(np.complex128)
    order_q, order_v, plain, dropped = (
        whole_at(head.order_q, 1),
        whole_at(head.order_v, 1),
        whole_at(head.plain, 1),
        whole_at(head.dropped, 1),
    )
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, c, 1.0 / c)
    take_right_pair(r, 0, ny, rq, order_q, nq)
    take_right_pair(r, nq, ny, z, order_v, nv)
    for i in range(rows):
        z[nv + ns + i] = complex(r[nq + nv + i], r[ny + nq + nv + i])
    moved(rq, nq - ns, z, nv, ns)
    eliminate_coordinates(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, A, s, st)
    take_coordinates(program, matrix, s, st, z)
    refined(program, matrix, P, Solving(x, z, rest, sizes, front), n, times)
    coordinates_of(rq, plain, nq, c, whole_at(head.turns, 1), head.turning, head.turned, head.spun, N, s, st, x)
    moved(x, nv, rq, nq - ns, ns)
    scatter_pair(order_q, rq, found, 0, ny, nq)
    scatter_pair(order_v, x, found, nq, ny, nv)
    for i in range(rows):
        at = nq + nv + i
        found[at] = r[at] if dropped[i] == 1 else x[nv + ns + i].real
        found[ny + at] = r[ny + at] if dropped[i] == 1 else x[nv + ns + i].imag
    leave_room(address)
    return OK
