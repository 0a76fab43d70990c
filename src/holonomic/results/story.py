"""What the automatic choice saw and changed in a run, for those who tell of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..planning.choice import Choice
from ..planning.words import tolerance_of

if TYPE_CHECKING:
    from ..automatic.rates import Rates


class Change(NamedTuple):
    """One change of plan: when (s), to what, and the numbers behind it."""

    t: float
    choice: Choice
    fastest: float  # 1/s
    real: float  # 1/s
    step: float  # s: the step that was to be left behind
    reason: str


class Story(NamedTuple):
    """What the automatic choice of a run saw at its start, and the changes of plan on the way."""

    first: Rates | None = None
    changes: tuple[Change, ...] = ()
    preferred: str = ""  # what prefer= led to


def told(story: Story | None, preferred: str) -> Story:
    """Return a story that also tells what prefer= led to."""
    return (story or Story())._replace(preferred=preferred)


def changes(sol) -> list[str]:
    """Return one line for every change of plan on the way."""
    if sol.trail.story is None:
        return []
    lines = []
    for change in sol.trail.story.changes:
        c = change.choice
        numbers = ""
        if change.fastest > 0.0:
            numbers = f" (fastest rate {change.fastest:.3g} 1/s, real part {change.real:.3g}; step {change.step:.2g} s)"
        lines.append(
            f"change: at t = {change.t:.6g} s to {c.formulation!r} + {c.integrator!r} + {c.stabilization!r}, {tolerance_of(c)}, "
            f"because {change.reason}{numbers}"
        )
    return lines
