"""The error of a generalized-α step, where steps are chosen by it.

C h³ v̈ of q and D h³ v⃛ of v, v̈ and v⃛ being differences of v̇. Newton's matrix J takes out of them what constraints hold, and what is
so stiff that the method damps it:

    J (e, μ) = (M e°, 0)

With index 3 velocities miss their constraints by C h² P v̈; what they do miss belongs to their error. With index 2 positions do,
so that their part across the constraints is left in.
"""

from __future__ import annotations

from ..kernels.evaluate import evaluate
from ..kernels.signatures import FINISH, RESIDUAL, call_model
from ..native.marks import kernel, leaf
from .alpha_equations import (
    BY_SECOND,
    BY_THIRD,
    EARLY,
    NEW_TRUE,
    SLOPE,
    TRUE,
    controls_of,
    influence,
    missed_speeds,
    scale_constraints,
    solve_step,
)


@leaf
def differences(K, W, at_e, h, back, fp, ny, nv):
    """C (v̇1 - v̇0) and, behind it, D h² v⃛."""
    c = 3 + 2 * ny
    for i in range(nv):
        change = K[NEW_TRUE, i] - K[TRUE, i]
        third = (change / h - K[SLOPE, i]) / (0.5 * h + back)
        W[at_e + i] = fp[c + BY_SECOND] * change
        W[at_e + nv + i] = fp[c + BY_THIRD] * h * h * third


@leaf
def smoothed(W, at, at_e, at_r, across, h, fp, ny, nq, nv):
    """e of J (e, μ) = (M e°, 0), e° standing at at_e; e comes to stand nq behind at_r; with `across` the part of e° across the
    constraints stays."""
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
    scale_constraints(r, nv, m, h, fp, ny)
    solve_step(W, at, at_r, ny, nq)


@leaf
def take_errors(E, W, at, at_e, at_r, h, fp, ny, nq, nv):
    """The error of q and v, which counts times h where v is raised to index 3; λ follows from both.

    With index 3 positions hold their constraints, with index 2 velocities do.
    """
    raised = fp[2 + ny + nq] > 0.0
    smoothed(W, at, at_e, at_r, not raised, h, fp, ny, nq, nv)
    for i in range(nv):
        E[0, i] = h * h * W[at_r + nq + i]
    smoothed(W, at, at_e + nv, at_r, False, h, fp, ny, nq, nv)
    for i in range(nv):
        E[0, nq + i] = h * W[at_r + nq + i] * abs(h) ** int(fp[2 + ny + nq + i])
    for i in range(nq + nv, ny):
        E[0, i] = 0.0


@leaf
def add_missed(E, W, at, at_r, h, fp, ny, nq, nv):
    """Add to the error of v what velocities miss their constraints by; the right-hand side for it stands at at_r."""
    solve_step(W, at, at_r, ny, nq)
    for i in range(nv):
        E[0, nq + i] += W[at_r + nq + i] * abs(h) ** int(fp[2 + ny + nq + i])


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The error of a step that is chosen by it, and the field at the new point."""
    size, fp = model.size, method.fp
    xn, K, E, W = state.xn, state.K, state.E, state.W
    if method.ip[EARLY] == 1:
        ny, nq, nv, at = size.ny, size.nq, size.nv, size.at_newton
        at_r = at + 3 * ny * ny + ny
        at_e = at_r + 2 * ny
        differences(K, W, at_e, h, controls_of(K).back, fp, ny, nv)
        take_errors(E, W, at, at_e, at_r, h, fp, ny, nq, nv)
        if fp[2 + ny + nq] > 0.0:  # index 3
            call_model(model, RESIDUAL, t + h, xn, 0, xn, 0, W, size.at_residual)
            missed_speeds(W, at_r, size.at_residual + size.n_position, ny, nq, nv, h, fp)
            add_missed(E, W, at, at_r, h, fp, ny, nq, nv)
    return evaluate(model, run, t + h, xn, K, 1, W)
