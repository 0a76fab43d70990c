"""From a mechanism to tables: its bodies, forces, joints and drives, each in the table of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..assembly.collection import BodyLumps, Collection, KindTable
from ..assembly.kinds import SLOT, Kind, make_kind
from ..assembly.table_system import TableSystem
from ..formulations.base import Formulation
from ..kernels.elements import BODY, FORCE, NORMS, ROWS, SPEEDS, STATE
from ..kernels.newton_memory import LOADED
from ..model.call_by_name import wanted
from ..model.collector_pause import collector_paused
from ..model.extra_states import Extras
from ..model.system import System
from ..planning.choice import kinds
from .element_reader import Reader, Remaker
from .joint import Force
from .lower import (
    check_masses,
    held_point_masses,
    mass_function,
    mass_keys,
    masses_of_bodies,
    potential_function,
    ties_of_point_masses,
    total_force,
)
from .memory_needed import refuse_beyond
from .results import Resolver
from .row_layout import RowLayout, body_names, coordinate_kinds, in_order, row_labels
from .series import BodySeries, ElementSeries
from .state_methods import seen
from .table_numbers import Numbers

CHECKED = 100  # bodies up to which one without inertia is looked at, whether joints let it turn
CARRIED = 100  # joints of one body from which on accelerations come from the whole matrix: without the body they are all coupled
UNEVEN = 1e6  # ratio of masses from which on accelerations come from the whole matrix: blocks of M⁻¹ lose digits there
_known: dict[tuple, Kind] = {}  # of elements without functions of the user's


def to_tables(m, q: np.ndarray, varying=(), t: float = 0.0) -> TableSystem:
    """Return the equations of a mechanism as tables; q and t are where functions are looked at on numbers.

    `varying` names masses and inertias that vary apart.
    """
    refuse_beyond(len(m.bodies), m.dimension, "this mechanism as tables")
    m = as_it_is(m)
    labels = row_labels(m)
    norms: Sequence[str] = []
    if m.kit.invariants(("body",)) is not None:
        norms = in_order(body_names(m.bodies, "norm ", ("",)))
    known = Numbers(m)
    read_alone = {name: read(parts, known.params) for name, parts in elements(m)}
    series = [SeriesReader(m, each) for each in (*m.joints.series, *m.forces.series)]
    functions = [function for reader in (*read_alone.values(), *series) for function in reader.functions]
    functions += [given for given in m.inputs.values() if callable(given)]
    readers = read_alone | {reader.series.key: reader for reader in series}
    return TableSystem(
        partial(collect, m, known, q, readers, varying, t), functions,
        (labels["position"], labels["velocity"], norms), known.params,
        coordinate_kinds(m.kit, m.bodies), dict(m.inputs) or None, dict(m.outputs) or None, Resolver(m, {}),
        (m.kit.NQ * len(m.bodies) + sum(len(state.start) for state in m.states.values()), m.kit.NV * len(m.bodies)),
        sums_over_elements(), rates_of_states(m), m.kit.kinematics(1),
    )  # fmt: skip


def sums_over_elements() -> tuple[type, ...]:
    """Formulations whose equations are such sums: that of index 2 first, those with fewer unknowns before others."""
    own = [kind for kind in kinds(Formulation) if kind.__module__.startswith(Formulation.__module__.rpartition(".")[0])]
    order = {kind: kind() for kind in own}
    found = [kind for kind in own if order[kind].levels]
    first = lambda f: (len(f.levels), abs(f.index - 2), -f.index, not f.recommended)
    return tuple(sorted(found, key=lambda kind: first(order[kind])))


def rates_of_states(m) -> dict[str, Any] | None:
    """Rates by the names of states, as functions of a System."""
    layout = m._state_layout()
    return {name: seen(rate_function(m, state), layout) for name, state in m.states.items()} or None


def rate_function(m, state):
    """The rate of a state as a function of (t, q, v, p, u)."""
    return m._named(state.rate, f"rate of state {state.name!r}")


def state_element(name: str) -> str:
    """What the element of a state is called here; no other part has such a name."""
    return f"rate of {name}"


def elements(m):
    """Name and functions of all states, joints, drives and forces that were drawn one by one."""
    for state in m.states.values():
        yield state_element(state.name), (rate_function(m, state),)
    for part in (*m.joints.alone.values(), *m.drives.values()):
        yield part.name, (part.rows,)
    for force in m.forces.alone.values():
        yield force.name, parts_of(m, force)


def parts_of(m, force) -> tuple:
    """Functions of a force, those of the joint whose reaction it follows among them."""
    own = (force.applied, force.energy)
    return own if force.load is None else (*own, m.joints[force.load].rows)


def read(parts, known) -> Reader:
    """Read the functions of one element, which share its numbers."""
    reader = Reader(known)
    for part in parts:
        reader.read(part)
    return reader


def as_it_is(m):
    """A copy of a mechanism to which nothing is added any more."""
    made = copy(m)
    for name in ("bodies", "joints", "drives", "forces", "points", "states", "inputs", "outputs"):
        setattr(made, name, getattr(m, name).copy())
    return made


def collect(m, known: Numbers, q: np.ndarray, readers: dict[Any, Any], varying=(), t: float = 0.0) -> Collection:
    """Put all elements of a mechanism into tables."""
    with collector_paused():
        return Collector(m, known, q, readers, varying, t).collection


class SeriesReader(Reader):
    """Reads a series as `Reader` reads an element."""

    def __init__(self, m, series: ElementSeries):
        super().__init__(_Either(series.codes, m.params))
        self.series = series
        whole = series.whole
        for part in parts_of(m, whole) if isinstance(whole, Force) else (whole.rows,):
            self.read(part)


class _Either:
    """Names that one of two knows."""

    def __init__(self, one, other):
        self._both = one, other

    def __contains__(self, name: object) -> bool:
        return any(name in each for each in self._both)


class Collector:
    """The walk over a mechanism's elements."""

    def __init__(self, m, known: Numbers, q: np.ndarray, readers: dict[Any, Any], varying, t: float):
        self.t = t
        self.m, self.kit, self.q, self.known, self.readers, self.varying = m, m.kit, q, known, dict(readers), varying
        self.params = known.params
        flat = self.kit.invariants(()) is None
        ties = ties_of_point_masses(m)
        ties = tuple(each[flat | (ties[1] < 0)] for each in ties)  # in space a rotation has no lump to share
        self.lumps, self.lump_of = lumps_of(len(m.bodies), *ties[:2])
        self.collection = Collection(
            self.lumps, self.kit.NQ, self.kit.NV, known.places,
            partial(weights_of, self.kit, known.size, sum(len(state.start) for state in m.states.values())),
            np.concatenate([q, *(state.start for state in m.states.values())]) if m.states else q, known.values,
        )  # fmt: skip
        self.collection.states = tuple(len(state.start) for state in m.states.values())
        self._tables: dict[tuple, KindTable] = {}
        self._add_bodies(*ties)
        for state in m.states.values():
            self._add_state(state)
        for each in m.forces.in_order:
            if isinstance(each, ElementSeries):
                self._add_force_series(each)
                continue
            for force in each.values():
                if force.load is None:
                    self._add_force(force)
        rows = 0
        for level in ("position", "velocity"):
            for each in (*m.joints.in_order, m.drives):
                if isinstance(each, ElementSeries):
                    if each.whole.level == level:
                        self._add_row_series(each, rows)
                        rows += len(each.whole.labels) * each.count
                    continue
                for part in each.values():
                    if part.level == level:
                        self._add_rows(part, rows)
                        rows += len(part.labels)
            if level == "position":
                self.collection.n_constraints = rows
        loaded = [force for force in m.forces.alone.values() if force.load is not None]
        layout = RowLayout(m.joints, m.drives) if loaded else {}
        for force in loaded:
            self._add_force(force, layout[force.load].start)
        self.collection.n_speeds = rows - self.collection.n_constraints
        heavy = masses_of_bodies(m)
        self.collection.whole |= bool(heavy.max() > UNEVEN * heavy.min())
        self.collection.n_inputs = len(m.inputs)
        if self.kit.invariants(()) is not None:
            self._add_norms()
        self.collection.tables = list(self._tables.values())
        self.collection.settle()
        carried = [table.ends.ravel() for table in self.collection.tables if table.kind.rows]
        self.collection.whole |= bool(carried) and int(np.bincount(np.concatenate(carried)).max()) > CARRIED

    # elements

    def _add_bodies(self, tied: np.ndarray, others: np.ndarray, nominal: np.ndarray) -> None:
        m, nv = self.m, self.kit.NV
        own: dict[int, list] = {}
        inertia = np.zeros(len(m.bodies))  # of bodies that are tied to the ground
        inertia[tied[others < 0]] = nominal[others < 0]
        alone = (self.lumps.sizes == 1)[self.lump_of]
        plain = np.zeros(len(self.lumps), dtype=bool)  # lumps that series brought
        start = 0
        for each in m.bodies.in_order:
            if isinstance(each, BodySeries):
                varying = any(m.params.columns_of(name) is each.columns for name in self.varying)
                k = start + np.arange(each.count)
                if not varying and not each.columns.loose and alone[k].all() and (not each.point_mass or (inertia[k] > 0.0).all()):
                    self._add_body_series(each, k, inertia[k])
                    plain[self.lump_of[k]] = True
                start += each.count
            else:
                start += len(each)
        for body, other, value in zip(tied.tolist(), others.tolist(), nominal.tolist(), strict=True):
            if not plain[self.lump_of[body]]:
                own.setdefault(int(self.lump_of[body]), []).extend(self.kit.links(body, other, value))
        rest, grounded = np.flatnonzero(~plain), set(tied[others < 0].tolist())
        every = enumerate(m.bodies.values()) if not plain.any() else ()
        bodies = dict(every) or {k: m.bodies.by_number(k) for lump in rest for k in self.lumps[lump]}
        for number in rest.tolist():
            lump = self.lumps[number]
            links = own.get(number, ())
            local = {nv * k + i: nv * place + i for place, k in enumerate(lump) for i in range(nv)} | {-1: -1}
            tie = tuple((local[one], local[other]) for one, other, _ in links)
            keys = tuple(self._mass_keys(bodies[k].name) for k in lump)
            held = {row // nv for pair in tie for row in pair if row >= 0}
            light = not any(inertias for _, inertias, _ in keys) and grounded.isdisjoint(lump)  # they hold each other alone
            for place, (mass, inertias, _) in enumerate(keys):
                if not inertias and (light or place not in held):
                    self._held_alone(mass.removesuffix(".mass"))
            named = [name for mass, inertias, shape in keys for name in (mass, *(key for _, key in inertias), shape) if name]
            values = [value for _, _, value in links]
            make = partial(self._body_kind, lump, keys, tie)
            self._table(self._body_key(keys, tie), [*m._gravity, *named], values, (number,), make)

    def _body_key(self, keys, tie) -> tuple:
        alike = tuple((tuple(suffix for suffix, _ in inertias), shape is not None) for _, inertias, shape in keys)
        return ("body", self.kit.NV, alike, tie)

    def _add_body_series(self, series: BodySeries, k: np.ndarray, nominal: np.ndarray) -> None:
        """Bodies of a series, each a lump of its own; nominal inertia is that of point masses."""
        m, params = self.m, self.m.params
        keys = (self._mass_keys(series.names.name(0)),)
        links = tuple(self.kit.links(0, -1, 1.0)) if series.point_mass else ()
        tie = tuple((one, other) for one, other, _ in links)
        columns = [np.full(series.count, self.known.places[name]) for name in m._gravity]
        for suffix in (".mass", *(".inertia" + suffix for suffix in series.inertias())):
            columns.append(params.place_of_code(series.columns.codes(suffix)))
        if keys[0][2] is not None:
            columns.append(self.known.stated[k])
        values = [self.known.values[column[0]] for column in columns]
        for _, _, share in links:
            columns.append(self.collection.constants(share * nominal))
            values.append(share * nominal[0])
        kind = partial(self._body_kind, (int(k[0]),), keys, tie, values)
        table = self._table_of(self._body_key(keys, tie), kind)
        table.add_many(self.lump_of[k][:, None], np.stack(columns, axis=1), np.zeros(series.count, dtype=np.int64))

    def _add_row_series(self, series: ElementSeries, first: int) -> None:
        """Rows of joints in a row."""
        starts = first + len(series.whole.labels) * np.arange(series.count)
        self._add_series(series, ("rows", self.kit.NV, series.whole.level), self._rows_kind, starts, self._add_rows)

    def _add_force_series(self, series: ElementSeries) -> None:
        """Forces in a row."""
        make = lambda force, *more: self._force_kind(parts_of(self.m, force), *more)
        starts = np.zeros(series.count, dtype=np.int64)
        self._add_series(series, ("force", False, self.kit.NV), make, starts, self._add_force)

    def _add_series(self, series: ElementSeries, key: tuple, make, starts: np.ndarray, add_one) -> None:
        """Elements of a series, at once where each of their bodies is a lump of its own."""
        reader: SeriesReader = self.readers[series.key]
        bodies = np.stack([np.broadcast_to(each, series.count) for each in reader.bodies], axis=1)
        ends = self.lump_of[bodies]
        plain = np.all(self.lumps.sizes[ends] == 1, axis=1) & (not self._asked(reader))
        if plain.any():
            first = int(np.argmax(plain))
            wide, lumps = self._ends(bodies[first].tolist())

            def kind() -> Kind:
                part = series.part(first)
                own = self._read_one(part)
                return make(part, lumps, own, [self.params[name] if isinstance(name, str) else name for name in own.numbers])

            table = self._table_of((*key, *reader.key, *wide), kind, reader.functions)
            slots = np.empty((int(plain.sum()), len(reader.numbers)), dtype=np.int64)
            for i, number in enumerate(reader.numbers):
                place = self._slot(series, number)
                slots[:, i] = place if np.ndim(place) == 0 else place[plain]
            table.add_many(ends[plain], slots, starts[plain])
        for which in np.flatnonzero(~plain).tolist():
            part = series.part(which)
            self.readers[part.name] = self._read_one(part)
            add_one(part, int(starts[which]))

    def _read_one(self, part) -> Reader:
        return read(parts_of(self.m, part) if isinstance(part, Force) else (part.rows,), self.params)

    def _mass_keys(self, name: str) -> tuple:
        return mass_keys(name, self.m.params, self.m.params.tied_to(f"{name}.mass"), self.varying)

    def _body_kind(self, lump, keys, tied, values) -> Kind:
        kit, count = self.kit, 0

        def slot():
            nonlocal count
            count += 1
            return f"{SLOT}{count - 1}"

        gravity = tuple(slot() for _ in self.m._gravity)
        masses = tuple(
            (slot(), tuple((suffix, slot()) for suffix, _ in inertia), None if shape is None else slot())
            for _, inertia, shape in keys
        )
        numbers = [slot() for _ in tied]
        weights = tuple((k, body[0]) for k, body in enumerate(masses))

        def mass(p):
            links = tuple((one, other, p[name]) for (one, other), name in zip(tied, numbers, strict=True))
            return mass_function(kit.mass_block, kit.NV, masses, links)(p)

        spins = kit.gyroscopic(masses)

        def force(q, v, p):
            return total_force(kit.generalized, kit.NV, len(lump), (), spins, 0.0, q, v, p, None, None)

        return self._kind(
            BODY, lump, values, mass=mass, force=force if spins else None,
            potential=potential_function(kit.centre, gravity, weights, ()), energy=True,
        )  # fmt: skip

    def _held_alone(self, name: str) -> None:
        """A body without inertia whose rotation positions alone hold: its mass has no inverse."""
        if len(self.m.bodies) <= CHECKED and not self.collection.whole:
            masses = tuple(self._mass_keys(body.name) for body in self.m.bodies.values())
            mass = mass_function(self.kit.mass_block, self.kit.NV, masses, tuple(held_point_masses(self.m)))
            check_masses(self.m, SimpleNamespace(mass=mass, params=self.params), self.q)
        self.collection.whole = self.collection.massless = True

    def _add_force(self, force, first: int = 0) -> None:
        parts, reader = parts_of(self.m, force), self.readers[force.name]
        ends, lumps = self._ends(reader.bodies, self._asked(reader))
        key = ("force", force.load is not None, self.kit.NV, *reader.key, *ends)
        made = partial(self._force_kind if force.load is None else self._loaded_kind, parts, lumps, reader)
        self._table(key, reader.numbers, (), tuple(lumps), made, user=reader.functions, first=first)
        self.collection.whole |= force.load is not None

    def _loaded_kind(self, parts, lumps, reader, values) -> Kind:
        """A force beside the rows of the joint whose multipliers it follows."""
        kit, known, local = self.kit, self.params, self._local(lumps)
        applied, _, rows = parts
        asked = wanted(rows, "rows", ("t", "q", "v", "p"))

        def made(p):
            remake = Remaker(known, local, p)
            act = remake.make(applied)
            return act, remake.make(rows)

        states = self._states_seen(lumps)

        def act(t, q, v, p, u, lam):
            return total_force(kit.generalized, kit.NV, len(local), ((made(p)[0], (0, None)),), (), t, q, v, p, u, lam)

        def constraint(t, q, p):
            given = {"t": t, "q": q, "p": p}
            return made(p)[1](**{name: given[name] for name in asked})

        return self._kind(
            LOADED, list(local), values, user=reader.functions, states=states, force=seen(act, layout_of(states)),
            constraint={"joint": constraint},
        )  # fmt: skip

    def _force_kind(self, parts, lumps, reader, values) -> Kind:
        kit, known, local = self.kit, self.params, self._local(lumps)
        (applied, energy), states = parts, self._states_seen(lumps)

        def act(t, q, v, p, u):
            remake = Remaker(known, local, p)
            made = remake.make(applied)
            return total_force(kit.generalized, kit.NV, len(local), ((made, None),), (), t, q, v, p, u, None)

        def potential(q, p):
            remake = Remaker(known, local, p)
            remake.make(applied)
            return remake.make(energy)(q, p)

        return self._kind(
            FORCE, list(local), values, user=reader.functions, states=states,
            force=None if applied is None else seen(act, layout_of(states)),
            potential=None if energy is None else potential, energy=energy is not None,
        )  # fmt: skip

    def _add_state(self, state) -> None:
        reader = self.readers[state_element(state.name)]
        others = [name for name in self._asked(reader) if name != state.name]
        ends, lumps = self._ends(reader.bodies, [state.name, *others])
        key = ("state", self.kit.NV, *reader.key, *ends, tuple(others))
        made = partial(self._state_kind, state, lumps, reader)
        self._table(key, reader.numbers, (), tuple(lumps), made, user=reader.functions)

    def _state_kind(self, state, lumps, reader, values) -> Kind:
        known, local, states = self.params, self._local(lumps), self._states_seen(lumps)
        whole = rate_function(self.m, state)

        def rate(t, q, v, p, u):
            return Remaker(known, local, p).make(whole)(t, q, v, p, u)

        return self._kind(STATE, list(local), values, user=reader.functions, states=states, rate=seen(rate, layout_of(states)))

    def _add_rows(self, part, first: int) -> None:
        reader = self.readers[part.name]
        ends, lumps = self._ends(reader.bodies)
        key = ("rows", self.kit.NV, part.level, *reader.key, *ends)
        made = partial(self._rows_kind, part, lumps, reader)
        self._table(key, reader.numbers, (), tuple(lumps), made, user=reader.functions, first=first)

    def _add_norms(self) -> None:
        """Rows that keep the lengths of quaternions, a lump's together."""
        c, at = self.collection, self.collection.n_constraints
        key = ("norms", self.kit.NV)
        if key not in _known:
            _known[key] = self._kind(NORMS, [0], (), invariants=self.kit.invariants(("body",)))
        n = len(self.lumps)
        c.norms = KindTable(_known[key])
        c.norms.add_many(np.arange(n)[:, None], np.zeros((n, 0), dtype=np.int64), at + np.arange(n))

    def _rows_kind(self, part, lumps, reader, values) -> Kind:
        known, local, asked = self.params, self._local(lumps), wanted(part.rows, part.name, ("t", "q", "v", "p"))

        def remade(given):
            made = Remaker(known, local, given["p"]).make(part.rows)
            return made(**{name: given[name] for name in asked})

        def rows(t, q, p):
            return remade({"t": t, "q": q, "p": p})

        def speeds(t, q, v, p):
            return remade({"t": t, "q": q, "v": v, "p": p})

        level = {"constraint": {part.name: rows}} if part.level == "position" else {"nonholonomic": {part.name: speeds}}
        what = ROWS if part.level == "position" else SPEEDS
        return self._kind(what, list(local), values, user=reader.functions, **level)

    # kinds

    def _asked(self, reader: Reader) -> list[str]:
        """States that an element sees: those that its functions name, all where they look into u."""
        return [name for name in self.m.states if "u" in reader.asked or name in reader.asked]

    def _states_seen(self, lumps) -> list:
        """States among some lumps."""
        states = list(self.m.states.values())
        return [states[lump - len(self.lumps)] for lump in lumps if lump >= len(self.lumps)]

    def _ends(self, bodies: list[int], states: Sequence[str] = ()) -> tuple[tuple, list[int]]:
        """Where each body stands in the lumps at the ends, lengths of states, and these lumps, of bodies and then of states."""
        of = [int(self.lump_of[k]) for k in bodies]
        lumps = list(dict.fromkeys(of))
        widths = tuple(int(self.lumps.sizes[lump]) for lump in lumps)
        where = tuple((lumps.index(lump), self.lumps[lump].index(k)) for lump, k in zip(of, bodies, strict=True))
        if not states:
            return (widths, where), lumps
        names = list(self.m.states)
        sizes = tuple(len(self.m.states[name].start) for name in states)
        return (widths, where, sizes), [*lumps, *(len(self.lumps) + names.index(name) for name in states)]

    def _local(self, lumps: list[int]) -> dict[int, int]:
        """Numbers of bodies among those of some lumps."""
        bodies = [lump for lump in lumps if lump < len(self.lumps)]
        return {k: i for i, k in enumerate(k for lump in bodies for k in self.lumps[lump])}

    def _slot(self, series: ElementSeries, number) -> Any:
        """Place, or places, in data of a number of a series: a column, a parameter of its mechanism, or a constant."""
        if isinstance(number, np.ndarray):
            return self.collection.constants(np.broadcast_to(number, series.count))
        if not isinstance(number, str):
            return self.collection.constant(number)
        codes = series.codes.get(number)
        return self.known.places[number] if codes is None else self.m.params.place_of_code(codes)

    def _table_of(self, key, make, user=()) -> KindTable:
        """The table of a kind."""
        table = self._tables.get(key)
        if table is None:
            kind = _known.get(key)
            if kind is None:
                kind = make()
                if not user:
                    _known[key] = kind
            table = self._tables[key] = KindTable(kind)
        return table

    def _table(self, key, names, values, lumps, make, user=(), first: int = 0) -> None:
        """One more element in the table of its kind."""
        table = self._tables.get(key)
        if table is None:
            numbers = lambda: [self.params[name] if isinstance(name, str) else name for name in names]
            table = self._table_of(key, lambda: make([*numbers(), *values]), user)
        places, constant = self.known.places, self.collection.constant
        table.add(lumps, [places[name] if type(name) is str else constant(name) for name in (*names, *values)], first)

    def _kind(
        self, what: int, bodies, values, *, user=(), mass=None, energy: bool = False, states=(), rate=None, **parts: Any
    ) -> Kind:
        """Trace a kind from the first of its elements; `rate` is that of the first of the states that it sees."""
        kit, n = self.kit, len(bodies)
        params = {f"{SLOT}{i}": value for i, value in enumerate(values)}
        if user:
            params |= dict(self.params)
        q = self.q.reshape(-1, kit.NQ)[list(bodies)].ravel()
        rates = {state.name: partial(np.zeros, len(state.start)) for state in states}
        if rate is not None:
            rates[states[0].name] = rate
        system = System(
            mass=np.eye(kit.NV * n) if mass is None else mass, kinematics=kit.kinematics(n) if n else None, params=params,
            inputs=dict(self.m.inputs) or None, states=rates or None, **parts,
        )  # fmt: skip
        widths = [(kit.NQ * len(lump), kit.NV * len(lump)) for lump in self._lumps_of(bodies)]
        widths += [(len(state.start), 0) for state in states]
        extras = Extras(tuple((state.name, len(state.start)) for state in states))
        q = np.concatenate([q, *(state.start for state in states)])
        rotation = None if kit.invariants(()) is None or states else kit.rotation
        return make_kind(what, system, q, np.zeros(kit.NV * n), widths, energy, rotation, extras, self.t)

    def _lumps_of(self, bodies) -> list[tuple[int, ...]]:
        return [self.lumps[lump] for lump in dict.fromkeys(self.lump_of[k] for k in bodies)]


def weights_of(kit, size: np.ndarray, n_states: int, which: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of sizes in data, -1: none, and factors: by what coordinates (0) or velocities (1) are weighed in projections."""
    one, two = (np.array(kit.weights(each)[which]) for each in (1.0, 2.0))
    places = np.where(one != two, size[:, None], -1)  # what grows with the size is a rotation
    factors, states = np.tile(one, len(places)), 0 if which else n_states
    return np.append(places.ravel(), np.full(states, -1)), np.append(factors, np.ones(states))


def layout_of(states) -> tuple[tuple[str, int, int], ...]:
    """Name, place among these states and length of each."""
    ends = np.cumsum([0, *(len(state.start) for state in states)]).tolist()
    return tuple((state.name, at, len(state.start)) for state, at in zip(states, ends, strict=False))


def lumps_of(n: int, bodies: np.ndarray, others: np.ndarray) -> tuple[BodyLumps, np.ndarray]:
    """Bodies that share inertia with others, -1: the ground, and in which lump each body is."""
    head: dict[int, int] = {}

    def root(k: int) -> int:
        while head.get(k, k) != k:
            head[k] = head.get(head[k], head[k])
            k = head[k]
        return k

    for one, other in zip(bodies.tolist(), others.tolist(), strict=True):
        if other >= 0:
            head[root(other)] = root(one)
    first = np.arange(n)  # the first body of the lump of each
    members: dict[int, list[int]] = {}
    joined = {k for pair in head.items() for k in pair}
    for k in sorted(joined):
        members.setdefault(root(k), []).append(k)
    for each in members.values():
        first[each] = each[0]
    heads, lump_of = np.unique(first, return_inverse=True)
    lump_of = lump_of.ravel()
    return BodyLumps(np.bincount(lump_of, minlength=len(heads)), np.argsort(lump_of, kind="stable")), lump_of
