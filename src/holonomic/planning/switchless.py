"""Runs that follow no switches: in exports, live pages and on a GPU comparisons are selects, and values decide in every stage.

Where a step is as long as the error allows, it may leap over all that a comparison turns on and off again, and the error does not
show it. So such a run is refused, unless the user has said how long a step may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..errors import BadArgument


def followed(switches: Sequence[Any]) -> list[Any]:
    """Return the switches that `simulate` follows from the start: those of selects are left to their values there, too."""
    return [each for each in switches if not each.sleeps]


def refuse_comparisons(where: str, switches: Sequence[Any], step: float | None, max_step: float, instead: str = "") -> None:
    """Refuse comparisons that `simulate` locates, where neither `step` nor `max_step` bounds the steps.

    `where` is where steps are taken, "in a library"; `instead` another way out, as the end of the last sentence.
    """
    found = followed(switches)
    if not found or step is not None or math.isfinite(max_step):
        return
    several = "is" if len(found) == 1 else f"and {len(found) - 1} more are"
    raise BadArgument(
        f"the comparison {found[0]} {several} located in simulate and not {where}: a step there may leap over all that it "
        "turns on and off. Pass max_step=, a third of the shortest time between two changes, or step=; inside such steps the "
        f"values decide{instead}."
    )
