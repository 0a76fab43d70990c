"""What every integrator says of itself, and what it gives to the step loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.newton import newton_work
from ..kernels.signatures import Fn
from ..model.call_by_name import takes_nothing
from ..native.layout import Memory
from ..native.marks import Kernel


@dataclass(frozen=True, eq=False)
class Lowered:
    """An integrator as the step loop wants it: kernels by slot name, numbers, and rows of stages."""

    slots: dict[str, Kernel]  # advance, finish, accept, dense, interpolate
    ip: np.ndarray
    fp: np.ndarray
    rows: int  # rows of K
    errors: int  # error vectors; 0: fixed step only
    exponent: float = 0.0  # h_new = h safety err_old^beta / err^exponent
    beta: float = 0.0
    safety: float = 0.9
    fac_min: float = 0.2
    fac_max: float = 10.0
    foresees: bool = False  # the last two steps bound the next
    stiff_bound: float = 0.0
    error_order: int = 0
    first_order: int = 0  # of the first step, where it is not that of the method
    starting_points: int = 0  # points of a multistep method behind the first one
    between: np.ndarray | None = None  # ip for looking into a recorded step, where its two ends suffice for that
    fixed: Lowered | None = None  # what runs in its place where steps are fixed
    patient: np.ndarray | None = None  # ip for fixed steps, where an iteration should not give up early
    one_step: bool = True  # a step can be taken again from its start alone
    dense_rows: int = 0  # where it cannot: how many rows of K its dense output reads; they are kept
    dense_first: int = 0  # and the first of them
    remembers: bool = False  # rows of K behind the first keep something from step to step
    steers: bool = False  # whether it chooses its own step and order: run.steered_h, run.steered_order
    advises: bool = False  # whether it says how an iteration went: run.advice_keep, run.advice_safety, run.advice_shrink
    doubts: bool = False  # whether its dense output says how wrong it is: run.doubt, run.doubt_exponent
    wants_scales: bool = False  # fp is to begin with rtol, Newton's bound and the powers of h
    unconstrained: Lowered | None = None  # what runs in its place where there are no constraints
    nodes: np.ndarray | None = None  # where in the step the rows of K stand, if they are slopes at points of it
    exact_fp: Any = None  # a function that gives fp without rounding, for runs with more digits; None: it is known as doubles alone
    needs: tuple[Fn, ...] = ()  # model functions beside those of its formulation
    unrolls: tuple[Fn, ...] = ()  # solves with Newton's matrix that it takes as straight-line code where there is one
    asks_dense: tuple[Fn, ...] = ()  # what it asks of models with dense terms alone
    asks_turning: tuple[Fn, ...] = ()  # what it asks of models where q' is not v
    asks_own: tuple[Fn, ...] = ()  # what else it asks of the linearized equations of a model without dense rows
    work: Callable[[Memory], int] = newton_work  # numbers of workspace of an implicit step, by the sizes of a plan


class Integrator:
    """Base of all integrators.

    Its class attributes are all that others ask of an integrator, with the answer of one that says nothing; `order` and
    `adaptive` have to be said. An answer that depends on settings is a property.
    """

    __init__ = takes_nothing

    order: ClassVar[int | None] = None  # p, where errors of q and v are of the size h^p
    takes: ClassVar[str] = "ode"  # what a formulation must give: "ode", "residual" or "half-explicit"
    adaptive: ClassVar[bool | None] = None  # has an error estimate
    implicit: ClassVar[bool] = False  # solves equations in every step
    indices: ClassVar[tuple[int, ...] | None] = None  # indices of the residuals it takes, of a System with q' = v alone; None: all
    takes_kinematics: ClassVar[bool] = False  # where it says `indices`: q' may be Z v, as in space
    highest_index: ClassVar[int] = 3  # index above which velocities and multipliers do not converge
    iterations: ClassVar[int | None] = None  # of Newton's method in a fixed step, at most; None: not counted
    points: ClassVar[int] = 1  # at which each of these looks at the equations
    needs_constant_mass: ClassVar[bool] = False  # takes no mass matrix that changes, and none that is singular
    needs_forces_of_position: ClassVar[bool] = False  # takes forces of t and q alone
    only_plain: ClassVar[bool] = False  # takes (q, v, λ) and one level of the constraints only, no further multipliers
    takes_overdetermined: ClassVar[bool] = False  # takes more equations than unknowns
    averages_slopes: ClassVar[bool] = False  # slopes are means of a step, unlike accelerations at its end
    needs_dense_terms: ClassVar[bool] = False  # works on matrices of the whole system, which not every model offers
    unstable_with_constraints: ClassVar[bool] = False  # unstable while steps change, where constraints are among the equations
    keeps_energy: ClassVar[bool] = False  # symplectic: without constraints, or with those that it is made for
    symmetric: ClassVar[bool] = False  # a step back undoes a step, but for constraints among the equations that hold at its end
    keeps_velocities: ClassVar[bool] = False  # of index 3: velocities hold their constraints, too
    keeps_at_end: ClassVar[bool] = True  # constraints among the equations hold at the end of a step, not in its stages alone
    meets_constraints: ClassVar[bool] = True  # Newton's method goes on until constraints among the equations hold
    multipliers_in_stages: ClassVar[bool] = False  # unknown multipliers are not those of the end of a step
    turns_residuals: ClassVar[bool] = False  # what the constraints leave changes its sign every step, undamped
    old_point_limit: ClassVar[float] = 2.0  # largest α, where a stabilization subtracts α of what the old point left
    stage_at_end: ClassVar[bool] = False  # the last stage before the new point stands at t + h
    damping_limit: ClassVar[float] = 2.0  # explicit methods: z' = -γ z stays bounded up to about this γ h
    errors_add_up: ClassVar[bool] = False  # errors add up to more than 10 rtol over many steps beside a vibration that lasts
    chosen_for: ClassVar[str] = "chosen by us"  # why it is chosen where the integrator is left open, in words
    recommended: ClassVar[bool] = False  # refusals name it as a way out; said by each class for itself
    tableau: ClassVar[Any] = None  # of an explicit Runge-Kutta method, whose order conditions can be checked
    references: ClassVar[tuple[str, ...]] = ()  # keys of references.bib

    @property
    def on_gpu(self) -> bool:
        """Whether it runs on a GPU: steps that solve no equations do."""
        return not self.implicit and self.takes != "residual"

    def lower(self) -> Lowered:
        """Return the kernels and numbers of this integrator."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is run")

    def __repr__(self) -> str:
        given = vars(self)
        if is_dataclass(self):
            given = {p.name: getattr(self, p.name) for p in fields(self) if getattr(self, p.name) != p.default}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))
