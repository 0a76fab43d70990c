"""The user folder that keeps compiled code between processes.

It is a folder of its own, `holonomic-cache`, in $HOLONOMIC_CACHE or in the platform's cache folder, and it has a marker. Where
the marker is missing, nothing is read, written or removed. Three kinds of entries live there, named by content so that
none is ever rewritten: `models/` holds the machine code of emitted models and the records that lead to it, `kernels/` what Numba
compiled of the kernels, `gpu/` programs for a GPU. Every entry begins with the digest of the rest. It is compared before an
entry is used: damaged machine code would be run all the same. It is compared before an entry is removed, too: a file that
does not begin with its digest is somebody else's and stays. No link is followed.
Where nothing can be written, everything still works and is compiled anew; so it is in a folder that others can write to, as
what lies there is run as it stands. What has not been used for longest leaves when the folder grows too large; a process
that writes looks at that once.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ..notices import notice

NAME = "holonomic-cache"
MARKER = "CACHEDIR.TAG"  # programs that make copies know it and leave the folder out
SIGNATURE = b"Signature: 8a477f597d28d172789f06886806bc55\n# Compiled code of holonomic, made again when it is missing.\n"
LIMIT_BYTES = 512 * 1024 * 1024  # oldest entries leave when the folder grows past this
KINDS = {  # what entries are called
    "models": re.compile(r"[\w-]+\.(o|json)"),
    "kernels": re.compile(r"[\w.<>-]+\.(o|bc|nbc)"),
    "gpu": re.compile(r"gpu_[0-9a-f]{24}\.py"),
}
STALE = 3600.0  # seconds after which a draft has been left by a process that was killed
_DRAFT = re.compile(r"\.draft-([0-9a-f]{64})-\w+")  # named by the first bytes of what is written
_DIGEST = hashlib.sha256().digest_size

_trimmed = False
_told: set[str] = set()  # kinds of notices that were given: each once per process
_in_use: set[Path] = set()  # folders whose entries leave last
_own: set[Path] = set()  # folders that have been looked at: nobody else can write there


def folder() -> Path:
    """Return the cache folder, inside $HOLONOMIC_CACHE or the platform's cache folder."""
    chosen = os.environ.get("HOLONOMIC_CACHE")
    if chosen:
        return Path(chosen) / NAME
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "holonomic" / NAME


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


def write_checked(path: Path, content: bytes) -> bool:
    """Write a file of the folder, its digest first; where that cannot be done, say so once and tell False."""
    return _write(path, hashlib.sha256(content).digest() + content)


def write_source(path: Path, text: str) -> bool:
    """Write a source for those who read it by themselves: its digest is a comment; tell whether it is there."""
    content = text.encode()
    content = f"# {hashlib.sha256(content).hexdigest()}\n".encode() + content
    try:
        refuse_shared(path.parent)
        if path.read_bytes() == content:
            for each, _ in _made_of(path):  # used now; the source's own time is in what was made of it
                os.utime(each)
            return True
    except FileNotFoundError:
        pass
    except OSError as problem:
        tell_unusable(problem)
        return False
    return _write(path, content)


def _write(path: Path, content: bytes) -> bool:
    try:
        make(path.parent)
        _put(path, content)
    except OSError as problem:
        tell_unusable(problem)
        return False
    global _trimmed
    if not _trimmed:
        _trimmed = True
        trim()
    return True


def _put(path: Path, content: bytes) -> None:
    """Write a file as a draft that takes its name when it is complete."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".draft-{content[:_DIGEST].hex()}-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        raise


def make(place: Path) -> None:
    """Make a folder inside the cache folder, for us alone; OSError where that cannot be done or is not ours."""
    if place in _own and place.is_dir():
        return
    top = _top(place)
    top.parent.parent.mkdir(parents=True, exist_ok=True)
    for each in (top.parent, top):
        each.mkdir(mode=0o700, exist_ok=True)
    if not top.is_symlink() and _is_new(top):
        _put(top / MARKER, SIGNATURE)
    refuse_shared(top)
    place.mkdir(mode=0o700, exist_ok=True)
    refuse_shared(place)


def _top(place: Path) -> Path:
    """Return the cache folder that a folder is in: $HOLONOMIC_CACHE may have changed since."""
    return next((each for each in (place, *place.parents) if each.name == NAME), place)


def refuse_shared(place: Path) -> None:
    """Raise OSError where a folder is not the cache's, or someone else can write to it or to one it is in."""
    if place in _own:
        return
    top = _top(place)
    for each in (place, *place.parents):
        status = os.stat(each) if each == top.parent else os.lstat(each)
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, "it is a link", str(each))
        if os.name == "posix":
            if status.st_uid not in (os.geteuid(), 0):
                raise PermissionError(errno.EPERM, "it belongs to another user", str(each))
            if status.st_mode & 0o022:
                raise PermissionError(errno.EPERM, "others can write to it", str(each))
        if each == top.parent:
            break
    new = _is_new(top)  # asked first: another process may just be making it
    if not _is_marked(top):
        if new:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(top / MARKER))
        raise PermissionError(errno.EPERM, f"it holds files of others: there is no {MARKER} of holonomic's", str(top))
    _own.add(place)


