"""A toy model of tables: a planar chain of bodies on pins, given as operators with an elimination of its own.

    body i   q_i = (x, y, θ), a row of the table: mass, inertia, distances of its first and second pin from the centre
    pin i    joins the second pin of body i - 1 (the origin, for the first) with the first pin of body i

Its rows of G touch two bodies, so S = G M⁻¹ Gᵀ is block tridiagonal, and so is what is left of Newton's matrix of index 2 once
q and v are eliminated. Everything is O(n); no matrix of the whole system is there in any form. The same source runs as Python
and, through one compiled operator, as machine code: the number of an operator stands first in its context, then come the tables.
"""

import numpy as np
from numba import carray, cfunc, types
from numba.extending import register_jitable

from holonomic import Index2
from holonomic.kernels.signatures import Fn
from holonomic.model.operators import Operator, Operators

FIELD, RESIDUAL, FACTOR, SOLVE, TANGENT = (int(fn) for fn in (Fn.FIELD, Fn.RESIDUAL, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT))
ENERGY, REACTIONS, EQUATIONS, LINEARIZED = (int(fn) for fn in (Fn.ENERGY, Fn.REACTIONS, Fn.EQUATIONS, Fn.LINEARIZED))
NEWTON_FACTOR, NEWTON_SOLVE, GRADIENTS = (int(fn) for fn in (Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE, Fn.GRADIENTS))
COMPLEX_FACTOR, COMPLEX_SOLVE = int(Fn.COMPLEX_FACTOR), int(Fn.COMPLEX_SOLVE)
KINEMATICS, VELOCITY, HALF_EXPLICIT = int(Fn.KINEMATICS), int(Fn.VELOCITY), int(Fn.HALF_EXPLICIT)
MASS, INERTIA, FIRST, SECOND = range(4)


@register_jitable
def arms(T, q, p, w):
    """By θ of a body: rows of its own pin (p) and of the next one (w); by x, y they are 1 and -1."""
    for i in range(len(T)):
        s, c = np.sin(q[3 * i + 2]), np.cos(q[3 * i + 2])
        p[i, 0], p[i, 1] = T[i, FIRST] * s, -T[i, FIRST] * c
        w[i, 0], w[i, 1] = T[i, SECOND] * s, -T[i, SECOND] * c


@register_jitable
def times_G(p, w, u, r):
    """r = G u"""
    for i in range(len(p)):
        for k in range(2):
            r[2 * i + k] = u[3 * i + k] + p[i, k] * u[3 * i + 2]
            if i > 0:
                r[2 * i + k] += w[i - 1, k] * u[3 * i - 1] - u[3 * i - 3 + k]


@register_jitable
def times_GT(p, w, r, u):
    """u = Gᵀ r"""
    n = len(p)
    for i in range(n):
        u[3 * i], u[3 * i + 1] = r[2 * i], r[2 * i + 1]
        u[3 * i + 2] = p[i, 0] * r[2 * i] + p[i, 1] * r[2 * i + 1]
        if i + 1 < n:
            u[3 * i] -= r[2 * i + 2]
            u[3 * i + 1] -= r[2 * i + 3]
            u[3 * i + 2] += w[i, 0] * r[2 * i + 2] + w[i, 1] * r[2 * i + 3]


@register_jitable
def eliminate(dx, dt, p, w, left_p, left_w, B):
    """Factors of S = G_left D Gᵀ, D diagonal, pin by pin: inverse pivots, blocks below and above; return min pivot / diagonal."""
    least = 1.0
    for i in range(len(p)):
        for k in range(2):
            for m in range(2):
                one = 1.0 if k == m else 0.0
                B[i, k, m] = dx[i] * one + dt[i] * left_p[i, k] * p[i, m]
                B[i, 4 + k, m] = -dx[i] * one + dt[i] * left_p[i, k] * w[i, m]  # row of this pin, columns of the next
                B[i, 2 + k, m] = -dx[i] * one + dt[i] * left_w[i, k] * p[i, m]  # row of the next, columns of this
                if i > 0:
                    B[i, k, m] += dx[i - 1] * one + dt[i - 1] * left_w[i - 1, k] * w[i - 1, m]
        before = abs(B[i, 0, 0] * B[i, 1, 1])
        if i > 0:  # lower times inverse pivot times upper, of the pin before
            for k in range(2):
                l0 = B[i - 1, 2 + k, 0] * B[i - 1, 0, 0] + B[i - 1, 2 + k, 1] * B[i - 1, 1, 0]
                l1 = B[i - 1, 2 + k, 0] * B[i - 1, 0, 1] + B[i - 1, 2 + k, 1] * B[i - 1, 1, 1]
                B[i - 1, 2 + k, 0], B[i - 1, 2 + k, 1] = l0, l1
                for m in range(2):
                    B[i, k, m] -= l0 * B[i - 1, 4, m] + l1 * B[i - 1, 5, m]
        a, b, c, d = B[i, 0, 0], B[i, 0, 1], B[i, 1, 0], B[i, 1, 1]
        det = a * d - b * c
        least = min(least, abs(det) / before)
        B[i, 0, 0], B[i, 0, 1], B[i, 1, 0], B[i, 1, 1] = d / det, -b / det, -c / det, a / det
    return least


