"""Generalized-α for constrained mechanical systems: order 2 with damping of what is not resolved.

With a the algorithmic accelerations, v̇ the true ones,

    (1 - α_m) a1 + α_m a0 = (1 - α_f) v̇1 + α_f v̇0
    q1 = q0 + h Z v0 + h² Z ((1/2 - β) a0 + β a1),      v1 = v0 + h ((1 - γ) a0 + γ a1)

and M v̇1 = f - Gᵀλ1 with the constraint of the formulation (g = 0 for index 3, G v + g_t = 0 for index 2) at
the new point, solved for v̇1 and λ1 by Newton's method.

a belongs to t + Δ h, Δ = α_m - α_f, and with index 3 the velocities that go with g = 0 at both ends of a step are off by
C h² P v̈ across the constraints, C = 1/6 - Δ/2 - β, P = M⁻¹Gᵀ(G M⁻¹Gᵀ)⁻¹G. A run that began with v̇0 and v0 instead would have
errors of order h in λ, which the damping takes away only slowly. So its first step begins with

    a0 = v̇0 + Δ h v̈0,      v0 + C h² P v̈0 (index 3)

References
----------
[arnold-bruels-2007]; [arnold-bruels-cardona-2015] on what other starting values do to λ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.evaluate import evaluate
from ..kernels.linalg import lu_factor, lu_solve
from ..kernels.newton import LOOSE, small
from ..kernels.newton_operators import linearize_by_rows
from ..kernels.signatures import (
    ACCEPT,
    ADVANCE,
    EQUATIONS,
    call_model,
)
from ..kernels.vectors import copy_row, move_on
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import as_number
from ..native.layout import REAL, Layout, view_as
from ..native.marks import inner, kernel, leaf
from .base import Integrator, Lowered
from .hermite import dense, finish, interpolate

# rows of K: field at both ends; true and algorithmic accelerations at the old and at the new point; what is added to the
# old velocities; the step for which that is, 0 before the first
TRUE, ALGORITHMIC, NEW_TRUE, NEW_ALGORITHMIC, ADDED, CONTROL = 2, 3, 4, 5, 6, 7
ITERATIONS = 12
AHEAD = 0.1  # of a step, over which v̇ is differenced for v̈0
CONTROLS = Layout("GeneralizedAlpha", (
    ("h", REAL, "step for which it has begun"),
    ("begun", REAL, "1 behind the first step"),
))  # fmt: skip
controls_of = view_as(CONTROLS, CONTROL)
# fp behind the scales (3 + 2 ny numbers): α_m, α_f, β, γ
ALPHA_M, ALPHA_F, BETA, GAMMA = range(4)


def alpha_work(size) -> int:
    """Numbers of workspace of one step."""
    ny = size.ny
    return 3 * ny * ny + 6 * ny + 8


@leaf
def constants(fp, ny):
    """α_m, α_f, β, γ"""
    c = 3 + 2 * ny
    return fp[c + ALPHA_M], fp[c + ALPHA_F], fp[c + BETA], fp[c + GAMMA]


@leaf
def influence(h, fp, ny):
    """By how much v1 and q1 follow v̇1."""
    am, af, beta, gamma = constants(fp, ny)
    factor = (1.0 - af) / (1.0 - am)
    return factor * gamma * h, factor * beta * h * h


@leaf
def kinematics(x, xn, K, h, fp, nq, nv, ny):
    """New positions and velocities from the true accelerations in NEW_TRUE (q' = v)."""
    am, af, beta, gamma = constants(fp, ny)
    for i in range(nv):
        old, speed = K[ALGORITHMIC, i], x[nq + i] + K[ADDED, i]
        new = ((1.0 - af) * K[NEW_TRUE, i] + af * K[TRUE, i] - am * old) / (1.0 - am)
        K[NEW_ALGORITHMIC, i] = new
        xn[i] = x[i] + h * speed + h * h * ((0.5 - beta) * old + beta * new)
        xn[nq + i] = speed + h * ((1.0 - gamma) * old + gamma * new)


@leaf
def scale_constraints(values, first, last, h, fp, ny):
    """Rows of constraints over the power of h that λ is raised to, so that Newton's matrix does not depend on h."""
    for i in range(first, last):
        values[i] /= abs(h) ** int(fp[1 + 2 * ny])


@leaf
def newton_matrix(run, W, at, ny, nq, nv, h, fp):
    """Rows of dynamics and constraint by (v̇1, λ1)."""
    by_v, by_q = influence(h, fp, ny)
    size = ny * ny
    m = ny - nq
    J = W[at + 2 * size : at + 2 * size + m * m].reshape((m, m))
    for i in range(m):
        row = at + (nq + i) * ny
        for j in range(nv):
            slope = W[row + size + nq + j]
            J[i, j] = slope + by_v * W[row + nq + j] + by_q * W[row + j]
        for j in range(nv, m):
            J[i, j] = W[row + nq + j]
        if i >= nv:
            scale_constraints(J[i], 0, m, h, fp, ny)
    run.jacobians += 1
    run.factorizations += 1
    return lu_factor(J, W[at + 3 * size : at + 3 * size + m].view(np.int64))


@leaf
def slopes(W, at_slope, xn, K, row, nq, nv, ny):
    """y' = (v, v̇, 0), v̇ from a row of K."""
    for i in range(nv):
        W[at_slope + i] = xn[nq + i]
        W[at_slope + nq + i] = K[row, i]
    for i in range(nq + nv, ny):
        W[at_slope + i] = 0.0


@leaf
def step_ahead(x, xs, K, s, nq, nv):
    """The state a little later."""
    for i in range(nv):
        xs[i] = x[i] + s * (x[nq + i] + 0.5 * s * K[0, nq + i])
        xs[nq + i] = x[nq + i] + s * K[0, nq + i]


@leaf
def first_accelerations(K, s, h, shift, nq, nv):
    """v̇0 and a0; v̈0 stays in the row of what is added to velocities."""
    for i in range(nv):
        K[TRUE, i] = K[0, nq + i]
        K[ADDED, i] = (K[1, nq + i] - K[0, nq + i]) / s
        K[ALGORITHMIC, i] = K[0, nq + i] + shift * h * K[ADDED, i]


@leaf
def across(W, at, at_r, K, ny, nq, nv, h, fp):
    """The right-hand side (0, G v̈0) of M x + Gᵀμ = 0, G x = G v̈0, scaled like Newton's matrix: x is P v̈0."""
    _, by_q = influence(h, fp, ny)
    r = W[at_r + nq : at_r + ny]
    for i in range(nv):
        r[i] = 0.0
    for i in range(nv, ny - nq):
        total = 0.0
        for j in range(nv):
            total += by_q * W[at + (nq + i) * ny + j] * K[ADDED, j]
        r[i] = total
    scale_constraints(r, nv, ny - nq, h, fp, ny)


@inner
def begin(model, method, run, t, h, state, at_r, at_slope):
    """a0, and what is added to v0."""
    size = model.size
    fp = method.fp
    x, xs, K, W = state.x, state.xs, state.K, state.W
    ny, nq, nv, at = size.ny, size.nq, size.nv, size.at_newton
    area, m, v = ny * ny, ny - nq, at + 3 * ny * ny
    am, af, beta, _ = constants(fp, ny)
    step_ahead(x, xs, K, AHEAD * h, nq, nv)
    status = evaluate(model, run, t + AHEAD * h, xs, K, 1, W)
    if status != OK:
        return status
    first_accelerations(K, AHEAD * h, h, am - af, nq, nv)
    slopes(W, at_slope, x, K, TRUE, nq, nv, ny)
    linearize_by_rows(model, t, x, 0, W, at_slope, at)
    across(W, at, at_r, K, ny, nq, nv, h, fp)
    if newton_matrix(run, W, at, ny, nq, nv, h, fp) != 0:
        return SINGULAR
    r = W[at_r + nq : at_r + ny]
    lu_solve(W[at + 2 * area : at + 2 * area + m * m].reshape((m, m)), W[v : v + m].view(np.int64), r)
    raised = fp[2 + ny + nq] > 0.0  # index 3
    for i in range(nv):
        K[ADDED, i] = (1.0 / 6.0 - 0.5 * (am - af) - beta) * h * h * r[i] if raised else 0.0
    controls_of(K).h = h
    return OK


@leaf
def take_changes(r, xn, K, h, fp, nq, nv, ny):
    """v̇1 and λ1 less their changes; return the size of what these make of q1, v1 and λ1, in the error norm."""
    by_v, by_q = influence(h, fp, ny)
    rtol, atol, powers, size, largest = fp[0], fp[2 : 2 + ny], fp[2 + ny : 2 + 2 * ny], abs(h), 0.0
    for i in range(nv):
        K[NEW_TRUE, i] -= r[i]
        step = abs(r[i])
        moved = step * abs(by_q) / (atol[i] + rtol * abs(xn[i]))
        sped = step * abs(by_v) * size ** int(powers[nq + i]) / (atol[nq + i] + rtol * abs(xn[nq + i]))
        if not max(moved, sped) <= largest:
            largest = max(moved, sped)
    for i in range(nq + nv, ny):
        xn[i] -= r[i - nq]
        change = abs(r[i - nq]) * size ** int(powers[i]) / (atol[i] + rtol * abs(xn[i]))
        if not change <= largest:
            largest = change
    return largest


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for accelerations and multipliers of the new point."""
    size = model.size
    fp = method.fp
    x, xn, K, W = state.x, state.xn, state.K, state.W
    ny, nq, nv, at = size.ny, size.nq, size.nv, size.at_newton
    area, m = ny * ny, ny - nq
    v = at + 3 * area
    at_r, at_slope = v + ny, v + 2 * ny
    control = controls_of(K)
    if control.begun == 0.0 and control.h != h:
        status = begin(model, method, run, t, h, state, at_r, at_slope)
        if status != OK:
            return status
    for i in range(nv):
        K[NEW_TRUE, i] = K[TRUE, i]
    for i in range(nq + nv, ny):
        xn[i] = x[i]
    before = 1e300
    for iteration in range(ITERATIONS):
        kinematics(x, xn, K, h, fp, nq, nv, ny)
        slopes(W, at_slope, xn, K, NEW_TRUE, nq, nv, ny)
        call_model(model, EQUATIONS, t + h, xn, 0, W, at_slope, W, at_r)
        run.residuals += 1
        if iteration % 3 == 0:
            linearize_by_rows(model, t + h, xn, 0, W, at_slope, at)
            if newton_matrix(run, W, at, ny, nq, nv, h, fp) != 0:
                return SINGULAR
        J = W[at + 2 * area : at + 2 * area + m * m].reshape((m, m))
        r = W[at_r + nq : at_r + ny]
        scale_constraints(r, nv, m, h, fp, ny)
        lu_solve(J, W[v : v + m].view(np.int64), r)
        change = take_changes(r, xn, K, h, fp, nq, nv, ny)
        if not change <= 1e200:
            return NO_CONVERGENCE
        if change <= fp[1] or (change >= 0.3 * before and small(change, LOOSE, xn, h, fp, nq, nq + nv, ny)):
            kinematics(x, xn, K, h, fp, nq, nv, ny)
            return OK
        before = change
    return NO_CONVERGENCE


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """New accelerations become the old ones."""
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    copy_row(K, NEW_TRUE, K, TRUE, size.nv)
    copy_row(K, NEW_ALGORITHMIC, K, ALGORITHMIC, size.nv)
    for i in range(size.nv):
        K[ADDED, i] = 0.0
    controls_of(K).begun = 1.0
    move_on(K, 1, size.nrow, xn, x, size.ny)
    return OK


@refuses_unknown
@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """Generalized-α method, order 2, fixed step, with numerical damping at high frequencies.

    Takes index 3 (the usual form) and index 2; q' must be v. Its own λ has order 2 from the first step on if rho < 1;
    with rho = 1 nothing damps what the start leaves in it, and with index 3 that is of order 1.

    Parameters
    ----------
    rho : float
        Spectral radius at infinite frequency, 0 (strong damping) to 1 (none).
    """

    rho: float = 0.8
    order = 2
    takes = "residual"
    adaptive = False
    implicit = True
    indices = (2, 3)
    only_plain = True
    needs_dense_terms = True
    references = ("arnold-bruels-2007", "arnold-bruels-cardona-2015")

    def __post_init__(self):
        if not 0.0 <= as_number(self.rho) <= 1.0:
            raise BadArgument(f"rho={self.rho!r} must lie between 0 and 1.")

    def lower(self) -> Lowered:
        alpha_m = (2.0 * self.rho - 1.0) / (self.rho + 1.0)
        alpha_f = self.rho / (self.rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        beta = 0.25 * (gamma + 0.5) ** 2
        return Lowered(
            slots={
                "advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate,
            },
            ip=np.array([1], dtype=np.int64), fp=np.array([alpha_m, alpha_f, beta, gamma]), rows=8, errors=0,
            one_step=False, dense_rows=2, work=alpha_work, wants_scales=True,
        )  # fmt: skip
