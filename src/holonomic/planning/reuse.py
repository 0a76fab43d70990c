"""Models and plans are made once and used again, as long as what they were made from is the same."""

from __future__ import annotations

from ..errors import UntraceableFunction
from ..events import Event
from ..kernels.calling import announce
from ..model.compiled import Model
from ..model.extra import NONE, Extras
from ..model.interpreted import InterpretedModel
from .choice import Choice
from .plan import Plan
from .untraced import UntraceableEvent, in_python, python_model


def model_of(system, q, v, t0, extras: Extras = NONE) -> Model | InterpretedModel:
    """Return the model of a system at these sizes, made once and anew where what its functions read has changed."""
    known = system.__dict__.setdefault("_models", {})
    problem = in_python()
    key = (len(q), len(v), extras, problem is None)
    model = known.get(key)
    if model is None or not model.is_current():
        made = _made(system, q, v, t0, extras, problem)
        model = known[key] = made if model is None else model.renewed_by(made)
    return model


def _made(system, q, v, t0, extras: Extras, problem: UntraceableFunction | None) -> Model | InterpretedModel:
    if system.trace is False:
        return InterpretedModel(system, q, v, t0, extras)
    if problem is None:
        try:
            return Model(system, q, v, t0, extras)
        except UntraceableFunction as found:
            if system.trace is True:
                raise
            problem = found
    return python_model(system, q, v, t0, extras, problem)


def plan_of(model, choice: Choice, events: dict[str, Event], rows) -> Plan:
    """Return the plan of a choice, made once per model; runs with functions or methods of the user's make their own."""
    known = model.__dict__.setdefault("_plans", {})
    key = (choice, rows) if not events else None
    try:
        plan = known.get(key)
    except TypeError:
        plan = key = None
    if plan is not None:
        return plan
    if not model.interpreted:
        announce()
    try:
        plan = Plan(model, choice, events, rows)
    except UntraceableFunction as problem:
        if model.interpreted or model.system.trace is True:
            raise
        raise UntraceableEvent(str(problem)) from problem
    if key is not None and plan.variant.is_ours:
        known[key] = plan
    return plan
