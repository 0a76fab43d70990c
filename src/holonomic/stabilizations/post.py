"""Post-stabilization: one or more fixed corrections after every step.

    z <- z - α F h(z),   h = (g, G v + g_t)

    S_vel    v alone                       S_both    q and v, each by P = W⁻¹Gᵀ(G W⁻¹ Gᵀ)⁻¹
    S_pos    q alone                       S_both2   two sweeps of S_both, factored once
    S_full   F = Hᵀ(HHᵀ)⁻¹ with the whole Jacobian H of h

What F is made of can be older than z: the predicted point, the last stage, some steps before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import OK, SINGULAR, BadArgument
from ..kernels.signatures import (
    CURVATURE,
    FULL_FACTOR,
    FULL_INVERSE,
    FULL_SOLVE,
    FULL_SPREAD,
    POS_FACTOR,
    POS_INVERSE,
    POS_SOLVE,
    POS_SPREAD,
    PULL,
    RESIDUAL,
    VEL_FACTOR,
    VEL_INVERSE,
    VEL_SOLVE,
    VEL_SPREAD,
    Fn,
    call_model,
)
from ..kernels.vectors import ROUNDING, subtract
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import as_number, is_one_of, is_whole
from ..model.model_base import Direction
from ..native.layout import REAL, Layout, view_as
from ..native.marks import inner, kernel
from .base import LEVELS, Lowered, Stabilization, mixes_levels, no_tangent, tangent
from .invariant import check_operator

ON = ("both", "velocity", "position", "full", "cheap-full")
FREEZE = ("predicted", "inverse", "stage")


NUMBERS = Layout("PostStabilization", (
    *LEVELS,
    ("alpha", REAL, "fraction of the correction"),
    ("sweeps", REAL, "corrections per step"),
    ("keep", REAL, "steps for which factors are kept"),
    ("at_stage", REAL, "1 where they are those of the integrator's last stage"),
    ("inverse_alone", REAL, "1 where the inverse is frozen and directions are those of the intermediate point"),
    ("coupled", REAL, "1 where the velocity's correction knows of that of positions"),
    ("plain", REAL, "1 where F = D"),
))  # fmt: skip
numbers_of = view_as(NUMBERS)


@refuses_unknown
@dataclass(frozen=True, repr=False)
class PostStabilization(Stabilization):
    """Correct the state after every step by one or more sweeps, z <- z - α F h(z).

    With P = W⁻¹Gᵀ(G W⁻¹ Gᵀ)⁻¹ and L = ∂(G v + g_t)/∂q

        "both"         Δq = P g,   Δv = P (G v + g_t)
        "cheap-full"   Δq = P g,   Δv = P (G v + g_t - L Δq)
        "full"         F = Hᵀ(HHᵀ)⁻¹,   H = [G 0; L G]

    One sweep with α = 1 is one Newton step of coordinate projection; where h is linear in z it is exact.

    Parameters
    ----------
    on : {"both", "velocity", "position", "full", "cheap-full"}
        What is corrected, and how; for an `Ode` and a `Dae`, "both" corrects the whole state.
    sweeps : int
        Corrections per step, all with the same factors; 2 with "both" is S_both2, the default.
    alpha : float
        Fraction of the correction, between 0 and 2; 1 is near optimal.
    metric : None, "mass" or sequence of float
        W, as in `Projection`. "full" knows identity and weights.
    D : {"orthogonal", "blocks", "mass", "B"} or function, optional
        Correct the whole state along other directions: F = D (H D)⁻¹. A function names what it needs of the state
        (t, q, v, p; t, y, p; t, x, dx, p) and returns one column per entry of h.
    F : {"1.13", "1.14"}
        With D: F = D (H D)⁻¹ or F = D itself; then α is not bounded by 2 but by the eigenvalues of H D.
    freeze : {"predicted", "inverse", "stage"}
        Where F is evaluated: at the predicted point for all sweeps; there for the inverse alone, the directions W⁻¹Gᵀ
        in front of it being those of the intermediate point; at the integrator's last stage, if that has c = 1.
    keep : int
        Steps for which factors are kept, 1 by default.
    estimate : {"projected", "whole"}
        Which error decides over the step: without the part that the correction removes, or all of it, as in the
        papers.

    References
    ----------
    [ascher-chin-reich-1992] (3.9), (4.7), (4.8), and Sec. 3 and 5 for factors that are kept;
    [ascher-chin-petzold-reich-1995] (4.5), (4.6), (5.4) - (5.6) and S-both².
    """

    on: str = "both"
    sweeps: int = 2
    alpha: float = 1.0
    metric: str | tuple[float, ...] | None = None
    D: str | Callable | None = None
    F: str = "1.13"
    freeze: str = "predicted"
    keep: int = 1
    estimate: str = "projected"
    acts = "step"
    drift_order = "2(p+1); 2(p+1)"
    references = ("ascher-chin-petzold-reich-1995", "ascher-chin-reich-1992")

    def __post_init__(self):
        if isinstance(self.metric, np.ndarray):  # weights; as a tuple they can be compared
            object.__setattr__(self, "metric", tuple(self.metric.tolist()))
        if not is_one_of(self.on, ON):
            raise BadArgument(f"on={self.on!r}: choose {', '.join(map(repr, ON))}.")
        for name in ("sweeps", "keep"):
            if not is_whole(getattr(self, name), 1) or getattr(self, name) > 1000:
                raise BadArgument(f"{name}={getattr(self, name)!r} must be a whole number, at least 1.")
        most = np.inf if is_one_of(self.F, ("1.14",)) else 2.0
        if not 0.0 < as_number(self.alpha) < most:
            raise BadArgument(f"alpha={self.alpha!r} must lie between 0 and 2; 1 is near optimal.")
        if not is_one_of(self.freeze, FREEZE):
            raise BadArgument(f"freeze={self.freeze!r}: choose {', '.join(map(repr, FREEZE))}.")
        if not is_one_of(self.estimate, ("projected", "whole")):
            raise BadArgument(f"estimate={self.estimate!r}: choose 'projected' or 'whole'.")
        if self.freeze == "inverse" and self.keep > 1:
            raise BadArgument('freeze="inverse" keeps factors over sweeps, keep= over steps: choose one.')
        if self.on == "full" and self.metric == "mass":
            raise BadArgument('metric="mass" has no meaning for on="full"; use on="both" or "cheap-full".')
        self._check_direction()
        levels = {"velocity": ("velocity",), "position": ("position",)}.get(self.on, ("position", "velocity"))
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "drift_order", self._drift_order())

    def _check_direction(self) -> None:
        check_operator(self.F, "orthogonal" if self.D is None else self.D, ("1.13", "1.14"))
        if self.D is None:
            if self.F != "1.13":
                raise BadArgument('F="1.14" needs D=, e.g. D="orthogonal".')
            return
        if self.on not in ("both", "full"):
            raise BadArgument(f"D= moves the whole state; on={self.on!r} does not go with it.")
        if self.metric is not None:
            raise BadArgument("D= and metric= both say in which direction the state is moved: give one of them.")
        if self.F == "1.14" and (self.freeze != "predicted" or self.keep > 1):
            raise BadArgument('F="1.14" has no factors that could be frozen or kept.')

    def _drift_order(self) -> str:
        # [ascher-chin-petzold-reich-1995] Sec. 5: a sweep squares what it finds, but for couplings left out
        if self.alpha != 1.0 or self.F == "1.14":  # a part of the residual stays after every step
            corrected = {"velocity": "p; p+1", "position": "p+1; p"}
            return corrected.get(self.on, "p+1; p+1")
        uncoupled = self.on == "both" and self.D is None
        if self.keep > 1 or self.freeze == "stage":
            # F is off by O(h), at the last stage by O(h²), and a sweep leaves that much of what it finds; without
            # the coupling L the velocity is one sweep behind
            each = 1 if self.keep > 1 else 2
            full, behind = f"p+{1 + each * self.sweeps}", f"p+{1 + each * (self.sweeps - 1)}"
            other = {"velocity": f"p; {full}", "position": f"{full}; p"}
            return other.get(self.on, f"{full}; {behind if uncoupled else full}")
        if self.on == "velocity":
            return "p; exact"
        if self.on == "position":
            return "2(p+1); p"
        return "2(p+1); p+1" if uncoupled and self.sweeps == 1 else "2(p+1); 2(p+1)"

    @property
    def rounds(self) -> int:  # type: ignore[override]
        return self.sweeps

    @property
    def mechanical(self) -> bool:  # type: ignore[override]
        return self.on == "cheap-full" or self.D == "mass" or self.metric == "mass"

    @property
    def needs_stage(self) -> bool:
        """Whether it uses the integrator's last stage."""
        return self.freeze == "stage"

    @property
    def couples(self) -> bool:  # type: ignore[override]
        return mixes_levels(self.D) if self.D is not None else self.on == "full"

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        whole = self.on == "full" or self.D is not None
        sp = NUMBERS.numbers(
            position=not whole and self.on != "velocity", velocity=not whole and self.on != "position", full=whole,
            alpha=self.alpha, sweeps=self.sweeps, keep=self.keep, at_stage=self.freeze == "stage",
            inverse_alone=self.freeze == "inverse", coupled=not whole and self.on == "cheap-full", plain=self.F == "1.14",
        )  # fmt: skip
        if whole:
            needs = (Fn.RESIDUAL, Fn.FULL_FACTOR, Fn.FULL_SOLVE, Fn.FULL_TANGENT)
            if self.freeze == "inverse":
                needs += (Fn.FULL_INVERSE, Fn.FULL_SPREAD)
            if self.F == "1.14":
                return Lowered(pull_full, no_tangent, sp, (Fn.RESIDUAL, Fn.FULL_SPREAD), direction=Direction(self.D))
            way = None if self.D is None else Direction(self.D)
            return Lowered(pull_full, self._tangent(), sp, needs, metric=self.metric, direction=way)
        needs = (Fn.RESIDUAL, Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT)
        if self.freeze == "inverse":
            needs += (Fn.POS_INVERSE, Fn.POS_SPREAD, Fn.VEL_INVERSE, Fn.VEL_SPREAD)
        if self.on == "cheap-full":
            needs += (Fn.CURVATURE,)
        return Lowered(pull, self._tangent(), sp, needs, metric=self.metric)

    def _tangent(self):
        return tangent if self.estimate == "projected" else no_tangent


