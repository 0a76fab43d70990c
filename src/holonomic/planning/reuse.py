"""Models and plans are made once and used again, as long as what they were made from is the same."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import BadArgument, UntraceableFunction
from ..events import Event
from ..loop.from_python import announce
from ..model.compiled import Model
from ..model.extra_states import NONE, Extras
from ..model.interpreted import InterpretedModel
from .choice import Choice
from .plan import Plan
from .untraced import PROBLEM, UntraceableEvent, python_model, refuse_in_python


def model_of(system, q, v, t0, extras: Extras = NONE, only_traced: bool = False) -> Model | InterpretedModel:
    """Return the model of a system at these sizes, made once and anew where what its functions read has changed.

    With `only_traced`, none is made of a system that cannot be traced: why it cannot is raised.
    """
    known = system.made.models
    problem = PROBLEM.get()
    key = (len(q), len(v), extras, problem is None)
    model = known.get(key)
    if model is None or not model.is_current():
        made = Model(system, q, v, t0, extras) if only_traced else _made(system, q, v, t0, extras, problem)
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


def traced_model(system, q, v, t0, extras: Extras, refusal: Callable[[str], str]) -> Model:
    """Return the model of a system for what plain Python cannot do; one that is not traced is refused, and nothing else is said.

    `refusal` makes the message, out of why a function cannot be traced; out of nothing with trace=False.
    """
    if system.trace is False:
        raise BadArgument(refusal(""))
    try:
        model = model_of(system, q, v, t0, extras, only_traced=True)
    except UntraceableFunction as problem:
        if system.trace is True:
            raise
        refuse_in_python(system, problem)
        raise BadArgument(refusal(str(problem))) from problem
    if isinstance(model, InterpretedModel):  # of a run before
        raise BadArgument(refusal(model.untraced))
    return model


def plan_of(model, choice: Choice, events: dict[str, Event], rows) -> Plan:
    """Return the plan of a choice, made once per model; runs with functions or methods of the user's make their own."""
    known = model.plans
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
