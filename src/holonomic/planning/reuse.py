"""Models and plans are made once and used again, as long as what they were made from is the same.

What cannot be traced runs all the same: as plain Python, with one warning that names the line, the reason and the cost.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator

from ..errors import BadArgument, UntraceableFunction, UntracedWarning
from ..events import Event
from ..model.compiled import Model
from ..model.dae import needs_tracing
from ..model.extra_states import NONE, Extras
from ..model.interpreted import InterpretedModel
from ..model.operators import OperatorModel, Operators
from ..model.refusals import warn
from ..model.watch import Watch, alike
from .choice import Choice
from .plan import Plan


def model_of(system, q, v, t0, extras: Extras = NONE, only_traced: bool = False) -> Model | InterpretedModel | OperatorModel:
    """Return the model of a system at these sizes, made once and anew where what its functions read has changed.

    With `only_traced`, a system that cannot be traced raises the reason instead.
    """
    known = system.made.models
    problem = PROBLEM.get()
    key = (len(q), len(v), extras, problem is None)
    model = known.get(key)
    if model is None or not model.is_current():
        traced = only_traced and not isinstance(system, Operators)
        made = Model(system, q, v, t0, extras) if traced else _made(system, q, v, t0, extras, problem)
        model = known[key] = made if model is None else model.renewed_by(made)
    return model


def _made(system, q, v, t0, extras: Extras, problem: UntraceableFunction | None) -> Model | InterpretedModel | OperatorModel:
    if isinstance(system, Operators):
        return OperatorModel(system, q, v, t0, extras)
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


def traced_model(system, q, v, t0, extras: Extras, refusal: Callable[[str], str]) -> Model | OperatorModel:
    """Return the model of a system for what plain Python cannot do; one that is not traced is refused, without any other warning.

    `refusal` makes the message from the reason why a function cannot be traced; from "" with trace=False.
    """
    if isinstance(system, Operators) and system.interpreted:
        raise BadArgument(refusal(f"the operators of {type(system).__name__} are Python functions."))
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


def plan_of(model, choice: Choice, events: dict[str, Event], rows, switching: bool = False) -> Plan:
    """Return the plan of a choice, made once per model; runs with methods of the user's make their own.

    With `switching` its runs follow the switches of the model; without, comparisons are selects of values. With events it is that
    of the same functions, as long as what they read has not changed.
    """
    switching = switching and bool(model.switches)
    known, given = model.plans, tuple((name, alike(event.f), event) for name, event in events.items())
    watched = tuple((name, f, event.direction, event.terminal, event.then) for name, f, event in given)
    key = (choice, rows, switching, watched)
    try:
        plan, watch = known.get(key, NOT_THERE)
    except TypeError:
        plan = watch = key = None
    if plan is not None and (watch is None or watch.unchanged()):
        return plan
    watch = Watch(*(event.f for event in events.values())) if events else None
    try:
        plan = Plan(model, choice, events, rows, switching)
    except UntraceableFunction as problem:
        if model.interpreted or model.system.trace is True:
            raise
        raise UntraceableEvent(str(problem)) from problem
    if key is not None and plan.variant.is_ours and (watch is None or watch.unknown is None):
        for oldest in [one for one in known if one[3]][: 1 - MOST_WITH_EVENTS] if events else ():
            known.pop(oldest, None)
        known[key] = plan, watch
    return plan


NOT_THERE = None, None
MOST_WITH_EVENTS = 16  # plans with events that a model keeps


# Times of plain Python over those of compiled code, with DOP853: a spring and van der Pol's equation 59 and 48; a pendulum,
# whose constraint is differentiated by differences, 832.
SLOWER, WITH_DIFFERENCES = 50, 1000

# why the run that is going on is one of plain Python, whatever its system
PROBLEM: contextvars.ContextVar[UntraceableFunction | None] = contextvars.ContextVar("why a run is in Python", default=None)


class UntraceableEvent(UntraceableFunction):
    """An event that cannot be traced, of a system that can: the run is tried again as plain Python."""


@contextlib.contextmanager
def as_python(problem: UntraceableEvent) -> Iterator[None]:
    """Run what is inside as plain Python, whatever its system: its events cannot be traced."""
    token = PROBLEM.set(problem)
    try:
        yield
    finally:
        PROBLEM.reset(token)


def python_model(system, q, v, t0, extras, problem: UntraceableFunction) -> InterpretedModel:
    """Return the model that runs as plain Python, and warn; refuses what cannot run so."""
    refuse_in_python(system, problem)
    model = InterpretedModel(system, q, v, t0, extras)
    model.untraced = str(problem)
    times = WITH_DIFFERENCES if model.inexact else SLOWER
    warn(
        f"{problem} Until then the system runs as plain Python, about {times} times slower than compiled, without implicit methods "
        "and sweeps, and a long step may leap over a short change: max_step= bounds steps. "
        "trace=False asks for that without a warning, trace=True refuses it.",
        UntracedWarning,
    )
    return model


def refuse_in_python(system, problem: UntraceableFunction) -> None:
    """Refuse a system that cannot be traced and cannot run as plain Python either."""
    reason = needs_tracing(system)
    if reason:
        raise UntraceableFunction(f"{problem} {reason}") from problem