@register_jitable
def substitute(B, r):
    """r <- S⁻¹ r"""
    n = len(B)
    for i in range(1, n):
        for k in range(2):
            r[2 * i + k] -= B[i - 1, 2 + k, 0] * r[2 * i - 2] + B[i - 1, 2 + k, 1] * r[2 * i - 1]
    for i in range(n - 1, -1, -1):
        if i + 1 < n:
            for k in range(2):
                r[2 * i + k] -= B[i, 4 + k, 0] * r[2 * i + 2] + B[i, 4 + k, 1] * r[2 * i + 3]
        x, y = r[2 * i], r[2 * i + 1]
        r[2 * i], r[2 * i + 1] = B[i, 0, 0] * x + B[i, 0, 1] * y, B[i, 1, 0] * x + B[i, 1, 1] * y


@register_jitable
def weights(T, dx, dt):
    """M⁻¹"""
    for i in range(len(T)):
        dx[i], dt[i] = 1.0 / T[i, MASS], 1.0 / T[i, INERTIA]


@register_jitable
def field(T, x, gravity, s, out):
    """q' = v, v' = M⁻¹(f - Gᵀλ) with Ḡ v' + s = 0, and the smallest pivot ratio; without s, Ḡ = G and s = γ."""
    n = len(T)
    q, v, a, lam = x[: 3 * n], x[3 * n : 6 * n], out[3 * n : 6 * n], out[6 * n : 8 * n]
    p, w, dx, dt = np.empty((n, 2)), np.empty((n, 2)), np.empty(n), np.empty(n)
    B, push = np.empty((n, 6, 2)), np.empty(3 * n)
    arms(T, q, p, w)
    weights(T, dx, dt)
    ahead_p, ahead_w = p, w
    if len(s) > 0:
        ahead_p, ahead_w = s[2 * n : 4 * n].reshape((n, 2)), s[4 * n : 6 * n].reshape((n, 2))
    out[8 * n] = eliminate(dx, dt, p, w, ahead_p, ahead_w, B)
    for i in range(n):
        a[3 * i], a[3 * i + 1], a[3 * i + 2] = 0.0, -gravity, 0.0
    times_G(ahead_p, ahead_w, a, lam)
    for i in range(n):
        turn = v[3 * i + 2] ** 2  # of the arms
        for k in range(2):
            if len(s) > 0:
                lam[2 * i + k] += s[2 * i + k]
                continue
            lam[2 * i + k] -= (-1.0) ** k * p[i, 1 - k] * turn
            if i + 1 < n:
                lam[2 * i + 2 + k] -= (-1.0) ** k * w[i, 1 - k] * turn
    substitute(B, lam)
    times_GT(p, w, lam, push)
    for i in range(n):
        a[3 * i] -= dx[i] * push[3 * i]
        a[3 * i + 1] -= dx[i] * push[3 * i + 1]
        a[3 * i + 2] -= dt[i] * push[3 * i + 2]
    out[: 3 * n] = v


@register_jitable
def residual(T, x, out):
    """Gaps of the pins, and their rates."""
    n = len(T)
    p, w = np.empty((n, 2)), np.empty((n, 2))
    arms(T, x[: 3 * n], p, w)
    for i in range(n):
        out[2 * i], out[2 * i + 1] = x[3 * i] + p[i, 1], x[3 * i + 1] - p[i, 0]
        if i > 0:
            out[2 * i] += w[i - 1, 1] - x[3 * i - 3]
            out[2 * i + 1] -= w[i - 1, 0] + x[3 * i - 2]
    times_G(p, w, x[3 * n : 6 * n], out[2 * n :])


