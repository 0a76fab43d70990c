"""BDF of variable step and order 1 to 6 for any residual, with the stabilization inside the step.

The past is kept as backward differences D_j = ∇^j y_n on equal steps; when the step changes they are
interpolated to the new spacing. With y_p = Σ D_j the predicted point, γ_j = 1 + 1/2 + .. + 1/j and d = y1 - y_p,

    y1' = (Σ γ_j D_j + γ_k d) / h,      error of the step  d / (k + 1)

so that R(t1, y1, α y1 + β) = 0 with α = γ_k / h is solved by simplified Newton iteration, its exact Jacobian
kept until convergence slows down. A stabilization moves y1 before d goes into the error estimate and into the
differences: the history is on the constraints. Multipliers count in the error and in Newton's stopping
rule times h (index 2) or h² (index 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.compile import inner, kernel, leaf
from ..kernels.evaluate import evaluate
from ..kernels.newton import (
    AT_BETA,
    AT_R,
    AT_ROUNDING,
    AT_SLOPE,
    ROUNDING,
    factor_newton,
    newton_step_scaled,
    vectors_at,
)
from ..kernels.signatures import (
    ACCEPT,
    ADVANCE,
    BY_SLOPE,
    BY_Y,
    DENSE,
    EQUATIONS,
    FINISH,
    INTERPOLATE,
    NQ,
    NROW,
    NV,
    NY,
    WN,
    Fn,
    call_model,
)
from ..kernels.vectors import move_on
from .base import Integrator, Lowered
from .implicit_steps import OLD_POINT_LIMITS
from .looking_back import STAGES, look_back, looking_back_numbers

# rows of K: field at the old and the new point, differences D_0 .. D_8, control numbers
D, CONTROL, LOOKING_BACK = 2, 11, 12
# ip: the row of slopes at the new point, the highest order, the most Newton steps, whether to give up early, whether to
# begin with the full order
LAST, HIGHEST, MOST, EARLY, AT_ONCE = range(5)
# control numbers: step of the differences, order, equal steps since the last change, next step, α of the
# factors, whether the Jacobian is of this step, the rate at which iterations with these factors converge
H_D, ORDER, EQUAL, H_NEXT, ALPHA, FRESH, RATE, BEFORE = range(8)
UNKNOWN = 0.5  # rate of new factors, until it is known
# Of the tolerance, what an iteration may leave. It leaves the same in step after step: over 50 periods of a pendulum
# without projection the error of λ is 0.09 with 0.01, 0.29 with 0.005, 0.03 with 0.003 and 0.04 with 1e-4 and below.
BOUND = 0.003
# Newton steps, and how many where the step is fixed: there giving up early gains nothing
MANY, PATIENT = 4, 30
GROW_FROM = 1.2  # a smaller growth of the step is not worth a new factorization


@leaf
def gamma(k):
    """1 + 1/2 + .. + 1/k"""
    total = 0.0
    for j in range(1, k + 1):
        total += 1.0 / j
    return total


@leaf
def begin(K, x, h, ny, differential):
    """First order from the field at the start."""
    for i in range(ny):
        K[D, i] = x[i]
        K[D + 1, i] = h * K[0, i] if i < differential else 0.0
        for j in range(2, 9):
            K[D + j, i] = 0.0
    K[CONTROL, H_D] = h
    K[CONTROL, ORDER] = 1.0
    K[CONTROL, EQUAL] = 0.0
    K[CONTROL, ALPHA] = 0.0


@leaf
def respace(K, factor, order, ny):
    """Differences of the interpolating polynomial on steps `factor` times as long.

    In Newton's basis D~_j = Σ_i M_ji D_i, where M = R(factor) U as in [shampine-reichelt-1997]: the values at
    the new points, differenced. Done column by column, for orders up to 6.
    """
    for i in range(ny):
        d0, d1, d2, d3, d4, d5 = K[D, i], K[D + 1, i], K[D + 2, i], K[D + 3, i], K[D + 4, i], K[D + 5, i]
        d6 = K[D + 6, i] if order > 5 else 0.0
        if order < 5:
            d5 = 0.0
        if order < 4:
            d4 = 0.0
        if order < 3:
            d3 = 0.0
        if order < 2:
            d2 = 0.0
        v0 = d0
        v1 = value_at(-factor, d0, d1, d2, d3, d4, d5, d6)
        v2 = value_at(-2.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v3 = value_at(-3.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v4 = value_at(-4.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v5 = value_at(-5.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v6 = value_at(-6.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        K[D + 1, i] = v0 - v1
        if order > 1:
            K[D + 2, i] = v0 - 2.0 * v1 + v2
        if order > 2:
            K[D + 3, i] = v0 - 3.0 * v1 + 3.0 * v2 - v3
        if order > 3:
            K[D + 4, i] = v0 - 4.0 * v1 + 6.0 * v2 - 4.0 * v3 + v4
        if order > 4:
            K[D + 5, i] = v0 - 5.0 * v1 + 10.0 * v2 - 10.0 * v3 + 5.0 * v4 - v5
        if order > 5:
            K[D + 6, i] = v0 - 6.0 * v1 + 15.0 * v2 - 20.0 * v3 + 15.0 * v4 - 6.0 * v5 + v6


@leaf
def value_at(s, d0, d1, d2, d3, d4, d5, d6):
    """Newton's backward interpolant at s steps from the newest point (s <= 0 is the past)."""
    a1 = s
    a2 = a1 * (s + 1.0) / 2.0
    a3 = a2 * (s + 2.0) / 3.0
    a4 = a3 * (s + 3.0) / 4.0
    a5 = a4 * (s + 4.0) / 5.0
    a6 = a5 * (s + 5.0) / 6.0
    return d0 + a1 * d1 + a2 * d2 + a3 * d3 + a4 * d4 + a5 * d5 + a6 * d6


