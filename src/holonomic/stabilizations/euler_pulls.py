"""The stabilizing term -γ F h discretized by Euler's methods, beside any integrator φ of the field.

    forward    z₁ = φ(z₀) - α F(z₀) h(z₀)        explicit, at the old point
    backward   z₁ = φ(z₀) - α F(z₁) h(z₁)        implicit, at the new point; α -> ∞ is coordinate projection

α = h γ. The low order of the term does not lower the order of the integrator: it vanishes on the manifold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import OK, PULL_FAILED, SINGULAR, BadArgument
from ..kernels.signatures import FULL_FACTOR, FULL_SOLVE, FULL_SPREAD, FULL_TANGENT, PULL, RESIDUAL, Fn, call_model
from ..kernels.vectors import ROUNDING, subtract
from ..model.given_numbers import as_number, is_whole
from ..model.model_base import Direction
from ..native.layout import REAL, Layout, view_as
from ..native.marks import kernel, leaf
from .base import LEVELS, Lowered, Stabilization, mixes_levels, no_tangent
from .invariant import ORTHOGONAL, check_operator
from .projection import remember

# last change of the iteration beside 1 + ‖z‖, and the one from which rounding may be what stops it, in ROUNDING
ENOUGH, STALLED = 1.0, 1e3


NUMBERS = Layout("EulerStabilization", (
    *LEVELS,
    ("alpha", REAL, "α; 0 where a gain is given instead"),
    ("gain", REAL, "α / h"),
    ("plain", REAL, "1 where F = D"),
    ("iterations", REAL, "Newton steps before the step is refused"),
))  # fmt: skip
numbers_of = view_as(NUMBERS)


@dataclass(frozen=True, repr=False)
class _EulerStabilization(Stabilization):
    """What both have in common."""

    alpha: float | None = None
    F: str = "1.13"
    D: str | Callable = "orthogonal"
    gain: float | None = None
    gamma: float | None = None
    acts = "step"
    drift_order = "p+1; p+1"
    references = ("ascher-chin-reich-1992",)

    def __post_init__(self):
        if self.gain is not None and self.gamma is not None:
            raise BadArgument("gain= and gamma= are the same thing: give one of them.")
        gain = self.gain if self.gain is not None else self.gamma
        object.__setattr__(self, "gain", gain)
        object.__setattr__(self, "gamma", None)
        if self.alpha is not None and gain is not None:
            raise BadArgument("alpha = h gain: give one of them.")
        if self.alpha is None and gain is None:
            object.__setattr__(self, "alpha", 1.0)
        for name in ("alpha", "gain"):
            given = getattr(self, name)
            if given is not None and not 0.0 < as_number(given) < np.inf:
                raise BadArgument(f"{name}={given!r} must be a positive number.")
        check_operator(self.F, self.D, ("1.13", "1.14", "1.7", "1.8"))

    @property
    def mechanical(self) -> bool:  # type: ignore[override]
        return self.D == "mass"

    @property
    def couples(self) -> bool:  # type: ignore[override]
        return mixes_levels(self.D)

    @property
    def plain(self) -> bool:
        """Whether F is D itself."""
        return ORTHOGONAL.get(self.F, self.F) == "1.14"

    @property
    def strength_setting(self) -> str:  # type: ignore[override]
        return "alpha" if self.alpha is not None else "gain"

    def share(self, h: float) -> float:
        return float(self.alpha if self.alpha is not None else self.gain * abs(h))  # type: ignore[operator]

    def _numbers(self, iterations: int = 0) -> np.ndarray:
        return NUMBERS.numbers(alpha=self.alpha or 0.0, gain=self.gain or 0.0, plain=self.plain, iterations=iterations)


@dataclass(frozen=True, repr=False)
class ForwardEulerStabilization(_EulerStabilization):
    """Subtract α F h of the old point from every step: z₁ = φ(z₀) - α F(z₀) h(z₀).

    h, F and D are those of `InvariantStabilization`. What a step leaves of h is the integrator's own error of this
    step and (1 - α) of what was there before.

    Parameters
    ----------
    alpha : float
        Between 0 and 2 with F = "1.13", where 1 is near optimal and the default; h γ.
    F : {"1.13", "1.14", "1.7", "1.8"}
        F = D (H D)⁻¹, or F = D.
    D : {"orthogonal", "blocks", "mass", "B"} or function
        Directions.
    gain, gamma : float, optional
        γ instead of α; `gamma` is the papers' name.

    References
    ----------
    [ascher-chin-reich-1992] (3.3), (3.4) and Theorem 3.1.
    """

    at_old_point = True

    @property
    def may_overshoot(self) -> bool:  # type: ignore[override]
        return self.plain

    def __post_init__(self):
        super().__post_init__()
        if not self.plain and (self.alpha or 0.0) >= 2.0:
            raise BadArgument(f"alpha={self.alpha!r} must lie between 0 and 2; 1 is near optimal.")

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        needs = (Fn.RESIDUAL, Fn.FULL_SPREAD) if self.plain else (Fn.RESIDUAL, Fn.FULL_FACTOR, Fn.FULL_SOLVE)
        return Lowered(forward_pull, no_tangent, self._numbers(), needs, direction=Direction(self.D), told=NUMBERS.at("gain"))


@dataclass(frozen=True, repr=False)
class BackwardEulerStabilization(_EulerStabilization):
    """Subtract α F h of the new point from every step: z₁ = φ(z₀) - α F(z₁) h(z₁).

    h, F and D are those of `InvariantStabilization`. Solved by Newton's method with D held fixed in the derivative,
    (I + α D (H D)⁻¹ H)⁻¹ = I - α/(1 + α) D (H D)⁻¹ H; what a step leaves of h is 1/(1 + α) of what it finds.

    Parameters
    ----------
    alpha : float
        Any positive number, default 1; h γ. For a very large one use `Projection`.
    F : {"1.13", "1.14", "1.7", "1.8"}
        F = D (H D)⁻¹, or F = D.
    D : {"orthogonal", "blocks", "mass", "B"} or function
        Directions.
    gain, gamma : float, optional
        γ instead of α, with F = "1.13"; `gamma` is the papers' name.
    max_iterations : int
        Newton steps before the step is refused.

    References
    ----------
    [ascher-chin-reich-1992] (3.7) and Theorem 3.2; [ascher-chin-petzold-reich-1995] (5.2).
    """

    max_iterations: int = 12
    references = ("ascher-chin-reich-1992", "ascher-chin-petzold-reich-1995")

    def __post_init__(self):
        super().__post_init__()
        if not is_whole(self.max_iterations, 1) or self.max_iterations > 1000:
            raise BadArgument(f"max_iterations={self.max_iterations!r} must be a whole number between 1 and 1000.")
        if self.plain and self.alpha is None:
            raise BadArgument('F="1.14" needs alpha=: its Newton matrix is made for one α.')

    @property
    def rounds(self) -> int:  # type: ignore[override]
        return self.max_iterations

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        sp = self._numbers(self.max_iterations)
        needs = (Fn.RESIDUAL, Fn.FULL_FACTOR, Fn.FULL_TANGENT, Fn.FULL_SPREAD if self.plain else Fn.FULL_SOLVE)
        way = Direction(self.D, shifted=self.plain)
        shift = 1.0 / self.alpha if self.plain else None  # type: ignore[operator]
        return Lowered(backward_pull, no_tangent, sp, needs, direction=way, shift=shift, told=NUMBERS.at("gain"))


@kernel(PULL)
def forward_pull(model, sp, run, t, h, old, stage, x, W):
    """x -= α F h at the old point; inside a step the interpolant lies between stabilized points already."""
    size = model.size
    if h == 0.0:
        return OK
    own = numbers_of(sp)
    before, at_r, at_d = t - h, size.at_residual, size.at_correction
    alpha = own.alpha if own.alpha > 0.0 else own.gain * abs(h)
    call_model(model, RESIDUAL, before, old, 0, old, 0, W, at_r)
    if own.plain > 0.0:
        call_model(model, FULL_SPREAD, before, old, 0, W, at_r, W, at_d)
    else:
        call_model(model, FULL_FACTOR, before, old, 0, old, 0, W, size.at_full)
        if not W[size.at_full] > ROUNDING:
            return SINGULAR
        call_model(model, FULL_SOLVE, before, W, size.at_full, W, at_r, W, at_d)
    subtract(x, 0, W, at_d, size.nq + size.nv, alpha)
    return OK


@leaf
def defect(x, W, at_d, at_x, alpha, n):
    """W[at_d:] = x - W[at_x:] + α W[at_d:], the residual of the implicit equation."""
    for i in range(n):
        W[at_d + i] = x[i] - W[at_x + i] + alpha * W[at_d + i]


@leaf
def improve(x, W, at_d, at_m, share, n):
    """x -= W[at_d:] - share W[at_m:]; return the change beside 1 + |x|."""
    largest = 0.0
    for i in range(n):
        step = W[at_d + i] - share * W[at_m + i]
        x[i] -= step
        change = abs(step) / (1.0 + abs(x[i]))
        if not change <= largest:  # NaN wins
            largest = change
    return largest


@kernel(PULL)
def backward_pull(model, sp, run, t, h, old, stage, x, W):
    """Solve x + α F(x) h(x) = x̃ for x."""
    size = model.size
    if h == 0.0:
        return OK
    own = numbers_of(sp)
    nx, at_r, at_d, at_F = size.nq + size.nv, size.at_residual, size.at_correction, size.at_full
    alpha = own.alpha if own.alpha > 0.0 else own.gain * abs(h)
    share = 1.0 if own.plain > 0.0 else alpha / (1.0 + alpha)
    remember(x, W, size.at_state, nx)
    before = 1e300
    for _ in range(int(own.iterations)):
        call_model(model, FULL_FACTOR, t, x, 0, x, 0, W, at_F)
        if not W[at_F] > ROUNDING:
            return SINGULAR
        call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
        if own.plain > 0.0:
            call_model(model, FULL_SPREAD, t, x, 0, W, at_r, W, at_d)
        else:
            call_model(model, FULL_SOLVE, t, W, at_F, W, at_r, W, at_d)
        defect(x, W, at_d, size.at_state, alpha, nx)
        call_model(model, FULL_TANGENT, t, W, at_F, W, at_d, W, size.at_multipliers)
        change = improve(x, W, at_d, size.at_multipliers, share, nx)
        if change <= ENOUGH * ROUNDING or (change <= STALLED * ROUNDING and change >= 0.5 * before):
            return OK
        if not change < 0.9 * before:
            return PULL_FAILED
        before = change
    return PULL_FAILED
