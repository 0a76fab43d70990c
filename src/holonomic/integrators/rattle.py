"""RATTLE, the symplectic method of order 2 for constrained conservative systems, and its compositions of order 4 and 6.

    v½ = v0 + h/2 M⁻¹(f(q0) - G(q0)ᵀλ),   q1 = q0 + h v½,   g(q1) = 0
    v1 = v½ + h/2 M⁻¹(f(q1) - G(q1)ᵀμ),   G(q1) v1 + g_t = 0

Energy does not drift over long times. M must be constant and q' = v, and forces must not depend on velocities.

The method Φ_h is symmetric. So a composition of it that is the same read from both ends,

    Φ_(γ_1 h) ∘ Φ_(γ_2 h) ∘ ... ∘ Φ_(γ_2 h) ∘ Φ_(γ_1 h),      Σ γ_i = 1,      Σ γ_i³ = 0

has order 4, and order 6 where Σ γ_i⁵ = 0 and one condition on products of γ hold, too [HLW06 Sec. V.3.2]. It is symplectic,
symmetric and on both levels of the constraints as each of its steps. Terms at the end of one step serve the next.
Of order 4 are the five steps of [suzuki-1990], whose error on a pendulum is an eighth of that of three steps at equal work; of
order 6 the nine of [kahan-li-1997], with half the error of seven steps [HLW06 (V.3.11)].

References
----------
[HLW06] Sec. VII.1.4 and V.3.2; [reich-1996] on compositions with constraints.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.evaluate import evaluate
from ..kernels.linalg import lu_factor, lu_solve, lu_solve_rows
from ..kernels.newton import ROUNDED, rounding
from ..kernels.newton_operators import factor_motion, linearize, solve_real, vectors_at
from ..kernels.signatures import ACCEPT, ADVANCE, EQUATIONS, FINISH, LINEARIZED, RESIDUAL, TERMS, Fn, call_model, has_function
from ..kernels.sizes import TOLERANCES
from ..kernels.vectors import copy, move_on
from ..model.call_by_name import refuses_unknown
from ..native.marks import inner, kernel, leaf
from .base import Integrator, Lowered
from .both_ends import dense_six, interpolate_five, interpolate_six
from .hermite import dense, interpolate

ITERATIONS = 40
STALLED = 1e-2  # of tolerances of 1e-10: where changes this small no longer fall, it is by rounding

STEPS = 1  # ip: how many steps of RATTLE make one; behind the scales in fp stand their lengths and where they end
# γ_1, γ_2, ... but the middle one, which is 1 less all others
SHARES = {
    2: (),
    4: (0.41449077179437573714,) * 2,  # 1/(4 - 4^(1/3))
    6: (0.39216144400731413927925056, 0.33259913678935943859974864, -0.70624617255763935980996482, 0.08221359629355080023149045),
}


def composition(order: int) -> np.ndarray:
    """Lengths of the steps of RATTLE that make one of this order."""
    outer = np.array(SHARES[order])
    return np.concatenate([outer, [1.0 - 2.0 * outer.sum()], outer[::-1]])


# Models with a form of their own factor c M + s ∂/∂q, G s: forces count 1/c² beside M then, and G as it is
OWN_SHIFT, OWN_SHARE = 1e7, 1e-7


def rattle_work(size) -> int:
    """Numbers of workspace of one step: terms, M, M⁻¹Gᵀ, two small matrices and vectors; or factors of a model's own."""
    return 3 * size.n_linear + size.n_factors + 12 * size.ny + 16


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


@leaf
def take_forces(W, at_r, at, factor, nq, nv, ny):
    """f from what the equations leave with neither accelerations nor multipliers."""
    for i in range(ny):
        W[at + i] = -factor * W[at_r + i] if nq <= i < nq + nv else 0.0


@leaf
def take_rows(W, at_r, at, factor, first, ny):
    """What constraints leave, as a right-hand side."""
    for i in range(ny):
        W[at + i] = factor * W[at_r + i - first] if i >= first else 0.0


