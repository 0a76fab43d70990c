"""The error of a generalized-α step, where steps are chosen by it.

C h³ v̈ of q and D h³ v⃛ of v, v̈ and v⃛ being differences of v̇. Newton's matrix J takes out of them what constraints hold, and what is
so stiff that the method damps it:

    J (e, μ) = (M e°, 0)

With index 3 velocities miss their constraints by C h² P v̈; what they do miss belongs to their error. With index 2 positions do,
so that their part across the constraints is left in. The error of v counts times h, as what it makes of q: with index 2, too, where
else what a long step leaves in v of a vibration that it damps would shorten the steps until they follow it.

The error of a step is held to κ times the tolerance. The errors of 1/h steps then add up to about rtol.
"""

from __future__ import annotations

import math

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.signatures import EQUATIONS, FINISH, LINEARIZED, RESIDUAL, call_model, has_function
from ..kernels.sizes import TOLERANCES, raised
from ..kernels.vectors import EPS
from ..native.marks import inner, kernel, leaf
from .alpha_equations import (
    BY_SECOND,
    BY_THIRD,
    EARLY,
    SLOPE,
    aim_at_missed,
    along_constraints,
    clear_aim,
    controls_of,
    influence,
    residuals_of,
    solve_step,
    spare_at,
    take_direction,
)
from .alpha_kinematics import change_of_positions, turns

# κ = √(STRICT rtol): errors at the end are then 0.1 to 25 rtol of q, 1 to 100 of v, on four mechanisms, rtol 1e-3 to 1e-9
STRICT = 2.0
MANY = 10.0  # times what rounding of the unknowns can make of an error is the least it is held to


@leaf
def differences(K, W, at_e, h, back, fp, ny, nq, nv):
    """C (v̇1 - v̇0) and, behind it, D h² v⃛."""
    c = 3 + ny
    for i in range(nv):
        change = K[1, nq + i] - K[0, nq + i]
        third = (change / h - K[SLOPE, i]) / (0.5 * h + back)
        W[at_e + i] = fp[c + BY_SECOND] * change
        W[at_e + nv + i] = fp[c + BY_THIRD] * h * h * third


@inner
def smoothed(model, t, xn, W, at_e, at_r, across, h, fp):
    """e of J (e, μ) = (M e°, 0), e° standing at at_e; e comes to stand nq behind at_r; with `across` the part of e° across the
    constraints stays."""
    size = model.size
    ny, nq, nv = size.ny, size.nq, size.nv
    if has_function(model, LINEARIZED):
        masses_times(model, t, xn, W, at_e, at_r)
        clear_aim(W[at_r + nq + nv : at_r + ny], ny - nq - nv)
        if across:
            along_constraints(model, W[at_r + nq : at_r + ny], W[at_e : at_e + nv], 1.0, W, at_r, h, fp)
    else:
        aim_of_rows(W, size.at_newton, at_e, at_r, across, h, fp, ny, nq, nv)
    solve_step(model, W, at_r, h, fp)


@inner
def masses_times(model, t, xn, W, at_e, at_r):
    """M e° nq behind at_r: equations are linear in slopes."""
    size = model.size
    ny, nq, nv = size.ny, size.nq, size.nv
    spare = spare_at(size, at_r)
    clear_aim(W[spare : spare + ny], ny)
    call_model(model, EQUATIONS, t, xn, 0, W, spare, W, spare + ny)
    take_direction(W[at_e : at_e + nv], W, spare, nq, nv, ny)
    call_model(model, EQUATIONS, t, xn, 0, W, spare, W, at_r)
    take_off(W, at_r + nq, spare + ny + nq, nv)


@leaf
def take_off(W, at, other, n):
    """Subtract n numbers."""
    for i in range(n):
        W[at + i] -= W[other + i]


@leaf
def aim_of_rows(W, at, at_e, at_r, across, h, fp, ny, nq, nv):
    """The right-hand side with dense rows."""
    m, size = ny - nq, ny * ny
    by_v, by_q = influence(h, fp, ny)
    r = W[at_r + nq : at_r + ny]
    for i in range(nv):
        total, row = 0.0, at + size + (nq + i) * ny + nq
        for j in range(nv):
            total += W[row + j] * W[at_e + j]
        r[i] = total
    for i in range(nv, m):
        total, row = 0.0, at + (nq + i) * ny
        if across:
            for j in range(nv):
                total += (by_v * W[row + nq + j] + by_q * W[row + j]) * W[at_e + j]
        r[i] = total


