"""Operators that solve with dense matrices, for systems whose coupling leaves elimination nothing to skip.

Unrolled over its pattern, an elimination of n coupled coordinates is n³/3 operations of code: 9000 for 30 of them, 300 000 for 100.
From some size on loops over rows are as fast, and nothing has to be compiled. M = Uᵀ D U without pivoting, as in the unrolled
solve, and so S = G M⁻¹ Gᵀ; ρ is the smallest pivot beside the diagonal that it started from, and says who solves instead.
"""

from __future__ import annotations

import math

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import call_model_at, kernel, leaf, leave_room, numbers_at, take_room
from ..native.types import f8, i8
from .saddle import dense_saddle
from .signatures import NO_MODE

OPERATOR = i8(i8, i8, f8, i8, i8, i8, i8)  # context, mode, t, a, b, data, out, all by their addresses

DENSE = Layout(
    "DENSE",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("terms", "address of TERMS: q', M, f, G, γ; of projections that of VELOCITY: velocity rows, G"),
            ("context", "its context"),
            ("nq", "coordinates"),
            ("nv", "velocities"),
            ("nl", "constraint rows at velocity level"),
            ("nx", "numbers of a state"),
            ("nd", "numbers in data"),
        )
    ],
)
see = view_as(DENSE)


@leaf
def factor(T, at, n, Y, at_y, width):
    """Factor A = Uᵀ D U in T from `at` on, n x n, row by row: D U takes the upper triangle; Y, n rows, becomes U⁻ᵀ Y.

    Return the smallest pivot beside the diagonal it started from, which the last row keeps in its lower part meanwhile.
    """
    kept = at + (n - 1) * n - 1
    for i in range(1, n):
        T[kept + i] = T[at + i * n + i]
    rho = 1.0
    for k in range(n):
        own = at + k * n
        before = T[own] if k == 0 else T[kept + k]
        ratio = T[own + k] / before if before > 0.0 else 0.0
        if not ratio >= rho and rho == rho:  # NaN is kept
            rho = ratio
        inverse = 1.0 / T[own + k]
        for i in range(k + 1, n):
            m = T[own + i] * inverse
            if m != 0.0:
                low = at + i * n
                for j in range(i, n):
                    T[low + j] -= m * T[own + j]
                for c in range(width):
                    Y[at_y + i * width + c] -= m * Y[at_y + k * width + c]
    return rho


@leaf
def back(T, at, n, x, at_x):
    """Solve D U x = y in place."""
    for k in range(n - 1, -1, -1):
        own = at + k * n
        total = x[at_x + k]
        for j in range(k + 1, n):
            total -= T[own + j] * x[at_x + j]
        x[at_x + k] = total / T[own + k]


@leaf
def columns_behind(T, at_G, at_f, nv, nl, at_y):
    """Y = [Gᵀ f], row by row."""
    width = nl + 1
    for i in range(nv):
        for k in range(nl):
            T[at_y + i * width + k] = T[at_G + k * nv + i]
        T[at_y + i * width + nl] = T[at_f + i]


@leaf
def short_complement(T, at_M, nv, nl, at_y, at_S, at_r):
    """S = Y_Gᵀ D⁻¹ Y_G and r = Y_Gᵀ D⁻¹ y_f, of Y = U⁻ᵀ [Gᵀ f]."""
    width = nl + 1
    for i in range(nl * nl):
        T[at_S + i] = 0.0
    for k in range(nl):
        T[at_r + k] = 0.0
    for i in range(nv):
        row, inverse = at_y + i * width, 1.0 / T[at_M + i * nv + i]
        for k in range(nl):
            m = T[row + k] * inverse
            if m != 0.0:
                for j in range(k, nl):
                    T[at_S + k * nl + j] += m * T[row + j]
                T[at_r + k] += m * T[row + nl]


@kernel(OPERATOR)
def dense_field(context, mode, t, a, b, data, out):
    """FIELD: (q', v', λ, ρ)."""
    head = see(numbers_at(context, 1))
    nq, nv, nl = head.nq, head.nv, head.nl
    at_M = nq
    at_f = at_M + nv * nv
    at_G = at_f + nv
    at_gamma = at_G + nl * nv
    at_y = at_gamma + nl
    at_S = at_y + nv * (nl + 1)
    at_r = at_S + nl * nl
    address = take_room(at_r + nl + 1)
    if address == 0:
        return NOT_FINITE
    T, O = numbers_at(address, at_r + nl + 1), numbers_at(out, nq + nv + nl + 1)
    x, numbers = numbers_at(a, head.nx), numbers_at(data, head.nd)
    call_model_at(head.terms, head.context, NO_MODE, t, x, 0, x, 0, numbers, T, 0)
    columns_behind(T, at_G, at_f, nv, nl, at_y)
    rho = factor(T, at_M, nv, T, at_y, nl + 1)
    short_complement(T, at_M, nv, nl, at_y, at_S, at_r)
    for k in range(nl):
        T[at_r + k] += T[at_gamma + k]
    if nl > 0:
        ratio = factor(T, at_S, nl, T, at_r, 1)
        if not ratio >= rho and rho == rho:
            rho = ratio
        back(T, at_S, nl, T, at_r)
    for i in range(nq):
        O[i] = T[i]
    for i in range(nv):
        total = T[at_y + i * (nl + 1) + nl]
        for k in range(nl):
            total -= T[at_y + i * (nl + 1) + k] * T[at_r + k]
        O[nq + i] = total
    back(T, at_M, nv, O, nq)
    for k in range(nl):
        O[nq + nv + k] = T[at_r + k]
    O[nq + nv + nl] = rho
    leave_room(address)
    return OK


