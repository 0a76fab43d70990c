"""Gauss-Legendre method with two stages, order 4, fixed step, for any residual R(t, y, y') = 0.

The stages Z_i = Y_i - y0 obey

    R(t0 + c_i h, y0 + Z_i, Σ_j a_ij Z_j / h) = 0,    a = A⁻¹,    y1 = y0 + √3 (Z_2 - Z_1)

a has one pair of eigenvalues α ± iβ = 3 ± i√3, so that Newton's method with one matrix for both stages is one complex
system, as in a Radau step:

    (∂R/∂y + (α - iβ)/h ∂R/∂y')(Δw_1 + i Δw_2) = ...,     Z = T w

Algebraic unknowns belong to the stages; at the end of a step stands the line through theirs.

References
----------
[HW96] Sec. IV.5, IV.8 and VII.4; [HLW06] Sec. II.1; [ascher-petzold-1993] for the projected method.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR
from ..kernels.complex_lu import complex_lu_factor, complex_lu_solve
from ..kernels.newton import AT_ROUNDING, LOOSE, small
from ..kernels.newton_operators import linearize_by_rows, scale_columns
from ..kernels.signatures import ADVANCE, EQUATIONS, call_model
from ..native.marks import inner, kernel, leaf
from .base import Integrator, Lowered
from .hermite import dense, finish, interpolate
from .rattle import accept

SQ3 = 3.0**0.5
C1, C2 = 0.5 - SQ3 / 6.0, 0.5 + SQ3 / 6.0
A = np.array([[1 / 4, 1 / 4 - SQ3 / 6], [1 / 4 + SQ3 / 6, 1 / 4]])
Z = 2  # rows of K from here on: the stages
ITERATIONS = 30
MATRICES = 4  # of the workspace: ∂R/∂y, ∂R/∂y', real and imaginary part of Newton's matrix; vectors behind them
# fp behind the scales (3 + 2 ny numbers): a, T, T⁻¹ row by row, then α and β
AT_T, AT_INVERSE, AT_ALPHA, AT_BETA = 4, 8, 12, 13


def gauss_work(size) -> int:
    """Numbers of workspace of one step."""
    ny = size.ny
    return MATRICES * ny * ny + 8 * ny + 8


@cache
def _constants() -> np.ndarray:
    a = np.linalg.inv(A)
    values, vectors = np.linalg.eig(a)
    pair = int(np.argmax(values.imag))
    T = np.column_stack([vectors[:, pair].real, vectors[:, pair].imag])
    return np.concatenate([a.ravel(), T.ravel(), np.linalg.inv(T).ravel(), [values[pair].real, values[pair].imag]])


@leaf
def predict(K, h, differential, ny):
    """Stages from the slopes at the start, and from the old multipliers."""
    for i in range(ny):
        slope = h * K[0, i] if i < differential else 0.0
        K[Z, i], K[Z + 1, i] = C1 * slope, C2 * slope


@leaf
def stage_arguments(W, at_y, at_slope, x, K, fp, stage, h, ny):
    """y0 + Z_i and Σ a_ij Z_j / h."""
    at = 3 + 2 * ny + 2 * stage
    for i in range(ny):
        W[at_y + i] = x[i] + K[Z + stage, i]
        W[at_slope + i] = (fp[at] * K[Z, i] + fp[at + 1] * K[Z + 1, i]) / h


@leaf
def scales_of(W, at, ny):
    """By what rows and columns of Newton's matrix are scaled."""
    start = at + MATRICES * ny * ny + 5 * ny
    return W[start : start + ny], W[start + ny : start + 2 * ny]


@leaf
def factor_pair(run, W, at, ny, h, fp):
    """Form ∂R/∂y + (α - iβ)/h ∂R/∂y', rows and columns scaled as for any Newton's matrix, and factor it."""
    run.jacobians += 1
    run.factorizations += 1
    size, alpha, beta = ny * ny, fp[3 + 2 * ny + AT_ALPHA], fp[3 + 2 * ny + AT_BETA]
    rows, columns = scales_of(W, at, ny)
    scale_columns(columns, h, fp, ny)
    re = W[at + 2 * size : at + 3 * size].reshape((ny, ny))
    im = W[at + 3 * size : at + 4 * size].reshape((ny, ny))
    for i in range(ny):
        largest = 0.0
        for j in range(ny):
            k = at + i * ny + j
            re[i, j] = (W[k] + alpha / h * W[size + k]) * columns[j]
            im[i, j] = -beta / h * W[size + k] * columns[j]
            largest = max(largest, abs(re[i, j]) + abs(im[i, j]))
        rows[i] = 1.0 / largest if largest > 0.0 else 1.0
        for j in range(ny):
            re[i, j] *= rows[i]
            im[i, j] *= rows[i]
    return complex_lu_factor(re, im, W[at + 4 * size : at + 4 * size + ny].view(np.int64))