@register_jitable
def factor_rows(T, x, out):
    """ρ, 1/‖rows‖, then arms and factors of G Gᵀ."""
    n = len(T)
    p, w, B = out[1 + 2 * n : 1 + 4 * n].reshape((n, 2)), out[1 + 4 * n : 1 + 6 * n].reshape((n, 2)), out[1 + 6 * n : 1 + 18 * n]
    ones = np.ones(n)
    arms(T, x[: 3 * n], p, w)
    out[0] = eliminate(ones, ones, p, w, p, w, B.reshape((n, 6, 2)))
    for i in range(n):
        for k in range(2):
            before = 0.0 if i == 0 else 1.0 + w[i - 1, k] ** 2
            out[1 + 2 * i + k] = 1.0 / np.sqrt(1.0 + p[i, k] ** 2 + before)


@register_jitable
def solve_rows(F, n, r, out):
    """Gᵀ (G Gᵀ)⁻¹ r; r is used up."""
    p, w, B = F[1 + 2 * n : 1 + 4 * n].reshape((n, 2)), F[1 + 4 * n : 1 + 6 * n].reshape((n, 2)), F[1 + 6 * n : 1 + 18 * n]
    substitute(B.reshape((n, 6, 2)), r)
    times_GT(p, w, r, out)


@register_jitable
def equations(T, y, slope, gravity, out):
    """q' - v,  M v' - f + Gᵀλ,  G v"""
    n = len(T)
    p, w = np.empty((n, 2)), np.empty((n, 2))
    arms(T, y[: 3 * n], p, w)
    times_GT(p, w, y[6 * n : 8 * n], out[3 * n : 6 * n])
    times_G(p, w, y[3 * n : 6 * n], out[6 * n : 8 * n])
    for i in range(n):
        for k in range(3):
            out[3 * i + k] = slope[3 * i + k] - y[3 * (n + i) + k]
            out[3 * (n + i) + k] += T[i, INERTIA if k == 2 else MASS] * slope[3 * (n + i) + k]
        out[3 * (n + i) + 1] += T[i, MASS] * gravity


@register_jitable
def linearize(T, y, out):
    """Seven numbers a body: arms, and by θ what Gᵀλ, its own pin's and the next pin's G v change; 9 n numbers."""
    n = len(T)
    J = out[: 9 * n].reshape((n, 9))
    p, w = np.empty((n, 2)), np.empty((n, 2))
    arms(T, y[: 3 * n], p, w)
    for i in range(n):
        turn, J[i, 8] = y[3 * (n + i) + 2], 0.0
        for k in range(2):
            J[i, k], J[i, 2 + k] = p[i, k], w[i, k]
            by_p, by_w = (-1.0) ** (1 - k) * p[i, 1 - k], (-1.0) ** (1 - k) * w[i, 1 - k]
            J[i, 4 + k], J[i, 6 + k] = by_p * turn, by_w * turn
            J[i, 8] += by_p * y[6 * n + 2 * i + k]
            if i + 1 < n:
                J[i, 8] += by_w * y[6 * n + 2 * i + 2 + k]


@register_jitable
def factor_newton(T, J, c, F):
    """Factors of [[c, -1, 0], [K, c M, Gᵀ], [L, G, 0]]: with q and v gone, (G + L/c) (c M + K/c)⁻¹ Gᵀ; 24 n + 1 numbers."""
    n = len(T)
    F[0], own = c, F[1 : 1 + 12 * n].reshape((n, 12))
    dx, dt, p, w, lp, lw = own[:, 0], own[:, 1], own[:, 3:5], own[:, 5:7], own[:, 7:9], own[:, 9:11]
    for i in range(n):
        dx[i], dt[i], own[i, 2] = 1.0 / (c * T[i, MASS]), 1.0 / (c * T[i, INERTIA] + J[i, 8] / c), J[i, 8]
        for k in range(2):
            p[i, k], w[i, k], lp[i, k], lw[i, k] = J[i, k], J[i, 2 + k], J[i, k] + J[i, 4 + k] / c, J[i, 2 + k] + J[i, 6 + k] / c
    return eliminate(dx, dt, p, w, lp, lw, F[1 + 12 * n : 1 + 24 * n].reshape((n, 6, 2)))


