"""BDF of variable step and order 1 to 6 for any residual, with the stabilization inside the step.

The past is kept as backward differences D_j = ∇^j y_n on equal steps; when the step changes they are
interpolated to the new spacing. With y_p = Σ D_j the predicted point, γ_j = 1 + 1/2 + .. + 1/j and d = y1 - y_p,

    y1' = (Σ γ_j D_j + γ_k d) / h,      error of the step  d / (k + 1)

so that R(t1, y1, α y1 + β) = 0 with α = γ_k / h is solved by simplified Newton iteration. Its exact Jacobian is kept until
convergence slows down. Where factors are cheap, straight-line code, they are renewed whenever α changes, and the Jacobian
once it takes more iterations than a new one did; with dense LU a correction makes up for another α. A stabilization moves
y1 before d goes into the error estimate and into the differences: the history is on the constraints. Multipliers count in
the error and in Newton's stopping rule times h (index 2) or h² (index 3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import NO_CONVERGENCE, NO_PAST, OK, SINGULAR, BadArgument
from ..kernels.evaluate import evaluate
from ..kernels.newton import (
    AT_BETA,
    AT_OLD,
    AT_R,
    AT_ROUNDING,
    AT_SLOPE,
    ROUNDING,
    newton_step_scaled,
    small,
    stalled,
)
from ..kernels.newton_operators import cheap_factors, factor_real, gradient_lengths, linearize, vectors_at
from ..kernels.signatures import (
    ACCEPT,
    ADVANCE,
    EQUATIONS,
    FINISH,
    INTERPOLATE,
    Fn,
    call_model,
)
from ..kernels.vectors import copy, move_on, take_slopes
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import is_whole
from ..native.layout import REAL, Layout, view_as
from ..native.marks import inner, kernel, leaf
from .backward_differences import D, gamma, history_polynomial, predict, respace, scaled_norm, take_in
from .base import Integrator, Lowered
from .fixed_steps import OLD_POINT_LIMITS
from .hermite import dense
from .looking_back import ROWS, in_pieces, look_back, looking_back_numbers

AT_LENGTHS = AT_OLD  # in the workspace of Newton's method: 1 / length² of the gradients of algebraic equations
# rows of K: field at the old and the new point, differences D_0 .. D_8, numbers of its own
CONTROL, LOOKING_BACK = D + 9, D + 10
# ip: the row of slopes at the new point, the highest order, the most Newton steps, whether to give up early, whether to
# begin with the full order
LAST, HIGHEST, MOST, EARLY, AT_ONCE = range(5)
CONTROLS = Layout("BDF", (
    ("h", REAL, "step of the differences; 0: there are none"),
    ("order", REAL, "order of the next step"),
    ("equal", REAL, "equal steps since the last change"),
    ("alpha", REAL, "α of the factors; 0: they are to be renewed"),
    ("fresh", REAL, "1 where the Jacobian is of this step"),
    ("rate", REAL, "at which iterations with these factors converge"),
    ("before", REAL, "α of the step before"),
    ("least", REAL, "Newton steps beyond the first that a new Jacobian took"),
    ("yet", REAL, "steps that are yet to be taken in pieces"),
    ("pieces", REAL, "and in how many"),
))  # fmt: skip
controls_of = view_as(CONTROLS, CONTROL)
UNKNOWN = 0.5  # rate of new factors, until it is known
# Of the tolerance, what an iteration may leave. It leaves the same in step after step: over 50 periods of a pendulum
# without projection the error of λ is 0.09 with 0.01, 0.29 with 0.005, 0.03 with 0.003 and 0.04 with 1e-4 and below.
BOUND = 0.003
# Newton steps, and how many where the step is fixed: there giving up early gains nothing
MANY, PATIENT = 4, 30
GROW_FROM = 1.2  # a smaller growth of the step is not worth a new factorization


@leaf
def begin(K, x, h, ny, differential):
    """First order from the field at the start."""
    control = controls_of(K)
    for i in range(ny):
        K[D, i] = x[i]
        K[D + 1, i] = h * K[0, i] if i < differential else 0.0
        for j in range(2, 9):
            K[D + j, i] = 0.0
    control.h = h
    control.order = 1.0
    control.equal = 0.0
    control.alpha = 0.0
    control.yet = 0.0
    control.pieces = 1.0


@inner
def begin_at_once(model, method, run, t, h, state):
    """Differences of the full order from the motion before; where there is none, first steps are yet to be taken in pieces."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, K = state.x, state.K
    control = controls_of(K)
    if ip[HIGHEST] == 1:
        return OK
    ny, differential = size.ny, size.nq + size.nv
    status = look_back(model, run, fp, 3 + 2 * ny, t, h, state, D, LOOKING_BACK, ip[HIGHEST])
    if status == OK:
        control.order = ip[HIGHEST]
        return OK
    begin(K, x, h, ny, differential)
    control.yet = ip[HIGHEST] - 1
    return OK if status == NO_PAST else status


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


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for the new point; the predicted one stays in xs."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, xs, K, W = state.x, state.xn, state.xs, state.K, state.W
    control = controls_of(K)
    ny, differential = size.ny, size.nq + size.nv
    t1 = t + h
    if control.h == 0.0:
        begin(K, x, h, ny, differential)
        if ip[AT_ONCE] == 1:
            status = begin_at_once(model, method, run, t, h, state)
            if status != OK:
                control.h = 0.0
                return status
    run.steered_order = order = int(control.order)
    # differences of times are steps with rounding, which even steps must not have
    if abs(h - control.h) <= 1e-10 * abs(h):
        h = control.h
    else:
        respace(K, h / control.h, order, ny)
        control.h = h
        control.equal = 0.0
    alpha = gamma(order) / h
    v = vectors_at(size, 0)
    r, slope, beta, lengths = v + AT_R * ny, v + AT_SLOPE * ny, v + AT_BETA * ny, v + AT_LENGTHS * ny
    if control.yet > 0.0:
        predict(K, order, xn, xs, W, beta, alpha, h, ny)
        copy(xn, K[LOOKING_BACK + ROWS], ny)
        status, pieces = in_pieces(model, run, fp, 3 + 2 * ny, t, h, state, LOOKING_BACK, int(control.pieces))
        control.pieces = max(1.0, 0.5 * pieces)
        copy(K[LOOKING_BACK + ROWS], xs, ny)
        if status != NO_PAST or ip[HIGHEST] > 2:
            return status
        control.yet = 0.0  # one step of order 1 leaves an error of h², with which order 2 is kept
    early = ip[EARLY] == 1
    bound, hold = max(fp[1], BOUND) if early else fp[1], fp[2 + 2 * ny]
    control.fresh = 0.0
    while True:
        predict(K, order, xn, xs, W, beta, alpha, h, ny)
        drift = alpha / control.alpha if control.alpha != 0.0 else 0.0
        cheap = cheap_factors(size, W)
        if not (drift > 0.7 and drift < 1.4) or control.fresh == 1.0:
            if refresh(model, run, t1, xn, alpha, K, W, slope, beta, h, fp) != OK:
                return SINGULAR
            drift = 1.0
        elif cheap and drift != 1.0:
            if refactor(model, run, alpha, K, W, h, fp) != OK:
                return SINGULAR
            control.rate = min(UNKNOWN, 2.0 * control.rate)
            drift = 1.0
        elif alpha != control.before:
            control.rate = max(control.rate, UNKNOWN)  # factors for another α converge at another rate
        control.before = alpha
        damping = 2.0 / (1.0 + drift)  # makes up for most of what factors for another α miss
        if not early:
            control.rate = 0.99
        before, apart_before, rate, quickest, converged = 0.0, 0.0, 0.0, 1.0, False
        for iteration in range(ip[MOST]):
            slope_of(W, slope, beta, alpha, xn, ny)
            call_model(model, EQUATIONS, t1, xn, 0, W, slope, W, r)
            apart = distance_off(W, lengths, r, ny, differential) if early and hold < 1e300 else 0.0
            change = newton_step_scaled(model, run, W, xn, damping, h, fp)
            if not change <= 1e100:
                break
            if iteration > 0:
                rate = change / before if before > 0.0 else 0.0
                if early:
                    if stalled(change, rate, quickest, xn, h, fp, size.nq, differential, ny):
                        converged = True
                        break
                    quickest = min(quickest, rate)
                    if rate >= 0.9 or rate ** (ip[MOST] - iteration) / (1.0 - rate) * change > bound:
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
                at_rest = rate >= AT_ROUNDING and small(change, ROUNDING, xn, h, fp, size.nq, differential, ny)
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


