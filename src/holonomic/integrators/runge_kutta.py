"""Explicit Runge-Kutta methods: one kernel for all tableaus.

    X_i = x + h Σ_{j<i} A_ij K_j,   K_i = field(t + c_i h, X_i),   x1 = x + h Σ b_i K_i

K_0 is the field at the old point, kept from the step before. The stage at the new point is evaluated after
the stabilization has moved it; it serves the error estimate, the dense output and the next step, so no
point is evaluated twice.
"""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.signatures import ACCEPT, ADVANCE, DENSE, FINISH, INTERPOLATE
from ..kernels.vectors import move_on
from ..native.marks import kernel, leaf
from ..native.types import f8, i8, mat, vec
from . import tableaus
from .base import Integrator, Lowered

# ip: stages, error vectors, extra stages, rows of D; then where each part of the tableau starts in fp
STAGES, ERRORS, EXTRA, ROWS_D, AT_B, AT_C, AT_E, AT_D, AT_XA, AT_XC = range(10)


@leaf
def add_stages(out: vec, h: f8, fp: vec, at: i8, K: mat, count: i8, n: i8):
    """out += h Σ_{j<count} fp[at+j] K[j]

    Four entries, a pendulum's state, stay in registers until they are whole: a run of it takes 35 ns an evaluation where it
    took 44. More of them would wait for the row that was written last; they go row by row.
    """
    if n == 4:
        first, second, third, fourth = out[0], out[1], out[2], out[3]
        for j in range(count):
            if fp[at + j] != 0.0:
                weight = h * fp[at + j]
                first += weight * K[j, 0]
                second += weight * K[j, 1]
                third += weight * K[j, 2]
                fourth += weight * K[j, 3]
        out[0], out[1], out[2], out[3] = first, second, third, fourth
    else:
        for j in range(count):
            if fp[at + j] != 0.0:
                weight = h * fp[at + j]
                for i in range(n):
                    out[i] += weight * K[j, i]


@leaf
def combine(out: vec, x: vec, h: f8, fp: vec, at: i8, K: mat, count: i8, n: i8):
    """out = x + h Σ_{j<count} fp[at+j] K[j]"""
    for i in range(n):
        out[i] = x[i]
    add_stages(out, h, fp, at, K, count, n)


@leaf
def combine_error(E: mat, row: i8, h: f8, fp: vec, at: i8, K: mat, count: i8, n: i8):
    """E[row] = h Σ_{j<count} fp[at+j] K[j]"""
    for i in range(n):
        E[row, i] = 0.0
    add_stages(E[row], h, fp, at, K, count, n)


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Stages 1 .. s-1 and the new point; the argument of the last stage stays in xs."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, xs, K, W = state.x, state.xn, state.xs, state.K, state.W
    s = ip[STAGES]
    nx = size.nx
    for i in range(1, s):
        combine(xs, x, h, fp, i * s, K, i, nx)
        status = evaluate(model, run, t + fp[ip[AT_C] + i] * h, xs, K, i, W)
        if status != OK:
            return status
    combine(xn, x, h, fp, ip[AT_B], K, s, nx)
    return OK


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The stage at the new point, and the error vectors."""
    size = model.size
    ip, fp = method.ip, method.fp
    xn, K, E, W = state.xn, state.K, state.E, state.W
    s = ip[STAGES]
    status = evaluate(model, run, t + h, xn, K, s, W)
    if status != OK:
        return status
    for k in range(ip[ERRORS]):
        combine_error(E, k, h, fp, ip[AT_E] + k * (s + 1), K, s + 1, size.nx)
    return OK


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """The stage at the new point is the first of the next step."""
    size = model.size
    ip = method.ip
    x, xn, K = state.x, state.xn, state.K
    move_on(K, ip[STAGES], size.nrow, xn, x, size.nx)
    return OK


@kernel(DENSE)
def dense(model, method, run, t, h, state):
    """Extra stages of the dense output."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xs, K, W = state.x, state.xs, state.K, state.W
    first = ip[STAGES] + 1
    width = first + ip[EXTRA]
    for i in range(ip[EXTRA]):
        combine(xs, x, h, fp, ip[AT_XA] + i * width, K, first + i, size.nx)
        status = evaluate(model, run, t + fp[ip[AT_XC] + i] * h, xs, K, first + i, W)
        if status != OK:
            return status
    return OK


