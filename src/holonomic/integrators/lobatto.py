"""Lobatto IIIA-IIIB in the partitioned form for constraints, of any number s of stages: order 2s - 2 in q, v and λ.

    Q_i = q0 + h Σ_j a_ij V_j,      V_i = v0 + h Σ_j â_ij M⁻¹(f(Q_j) - G(Q_j)ᵀΛ_j),      g(Q_i) = 0,  i = 2 .. s
    q1 = Q_s,      v1 = v0 + h Σ_j b_j M⁻¹(f(Q_j) - G(Q_j)ᵀΛ_j),      G(q1) v1 + g_t = 0

with the nodes c_i of Lobatto, the first of which is 0 and the last 1, a of Lobatto IIIA (collocation: a_1j = 0) and â of IIIB,
b_i â_ij + b_j a_ji = b_i b_j (so that â_is = 0). Q_1 = q0 is on the constraints; Λ_s makes v1 hold them. It is symplectic and
symmetric, and keeps both levels at the ends of steps. Two stages are RATTLE.

M is constant here, and forces depend on q: with accelerations F_k = M⁻¹(f(Q_k) - G(Q_k)ᵀΛ_k)

    Q_i = q0 + c_i h v0 + h² Σ_k (a â)_ik F_k

Forces are taken at the stages of the iteration before, Λ by Newton's method with G of the start for all stages: then it is

    Q_i <- Q_i - X y_i,    Λ_k <- Λ_k + Σ_i B_ki y_i / h²,    y_i = (G X)⁻¹ g(Q_i),    X = M⁻¹Gᵀ,    B = (a â)⁻¹, of i > 1 and k < s

References
----------
[jay-1996]; [HLW06] Sec. VII.1.4 and II.1.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.linalg import lu_solve
from ..kernels.newton import AT_ROUNDING, ROUNDED, rounding
from ..kernels.signatures import ADVANCE, LINEARIZED, RESIDUAL, TERMS, Fn, call_model, has_function
from ..kernels.sizes import TOLERANCES
from ..kernels.vectors import copy
from ..model.call_by_name import refuses_unknown
from ..native.marks import inner, kernel, leaf
from .base import Integrator, Lowered
from .both_ends import MIDDLE, dense_six, interpolate_five, interpolate_six
from .hermite import dense, interpolate
from .lobatto_stages import largest_move, own_stages, put_stage
from .rattle import STALLED, accept, finish, rattle_work, solve_small, terms_at

MOST_STAGES = 6
STAGES = 1  # ip: how many
# rows of K behind that of the middle: stages Q_i - q0, accelerations F_k, Λ_k
Q = MIDDLE + 1
ITERATIONS = 60


@cache
def table(stages: int) -> np.ndarray:
    """c; a â row by row; b; B row by row."""
    s = stages
    inner_nodes = np.polynomial.legendre.Legendre.basis(s - 1).deriv().roots() if s > 2 else np.array([])
    c = np.concatenate([[0.0], np.sort(np.real(inner_nodes) / 2.0 + 0.5), [1.0]])
    a = np.empty((s, s))
    for j in range(s):
        others = np.delete(c, j)
        curve = np.polynomial.Polynomial.fromroots(others) / np.prod(c[j] - others)
        a[:, j] = curve.integ()(c)
    b = a[-1]
    other = b * (1.0 - a.T / b[:, None])
    both = a @ other
    return np.concatenate([c, both.ravel(), b, np.linalg.inv(both[1:, :-1]).ravel()])


@leaf
def start_stages(K, first, stages, nq, nv, nl):
    """Accelerations and multipliers of the start for all stages."""
    for k in range(stages):
        for i in range(nv):
            K[first + stages + k, i] = K[0, nq + i]
        for i in range(nl):
            K[first + 2 * stages + k, i] = K[0, nq + nv + i]


@leaf
def take_forces(K, row, multipliers, W, at_M, at_pivots, at_f, at_G, nv, nl):
    """F = M⁻¹(f - Gᵀ Λ) into a row of K, by the factors of M."""
    out = K[row, :nv]
    for i in range(nv):
        out[i] = W[at_f + i]
        for k in range(nl):
            out[i] -= W[at_G + k * nv + i] * K[multipliers, k]
    lu_solve(W[at_M : at_M + nv * nv].reshape((nv, nv)), W[at_pivots : at_pivots + nv].view(np.int64), out)


@leaf
def correct(K, first, stage, h, W, at_X, at_y, fp, c, stages, nv, nl):
    """Q_i less X y_i, and what that makes of all Λ_k."""
    B = c + 2 * stages + stages * stages + stage - 1
    for i in range(nv):
        for k in range(nl):
            K[first + stage, i] -= W[at_X + k * nv + i] * W[at_y + k]
    for k in range(stages - 1):
        for j in range(nl):
            K[first + 2 * stages + k, j] += fp[B + k * (stages - 1)] * W[at_y + j] / (h * h)


@inner
def iterate(model, t, h, state, fp, c, stages, places, at_y):
    """New forces and one correction of Λ for all stages; return the largest change of a stage."""
    size = model.size
    x, xn, K, W = state.x, state.xn, state.K, state.W
    nq, nv, nl = size.nq, size.nv, size.nl
    at_M, at_X = places[1], places[4]
    change = 0.0
    for stage in range(1, stages):
        put_stage(xn, x, K, Q, stage, h, fp, c, stages, nq, nv)
    for stage in range(1, stages):
        for i in range(nv):
            xn[i] = x[i] + K[Q + stage, i]
        call_model(model, RESIDUAL, t + fp[c + stage] * h, xn, 0, xn, 0, W, at_y)
        solve_small(W, places[5], at_y, nl)
        correct(K, Q, stage, h, W, at_X, at_y, fp, c, stages, nv, nl)
        moved = largest_move(W, size.at_sizes + TOLERANCES, K, Q, stage, Q + 3 * stages + stage, x, fp, nv)
        if not moved <= change:
            change = moved
    for stage in range(stages - 1):
        for i in range(nv):
            xn[i] = x[i] if stage == 0 else x[i] + K[Q + stage, i]
        call_model(model, TERMS, t + fp[c + stage] * h, xn, 0, xn, 0, W, 0)
        take_forces(K, Q + stages + stage, Q + 2 * stages + stage, W, at_M, at_X + nl * nv, nq + nv * nv, nq + nv * nv + nv, nv, nl)
    return change


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Stages by iteration, then the velocities by one linear solve."""
    size, fp, stages = model.size, method.fp, method.ip[STAGES]
    x, xn, K, W = state.x, state.xn, state.K, state.W
    ny, nq, nv, nl, at = size.ny, size.nq, size.nv, size.nl, size.at_newton
    c, at_G = 3 + ny, at + nq + nv * nv + nv
    at_S = at_G + 2 * nl * nv + nl + nv
    places = (at, at + nq, at + nq + nv * nv, at_G, at_G + nl * nv + nl, at_S)
    at_a = at_S + nl * nl + nl
    at_r = at_a + nv
    if has_function(model, LINEARIZED):
        start_stages(K, Q, stages, nq, nv, nl)
        return own_stages(model, run, t, h, state, fp, c, stages, Q, ITERATIONS)
    copy(x, xn, ny)
    if terms_at(model, run, W, t, xn, places, at_a) != OK:
        return SINGULAR
    start_stages(K, Q, stages, nq, nv, nl)
    before, converged = 1e300, False
    for iteration in range(ITERATIONS):
        change = iterate(model, t, h, state, fp, c, stages, places, at_r)
        if not change <= 1e100:
            return NO_CONVERGENCE
        enough = max(STALLED, ROUNDED * rounding(size, W, x, h, fp, nq, nq + nv, ny))
        if iteration > 0 and (change <= fp[1] or (change <= enough and change >= AT_ROUNDING * before)):
            converged = True
            break
        before = change
    if not converged:
        return NO_CONVERGENCE
    for i in range(nv):
        xn[i] = x[i] + K[Q + stages - 1, i]
    for i in range(nq + nv, ny):
        xn[i] = x[i]
    if terms_at(model, run, W, t + h, xn, places, at_a) != OK:
        return SINGULAR
    weights = c + stages + stages * stages
    for i in range(nv):
        total = fp[weights + stages - 1] * W[at_a + i]
        for k in range(stages - 1):
            total += fp[weights + k] * K[Q + stages + k, i]
        xn[nq + i] = x[nq + i] + h * total
    call_model(model, RESIDUAL, t + h, xn, 0, xn, 0, W, at_r)
    first = at_r + size.n_position
    solve_small(W, at_S, first, nl)
    for i in range(nv):
        for k in range(nl):
            xn[nq + i] -= W[places[4] + k * nv + i] * W[first + k]
    return OK


