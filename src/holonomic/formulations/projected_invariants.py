"""Projected invariants: differentiate twice, eliminate λ, then impose the constraints again with new multipliers."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BadArgument
from .base import Block, Formulation, Unknowns, direction


@dataclass(frozen=True, eq=True)
class ProjectedInvariants(Formulation):
    """With v̂(t, q, v) the accelerations of index 1:

        Pa   q' = Z v - D μ,          v' = v̂,          0 = g
        Pb   q' = Z v - D μ,          v' = v̂ - Gᵀτ,    0 = g,   0 = G v + g_t
        Pc   q' = Z v - Gᵀμ - Lᵀτ,    v' = v̂ - Gᵀτ,    0 = g,   0 = G v + g_t,    L = ∂(G v + g_t)/∂q

    The stiff part of a rapidly varying constraint stays in what is treated implicitly.

    Parameters
    ----------
    kind : {"Pa", "Pb", "Pc"}
        Position level alone, both levels, both with the transpose of the whole Jacobian.
    D : {"G", "mass"}
        Direction of the position correction; "mass" loses the stability for heterogeneous masses.

    References
    ----------
    [ascher-petzold-1993] (3.28), (4.14), (4.16), (4.17).
    """

    kind: str = "Pa"
    D: str = "G"
    gives = ("residual",)
    index = 2
    keeps = ("position",)
    references = ("ascher-petzold-1993",)

    def __post_init__(self):
        if self.kind not in ("Pa", "Pb", "Pc"):
            raise BadArgument(f'kind={self.kind!r}: choose "Pa", "Pb" or "Pc".')

    def blocks(self, nq, nv, n_lam, n_position):
        blocks = (Block("q", nq), Block("v", nv), Block("mu", n_position, 1))
        return blocks if self.kind == "Pa" else (*blocks, Block("tau", n_lam, 1))

    def equations(self, d, gains):
        import casadi

        n = d.position_rows.numel() - d.e.invariants.numel()
        g = d.position_rows[:n]
        v_hat = d._solve_saddle(d.force, d.gamma)[0]
        if self.kind == "Pa":
            u = Unknowns(d, ("mu", n))
            (mu,) = u.extra
            kinematic = u.q_slope - d.q_dot + direction(d, self.D) @ mu
            return u.equations(kinematic, u.v_slope - v_hat, g)
        u = Unknowns(d, ("mu", n), ("tau", d.n_lam))
        mu, tau = u.extra
        kinematic = u.q_slope - d.q_dot + direction(d, self.D) @ mu
        if self.kind == "Pc":
            L = casadi.jacobian(d.velocity_rows, d.e.q)
            kinematic = u.q_slope - d.q_dot + d.J[:n, :].T @ mu + L.T @ tau
        return u.equations(kinematic, u.v_slope - v_hat + d.G.T @ tau, g, d.velocity_rows)
