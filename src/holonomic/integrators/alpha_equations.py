"""The equations of a generalized-α step: rows of K, and what v1, q1 and Newton's matrix are made of."""

from __future__ import annotations

import numpy as np

from ..kernels.linalg import lu_factor, lu_solve
from ..kernels.newton_operators import factor_motion, linearize, linearize_by_rows, solve_real, times_motion, vectors_at
from ..kernels.signatures import KINEMATICS, LINEARIZED, has_function
from ..native.layout import REAL, Layout, view_as
from ..native.marks import inner, leaf

# rows of K: field at both ends; true and algorithmic accelerations as the last step left them, as this one begins, and at the
# new point; what is added to the old velocities and, behind it, to positions; numbers of the run; v̈ before the step and
# where it begins
TRUE, ALGORITHMIC, FROM_TRUE, FROM_ALGORITHMIC, NEW_TRUE, NEW_ALGORITHMIC, ADDED, CONTROL, SLOPE, START_SLOPE = range(2, 12)
ROWS = 12
EARLY, AFRESH = 1, 2  # ip: 1 where steps are chosen by their error; equal steps after which one begins as after a change
CONTROLS = Layout("GeneralizedAlpha", (
    ("h", REAL, "step for which it has begun, then that of the step before"),
    ("back", REAL, "time from where v̈ before this step is known to its start"),
    ("begun", REAL, "1 behind the first step"),
    ("equal", REAL, "steps since one began anew"),
))  # fmt: skip
controls_of = view_as(CONTROLS, CONTROL)
# fp behind the scales (3 + ny numbers): α_m, α_f, β, γ, then C and D of the error
ALPHA_M, ALPHA_F, BETA, GAMMA, BY_SECOND, BY_THIRD = range(6)


@leaf
def constants(fp, ny):
    """α_m, α_f, β, γ"""
    c = 3 + ny
    return fp[c + ALPHA_M], fp[c + ALPHA_F], fp[c + BETA], fp[c + GAMMA]


@leaf
def influence(h, fp, ny):
    """By how much v1 and q1 follow v̇1."""
    am, af, beta, gamma = constants(fp, ny)
    factor = (1.0 - af) / (1.0 - am)
    return factor * gamma * h, factor * beta * h * h


@leaf
def kinematics(q0, q1, x, xn, K, h, fp, nq, nv, ny):
    """New velocities from the true accelerations in NEW_TRUE; and what lies between positions, added to q0, into q1."""
    am, af, beta, gamma = constants(fp, ny)
    for i in range(nv):
        old, speed = K[FROM_ALGORITHMIC, i], x[nq + i] + K[ADDED, i]
        new = ((1.0 - af) * K[NEW_TRUE, i] + af * K[FROM_TRUE, i] - am * old) / (1.0 - am)
        K[NEW_ALGORITHMIC, i] = new
        q1[i] = q0[i] + K[ADDED, nv + i] + h * speed + h * h * ((0.5 - beta) * old + beta * new)
        xn[nq + i] = speed + h * ((1.0 - gamma) * old + gamma * new)


@leaf
def scale_constraints(values, first, last, h, fp, ny):
    """Rows of constraints over the power of h that λ is raised to, so that Newton's matrix does not depend on h."""
    for i in range(first, last):
        values[i] /= abs(h) ** int(fp[1 + ny])


@inner
def linearize_step(model, t, x, W, at_slope):
    """The equations linearized, as dense rows where the model has them; behind the slopes is room for a vector."""
    size = model.size
    if has_function(model, LINEARIZED):
        linearize(model, t, x, 0, W, at_slope)
        return
    linearize_by_rows(model, t, x, 0, W, at_slope, size.at_newton)
    if has_function(model, KINEMATICS):
        through_kinematics(W, size.at_newton, at_slope + size.ny, size.ny, size.nq, size.nv)


@leaf
def through_kinematics(W, at, spare, ny, nq, nv):
    """∂R/∂q Z in the place of ∂R/∂q, which has fewer columns; the equations of q' have -Z among theirs by v."""
    for i in range(nq, ny):
        row = at + i * ny
        for j in range(nv):
            total = 0.0
            for k in range(nq):
                total -= W[row + k] * W[at + k * ny + nq + j]
            W[spare + j] = total
        for j in range(nv):
            W[row + j] = W[spare + j]


@inner
def factor_step(model, run, W, h, fp):
    """Factors of Newton's matrix by (v̇1, λ1).

    Models with a form of their own have that of by_v v̇1: M / by_v + ∂/∂v + by_q / by_v ∂/∂q.
    """
    size = model.size
    if not has_function(model, LINEARIZED):
        return newton_matrix(run, W, size.at_newton, size.ny, size.nq, size.nv, h, fp)
    by_v, by_q = influence(h, fp, size.ny)
    run.jacobians += 1
    return factor_motion(model, run, W, 1.0 / by_v, by_q / by_v)


