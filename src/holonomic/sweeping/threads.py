"""The engine on the cores of this machine: threads in the compiled loop, which does not hold Python's lock."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

from .backpressure import completed
from .chunk_run import run_piece
from .job import Chunk, Job
from .sources import Whole

AHEAD = 2  # pieces under way per thread


class Threads:
    """Run pieces side by side on threads."""

    halts, whole = True, Whole

    def __init__(self, workers: int | None = None):
        self.workers = workers or os.cpu_count() or 1

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        # members that need Python go to threads of their own, so that those of one piece do not wait for each other
        with ThreadPoolExecutor(self.workers) as single, ThreadPoolExecutor(self.workers) as pool:
            try:
                submit = lambda piece: pool.submit(run_piece, job, *piece, single.map)
                yield from completed(submit, pieces, AHEAD * self.workers, job.halt, ends=True)
            except BaseException:
                job.halt.ask()  # nobody waits for what is under way
                raise
