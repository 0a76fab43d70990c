"""Factors of Newton's matrix of tables in fronts, ∂R/∂y + c ∂R/∂y' with real and with complex c."""

from __future__ import annotations

import numpy as np

from ..errors import NOT_FINITE, OK
from ..native.marks import inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .elements import clear
from .newton_memory import OPERATOR, TELLS, program_of, see
from .refined_fronts import Solving, tried
from .saddle_fronts import FactorRoom, Matrix, factor_fronts
from .turning import follow, turn

ENOUGH = 1e-5  # the smallest pivot ratio up to which solutions are not tried: they lose about 1e-16 over it
BEARABLE = 1e-5  # what solutions may miss beside their parts in the end


@leaf
def take_linearized(a, F, n):
    """The linearized equations beside the factors."""
    for i in range(n):
        F[TELLS + i] = a[i]


@leaf
def tiny_part(looks):
    """Part of what its diagonal was summed from, below which a pivot is replaced."""
    return 1e-11 if looks == 0 else 1e-9 if looks == 1 else 1e-4


@leaf
def judge(F, times, missed):
    """What factors begin with."""
    F[0] = 1.0 if missed <= BEARABLE else 1e300
    F[3] = times
    return OK


@inner
def factored(head, t, over, follows, a, out):
    """Real factors with c = t, δq following δv `over` times; by a formula of the method's own where `follows` says so."""
    n, largest, dim = head.free + head.multipliers, head.largest, head.turning * head.turned
    room = largest * largest + head.left + 2 * n + 2 * largest + 3 * n
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F = numbers_at(out, 1)
    F[1], F[2], F[3], F[4] = t, 0.0, 0.0, over
    take_linearized(numbers_at(a, 1), F, head.n_linear)
    at = out + 8 * (TELLS + head.n_linear)
    N, A, P = (numbers_at(at, 1), numbers_at(at + 8 * dim * head.spun, 1), numbers_at(at + 8 * dim * (head.spun + head.turned), 1))
    if follows:
        follow(whole_at(head.turns, 1), head.turning, head.turned, head.spun, F, TELLS, over, N, A)
    else:
        turn(whole_at(head.turns, 1), head.turning, head.turned, head.spun, F, TELLS, t, N, A)
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, t, over)
    parts = numbers_at(address, 1)
    own, scales = numbers_at(address + 8 * n, 1), numbers_at(address + 8 * (n + largest), 1)
    at = address + 8 * (n + 2 * largest)
    X, left = numbers_at(at, 1), numbers_at(at + 8 * largest * largest, 1)
    clear(parts, 0, n)
    factoring = FactorRoom(X, left, parts, own, scales)
    least = factor_fronts(program, matrix, P, factoring, head.free, tiny_part(head.looks), head.looks != 1)
    at += 8 * (largest * largest + head.left)
    x, right, rest = numbers_at(at, 1), numbers_at(at + 8 * n, 1), numbers_at(at + 16 * n, 1)
    times, missed = 0, 0.0
    if not least > ENOUGH:
        solving = Solving(x, right, rest, parts, X)
        times, missed = tried(program, matrix, P, solving, whole_at(head.dropped, 1), head.free, n)
    judge(F, times, missed)
    leave_room(address)
    return OK


@kernel(OPERATOR)
def table_newton_factor(context, mode, t, a, b, data, out):
    """NEWTON_FACTOR: factors of ∂R/∂y + t ∂R/∂y'."""
    return factored(see(numbers_at(context, 1)), t, 1.0 / t, False, a, out)


@kernel(OPERATOR)
def table_motion_factor(context, mode, t, a, b, data, out):
    """MOTION_FACTOR: the same with δq = b Z δv."""
    return factored(see(numbers_at(context, 1)), t, numbers_at(b, 1)[0], True, a, out)


@kernel(OPERATOR)
def table_complex_factor(context, mode, t, a, b, data, out):
    """COMPLEX_FACTOR: the same of ∂R/∂y + (t + i b) ∂R/∂y'."""
    head = see(numbers_at(context, 1))
    n, largest, dim = head.free + head.multipliers, head.largest, head.turning * head.turned
    room = 2 * largest * largest + 2 * head.left + n + 2 * largest + 6 * n
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    F, c = numbers_at(out, 1), complex(t, numbers_at(b, 1)[0])
    F[1], F[2], F[3], F[4] = c.real, c.imag, 0.0, 0.0
    take_linearized(numbers_at(a, 1), F, head.n_linear)
    at = out + 8 * (TELLS + head.n_linear)
    N = numbers_at(at, 2).view(np.complex128)
    A = numbers_at(at + 16 * dim * head.spun, 2).view(np.complex128)
    P = numbers_at(at + 16 * dim * (head.spun + head.turned), 2).view(np.complex128)
    turn(whole_at(head.turns, 1), head.turning, head.turned, head.spun, F, TELLS, c, N, A)
    program, matrix = program_of(head), Matrix(F, TELLS, N, head.spun, c, 1.0 / c)
    parts = numbers_at(address, 1)
    own, scales = numbers_at(address + 8 * n, 1), numbers_at(address + 8 * (n + largest), 1)
    at = address + 8 * (n + 2 * largest)
    X = numbers_at(at, 2).view(np.complex128)
    left = numbers_at(at + 16 * largest * largest, 2).view(np.complex128)
    clear(parts, 0, n)
    factoring = FactorRoom(X, left, parts, own, scales)
    least = factor_fronts(program, matrix, P, factoring, head.free, tiny_part(head.looks), True)
    at += 16 * (largest * largest + head.left)
    x, right, rest = (
        numbers_at(at, 2).view(np.complex128),
        numbers_at(at + 16 * n, 2).view(np.complex128),
        numbers_at(at + 32 * n, 2).view(np.complex128),
    )
    times, missed = 0, 0.0
    if not least > ENOUGH:
        solving = Solving(x, right, rest, parts, X)
        times, missed = tried(program, matrix, P, solving, whole_at(head.dropped, 1), head.free, n)
    judge(F, times, missed)
    leave_room(address)
    return OK
