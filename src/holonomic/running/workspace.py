"""The arrays of a run: what the step loop works on, and what it has written so far."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..kernels import locate, path
from ..planning.plan import Plan
from .ground import tightened

CHUNK_NUMBERS = 200_000  # size of one recording buffer
PATHS = 4  # paths over singular positions that the loop may write down before Python takes them


@dataclass
class Record:
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
        n = plan.size
        nx, nrow, nk, nev = n.nx, n.nrow, n.nk, len(plan.events)
        lowered = plan.integrator
        self.x, self.xn, self.xs, self.xe = (np.zeros(nx) for _ in range(4))
        # rows of K also keep an integrator's own numbers (the order of BDF and the like), up to 16 of them
        self.K, self.ke = np.zeros((lowered.rows + 2, max(nx, nrow, 16))), np.zeros((1, nrow))
        self.E = np.zeros((max(1, lowered.errors), nx))
        self.W = np.zeros(n.work_end + 8)
        crosses = plan.crosses
        rows, width = (path.ROWS, max(nx, nrow, 16)) if crosses else (0, 0)
        self.passing = (
            np.zeros((rows, width)), np.zeros((paths * path.KEPT * crosses, width)), tightened(plan.sp),
            lowered.nodes if crosses else np.zeros(0),
        )  # fmt: skip
        self.last = int(lowered.ip[0])
        self.atol = plan.atol
        self.turns = np.zeros(nx, dtype=np.int64)
        self.turns[: plan.model.nq] = plan.model.turns
        rows = max(16, min(2048, CHUNK_NUMBERS // (nx + nk + 1)))
        self.rec = (np.empty(rows), np.empty((rows, nx)), np.empty((rows, nk)))
        rows = 64 * nev
        self.ev = (np.zeros((6, nev), dtype=np.int64), np.zeros((5, nev)))  # see kernels.locate
        self.ev[0][locate.DIRECTION] = [event.sign for event in plan.events.values()]
        self.ev[0][locate.STOPS] = [event.stops for event in plan.events.values()]
        found = locate.MOST * nev + 1
        self.found = (np.zeros(found), np.zeros(found, dtype=np.int64))
        self.rec_ev = (np.zeros(rows), np.zeros(rows, dtype=np.int64), np.zeros((rows, nx)), np.zeros((rows, nk)))