@leaf
def interpolant(theta: f8, h: f8, x: vec, x1: vec, K: mat, s: i8, fp: vec, at_d: i8, rows_d: i8, width: i8, n: i8, out: vec):
    """Cubic Hermite through both (stabilized) ends, plus the terms of D that vanish there with their slopes."""
    turn = 1.0 - theta
    rise = theta * theta * (3.0 - 2.0 * theta)
    first = h * theta * turn * turn
    last = -h * theta * theta * turn
    for i in range(n):
        out[i] = x[i] + rise * (x1[i] - x[i]) + first * K[0, i] + last * K[s, i]
    for row in range(rows_d):
        bump = theta * theta * turn * turn  # θ²(1-θ)², then times θ, (1-θ), θ
        if row >= 1:
            bump *= theta
        if row >= 2:
            bump *= turn
        if row >= 3:
            bump *= theta
        for j in range(width):
            if fp[at_d + row * width + j] != 0.0:
                weight = h * bump * fp[at_d + row * width + j]
                for i in range(n):
                    out[i] += weight * K[j, i]


@kernel(INTERPOLATE)
def interpolate(model, method, theta, h, state, out):
    """The state at t + θ h."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K = state.x, state.xn, state.K
    width = ip[STAGES] + 1 + ip[EXTRA]
    interpolant(theta, h, x, xn, K, ip[STAGES], fp, ip[AT_D], ip[ROWS_D], width, size.nx, out)
    return OK


@cache
def lowered_tableau(tableau: tableaus.Tableau) -> Lowered:
    """Return what the step loop takes of a tableau."""
    s, extra = tableau.n_stages, tableau.n_extra
    parts = [tableau.A, tableau.b, tableau.c, np.array(tableau.error), tableau.D, tableau.extra_A, tableau.extra_c]
    flat = [np.asarray(part, dtype=float).ravel() for part in parts]
    starts = np.cumsum([0] + [len(part) for part in flat])
    ip = np.array([s, len(tableau.error), extra, len(tableau.D), *starts[1:7]], dtype=np.int64)
    return Lowered(
        slots={
            "advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate,
        },
        ip=ip, fp=np.concatenate([*flat, np.zeros(1)]), exact_fp=partial(_exact, tableau) if tableau.is_exact else None,
        rows=s + 1 + extra, errors=len(tableau.error),
        exponent=tableau.exponent, beta=tableau.beta, safety=tableau.safety, fac_min=tableau.fac_min,
        fac_max=tableau.fac_max, foresees=tableau.foresees, stiff_bound=tableau.stiff_bound,
        error_order=tableau.error_order, nodes=np.concatenate([tableau.c, [1.0], np.ravel(tableau.extra_c)]),
    )  # fmt: skip


def _exact(tableau: tableaus.Tableau) -> list:
    """The numbers of a tableau in the order of `fp`, without rounding."""
    parts = [tableau.exact[name] for name in ("A", "b", "c", "error", "D", "extra_A", "extra_c")]  # type: ignore[index]
    return [*(value for part in parts for value in part.flat), 0]


class RungeKutta(Integrator):
    """Explicit Runge-Kutta method given by its tableau."""

    tableau: tableaus.Tableau

    @property
    def stage_at_end(self) -> bool:  # type: ignore[override]
        return self.tableau.n_stages > 1 and float(self.tableau.c[-1]) == 1.0

    def lower(self) -> Lowered:
        return lowered_tableau(self.tableau)


class Euler(RungeKutta):
    """Forward Euler, order 1, fixed step."""

    order, adaptive, references = 1, False, ("HNW93",)
    tableau = tableaus.EULER


class Heun(RungeKutta):
    """Heun's method (explicit trapezoid), order 2, fixed step."""

    order, adaptive, references = 2, False, ("HNW93",)
    tableau = tableaus.HEUN


class Midpoint(RungeKutta):
    """Explicit midpoint rule, order 2, fixed step."""

    order, adaptive, references = 2, False, ("HNW93",)
    tableau = tableaus.MIDPOINT


class RK4(RungeKutta):
    """The classical Runge-Kutta method, order 4, fixed step."""

    order, adaptive, references = 4, False, ("HNW93",)
    tableau = tableaus.RK4


class RK23(RungeKutta):
    """Bogacki-Shampine 3(2), adaptive."""

    order, adaptive, references = 3, True, ("bogacki-shampine-1989",)
    tableau = tableaus.RK23


class RK45(RungeKutta):
    """Dormand-Prince 5(4) with DOPRI5's controller and dense output of order 4."""

    order, adaptive, references = 5, True, ("dormand-prince-1980", "HNW93")
    tableau = tableaus.RK45
    chosen_for = "order 5 with error control: its error follows rtol in short runs, too"
    recommended = True


class DOP853(RungeKutta):
    """Dormand-Prince 8(5,3), adaptive, with dense output of order 7."""

    order, adaptive, references = 8, True, ("prince-dormand-1981", "HNW93")
    tableau = tableaus.DOP853
    chosen_for = "order 8 with error control: the fewest evaluations for smooth motion"
    recommended = True
