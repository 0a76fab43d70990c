"""A checksum inside a NetCDF file: one changed bit, and the file is known not to be what was saved.

It is the first attribute of the file, SHA-256 over all of it with zeros in the checksum's own place, in hexadecimal digits.
Readers of NetCDF see an attribute like others; nothing here knows what else a file holds.
"""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

NAME = "checksum_sha256"
EMPTY = b"0" * hashlib.sha256().digest_size * 2
_TEXT = 2  # how NetCDF-3 numbers its type of characters
# an attribute as it lies in the file: length and name, filled up to four bytes; type; length of the value; the value
_BEFORE = struct.pack(">i", len(NAME)) + NAME.encode() + b"\0" * (-len(NAME) % 4) + struct.pack(">ii", _TEXT, len(EMPTY))
_HEADER = 1 << 20  # bytes at the beginning in which it is looked for: before it are names of dimensions alone
_BLOCK = 1 << 22


def reserve(file) -> None:
    """Make room for the checksum in a NetCDF file that has no attribute yet."""
    setattr(file, NAME, EMPTY)


def seal(path: Path) -> None:
    """Enter the checksum of a file that is written otherwise."""
    with open(path, "r+b") as file:
        at, _ = _found(file)
        assert at is not None  # reserved
        digest = _digest(file, at)
        file.seek(at)
        file.write(digest)


def matches(path: Path) -> bool | None:
    """Whether a file is what was saved; None: it has no checksum."""
    with open(path, "rb") as file:
        at, said = _found(file)
        return None if at is None else _digest(file, at) == said


def _found(file) -> tuple[int | None, bytes]:
    """Where the checksum lies, and what it says."""
    file.seek(0)
    head = file.read(_HEADER)
    before = head.find(_BEFORE)
    if before < 0:
        return None, b""
    at = before + len(_BEFORE)
    return at, head[at : at + len(EMPTY)]


def _digest(file, at: int) -> bytes:
    """SHA-256 of a file whose checksum lies at a place."""
    file.seek(0)
    found = hashlib.sha256(file.read(at))
    found.update(EMPTY)
    file.seek(at + len(EMPTY))
    while block := file.read(_BLOCK):
        found.update(block)
    return found.hexdigest().encode()
