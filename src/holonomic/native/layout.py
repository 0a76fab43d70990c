"""Memory whose places have names.

A `Layout` is declared once, field by field: name, kind, meaning. From that come the NumPy dtype, the record that compiled
kernels take (`run.t` is a load from a fixed place, and nothing is allocated), the C structure that interpreted kernels and
Python take, and the places in a GPU thread's own arrays. All are views of one memory, so that its copy is the run's state.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any

import numpy as np

from .marks import MARKED, View
from .types import Record

REAL, WHOLE = "f8", "i8"
_C = {REAL: ctypes.c_double, WHOLE: ctypes.c_int64}


class Memory(ctypes.Structure):
    """Memory of one layout: fields are attributes, for Python and kernels alike; `array` is the same as an array of one record."""

    layout: Layout
    array: np.ndarray

    def copy(self):
        """Return other memory with the same content."""
        return self.layout.new(bytes(self))

    def __reduce__(self):
        return _restored, (self.layout.name, bytes(self))


class Layout:
    """Names, kinds and meanings of the fields of one kind of memory.

    Attributes
    ----------
    name : str
        Under which it is declared, once.
    fields : dict
        Kind and meaning of each field, in the order in which they lie.
    dtype, type
        As NumPy and as signatures know it.
    """

    known: dict[str, Layout] = {}  # noqa: RUF012  all that are declared

    def __init__(self, name: str, fields: Iterable[tuple[str, str, str]]):
        declared = list(fields)
        self.name = name
        self.fields = {field: (kind, meaning) for field, kind, meaning in declared}
        if len(self.fields) != len(declared) or name in self.known:
            raise ValueError(f"{name}: something is declared twice")
        self.known[name] = self
        self.dtype = np.dtype([(field, kind) for field, kind, _ in declared], align=True)
        self.type = Record(name)
        self._blank = np.zeros(self.dtype.itemsize, np.uint8)
        structure = [(field, _C[kind]) for field, kind, _ in declared]
        self._class = type(name, (Memory,), {"_fields_": structure, "layout": self})

    def new(self, content: bytes | None = None) -> Any:
        """Return memory full of zeros, or with the content of another one."""
        # bytes, not records: of those ctypes would ask NumPy for a description of every field, which takes 8 µs
        room = self._blank.copy() if content is None else np.frombuffer(content, np.uint8).copy()
        made = self._class.from_buffer(room)
        made.array = np.ndarray(1, self.dtype, room)
        return made

    def places(self, kind: str) -> dict[str, int]:
        """Number the fields of one kind, as they lie in an array of that kind alone."""
        return {field: place for place, field in enumerate(f for f, (k, _) in self.fields.items() if k == kind)}

    def at(self, *names: str) -> tuple[int, ...]:
        """Return where fields stand among numbers."""
        places = list(self.fields)
        return tuple(places.index(name) for name in names)

    def numbers(self, **values: float) -> np.ndarray:
        """Return the fields as an array of numbers, those that are not given being zero; all are REAL."""
        unknown = set(values) - set(self.places(REAL))
        if unknown or len(self.places(REAL)) < len(self.fields):
            raise ValueError(f"{self.name} has no number {', '.join(sorted(unknown))}")
        return np.array([float(values.get(field, 0.0)) for field in self.fields])

    def of(self, numbers: np.ndarray) -> Memory:
        """Return an array of numbers, or its beginning, as memory of this layout."""
        return self._class.from_buffer(numbers)

    def describe(self, memory: Memory) -> str:
        """Say what every field holds and means."""
        width = max(map(len, self.fields))
        return "\n".join(
            f"{field:{width}}  {getattr(memory, field):<24.17g}  {meaning}" for field, (_, meaning) in self.fields.items()
        )


def view_as(layout: Layout, row: int | None = None):
    """Make the function by which kernels see an array of numbers, or one row of it, as memory of this layout.

    The array or row may be longer.
    """

    def seen(numbers):
        return layout.of(numbers if row is None else numbers[row])

    seen.layout = layout
    MARKED.append(View(seen, layout, row))
    return seen


def _restored(name: str, content: bytes) -> Memory:
    return Layout.known[name].new(content)
