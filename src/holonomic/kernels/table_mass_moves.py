"""Moves of velocities along M⁻¹Gᵀ on tables whose M has no inverse in blocks, from the whole matrix in fronts.

    M x + Gᵀμ = 0,   G x = r,      x = M⁻¹Gᵀ(G M⁻¹Gᵀ)⁻¹ r

M may be singular where constraints hold what has no inertia. Factors are ρ, 1/‖rows‖, the linearized equations and panels; forces
that follow multipliers are no part of it.
"""

from __future__ import annotations

import math

from ..errors import NOT_FINITE, OK
from ..native.marks import inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .elements import clear, scatter
from .newton_memory import OPERATOR, program_of, see
from .refined_fronts import Solving, refined
from .saddle_fronts import FactorRoom, Matrix, factor_fronts, row_gradients, take_product
from .table_equations import equations_room, linearized_of
from .table_solutions import take_right

REFINEMENTS = 1  # of every solution: masses may be far apart


@leaf
def lengths_of(squares, at, F, to, n):
    """1/‖row‖ of every row."""
    for i in range(n):
        F[to + i] = 1.0 / math.sqrt(max(squares[at + i], 1e-300))


@kernel(OPERATOR)
def table_mass_factor(context, mode, t, a, b, data, out):
    """VEL_FACTOR: F of the rows at x."""
    head = see(numbers_at(context, 1))
    free, rows, ny, largest = head.nv + head.states, head.n_rows, head.nq + head.nv + head.n_rows, head.largest
    n, room = free + rows, equations_room(head)
    address = take_room(room + 2 * ny + 2 * n + largest * largest + head.left + 2 * largest + 8)
    if address == 0:
        return NOT_FINITE
    x, F, L = numbers_at(a, 1), numbers_at(out, 1), numbers_at(out + 8 * (1 + rows), 1)
    at = address + 8 * room
    y, slope = numbers_at(at, 1), numbers_at(at + 8 * ny, 1)
    at += 16 * ny
    parts, squares = numbers_at(at, 1), numbers_at(at + 8 * n, 1)
    at += 16 * n
    X, left = numbers_at(at, 1), numbers_at(at + 8 * largest * largest, 1)
    at += 8 * (largest * largest + head.left)
    own, scales = numbers_at(at, 1), numbers_at(at + 8 * largest, 1)
    for i in range(head.nq + head.nv):
        y[i] = x[i]
    clear(y, head.nq + head.nv, rows)
    clear(slope, 0, ny)
    clear(parts, 0, n)
    clear(squares, 0, n)
    linearized_of(head, address, t, y, slope, numbers_at(data, 1), L)
    program = program_of(head)
    row_gradients(program, L, free, squares)
    lengths_of(squares, free, F, 1, rows)
    P = numbers_at(out + 8 * (1 + rows + head.n_linear), 1)
    F[0] = factor_fronts(program, Matrix(L, 0, L, 1, 1.0, 1.0), P, FactorRoom(X, left, parts, own, scales), free, 1e-11, True)
    leave_room(address)
    return OK


@inner
def moves_room(head):
    """Numbers of room that `way_back` takes, and a vector before it."""
    return 5 * (head.nv + head.states + head.n_rows) + head.largest + 8


@inner
def way_back(head, address, F, r, out):
    """The move for rows r, with the room at an address; μ behind the velocities and states of what stands there."""
    free, rows = head.nv + head.states, head.n_rows
    n, dropped = free + rows, whole_at(head.dropped, 1)
    x, right, rest, sizes, front = (
        numbers_at(address, 1),
        numbers_at(address + 8 * n, 1),
        numbers_at(address + 16 * n, 1),
        numbers_at(address + 24 * n, 1),
        numbers_at(address + 32 * n, 1),
    )
    L, P = numbers_at(F + 8 * (1 + rows), 1), numbers_at(F + 8 * (1 + rows + head.n_linear), 1)
    clear(right, 0, free)
    for i in range(rows):
        right[free + i] = 0.0 if dropped[i] == 1 else r[i]
    refined(program_of(head), Matrix(L, 0, L, 1, 1.0, 1.0), P, Solving(x, right, rest, sizes, front), n, REFINEMENTS)
    scatter(whole_at(head.order_v, 1), x, 0, out, 0, head.nv, 1.0)


@kernel(OPERATOR)
def table_mass_solve(context, mode, t, a, b, data, out):
    """VEL_SOLVE: a = F, b = r -> x."""
    head = see(numbers_at(context, 1))
    address = take_room(moves_room(head))
    if address == 0:
        return NOT_FINITE
    way_back(head, address, a, numbers_at(b, 1), numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_mass_tangent(context, mode, t, a, b, data, out):
    """VEL_TANGENT: a = F, b = e -> x for r = G e."""
    head = see(numbers_at(context, 1))
    address = take_room(moves_room(head))
    if address == 0:
        return NOT_FINITE
    free, rows = head.nv + head.states, head.n_rows
    n = free + rows
    x, sizes, r = numbers_at(address, 1), numbers_at(address + 8 * n, 1), numbers_at(address + 32 * n, 1)
    L = numbers_at(a + 8 * (1 + rows), 1)
    clear(x, 0, n)
    clear(r, 0, n)
    take_right(numbers_at(b, 1), 0, x, whole_at(head.order_v, 1), head.nv)
    take_product(program_of(head), Matrix(L, 0, L, 1, 1.0, 1.0), x, r, sizes)
    for i in range(rows):
        r[i] = -r[free + i]
    way_back(head, address, a, r, numbers_at(out, 1))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_mass_inverse(context, mode, t, a, b, data, out):
    """VEL_INVERSE: a = F, b = r -> (G M⁻¹Gᵀ)⁻¹ r; nothing of rows that are left out."""
    head = see(numbers_at(context, 1))
    free, rows = head.nv + head.states, head.n_rows
    address = take_room(moves_room(head) + head.nv)
    if address == 0:
        return NOT_FINITE
    way_back(head, address, a, numbers_at(b, 1), numbers_at(address + 8 * moves_room(head), 1))
    mu, found, dropped = numbers_at(address, 1), numbers_at(out, 1), whole_at(head.dropped, 1)
    for i in range(rows):
        found[i] = 0.0 if dropped[i] == 1 else -mu[free + i]
    leave_room(address)
    return OK
