"""Return to the constraints along the shortest path after every step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import OK, PULL_FAILED, SINGULAR
from ..kernels.compile import kernel
from ..kernels.signatures import (
    NL,
    NP,
    NQ,
    NV,
    POS_FACTOR,
    POS_SOLVE,
    PULL,
    RESIDUAL,
    SHARED,
    VEL_FACTOR,
    VEL_SOLVE,
    WD,
    WP,
    WR,
    WV,
    Fn,
    call_model,
)
from ..kernels.vectors import largest_scaled, norm, subtract
from .base import HOPELESS, ITERATIONS, N_NUMBERS, POSITION, TOL, VELOCITY, Lowered, Stabilization, tangent

RHO_SMALLEST = 1e-14  # below, the factors of J W⁻¹ Jᵀ hold no digit


@dataclass(frozen=True)
class Projection(Stabilization):
    """Return to the constraints along the shortest path.

    Solves  Δq + W⁻¹Gᵀμ = 0,  g(t, q + Δq) = 0  by simplified Newton with the factors of this step, then
    Δv + W⁻¹Gᵀν = 0,  G(v + Δv) + g_t = 0, which is linear. For an `Ode` the invariants take the place of g.

    Parameters
    ----------
    tol : float, optional
        Largest scaled residual |g_i|/‖G_i‖ over max(1, ‖q‖) left behind; min(1e-10, rtol/10) if not given.
    metric : None, "mass" or sequence of float
        W: identity, the mass matrix, or weights for (q, v). Not "mass" for heterogeneous masses.
    max_iterations : int
        Newton steps before the step is refused.

    References
    ----------
    [HLW06] Sec. IV.4 (its y is our q, v); [eich-1993] (2.4), (2.5); [ascher-petzold-1993] (4.18) - (4.22).
    """

    tol: float | None = None
    metric: str | tuple[float, ...] | None = None
    max_iterations: int = 8
    acts = "step"
    drift_order = "below tolerance; rounding"
    references = ("HLW06", "eich-1993")

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        sp = np.zeros(N_NUMBERS)
        sp[TOL] = tol if self.tol is None else self.tol
        sp[ITERATIONS] = self.max_iterations
        sp[POSITION] = sp[VELOCITY] = 1.0
        sp[HOPELESS] = hopeless
        needs = (
            Fn.RESIDUAL, Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT,
            Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT,
        )  # fmt: skip
        return Lowered(pull, tangent, sp, needs, metric=self.metric)


@kernel(PULL)
def pull(fns, n, data, sp, t, x, W):
    """Project x = (q, v) in place; the factors at the new point stay in W for the error estimate."""
    nq, rows = n[NQ], n[NP]
    at_r, at_d = n[WR], n[WD]
    moved = False
    if rows > 0:
        at_F = n[WP]
        call_model(fns, POS_FACTOR, t, x, 0, x, 0, data, W, at_F)
        if not W[at_F] > RHO_SMALLEST:
            return SINGULAR
        scale = max(1.0, norm(x, 0, nq))
        before = 1e300
        converged = False
        for _ in range(int(sp[ITERATIONS]) + 1):
            call_model(fns, RESIDUAL, t, x, 0, x, 0, data, W, at_r)
            distance = largest_scaled(W, at_r, at_F, rows) / scale
            if distance <= sp[TOL] or (distance <= 1e-13 and distance >= 0.5 * before):
                converged = True
                break
            if not distance < 0.7 * before or distance > sp[HOPELESS]:
                return PULL_FAILED
            before = distance
            call_model(fns, POS_SOLVE, t, W, at_F, W, at_r, data, W, at_d)
            subtract(x, 0, W, at_d, nq, 1.0)
            moved = True
        if not converged:
            return PULL_FAILED
    else:
        call_model(fns, RESIDUAL, t, x, 0, x, 0, data, W, at_r)
    if n[NL] > 0:
        at_F = n[WV]
        if moved or n[SHARED] == 0:
            call_model(fns, VEL_FACTOR, t, x, 0, x, 0, data, W, at_F)
            if not W[at_F] > RHO_SMALLEST:
                return SINGULAR
        call_model(fns, VEL_SOLVE, t, W, at_F, W, at_r + rows, data, W, at_d)
        subtract(x, nq, W, at_d, n[NV], 1.0)
    return OK
