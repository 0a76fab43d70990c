"""The engines on other processes: any concurrent.futures.Executor, and a Dask cluster."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, wait
from typing import Any

from ..errors import BadArgument, HolonomicError, MissingExtra
from .job import Chunk, Job
from .parcel import Parcel, load, numbers, run_parcel, run_part

AHEAD = 2  # pieces waiting per worker
FEWEST = 8  # pieces under way, where the number of workers cannot be told


class Futures:
    """Run pieces on an executor: processes of this machine, or of others through MPI."""

    def __init__(self, executor: Executor):
        self.executor = executor

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        parcel, left = Parcel.of(job), iter(pieces)
        window = max(FEWEST, AHEAD * int(getattr(self.executor, "_max_workers", 0) or 0))

        def submit(piece):
            part = numbers(job, *piece)
            return self.executor.submit(run_parcel, parcel.name, parcel.content, part, piece[0])

        running = set()
        try:
            running = {submit(piece) for piece in itertools.islice(left, window)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                running |= {submit(piece) for piece in itertools.islice(left, len(done))}
                for future in done:
                    yield future.result()
        except BrokenExecutor as problem:
            raise HolonomicError(
                f"a worker of {type(self.executor).__name__} died: {problem} Give the sweep a store= and call it again with "
                "resume=True, or use a Dask cluster, which starts anew what a dead worker was doing."
            ) from problem
        finally:
            for future in running:
                future.cancel()


class Dask:
    """Run pieces on a Dask cluster; it starts anew what a dead worker was doing, and uses workers that join late."""

    def __init__(self, client):
        if client.asynchronous:
            raise BadArgument("on=client: sweep waits for its results, so it needs a Client with asynchronous=False.")
        self.client = client

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        try:
            from distributed import KilledWorker, as_completed
        except ImportError:
            raise MissingExtra('a Dask cluster needs distributed: pip install "holonomic[cluster]".') from None
        parcel, left, client = Parcel.of(job), iter(pieces), self.client
        # a task of its own: unpacked and compiled once per worker, and again where a worker with it has died
        shared = client.submit(load, parcel.content, key=f"holonomic-{parcel.name}")

        def submit(piece):
            return client.submit(run_part, shared, numbers(job, *piece), piece[0], pure=False)

        running = as_completed([submit(piece) for piece in itertools.islice(left, self._window())])
        try:
            for future in running:
                more = self._window() - running.count()
                for piece in itertools.islice(left, max(1, more)):
                    running.add(submit(piece))
                yield future.result()
        except KilledWorker as problem:
            raise HolonomicError(
                f"several workers died of the same members: {problem} Look into the workers' memory limits and logs."
            ) from problem
        finally:
            client.cancel([*running.futures, shared])

    def _window(self) -> int:
        """Pieces under way: a few per thread of all workers there are now."""
        return max(FEWEST, AHEAD * sum(self.client.nthreads().values()))


def is_dask_client(on: Any) -> bool:
    """Whether something is a Client of Dask, without importing it."""
    return any(kind.__module__.split(".")[0] == "distributed" and kind.__name__ == "Client" for kind in type(on).__mro__)
