"""What a store was made from: enough to tell whether a sweep may go on with it, and if not, what is different."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .._version import __version__
from .job import Job

FORMAT = 2  # of the store


def identity(job: Job) -> dict[str, Any]:
    """Return what the numbers in a store follow from, hashed part by part."""
    return {
        "format": FORMAT,
        "version": __version__,
        "members": job.count,
        "chunk": job.chunk,
        "system": _equations(job),
        "methods": f"{job.plan!r} {job.plan.choice!r} {sorted(job.limits.items())}{' open' if job.open else ''}",
        "times": hashed(job.save_t, job.t0, job.t1),
        "starts": hashed(job.q0, job.v0, job.held, job.initial, *(() if job.lam0 is None else (job.lam0,))),
        "params": {name: hashed(values) for name, values in job.params.items()},
        "inputs": hashed(*job.tables.values, job.tables.times, job.inputs),
        "outputs": list(job.wanted or ()),
        "events": {name: _event(job, name, event) for name, event in job.plan.events.items()},
    }


WORDS = {
    "format": "a store of another format", "version": "another version of holonomic", "members": "another number of members",
    "chunk": "chunks of another size", "system": "another system: its equations or numbers differ",
    "methods": "other methods, tolerances or limits", "times": "other times to save", "starts": "other starts",
    "inputs": "other inputs", "outputs": "other outputs", "events": "other events",
}  # fmt: skip


def differences(stored: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """Say in words what is different between a store and a sweep."""
    found = []
    for key, value in ours.items():
        if stored.get(key) == value:
            continue
        if key == "params":
            names = [name for name in {*value, *stored.get(key, {})} if stored.get(key, {}).get(name) != value.get(name)]
            found.append(f"other values of {', '.join(sorted(names))}")
        elif key in ("version", "members", "format"):
            found.append(f"{WORDS[key]} ({stored.get(key)} in the store, {value} here)")
        else:
            found.append(WORDS[key])
    return found


def _equations(job: Job) -> str:
    """The traced equations themselves, and the numbers they are evaluated with."""
    tapes, kernels = job.program.tapes, job.program.slot_kernels()
    texts = [tapes[group][name] for group in sorted(tapes) for name in sorted(tapes[group])]
    names = [f"{kernel.__module__} {kernel.__qualname__}" for kernel in kernels]
    return hashed(*texts, job.data, *names, job.program.redundant)


def _event(job: Job, name: str, event) -> dict[str, str | None]:
    """Its direction and what it does; of a `then` that cannot be compared, why not."""
    text, why = job.plan.model.map_text(event.then, f"then of event {name!r}") if event.then is not None else ("", "")
    return {"does": None if text is None else hashed(event.sign, event.stops, text), "why": why}


def untold(stored: dict[str, Any], ours: dict[str, Any]) -> tuple[str, str] | None:
    """Return an event whose `then` cannot be compared, and why, if there is one: it must not count as equal."""
    for events in (ours["events"], stored.get("events", {})):
        for name, event in events.items():
            if isinstance(event, dict) and event["does"] is None:
                return name, event["why"]
    return None


def hashed(*things) -> str:
    """Return a short hash of arrays, and of things whose repr says all about them."""
    digest = hashlib.sha256()
    for thing in things:
        if isinstance(thing, np.ndarray):
            digest.update(f"{thing.dtype.str}{thing.shape}".encode())
            digest.update(np.ascontiguousarray(thing).tobytes())
        else:
            digest.update(thing if isinstance(thing, bytes) else repr(thing).encode() + b"\0")
    return digest.hexdigest()[:32]
