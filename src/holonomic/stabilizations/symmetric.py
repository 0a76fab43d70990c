"""Symmetric projection: the start of a step is moved as its end is, so that a symmetric method stays symmetric."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import MOVED_START, OK, PULL_FAILED, SINGULAR, BadArgument
from ..kernels.signatures import (
    CURVATURE,
    POS_FACTOR,
    POS_INVERSE,
    POS_SOLVE,
    POS_SPREAD,
    PULL,
    RESIDUAL,
    VEL_FACTOR,
    VEL_INVERSE,
    VEL_SPREAD,
    Fn,
    call_model,
)
from ..kernels.vectors import ROUNDING, copy, largest_scaled, norm, norm_of, subtract
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import is_whole
from ..native.marks import inner, kernel, leaf
from .base import Lowered, Stabilization, no_tangent
from .projection import AT_SIZES, NUMBERS, numbers_of, project, remember

ROUNDED = 0.02  # times ROUNDING: a distance that no correction makes smaller
STALLED = 0.7  # below the tolerance distances fall by a factor like h; where they do not, it is by rounding
SETTLED = 20  # the most rounds of x = x̂ + D(x) μ, which converges with μ itself, a local error


@leaf
def put_sum(x, first, base, W, at, n):
    """x = base + W[at:] from `first` on; return the largest change of x."""
    largest = 0.0
    for i in range(n):
        new = base[first + i] + W[at + i]
        change = abs(new - x[first + i])
        if not change <= largest:  # NaN wins
            largest = change
        x[first + i] = new
    return largest


@leaf
def put_moved(old, first, W, at_x, at, n):
    """old = W[at_x:] + W[at:] from `first` on"""
    for i in range(n):
        old[first + i] = W[at_x + first + i] + W[at + i]


@leaf
def clear(W, at, n):
    """W[at:at+n] = 0"""
    for i in range(n):
        W[at + i] = 0.0


@leaf
def lower_by_half(W, at_m, at_d, n):
    """μ -= W[at_d:]/2"""
    for i in range(n):
        W[at_m + i] -= 0.5 * W[at_d + i]


@inner
def move_end(model, t, reached, x, W):
    """x = x̂ + D(x) μ, where x̂ is what the method has reached; velocities by D at the new positions."""
    size = model.size
    nq, rows, at_m, at_d = size.nq, size.n_position, size.at_multipliers, size.at_correction
    if rows > 0:
        smallest = 1e-3 * ROUNDING * max(1.0, norm(x, 0, nq))
        for _ in range(SETTLED):
            call_model(model, POS_SPREAD, t, x, 0, W, at_m, W, at_d)
            if put_sum(x, 0, reached, W, at_d, nq) <= smallest:
                break
    if size.nl > 0:
        call_model(model, VEL_SPREAD, t, x, 0, W, at_m + rows, W, at_d)
        put_sum(x, nq, reached, W, at_d, size.nv)


@inner
def factor_levels(model, t, x, W):
    """Factors of J D at a point, for both levels."""
    size = model.size
    if size.n_position > 0:
        call_model(model, POS_FACTOR, t, x, 0, x, 0, W, size.at_position)
        if not W[size.at_position] > ROUNDING:
            return SINGULAR
    if size.nl > 0 and (size.shared == 0 or size.n_position == 0):
        call_model(model, VEL_FACTOR, t, x, 0, x, 0, W, size.at_velocity)
        if not W[size.at_velocity] > ROUNDING:
            return SINGULAR
    return OK


@inner
def distance_left(model, sp, t, x, W):
    """The largest scaled residual of both levels; residuals stay in W."""
    size = model.size
    rows, at_r = size.n_position, size.at_residual
    call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
    distance = 0.0
    if rows > 0:
        distance = largest_scaled(W, at_r, size.at_position, rows) / max(1.0, norm_of(x, sp, AT_SIZES, size.nc))
    if size.nl > 0:
        speed = largest_scaled(W, at_r + rows, size.at_velocity, size.nl) / max(1.0, norm(x, size.nq, size.nv))
        if not speed <= distance:
            distance = speed
    return distance


@inner
def move_start(model, t, h, x, old, spare, W):
    """μ less half of what a projection of the end would take, and the start moved by D μ."""
    size = model.size
    nq, rows, nl = size.nq, size.n_position, size.nl
    at_r, at_m, at_d, at_x = size.at_residual, size.at_multipliers, size.at_correction, size.at_state
    if rows > 0:
        if nl > 0:  # what the move of positions makes of velocity rows: without it the iteration creeps
            call_model(model, POS_SOLVE, t, W, size.at_position, W, at_r, W, at_d)
            call_model(model, CURVATURE, t, x, 0, W, at_d, spare, 0)
            subtract(W, at_r + rows, spare, 0, nl, 1.0)
        call_model(model, POS_INVERSE, t, W, size.at_position, W, at_r, W, at_d)
        lower_by_half(W, at_m, at_d, rows)
        call_model(model, POS_SPREAD, t - h, W, at_x, W, at_m, W, at_d)
        put_moved(old, 0, W, at_x, at_d, nq)
    if nl > 0:
        call_model(model, VEL_INVERSE, t, W, size.at_velocity, W, at_r + rows, W, at_d)
        lower_by_half(W, at_m + rows, at_d, nl)
        call_model(model, VEL_SPREAD, t - h, W, at_x, W, at_m + rows, W, at_d)
        put_moved(old, nq, W, at_x, at_d, size.nv)


@kernel(PULL)
def pull(model, sp, run, t, h, old, stage, x, W):
    """Move the end of the step; as long as constraints are missed there, its start, too, and ask for the step once more."""
    size, own = model.size, numbers_of(sp)
    n = size.n_position + size.nl
    if h == 0.0 or n == 0:
        return project(model, sp, t, x, W)
    at_m = size.at_multipliers
    if run.moved == 0:
        remember(old, W, size.at_state, size.nq + size.nv)
        clear(W, at_m, n)
        W[at_m + n] = 1e300  # the distance that was left before
        if factor_levels(model, t, x, W) != OK:
            return SINGULAR
    else:
        copy(x, stage, size.nq + size.nv)
        move_end(model, t, stage, x, W)
    distance, before = distance_left(model, sp, t, x, W), W[at_m + n]
    if distance <= own.tol and (distance <= ROUNDED * ROUNDING or distance >= STALLED * before):
        return OK
    if run.moved >= own.iterations or not distance <= own.hopeless:
        return PULL_FAILED
    W[at_m + n] = distance
    move_start(model, t, h, x, old, stage, W)
    return MOVED_START


@refuses_unknown
@dataclass(frozen=True, repr=False)
class SymmetricProjection(Stabilization):
    """Projection that moves both ends of a step alike: symmetric methods stay symmetric, and their energy does not creep.

    With a symmetric method Φ_h, J the Jacobian of the constraints (position and velocity level, or invariants of an `Ode`) and
    D = W⁻¹Jᵀ

        x̃_n = x_n + D(x_n) μ,    x̃_(n+1) = Φ_h(x̃_n),    x_(n+1) = x̃_(n+1) + D(x_(n+1)) μ,    g(x_(n+1)) = 0

    with one μ at both ends. Going back from x_(n+1) with -μ leads to x_n. So a reversible motion keeps its energy as well as an
    unconstrained one does with Φ_h, where `Projection` loses a little every step. μ is found by simplified Newton steps
    Δμ = -½ (J D)⁻¹ g, each of which takes the step of the method once more: three to five times the work of `Projection`.

    For `GaussLegendre`, `GaussLegendre4` and `ImplicitMidpoint`, with `Index1`; an even number of stages takes `Index2` and `GGL`,
    too. Multipliers there act along M⁻¹Gᵀ, as it moves velocities by itself, if no metric is given.

    Parameters
    ----------
    metric : None, "mass" or sequence of float
        W, as in `Projection`.
    max_iterations : int
        How often a step is taken again before it is refused.

    References
    ----------
    [HLW06] Sec. V.4.1; [hairer-2000].
    """

    metric: str | tuple[float, ...] | None = None
    max_iterations: int = 30
    acts = "step"
    at_both_ends = True
    drift_order = "rounding; rounding"
    references = ("HLW06", "hairer-2000")

    def __post_init__(self):
        if isinstance(self.metric, np.ndarray):  # weights; as a tuple they can be compared
            object.__setattr__(self, "metric", tuple(self.metric.tolist()))
        if not is_whole(self.max_iterations, 1) or self.max_iterations > 1000:
            raise BadArgument(f"max_iterations={self.max_iterations!r} must be a whole number between 1 and 1000.")

    @property
    def mechanical(self) -> bool:  # type: ignore[override]
        return self.metric == "mass"

    @property
    def rounds(self) -> int:  # type: ignore[override]
        return self.max_iterations + 1

    @property
    def direction_open(self) -> bool:  # type: ignore[override]
        return self.metric is None

    def turned(self, metric: str | None = None, D: str | None = None) -> SymmetricProjection:
        if D is not None:
            raise BadArgument("SymmetricProjection() does not move the x of a Dae along its B: use Projection().")
        return replace(self, metric=metric)

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        sp = NUMBERS.numbers(
            position=1.0, velocity=1.0, full=0.0, tol=tol, iterations=self.max_iterations, hopeless=hopeless, at_new=0.0
        )
        needs = (
            Fn.RESIDUAL, Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_INVERSE, Fn.POS_SPREAD,
            Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_INVERSE, Fn.VEL_SPREAD, Fn.CURVATURE,
        )  # fmt: skip
        return Lowered(pull, no_tangent, sp, needs, metric=self.metric, tol=tol, told=NUMBERS.at("tol", "hopeless"))
