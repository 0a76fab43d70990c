"""The user folder that keeps compiled code between processes.

Two kinds of entries live there, both named by content so that none is ever rewritten:
`models/` holds the machine code of emitted models and the records that lead to it, `kernels/` what Numba
compiled of the kernels. Where nothing can be written, everything still works and is compiled anew. What has
not been used for longest leaves when the folder grows too large; a process that writes looks at that once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

LIMIT_BYTES = 512 * 1024 * 1024  # oldest entries leave when the folder grows past this

_told = _trimmed = False
_in_use: set[Path] = set()  # folders whose entries leave last


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
    """Return the entry's bytes, or None when it is not there or cannot be read."""
    path = folder() / kind / name
    try:
        content = path.read_bytes()
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now
    return content


def write(kind: str, name: str, content: bytes) -> None:
    """Store an entry by atomic rename; where nothing can be written, say so once and go on."""
    target = folder() / kind / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".tmp-")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as problem:
        tell_unwritable(problem)
        return
    global _trimmed
    if not _trimmed:
        _trimmed = True
        trim()


def tell_unwritable(problem: OSError) -> None:
    """Say once per process that compiled code cannot be kept."""
    global _told
    if not _told:
        _told = True
        print(
            f"holonomic: compiled code cannot be kept in {folder()} ({problem.strerror}); "
            "set HOLONOMIC_CACHE to a folder that can be written.",
            file=sys.stderr,
        )


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
