"""Job and Chunk: what an engine is given, and what it gives back.

A job says everything about a sweep but where it runs. An engine is an object with one method,

    chunks(job, pieces) -> iterator of Chunk        pieces: (first, last) stretches of members, last excluded

which yields one chunk per piece, in any order, as each is finished. A member does not depend on its neighbours,
so the numbers are the same whichever engine runs it, and in whatever pieces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from ..loop.batch import enter_tables
from ..native.layout import Memory
from ..planning.plan import Plan
from ..running.sampled import Answers
from .checks import Checks, refuse
from .halt import Halt
from .inputs import MemberTables
from .members import Members, consistent, rows_of
from .open import Open
from .program import Program

CHUNK_BYTES = 8 << 20  # of results in one chunk
FEWEST, MOST = 16, 4096  # members in a chunk
PARTS = 32  # into so many chunks a small sweep is cut, for an even load


@dataclass(frozen=True)
class Job:
    """One sweep: a program, and what is different for each member. It can be pickled."""

    program: Program
    t0: float
    t1: float
    save_t: np.ndarray
    count: int  # members
    data: np.ndarray  # what members have in common
    places: dict[str, slice]  # of parameters, in data
    params: dict[str, np.ndarray]  # by name, (member, ...)
    tables: MemberTables
    inputs: tuple[str, ...]  # those that the sweep sets
    q0: np.ndarray  # (member, coordinate), or one row for all
    v0: np.ndarray
    initial: str
    held: np.ndarray  # which coordinates stay when a start is projected
    lam0: np.ndarray | None  # multipliers that are expected, or guessed: (member, row), or one row for all
    roots: tuple[slice, np.ndarray] | None  # what chooses the solution for y of a Dae, by guesses: where in data, (member, entry)
    limits: dict[str, Any]
    memory: Memory  # of the loop, as every member begins with it
    wanted: tuple[str, ...] | None = None  # quantities to keep; None: the whole state
    open: Open | None = None  # where the integrator was left to us, member by member
    checks: Checks = field(default_factory=Checks)  # what `simulate` looks into and may be different for each member
    halt: Halt = field(default_factory=Halt, compare=False)  # Ctrl-C, and what the sweep may use
    answers: Answers | None = None  # of controllers, which write into `tables`

    @property
    def plan(self) -> Plan:
        """The plan; only in the process in which the sweep was called."""
        assert self.program.plan is not None
        return self.program.plan

    @property
    def forward(self) -> float:
        """1, or -1 where time runs backwards."""
        return 1.0 if self.t1 >= self.t0 else -1.0

    def data_of(self, first: int, last: int) -> np.ndarray:
        """Data of a stretch of members, (member, entry)."""
        DATA = np.tile(self.data, (last - first, 1))
        for name, values in self.params.items():
            DATA[:, self.places[name]] = values[first:last].reshape(last - first, -1)
        if self.roots is not None:
            DATA[:, self.roots[0]] = self.roots[1][first:last]
        return DATA

    def members(self, first: int, last: int) -> Members:
        """Data and consistent starts of a stretch of members."""
        X0 = np.hstack([rows_of(self.q0, first, last), rows_of(self.v0, first, last)])
        DATA, tables = self.data_of(first, last), self.tables
        for m in range(last - first if len(tables.at) else 0):
            enter_tables(m, self.t0, self.forward, DATA[m], tables.for_kernels(tables.rows(first, last)))
        members = consistent(self.program, X0, DATA, self.t0, self.initial, self.held, self._expected(first, last), self.forward)
        self.check(members, first, last)
        return members

    def check(self, members: Members, first: int, last: int) -> None:
        """Name those of a stretch of members that `simulate` would refuse."""
        look_into = (self.tables, self.tables.rows(first, last), self.forward)
        refuse(self.checks, self.program, members, self.t0, self.initial, self._expected(first, last), look_into)

    def _expected(self, first: int, last: int) -> np.ndarray | None:
        return None if self.lam0 is None else rows_of(self.lam0, first, last)

    def part(self, first: int, last: int) -> Job:
        """The same sweep over a stretch of its members."""
        return replace(
            self, count=last - first, params={name: values[first:last] for name, values in self.params.items()},
            tables=self.tables.part(first, last),
            q0=self.q0 if len(self.q0) == 1 else self.q0[first:last],
            v0=self.v0 if len(self.v0) == 1 else self.v0[first:last],
            lam0=self.lam0 if self.lam0 is None or len(self.lam0) == 1 else self.lam0[first:last],
            roots=None if self.roots is None else (self.roots[0], self.roots[1][first:last]),
        )  # fmt: skip

    @cached_property
    def stops(self) -> np.ndarray:
        """Times at which every member's steps end."""
        return self.tables.stops(self.t0, self.t1)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Saved times, unknowns in x and numbers in k of one member."""
        return (len(self.save_t), *self.program.shape)

    @property
    def chunk(self) -> int:
        """Members in one chunk; it follows from the job alone, so that another machine cuts alike."""
        times, nx, nk = self.shape
        # what is kept may be less than what is computed: both have to fit
        fit = CHUNK_BYTES // max(1, 8 * times * (nx + nk))
        return int(max(1, min(fit, MOST, max(FEWEST, -(-self.count // PARTS)))))

    def pieces(self) -> list[tuple[int, int]]:
        """All members, cut into chunks."""
        return [(first, min(first + self.chunk, self.count)) for first in range(0, self.count, self.chunk)]


@dataclass
class Happenings:
    """Events of a stretch of members, in order of members and times."""

    member: np.ndarray
    which: np.ndarray  # number of the event
    t: np.ndarray
    x: np.ndarray
    k: np.ndarray

    @classmethod
    def none(cls, nx: int, nk: int) -> Happenings:
        """No event."""
        whole = np.zeros(0, dtype=np.int64)
        return cls(whole, whole, np.zeros(0), np.zeros((0, nx)), np.zeros((0, nk)))

    @property
    def nbytes(self) -> int:
        """What they take."""
        return sum(part.nbytes for part in (self.member, self.which, self.t, self.x, self.k))

    def among(self, first: int, last: int, inside: bool = True) -> Happenings:
        """Those of the members first .. last-1, or of all others."""
        mine = ((self.member >= first) & (self.member < last)) == inside
        return Happenings(self.member[mine], self.which[mine], self.t[mine], self.x[mine], self.k[mine])

    @classmethod
    def joined(cls, parts: list[Happenings]) -> Happenings:
        """All in one, in order of members."""
        whole = [np.concatenate([getattr(part, name) for part in parts]) for name in ("member", "which", "t", "x", "k")]
        order = np.argsort(whole[0], kind="stable")
        return cls(*(each[order] for each in whole))


@dataclass
class Chunk:
    """What the members first .. last-1 computed; row i of each array belongs to member first + i."""

    first: int
    last: int
    x: np.ndarray  # (member, time, unknown); NaN where a member had stopped
    k: np.ndarray  # (member, time, accelerations and multipliers)
    status: np.ndarray  # of `errors`: DONE, EVENT where a terminal event ended the run, or why a member failed
    reached: np.ndarray  # time
    steps: np.ndarray
    rows: np.ndarray  # saved
    ended: np.ndarray  # number of the terminal event; -1: none
    events: Happenings
    why: dict[int, str] = field(default_factory=dict)  # member -> why it failed, where a status does not say it
    kept: dict[str, np.ndarray] = field(default_factory=dict)  # the wanted quantities, in the place of x and k
    way: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int8))  # what each began with, see `open`
    changes: dict[int, list[tuple[float, str, str]]] = field(default_factory=dict)  # member -> (t, methods, why) on the way
    notes: dict[int, list[tuple[str, str]]] = field(default_factory=dict)  # member -> (kind of warning, text)
    grown: dict[int, tuple[float, float]] = field(default_factory=dict)  # members with a fixed step that burst: from, to
    in_lanes: int = 0  # members that ran side by side
    near: dict[int, Any] = field(default_factory=dict)  # members to look at for singular positions, see `remarks`

    def __post_init__(self):
        if not len(self.way):
            self.way = np.zeros(self.last - self.first, dtype=np.int8)


class Engine(Protocol):
    """What runs a job."""

    name: str  # in words: where members run
    halts: bool  # whether it looks at job.halt and ends; otherwise Ctrl-C is thrown into it
    whole: Callable[[Job], Any]  # where the whole states of all members are kept: in this process, or in memory of its own
    tables_beyond: int | None  # rows of a mechanism that it runs as tables by itself, and then has `check`; None: it does not

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]: ...
