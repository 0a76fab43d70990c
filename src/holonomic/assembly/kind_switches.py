"""Switches of one kind of element: the comparisons of a law of the user's, each with a mode of every element in data.

Those in forces and in rates of states are followed: of an `if` from the start, of selects once they wake. What stands elsewhere is
left to its values: its modes are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..kernels.elements import FORCE, STATE
from ..kernels.newton_memory import LOADED

if TYPE_CHECKING:
    from ..model.switchboard import SwitchName


@dataclass(frozen=True)
class FollowedSwitches:
    """Those of a kind, as expressions."""

    names: tuple[SwitchName, ...]
    watched: Any
    modes: Any
    left_out: Any  # modes that are zero here

    def unless_along(self, out):
        """What a kind writes, or NaN where a mode is: the motion goes along that switch, and the field is a mean of two."""
        from ..model.symbolics import SX, if_else, logic_or, vertcat, vertsplit

        first, *rest = vertsplit(out)
        for mode in vertsplit(self.modes):
            first = if_else(logic_or(mode < 0, mode >= 0), first, SX(float("nan")))
        return vertcat(first, *rest)


def followed_switches(what: int, traced) -> FollowedSwitches:
    """Return the switches of a kind, by what it is and what was traced of it."""
    from ..model.model_base import N_GAINS
    from ..model.symbolics import SX, densify, vertcat, vertsplit

    every = SX(0, 1) if traced.stage is None else traced.stage.board.modes
    names = traced.switches if what in (FORCE, STATE, LOADED) else ()
    if not names:
        return FollowedSwitches((), SX(0, 1), SX(0, 1), every)
    e, n = traced.expressions, len(names)
    last = e.data.numel() - N_GAINS - n  # behind all modes is which are alike
    modes = e.data[last - n : last]
    kept = {repr(mode) for mode in vertsplit(modes)}
    left_out = vertcat(SX(0, 1), *(mode for mode in vertsplit(every) if repr(mode) not in kept))
    return FollowedSwitches(names, densify(e.switches), modes, left_out)
