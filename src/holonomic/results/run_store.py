"""One run on disk: quantities by name, streamed to a Zarr group that xarray reads.

Rows are gathered until they fill a chunk of every array, so that each chunk is written once. The attribute "holonomic" of the
group says what ran, and how it ended once it has: a group in which it did not was left by a process that was ended, and holds
the rows up to then. One that exists is never written over.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

from ..errors import BadArgument, FileFailed, MissingExtra
from ..files import holds_something, place_of, trouble, words
from .named_rows import dimensions

ATTRIBUTE = "holonomic"
FORMAT = 1
CHUNK_BYTES = 4 << 20  # of the largest array: compressed and written in some ms
MOST_ROWS = 4096  # of a chunk


class OnDisk:
    """Rows by name in a Zarr group; a shelf as `named_rows` has them.

    Parameters
    ----------
    path : path
        Of a folder that is not there yet.
    shapes : {name: shape}
        Of what is kept at one time.
    told : mapping
        What ran, as plain data.
    labels : {name: list of str}
        Of the coordinates and rows.
    """

    def __init__(self, path, shapes: dict[str, tuple[int, ...]], told: dict[str, Any], labels: dict[str, list[str]]):
        self.shapes, self.held, self.zarr = shapes, 0, zarr_library()
        for name in shapes:
            if name == "time" or "/" in name:
                raise BadArgument(f"keep={name!r}: a store needs this name for itself. Rename the output.")
        self.path = place_of(path)
        if holds_something(self.path):
            raise BadArgument(f"store={str(path)!r} exists. Take another name: no run goes on with what another one has written.")
        largest = 8 * max(int(np.prod(shape)) for shape in shapes.values())
        self.rows = int(min(MOST_ROWS, max(1, CHUNK_BYTES // max(largest, 1))))
        self.written = 0  # rows
        self._waiting: list[tuple[np.ndarray, dict[str, np.ndarray]]] = []
        self._told = told | {"format": FORMAT, "ended": None, "labels": labels}
        with trouble(self.path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of metadata that version 3 of Zarr has not settled
            self.group = self.zarr.create_group(str(self.path))
            self.group.attrs[ATTRIBUTE] = self._told
            self._create("time", (), labels)
            for name, shape in shapes.items():
                self._create(name, shape, labels)
            self.zarr.consolidate_metadata(str(self.path))

    @property
    def where(self) -> str:
        return f", in {self.path}"

    def _create(self, name: str, shape: tuple[int, ...], labels: dict[str, list[str]]) -> None:
        own = dimensions(name, shape, labels)
        self.group.create_array(
            name, shape=(0, *shape), chunks=(self.rows, *(max(1, size) for size in shape)), dtype="f8", fill_value=np.nan,
            dimension_names=("time", *own), compressors=compressor(self.zarr),
        )  # fmt: skip

    def write(self, at: int, t: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Keep rows from number `at` on; whole chunks go to the disk, the rest waits."""
        while self._waiting and at < self.written + sum(len(t) for t, _ in self._waiting):
            self._waiting.pop()  # written by a call that was interrupted
        self._waiting.append((t.copy(), {name: np.array(each) for name, each in values.items()}))
        self._count()
        self._out(whole_chunks=True)

    def _count(self) -> None:
        self.held = sum(t.nbytes + sum(each.nbytes for each in values.values()) for t, values in self._waiting)

    def _out(self, whole_chunks: bool) -> None:
        rows = sum(len(t) for t, _ in self._waiting)
        now = rows // self.rows * self.rows if whole_chunks else rows
        if not now:
            return
        t = np.concatenate([t for t, _ in self._waiting])
        values = {name: np.concatenate([values[name] for _, values in self._waiting]) for name in self.shapes}
        first, last = self.written, self.written + now
        try:
            for name, each in (*values.items(), ("time", t)):  # times last: a row is there when its time is
                array = self.group[name]
                array.resize((last, *array.shape[1:]))
                array[first:last] = each[:now]
        except OSError as problem:
            raise FileFailed(
                f"writing to {self.path} failed: {words(problem)}. {self.written} rows of the run are kept there."
            ) from problem
        left = [(t[now:].copy(), {name: each[now:].copy() for name, each in values.items()})] if rows > now else []
        self._waiting, self.written = left, last
        self._count()

    def times(self) -> np.ndarray:
        self._out(whole_chunks=False)
        return self.group["time"][:]

    def values(self, name: str) -> np.ndarray:
        """Return one quantity, all of it; `group[name][first:last]` reads a part."""
        self._out(whole_chunks=False)
        return self.group[name][:]

    def as_dataset(self, xarray):
        """The store as a Dataset that reads when it is used."""
        self._out(whole_chunks=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return xarray.open_zarr(str(self.path), consolidated=False)

    def close(self, told: dict[str, Any]) -> None:
        """Write what waits, and how the run ended."""
        self._out(whole_chunks=False)
        self._told |= told
        with trouble(self.path), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.group.attrs[ATTRIBUTE] = json.loads(json.dumps(self._told))
            self.zarr.consolidate_metadata(str(self.path))


def compressor(zarr):
    """How arrays of doubles are packed: fast, by bytes of equal weight."""
    return zarr.codecs.BloscCodec(cname="lz4", clevel=1, shuffle="shuffle", typesize=8)


def zarr_library():
    """Return the library, or say how it is installed."""
    try:
        import zarr
        import zarr.codecs

        return zarr
    except ImportError:
        raise MissingExtra('store= needs zarr: pip install "holonomic[store]".') from None
