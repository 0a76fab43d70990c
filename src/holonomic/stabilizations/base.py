"""What every stabilization says of itself, and what it gives to the step loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import ClassVar

import numpy as np

from ..errors import OK
from ..kernels.signatures import FULL_TANGENT, POS_TANGENT, PULL, TANGENT, VEL_TANGENT, Fn, call_model
from ..kernels.vectors import subtract_row
from ..model.model_base import Bend, Direction
from ..model.statement import argument_text
from ..native.layout import REAL, Layout, view_as
from ..native.marks import Kernel, kernel

# The numbers of a stabilization begin with what it pulls down: `tangent` reads them.
LEVELS = (
    ("position", REAL, "1 where positions are moved"),
    ("velocity", REAL, "1 where velocities are"),
    ("full", REAL, "1 where both are moved at once"),
)
levels_of = view_as(Layout("Levels", LEVELS))


@dataclass(frozen=True, eq=False)
class Lowered:
    """A stabilization as the step loop wants it."""

    pull: Kernel
    tangent: Kernel
    sp: np.ndarray = field(default_factory=lambda: np.zeros(0))  # numbers of its own, see its layout
    needs: tuple[Fn, ...] = ()  # model functions it calls
    metric: str | tuple[float, ...] | None = None
    gains: Callable[[int], tuple[float, ...]] | None = None  # order m -> α_0 .. α_(m-1), inside the field
    baumgarte: bool = False  # the gains are Baumgarte's
    bend: Bend | None = None  # what is taken away from the field, with the first gain
    direction: Direction | None = None  # other than Hᵀ, for pulls of the whole state
    shift: float | None = None  # number in the place of the first gain, where no field uses it
    tol: float | None = None  # to which it brings residuals, where it does
    told: tuple[int, ...] = ()  # places in sp of numbers that are told to a program; the others are part of it

    def measured(self, turns) -> Lowered:
        """The same with one number for every coordinate behind: 0 for those that count turns, which have no size."""
        return replace(self, sp=np.append(self.sp, np.where(turns, 0.0, 1.0)))


class Stabilization:
    """Base of all stabilizations.

    Its class attributes are all that others ask of a stabilization, with the answer of one that says nothing; `acts` has to
    be said. An answer that depends on settings is a property, or set when they are read.
    """

    acts: ClassVar[str | None] = None  # "field" bends the right-hand side, "step" moves the state after a step, "none"
    levels: tuple[str, ...] = ("position", "velocity")  # residuals it pulls down; invariants of an Ode stand at position level
    mechanical: bool = False  # takes levels apart or needs a mass matrix, which a System alone has
    metric: str | tuple[float, ...] | None = None  # by which it measures moves: None, "mass", or weights of (q, v)
    couples: bool = False  # residuals of velocities move positions, as the transpose of the whole Jacobian does
    at_both_ends: ClassVar[bool] = False  # moves the start of a step as it moves its end, which takes a symmetric integrator
    at_old_point: ClassVar[bool] = False  # corrects by the residuals of the old point
    may_overshoot: bool = False  # how much it corrects depends on the constraints: looked at in the start
    needs_stage: bool = False  # uses the integrator's last stage, which has to stand at the end of the step
    direction_open: bool = False  # the direction of its moves was left to us: `turned` gives it another
    passes_singular_positions: bool = False  # leads the state over positions in which rows of G become dependent
    rate: float = 0.0  # 1/s: how fast residuals decay by what it adds to the field, where that alone says so
    rate_limit: ClassVar[float | None] = None  # largest rate times a fixed explicit step; None: what the integrator bears
    strength_setting: str = "gain"  # the name of the setting that says how strong it is
    rounds: int = 1  # how often one pull goes through the functions it needs, at most
    drift_order: str = ""  # orders of |g| and |G v + g_t| for an integrator of order p, as text
    references: ClassVar[tuple[str, ...]] = ()  # keys of references.bib

    def turned(self, metric: str | None = None, D: str | None = None) -> Stabilization:
        """Return it with moves in another direction, by a metric or along D; asked where `direction_open`."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is turned")

    def share(self, h: float) -> float:
        """Return α, the part of the old residuals that a step of length h takes away; asked where `at_old_point`."""
        return 1.0

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        """Return kernels and numbers; `tol` is the run's constraint tolerance.

        A point further from the constraints than `hopeless` (scaled) is not worth pulling back.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say how it is run")

    def __repr__(self) -> str:
        parts = fields(self) if is_dataclass(self) else ()
        given = [(part.name, getattr(self, part.name)) for part in parts if getattr(self, part.name) != part.default]
        return f"{type(self).__name__}({', '.join(f'{name}={argument_text(value)}' for name, value in given)})"

    def __eq__(self, other) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).items()))


def mixes_levels(D) -> bool:
    """Whether directions D of the whole state move positions by what velocities leave; of a function one cannot know."""
    return D == "orthogonal" or callable(D)


@kernel(PULL)
def no_pull(model, sp, run, t, h, old, stage, x, W):
    """Leave the state alone."""
    return OK


@kernel(TANGENT)
def no_tangent(model, sp, E, row, W):
    """Leave the error estimate alone."""
    return OK


@kernel(TANGENT)
def tangent(model, sp, E, row, W):
    """Take out of an error vector what the pull takes out of the state: e -= W⁻¹Jᵀ(J W⁻¹ Jᵀ)⁻¹ J e.

    The factors are those the pull left in the workspace. [eich-1993] Sec. 3: only the projected part of the
    local error enters the error of the projected method.
    """
    size = model.size
    at, nq, levels = row * E.shape[1], size.nq, levels_of(sp)
    if levels.full > 0.0:
        call_model(model, FULL_TANGENT, 0.0, W, size.at_full, E, at, W, size.at_correction)
        subtract_row(E, row, 0, W, size.at_correction, nq + size.nv)
        return OK
    if levels.position > 0.0 and size.n_position > 0:
        call_model(model, POS_TANGENT, 0.0, W, size.at_position, E, at, W, size.at_correction)
        subtract_row(E, row, 0, W, size.at_correction, nq)
    if levels.velocity > 0.0 and size.nl > 0:
        call_model(model, VEL_TANGENT, 0.0, W, size.at_velocity, E, at + nq, W, size.at_correction)
        subtract_row(E, row, nq, W, size.at_correction, size.nv)
    return OK


class Unstabilized(Stabilization):
    """Nothing; what `stabilization=None` means."""

    acts = "none"
    levels = ()
    drift_order = "p; p"

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        return Lowered(no_pull, no_tangent)

    def __repr__(self) -> str:
        return "None"
