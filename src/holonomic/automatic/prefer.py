"""prefer=: what the automatic choice aims at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import absolute_tolerance, relative_tolerance
from ..errors import BadArgument
from .energy import energy_tolerance

AIMS = ("speed", "accuracy", "energy")
TENTH = 0.1


@dataclass(frozen=True)
class Aim:
    """Methods, step and tolerances that follow from what is preferred, and why."""

    methods: dict[str, Any]
    step: float | None
    rtol: float | None
    atol: Any
    note: str


def preferred(
    prefer, simulate: Callable, model, interval: tuple[float, float], start: dict, methods: dict, step, rtol, atol
) -> Aim:
    """Return what a preference leads to.

    Parameters
    ----------
    prefer : str
        One of AIMS.
    simulate : function
        For trials.
    model : Model
        What runs.
    interval : (float, float)
        Beginning and end, s.
    start : dict
        Initial values and what is to be done about them, by the names that simulate() has for them.
    methods : dict
        formulation, integrator and stabilization as they were given.
    step, rtol, atol
        As they were given.
    """
    if not isinstance(prefer, str) or prefer not in AIMS:
        raise BadArgument(f"prefer={prefer!r}: choose {', '.join(map(repr, AIMS))}.")
    given = [name for name, value in methods.items() if not (isinstance(value, str) and value == "auto")]
    given += [] if step is None else ["step"]
    if {"integrator", "step"} & set(given):
        raise BadArgument(f"prefer={prefer!r} chooses the methods, but {given[0]}= is given: leave one of them out.")
    usual = relative_tolerance(rtol)
    absolute_tolerance(model, atol)  # refused as it was given, not as what follows from it
    if prefer == "speed":
        return Aim(methods, step, rtol, atol, "the fastest method for these tolerances")
    if prefer == "accuracy":
        lower = _lowered(1e-9 if atol is None else atol)
        return Aim(methods, None, max(TENTH * usual, 1e-14), lower, f"steps are controlled to a tenth of rtol {usual:g}")

    def trial(interval, **options):
        return simulate(model.system, interval, progress=False, **methods, **options)

    tolerance, why = energy_tolerance(trial, model, *interval, start, usual)
    return Aim(methods, None, tolerance, 1e-3 * tolerance if atol is None else atol, why)


def _lowered(atol):
    """A tenth of absolute tolerances, however they are given."""
    if isinstance(atol, Mapping):
        return {name: TENTH * float(value) for name, value in atol.items()}
    return TENTH * float(atol) if np.ndim(atol) == 0 else TENTH * np.asarray(atol, dtype=float)
