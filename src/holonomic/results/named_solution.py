"""A run of which quantities were kept by name, and of whole states its beginning and its end alone."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import beyond_memory
from .named_rows import NOT_KEPT, NamedRows, is_both, states_of
from .quantities import energy_that_moves
from .solution import Solution
from .states import Energy


def _array(name: str) -> Any:
    """One of the arrays of a solution, where it was kept."""
    return property(lambda self: self._hand_out(name, lambda: self._kept(name)), doc=f"`Solution.{name}`, where it was kept.")


class NamedSolution(Solution):
    """What a run with `keep=[...]` or `store=` left: `sol[name]`, `sol.t`, `sol.end`; `sol(t)` makes it again for whole states."""

    q, v, a, s, w, lam = (_array(name) for name in ("q", "v", "a", "s", "w", "lam"))
    y, x, dx, ddx, reactions, unknowns = (_array(name) for name in ("y", "x", "dx", "ddx", "reactions", "unknowns"))

    @property
    def rows(self) -> NamedRows:
        """What was kept."""
        assert self.trail.named is not None
        return self.trail.named

    @property
    def ends(self) -> Solution:
        """The whole states that there are: at the beginning and at the end."""
        return Solution(self.trail, self.ended)

    @property
    def t(self) -> np.ndarray:
        """Times at which quantities were kept, s."""
        return self._hand_out("t", self.rows.shelf.times)

    def _kept(self, name: str) -> np.ndarray:
        if name not in self.rows.shelf.shapes:
            raise BadArgument(f"sol.{name} was not kept; kept: {self.rows}. {NOT_KEPT}")
        return self.rows.shelf.values(name)

    @property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy, where "energy" was kept; J."""
        kinetic, total = self._kept("energy.kinetic"), self._kept("energy.total")
        return Energy(kinetic, total - kinetic, total)

    @property
    def energy_error(self) -> np.ndarray:
        energy = self.energy
        return (energy.total - energy.total[0]) / energy_that_moves(energy.kinetic, energy.potential)

    @property
    def drift(self):
        raise BadArgument(f"sol.drift follows from whole states, which were not kept. print(sol) tells that at the end. {NOT_KEPT}")

    @cached_property
    def _whole(self) -> Solution | None:
        """The run with its states, where all of them were kept; they are read into memory."""
        model, shapes = self.plan.model, self.rows.shelf.shapes
        parts = ("q", "s", "w", "v", "a", "lam")
        if model.is_ode or not all(name in shapes for name in states_of(model)):
            return None
        needed = 8 * len(self.t) * sum(shapes[name][0] for name in parts if name in shapes)
        too_much = beyond_memory(needed)
        if too_much is not None:
            raise BadArgument(f"the states of this run take {too_much}. Read a part of them through sol.to_xarray().")
        found = {name: self.rows.shelf.values(name) for name in parts if name in shapes}
        x = np.hstack([found[name] for name in ("q", "s", "w", "v") if name in found])
        return self.at_rows(self.t, x, np.hstack([found["a"], found["lam"]]))

    def reaction(self, label: str) -> np.ndarray:
        raise BadArgument(f"sol.reaction follows from whole states, which were not kept. {NOT_KEPT}")

    def with_times_between(self, points: int) -> Solution:
        """The run as it is: between the times at which it kept something there is nothing."""
        return self

    def __getitem__(self, name: str) -> Any:
        """Return what was kept by this name; time first."""
        if (name in self.rows and not is_both(self, name)) or self._whole is None:
            found = self.rows.read(name)
            return self._hand_out(("name", name), lambda: found) if isinstance(found, np.ndarray) else found
        return self._whole[name]

    def save(self, path) -> None:
        raise BadArgument(
            f"save writes whole states, and this run kept {self.rows}. Take sol.to_xarray().to_netcdf(path) or sol.to_csv(path)."
        )

    def view(self, *others: Solution, **options):
        raise BadArgument(
            f"a picture needs whole states, and this run kept {self.rows}. Show sol(times), which makes the run again, or simulate "
            "with save_at= in the place of keep=."
        )

    def animate(self, path, *others: Solution, **options):
        self.view()
