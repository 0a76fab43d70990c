"""prefer=: what the automatic choice aims at.

For "energy", two short trials find the tolerance at which the energy stays within rtol to the end of a run. Methods of order
8 with error control lose energy in proportion to time and to their tolerance, and so little of it that a symplectic method of
order 2 never catches up: a pendulum over a thousand periods keeps its energy to 1e-6 with 40 steps a period, RATTLE with 2000
(docs/which-method.md, "Long runs and energy"). So the trials measure what is lost over a fiftieth of the run, and the
tolerance follows. Where the energy changes by itself (friction, motors, gravity stated as a force), the two trials are
compared with each other instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import absolute_tolerance, lowered, relative_tolerance
from ..errors import BadArgument, HolonomicError
from ..results.quantities import energy_that_moves

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
        Initial values and what to do about them, by the names that simulate() uses.
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
        lower = lowered(atol, TENTH)
        return Aim(methods, None, max(TENTH * usual, 1e-14), lower, f"steps are controlled to a tenth of rtol {usual:g}")

    def trial(interval, **options):
        return simulate(model.system, interval, progress=False, **methods, **options)

    tolerance, why = energy_tolerance(trial, model, *interval, start, usual)
    return Aim(methods, None, tolerance, atol, why)


TRIAL, STEPS = 0.02, 100  # of the run, and at least so many steps
SAMPLES = 200
FIRST = 0.01  # of rtol: a first tolerance to try
FINER = 1e-3  # of that: the trial beside it
AIM = 0.1  # of rtol: later parts of a motion lose up to 5 times more than its beginning (a chain of ten links)
LEAST = 1e-13  # tolerance below which rounding decides
ROUNDING = 1e-11  # of the moving energy: a change in a trial that rounding may bring about


def energy_tolerance(simulate: Callable, model, t0: float, t1: float, start: dict, rtol: float) -> tuple[float, str]:
    """Return the tolerance to run with, and why.

    Parameters
    ----------
    simulate : function
        Runs the system for the trials: simulate(interval, **start, **options).
    model : Model
        Of the system.
    t0, t1 : float
        Interval in seconds.
    start : dict
        Initial values, and what to do about them.
    rtol : float
        Share of the moving energy that may be lost.
    """
    least = max(LEAST, model.attainable_rtol)
    careful = max(FIRST * rtol, least)
    if model.is_ode:
        return careful, f"an Ode has no energy of its own, so steps are controlled to {careful:.1g}; invariants are kept"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lost, length, kept = _lost(simulate, t0, t1, start, careful, max(FINER * careful, least))
    except HolonomicError as problem:
        return careful, f"steps are controlled to {careful:.1g}, because a trial failed ({problem})"
    at_end = lost * abs(t1 - t0) / length
    found = careful * AIM * rtol / at_end if at_end > 0.0 else rtol
    tolerance = float(np.clip(_rounded(found), least, max(rtol, least)))
    what, it = ("changed by", "it") if kept else ("differed from a finer one's by", "its error")
    text = (
        f"in a trial of {length:.3g} s with tolerance {careful:.1g} the energy {what} {lost:.1e} of the energy that moves; "
        f"with {tolerance:.1g} {it} should stay within rtol {rtol:g} to the end"
    )
    if found < least:
        text += f", but {least:.1g} is all that can be had: {at_end * tolerance / careful:.1e} is to be expected"
    return tolerance, text


def _lost(simulate, t0: float, t1: float, start: dict, coarse: float, fine: float) -> tuple[float, float, bool]:
    """Energy lost in a trial, over the energy that moves; its length in s; whether the equations keep the energy."""
    forward, whole = (1.0 if t1 >= t0 else -1.0), abs(t1 - t0)

    def trial(length, tol):
        return simulate((t0, t0 + forward * length), **start, rtol=tol, save_at=SAMPLES)

    length = TRIAL * whole
    rough = trial(length, coarse)
    if rough.stats["steps"] < STEPS:
        length = min(whole, length * STEPS / max(rough.stats["steps"], 1))
        rough = trial(length, coarse)
    good = trial(length, fine)
    moving, better = energy_that_moves(good.energy.kinetic, good.energy.potential), good.energy.total
    kept = float(np.max(np.abs(better - better[0]))) <= max(coarse, ROUNDING) * moving
    compared = better[0] if kept else better
    return float(np.max(np.abs(rough.energy.total - compared))) / moving, length, kept


def _rounded(value: float) -> float:
    """Down to one digit, so that runs that hardly differ share a plan."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(np.floor(value / power) * power)
