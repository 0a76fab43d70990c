"""Controller: a law that looks at a run at regular times and sets inputs, which are held in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import BadArgument
from .model.call_by_name import refuses_unknown
from .model.given_numbers import is_whole, positive

ROUNDING = 1e-9  # of a period: times that differ by less are meant to be one


@refuses_unknown
@dataclass(frozen=True)
class Controller:
    """A sampled law: looks at the run every `period`, and sets inputs that are held until its next answer (zero-order hold).

    The first look is at the start of the run, the answer of each takes effect `delay` later; steps end on both. Until the first
    answer an input has the value that it has without the controller. A law sees the state as it is, with `noise` on top, and inputs
    as they were before this instant.

    Parameters
    ----------
    law : function
        Names what it needs of `t, q, v, a, lam, p, u`, states and algebraic variables (of an `Ode`: `t, y, p, u`), of the system's
        outputs, and `state`, its own. Returns a number, one number for each of `sets`; with a state, a pair (these, next state).
    period : float
        Time from look to look, s.
    delay : float
        From a look to its effect, s; may be longer than a period.
    noise : {name: number or array}, optional
        Standard deviations of normal noise on what the law sees, by the names of its arguments: `{"q": 0.001}`.
    seed : int
        Of the noise. Members of a sweep have noise of their own; the same call gives the same numbers.
    state : array_like, optional
        What a law with a memory begins with: an integral, a filter.
    sets : sequence of str, optional
        Inputs that it sets; the one it is called after, if not given.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import Controller, System, simulate
    >>> cart = System(mass=np.eye(1), force=lambda u: [u.push], inputs={"push": 0.0})
    >>> pd = Controller(lambda q, v: -q[0] - 1.5 * v[0], period=0.1, delay=0.02)
    >>> sol = simulate(cart, 10.0, q0=[1.0], v0=[0.0], controllers={"push": pd})
    >>> len(sol.controls["push"].t), bool(abs(sol.end.q[0]) < 1e-3)
    (100, True)
    """

    law: Callable
    period: float
    delay: float = 0.0
    noise: Mapping[str, Any] | None = None
    seed: int = 0
    state: Any = None
    sets: Sequence[str] | None = None

    def __post_init__(self):
        if not callable(self.law):
            raise BadArgument(f"a Controller needs a law, a function such as lambda q, v: -q[0] - v[0], got {self.law!r}.")
        object.__setattr__(self, "period", positive(self.period, "period", "the law looks at the run once in that time, s."))
        try:
            delay = float(self.delay)
        except (TypeError, ValueError):
            delay = math.nan
        if not 0.0 <= delay < math.inf:
            raise BadArgument(f"delay={self.delay!r} must be a time in s, 0 or more.")
        object.__setattr__(self, "delay", delay)
        if not is_whole(self.seed, 0):
            raise BadArgument(f"seed={self.seed!r} must be a whole number, 0 or more.")
        if self.noise is not None:
            object.__setattr__(self, "noise", _deviations(self.noise))
        if self.state is not None:
            object.__setattr__(self, "state", _numbers(self.state, "state"))
        if self.sets is not None:
            names = (self.sets,) if isinstance(self.sets, str) else tuple(self.sets) if isinstance(self.sets, Iterable) else ()
            if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
                raise BadArgument(f'sets={self.sets!r}: give the names of inputs, each once, for example sets=["left", "right"].')
            object.__setattr__(self, "sets", names)

    def looks(self, t0: float, t1: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the times of all looks in a run, and those at which their answers take effect."""
        count = max(1, math.ceil((t1 - t0) / self.period - ROUNDING))
        t = t0 + self.period * np.arange(count)
        applied = self.effect(t0, np.arange(count))
        applied[np.abs(applied - t1) <= ROUNDING * self.period] = t1
        return t, applied

    def effect(self, t0: float, k):
        """When the answers of looks number k take effect, in a run from t0; at a later look where the delay is so many periods."""
        late = round(self.delay / self.period)
        if abs(self.delay - late * self.period) <= ROUNDING * self.period:
            return t0 + self.period * (k + late)
        return t0 + self.period * k + self.delay


def _numbers(given, what: str) -> np.ndarray:
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise BadArgument(f"{what} must be numbers, got {given!r}.") from None
    if not np.all(np.isfinite(found)):
        raise BadArgument(f"{what} must be finite, got {given!r}.")
    found.flags.writeable = False
    return found


def _deviations(given) -> dict[str, np.ndarray]:
    if not isinstance(given, Mapping):
        raise BadArgument(f'noise= is a mapping {{name: standard deviation}}, for example {{"q": 0.001}}, got {given!r}.')
    found = {name: _numbers(each, f"noise[{name!r}]") for name, each in given.items()}
    for name, each in found.items():
        if np.any(each < 0.0):
            raise BadArgument(f"noise[{name!r}] is a standard deviation, 0 or more, got {given[name]!r}.")
    return found
