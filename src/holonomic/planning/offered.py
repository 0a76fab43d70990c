"""What methods ask of a model beyond fitting together: metric and direction of a stabilization, derivatives, operators."""

from __future__ import annotations

import math

from ..errors import BadArgument, IncompatibleMethods
from ..kernels.signatures import Fn
from ..model.dae import Dae
from ..model.given_numbers import as_number
from ..stabilizations.base import Stabilization
from .choice import EXPLICIT, Choice


def metric_of(metric, model):
    """Return the metric of a stabilization: None, "mass", or a tuple of weights for (q, v)."""
    if metric is None:  # a mechanism brings its own: rotations weigh as the lengths they move
        own = model.system.metric
        return None if own is None else _beside_extras(own, model)
    if isinstance(metric, str):
        if metric != "mass":
            raise BadArgument(f'metric={metric!r}: choose None, "mass" or weights for q and v.')
        if model.is_ode or model.system.kinematics is not None:
            why = "an Ode has no mass matrix" if model.is_ode else "with kinematics= M does not measure q"
            raise IncompatibleMethods(f'metric="mass" cannot be used: {why}. Pass metric=None, or weights.')
        return metric
    weights = tuple(map(as_number, metric)) if isinstance(metric, list | tuple) else ()
    if not weights or any(map(math.isnan, weights)):
        raise BadArgument(f'metric={metric!r}: choose None, "mass" or weights for q and v.')
    if len(weights) != model.nc + model.nv:
        raise BadArgument(f"metric has {len(weights)} weights; q and v have {model.nc + model.nv} entries.")
    if not min(weights) > 0.0:
        raise BadArgument(f"metric={weights}: weights must be positive.")
    return _beside_extras(weights, model)


def _beside_extras(weights: tuple, model) -> tuple:
    """Weights of (q, v) with those of states and algebraic variables, which no projection moves."""
    return weights[: model.nc] + (1.0,) * len(model.extras) + weights[model.nc :]


def along_multipliers(choice: Choice, model) -> tuple[Stabilization, str | None]:
    """Return the stabilization as it runs, and the level at which its metric is the mass matrix, if at one.

    Where constraints hold in the stages alone, the end of a step misses them by h^s along the directions of the
    multipliers. A projection takes that away, and gives the order back, if it goes along the same directions: along M⁻¹Gᵀ
    at the levels that the formulation names, for a Dae along B. What was asked for by name stays as it is.
    """
    f, i, s = choice.formulation, choice.integrator, choice.stabilization
    if i.keeps_at_end or i.takes != "residual" or not s.direction_open:
        return s, None
    if isinstance(model.system, Dae):
        return (s.turned(D="B") if f.along_B and not model.n_invariants else s), None
    levels = () if model.is_ode or not model.n_lam else f.along_mass
    if model.is_ode or model.system.kinematics is not None:  # M does not measure q
        levels = tuple(level for level in levels if level == "velocity")
    if len(levels) == 2:
        return s.turned(metric="mass"), None
    return s, {"position": "POS", "velocity": "VEL"}[levels[0]] if levels else None


def check_traced(choice: Choice, lowered, model) -> None:
    """Refuse what needs derivatives that only a traced system has."""
    known = {Fn.RESIDUAL} | {fn for fn in Fn if fn.name.endswith(("_FACTOR", "_SOLVE", "_TANGENT"))}
    more = lowered.bend or lowered.direction or set(lowered.needs) - known
    if model.interpreted and more:
        lacks = "a system with trace=False does not have. Use"
        if model.untraced:
            lacks = f"plain Python does not have: {model.untraced} Or use"
        raise IncompatibleMethods(
            f"{choice.stabilization!r} needs derivatives that {lacks} Projection(), PostStabilization() or Baumgarte()."
        )


def _knows(system, way) -> bool:
    """Whether a system that comes as operators moves whole states in a direction."""
    return isinstance(way.D, str) and way.D in system.directions and not way.shifted


def check_offered(choice: Choice, integrator, stabilization, mass_at: str | None, events, model) -> None:
    """Refuse what a model of operators does not offer: other metrics, terms inside the field, impacts, other operators."""
    i, s = choice.integrator, choice.stabilization
    if mass_at is not None and s.metric is None and not model.system.takes_metrics:
        raise IncompatibleMethods(
            f"{s!r} behind {i!r} with {choice.formulation!r} goes along M⁻¹Gᵀ, which {model.name} does not offer. Use "
            'stabilization=Projection(on="positions"), or None.'
        )
    other = {
        "a metric of its own": stabilization.metric is not None and not model.system.takes_metrics,
        "terms inside the field": stabilization.gains is not None and not model.system.takes_gains,
        "directions of its own": stabilization.direction is not None and not _knows(model.system, stabilization.direction),
    }
    for what in (what for what, asked in other.items() if asked):
        raise IncompatibleMethods(f"{s!r} has {what}, which {model.name} does not offer. Use stabilization=Projection().")
    for name in (name for name, event in events.items() if event.then is not None and not model.has_impulses):
        raise IncompatibleMethods(
            f"event {name!r} has then=, and what constraints give velocities at once takes the mass matrix, which "
            f"{model.name} does not offer{model.system.without_terms}. Let it end the run, and begin a new one with q0 and v0."
        )
    formulation = choice.formulation if i.takes == "residual" else None
    of_newton = () if formulation is None else (*integrator.unrolls, *integrator.asks_own)
    for method, needs in ((i, (*integrator.needs, *of_newton)), (s, stabilization.needs)):
        lacks = model.lacks(needs, formulation)
        if lacks:
            way = "stabilization=Projection()" if method is s else f"integrator={EXPLICIT()!r}"
            raise IncompatibleMethods(f"{method!r} asks for {', '.join(lacks)}, which {model.name} does not offer. Use {way}.")
