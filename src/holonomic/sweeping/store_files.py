"""What a store holds before its first chunk: identity and metadata, each with a checksum, and a lock.

A store begins with its lock, in a folder of records inside one of its arrays, where readers of Zarr do not look. Arrays and
metadata follow, and last the identity: a store without one was left while it was made, holds nothing, and is made again.
Only a folder that has the lock is ours to clear. Metadata are small and kept twice, so that damage to them is mended.

The identity is what the numbers in a store follow from: enough to tell whether a sweep may go on with it, and if not, what is
different.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import zlib
from pathlib import Path
from typing import IO, Any

from .._version import __version__
from ..errors import BadArgument, HolonomicError
from ..files import DRAFT, holds_something, writable, write_bytes
from ..notices import notice
from ..results.identity import hashed, of_equations, of_events
from .job import Job

RECORDS = Path("status", "journal")
METADATA = "zarr.json"
PARTIAL = re.compile(r".+\.[0-9a-f]{32}\.partial")  # as Zarr calls what it has not written to the end


def is_founded(path: Path) -> bool:
    """Whether a store was made to the end."""
    return (path / RECORDS / "identity.json").exists()


def lock(path: Path) -> IO[str]:
    """Keep other processes out; the lock ends with this process, however it ends."""
    held = open(path / RECORDS / "lock", "w")
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            held.close()
            raise HolonomicError(
                f"another process is writing to store={str(path)!r}. Wait for it, or take another store."
            ) from None
    return held


def begin(path: Path) -> IO[str]:
    """Return the lock of a new store, in a folder that holds nothing else."""
    if holds_something(path) and not (path / RECORDS / "lock").exists():
        raise BadArgument(f"store={str(path)!r} is a folder with other things in it. Take another name.")
    (path / RECORDS).mkdir(parents=True, exist_ok=True)
    held = lock(path)
    for each in sorted(path.rglob("*"), reverse=True):  # files before the folders they are in
        if each.is_dir() and not each.is_symlink():
            with contextlib.suppress(OSError):  # of the lock
                each.rmdir()
        elif each != path / RECORDS / "lock":
            each.unlink()
    return held


def tidy(path: Path) -> None:
    """Remove what a killed process had half written, of ours and of Zarr's; whoever calls has the lock."""
    for each in path.rglob("*"):
        if (DRAFT.fullmatch(each.name) or PARTIAL.fullmatch(each.name)) and each.is_file() and not each.is_symlink():
            each.unlink(missing_ok=True)


def seal(path: Path, identity: dict[str, Any]) -> None:
    """Write the identity, and beside it what was made until now."""
    made = [each for each in path.rglob("*") if each.is_file() and RECORDS not in each.relative_to(path).parents]
    metadata = {_name(each, path): _packed(each.read_bytes()) for each in made if each.name == METADATA}
    stamps = {_name(each, path): stamp(each) for each in made if each.name != METADATA}
    text = json.dumps({"identity": identity, "metadata": metadata, "stamps": stamps})
    write_bytes(writable(path / RECORDS / "identity.json", "store="), sealed(text))


def founded(path: Path) -> dict[str, Any]:
    """Return what `seal` wrote: the identity, metadata and stamps; of an older store the identity alone."""
    found = path / RECORDS / "identity.json"
    try:
        content = json.loads(found.read_bytes())
    except ValueError:
        content = None
    if isinstance(content, dict):  # as it was written before it had a checksum
        return {"identity": content, "metadata": {}, "stamps": {}}
    text = unsealed(content)
    if text is None:
        raise BadArgument(
            f"store={str(path)!r} cannot be resumed: {found} is damaged, and what the store was made with cannot be told. Take "
            "another store, or put that file back from a copy."
        )
    return json.loads(text)


def mend(path: Path, known: dict[str, Any]) -> bool:
    """Write damaged metadata again; return whether arrays that were filled at the beginning have to be, too."""
    broken = 0
    for name, packed in known["metadata"].items():
        file, content = path / name, zlib.decompress(base64.b64decode(packed))
        if not file.is_file() or file.read_bytes() != content:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(writable(file, "store="), content)
            broken += 1
    if broken:
        notice(f"metadata of {path} damaged ({broken} files); written again.")
    return any(stamp(path / name) != said for name, said in known["stamps"].items())


def stamp(path: Path) -> list[int] | None:
    """Size and checksum of a file; None where there is none: Zarr leaves out chunks that hold nothing."""
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return [len(content), zlib.crc32(content)]


def sealed(text: str) -> bytes:
    """A text with its checksum."""
    return json.dumps([zlib.crc32(text.encode()), text]).encode()


def unsealed(content) -> str | None:
    """The text of what `sealed` made, as it comes out of JSON; None: damaged."""
    match content:
        case [int(said), str(text)] if zlib.crc32(text.encode()) == said:
            return text
    return None


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content)).decode()


def _name(file: Path, path: Path) -> str:
    return file.relative_to(path).as_posix()


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
        "events": of_events(job.plan),
    }


def _equations(job: Job) -> str:
    """The traced equations themselves, and the numbers they are evaluated with."""
    kernels, model = job.program.slot_kernels(), job.plan.model
    if model.dense:
        tapes = job.program.tapes
        texts = [tapes[group][name] for group in sorted(tapes) for name in sorted(tapes[group])]
    elif model.content is not None and not job.plan.events and not model.output_shapes:
        texts = [model.tier, model.content]
    else:
        raise BadArgument(
            f"store= needs to tell what equations a sweep was made with, and of {model.name} nobody can: there are events, "
            "outputs, friction under reactions, functions of outside, or operators of your own. Leave out store=, or say "
            'compile="now".'
        )
    names = [f"{kernel.__module__} {kernel.__qualname__}" for kernel in kernels]
    return of_equations(job.program.opaque() if model.dense else None, *texts, job.data, *names, job.program.redundant)
