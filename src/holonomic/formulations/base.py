"""What every formulation says of itself, and the equations it leaves to an implicit integrator.

A formulation that gives an "ode" is integrated by any explicit method through the model's field. One that
gives a "residual" names its unknowns y = (q, v, multipliers ...) and R(t, y, y') = 0 for them; an implicit
integrator discretizes any such residual with its exact Jacobians. The differential equations come first, as
many as there are entries in q and v; the algebraic ones behind them contain no slopes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import BadArgument, IncompatibleMethods
from ..model.call_by_name import takes_nothing
from ..model.given_numbers import floats
from ..model.statement import argument_text

if TYPE_CHECKING:
    from ..model.derive import Derived


@dataclass(frozen=True)
class Block:
    """One group of unknowns; its error counts times h to the given power, by the index it is raised to.

    Equations of what is `inner` belong to the stages of a step as λ of index 1 does; such blocks come last.
    q and v are differential; so are further blocks that say so, which must come right behind them. What vanishes
    for exact solutions need not count: its effect is in the others, in their units.
    """

    name: str
    size: int
    power: int = 0
    differential: bool = False
    counts: bool = True
    inner: bool = False


@dataclass(frozen=True)
class Equations:
    """R(t, y, slope) = 0 as expressions."""

    y: Any
    slope: Any
    residual: Any
    selectors: Any = None  # symbols for what is chosen before every step, at the end of data


class Formulation:
    """Base of all formulations.

    Its class attributes are all that others ask of a formulation, with the answer of one that says nothing; `gives` and
    `index` have to be said. An answer that depends on settings is a property.
    """

    __init__ = takes_nothing

    gives: ClassVar[tuple[str, ...]] = ()  # what an integrator may take: "ode", "residual", "half-explicit"
    index: ClassVar[int | None] = None  # differentiations that lead to an ODE
    keeps: ClassVar[tuple[str, ...]] = ()  # levels whose residuals it makes vanish by itself
    for_ode: ClassVar[bool] = False  # knows y' = rhs alone: an Ode, and a Dae whose algebraic unknowns are solved for
    for_dae: ClassVar[bool] = False  # knows a Dae with algebraic unknowns among its own
    plain: ClassVar[bool] = False  # q, v and λ with one level of the constraints
    # "accelerations" first: those that M w = f - Gᵀλ and G w + γ = 0 say are unknowns, too; then the levels of μ and τ, and at last
    # "transposed", where τ moves positions, too, or "least squares", where differential equations hold so
    levels: ClassVar[tuple[str, ...]] = ()  # of constraints in equations that are sums over elements: that of λ, then that of μ
    no_sum: ClassVar[str] = ""  # why its equations are no sum over elements, in words: tables do not have them
    overdetermined: ClassVar[bool] = False  # more equations than unknowns: those with slopes in the least-squares sense
    inverts_mass: ClassVar[bool] = False  # M⁻¹ is in its equations for constraints, as an expression
    integrates_multipliers: ClassVar[bool] = False  # λ has a slope, and stays where it is when the state is moved
    has_field_terms: ClassVar[bool] = False  # its residual holds what a stabilization adds to the field
    along_mass: ClassVar[tuple[str, ...]] = ()  # levels of a System whose multipliers act along M⁻¹Gᵀ
    along_B: ClassVar[bool] = False  # multipliers of a Dae act along B, at a level that it keeps
    D: ClassVar[Any] = None  # directions of a correction among its equations: a name, numbers, a function; None: it has none
    implicit_in_direction: ClassVar[bool] = False  # steps need not follow constraints that turn
    selector: ClassVar[int | None] = None  # which selectors are chosen before every step, if any
    in_stages: ClassVar[bool] = False  # its last n_lam equations belong to the stages of a step, not to its end
    recommended: ClassVar[bool] = False  # refusals name it as a way out; said by each class for itself
    references: ClassVar[tuple[str, ...]] = ()  # keys of references.bib

    def settled(self, jacobian: Callable[[], np.ndarray]) -> Formulation:
        """Return the formulation with whatever it chooses at the start of a run chosen, by ∂g/∂q there."""
        return self

    def differential_rows(self, unknowns: int, n_lam: int, order: int) -> int:
        """Return how many equations contain slopes, of as many differential unknowns; `order` is 2, a Dae's its m."""
        return unknowns

    def blocks(self, nq: int, nv: int, n_lam: int, n_position: int) -> tuple[Block, ...]:
        """Return the unknowns of the residual, q and v first."""
        raise NotImplementedError(f"{type(self).__name__} gives no residual")

    def blocks_of_elements(self, nq: int, nv: int, n_lam: int, n_position: int) -> tuple[Block, ...]:
        """Return the same for models of operators, whose equations are sums over elements: λ is unknown there."""
        return self.blocks(nq, nv, n_lam, n_position)

    def equations(self, d: Derived, gains: bool) -> Equations:
        """Return the residual for a derived model; `gains` adds Baumgarte's terms where they apply."""
        raise NotImplementedError(f"{type(self).__name__} gives no residual")

    def __repr__(self) -> str:
        given = vars(self)
        if is_dataclass(self):
            given = {p.name: getattr(self, p.name) for p in fields(self) if getattr(self, p.name) != p.default}
        return f"{type(self).__name__}({', '.join(f'{name}={argument_text(value)}' for name, value in given.items())})"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))


