"""Models and plans are made once and used again, as long as what they were made from is the same."""

from __future__ import annotations

from ..events import Event
from ..kernels.calling import announce
from ..model.compiled import Model
from ..model.extra import NONE, Extras
from ..model.interpreted import InterpretedModel
from .choice import Choice
from .plan import Plan


def model_of(system, q, v, t0, extras: Extras = NONE) -> Model | InterpretedModel:
    """Return the model of a system at these sizes, made once and anew where what its functions read has changed."""
    known = system.__dict__.setdefault("_models", {})
    key = (len(q), len(v), extras)
    model = known.get(key)
    if model is None or model.outdated():
        kind = Model if system.trace else InterpretedModel
        model = known[key] = kind(system, q, v, t0, extras)
    return model


def plan_of(model, choice: Choice, events: dict[str, Event], rows) -> Plan:
    """Return the plan of a choice, made once per model (runs with events make their own)."""
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
    plan = Plan(model, choice, events, rows)
    if key is not None:
        known[key] = plan
    return plan
