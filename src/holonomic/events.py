"""Event: a zero of a function of the state, located inside a step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from .errors import BadArgument
from .model.call_by_name import refuses_unknown

DIRECTIONS = {"both": 0, "rising": 1, "falling": -1, 0: 0, 1: 1, -1: -1, None: 0}


@refuses_unknown
@dataclass(frozen=True)
class Event:
    """Watch a function of the state for its zeros.

    A function may be much faster than the motion: it is bounded along each step, and pulses much shorter than the step are
    found. One that asks for accelerations or multipliers, or runs as plain Python, is looked at point by point: there such a
    pulse can be missed, and `max_step=` is the remedy.
    A function that is zero at the start counts only if it leaves zero in its direction. Where `then` leaves no speed
    to move away, or impacts come in ever shorter order, the contact lasts: the run ends with `StepFailed`.

    Parameters
    ----------
    f : function or str
        Names what it needs of `t, q, v, a, lam, p, u`, states and algebraic variables (for an `Ode`: `t, y, p, u`);
        returns one number. A text is the name of one of the system's outputs.
    direction : {"both", "rising", "falling"}
        Which crossings count. SciPy's 0, 1, -1 are understood.
    terminal : bool
        Stop the run there.
    then : function, optional
        Maps the state and the run goes on: names what it needs of `t, q, v, p` and returns (q, v), or (q, v, s) to
        change states too (an `Ode`: of `t, y, p`, returns y). The new velocity is made consistent in the mass metric,
        as by an impulse.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import Event, System, simulate
    >>> ball = System(mass=np.eye(1), potential=lambda q: 9.81 * q[0])
    >>> bounce = Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -0.5 * v))
    >>> sol = simulate(ball, 1.0, q0=[1.0], v0=[0.0], events={"bounce": bounce})
    >>> sol.events["bounce"].t.round(4)  # sqrt(2 / 9.81), and as long again
    array([0.4515, 0.903 ])
    """

    f: Callable | str
    direction: str | int = "both"
    terminal: bool = False
    then: Callable | None = None

    def __post_init__(self):
        if not callable(self.f) and not isinstance(self.f, str):
            raise BadArgument(f"an Event needs a function or the name of an output, got {self.f!r}.")
        try:
            known = self.direction in DIRECTIONS
        except TypeError:  # lists are in no table
            known = False
        if not known:
            raise BadArgument(f"direction={self.direction!r}: choose 'both', 'rising' or 'falling'.")
        if not isinstance(self.terminal, bool | int) or self.terminal not in (True, False):
            raise BadArgument(f"terminal={self.terminal!r}: a run ends at the event, True, or goes on, False.")
        if self.terminal and self.then is not None:
            raise BadArgument("an Event either ends the run (terminal=True) or maps the state (then=), not both.")
        if self.then is not None and not callable(self.then):
            raise BadArgument(f"then= must be a function of the state, got {self.then!r}.")

    def of(self, name: str, outputs: Mapping[str, Callable]) -> Event:
        """Return the event with its function, where it was given as the name of an output."""
        if not isinstance(self.f, str):
            return self
        if self.f not in outputs:
            known = ", ".join(outputs) or "none"
            raise BadArgument(f"event {name!r}: the system has no output {self.f!r}; known: {known}.")
        return replace(self, f=outputs[self.f])

    @property
    def sign(self) -> int:
        """Direction as a number: 0 both, 1 rising, -1 falling."""
        return DIRECTIONS[self.direction]

    @property
    def stops(self) -> bool:
        """Whether the step loop has to return at this event."""
        return self.terminal or self.then is not None


def of_function(function, name: str) -> Event:
    """Return the event of a plain function; `terminal` and `direction` as its attributes are meant as SciPy means them."""
    terminal, direction = getattr(function, "terminal", False), getattr(function, "direction", 0)
    if not isinstance(terminal, bool) and terminal not in (0, 1):
        raise BadArgument(
            f"event {name!r} has terminal = {terminal!r}: a run ends at the first occurrence, terminal=True, or at none."
        )
    return Event(function, direction=(direction > 0) - (direction < 0), terminal=bool(terminal))
