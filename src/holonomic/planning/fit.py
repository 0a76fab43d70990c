"""Fit: do these methods work together, and with this model. What does not is refused here, with a way out.

What a system cannot have comes first, then what methods cannot do together, so that no remedy leads to another refusal.
Methods say what they can do in attributes that their base classes declare; none is known here by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..errors import BadArgument, IncompatibleMethods
from ..formulations.base import Formulation
from ..integrators.base import Integrator
from ..model.dae import Dae
from .choice import EXPLICIT, FORMULATION, IMPLICIT, WITHOUT, Choice, recommended, simplest


class Misfit(Exception):
    """Why a combination does not work; the remedy, a text or a function that makes one, is only looked for when it is shown."""

    def __init__(self, reason: str, remedy: str | Callable[[], str]):
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


def check_fit(choice: Choice, model) -> None:
    """Refuse combinations that do not fit, naming a way out."""
    try:
        _check(choice, model)
    except Misfit as found:
        remedy = found.remedy if isinstance(found.remedy, str) else found.remedy()
        raise IncompatibleMethods(f"{found.reason} {remedy}") from None


def fits(choice: Choice, model, **changes) -> bool:
    """Whether a choice with some methods changed would work; remedies are tried before they are named."""
    changed = replace(choice, **changes)
    if not changed.integrator.adaptive and changed.step is None:
        changed = replace(changed, step=1e-6)
    try:
        _check(changed, model)
    except (Misfit, BadArgument, IncompatibleMethods):
        return False
    return True


def _instead(choice: Choice, model, role: str, candidates, most: int = 2, **changes) -> list[str]:
    """Names of those candidates for a role that fit, the first ones."""
    found = [type(other).__name__ for other in candidates if fits(choice, model, **{role: other}, **changes)]
    return found[:most]


def _integrators() -> list[Integrator]:
    """Integrators to recommend: those that take most equations first, with error control first, then the simplest."""
    return sorted(recommended(Integrator), key=lambda i: (not i.implicit, not i.adaptive, i.order, i.errors_add_up))


def _formulations(order: Callable[[Formulation], tuple]) -> list[Formulation]:
    """Formulations to recommend, in an order that suits what was asked for."""
    return sorted(recommended(Formulation), key=order)


def _check(choice: Choice, model) -> None:
    f, i, s = choice.formulation, choice.integrator, choice.stabilization
    if not model.dense:
        _check_operators(choice, model)
    elif i.takes == "residual" and model.interpreted:
        plain = "" if "ode" in f.gives else f" with formulation={FORMULATION()!r}"
        if model.untraced:
            raise Misfit(
                f"{type(i).__name__} needs exact Jacobians, which plain Python does not have: {model.untraced}",
                f"Or use an explicit integrator such as RK45() or DOP853(){plain}.",
            )
        raise Misfit(
            f"{type(i).__name__} needs exact Jacobians, which trace=False does not have.",
            f"Use trace=True, or an explicit integrator such as RK45() or DOP853(){plain}.",
        )
    if i.indices is not None:
        _check_structure(choice, model)
    if not model.is_ode:
        _check_mechanics(choice, model)
    _check_formulation(choice, model)
    if i.takes == "half-explicit":
        _check_half_explicit(choice, model)
    _check_pair(choice, model)
    _check_levels(choice, model)
    if choice.step is None and not i.adaptive:
        raise BadArgument(f"{type(i).__name__} has no error estimate: give step=, or use RK45 or DOP853.")
    if s.acts == "field" and i.takes != "ode" and not f.has_field_terms and not _plain_ode(model):
        raise Misfit(f"{s!r} changes the field, which {f!r} does not use.", lambda: _with_a_field(choice, model))
    explicit_step = 0.0 if choice.step is None or i.implicit else abs(choice.step)
    decay = s.rate * explicit_step
    if s.rate_limit is not None and decay > s.rate_limit:
        raise Misfit(
            f"{type(s).__name__} with α h = {decay:.3g} > {s.rate_limit:g} is unstable with an explicit integrator.",
            f"Use {s.strength_setting} <= {s.rate_limit / explicit_step:.3g}, a smaller step, or stabilization=Projection().",
        )
    if s.needs_stage and not i.stage_at_end:
        raise Misfit(
            f"{s!r} takes its factors from the last stage, but {type(i).__name__} has none at the end of the step.",
            'Use RK4, RK45 or DOP853, or freeze="predicted".',
        )
    if s.mechanical and model.is_ode and s.metric != "mass":  # a metric has a message of its own
        raise Misfit(
            f"{s!r} takes levels apart or needs a mass matrix, which a System alone has.", 'Use D="orthogonal" or D="blocks".'
        )
    if s.at_both_ends:
        _check_both_ends(choice, model)
    if i.takes == "residual":
        _check_pull(choice, model)
    if s.rate_limit is None and decay > i.damping_limit:
        raise Misfit(
            f"{s!r} with γ h = {decay:.3g} > {i.damping_limit:g} is unstable with {type(i).__name__}.",
            f"Use {s.strength_setting} <= {i.damping_limit / explicit_step:.3g}, a smaller step, or "
            "stabilization=PostStabilization().",
        )


def _check_operators(choice: Choice, model) -> None:
    """What a model of operators does not have: matrices of the whole system, and equations other than its own."""
    f, i = choice.formulation, choice.integrator
    residual = i.takes == "residual"
    instead = lambda: _either(choice, model) if model.formulations else f"Use {EXPLICIT()!r}, which asks for none."
    if i.needs_dense_terms:
        raise Misfit(f"{i!r} works on matrices of the whole system, which {model.name} does not offer.", instead)
    if residual and f.no_sum:
        raise Misfit(f"the equations of {f!r} are no sum over elements, as {model.name} has them: {f.no_sum}.", instead)
    if residual and not model.has_equations(f):
        known = [kind() for kind in model.formulations]
        has = " or ".join(f"{name}()" for name in _instead(choice, model, "formulation", known, len(known)))
        raise Misfit(
            f"{model.name} does not have the equations of {f!r}, which {type(i).__name__} solves.",
            f"Use formulation={has}, or {EXPLICIT()!r}." if has else f"Use {EXPLICIT()!r}.",
        )
    mean = i.averages_slopes or (i.multipliers_in_stages and i.keeps_at_end and not f.in_stages)
    if residual and mean and "accelerations" not in f.levels and (f.in_stages or "acceleration" in f.levels):
        raise Misfit(
            f"{i!r} takes the mean slope of a step, with which {model.name} has other accelerations than those of its end in "
            f"{f!r}.",
            lambda: _either(choice, model),
        )


def _with_a_field(choice: Choice, model) -> str:
    """What to do with a stabilization that changes a field which is not used."""
    plain = FORMULATION()
    if fits(choice, model, formulation=plain):
        return f"Use formulation={plain!r}, or stabilization=None."
    others = _instead(choice, model, "integrator", (EXPLICIT(), IMPLICIT()), formulation=plain)
    way = f"{' or '.join(others)} with formulation={plain!r}, or " if others else ""
    return f"Use {way}stabilization=None."


def _check_formulation(choice: Choice, model) -> None:
    """What a formulation asks of a system."""
    f = choice.formulation
    if not model.is_ode or f.for_ode or choice.integrator.takes == "half-explicit":
        return
    if _plain_ode(model):
        raise Misfit(
            f"{f!r} is for a System; it does not know an Ode, whose equations are y' = rhs alone.", "Leave formulation= out."
        )
    if not f.for_dae:
        raise Misfit(f"{f!r} is for a System; it does not know a Dae.", lambda: _for_dae(choice, model))


def _for_dae(choice: Choice, model) -> str:
    """Formulations for an integrator that has been chosen; others where there is none."""
    kept, plain = choice.integrator, FORMULATION()
    by_index = _formulations(lambda f: (not f.plain, f.index))
    there = _instead(choice, model, "formulation", by_index, stabilization=WITHOUT())
    if there:
        return f"With {type(kept).__name__} use formulation={' or '.join(f'{name}()' for name in there)}."
    others = _instead(choice, model, "integrator", (EXPLICIT(), IMPLICIT()), formulation=plain, stabilization=WITHOUT())
    return f"Use {' or '.join(f'{name}()' for name in others)} with formulation={plain!r}."


def _check_pair(choice: Choice, model) -> None:
    """Whether an integrator takes what a formulation gives."""
    f, i, name = choice.formulation, choice.integrator, type(choice.integrator).__name__
    if i.takes not in f.gives:
        raise Misfit(f"{name} integrates ODEs, but {f!r} leaves algebraic unknowns.", lambda: _either(choice, model, "to keep {}"))
    if i.indices is not None and f.index not in i.indices:
        raise Misfit(
            f"{name} takes equations of index {' or '.join(map(str, i.indices))}, but {f!r} has index {f.index}.",
            lambda: _either(choice, model),
        )
    if i.takes != "residual":
        return
    if f.index > i.highest_index and (model.n_lam or isinstance(model.system, Dae)):
        raise Misfit(
            f"with {i!r} and {f!r} velocities and multipliers do not converge: the constraints hold in the stages alone.",
            lambda: _either(choice, model, order=lambda other: (-other.index, -len(other.keeps))),
        )
    if f.overdetermined and not i.takes_overdetermined and model.n_lam:
        raise Misfit(
            f"{f!r} has more equations than unknowns, which {name} does not take.",
            lambda: _either(choice, model, order=lambda other: (-len({*other.keeps} & {*f.keeps}),)),
        )
    if i.only_plain and not f.plain:
        raise Misfit(
            f"{name} has a place for λ and one level of the constraints, but {f!r} has further unknowns.",
            lambda: _either(choice, model),
        )
    if i.unstable_with_constraints and f.keeps:
        raise Misfit(
            f"{i!r}: order {i.order} is unstable with changing steps where constraints are among the equations, as in {f!r}.",
            f"Use {type(i).__name__}(), or formulation={FORMULATION()!r} with Projection().",
        )


def _either(choice: Choice, model, keep: str = "with {}", order: Callable[[Formulation], tuple] = simplest) -> str:
    """Integrators for the formulation and formulations for the integrator, those that work with this model."""
    f, name, plain = choice.formulation, type(choice.integrator).__name__, {"stabilization": WITHOUT()}
    integrators = _instead(choice, model, "integrator", _integrators(), **plain)
    formulations = _instead(choice, model, "formulation", _formulations(order), 1, **plain)
    parts = [f"with {f!r} use {' or '.join(integrators)}"] if integrators else []
    parts += [f"{keep.format(name)} use formulation={formulations[0]}()"] if formulations else []
    text = "; ".join(parts) or "leave formulation= and integrator= out"
    return f"{text[0].upper()}{text[1:]}."


def _check_levels(choice: Choice, model) -> None:
    """Whether there is something at the levels that a stabilization corrects."""
    s = choice.stabilization
    there = {"position": model.n_constraints + model.n_invariants, "velocity": model.n_lam}
    if s.acts == "step" and not any(there[level] for level in s.levels):
        what = "a Dae" if isinstance(model.system, Dae) else "an Ode" if model.is_ode else "this system"
        raise Misfit(
            f"{s!r} corrects the {' and '.join(s.levels)} level alone, where {what} keeps nothing.",
            "Use S_both2() or Projection().",
        )


def _check_pull(choice: Choice, model) -> None:
    """What an implicit step does not bear after it."""
    f, i, s = choice.formulation, choice.integrator, choice.stabilization
    index_3 = f.index == 3 and not i.keeps_velocities
    turns = i.turns_residuals and bool(f.keeps)
    if s.couples and (index_3 or turns or f.integrates_multipliers):
        if index_3:
            why = f"{f!r} takes velocities from differences of positions, so that a move δ of a position returns as δ/h"
        elif turns:
            why = f"{i!r} changes the sign of what is left in every step, so that the moves do not cancel"
        else:
            why = f"the multipliers that {f!r} integrates stay where they are"
        raise Misfit(
            f"{s!r} moves positions by what the velocities leave, but {why}: errors grow from step to step.",
            lambda: f"Use Projection() or PostStabilization(), which correct level by level{_keeping_both(choice, model)}.",
        )
    if s.at_old_point and (index_3 or turns):
        what = f"{f!r}, whose velocities carry it along" if index_3 else f"{i!r}, which changes its sign every step"
        raise Misfit(
            f"{s!r} subtracts what the constraints left one step ago; with {what}, that adds up instead of dying out.",
            "Use Projection() or PostStabilization(), which correct the new point.",
        )
    if s.at_old_point and not {"position", "velocity"} <= set(f.keeps):
        if s.share(choice.step or 0.0) > i.old_point_limit:
            raise Misfit(
                f"{s!r} with {i!r}: a formula that looks back bears a correction by the old point only up to α = "
                f"{i.old_point_limit:g}.",
                f"Use alpha={i.old_point_limit / 2:g}, an order of at most 3, or Projection().",
            )


def _check_both_ends(choice: Choice, model) -> None:
    """What a stabilization asks that moves the start of a step as well as its end."""
    f, i, s = choice.formulation, choice.integrator, choice.stabilization
    if not i.symmetric:
        known = [other for other in _integrators() if other.symmetric]
        raise Misfit(
            f"{s!r} moves the start of a step, too, which keeps a symmetric method symmetric; {type(i).__name__} is none.",
            lambda: _symmetric_way(choice, model, known),
        )
    chooses = f.selector is not None or (bool(f.no_sum) and not f.integrates_multipliers)
    at_end = bool(f.keeps) and i.keeps_at_end
    if chooses or f.integrates_multipliers or at_end or (f.keeps and i.turns_residuals):
        why = (
            "chooses coordinates by the start of a step" if chooses
            else "integrates multipliers, which stay where they are" if f.integrates_multipliers
            else "is imposed at the end of a step alone" if at_end
            else f"is held in the stages of {i!r}, which turns what is moved at the start into its opposite"
        )  # fmt: skip
        raise Misfit(f"{s!r} with {f!r}, which {why}, is not symmetric.", f"Use formulation={FORMULATION()!r}, or Projection().")


def _symmetric_way(choice: Choice, model, known) -> str:
    """Symmetric integrators in the place of one that is not."""
    found = _instead(choice, model, "integrator", known)
    return f"Use {' or '.join(f'{name}()' for name in found)}, or Projection()." if found else "Use Projection()."


def _keeping_both(choice: Choice, model) -> str:
    """Name a formulation of high index that keeps both levels by itself, where one fits."""
    known = _formulations(lambda other: (-other.index,))
    both = next(other for other in known if {"position", "velocity"} <= {*other.keeps})
    return f", or formulation={both!r}" if fits(choice, model, formulation=both) else ""


def _plain_ode(model) -> bool:
    """Whether the model is an Ode, which has one formulation."""
    return model.is_ode and not isinstance(model.system, Dae)


def _check_half_explicit(choice: Choice, model) -> None:
    """What half-explicit integrators ask of a system and of a formulation."""
    f, name = choice.formulation, type(choice.integrator).__name__
    if isinstance(model.system, Dae):
        raise Misfit(f"{name} is for a System or an Ode, not for a Dae.", f"Use RK45() with formulation={FORMULATION()!r}.")
    if model.lam_in_force:
        raise Misfit(
            f"{name} solves linear equations for the multipliers, but force() depends on them.",
            f"Use RK45() with formulation={FORMULATION()!r}, or Radau().",
        )
    if choice.integrator.takes in f.gives:
        return
    if not model.n_lam:
        raise Misfit(
            f"{name} needs no {f!r} here: without constraints it is a Runge-Kutta method for the equations as they are.",
            "Leave formulation= out.",
        )
    alike = sorted(_integrators(), key=lambda other: other.implicit)
    own = [other for other in alike if other.order == choice.integrator.order]
    others = _instead(choice, model, "integrator", own, stabilization=WITHOUT())
    others = others or _instead(choice, model, "integrator", alike, 1, stabilization=WITHOUT())
    with_f = f"; with {f!r} use {' or '.join(others)}" if others else ""
    raise Misfit(
        f"{name} takes the constraints at velocity level, which {f!r} does not give.",
        f"With {name} use formulation=Index2(), or leave it out{with_f}.",
    )


def _check_structure(choice: Choice, model) -> None:
    """What integrators of second-order equations with holonomic constraints ask of a system."""
    system, name = model.system, type(choice.integrator).__name__
    lacks = (
        "a Dae" if isinstance(system, Dae) else "an Ode" if model.is_ode
        else "a system without constraints" if not model.n_lam
        else "a system with kinematics= (q' = Z v)" if system.kinematics is not None and not choice.integrator.takes_kinematics
        else "a system with nonholonomic constraints" if system.nonholonomic is not None
        else "a system with states= or algebraic= variables" if len(model.extras)
        else None
    )  # fmt: skip
    own = "" if choice.integrator.takes_kinematics else "q' = v and "
    if lacks is not None:
        raise Misfit(
            f"{name} is for a System of q and v with {own}holonomic constraints, not for {lacks}.",
            lambda: _instead_of(choice, model),
        )


def _check_mechanics(choice: Choice, model) -> None:
    """What integrators ask of masses and forces."""
    i, name = choice.integrator, type(choice.integrator).__name__
    if i.needs_constant_mass and not model.has_constant_mass:
        raise Misfit(
            f"{name} needs a constant mass matrix, but this one changes with t or q.", "Use GeneralizedAlpha() or Radau()."
        )
    if i.needs_constant_mass and model.held is not None:
        at = model.held.coordinates
        lacks = f"{model.coordinates[at[0]]} has no mass" if at and model.nv == model.nc else "this one is singular"
        raise Misfit(
            f"{name} divides by the mass matrix, but {lacks} (the constraints hold it).", "Use GeneralizedAlpha() or Radau()."
        )
    if i.needs_forces_of_position and model.has_velocity_forces:
        raise Misfit(
            f"{name} is of order {i.order} for forces of t and q alone, but here they depend on v.",
            "Use GeneralizedAlpha() or Radau().",
        )


def _instead_of(choice: Choice, model) -> str:
    """Integrators in the place of one that does not know such a system: symmetric ones for one that keeps energy."""
    energy, known = choice.integrator.keeps_energy, _integrators()
    if energy:
        known = sorted((other for other in known if other.keeps_energy), key=lambda other: -(other.order or 0))
    for formulation in (FORMULATION(), *_formulations(lambda f: (not f.plain, f.index))):
        found = _instead(choice, model, "integrator", known, formulation=formulation, stabilization=WITHOUT())
        if found:
            break
    way = "" if type(formulation) is FORMULATION else f" with formulation={formulation!r}"
    symplectic = energy and not model.n_lam and not isinstance(model.system, Dae)
    return f"Use {' or '.join(f'{name}()' for name in found)}{way}{', which are symplectic, too' if symplectic else ''}."
