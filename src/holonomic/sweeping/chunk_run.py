"""Running a stretch of members on one thread: what every engine on a CPU does in the end."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import numpy as np

from ..errors import DONE, EVENT, NEED_PASSAGE, TOO_MANY_STEPS
from ..kernels.memory import RUN
from ..loop import automatic_looks, batch
from ..loop.batch import BY_PYTHON, HALTED, HANDED_OVER, MANY_EVENTS, NOTED
from ..native.callbacks import raise_what_was_raised
from ..native.layout import Memory
from ..planning.plan import MISSING
from ..planning.workspace import Workspace
from ..running.detour import FAILURES
from .by_python import run_by_python
from .halt import UNFINISHED
from .job import Chunk, Happenings, Job
from .member_quantities import Quantities
from .members import UNDECIDED, Members
from .open import HANDED_OVER_FOR, STIFF, Way
from .program import Program
from .remarks import look_closer, tell
from .side_by_side import SideBySide

EVENTS_OF_ONE = 16  # events of a member for which there is room at first


def run_piece(job: Job, first: int, last: int, spread: Callable = map, beside: SideBySide | None = None) -> Chunk:
    """Run members first .. last-1 of a job, and keep of them what is wanted.

    `spread` maps over those that need Python, `beside` runs some of the others side by side.
    """
    return condense(job, run_all(job, first, last, spread, beside))


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


def run_all(job: Job, first: int, last: int, spread: Callable = map, beside: SideBySide | None = None) -> Chunk:
    """Run members first .. last-1 of a job, whole."""
    program, n = job.program, last - first
    members = job.members(first, last)
    chunk = _empty(job, first, last)
    chunk.why = {first + m: why for m, why in members.unable.items()}
    todo = np.array([m for m in range(n) if m not in members.unable], dtype=np.int64)
    values = job.tables.rows(first, last)
    # events that jump over zero, and laws of controllers
    by_python = program.by_python or (bool(program.events) and job.tables.jump) or job.answers is not None
    if job.open is None:
        handed = todo if by_python else _together(job, Way(program, job.memory), members, values, todo, chunk, None, beside)
    else:
        chunk.way, *looks = job.open.begin_with(job, members, values)
        handed = [] if not by_python else todo.tolist()
        for number in [] if by_python else np.unique(chunk.way[todo]).tolist():
            mine, way = todo[chunk.way[todo] == number], job.open.way(job, number)
            handed += mine.tolist() if way is None else _together(job, way, members, values, mine, chunk, looks, beside)
    if len(handed) and program.plan is None:
        chunk.why |= {first + m: UNDECIDED for m in handed}
    elif len(handed):
        run_by_python(job, members, sorted(map(int, handed)), chunk, spread)
    return chunk


def _together(job: Job, way: Way, members: Members, values, todo, chunk: Chunk, looks=None, beside=None) -> list[int]:
    """Run members that begin alike in the compiled loop; return those that need Python."""
    program, n, (times, nx, nk) = way.program, len(members.data), job.shape
    work, begin = Workspace(program, paths=0), way.memory
    alarm = program.alarm if job.initial != "free" else 0
    begin = begin.copy()
    if alarm:
        begin.crosses, begin.notes = alarm, 0
    nev, room, number = len(program.events), EVENTS_OF_ONE, int(chunk.way[todo[0]]) if looks is not None else 0
    steps, expected = looks or (np.zeros(0, dtype=np.int64), np.zeros(0))
    noted = np.zeros((n, _width(program, begin)))
    positions = 0 if job.open is None else job.open.positions(program.model)
    spare = np.empty((automatic_looks.ROWS + 1, work.loop.state.K.shape[1]))
    begin.at_lam = members.at_lam
    starts = batch.Members(members.data, members.starts, begin.array, RUN.new().array)
    results = batch.Results(
        job.save_t, np.empty(times), np.zeros((0, 0)), chunk.x, chunk.k, chunk.status, chunk.reached, chunk.steps, chunk.rows, noted
    )
    logs, left = [chunk.events], todo
    if beside is not None:
        given = {"looks_steps": steps.copy(), "looks_expected": expected, "results_notes": noted}
        left = beside.run(way, number, begin, members, todo, given, chunk)
    one_by_one, began = left, time.thread_time()
    while len(left):
        log = batch.Log(
            chunk.ended, np.zeros(n, dtype=np.int64), np.zeros((n, room * nev)), np.zeros((n, room * nev), dtype=np.int64),
            np.zeros((n, room * nev, nx)), np.zeros((n, room * nev, nk)),
        )  # fmt: skip
        looks_at = automatic_looks.Looks(looks is not None, HANDED_OVER_FOR[number], positions, steps.copy(), expected, spare)
        for span in stretches(left.tolist()):
            batch.run_members(
                span, program.slots, program.for_kernels(np.empty(members.data.shape[1])), program.method, work.loop,
                work.events, starts, job.tables.for_kernels(values, job.stops), looks_at,
                job.halt.flag, results, log,
            )  # fmt: skip
            raise_what_was_raised()
        status = chunk.status[left]
        missing = [code for code in MISSING if code != NEED_PASSAGE or not alarm]
        again = np.isin(status, [*missing, MANY_EVENTS])
        for code in missing:
            if np.any(status == code):
                program.add(MISSING[code])
        if np.any(status == MANY_EVENTS):
            room *= 8
        aside = np.isin(status, [BY_PYTHON, HANDED_OVER])
        if alarm:  # a singular position may be the reason, and another plan lead over it
            aside |= np.isin(status, [NEED_PASSAGE, *FAILURES])
        if number == STIFF:  # what an implicit method of ours cannot do, an explicit one may
            aside |= ~again & ~np.isin(status, [DONE, EVENT, TOO_MANY_STEPS, HALTED])
        logs += [_log(chunk.first, int(m), log) for m in left[~again & ~aside] if log.count[m]]
        chunk.status[left[aside]] = HANDED_OVER
        left = left[again]
        if job.halt.asked:
            chunk.status[left], left = HALTED, left[:0]
    if beside is not None:
        beside.took(way, number, begin, chunk, one_by_one, time.thread_time() - began)
    chunk.events = Happenings.joined(logs)
    stuck = todo[chunk.status[todo] == TOO_MANY_STEPS] if looks is not None else todo[:0]
    if len(stuck):  # one of them is run again, to say what simulate would say
        chunk.status[stuck[0]] = HANDED_OVER
        used = f"max_steps = {job.limits['max_steps']} steps were used up"
        why = f"{used}, as by member {chunk.first + stuck[0]}; its failure says more."
        chunk.why |= {chunk.first + int(m): why for m in stuck[1:]}
    for m in todo[chunk.status[todo] == HALTED].tolist():
        chunk.why[chunk.first + m] = UNFINISHED + job.halt.how
    handed = chunk.status[todo] == HANDED_OVER
    tell(job, program, members, noted, todo[~handed], chunk)
    return todo[handed].tolist()


def _width(program: Program, begin: Memory) -> int:
    """How many numbers are noted of a member."""
    return NOTED + (2 * (program.model.nq + program.model.nv) if begin.notes else 0)


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
    look_closer(job, chunk)
    for m in [m for m, why in chunk.why.items() if why == UNDECIDED]:
        if job.halt.asked:
            chunk.why[m] = UNFINISHED + job.halt.how
            continue
        alone, row = run_all(job, m, m + 1), m - chunk.first
        alone = condense(job, alone) if chunk.kept else alone
        for name in ("status", "reached", "steps", "rows", "ended", "way"):
            getattr(chunk, name)[row] = getattr(alone, name)[0]
        if chunk.kept:
            for name, values in chunk.kept.items():
                values[row] = alone.kept[name][0]
        else:
            chunk.x[row], chunk.k[row] = alone.x[0], alone.k[0]
        del chunk.why[m]
        for name in ("why", "changes", "notes"):
            getattr(chunk, name).update(getattr(alone, name))
        chunk.events = Happenings.joined([chunk.events, alone.events])
    return condense(job, chunk)


def finished(chunk: Chunk) -> int:
    """How many members of a chunk have come to an end of their own."""
    return chunk.last - chunk.first - sum(why.startswith(UNFINISHED) for why in chunk.why.values())


def _log(first: int, m: int, log: batch.Log) -> Happenings:
    """The events of one member."""
    rows = slice(0, int(log.count[m]))
    return Happenings(np.full(log.count[m], first + m), log.index[m, rows], log.t[m, rows], log.x[m, rows], log.k[m, rows])


def stretches(members: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive members."""
    found = []
    for _, group in itertools.groupby(enumerate(members), lambda pair: pair[1] - pair[0]):
        run = [m for _, m in group]
        found.append((run[0], run[-1] + 1))
    return found
