"""Members that need Python on the way: events that map the state, methods that need a run of their own to start.

They run one after the other through the loop of `simulate`, and so give the same numbers.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import DONE, EVENT, STEP_COLLAPSED, BadArgument, HolonomicError
from ..kernels import state as s
from ..running.inputs import InputTables
from ..running.run import Run
from ..running.walk import walk
from ..starting.initial import Start
from .job import Chunk, Happenings, Job
from .members import Members


def run_by_python(job: Job, members: Members, todo: list[int], chunk: Chunk) -> None:
    """Run single members of a chunk and enter what they give."""
    if job.program.plan is None:
        raise BadArgument(UNABLE)
    plan, model, names = job.plan, job.plan.model, list(job.plan.events)
    logs, size = [chunk.events], model.nq + model.nv
    for m in todo:
        x0, data = members.starts[m, :size].copy(), members.data[m].copy()
        tables = InputTables(model)
        given = iter(job.tables.of_member(chunk.first + m))
        tables.tables = [(i, *next(given)) for i, _, _ in tables.tables]
        tables.breaks = job.stops[:-1] if job.t1 >= job.t0 else job.stops[-2::-1]
        tables.set(data, job.t0, 1.0 if job.t1 >= job.t0 else -1.0)
        run = Run(plan, data, job.t0, x0, job.t1, save_t=job.save_t, **job.limits)
        start = Start(x0[: model.nq], x0[model.nq :], rows=plan.rows, redundant=job.program.redundant)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sol = walk(run, plan, tables, start, job.t0, job.t1, None, False, free=job.initial == "free")
        except HolonomicError as problem:
            sol = problem.solution
            chunk.why[chunk.first + m] = str(problem).replace(" See error.solution.", "")
            chunk.status[m] = STEP_COLLAPSED
        else:
            chunk.status[m] = DONE if sol.ended == "end" else EVENT
            chunk.ended[m] = -1 if sol.ended == "end" else names.index(sol.ended)
        t, x, k = run.record.joined() if run.record.t else (np.zeros(0), chunk.x[m, :0], chunk.k[m, :0])
        chunk.x[m, : len(t)], chunk.k[m, : len(t)], chunk.rows[m] = x, k, len(t)
        chunk.reached[m], chunk.steps[m] = run.t, run.I[s.ACCEPTED] + run.I[s.REJECTED]
        if run.watching.log:
            which, when, xs, ks = (np.array(part) for part in zip(*run.watching.log, strict=True))
            logs.append(Happenings(np.full(len(when), chunk.first + m), which, when, xs, ks))
    chunk.events = Happenings.joined(logs)


UNABLE = (
    "events with then= and methods with starting points run through the user's functions, which this worker does not have."
)
