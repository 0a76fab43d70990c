"""What cannot be traced runs all the same: as plain Python, with one warning that names the line, the reason and the cost."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

from ..errors import UntraceableFunction, UntracedWarning
from ..model.dae import needs_tracing
from ..model.interpreted import InterpretedModel
from ..model.warned import warn

# Times of plain Python over those of compiled code, with DOP853: a spring and van der Pol's equation 59 and 48; a pendulum,
# whose constraint is differentiated by differences, 832.
SLOWER, WITH_DIFFERENCES = 50, 1000

# why the run that is going on is one of plain Python, whatever its system
PROBLEM: contextvars.ContextVar[UntraceableFunction | None] = contextvars.ContextVar("why a run is in Python", default=None)


class UntraceableEvent(UntraceableFunction):
    """An event that cannot be traced, of a system that can: the run is tried again as plain Python."""


@contextlib.contextmanager
def as_python(problem: UntraceableEvent) -> Iterator[None]:
    """Let what is run here be plain Python, whatever its system: its events cannot be traced."""
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
        "and sweeps. trace=False asks for that without a warning, trace=True refuses it.",
        UntracedWarning,
    )
    return model


def refuse_in_python(system, problem: UntraceableFunction) -> None:
    """Refuse a system that cannot be traced and cannot run as plain Python either."""
    reason = needs_tracing(system)
    if reason:
        raise UntraceableFunction(f"{problem} {reason}") from problem
