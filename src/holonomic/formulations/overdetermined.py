"""Overdetermined: all levels of the constraints beside all differential equations, the latter by least squares."""

from __future__ import annotations

from .base import Block, Equations, Formulation, Unknowns, acceleration_level, held_dynamics, kinematics


class Overdetermined(Formulation):
    """q' = Z v,   M v' = f - Gᵀλ,   0 = g,   0 = G v + g_t,   0 = G M⁻¹(f - Gᵀλ) + γ.

    More equations than unknowns (q, v, λ). They are consistent until they are discretized; then the constraints hold
    exactly and the residual of the differential equations is made as small as possible, by a constrained Gauss-Newton
    method in every step.

    References
    ----------
    [steinbrecher-2003] Sec. 1, where it is due to Führer; [ascher-petzold-1993] Sec. 2.
    """

    gives = ("residual",)
    levels = ("accelerations", "position", "velocity", "least squares")
    index = 1
    in_stages = True
    overdetermined = True
    keeps = ("position", "velocity", "acceleration")
    references = ("steinbrecher-2003", "ascher-petzold-1993")

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv), Block("lam", n_lam, 1))

    def blocks_of_elements(self, nq, nv, n_lam, n_position):
        accelerations = Block("a", nv, counts=False, inner=True)
        return (Block("q", nq), Block("v", nv), accelerations, Block("lam", n_lam, 1, inner=True))

    def equations(self, d, gains):
        from ..model.symbolics import SX, vertcat

        u = Unknowns(d, ("lam", d.n_lam))
        (lam,) = u.extra
        residual = vertcat(
            kinematics(d, u, lam), held_dynamics(d, u, lam, gains), d.e.algebraic if d.e.nw else SX(0, 1),
            d.holonomic_rows, d.velocity_rows, acceleration_level(d, lam, gains),
        )  # fmt: skip
        return Equations(u.y, u.slope, residual)
