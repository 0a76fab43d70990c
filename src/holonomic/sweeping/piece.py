"""Running a stretch of members on one thread: what every engine on a CPU does in the end."""

from __future__ import annotations

import itertools

import numpy as np

from ..kernels import state as s
from ..kernels.batch import BY_PYTHON, MANY_EVENTS, run_members
from ..planning.plan import MISSING
from ..running.workspace import Workspace
from .by_python import run_by_python
from .job import Chunk, Happenings, Job
from .members import UNDECIDED
from .quantities import Quantities

EVENTS_OF_ONE = 16  # events of a member for which there is room at first


def run_piece(job: Job, first: int, last: int) -> Chunk:
    """Run members first .. last-1 of a job, and keep of them what is wanted."""
    return condense(job, run_all(job, first, last))


def not_run(job: Job, first: int, last: int, why: str) -> Chunk:
    """Members that did not run, as a chunk without values."""
    chunk = _empty(job, first, last)
    chunk.why = {m: why for m in range(first, last)}
    return condense(job, chunk)


def _empty(job: Job, first: int, last: int) -> Chunk:
    n, (times, nx, nk) = last - first, job.shape
    return Chunk(
        first, last, x=np.full((n, times, nx), np.nan), k=np.full((n, times, nk), np.nan),
        status=np.zeros(n, dtype=np.int64), reached=np.full(n, job.t0), steps=np.zeros(n, dtype=np.int64),
        rows=np.zeros(n, dtype=np.int64), ended=np.full(n, -1), events=Happenings.none(nx, nk),
    )  # fmt: skip


def run_all(job: Job, first: int, last: int) -> Chunk:
    """Run members first .. last-1 of a job, whole."""
    program, n = job.program, last - first
    times, nx, nk = job.shape
    members = job.members(first, last)
    chunk = _empty(job, first, last)
    chunk.why = {first + m: why for m, why in members.unable.items()}
    todo = [m for m in range(n) if m not in members.unable]
    if program.by_python:
        run_by_python(job, members, todo, chunk)
        return chunk
    work, values = Workspace(program, paths=0), job.tables.rows(first, last)
    S0, I0 = job.memory
    logs, room, nev = [], EVENTS_OF_ONE, len(program.events)
    while todo:
        log = (
            np.zeros(n, dtype=np.int64), np.zeros((n, room * nev)), np.zeros((n, room * nev), dtype=np.int64),
            np.zeros((n, room * nev, nx)), np.zeros((n, room * nev, nk)),
        )  # fmt: skip
        for begin, end in stretches(todo):
            run_members(
                begin, end, program.slots, program.fns, program.sizes, program.integrator.ip, program.integrator.fp,
                program.sp, members.data, members.starts, members.at_lam, S0, I0, program.order,
                program.integrator.remembers, job.stops, (job.tables.at, job.tables.first, job.tables.times, values),
                np.empty(members.data.shape[1]), np.empty(s.N_FLOATS), np.empty(s.N_INTS, dtype=np.int64),
                work.x, work.xn, work.xs, work.K, work.E, work.W, work.atol, work.turns, np.empty(times),
                job.save_t, *work.ev, np.empty(2 * nev), *work.found, work.xe, work.ke, *work.rec_ev, work.passing, chunk.x,
                chunk.k, chunk.status, chunk.reached, chunk.steps, chunk.rows, chunk.ended, *log,
            )  # fmt: skip
        again = np.isin(chunk.status, [*MISSING, MANY_EVENTS])
        for code, fn in MISSING.items():
            if np.any(chunk.status == code):
                program.add(fn)
        if np.any(chunk.status == MANY_EVENTS):
            room *= 8
        done = [m for m in todo if not again[m]]
        logs += [_log(first, m, *log) for m in done if log[0][m]]
        todo = np.flatnonzero(again).tolist()
    aside = np.flatnonzero(chunk.status == BY_PYTHON).tolist()
    chunk.events = Happenings.joined([Happenings.none(nx, nk), *logs])
    if aside:
        run_by_python(job, members, aside, chunk)
    return chunk


def condense(job: Job, chunk: Chunk) -> Chunk:
    """Keep the wanted quantities in the place of x and k, where all of them can be read here."""
    if not job.wanted or chunk.kept:
        return chunk
    read = Quantities(job, chunk.first, chunk.last, chunk.x, chunk.k)
    if all(read.knows(name) for name in job.wanted):
        chunk.kept = {name: np.array(read[name]) for name in job.wanted}
        chunk.x, chunk.k = chunk.x[:0], chunk.k[:0]
    return chunk


def finish(job: Job, chunk: Chunk) -> Chunk:
    """Do what a worker without the user's functions had to leave: members it could not decide on, names it does not know."""
    for m in [m for m, why in chunk.why.items() if why == UNDECIDED]:
        alone, row = run_all(job, m, m + 1), m - chunk.first
        alone = condense(job, alone) if chunk.kept else alone
        for name in ("status", "reached", "steps", "rows", "ended"):
            getattr(chunk, name)[row] = getattr(alone, name)[0]
        if chunk.kept:
            for name, values in chunk.kept.items():
                values[row] = alone.kept[name][0]
        else:
            chunk.x[row], chunk.k[row] = alone.x[0], alone.k[0]
        del chunk.why[m]
        chunk.why |= alone.why
        chunk.events = Happenings.joined([chunk.events, alone.events])
    return condense(job, chunk)


def _log(first: int, m: int, count, t, which, x, k) -> Happenings:
    """The events of one member."""
    rows = slice(0, int(count[m]))
    return Happenings(np.full(count[m], first + m), which[m, rows], t[m, rows], x[m, rows], k[m, rows])


def stretches(members: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive members."""
    found = []
    for _, group in itertools.groupby(enumerate(members), lambda pair: pair[1] - pair[0]):
        run = [m for _, m in group]
        found.append((run[0], run[-1] + 1))
    return found
