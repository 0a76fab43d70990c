"""What kernels are given: numbers, arrays, records, groups of these, and nothing else.

Signatures of slots and of what Python calls are written with them. None is a type of Numba's: code that is compiled already
runs where Numba is not installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Number:
    """A number: `f8`, `i8` or `b1`. Called with types, it gives the signature of a function that returns one."""

    code: str

    def __call__(self, *arguments: Any) -> Signature:
        return Signature(self, arguments)


@dataclass(frozen=True)
class Record:
    """Memory of one layout, by its name."""

    layout: str


@dataclass(frozen=True)
class Array:
    """An array whose entries lie one after the other, last index first."""

    of: Number | Record
    ndim: int


@dataclass(frozen=True)
class Group:
    """A tuple, with names where it is one of a kind."""

    kind: type | None
    fields: tuple


@dataclass(frozen=True)
class Signature:
    """What a function returns and takes."""

    returns: Any
    arguments: tuple


f8, i8, b1 = Number("f8"), Number("i8"), Number("b1")
vec, mat, cube = (Array(f8, ndim) for ndim in (1, 2, 3))
ints, int_mat = Array(i8, 1), Array(i8, 2)
none = Group(None, ())
