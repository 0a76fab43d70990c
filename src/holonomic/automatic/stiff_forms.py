"""Which formulation suits a stiff state: by how the constraints change along the motion, and by how many velocities there are.

The decision guide of [ascher-petzold-1993] Sec. 5. Index-2 forms that discretize M v' = f - Gᵀλ directly have the fewest
equations, and none is differentiated, but they lose their stability where h ‖F C'‖ is large (its Tables 4.3 to 4.8); projected
invariants with D = Gᵀ do not.
"""

from __future__ import annotations

import numpy as np

from ..formulations.index1 import Index1
from ..formulations.index2 import Index2
from ..formulations.projected_invariants import ProjectedInvariants
from ..kernels.signatures import Fn
from ..loop.fastest_rate import turning_ahead
from ..model.dae import Dae
from ..native.callbacks import raise_what_was_raised
from ..stabilizations.projection import Projection
from .indicators import constraints_vary
from .rates import Rates

# Velocities up to which equations with v̂ eliminated are cheap to differentiate, and from which on they take longer to compile than
# they gain: of a walking machine with 30, 245 000 operations and minutes
SMALL, TOO_LARGE = 8, 15
HUGE = 60  # and from which on nothing else is worth trying
# formulations with their stabilizations; made once, so that choices made of them are found again by identity
LAST, PLAIN, TURNING = (Index1(), "auto"), (ProjectedInvariants("Pa"), "auto"), (ProjectedInvariants("Pc"), "auto")
DIRECT = (Index2(), Projection())


def forms_for(model, run, rates: Rates, slope: np.ndarray | None, turns: bool) -> list[tuple]:
    """Return formulations in the order in which they are tried, with their stabilizations.

    `slope` is the motion, where there are constraints; `turns` tells whether they turn within a step. Tables name theirs in the
    order in which they are tried, that of index 2 first.
    """
    if not model.dense:
        return [(form(), Projection() if model.n_lam else "auto") for form in model.formulations]
    if isinstance(model.system, Dae):
        return [PLAIN, LAST]
    if slope is None:
        return [LAST]
    if model.nv > HUGE or model.couples_all:
        return [DIRECT]
    if turns:  # corrections of v for errors of q would be long, Table 4.9
        return [TURNING, PLAIN, LAST]
    if model.nv > TOO_LARGE or (model.nv > SMALL and not _varies(model, run, rates, slope)):
        return [DIRECT, LAST]
    return [PLAIN, LAST]


def look_ahead(model, run, rates: Rates) -> tuple[np.ndarray, bool]:
    """Return the motion, and whether the constraints change their direction within a step that accuracy allows.

    The motion is velocities and accelerations; of a system at rest, those of one accurate step later: G turns with the speed.
    """
    width, rooms, ahead = run.K.shape[1], model.rooms.setdefault("ahead", []), run.direction * rates.accurate
    try:
        fns, sizes, now, later, along = rooms.pop()
    except IndexError:
        fns, sizes, now, later, along = _room(model)
    if along.shape[1] != width:
        along = np.empty((2, width))
    while True:
        seen = run.plan.for_kernels(run.data)
        rate = turning_ahead(seen, run.memory, run.t, run.work.loop, fns, sizes, ahead, now, later, along)
        raise_what_was_raised()
        if not rate < 0.0 or not run.plan.supplies(int(-rate)):
            break
    rooms.append((fns, sizes, now, later, along))
    return along[0, : model.nq + model.nv].copy(), not rate * rates.accurate <= 1.0


def _room(model) -> tuple:
    """Return what is given for a look ahead."""
    fns, lengths = model.table((Fn.TERMS,))
    length = lengths[Fn.TERMS]
    return fns, (model.nq, model.nv, model.n_lam), np.empty(length), np.empty(length), np.empty((2, 0))


def _varies(model, run, rates: Rates, slope: np.ndarray) -> bool:
    """Whether the change of the constraints' direction is part of what is stiff."""
    return constraints_vary(model, run.t, run.x, slope, run.data, run.plan.rows, run.direction * rates.accurate)
