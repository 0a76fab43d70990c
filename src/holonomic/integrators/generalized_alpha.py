"""Generalized-α for constrained mechanical systems: order 2 with damping of what is not resolved.

With a the algorithmic accelerations, v̇ the true ones,

    (1 - α_m) a1 + α_m a0 = (1 - α_f) v̇1 + α_f v̇0
    q1 = q0 + h v0 + h² ((1/2 - β) a0 + β a1),      v1 = v0 + h ((1 - γ) a0 + γ a1)

and M v̇1 = f - Gᵀλ1 with the constraint of the formulation (g = 0 for index 3, G v + g_t = 0 for index 2) at
the new point, solved for v̇1 and λ1 by Newton's method. Where q' = Z(q) v, positions are those of `alpha_kinematics`.

a belongs to t + Δ h, Δ = α_m - α_f, and with index 3 the velocities that go with g = 0 at both ends of a step are off by
C h² P v̈ across the constraints, C = 1/6 - Δ/2 - β, P = M⁻¹Gᵀ(G M⁻¹Gᵀ)⁻¹G. A run that began with v̇0 and v0 instead would have
errors of order h in λ, which the damping takes away only slowly. So its first step begins with

    a0 = v̇0 + Δ h v̈0,      v0 + C h² P v̈0 (index 3)

A step that is r times as long as the one before begins with what belongs to its own length,

    a0 <- v̇0 + r (a0 - v̇0),      and across the constraints of index 3 as the first step: see `alpha_begin`

so that order 2 stays, of λ, too, as if the run had begun with that step. Its error is

    C h³ v̈ of q,      D h³ v⃛ of v,      D = 1/6 - κ - γ (1/2 + Δ),      κ = (1 - α_f)/2 - (1 - α_m)(1/2 + Δ)

with v̈ and v⃛ from differences of v̇; see `alpha_error`.

References
----------
[arnold-bruels-2007]; [arnold-bruels-cardona-2015] on what other starting values do to λ; [jay-negrut-2007] on steps that change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.newton import LOOSE, ROUNDED, rounding, small
from ..kernels.signatures import ACCEPT, ADVANCE, EQUATIONS, Fn, call_model
from ..kernels.sizes import TOLERANCES, raised
from ..kernels.vectors import copy_row, move_on
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import as_number
from ..native.marks import kernel, leaf
from .alpha_begin import begin, follow_change, go_on, next_slopes
from .alpha_equations import (
    AFRESH,
    ALGORITHMIC,
    EARLY,
    FROM_TRUE,
    NEW_ALGORITHMIC,
    NEW_TRUE,
    ROWS,
    START_SLOPE,
    TRUE,
    controls_of,
    factor_step,
    influence,
    linearize_step,
    residuals_of,
    slopes,
    solve_step,
    spare_at,
)
from .alpha_error import finish
from .alpha_kinematics import change_of_positions, end_of_step, largest_of_positions, turns
from .base import Integrator, Lowered
from .hermite import dense, interpolate

ITERATIONS, TURNING = 12, 24  # where q' is not v, Newton's matrix is off by h |ω|/2
# Equal steps chosen by their error after which one begins as if the length had changed, where rho is so near 1 that what they
# hand on across the constraints grows in proportion to their number: of h² in λ
MANY_EQUAL, NEAR_ONE, NEVER = 20, 0.95, 1 << 60
SAME = 1e-10  # relative difference of lengths that is rounding of times


def alpha_work(size) -> int:
    """Numbers of workspace of one step: the equations linearized, Newton's matrix, residuals, slopes, and four vectors."""
    return size.n_linear + size.n_factors + 6 * size.ny + 8


