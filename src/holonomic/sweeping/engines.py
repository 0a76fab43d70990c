"""Where a sweep runs: on threads of this machine, on any concurrent.futures.Executor, or on a Dask cluster.

Threads run in the compiled loop, which does not hold Python's lock. To other processes goes what all members share, once per
process, and the members' own numbers piece by piece.
"""

from __future__ import annotations

import importlib
import os
import pickle
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import BadArgument, HolonomicError, MissingExtra
from ..results.identity import hashed
from .backpressure import Ahead, completed
from .chunk_run import run_piece
from .ensemble_sources import Whole
from .job import Chunk, Job
from .side_by_side import SideBySide

AHEAD = 2  # pieces under way per thread


class Threads:
    """Run pieces side by side on threads."""

    name, halts, whole = "threads", True, Whole
    tables_beyond = None

    def __init__(self, workers: int | None = None):
        self.workers = workers or os.cpu_count() or 1

    def chunks(self, job: Job, pieces: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
        # members that need Python go to threads of their own, so that those of one piece do not wait for each other
        beside = SideBySide(job, self.workers)
        with ThreadPoolExecutor(self.workers) as single, ThreadPoolExecutor(self.workers) as pool:
            try:
                submit = lambda piece: pool.submit(run_piece, job, *piece, single.map, beside)
                yield from completed(submit, pieces, AHEAD * self.workers, job.halt, ends=True)
            except BaseException:
                job.halt.ask()  # nobody waits for the pieces under way
                raise


FEWEST = 8  # pieces under way, where the number of workers is not known


class Futures:
    """Run pieces on an executor: processes of this machine, or of others through MPI."""

    name, halts, whole = "executor", True, Whole
    tables_beyond = None

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

    name, halts, whole = "dask", False, Whole
    tables_beyond = None

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
                if job.halt.asked:  # a budget that is used up; Ctrl-C is thrown
                    break
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


REMEMBERED = 8  # jobs a worker keeps compiled


@dataclass(frozen=True)
class Parcel:
    """A job without its members, as bytes; equal names mean equal jobs."""

    name: str
    content: bytes

    @classmethod
    def of(cls, job: Job) -> Parcel:
        """Pack a job, or say what of it cannot be packed."""
        if job.open is not None:
            job.open.make_all(job)
        try:
            content = _pickler().dumps(job.part(0, 0))
        except HolonomicError:
            raise
        except Exception as problem:
            raise BadArgument(_culprit(job, problem)) from problem
        return cls(hashed(content), content)


def load(content: bytes) -> Job:
    """Unpack a job where it arrived, and compile it."""
    try:
        job = pickle.loads(content)
    except HolonomicError:
        raise
    except Exception as problem:
        raise HolonomicError(
            f"a worker cannot load the sweep: {type(problem).__name__}: {problem}. Its Python must find the same modules and "
            "versions: install them there, or send the file (client.upload_file with Dask)."
        ) from problem
    _ = job.program.fns
    return job


def run_part(job: Job, part: Job, first: int) -> Chunk:
    """Run members on a worker; `part` holds their numbers, the first of them is number `first`."""
    whole = replace(
        job, count=part.count, params=part.params, tables=part.tables, q0=part.q0, v0=part.v0, lam0=part.lam0, roots=part.roots
    )
    chunk = run_piece(whole, 0, part.count)
    chunk.first, chunk.last = first, first + part.count
    for name in ("why", "changes", "notes", "near", "grown"):
        setattr(chunk, name, {first + m: told for m, told in getattr(chunk, name).items()})
    chunk.events.member = chunk.events.member + first
    return chunk


_loaded: OrderedDict[str, Job] = OrderedDict()


def run_parcel(name: str, content: bytes, part: Job, first: int) -> Chunk:
    """`run_part` for workers that share nothing: a job is unpacked and compiled when it comes for the first time."""
    if name not in _loaded:
        _loaded[name] = load(content)
        while len(_loaded) > REMEMBERED:
            _loaded.popitem(last=False)
    return run_part(_loaded[name], part, first)


def numbers(job: Job, first: int, last: int) -> Job:
    """The numbers of a stretch of members alone."""
    nothing = np.zeros(0)
    return replace(
        job.part(first, last), program=None, save_t=nothing, data=nothing, memory=None, held=nothing,
        limits={}, places={}, open=None,
    )  # fmt: skip


def _pickler():
    """cloudpickle, which comes with Dask and packs functions by value, or pickle."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return pickle


def _culprit(job: Job, problem: Exception) -> str:
    """Say which function of the user's cannot be packed, and what to do."""
    system, events = job.plan.model.system, job.plan.events
    roles = {name: getattr(system, name) for name in system.__dataclass_fields__}
    roles |= {f"event {name!r}": event.f for name, event in events.items()}
    roles |= {f"then of event {name!r}": event.then for name, event in events.items() if event.then is not None}
    for role, thing in roles.items():
        try:
            _pickler().dumps(thing)
        except Exception as own:
            where = getattr(thing, "__qualname__", type(thing).__name__)
            return (
                f"{role} ({where}) cannot be sent to workers: {own}. Define it at the top level of a module that they can "
                "import, or pip install cloudpickle, which sends functions by value."
            )
    return f'the sweep cannot be sent to workers: {problem}. Use on="threads", or leave out what cannot be pickled.'
