"""Fit: do these methods work together, and with this model. What does not is refused here, with a way out."""

from __future__ import annotations

from .choice import Choice
from .errors import BadArgument, IncompatibleMethods
from .formulations.index1 import Index1
from .formulations.underlying_ode import UnderlyingODE
from .kernels.signatures import Fn
from .model.dae import Dae
from .stabilizations.baumgarte import Baumgarte
from .stabilizations.invariant import InvariantStabilization


def metric_of(metric, model):
    """Return the metric of a stabilization: None, "mass", or a tuple of weights for (q, v)."""
    if metric is None:  # a mechanism brings its own: rotations weigh as the lengths they move
        own = getattr(model.system, "metric", None)
        return None if own is None else _beside_extras(own, model)
    if isinstance(metric, str):
        if metric != "mass":
            raise BadArgument(f'metric={metric!r}: choose None, "mass" or weights for q and v.')
        if model.is_ode or model.system.kinematics is not None:
            why = "an Ode has no mass matrix" if model.is_ode else "with kinematics= M does not measure q"
            raise IncompatibleMethods(f'metric="mass" cannot be used: {why}. Pass metric=None, or weights.')
        return metric
    weights = tuple(float(value) for value in metric)
    if len(weights) != model.nc + model.nv:
        raise BadArgument(f"metric has {len(weights)} weights; q and v have {model.nc + model.nv} entries.")
    if not min(weights) > 0.0:
        raise BadArgument(f"metric={weights}: weights must be positive.")
    return _beside_extras(weights, model)


def _beside_extras(weights: tuple, model) -> tuple:
    """Weights of (q, v) with those of states and algebraic variables, which no projection moves."""
    return weights[: model.nc] + (1.0,) * len(model.extras) + weights[model.nc :]


def check_fit(choice: Choice, model) -> None:
    """Refuse combinations that do not fit, naming a way out."""
    f, i, s = choice.formulation, choice.integrator, choice.stabilization
    if i.takes == "half-explicit":
        _check_half_explicit(f, i, model)
    if i.takes not in f.gives:
        raise IncompatibleMethods(
            f"{type(i).__name__} integrates ODEs, but {f!r} leaves algebraic unknowns. With {f!r} use Radau or BDF; to "
            f"keep {type(i).__name__} use formulation=Index1()."
        )
    if i.indices is not None and f.index not in i.indices:
        raise IncompatibleMethods(
            f"{type(i).__name__} takes equations of index {' or '.join(map(str, i.indices))}, but {f!r} has index "
            f"{f.index}. Use formulation=Index{i.indices[-1]}(), or Radau or BDF with {f!r}."
        )
    if i.takes == "residual":
        _check_implicit(f, i, model)
    there = {"position": model.n_constraints + model.n_invariants, "velocity": model.n_lam}
    if s.acts == "step" and not any(there[level] for level in s.levels):
        raise IncompatibleMethods(
            f"{s!r} corrects the {' and '.join(s.levels)} level alone, where "
            f"{'an Ode' if model.is_ode else 'this system'} keeps nothing. Use S_both2() or Projection()."
        )
    if choice.step is None and not i.adaptive:
        raise BadArgument(f"{type(i).__name__} has no error estimate: give step=, or use RK45 or DOP853.")
    if isinstance(s, Baumgarte) and choice.step is not None and not i.implicit:
        alpha = s.rate
        if alpha * abs(choice.step) > 1.0:
            raise IncompatibleMethods(
                f"Baumgarte with α h = {alpha * abs(choice.step):.3g} > 1 is unstable with an explicit integrator. "
                f"Use alpha <= {1 / abs(choice.step):.3g}, a smaller step, or stabilization=Projection()."
            )
    if getattr(s, "needs_stage", False) and not i.stage_at_end:
        raise IncompatibleMethods(
            f'{s!r} takes its factors from the last stage, but {type(i).__name__} has none at the end of the step. Use '
            'RK4, RK45 or DOP853, or freeze="predicted".'
        )
    if s.mechanical and model.is_ode and getattr(s, "metric", None) != "mass":  # a metric has a message of its own
        raise IncompatibleMethods(
            f"{s!r} takes levels apart or needs a mass matrix, which a System alone has. Use D=\"orthogonal\" or "
            'D="blocks".'
        )
    if s.acts == "field" and i.takes != "ode" and not isinstance(f, Index1) and not _plain_ode(model):
        raise IncompatibleMethods(
            f"{s!r} changes the field, which {f!r} does not use. Use formulation=Index1(), or stabilization=None."
        )
    if i.takes == "residual":
        _check_pull(f, i, s, choice.step)
    if isinstance(s, InvariantStabilization):
        if choice.step is not None and not i.implicit and s.rate * abs(choice.step) > i.damping_limit:
            raise IncompatibleMethods(
                f"{s!r} with γ h = {s.rate * abs(choice.step):.3g} > {i.damping_limit:g} is unstable with "
                f"{type(i).__name__}. Use gain <= {i.damping_limit / abs(choice.step):.3g}, a smaller step, or "
                "stabilization=PostStabilization()."
            )