@register_jitable
def solve_newton(F, n, r, u, x):
    """Solution for r, which is used up; u has room for 3 n numbers."""
    c, own, B = F[0], F[1 : 1 + 12 * n].reshape((n, 12)), F[1 + 12 * n : 1 + 24 * n].reshape((n, 6, 2))
    rq, rv, rl, dv, lam = r[: 3 * n], r[3 * n : 6 * n], r[6 * n :], x[3 * n : 6 * n], x[6 * n : 8 * n]
    p, w, lp, lw = own[:, 3:5], own[:, 5:7], own[:, 7:9], own[:, 9:11]
    for i in range(n):
        rv[3 * i + 2] -= own[i, 2] * rq[3 * i + 2] / c
        for k in range(2):
            rl[2 * i + k] -= (lp[i, k] - p[i, k]) * rq[3 * i + 2]
            if i + 1 < n:
                rl[2 * i + 2 + k] -= (lw[i, k] - w[i, k]) * rq[3 * i + 2]
        for k in range(3):
            rv[3 * i + k] *= own[i, 1 if k == 2 else 0]
    times_G(lp, lw, rv, lam)
    for i in range(2 * n):
        lam[i] -= rl[i]
    substitute(B, lam)
    times_GT(p, w, lam, u)
    for i in range(n):
        for k in range(3):
            dv[3 * i + k] = rv[3 * i + k] - own[i, 1 if k == 2 else 0] * u[3 * i + k]
            x[3 * i + k] = (rq[3 * i + k] + dv[3 * i + k]) / c


@register_jitable
def chain(context, mode, t, a, b, data, out):
    """All operators of the chain: which, and how many bodies, stand first in the context."""
    which, n = int(context[0]), int(context[1])
    T = context[2 : 2 + 4 * n].reshape((n, 4))
    gravity = data[0]
    if which == FIELD:
        field(T, a, gravity, b[:0], out)
    elif which == HALF_EXPLICIT:
        field(T, a, gravity, b[: 6 * n], out)
    elif which == KINEMATICS:
        out[: 3 * n] = a[3 * n : 6 * n]
    elif which == VELOCITY:
        p, w = out[2 * n : 4 * n].reshape((n, 2)), out[4 * n : 6 * n].reshape((n, 2))
        arms(T, a[: 3 * n], p, w)
        times_G(p, w, a[3 * n : 6 * n], out)
    elif which == RESIDUAL:
        residual(T, a, out)
    elif which == FACTOR:
        factor_rows(T, a, out)
    elif which == SOLVE:
        solve_rows(a, n, b[: 2 * n].copy(), out)
    elif which == TANGENT:
        r = np.empty(2 * n)
        times_G(a[1 + 2 * n : 1 + 4 * n].reshape((n, 2)), a[1 + 4 * n : 1 + 6 * n].reshape((n, 2)), b, r)
        solve_rows(a, n, r, out)
    elif which == ENERGY:
        out[0] = out[1] = 0.0
        for i in range(n):
            v = a[3 * (n + i) : 3 * (n + i) + 3]
            out[0] += 0.5 * (T[i, MASS] * (v[0] ** 2 + v[1] ** 2) + T[i, INERTIA] * v[2] ** 2)
            out[1] += T[i, MASS] * gravity * a[3 * i + 1]
    elif which == REACTIONS:
        p, w = np.empty((n, 2)), np.empty((n, 2))
        arms(T, a[: 3 * n], p, w)
        times_GT(p, w, -b[: 2 * n], out)
    elif which == EQUATIONS:
        equations(T, a, b, gravity, out)
    elif which == LINEARIZED:
        linearize(T, a, out)
    elif which == GRADIENTS:
        J = a[: 9 * n].reshape((n, 9))
        for i in range(n):
            for k in range(2):
                square = 1.0 + J[i, k] ** 2 + J[i, 4 + k] ** 2
                if i > 0:
                    square += 1.0 + J[i - 1, 2 + k] ** 2 + J[i - 1, 6 + k] ** 2
                out[6 * n + 2 * i + k] = 1.0 / square
    elif which == NEWTON_FACTOR:
        out[0] = 1.0 / factor_newton(T, a[: 9 * n].reshape((n, 9)), t, out[1 : 2 + 24 * n])
    elif which == NEWTON_SOLVE:
        solve_newton(a[1 : 2 + 24 * n], n, b[: 8 * n].copy(), np.empty(3 * n), out)
    elif which == COMPLEX_FACTOR:
        F = out[1 : 3 + 48 * n].view(np.complex128)
        out[0] = 1.0 / factor_newton(T, a[: 9 * n].reshape((n, 9)), complex(t, b[0]), F)
    elif which == COMPLEX_SOLVE:
        F, x, u = a[1 : 3 + 48 * n].view(np.complex128), np.empty(8 * n, np.complex128), np.empty(3 * n, np.complex128)
        solve_newton(F, n, b[: 8 * n] + 1j * b[8 * n : 16 * n], u, x)
        out[: 8 * n], out[8 * n : 16 * n] = x.real, x.imag
    else:
        return 1
    return 0


