"""Implicit methods with a fixed step for any residual: BDF of order 1 to 6, trapezoidal rule, midpoint rule.

    BDF             R(t1, y1, Σ α_i y_{1-i} / h) = 0
    trapezoidal     differential rows: the mean of R(t0, y0, δ) and R(t1, y1, δ), δ = (y1 - y0)/h
    midpoint        differential rows: R(t0 + h/2, (y0 + y1)/2, δ), multipliers not averaged
                    algebraic rows of both at t1 (those of the acceleration level in the middle, where the
                    multipliers belong)

Newton's method with the exact Jacobian, to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.newton import (
    AT_BETA,
    AT_MIDDLE,
    AT_OLD,
    AT_R,
    AT_SLOPE,
    AT_STEP,
    LOOSE,
    factor_least_squares,
    least_squares_step,
    newton_step_scaled,
    small,
    subtract_scaled,
)
from ..kernels.newton_operators import factor_real, linearize, solve_real, vectors_at
from ..kernels.signatures import ACCEPT, ADVANCE, BY_SLOPE, BY_Y, EQUATIONS, LINEARIZED, NEWTON_FACTOR, Fn, call_model, has_function
from ..kernels.vectors import copy_row, move_on
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import is_one_of, is_whole
from ..native.marks import kernel, leaf
from .base import Integrator, Lowered
from .hermite import dense, finish, interpolate
from .mean_equations import add_rows, factor_doubled, factor_middle, middle, middle_residuals, step_doubled

# ip: the row of slopes at the new point, order, kind, whether all algebraic rows belong to the stage, whether one
# iteration is enough
LAST, ORDER, KIND, IN_STAGE, ONCE = range(5)
BDF_KIND, TRAPEZOIDAL_KIND, MIDPOINT_KIND, NO_STEP = range(4)
HISTORY = 2  # rows of K from here on hold y of the steps before; the one behind them begins with the even step
ITERATIONS = 20

# α_0 .. α_k of the BDF of order k, [eich-1993] Sec. 2
ALPHA = {
    1: (1, -1),
    2: (3 / 2, -2, 1 / 2),
    3: (11 / 6, -3, 3 / 2, -1 / 3),
    4: (25 / 12, -4, 3, -4 / 3, 1 / 4),
    5: (137 / 60, -5, 5, -10 / 3, 5 / 4, -1 / 5),
    6: (147 / 60, -6, 15 / 2, -20 / 3, 15 / 4, -6 / 5, 1 / 6),
}

# Where z^k + (α_1/α_0 + α) z^(k-1) + .. + α_k/α_0 has a root on the unit circle: what a correction by α of the old point's
# residuals may be
OLD_POINT_LIMITS = {4: 0.78, 5: 0.46, 6: 0.3}


@leaf
def bdf_history(W, at_beta, h, x, K, fp, order, ny):
    """β = Σ_{i>=1} α_i y_{1-i} / h"""
    alpha = fp[3 + ny : 4 + ny + order]
    for i in range(ny):
        total = alpha[1] * x[i]
        for j in range(2, order + 1):
            total += alpha[j] * K[HISTORY + j - 2, i]
        W[at_beta + i] = total / h


@leaf
def predict(xn, x, K, h, differential, ny):
    """Start Newton's iteration from q0 + h q0', v0 + h v0' and the old multipliers."""
    for i in range(differential):
        xn[i] = x[i] + h * K[0, i]
    for i in range(differential, ny):
        xn[i] = x[i]


@leaf
def slope_from(W, at_slope, at_beta, alpha, y, ny):
    """y' = α y + β"""
    for i in range(ny):
        W[at_slope + i] = alpha * y[i] + W[at_beta + i]


@leaf
def average_rows(W, at_r, at_old, differential):
    """Differential rows of the trapezoidal rule."""
    for i in range(differential):
        W[at_r + i] = 0.5 * (W[at_r + i] + W[at_old + i])


@leaf
def copy_rows(W, at_from, at_to, first, last, width):
    """Rows first .. last-1 of a matrix, or entries of a vector (width 1), into another."""
    for i in range(first * width, last * width):
        W[at_to + i] = W[at_from + i]


@leaf
def halve_columns(W, at, differential, equations, ny):
    """Midpoint rule: differential unknowns are seen through their mean."""
    for i in range(equations):
        for j in range(differential):
            W[at + i * ny + j] *= 0.5


@leaf
def enter_inner(x, K, first, many, ny):
    """Unknowns that follow from q and v at every point, as the field has them where the step begins."""
    for i in range(many):
        x[ny - many + i] = K[0, first + i]