@leaf
def take_step(W, at_x, at_step, at_r, first, nv, nl):
    """The move of a solution, and minus its multipliers."""
    for i in range(nv):
        W[at_step + i] = W[at_x + i]
    for k in range(nl):
        W[at_r + k] = -W[at_x + nv + k] / OWN_SHIFT


@inner
def own_terms(model, run, W, t, x, at_a):
    """The same of a model with a form of its own: factors of the whole, and accelerations with constraints of velocities held."""
    size = model.size
    nq, nv, ny = size.nq, size.nv, size.ny
    r, b = at_a + 3 * ny, at_a + 4 * ny
    for i in range(ny):
        W[b + i] = 0.0
    for i in range(nq + nv, ny):
        x[i] = 0.0
    linearize(model, t, x, 0, W, b)
    if factor_motion(model, run, W, OWN_SHIFT, OWN_SHARE) != OK:
        return SINGULAR
    call_model(model, EQUATIONS, t, x, 0, W, b, W, r)
    take_forces(W, r, b, OWN_SHIFT, nq, nv, ny)
    solve_real(model, W, b, r)
    for i in range(nv):
        W[at_a + i] = W[r + nq + i]
    return OK


@inner
def way_back(model, W, places, at_a, at_r, at_step):
    """M⁻¹Gᵀ(G M⁻¹Gᵀ)⁻¹ r into at_step, what stands before M⁻¹Gᵀ into r."""
    size = model.size
    nq, nv, nl, ny = size.nq, size.nv, size.nl, size.ny
    if has_function(model, LINEARIZED):
        x, b = at_a + 3 * ny, at_a + 4 * ny
        take_rows(W, at_r, b, OWN_SHARE, nq + nv, ny)
        solve_real(model, W, b, x)
        take_step(W, x + nq, at_step, at_r, nq, nv, nl)
    else:
        solve_small(W, places[5], at_r, nl)
        times_spread(W, places[4], at_r, at_step, nv, nl)


@leaf
def times_spread(W, at_X, at_r, at_step, nv, nl):
    """X r"""
    for i in range(nv):
        step = 0.0
        for k in range(nl):
            step += W[at_X + k * nv + i] * W[at_r + k]
        W[at_step + i] = step


@inner
def terms_at(model, run, W, t, x, places, a):
    """M, G and f at a point: factors of M and of G M⁻¹Gᵀ, M⁻¹Gᵀ, and the accelerations M⁻¹f without constraints."""
    size = model.size
    if has_function(model, LINEARIZED):
        return own_terms(model, run, W, t, x, a)
    nv, nl, (at, at_M, at_f, at_G, at_X, at_S) = size.nv, size.nl, places
    call_model(model, TERMS, t, x, 0, x, 0, W, 0)
    copy_terms(W, at, at_X - at)
    if spread(W, at_M, at_G, at_X, nv, nl) != 0 or couple(W, at_G, at_X, at_S, nv, nl) != 0:
        return SINGULAR
    kick(W, at_M, at_f, at_X + nl * nv, a, nv)
    return OK


