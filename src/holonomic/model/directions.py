"""Directions D in which states are moved, and the corrections F r made of them.

z = (q, v) is the whole state, h all residuals, H = ∂h/∂z, and with L = ∂(G v + g_t)/∂q

    "orthogonal"  D = Hᵀ                          H = [G 0; L G]
    "blocks"      D = diag(Gᵀ, Gᵀ)                a cheaper one: only G Gᵀ is factored
    "mass"        D = diag(M⁻¹Gᵀ, M⁻¹Gᵀ)          the same in the metric of the kinetic energy
    "B"           D = diag(B, .., B)              the matrix of a Dae's algebraic unknowns; "mass" for a System

or a function of the user's. From D come two families of corrections, [ascher-chin-reich-1992] (1.13), (1.14),
and one that leaves out L, (4.8):

    "1.13"   F = D (H D)⁻¹        "1.14"   F = D        "4.8"   F = diag(P, P),  P = W⁻¹Gᵀ (G W⁻¹ Gᵀ)⁻¹
"""

from __future__ import annotations

from ..errors import IncompatibleMethods
from .factors import Projector, factor, factor_general, factor_kept
from .model_base import Bend, Direction
from .symbolics import SX, diagcat, vertcat


def bent(d, bend: Bend) -> SX:
    """What a stabilization takes away from z': γ F h, and with `integral` also F (H z' + h_t)."""
    r = d.gain(0) * d.residual()
    if bend.integral:
        r = r + d.residual_rate()
    return correction(d, bend.F, bend.D, r)


def correction(d, F: str, D, r: SX) -> SX:
    """F r at the point of the symbols."""
    if F == "1.14":
        return direction(d, D) @ r
    if F == "4.8":
        return _level_by_level(d, D, r, coupled=False)
    if D in ("blocks", "mass") and not d.is_ode:
        return _level_by_level(d, D, r, coupled=True)
    H, X = d.H, direction(d, D)
    if D == "orthogonal":
        return X @ (factor_kept if d.invariants_alone else factor)(H @ X).solve(r)
    return X @ factor_general(H @ X).solve(r)


def _level_by_level(d, D, r: SX, coupled: bool) -> SX:
    """Position first, then velocity; `coupled` takes the change of G v + g_t with q into account, (4.6)."""
    at = d.position_rows.numel()
    X, Y = _block(d, D, d.J), _block(d, D, d.G)
    dq = X @ factor(d.J @ X).solve(r[:at]) if at else SX.zeros(d.e.q.numel(), 1)
    rest = r[at:, :] - d.curvature(dq) if coupled and d.n_lam else r[at:, :]
    dv = Y @ factor(d.G @ Y).solve(rest) if d.n_lam else SX.zeros(d.e.v.numel(), 1)
    return vertcat(dq, dv)


def direction(d, D) -> SX:
    """D at the point of the symbols: one column per row of h."""
    if not isinstance(D, str):
        return d.given[D]
    if D == "orthogonal":
        return d.H.T
    if d.is_ode:
        return d.direction(D)
    return diagcat(_block(d, D, d.J), _block(d, D, d.G))


def _block(d, D: str, J: SX) -> SX:
    if D in ("orthogonal", "blocks"):
        return J.T
    if d.e.kinematics is not None:
        raise IncompatibleMethods(f'D="{D}" needs q\' = v, but the system has kinematics=. Use D="blocks".')
    return d.over_mass(J)


def directed(d, way: Direction) -> Projector:
    """The projector of the whole state along D."""
    shift = d.gain(0) if way.shifted else None
    orthogonal = isinstance(way.D, str) and way.D == "orthogonal"
    return Projector(
        d.H, direction(d, way.D), same=orthogonal, symmetric=orthogonal, shift=shift, measured=d.H_measured,
        droppable=d.invariants_alone and shift is None,
    )  # fmt: skip