@leaf
def difference_to(W, at_beta, h, x, ny):
    """β of y' = (y - x) / h"""
    for i in range(ny):
        W[at_beta + i] = -x[i] / h


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for the new point."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K, W = state.x, state.xn, state.K, state.W
    kind = ip[KIND]
    if kind == NO_STEP:
        return OK
    ny, nr, at = size.ny, size.n_equations, size.at_newton
    differential, rows = size.n_differential, size.n_differential_rows
    in_end = rows if ip[IN_STAGE] == 1 else nr - size.n_middle
    square = nr == ny
    doubled = kind != BDF_KIND and has_function(model, LINEARIZED)  # see `mean_equations`
    area, width = nr * ny, max(ny, nr)
    v = vectors_at(size, 0)
    own = has_function(model, LINEARIZED)
    if not square and not own:
        width = max(ny + nr - rows, nr)
        v = at + 2 * area + (ny + nr - rows) * (ny + nr - rows)
    r, slope, beta = v + AT_R * width, v + AT_SLOPE * width, v + AT_BETA * width
    mid, old = v + AT_MIDDLE * width, v + AT_OLD * width
    t1, t_mid = t + h, t + 0.5 * h
    if ip[ORDER] > 1:
        h = K[HISTORY + ip[ORDER] - 1, 0]  # differences of times are steps with rounding, which even steps must not have
    alpha = fp[3 + ny] / h if kind == BDF_KIND else 1.0 / h
    weight = 0.5 if kind == TRAPEZOIDAL_KIND else 1.0
    if kind == BDF_KIND:
        bdf_history(W, beta, h, x, K, fp, ip[ORDER], ny)
    else:
        difference_to(W, beta, h, x, ny)
    if doubled and kind == TRAPEZOIDAL_KIND:
        enter_inner(x, K, size.nrow - 1 - size.n_middle, size.n_middle, ny)
    predict(xn, x, K, h, size.nq + size.nv, ny)
    before, fresh, factored = 0.0, True, 0
    for iteration in range(ITERATIONS):
        slope_from(W, slope, beta, alpha, xn, ny)
        if doubled and kind == MIDPOINT_KIND:
            middle_residuals(model, t, h, x, xn, W, mid, old, slope, r, in_end)
        elif kind == MIDPOINT_KIND:
            middle(W, mid, x, xn, differential, ny)
            call_model(model, EQUATIONS, t1, xn, 0, W, slope, W, old)
            call_model(model, EQUATIONS, t_mid, W, mid, W, slope, W, r)
            copy_rows(W, old, r, rows, in_end, 1)
        else:
            call_model(model, EQUATIONS, t1, xn, 0, W, slope, W, r)
            if kind == TRAPEZOIDAL_KIND:
                call_model(model, EQUATIONS, t, x, 0, W, slope, W, old)
                if doubled:
                    add_rows(W, r, old, rows)
                else:
                    average_rows(W, r, old, rows)
        if fresh:
            if doubled and kind == MIDPOINT_KIND:
                failed = factor_middle(model, run, t, h, xn, W, mid, slope, in_end > rows)
            elif doubled:
                linearize(model, t1, xn, 0, W, slope)
                failed = factor_doubled(model, run, W, NEWTON_FACTOR, h)
            else:
                if kind == MIDPOINT_KIND:
                    call_model(model, BY_Y, t1, xn, 0, W, slope, W, at + area)
                    call_model(model, BY_Y, t_mid, W, mid, W, slope, W, at)
                    halve_columns(W, at, differential, nr, ny)
                    copy_rows(W, at + area, at, rows, in_end, ny)
                    call_model(model, BY_SLOPE, t_mid, W, mid, W, slope, W, at + area)
                else:
                    linearize(model, t1, xn, 0, W, slope)
                if square or own:
                    failed = factor_real(model, run, W, alpha, weight, rows, h, fp)
                else:
                    failed = factor_least_squares(run, W, at, ny, nr, rows, alpha, weight)
            run.jacobians += 1
            if failed != 0:
                return SINGULAR
            factored += 1
        if doubled:
            middles = kind == MIDPOINT_KIND
            change = step_doubled(model, run, W, r, v + AT_STEP * width, xn, middles, middles and in_end > rows, h, fp)
        elif not square and own:
            run.residuals += 1
            solve_real(model, W, r, v + AT_STEP * width)
            change = subtract_scaled(size, xn, W, v + AT_STEP * width, ny, 1.0, h, fp)
        elif square:
            change = newton_step_scaled(model, run, W, xn, 1.0, h, fp)
        else:
            change = least_squares_step(size, run, W, at, ny, nr, rows, xn, h, fp)
        if not change <= 1e200:
            return NO_CONVERGENCE
        if ip[ONCE] == 1:
            return OK
        rate = change / before if iteration > 0 and before > 0.0 else 1.0
        # the first ratio is no rate: multipliers start far off but enter linearly
        to_come = change * min(1.0, rate) if iteration > 1 else change
        falls_no_more = factored > 1 and rate >= 0.3
        if to_come <= fp[1] or (falls_no_more and small(size, W, change, LOOSE, xn, h, fp, size.nq, size.nq + size.nv, ny)):
            return OK
        # the Jacobian is formed anew where convergence is slow; least squares have their minimum by that of its own point alone
        fresh = not square or (iteration > 0 and rate > 0.1)
        before = change
    return NO_CONVERGENCE


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """Shift the history."""
    size = model.size
    ip = method.ip
    x, xn, K = state.x, state.xn, state.K
    ny = size.ny
    for j in range(ip[ORDER] - 2, 0, -1):
        copy_row(K, HISTORY + j - 1, K, HISTORY + j, ny)
    if ip[ORDER] > 1:
        for i in range(ny):
            K[HISTORY, i] = x[i]
    move_on(K, 1, size.nrow, xn, x, ny)
    return OK


