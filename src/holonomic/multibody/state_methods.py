"""States of a mechanism beside its motion: a motor's current, the integral of a controller.

Forces and rates see states where they see inputs: `seeing` gives u the states under their names. So every function of
the user's that may ask for u may ask for a state by its own name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadArgument
from ..model.extra_states import TAKEN
from ..model.function_signature import in_run
from ..model.given_numbers import vector
from ..model.made_functions import maker

MOTION = ("angle", "position", "speed", "length", "stretch", "rate")  # what functions of forces call what they see


@dataclass(eq=False)
class NamedState:
    """A state with its rate; made by `Mechanism.state`."""

    name: str
    rate: Callable = field(repr=False)
    start: tuple[float, ...]


class StateMethods:
    """States and numbers of the user's own: `m.state("current", rate=..., start=0.0)`."""

    def state(self, name: str, rate, start=0.0) -> NamedState:
        """Add a state with a first-order equation, read as `sol[name]`.

        Functions of forces, motors, rates, quantities and outputs that are added afterwards may ask for it by its name
        (rates also for states added later).

        Parameters
        ----------
        name : str
            Its name, that of an argument in Python.
        rate : function
            Its rate per second. It names what it needs of t, p, u, states, bodies, points and joints:
            `lambda current, u, p, O: (u.voltage - p.R * current - p.k * O.speed) / p.L`.
        start : float or sequence of float
            Its value where a run begins; several numbers make a vector. `simulate(m, ..., s0={name: value})` begins
            elsewhere, `q0=sol.end` where a run has ended.
        """
        self._new(name, "state")
        if not name.isidentifier() or name in TAKEN or name in MOTION:
            raise BadArgument(
                f"state {name!r}: functions ask for it by this name, so it is one word of letters, and none of "
                f"{', '.join((*TAKEN, *MOTION))}."
            )
        if name in self.inputs:
            raise BadArgument(f"the name {name!r} is used twice: there is an input {name!r} already.")
        if not callable(rate):
            raise BadArgument(f"state {name!r}: rate is a function, for example lambda {name}: -2.0 * {name}; got {rate!r}.")
        values = vector(start, f"start of state {name!r}")
        if not len(values):
            raise BadArgument(f"start of state {name!r} is empty. Give a number, or several.")
        self.states[name] = NamedState(name, rate, tuple(values.tolist()))
        self._changed()
        return self.states[name]

    def parameter(self, name: str, value: float) -> None:
        """Add a number of your own: functions see it as `p.name`, and it is set and swept like every other."""
        self._new(name, "parameter")
        if name in self.params:
            raise BadArgument(f"there is a parameter {name!r} already. Change it with m.params[{name!r}] = {value!r}.")
        self.params.add(name, value)
        self._changed()

    def start_states(self, given=None, before=None) -> Any:
        """Initial values of all states: those given, else those where another run ended, else their own start."""
        if not self.states or (given is not None and not isinstance(given, Mapping)):
            return given
        if given is None and before is not None and before.s.size:
            layout = self._state_layout()
            if before.s.size != sum(size for _, _, size in layout):
                return None  # which is refused in words of its own
            return {name: before.s[at : at + size] for name, at, size in layout}
        return {name: state.start for name, state in self.states.items()} | dict(given or {})

    def _state_layout(self) -> tuple[tuple[str, int, int], ...]:
        """Name, place among all states and length of each."""
        found, at = [], 0
        for state in self.states.values():
            found.append((state.name, at, len(state.start)))
            at += len(state.start)
        return tuple(found)


def states_in(s, layout) -> dict[str, Any]:
    """States by name out of all of them."""
    return {name: s[at] if size == 1 else s[at : at + size] for name, at, size in layout}


def seen(function, layout):
    """The function with u that also has the states, where there are any."""
    return function if function is None or not layout else seeing(function, layout)


@maker
def seeing(function, layout):
    """Return a function that also takes s, and whose u holds the states under their names."""

    def with_states(**given):
        s = given.pop("s")
        given["u"] = type(given["u"])(**vars(given["u"]), **states_in(s, layout))
        return in_run(function)(**given)

    asked = dict.fromkeys([*inspect.signature(function).parameters, "u", "s"])
    with_states.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in asked]
    )
    return with_states
