"""Trail: what a run left behind, and what was computed from it since. Everything after a run reads it.

A `Solution` is how users read a run; what it stands on is `sol.trail`, for the functions that compute from it. Rows are
(t, x, k): times, states x = (q, v) and what follows from them, k = (v', λ of the rows that were simulated), time first.

Runs of different plans, one going on where the other stopped, are joined into one solution. Their states are kept as (q, v):
what a formulation adds differs from part to part, and multipliers follow from the state. Where two parts meet there is one row.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ..model.input_tables import InputTables
    from ..starting.initial import Start
    from .named_rows import NamedRows
    from .solution import Solution
    from .story import Story

    Repeat = Callable[[Solution, np.ndarray, float, np.ndarray, np.ndarray], Solution]  # run, data, t0, x0, times to keep
    Again = Callable[[Solution, np.ndarray, np.ndarray | None], Solution]  # run, data, times to keep; None: every step

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
DENSE_BYTES = 256 << 20  # that dense output of one run may take; above, states alone are kept


@dataclass
class WrittenRows:
    """What a run has written so far: chunks of (t, x, (v', λ)), and of what dense output reads where a step cannot be repeated."""

    t: list[np.ndarray] = field(default_factory=list)
    x: list[np.ndarray] = field(default_factory=list)
    k: list[np.ndarray] = field(default_factory=list)
    dense: list[np.ndarray] = field(default_factory=list)
    too_much: bool = False  # dense output was more than is kept

    def add(self, t, x, k, dense, rows: int, at: int) -> None:
        """Keep rows as chunk number `at`, the last; doing it twice, where Ctrl-C came in between, has no further effect."""
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

    def bytes_from(self, chunk: int) -> int:
        """What the chunks from this one on take."""
        return sum(part.nbytes for parts in (self.t, self.x, self.k, self.dense) for part in parts[chunk:])

    def renew(self, t: float, k: np.ndarray) -> None:
        """Write (v', λ) anew where the last row is of this time: inputs have jumped there."""
        if self.t and self.t[-1][-1] == t:
            self.k[-1][-1] = k

    def as_last(self, t: float, x, k) -> tuple[float, np.ndarray, np.ndarray]:
        """A state: the last row, where that is the same, or a copy."""
        if self.t and self.t[-1][-1] == t and np.array_equal(self.x[-1][-1], x) and np.array_equal(self.k[-1][-1], k):
            return t, self.x[-1][-1], self.k[-1][-1]
        return t, x.copy(), k.copy()

    def joined(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        count = len(self.t)
        if count != 1 or len(self.k) != 1:
            self.t, self.x, self.k = ([np.concatenate(part[:count])] for part in (self.t, self.x, self.k))
            self.dense = [np.concatenate(self.dense[:count])] if self.dense else []
        return self.t[0], self.x[0], self.k[0]


@dataclass(eq=False)
class Trail:
    """What accepted steps left behind."""

    plan: Any  # what ran; of several plans, the last one, for states (q, v)
    data: np.ndarray | None  # numbers of the model's functions; None where the run was loaded: there is no model
    steps_kept: bool  # every step, and not the times that were asked for
    begin: Start | None = None  # the consistent start
    events: Sequence[tuple] = ()  # (number of the event, t, x, k)
    memory: Any = None  # what the loop remembered at its end
    noted: Any = None  # what it noted on the way
    record: WrittenRows | None = None  # as the loop wrote them
    start: tuple | None = None  # t and x
    stop: tuple | None = None  # t, x and k at the end, where they are not the last row
    paths: Sequence = ()  # over singular positions
    parts: tuple[Solution, ...] = ()  # runs of several plans, one after the other
    story: Story | None = None  # where the integrator was left open: what was seen, and the changes of plan
    stopped: tuple[str, float] | None = None  # why the run failed, and the end it was to reach
    repeat: Repeat | None = None  # runs a stretch of it again, with the same plan and events
    again: Again | None = None  # runs the whole of it again: the same steps
    first_step: float | None = None  # as it was given
    lam0: np.ndarray | None = None  # multipliers that it began with, where they were given
    sizes_before: np.ndarray | None = None  # how large the motion had been before it, where another plan ran then
    sizes: np.ndarray | None = None  # how large it has been at the end, and the tolerances then
    when: float = field(default_factory=time.time)  # seconds since 1970
    inputs: InputTables | None = None  # what it was driven by
    controls: Any = None  # controllers that wrote some of them; its log has what they answered
    modes: np.ndarray | None = None  # of the switches of a system's functions, at the start; None where they were not followed
    reasons: Callable[[Solution], list[str]] | None = None  # says what led to the plan, line by line
    parent: Solution | None = None  # the run, of which this is a part at other times
    impacts: Sequence[tuple] = ()  # (number of the event, t, impulses), where events mapped the state of a System
    rows: Rows | None = None  # where they are there at once
    single: bool = False  # one time, given as a number: users' arrays have no time axis
    named: NamedRows | None = None  # what was kept of each row in the place of states
    by_code: Callable[[], Solution] | None = None  # makes a run of tables as code, for what only that has
    ends_alone: bool = False  # of so many coordinates that its beginning and end are kept, and what is asked for
    # of a loaded run
    slopes: np.ndarray | None = None  # q' where it is not v
    frames: dict[str, np.ndarray] = field(default_factory=dict)  # what is drawn at equally spaced times
    kept: dict[str, np.ndarray] = field(default_factory=dict)  # what acts in it, time first
    pairs: np.ndarray | None = None  # which row acts on which velocity
    unknowns: dict[str, np.ndarray] | None = None  # what its formulation solved for; None in early files
    known: dict[str, Any] = field(default_factory=dict)  # what was computed along the run; see `remembered`

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"by_code": None}  # the mechanism stays where it is

    @cached_property
    def arrays(self) -> Rows:
        """All rows."""
        if self.rows is not None:
            return self.rows
        if self.parts:
            return _joined(self.parts)
        if self.record.t:
            return self.record.joined()
        return np.zeros(0), np.zeros((0, len(self.stop[1]))), np.zeros((0, len(self.stop[2])))

    @property
    def dense(self) -> np.ndarray:
        """What dense output is made of, of the step that ends at each row; without columns where steps can be taken again."""
        if self.record is None or not self.record.t:
            return np.zeros((len(self.arrays[0]), 0))
        self.record.joined()
        return self.record.dense[0] if self.record.dense else np.zeros((len(self.arrays[0]), 0))

    @property
    def looks_inside(self) -> bool:
        """Whether the steps of the run can be looked into."""
        return self.steps_kept and (self.plan.integrator.one_step or self.dense.shape[1] > 0)

    @property
    def first(self) -> tuple[float, np.ndarray]:
        """t and x at the beginning, which need not be a time that was kept."""
        return float(self.start[0]), self.start[1]

    @cached_property
    def final(self) -> tuple[float, np.ndarray, np.ndarray]:
        """t, x and k at the end, which need not be a time that was kept."""
        if self.parts:
            last = self.parts[-1]
            t, x, k = last.trail.final
            return t, x[: size_of(last)], in_all_rows(last.trail.plan, k)
        if self.data is None and self.parent is None:
            return self.stop
        t, x, k = self.arrays
        if len(t) and (self.steps_kept or self.parent is not None):
            return float(t[-1]), x[-1], k[-1]
        return self.stop

    @property
    def earlier(self) -> list[tuple[Any, float]]:
        """Plans that ran before the last one, each with the time (s) at which another one took over."""
        if self.parent is not None:
            return self.parent.trail.earlier
        known = [(part.trail.plan, float(part.trail.start[0])) for part in self.parts]
        return [(one, t) for (one, since), (other, t) in pairwise(known) if since != t and one.choice != other.choice]

    @property
    def bytes_of_steps(self) -> int:
        """What all steps of the run take, in bytes, where they are kept."""
        return 8 * self.memory.accepted * (1 + sum(len(part) for part in self.final[1:]))

    @property
    def limits(self) -> dict[str, Any]:
        """The limits of steps that the run had, as a run takes them."""
        return {"max_steps": self.memory.limit, "max_step": self.memory.h_max}

    def shaped(self, values: np.ndarray) -> np.ndarray:
        """Rows as users read them: without a time axis where one time was given as a number."""
        return values[0] if self.single else values

    @property
    def mechanism(self) -> Any:
        """What the names of a mechanism mean here; None where the run is not of one."""
        if self.parent is not None:
            return self.parent.trail.mechanism
        return self.known["mechanism"] if self.data is None else self.plan.model.system.resolver

    @property
    def impact(self) -> Any:
        """What initial="impact" gave at the start; None where the run began otherwise."""
        if self.parent is not None:
            return self.parent.trail.impact
        return self.known["impact"] if self.data is None else self.begin.impact


def remembered(name: str) -> Callable[[Callable], Callable]:
    """Keep what a function of a solution gives, under this name in its trail. A loaded run brings it along."""

    def decorate(compute: Callable) -> Callable:
        @functools.wraps(compute)
        def read(sol: Solution) -> Any:
            known = sol.trail.known
            if name not in known:
                known[name] = compute(sol)
            return known[name]

        return read

    return decorate


def size_of(part: Solution) -> int:
    """How many numbers (q, v) are; a formulation may add others behind them."""
    model = part.trail.plan.model
    return model.nq + model.nv


def all_rows(lam: np.ndarray, kept: tuple[int, ...], n_lam: int) -> np.ndarray:
    """Return multipliers of all rows, the last axis, from those of the kept ones; as they are if all are there."""
    if lam.shape[-1] == n_lam:
        return lam
    full = np.zeros((*lam.shape[:-1], n_lam))
    full[..., list(kept)] = lam
    return full


def in_all_rows(plan, k: np.ndarray) -> np.ndarray:
    """Return (v', λ) with a multiplier for every row: of redundant ones some plans solve for all, others for those they keep."""
    if plan.rows is None:
        return k
    nv = plan.model.nv
    return np.concatenate([k[..., :nv], all_rows(k[..., nv:], plan.rows, plan.model.n_lam)], axis=-1)


def _joined(parts: Sequence[Solution]) -> Rows:
    """Rows of all parts; the first row of a later part is the last one of the part before."""
    found = []
    for i, part in enumerate(parts):
        t, x, k = part.trail.arrays
        skip = 1 if i and part.trail.steps_kept else 0
        found.append((t[skip:], x[skip:, : size_of(part)], in_all_rows(part.trail.plan, k[skip:])))
    t, x, k = (np.concatenate(rows) for rows in zip(*found, strict=True))
    return t, x, k


SUMS = (
    "steps", "rejected", "taken again for events", "failed attempts", "projection failures", "field evaluations", "residuals",
    "Jacobians", "factorizations", "pulls",
)  # fmt: skip


def join(parts: Sequence[Solution]) -> Solution:
    """Return the solution of all parts; it ends like the last one."""
    last, own = parts[-1], parts[-1].trail
    modes = next((part.trail.modes for part in parts if part.trail.modes is not None), None)  # before that all slept
    trail = Trail(
        own.plan.of_states(), own.data, own.steps_kept, own.begin, own.events, own.memory, own.noted,
        start=parts[0].trail.start, parts=tuple(parts), impacts=own.impacts, inputs=own.inputs, controls=own.controls,
        modes=modes,
    )  # fmt: skip
    return type(last)(trail, last.ended)


def joined_states(parts: Sequence[Solution], times: np.ndarray, forward: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) and (v', λ) at times in the order of the run, each from the part that covers it."""
    starts = np.array([part.trail.start[0] for part in parts[1:]])
    owner = np.searchsorted(starts * forward, times * forward, side="right")
    size = size_of(parts[0])
    xs, ks = np.empty((len(times), size)), np.empty((len(times), len(in_all_rows(parts[0].trail.plan, parts[0].trail.final[2]))))
    for index in np.unique(owner):
        here = owner == index
        found = parts[index](times[here])
        xs[here], ks[here] = found.trail.arrays[1][:, :size], in_all_rows(parts[index].trail.plan, found.trail.arrays[2])
    return xs, ks


def joined_counters(parts: Sequence[Solution]) -> dict[str, Any]:
    """Counters of all parts together."""
    each = [part.stats for part in parts]
    total = {name: sum(found[name] for found in each) for name in SUMS}
    total["smallest pivot ratio"] = min(found["smallest pivot ratio"] for found in each)
    total["stiff"] = any(found["stiff"] for found in each)
    return each[-1] | total