_SLOTS = {"advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate}


def _lowered(kind: int, order: int, alpha, in_stage: bool = False, once: bool = False, own: tuple[Fn, ...] = ()) -> Lowered:
    ip = np.array([1, order, kind, in_stage, once], dtype=np.int64)
    fp = np.zeros(8)
    fp[: len(alpha)] = alpha
    return Lowered(
        _SLOTS, ip, fp, rows=HISTORY + max(1, order), errors=0, starting_points=order - 1, wants_scales=True,
        between=np.array([1, order, NO_STEP, in_stage, once], dtype=np.int64),
        unrolls=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE) if kind == BDF_KIND else (), asks_own=own,
    )  # fmt: skip


class _ImplicitStep(Integrator):
    """What the methods of this file have in common."""

    adaptive, implicit, takes = False, True, "residual"
    takes_overdetermined = True
    iterations = ITERATIONS


@refuses_unknown
@dataclass(frozen=True)
class FixedBDF(_ImplicitStep):
    """Backward differentiation formula of fixed order 1 to 6 and fixed step, for any residual.

    The first order - 1 points come from DOP853 at tight tolerance, so that the order is seen from the start. Steps
    stay even: the interval must be a whole number of them, and with an order above 1 there are no events. Inside a
    step q and v are cubic. Multipliers of index 3 have their order from the (order + 2)nd step on.

    Parameters
    ----------
    order : int
        1 to 6.

    References
    ----------
    [eich-1993] Sec. 2; [HW96] Sec. V.1.
    """

    order: int = 2  # type: ignore[misc]
    references = ("HW96", "eich-1993")

    def __post_init__(self):
        if not is_whole(self.order, 1) or self.order not in ALPHA:
            raise BadArgument(f"order={self.order!r}: BDF formulas are stable for orders 1 to 6.")

    @property
    def old_point_limit(self) -> float:  # type: ignore[override]
        return OLD_POINT_LIMITS.get(self.order, 2.0)

    def lower(self) -> Lowered:
        return _lowered(BDF_KIND, self.order, ALPHA[self.order])


@refuses_unknown
@dataclass(frozen=True, repr=False)
class BackwardEuler(_ImplicitStep):
    """Backward Euler, order 1, fixed step, for any residual.

    Parameters
    ----------
    once : bool
        One Newton iteration in every step, without a test: the linearly implicit Euler method. It is exact for linear
        equations; on others the constraints are met to first order only.
    """

    once: bool = False
    order = 1
    recommended = True
    references = ("HW96",)

    def __post_init__(self):
        if not isinstance(self.once, bool):
            raise BadArgument(f"once={self.once!r}: choose True or False.")

    def lower(self) -> Lowered:
        return _lowered(BDF_KIND, 1, ALPHA[1], once=self.once)


class Trapezoidal(_ImplicitStep):
    """Implicit trapezoidal rule, order 2, fixed step; algebraic equations at the new point.

    It damps nothing: multipliers of index 2 keep the error they start with, alternating in sign, and those of
    index 3 need not converge at all. With such formulations prefer a BDF.
    """

    order = 2
    points = 2
    averages_slopes = True
    references = ("steinbrecher-2003", "HW96")

    def lower(self) -> Lowered:
        return _lowered(TRAPEZOIDAL_KIND, 1, ALPHA[1], own=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE))


@refuses_unknown
@dataclass(frozen=True, repr=False)
class ImplicitMidpoint(_ImplicitStep):
    """Implicit midpoint rule, order 2, fixed step.

    Its own multipliers belong to the middle of a step.

    Parameters
    ----------
    constraints : {"end", "stage"}
        Where the constraints hold: at the new point, or in the middle of the step as in Gauss's method. With "stage"
        and `Projection` it is the projected Gauss method of [ascher-petzold-1993].
    """

    constraints: str = "end"
    order = 2
    points = 2
    keeps_energy = True
    symmetric = True
    multipliers_in_stages = True
    recommended = True
    references = ("HW96", "ascher-petzold-1993")

    @property
    def turns_residuals(self) -> bool:  # type: ignore[override]
        return self.constraints == "stage"

    @property
    def keeps_at_end(self) -> bool:  # type: ignore[override]
        return self.constraints == "end"

    @property
    def highest_index(self) -> int:  # type: ignore[override]
        return 2 if self.constraints == "stage" else 3

    def __post_init__(self):
        if not is_one_of(self.constraints, ("end", "stage")):
            raise BadArgument(f'constraints={self.constraints!r}: choose "end" or "stage".')

    def lower(self) -> Lowered:
        in_stage = self.constraints == "stage"
        ends = () if in_stage else (Fn.ENDS_FACTOR, Fn.ENDS_SOLVE)
        return _lowered(MIDPOINT_KIND, 1, ALPHA[1], in_stage, own=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE, *ends))