def _check_pull(f, i, s, step) -> None:
    """What an implicit step does not bear after it."""
    index_3 = f.index == 3 and not i.constant_mass  # RATTLE leaves nothing at either level
    turns = i.turns_residuals and bool(f.keeps)
    if s.couples and (index_3 or turns or isinstance(f, UnderlyingODE)):
        if index_3:
            why = f"{f!r} takes velocities from differences of positions, so that a move δ of a position returns as δ/h"
        elif turns:
            why = f"{i!r} changes the sign of what is left in every step, so that the moves do not cancel"
        else:
            why = f"the multipliers that {f!r} integrates stay where they are"
        raise IncompatibleMethods(
            f"{s!r} moves positions by what the velocities leave, but {why}: errors grow from step to step. Use Projection() "
            "or PostStabilization(), which correct level by level, or formulation=GGL()."
        )
    if s.at_old_point and (index_3 or turns):
        what = f"{f!r}, whose velocities carry it along" if index_3 else f"{i!r}, which changes its sign every step"
        raise IncompatibleMethods(
            f"{s!r} subtracts what the constraints left one step ago; with {what}, that adds up instead of dying "
            "out. Use Projection() or PostStabilization(), which correct the new point."
        )
    if s.at_old_point and not {"position", "velocity"} <= set(f.keeps):
        alpha = s.alpha if s.alpha is not None else s.gain * abs(step or 0.0)
        if alpha > i.old_point_limit:
            raise IncompatibleMethods(
                f"{s!r} with {i!r}: a formula that looks back bears a correction by the old point only up to α = "
                f"{i.old_point_limit:g}. Use alpha={i.old_point_limit / 2:g}, an order of at most 3, or Projection()."
            )


def _plain_ode(model) -> bool:
    """Whether the model is an Ode, which has one formulation."""
    return model.is_ode and not isinstance(model.system, Dae)


def _check_half_explicit(f, i, model) -> None:
    """What half-explicit integrators ask of a system."""
    name = type(i).__name__
    if i.takes not in f.gives:
        raise IncompatibleMethods(
            f"{name} takes the constraints at velocity level, which {f!r} does not give. With {name} use "
            f"formulation=Index2(), or leave it out; with {f!r} use {'RK45' if 'ode' in f.gives else 'Radau or BDF'}."
        )
    if isinstance(model.system, Dae):
        raise IncompatibleMethods(f"{name} is for a System or an Ode, not for a Dae. Use RK45() with formulation=Index1().")
    if model.lam_in_force:
        raise IncompatibleMethods(
            f"{name} solves linear equations for the multipliers, but force() depends on them. Use RK45() with "
            "formulation=Index1(), or Radau()."
        )


def _check_implicit(f, i, model) -> None:
    """What implicit formulations and integrators ask of a system."""
    name = type(i).__name__
    if model.interpreted:
        raise IncompatibleMethods(f"{name} needs exact Jacobians, which trace=False does not have. Use trace=True.")
    if model.is_ode and not isinstance(f, Index1) and not (f.for_dae and isinstance(model.system, Dae)):
        what = "a Dae of its order" if isinstance(model.system, Dae) else "an Ode"
        raise IncompatibleMethods(f"{f!r} is for a System; it does not know {what}. Use formulation=Index1().")
    if f.index > i.highest_index:
        raise IncompatibleMethods(
            f"with {i!r} and {f!r} velocities and multipliers do not converge: the constraints hold in the stages alone. "
            f"Use GGL() or Index2() with Projection(), or Radau() with {f!r}."
        )
    if f.overdetermined and not i.overdetermined and model.n_lam:
        raise IncompatibleMethods(
            f"{f!r} has more equations than unknowns, which {name} does not take. Use BackwardEuler(), FixedBDF(), "
            f"Trapezoidal() or ImplicitMidpoint() with a step, or StrangenessFree() with {name}."
        )
    if i.plain and not f.plain:
        raise IncompatibleMethods(
            f"{name} has a place for λ and one level of the constraints, but {f!r} has further unknowns. Use "
            f"formulation=Index{(i.indices or (3,))[-1]}(), or Radau or BDF with {f!r}."
        )
    if getattr(i, "max_order", 0) > 5 and not isinstance(f, Index1 | UnderlyingODE):
        raise IncompatibleMethods(
            f"{i!r}: order 6 is unstable with changing steps where constraints are among the equations, as in {f!r}. Use "
            "BDF(), or formulation=Index1() with Projection()."
        )
    if i.indices is None:
        return
    if len(model.extras):
        raise IncompatibleMethods(f"{name} knows q and v alone, no states and algebraic variables. Use Radau or BDF.")
    if not model.n_lam or model.system.kinematics is not None or model.system.nonholonomic is not None:
        raise IncompatibleMethods(f"{name} is for holonomic constraints and q' = v. Use Radau or BDF.")
    if i.constant_mass and not model.has_constant_mass:
        raise IncompatibleMethods(f"{name} needs a constant mass matrix. Use GeneralizedAlpha() or Radau().")
    if i.conservative and model.has_velocity_forces:
        raise IncompatibleMethods(
            f"{name} is of order 2 for forces of t and q alone, but force() depends on v. Use GeneralizedAlpha() or Radau()."
        )


def check_traced(choice: Choice, lowered, model) -> None:
    """Refuse what needs derivatives that only a traced system has."""
    known = {Fn.RESIDUAL} | {fn for fn in Fn if fn.name.endswith(("_FACTOR", "_SOLVE", "_TANGENT"))}
    more = lowered.bend or lowered.direction or set(lowered.needs) - known
    if model.interpreted and more:
        raise IncompatibleMethods(
            f"{choice.stabilization!r} needs derivatives that a system with trace=False does not have. Use "
            "Projection(), PostStabilization() or Baumgarte()."
        )