@refuses_unknown
@dataclass(frozen=True, repr=False)
class LobattoIIIAB(Integrator):
    """Lobatto IIIA-IIIB for constraints: symplectic, order 2 stages - 2, fixed step, both levels; constant M, forces of q alone.

    Order 2, 4, 6, 8 and 10 with two (RATTLE) to six stages; between steps order 6 at most. Not for bodies that turn in space, whose
    gyroscopic forces depend on velocities. Its stages are found by iterations that
    take forces from the round before, for motions that steps resolve: in stiff ones it says that it does not converge.

    Parameters
    ----------
    stages : int
        2 to 6.

    References
    ----------
    [jay-1996]; [HLW06] Sec. VII.1.4 and II.1.4.
    """

    stages: int = 3
    order: int = field(init=False, default=4)
    adaptive, implicit, takes = False, True, "residual"
    indices = (3,)
    only_plain = True
    needs_constant_mass = True
    needs_forces_of_position = True
    keeps_energy = True
    keeps_velocities = True
    references = ("jay-1996", "HLW06")

    def __post_init__(self):
        if type(self.stages) is not int or not 2 <= self.stages <= MOST_STAGES:
            raise BadArgument(f"stages={self.stages!r} must be a whole number from 2 to {MOST_STAGES}; the order is 2 stages - 2.")
        object.__setattr__(self, "order", 2 * self.stages - 2)

    def __repr__(self) -> str:
        return f"LobattoIIIAB(stages={self.stages})"

    def lower(self) -> Lowered:
        inside = {2: (dense, interpolate), 4: (dense, interpolate_five)}.get(self.order, (dense_six, interpolate_six))
        slots = {"advance": advance, "finish": finish, "accept": accept, "dense": inside[0], "interpolate": inside[1]}
        return Lowered(
            slots, ip=np.array([1, self.stages], dtype=np.int64), fp=table(self.stages), rows=Q + 4 * self.stages, errors=0,
            work=rattle_work, needs=(Fn.RESIDUAL,), asks_dense=(Fn.TERMS,), asks_own=(Fn.NEWTON_SOLVE, Fn.MOTION_FACTOR),
            wants_scales=True,
        )  # fmt: skip
