"""Half-explicit Runge-Kutta for the constraint at velocity level, order 5, adaptive.

The stages are those of Dormand and Prince, but their accelerations come from a velocity constraint a little ahead
instead of from the acceleration level:

    Q_i = q + h Σ_{j<i} a_ij Q'_j,    V_i = v + h Σ_{j<i} a_ij V'_j,    Q'_i = Z(Q_i) V_i
    M(Q_i) V'_i = f(Q_i, V_i) - G(Q_i)ᵀΛ_i,      G(Q̄_i) V̄_i + g_t = 0
    Q̄_i = q + h Σ_{j<=i} ā_ij Q'_j,    V̄_i = v + h Σ_{j<=i} ā_ij V'_j,         i = 2 .. 6

which is linear in V'_i and Λ_i. Q̄_6, V̄_6 are the new point, so that the velocity constraint holds there. The first stage
is the field at the old point. No stage needs γ, and none of them has to be on the constraints.

The embedded method of order 4 is one more such stage, at the new point: its weight of the last acceleration is
chosen so that its velocity, too, meets the constraint. Its error would otherwise be that of the Λ_i, which are of low
order each.

References
----------
[murua-1997] (its z is our λ); stages of [dormand-prince-1980].
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from ..errors import NEED_TERMS, NOT_FINITE, OK, SINGULAR
from ..kernels.evaluate import RHO_REFINED, evaluate
from ..kernels.saddle import dense_saddle
from ..kernels.signatures import ADVANCE, FINISH, HALF_EXPLICIT, KINEMATICS, TERMS, VELOCITY, Fn, call_model, has_function
from ..kernels.vectors import all_finite, row_finite
from ..native.marks import inner, kernel, leaf
from ..native.types import f8, i8, mat, vec
from . import tableaus
from .base import Integrator, Lowered
from .runge_kutta import AT_B, AT_C, AT_E, STAGES, combine, combine_error, lowered_tableau

# ip of Runge-Kutta, then where ā and c̄ begin in fp
AT_BAR, AT_C_BAR = 10, 11

# ā of the stages 2 .. 6 and of the embedded method, which has the field at the new point for its 7th stage: [murua-1997].
# Σ_j ā_ij c_j^k = c̄_i^(k+1) / (k+1) for k = 0, 1, 2.
BAR = (
    (3 / 40, 9 / 40),
    (21 / 256, 45 / 256, 15 / 128),
    (19235 / 98784, -225 / 392, 6235 / 6174, 2755 / 32928),
    (-293 / 1152, 85 / 48, -2275 / 1908, 35 / 32, -2835 / 6784),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    (5179 / 57600, 0.0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40),
)
C_BAR = (3 / 10, 3 / 8, 5 / 7, 1.0, 1.0, 1.0)


def half_explicit_work(size) -> int:
    """Numbers of workspace of a stage: velocity rows with their Jacobian, and a state."""
    return size.n_velocity + size.nx + 8


@leaf
def ahead(W: vec, at: i8, x: vec, h: f8, fp: vec, at_bar: i8, K: mat, stage: i8, row: i8, nq: i8, n: i8):
    """(Q̄, V̄) without the acceleration of this stage; its Q' is in a row of K."""
    for i in range(n):
        total = 0.0
        for j in range(stage):
            total += fp[at_bar + j] * K[j, i]
        if i < nq:
            total += fp[at_bar + stage] * K[row, i]
        W[at + i] = x[i] + h * total


@leaf
def scale(W: vec, at: i8, n: i8, factor: f8):
    """W[at:at+n] *= factor"""
    for i in range(n):
        W[at + i] *= factor


