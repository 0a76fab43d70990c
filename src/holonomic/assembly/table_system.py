"""A mechanism as tables, as what `simulate` and `sweep` take: operators that nobody had to compile for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import IncompatibleMethods
from ..kernels import table_bend, table_moves, table_terms
from ..kernels import table_operators as kernels
from ..kernels.elements import BODY, FORCE, ROWS, SPEEDS, STATE
from ..kernels.newton_memory import BY_V, LOADED
from ..kernels.signatures import Fn
from ..kernels.table_bend import BENT
from ..model.names_in_order import NumbersInOrder
from ..model.operators import Operator, Operators
from ..model.watch import Watch
from .collection import Collection, Context, KindTable
from .implicit_operators import OfFronts
from .newton_kinds import VELOCITY
from .shared_room import SharedRoom
from .shelves import arrange
from .watched_switches import watched_switches

DENSE = 300  # bodies up to which matrices of the whole system are offered, for single looks


class Arranged(NamedTuple):
    """Operators of a collection, in a metric or in its own, and their contexts, which live as long: of rows by v, by q, others."""

    collection: Collection
    metric: tuple
    operators: dict[Fn, Operator]
    by_v: list[Context]
    by_q: list[Context]
    others: list[Context]


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
        Those that implicit methods may have: formulations are a room above this one.
    states : mapping of functions, optional
        Rates of states of one's own.
    turning : function, optional
        Z(q) of one body, where q' is not v.
    """

    interpreted, tier = False, "tables"
    on_request = (Fn.KINEMATICS, Fn.VELOCITY, Fn.HALF_EXPLICIT, Fn.ENDS_FACTOR, Fn.ENDS_SOLVE)
    of_moves = (
        Fn.FULL_FACTOR, Fn.FULL_SOLVE, Fn.FULL_TANGENT, Fn.FULL_INVERSE, Fn.FULL_SPREAD, Fn.POS_SPREAD, Fn.VEL_SPREAD, Fn.CURVATURE,
    )  # fmt: skip
    directions = ("orthogonal",)
    redundant, takes_gains, takes_metrics = "minimum-norm", True, True

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
        self._arranged: list[Arranged] = []
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
        return any(LOADED == table.kind.what or BY_V in table.kind.newton(VELOCITY).entries[:, 0] for table in tables)

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
        arrays = [c.lumps.sizes, c.lumps.bodies, *c.weights_of("v"), *c.weights_of("q"), c.numbers]
        for table in [*c.tables, *([] if c.norms is None else [c.norms])]:
            kind = table.kind
            if kind.what == LOADED or any(function.calls for function in kind.functions.values()):
                return None  # laws that stand in equations of implicit methods alone, or outside
            what = kind.what, kind.widths, kind.rows, kind.full, kind.rates, kind.own, kind.numbers
            texts = [f"{name} {kind.functions[name].text}" for name in sorted(kind.functions) if name != "whole"]
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
        key = tuple(events.values())
        if key not in c.watched:
            c.watched[key] = watched_switches(c, events)
        return c.watched[key]

    def is_current(self) -> bool:
        return self._watch is not None and self._watch.unchanged()

    def __getstate__(self) -> dict[str, Any]:
        # addresses mean nothing in another process
        return super().__getstate__() | {"_tables": None, "_watch": None, "_arranged": [], "_fronts": []}

    def operators(self, formulation) -> dict[Fn, Operator]:
        c = self.collection
        known = self._arranged_for(c, (), lambda: self._arrange(c))
        return known if formulation is None else known | self._of_fronts(c).newton(formulation.levels)

    def has_equations(self, formulation) -> bool:
        return super().has_equations(formulation) and bool(formulation.levels)

    def requested(self, wanted: set[Fn], formulation) -> dict[Fn, Operator]:
        fronts = self._of_fronts(self.collection)
        return fronts.half_explicit() if formulation is None else fronts.of_ends(formulation.levels)

    def _arranged_for(self, c: Collection, metric: tuple, make: Callable[[], Arranged]) -> dict[Fn, Operator]:
        known = next((each for each in self._arranged if each.collection is c and each.metric == metric), None)
        if known is None:
            known = make()
            self._arranged.append(known)
        return known.operators

    def moves(self, metric, mass_at) -> dict[Fn, Operator | None]:
        if self.collection.whole and mass_at == "VEL" and metric != "mass":
            return self._moved_by_fronts(metric)
        c = self._measured(metric, mass_at)
        return self._arranged_for(c, (metric, mass_at), lambda: self._moved(c, metric, mass_at))

    def _moved(self, c: Collection, metric, mass_at) -> Arranged:
        """Moves onto the rows in a metric: of velocities, and of positions, where that is not the same."""
        by_v, by_q, room = [], [], SharedRoom()
        made: dict[Fn, Operator] = {}
        for level in ("VEL", "POS"):
            of_q = level == "POS" and self._own_positions(c)
            if level == "POS" and not of_q and mass_at is None:
                continue  # velocity rows serve both
            names, how = self._rows_in(c, level, of_q, metric, mass_at)
            context = arrange(c, names, room, factors=True, **how)
            (by_q if of_q else by_v).append(context)
            made |= self._moves_of(level, context, self.n_coordinates if of_q else self.n_velocities)
        self._open(c, room)
        return Arranged(c, (metric, mass_at), made, by_v, by_q, [])

    def _moved_by_fronts(self, metric) -> dict[Fn, Operator | None]:
        """Moves of velocities along M⁻¹Gᵀ from the whole matrix; those of positions as without it."""
        plain = self.operators(None) if metric is None else self.moves(metric, None)
        level = "POS" if self._own_positions(self.collection) else "VEL"
        positions = {Fn[f"POS_{part}"]: plain[Fn[f"{level}_{part}"]] for part in ("FACTOR", "SOLVE", "TANGENT", "INVERSE")}
        return positions | self._of_fronts(self.collection).by_mass()

    def _measured(self, metric, mass_at) -> Collection:
        """The tables, where they know a metric."""
        c = self.collection
        if (mass_at or metric == "mass") and c.massless:
            raise IncompatibleMethods(
                f"{self.name} measures moves by masses where all bodies have mass and inertia; here joints hold some that have "
                "none. Use metric=None, or weights."
            )
        return c

    def further_moves(self, metric, mass_at, direction) -> dict[Fn, Operator]:
        c = self._measured(metric, mass_at)
        if max(c.redundant, c.redundant_q) > 0:
            raise IncompatibleMethods(
                f"rows of {self.name} repeat others, and then it moves positions and velocities one after the other alone. Use "
                "stabilization=Projection()."
            )
        key = "further", metric, mass_at, direction
        return self._arranged_for(c, key, lambda: self._moved_whole(c, metric, mass_at, direction))

    def _moved_whole(self, c: Collection, metric, mass_at, direction) -> Arranged:
        """Moves of the whole state, and the second halves of all moves, at other points than factors."""
        nq, nv, room = self.n_coordinates, self.n_velocities, SharedRoom()
        rows = [(table, "whole") for table in (*c.of(ROWS, SPEEDS), *([] if c.norms is None else [c.norms]))]
        weights = np.array(metric) if isinstance(metric, tuple) else np.ones(nq + nv) if direction == "orthogonal" else None
        own = None if weights is None else (np.full(nq + nv, -1), weights)
        moves = arrange(c, rows, room, by="x", weights="metric", factors=True, metric=own)
        spread, plain = arrange(c, rows, room, by="x", weights="metric", metric=own), arrange(c, rows, room, by="x")
        made = self._moves_of("FULL", moves, nq + nv)
        made[Fn.FULL_SPREAD] = Operator(table_moves.table_spread.address, spread.address, nq + nv)
        made[Fn.CURVATURE] = Operator(table_moves.table_curvature.address, plain.address, c.n_rows)
        others = [moves, spread, plain]
        for level in ("VEL", "POS"):
            of_q = level == "POS" and self._own_positions(c)
            names, how = self._rows_in(c, level, of_q, metric, mass_at)
            context = arrange(c, names, room, **how)
            made[Fn[f"{level}_SPREAD"]] = Operator(table_moves.table_spread.address, context.address, nq if of_q else nv)
            others.append(context)
        self._open(c, room)
        return Arranged(c, ("further", metric, mass_at, direction), made, [], [], others)

    def _rows_in(self, c: Collection, level: str, of_q: bool, metric, mass_at) -> tuple[list, dict[str, Any]]:
        """Tables with the rows of a level, and how they are arranged in a metric."""
        names = self._rows_by_q(c) if of_q else [(table, "main") for table in c.of(ROWS, SPEEDS)]
        how: dict[str, Any] = {"by": "q" if of_q else "v", "weights": "metric"}
        if metric == "mass" or mass_at == level:
            return [*((table, "main") for table in c.of(BODY)), *names], how | {"weights": "mass"}
        if isinstance(metric, tuple):
            own = np.array(metric[: self.n_coordinates] if of_q else metric[self.n_coordinates :])
            how["metric"] = np.full(len(own), -1), own
        return names, how

    @staticmethod
    def _moves_of(level: str, context: Context, columns: int) -> dict[Fn, Operator]:
        """The operators of moves that factor the rows of a context."""
        kinds = {
            "FACTOR": (table_moves.table_factor, context.length), "SOLVE": (table_moves.table_solve, columns),
            "TANGENT": (table_moves.table_tangent, columns), "INVERSE": (table_moves.table_inverse, context.memory.n_rows),
        }  # fmt: skip
        return {
            Fn[f"{level}_{name}"]: Operator(kernel.address, context.address, length) for name, (kernel, length) in kinds.items()
        }

    @staticmethod
    def _own_positions(c: Collection) -> bool:
        """Whether rows of positions are not those of velocities."""
        return bool(c.norms is not None or c.n_speeds or c.states)

    @staticmethod
    def _rows_by_q(c: Collection) -> list[tuple[KindTable, str]]:
        """Rows of positions, with the function that gives them by q."""
        if c.norms is None:
            return [(table, "main") for table in c.of(ROWS)]
        return [*((table, "position") for table in c.of(ROWS)), (c.norms, "position")]

    def _of_fronts(self, c: Collection) -> OfFronts:
        known = next((made for tables, made in self._fronts if tables is c), None)
        if known is None:
            known = OfFronts(c)
            self._fronts.append((c, known))
        return known

    def _arrange(self, c: Collection) -> Arranged:
        rows = [(table, "main") for table in c.of(ROWS, SPEEDS)]
        energies = [(table, "energy") for table in c.of(BODY, FORCE) if "energy" in table.kind.functions]
        norms = [] if c.norms is None else [(c.norms, "position")]
        nq, nv, n = self.n_coordinates, self.n_velocities, c.n_rows
        n_position = len(self.constraint_labels) + len(self.invariant_labels)
        room = SharedRoom()
        plain = arrange(c, [*((table, "rows") for table in c.of(ROWS, SPEEDS)), *norms], room)
        energy = arrange(c, energies, room)
        moves = arrange(c, rows, room, weights="metric", factors=True, calls=True)  # which gives reactions as well
        by_v, by_q = [moves], []
        made = {
            Fn.RESIDUAL: (kernels.table_residual, plain, n_position + n),
            Fn.REACTIONS: (kernels.table_reactions, moves, nv),
            Fn.ENERGY: (kernels.table_energy, energy, 2),
        }
        small = c.n_bodies <= DENSE and not c.of(LOADED)
        if small or not c.whole:
            field = self._field(c, room)
            by_v.append(field)
            if not c.whole:
                made[Fn.FIELD] = kernels.table_field, field, nq + nv + n + 1
            if small:
                made[Fn.TERMS] = table_terms.table_terms, field, nq + nv * nv + nv + n * nv + n
        found = {fn: Operator(kernel.address, context.address, length) for fn, (kernel, context, length) in made.items()}
        found |= self._moves_of("VEL", moves, nv)
        if self._own_positions(c):
            moves = arrange(c, self._rows_by_q(c), room, by="q", weights="metric", factors=True)
            by_q.append(moves)
            found |= self._moves_of("POS", moves, nq)
        self._open(c, room)
        if c.whole:
            found[Fn.FIELD] = self._of_fronts(c).field()
        return Arranged(c, (), found, by_v, by_q, [plain, energy])

    @staticmethod
    def _open(c: Collection, room: SharedRoom) -> None:
        """All contexts of a room are arranged."""
        room.open(c)
        c.forget()

    @staticmethod
    def _field(c: Collection, room: SharedRoom) -> Context:
        """The context of the field from blocks of M⁻¹."""
        return arrange(c, [(table, "main") for what in (BODY, STATE, FORCE, (ROWS, SPEEDS))
                           for table in c.of(*(what if isinstance(what, tuple) else (what,)))], room, weights="mass")  # fmt: skip

    def bent(self, bend) -> dict[Fn, Operator]:
        c = self.collection
        wrong = f"D={bend.D!r}" if not isinstance(bend.D, str) or bend.D == "B" else None
        if bend.D == "mass" and (self.kinematics or c.massless):
            wrong = 'D="mass" in space' if self.kinematics else 'D="mass" where bodies have no inertia'
        if wrong is None and c.whole:
            wrong = "terms inside accelerations from the whole matrix"
        if wrong is not None:
            raise IncompatibleMethods(f"{self.name} does not offer {wrong}. Use Baumgarte(), or stabilization=Projection().")
        return self._arranged_for(c, ("bent", bend), lambda: self._bent(c, bend))

    def _bent(self, c: Collection, bend) -> Arranged:
        """The field less γ F h, F made of moves onto the rows, along D."""
        nq, nv = self.n_coordinates, self.n_velocities
        whole = bend.D == "orthogonal" and bend.F != "4.8"
        plain, coupled = bend.F == "1.14", bend.F == "1.13" and not whole
        metric = "mass" if bend.D == "mass" else (1.0,) * (nq + nv)
        moves, more = {}, {}
        if not whole:
            moves = self.moves(metric, None)
        if whole or plain or coupled:
            more = self.further_moves(None if whole else metric, None, "orthogonal" if whole else None)
        known = self.operators(None) | moves | more
        halves = ("SPREAD", "SPREAD") if plain else ("FACTOR", "SOLVE")
        of_q = "FULL" if whole else "POS" if f"POS_{halves[1]}" in {fn.name for fn in (*moves, *more)} else "VEL"
        room = SharedRoom()
        field, bent = self._field(c, room), Context(BENT)
        self._open(c, room)
        field.memory.at_gains = c.at_gains + 1  # the places behind γ are zero: these terms are none of Baumgarte's
        head, used = bent.memory, {"field": Operator(kernels.table_field.address, field.address, 0), "residual": known[Fn.RESIDUAL]}
        for level, name in (("q", of_q), ("v", of_q if whole else "VEL")):
            used |= {f"{part}_{level}": known[Fn[f"{name}_{half}"]] for part, half in zip(("factor", "solve"), halves, strict=True)}
        if coupled:
            used["curvature"] = known[Fn.CURVATURE]
        for name, operator in used.items():
            setattr(head, name, operator.function)
            setattr(head, f"{name}_context", operator.context)
        head.nq, head.nv, head.n_rows, head.at_gain = nq, nv, c.n_rows, c.at_gains
        head.n_constraints, head.n_position = c.n_constraints, c.n_constraints + len(self.invariant_labels)
        head.kept = max(used["factor_q"].length, used["factor_v"].length)
        head.whole, head.plain, head.coupled, head.integral = int(whole), int(plain), int(coupled), int(bend.integral)
        made = {Fn.FIELD: Operator(table_bend.table_bent_field.address, bent.address, nq + nv + c.n_rows + 1)}
        return Arranged(c, ("bent", bend), made, [field], [], [bent])

    def learn_rank(self, fn: Fn, count: int | None) -> bool:
        c = self.collection
        by_v = fn is Fn.VEL_FACTOR
        known = c.redundant if by_v else c.redundant_q
        if count is None and known >= 0:
            return False
        self._set_rank(by_v, 0 if count is None else count)
        return True

    @property
    def without_terms(self) -> str:
        return " with forces that follow reactions" if self.collection.n_bodies <= DENSE else f" beyond {DENSE} bodies"

    @property
    def measures_by_mass(self) -> bool:
        return not self.collection.massless

    @property
    def along_mass(self) -> tuple[str | None, str | None]:
        return (None, "VEL") if self.collection.whole else ("mass", None)

    @property
    def repeating(self) -> np.ndarray | None:
        try:
            found = self._of_fronts(self.collection).dropped
        except IncompatibleMethods:  # in the drawing others do so
            return None
        return found if found.sum() == self.collection.redundant else None

    def sparse_rows(self, t: float, x: np.ndarray, data: np.ndarray):
        return self._of_fronts(self.collection).rows(t, x, data)

    def sparse_gradients(self, t: float, x: np.ndarray, data: np.ndarray):
        return self._of_fronts(self.collection).rows_by_state(t, x, data)

    def sparse_mass(self, t: float, x: np.ndarray, data: np.ndarray):
        return self._of_fronts(self.collection).masses(t, x, data)

    @property
    def ratio_tells(self) -> bool:
        c = self.collection
        return c.redundant == 0 and not c.whole and (c.redundant_q == 0 or not self._own_positions(c))

    @property
    def rank(self) -> tuple[int, int]:
        return self.collection.redundant, self.collection.redundant_q

    @property
    def shares_loads(self) -> bool:
        return not self.collection.whole

    def set_rank(self, by_v: int, by_q: int) -> None:
        self._set_rank(True, by_v)
        self._set_rank(False, by_q)

    def _set_rank(self, by_v: bool, count: int) -> None:
        c = self.collection
        if by_v:
            c.redundant = count
        else:
            c.redundant_q = count
        for arranged in (each for each in self._arranged if each.collection is c):
            for context in arranged.by_v if by_v else arranged.by_q:
                context.memory.redundant = count
