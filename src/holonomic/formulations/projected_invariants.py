"""Projected invariants: differentiate, eliminate λ, then impose the constraints again with new multipliers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import BadArgument, IncompatibleMethods
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import is_one_of
from .base import Block, Formulation, Unknowns, checked_direction, direction, unit_direction


@refuses_unknown
@dataclass(frozen=True, eq=True, repr=False)
class ProjectedInvariants(Formulation):
    """q' = Z v - D μ, v' = v̂, 0 = g (Pa); with multipliers for 0 = G v + g_t too (Pb, Pc); v̂ as in index 1.

    With v̂(t, q, v) the accelerations of index 1:

        Pa   q' = Z v - D μ,          v' = v̂,          0 = g
        Pb   q' = Z v - D μ,          v' = v̂ - Gᵀτ,    0 = g,   0 = G v + g_t
        Pc   q' = Z v - Gᵀμ - Lᵀτ,    v' = v̂ - Gᵀτ,    0 = g,   0 = G v + g_t,    L = ∂(G v + g_t)/∂q

    Pc moves positions where velocities are off: with error control its errors are 4 to 5 times those of Pb on the car axis.
    The stiff part of a rapidly varying constraint stays in what is treated implicitly. μ and τ vanish for exact
    solutions. For a `Dae` of order m: x^(m) = f - B ŷ with ŷ eliminated; Pa moves x by D μ and keeps g, Pb moves x'
    by D τ too and keeps g' as well.

    Parameters
    ----------
    kind : {"Pa", "Pb", "Pc"}
        Position level alone, both levels, both with the transpose of the whole Jacobian.
    D : {"G", "mass", "unit"}, array or function
        Direction of the position correction, one column per constraint: (∂g/∂q)ᵀ; M⁻¹Gᵀ (B of a Dae), which loses
        the stability for heterogeneous masses; columns of the identity, chosen at the start of the run; numbers; or
        a function of t, q, v, p.

    References
    ----------
    [ascher-petzold-1993] (3.28), (4.7), (4.14), (4.16), (4.17).
    """

    kind: str = "Pa"
    D: str | tuple | Callable = "G"
    gives = ("residual",)
    index = 2
    for_dae = True
    references = ("ascher-petzold-1993",)

    def __post_init__(self):
        if not is_one_of(self.kind, ("Pa", "Pb", "Pc")):
            raise BadArgument(f'kind={self.kind!r}: choose "Pa", "Pb" or "Pc".')
        object.__setattr__(self, "D", checked_direction(self.D))
        if self.kind == "Pc" and self.D != "G":
            raise BadArgument('kind="Pc" has the transposed Jacobian for its directions: leave out D, or use "Pb".')

    @property
    def levels(self):  # type: ignore[override]
        if self.D != "G":
            return ()
        if self.kind == "Pa":
            return "acceleration", "position"
        return ("accelerations", "position", "velocity", *(("transposed",) if self.kind == "Pc" else ()))

    @property
    def keeps(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("position",) if self.kind == "Pa" else ("position", "velocity")

    @property
    def implicit_in_direction(self) -> bool:  # type: ignore[override]
        return self.D == "G"

    @property
    def along_mass(self):  # type: ignore[override]
        return ("position",) if self.D == "mass" else ()

    def settled(self, jacobian):
        return replace(self, D=unit_direction(jacobian())) if self.D == "unit" else self

    def blocks(self, nq, nv, n_lam, n_position):
        blocks = (Block("q", nq), Block("v", nv), Block("mu", n_position, 1, counts=False))
        return blocks if self.kind == "Pa" else (*blocks, Block("tau", n_lam, 1, counts=False))

    def blocks_of_elements(self, nq, nv, n_lam, n_position):
        q, v, *others = self.blocks(nq, nv, n_lam, n_position)
        if self.kind == "Pa":
            return (q, v, Block("lam", n_lam, 1), *others)
        mu, tau = others  # v̂ and λ follow from q and v, as where they are eliminated: their errors do not count
        return (q, v, tau, mu, Block("a", nv, counts=False, inner=True), Block("lam", n_lam, counts=False, inner=True))

    def equations(self, d, gains):
        from ..model.symbolics import SX, vertcat

        if d.e.order:
            return self._dae(d)
        g = d.holonomic_rows
        n = g.numel()
        v_hat, lam, _ = d.solved()
        flow = d.flow(v_hat, lam)
        still = SX.zeros(d.e.ns, 1)
        if self.kind == "Pa":
            u = Unknowns(d, ("mu", n))
            (mu,) = u.extra
            kinematic = u.q_slope - flow + vertcat(direction(d, self.D) @ mu, still)
            return u.equations(kinematic, u.v_slope - v_hat, g)
        u = Unknowns(d, ("mu", n), ("tau", d.n_lam))
        mu, tau = u.extra
        moved = direction(d, self.D) @ mu
        if self.kind == "Pc":
            moved = moved + d.by_q(d.velocity_rows)[:, : d.nc].T @ tau
        kinematic = u.q_slope - flow + vertcat(moved, still)
        return u.equations(kinematic, u.v_slope - v_hat + d.G.T @ tau, g, d.velocity_rows)

    def _dae(self, d):
        from ..model.symbolics import SX, vertcat

        order, n, rows = d.e.order, d.n, d.e.g.numel()
        if self.kind == "Pc" or (self.kind == "Pb" and order == 1):
            raise IncompatibleMethods(
                f"{self!r} is for {'a System' if self.kind == 'Pc' else 'order 2 or 3'}; this is a Dae of order {order}. "
                'Use ProjectedInvariants("Pa").'
            )
        names = ("mu",) if self.kind == "Pa" else ("mu", "tau")
        u = Unknowns(d, *((name, rows) for name in names))
        D = direction(d, self.D)
        taken = [D @ multiplier for multiplier in u.extra]
        taken += [SX.zeros(n, 1)] * (order - len(taken))
        kinematic = u.q_slope - d.q_dot + vertcat(*taken)
        return u.equations(kinematic, SX(0, 1), *d._levels[: len(names)])
