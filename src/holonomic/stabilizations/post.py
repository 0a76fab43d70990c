"""Post-stabilization: one or more fixed corrections after every step.

    z <- z - α F(z~) h(z),   h = (g, G v + g_t),   F frozen at the predicted point z~

    S_vel    v alone                       S_both    q and v, each by P = W⁻¹Gᵀ(G W⁻¹ Gᵀ)⁻¹
    S_pos    q alone                       S_both2   two sweeps of S_both, factored once
    S_full   F = Hᵀ(HHᵀ)⁻¹ with the whole Jacobian H of h
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import OK, SINGULAR, BadArgument
from ..kernels.compile import kernel
from ..kernels.signatures import (
    FULL_FACTOR,
    FULL_SOLVE,
    NL,
    NP,
    NQ,
    NV,
    NX,
    POS_FACTOR,
    POS_SOLVE,
    PULL,
    RESIDUAL,
    SHARED,
    VEL_FACTOR,
    VEL_SOLVE,
    WD,
    WF,
    WP,
    WR,
    WV,
    Fn,
    call_model,
)
from ..kernels.vectors import subtract
from .base import ALPHA, FULL, N_NUMBERS, POSITION, SWEEPS, VELOCITY, Lowered, Stabilization, tangent
from .projection import RHO_SMALLEST

_DRIFT = {
    ("velocity", 1): "p; exact",
    ("position", 1): "2(p+1); p",
    ("both", 1): "2(p+1); p+1",
    ("both", 2): "2(p+1); 2(p+1)",
    ("full", 1): "2(p+1); 2(p+1)",
}


@dataclass(frozen=True)
class PostStabilization(Stabilization):
    """Correct the state after every step by one or more sweeps with factors of the predicted point.

    Parameters
    ----------
    on : {"both", "velocity", "position", "full"}
        What is corrected; "full" couples position and velocity through the whole Jacobian.
    sweeps : int
        Corrections per step, all with the same factors; 2 with "both" is S_both2, the default.
    alpha : float
        Fraction of the correction, between 0 and 2; 1 is near optimal.
    metric : None, "mass" or sequence of float
        W, as in `Projection`. "full" knows identity and weights.

    References
    ----------
    [ascher-chin-reich-1992] (3.9), (4.8); [ascher-chin-petzold-reich-1995] (5.4) - (5.6) and S-both².
    """

    on: str = "both"
    sweeps: int = 2
    alpha: float = 1.0
    metric: str | tuple[float, ...] | None = None
    acts = "step"
    drift_order = "2(p+1); 2(p+1)"
    references = ("ascher-chin-petzold-reich-1995", "ascher-chin-reich-1992")

    def __post_init__(self):
        if self.on not in ("both", "velocity", "position", "full"):
            raise BadArgument(f"on={self.on!r}: choose 'both', 'velocity', 'position' or 'full'.")
        if not (isinstance(self.sweeps, int) and self.sweeps >= 1):
            raise BadArgument(f"sweeps={self.sweeps!r} must be a whole number, at least 1.")
        if not 0.0 < self.alpha < 2.0:
            raise BadArgument(f"alpha={self.alpha!r} must lie between 0 and 2; 1 is near optimal.")
        if self.on == "full" and self.metric == "mass":
            raise BadArgument('metric="mass" has no meaning for on="full"; use on="both".')

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        sp = np.zeros(N_NUMBERS)
        sp[ALPHA], sp[SWEEPS] = self.alpha, self.sweeps
        sp[FULL] = self.on == "full"
        sp[POSITION] = self.on in ("both", "position")
        sp[VELOCITY] = self.on in ("both", "velocity")
        if self.on == "full":
            needs = (Fn.RESIDUAL, Fn.FULL_FACTOR, Fn.FULL_SOLVE, Fn.FULL_TANGENT)
        else:
            needs = (
                Fn.RESIDUAL, Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT,
                Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT,
            )  # fmt: skip
        return Lowered(pull, tangent, sp, needs, metric=self.metric)


def S_vel() -> PostStabilization:
    """S_vel: velocities alone, one sweep."""
    return PostStabilization("velocity", 1)


def S_pos() -> PostStabilization:
    """S_pos: positions alone, one sweep."""
    return PostStabilization("position", 1)


def S_both() -> PostStabilization:
    """S_both: positions and velocities, one sweep."""
    return PostStabilization("both", 1)


def S_both2() -> PostStabilization:
    """S_both²: two sweeps with one factorization."""
    return PostStabilization("both", 2)


def S_full() -> PostStabilization:
    """S_full: the whole Jacobian, one sweep."""
    return PostStabilization("full", 1)


@kernel(PULL)
def pull(fns, n, data, sp, t, x, W):
    """Apply the sweeps in place."""
    nq, rows = n[NQ], n[NP]
    at_r, at_d = n[WR], n[WD]
    if sp[FULL] > 0.0:
        call_model(fns, FULL_FACTOR, t, x, 0, x, 0, data, W, n[WF])
        if not W[n[WF]] > RHO_SMALLEST:
            return SINGULAR
        for _ in range(int(sp[SWEEPS])):
            call_model(fns, RESIDUAL, t, x, 0, x, 0, data, W, at_r)
            call_model(fns, FULL_SOLVE, t, W, n[WF], W, at_r, data, W, at_d)
            subtract(x, 0, W, at_d, n[NX], sp[ALPHA])
        return OK
    on_position = sp[POSITION] > 0.0 and rows > 0
    on_velocity = sp[VELOCITY] > 0.0 and n[NL] > 0
    if on_position or n[SHARED] == 1:
        call_model(fns, POS_FACTOR, t, x, 0, x, 0, data, W, n[WP])
        if not W[n[WP]] > RHO_SMALLEST:
            return SINGULAR
    if on_velocity and n[SHARED] == 0:
        call_model(fns, VEL_FACTOR, t, x, 0, x, 0, data, W, n[WV])
        if not W[n[WV]] > RHO_SMALLEST:
            return SINGULAR
    for _ in range(int(sp[SWEEPS])):
        call_model(fns, RESIDUAL, t, x, 0, x, 0, data, W, at_r)
        if on_position:
            call_model(fns, POS_SOLVE, t, W, n[WP], W, at_r, data, W, at_d)
            subtract(x, 0, W, at_d, nq, sp[ALPHA])
        if on_velocity:
            call_model(fns, VEL_SOLVE, t, W, n[WV], W, at_r + rows, data, W, at_d)
            subtract(x, nq, W, at_d, n[NV], sp[ALPHA])
    return OK
