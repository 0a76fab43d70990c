"""Index 3: the constraint as it is given."""

from __future__ import annotations

from .base import Block, Formulation, Unknowns, dae_equations, dynamics, kinematics, position_level


class Index3(Formulation):
    """q' = Z v,   M v' = f - Gᵀλ,   0 = g.

    For a `Dae` of order m >= 2: x^(m) = f - B y,  0 = g^(m-2).

    Velocities lose one power of h, multipliers two; inconsistent starting values may grow without bound. So the error
    control counts velocities for what they move positions by in a step: with rtol = 1e-6 their errors reach 1e-3 (BDF) on the
    car axis, 20 to 30 times those of `GGL`, in half as many steps.

    References
    ----------
    [eich-1993] (1.1); [steinbrecher-2003] EoM.
    """

    plain = True
    levels = ("position",)
    gives = ("residual",)
    index = 3
    for_dae = True
    keeps = ("position",)
    recommended = True
    references = ("eich-1993", "steinbrecher-2003")

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv, 1), Block("lam", n_lam, 2))

    def equations(self, d, gains):
        if d.e.order:
            return dae_equations(d, self.index)
        u = Unknowns(d, ("lam", d.n_lam))
        (lam,) = u.extra
        return u.equations(kinematics(d, u, lam), dynamics(d, u, lam), position_level(d))
