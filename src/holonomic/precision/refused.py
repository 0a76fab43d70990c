"""What does not run in double-double, by name."""

from __future__ import annotations

from ..errors import IncompatibleMethods
from ..kernels.signatures import Fn
from ..planning.plan import Plan

DOUBLES = 'or leave out precision="double-double".'


def refuse(plan: Plan, inputs) -> None:
    """Refuse a plan that has no program of pairs."""
    why = why_not(plan, inputs)
    if why is not None:
        raise IncompatibleMethods(f'precision="double-double": {why}')


def refuse_factors(tapes) -> None:
    """Refuse an implicit method where Newton's matrix has no straight-line factors, but says that they do not serve."""
    if any(len(tapes[fn].outputs) == 1 for fn in (Fn.NEWTON_FACTOR, Fn.COMPLEX_FACTOR) if fn in tapes):
        raise IncompatibleMethods(
            'precision="double-double": Newton\'s matrix takes more products than straight-line code has, and larger ones are '
            f"factored in doubles. Use DOP853() or RK45(), {DOUBLES}"
        )


def why_not(plan: Plan, inputs) -> str | None:
    """Say why a plan does not run in double-double and what to do; None: it does."""
    model, choice, integrator = plan.model, plan.choice, plan.choice.integrator
    if model.interpreted:
        return f"the system runs as plain Python, whose numbers are doubles. Make its functions traceable, {DOUBLES}"
    if not model.dense:
        return f'tables and operators compute in doubles. Pass compile="now", {DOUBLES}'
    others = f"Use GaussLegendre(stages=6) with step=, DOP853() or RK45(), {DOUBLES}"
    exact = plan.integrator.exact_fp is not None
    if "ode" not in choice.formulation.gives and not exact:
        name = repr(choice.formulation)
        return f"{name} takes implicit integrators, which solve their equations in doubles. Use formulation=Index1(), {DOUBLES}"
    if (integrator.takes != "ode" or integrator.implicit) and not exact:
        return f"{integrator!r} solves equations in every step, which is done in doubles. {others}"
    if not exact:
        return f"the coefficients of {integrator!r} are doubles. Use DOP853(), RK45(), RK23() or RK4(), {DOUBLES}"
    if plan.variant.selector is not None:
        return f"{choice.formulation!r} chooses coordinates by matrices of doubles. Use formulation=Index1(), {DOUBLES}"
    if model.is_ode and (model.n_lam or model.n_constraints):
        return f"the unknowns y of a Dae are found in doubles. State the equations as a System, {DOUBLES}"
    if model.lam_in_force:
        return f"a force that asks for lam is solved for in doubles. Leave the friction out, {DOUBLES}"
    if model.nw:
        return f"algebraic variables are solved for in doubles. Eliminate them, {DOUBLES}"
    if plan.rows is not None:
        return f"its constraints are redundant, and rows are chosen in doubles. Leave redundant rows out, {DOUBLES}"
    if plan.events:
        return f"events are located in doubles. Leave out events= and read sol.exact at save_at= times, {DOUBLES}"
    if len(inputs.breaks):
        return f"inputs that are tables change in doubles. Give functions of t, {DOUBLES}"
    return None
