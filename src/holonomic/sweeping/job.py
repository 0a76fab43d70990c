"""Job and Chunk: what an engine is given, and what it gives back.

A job says everything about a sweep but where it runs. An engine is an object with one method,

    chunks(job, pieces) -> iterator of Chunk        pieces: (first, last) stretches of members, last excluded

which yields one chunk per piece, in any order, as each is finished. A member does not depend on its neighbours,
so the numbers are the same whichever engine runs it, and in whatever pieces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..kernels.signatures import NK, NX
from ..plan import Plan
from ..running import Run
from .members import Members, consistent, rows_of

CHUNK_BYTES = 8 << 20  # of results in one chunk
FEWEST, MOST = 16, 4096  # members in a chunk
PARTS = 32  # into so many chunks a small sweep is cut, for an even load


@dataclass(frozen=True)
class Job:
    """One sweep: a plan, and what is different for each member."""

    plan: Plan
    t0: float
    t1: float
    save_t: np.ndarray
    count: int  # members
    data: np.ndarray  # what members have in common
    params: dict[str, np.ndarray]  # by name, (member, ...)
    q0: np.ndarray  # (member, coordinate), or one row for all
    v0: np.ndarray
    initial: str
    hold: Any
    limits: dict[str, Any]

    def members(self, first: int, last: int) -> Members:
        """Data and consistent starts of a stretch of members."""
        plan, n = self.plan, last - first
        DATA = np.tile(self.data, (n, 1))
        for name, values in self.params.items():
            where, _ = plan.model.places[name]
            DATA[:, where] = values[first:last].reshape(n, -1)
        X0 = np.hstack([rows_of(self.q0, first, last), rows_of(self.v0, first, last)])
        return consistent(plan, X0, DATA, self.t0, self.initial, self.hold)

    def part(self, first: int, last: int) -> Job:
        """The same sweep over a stretch of its members."""
        return replace(
            self, count=last - first, params={name: values[first:last] for name, values in self.params.items()},
            q0=rows_of(self.q0, first, last), v0=rows_of(self.v0, first, last),
        )  # fmt: skip

    @cached_property
    def memory(self) -> tuple[np.ndarray, np.ndarray]:
        """S and I, the loop's own memory, as every member begins with it."""
        x0 = np.concatenate([self.q0[0], self.v0[0]])
        run = Run(self.plan, self.data, self.t0, x0, self.t1, save_t=self.save_t, **self.limits)
        run.release()
        return run.S.copy(), run.I.copy()

    @property
    def direction(self) -> float:
        return 1.0 if self.t1 >= self.t0 else -1.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Saved times, unknowns in x and numbers in k of one member."""
        return len(self.save_t), int(self.plan.sizes[NX]), int(self.plan.sizes[NK])

    @property
    def order(self) -> int:
        """Order that the first step is chosen for."""
        return max(self.plan.integrator.error_order, self.plan.choice.integrator.order - 1)

    @property
    def chunk(self) -> int:
        """Members in one chunk; it follows from the job alone, so that another machine cuts alike."""
        times, nx, nk = self.shape
        fit = CHUNK_BYTES // max(1, 8 * times * (nx + nk))
        return int(max(1, min(max(fit, 1), MOST, max(FEWEST, -(-self.count // PARTS)))))

    def pieces(self) -> list[tuple[int, int]]:
        """All members, cut into chunks."""
        return [(first, min(first + self.chunk, self.count)) for first in range(0, self.count, self.chunk)]


@dataclass
class Chunk:
    """What the members first .. last-1 computed; row i of each array belongs to member first + i."""

    first: int
    last: int
    x: np.ndarray  # (member, time, unknown); NaN where a member had stopped
    k: np.ndarray  # (member, time, accelerations and multipliers)
    status: np.ndarray  # of `errors`: DONE, or what a member failed of
    reached: np.ndarray  # time
    steps: np.ndarray
    rows: np.ndarray  # saved
    unable: dict[int, str] = field(default_factory=dict)  # member -> why it could not start


class Engine(Protocol):
    """What runs a job."""

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]: ...
