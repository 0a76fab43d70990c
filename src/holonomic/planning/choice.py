"""Choice: the three methods and the tolerances of a run, with defaults filled in."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from ..errors import BadArgument, IncompatibleMethods
from ..formulations.base import Formulation
from ..formulations.index1 import Index1
from ..integrators.base import Integrator
from ..integrators.radau import Radau
from ..integrators.runge_kutta import DOP853
from ..stabilizations.base import Stabilization, Unstabilized
from ..stabilizations.projection import Projection, between_ends

# What is left of the tolerances for steps of an explicit method that we choose. The error of a run is a sum of many, and by chance
# larger or smaller than rtol suggests: over 85 systems and 25 tolerances each it scattered by a factor of 2, whatever the
# rule for the step (docs/automatic-choice.md). Half the tolerance costs DOP853 9 % more steps. Radau's errors
# are half a digit below rtol in the mean (docs/digits.md), and it needs none.
RESERVE = 0.5
# what is chosen where nothing else is asked for, and what `stabilization=None` means
FORMULATION, EXPLICIT, IMPLICIT, STABILIZATION, WITHOUT = Index1, DOP853, Radau, Projection, Unstabilized
OF_SIZE = 1e-3  # absolute tolerances that are not given are this share of rtol, times the size of the motion: see `kernels.sizes`
FLOOR = 1e-12  # rtol below which rounding leaves nothing to gain by it


@dataclass(frozen=True)
class Choice:
    """What the user chose, with defaults filled in; equal choices share one plan."""

    formulation: Formulation
    integrator: Integrator
    stabilization: Stabilization
    step: float | None
    rtol: float
    atol: Any  # number, or tuple of numbers per state component; None, or below zero: a share of the size of the motion
    constraint_tol: float
    chosen: tuple[str, ...]  # which of the three the user named himself
    share: float = 1.0  # of rtol and atol, to which steps are controlled
    precision: str = "double"  # or "double-double", which has 31 digits

    @property
    def integrator_open(self) -> bool:
        """Whether another integrator may take over on the way: it was left to us, and goes by error and explicitly."""
        return "integrator" not in self.chosen and not self.integrator.implicit and self.step is None

    @property
    def held_at_ends(self) -> tuple[str, ...]:
        """Levels of the constraints that steps hold at their ends without a stabilization, but not in between."""
        f, i = self.formulation, self.integrator
        if self.stabilization.acts != "none" or i.takes != "residual" or f.integrates_multipliers:
            return ()
        if f.index == 3:
            return ("position", "velocity") if i.keeps_velocities else ("position",)
        return tuple(f.keeps) if {"position", "velocity"} <= set(f.keeps) and i.keeps_at_end else ()

    def between_ends(self, hopeless: float):
        """What brings states inside a step to these levels; None where nothing is to."""
        return between_ends(self.held_at_ends, self.constraint_tol, hopeless) if self.held_at_ends else None

    @property
    def kept_rtol(self) -> float:
        """Relative tolerance of a step."""
        return max(self.share * self.rtol, min(self.rtol, FLOOR))

    @property
    def kept_atol(self):
        """Absolute tolerance of a step: a number, or a tuple of numbers per state component; below zero: minus a share of sizes."""
        usual = -OF_SIZE * self.kept_rtol
        if isinstance(self.atol, tuple):
            return tuple(usual if value < 0.0 else self.share * value for value in self.atol)
        return usual if self.atol is None else self.share * self.atol

    def __hash__(self) -> int:
        """Computed once: every call of simulate() looks its plan up."""
        found = self.__dict__.get("_hash")
        if found is None:
            parts = (self.formulation, self.integrator, self.stabilization, self.step, self.rtol, self.atol, self.share,
                     self.precision)  # fmt: skip
            found = self.__dict__["_hash"] = hash(parts)
        return found

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}  # strings hash differently elsewhere


def make_choice(model, formulation, integrator, stabilization, step, rtol, atol, constraint_tol) -> Choice:
    """Fill in what was left to us: Index1 + DOP853 + Projection; Radau for a formulation that is no ODE."""
    chosen = tuple(
        role
        for role, given in (("formulation", formulation), ("integrator", integrator), ("stabilization", stabilization))
        if not (isinstance(given, str) and given == "auto")
    )
    integrator = _resolve(integrator, Integrator, "integrator", EXPLICIT if _may_be_ode(formulation) else IMPLICIT)
    formulation = _resolve(formulation, Formulation, "formulation", _natural(integrator, model))
    keeps_nothing = model.n_lam == 0 and model.n_constraints == 0 and model.n_invariants == 0
    residual = integrator.takes == "residual"
    kept = residual and {"position", "velocity"} <= set(formulation.keeps) and integrator.keeps_at_end
    # Index3: velocities miss their constraints by h^s only, and that error is along M⁻¹Gᵀ; projecting them along Gᵀ would
    # turn it into one along the constraints, which adds up (seven-body mechanism, 640 steps of Radau: 1e-5, not 4e-9; a
    # heavy top with rtol 1e-8: 5e-5, not 2e-9). Positions may be moved, which quaternions need
    index_3 = residual and formulation.index == 3
    # steps that are chosen by their error: Newton's method then ends where |g| is some 1e-9, and a projection, which lets
    # 2 to 7 % of the steps go, costs less than one more iteration of three stages
    to_tolerance = step is not None or integrator.meets_constraints or model.is_ode
    to_tolerance = to_tolerance or (index_3 and not model.n_constraints)
    needless = (kept or index_3) and to_tolerance and not model.n_invariants
    default = WITHOUT if keeps_nothing or needless else STABILIZATION
    velocities_stay = index_3 and not model.is_ode and not integrator.keeps_velocities
    if velocities_stay and default is STABILIZATION and isinstance(stabilization, str) and stabilization == "auto":
        stabilization = Projection(on="positions")
    stabilization = WITHOUT() if stabilization is None else stabilization
    stabilization = _resolve(stabilization, Stabilization, "stabilization", default)
    if keeps_nothing and stabilization.acts != "none":
        raise IncompatibleMethods(
            f"{stabilization!r} has nothing to pull back to: the system has no constraints and no invariants. "
            "Pass stabilization=None."
        )
    share = 1.0 if "integrator" in chosen or step is not None or integrator.implicit else RESERVE
    return Choice(formulation, integrator, stabilization, step, rtol, atol, constraint_tol, chosen, share)


def check_method(given, role: str) -> None:
    """Refuse what is no formulation, integrator or stabilization at all."""
    kinds_of = {"formulation": (Formulation, FORMULATION), "integrator": (Integrator, EXPLICIT)}
    base, default = kinds_of.get(role, (Stabilization, STABILIZATION))
    if given is not None or role != "stabilization":
        _resolve(given, base, role, default)


def _resolve(given, base: type, role: str, default: type):
    if isinstance(given, str) and given == "auto":
        return default()
    if isinstance(given, type) and issubclass(given, base):
        return given()
    if isinstance(given, base):
        return given
    known = {kind.__name__: kind for kind in kinds(base)}
    by_lower = {name.lower(): name for name in known}
    near = difflib.get_close_matches(given.lower(), by_lower, 1) if isinstance(given, str) else []
    example = f"{role}={by_lower[near[0]] if near else default.__name__}()"
    if isinstance(given, str):
        raise BadArgument(f"{role}={given!r}: pass an object, for example {example}.")
    article = "an" if role[0] in "aeiou" else "a"
    if role == "stabilization":
        example = "stabilization=Projection(), or None for without"
    raise BadArgument(f"{role}={given!r} is not {article} {role}; for example {example}.")


def _natural(integrator: Integrator, model) -> type[Formulation]:
    """Return the simplest formulation that gives what an integrator takes, of an index that it takes."""
    asked = None if model.is_ode else integrator.indices
    long = integrator.takes == "residual" and model.n_lam > 0 and model.couples_all
    if asked is None and integrator.takes in FORMULATION.gives and not (long and FORMULATION.inverts_mass):
        return FORMULATION
    for other in sorted(recommended(Formulation), key=fewest_multipliers if long else simplest):
        if integrator.takes in other.gives and (asked is None or other.index in asked) and not (long and other.inverts_mass):
            return type(other)
    return FORMULATION


def simplest(f: Formulation) -> tuple:
    """Equations that explicit integrators take come first, then those that are differentiated least."""
    return "ode" not in f.gives, -(f.index or 0), not f.plain


def fewest_multipliers(f: Formulation) -> tuple:
    """Index 2 comes first, as for stiff systems of many velocities."""
    return f.index != 2, not f.plain, *simplest(f)


def _may_be_ode(given) -> bool:
    """Whether explicit integrators take a formulation as it was given; anything else is refused later."""
    known = isinstance(given, Formulation) or (isinstance(given, type) and issubclass(given, Formulation))
    return not known or "ode" in given.gives


def kinds(base: type) -> list[type]:
    """All classes below one."""
    return [kind for child in base.__subclasses__() for kind in (child, *kinds(child))]


def recommended(base: type) -> list:
    """Methods that refusals name as a way out. Each class says so for itself: what is derived from it may be less well known."""
    return [kind() for kind in kinds(base) if "recommended" in vars(kind) and kind.recommended]
