"""A mechanism as tables, as what `simulate` and `sweep` take: operators that nobody had to compile for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..kernels import table_operators as kernels
from ..kernels.elements import BODY, FORCE, ROWS
from ..kernels.signatures import Fn
from ..model.operators import Operator, Operators
from ..model.watch import Watch
from .collection import Collection, arrange


class TableSystem(Operators):
    """The equations of a mechanism as tables; made by `Mechanism.to_tables`.

    Parameters
    ----------
    collect : function
        Makes the tables: called again where functions of the user's do something else than before.
    functions : sequence
        Of the user's, that are looked at for that.
    labels : three sequences of str
        Rows of constraints, of velocities alone, and invariants.
    params, coordinates, inputs, outputs, resolver
        As of a System.
    """

    interpreted = False

    def __init__(
        self, collect: Callable[[], Collection], functions: Sequence, labels, params: Mapping[str, float], coordinates, inputs,
        outputs, resolver, sizes: tuple[int, int],
    ):  # fmt: skip
        self._collect, self._functions = collect, tuple(functions)
        self.constraint_labels, self.nonholonomic_labels, self.invariant_labels = labels
        self.params, self.coordinates, self.inputs, self.outputs = dict(params), coordinates, inputs, outputs
        self.resolver = resolver
        self.n_coordinates, self.n_velocities = sizes
        self._tables: Collection | None = None
        self._watch: Watch | None = None
        self._arranged: list[tuple[Collection, dict[Fn, Operator], tuple]] = []  # models have addresses of what is in it

    @property
    def name(self) -> str:
        return "the mechanism as tables"

    @property
    def contents(self) -> str:
        c = self.collection
        kinds = f"{len(c.tables)} kinds of elements"
        return f"{c.n_bodies} bodies and {len(self.constraint_labels) + len(self.nonholonomic_labels)} constraints, {kinds}"

    @property
    def collection(self) -> Collection:
        """The tables, made anew where functions of the user's have changed."""
        if self._tables is None or not self.is_current():
            self._watch = Watch(*self._functions)
            self._tables = self._collect()
        return self._tables

    @property
    def numbers(self) -> np.ndarray:
        return np.array(self.collection.numbers)

    def is_current(self) -> bool:
        return self._watch is not None and self._watch.unchanged()

    def __getstate__(self) -> dict[str, Any]:
        # addresses mean nothing in another process
        return super().__getstate__() | {"_tables": None, "_watch": None, "_arranged": []}

    def operators(self, formulation) -> dict[Fn, Operator]:
        c = self.collection
        known = next((operators for tables, operators, _ in self._arranged if tables is c), None)
        return self._arrange(c) if known is None else known

    def _arrange(self, c: Collection) -> dict[Fn, Operator]:
        rows = [(table, "main") for table in c.of(ROWS)]
        bodies, forces = [(table, "main") for table in c.of(BODY)], [(table, "main") for table in c.of(FORCE)]
        energies = [(table, "energy") for table in c.of(BODY, FORCE) if "energy" in table.kind.functions]
        nq, nv, n = self.n_coordinates, self.n_velocities, c.n_rows
        field = arrange(c, [*bodies, *forces, *rows], weights="mass")
        plain, moves, energy = arrange(c, rows), arrange(c, rows, weights="metric", factors=True), arrange(c, energies)
        made = {
            Fn.FIELD: (kernels.table_field, field, nq + nv + n + 1),
            Fn.RESIDUAL: (kernels.table_residual, plain, len(self.constraint_labels) + len(self.invariant_labels) + n),
            Fn.REACTIONS: (kernels.table_reactions, plain, nv),
            Fn.ENERGY: (kernels.table_energy, energy, 2),
            Fn.VEL_FACTOR: (kernels.table_factor, moves, moves.length),
            Fn.VEL_SOLVE: (kernels.table_solve, moves, nv),
            Fn.VEL_TANGENT: (kernels.table_tangent, moves, nv),
        }
        found = {fn: Operator(kernel.address, context.address, length) for fn, (kernel, context, length) in made.items()}
        self._arranged.append((c, found, (field, plain, moves, energy)))
        return found