@leaf
def largest_of(x, first, last):
    """The largest size of these unknowns."""
    largest = 0.0
    for i in range(first, last):
        largest = max(largest, abs(x[i]))
    return largest


@leaf
def be_strict(E, x, W, at, rates, fp, first, last, level, by_rate):
    """E /= κ for a block of unknowns whose errors are known to `level` plus `by_rate` times their rates; where atol rules, their
    tolerance beside the largest is more than rtol."""
    least, largest = 1e300, largest_of(x, first, last)
    for i in range(first, last):
        least = min(least, W[at + i])
    share = min(1.0, math.sqrt(STRICT * (fp[0] + least / largest))) if largest > 0.0 else 1.0
    for i in range(first, last):
        E[0, i] /= max(share, MANY * (level + by_rate * W[rates + i]) / (W[at + i] + fp[0] * abs(x[i])))


@inner
def take_errors(model, t, xn, E, W, at_e, at_r, h, fp):
    """The error of q and of v; λ follows from both.

    With index 3 positions hold their constraints, with index 2 velocities do.
    """
    size = model.size
    ny, nq, nv = size.ny, size.nq, size.nv
    index_3 = fp[2 + nq] > 0.0
    smoothed(model, t, xn, W, at_e, at_r, not index_3, h, fp)
    if turns(model):
        keep_errors(E, 0, W, change_of_positions(model, t, xn, W, at_r + nq, spare_at(size, at_r)), h * h, nq)
    else:
        keep_errors(E, 0, W, at_r + nq, h * h, nv)
    smoothed(model, t, xn, W, at_e + nv, at_r, False, h, fp)
    keep_errors(E, nq, W, at_r + nq, h, nv)
    for i in range(nq + nv, ny):
        E[0, i] = 0.0


@leaf
def keep_errors(E, first, W, at, factor, n):
    """Errors from n numbers of the workspace."""
    for i in range(n):
        E[0, first + i] = factor * W[at + i]


@leaf
def as_moves(E, W, rates, h, first, n):
    """Errors of velocities by what they move positions in a step."""
    for i in range(first, first + n):
        E[0, i] *= raised(h, W[rates + i], 1.0)


@leaf
def add_missed(E, W, at_r, nq, nv):
    """Add to the error of v what velocities miss their constraints by."""
    for i in range(nv):
        E[0, nq + i] += W[at_r + nq + i]


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The error of a step that is chosen by it, and the field at the new point."""
    size, fp = model.size, method.fp
    x, xn, K, E, W = state.x, state.xn, state.K, state.E, state.W
    status = evaluate(model, run, t + h, xn, K, 1, W)
    if status != OK:
        return status
    if method.ip[EARLY] == 1:
        ny, nq, nv = size.ny, size.nq, size.nv
        at_r = residuals_of(size)
        at_e = at_r + 2 * ny
        differences(K, W, at_e, h, controls_of(K).back, fp, ny, nq, nv)
        take_errors(model, t + h, xn, E, W, at_e, at_r, h, fp)
        raised_to_3 = fp[2 + nq] > 0.0
        if raised_to_3:
            call_model(model, RESIDUAL, t + h, xn, 0, xn, 0, W, size.at_residual)
            r, speeds = W[at_r + nq : at_r + ny], size.at_residual + size.n_position
            clear_aim(r, ny - nq)
            aim_at_missed(r, W[speeds : speeds + ny - nq - nv], 1.0, h, fp, ny, nq, nv)
            solve_step(model, W, at_r, h, fp)
            add_missed(E, W, at_r, nq, nv)
        of_q = EPS * largest_of(x, 0, nq)
        of_v = abs(h) * EPS * largest_of(x, nq, nq + nv) + (of_q if raised_to_3 else 0.0)
        at, rates = size.at_sizes + TOLERANCES, size.at_rates
        as_moves(E, W, rates, h, nq, nv)
        be_strict(E, x, W, at, rates, fp, 0, nq, of_q, 0.0)
        be_strict(E, x, W, at, rates, fp, nq, nq + nv, 0.0, of_v)
    return OK
