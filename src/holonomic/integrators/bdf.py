"""BDF of variable step and order 1 to 6 for any residual, with the stabilization inside the step.

The past is kept as backward differences D_j (`backward_differences`). With y_p = Σ D*_j the predicted point, s_j the shares of
the step in the ways back to the points of the past, and d = y1 - y_p,

    y1' = (Σ (s_1 + .. + s_j) D*_j) / h + α d,      error of the step  c d

where α and c follow from what is done where steps change (`bdf_coefficients`); R(t1, y1, α y1 + β) = 0 is solved by simplified
Newton iteration (`bdf_newton`). A stabilization moves y1 before d goes into the error estimate and into the differences: the
history is on the constraints. Multipliers count in the error times h (index 2) or h² (index 3).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NO_PAST, OK, BadArgument
from ..kernels.evaluate import evaluate
from ..kernels.newton import AT_BETA, AT_SLOPE
from ..kernels.newton_operators import vectors_at
from ..kernels.signatures import ACCEPT, ADVANCE, FINISH, INTERPOLATE, Fn
from ..kernels.sizes import raised
from ..kernels.vectors import copy, move_on, take_slopes
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import is_whole
from ..native.marks import inner, kernel, leaf
from .backward_differences import (
    BEHIND,
    CONTROL,
    SPANS,
    D,
    controls_of,
    even_points,
    history_polynomial,
    move_points,
    predict,
    take_in,
)
from .base import Integrator, Lowered
from .bdf_coefficients import KINDS, QUASI_CONSTANT, bring_to, choose, leading, over_error
from .bdf_newton import MANY, NEAR, PATIENT, slope_of, solve
from .fixed_steps import OLD_POINT_LIMITS
from .hermite import dense
from .looking_back import ROWS, in_pieces, look_back, looking_back_numbers

LOOKING_BACK = SPANS + 1  # row of K
# ip: the row of slopes at the new point, the highest order, the most Newton steps, whether to give up early, whether to
# begin with the full order, what is done where steps change
LAST, HIGHEST, MOST, EARLY, AT_ONCE, KIND = range(6)


@leaf
def begin(K, x, h, ny, differential):
    """First order from the field at the start."""
    control = controls_of(K)
    even_points(K, h)
    for i in range(ny):
        K[D, i] = x[i]
        K[D + 1, i] = h * K[0, i] if i < differential else 0.0
        for j in range(2, 9):
            K[D + j, i] = 0.0
    control.h = h
    control.order = 1.0
    control.equal = 0.0
    control.alpha = 0.0
    control.begun = 0.0
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
    status = look_back(model, run, fp, 3 + ny, t, h, state, D, LOOKING_BACK, ip[HIGHEST])
    if status == OK:
        control.order = ip[HIGHEST]
        return OK
    begin(K, x, h, ny, differential)
    control.yet = ip[HIGHEST] - 1
    return OK if status == NO_PAST else status


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for the new point; the predicted one stays in xs."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, xs, K, W = state.x, state.xn, state.xs, state.K, state.W
    control = controls_of(K)
    ny, kind = size.ny, ip[KIND]
    t1 = t + h
    if control.h == 0.0 or (control.begun == 0.0 and kind != QUASI_CONSTANT and h != control.h):
        begin(K, x, h, ny, size.nq + size.nv)
        if ip[AT_ONCE] == 1:
            status = begin_at_once(model, method, run, t, h, state)
            if status != OK:
                control.h = 0.0
                return status
    run.steered_order = order = int(control.order)
    h = bring_to(K, kind, h, order, ny)
    alpha = leading(K, kind, order) / h
    if control.yet > 0.0:
        predict(K, order, xn, xs, W, vectors_at(size, 0) + AT_BETA * ny, alpha, h, ny)
        copy(xn, K[LOOKING_BACK + ROWS], ny)
        status, pieces = in_pieces(model, run, fp, 3 + ny, t, h, state, LOOKING_BACK, int(control.pieces))
        control.pieces = max(1.0, 0.5 * pieces)
        copy(K[LOOKING_BACK + ROWS], xs, ny)
        if status != NO_PAST or ip[HIGHEST] > 2:
            return status
        control.yet = 0.0  # one step of order 1 leaves an error of h², with which order 2 is kept
    near = 0.0 if kind == QUASI_CONSTANT else NEAR
    return solve(model, method, run, t1, h, state, order, alpha, ip[MOST], ip[EARLY] == 1, near)


@leaf
def error_vector(W, rates, E, row, xn, xp, divisor, h, fp, ny):
    """c d, multipliers weighted by their power of h."""
    powers, error = fp[2 : 2 + ny], E[row]
    for i in range(ny):
        error[i] = (xn[i] - xp[i]) / divisor * raised(h, W[rates + i], powers[i])


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The field at the new point for the record, and the error vector."""
    size = model.size
    xn, xs, K, E, W = state.xn, state.xs, state.K, state.E, state.W
    control = controls_of(K)
    divisor = over_error(K, method.ip[KIND], int(control.order))
    error_vector(W, size.at_rates, E, 0, xn, xs, divisor, abs(h), method.fp, size.ny)
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
    ip = method.ip
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    ny, order = size.ny, int(control.order)
    if abs(h - control.h) > 1e-10 * abs(h):
        control.h = h
        control.equal = 0.0
    if control.equal <= BEHIND:
        move_points(K, control.h)
    take_in(K, xn, order, ny)
    move_on(K, 1, size.nrow, xn, x, ny)
    control.equal += 1.0
    control.begun = 1.0
    run.steered_h = h
    if control.yet > 0.0:  # one difference more is that of points
        control.yet -= 1.0
        control.order = order + 1
        control.equal = 0.0
    elif ip[AT_ONCE] == 0:
        choose(model, method, run, ip[KIND], ip[HIGHEST], h, state)
    elif control.equal >= order + 1 and order < ip[HIGHEST]:
        # fixed steps: there is no tolerance by which an order could be chosen
        control.order = order + 1
        control.equal = 0.0
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

    With y_p the polynomial through the past at the new point and d = y1 - y_p, it solves for y1

        R(t1, y1, y_p' + α d) = 0,      error of the step  c d

    With `Projection` it is the coordinate projection method of Eich: projected history, projected error. With a fixed
    step it begins with its highest order: DOP853 says where the motion would have come from or, where it cannot, takes the
    first steps, in pieces. Motions too stiff for that as well are refused, but with max_order=1 or 2.

    Parameters
    ----------
    max_order : int
        1 to 6. Order 6 takes fewer steps at tight tolerances, but is unstable for fast oscillations with little damping
        and, while steps change, with constraints among the equations: it is for Index1 and UnderlyingODE.
    coefficients : str
        What is done where the step changes; on equal steps h α = 1 + 1/2 + .. + 1/k of all three. "quasi-constant": the past is
        interpolated to equal steps, c = 1/(k + 1). "variable": h α = Σ h/(t1 - t_(n+1-j)), the slope of the polynomial through
        the points as they are, as in Eich's program; c is that of the local error of y. "fixed-leading": α stays, the
        polynomial through the points as they are gives y_p', as in DASSL and IDA.

    References
    ----------
    [eich-1993]; quasi-constant steps as in [shampine-reichelt-1997]; fixed leading coefficient as in [BCP96] Sec. 5.2;
    [HW96] Sec. V.1, VII.
    """

    max_order: int = 5
    coefficients: str = "quasi-constant"
    order, adaptive, implicit, takes = 5, True, True, "residual"
    errors_add_up = True
    chosen_for = "implicit, orders 1 to 5: long steps where fast motion has decayed"
    recommended = True
    references = ("eich-1993", "shampine-reichelt-1997", "BCP96", "HW96")

    def __post_init__(self):
        if not is_whole(self.max_order, 1) or self.max_order > 6:
            raise BadArgument(f"max_order={self.max_order!r}: BDF formulas are stable for orders 1 to 6.")
        if not isinstance(self.coefficients, str) or self.coefficients not in KINDS:
            raise BadArgument(f"coefficients={self.coefficients!r}: BDF has 'quasi-constant', 'variable' and 'fixed-leading' ones.")
        object.__setattr__(self, "order", self.max_order)

    @property
    def unstable_with_constraints(self) -> bool:  # type: ignore[override]
        return self.max_order > 5

    @property
    def old_point_limit(self) -> float:  # type: ignore[override]
        return OLD_POINT_LIMITS.get(self.max_order, 2.0)

    def lower(self) -> Lowered:
        kind = KINDS[self.coefficients]
        return Lowered(
            slots={
                "advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate,
            },
            ip=np.array([1, self.max_order, MANY, 1, 0, kind], dtype=np.int64),
            patient=np.array([1, self.max_order, PATIENT, 0, 1, kind], dtype=np.int64),
            fp=looking_back_numbers(),
            rows=LOOKING_BACK + ROWS + 1, errors=1, exponent=0.5, error_order=1, fac_min=0.2,
            fac_max=10.0, one_step=False, dense_first=CONTROL, dense_rows=D - CONTROL + self.max_order + 1, steers=True,
            wants_scales=True, unrolls=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE), asks_own=(Fn.GRADIENTS,),
        )  # fmt: skip
