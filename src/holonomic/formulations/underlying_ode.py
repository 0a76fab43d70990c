"""The underlying ODE: multipliers integrated too."""

from __future__ import annotations

from .base import Block, Formulation, Unknowns, held_dynamics, kinematics


class UnderlyingODE(Formulation):
    """q' = Z v,   M v' = f - Gᵀλ,   λ' = d/dt of the λ(t, q, v) of index 1.

    All constraints are invariants of this ODE; none is imposed, so all levels drift.

    References
    ----------
    [steinbrecher-2003] uODE (d-index 0).
    """

    gives = ("residual",)
    index = 0
    integrates_multipliers = True
    no_sum = "λ' is that of the multipliers of all joints at once"
    inverts_mass = True
    references = ("steinbrecher-2003",)

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv), Block("lam", n_lam, differential=True))

    def equations(self, d, gains):
        from ..model.factors import factor_general
        from ..model.symbolics import SX, jacobian, jtimes

        e = d.e
        u = Unknowns(d, ("lam", d.n_lam))
        (lam,) = u.extra
        # 0 = G M⁻¹(f - Gᵀλ) + γ differentiated once, the accelerations being those of this λ
        v_dot = d.accelerations(lam)
        level = d.G @ v_dot + d.gamma
        rate = jtimes(level, e.q, d.with_field(d.q_dot, v_dot, lam)) + jtimes(level, e.v, v_dot) + jtimes(level, e.t, SX(1))
        if d.lam_in_force:
            lam_slope = -factor_general(jacobian(level, lam)).solve(rate)
        else:
            lam_slope = d.saddle["S"].solve(rate)
        return u.equations(kinematics(d, u, lam), held_dynamics(d, u, lam), u.extra_slope[0] - lam_slope)
