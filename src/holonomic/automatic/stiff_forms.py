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
from ..loop.fastest_rate import turning
from ..model.dae import Dae
from ..stabilizations.projection import Projection
from .indicators import RESTS, constraints_vary, largest
from .rates import Rates

# Velocities up to which equations with v̂ eliminated are cheap to differentiate, and from which on they take longer to compile than
# they gain: of a walking machine with 30, 245 000 operations and minutes
SMALL, TOO_LARGE = 8, 15


def forms_for(model, run, rates: Rates, slope: np.ndarray | None, turns: bool) -> list[tuple]:
    """Return formulations in the order in which they are tried, with their stabilizations.

    `slope` is the motion, where there are constraints; `turns` tells whether they turn within a step. Tables have the equations of
    index 2 alone.
    """
    if not model.dense:
        return [(form(), Projection() if model.n_lam else "auto") for form in model.formulations]
    last = (Index1(), "auto")
    if isinstance(model.system, Dae):
        return [(ProjectedInvariants("Pa"), "auto"), last]
    if slope is None:
        return [last]
    if turns:  # corrections of v for errors of q would be long, Table 4.9
        return [(ProjectedInvariants("Pc"), "auto"), (ProjectedInvariants("Pa"), "auto"), last]
    if model.nv > TOO_LARGE or (model.nv > SMALL and not _varies(model, run, rates, slope)):
        return [(Index2(), Projection()), last]
    return [(ProjectedInvariants("Pa"), "auto"), last]


def turns_in_a_step(model, run, rates: Rates, slope: np.ndarray) -> bool:
    """Whether the constraints change their direction within a step that accuracy allows."""
    fns, lengths = model.table((Fn.TERMS,))
    rows = (np.empty(lengths[Fn.TERMS]), np.empty(lengths[Fn.TERMS]))
    apart, sizes = run.direction * 1e-3 * rates.accurate, (model.nq, model.nv, model.n_lam)
    rate = turning(fns, run.t, run.x, run.xe, run.data, slope[None, :], 0, sizes, apart, *rows)
    return not rate * rates.accurate <= 1.0


def motion_at(model, run, rates: Rates) -> np.ndarray:
    """Return velocities and accelerations; of a system at rest, those of one accurate step later: G turns with the speed."""
    nq, size, kept, slope = model.nq, model.nq + model.nv, run.K[1].copy(), run.K[0].copy()
    if largest(slope[:nq]) < RESTS * rates.accurate * largest(slope[nq:size]):
        run.xe[:] = run.x
        run.xe[nq:size] += run.direction * rates.accurate * slope[nq:size]
        slope = run.K[1].copy() if run.slope(run.t, run.xe, 1) else slope
    run.K[1] = kept
    return slope


def _varies(model, run, rates: Rates, slope: np.ndarray) -> bool:
    """Whether the change of the constraints' direction is part of what is stiff."""
    return constraints_vary(model, run.t, run.x, slope, run.data, run.plan.rows, run.direction * rates.accurate)
