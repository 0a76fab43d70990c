"""The companion of a run: the same once more with a smaller tolerance, for an estimate of the global error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import Asked, given_again, lowered
from ..errors import BadArgument, HolonomicError
from ..events import Event
from ..model.refusals import warn
from ..results.error_estimate import SHARE, SHORTER, ErrorEstimate, ErrorEstimateWarning
from ..results.solution import Solution


def check_error(error, asked: Asked) -> None:
    """Refuse what is neither True nor False, and events that map the state: two runs meet them at different times."""
    if not isinstance(error, bool | np.bool_):
        raise BadArgument(f"error={error!r} must be True or False; tolerances are rtol= and atol=.")
    for name, event in (asked.events or {}).items() if error else ():
        if isinstance(event, Event) and event.then is not None:
            raise BadArgument(
                f"error=True with the event {name!r}, whose then= changes the state: two runs meet it at different times, and are "
                "a jump apart in between. Estimate the error of each stretch by itself, or leave out error=."
            )


def enter_error(sol: Solution, asked: Asked, run: Callable[[Asked], Solution]) -> None:
    """Let the companion run, and enter what it tells; a companion that fails is warned of."""
    plan = sol.plan
    times = np.unique(sol.t)
    rows = np.searchsorted(times, sol.t)
    if sol.span[1] < sol.span[0]:
        times, rows = times[::-1].copy(), len(times) - 1 - rows
    choice = plan.choice
    changes: dict[str, Any] = {"save_at": times, "events": None, "prefer": None, "progress": False, "first_step": None}
    changes["max_steps"] = 2 * asked.max_steps
    if sol.trail.story is None or asked.prefer is not None:
        changes |= {name: getattr(choice, name) for name in ("formulation", "integrator", "stabilization")}
    if choice.step is not None:
        share = SHORTER**choice.integrator.order
        changes["step"] = SHORTER * choice.step
    else:
        share = SHARE
        changes |= {"rtol": share * choice.rtol, "atol": lowered(given_again(plan.model, choice.atol), share)}
    try:
        companion = run(asked._replace(**changes))
    except HolonomicError as problem:
        warn(f"the error could not be estimated, since a second run stops: {problem}", ErrorEstimateWarning)
        return
    found = sol.trail.known["error"] = ErrorEstimate(sol, companion, rows, share)
    if found.parted is not None:
        warn(
            f"from t = {found.parted:.6g} s on no digit of the run is right: a second run at {SHARE} times the tolerance has "
            "parted from it. Its motion is chaotic, or the tolerance too large: ask for a smaller rtol, or for an earlier end.",
            ErrorEstimateWarning,
        )