def S_vel() -> PostStabilization:
    """S_vel: velocities alone, one sweep.

    Returns
    -------
    PostStabilization
        `PostStabilization("velocity", 1)`.
    """
    return PostStabilization("velocity", 1)


def S_pos() -> PostStabilization:
    """S_pos: positions alone, one sweep.

    Returns
    -------
    PostStabilization
        `PostStabilization("position", 1)`.
    """
    return PostStabilization("position", 1)


def S_both() -> PostStabilization:
    """S_both: positions and velocities, one sweep.

    Returns
    -------
    PostStabilization
        `PostStabilization("both", 1)`.
    """
    return PostStabilization("both", 1)


def S_both2() -> PostStabilization:
    """S_both²: two sweeps with one factorization.

    Returns
    -------
    PostStabilization
        `PostStabilization("both", 2)`.
    """
    return PostStabilization("both", 2)


def S_full() -> PostStabilization:
    """S_full: the whole Jacobian, one sweep.

    Returns
    -------
    PostStabilization
        `PostStabilization("full", 1)`.
    """
    return PostStabilization("full", 1)


@inner
def due(own, run, h):
    """Tell whether to factor now."""
    if own.keep <= 1.0:
        return True
    if h == 0.0:  # inside a step: with the factors of the steps, if there are any
        return run.factor_age == 0
    if run.factor_age == 0 or run.factor_age >= own.keep:
        run.factor_age = 1
        return True
    run.factor_age += 1
    return False


