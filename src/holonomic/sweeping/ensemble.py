"""Ensemble: the record of many runs, labelled, member by member."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import DONE, EVENT, BadArgument, MissingExtra
from ..model.given_numbers import is_number, vector
from ..planning.plan import Plan
from ..planning.words import reason
from ..results.controls import ControlLogs, Samples
from ..results.provenance import Provenance, provenance_of
from . import remarks
from .ensemble_sources import Source
from .job import Chunk, Happenings, Job
from .member import Member
from .member_quantities import impulses
from .sketch import Summary

HELD_BYTES = 256 << 20  # up to so much of one quantity is taken into memory for exact quantiles


@dataclass(frozen=True)
class Failure:
    """One member that did not reach the end."""

    member: int
    t: float
    why: str


@dataclass(frozen=True)
class EnsembleEvents:
    """One event over all members: which member, when, in which state."""

    member: np.ndarray
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    members: int

    def __len__(self) -> int:
        return len(self.t)

    def of_member(self, number: int) -> EnsembleEvents:
        """Those of one member."""
        mine = self.member == number
        return EnsembleEvents(self.member[mine], self.t[mine], self.q[mine], self.v[mine], self.members)

    @cached_property
    def count(self) -> np.ndarray:
        """How often it happened, by member."""
        return np.bincount(self.member, minlength=self.members)

    @cached_property
    def first(self) -> np.ndarray:
        """Time at which it happened first, by member; NaN where it did not."""
        found = np.full(self.members, np.nan)
        found[self.member[::-1]] = self.t[::-1]
        return found


class MembersLog:
    """How the members of a sweep ended, filled chunk by chunk."""

    def __init__(self, job: Job):
        n = job.count
        self.job = job
        self.status, self.steps = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.reached, self.ended = np.full(n, job.t0), np.full(n, -1)
        self.why: dict[int, str] = {}
        self.way = np.zeros(n, dtype=np.int8)
        self.on = "threads"  # where they ran
        self.in_lanes = 0  # how many of them side by side
        self.changes: dict[int, list] = {}
        self.notes: dict[int, list] = {}
        self._events = {-1: Happenings.none(*job.shape[1:])}

    def add(self, chunk: Chunk) -> None:
        """Take what a chunk says of its members."""
        here = slice(chunk.first, chunk.last)
        self.status[here], self.steps[here] = chunk.status, chunk.steps
        self.reached[here], self.ended[here] = chunk.reached, chunk.ended
        self.way[here] = chunk.way
        self.why |= chunk.why
        self.changes |= chunk.changes
        self.notes |= chunk.notes
        self.in_lanes += chunk.in_lanes
        self._events[chunk.first] = chunk.events

    @property
    def events(self) -> Happenings:
        """All events, in order of members."""
        return Happenings.joined([self._events[first] for first in sorted(self._events)])

    def failures(self) -> list[Failure]:
        """Which members did not reach the end or a terminal event, when and why."""
        words = {int(status): reason(int(status)) for status in np.unique(self.status)}
        bad = np.flatnonzero((self.status != DONE) & (self.status != EVENT))
        return [
            Failure(int(m), float(self.reached[m]), self.why.get(int(m)) or words[int(self.status[m])])
            for m in sorted({*bad.tolist(), *self.why})
        ]


def _refuse_nameless(name) -> None:
    if not isinstance(name, str):
        raise BadArgument(f'a quantity of the members is called by a text, as "q", got {name!r}.')


class NoSuchMember(BadArgument, IndexError):
    """A number beyond the members of an ensemble."""


class Ensemble:
    """What many runs computed: arrays with the member as first axis, time as second.

    `runs[3]` is one member, read as a Solution is; `for run in runs` goes through all. Values that were kept in a store are
    read when asked for. Those in memory are not copied: copy an array before you write into it. `failed` says which members
    stopped, `changed` which changed methods on the way, `noted` what `simulate` would have warned of. The reducers (`mean`,
    `std`, `extremes`, `quantiles`) never hold all of them.
    """

    def __init__(self, job: Job, source: Source, log: MembersLog):
        self.job, self.t = job, job.save_t
        self._when = time.time()
        self.source, self._log = source, log
        self._summaries: dict[str, Summary] = {}  # of quantities that are too large to be held
        self.params: dict[str, np.ndarray] = job.params
        self.reached, self.steps = log.reached, log.steps
        self.failed: list[Failure] = log.failures()
        #: changes of methods on the way, where the integrator was left open: member, t, to, why
        self.changed: list[remarks.MemberChange] = remarks.changes(job, log.changes)
        #: what `simulate` would warn of: member, kind, text
        self.noted: list[remarks.Note] = remarks.notes(log.notes)

    @cached_property
    def plan(self) -> Plan:
        """What most members began with; `plan.why()` says how many, and which changed methods on the way."""
        count = remarks.begun(self.job, self._log.way, self._log.changes, self.steps > 0)
        return remarks.plan_of_most(self.job, count).of_members(remarks.lines(self.job, count, self.changed))

    @cached_property
    def provenance(self) -> Provenance:
        """Where the numbers come from: versions, kernels, model, methods, processor, date; of a store, when it was made."""
        known = self.source.provenance()
        return provenance_of(self.plan, self._when, on=self._log.on) if known is None else Provenance.from_dict(known)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "plan"} | {"_plan": self.job.plan}

    def __setstate__(self, state: dict[str, Any]) -> None:
        plan = state.pop("_plan")
        vars(self).update(state)
        if self.job.program.plan is None:  # programs travel without; names of a mechanism and outputs are read from it
            self.job.program.plan = plan

    def __len__(self) -> int:
        return self.job.count

    def __iter__(self) -> Iterator[Member]:
        return (Member(self, m) for m in range(len(self)))

    @cached_property
    def ok(self) -> np.ndarray:
        """Which members reached the end, or a terminal event."""
        good = np.ones(len(self), dtype=bool)
        good[[failure.member for failure in self.failed]] = False
        return good

    @property
    def q(self) -> np.ndarray:
        """Positions, (member, time, coordinate); NaN where a member had stopped."""
        return self.source.array("q")

    @property
    def s(self) -> np.ndarray:
        """States, (member, time, state)."""
        return self.source.array("s")

    @property
    def w(self) -> np.ndarray:
        """Algebraic variables, (member, time, variable)."""
        return self.source.array("w")

    @property
    def y(self) -> np.ndarray:
        """States of an Ode, (member, time, component); algebraic unknowns of a Dae, (member, time, row)."""
        return self.source.array("y")

    @property
    def v(self) -> np.ndarray:
        """Velocities, (member, time, coordinate)."""
        return self.source.array("v")

    @property
    def a(self) -> np.ndarray:
        """Accelerations."""
        return self.source.array("a")

    @property
    def lam(self) -> np.ndarray:
        """Multipliers (y of a Dae), (member, time, row)."""
        return self.source.array("lam")

    @property
    def impulses(self) -> np.ndarray:
        """-GᵀΛ of the starts with initial="impact", (member, nv), as `Solution.impulses`; NaN where a member cannot start.

        Computed when asked for, some 0.3 ms a member.
        """
        return impulses(self.job, 0, len(self))

    def impulse(self, label: str) -> np.ndarray:
        """-GᵀΛ of one constraint alone, (member, nv), at starts with initial="impact"."""
        return impulses(self.job, 0, len(self), label)

    def __getitem__(self, name):
        """A quantity of all members by name; a member by its number, several by a slice."""
        if isinstance(name, slice):
            return [Member(self, m) for m in range(*name.indices(len(self)))]
        if isinstance(name, int | np.integer) and is_number(name):
            if not -len(self) <= name < len(self):
                raise NoSuchMember(f"there is no member {name}: the ensemble has {len(self)}, 0 to {len(self) - 1}.")
            return Member(self, int(name) % len(self))
        if not isinstance(name, str):
            raise BadArgument(
                f"an ensemble is read by name (runs['q']), or member by member (runs[3]), got {type(name).__name__}. For some "
                "of the members index what is read: runs.q[mask]."
            )
        if name in self.params and name not in self.source.names():
            return self.params[name]
        return self.source.values(name)

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """All named outputs that were kept, (member, time, ...)."""
        names = [name for name in self.plan.model.output_shapes if name in self.source.names()]
        return {name: self.source.values(name) for name in names}

    @cached_property
    def events(self) -> Mapping[str, EnsembleEvents]:
        """Events by name, over all members."""
        log, model = self._log.events, self.plan.model
        found = {}
        for number, name in enumerate(self.plan.events):
            mine = log.which == number
            x = log.x[mine]
            found[name] = EnsembleEvents(
                log.member[mine], log.t[mine], x[:, : model.nc], x[:, model.nq : model.nq + model.nv], len(self)
            )
        return found

    @property
    def controls(self) -> dict[str, Samples]:
        """What each controller answered, by name: (member, look), NaN where a member had ended."""
        return ControlLogs() if self.job.answers is None else self.job.answers.samples()

    @cached_property
    def ended(self) -> np.ndarray:
        """What ended each run: "end", the name of a terminal event, or "failed"."""
        names = np.array([*self.plan.events, "end"], dtype=object)
        found = names[self._log.ended]
        found[~self.ok] = "failed"
        return found

    # over the members

    def mean(self, name: str) -> np.ndarray:
        """Mean over the members that reached the end, (time, ...)."""
        return self._summed(name).mean()

    def std(self, name: str) -> np.ndarray:
        """Standard deviation over the members that reached the end, (time, ...)."""
        return self._summed(name).std()

    def extremes(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest over the members that reached the end, (time, ...) each."""
        return self._summed(name).extremes()

    def quantiles(self, name: str, q=(0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles over the members that reached the end, (quantile, time, ...).

        Exact where the quantity fits into memory; else from one pass over it, with ranks off by no more than
        `quantile_error(name)`.
        """
        _refuse_nameless(name)
        wanted = vector(q, "q")
        if len(wanted) == 0 or wanted.min() < 0.0 or wanted.max() > 1.0 or isinstance(q, bool):
            raise BadArgument(f"quantiles: q={q} must lie between 0 and 1, as in quantiles({name!r}, [0.05, 0.95]).")
        wanted = wanted.reshape(np.shape(q))
        if self.source.summary(name) is None and self._bytes(name) <= HELD_BYTES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # times that no member reached
                return np.nanquantile(np.asarray(self.source.values(name))[self.ok], wanted, axis=0)
        return self._summed(name).quantiles(wanted)

    def quantile_error(self, name: str) -> float:
        """Largest error of the rank of what `quantiles` gives, as a share of the members; 0: exact."""
        if self.source.summary(name) is None and self._bytes(name) <= HELD_BYTES:
            return 0.0
        return self._summed(name).sketch.error(int(self.ok.sum()))

    def _bytes(self, name: str) -> int:
        for _, _, values in self.source.stretches(name):
            return 8 * len(self) * int(np.prod(np.shape(values)[1:]))
        return 0

    def _summed(self, name: str) -> Summary:
        _refuse_nameless(name)
        known = self.source.summary(name)
        if known is None:
            known = self._summaries.get(name)
        if known is None:
            for first, last, values in self.source.stretches(name):
                if not isinstance(values, np.ndarray):
                    raise BadArgument(f'{name!r} has several quantities: name one, for example "{name}.position".')
                if known is None:
                    known = Summary(values.shape[1:])
                known.add(values[self.ok[first:last]])
            self._summaries[name] = known
        return known

    def to_xarray(self):
        """Return a Dataset with dimensions member, time and coordinate; what is in a store is read as it is used."""
        try:
            import xarray
        except ImportError:
            raise MissingExtra('to_xarray needs xarray: pip install "holonomic[xarray]".') from None
        from .member_quantities import dataset

        return dataset(xarray, self)

    @property
    def on_device(self) -> list[dict[str, Any]]:
        """Device arrays of a sweep on="cuda", one dict per batch: "x" and "k", (time, entry, member), and "members".

        They speak `__cuda_array_interface__`, so CuPy, PyTorch and JAX take them without a copy.
        """
        found = self.source.on_device()
        if found is None:
            raise BadArgument('results are on a device only after a sweep on="cuda" that keeps whole states.')
        return found

    def __repr__(self) -> str:
        lines = [
            f"Ensemble of {len(self)} runs, t = {self.t[0]:g} .. {self.t[-1]:g}, {len(self.t)} times saved",
            f"  {self.plan!r}",
            f"  over: {', '.join([*self.params, *self.job.inputs]) or 'initial values'}",
            f"  {int(np.sum(self.steps))} steps; {len(self.failed)} failed",
        ]
        if self._log.in_lanes:
            lines.append(f"  {self._log.in_lanes} ran side by side, in lanes of vectors")
        where = str(self.source)
        if where:
            lines.append(f"  {where}")
        for name in self.plan.events:
            lines.append(f"  event {name!r}: {len(self.events[name])} in {np.count_nonzero(self.events[name].count)} runs")
        if self.changed:
            lines.append(f"  {len({change.member for change in self.changed})} changed methods on the way, see plan.why()")
        for kind in dict.fromkeys(note.kind for note in self.noted):
            mine = [note.member for note in self.noted if note.kind == kind]
            lines.append(f"  {kind}: {len(mine)} members, first {mine[0]}; see noted")
        lines += [f"    member {f.member} at t = {f.t:.6g}: {f.why}" for f in self.failed[:5]]
        if len(self.failed) > 5:
            lines.append(f"    ... and {len(self.failed) - 5} more")
        return "\n".join(lines)
