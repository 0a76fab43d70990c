"""A sweep on disk: results streamed to a Zarr group that xarray reads, and a journal that survives being killed.

Each chunk of members is one file per quantity. When all files of a chunk are written, a record with their sizes and
checksums is put into the journal, by renaming: it is there whole or not at all. A chunk without a record, or whose files
do not match it, is not finished and is computed again; one with a record never is.
"""

from __future__ import annotations

import io
import json
import time
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadArgument, FileFailed, HolonomicError
from ..files import holds_something, place_of, trouble, words, write_bytes
from ..notices import notice
from ..results.identity import refuse_other
from ..results.provenance import provenance_of
from ..results.run_store import compressor, zarr_library
from .ensemble import MembersLog
from .ensemble_sources import Source, not_kept
from .job import Chunk, Happenings, Job
from .member_quantities import Quantities, dimensions
from .store_files import RECORDS, begin, founded, identity, is_founded, lock, mend, seal, sealed, stamp, tidy, unsealed

OF_MEMBERS = {"status": "i8", "reached": "f8", "steps": "i8", "ended": "i8", "rows": "i8"}
TOLD = ("why", "changes", "notes")  # of single members, in the journal
ATTRIBUTE = "holonomic"
STORED = ("q", "v", "a", "s", "w")  # arrays of a group that are read as they are


