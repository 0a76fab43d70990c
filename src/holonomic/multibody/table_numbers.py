"""Numbers of the tables of a mechanism: where each parameter, size and stated mass stands in data."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.names_in_order import IndicesInOrder, NamesInOrder, NumberedNames, NumbersInOrder
from .lower import masses_of_bodies, shape_masses, sizes_of_bodies
from .row_layout import body_names
from .series import BodySeries


class Numbers:
    """Numbers of the tables of a mechanism: its parameters, the sizes of bodies, and the masses for which inertias are stated.

    Attributes
    ----------
    params : mapping
        By name: a dictionary, or in order where there are series.
    places : mapping
        Where each stands.
    size, stated : array
        Where the size of each body stands, and the mass for which its inertia is stated, -1: none.
    """

    def __init__(self, m):
        sizes, ties = sizes_of_bodies(m), _follow_masses(m)
        n = len(m.params)
        self.size = n + np.arange(len(sizes))
        self.stated = np.where(ties, n + len(sizes) + np.cumsum(ties) - 1, -1)
        if not m.bodies.series and not m.params.columns:
            self.params: Any = m.params.as_dict()
            self.params |= {f"{name}.size": size for name, size in zip(m.bodies, sizes.tolist(), strict=True)} | shape_masses(m)
            self.values = np.array(list(self.params.values()), dtype=float)
            self.places: Any = {name: place for place, name in enumerate(self.params)}
            return
        first = m.params.in_order()
        self.values = np.concatenate([first.flat, sizes, masses_of_bodies(m)[ties]])
        names = [*first.names.pieces, *body_names(m.bodies, "", (".size",)), *_stated_names(m)]
        self.params = NumbersInOrder(NamesInOrder(names), self.values)
        self.places = IndicesInOrder(self.params.names)


def _follow_masses(m) -> np.ndarray:
    """Of which bodies the inertia grows with the mass."""

    def of_series(series: BodySeries) -> np.ndarray:
        found = np.full(series.count, bool(series.columns.ties))
        found[list(series.columns.loose)] = False
        return found

    return m.bodies.columns(lambda body: bool(m.params.tied_to(f"{body.name}.mass")), of_series, bool)


def _stated_names(m) -> list[Any]:
    """Names of the masses for which inertias are stated, as pieces of `NamesInOrder`."""
    found: list[Any] = []
    for each in m.bodies.in_order:
        if isinstance(each, BodySeries) and not each.columns.loose:
            if each.columns.ties:
                found.append(NumberedNames(each.stem, each.first, each.count, (".shape mass",)))
            continue
        names = each.names.all() if isinstance(each, BodySeries) else each
        found.append([f"{name}.shape mass" for name in names if m.params.tied_to(f"{name}.mass")])
    return found
