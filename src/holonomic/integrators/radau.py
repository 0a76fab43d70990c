"""Radau IIA of order 5, 9 or 13, adaptive, for any residual R(t, y, y') = 0.

With s = 3, 5 or 7 stages of order 2s - 1. The stages Z_i = Y_i - y0 obey

    R(t0 + c_i h, y0 + Z_i, Σ_j a_ij Z_j / h) = 0,      a = A⁻¹,      y1 = y0 + Z_s

Newton's method with ∂R/∂y and ∂R/∂y' of one point falls apart into one real system and (s - 1)/2 complex ones, because
a = T Λ T⁻¹ has one real eigenvalue γ and pairs α ± iβ:

    (∂R/∂y + γ/h ∂R/∂y') Δw_1 = ...,      (∂R/∂y + (α - iβ)/h ∂R/∂y')(Δw_2 + i Δw_3) = ...,      Z = T w

The curve u through start and stages solves the equations at the nodes, not at the start. With the real matrix E,

    e = -E⁻¹ R(t0, y0, u'(t0))

is the difference to an embedded formula of order s, O(h^(s+1)), filtered where the equations are stiff. The error of a step is
O(h^(2s)) where they are not, and about as large as e where they are: on y' = λ (y - φ) + φ' it is e times (z / (z - γ))^(s-1),
z = h λ, times a number between 0.5 and s. So the estimate that is controlled is

    κ e + s/3 (E⁻¹ ∂R/∂y)^(s-1) e,      κ = min(1, (400 rtol)^((s-2)/(2s-1)))

rtol being that of q and of v as a whole, atol included. The second part is that of stiffness; E⁻¹ ∂R/∂y is z / (z - γ) there.
κ is the inner tolerance of RADAU5 and RADAU, set so that runs, not steps, come near rtol: where (h/τ)^(s+1) is controlled to
κ⁻¹ rtol, (h/τ)^(2s-1) is some 400 rtol times a small number.
Index-raised unknowns count in the error and in Newton's stopping rule times h or h², multipliers of a System in the first part
alone: they follow from q and v.

Stages are added and taken away where less work per unit of time is to be expected: from the error, if derivatives grow
evenly, and from the contraction of the iteration. [hairer-wanner-1999] goes by contraction alone; on mechanisms, whose
Jacobians change, it then stays with three stages.

References
----------
[HW96] Sec. IV.8 (its z is our Z, its M y' - f our R); [hairer-wanner-1999].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..errors import OK, BadArgument
from ..kernels.evaluate import evaluate
from ..kernels.newton_operators import solve_real, times_by_y
from ..kernels.signatures import ACCEPT, EQUATIONS, FINISH, Fn, call_model
from ..kernels.sizes import TOLERANCES, raised
from ..kernels.vectors import copy_row, move_on, take_slopes
from ..model.call_by_name import refuses_unknown
from ..native.marks import inner, kernel, leaf
from .base import Integrator, Lowered
from .radau_dense import (
    BY_STIFFNESS,
    CONTROL,
    EARLY,
    ERROR,
    HIGHEST,
    LOWEST,
    OLD_ERROR,
    OLD_Z,
    controls_of,
    dense,
    interpolate,
    keep_shift,
    rows_of,
)
from .radau_five import advance_five
from .radau_nodes import table, table_at
from .radau_stages import (
    CONTRACTION,
    GROWTH,
    MANY,
    PATIENT,
    advance,
    arguments_at,
    radau_work,
    residuals_at,
    slope_of,
    solutions_at,
    stage_arguments,
)

STAGES = {5: 3, 9: 5, 13: 7}
# κ = (STRICT rtol)^((s-2)/(2s-1)): the error of q and v is then 0.1 to 40 rtol with order 5, rtol 1e-4 to 1e-10, on six mechanisms,
# that of DOP853 0.1 to 130
STRICT = 400.0
# Steps after stages were added or taken away before they are added again, and by how much work has to fall for either
SOON, LATER, GAIN = 2.0, 10.0, 1.2


@leaf
def share_of_block(x, W, at, fp, stages, first, last):
    """κ for the tolerance of a block of unknowns beside the largest of them: where atol rules, that is more than rtol."""
    largest, least = 0.0, 1e300
    for i in range(first, last):
        largest, least = max(largest, abs(x[i])), min(least, W[at + i])
    return share_of(fp[0] + least / largest, stages) if largest > 0.0 else 1.0


@leaf
def take_error(sizes, E, row, x, W, solved, h, stages, loosens, fp, nq, ny):
    """e itself into a row of K, and κ e as the error, index-raised unknowns times their power of h."""
    at, rates = sizes.at_sizes + TOLERANCES, sizes.at_rates
    share = share_of_block(x, W, at, fp, stages, 0, nq) if loosens else 1.0
    for i in range(ny):
        if i == nq and loosens:
            share = share_of_block(x, W, at, fp, stages, nq, ny)
        row[i] = -W[solved + i]
        E[0, i] = share * row[i] * raised(h, W[rates + i], fp[2 + i])


@leaf
def add_error(E, W, rates, found, h, weight, fp, n):
    """Add the part of stiffness for the first n unknowns."""
    for i in range(n):
        E[0, i] -= weight * W[found + i] * raised(h, W[rates + i], fp[2 + i])


@leaf
def size_left(W, at, found, x, fp, n):
    """The largest of the first n components at `found` beside its tolerance, where they are not raised to an index above 1."""
    largest = 0.0
    for i in range(n):
        if fp[2 + i] == 0.0:
            largest = max(largest, abs(W[found + i]) / (W[at + i] + fp[0] * abs(x[i])))
    return largest


@inner
def leaves_multipliers(size, sp):
    """Whether multipliers are integrated, and no stabilization makes them follow the state, so that their errors stay."""
    return size.nv > 0 and size.n_differential > size.nq + size.nv and sp.shape[0] == size.nq


@inner
def estimate(model, method, run, t, h, state, shift, stages):
    """The error of the step from R(t0, y0, u'(t0)), which stands where the second residual does; in the place of the first
    stands the same at y0 or, where that is tried again, at y0 + e."""
    size, fp, most, x, K, E, W = model.size, method.fp, method.ip[HIGHEST], state.x, state.K, state.E, state.W
    ny, at_r, at_y, solved = size.ny, residuals_at(size, most), arguments_at(size, most), solutions_at(size, most)
    run.residuals += 1
    solve_real(model, W, at_r, solved)
    take_error(size, E, K[ERROR, :], x, W, solved, h, stages, not leaves_multipliers(size, method.sp), fp, size.nq, ny)
    for power in range(stages - 1):
        times_by_y(model, t, x, W, at_y + ny, shift, at_r, solved, at_r + ny, solved + ny)
        solve_real(model, W, at_r, solved)
        if power == 0:
            controls_of(K).left = BY_STIFFNESS * size_left(W, size.at_sizes + TOLERANCES, solved, x, fp, size.n_differential)
    # multipliers of a System follow from q and v, unless they are integrated, too
    add_error(E, W, size.at_rates, solved, h, stages / 3.0, fp, size.n_differential if size.nv > 0 else ny)


@leaf
def error_size(E, x, W, at, fp, ny):
    """The largest component of the estimate beside its tolerance."""
    largest = 0.0
    for i in range(ny):
        part = abs(E[0, i]) / (W[at + i] + fp[0] * abs(x[i]))
        if not part <= largest:
            largest = part
    return largest


@leaf
def copy_part(W, at, to, n):
    """Copy n numbers of the workspace to another place."""
    for i in range(n):
        W[to + i] = W[at + i]


@leaf
def step_aside(W, at_y, e, x, ny):
    """y0 + e"""
    for i in range(ny):
        W[at_y + i] = x[i] + e[i]


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The filtered error estimate, and the field at the new point."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K, E, W = state.x, state.xn, state.K, state.E, state.W
    control = controls_of(K)
    ny, most, stages = size.ny, ip[HIGHEST], int(control.stages)
    c, z, at_r, at_y = table_at(3 + ny, ip[LOWEST], stages), OLD_Z + most, residuals_at(size, most), arguments_at(size, most)
    slope_of(W, at_y + ny, K, z, fp, c + stages, stages, h, ny)
    shift = fp[c + 2 * stages + 3 * stages * stages] / h
    call_model(model, EQUATIONS, t, x, 0, W, at_y + ny, W, at_r)
    copy_part(W, at_r, at_r + ny, ny)
    estimate(model, method, run, t, h, state, shift, stages)
    run.exponent = 1.0 / (stages + 1.0)
    # only in the first step and after a rejection: at every step it flatters steps far too long for a stiff part that is
    # driven, as in y' = -λ (y - cos t) - sin t
    again = control.tried == 1.0 or control.h_old == 0.0
    control.tried = 1.0
    if again and not error_size(E, x, W, size.at_sizes + TOLERANCES, fp, ny) < 1.0:
        # once more from y0 + e, as in [HW96] Sec. IV.8: a start that misses the algebraic equations by more than
        # is allowed would otherwise be held against steps of any length
        step_aside(W, at_y, K[ERROR, :], x, ny)
        call_model(model, EQUATIONS, t, W, at_y, W, at_y + ny, W, at_r)
        estimate(model, method, run, t, h, state, shift, stages)
    if size.nv == 0:  # neither accelerations nor multipliers are recorded
        stage_arguments(W, at_y, x, K, z, fp, c, stages - 1, stages, h, ny)
        take_slopes(K, W, at_y + ny, size.nq, size.nrow)
        return OK
    return evaluate(model, run, t + h, xn, K, 1, W)


@leaf
def share_of(rtol, stages):
    """κ"""
    return min(1.0, (STRICT * rtol) ** ((stages - 2.0) / (2.0 * stages - 1.0)))


@leaf
def reach(fp, c, stages):
    """h/τ up to which e of a motion with y^(k) = τ^-k is allowed to go: κ e = rtol, e = (h/τ)^(s+1) Π c_i / (γ s!)."""
    size = 1.0 / fp[c + 2 * stages + 3 * stages * stages]
    for k in range(stages):
        size *= fp[c + k] / (k + 1.0)
    return (fp[0] / (share_of(fp[0], stages) * size)) ** (1.0 / (stages + 1.0))


@leaf
def next_stages(fp, first, lowest, most, stages, err, contraction, may_add):
    """How many stages the next step has: two more or two fewer, where less work is left per unit of time.

    The error of this step says how long a step of either order may be for a motion whose derivatives grow evenly,
    and the contraction of its iteration how long it may be for Newton's method.
    """
    newton = min(GROWTH, (CONTRACTION / max(contraction, 1e-16)) ** 0.5)
    here = reach(fp, table_at(first, lowest, stages), stages) * max(err, 1e-10) ** (1.0 / (stages + 1.0))
    best, gain = stages, 0.0
    for chosen in range(max(lowest, stages - 2), min(most, stages + 2) + 1, 2):
        length = min(newton, 0.9 * reach(fp, table_at(first, lowest, chosen), chosen) / here)
        speed = length / (2.0 * chosen - 1.0)
        if chosen == stages:
            speed *= GAIN
        if speed > gain and (chosen <= stages or may_add):
            best, gain = chosen, speed
    return best


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """Keep the stages for the next prediction, and choose their number."""
    size, ip = model.size, method.ip
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    ny, most, stages = size.ny, ip[HIGHEST], int(control.stages)
    for stage in range(stages):
        copy_row(K, OLD_Z + most + stage, K, OLD_Z + stage, ny)
    copy_row(K, ERROR, K, OLD_ERROR, ny)
    control.h_old = h
    control.old_stages = stages
    control.tried = 0.0
    if control.retry == 1.0:
        control.jacobian_good = 0.0
    keep_shift(K, x, xn, OLD_Z + stages - 1, ny)
    if ip[EARLY] == 1 and ip[LOWEST] < most and not leaves_multipliers(size, method.sp):
        control.equal += 1.0
        contraction = control.contraction if control.failed == 0.0 else max(control.contraction, CONTRACTION)
        may_add = control.equal > control.wait
        chosen = next_stages(method.fp, 3 + ny, ip[LOWEST], most, stages, run.err, contraction, may_add)
        if chosen != stages and control.equal > SOON:
            control.wait = SOON if chosen > stages else LATER
            control.stages = chosen
            control.equal = control.h_factors = 0.0
            run.h_before = 0.0  # errors of another order say nothing about those to come
    control.failed = 0.0
    move_on(K, 1, size.nrow, xn, x, ny)
    return OK


@refuses_unknown
@dataclass(frozen=True, repr=False)
class Radau(Integrator):
    """Radau IIA of order 5, 9 or 13, adaptive, implicit, for stiff systems and every index up to 3.

    Order 5 is for loose tolerances and for equations whose stiffness changes fast, 9 and 13 for tight tolerances.
    "variable" begins with order 5 and goes to 9 and 13 and back, by how fast Newton's method converges; with a fixed step
    it has order 13.

    Parameters
    ----------
    order : int or str
        5, 9, 13 or "variable".

    References
    ----------
    [HW96] Sec. IV.8; [hairer-wanner-1999].
    """

    order: int = 5
    varies: bool = field(init=False, default=False)
    adaptive, implicit, takes = True, True, "residual"
    meets_constraints = False
    chosen_for = "implicit, order 5 or more: long steps where the equations are stiff, high accuracy or oscillation"
    recommended = True
    references = ("HW96", "hairer-wanner-1999")

    def __post_init__(self):
        varies = isinstance(self.order, str) and self.order == "variable"
        if not varies and (isinstance(self.order, bool) or not isinstance(self.order, int) or self.order not in STAGES):
            raise BadArgument(f'order={self.order!r}: Radau has order 5, 9, 13, or "variable", which goes from one to another.')
        object.__setattr__(self, "varies", varies)
        if varies:
            object.__setattr__(self, "order", max(STAGES))

    def __repr__(self) -> str:
        return "Radau(order='variable')" if self.varies else super().__repr__()

    def lower(self) -> Lowered:
        most = STAGES[self.order]
        least = min(STAGES.values()) if self.varies else most
        return Lowered(
            slots={
                "advance": advance if most > 3 else advance_five, "finish": finish, "accept": accept, "dense": dense,
                "interpolate": interpolate,
            },
            ip=np.array([1, MANY, 1, least, most], dtype=np.int64),
            patient=np.array([1, PATIENT, 0, least, most], dtype=np.int64),
            fp=np.concatenate([table(stages) for stages in range(least, most + 1, 2)]), rows=rows_of(most), errors=1,
            exponent=1.0 / (least + 1.0), error_order=least, first_order=2 * least - 1, fac_min=0.2, fac_max=GROWTH,
            one_step=False, dense_first=CONTROL, dense_rows=OLD_Z - CONTROL + 2 * most, advises=True, doubts=True,
            wants_scales=True, work=partial(radau_work, most),
            unrolls=(Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE, Fn.COMPLEX_FACTOR, Fn.COMPLEX_SOLVE),
        )  # fmt: skip
