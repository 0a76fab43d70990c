"""RATTLE: the symplectic method of order 2 for constrained conservative systems.

    v½ = v0 + h/2 M⁻¹(f(q0) - G(q0)ᵀλ),   q1 = q0 + h v½,   g(q1) = 0
    v1 = v½ + h/2 M⁻¹(f(q1) - G(q1)ᵀμ),   G(q1) v1 + g_t = 0

Energy does not drift over long times. M must be constant and q' = v; forces that depend on velocities are
taken at v0 and v½, which keeps order 1 only.

References
----------
[HLW06] Sec. VII.1.4.
"""

from __future__ import annotations

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR
from ..kernels.evaluate import evaluate
from ..kernels.linalg import lu_factor, lu_solve, lu_solve_rows
from ..kernels.newton import ROUNDED, rounding
from ..kernels.signatures import (
    ACCEPT,
    ADVANCE,
    FINISH,
    RESIDUAL,
    TERMS,
    Fn,
    call_model,
)
from ..kernels.vectors import move_on
from ..native.marks import kernel, leaf
from .base import Integrator, Lowered
from .hermite import dense, interpolate

ITERATIONS = 40
STALLED = 1e-2  # of tolerances of 1e-10: where changes this small no longer fall, it is by rounding


def rattle_work(size) -> int:
    """Numbers of workspace of one step: terms, M, M⁻¹Gᵀ, two small matrices and vectors."""
    ny = size.ny
    return 6 * ny * ny + 12 * ny + 16


@leaf
def copy_terms(W, at, count):
    """Move the terms out of the way of the next evaluation."""
    for i in range(count):
        W[at + i] = W[i]


@leaf
def spread(W, at_M, at_G, at_X, nv, nl):
    """X = M⁻¹Gᵀ, column by column (nl rows of nv numbers); M is overwritten by its factors."""
    M = W[at_M : at_M + nv * nv].reshape((nv, nv))
    pivots = W[at_X + nl * nv : at_X + nl * nv + nv].view(np.int64)
    if lu_factor(M, pivots) != 0:
        return 1
    lu_solve_rows(M, pivots, W, at_G, at_X, nl)
    return 0


@leaf
def couple(W, at_G, at_X, at_S, nv, nl):
    """Factors of S = G X."""
    S = W[at_S : at_S + nl * nl].reshape((nl, nl))
    for i in range(nl):
        for j in range(nl):
            total = 0.0
            for k in range(nv):
                total += W[at_G + i * nv + k] * W[at_X + j * nv + k]
            S[i, j] = total
    return lu_factor(S, W[at_S + nl * nl : at_S + nl * nl + nl].view(np.int64))


@leaf
def solve_small(W, at_S, at_r, nl):
    """r <- S⁻¹ r"""
    S = W[at_S : at_S + nl * nl].reshape((nl, nl))
    lu_solve(S, W[at_S + nl * nl : at_S + nl * nl + nl].view(np.int64), W[at_r : at_r + nl])


@leaf
def kick(W, at_M, at_f, at_pivots, at_a, nv):
    """a = M⁻¹f with the factors in place of M."""
    a = W[at_a : at_a + nv]
    for i in range(nv):
        a[i] = W[at_f + i]
    lu_solve(W[at_M : at_M + nv * nv].reshape((nv, nv)), W[at_pivots : at_pivots + nv].view(np.int64), a)


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Positions by Newton's method with the matrix of the start, velocities by one linear solve."""
    size = model.size
    fp = method.fp
    x, xn, W = state.x, state.xn, state.W
    ny, nq, nv, nl, at = size.ny, size.nq, size.nv, size.nl, size.at_newton
    count = nq + nv * nv + nv + nl * nv + nl
    at_M, at_f = at + nq, at + nq + nv * nv
    at_G = at_f + nv
    at_X = at + count
    at_S = at_X + nl * nv + nv
    at_a, at_r = at_S + nl * nl + nl, at_S + nl * nl + nl + nv
    call_model(model, TERMS, t, x, 0, x, 0, W, 0)
    copy_terms(W, at, count)
    if spread(W, at_M, at_G, at_X, nv, nl) != 0 or couple(W, at_G, at_X, at_S, nv, nl) != 0:
        return SINGULAR
    kick(W, at_M, at_f, at_X + nl * nv, at_a, nv)
    for i in range(nv):
        xn[nq + i] = x[nq + i] + 0.5 * h * W[at_a + i]
        xn[i] = x[i] + h * xn[nq + i]
    for i in range(nq + nv, ny):
        xn[i] = 0.0
    before, converged = 1e300, False
    for _ in range(ITERATIONS):
        call_model(model, RESIDUAL, t + h, xn, 0, xn, 0, W, at_r)
        solve_small(W, at_S, at_r, nl)
        change = 0.0
        for i in range(nv):
            step = 0.0
            for k in range(nl):
                step += W[at_X + k * nv + i] * W[at_r + k]
            xn[i] -= step
            xn[nq + i] -= step / h
            change = max(change, abs(step) / (fp[2 + i] + fp[0] * abs(xn[i])))
        for k in range(nl):
            xn[nq + nv + k] += 2.0 * W[at_r + k] / (h * h)
        if not change <= 1e100:
            return NO_CONVERGENCE
        enough = max(STALLED, ROUNDED * rounding(xn, h, fp, nq, nq + nv, ny))
        if change <= fp[1] or (change <= enough and change >= 0.3 * before):
            converged = True
            break
        before = change
    if not converged:
        return NO_CONVERGENCE
    call_model(model, TERMS, t + h, xn, 0, xn, 0, W, 0)
    copy_terms(W, at, count)
    if spread(W, at_M, at_G, at_X, nv, nl) != 0 or couple(W, at_G, at_X, at_S, nv, nl) != 0:
        return SINGULAR
    kick(W, at_M, at_f, at_X + nl * nv, at_a, nv)
    for i in range(nv):
        xn[nq + i] += 0.5 * h * W[at_a + i]
    call_model(model, RESIDUAL, t + h, xn, 0, xn, 0, W, at_r)
    first = at_r + size.n_position
    solve_small(W, at_S, first, nl)
    for i in range(nv):
        for k in range(nl):
            xn[nq + i] -= W[at_X + k * nv + i] * W[first + k]
    return OK


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The field at the new point; its multipliers are those of the record."""
    size = model.size
    xn, K, W = state.xn, state.K, state.W
    status = evaluate(model, run, t + h, xn, K, 1, W)
    for k in range(size.nl):
        xn[size.nq + size.nv + k] = K[1, size.nq + size.nv + k]
    return status


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """Go on from the new point."""
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    move_on(K, 1, size.nrow, xn, x, size.ny)
    return OK


class RATTLE(Integrator):
    """RATTLE: symplectic, order 2, fixed step, both constraint levels; constant M, forces of q alone."""

    order, adaptive, implicit, takes = 2, False, True, "residual"
    indices = (3,)
    only_plain = True
    needs_dense_terms = True
    needs_constant_mass = True
    needs_forces_of_position = True
    keeps_energy = True
    keeps_velocities = True
    references = ("HLW06",)

    def lower(self) -> Lowered:
        return Lowered(
            slots={
                "advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate,
            },
            ip=np.array([1], dtype=np.int64), fp=np.zeros(1), rows=2, errors=0, work=rattle_work,
            needs=(Fn.RESIDUAL, Fn.TERMS), wants_scales=True,
        )  # fmt: skip
