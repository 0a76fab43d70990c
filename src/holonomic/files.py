"""Files of results: written whole or not at all, where they were asked for, and with plain words where that cannot be.

A file is written as a draft beside its place and takes its name when it is complete, so that a full disk or a kill leaves
what was there before. A draft that a kill has left goes when the next process writes to that folder. A file has the mode that
the umask gives, or that of the file it takes the place of. A link stays a link: what it points to is written. Devices and pipes
are no files: what needs one refuses them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import stat
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from .errors import BadArgument, FileFailed

DRAFT = re.compile(r"\.([0-9a-f]{8})-(\d+)-[0-9a-f]{12}\.part(\..*)?")  # computer, process, a name of its own
ABANDONED = 86400.0  # seconds after which a draft is taken for one of a killed process where that cannot be asked

_looked_at: set[Path] = set()  # folders in which drafts have been looked for

FULL = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota of the disk is used up"}


def as_path(path, call: str) -> Path:
    """Return what was given as the path of a file; `call` is what the user called, for the message."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise BadArgument(f"{call}({path!r}): give the path of a file, as text or Path.")
    text = os.fspath(path)
    if not text or "\0" in text:
        raise BadArgument(f"{call}({path!r}): this is no name of a file.")
    return Path(text)


def readable(path, call: str) -> Path:
    """Return the path of a file that is there, or say what is there instead."""
    path = as_path(path, call)
    try:
        kind = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise BadArgument(f"there is no file {path}.") from None
    except OSError as problem:
        raise FileFailed(f"{path} cannot be read: {words(problem)}.") from problem
    if stat.S_ISDIR(kind):
        raise BadArgument(f"{path} is a folder, no file.")
    if not stat.S_ISREG(kind):
        raise BadArgument(f"{path} is a device or a pipe, no file.")
    return path


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in plain words what went wrong while a file was read."""
    try:
        yield
    except OSError as problem:
        raise FileFailed(f"{path} cannot be read: {words(problem)}.") from problem


def writable(path, call: str, devices: bool = False) -> Path:
    """Return where a file is to be written, links followed, or say why it cannot be there."""
    path = as_path(path, call)
    try:
        target = path.resolve()
        if target.is_symlink():  # one that leads to itself; Python below 3.13 says so by itself
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        there = target.exists()
        folder = target.parent.is_dir()
    except (OSError, RuntimeError) as problem:  # a link that leads to itself, a name that is too long
        raise FileFailed(f"{path} cannot be written: {words(problem)}.") from problem
    if not folder:
        raise BadArgument(f"there is no folder {target.parent} to write {path.name} in.")
    if target.is_dir():
        raise BadArgument(f"{path} is a folder: give the name of a file in it.")
    if there and not target.is_file() and not devices:
        raise BadArgument(f"{path} is a device or a pipe, no file. Write to a file.")
    if there and not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise FileFailed(f"{path} cannot be written: permission denied.")
    return target


def made_folder(path, call: str) -> Path:
    """Return the path of a folder to write in, made if it is not there, or say why it cannot be."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise BadArgument(f"{call}({path!r}): give the path of a folder, as text or Path.")
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise BadArgument(f"{path} is a file, no folder.") from None
    except (OSError, RuntimeError) as problem:
        raise FileFailed(f"the folder {path} cannot be made: {words(problem)}.") from problem
    if not os.access(path, os.W_OK | os.X_OK):
        raise FileFailed(f"{path} cannot be written in: permission denied.")
    return path


@contextlib.contextmanager
def written(target: Path) -> Iterator[Path]:
    """Give the path of a draft, which takes the name of the target when it is complete.

    The target is what `writable` returned. A device is written to as it is.
    """
    there = target.exists()
    draft = target
    if not there or target.is_file():
        draft = target.with_name(f".{_computer()}-{os.getpid()}-{os.urandom(6).hex()}.part{target.suffix}")
        if target.parent not in _looked_at:
            _looked_at.add(target.parent)
            _remove_left_drafts(target.parent)
    try:
        if draft is not target:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # with the mode that the umask gives
        yield draft
        if draft is not target:
            if there:
                os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
            _to_disk(draft)
            os.replace(draft, target)
    except OSError as problem:
        kept = ", and what was there before is unchanged" if there and draft is not target else ""
        room = " Make room, or take another disk." if problem.errno in FULL else ""
        raise FileFailed(f"{target} cannot be written: {words(problem)}{kept}.{room}") from problem
    finally:
        if draft is not target:
            draft.unlink(missing_ok=True)


def _computer() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _remove_left_drafts(folder: Path) -> None:
    """Remove the drafts of processes that are no more."""
    with contextlib.suppress(OSError):
        for each in os.scandir(folder):
            found = DRAFT.fullmatch(each.name)
            if found and each.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    known = os.name == "posix" and found[1] == _computer()
                    if not _runs(int(found[2])) if known else each.stat().st_mtime < time.time() - ABANDONED:
                        os.unlink(each)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)  # asks, and sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def place_of(path) -> Path:
    """Return where a store is or will be, links followed, or say why it cannot be there."""
    path = as_path(path, "store=")
    with trouble(path):
        found = path.resolve()
        if found.exists() and not found.is_dir():
            raise BadArgument(f"store={str(path)!r} is no folder, and a store is one. Take another name.")
        above = found
        while not above.exists():
            above = above.parent
        if not above.is_dir():
            raise BadArgument(f"store={str(path)!r}: {above} is no folder. Take another name.")
    return found


@contextlib.contextmanager
def trouble(path: Path) -> Iterator[None]:
    """Say in plain words what went wrong while a store was made or opened."""
    try:
        yield
    except FileFailed:
        raise
    except (OSError, RuntimeError) as problem:
        raise FileFailed(f"store={str(path)!r} cannot be made or opened: {words(problem)}.") from problem


def holds_something(path: Path) -> bool:
    """Whether there is any file."""
    return path.exists() and any(not each.is_dir() for each in path.rglob("*"))


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all."""
    with written(target) as draft:
        draft.write_bytes(content)


def _to_disk(path: Path) -> None:
    """Wait until a file is on the disk: a rename can be there before the content of what is renamed."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def words(problem: BaseException) -> str:
    """Say what an operating system calls a problem, and in plain words where the disk is full."""
    if isinstance(problem, FileFailed) and problem.__cause__ is not None:
        return words(problem.__cause__)
    number, said = (problem.errno, problem.strerror) if isinstance(problem, OSError) else (None, None)
    said = said or str(problem)
    said = said[:1].lower() + said[1:]
    return f"{FULL[number]} ({said})" if number in FULL else said
