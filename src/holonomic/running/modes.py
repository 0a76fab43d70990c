"""The modes of switches where Python moves the state: at the start, after an event that maps it, where inputs jump."""

from __future__ import annotations

import numpy as np

from ..loop.events_from_python import enter_modes_compiled
from ..loop.switches import ALONG, CODES
from ..native.callbacks import raise_what_was_raised


def keep_modes(run) -> None:
    """Let a run that goes on from another follow the modes of its data: where a switch has just changed, its sign is rounding."""
    if run.plan.switches:
        modes = run.data[run.plan.model.data_places["modes"]]  # a view
        decided = ~np.isnan(modes)  # what goes along its zero goes on so
        modes[decided] = np.copysign(np.inf, modes[decided])  # where values decided in an attempt, signs were left of them
        run.modes = modes.copy()


def counting(run) -> np.ndarray:
    """Tell which switches count where the run stands: of the others what is watched is the sign of their mode."""
    if not run.plan.switches:
        return np.zeros(0, dtype=bool)
    modes, first = run.data[run.plan.model.data_places["modes"]], len(run.plan.events)  # a view
    here, found = modes.copy(), np.zeros(len(modes), dtype=bool)
    for j in range(len(modes)):
        sides = []
        for modes[j] in (-np.inf, np.inf):
            sides.append(run.watching.values_here()[first + j])
        found[j] = sides[0] == sides[1]
        modes[j] = here[j]
    return found


def enter_modes(run, counted: np.ndarray | None = None) -> None:
    """Give every switch the mode it has where the run stands, and write down which have changed.

    `counted` tells which did count before the state or the inputs jumped: one that does so on both sides has changed there, any
    other one has only come to count, or no longer counts.
    """
    plan = run.plan
    if not plan.switches:
        return
    modes = run.data[plan.model.data_places["modes"]]  # a view
    before = modes.copy()
    while plan.supplies(enter_modes_compiled(plan.for_kernels(run.data), run.memory, run.work.loop, run.work.events)):
        pass
    raise_what_was_raised()
    if run.modes is None:
        run.modes = modes.copy()
        return
    k = run.K[0, plan.model.nq :][: plan.size.nk]
    changed = np.flatnonzero((modes != before) & ~(np.isnan(modes) & np.isnan(before)))
    jumped = counting(run) & counted if len(changed) and counted is not None else np.zeros(len(modes), dtype=bool)
    for j in changed:
        how = int(modes[j] > 0.0) if jumped[j] else 2 + int(modes[j] > 0.0)
        code = plan.n_watched + CODES * j + (ALONG if np.isnan(modes[j]) else how)
        run.watching.log.append((code, run.t, run.x.copy(), k.copy()))
