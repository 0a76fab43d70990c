"""Radau IIA with three stages, order 5, adaptive, for any residual R(t, y, y') = 0.

The stages Z_i = Y_i - y0 obey

    R(t0 + c_i h, y0 + Z_i, Σ_j a_ij Z_j / h) = 0,      a = A⁻¹,      y1 = y0 + Z_3

Newton's method with ∂R/∂y and ∂R/∂y' of the start of the step falls apart into one real and one complex
system, because a = T Λ T⁻¹ has one real eigenvalue γ and a pair α ± iβ:

    (∂R/∂y + γ/h ∂R/∂y') Δw_1 = ...,      (∂R/∂y + (α - iβ)/h ∂R/∂y')(Δw_2 + i Δw_3) = ...,      Z = T w

The error estimate is -E⁻¹ R(t0, y0, -Σ e_i Z_i / h) with the real matrix E, which filters stiff parts.
Index-raised unknowns count in the error and in Newton's stopping rule times h or h².

References
----------
[HW96] Sec. IV.8 (its z is our Z, its M y' - f our R).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR
from ..kernels.evaluate import evaluate
from ..kernels.newton import AT_ROUNDING, ROUNDING, small, stalled
from ..kernels.newton_operators import factor_systems, linearize, solve_pair, solve_real, vectors_at
from ..kernels.signatures import (
    ACCEPT,
    ADVANCE,
    EQUATIONS,
    FINISH,
    Fn,
    call_model,
)
from ..kernels.vectors import copy_row, move_on, take_slopes
from ..native.marks import inner, kernel, leaf
from .base import Integrator, Lowered
from .radau_dense import (
    C1,
    C2,
    OLD_Z,
    ROWS,
    SQ6,
    Z,
    controls_of,
    dense,
    interpolate,
    keep_shift,
    stage_polynomial,
)

A = np.array(
    [
        [(88 - 7 * SQ6) / 360, (296 - 169 * SQ6) / 1800, (-2 + 3 * SQ6) / 225],
        [(296 + 169 * SQ6) / 1800, (88 + 7 * SQ6) / 360, (-2 - 3 * SQ6) / 225],
        [(16 - SQ6) / 36, (16 + SQ6) / 36, 1 / 9],
    ]
)
E_WEIGHTS = (-(13.0 + 7.0 * SQ6) / 3.0, (-13.0 + 7.0 * SQ6) / 3.0, -1.0 / 3.0)
PAIRS = 1  # of complex shifts
# vectors behind the factors, in units of ny: three residuals, y and y' of a stage, three solutions
AT_R, AT_Y, AT_SLOPE, AT_SOLVED, N_VECTORS = 0, 3, 4, 5, 8
# Newton steps, and how many where the step is fixed: there giving up early gains nothing
MANY, PATIENT = 7, 30
# ip: the row of slopes at the new point, the most Newton steps, whether to give up early
LAST, ITERATIONS, EARLY = range(3)


@cache
def _constants() -> np.ndarray:
    """a = A⁻¹, T, T⁻¹, and γ, α, β: the end of fp, behind the scales (3 + 2 ny numbers)."""
    a = np.linalg.inv(A)
    values, vectors = np.linalg.eig(a)
    real = int(np.argmin(np.abs(values.imag)))
    pair = int(np.argmax(values.imag))
    T = np.column_stack([vectors[:, real].real, vectors[:, pair].real, vectors[:, pair].imag])
    return np.concatenate(
        [a.ravel(), T.ravel(), np.linalg.inv(T).ravel(),
         [values[real].real, values[pair].real, values[pair].imag]]
    )  # fmt: skip


def radau_work(size) -> int:
    """Numbers of workspace that a step takes."""
    return size.n_linear + size.n_factors + PAIRS * size.n_pair + N_VECTORS * size.ny + 8


@leaf
def start_stages(K, x, h, differential, ny, c1, c2):
    """Z from the polynomial of the last step, or from the slopes at the start."""
    control = controls_of(K)
    old = control.h_old
    z1, z2, z3 = K[OLD_Z, :], K[OLD_Z + 1], K[OLD_Z + 2]
    for stage in range(3):
        c = c1 if stage == 0 else (c2 if stage == 1 else 1.0)
        z = K[Z + stage]
        if old == 0.0:
            for i in range(ny):
                z[i] = c * h * K[0, i] if i < differential else 0.0
        else:
            l1, l2, l3 = stage_polynomial(1.0 + c * h / old, c1, c2)
            for i in range(ny):
                z[i] = l1 * z1[i] + l2 * z2[i] + l3 * z3[i] - z3[i]


@leaf
def stage_arguments(W, at_y, at_slope, x, K, fp, constants, stage, h, ny):
    """y0 + Z_i and Σ a_ij Z_j / h."""
    y, slope, z, z1, z2, z3 = W[at_y : at_y + ny], W[at_slope : at_slope + ny], K[Z + stage], K[Z, :], K[Z + 1], K[Z + 2]
    at = constants + 3 * stage
    a1, a2, a3 = fp[at] / h, fp[at + 1] / h, fp[at + 2] / h
    for i in range(ny):
        y[i] = x[i] + z[i]
        slope[i] = a1 * z1[i] + a2 * z2[i] + a3 * z3[i]


@leaf
def block_norms(total_q, total_v, total_rest, nq, differential, ny):
    """RMS over all stages, of q, of v and of the rest; the largest counts."""
    worst = (total_q / (3 * nq)) ** 0.5
    if differential > nq:
        worst = max(worst, (total_v / (3 * (differential - nq))) ** 0.5)
    if ny > differential:
        worst = max(worst, (total_rest / (3 * (ny - differential))) ** 0.5)
    return worst


@inner
def newton_update(model, run, at_r, state, h, fp, constants):
    """One Newton step for all stages from the residuals at at_r; return the size of the change."""
    size, x, K, W = model.size, state.x, state.K, state.W
    ny, nq, differential = size.ny, size.nq, size.nq + size.nv
    solved = vectors_at(size, PAIRS) + AT_SOLVED * ny
    run.residuals += 3
    to_eigenvectors(W, at_r, fp, constants + 18, ny)
    solve_real(model, W, at_r, solved)
    solve_pair(model, W, 0, at_r + ny, solved + ny)
    return add_steps(W, solved, x, K, h, fp, constants + 9, nq, differential, ny)


@leaf
def to_eigenvectors(W, at_r, fp, inverse, ny):
    """-T⁻¹ times the residuals of the stages, in place."""
    r1, r2, r3 = W[at_r : at_r + ny], W[at_r + ny : at_r + 2 * ny], W[at_r + 2 * ny : at_r + 3 * ny]
    t = fp[inverse : inverse + 9]
    t11, t12, t13, t21, t22, t23, t31, t32, t33 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]
    for i in range(ny):
        a, b, c = r1[i], r2[i], r3[i]
        r1[i] = -(t11 * a + t12 * b + t13 * c)
        r2[i] = -(t21 * a + t22 * b + t23 * c)
        r3[i] = -(t31 * a + t32 * b + t33 * c)


@leaf
def add_steps(W, solved, x, K, h, fp, T, nq, differential, ny):
    """Z += T Δw; return the size of the change."""
    w1, w2, w3 = W[solved : solved + ny], W[solved + ny : solved + 2 * ny], W[solved + 2 * ny : solved + 3 * ny]
    t, atol, powers, z1, z2, z3 = fp[T : T + 9], fp[2 : 2 + ny], fp[2 + ny : 2 + 2 * ny], K[Z, :], K[Z + 1], K[Z + 2]
    t11, t12, t13, t21, t22, t23, t31, t32, t33 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]
    size, rtol = abs(h), fp[0]
    total_q, total_v, total_rest = 0.0, 0.0, 0.0
    for i in range(ny):
        weight = size ** int(powers[i]) / (atol[i] + rtol * abs(x[i]))
        a, b, c = w1[i], w2[i], w3[i]
        step1, step2, step3 = t11 * a + t12 * b + t13 * c, t21 * a + t22 * b + t23 * c, t31 * a + t32 * b + t33 * c
        z1[i] += step1
        z2[i] += step2
        z3[i] += step3
        change = (step1 * step1 + step2 * step2 + step3 * step3) * (weight * weight)
        if i < nq:
            total_q += change
        elif i < differential:
            total_v += change
        else:
            total_rest += change
    return block_norms(total_q, total_v, total_rest, nq, differential, ny)


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for the stages."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K, W = state.x, state.xn, state.K, state.W
    control = controls_of(K)
    ny, differential = size.ny, size.nq + size.nv
    constants = 3 + 2 * ny
    v = vectors_at(size, PAIRS)
    at_r, at_y, at_slope = v + AT_R * ny, v + AT_Y * ny, v + AT_SLOPE * ny
    c1, c2 = C1, C2
    for _ in range(2):
        if control.jacobian_good == 0.0:
            for i in range(ny):
                W[at_slope + i] = K[0, i] if i < differential else 0.0
            linearize(model, t, x, 0, W, at_slope)
            run.jacobians += 1
            control.jacobian_good = 1.0
            control.fresh = 1.0
            control.h_factors = 0.0
        if control.h_factors != h:
            if factor_systems(model, run, W, h, fp, constants + 27, PAIRS) != OK:
                control.jacobian_good = 0.0
                return SINGULAR
            control.h_factors = h
        start_stages(K, x, h, differential, ny, c1, c2)
        before, rate, last_fall, quickest, converged, done = 0.0, 0.0, 0.0, 1.0, False, 0
        slowness = max(control.slowness, 1e-16) ** 0.8 if control.slowness > 0.0 else 1.0  # of the last step
        if ip[EARLY] == 0:
            slowness = 1000.0
        run.advice_shrink = 0.5
        for iteration in range(ip[ITERATIONS]):
            for stage in range(3):
                c = c1 if stage == 0 else (c2 if stage == 1 else 1.0)
                stage_arguments(W, at_y, at_slope, x, K, fp, constants, stage, h, ny)
                call_model(model, EQUATIONS, t + c * h, W, at_y, W, at_slope, W, at_r + stage * ny)
            change = newton_update(model, run, at_r, state, h, fp, constants)
            done += 1
            if not change <= 1e100:
                break
            if iteration > 0:
                # the changes of an index above 1 need not fall evenly: the mean of two falls is what counts
                fall = change / before if before > 0.0 else 0.0
                if ip[EARLY] == 1 and stalled(change, fall, quickest, x, h, fp, size.nq, differential, ny):
                    converged = True
                    break
                quickest = min(quickest, fall)
                rate = fall if iteration == 1 else (fall * last_fall) ** 0.5
                last_fall = fall
                slowness = rate / (1.0 - rate) if rate < 0.99 else 100.0
            if change == 0.0 or slowness * change <= fp[1]:
                converged = True
                break
            if ip[EARLY] == 0 and iteration > 0 and rate >= AT_ROUNDING and small(
                change, ROUNDING, x, h, fp, size.nq, differential, ny
            ):
                converged = True
                break
            if ip[EARLY] == 1 and iteration > 1:
                left = ip[ITERATIONS] - 1 - iteration
                if rate >= 0.99:
                    break
                to_come = slowness * rate**left * change / fp[1]
                if to_come > 1.0:
                    run.advice_shrink = 0.8 * min(20.0, to_come) ** (-1.0 / (4.0 + left))
                    break
            before = change
        control.slowness = slowness
        if converged:
            # where Newton converged at once the Jacobian is good for the next step too
            control.retry = 1.0 if rate > 1e-3 else 0.0
            run.advice_keep = 0 if control.retry == 1.0 else 1
            run.advice_safety = min(1.0, (1.0 + 2.0 * MANY) / (done + 2.0 * MANY))
            for i in range(ny):
                xn[i] = x[i] + K[Z + 2, i]
            return OK
        control.slowness = 0.0
        if control.fresh == 1.0:
            break
        control.jacobian_good = 0.0
    return NO_CONVERGENCE


@leaf
def scale_error(E, W, found, h, fp, ny):
    """The estimate as a vector, index-raised unknowns times their power of h."""
    for i in range(ny):
        E[0, i] = -W[found + i] * abs(h) ** int(fp[2 + ny + i])


@inner
def estimate(model, run, W, at_r, h, fp, ny, E):
    """-E⁻¹ r as the error; return where E⁻¹ r stands."""
    run.residuals += 1
    found = vectors_at(model.size, PAIRS) + AT_SOLVED * ny
    solve_real(model, W, at_r, found)
    scale_error(E, W, found, h, fp, ny)
    return found


@leaf
def error_size(E, x, fp, ny):
    """The largest component of the estimate beside its tolerance."""
    largest = 0.0
    for i in range(ny):
        part = abs(E[0, i]) / (fp[2 + i] + fp[0] * abs(x[i]))
        if not part <= largest:
            largest = part
    return largest


@leaf
def step_aside(W, at_y, found, x, ny):
    """y0 + error."""
    for i in range(ny):
        W[at_y + i] = x[i] - W[found + i]


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The filtered error estimate, and the field at the new point."""
    size = model.size
    fp = method.fp
    x, xn, K, E, W = state.x, state.xn, state.K, state.E, state.W
    control = controls_of(K)
    ny = size.ny
    v = vectors_at(size, PAIRS)
    at_r, at_y, at_slope = v + AT_R * ny, v + AT_Y * ny, v + AT_SLOPE * ny
    e1, e2, e3 = E_WEIGHTS
    for i in range(ny):
        W[at_slope + i] = -(e1 * K[Z, i] + e2 * K[Z + 1, i] + e3 * K[Z + 2, i]) / h
    call_model(model, EQUATIONS, t, x, 0, W, at_slope, W, at_r)
    found = estimate(model, run, W, at_r, h, fp, ny, E)
    # only in the first step and after a rejection: at every step it flatters steps far too long for a stiff part that is
    # driven, as in y' = -λ (y - cos t) - sin t
    again = control.tried == 1.0 or control.h_old == 0.0
    control.tried = 1.0
    if again and not error_size(E, x, fp, ny) < 1.0:
        # once more from y0 + error, as in [HW96] Sec. IV.8: a start that misses the algebraic equations by more than
        # is allowed would otherwise be held against steps of any length
        step_aside(W, at_y, found, x, ny)
        call_model(model, EQUATIONS, t, W, at_y, W, at_slope, W, at_r)
        estimate(model, run, W, at_r, h, fp, ny, E)
    if size.nv == 0:  # neither accelerations nor multipliers are recorded
        stage_arguments(W, at_y, at_slope, x, K, fp, 3 + 2 * ny, 2, h, ny)
        take_slopes(K, W, at_slope, size.nq, size.nrow)
        return OK
    return evaluate(model, run, t + h, xn, K, 1, W)


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """Keep the stages for the next prediction."""
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    ny = size.ny
    for stage in range(3):
        copy_row(K, Z + stage, K, OLD_Z + stage, ny)
    control.h_old = h
    control.fresh = control.tried = 0.0
    if control.retry == 1.0:
        control.jacobian_good = 0.0
    keep_shift(K, x, xn, ny)
    move_on(K, 1, size.nrow, xn, x, ny)
    return OK


class Radau(Integrator):
    """Radau IIA of order 5, adaptive, implicit, for stiff systems and every index up to 3."""

    order, adaptive, implicit, takes = 5, True, True, "residual"
    meets_constraints = False
    chosen_for = "implicit, order 5: long steps where the equations are stiff, high accuracy or oscillation"
    recommended = True
    references = ("HW96",)

    def lower(self) -> Lowered:
        return Lowered(
            slots={
                "advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate,
            },
            ip=np.array([1, MANY, 1], dtype=np.int64), patient=np.array([1, PATIENT, 0], dtype=np.int64),
            fp=_constants(), rows=ROWS, errors=1, exponent=0.25, error_order=3, fac_min=0.2, fac_max=8.0,
            one_step=False, dense_rows=ROWS, advises=True, doubts=True, wants_scales=True, work=radau_work,
            unrolls=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE, Fn.COMPLEX_FACTOR, Fn.COMPLEX_SOLVE),
        )  # fmt: skip
