"""Rates of a state in a run, and the bounds above which they ask for another method."""

from __future__ import annotations

from typing import NamedTuple

from ..loop.automatic_looks import DECAYS, STABLE, WORTH
from .indicators import Indicators

# A step that accuracy allows, times the fastest rate, above which an implicit method wins. BDF takes 7 to 10 steps where
# DOP853 takes one, and DOP853 is stable up to 6: measured, the two are level at about 30 to 60.
FAR_BEYOND = 50.0
# The same for constraints that turn by themselves, in time. There BDF has two ways to go, long steps and such that follow
# the constraints, 8 times as many as DOP853's; it takes the second one by chance where rtol is small, and goes back then.
RAPID, LOOSE = 4 * FAR_BEYOND, 5e-7
STRAIGHT = 0.7  # of the rate: below, BDF of order 4 and 5 is not stable any more, [HW96] Sec. V.2; Radau is
# A run is short where its motion, rad, is less than the first and nothing vibrates for more than the second. DOP853 crosses
# it in 2 to 5 steps whatever the tolerance, so that its error does not follow the tolerance (slope 0.3 to 0.5 on the smooth
# problems of [ascher-petzold-1993], RK45 0.7 to 0.9). RK45 evaluates about as often there, down to the tolerance `TIGHT`
SHORT, QUIET, TIGHT = 1.3, 3.0, 1e-10
# The same as FAR_BEYOND in a short run, which Radau crosses in a dozen steps where stability asks RK45 for 60 and more
SOON = 20.0


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
        return self.real < -DECAYS * self.fastest

    @property
    def straight(self) -> bool:
        """Whether it decays without turning much."""
        return self.real < -STRAIGHT * self.fastest


def dearer(model) -> float:
    """Return what an implicit step costs beside an explicit one: factors of all unknowns."""
    return 1.0 + 2.0 * (model.nq + model.nv) / 100.0


def stiff_from(model, short: bool) -> float:
    """Return the accurate step times the fastest rate above which an implicit method wins."""
    return (FAR_BEYOND + (SOON - FAR_BEYOND) * short) * dearer(model)


def too_stiff(model, rates: Rates, left: float, short: bool) -> bool:
    """Whether a start, with so much time left (s), is far too stiff for an explicit method; of arrays, one by one."""
    worth = STABLE * WORTH + (2 * SOON - STABLE * WORTH) * short
    return rates.decays & (rates.fastest * rates.accurate >= stiff_from(model, short)) & (rates.fastest * left >= worth)


def turns_rapidly(model, rates: Rates, left: float, rtol: float) -> bool:
    """Whether constraints turn far faster than a motion that is not stiff; of arrays, one by one."""
    rate = rates.turning
    return (rtol >= LOOSE) & (rate * rates.accurate >= RAPID * dearer(model)) & (rate * left >= STABLE * WORTH)


def varies(found: Indicators) -> bool:
    """Whether the change of the constraints' direction matters to a step that is as long as accuracy allows."""
    return max(found.times("explicit"), found.times("turning")) > 1.0