@leaf
def update(run, W, at, at_r, x, K, h, fp, ny):
    """One Newton step for both stages; return the size of the change in the error norm."""
    run.residuals += 2
    size, c = ny * ny, 3 + 2 * ny
    rows, columns = scales_of(W, at, ny)
    re = W[at + 2 * size : at + 3 * size].reshape((ny, ny))
    im = W[at + 3 * size : at + 4 * size].reshape((ny, ny))
    r1, r2 = W[at_r : at_r + ny], W[at_r + ny : at_r + 2 * ny]
    for i in range(ny):
        a, b = r1[i] * rows[i], r2[i] * rows[i]
        r1[i] = -(fp[c + AT_INVERSE] * a + fp[c + AT_INVERSE + 1] * b)
        r2[i] = -(fp[c + AT_INVERSE + 2] * a + fp[c + AT_INVERSE + 3] * b)
    complex_lu_solve(re, im, W[at + 4 * size : at + 4 * size + ny].view(np.int64), r1, r2)
    largest, rtol, atol, powers = 0.0, fp[0], fp[2 : 2 + ny], fp[2 + ny : 2 + 2 * ny]
    for i in range(ny):
        weight = abs(h) ** int(powers[i])
        for stage in range(2):
            step = columns[i] * (fp[c + AT_T + 2 * stage] * r1[i] + fp[c + AT_T + 2 * stage + 1] * r2[i])
            K[Z + stage, i] += step
            change = abs(step) * weight / (atol[i] + rtol * abs(x[i] + K[Z + stage, i]))
            if not change <= largest:
                largest = change
    return largest


@leaf
def new_point(xn, x, K, differential, ny):
    """y1 of differential unknowns; of the others the line through their stages."""
    for i in range(ny):
        gap = K[Z + 1, i] - K[Z, i]
        if i < differential:
            xn[i] = x[i] + SQ3 * gap
        else:
            xn[i] = x[i] + K[Z, i] + (1.0 - C1) / (C2 - C1) * gap


@inner
def refresh(model, method, run, t, h, state, at_y, at_slope):
    """Newton's matrix at the first stage."""
    size = model.size
    fp = method.fp
    x, K, W = state.x, state.K, state.W
    ny, at = size.ny, size.at_newton
    stage_arguments(W, at_y, at_slope, x, K, fp, 0, h, ny)
    linearize_by_rows(model, t + C1 * h, W, at_y, W, at_slope, at)
    return factor_pair(run, W, at, ny, h, fp)


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for the stages."""
    size = model.size
    fp = method.fp
    x, xn, K, W = state.x, state.xn, state.K, state.W
    ny, at = size.ny, size.at_newton
    v = at + MATRICES * ny * ny
    at_r, at_y, at_slope = v + ny, v + 3 * ny, v + 4 * ny
    predict(K, h, size.nq + size.nv, ny)
    before, fresh = 0.0, True
    for iteration in range(ITERATIONS):
        if fresh and refresh(model, method, run, t, h, state, at_y, at_slope) != 0:
            return SINGULAR
        for stage in range(2):
            stage_arguments(W, at_y, at_slope, x, K, fp, stage, h, ny)
            t_stage = t + (C1 if stage == 0 else C2) * h
            call_model(model, EQUATIONS, t_stage, W, at_y, W, at_slope, W, at_r + stage * ny)
        change = update(run, W, at, at_r, x, K, h, fp, ny)
        if not change <= 1e200:
            return NO_CONVERGENCE
        rate = change / before if iteration > 0 and before > 0.0 else 1.0
        # the first ratio is no rate: multipliers start far off but enter linearly
        to_come = change * min(1.0, rate) if iteration > 1 else change
        at_rest = iteration > 2 and rate >= AT_ROUNDING and small(change, LOOSE, x, h, fp, size.nq, size.nq + size.nv, ny)
        if to_come <= fp[1] or at_rest:
            new_point(xn, x, K, size.n_differential, ny)
            return OK
        fresh = iteration > 1 and rate > 0.3
        before = change
    return NO_CONVERGENCE


class GaussLegendre4(Integrator):
    """Gauss-Legendre method with two stages, order 4, fixed step; symplectic, damps nothing.

    Order 4 for q and v with formulations of index 0 and 1, and for systems without constraints, where it is symplectic.
    Its own multipliers belong to the stages. With index 2 the constraints
    hold in the stages alone, which leaves order 2 for v and λ; the projected Gauss method, with a `Projection` along the
    directions in which the multipliers act, has order 4 again. `Projection()` takes them by itself, if no metric is asked
    for: the mass metric for velocities of Index2 and GGL and where D="mass", the identity elsewhere; B of a Dae.
    So it projects unless told otherwise. With index 3 velocities do not converge: that is refused.
    """

    order, adaptive, implicit, takes = 4, False, True, "residual"
    highest_index = 2
    needs_dense_terms = True
    keeps_energy = True
    keeps_at_end = False
    multipliers_in_stages = True
    recommended = True
    references = ("HW96", "HLW06", "ascher-petzold-1993")

    def lower(self) -> Lowered:
        return Lowered(
            slots={
                "advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate,
            },
            ip=np.array([1], dtype=np.int64), fp=_constants(), rows=4, errors=0, work=gauss_work,
            wants_scales=True,
        )  # fmt: skip