@inner
def solve_step(model, W, at_r, h, fp):
    """Solve with them, nq behind at_r; constraints are those of the equations."""
    size = model.size
    ny, nq, nv = size.ny, size.nq, size.nv
    if has_function(model, LINEARIZED):
        by_v, _ = influence(h, fp, ny)
        spare = spare_at(size, at_r)
        clear_aim(W[at_r : at_r + nq], nq)
        solve_real(model, W, at_r, spare)
        take_solution(W, spare, at_r, 1.0 / by_v, nq, nv, ny)
    else:
        scale_constraints(W[at_r + nq : at_r + ny], nv, ny - nq, h, fp, ny)
        solve_rows(W, size.at_newton, at_r, ny, nq)


@leaf
def take_solution(W, at, to, factor, nq, nv, ny):
    """Accelerations from by_v times these, and multipliers."""
    for i in range(nq, nq + nv):
        W[to + i] = factor * W[at + i]
    for i in range(nq + nv, ny):
        W[to + i] = W[at + i]


@inner
def residuals_of(size):
    """Where residuals stand, behind Newton's matrix; then follow slopes, two vectors of errors, and two spare ones."""
    return vectors_at(size, 0)


@inner
def spare_at(size, at_r):
    """Room for two vectors."""
    return at_r + 4 * size.ny


@leaf
def take_direction(values, W, at, nq, nv, ny):
    """A vector with these velocities alone."""
    for i in range(ny):
        W[at + i] = values[i - nq] if nq <= i < nq + nv else 0.0


@leaf
def add_rows(r, weight, W, at, nv, m):
    """Add rows of constraints of a product."""
    for i in range(nv, m):
        r[i] += weight * W[at + i - nv]


@inner
def along_constraints(model, r, values, weight, W, at_r, h, fp):
    """Add to r, in the rows of constraints, a weight times Newton's matrix times accelerations, where it has a form of its own."""
    size = model.size
    ny, nq, nv = size.ny, size.nq, size.nv
    by_v, _ = influence(h, fp, ny)
    spare = spare_at(size, at_r)
    take_direction(values, W, spare, nq, nv, ny)
    times_motion(model, W, spare, spare + ny)
    add_rows(r, weight * by_v, W, spare + ny + nq + nv, nv, ny - nq)


@leaf
def newton_matrix(run, W, at, ny, nq, nv, h, fp):
    """Rows of dynamics and constraint by (v̇1, λ1)."""
    by_v, by_q = influence(h, fp, ny)
    size = ny * ny
    m = ny - nq
    J = W[at + 2 * size : at + 2 * size + m * m].reshape((m, m))
    for i in range(m):
        row = at + (nq + i) * ny
        for j in range(nv):
            slope = W[row + size + nq + j]
            J[i, j] = slope + by_v * W[row + nq + j] + by_q * W[row + j]
        for j in range(nv, m):
            J[i, j] = W[row + nq + j]
        if i >= nv:
            scale_constraints(J[i], 0, m, h, fp, ny)
    run.jacobians += 1
    run.factorizations += 1
    return lu_factor(J, W[at + 3 * size : at + 3 * size + m].view(np.int64))


@leaf
def slopes(W, at_slope, xn, K, row, nq, nv, ny):
    """y' = (v, v̇, 0), v̇ from a row of K; where q' is not v nobody reads what it is here."""
    for i in range(nq):
        W[at_slope + i] = xn[nq + i] if i < nv else 0.0
    for i in range(nv):
        W[at_slope + nq + i] = K[row, i]
    for i in range(nq + nv, ny):
        W[at_slope + i] = 0.0


@leaf
def clear_aim(r, m):
    """The right-hand side of M x + Gᵀμ = 0, G x = w, with w = 0 so far."""
    for i in range(m):
        r[i] = 0.0


@inner
def aim_along(model, r, values, weight, W, at_r, h, fp):
    """Add G times the values to w; with index 3, whose rows of Newton's matrix are by_q G."""
    size = model.size
    if has_function(model, LINEARIZED):
        along_constraints(model, r, values, weight, W, at_r, h, fp)
    else:
        aim_along_rows(r, values, weight, W, size.at_newton, h, fp, size.ny, size.nq, size.nv)


@leaf
def aim_along_rows(r, values, weight, W, at, h, fp, ny, nq, nv):
    """The same with dense rows."""
    _, by_q = influence(h, fp, ny)
    for i in range(nv, ny - nq):
        total, row = 0.0, at + (nq + i) * ny
        for j in range(nv):
            total += W[row + j] * values[j]
        r[i] += weight * by_q * total


@leaf
def aim_at_missed(r, missed, weight, h, fp, ny, nq, nv):
    """Add to w what constraints are missed by."""
    _, by_q = influence(h, fp, ny)
    for i in range(nv, ny - nq):
        r[i] += weight * by_q * missed[i - nv]


@leaf
def solve_rows(W, at, at_r, ny, nq):
    """Solve with Newton's matrix of dense rows, nq behind at_r."""
    m, size = ny - nq, ny * ny
    J = W[at + 2 * size : at + 2 * size + m * m].reshape((m, m))
    lu_solve(J, W[at + 3 * size : at + 3 * size + m].view(np.int64), W[at_r + nq : at_r + ny])
