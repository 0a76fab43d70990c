"""The arrays that the step loop works on, sized by a plan."""

from __future__ import annotations

import numpy as np

from ..kernels.signatures import Events, Inside, Loop, Passing, Scale, State
from ..loop import event_search, kept_steps
from ..loop.from_python import flat
from ..passage import path
from ..stabilizations.projection import tightened
from .plan import Plan

CHUNK_NUMBERS = 200_000  # size of one recording buffer
PATHS = 4  # paths over singular positions that the loop may write down before Python takes them


class Workspace:
    """The arrays of one run; a plan keeps those of finished runs, so that short runs need not make them."""

    def __init__(self, plan: Plan, paths: int = PATHS):
        size, lowered, model, nev = plan.size, plan.integrator, plan.model, len(plan.events)
        nx, nrow, nk = size.nx, size.nrow, size.nk
        self.plan = plan
        # rows of K also keep an integrator's own numbers (the order of BDF and the like), up to 16 of them; the last two are
        # for state and slope at the smallest pivot ratio
        width = max(nx, nrow, 16)
        state = State(
            *(np.zeros(nx) for _ in range(3)), np.zeros((lowered.rows + 2, width)), np.zeros((max(1, lowered.errors), nx)),
            np.zeros(size.work_end + 8),
        )  # fmt: skip
        inside = Inside(np.zeros(nx), np.zeros((1, nrow)))
        turns = np.zeros(nx, dtype=np.int64)
        turns[: model.nq] = model.turns
        if plan.crosses:
            sp, nodes = tightened(plan.sp), lowered.nodes
            room = np.zeros((path.ROWS, width)), np.zeros((paths * path.KEPT, width))
        else:
            sp, nodes, room = np.zeros(0), np.zeros(0), (np.zeros((0, 0)), np.zeros((0, 0)))
        self.loop = Loop(state, inside, Scale(plan.atol, turns), Passing(*room, sp, nodes))
        self.flat = flat(self.loop)
        self.columns = kept_steps.columns(lowered.dense_rows, width)
        rows = max(16, min(2048, CHUNK_NUMBERS // (nx + nk + 1 + self.columns)))
        self.rows = (np.empty(rows), np.empty((rows, nx)), np.empty((rows, nk)), np.empty((rows, self.columns)))
        found, rows = event_search.MOST * nev, 2 * event_search.MOST * nev
        self.events = Events(
            np.zeros((event_search.MARKS, nev), dtype=np.int64), np.zeros((event_search.VALUES, nev)), np.zeros(2 * nev),
            np.zeros(found), np.zeros(found, dtype=np.int64), np.zeros(rows), np.zeros(rows, dtype=np.int64), np.zeros((rows, nx)),
            np.zeros((rows, nk)),
        )  # fmt: skip
        self.events.marks[event_search.DIRECTION] = [event.sign for event in plan.events.values()]
        self.events.marks[event_search.STOPS] = [event.stops for event in plan.events.values()]