@leaf
def error_vector(E, row, xn, xp, order, h, fp, ny):
    """d / (k + 1), multipliers weighted by their power of h."""
    powers, error = fp[2 + ny : 2 + 2 * ny], E[row]
    for i in range(ny):
        error[i] = (xn[i] - xp[i]) / (order + 1) * h ** int(powers[i])


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The field at the new point for the record, and the error vector."""
    size = model.size
    fp = method.fp
    xn, xs, K, E, W = state.xn, state.xs, state.K, state.E, state.W
    control = controls_of(K)
    error_vector(E, 0, xn, xs, int(control.order), abs(h), fp, size.ny)
    if size.nv == 0 and control.yet == 0.0:  # neither accelerations nor multipliers are recorded
        v = vectors_at(size, 0)
        slope_of(W, v + AT_SLOPE * size.ny, v + AT_BETA * size.ny, control.before, xn, size.ny)
        take_slopes(K, W, v + AT_SLOPE * size.ny, size.nq, size.nrow)
        return OK
    return evaluate(model, run, t + h, xn, K, 1, W)


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """Update the differences with the stabilized point; choose order and step."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    ny, nq, differential = size.ny, size.nq, size.nq + size.nv
    order = int(control.order)
    take_in(K, xn, order, ny)
    move_on(K, 1, size.nrow, xn, x, ny)
    control.equal += 1.0
    run.steered_h = h
    if control.yet > 0.0:  # one difference more is that of points
        control.yet -= 1.0
        control.order = order + 1
        control.equal = 0.0
        return OK
    if control.equal < order + 1:
        return OK
    if ip[AT_ONCE] == 1:  # fixed steps: there is no tolerance by which an order could be chosen
        if order < ip[HIGHEST]:
            control.order = order + 1
            control.equal = 0.0
        return OK
    length = abs(h)
    here = scaled_norm(K, D + order + 1, x, length, fp, nq, differential, ny) / (order + 1)
    best, factor = order, max(here, 1e-10) ** (-1.0 / (order + 1))
    if order > 1:
        below = scaled_norm(K, D + order, x, length, fp, nq, differential, ny) / order
        candidate = max(below, 1e-10) ** (-1.0 / order)
        if candidate > factor:
            best, factor = order - 1, candidate
    if order < ip[HIGHEST]:
        above = scaled_norm(K, D + order + 2, x, length, fp, nq, differential, ny) / (order + 2)
        candidate = max(above, 1e-10) ** (-1.0 / (order + 2))
        if candidate > factor:
            best, factor = order + 1, candidate
    factor = min(10.0, 0.9 * factor)
    if best != order:
        control.order = best
        control.equal = 0.0
    if factor >= GROW_FROM or factor < 1.0 or best != order:
        run.steered_h = h * max(0.2, factor)
    return OK


