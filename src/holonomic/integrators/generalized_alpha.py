"""Generalized-α for constrained mechanical systems: order 2 with damping of what is not resolved.

With a the algorithmic accelerations, v̇ the true ones,

    (1 - α_m) a1 + α_m a0 = (1 - α_f) v̇1 + α_f v̇0
    q1 = q0 + h Z v0 + h² Z ((1/2 - β) a0 + β a1),      v1 = v0 + h ((1 - γ) a0 + γ a1)

and M v̇1 = f - Gᵀλ1 with the constraint of the formulation (g = 0 for index 3, G v + g_t = 0 for index 2) at
the new point, solved for v̇1 and λ1 by Newton's method.

References
----------
[arnold-bruels-2007] (its starting values a0 = v̇0 are used here as they are).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.compile import kernel, leaf
from ..kernels.counting import FACTORIZATIONS, JACOBIANS, RESIDUALS, count
from ..kernels.linalg import lu_factor, lu_solve
from ..kernels.signatures import (
    ACCEPT,
    ADVANCE,
    BY_SLOPE,
    BY_Y,
    EQUATIONS,
    NQ,
    NROW,
    NV,
    NY,
    WN,
    call_model,
)
from ..kernels.vectors import copy_row, move_on
from ..model.arguments import refuses_unknown
from .base import Integrator, Lowered
from .hermite import dense, finish, interpolate

# rows of K: field at both ends; true and algorithmic accelerations at the old and at the new point
TRUE, ALGORITHMIC, NEW_TRUE, NEW_ALGORITHMIC, CONTROL = 2, 3, 4, 5, 6
ITERATIONS = 12
ENOUGH = 1e-11
STALLED = 1e-6
EPS = 2.220446049250313e-16
# fp: α_m, α_f, β, γ
ALPHA_M, ALPHA_F, BETA, GAMMA = range(4)


def alpha_work(ny: int) -> int:
    """Numbers of workspace of one step."""
    return 3 * ny * ny + 6 * ny + 8


@leaf
def kinematics(x, xn, K, h, fp, nq, nv):
    """New positions and velocities from the true accelerations in NEW_TRUE (q' = v)."""
    am, af, beta, gamma = fp[ALPHA_M], fp[ALPHA_F], fp[BETA], fp[GAMMA]
    for i in range(nv):
        old = K[ALGORITHMIC, i]
        new = ((1.0 - af) * K[NEW_TRUE, i] + af * K[TRUE, i] - am * old) / (1.0 - am)
        K[NEW_ALGORITHMIC, i] = new
        xn[i] = x[i] + h * x[nq + i] + h * h * ((0.5 - beta) * old + beta * new)
        xn[nq + i] = x[nq + i] + h * ((1.0 - gamma) * old + gamma * new)


@leaf
def newton_matrix(W, at, ny, nq, nv, h, fp):
    """Rows of dynamics and constraint by (v̇1, λ1), λ scaled to the size of accelerations."""
    factor = (1.0 - fp[ALPHA_F]) / (1.0 - fp[ALPHA_M])
    by_v, by_q = factor * fp[GAMMA] * h, factor * fp[BETA] * h * h
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
    count(W, JACOBIANS, 1)
    count(W, FACTORIZATIONS, 1)
    return lu_factor(J, W[at + 3 * size : at + 3 * size + m].view(np.int64))


@kernel(ADVANCE)
def advance(fns, n, data, ip, fp, t, h, x, K, xn, xs, W):
    """Solve for accelerations and multipliers of the new point."""
    ny, nq, nv, at = n[NY], n[NQ], n[NV], n[WN]
    size, m = ny * ny, ny - nq
    v = at + 3 * size
    at_r, at_slope = v + ny, v + 2 * ny
    if K[CONTROL, 0] == 0.0:
        for i in range(nv):
            K[TRUE, i] = K[0, nq + i]
            K[ALGORITHMIC, i] = K[0, nq + i]
        K[CONTROL, 0] = 1.0
    for i in range(nv):
        K[NEW_TRUE, i] = K[TRUE, i]
    for i in range(nq + nv, ny):
        xn[i] = x[i]
    before = 1e300
    stalled = max(STALLED, 1e3 * EPS / (h * h))  # rounding of positions, seen in accelerations and multipliers
    for iteration in range(ITERATIONS):
        kinematics(x, xn, K, h, fp, nq, nv)
        for i in range(nv):
            W[at_slope + i] = xn[nq + i]
            W[at_slope + nq + i] = K[NEW_TRUE, i]
        for i in range(nq + nv, ny):
            W[at_slope + i] = 0.0
        call_model(fns, EQUATIONS, t + h, xn, 0, W, at_slope, data, W, at_r)
        count(W, RESIDUALS, 1)
        if iteration % 3 == 0:
            call_model(fns, BY_Y, t + h, xn, 0, W, at_slope, data, W, at)
            call_model(fns, BY_SLOPE, t + h, xn, 0, W, at_slope, data, W, at + size)
            if newton_matrix(W, at, ny, nq, nv, h, fp) != 0:
                return SINGULAR
        J = W[at + 2 * size : at + 2 * size + m * m].reshape((m, m))
        r = W[at_r + nq : at_r + ny]
        lu_solve(J, W[v : v + m].view(np.int64), r)
        change = 0.0
        for i in range(nv):
            K[NEW_TRUE, i] -= r[i]
            change = max(change, abs(r[i]) / (1.0 + abs(K[NEW_TRUE, i])))
        for i in range(nv, m):
            xn[nq + i] -= r[i]
            change = max(change, abs(r[i]) / (1.0 + abs(xn[nq + i])))
        if not change <= 1e200:
            return NO_CONVERGENCE
        if change <= ENOUGH or (change <= stalled and change >= 0.3 * before):
            kinematics(x, xn, K, h, fp, nq, nv)
            return OK
        before = change
    return NO_CONVERGENCE


@kernel(ACCEPT)
def accept(n, ip, fp, h, x, K, xn):
    """New accelerations become the old ones."""
    copy_row(K, NEW_TRUE, K, TRUE, n[NV])
    copy_row(K, NEW_ALGORITHMIC, K, ALGORITHMIC, n[NV])
    move_on(K, 1, n[NROW], xn, x, n[NY])
    return OK


@refuses_unknown
@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """Generalized-α method, order 2, fixed step, with numerical damping at high frequencies.

    Takes index 3 (the usual form) and index 2; q' must be v.

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
    plain = True
    references = ("arnold-bruels-2007",)

    def __post_init__(self):
        if not 0.0 <= self.rho <= 1.0:
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
            ip=np.array([1], dtype=np.int64), fp=np.array([alpha_m, alpha_f, beta, gamma]), rows=7, errors=0,
            one_step=False, work=alpha_work,
        )  # fmt: skip