@leaf
def predict(K, order, xn, xp, W, beta, alpha, h, ny):
    """y_p, and β of y' = α y + β."""
    for i in range(ny):
        total, weighted, weight = K[D, i], 0.0, 0.0
        for j in range(1, order + 1):
            weight += 1.0 / j
            total += K[D + j, i]
            weighted += weight * K[D + j, i]
        xn[i] = total
        xp[i] = total
        W[beta + i] = weighted / h - alpha * total


@leaf
def slope_of(W, slope, beta, alpha, y, ny):
    """y' = α y + β"""
    for i in range(ny):
        W[slope + i] = alpha * y[i] + W[beta + i]


@inner
def refresh(fns, n, data, t1, y, alpha, K, W, slope, beta):
    """Form and factor Newton's matrix at y."""
    ny, at = n[NY], n[WN]
    slope_of(W, slope, beta, alpha, y, ny)
    call_model(fns, BY_Y, t1, y, 0, W, slope, data, W, at)
    call_model(fns, BY_SLOPE, t1, y, 0, W, slope, data, W, at + ny * ny)
    if factor_newton(fns, data, W, at, ny, alpha, 1.0, n[NQ] + n[NV]) != 0:
        K[CONTROL, ALPHA] = 0.0
        return SINGULAR
    K[CONTROL, ALPHA] = alpha
    K[CONTROL, FRESH] = 1.0
    K[CONTROL, RATE] = UNKNOWN
    return OK


@leaf
def distance_off(W, at, r, ny, differential):
    """How far a point is off the algebraic equations: residuals over the lengths of their gradients in q and v."""
    largest = 0.0
    for i in range(differential, ny):
        total = 0.0
        for j in range(differential):
            total += W[at + i * ny + j] ** 2
        if total > 0.0:
            largest = max(largest, W[r + i] ** 2 / total)
    return math.sqrt(largest)


