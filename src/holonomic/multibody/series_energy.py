"""Energies of bodies and springs in rows, all of a series at once, in a run as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..model.call_by_name import NamesOfNumbers
from .series import BodySeries, ElementSeries, walked
from .small_vectors import dot


class SeriesNumbers(Mapping):
    """Numbers of a series in a run, one row for each part; with a column for each member of a sweep."""

    def __init__(self, flat: Any, places: Mapping[str, np.ndarray], others: Any):
        self._flat, self._places, self._others = flat, places, others

    def __getitem__(self, name: str) -> Any:
        places = self._places.get(name)
        if places is None:
            return self._others[name]
        found = self._flat[places]
        return found[:, None] if found.ndim == 1 else found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def together(record, series) -> bool:
    """Whether parts of a series can be computed together: in tables, and where each is as the others are."""
    if not isinstance(record.p, NamesOfNumbers):
        return False
    return not isinstance(series, BodySeries) or not series.columns.loose


def of_bodies(record, series: BodySeries) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic energy of bodies in a row, and their energy of position, over time."""
    kit, names, k, n = record.kit, vars(record.p)["_names"], series.start, series.count
    suffixes = [".mass", *(".inertia" + suffix for suffix in series.inertias())]
    tied = bool(series.columns.ties)
    first = f"{series.stem}{series.first}"
    places = {suffix: names.index(first + suffix) + np.arange(n) for suffix in (*suffixes, *([".shape mass"] if tied else ()))}
    p = SeriesNumbers(vars(record.p)["_flat"], places, record.p)
    keys = (".mass", tuple((suffix, ".inertia" + suffix) for suffix in series.inertias()), ".shape mass" if tied else None)
    block = kit.mass_block(p, keys)
    v = [record.v[kit.NV * k + i : kit.NV * (k + n) : kit.NV] for i in range(kit.NV)]
    kinetic = sum(np.sum(block[i][j] * v[i] * v[j], axis=0) for i in range(kit.NV) for j in range(kit.NV) if np.ndim(block[i][j]))
    g = tuple(record.p[key] for key in record.resolver.gravity)
    heavy = np.sum(p[".mass"] * dot(g, kit.centre(record.q, k + np.arange(n))), axis=0)
    return kinetic / 2.0, -heavy


def of_forces(record, series: ElementSeries) -> np.ndarray:
    """Energy that springs in a row store, over time."""
    alone = record.resolver.n_alone
    places = {key: np.where(codes < 0, ~codes, codes + alone) for key, codes in series.codes.items()}
    p = SeriesNumbers(vars(record.p)["_flat"], places, record.p)
    drawn = lambda array: array if array.dtype.kind == "i" else array[:, None]  # numbers stand in a column, time runs along rows
    energy = walked(series.whole.energy, lambda text: text, None, drawn)
    return np.sum(np.broadcast_to(energy(record.q, p), (series.count, len(record.t))), axis=0)
