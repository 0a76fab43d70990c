"""Names that are made when somebody asks for one: of many parts alike, numbered one after the other.

A mechanism of 10⁵ bodies has a million names. They follow from a few words and a number, so neither they nor a dictionary of them
is kept: the place of a name is read off the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

NUMBER = re.compile(r"0|[1-9][0-9]*")


class NumberedNames(NamedTuple):
    """Names such as "rope 0.x", "rope 0.y", "rope 1.x"; `by_suffix`: "rope 0.x", "rope 1.x", .. "rope 0.y"."""

    stem: str
    first: int
    count: int
    suffixes: tuple[str, ...] = ("",)
    by_suffix: bool = False

    @property
    def size(self) -> int:
        """How many names these are."""
        return self.count * len(self.suffixes)

    def name(self, place: int) -> str:
        """The name at a place."""
        which, suffix = divmod(place, self.count)[::-1] if self.by_suffix else divmod(place, len(self.suffixes))
        return f"{self.stem}{self.first + which}{self.suffixes[suffix]}"

    def all(self) -> Iterator[str]:
        """One name after the other."""
        return map(self.name, range(self.size))

    def place(self, number: int, suffix: str) -> int:
        """Where a name stands, -1: nowhere."""
        which = number - self.first
        if not 0 <= which < self.count or suffix not in self.suffixes:
            return -1
        at = self.suffixes.index(suffix)
        return at * self.count + which if self.by_suffix else which * len(self.suffixes) + at


def numbers_in(name: str) -> Iterator[tuple[str, int, str]]:
    """All ways to read a name as a stem, a number and a suffix."""
    for found in NUMBER.finditer(name):
        yield name[: found.start()], int(found.group()), name[found.end() :]


class NamesInOrder(Sequence):
    """Names one after the other: lists of them, and numbered ones that are made on demand.

    Parameters
    ----------
    pieces : sequence of lists of str, or of NumberedNames
    """

    def __init__(self, pieces: Sequence[Sequence[str] | NumberedNames]):
        self.pieces = [piece for piece in pieces if (piece.size if isinstance(piece, NumberedNames) else len(piece))]
        sizes = [piece.size if isinstance(piece, NumberedNames) else len(piece) for piece in self.pieces]
        self.starts = [0, *accumulate(sizes)]

    @cached_property
    def _listed(self) -> dict[str, int]:
        found: dict[str, int] = {}
        for start, piece in zip(self.starts, self.pieces, strict=False):
            if not isinstance(piece, NumberedNames):
                for i, name in enumerate(piece):
                    found.setdefault(name, start + i)
        return found

    @cached_property
    def _numbered(self) -> dict[str, list[tuple[int, NumberedNames]]]:
        found: dict[str, list[tuple[int, NumberedNames]]] = {}
        for start, piece in zip(self.starts, self.pieces, strict=False):
            if isinstance(piece, NumberedNames):
                found.setdefault(piece.stem, []).append((start, piece))
        return found

    def find(self, name: Any) -> int:
        """Place of a name, -1: there is none."""
        if not isinstance(name, str):
            return -1
        place = self._listed.get(name)
        if place is not None:
            return place
        for stem, number, suffix in numbers_in(name) if self._numbered else ():
            for start, piece in self._numbered.get(stem, ()):
                at = piece.place(number, suffix)
                if at >= 0:
                    return start + at
        return -1

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        at = self.find(value)
        if at < start or (stop is not None and at >= stop):
            raise ValueError(f"{value!r} is not among the names")
        return at

    def __contains__(self, name: object) -> bool:
        return self.find(name) >= 0

    def __len__(self) -> int:
        return self.starts[-1]

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        n, place = len(self), int(at)
        if not -n <= place < n:
            raise IndexError(place)
        place %= n
        k = int(np.searchsorted(self.starts, place, side="right")) - 1
        piece = self.pieces[k]
        return piece.name(place - self.starts[k]) if isinstance(piece, NumberedNames) else piece[place - self.starts[k]]

    def __iter__(self) -> Iterator[str]:
        for piece in self.pieces:
            if isinstance(piece, NumberedNames):
                yield from piece.all()
            else:
                yield from piece

    def __add__(self, other: Sequence[str]) -> NamesInOrder:
        return NamesInOrder([*self.pieces, *(other.pieces if isinstance(other, NamesInOrder) else [other])])

    def __radd__(self, other: Sequence[str]) -> NamesInOrder:
        return NamesInOrder([other, *self.pieces])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"[{shown}{f', .. {len(self)} names' if len(self) > 3 else ''}]"


class KindsInOrder(Mapping):
    """Kind of every coordinate by its name, as `coordinates=` of a System says it.

    Parameters
    ----------
    names : NamesInOrder
    kinds : tuple of str
        Of the coordinates of one body, again and again.
    """

    def __init__(self, names: NamesInOrder, kinds: tuple[str, ...]):
        self.names, self.kinds = names, kinds

    def __getitem__(self, name: str) -> str:
        at = self.names.find(name)
        if at < 0:
            raise KeyError(name)
        return self.kinds[at % len(self.kinds)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def turns(self) -> np.ndarray:
        """Which of them count turns."""
        return np.tile([kind == "angle" for kind in self.kinds], len(self.names) // len(self.kinds))


class NumbersInOrder(Mapping):
    """Numbers by name that stand in one array, which nobody changes.

    Parameters
    ----------
    names : NamesInOrder
    flat : array
        Their values.
    """

    def __init__(self, names: NamesInOrder, flat: np.ndarray):
        self.names, self.flat = names, flat
        flat.flags.writeable = False

    @property
    def places(self) -> PlacesInOrder:
        """Where each stands."""
        return PlacesInOrder(self.names)

    def changed(self, changes: Mapping[str, Any]) -> NumbersInOrder:
        """The same with others in the place of some."""
        flat = self.flat.copy()
        for name, value in changes.items():
            flat[self.names.index(name)] = value
        return NumbersInOrder(self.names, flat)

    def __getitem__(self, name: str) -> float:
        at = self.names.find(name)
        if at < 0:
            raise KeyError(name)
        return float(self.flat[at])

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class IndicesInOrder(Mapping):
    """Where each name stands."""

    def __init__(self, names: NamesInOrder):
        self.names = names

    def __getitem__(self, name: str) -> int:
        at = self.names.find(name)
        if at < 0:
            raise KeyError(name)
        return at

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


class PlacesInOrder(Mapping):
    """Where each number stands in their array, and its shape, as `call_by_name.param_slices` tells it."""

    def __init__(self, names: NamesInOrder):
        self.names = names

    def __getitem__(self, name: str) -> tuple[slice, tuple[int, ...]]:
        at = self.names.find(name)
        if at < 0:
            raise KeyError(name)
        return slice(at, at + 1), ()

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
