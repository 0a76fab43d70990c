"""Starts of a study: the given one, and others close to it, so that a number comes with how much of it is chance."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..arguments import Opened, as_code
from ..errors import BadArgument, HolonomicError
from ..model.dae import Dae
from ..model.given_numbers import is_whole, positive
from ..model.system import Ode
from ..simulate import simulate

MOST_STARTS = 1000
DRAWS = 20  # tries for a start that can be made consistent


def starts_of(what, here: Opened, given: dict[str, Any], count: int, spread: float, seed: int) -> list[dict[str, Any]]:
    """Return what is passed on to `simulate` for each start: nothing for the given one, then those drawn around it.

    Every number x of q0 and v0 (of y0) moves by `spread` max(1, |x|) times a normal number; positions then go back onto the
    constraints, and velocities with them, the shortest way. Where invariants tie coordinates (quaternions) velocities alone move.

    Raises
    ------
    BadArgument
        Numbers that cannot be meant, a Dae, `initial=` other than "check", or no consistent start near the given one.
    """
    if not is_whole(count, 1) or count > MOST_STARTS:
        raise BadArgument(f"starts={count!r} must be a whole number, from 1 to {MOST_STARTS}.")
    spread = positive(spread, "spread", infinite="it is by how much starts are moved.")
    if not is_whole(seed, 0):
        raise BadArgument(f"seed={seed!r} must be a whole number, 0 or more.")
    if count == 1:
        return [{}]
    if isinstance(here.system, Dae):
        raise BadArgument(f"starts={count}: x, x', ... of a Dae are tied by its equations and are not moved. Use starts=1.")
    if here.start.initial != "check":
        raise BadArgument(
            f"starts={count} moves the start and makes it consistent; initial={here.start.initial!r} goes with starts=1."
        )
    rng = np.random.default_rng(seed)
    return [{}] + [_moved(what, here, given, spread, rng) for _ in range(count - 1)]


def _moved(what, here: Opened, given: dict[str, Any], spread: float, rng) -> dict[str, Any]:
    own = len(here.q) - len(here.extras)  # states and algebraic variables stay as they are
    reason = ""
    for _ in range(DRAWS):
        q, v = here.q[:own].copy(), here.v.copy()
        if isinstance(here.system, Ode):
            return {"y0": q + _drawn(q, spread, rng)}
        if here.system.invariants is None:
            q += _drawn(q, spread, rng)
        v += _drawn(v, spread, rng)
        try:
            start = _consistent(what, given | {"q0": q, "v0": v, "initial": "project"})
        except HolonomicError as problem:
            reason = str(problem)
            continue
        return {"q0": start.q[0], "v0": start.v[0]}
    raise BadArgument(f"no consistent start was found within spread={spread:g} of the given one: {reason} Take a smaller spread.")


def _drawn(x: np.ndarray, spread: float, rng) -> np.ndarray:
    return spread * np.maximum(1.0, np.abs(x)) * rng.standard_normal(len(x))


def _consistent(what, options: dict[str, Any]):
    """Return a run of one step, whose first state is consistent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return simulate(what, **as_code(what, {**options, "max_steps": 1, "progress": False}))
        except HolonomicError as problem:
            if problem.solution is None or not len(problem.solution.t):
                raise
            return problem.solution