@inner
def substep(model, method, run, W, t, s, xn, places, at_a):
    """One step of RATTLE of length s from xn, in its place; the terms of its beginning stand in W, then those of its end."""
    size, fp = model.size, method.fp
    ny, nq, nv, nl = size.ny, size.nq, size.nv, size.nl
    at_step, at_r = at_a + nv, at_a + 2 * nv
    for i in range(nv):
        xn[nq + i] += 0.5 * s * W[at_a + i]
        xn[i] += s * xn[nq + i]
    for i in range(nq + nv, ny):
        xn[i] = 0.0
    before, converged = 1e300, False
    for _ in range(ITERATIONS):
        call_model(model, RESIDUAL, t, xn, 0, xn, 0, W, at_r)
        way_back(model, W, places, at_a, at_r, at_step)
        change = 0.0
        for i in range(nv):
            step = W[at_step + i]
            xn[i] -= step
            xn[nq + i] -= step / s
            change = max(change, abs(step) / (W[size.at_sizes + TOLERANCES + i] + fp[0] * abs(xn[i])))
        for k in range(nl):
            xn[nq + nv + k] += 2.0 * W[at_r + k] / (s * s)
        if not change <= 1e100:
            return NO_CONVERGENCE
        enough = max(STALLED, ROUNDED * rounding(size, W, xn, s, fp, nq, nq + nv, ny))
        if change <= fp[1] or (change <= enough and change >= 0.3 * before):
            converged = True
            break
        before = change
    if not converged:
        return NO_CONVERGENCE
    if terms_at(model, run, W, t, xn, places, at_a) != OK:
        return SINGULAR
    for i in range(nv):
        xn[nq + i] += 0.5 * s * W[at_a + i]
    call_model(model, RESIDUAL, t, xn, 0, xn, 0, W, at_r)
    first = at_r + size.n_position
    way_back(model, W, places, at_a, first, at_step)
    for i in range(nv):
        xn[nq + i] -= W[at_step + i]
    return OK


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Step after step of the composition: positions by Newton's method, velocities by one linear solve."""
    size = model.size
    ip, fp = method.ip, method.fp
    xn, W = state.xn, state.W
    ny, nq, nv, nl, at = size.ny, size.nq, size.nv, size.nl, size.at_newton
    at_G = at + nq + nv * nv + nv
    at_S = at_G + 2 * nl * nv + nl + nv
    places = (at, at + nq, at + nq + nv * nv, at_G, at_G + nl * nv + nl, at_S)
    at_a = at_S + nl * nl + nl
    if has_function(model, LINEARIZED):
        at_a = vectors_at(size, 0)
    copy(state.x, xn, ny)
    status = terms_at(model, run, W, t, xn, places, at_a)
    for k in range(ip[STEPS]):
        if status != OK:
            return status
        share, reached = fp[3 + ny + k], fp[3 + ny + ip[STEPS] + k]
        status = substep(model, method, run, W, t + reached * h, share * h, xn, places, at_a)
    return status


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


@refuses_unknown
@dataclass(frozen=True, repr=False)
class RATTLE(Integrator):
    """RATTLE and its compositions: symplectic, order 2, 4 or 6, fixed step, both constraint levels; constant M, forces of q alone.

    Energy swings by O(h^order) and has no trend over the longest times. Not for bodies that turn in space, whose gyroscopic forces
    depend on velocities. Order 4 takes five steps of RATTLE for one, order 6
    nine, some of them backwards in time.

    Parameters
    ----------
    order : int
        2, 4 or 6.

    References
    ----------
    [HLW06] Sec. VII.1.4, V.3.2; [reich-1996], [suzuki-1990], [kahan-li-1997] for the compositions.
    """

    order: int = 2
    adaptive, implicit, takes = False, True, "residual"
    indices = (3,)
    only_plain = True
    needs_constant_mass = True
    needs_forces_of_position = True
    keeps_energy = True
    keeps_velocities = True
    references = ("HLW06", "reich-1996", "suzuki-1990", "kahan-li-1997")

    def __post_init__(self):
        if type(self.order) is not int or self.order not in SHARES:
            raise BadArgument(f"order={self.order!r}: RATTLE has order 2, 4 or 6.")

    def lower(self) -> Lowered:
        shares = composition(self.order)
        inside = {2: (dense, interpolate), 4: (dense, interpolate_five), 6: (dense_six, interpolate_six)}[self.order]
        return Lowered(
            slots={
                "advance": advance, "finish": finish, "accept": accept, "dense": inside[0], "interpolate": inside[1],
            },
            ip=np.array([1, len(shares)], dtype=np.int64), fp=np.concatenate([shares, np.cumsum(shares)[:-1], [1.0]]),
            rows=3 if self.order == 6 else 2, errors=0, work=rattle_work, needs=(Fn.RESIDUAL,), asks_dense=(Fn.TERMS,),
            asks_own=(Fn.NEWTON_SOLVE, Fn.MOTION_FACTOR), wants_scales=True,
        )  # fmt: skip
