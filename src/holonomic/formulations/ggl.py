"""Stabilized index 2 of Gear, Gupta and Leimkuhler: both levels, one more multiplier."""

from __future__ import annotations

from dataclasses import dataclass

from .base import Block, Formulation, Unknowns, direction, dynamics


@dataclass(frozen=True, eq=True)
class GGL(Formulation):
    """q' = Z v - D μ,   M v' = f - Gᵀλ,   0 = g,   0 = G v + g_t.

    μ vanishes for exact solutions.

    Parameters
    ----------
    D : {"G", "mass"}
        Direction of the position correction: (∂g/∂q)ᵀ, or M⁻¹Gᵀ.

    References
    ----------
    [ascher-petzold-1993] (4.15), its S; D = Gᵀ is [gear-gupta-leimkuhler-1985].
    """

    D: str = "G"
    gives = ("residual",)
    index = 2
    keeps = ("position", "velocity")
    references = ("gear-gupta-leimkuhler-1985", "ascher-petzold-1993")

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv), Block("lam", n_lam, 1), Block("mu", n_position, 1))

    def equations(self, d, gains):
        n = d.position_rows.numel() - d.e.invariants.numel()
        u = Unknowns(d, ("lam", d.n_lam), ("mu", n))
        lam, mu = u.extra
        kinematic = u.q_slope - d.q_dot + direction(d, self.D) @ mu
        return u.equations(kinematic, dynamics(d, u, lam), d.velocity_rows, d.position_rows[:n])