class Store:
    """The Zarr group of one sweep, open for writing."""

    def __init__(self, job: Job, path, resume: bool, on: str = "threads"):
        self.zarr = zarr_library()
        self.job, self.path = job, place_of(path)
        ours = identity(job)
        there = holds_something(self.path)
        if there and not resume:
            raise BadArgument(f"store={str(path)!r} exists. Pass resume=True to go on with it, or take another name.")
        self.done: dict[int, dict[str, Any]] = {}
        with trouble(self.path):
            if there and is_founded(self.path):
                self._resume(ours)
            else:
                self._create(ours, on)

    # what is there

    @property
    def journal(self) -> Path:
        """The folder of records."""
        return self.path / RECORDS

    def _resume(self, ours: dict[str, Any]) -> None:
        known = founded(self.path)
        refuse_other(f"store={str(self.path)!r}", known["identity"], json.loads(json.dumps(ours)), "another store")
        self._held = lock(self.path)
        try:
            tidy(self.path)
            fill = mend(self.path, known)
            self.group = self.zarr.open_group(str(self.path), mode="r+")
            if fill:
                self._fill()
            self._read_journal()
        except BaseException as problem:
            self.close()
            if isinstance(problem, Exception) and not isinstance(problem, HolonomicError | OSError):  # of Zarr's, without end
                raise BadArgument(
                    f"store={str(self.path)!r} cannot be resumed: Zarr cannot read it ({problem}). Take another store."
                ) from problem
            raise

    def _create(self, ours: dict[str, Any], on: str) -> None:
        job, shapes = self.job, self._shapes()
        self._held = begin(self.path)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of metadata that version 3 of Zarr has not settled
                self.group = self.zarr.create_group(str(self.path))
                self.group.attrs[ATTRIBUTE] = ours | {
                    "plan": repr(job.plan), "labels": self._labels(),
                    "provenance": provenance_of(job.plan, time.time(), on=on).to_dict(),
                }  # fmt: skip
                self.group.create_array("time", shape=job.save_t.shape, dtype="f8", dimension_names=("time",))
                for name, kind in OF_MEMBERS.items():
                    self.group.create_array(
                        name, shape=(job.count,), chunks=(job.chunk,), dtype=kind, fill_value=0, dimension_names=("member",)
                    )
                for name, values in job.params.items():
                    own = tuple(f"{name}_{i}" for i in range(values.ndim - 1))
                    self.group.create_array(
                        f"param_{name}", shape=values.shape, dtype=values.dtype, dimension_names=("member", *own)
                    )
                for name, shape in shapes.items():
                    self.group.create_array(
                        name, shape=(job.count, *shape), chunks=(job.chunk, *shape), dtype="f8", fill_value=np.nan,
                        dimension_names=dimensions(job.program, name, 1 + len(shape)), compressors=compressor(self.zarr),
                    )  # fmt: skip
                self._fill()
                self.zarr.consolidate_metadata(str(self.path))
            seal(self.path, ours)
        except BaseException:
            self.close()
            raise

    def _fill(self) -> None:
        """Enter times and parameters."""
        self.group["time"][:] = self.job.save_t
        for name, values in self.job.params.items():
            self.group[f"param_{name}"][:] = values

    def _labels(self) -> dict[str, list[str]]:
        model = self.job.plan.model
        return {"coordinate": list(model.coordinates), "row": list(model.row_labels), "event": list(self.job.plan.events)}

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """What is stored, and its shape behind the member: the parts of x and k, or the wanted quantities."""
        job, times = self.job, len(self.job.save_t)
        if job.wanted is None:
            return {name: (times, where.stop - where.start) for name, (_, where) in parts(job).items()}
        for name in job.wanted:
            if name in (*OF_MEMBERS, "time") or "/" in name:
                raise BadArgument(f"outputs={name!r}: a store needs this name for itself. Rename the output.")
        empty = np.full((1, times, job.shape[1]), np.nan), np.full((1, times, job.shape[2]), np.nan)
        look = Quantities(job, 0, 1, *empty)
        return {name: np.shape(look[name])[1:] for name in job.wanted}

    def close(self) -> None:
        self._held.close()

    # the journal

    def _read_journal(self) -> None:
        broken = 0
        for first, last in self.job.pieces():
            path = self.journal / f"{first}.json"
            if not path.exists():
                continue
            record = _record(path)
            if record is not None and record["last"] == last and self._matches(first, record["files"]):
                self.done[first] = record
            else:
                broken += 1
                path.unlink()
        if broken:
            notice(f"{broken} chunk{'s' * (broken > 1)} of {self.path} half-written or damaged; computed again.")

    def _matches(self, first: int, files: dict[str, Any]) -> bool:
        return all(stamp(self._file(name, first)) == said for name, said in files.items())

    def _file(self, name: str, first: int) -> Path:
        if name == "events":
            return self.journal / f"{first}.npz"
        ndim = self.group[name].ndim
        return self.path.joinpath(name, "c", str(first // self.job.chunk), *["0"] * (ndim - 1))

    def missing(self) -> list[tuple[int, int]]:
        """Pieces that are not finished."""
        return [piece for piece in self.job.pieces() if piece[0] not in self.done]

    @property
    def members_done(self) -> int:
        return sum(last - first for first, last in self.job.pieces() if first in self.done)

    # writing

    def add(self, chunk: Chunk) -> None:
        """Write a chunk, then its record."""
        try:
            self._write(chunk)
        except OSError as problem:
            raise FileFailed(
                f"writing to {self.path} failed: {words(problem)}. {self.members_done} of {self.job.count} "
                "members are kept there. Make room, and call sweep again with resume=True."
            ) from problem

    def _write(self, chunk: Chunk) -> None:
        here = slice(chunk.first, chunk.last)
        values = {name: getattr(chunk, name) for name in OF_MEMBERS}
        if self.job.wanted is None:
            values |= {name: getattr(chunk, of)[:, :, where] for name, (of, where) in parts(self.job).items()}
        else:
            values |= chunk.kept
        for name, array in values.items():
            self.group[name][here] = array
        files = {name: stamp(self._file(name, chunk.first)) for name in values}
        if len(chunk.events.t):
            packed = io.BytesIO()
            np.savez(packed, **vars(chunk.events))
            write_bytes(self._file("events", chunk.first), packed.getvalue())
            files["events"] = stamp(self._file("events", chunk.first))
        told = {name: {str(m): each for m, each in getattr(chunk, name).items()} for name in TOLD}
        record = {"last": chunk.last, "files": files, "way": chunk.way.tolist(), **told}
        write_bytes(self.journal / f"{chunk.first}.json", sealed(json.dumps(record)))
        self.done[chunk.first] = record

    # reading

    def log(self) -> MembersLog:
        """How the finished members ended."""
        log = MembersLog(self.job)
        for name in ("status", "steps", "reached", "ended"):
            getattr(log, name)[:] = self.group[name][:]
        for first, record in self.done.items():
            log.way[first : record["last"]] = record["way"]
            for name in TOLD:
                getattr(log, name).update({int(m): each for m, each in record[name].items()})
            if "events" in record["files"]:
                with np.load(self._file("events", first)) as packed:
                    log._events[first] = Happenings(**packed)
        return log


class Stored(Source):
    """Values of an ensemble read from its store."""

    def __init__(self, store: Store):
        self.store, self.job = store, store.job

    def _read(self, name: str, first: int, last: int):
        group, job = self.store.group, self.job
        if job.wanted is not None:
            if name not in job.wanted:
                raise not_kept(name, job.wanted)
            return group[name][first:last]
        if name in STORED and not self._nothing.has_own(name):
            return self._read_array(name, first, last)
        return self._quantities(first, last)[name]

    def _read_array(self, name: str, first: int, last: int) -> np.ndarray:
        group = self.store.group
        return group[name][first:last] if name in STORED and name in group else getattr(self._quantities(first, last), name)

    def _quantities(self, first: int, last: int) -> Quantities:
        group, job = self.store.group, self.job
        nothing = np.zeros((last - first, len(job.save_t), 0))  # an Ode has no k
        x, k = (
            np.concatenate([nothing, *(group[part][first:last] for part, (of, _) in parts(job).items() if of == which)], axis=2)
            for which in ("x", "k")
        )
        return Quantities(job, first, last, x, k)

    @cached_property
    def _nothing(self) -> Quantities:
        """What could be read of no member: what names mean."""
        empty = (np.zeros((0, *self.job.shape[:2])), np.zeros((0, self.job.shape[0], self.job.shape[2])))
        return Quantities(self.job, 0, 0, *empty)

    def array(self, name: str, m: int | None = None) -> np.ndarray:
        if self.job.wanted is not None:
            return super().array(name, m)
        if m is not None:
            return self._read_array(name, m, m + 1)
        return np.concatenate([self._read_array(name, first, last) for first, last in self.job.pieces()])

    def values(self, name: str):
        """All members, in memory."""
        parts = [self._read(name, first, last) for first, last in self.job.pieces()]
        if not isinstance(parts[0], np.ndarray):
            raise BadArgument(f'{name!r} has several quantities: name one, for example "{name}.position".')
        return np.concatenate(parts)

    def of_member(self, name: str, m: int):
        return self._read(name, m, m + 1)

    def stretches(self, name: str) -> Iterator[tuple[int, int, np.ndarray]]:
        for first, last in self.job.pieces():
            yield first, last, self._read(name, first, last)

    def names(self) -> list[str]:
        if self.job.wanted is not None:
            return list(self.job.wanted)
        return self._nothing.names()

    def provenance(self) -> dict[str, Any] | None:
        """As it was when the store was made."""
        return self.store.group.attrs[ATTRIBUTE].get("provenance")

    def as_dataset(self, xarray):
        """The store as a Dataset that reads when it is used."""
        return xarray.open_zarr(str(self.store.path), consolidated=True)

    def __str__(self) -> str:
        return f"in {self.store.path}"


def parts(job: Job) -> dict[str, tuple[str, slice]]:
    """Name of each part of x and k in a store, and where it lies there."""
    model = job.program.model
    nq, nv, (_, nx, nk) = model.nq, model.nv, job.shape
    nc, ns = model.nc, model.extras.ns
    cut = {
        "q": ("x", slice(0, nc)), "s": ("x", slice(nc, nc + ns)), "w": ("x", slice(nc + ns, nq)),
        "v": ("x", slice(nq, nq + nv)), "more": ("x", slice(nq + nv, nx)),
        "a": ("k", slice(0, nv)), "lam": ("k", slice(nv, nk)),
    }  # fmt: skip
    return {name: (of, where) for name, (of, where) in cut.items() if where.stop > where.start}


def _record(path: Path) -> dict[str, Any] | None:
    """Read a record of the journal; None: damaged."""
    try:
        text = unsealed(json.loads(path.read_bytes()))
    except ValueError:
        return None
    return None if text is None else json.loads(text)
