"""Problem and Reference: a system with its start, its end and the answer it should give."""

from __future__ import annotations

import difflib
import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import numpy as np

from ..arguments import Posed
from ..errors import BadArgument, UnknownArgument
from ..model.dae import Dae
from ..model.system import Ode, System
from ..results.pairs import Pairs

LEVELS = ("q", "v", "a", "lam", "y", "s", "w")


@dataclass(frozen=True, eq=False)
class Reference:
    """The state of a problem at one time, and how far it can be trusted.

    Parameters
    ----------
    t : float
        Time in seconds.
    q, v, a, lam, y, s, w : array_like, optional
        Positions, velocities, accelerations, multipliers, states and algebraic variables; for an `Ode` only y. None
        where nothing is known.
    digits : mapping
        Trusted digits by name, for example ``{"q": 14, "v": 13}``.
    source : str
        Where the numbers come from.
    components : sequence of int, optional
        Which entries of q and v (y of an `Ode`) are given, when not all of them are.
    """

    t: float
    q: Any = None
    v: Any = None
    lam: Any = None
    a: Any = None
    y: Any = None
    s: Any = None
    w: Any = None
    digits: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    components: tuple[int, ...] | None = None

    def __post_init__(self):
        for name in LEVELS:
            values = getattr(self, name)
            if values is not None:
                values = np.array(values, dtype=float)
                values.setflags(write=False)
                object.__setattr__(self, name, values)


@dataclass(frozen=True, eq=False)
class ExactReference:
    """The state of a problem at one time as pairs of doubles, and how many digits two runs agree on.

    `q`, `v` and `lam` of a `System`, `y` of an `Ode`, as `Pairs`: `reference.q.text(20)` gives digits. `digits` has, by name,
    -log10 of the largest |x - y| / max(1, |y|) between a run at rtol 1e-24 and one at 1e-22 with another stabilization.
    """

    t: float
    q: Pairs | None = None
    v: Pairs | None = None
    lam: Pairs | None = None
    y: Pairs | None = None
    digits: Mapping[str, float] = field(default_factory=dict)


@functools.cache
def exact_references() -> dict[str, Any]:
    """What `benchmarks/reference_digits.py` has computed, by problem; where it is a text, why there is nothing."""
    return json.loads((files("holonomic.problems") / "exact_references.json").read_text(encoding="utf-8"))


@dataclass(frozen=True, eq=False)
class Problem(Posed):
    """A system with start, end and reference answer. It starts at t = 0.

    Parameters
    ----------
    name : str
        The name used in the shell, such as ``"seven-body"``.
    title : str
        What it is, in a few words.
    system : System or Ode
        The equations.
    t_end : float
        End of the published interval, in seconds.
    q0, v0 : tuple of float
        Consistent start of a `System`.
    y0 : tuple of float
        Start of an `Ode`.
    s0, w0 : mapping, optional
        Start of a `System`'s states, and a guess of its algebraic variables.
    references : tuple of Reference
        Known states. Empty when parameters were changed and no exact solution exists.
    exact : callable, optional
        t -> (q, v), or t -> y for an `Ode`.
    source : str
        Where the problem comes from; keys of references.bib in square brackets.
    notes : str
        What makes it worth running.
    """

    name: str
    title: str
    system: System | Ode
    t_end: float
    q0: tuple[float, ...] | None = None
    v0: tuple[float, ...] | None = None
    y0: tuple[float, ...] | None = None
    s0: Any = None
    w0: Any = None
    references: tuple[Reference, ...] = ()
    exact: Callable[[float], Any] | None = None
    source: str = ""
    notes: str = ""

    t0 = 0.0

    def reference(self, t: float | None = None) -> Reference:
        """Return the reference at time t (default: the end): a stored one, or one from the exact solution."""
        t = self.t_end if t is None else float(t)
        for known in self.references:
            if same_time(known.t, t):
                return known
        if self.exact is None:
            times = ", ".join(f"{r.t:g}" for r in self.references) or "none"
            raise BadArgument(f"{self.name} has no reference at t = {t:g}. Times with one: {times}.")
        if self.y0 is not None:
            return Reference(t, y=self.exact(t), source="exact solution")
        q, v = self.exact(t)
        return Reference(t, q=q, v=v, source="exact solution")

    def exact_reference(self, t: float | None = None) -> ExactReference:
        """Return the reference at time t (default: the end) with 20 digits or so, from runs in double-double."""
        t = self.t_end if t is None else float(t)
        entries = exact_references().get(self.name, ()) if self.references else ()
        for entry in entries if not isinstance(entries, str) else ():
            if same_time(entry["t"], t):
                numbers = {name: Pairs.from_exact(entry[name]) for name in ("q", "v", "lam", "y") if name in entry}
                return ExactReference(entry["t"], digits=entry["agreement"]["tolerance"], **numbers)
        raise BadArgument(
            f"{self.name} has no reference of many digits at t = {t:g}. Run it with precision='double-double' and look at "
            "sol.exact."
        )

    def digits(self, sol) -> dict[str, float]:
        """Count the correct digits of a solution at the last of its saved times that has a reference.

        The number is -log10 of the largest |x - ref| / max(1, |ref|), at most 16, for each of q, v, lam, s and
        w (y for an `Ode`) that the reference and the solution both hold.
        """
        k, known = self._last_common_time(sol)
        found = {}
        for name in ("q", "v", "lam", "y", "s", "w"):
            want, have = getattr(known, name), getattr(sol, name, None)  # results of other libraries may hold less
            if name == "y" and isinstance(self.system, Dae):
                have = sol.q  # the whole state; y of such a solution are its algebraic unknowns
            if want is None or have is None:
                continue
            x = np.asarray(have)[k]
            if known.components is not None and name in ("q", "v", "y"):
                x = x[list(known.components)]
            found[name] = correct_digits(x, want)
        return found

    def _last_common_time(self, sol):
        t = np.atleast_1d(np.asarray(sol.t, dtype=float))
        for known in sorted(self.references, key=lambda r: -r.t):
            k = int(np.argmin(np.abs(t - known.t)))
            if same_time(t[k], known.t):
                return k, known
        if self.exact is not None:
            return len(t) - 1, self.reference(t[-1])
        times = ", ".join(f"{r.t:g}" for r in self.references) or "none, because parameters were changed"
        raise BadArgument(
            f"No saved time of this solution has a reference of {self.name} (times with one: {times}). "
            "Pass such a time as t_end or in save_at."
        )


def same_time(s: float, t: float) -> bool:
    """Tell whether two times differ by no more than the rounding of a sum of steps."""
    return abs(s - t) <= 1e-12 * max(abs(s), abs(t))


def correct_digits(x, reference) -> float:
    """Return -log10 max |x - ref| / max(1, |ref|), at most 16; minus infinity for NaN."""
    x, reference = np.asarray(x, dtype=float), np.asarray(reference, dtype=float)
    error = np.max(np.abs(x - reference) / np.maximum(1.0, np.abs(reference)))
    return float(-np.log10(max(error, 1e-16))) if np.isfinite(error) else -np.inf


def choose(defaults: dict[str, float], given: dict[str, float], problem: str) -> tuple[dict[str, float], bool]:
    """Put the caller's parameters over the published ones; also return whether all are still as published."""
    for name in given:
        if name not in defaults:
            near = difflib.get_close_matches(name, defaults, n=3)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"It has {', '.join(defaults)}."
            raise UnknownArgument(f"{problem} has no parameter '{name}'. {hint}")
    params = {name: float(given.get(name, value)) for name, value in defaults.items()}
    return params, params == defaults
