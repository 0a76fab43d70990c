"""Mechanisms that no memory holds are refused before they are drawn or run."""

from __future__ import annotations

from ..errors import BadArgument
from ..model.given_numbers import beyond_memory

DRAWN = {2: 190.0, 3: 400.0}  # bytes of a body and a joint that are drawn in rows
# Bytes of a body, its joint, tables, and a run of RK4 with projections: 4.8 to 5.2 kB in chains of 10⁵ and 10⁶ rods in the plane,
# 14 kB in a chain of 10⁵ on balls; nets take twice as much.
RUN = {2: 4800.0, 3: 13500.0}


def refuse_beyond(bodies: int, dimension: int, what: str, drawn: bool = False) -> None:
    """Refuse so many bodies where this machine's memory does not hold them."""
    too_much = beyond_memory((DRAWN if drawn else RUN)[dimension] * bodies)
    if too_much is not None:
        raise BadArgument(f"{what}: {bodies} bodies take about {too_much}. Draw fewer.")
