"""Rates of a state in a run, and the bounds above which they ask for another method."""

from __future__ import annotations

from typing import NamedTuple

from ..loop import automatic_looks
from ..loop.automatic_looks import FAR_BEYOND, STABLE, WORTH, dearer, decays
from .indicators import Indicators

# The accurate step times the fastest rate, above which an implicit method wins, where constraints turn by themselves. There BDF
# has two ways to go, long steps and such that follow the constraints, 8 times as many as DOP853's; it takes the second one by
# chance where rtol is small, and goes back then.
RAPID, LOOSE = 4 * FAR_BEYOND, 5e-7
STRAIGHT = 0.7  # of the rate: below, BDF of order 4 and 5 is not stable any more, [HW96] Sec. V.2; Radau is
TIGHT = 1e-10  # rtol down to which RK45 is as fast as DOP853 in a short run


class Rates(NamedTuple):
    """Fastest rate of the field at a state, its real part (1/s), and the step that accuracy would allow (s)."""

    fastest: float
    real: float
    accurate: float
    lasts: bool = False  # something slower keeps oscillating
    short: bool = False  # little happens to the end
    turning: float = 0.0  # 1/s: constraints that turn by themselves, where that decides

    @property
    def decays(self) -> bool:
        """Whether the fastest part decays rather than oscillates."""
        return decays(self.fastest, self.real)

    @property
    def straight(self) -> bool:
        """Whether it decays without turning much."""
        return self.real < -STRAIGHT * self.fastest


def unknowns_together(model) -> int:
    """Return the unknowns that implicit steps eliminate at once; none of tables, where both kinds of steps grow alike."""
    return model.nq + model.nv if model.dense else 0


def stiff_from(model, short: bool) -> float:
    """Return the accurate step times the fastest rate above which an implicit method wins."""
    return automatic_looks.stiff_from(unknowns_together(model), short)


def too_stiff(model, rates: Rates, left: float, short: bool) -> bool:
    """Whether a start, with so much time left (s), is far too stiff for an explicit method; of arrays, one by one."""
    return automatic_looks.too_stiff(unknowns_together(model), rates.fastest, rates.real, rates.accurate, left, short)


def turns_rapidly(model, rates: Rates, left: float, rtol: float) -> bool:
    """Whether constraints turn far faster than a motion that is not stiff; of arrays, one by one."""
    rate = rates.turning
    return (rtol >= LOOSE) & (rate * rates.accurate >= RAPID * dearer(unknowns_together(model))) & (rate * left >= STABLE * WORTH)


def varies(found: Indicators) -> bool:
    """Whether the change of the constraints' direction matters to a step that is as long as accuracy allows."""
    return max(found.times("explicit"), found.times("turning")) > 1.0
