"""The engines on other processes: any concurrent.futures.Executor, and a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor
from typing import Any

from ..errors import BadArgument, HolonomicError, MissingExtra
from .backpressure import Ahead, completed
from .job import Chunk, Job
from .sending import Parcel, load, numbers, run_parcel, run_part
from .sources import Whole

AHEAD = 2  # pieces waiting per worker
FEWEST = 8  # pieces under way, where the number of workers cannot be told


class Futures:
    """Run pieces on an executor: processes of this machine, or of others through MPI."""

    halts, whole = True, Whole

    def __init__(self, executor: Executor):
        self.executor = executor

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        parcel = Parcel.of(job)
        window = max(FEWEST, AHEAD * int(getattr(self.executor, "_max_workers", 0) or 0))

        def submit(piece):
            return self.executor.submit(run_parcel, parcel.name, parcel.content, numbers(job, *piece), piece[0])

        try:
            yield from completed(submit, pieces, window, job.halt, ends=False)
        except BrokenExecutor as problem:
            raise HolonomicError(
                f"a worker of {type(self.executor).__name__} died: {problem} Give the sweep a store= and call it again with "
                "resume=True, or use a Dask cluster, which starts anew what a dead worker was doing."
            ) from problem


class Dask:
    """Run pieces on a Dask cluster; it starts anew what a dead worker was doing, and uses workers that join late."""

    halts, whole = False, Whole

    def __init__(self, client):
        if client.asynchronous:
            raise BadArgument("on=client: sweep waits for its results, so it needs a Client with asynchronous=False.")
        self.client = client
        self._threads, self._asked = 0, -1e9

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        try:
            from distributed import KilledWorker, as_completed
        except ImportError:
            raise MissingExtra('a Dask cluster needs distributed: pip install "holonomic[cluster]".') from None
        parcel, client = Parcel.of(job), self.client
        # a task of its own: unpacked and compiled once per worker, and again where a worker with it has died
        shared = client.submit(load, parcel.content, key=f"holonomic-{parcel.name}")

        def submit(piece):
            return client.submit(run_part, shared, numbers(job, *piece), piece[0], pure=False)

        ahead = Ahead(pieces)
        first = list(ahead.hand_out(submit, self._window(), lambda future: future.key))
        running = as_completed(first, with_results=True)
        try:
            for future, chunk in running:
                del ahead.running[future.key]
                for another in ahead.hand_out(submit, self._window(), lambda future: future.key):
                    running.add(another)
                yield chunk
        except KilledWorker as problem:
            raise HolonomicError(
                f"several workers died of the same members: {problem} Look into the workers' memory limits and logs."
            ) from problem
        finally:
            client.cancel([*running.futures, shared])

    def _window(self) -> int:
        """Pieces under way: a few per thread of all workers there are, asked for once a second."""
        if time.monotonic() > self._asked + 1.0:
            self._threads, self._asked = sum(self.client.nthreads().values()), time.monotonic()
        return max(FEWEST, AHEAD * self._threads)


def is_dask_client(on: Any) -> bool:
    """Whether something is a Client of Dask, without importing it."""
    return any(kind.__module__.split(".")[0] == "distributed" and kind.__name__ == "Client" for kind in type(on).__mro__)
