"""Members that need Python on the way: events that map the state, methods that need a run of their own to start, and
those whose method the automatic choice has to look at.

They run through the walk of `simulate`, each by itself, and so give the same numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from ..errors import DONE, EVENT, STEP_COLLAPSED, BadArgument, HolonomicError
from ..loop.batch import HALTED
from ..planning.choice import Choice
from ..planning.plan import Plan
from ..planning.reuse import plan_of
from ..results import sampling
from ..results.solution import Solution
from ..results.trail import in_all_rows
from ..running.detour import Crossing
from ..running.run import Run
from ..running.sampled import Sampling
from ..running.walk import walk
from ..starting.initial import Start
from .halt import UNFINISHED, HaltingProgress
from .job import Chunk, Happenings, Job
from .members import Members, rows_of
from .open import IN_SHORT

MAKING = threading.RLock()  # plans


def run_by_python(job: Job, members: Members, todo: list[int], chunk: Chunk, spread: Callable = map) -> None:
    """Run single members of a chunk and enter what they give; `spread` is a map, perhaps over threads."""
    if job.program.plan is None:
        raise BadArgument(UNABLE)
    logs = spread(lambda m: _run(job, members, m, chunk), todo)
    chunk.events = Happenings.joined([chunk.events, *logs])


def _run(job: Job, members: Members, m: int, chunk: Chunk) -> Happenings:
    """Run one member, enter it into its rows of the chunk, and return its events."""
    model, number = job.plan.model, chunk.first + m
    if job.halt.asked:
        chunk.status[m], chunk.why[number] = HALTED, UNFINISHED + job.halt.how
        return Happenings.none(*job.shape[1:])
    size = model.nq + model.nv
    x0, data = members.starts[m, :size].copy(), members.data[m].copy()
    tables = job.tables.of_member(model, number)
    tables.begin(data, job.t0, 1.0 if job.t1 >= job.t0 else -1.0)
    plan, choosing = job.plan, None
    if job.open is not None:
        choosing = job.open.choosing(job)
        plan = job.open.plan_for(job, choosing.in_short()) if chunk.way[m] == IN_SHORT else plan

    def plan_for(choice: Choice) -> Plan:
        with MAKING:
            return plan_of(model, choice, job.plan.events, plan.rows, bool(plan.switches))

    crossing = Crossing(None if job.initial == "free" else plan_for, job.t1)
    run = Run(plan, data, job.t0, x0, job.t1, save_t=job.save_t, inputs=tables, **job.limits)
    if job.initial == "free" and job.lam0 is not None:
        run.lam0 = rows_of(job.lam0, number, number + 1)[0]
    start = Start(x0[: model.nq], x0[model.nq :], rows=plan.rows, redundant=job.program.redundant)
    told: list[tuple[str, str]] = []
    sol: Solution | None
    try:
        if job.answers is not None:
            run.follow(Sampling(job.answers, number))
        sol = walk(
            run, plan, start, job.t0, job.t1, None, False, free=job.initial == "free", choosing=choosing,
            crossing=crossing, bar=HaltingProgress(job.t0, job.t1, job.halt),
            warn=lambda text, kind: told.append((kind.__name__, text)),
        )  # fmt: skip
    except HolonomicError as problem:
        sol = problem.solution
        chunk.why[number] = str(problem).replace(" See error.solution.", "")
        chunk.status[m] = STEP_COLLAPSED
    else:
        if sol.ended == "interrupted":
            chunk.status[m], chunk.why[number] = HALTED, UNFINISHED + job.halt.how
            return Happenings.none(*job.shape[1:])
        chunk.status[m] = DONE if sol.ended == "end" else EVENT
        chunk.ended[m] = -1 if sol.ended == "end" else list(job.plan.events).index(sol.ended)
    if told:
        chunk.notes[number] = told
    if sol is None:
        return Happenings.none(*job.shape[1:])
    _enter(sol, chunk, m, job)
    rows = [row for row in sol.trail.events if row[0] < len(job.plan.events)]
    if not rows:
        return Happenings.none(*job.shape[1:])
    which, when, xs, ks = (list(part) for part in zip(*rows, strict=True))
    there = np.full((len(when), chunk.x.shape[2]), np.nan)  # formulations add different unknowns
    for row, x in zip(there, xs, strict=True):
        row[: len(x)] = x[: len(row)]
    ks = [in_all_rows(plan, k) for k in ks] if len(set(map(len, ks))) > 1 else ks
    known = sol.at_rows(np.array(when), there[:, :size].copy(), np.array(ks))
    return Happenings(np.full(len(when), number), np.array(which), known.t, there, sampling.rows_for(known, job.plan))


def _enter(sol: Solution, chunk: Chunk, m: int, job: Job) -> None:
    """Take over what a run kept, as (q, v) and (v', λ) where members have different formulations.

    y of a Dae stands among the unknowns where steps found it; a run that another plan has helped has it apart.
    """
    t, x, _ = sol.trail.arrays
    rows, width, expected = len(t), chunk.x.shape[2], job.program.lam_in_x
    chunk.x[m], chunk.k[m] = np.nan, np.nan
    size = min(width, x.shape[1])
    chunk.x[m, :rows, :size], chunk.k[m, :rows], chunk.rows[m] = x[:, :size], sampling.rows_for(sol, job.plan), rows
    if expected is not None and size < width:
        chunk.x[m, :rows, expected] = sampling.multipliers(sol)
    chunk.reached[m] = sol.trail.final[0]
    chunk.steps[m] = sum(part.trail.memory.accepted + part.trail.memory.rejected for part in sol.trail.parts or (sol,))
    if sol.trail.story is not None and sol.trail.story.changes:
        chunk.changes[chunk.first + m] = [
            (float(c.t), f"{c.choice.formulation!r} + {c.choice.integrator!r} + {c.choice.stabilization!r}", c.reason)
            for c in sol.trail.story.changes
        ]


UNABLE = "events with then= and methods with starting points run through the user's functions, which this worker does not have."
