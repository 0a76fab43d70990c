"""The arrays of a run: what the step loop works on, and what it has written so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..kernels.signatures import Events, Inside, Loop, Passing, Scale, State
from ..loop import event_search, kept_steps
from ..loop.from_python import flat
from ..passage import path
from ..planning.plan import Plan
from ..stabilizations.projection import tightened

CHUNK_NUMBERS = 200_000  # size of one recording buffer
DENSE_BYTES = 256 << 20  # that dense output of one run may take; above, states alone are kept
PATHS = 4  # paths over singular positions that the loop may write down before Python takes them


@dataclass
class Rows:
    """What a run has written so far: chunks of (t, x, (v', λ)), and of what dense output reads where a step cannot be repeated."""

    t: list[np.ndarray] = field(default_factory=list)
    x: list[np.ndarray] = field(default_factory=list)
    k: list[np.ndarray] = field(default_factory=list)
    dense: list[np.ndarray] = field(default_factory=list)
    too_much: bool = False  # dense output was more than is kept

    def add(self, t, x, k, dense, rows: int, at: int) -> None:
        """Keep rows as chunk number `at`, the last; done twice, where Ctrl-C came in between, it is done once."""
        if rows:
            self._keep_dense(dense[:rows], at)
            self.k[at:] = [k[:rows].copy()]
            self.x[at:] = [x[:rows].copy()]
            self.t[at:] = [t[:rows].copy()]

    def _keep_dense(self, dense: np.ndarray, at: int) -> None:
        if self.too_much or not dense.shape[1]:
            return
        self.dense[at:] = [dense.copy()]
        if sum(part.nbytes for part in self.dense) > DENSE_BYTES:
            self.dense, self.too_much = [], True

    def write(self, t: float, x, k, columns: int) -> None:
        """Keep one row, at which no step ends."""
        self._keep_dense(np.zeros((1, columns)), len(self.t))
        self.k.append(k[None, :].copy())
        self.x.append(x[None, :].copy())
        self.t.append(np.array([t]))

    def joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = len(self.t)
        if count != 1 or len(self.k) != 1:
            self.t, self.x, self.k = ([np.concatenate(part[:count])] for part in (self.t, self.x, self.k))
            self.dense = [np.concatenate(self.dense[:count])] if self.dense else []
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