@kernel(OPERATOR)
def dense_refined(context, mode, t, a, b, data, out):
    """REFINED: the whole saddle-point matrix with pivoting, and one step of refinement."""
    head = see(numbers_at(context, 1))
    nq, nv, nl = head.nq, head.nv, head.nl
    size, count = nv + nl, nq + nv * nv + nv + nl * nv + nl
    room = count + 2 * size * size + 5 * size + 8
    address = take_room(room)
    if address == 0:
        return NOT_FINITE
    T, O = numbers_at(address, room), numbers_at(out, nq + size + 1)
    x, numbers = numbers_at(a, head.nx), numbers_at(data, head.nd)
    call_model_at(head.terms, head.context, NO_MODE, t, x, 0, x, 0, numbers, T, 0)
    at_G = nq + nv * nv + nv
    if dense_saddle(T, nq, nv, nl, size, count, at_G, at_G + nl * nv, O) != OK:
        O[0] = math.nan
    leave_room(address)
    return OK


# moves onto the rows, by the identity as metric: F = (ρ, 1/‖rows‖, J, the factors of J Jᵀ)


@kernel(OPERATOR)
def dense_factor(context, mode, t, a, b, data, out):
    """FACTOR: F of the rows at x."""
    head = see(numbers_at(context, 1))
    n, columns = head.nl, head.nv
    at_J, at_A = 1 + n, 1 + n + n * columns
    address = take_room(n + n * columns)
    if address == 0:
        return NOT_FINITE
    T, F = numbers_at(address, n + n * columns), numbers_at(out, at_A + n * n)
    x, numbers = numbers_at(a, head.nx), numbers_at(data, head.nd)
    call_model_at(head.terms, head.context, NO_MODE, t, x, 0, x, 0, numbers, T, 0)
    for i in range(n * columns):
        F[at_J + i] = T[n + i]
    leave_room(address)
    for k in range(n):
        for j in range(k, n):
            total = 0.0
            for c in range(columns):
                total += F[at_J + k * columns + c] * F[at_J + j * columns + c]
            F[at_A + k * n + j] = total
        F[1 + k] = 1.0 / max(math.sqrt(F[at_A + k * n + k]), 1e-300)
    F[0] = factor(F, at_A, n, F, 0, 0)
    return OK


@leaf
def inverse_in_place(F, at_A, n, r, at_r):
    """A⁻¹ r by the factors D U."""
    for k in range(n):
        own = at_A + k * n
        share = r[at_r + k] / F[own + k]
        for i in range(k + 1, n):
            r[at_r + i] -= F[own + i] * share
    back(F, at_A, n, r, at_r)


@leaf
def way_back(F, n, columns, mu, at_mu, out):
    """Jᵀ μ."""
    for c in range(columns):
        out[c] = 0.0
    for k in range(n):
        for c in range(columns):
            out[c] += F[1 + n + k * columns + c] * mu[at_mu + k]


@kernel(OPERATOR)
def dense_solve(context, mode, t, a, b, data, out):
    """SOLVE: a = F, b = r -> Jᵀ (J Jᵀ)⁻¹ r."""
    head = see(numbers_at(context, 1))
    n, columns = head.nl, head.nv
    address = take_room(n)
    if address == 0:
        return NOT_FINITE
    at_A = 1 + n + n * columns
    T, F, r = numbers_at(address, n), numbers_at(a, at_A + n * n), numbers_at(b, n)
    for k in range(n):
        T[k] = r[k]
    inverse_in_place(F, at_A, n, T, 0)
    way_back(F, n, columns, T, 0, numbers_at(out, columns))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def dense_tangent(context, mode, t, a, b, data, out):
    """TANGENT: a = F, b = e -> Jᵀ (J Jᵀ)⁻¹ J e."""
    head = see(numbers_at(context, 1))
    n, columns = head.nl, head.nv
    address = take_room(n)
    if address == 0:
        return NOT_FINITE
    at_A = 1 + n + n * columns
    T, F, e = numbers_at(address, n), numbers_at(a, at_A + n * n), numbers_at(b, columns)
    for k in range(n):
        total = 0.0
        for c in range(columns):
            total += F[1 + n + k * columns + c] * e[c]
        T[k] = total
    inverse_in_place(F, at_A, n, T, 0)
    way_back(F, n, columns, T, 0, numbers_at(out, columns))
    leave_room(address)
    return OK


@kernel(OPERATOR)
def dense_inverse(context, mode, t, a, b, data, out):
    """INVERSE: a = F, b = r -> (J Jᵀ)⁻¹ r."""
    head = see(numbers_at(context, 1))
    n = head.nl
    at_A = 1 + n + n * head.nv
    F, r, O = numbers_at(a, at_A + n * n), numbers_at(b, n), numbers_at(out, n)
    for k in range(n):
        O[k] = r[k]
    inverse_in_place(F, at_A, n, O, 0)
    return OK
