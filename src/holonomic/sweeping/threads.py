"""The engine on the cores of this machine: threads in the compiled loop, which does not hold Python's lock."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from .job import Chunk, Job
from .piece import run_piece

AHEAD = 2  # pieces waiting per thread: results that nobody has taken yet are bounded


class Threads:
    """Run pieces side by side on threads."""

    def __init__(self, workers: int | None = None):
        self.workers = workers or os.cpu_count() or 1

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
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