@kernel(ADVANCE)
def advance(fns, n, data, ip, fp, t, h, x, K, xn, xs, W):
    """Solve for the new point; the predicted one stays in xs."""
    ny, at, differential = n[NY], n[WN], n[NQ] + n[NV]
    t1 = t + h
    if K[CONTROL, H_D] == 0.0:
        begin(K, x, h, ny, differential)
        if ip[AT_ONCE] == 1:
            reached = look_back(fns, n, data, fp, 3 + 2 * ny, t, h, x, K, xn, xs, W, D, LOOKING_BACK, ip[HIGHEST])
            K[CONTROL, ORDER] = reached
            if reached == 1:
                begin(K, x, h, ny, differential)
    order = int(K[CONTROL, ORDER])
    # differences of times are steps with rounding, which even steps must not have
    if abs(h - K[CONTROL, H_D]) <= 1e-10 * abs(h):
        h = K[CONTROL, H_D]
    else:
        respace(K, h / K[CONTROL, H_D], order, ny)
        K[CONTROL, H_D] = h
        K[CONTROL, EQUAL] = 0.0
    alpha = gamma(order) / h
    v = vectors_at(at, ny)
    r, slope, beta = v + AT_R * ny, v + AT_SLOPE * ny, v + AT_BETA * ny
    early = ip[EARLY] == 1
    bound, hold = max(fp[1], BOUND) if early else fp[1], fp[2 + 2 * ny]
    K[CONTROL, FRESH] = 0.0
    while True:
        predict(K, order, xn, xs, W, beta, alpha, h, ny)
        # factors for a slightly different α converge too; the correction below makes up for most of it
        drift = alpha / K[CONTROL, ALPHA] if K[CONTROL, ALPHA] != 0.0 else 0.0
        if not (drift > 0.7 and drift < 1.4) or K[CONTROL, FRESH] == 1.0:
            if refresh(fns, n, data, t1, xn, alpha, K, W, slope, beta) != OK:
                return SINGULAR
            drift = 1.0
        damping = 2.0 / (1.0 + drift)
        if alpha != K[CONTROL, BEFORE]:
            K[CONTROL, RATE] = max(K[CONTROL, RATE], UNKNOWN)  # factors for another α converge at another rate
            K[CONTROL, BEFORE] = alpha
        if not early:
            K[CONTROL, RATE] = 0.99
        before, apart_before, converged = 0.0, 0.0, False
        for iteration in range(ip[MOST]):
            slope_of(W, slope, beta, alpha, xn, ny)
            call_model(fns, EQUATIONS, t1, xn, 0, W, slope, data, W, r)
            apart = distance_off(W, at, r, ny, differential) if early and hold < 1e300 else 0.0
            change = newton_step_scaled(fns, data, W, at, ny, xn, damping, h, fp)
            if not change <= 1e100:
                break
            if iteration > 0:
                rate = change / before if before > 0.0 else 0.0
                if early:
                    if rate >= 0.9 or rate ** (ip[MOST] - iteration) / (1.0 - rate) * change > bound:
                        break
                    K[CONTROL, RATE] = max(rate, 0.3 * K[CONTROL, RATE])
                else:
                    K[CONTROL, RATE] = min(rate, 0.99)
            to_come = K[CONTROL, RATE] / (1.0 - K[CONTROL, RATE]) * change
            if change == 0.0 or to_come <= bound:
                converged = True
                gain = apart / apart_before if apart_before > 0.0 else K[CONTROL, RATE]
                if not (apart * gain > hold and gain < 0.9):
                    break
            apart_before = apart
            if not early and iteration > 0:
                if rate >= AT_ROUNDING and change <= ROUNDING and K[CONTROL, FRESH] == 1.0:
                    converged = True
                    break
                if rate > 0.1:
                    if refresh(fns, n, data, t1, xn, alpha, K, W, slope, beta) != OK:
                        return SINGULAR
                    damping = 1.0
            before = change
        if converged:
            return OK
        if K[CONTROL, FRESH] == 1.0:
            K[CONTROL, ALPHA] = 0.0
            return NO_CONVERGENCE
        K[CONTROL, FRESH] = 1.0


@leaf
def error_vector(E, row, xn, xp, order, h, fp, ny):
    """d / (k + 1), multipliers weighted by their power of h."""
    for i in range(ny):
        E[row, i] = (xn[i] - xp[i]) / (order + 1) * h ** int(fp[2 + ny + i])


@kernel(FINISH)
def finish(fns, n, data, ip, fp, t, h, x, K, xn, xs, E, W):
    """The field at the new point for the record, and the error vector."""
    error_vector(E, 0, xn, xs, int(K[CONTROL, ORDER]), abs(h), fp, n[NY])
    return evaluate(fns, n, t + h, xn, data, K, 1, W)


@leaf
def scaled_norm(K, row, x, h, fp, nq, differential, ny):
    """Size of a row in the error norm: RMS over q, over v and over multipliers, the largest counts."""
    worst = 0.0
    first = 0
    for block in range(3):
        last = nq if block == 0 else (differential if block == 1 else ny)
        total = 0.0
        for i in range(first, last):
            part = K[row, i] * h ** int(fp[2 + ny + i]) / (fp[2 + i] + fp[0] * abs(x[i]))
            total += part * part
        if last > first:
            worst = max(worst, math.sqrt(total / (last - first)))
        first = last
    return worst


