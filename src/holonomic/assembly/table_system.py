"""A mechanism as tables, as what `simulate` and `sweep` take: operators that nobody had to compile for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..kernels import table_operators as kernels
from ..kernels.elements import BODY, FORCE, ROWS, SPEEDS, STATE
from ..kernels.newton_memory import BY_V, LOADED
from ..kernels.signatures import Fn
from ..model.names_in_order import NumbersInOrder
from ..model.operators import Operator, Operators
from ..model.watch import Watch
from .collection import Collection, Context
from .implicit_operators import OfFronts
from .shelves import arrange
from .watched_switches import watched_switches


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
    formulations : tuple of classes
        Index2 and Index3, where implicit methods are wanted: formulations are a room above this one.
    states : mapping of functions, optional
        Rates of states of one's own.
    turning : function, optional
        Z(q) of one body, where q' is not v.
    """

    interpreted, tier = False, "tables"
    on_request = (Fn.KINEMATICS, Fn.VELOCITY, Fn.HALF_EXPLICIT)
    redundant = "minimum-norm"

    def __init__(
        self, collect: Callable[[], Collection], functions: Sequence, labels, params: Mapping[str, float], coordinates, inputs,
        outputs, resolver, sizes: tuple[int, int], formulations: tuple[type, ...] = (), states=None, turning=None,
    ):  # fmt: skip
        self._collect, self._functions = collect, tuple(functions)
        self.constraint_labels, self.nonholonomic_labels, self.invariant_labels = labels
        self.params = params if isinstance(params, NumbersInOrder) else dict(params)
        self.coordinates, self.inputs, self.outputs = coordinates, inputs, outputs
        self.resolver, self.formulations, self.states, self._turning = resolver, formulations, states, turning
        self.n_coordinates, self.n_velocities = sizes
        self.kinematics = self.invariants = self.invariant_labels or None
        self.nonholonomic = self.nonholonomic_labels or None
        self._tables: Collection | None = None
        self._watch: Watch | None = None
        # models have addresses of what is in these
        self._arranged: list[tuple[Collection, dict[Fn, Operator], dict[Fn, Context]]] = []
        self._fronts: list[tuple[Collection, OfFronts]] = []

    @property
    def name(self) -> str:
        return "the mechanism as tables"

    @property
    def contents(self) -> str:
        c = self.collection
        kinds = f"{len(c.tables)} kinds of elements"
        return f"{c.n_bodies} bodies and {len(self.constraint_labels) + len(self.nonholonomic_labels)} constraints, {kinds}"

    @property
    def has_constant_mass(self) -> bool:
        return self._turning is None

    @property
    def has_velocity_forces(self) -> bool:
        tables = self.collection.of(BODY, FORCE, LOADED)
        return any(LOADED == table.kind.what or BY_V in table.kind.newton(2).entries[:, 0] for table in tables)

    def rates(self, stage):
        from ..model.symbolics import vertcat
        from ..model.trace_stage import ANY

        turning, width, bodies = self._turning, self.collection.nq, self.collection.n_bodies

        def turned(q, v):
            speeds = v.reshape(bodies, -1)
            return [rate for k in range(bodies) for rate in np.array(turning(q[width * k : width * (k + 1)])) @ speeds[k]]

        own = stage.v_sx if turning is None else stage.run(turned, "q'", ANY)
        rates = [stage.run(rate, f"rate of {name!r}", None, stage.seen("states")) for name, rate in (self.states or {}).items()]
        return vertcat(own, *rates)

    @property
    def collection(self) -> Collection:
        """The tables, made anew where functions of the user's have changed."""
        if self._tables is None or not self.is_current():
            self._watch = Watch(*self._functions)
            self._tables = self._collect()
        return self._tables

    @property
    def content(self) -> str | None:
        c, digest = self.collection, hashlib.sha256()
        arrays = [c.lumps.sizes, c.lumps.bodies, *c.weights, *c.weights_q, c.numbers]
        for table in [*c.tables, *([] if c.norms is None else [c.norms])]:
            kind = table.kind
            if kind.what == LOADED or any(function.calls for function in kind.functions.values()):
                return None  # laws that stand in equations of implicit methods alone, or outside
            what = kind.what, kind.widths, kind.rows, kind.full, kind.rates, kind.own, kind.numbers
            texts = [f"{name} {kind.functions[name].text}" for name in sorted(kind.functions)]
            digest.update("\n".join([repr(what), *texts]).encode())
            arrays += [table.ends, table.slots, table.first]
        for array in arrays:
            digest.update(f"{array.shape} {array.dtype}".encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]

    @property
    def numbers(self) -> np.ndarray:
        return self.collection.numbers

    @property
    def switches(self) -> tuple:
        return self.collection.switches

    def watching(self, events: dict[Fn, Operator]) -> dict[Fn, Operator]:
        c = self.collection
        return c.once(("switches", *events.values()), lambda: watched_switches(c, events))

    def is_current(self) -> bool:
        return self._watch is not None and self._watch.unchanged()

    def __getstate__(self) -> dict[str, Any]:
        # addresses mean nothing in another process
        return super().__getstate__() | {"_tables": None, "_watch": None, "_arranged": [], "_fronts": []}

    def operators(self, formulation) -> dict[Fn, Operator]:
        c = self.collection
        known = next((operators for tables, operators, _ in self._arranged if tables is c), None)
        known = self._arrange(c) if known is None else known
        return known if formulation is None else known | self._of_fronts(c).newton(formulation.index)

    def requested(self) -> dict[Fn, Operator]:
        return self._of_fronts(self.collection).half_explicit()

    def _of_fronts(self, c: Collection) -> OfFronts:
        known = next((made for tables, made in self._fronts if tables is c), None)
        if known is None:
            known = OfFronts(c)
            self._fronts.append((c, known))
        return known

    def _arrange(self, c: Collection) -> dict[Fn, Operator]:
        rows = [(table, "main") for table in c.of(ROWS, SPEEDS)]
        bodies, forces = [(table, "main") for table in c.of(BODY)], [(table, "main") for table in c.of(FORCE)]
        energies = [(table, "energy") for table in c.of(BODY, FORCE) if "energy" in table.kind.functions]
        norms = [] if c.norms is None else [(c.norms, "position")]
        nq, nv, n = self.n_coordinates, self.n_velocities, c.n_rows
        n_position = len(self.constraint_labels) + len(self.invariant_labels)
        plain = arrange(c, [*((table, "rows") for table in c.of(ROWS, SPEEDS)), *norms])
        energy = arrange(c, energies)
        moves = arrange(c, rows, weights="metric", factors=True)
        made = {
            Fn.RESIDUAL: (kernels.table_residual, plain, n_position + n),
            Fn.REACTIONS: (kernels.table_reactions, arrange(c, rows), nv),
            Fn.ENERGY: (kernels.table_energy, energy, 2),
            Fn.VEL_FACTOR: (kernels.table_factor, moves, moves.length),
            Fn.VEL_SOLVE: (kernels.table_solve, moves, nv),
            Fn.VEL_TANGENT: (kernels.table_tangent, moves, nv),
        }
        if not c.whole:
            states = [(table, "main") for table in c.of(STATE)]
            field = arrange(c, [*bodies, *states, *forces, *rows], weights="mass")
            made[Fn.FIELD] = kernels.table_field, field, nq + nv + n + 1
        if norms or c.n_speeds or c.states:
            name = "position" if norms else "main"
            moves = arrange(c, [*((table, name) for table in c.of(ROWS)), *norms], by="q", weights="metric", factors=True)
            made |= {
                Fn.POS_FACTOR: (kernels.table_factor, moves, moves.length), Fn.POS_SOLVE: (kernels.table_solve, moves, nq),
                Fn.POS_TANGENT: (kernels.table_tangent, moves, nq),
            }  # fmt: skip
        found = {fn: Operator(kernel.address, context.address, length) for fn, (kernel, context, length) in made.items()}
        if c.whole:
            found[Fn.FIELD] = self._of_fronts(c).field()
        self._arranged.append((c, found, {fn: context for fn, (_, context, _) in made.items()}))
        return found

    def learn_rank(self, fn: Fn, count: int | None) -> bool:
        c = self.collection
        by_v = fn is Fn.VEL_FACTOR
        known = c.redundant if by_v else c.redundant_q
        if count is None and known >= 0:
            return False
        self._set_rank(by_v, 0 if count is None else count)
        return True

    @property
    def rank(self) -> tuple[int, int]:
        return self.collection.redundant, self.collection.redundant_q

    def set_rank(self, by_v: int, by_q: int) -> None:
        self._set_rank(True, by_v)
        self._set_rank(False, by_q)

    def _set_rank(self, by_v: bool, count: int) -> None:
        c = self.collection
        if by_v:
            c.redundant, functions = count, (Fn.FIELD, Fn.VEL_FACTOR)
        else:
            c.redundant_q, functions = count, (Fn.POS_FACTOR,)
        for contexts in (contexts for tables, _, contexts in self._arranged if tables is c):
            for fn in functions:
                if fn in contexts:
                    contexts[fn].memory.redundant = count
