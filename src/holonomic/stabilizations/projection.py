"""Return to the constraints along the shortest path after every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import OK, PULL_FAILED, SINGULAR, BadArgument
from ..kernels.signatures import (
    FULL_FACTOR,
    FULL_SOLVE,
    FULL_TANGENT,
    POS_FACTOR,
    POS_SOLVE,
    POS_TANGENT,
    PULL,
    RESIDUAL,
    VEL_FACTOR,
    VEL_SOLVE,
    Fn,
    call_model,
)
from ..kernels.vectors import ROUNDING, largest_scaled, norm, norm_of, subtract
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import as_number, is_one_of, is_whole
from ..model.model_base import Direction
from ..native.layout import REAL, Layout, view_as
from ..native.marks import inner, kernel, leaf
from .base import LEVELS, Lowered, Stabilization, mixes_levels, no_tangent, tangent
from .invariant import check_operator

INSIDE = (Fn.RESIDUAL, Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.VEL_FACTOR, Fn.VEL_SOLVE)  # what states inside steps take
RHO_USUAL = 100.0  # a pivot ratio above 1/100 is usual


NUMBERS = Layout("Projection", (
    *LEVELS,
    ("tol", REAL, "largest scaled residual that is left"),
    ("iterations", REAL, "Newton steps before the step is refused"),
    ("hopeless", REAL, "scaled distance from which on nothing is tried"),
    ("at_new", REAL, "1 where directions are those of the point that is reached"),
))  # fmt: skip
AT_SIZES = len(NUMBERS.fields)  # behind them, for every coordinate, whether it counts in the size of q
numbers_of = view_as(NUMBERS)


@refuses_unknown
@dataclass(frozen=True, repr=False)
class Projection(Stabilization):
    """Return to the constraints along the shortest path.

    Solves  Δq + W⁻¹Gᵀμ = 0,  g(t, q + Δq) = 0  by simplified Newton with the factors of this step, then
    Δv + W⁻¹Gᵀν = 0,  G(v + Δv) + g_t = 0, which is linear. For an `Ode` the invariants take the place of g.

    on="positions" leaves velocities as they are: for `Index3`, whose velocities miss their constraints by an error along
    M⁻¹Gᵀ, which a move along Gᵀ would turn into one along the constraints, where it adds up.

    With on="full" or D the whole state z = (q, v) is moved at once:  Δz + D μ = 0,  h(t, z + Δz) = 0,  D = Hᵀ if
    not given. at="predicted" takes the directions at the point that is moved, at="new" at the point that is reached:
    what lies between them is then orthogonal to the constraints there, to rounding instead of to first order.

    Parameters
    ----------
    tol : float, optional
        Largest scaled residual |g_i|/‖G_i‖ over max(1, ‖q‖) left behind, ‖q‖ without angles that count turns;
        min(1e-10, rtol/10) if not given.
    metric : None, "mass" or sequence of float
        W: identity, the mass matrix, or weights for (q, v). Not "mass" for heterogeneous masses.
    max_iterations : int
        Newton steps before the step is refused.
    at : {"predicted", "new"}
        Where the directions are taken.
    on : {"both", "positions", "full"}
        Positions, then velocities; positions alone; or both levels at once.
    D : {"orthogonal", "blocks", "mass", "B"} or function, optional
        Directions in which the whole state is moved, as in `PostStabilization`.

    References
    ----------
    [HLW06] Sec. IV.4 (its y is our q, v); [eich-1993] (2.4), (2.5); [ascher-petzold-1993] (4.18) - (4.22);
    [ascher-chin-reich-1992] (3.10) with D at the predicted point; [ascher-chin-petzold-reich-1995] (5.3) at the new.
    """

    tol: float | None = None
    metric: str | tuple[float, ...] | None = None
    max_iterations: int = 8
    at: str = "predicted"
    on: str = "both"
    D: str | Callable | None = None
    acts = "step"
    drift_order = "below tolerance; rounding"
    references = ("HLW06", "eich-1993", "ascher-chin-reich-1992", "ascher-chin-petzold-reich-1995")

    def __post_init__(self):
        if isinstance(self.metric, np.ndarray):  # weights; as a tuple they can be compared
            object.__setattr__(self, "metric", tuple(self.metric.tolist()))
        if not is_one_of(self.at, ("predicted", "new")):
            raise BadArgument(f"at={self.at!r}: choose 'predicted' or 'new'.")
        if not is_one_of(self.on, ("both", "positions", "full")):
            raise BadArgument(f"on={self.on!r}: choose 'both', 'positions' or 'full'.")
        if self.on == "positions":
            if self.D is not None or self.at == "new":
                raise BadArgument("on='positions' goes along Gᵀ at the predicted point: leave D= and at= out.")
            object.__setattr__(self, "levels", ("position",))
            object.__setattr__(self, "drift_order", "below tolerance; p")
        if self.tol is not None and not 0.0 < as_number(self.tol) < np.inf:
            raise BadArgument(f"tol={self.tol!r} must be a positive number; leave it out for min(1e-10, rtol/10).")
        if not is_whole(self.max_iterations, 1) or self.max_iterations > 1000:
            raise BadArgument(f"max_iterations={self.max_iterations!r} must be a whole number between 1 and 1000.")
        if self.D is not None:
            check_operator("1.13", self.D, ("1.13",))
            if self.metric is not None:
                raise BadArgument("D= and metric= both say in which direction the state is moved: give one of them.")
        if self.on == "full" and self.metric == "mass":
            raise BadArgument('metric="mass" has no meaning for on="full"; use on="both", or D="mass".')
        if self.on == "full" or self.D is not None:
            object.__setattr__(self, "drift_order", "below tolerance; below tolerance")

    @property
    def mechanical(self) -> bool:  # type: ignore[override]
        return self.D == "mass" or self.metric == "mass"

    @property
    def rounds(self) -> int:  # type: ignore[override]
        return self.max_iterations + 1

    @property
    def couples(self) -> bool:  # type: ignore[override]
        return mixes_levels(self.D) if self.D is not None else self.on == "full"

    @property
    def direction_open(self) -> bool:  # type: ignore[override]
        return self.on == "both" and self.metric is None and self.D is None

    @property
    def passes_singular_positions(self) -> bool:  # type: ignore[override]
        return "velocity" in self.levels

    def turned(self, metric: str | None = None, D: str | None = None) -> Projection:
        return replace(self, metric=metric, D=D)

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        whole = self.on == "full" or self.D is not None
        tol = tol if self.tol is None else self.tol
        sp = NUMBERS.numbers(
            position=1.0, velocity=self.on != "positions", full=whole, tol=tol, iterations=self.max_iterations,
            hopeless=hopeless, at_new=self.at == "new",
        )  # fmt: skip
        more = {"metric": self.metric, "tol": tol, "told": NUMBERS.at("tol", "hopeless")}
        if whole:
            needs = (Fn.RESIDUAL, Fn.FULL_FACTOR, Fn.FULL_SOLVE, Fn.FULL_TANGENT)
            way = None if self.D is None else Direction(self.D)
            return Lowered(pull_whole, tangent, sp, needs, direction=way, **more)
        needs = (Fn.RESIDUAL, Fn.POS_FACTOR, Fn.POS_SOLVE, Fn.POS_TANGENT, Fn.VEL_FACTOR, Fn.VEL_SOLVE, Fn.VEL_TANGENT)
        return Lowered(pull if self.at == "predicted" else pull_new, tangent, sp, needs, **more)


def tightened(sp: np.ndarray) -> np.ndarray:
    """Numbers of a projection down to rounding: first guesses may be far off, and what is left of a residual is magnified."""
    sp = sp.copy()
    own = NUMBERS.of(sp)
    own.hopeless, own.iterations, own.tol = np.inf, 20.0, 0.0
    return sp


@kernel(PULL)
def pull(model, sp, run, t, h, old, stage, x, W):
    """Project x = (q, v) in place; the factors at the new point stay in W for the error estimate."""
    return project(model, sp, t, x, W)


@kernel(PULL)
def pull_inside(model, sp, run, t, h, old, stage, x, W):
    """Project states inside a step alone, where the method itself holds the constraints at its ends."""
    return OK if h != 0.0 else project(model, sp, t, x, W)


def between_ends(levels: Sequence[str], tol: float, hopeless: float) -> Lowered:
    """What brings states inside a step to these levels of the constraints, which steps hold at their ends by themselves."""
    lowered = Projection(on="both" if "velocity" in levels else "positions").lower(tol, hopeless)
    return replace(lowered, pull=pull_inside, tangent=no_tangent, needs=INSIDE, tol=None)


@inner
def project(model, sp, t, x, W):
    """Positions, then velocities, level by level along the directions at the predicted point."""
    size = model.size
    nq, rows = size.nq, size.n_position
    at_r, at_d = size.at_residual, size.at_correction
    own, moved = numbers_of(sp), False
    if rows > 0:
        at_F = size.at_position
        call_model(model, POS_FACTOR, t, x, 0, x, 0, W, at_F)
        if not W[at_F] > ROUNDING:  # the factors of J W⁻¹ Jᵀ hold no digit
            return SINGULAR
        # an angle of a thousand turns is no reason to keep bodies apart by a thousand times as much, but rounding is
        scale = max(1.0, norm_of(x, sp, AT_SIZES, size.nc))
        rounding = 10.0 * ROUNDING * max(1.0, norm(x, 0, size.nc) / scale)
        # near a singular position a residual r means a position r/√ρ and a velocity r/ρ off the constraints
        tol = max(own.tol * min(1.0, RHO_USUAL * W[at_F]), min(own.tol, 0.1 * ROUNDING)) if size.nl > 0 else own.tol
        before = 1e300
        converged = False
        for _ in range(int(own.iterations) + 1):
            call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
            distance = largest_scaled(W, at_r, at_F, rows) / scale
            # one correction in any case: it costs little and leaves rounding instead of the tolerance
            enough = tol if moved else min(tol, ROUNDING)
            if distance <= enough or (distance <= rounding and distance >= 0.5 * before):
                converged = True
                break
            slow = not distance < 0.7 * before
            if distance > own.hopeless or (slow and (size.nl > 0 or not distance < before)):
                return PULL_FAILED
            if slow:  # invariants that are nearly dependent meet in a double root, to which old factors creep
                call_model(model, POS_FACTOR, t, x, 0, x, 0, W, at_F)
            before = distance
            call_model(model, POS_SOLVE, t, W, at_F, W, at_r, W, at_d)
            subtract(x, 0, W, at_d, nq, 1.0)
            moved = True
        if not converged:
            return PULL_FAILED
    else:
        call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
    if size.nl > 0 and own.velocity > 0.0:
        at_F = size.at_velocity
        if moved or size.shared == 0:
            call_model(model, VEL_FACTOR, t, x, 0, x, 0, W, at_F)
            if not W[at_F] > ROUNDING:
                return SINGULAR
        call_model(model, VEL_SOLVE, t, W, at_F, W, at_r + rows, W, at_d)
        subtract(x, nq, W, at_d, size.nv, 1.0)
    return OK


@leaf
def remember(x, W, at, n):
    """W[at:at+n] = x"""
    for i in range(n):
        W[at + i] = x[i]


@leaf
def begin_again(x, W, at_x, at_d, at_m, n):
    """x = x̃ - W[at_d:], x̃ = W[at_x:]; the way from the old x to x̃ goes to W[at_m:]."""
    for i in range(n):
        W[at_m + i] = W[at_x + i] - x[i]
        x[i] = W[at_x + i] - W[at_d + i]


@leaf
def largest_change(x, W, at_x, at_m, n):
    """max |x - (x̃ - e)|, e = W[at_m:]: what the last iteration changed."""
    largest = 0.0
    for i in range(n):
        change = abs(x[i] - W[at_x + i] + W[at_m + i])
        if not change <= largest:  # NaN wins
            largest = change
    return largest


@inner
def to_manifold(model, sp, t, x, W, factor, solve, along, at_F, speeds, count):
    """Move the first `count` entries of x to where the position rows and `speeds` velocity rows vanish.

    Residuals and factors stay in W.

    With directions at the new point: the point of the linearized rows that lies from x̃ along the directions at x,
    x̃ - D (J D)⁻¹ (r + J (x̃ - x)), until x stays where it is.
    """
    size = model.size
    at_r, at_d, at_m, at_x = size.at_residual, size.at_correction, size.at_multipliers, size.at_state
    rows, scale, scale_v = size.n_position, max(1.0, norm_of(x, sp, AT_SIZES, size.nc)), max(1.0, norm(x, size.nq, size.nv))
    rounding = 10.0 * ROUNDING * max(1.0, norm(x, 0, size.nc) / scale)
    own, before, change = numbers_of(sp), 1e300, 0.0
    remember(x, W, at_x, count)
    for iteration in range(int(own.iterations) + 1):
        if iteration == 0 or own.at_new > 0.0:
            call_model(model, factor, t, x, 0, x, 0, W, at_F)
            if not W[at_F] > ROUNDING:
                return SINGULAR
        call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
        distance = max(largest_scaled(W, at_r, at_F, rows), change) / scale
        if speeds > 0:
            distance = max(largest_scaled(W, at_r + rows, at_F + rows, speeds) / scale_v, distance)
        # a little less than the tolerance, because the lengths of the rows are those of another point
        if distance <= 0.9 * own.tol or (distance <= rounding and distance >= 0.5 * before):
            return OK
        # the change of the first iteration is as large as the distance it had to go: no sign of trouble
        if (not distance < 0.7 * before and (iteration != 1 or change == 0.0)) or distance > own.hopeless:
            return PULL_FAILED
        before = distance
        call_model(model, solve, t, W, at_F, W, at_r, W, at_d)
        if own.at_new > 0.0:
            begin_again(x, W, at_x, at_d, at_m, count)
            call_model(model, along, t, W, at_F, W, at_m, W, at_d)
            subtract(x, 0, W, at_d, count, 1.0)
            change = largest_change(x, W, at_x, at_m, count)
        else:
            subtract(x, 0, W, at_d, count, 1.0)
    return PULL_FAILED


@kernel(PULL)
def pull_new(model, sp, run, t, h, old, stage, x, W):
    """Project q, then v, in the directions of the new point."""
    size = model.size
    rows, at_r, at_d = size.n_position, size.at_residual, size.at_correction
    if rows > 0:
        status = to_manifold(model, sp, t, x, W, POS_FACTOR, POS_SOLVE, POS_TANGENT, size.at_position, 0, size.nq)
        if status != OK:
            return status
    else:
        call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
    if size.nl > 0:
        if size.shared == 0 or rows == 0:
            call_model(model, VEL_FACTOR, t, x, 0, x, 0, W, size.at_velocity)
            if not W[size.at_velocity] > ROUNDING:
                return SINGULAR
        call_model(model, VEL_SOLVE, t, W, size.at_velocity, W, at_r + rows, W, at_d)
        subtract(x, size.nq, W, at_d, size.nv, 1.0)
    return OK


@kernel(PULL)
def pull_whole(model, sp, run, t, h, old, stage, x, W):
    """Project the whole state."""
    size = model.size
    nz = size.nq + size.nv
    return to_manifold(model, sp, t, x, W, FULL_FACTOR, FULL_SOLVE, FULL_TANGENT, size.at_full, size.nl, nz)