@kernel(ACCEPT)
def accept(n, ip, fp, h, x, K, xn):
    """Update the differences with the stabilized point; choose order and step."""
    ny, nq, differential = n[NY], n[NQ], n[NQ] + n[NV]
    order = int(K[CONTROL, ORDER])
    for i in range(ny):
        predicted = 0.0
        for j in range(order + 1):
            predicted += K[D + j, i]
        d = xn[i] - predicted
        K[D + order + 2, i] = d - K[D + order + 1, i]
        K[D + order + 1, i] = d
        for j in range(order, -1, -1):
            K[D + j, i] += K[D + j + 1, i]
    move_on(K, 1, n[NROW], xn, x, ny)
    K[CONTROL, EQUAL] += 1.0
    K[CONTROL, H_NEXT] = h
    if K[CONTROL, EQUAL] < order + 1:
        return OK
    if ip[AT_ONCE] == 1:  # fixed steps: there is no tolerance by which an order could be chosen
        if order < ip[HIGHEST]:
            K[CONTROL, ORDER] = order + 1
            K[CONTROL, EQUAL] = 0.0
        return OK
    size = abs(h)
    here = scaled_norm(K, D + order + 1, x, size, fp, nq, differential, ny) / (order + 1)
    best, factor = order, max(here, 1e-10) ** (-1.0 / (order + 1))
    if order > 1:
        below = scaled_norm(K, D + order, x, size, fp, nq, differential, ny) / order
        candidate = max(below, 1e-10) ** (-1.0 / order)
        if candidate > factor:
            best, factor = order - 1, candidate
    if order < ip[HIGHEST]:
        above = scaled_norm(K, D + order + 2, x, size, fp, nq, differential, ny) / (order + 2)
        candidate = max(above, 1e-10) ** (-1.0 / (order + 2))
        if candidate > factor:
            best, factor = order + 1, candidate
    factor = min(10.0, 0.9 * factor)
    if best != order:
        K[CONTROL, ORDER] = best
        K[CONTROL, EQUAL] = 0.0
    if factor >= GROW_FROM or factor < 1.0 or best != order:
        K[CONTROL, H_NEXT] = h * max(0.2, factor)
    return OK


@kernel(DENSE)
def dense(fns, n, data, ip, fp, t, h, x, K, xn, xs, W):
    """Nothing to prepare."""
    return OK


@leaf
def history_polynomial(theta, K, xn, order, ny, out):
    """Interpolant through the new point and those before it."""
    for i in range(ny):
        predicted = 0.0
        for j in range(order + 1):
            predicted += K[D + j, i]
        step = xn[i] - predicted
        # differences at the new point, from the highest down; s = θ - 1 steps from there
        s = theta - 1.0
        total, basis = 0.0, 1.0
        for j in range(order + 1):
            new = step
            for m in range(j, order + 1):
                new += K[D + m, i]
            if j > 0:
                basis *= (s + j - 1) / j
            total += basis * new
        out[i] = total


@kernel(INTERPOLATE)
def interpolate(n, ip, fp, theta, h, x, K, xn, out):
    """The unknowns at t + θ h, to the order of the step."""
    history_polynomial(theta, K, xn, int(K[CONTROL, ORDER]), n[NY], out)
    return OK


@dataclass(frozen=True, repr=False)
class BDF(Integrator):
    """Backward differentiation of variable step and order 1 to 5, implicit, for stiff systems.

    With `Projection` it is the coordinate projection method of Eich: projected history, projected error. With a fixed
    step it begins with its highest order: DOP853 says where the motion would have come from.

    Parameters
    ----------
    max_order : int
        1 to 6. Order 6 takes fewer steps at tight tolerances, but is unstable for fast oscillations with little damping
        and, while steps change, with constraints among the equations: it is for Index1 and UnderlyingODE.

    References
    ----------
    [eich-1993]; quasi-constant steps as in [shampine-reichelt-1997]; [HW96] Sec. V.1, VII.
    """

    max_order: int = 5
    order, adaptive, implicit, takes = 5, True, True, "residual"
    references = ("eich-1993", "shampine-reichelt-1997", "HW96")

    def __post_init__(self):
        if self.max_order not in range(1, 7):
            raise BadArgument(f"max_order={self.max_order!r}: BDF formulas are stable for orders 1 to 6.")
        object.__setattr__(self, "order", self.max_order)

    @property
    def old_point_limit(self) -> float:  # type: ignore[override]
        return OLD_POINT_LIMITS.get(self.max_order, 2.0)

    def lower(self) -> Lowered:
        return Lowered(
            slots={
                "advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate,
            },
            ip=np.array([1, self.max_order, MANY, 1, 0], dtype=np.int64),
            patient=np.array([1, self.max_order, PATIENT, 0, 1], dtype=np.int64), fp=looking_back_numbers(),
            rows=LOOKING_BACK + STAGES, errors=1, exponent=0.5, error_order=1, fac_min=0.2,
            fac_max=10.0, one_step=False, steers=CONTROL, wants_scales=True, unrolls=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE),
        )  # fmt: skip
