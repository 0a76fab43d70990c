"""Stabilized index 2 of Gear, Gupta and Leimkuhler: both levels, one more multiplier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..model.call_by_name import refuses_unknown
from .base import Block, Formulation, Unknowns, checked_direction, direction, dynamics, kinematics, unit_direction


@refuses_unknown
@dataclass(frozen=True, eq=True, repr=False)
class GGL(Formulation):
    """q' = Z v - D μ,   M v' = f - Gᵀλ,   0 = g,   0 = G v + g_t.

    μ vanishes for exact solutions.

    Parameters
    ----------
    D : {"G", "mass", "unit"}, array or function
        Direction of the position correction, one column per constraint: (∂g/∂q)ᵀ; M⁻¹Gᵀ; columns of the identity,
        chosen at the start of the run; numbers; or a function of t, q, v, p.

    References
    ----------
    [ascher-petzold-1993] (4.15), its S; D = Gᵀ is [gear-gupta-leimkuhler-1985].
    """

    D: str | tuple | Callable = "G"
    gives = ("residual",)
    index = 2
    keeps = ("position", "velocity")
    recommended = True
    references = ("gear-gupta-leimkuhler-1985", "ascher-petzold-1993")

    def __post_init__(self):
        object.__setattr__(self, "D", checked_direction(self.D))

    @property
    def levels(self):  # type: ignore[override]
        return ("velocity", "position") if self.D == "G" else ()

    @property
    def along_mass(self):  # type: ignore[override]
        return ("position", "velocity") if self.D == "mass" else ("velocity",)

    def settled(self, jacobian):
        return replace(self, D=unit_direction(jacobian())) if self.D == "unit" else self

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv), Block("lam", n_lam, 1), Block("mu", n_position, 1, counts=False))

    def equations(self, d, gains):
        g = d.holonomic_rows
        u = Unknowns(d, ("lam", d.n_lam), ("mu", g.numel()))
        lam, mu = u.extra
        kinematic = kinematics(d, u, lam, direction(d, self.D) @ mu)
        return u.equations(kinematic, dynamics(d, u, lam), d.velocity_rows, g)