@leaf
def take_changes(sizes, W, r, xn, K, h, fp, nq, nv, ny, largest, plain):
    """v̇1 and λ1 less their changes; return the size of what these make of q1, v1 and λ1, in the error norm.

    Where q' is not v, so that `plain` is wrong, `largest` is that of q1.
    """
    by_v, by_q = influence(h, fp, ny)
    rtol, powers, at, rates = fp[0], fp[2 : 2 + ny], sizes.at_sizes + TOLERANCES, sizes.at_rates
    for i in range(nv):
        K[NEW_TRUE, i] -= r[i]
        step = abs(r[i])
        moved = step * abs(by_q) / (W[at + i] + rtol * abs(xn[i])) if plain else 0.0
        sped = step * abs(by_v) * raised(h, W[rates + nq + i], powers[nq + i]) / (W[at + nq + i] + rtol * abs(xn[nq + i]))
        if not max(moved, sped) <= largest:
            largest = max(moved, sped)
    for i in range(nq + nv, ny):
        xn[i] -= r[i - nq]
        change = abs(r[i - nq]) * raised(h, W[rates + i], powers[i]) / (W[at + i] + rtol * abs(xn[i]))
        if not change <= largest:
            largest = change
    return largest


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for accelerations and multipliers of the new point."""
    size = model.size
    fp = method.fp
    x, xn, K, W = state.x, state.xn, state.K, state.W
    ny, nq, nv = size.ny, size.nq, size.nv
    at_r = residuals_of(size)
    at_slope = at_r + ny
    control = controls_of(K)
    status = OK
    if control.begun == 0.0:
        if control.h != h:
            status = begin(model, method, run, t, h, state, at_r, at_slope)
    elif abs(h - control.h) > SAME * abs(h) or control.equal >= method.ip[AFRESH]:
        status = follow_change(model, run, t, h, state, fp, at_r, at_slope)
    else:
        go_on(K, nv)
    if status != OK:
        return status
    ahead = h if method.ip[EARLY] == 1 else 0.0
    for i in range(nv):
        K[NEW_TRUE, i] = K[FROM_TRUE, i] + ahead * K[START_SLOPE, i]
    for i in range(nq + nv, ny):
        xn[i] = x[i]
    before = 1e300
    for iteration in range(TURNING if turns(model) else ITERATIONS):
        end_of_step(model, t, h, x, xn, K, W, fp, at_slope + ny)
        slopes(W, at_slope, xn, K, NEW_TRUE, nq, nv, ny)
        call_model(model, EQUATIONS, t + h, xn, 0, W, at_slope, W, at_r)
        run.residuals += 1
        if iteration % 3 == 0:
            linearize_step(model, t + h, xn, W, at_slope)
            if factor_step(model, run, W, h, fp) != OK:
                return SINGULAR
        solve_step(model, W, at_r, h, fp)
        moved = 0.0
        if turns(model):
            at_move = change_of_positions(model, t + h, xn, W, at_r + nq, spare_at(size, at_r))
            _, by_q = influence(h, fp, ny)
            moved = largest_of_positions(W, at_move, size.at_sizes + TOLERANCES, xn, by_q, fp, nq)
        change = take_changes(size, W, W[at_r + nq : at_r + ny], xn, K, h, fp, nq, nv, ny, moved, not turns(model))
        if not change <= 1e200:
            return NO_CONVERGENCE
        at_rest = change >= 0.3 * before
        if at_rest and method.ip[EARLY] == 1:
            at_rest = change <= ROUNDED * rounding(size, W, xn, h, fp, nq, nq + nv, ny)
        elif at_rest:
            at_rest = small(size, W, change, LOOSE, xn, h, fp, nq, nq + nv, ny)
        if change <= fp[1] or at_rest:
            end_of_step(model, t, h, x, xn, K, W, fp, at_slope + ny)
            return OK
        before = change
    return NO_CONVERGENCE


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """New accelerations become the old ones."""
    size = model.size
    x, xn, K, control = state.x, state.xn, state.K, controls_of(state.K)
    next_slopes(K, h, control.back, size.nq, size.nv)
    copy_row(K, NEW_TRUE, K, TRUE, size.nv)
    copy_row(K, NEW_ALGORITHMIC, K, ALGORITHMIC, size.nv)
    control.equal = control.equal + 1.0 if h == control.h else 0.0
    control.begun, control.h, control.back = 1.0, h, 0.5 * h
    move_on(K, 1, size.nrow, xn, x, size.ny)
    return OK


@refuses_unknown
@dataclass(frozen=True)
class GeneralizedAlpha(Integrator):
    """Generalized-α method, order 2, adaptive or with a fixed step, with numerical damping at high frequencies.

    Takes index 3 (the usual form) and index 2. Where q' = Z(q) v, as with quaternions, positions follow the flow of velocities that
    are linear in the step. Its own λ has order 2 from the first step on, while steps change, too.
    With rho = 1 and index 3 nothing damps rounding in it, which steps of equal length make larger in proportion to their number.
    Where steps are chosen by their error, errors of a run are in proportion to rtol: steps in proportion to its root.

    Parameters
    ----------
    rho : float
        Spectral radius at infinite frequency, 0 (strong damping) to 1 (none).

    References
    ----------
    [arnold-bruels-2007]; [arnold-bruels-cardona-2015]; [jay-negrut-2007].
    """

    rho: float = 0.8
    order = 2
    takes = "residual"
    adaptive = True
    implicit = True
    indices = (2, 3)
    takes_kinematics = True
    only_plain = True
    references = ("arnold-bruels-2007", "arnold-bruels-cardona-2015", "jay-negrut-2007")

    def __post_init__(self):
        if not 0.0 <= as_number(self.rho) <= 1.0:
            raise BadArgument(f"rho={self.rho!r} must lie between 0 and 1.")

    def lower(self) -> Lowered:
        alpha_m = (2.0 * self.rho - 1.0) / (self.rho + 1.0)
        alpha_f = self.rho / (self.rho + 1.0)
        gamma = 0.5 + alpha_f - alpha_m
        beta = 0.25 * (gamma + 0.5) ** 2
        shift = alpha_m - alpha_f
        second = 1.0 / 6.0 - 0.5 * shift - beta
        third = 1.0 / 6.0 - (0.5 * (1.0 - alpha_f) - (1.0 - alpha_m) * (0.5 + shift)) - gamma * (0.5 + shift)
        slots = {"advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate}
        fixed = Lowered(
            slots, ip=np.array([1, 0, NEVER], dtype=np.int64), fp=np.array([alpha_m, alpha_f, beta, gamma, second, third]),
            rows=ROWS, errors=0, one_step=False, dense_rows=2, needs=(Fn.RESIDUAL,), work=alpha_work, wants_scales=True,
            asks_own=(Fn.NEWTON_SOLVE, Fn.MOTION_FACTOR, Fn.MOTION_TIMES), asks_turning=(Fn.KINEMATICS,),
        )  # fmt: skip
        early = np.array([1, 1, MANY_EQUAL if self.rho > NEAR_ONE else NEVER], dtype=np.int64)
        return replace(fixed, ip=early, errors=1, exponent=1.0 / 3.0, error_order=2, fac_max=2.0, fixed=fixed)