class Unknowns:
    """Symbols for y and y' of a formulation, by block; q and v are the model's own symbols."""

    def __init__(self, d: Derived, *extra: tuple[str, int]):
        from ..model.symbolics import SX, vertcat

        e = d.e
        self.d = d
        self.q, self.v = e.q, e.v
        whole = SX.sym("q_slope", e.q.numel())
        self.q_slope = whole[: e.q.numel() - e.nw]  # of q and of states; algebraic variables have none
        self.v_slope = SX.sym("v_slope", e.v.numel())
        self.extra = [SX.sym(name, size) for name, size in extra]
        self.extra_slope = [SX.sym(f"{name}_slope", size) for name, size in extra]
        self.y = vertcat(e.q, e.v, *self.extra)
        self.slope = vertcat(whole, self.v_slope, *self.extra_slope)

    def equations(self, kinematic, dynamic, *algebraic, selectors=None) -> Equations:
        """Join differential and algebraic equations into a residual; those of algebraic variables come between."""
        from ..model.symbolics import vertcat

        own = [self.d.e.algebraic] if self.d.e.nw else []
        residual = vertcat(kinematic, dynamic, *own, *algebraic)
        if residual.numel() != self.y.numel():
            raise BadArgument(f"the formulation has {residual.numel()} equations for {self.y.numel()} unknowns.")
        return Equations(self.y, self.slope, residual, selectors)


def dynamics(d: Derived, u: Unknowns, lam):
    """M v' - f + Gᵀλ."""
    return d.e.mass @ u.v_slope - d.force_at(lam) + d.G.T @ lam


def held_dynamics(d: Derived, u: Unknowns, lam, gains: bool = False, moved=None):
    """The same beside equations for λ that say nothing of v': M has to determine all of v', or M + GᵀWG does.

    W is that of `model.massless_coordinates`; `moved` is added to v'.
    """
    rows = dynamics(d, u, lam)
    if moved is not None:
        rows = rows + d.e.mass @ moved
    if d.holding is None:
        return rows
    v_dot = u.v_slope if moved is None else u.v_slope + moved
    return rows + d.G.T @ (d.holding @ (d.G @ v_dot + d._gamma_with(gains)))


def kinematics(d: Derived, u: Unknowns, lam, moved=None):
    """q' - Z v, then s' - h(v', λ) of states; `moved` is added to the first."""
    from ..model.symbolics import SX, vertcat

    rows = u.q_slope - (d.flow(d.accelerations(lam), lam) if d.e.ns else d.q_dot[: d.nc])
    if moved is None:
        return rows
    return rows + vertcat(moved[: d.nc], SX.zeros(d.e.ns, 1))


