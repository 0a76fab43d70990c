"""What was kept of each row of a run by name, where its states were not: `simulate(..., keep=["tip", "A.force"])`.

A name is one that a solution knows: an array (q, v, a, lam, y, s, w, x, dx, ddx, reactions), a coordinate, a state, an output, a
constraint's multipliers, a body, joint or force of a mechanism or one quantity of it, "energy". A part with several quantities is
kept as all of them: "tip" as "tip.position", "tip.velocity" and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import BadArgument, UnknownName
from .naming import is_dae, multiplier_labels, order_of, unknown
from .states import Energy

PROBED = 5  # equal rows by which an array over time is told from a vector: nothing else here has five entries
PARTS_OF_ENERGY = ("kinetic", "potential", "total")


class Shelf(Protocol):
    """Where kept rows lie: in memory, or in a store on disk."""

    shapes: dict[str, tuple[int, ...]]  # of what is kept at one time, by name
    where: str  # for reports
    held: int  # bytes of memory

    def write(self, at: int, t: np.ndarray, values: dict[str, np.ndarray]) -> None:
        """Keep rows from number `at` on; what was there from that number on is forgotten."""

    def times(self) -> np.ndarray:
        """Return the times of all rows."""
        ...

    def values(self, name: str) -> np.ndarray:
        """Return one quantity, time first."""
        ...

    def as_dataset(self, xarray) -> Any:
        """Return an xarray Dataset that reads when it is used; None: all is in memory."""

    def close(self, told: dict[str, Any]) -> None:
        """Note that the run is over, and how."""


class InMemory:
    """Rows by name in memory."""

    where = ""

    def __init__(self, shapes: dict[str, tuple[int, ...]]):
        self.shapes, self.held = shapes, 0
        self._rows: list[tuple[int, np.ndarray, dict[str, np.ndarray]]] = []  # number of the first row, times, values

    def write(self, at: int, t: np.ndarray, values: dict[str, np.ndarray]) -> None:
        kept = [piece for piece in self._rows if piece[0] < at]
        kept.append((at, t.copy(), {name: np.array(each) for name, each in values.items()}))
        self._rows = kept
        self.held = sum(piece[1].nbytes + sum(each.nbytes for each in piece[2].values()) for piece in kept)

    def _joined(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        if not self._rows:
            return np.zeros(0), {name: np.zeros((0, *shape)) for name, shape in self.shapes.items()}
        if len(self._rows) > 1:
            t = np.concatenate([piece[1] for piece in self._rows])
            self._rows = [(0, t, {name: np.concatenate([piece[2][name] for piece in self._rows]) for name in self.shapes})]
        return self._rows[0][1:]

    def times(self) -> np.ndarray:
        return self._joined()[0]

    def values(self, name: str) -> np.ndarray:
        return self._joined()[1][name]

    def as_dataset(self, xarray) -> None:
        return None

    def close(self, told: dict[str, Any]) -> None:
        pass


def arrays_of(model) -> tuple[str, ...]:
    """The arrays that runs of a model have, but for times."""
    if is_dae(model):
        return (*("x", "dx", "ddx")[: order_of(model)], "y")
    if model.is_ode:
        return ("y",)
    return ("q", "v", "a", "lam", *(("s",) if model.ns else ()), *(("w",) if model.nw else ()), "reactions")


RUNS_ALONG = {
    "q": ("coordinate",), "y": ("coordinate", "row"), "v": ("coordinate",), "a": ("coordinate",), "reactions": ("coordinate",),
    "lam": ("row",), "x": ("coordinate",),
}  # fmt: skip


def dimensions(name: str, shape: tuple[int, ...], labels: dict[str, list[str]]) -> list[str]:
    """Names of the axes of a quantity behind that of time: those with labels, where it has as many entries."""
    if len(shape) == 1:
        for label in RUNS_ALONG.get(name, ()):
            if len(labels[label]) == shape[0]:
                return [label]
    return [f"{name}_{i}" for i in range(len(shape))]


def labels_of(model) -> dict[str, list[str]]:
    """Names of the coordinates, and of the rows of the constraints."""
    return {"coordinate": list(model.coordinates), "row": multiplier_labels(model)}


def states_of(model) -> list[str]:
    """What states are, and what follows from them at once: kept on disk where nothing is named."""
    return [name for name in arrays_of(model) if name != "reactions"]


class Wanted:
    """The quantities that are kept, found by names that a user gave.

    Parameters
    ----------
    names : sequence of str
        As they were given.
    probe : Solution
        `PROBED` rows, all of them the start.

    Raises
    ------
    UnknownName, BadArgument
        A name that means nothing here, or nothing that has a value at each time.
    """

    def __init__(self, names: Sequence[str], probe):
        self.names = tuple(dict.fromkeys(names))
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._whole: dict[str, list[str]] = {}  # parts of a mechanism, and what is kept of each
        for name in self.names:
            found = read(probe, name)
            if isinstance(found, np.ndarray):
                self.shapes[name] = _shape(found, name)
            else:
                self._whole[name] = self._parts(name, found, probe.trail.mechanism)

    def _parts(self, name: str, view, mechanism) -> list[str]:
        known = []
        for each in _quantities(view, mechanism):
            values = getattr(view, each)
            if isinstance(values, np.ndarray) and values.shape[:1] == (PROBED,):
                known.append(each)
                self.shapes[f"{name}.{each}"] = values.shape[1:]
        return known

    def values(self, sol) -> dict[str, np.ndarray]:
        """Return what is kept of the rows of a solution, by name."""
        found = {name: read(sol, name) for name in self.names if name not in self._whole}
        for name, each in self._whole.items():
            view = read(sol, name)
            found |= {f"{name}.{quantity}": getattr(view, quantity) for quantity in each}
        return {name: np.asarray(values, dtype=float) for name, values in found.items()}


def read(sol, name: str) -> Any:
    """Return what a name stands for in a solution that has states."""
    model = sol.plan.model
    if name in arrays_of(model) and name not in model.coordinates and name not in model.output_shapes:
        return getattr(sol, name)
    if name == "energy" and not model.is_ode and (sol.trail.mechanism is None or name not in sol.trail.mechanism):
        return sol.energy
    if name == "drift":
        raise BadArgument('keep="drift": residuals follow from whole states. print(sol) tells those at the end; name "q" and "v".')
    return sol[name]


def is_both(sol, name: str) -> bool:
    """Whether a name is that of an array of runs and of a part of the mechanism, too."""
    return sol.trail.mechanism is not None and name in arrays_of(sol.plan.model) and name in sol.trail.mechanism


def refuse_both(names: Sequence[str], probe) -> None:
    """Refuse names that mean an array here and a part where all is kept."""
    for name in names:
        if is_both(probe, name):
            several = _quantities(probe[name], probe.trail.mechanism)
            raise BadArgument(
                f"keep={name!r} is an array of every run and a part of this mechanism. Name a quantity of the part, such as "
                f"'{name}.{next(iter(several))}', or call the part something else."
            )


def _shape(values: np.ndarray, name: str) -> tuple[int, ...]:
    if values.shape[:1] != (PROBED,):
        raise BadArgument(f"keep={name!r}: it has no value at each time. Name a quantity that has.")
    return values.shape[1:]


def _quantities(view, mechanism) -> Sequence[str]:
    """The quantities of a part of a mechanism, or of the energy."""
    return PARTS_OF_ENERGY if isinstance(view, Energy) else mechanism.quantities(view)


class KeptPart:
    """A body, joint or force of which a run kept the quantities; attributes are arrays, time first."""

    def __init__(self, name: str, rows: NamedRows, quantities: Sequence[str]):
        self._name, self._rows, self._quantities = name, rows, tuple(quantities)

    def __getattr__(self, quantity: str) -> np.ndarray:
        if quantity.startswith("_"):
            raise AttributeError(quantity)
        if quantity not in self._quantities:
            kept = ", .".join(self._quantities)
            raise AttributeError(f"of {self._name!r} there is no {quantity!r} in this run; it kept .{kept}.")
        return self._rows.shelf.values(f"{self._name}.{quantity}")

    def __dir__(self) -> list[str]:
        return list(self._quantities)

    def __repr__(self) -> str:
        return f"<{self._name!r}, kept of a run: .{', .'.join(self._quantities)}>"


class NamedRows:
    """What a run kept by name.

    Parameters
    ----------
    shelf : Shelf
        Where it is.
    """

    def __init__(self, shelf: Shelf):
        self.shelf = shelf

    @property
    def names(self) -> list[str]:
        """All that can be read."""
        return list(self.shelf.shapes)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.shelf.shapes or bool(self._of_part(name)))

    def _of_part(self, name: str) -> list[str]:
        return [each[len(name) + 1 :] for each in self.shelf.shapes if each.startswith(f"{name}.")]

    def read(self, name: str) -> Any:
        """Return a quantity, or a part of which several were kept."""
        if isinstance(name, str):
            if name in self.shelf.shapes:
                return self.shelf.values(name)
            several = self._of_part(name)
            if several:
                return KeptPart(name, self, several)
        missing = unknown(name, "quantity", {"kept": self.names})
        raise UnknownName(f"{missing} {NOT_KEPT}") from None

    def __str__(self) -> str:
        return f"{', '.join(self.names[:6])}{', ...' if len(self.names) > 6 else ''}{self.shelf.where}"


NOT_KEPT = (
    "The run kept by name what keep= asked for; sol.end is its last state, sol(t) makes the run again for other times, and keep= "
    "or save_at= of simulate keep more."
)
