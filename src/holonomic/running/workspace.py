"""The arrays of a run: what the step loop works on, and what it has written so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..kernels.signatures import Events, Inside, Loop, Passing, Scale, State
from ..loop import event_search
from ..passage import path
from ..planning.plan import Plan
from ..stabilizations.projection import tightened

CHUNK_NUMBERS = 200_000  # size of one recording buffer
PATHS = 4  # paths over singular positions that the loop may write down before Python takes them


@dataclass
class Rows:
    """What a run has written so far: chunks of (t, x, (v', λ))."""

    t: list[np.ndarray] = field(default_factory=list)
    x: list[np.ndarray] = field(default_factory=list)
    k: list[np.ndarray] = field(default_factory=list)

    def add(self, t, x, k, rows: int, at: int) -> None:
        """Keep rows as chunk number `at`, the last; done twice, where Ctrl-C came in between, it is done once."""
        if rows:
            self.k[at:] = [k[:rows].copy()]
            self.x[at:] = [x[:rows].copy()]
            self.t[at:] = [t[:rows].copy()]

    def write(self, t: float, x, k) -> None:
        """Keep one row."""
        self.k.append(k[None, :].copy())
        self.x.append(x[None, :].copy())
        self.t.append(np.array([t]))

    def joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = len(self.t)
        if count != 1 or len(self.k) != 1:
            self.t, self.x, self.k = ([np.concatenate(part[:count])] for part in (self.t, self.x, self.k))
        return self.t[0], self.x[0], self.k[0]


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
        rows = max(16, min(2048, CHUNK_NUMBERS // (nx + nk + 1)))
        self.rows = (np.empty(rows), np.empty((rows, nx)), np.empty((rows, nk)))
        found, rows = event_search.MOST * nev + 1, 64 * nev
        self.events = Events(
            np.zeros((6, nev), dtype=np.int64), np.zeros((5, nev)), np.zeros(2 * nev), np.zeros(found),
            np.zeros(found, dtype=np.int64), np.zeros(rows), np.zeros(rows, dtype=np.int64), np.zeros((rows, nx)),
            np.zeros((rows, nk)),
        )  # fmt: skip
        self.events.marks[event_search.DIRECTION] = [event.sign for event in plan.events.values()]
        self.events.marks[event_search.STOPS] = [event.stops for event in plan.events.values()]
