"""Index 2: the constraint at velocity level."""

from __future__ import annotations

from .base import Block, Formulation, Unknowns, dae_equations, dynamics, kinematics


class Index2(Formulation):
    """q' = Z v,   M v' = f - Gᵀλ,   0 = G v + g_t.

    For a `Dae` of order m: x^(m) = f - B y,  0 = g^(m-1); with m = 1 that is the equation as it is given.

    Half-explicit integrators take the velocity constraint inside their steps and solve linear equations only.

    Stable, but the position constraint drifts. With rapidly varying constraints and heterogeneous masses a
    stiff integrator treats the term F C' explicitly and may blow up.

    References
    ----------
    [ascher-petzold-1993] Sec. 2, "d-2" of Tables 4.3 - 4.8; [steinbrecher-2003] EoM2.
    """

    plain = True
    levels = ("velocity",)
    gives = ("residual", "half-explicit")
    index = 2
    for_dae = True
    keeps = ("velocity",)
    along_mass = ("velocity",)
    along_B = True
    recommended = True
    references = ("ascher-petzold-1993",)

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv), Block("lam", n_lam, 1))

    def equations(self, d, gains):
        if d.e.order:
            return dae_equations(d, self.index)
        u = Unknowns(d, ("lam", d.n_lam))
        (lam,) = u.extra
        return u.equations(kinematics(d, u, lam), dynamics(d, u, lam), d.velocity_rows)