@kernel(INTERPOLATE)
def interpolate(model, method, theta, h, state, out):
    """The unknowns at t + θ h, to the order of the step."""
    size = model.size
    xn, K = state.xn, state.K
    control = controls_of(K)
    history_polynomial(theta, K, xn, int(control.order), size.ny, out)
    return OK


@refuses_unknown
@dataclass(frozen=True, repr=False)
class BDF(Integrator):
    """Backward differentiation of variable step and order 1 to 5, implicit, for stiff systems.

    With `Projection` it is the coordinate projection method of Eich: projected history, projected error. With a fixed
    step it begins with its highest order: DOP853 says where the motion would have come from or, where it cannot, takes the
    first steps, in pieces. Motions too stiff for that as well are refused, but with max_order=1 or 2.

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
    errors_add_up = True
    chosen_for = "implicit, orders 1 to 5: long steps where fast motion has decayed"
    recommended = True
    references = ("eich-1993", "shampine-reichelt-1997", "HW96")

    def __post_init__(self):
        if not is_whole(self.max_order, 1) or self.max_order > 6:
            raise BadArgument(f"max_order={self.max_order!r}: BDF formulas are stable for orders 1 to 6.")
        object.__setattr__(self, "order", self.max_order)

    @property
    def unstable_with_constraints(self) -> bool:  # type: ignore[override]
        return self.max_order > 5

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
            rows=LOOKING_BACK + ROWS + 1, errors=1, exponent=0.5, error_order=1, fac_min=0.2,
            fac_max=10.0, one_step=False, dense_rows=CONTROL + 1, steers=True, wants_scales=True,
            unrolls=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE), asks_own=(Fn.GRADIENTS,),
        )  # fmt: skip
