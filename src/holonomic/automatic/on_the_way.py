"""What the step loop is given to look at an explicit run on its way, and what it found there.

The looks themselves are compiled (`loop.opening`): they come after the same steps wherever Python interrupts the loop, and cost no
more than a step each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..loop.automatic_looks import ROWS, turned_in_a_step
from ..loop.from_python import NOT_OPENED
from ..loop.opening import OPENING
from ..planning.choice import Choice
from .rates import TIGHT, Rates


def opening_of(model, choice: Choice) -> Any:
    """Return what compiled code is given for runs of a choice, but for where they begin and end and what limits them."""
    opening = OPENING.new()
    opening.turn = turned_in_a_step(choice.rtol)
    opening.positions = model.nq // model.order if model.is_ode else model.nq
    opening.may_be_short, opening.keeps_order = choice.rtol >= TIGHT, choice.rtol < TIGHT
    opening.invariants = model.data_places["invariants"].start
    return opening


def room(width: int, opening=None) -> tuple:
    """Return what compiled code is given for looks on the way alone; rows of K are as long as `width`."""
    return (NOT_OPENED[0] if opening is None else opening, *NOT_OPENED[1:4], np.empty(3), np.empty((ROWS, width)))


def first_rates(opening) -> Rates:
    """Return what was found at the start."""
    return Rates(opening.fastest, opening.real, opening.accurate, short=bool(opening.little))


def later_rates(opening) -> Rates:
    """Return what was found where another method may take over."""
    return Rates(opening.fastest_later, opening.real_later, opening.accurate_later, short=bool(opening.little_later))