@kernel(PULL)
def pull(model, sp, run, t, h, old, stage, x, W):
    """Apply the sweeps level by level, in place."""
    size = model.size
    nq, nv, rows = size.nq, size.nv, size.n_position
    at_r, at_d, at_m = size.at_residual, size.at_correction, size.at_multipliers
    own = numbers_of(sp)
    on_position = own.position > 0.0 and rows > 0
    on_velocity = own.velocity > 0.0 and size.nl > 0
    if due(own, run, h):
        point = stage if own.at_stage > 0.0 and h != 0.0 else x
        if on_position or size.shared == 1:
            call_model(model, POS_FACTOR, t, point, 0, point, 0, W, size.at_position)
            if not W[size.at_position] > ROUNDING:
                return SINGULAR
        if on_velocity and size.shared == 0:
            call_model(model, VEL_FACTOR, t, point, 0, point, 0, W, size.at_velocity)
            if not W[size.at_velocity] > ROUNDING:
                return SINGULAR
    for sweep in range(int(own.sweeps)):
        again = own.inverse_alone > 0.0 and sweep > 0
        call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
        if on_position:
            if again:
                call_model(model, POS_INVERSE, t, W, size.at_position, W, at_r, W, at_m)
                call_model(model, POS_SPREAD, t, x, 0, W, at_m, W, at_d)
            else:
                call_model(model, POS_SOLVE, t, W, size.at_position, W, at_r, W, at_d)
        if on_velocity:
            if own.coupled > 0.0 and on_position:
                call_model(model, CURVATURE, t, x, 0, W, at_d, W, at_m)
                subtract(W, at_r + rows, W, at_m, size.nl, 1.0)
            if again:
                call_model(model, VEL_INVERSE, t, W, size.at_velocity, W, at_r + rows, W, at_m)
                call_model(model, VEL_SPREAD, t, x, 0, W, at_m, W, at_d + nq)
            else:
                call_model(model, VEL_SOLVE, t, W, size.at_velocity, W, at_r + rows, W, at_d + nq)
        if on_position:
            subtract(x, 0, W, at_d, nq, own.alpha)
        if on_velocity:
            subtract(x, nq, W, at_d + nq, nv, own.alpha)
    return OK


@kernel(PULL)
def pull_full(model, sp, run, t, h, old, stage, x, W):
    """Apply the sweeps to the whole state, in place."""
    size = model.size
    own = numbers_of(sp)
    nx, at_F, at_r, at_d = size.nq + size.nv, size.at_full, size.at_residual, size.at_correction
    if own.plain <= 0.0 and due(own, run, h):
        point = stage if own.at_stage > 0.0 and h != 0.0 else x
        call_model(model, FULL_FACTOR, t, point, 0, point, 0, W, at_F)
        if not W[at_F] > ROUNDING:
            return SINGULAR
    for sweep in range(int(own.sweeps)):
        call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
        if own.plain > 0.0:
            call_model(model, FULL_SPREAD, t, x, 0, W, at_r, W, at_d)
        elif own.inverse_alone > 0.0 and sweep > 0:
            call_model(model, FULL_INVERSE, t, W, at_F, W, at_r, W, size.at_multipliers)
            call_model(model, FULL_SPREAD, t, x, 0, W, size.at_multipliers, W, at_d)
        else:
            call_model(model, FULL_SOLVE, t, W, at_F, W, at_r, W, at_d)
        subtract(x, 0, W, at_d, nx, own.alpha)
    return OK
