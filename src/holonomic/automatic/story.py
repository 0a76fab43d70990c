"""What the automatic choice saw and changed in a run, for those who tell of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..planning.choice import Choice
from .rates import Rates


@dataclass(frozen=True)
class Change:
    """One change of plan: when (s), to what, and the numbers behind it."""

    t: float
    choice: Choice
    fastest: float  # 1/s
    real: float  # 1/s
    step: float  # s: the step that was to be left behind
    reason: str


@dataclass(frozen=True)
class Story:
    """What the automatic choice of a run saw at its start, and the changes of plan on the way."""

    first: Rates | None = None
    changes: tuple[Change, ...] = ()
    preferred: str = ""  # what prefer= led to


def told(story: Story | None, preferred: str) -> Story:
    """Return a story that also tells what prefer= led to."""
    return replace(story or Story(), preferred=preferred)