@inner
def constrained(model, method, t, t_stage, h, stage, row, point, state):
    """Field of one stage with its argument `point`, into a row of K: the accelerations that meet the constraint ahead."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, K, W = state.x, state.K, state.W
    nq, nv, nl, at = size.nq, size.nv, size.nl, size.at_newton
    at_x = at + size.n_velocity
    width = ip[STAGES] + 1
    at_bar = ip[AT_BAR] + stage * width
    first = row * K.shape[1]
    call_model(model, KINEMATICS, t_stage, point, 0, point, 0, K, first)
    ahead(W, at_x, x, h, fp, at_bar, K, stage, row, nq, nq + nv)
    call_model(model, VELOCITY, t + fp[ip[AT_C_BAR] + stage] * h, W, at_x, W, at_x, W, at)
    scale(W, at, nl, 1.0 / (h * fp[at_bar + stage]))
    call_model(model, HALF_EXPLICIT, t_stage, point, 0, W, at, K, first)
    if K[row, size.nrow - 1] > RHO_REFINED and row_finite(K, row, nq + nv):
        return OK
    if size.dense == 0:
        return SINGULAR if row_finite(K, row, nq + nv) else NOT_FINITE
    if not has_function(model, TERMS):
        return NEED_TERMS
    count = nq + nv * nv + nv + nl * nv + nl
    call_model(model, TERMS, t_stage, point, 0, point, 0, W, 0)
    if not all_finite(W, count):
        return NOT_FINITE
    return dense_saddle(W, nq, nv, nl, nv + nl, count, at + nl, at, K[row])


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """The stages and the new point; the argument of the last stage stays in xs."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, xs, K = state.x, state.xn, state.xs, state.K
    s = ip[STAGES]
    for i in range(1, s):
        combine(xs, x, h, fp, i * s, K, i, size.nx)
        status = constrained(model, method, t, t + fp[ip[AT_C] + i] * h, h, i, i, xs, state)
        if status != OK:
            return status
    combine(xn, x, h, fp, ip[AT_B], K, s, size.nx)
    return OK


@leaf
def use_other_accelerations(E: mat, weight: f8, K: mat, row: i8, other: i8, nq: i8, n: i8):
    """Put the accelerations of another row of K in the place of those of `row`, in the first error vector."""
    for i in range(nq, n):
        E[0, i] += weight * (K[other, i] - K[row, i])


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The field at the new point, and the error vector."""
    size = model.size
    ip, fp = method.ip, method.fp
    xn, K, E, W = state.xn, state.K, state.E, state.W
    s = ip[STAGES]
    status = evaluate(model, run, t + h, xn, K, s, W)
    if status != OK:
        return status
    status = constrained(model, method, t, t + h, h, s, s + 1, xn, state)
    if status != OK:
        return status
    combine_error(E, 0, h, fp, ip[AT_E], K, s + 1, size.nx)
    use_other_accelerations(E, h * fp[ip[AT_E] + s], K, s, s + 1, size.nq, size.nx)
    return OK


@cache
def _half_explicit() -> Lowered:
    explicit = lowered_tableau(tableaus.RK45)
    s = tableaus.RK45.n_stages
    bar = np.zeros((s + 1, s + 1))
    for i, weights in enumerate(BAR, 1):
        bar[i, : i + 1] = weights
    at = len(explicit.fp)
    return replace(
        explicit, slots={**explicit.slots, "advance": advance, "finish": finish},
        ip=np.array([*explicit.ip, at, at + bar.size], dtype=np.int64),
        fp=np.concatenate([explicit.fp, bar.ravel(), [0.0], C_BAR]), rows=explicit.rows + 1,
        unconstrained=explicit, needs=(Fn.KINEMATICS, Fn.VELOCITY, Fn.HALF_EXPLICIT), work=half_explicit_work,
    )  # fmt: skip


class PHEM56(Integrator):
    """Half-explicit Runge-Kutta 5(4) of Murua for index 2, adaptive: velocity constraints inside the step, no γ.

    Explicit for what is not stiff, without differentiating the constraints twice: linear solves only. The velocity
    constraint holds after every step, the position constraint by a stabilization. Accelerations and multipliers at
    the ends of steps are solved for. Without constraints it is `RK45`.
    """

    order, adaptive = 5, True
    takes = "half-explicit"
    stage_at_end = True
    damping_limit = 3.3
    references = ("murua-1997", "dormand-prince-1980")

    def lower(self) -> Lowered:
        return _half_explicit()
