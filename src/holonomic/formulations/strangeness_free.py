"""Strangeness-free: all constraints of all levels, and just as many differential equations as are free."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import BadArgument, IncompatibleMethods
from ..kernels.select import CONSTANT, NULL_SPACE, ROWS
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import is_one_of
from .base import Block, Formulation, Unknowns, acceleration_level, dynamics, kinematics

KINDS = {"null-space": NULL_SPACE, "rows": ROWS, "constant": CONSTANT}


def selector_kind(selectors: str) -> int:
    """Return the number of a kind of selectors."""
    if not is_one_of(selectors, KINDS):
        raise BadArgument(f"selectors={selectors!r}: choose {', '.join(map(repr, KINDS))}.")
    return KINDS[selectors]


def selector_symbols(d, user: str):
    """Return S_p, S_v and the symbols behind them, in the order in which they lie in data."""
    if d.e.order:
        return _symbols(d.n, d.e.g.numel())
    if d.nc != d.e.v.numel() or d.e.nonholonomic is not None or d.e.invariants.numel():
        raise IncompatibleMethods(
            f"{user} selects among positions and velocities alike: it needs as many coordinates as velocities, and "
            "holonomic constraints only. Use GGL(), or Index1() with Projection()."
        )
    return _symbols(d.e.v.numel(), d.n_lam)


def _symbols(nv: int, n_lam: int):
    from ..model.symbolics import SX, reshape

    nf = nv - n_lam
    symbols = SX.sym("selectors", 2 * nf * nv + 1)
    Sp = reshape(symbols[: nf * nv], nv, nf).T
    Sv = reshape(symbols[nf * nv : 2 * nf * nv], nv, nf).T
    return Sp, Sv, symbols


def selected(S, kinematic, Z=None):
    """S times the rows of the coordinates, S Z⁻¹ with q' = Z v; those of states stay as they are.

    S is regular on the null space of G Z if S Z⁻¹ is on that of ∂g/∂q.
    """
    from ..model.symbolics import solve, vertcat

    n = S.shape[1]
    rows = kinematic[:n] if Z is None else solve(Z, kinematic[:n])
    return vertcat(S @ rows, kinematic[n:, :])


@refuses_unknown
@dataclass(frozen=True, eq=True, repr=False)
class StrangenessFree(Formulation):
    """S_p q' = S_p v,   S_v M v' = S_v (f - Gᵀλ),   0 = g,   0 = G v + g_t,   0 = G M⁻¹(f - Gᵀλ) + γ.

    For a `Dae` of order m: S x^(j)' = S x^(j+1), S x^(m) = S (f - B y), and g, g', .., g^(m) = 0.

    The same solutions as the given equations, index 1, no hidden constraints and no new unknowns. The selectors are
    frozen over a step. With q' = Z v, Z square, it is S_p Z⁻¹q' = S_p v. For linear equations of motion
    (`System.linear`) this is Algorithm 13 of the paper.

    Parameters
    ----------
    selectors : {"null-space", "rows", "constant"}
        Null space of G before every step; rows of the identity by pivoted QR; null space of a reference
        point. The last two are chosen again when a monitor says so.

    References
    ----------
    [steinbrecher-2003] Theorem 26, Algorithms 13 and 27.
    """

    selectors: str = "null-space"
    gives = ("residual",)
    no_sum = "its selectors are chosen by the Jacobian of the whole system"
    index = 1
    in_stages = True
    for_dae = True
    keeps = ("position", "velocity", "acceleration")
    recommended = True
    references = ("steinbrecher-2003",)

    def __post_init__(self):
        selector_kind(self.selectors)

    @property
    def selector(self) -> int:  # type: ignore[override]
        return selector_kind(self.selectors)

    def differential_rows(self, unknowns, n_lam, order):
        return unknowns - order * n_lam

    def blocks(self, nq, nv, n_lam, n_position):
        return (Block("q", nq), Block("v", nv), Block("lam", n_lam, 1))

    def equations(self, d, gains):
        if d.e.order:
            return self._dae(d, gains)
        u = Unknowns(d, ("lam", d.n_lam))
        (lam,) = u.extra
        Sp, Sv, symbols = selector_symbols(d, "StrangenessFree")
        return u.equations(
            selected(Sp, kinematics(d, u, lam), d.e.kinematics), Sv @ dynamics(d, u, lam),
            d.position_rows, d.velocity_rows, acceleration_level(d, lam, gains), selectors=symbols,
        )  # fmt: skip

    def _dae(self, d, gains):
        from ..model.symbolics import SX, substitute, vertcat

        u = Unknowns(d, ("lam", d.e.g.numel()))
        (y,) = u.extra
        Sp, Sv, symbols = selector_symbols(d, "StrangenessFree")
        n, last = d.n, d.n * (d.e.order - 1)
        rows = [Sp @ (u.q_slope[at : at + n] - d.e.q[at + n : at + 2 * n]) for at in range(0, last, n)]
        rows.append(Sv @ (u.q_slope[last:] - d.f_at(y) + d.e.B @ y))
        level = substitute(d.last_level(gains), d.y, y) - d._GB @ y
        return u.equations(vertcat(*rows), SX(0, 1), *d._levels[:-1], level, selectors=symbols)
