"""Positions of a generalized-α step: q0 + h w with q' = v, and where q' = Z(q) v those of the flow

    q' = Z(q) V(τ),      V(τ) = w + (τ/h - 1/2) (v1 - v0)

by the classical Runge-Kutta method; w is the mean velocity of the step. V has the slope of v, so that turns which do not commute
add nothing of order h³: errors, and what index 3 asks for across the constraints, are those of q' = v behind Z.
Newton's matrix takes Z(q1) times the change of h w for that of q1, which is off by h |ω|/2 of it.
"""

from __future__ import annotations

from ..kernels.signatures import KINEMATICS, call_model, has_function
from ..native.marks import inner, leaf
from .alpha_equations import ADDED, kinematics


@inner
def turns(model):
    """Whether q' is not v."""
    return has_function(model, KINEMATICS)


@inner
def end_of_step(model, t, h, x, xn, K, W, fp, at):
    """New positions and velocities from the true accelerations in NEW_TRUE; `at` is room for four vectors."""
    size = model.size
    nq, nv, ny = size.nq, size.nv, size.ny
    if turns(model):
        move = at + 2 * ny + nq
        clear(W, move, nv)
        kinematics(W[move : move + nv], W[move : move + nv], x, xn, K, h, fp, nq, nv, ny)
        half_changes(W, move + nv, x, xn, K, nq, nv)
        flow(model, t, h, x, xn, W, at)
    else:
        kinematics(x, xn, x, xn, K, h, fp, nq, nv, ny)


@leaf
def clear(W, at, n):
    """n zeros."""
    for i in range(n):
        W[at + i] = 0.0


@leaf
def half_changes(W, at, x, xn, K, nq, nv):
    """Half of v1 - v0."""
    for i in range(nv):
        W[at + i] = 0.5 * (xn[nq + i] - x[nq + i] - K[ADDED, i])


@inner
def flow(model, t, h, x, xn, W, at):
    """q1 of a flow, h w and (v1 - v0)/2 standing nq behind the third vector at `at`."""
    size = model.size
    nq, nv, ny = size.nq, size.nv, size.ny
    total, rate = at + ny, at + 2 * ny
    clear(W, total, nq)
    clear(W, rate, nq)
    for stage in range(4):
        part = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
        stage_of_flow(W, at, x, rate, part, h, nq, nv)
        call_model(model, KINEMATICS, t + part * h, W, at, W, at, W, rate)
        add_rate(W, total, rate, 2.0 if part == 0.5 else 1.0, nq)
    for i in range(nq):
        xn[i] = x[i] + h / 6.0 * W[total + i]


@leaf
def stage_of_flow(W, at, x, rate, part, h, nq, nv):
    """Position and velocity of a stage."""
    move = rate + nq
    for i in range(nq):
        W[at + i] = x[i] + part * h * W[rate + i]
    for i in range(nv):
        W[at + nq + i] = W[move + i] / h + (2.0 * part - 1.0) * W[move + nv + i]


@leaf
def add_rate(W, total, rate, weight, n):
    """total += weight times the rate"""
    for i in range(n):
        W[total + i] += weight * W[rate + i]


@inner
def state_ahead(model, t, x, xs, K, s, W, at):
    """The state a little later, from accelerations K[0]."""
    size = model.size
    nq, nv = size.nq, size.nv
    if turns(model):
        moves_ahead(W, at + 2 * size.ny + nq, x, xs, K, s, nq, nv)
        flow(model, t, s, x, xs, W, at)
    else:
        step_ahead(x, xs, K, s, nq, nv)


@leaf
def step_ahead(x, xs, K, s, nq, nv):
    """The same with q' = v."""
    for i in range(nv):
        xs[i] = x[i] + s * (x[nq + i] + 0.5 * s * K[0, nq + i])
        xs[nq + i] = x[nq + i] + s * K[0, nq + i]


@leaf
def moves_ahead(W, move, x, xs, K, s, nq, nv):
    """s w and half of the change of v."""
    for i in range(nv):
        W[move + i] = s * (x[nq + i] + 0.5 * s * K[0, nq + i])
        W[move + nv + i] = 0.5 * s * K[0, nq + i]
        xs[nq + i] = x[nq + i] + s * K[0, nq + i]


@inner
def change_of_positions(model, t, x, W, at_v, spare):
    """Z(q) of n numbers at at_v; it comes to stand one vector behind `spare`, which is room for two."""
    size = model.size
    nq, nv = size.nq, size.nv
    for_kinematics(W, spare, x, at_v, nq, nv)
    call_model(model, KINEMATICS, t, W, spare, W, spare, W, spare + size.ny)
    return spare + size.ny


@leaf
def for_kinematics(W, at, x, at_v, nq, nv):
    """Positions, and a velocity."""
    for i in range(nq):
        W[at + i] = x[i]
    for i in range(nv):
        W[at + nq + i] = W[at_v + i]


@leaf
def largest_of_positions(W, at, tolerances, xn, factor, fp, nq):
    """The largest of changes of positions, `factor` times those at `at`, in the error norm."""
    rtol, largest = fp[0], 0.0
    for i in range(nq):
        change = abs(factor * W[at + i]) / (W[tolerances + i] + rtol * abs(xn[i]))
        if not change <= largest:
            largest = change
    return largest
