"""The engine on the cores of this machine: threads in the compiled loop, which does not hold Python's lock."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import numpy as np

from ..errors import NEED_REFINED, NEED_TERMS
from ..kernels import state as s
from ..kernels.batch import run_members
from ..kernels.signatures import Fn
from ..running import Workspace
from .job import Chunk, Job

MISSING = {NEED_REFINED: Fn.REFINED, NEED_TERMS: Fn.TERMS}
AHEAD = 2  # pieces waiting per thread: results that nobody has taken yet are bounded


class Threads:
    """Run pieces side by side on threads."""

    def __init__(self, workers: int | None = None):
        self.workers = workers or os.cpu_count() or 1

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        _ = job.memory  # made here, not by several threads at once
        left = iter(pieces)
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                running = {pool.submit(run_piece, job, *piece) for piece in itertools.islice(left, AHEAD * self.workers)}
                while running:
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    running |= {pool.submit(run_piece, job, *piece) for piece in itertools.islice(left, len(done))}
                    for future in done:
                        yield future.result()
            except BaseException:  # Ctrl-C: those that run are waited for, the others are not begun
                pool.shutdown(cancel_futures=True)
                raise


def run_piece(job: Job, first: int, last: int) -> Chunk:
    """Run a stretch of members on this thread."""
    plan, n = job.plan, last - first
    times, nx, nk = job.shape
    members = job.members(first, last)
    chunk = Chunk(
        first, last, x=np.full((n, times, nx), np.nan), k=np.full((n, times, nk), np.nan),
        status=np.zeros(n, dtype=np.int64), reached=np.full(n, job.t0), steps=np.zeros(n, dtype=np.int64),
        rows=np.zeros(n, dtype=np.int64), unable={first + m: why for m, why in members.unable.items()},
    )  # fmt: skip
    work = Workspace(plan)
    S0, I0 = job.memory
    todo = [m for m in range(n) if m not in members.unable]
    while todo:
        for begin, end in _stretches(todo):
            run_members(
                begin, end, plan.slots, plan.fns, plan.sizes, plan.integrator.ip, plan.integrator.fp,
                plan.stabilization.sp, members.data, members.starts, members.at_lam, S0, I0, job.order,
                np.empty(members.data.shape[1]), np.empty(s.N_FLOATS), np.empty(s.N_INTS, dtype=np.int64),
                work.x, work.xn, work.xs, work.K, work.E, work.W, work.atol, work.turns, np.empty(times),
                job.save_t, *work.ev, *work.found, work.xe, work.ke, *work.rec_ev, chunk.x, chunk.k, chunk.status,
                chunk.reached, chunk.steps, chunk.rows,
            )  # fmt: skip
        for code, fn in MISSING.items():
            if np.any(chunk.status == code):
                plan.add_function(fn)
        todo = np.flatnonzero(np.isin(chunk.status, list(MISSING))).tolist()
    return chunk


def _stretches(members: list[int]) -> list[tuple[int, int]]:
    """Runs of consecutive members."""
    found = []
    for _, group in itertools.groupby(enumerate(members), lambda pair: pair[1] - pair[0]):
        run = [m for _, m in group]
        found.append((run[0], run[-1] + 1))
    return found
