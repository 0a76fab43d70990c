"""Newton's method of a BDF step: R(t1, y1, α y1 + β) = 0 by simplified iteration.

The exact Jacobian is kept until convergence slows down. Where factors are cheap, straight-line code, they are renewed when α
changes, and the Jacobian once it takes more iterations than a new one did; with dense LU a correction makes up for another
α. Multipliers count in the stopping rule times h (index 2) or h² (index 3).
"""

from __future__ import annotations

import math

from ..errors import NO_CONVERGENCE, OK, SINGULAR
from ..kernels.newton import AT_BETA, AT_OLD, AT_R, AT_ROUNDING, AT_SLOPE, ROUNDING, newton_step_scaled, small, stalled
from ..kernels.newton_operators import cheap_factors, factor_real, gradient_lengths, linearize, vectors_at
from ..kernels.signatures import EQUATIONS, call_model
from ..kernels.sizes import LENGTHS
from ..native.marks import inner, leaf
from .backward_differences import controls_of, predict

AT_LENGTHS = AT_OLD  # in the workspace of Newton's method: 1 / length² of the gradients of algebraic equations
UNKNOWN = 0.5  # rate of new factors, until it is known
# Of the tolerance, what an iteration may leave. It leaves the same in step after step: over 50 periods of a pendulum
# without projection the error of λ is 0.09 with 0.01, 0.29 with 0.005, 0.03 with 0.003 and 0.04 with 1e-4 and below.
BOUND = 0.003
# Newton steps, and how many where the step is fixed: there giving up early gains nothing
MANY, PATIENT = 4, 30
# Where α changes from step to step, what factors may be for another one: on ten stiff runs at equal error 0 takes 1.76 times
# the factorizations of 0.1 and 0.97 times the evaluations, 0.25 takes 0.97 and 1.04 times
NEAR = 0.1


@leaf
def slope_of(W, slope, beta, alpha, y, ny):
    """y' = α y + β"""
    s, b = W[slope : slope + ny], W[beta : beta + ny]
    for i in range(ny):
        s[i] = alpha * y[i] + b[i]


@inner
def refresh(model, run, t1, y, alpha, K, W, slope, beta, h, fp):
    """Form and factor Newton's matrix at y."""
    size = model.size
    control = controls_of(K)
    ny = size.ny
    slope_of(W, slope, beta, alpha, y, ny)
    linearize(model, t1, y, 0, W, slope)
    run.jacobians += 1
    gradient_lengths(model, W, vectors_at(size, 0) + AT_LENGTHS * ny)
    control.fresh = 1.0
    control.rate = UNKNOWN
    return refactor(model, run, alpha, K, W, h, fp)


@inner
def refactor(model, run, alpha, K, W, h, fp):
    """Factor Newton's matrix for another α."""
    size = model.size
    control = controls_of(K)
    control.alpha = 0.0
    if factor_real(model, run, W, alpha, 1.0, size.nq + size.nv, h, fp) != OK:
        return SINGULAR
    control.alpha = alpha
    return OK


@leaf
def distance_off(W, lengths, r, ny, differential):
    """How far a point is off the algebraic equations: residuals over the lengths of their gradients in q and v."""
    largest = 0.0
    residual, weight = W[r : r + ny], W[lengths : lengths + ny]
    for i in range(differential, ny):
        largest = max(largest, residual[i] * residual[i] * weight[i])
    return math.sqrt(largest)


@inner
def solve(model, method, run, t1, h, state, order, alpha, most, early, near):
    """xn = y1 from the predicted point, which stays in xs; factors for an α as near as `near` are kept.

    `early`: give up early where it does not converge.
    """
    size = model.size
    fp = method.fp
    xn, xs, K, W = state.xn, state.xs, state.K, state.W
    control = controls_of(K)
    ny, differential = size.ny, size.nq + size.nv
    v = vectors_at(size, 0)
    r, slope, beta, lengths = v + AT_R * ny, v + AT_SLOPE * ny, v + AT_BETA * ny, v + AT_LENGTHS * ny
    bound, hold = max(fp[1], BOUND) if early else fp[1], fp[2 + ny] * max(1.0, W[size.at_sizes + LENGTHS])
    control.fresh = 0.0
    while True:
        predict(K, order, xn, xs, W, beta, alpha, h, ny)
        drift = alpha / control.alpha if control.alpha != 0.0 else 0.0
        cheap = cheap_factors(size, W)
        if not (drift > 0.7 and drift < 1.4) or control.fresh == 1.0:
            if refresh(model, run, t1, xn, alpha, K, W, slope, beta, h, fp) != OK:
                return SINGULAR
            drift = 1.0
        elif cheap and abs(drift - 1.0) > near:
            if refactor(model, run, alpha, K, W, h, fp) != OK:
                return SINGULAR
            control.rate = min(UNKNOWN, 2.0 * control.rate)
            drift = 1.0
        elif abs(alpha - control.before) > near * alpha:
            control.rate = max(control.rate, UNKNOWN)  # factors for another α converge at another rate
        elif near > 0.0:
            control.rate = max(control.rate, abs(drift - 1.0))
        control.before = alpha
        damping = 2.0 / (1.0 + drift)  # makes up for most of what factors for another α miss
        if not early:
            control.rate = 0.99
        before, apart_before, rate, quickest, converged = 0.0, 0.0, 0.0, 1.0, False
        for iteration in range(most):
            slope_of(W, slope, beta, alpha, xn, ny)
            call_model(model, EQUATIONS, t1, xn, 0, W, slope, W, r)
            apart = distance_off(W, lengths, r, ny, differential) if early and hold < 1e300 else 0.0
            change = newton_step_scaled(model, run, W, xn, damping, h, fp)
            if not change <= 1e100:
                break
            if iteration > 0:
                rate = change / before if before > 0.0 else 0.0
                if early:
                    if stalled(size, W, change, rate, quickest, xn, h, fp, size.nq, differential, ny):
                        converged = True
                        break
                    quickest = min(quickest, rate)
                    if rate >= 0.9 or rate ** (most - iteration) / (1.0 - rate) * change > bound:
                        break
                    control.rate = max(rate, 0.3 * control.rate)
                else:
                    control.rate = min(rate, 0.99)
            to_come = control.rate / (1.0 - control.rate) * change
            if change == 0.0 or to_come <= bound:
                converged = True
                gain = apart / apart_before if apart_before > 0.0 else control.rate
                if not (apart * gain > hold and gain < 0.9):
                    break
            apart_before = apart
            if not early and iteration > 0:
                at_rest = rate >= AT_ROUNDING and small(size, W, change, ROUNDING, xn, h, fp, size.nq, differential, ny)
                if at_rest and control.fresh == 1.0:
                    converged = True
                    break
                if rate > 0.1:
                    if refresh(model, run, t1, xn, alpha, K, W, slope, beta, h, fp) != OK:
                        return SINGULAR
                    damping = 1.0
            before = change
        if converged:
            if control.fresh == 1.0:
                control.least = iteration
            elif cheap and iteration > control.least:
                control.alpha = 0.0
            return OK
        if control.fresh == 1.0:
            control.alpha = 0.0
            return NO_CONVERGENCE
        control.fresh = 1.0
