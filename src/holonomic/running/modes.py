"""The modes of switches where Python moves the state: at the start, after an event that maps it, where inputs jump."""

from __future__ import annotations

import numpy as np

from ..loop.from_python import enter_modes_compiled
from ..loop.switches import ALONG, CODES
from ..native.callbacks import raise_what_was_raised


def keep_modes(run) -> None:
    """Let a run that goes on from another follow the modes of its data: where a switch has just changed, its sign is rounding."""
    if run.plan.switches:
        modes = run.data[run.plan.model.data_places["modes"]]  # a view
        modes[:] = np.copysign(np.inf, modes)  # where values decided in an attempt, signs were left of them
        run.modes = modes.copy()


def enter_modes(run) -> None:
    """Give every switch the mode it has where the run stands, and write down which have changed."""
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
    for j in np.flatnonzero((modes != before) & ~(np.isnan(modes) & np.isnan(before))):
        code = plan.n_watched + CODES * j + (ALONG if np.isnan(modes[j]) else 2 + int(modes[j] > 0.0))
        run.watching.log.append((code, run.t, run.x.copy(), k.copy()))
