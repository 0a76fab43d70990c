"""The user folder that keeps compiled code between processes.

Two kinds of entries live there, both named by content so that none is ever rewritten:
`models/` holds the machine code of emitted models and the records that lead to it, `kernels/` what Numba
compiled of the kernels. Every entry begins with the digest of the rest and is compared with it before it is used: damaged
machine code would be run all the same. Where nothing can be written, everything still works and is compiled anew; so it
is in a folder that others can write to, as what lies there is run as it stands. What has not been used for longest
leaves when the folder grows too large; a process that writes looks at that once.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from ..notices import notice

LIMIT_BYTES = 512 * 1024 * 1024  # oldest entries leave when the folder grows past this
_DIGEST = hashlib.sha256().digest_size

_trimmed = False
_told: set[str] = set()  # kinds of notices that were given: each once per process
_in_use: set[Path] = set()  # folders whose entries leave last
_own: set[Path] = set()  # folders that have been looked at: nobody else can write there


def folder() -> Path:
    """Return the cache folder: $HOLONOMIC_CACHE, or the platform's user cache folder."""
    chosen = os.environ.get("HOLONOMIC_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "holonomic"


def read(kind: str, name: str) -> bytes | None:
    """Return the entry's bytes, or None when it is not there, cannot be read or is damaged."""
    path = folder() / kind / name
    content = read_checked(path)
    if content is not None:
        with contextlib.suppress(OSError):
            os.utime(path)  # used now
    return content


def write(kind: str, name: str, content: bytes) -> None:
    """Store an entry by atomic rename; where nothing can be written, say so once and go on."""
    write_checked(folder() / kind / name, content)


def read_checked(path: Path) -> bytes | None:
    """Return what was written to a file of the folder by `write_checked`, or None; damage is told once."""
    try:
        refuse_shared(path.parent)
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        tell_unusable(problem)
        return None
    digest, rest = content[:_DIGEST], content[_DIGEST:]
    if rest and hashlib.sha256(rest).digest() == digest:
        return rest
    _tell("damaged", f"{path} is damaged; it is built anew.")
    return None


def write_checked(path: Path, content: bytes) -> None:
    """Write a file of the folder, its digest first; where that cannot be done, say so once and go on."""
    write_plain(path, hashlib.sha256(content).digest() + content)


def write_plain(path: Path, content: bytes) -> bool:
    """Write a file of the folder as it is, for those who read it by themselves; tell whether it was written."""
    try:
        make(path.parent)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as problem:
        tell_unusable(problem)
        return False
    global _trimmed
    if not _trimmed:
        _trimmed = True
        trim()
    return True


def make(place: Path) -> None:
    """Make a folder inside the cache folder, for us alone; OSError where that cannot be done or others can write to it."""
    top = folder() if folder() in (place, *place.parents) else place
    top.parent.mkdir(parents=True, exist_ok=True)
    for each in reversed((place, *place.parents)):
        if each == top or top in each.parents:
            each.mkdir(mode=0o700, exist_ok=True)
    refuse_shared(place)


def refuse_shared(place: Path) -> None:
    """Raise OSError where someone else can write to a folder, or to one between it and the cache folder."""
    if place in _own or os.name != "posix":
        return
    top = folder() if folder() in (place, *place.parents) else place
    for each in (place, *place.parents):
        status = each.stat()
        if status.st_uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EPERM, "it belongs to another user", str(each))
        if status.st_mode & 0o022:
            raise PermissionError(errno.EPERM, "others can write to it", str(each))
        if each == top:
            break
    _own.add(place)


def tell_unusable(problem: OSError) -> None:
    """Say once per process that compiled code cannot be kept."""
    _tell(
        "unusable",
        f"compiled code cannot be kept in {problem.filename or folder()} ({problem.strerror}); "
        "set HOLONOMIC_CACHE to a folder that only you can write to.",
    )


def _tell(kind: str, text: str) -> None:
    if kind not in _told:
        _told.add(kind)
        notice(text)


def entries() -> list[tuple[Path, int, float]]:
    """Return (path, bytes, time of last change) of everything in the folder."""
    found = []
    for path in folder().rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file():
                status = path.stat()
                found.append((path, status.st_size, status.st_mtime))
    return found


def hold(place: Path) -> None:
    """Keep the entries of a folder that is in use as long as there are others."""
    _in_use.add(place)


def trim(limit: int | None = None) -> int:
    """Remove the oldest entries until the folder is below the limit; return how many went."""
    limit = LIMIT_BYTES if limit is None else limit
    found = sorted(entries(), key=lambda entry: (entry[0].parent in _in_use, entry[2]))
    total = sum(size for _, size, _ in found)
    removed = 0
    for path, size, _ in found:
        if total <= limit:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
            removed += 1
    return removed


def clear() -> int:
    """Remove everything; return how many bytes were freed."""
    freed = sum(size for _, size, _ in entries())
    for kind in ("models", "kernels"):
        shutil.rmtree(folder() / kind, ignore_errors=True)
    return freed
