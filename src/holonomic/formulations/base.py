"""What every formulation says of itself, and the equations it leaves to an implicit integrator.

A formulation that gives an "ode" is integrated by any explicit method through the model's field. One that
gives a "residual" names its unknowns y = (q, v, multipliers ...) and R(t, y, y') = 0 for them; an implicit
integrator discretizes any such residual with its exact Jacobians. The differential equations come first, as
many as there are entries in q and v; the algebraic ones behind them contain no slopes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..errors import BadArgument

if TYPE_CHECKING:
    from ..model.derive import Derived


@dataclass(frozen=True)
class Block:
    """One group of unknowns; its error counts times h to the given power, by the index it is raised to.

    q and v are differential; so are further blocks that say so, which must come right behind them.
    """

    name: str
    size: int
    power: int = 0
    differential: bool = False


@dataclass(frozen=True)
class Equations:
    """R(t, y, slope) = 0 as CasADi expressions."""

    y: Any
    slope: Any
    residual: Any
    selectors: Any = None  # symbols for what is chosen before every step, at the end of data


class Formulation:
    """Base of all formulations.

    `gives` says what an integrator may take: "ode", "residual" or both. `keeps` are the levels whose
    residuals it makes vanish by itself.
    """

    gives: ClassVar[tuple[str, ...]]
    index: ClassVar[int]
    keeps: ClassVar[tuple[str, ...]] = ()
    references: ClassVar[tuple[str, ...]] = ()
    selector: ClassVar[int | None] = None  # which selectors are chosen before every step, if any
    in_stages: ClassVar[bool] = False  # its algebraic equations belong to the stages of a step, not to its end

    def blocks(self, nq: int, nv: int, n_lam: int, n_position: int) -> tuple[Block, ...]:
        """Return the unknowns of the residual, q and v first."""
        raise NotImplementedError(f"{type(self).__name__} gives no residual")

    def equations(self, d: Derived, gains: bool) -> Equations:
        """Return the residual for a derived model; `gains` adds Baumgarte's terms where they apply."""
        raise NotImplementedError(f"{type(self).__name__} gives no residual")

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({given})"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))


class Unknowns:
    """Symbols for y and y' of a formulation, by block; q and v are the model's own symbols."""

    def __init__(self, d: Derived, *extra: tuple[str, int]):
        import casadi

        e = d.e
        self.q, self.v = e.q, e.v
        self.q_slope = casadi.SX.sym("q_slope", e.q.numel())
        self.v_slope = casadi.SX.sym("v_slope", e.v.numel())
        self.extra = [casadi.SX.sym(name, size) for name, size in extra]
        self.extra_slope = [casadi.SX.sym(f"{name}_slope", size) for name, size in extra]
        self.y = casadi.vertcat(e.q, e.v, *self.extra)
        self.slope = casadi.vertcat(self.q_slope, self.v_slope, *self.extra_slope)

    def equations(self, kinematic, dynamic, *algebraic, selectors=None) -> Equations:
        """Join differential and algebraic equations into a residual."""
        import casadi

        residual = casadi.vertcat(kinematic, dynamic, *algebraic)
        if residual.numel() != self.y.numel():
            raise BadArgument(f"the formulation has {residual.numel()} equations for {self.y.numel()} unknowns.")
        return Equations(self.y, self.slope, residual, selectors)


def dynamics(d: Derived, u: Unknowns, lam):
    """M v' - f + Gᵀλ."""
    return d.e.mass @ u.v_slope - d.force + d.G.T @ lam


def position_level(d: Derived):
    """g; nonholonomic rows have no position level and stay at velocity level."""
    import casadi

    n = d.position_rows.numel() - d.e.invariants.numel()
    if d.n_lam == n:
        return d.position_rows[:n]
    return casadi.vertcat(d.position_rows[:n], d.velocity_rows[n:])


def acceleration_level(d: Derived, lam, gains: bool):
    """G M⁻¹(f - Gᵀλ) + γ, with Baumgarte's terms if there are gains."""
    return d.G @ d.mass_factors.solve(d.force - d.G.T @ lam) + d._gamma_with(gains)


def direction(d: Derived, D: str):
    """D by name: "G" (∂g/∂q)ᵀ, "mass" M⁻¹Gᵀ, "unit" rows of the identity at the pivots of a start value."""
    n = d.position_rows.numel() - d.e.invariants.numel()
    if D == "G":
        return d.J[:n, :].T
    if D == "mass":
        X = d.mass_factors.solve(d.G[:n, :].T)
        return X if d.e.kinematics is None else d.e.kinematics @ X
    raise BadArgument(f'D={D!r}: choose "G" or "mass".')