def on_pointers(context, mode, t, a, b, data, out):
    """The same on addresses."""
    n = int(carray(context, 2)[1])
    room = 64 * n + 64  # as long as what any operator reads or writes
    tables, a, b = carray(context, 2 + 4 * n), carray(a, room), carray(b, room)
    return chain(tables, mode, t, a, b, carray(data, 1), carray(out, room))


def machine_code():
    """The operators as machine code; kept beside this file, as compiling takes ten seconds."""
    doubles = types.CPointer(types.float64)
    signature = types.int64(doubles, types.int64, types.float64, doubles, doubles, doubles, doubles)
    return cfunc(signature, cache=True, error_model="numpy")(on_pointers)


class Chain(Operators):
    """A chain of rods of 0.1 m on pins, as tables."""

    formulations = (Index2,)

    def __init__(self, n: int, compiled=None, gravity: float = 9.81):
        self.interpreted, self.compiled = compiled is None, compiled
        self.n_coordinates, self.params = 3 * n, {"g": gravity}
        self.constraint_labels = [f"pin {i} {axis}" for i in range(n) for axis in "xy"]
        self.coordinates = [f"{axis}{i}" for i in range(n) for axis in ("x", "y", "angle")]
        self.tables = np.tile([0.1, 0.1 * 0.1**2 / 12, 0.05, 0.05], (n, 1))
        self.contexts = {fn: np.concatenate([[int(fn), n], self.tables.ravel()]) for fn in Fn}

    def operators(self, formulation):
        n = self.n_coordinates // 3
        lengths = {
            Fn.FIELD: 8 * n + 1, Fn.RESIDUAL: 4 * n, Fn.VEL_FACTOR: 1 + 18 * n, Fn.VEL_SOLVE: 3 * n, Fn.VEL_TANGENT: 3 * n,
            Fn.ENERGY: 2, Fn.REACTIONS: 3 * n, Fn.KINEMATICS: 3 * n, Fn.VELOCITY: 6 * n, Fn.HALF_EXPLICIT: 8 * n + 1,
        }  # fmt: skip
        if formulation is not None:
            lengths |= {
                Fn.EQUATIONS: 8 * n, Fn.LINEARIZED: 9 * n, Fn.NEWTON_FACTOR: 2 + 24 * n, Fn.NEWTON_SOLVE: 8 * n,
                Fn.COMPLEX_FACTOR: 3 + 48 * n, Fn.COMPLEX_SOLVE: 16 * n, Fn.GRADIENTS: 8 * n,
            }  # fmt: skip
        if self.interpreted:
            return {fn: Operator(chain, self.contexts[fn], length) for fn, length in lengths.items()}
        return {fn: Operator(self.compiled.address, self.contexts[fn].ctypes.data, length) for fn, length in lengths.items()}

    def start(self, angle: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
        """At rest, every rod turned by as much from the one before, the first by as much from the horizontal."""
        n = self.n_coordinates // 3
        angles = -angle * np.arange(1, n + 1)
        steps = 0.1 * np.column_stack([np.cos(angles), np.sin(angles)])
        q = np.column_stack([np.cumsum(steps, axis=0) - 0.5 * steps, angles]).ravel()
        return q, np.zeros(3 * n)
