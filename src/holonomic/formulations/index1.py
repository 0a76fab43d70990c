"""Index 1: the constraint at acceleration level, accelerations and multipliers solved for at every point."""

from __future__ import annotations

from .base import Block, Formulation, Unknowns, acceleration_level, dae_equations, held_dynamics, kinematics


class Index1(Formulation):
    """Solve [M Gᵀ; G 0] (v', λ) = (f, -γ) at every point.

    Explicit integrators take the ODE for (q, v). Implicit ones take the residual with λ unknown,

        q' = Z v,   M v' = f - Gᵀλ,   0 = G M⁻¹(f - Gᵀλ) + γ (+ 2α(Gv + g_t) + β²g with Baumgarte)

    For an `Ode` it is the equation itself.

    References
    ----------
    [eich-1993] (1.4) - (1.7); [ascher-petzold-1993] Sec. 3 for Baumgarte inside an implicit discretization.
    """

    plain = True
    levels = ("acceleration",)
    gives = ("ode", "residual")
    index = 1
    for_ode = True
    has_field_terms = True
    in_stages = True
    inverts_mass = True
    recommended = True
    references = ("eich-1993",)

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv), Block("lam", n_lam, 1))

    def equations(self, d, gains):
        if d.e.order and d.lam_in_force:
            return dae_equations(d, 1, gains)
        if d.is_ode:
            return _ode(d, gains)
        from ..model.symbolics import SX

        u = Unknowns(d, ("lam", d.n_lam))
        (lam,) = u.extra
        taken = d.taken()  # by a stabilization of invariants
        dq, dv = taken[: d.e.q.numel(), :], taken[d.e.q.numel() :, :]
        dynamic = held_dynamics(d, u, lam, gains, dv)
        rows = acceleration_level(d, lam, gains) if d.n_lam else SX(0, 1)  # M is not solved with in vain
        return u.equations(kinematics(d, u, lam, dq), dynamic, rows)


def _ode(d, gains):
    from ..model.symbolics import SX
    from .base import Equations

    field = d.field(gains=gains)[:-1]
    slope = SX.sym("slope", d.e.q.numel())
    return Equations(d.e.q, slope, slope - field)
