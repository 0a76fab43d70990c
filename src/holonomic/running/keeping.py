"""Rows of a run, taken from it while it goes on: of each, what was asked for by name is kept, and the whole state let go.

The loop writes whole states into a buffer, as for every run. Every so many bytes they are looked at as a solution is, by name, and
given to a shelf: in memory, or in a store on disk. What has not been looked at yet is with the run, where the passage over
singular positions and messages of failures find it; its last row always is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from ..results.named_rows import PROBED, InMemory, NamedRows, Shelf, Wanted, labels_of, refuse_both, states_of
from ..results.named_solution import NamedSolution
from ..results.provenance import provenance_of
from ..results.solution import Solution
from ..results.trail import Trail, WrittenRows, in_all_rows

WHOLE_BYTES = 32 << 20  # of whole states that wait


class Keeping:
    """What a run keeps by name.

    Parameters
    ----------
    names : sequence of str, optional
        As they were given; None: whole states, which go to a store.
    store : path, optional
        Where a store on disk is to be made; None: in memory.
    probe : Solution
        A solution of the plan, made by `probe_of`.
    """

    def __init__(self, names: Sequence[str] | None, store, probe: Solution):
        model = probe.plan.model
        refuse_both(names or (), probe)
        self.wanted = Wanted(states_of(model) if names is None else names, probe)
        self.shelf: Shelf = InMemory(self.wanted.shapes)
        if store is not None:
            from ..results.run_store import OnDisk

            told = {"plan": repr(probe.plan), "provenance": provenance_of(probe.plan, probe.trail.when).to_dict()}
            self.shelf = OnDisk(store, self.wanted.shapes, told, labels_of(model))
        self._begin = probe.trail.begin
        self.rows = 0  # given to the shelf
        self._over = 0  # parts of the run of which all rows were taken
        self._taken = 0  # rows that were taken of the one that goes on
        self._first: tuple | None = None  # the first row, and the plan it is of

    @property
    def width(self) -> int:
        """How many numbers are held in memory for one time; on disk about none."""
        if not isinstance(self.shelf, InMemory):
            return 1
        return 1 + sum(math.prod(shape) for shape in self.shelf.shapes.values())

    @property
    def held(self) -> int:
        """Bytes of memory."""
        return self.shelf.held

    def look(self, run, parts: Sequence[Solution]) -> None:
        """Take what a run has written, where that is much; `parts` are those of other plans before it."""
        if len(parts) > self._over:
            self._take_parts(parts)
        if len(run.record.t) and run.record.bytes_from(0) > WHOLE_BYTES:
            t, x, k = run.record.joined()
            if len(t) > 1:
                trail = Solution.from_run(run, run.plan, self._begin, "changed").trail
                self._take(replace(trail, rows=(t[:-1], x[:-1], k[:-1]), record=None, known={}))
                left = WrittenRows()
                left.too_much = True
                left.t, left.x, left.k = [t[-1:].copy()], [x[-1:].copy()], [k[-1:].copy()]
                run.record = left

    def over(self, sol: Solution) -> NamedSolution:
        """Return the solution of a run that is over, without its whole states but those at both ends."""
        parts = sol.trail.parts or (sol,)
        final = sol.trail.final
        self._take_parts(parts)
        span = [float(sol.trail.first[0]), float(final[0])]
        self.shelf.close({"ended": sol.ended, "span": span, "steps": sol.stats["steps"]})
        first = self._first_row(sol)
        ends = tuple(np.stack([np.asarray(one), np.asarray(other)]) for one, other in zip(first, final, strict=True))
        trail = replace(sol.trail, rows=ends, record=None, stop=final, steps_kept=False, known={}, named=NamedRows(self.shelf))
        return NamedSolution(trail, sol.ended)

    @contextmanager
    def of_failures(self) -> Iterator[None]:
        """Let the run so far that an exception carries have what was kept."""
        try:
            yield
        except Exception as problem:
            so_far = vars(problem).get("solution")
            if isinstance(so_far, Solution):
                vars(problem)["solution"] = self.over(so_far)
            raise

    def _first_row(self, sol: Solution) -> tuple:
        """Time and whole state at the first row, in the form of the last one."""
        if self._first is None:
            t, x = sol.trail.first
            return t, x, np.zeros_like(sol.trail.final[2])
        plan, t, x, k = self._first
        return (t, x[: plan.model.nq + plan.model.nv], in_all_rows(plan, k)) if sol.trail.parts else (t, x, k)

    def _take_parts(self, parts: Sequence[Solution]) -> None:
        """Take the rows of parts that are over, and let these go."""
        for part in parts[self._over :]:
            own = part.trail
            t, x, k = own.arrays
            final = own.final
            if len(t):
                self._take(replace(own, rows=(t, x, k), record=None, known={}))
            own.__dict__.pop("arrays", None)
            own.record, own.stop, own.steps_kept = WrittenRows(), final, False
            own.__dict__.pop("final", None)
            self._over, self._taken = self._over + 1, 0

    def _take(self, trail: Trail) -> None:
        """Give rows to the shelf: the first row of a later part is the last one of the part before."""
        t, x, k = trail.rows
        skip = 1 if self._over and not self._taken and trail.steps_kept else 0
        whole = Solution(trail, "changed")
        if self._first is None and len(t):
            self._first = (trail.plan, float(t[0]), x[0].copy(), k[0].copy())
        self._taken += len(t)
        if len(t) > skip:
            values = {name: each[skip:] for name, each in self.wanted.values(whole).items()}
            self.shelf.write(self.rows, t[skip:], values)
            self.rows += len(t) - skip


def probe_of(plan, data: np.ndarray, begin, inputs, t0: float, z0: np.ndarray) -> Solution:
    """Return a solution that stands at the start, accelerations and multipliers being zero: what names mean can be seen in it."""
    t, x = np.full(PROBED, t0), np.zeros((PROBED, plan.size.nx))
    x[:, : len(z0)] = z0
    rows = t, x, np.zeros((PROBED, plan.size.nk))
    ends = {"start": (t0, z0), "stop": (t0, x[0], rows[2][0])}
    trail = Trail(plan, data.copy(), False, begin, rows=rows, inputs=inputs, impacts=[], **ends)
    return Solution(trail, "end")