def position_level(d: Derived):
    """g; nonholonomic rows have no position level and stay at velocity level."""
    from ..model.symbolics import vertcat

    g = d.holonomic_rows
    return g if d.n_lam == g.numel() else vertcat(g, d.velocity_rows[g.numel() :, :])


def acceleration_level(d: Derived, lam, gains: bool):
    """G M⁻¹(f - Gᵀλ) + γ, with Baumgarte's terms if there are gains."""
    return d.G @ d.accelerations(lam, gains) + d._gamma_with(gains)


def checked_direction(D):
    """Return D as formulations keep it: a name, a function, or numbers as a tuple of rows."""
    if isinstance(D, str):
        if D not in ("G", "mass", "unit"):
            raise BadArgument(f'D={D!r}: choose "G", "mass" or "unit", or give an array or a function.')
        return D
    if callable(D):
        return D
    try:
        rows = floats(D)
    except (TypeError, ValueError):
        raise BadArgument(f"D={D!r} must be a name, an array with one column per constraint, or a function.") from None
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or not np.all(np.isfinite(rows)):
        raise BadArgument(f"D={D!r} must be an array of numbers with one column per constraint.")
    return tuple(tuple(row) for row in rows.tolist())


def unit_direction(G: np.ndarray) -> tuple:
    """Return columns of the identity: the coordinates on which the constraints depend most, by pivoted QR of G."""
    from scipy.linalg import qr

    pivots = qr(G, mode="r", pivoting=True)[1][: len(G)]
    return tuple(tuple(float(i == pivot) for pivot in pivots) for i in range(G.shape[1]))


def direction(d: Derived, D):
    """D as an expression: "G" (∂g/∂q)ᵀ, "mass" M⁻¹Gᵀ (B of a Dae), a function that was traced, or numbers."""
    from ..model.symbolics import jacobian, matrix_of, sparsify

    if d.e.order:
        g, x = d.e.g, d.e.q[: d.e.f.numel()]
    else:
        g, x = d.holonomic_rows, d.e.q[: d.nc]
    if isinstance(D, str):
        if D == "G":
            return sparsify(jacobian(g, x)).T if d.e.order else d.by_q(g)[:, : d.nc].T
        if D == "unit":
            raise BadArgument('D="unit" is chosen at the start of one run. Give an array, one column per constraint.')
        if d.e.order:
            return d.e.B
        X = d.mass_factors.solve(d.G[: g.numel(), :].T)
        return X if d.e.kinematics is None else d.e.kinematics @ X
    given = d.given[D] if callable(D) else matrix_of(D)
    if given.shape != (x.numel(), g.numel()):
        raise BadArgument(f"D has the shape {given.shape}; {x.numel()} coordinates and {g.numel()} constraints need "
                          f"{(x.numel(), g.numel())}.")  # fmt: skip
    return given


def dae_equations(d, index: int, gains: bool = False) -> Equations:
    """Return the equations with 0 = g^(m + 1 - index); `gains` adds Baumgarte's terms to index 1."""
    from ..model.symbolics import SX, substitute, vertcat

    order = d.e.order
    if index > order + 1:
        raise IncompatibleMethods(
            f"a Dae of order {order} has index {order + 1}, not {index}. Use formulation=Index{order + 1}() or Index1()."
        )
    u = Unknowns(d, ("lam", d.e.g.numel()))
    (y,) = u.extra
    flow = vertcat(d.e.q[d.n :, :], d.f_at(y) - d.e.B @ y)
    if index == 1:
        level = substitute(d.last_level(gains), d.y, y) - d._GB @ y
    else:
        level = d._levels[order + 1 - index]
    return u.equations(u.q_slope - flow, SX(0, 1), level)