def _is_new(top: Path) -> bool:
    """Whether there is nothing in a cache folder but the draft of its marker."""
    return all(_DRAFT.fullmatch(name) for name in os.listdir(top))


def _is_marked(top: Path) -> bool:
    try:
        return not (top / MARKER).is_symlink() and (top / MARKER).read_bytes() == SIGNATURE
    except OSError:
        return False


def tell_unusable(problem: OSError) -> None:
    """Say once per process that compiled code cannot be kept."""
    place = Path(problem.filename or folder())
    _tell(
        "unusable",
        f"compiled code cannot be kept in {place.parent if _DRAFT.fullmatch(place.name) else place} ({problem.strerror}); "
        "set HOLONOMIC_CACHE to a folder that only you can write to.",
    )


def _tell(kind: str, text: str) -> None:
    if kind not in _told:
        _told.add(kind)
        notice(text)


def entries() -> list[tuple[Path, int, float]]:
    """Return (path, bytes, time of last use) of every entry, as far as names tell; what is no entry is left out."""
    found = []
    for kind, path, status in _there():
        if KINDS[kind].fullmatch(path.name):
            each = [status, *(made for _, made in _made_of(path))]
            found.append((path, sum(one.st_size for one in each), max(one.st_mtime for one in each)))
    return found


def _there() -> Iterator[tuple[str, Path, os.stat_result]]:
    """Yield the plain files in the folders of our kinds, if the cache folder is ours."""
    top = folder()
    if not top.is_symlink() and _is_marked(top):
        for kind in KINDS:
            yield from ((kind, path, status) for path, status in _files(top / kind))


def _files(place: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the plain files that lie in a folder; nothing where it is a link or cannot be read."""
    if place.is_symlink():
        return
    with contextlib.suppress(OSError):
        for each in sorted(os.listdir(place)):
            with contextlib.suppress(OSError):
                status = os.lstat(place / each)
                if stat.S_ISREG(status.st_mode):
                    yield place / each, status


def _made_of(source: Path) -> list[tuple[Path, os.stat_result]]:
    """What Python and numba-cuda keep beside a program for a GPU, under its name."""
    if source.suffix != ".py":
        return []
    return [each for each in _files(source.parent / "__pycache__") if each[0].name.startswith(f"{source.stem}.")]


def _is_ours(path: Path) -> bool:
    """Whether a file begins with the digest of the rest; a draft, with that in its name."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    if draft := _DRAFT.fullmatch(path.name):
        return draft[1].startswith(content[:_DIGEST].hex())
    if path.suffix == ".py":
        head, _, rest = content.partition(b"\n")
        return head == b"# " + hashlib.sha256(rest).hexdigest().encode()
    return hashlib.sha256(content[_DIGEST:]).digest() == content[:_DIGEST]


def _remove(path: Path) -> bool:
    """Remove an entry that is ours; tell whether it is gone, by us or by another process."""
    if path.exists() and not _is_ours(path):
        return False
    try:
        for each, _ in [*_made_of(path), (path, None)]:
            each.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def hold(place: Path) -> None:
    """Keep the entries of a folder that is in use as long as there are others."""
    _in_use.add(place)


def trim(limit: int | None = None) -> int:
    """Remove the oldest entries until the folder is below the limit, and drafts of killed processes; return how many went."""
    limit = LIMIT_BYTES if limit is None else limit
    found = sorted(entries(), key=lambda entry: (entry[0].parent in _in_use, entry[2]))
    total = sum(size for _, size, _ in found)
    removed = 0
    for path, size, _ in found:
        if total <= limit:
            break
        if _remove(path):
            total -= size
            removed += 1
    old = time.time() - STALE
    left = [path for _, path, status in _there() if _DRAFT.fullmatch(path.name) and status.st_mtime < old]
    return removed + sum(map(_remove, left))


def clear() -> tuple[int, list[Path]]:
    """Remove every entry; return how many bytes were freed, and the files there that are others' or cannot be removed."""
    freed = sum(size for path, size, _ in entries() if _remove(path))
    trim()
    there = [path for path in sorted(folder().rglob("*")) if path.is_symlink() or not path.is_dir()]
    return freed, [path for path in there if path != folder() / MARKER]
