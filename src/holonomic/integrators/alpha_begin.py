"""How a generalized-α step begins: v̇0, a0, and what is added to v0 and q0.

What index 3 asks for across the constraints, C h² P v̈ in v0 and Δ h P v̈ in a0, belongs to the length h of the step. Where that
changes, it is made anew,

    v0 - X (G v0 + g_t) + C h² P v̈,      v̇0 + P (v̇ - v̇0),      a0 + P (v̇ + Δ h v̈ - a0),      X = M⁻¹Gᵀ(G M⁻¹Gᵀ)⁻¹,  P = X G

with v̇ and v̈ from accelerations K[0] that hold the constraints, and not carried over in proportion to h² and h. With rho = 1
nothing damps rounding there: 1e-14 in g makes 1e-8 in G v of a first step of 1e-6, and carried over to steps a thousand times as
long a million times that. Nor does anything damp what one of many equal steps hands on to the next; after some of them it is
made anew, too. A g that the start itself misses by goes into q1, without velocities that lead there.
"""

from __future__ import annotations

from ..errors import OK, SINGULAR
from ..kernels.evaluate import evaluate
from ..kernels.signatures import RESIDUAL, call_model
from ..native.marks import inner, leaf
from .alpha_equations import (
    ADDED,
    ALGORITHMIC,
    BY_SECOND,
    FROM_ALGORITHMIC,
    FROM_TRUE,
    SLOPE,
    START_SLOPE,
    TRUE,
    aim_along,
    aim_at_missed,
    clear_aim,
    constants,
    controls_of,
    factor_step,
    linearize_step,
    slopes,
    solve_step,
)
from .alpha_kinematics import state_ahead

AHEAD = 0.1  # of a step, over which v̇ is differenced for v̈0


@leaf
def first_accelerations(K, times, s, nq, nv):
    """v̇0, which nothing of a step before differs from, and v̈0 = (4 v̇(s) - v̇(2 s) - 3 v̇0)/(2 s), from K[1] at one of both.

    By v̇(s) alone v̈0 would be wrong by O(h), and λ of index 3, which nothing damps if rho = 1, of order 1.
    """
    weight = 4.0 if times == 1 else -1.0
    for i in range(nv):
        K[TRUE, i] = K[0, nq + i]
        K[ALGORITHMIC, i] = K[0, nq + i]
        known = -3.0 * K[0, nq + i] / (2.0 * s) if times == 1 else K[SLOPE, i]
        K[SLOPE, i] = known + weight * K[1, nq + i] / (2.0 * s)
        K[START_SLOPE, i] = K[SLOPE, i]


@leaf
def go_on(K, nv):
    """Begin a step as the one before has left it."""
    for i in range(nv):
        K[FROM_TRUE, i] = K[TRUE, i]
        K[FROM_ALGORITHMIC, i] = K[ALGORITHMIC, i]
        K[ADDED, i] = 0.0
        K[ADDED, nv + i] = 0.0


@leaf
def scale_accelerations(K, ratio, shift, nv):
    """a0 for a step that is `ratio` times as long as the one before, or the first."""
    for i in range(nv):
        K[FROM_TRUE, i] = K[TRUE, i]
        K[FROM_ALGORITHMIC, i] = K[TRUE, i] + ratio * (K[ALGORITHMIC, i] - K[TRUE, i]) + shift * K[START_SLOPE, i]


@leaf
def add_row(row, values, nv):
    """row += values"""
    for i in range(nv):
        row[i] += values[i]


@inner
def begin_across(model, run, t, h, state, fp, at_r, at_slope, first):
    """Across the constraints of index 3 a step of another length begins as if the run began with it."""
    size = model.size
    x, K, W = state.x, state.K, state.W
    ny, nq, nv = size.ny, size.nq, size.nv
    am, af, _, _ = constants(fp, ny)
    r, m, by_second = W[at_r + nq : at_r + ny], ny - nq, fp[3 + ny + BY_SECOND]
    slopes(W, at_slope, x, K, TRUE, nq, nv, ny)
    linearize_step(model, t, x, W, at_slope)
    if factor_step(model, run, W, h, fp) != OK:
        return SINGULAR
    call_model(model, RESIDUAL, t, x, 0, x, 0, W, size.at_residual)
    positions, speeds = size.at_residual, size.at_residual + size.n_position
    clear_aim(r, m)
    aim_along(model, r, K[START_SLOPE, :], by_second * h * h, W, at_r, h, fp)
    aim_at_missed(r, W[speeds : speeds + m - nv], -1.0, h, fp, ny, nq, nv)
    solve_step(model, W, at_r, h, fp)
    add_row(K[ADDED, :], r, nv)
    if first:
        clear_aim(r, m)
        aim_at_missed(r, W[positions : positions + m - nv], -1.0, h, fp, ny, nq, nv)
        solve_step(model, W, at_r, h, fp)
        add_row(K[ADDED, nv:], r, nv)
        return OK
    clear_aim(r, m)
    aim_along(model, r, K[START_SLOPE, :], (am - af) * h, W, at_r, h, fp)
    aim_along(model, r, K[FROM_ALGORITHMIC, :], -1.0, W, at_r, h, fp)
    aim_along(model, r, K[0, nq:], 1.0, W, at_r, h, fp)
    solve_step(model, W, at_r, h, fp)
    add_row(K[FROM_ALGORITHMIC, :], r, nv)
    clear_aim(r, m)
    aim_along(model, r, K[0, nq:], 1.0, W, at_r, h, fp)
    aim_along(model, r, K[TRUE, :], -1.0, W, at_r, h, fp)
    solve_step(model, W, at_r, h, fp)
    add_row(K[FROM_TRUE, :], r, nv)
    return OK


@inner
def follow_change(model, run, t, h, state, fp, at_r, at_slope):
    """Begin a step whose length is not that of the step before, or the next of many equal ones."""
    size, K = model.size, state.K
    nq, nv = size.nq, size.nv
    control = controls_of(K)
    control.equal = -1.0
    go_on(K, nv)
    scale_accelerations(K, h / control.h, 0.0, nv)
    if not fp[2 + nq] > 0.0:
        return OK
    return begin_across(model, run, t, h, state, fp, at_r, at_slope, False)


@inner
def begin(model, method, run, t, h, state, at_r, at_slope):
    """Begin the first step."""
    size, fp, K = model.size, method.fp, state.K
    ny, nq, nv = size.ny, size.nq, size.nv
    am, af, _, _ = constants(fp, ny)
    for times in range(1, 3):
        ahead = times * AHEAD * h
        state_ahead(model, t, state.x, state.xs, K, ahead, state.W, at_slope + ny)
        status = evaluate(model, run, t + ahead, state.xs, K, 1, state.W)
        if status != OK:
            return status
        first_accelerations(K, times, AHEAD * h, nq, nv)
    go_on(K, nv)
    scale_accelerations(K, 1.0, (am - af) * h, nv)
    if fp[2 + nq] > 0.0:  # index 3
        status = begin_across(model, run, t, h, state, fp, at_r, at_slope, True)
    controls_of(K).h = h
    return status


@leaf
def next_slopes(K, h, back, nq, nv):
    """v̈ in the middle of the step, from accelerations that hold the constraints, and at its end, on a line with v̈ before it."""
    for i in range(nv):
        slope = (K[1, nq + i] - K[0, nq + i]) / h
        K[START_SLOPE, i] = slope + 0.5 * h * (slope - K[SLOPE, i]) / (0.5 * h + back)
        K[SLOPE, i] = slope
