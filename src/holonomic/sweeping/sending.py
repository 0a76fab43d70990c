"""Sending a job to other processes: what all members share once per process, their own numbers piece by piece."""

from __future__ import annotations

import importlib
import pickle
from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from ..errors import BadArgument, HolonomicError
from .chunk_run import run_piece
from .identity import hashed
from .job import Chunk, Job

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
        job, count=part.count, params=part.params, tables=part.tables, q0=part.q0, v0=part.v0
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
        limits={}, places={},
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
    return f"the sweep cannot be sent to workers: {problem}. Use on=\"threads\", or leave out what cannot be pickled."
