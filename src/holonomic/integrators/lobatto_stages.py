"""Stages of Lobatto IIIA-IIIB for models without dense rows, from what their equations leave and from factors at the start.

With accelerations F_k and multipliers Λ_k as unknowns, and Q_i = q0 + c_i h v0 + h² Σ_k (a â)_ik F_k, an iteration is

    [ M  Gᵀ ] [ ΔF_k ]     [ M F_k - f(Q_k) + G(Q_k)ᵀΛ_k ]
    [ G  0  ] [ ΔΛ_k ] = - [    Σ_i B_ki g(Q_i) / h²     ],      M and G of the start, B as in `lobatto`

It has the same solution as that of `lobatto`, which takes M⁻¹, and falls as fast, by what G and f change over a step. The factors
are those of RATTLE: [c M, Gᵀ; s G, 0], where forces count little.
"""

from __future__ import annotations

from ..errors import NO_CONVERGENCE, OK
from ..kernels.newton import AT_ROUNDING, ROUNDED, rounding
from ..kernels.newton_operators import solve_real, vectors_at
from ..kernels.signatures import EQUATIONS, RESIDUAL, call_model
from ..kernels.sizes import TOLERANCES
from ..kernels.vectors import copy
from ..native.marks import inner, leaf
from .rattle import OWN_SHARE, OWN_SHIFT, STALLED, own_terms, way_back


@leaf
def put_stage(xn, x, K, first, stage, h, fp, c, stages, nq, nv):
    """Q_i into K and into xn, from the accelerations."""
    for i in range(nv):
        total = 0.0
        for k in range(stages - 1):
            total += fp[c + stages + stage * stages + k] * K[first + stages + k, i]
        K[first + stage, i] = h * (fp[c + stage] * x[nq + i] + h * total)
        xn[i] = x[i] + K[first + stage, i]


@leaf
def largest_move(W, at, K, first, stage, before, x, fp, nv):
    """The largest change of a stage beside its tolerance; it is remembered in the row `before`."""
    largest = 0.0
    for i in range(nv):
        change = abs(K[first + stage, i] - K[before, i]) / (W[at + i] + fp[0] * abs(x[i] + K[first + stage, i]))
        K[before, i] = K[first + stage, i]
        if not change <= largest:
            largest = change
    return largest


@leaf
def keep_rows(K, row, at, W, at_g, nl):
    """g of a stage."""
    for j in range(nl):
        K[row, at + j] = W[at_g + j]


@leaf
def enter_stage(xn, x, K, first, stage, stages, W, at_slope, nq, nv, nl):
    """Q_k and Λ_k into xn, F_k into slopes."""
    for i in range(nq):
        xn[i] = x[i] if stage == 0 else x[i] + K[first + stage, i]
        W[at_slope + i] = 0.0
    for i in range(nv):
        W[at_slope + nq + i] = K[first + stages + stage, i]
    for j in range(nl):
        xn[nq + nv + j] = K[first + 2 * stages + stage, j]
        W[at_slope + nq + nv + j] = 0.0


@leaf
def take_right_side(W, at_r, K, first, stage, stages, h, fp, c, nq, nv, nl):
    """What a stage leaves, as a right-hand side of the factors."""
    rows, B = first + 3 * stages, c + 2 * stages + stages * stages + stage * (stages - 1)
    for i in range(nq):
        W[at_r + i] = 0.0
    for i in range(nq, nq + nv):
        W[at_r + i] *= -OWN_SHIFT
    for j in range(nl):
        total = 0.0
        for i in range(1, stages):
            total += fp[B + i - 1] * K[rows + i, nq + nv + j]
        W[at_r + nq + nv + j] = -OWN_SHARE * total / (h * h)


@leaf
def add_changes(K, first, stage, stages, W, at, nq, nv, nl):
    """F_k and Λ_k with their changes."""
    for i in range(nv):
        K[first + stages + stage, i] += W[at + nq + i]
    for j in range(nl):
        K[first + 2 * stages + stage, j] += W[at + nq + nv + j] / OWN_SHIFT


@leaf
def add_kicks(xn, x, K, first, stages, h, fp, weights, W, at_a, nq, nv):
    """v1 before its constraints are held, from the accelerations of all stages, that of the last one without its multipliers."""
    for i in range(nv):
        total = fp[weights + stages - 1] * W[at_a + i]
        for k in range(stages - 1):
            total += fp[weights + k] * K[first + stages + k, i]
        xn[nq + i] = x[nq + i] + h * total


@inner
def change_stages(model, t, h, state, fp, c, stages, first, at_a):
    """One iteration for all F_k and Λ_k."""
    size = model.size
    x, xn, K, W = state.x, state.xn, state.K, state.W
    nq, nv, nl, ny = size.nq, size.nv, size.nl, size.ny
    slope, r, solved = at_a, at_a + ny, at_a + 2 * ny
    for stage in range(stages - 1):
        enter_stage(xn, x, K, first, stage, stages, W, slope, nq, nv, nl)
        call_model(model, EQUATIONS, t + fp[c + stage] * h, xn, 0, W, slope, W, r)
        take_right_side(W, r, K, first, stage, stages, h, fp, c, nq, nv, nl)
        solve_real(model, W, r, solved)
        add_changes(K, first, stage, stages, W, solved, nq, nv, nl)


@inner
def own_stages(model, run, t, h, state, fp, c, stages, first, most):
    """Stages by iteration, then the new point."""
    size = model.size
    x, xn, K, W = state.x, state.xn, state.K, state.W
    ny, nq, nv, nl = size.ny, size.nq, size.nv, size.nl
    places, at_a = (0, 0, 0, 0, 0, 0), vectors_at(size, 0)
    at_step, at_r = at_a + nv, at_a + 2 * nv
    copy(x, xn, ny)
    status = own_terms(model, run, W, t, xn, at_a)
    if status != OK:
        return status
    before, converged = 1e300, False
    for iteration in range(most):
        change = 0.0
        for stage in range(1, stages):
            put_stage(xn, x, K, first, stage, h, fp, c, stages, nq, nv)
            moved = largest_move(W, size.at_sizes + TOLERANCES, K, first, stage, first + 3 * stages + stage, x, fp, nv)
            if not moved <= change:
                change = moved
        if iteration > 0:
            if not change <= 1e100:
                return NO_CONVERGENCE
            enough = max(STALLED, ROUNDED * rounding(size, W, x, h, fp, nq, nq + nv, ny))
            if iteration > 1 and (change <= fp[1] or (change <= enough and change >= AT_ROUNDING * before)):
                converged = True
                break
            before = change
        for stage in range(1, stages):
            for i in range(nv):
                xn[i] = x[i] + K[first + stage, i]
            call_model(model, RESIDUAL, t + fp[c + stage] * h, xn, 0, xn, 0, W, at_r)
            keep_rows(K, first + 3 * stages + stage, nq + nv, W, at_r, nl)
        change_stages(model, t, h, state, fp, c, stages, first, at_a)
    if not converged:
        return NO_CONVERGENCE
    for i in range(nv):
        xn[i] = x[i] + K[first + stages - 1, i]
    status = own_terms(model, run, W, t + h, xn, at_a)
    if status != OK:
        return status
    add_kicks(xn, x, K, first, stages, h, fp, c + stages + stages * stages, W, at_a, nq, nv)
    call_model(model, RESIDUAL, t + h, xn, 0, xn, 0, W, at_r)
    way_back(model, W, places, at_a, at_r + size.n_position, at_step)
    for i in range(nv):
        xn[nq + i] -= W[at_step + i]
    return OK
