"""From a mechanism to tables: its bodies, forces, joints and drives, each in the table of its kind."""

from __future__ import annotations

from collections import Counter
from copy import copy
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..assembly.collection import Collection, KindTable
from ..assembly.kinds import SLOT, Kind, make_kind
from ..assembly.table_system import TableSystem
from ..errors import IncompatibleMethods
from ..formulations.index2 import Index2
from ..kernels.elements import BODY, FORCE, NORMS, ROWS, SPEEDS
from ..kernels.table_newton import LOADED
from ..model.call_by_name import wanted
from ..model.collector_pause import collector_paused
from ..model.system import System
from .element_reader import Reader, Remaker
from .lower import (
    body_sizes,
    check_masses,
    held_point_masses,
    mass_function,
    mass_keys,
    metric,
    potential_function,
    shape_masses,
    total_force,
)
from .results import Resolver

CHECKED = 100  # bodies up to which one without inertia is looked at, whether joints let it turn
CARRIED = 100  # joints of one body from which on accelerations come from the whole matrix: without the body they are all coupled
UNEVEN = 1e6  # ratio of masses from which on accelerations come from the whole matrix: blocks of M⁻¹ lose digits there
_known: dict[tuple, Kind] = {}  # of elements without functions of the user's


def to_tables(m, q: np.ndarray, varying=()) -> TableSystem:
    """Return the equations of a mechanism as tables; q is where functions are looked at on numbers.

    `varying` names masses and inertias that vary apart.
    """
    lacks = lack_of_tables(m)
    if lacks is not None:
        raise IncompatibleMethods(f'{lacks}, which tables (compile="never") do not know. Use compile="now".')
    m = as_it_is(m)
    bodies = tuple(m.bodies.values())
    labels: dict[str, list[str]] = {"position": [], "velocity": []}
    for part in (*m.joints.values(), *m.drives.values()):
        names = part.rows.row_names
        labels[part.level] += [part.name] if len(part.labels) == 1 else [f"{part.name}[{row}]" for row in names]
    coordinates: dict[str, str] = {}
    for body in bodies:
        coordinates |= m.kit.labels(body.name)
    norms = list(m.kit.invariants(tuple(m.bodies)) or ())
    params = m.params.as_dict() | {f"{name}.size": size for name, size in body_sizes(m).items()} | shape_masses(m)
    readers = {name: read(parts, params) for name, parts in elements(m)}
    functions = [function for reader in readers.values() for function in reader.functions]
    functions += [given for given in m.inputs.values() if callable(given)]
    return TableSystem(
        partial(collect, m, params, q, readers, varying), functions, (labels["position"], labels["velocity"], norms), params,
        coordinates, dict(m.inputs) or None, dict(m.outputs) or None, Resolver(m, {}),
        (m.kit.NQ * len(bodies), m.kit.NV * len(bodies)), (Index2,),
    )  # fmt: skip


def elements(m):
    """Name and functions of all joints, drives and forces."""
    for part in (*m.joints.values(), *m.drives.values()):
        yield part.name, (part.rows,)
    for force in m.forces.values():
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


def lack_of_tables(m) -> str | None:
    """Name the first element that tables do not know; None where they know all."""
    return f"state {next(iter(m.states))!r} has an equation of its own" if m.states else None


def as_it_is(m):
    """A copy of a mechanism to which nothing is added any more."""
    made = copy(m)
    for name in ("bodies", "joints", "drives", "forces", "points", "states", "inputs", "outputs"):
        setattr(made, name, dict(getattr(m, name)))
    return made


def collect(m, params: dict[str, float], q: np.ndarray, readers: dict[str, Reader], varying=()) -> Collection:
    """Put all elements of a mechanism into tables."""
    with collector_paused():
        return Collector(m, params, q, readers, varying).collection


class Collector:
    """The walk over a mechanism's elements."""

    def __init__(self, m, params: dict[str, float], q: np.ndarray, readers: dict[str, Reader], varying):
        self.m, self.kit, self.q, self.params, self.readers, self.varying = m, m.kit, q, params, readers, varying
        flat = self.kit.invariants(()) is None
        links = [link for link in held_point_masses(m) if flat or link[1] < 0]  # in space a rotation has no lump to share
        self.lumps, self.lump_of = lumps_of(len(m.bodies), self.kit.NV, links)
        places = {name: place for place, name in enumerate(params)}
        weights = [given if isinstance(given, tuple) else (None, given) for given in metric(m, tuple(m.bodies.values()))]
        weighed = [(-1 if name is None else places[name], float(factor)) for name, factor in weights]
        nq = self.kit.NQ * len(m.bodies)
        self.collection = Collection(self.lumps, self.kit.NQ, self.kit.NV, places, [], [], weighed[nq:], weighed[:nq])
        self.collection.start, self.collection.values = q, tuple(map(float, params.values()))
        self._tables: dict[tuple, KindTable] = {}
        self._add_bodies(links)
        for force in m.forces.values():
            if force.load is None:
                self._add_force(force)
        rows, begins = 0, {}
        for level in ("position", "velocity"):
            for part in (*m.joints.values(), *m.drives.values()):
                if part.level == level:
                    begins[part.name] = rows
                    self._add_rows(part, rows)
                    rows += len(part.labels)
            if level == "position":
                self.collection.n_constraints = rows
        for force in m.forces.values():
            if force.load is not None:
                self._add_force(force, begins[force.load])
        self.collection.n_speeds = rows - self.collection.n_constraints
        heavy = [body.mass for body in m.bodies.values()]
        self.collection.whole |= max(heavy) > UNEVEN * min(heavy)
        carried = Counter(lump for table in self._tables.values() if table.kind.rows for ends in table.ends for lump in ends)
        self.collection.whole |= max(carried.values(), default=0) > CARRIED
        self.collection.n_inputs = len(m.inputs)
        if self.kit.invariants(()) is not None:
            self._add_norms()
        self.collection.tables = list(self._tables.values())
        self.collection.settle_numbers()

    # elements

    def _add_bodies(self, links) -> None:
        m, nv = self.m, self.kit.NV
        bodies, own = list(m.bodies.values()), {}
        for one, other, value in links:
            own.setdefault(self.lump_of[one // nv], []).append((one, other, value))
        for number, lump in enumerate(self.lumps):
            ties = own.get(number, ())
            local = {nv * k + i: nv * place + i for place, k in enumerate(lump) for i in range(nv)} | {-1: -1}
            tied = tuple((local[one], local[other]) for one, other, _ in ties)
            keys = tuple(self._mass_keys(bodies[k].name) for k in lump)
            held = {row // nv for pair in tied for row in pair if row >= 0}
            for place, (mass, inertia, _) in enumerate(keys):
                if not inertia and place not in held:
                    self._held_alone(mass.removesuffix(".mass"))
            named = [name for mass, inertia, shape in keys for name in (mass, *(key for _, key in inertia), shape) if name]
            alike = tuple((tuple(suffix for suffix, _ in inertia), shape is not None) for _, inertia, shape in keys)
            values = [value for _, _, value in ties]
            make = partial(self._body_kind, lump, keys, tied)
            self._table(("body", nv, alike, tied), [*m._gravity, *named], values, (number,), make).first.append(0)

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
        self.collection.whole = True

    def _add_force(self, force, first: int = 0) -> None:
        parts, reader = parts_of(self.m, force), self.readers[force.name]
        ends, lumps = self._ends(reader.bodies)
        key = ("force", force.load is not None, self.kit.NV, *reader.key, *ends)
        made = partial(self._force_kind if force.load is None else self._loaded_kind, parts, lumps, reader)
        self._table(key, reader.numbers, (), tuple(lumps), made, user=reader.functions).first.append(first)
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

        def act(t, q, v, p, u, lam):
            return total_force(kit.generalized, kit.NV, len(local), ((made(p)[0], (0, None)),), (), t, q, v, p, u, lam)

        def constraint(t, q, p):
            given = {"t": t, "q": q, "p": p}
            return made(p)[1](**{name: given[name] for name in asked})

        return self._kind(LOADED, list(local), values, user=reader.functions, force=act, constraint={"joint": constraint})

    def _force_kind(self, parts, lumps, reader, values) -> Kind:
        kit, known, local = self.kit, self.params, self._local(lumps)
        applied, energy = parts

        def act(t, q, v, p, u):
            remake = Remaker(known, local, p)
            made = remake.make(applied)
            return total_force(kit.generalized, kit.NV, len(local), ((made, None),), (), t, q, v, p, u, None)

        def potential(q, p):
            remake = Remaker(known, local, p)
            remake.make(applied)
            return remake.make(energy)(q, p)

        return self._kind(
            FORCE, list(local), values, user=reader.functions, force=None if applied is None else act,
            potential=None if energy is None else potential, energy=energy is not None,
        )  # fmt: skip

    def _add_rows(self, part, first: int) -> None:
        reader = self.readers[part.name]
        ends, lumps = self._ends(reader.bodies)
        key = ("rows", self.kit.NV, part.level, *reader.key, *ends)
        made = partial(self._rows_kind, part, lumps, reader)
        self._table(key, reader.numbers, (), tuple(lumps), made, user=reader.functions).first.append(first)

    def _add_norms(self) -> None:
        """Rows that keep the lengths of quaternions, a lump's together."""
        c, at = self.collection, self.collection.n_constraints
        key = ("norms", self.kit.NV)
        if key not in _known:
            _known[key] = self._kind(NORMS, [0], (), invariants=self.kit.invariants(("body",)))
        c.norms = KindTable(_known[key], [(lump,) for lump in range(len(self.lumps))], [[]] * len(self.lumps), [])
        c.norms.first = list(range(at, at + len(self.lumps)))

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

    def _ends(self, bodies: list[int]) -> tuple[tuple, list[int]]:
        """Where each body stands in the lumps at the ends, and these lumps."""
        lumps = list(dict.fromkeys(self.lump_of[k] for k in bodies))
        widths = tuple(len(self.lumps[lump]) for lump in lumps)
        where = tuple((lumps.index(self.lump_of[k]), self.lumps[self.lump_of[k]].index(k)) for k in bodies)
        return (widths, where), lumps

    def _local(self, lumps: list[int]) -> dict[int, int]:
        """Numbers of bodies among those of some lumps."""
        return {k: i for i, k in enumerate(k for lump in lumps for k in self.lumps[lump])}

    def _table(self, key, names, values, lumps, make, user=()) -> KindTable:
        """The table of a kind, with one more element."""
        c = self.collection
        table = self._tables.get(key)
        if table is None:
            kind = _known.get(key)
            if kind is None:
                numbers = [self.params[name] if isinstance(name, str) else name for name in names]
                kind = make([*numbers, *values])
                if not user:
                    _known[key] = kind
            table = self._tables[key] = KindTable(kind)
        table.ends.append(lumps)
        places = c.params
        table.slots.append([places[name] if type(name) is str else c.constant(name) for name in (*names, *values)])
        return table

    def _kind(self, what: int, bodies, values, *, user=(), mass=None, energy: bool = False, **parts: Any) -> Kind:
        """Trace a kind from the first of its elements."""
        kit, n = self.kit, len(bodies)
        params = {f"{SLOT}{i}": value for i, value in enumerate(values)}
        if user:
            params |= self.params
        q = self.q.reshape(-1, kit.NQ)[list(bodies)].ravel()
        system = System(
            mass=np.eye(kit.NV * n) if mass is None else mass, kinematics=kit.kinematics(n), params=params,
            inputs=dict(self.m.inputs) or None, **parts,
        )  # fmt: skip
        widths = [(kit.NQ * len(lump), kit.NV * len(lump)) for lump in self._lumps_of(bodies)]
        return make_kind(what, system, q, np.zeros(kit.NV * n), widths, energy)

    def _lumps_of(self, bodies) -> list[tuple[int, ...]]:
        return [self.lumps[lump] for lump in dict.fromkeys(self.lump_of[k] for k in bodies)]


def lumps_of(n: int, nv: int, links) -> tuple[list[tuple[int, ...]], list[int]]:
    """Bodies that share inertia, and in which lump each body is."""
    head = list(range(n))

    def root(k: int) -> int:
        while head[k] != k:
            head[k] = head[head[k]]
            k = head[k]
        return k

    for one, other, _ in links:
        if other >= 0:
            head[root(other // nv)] = root(one // nv)
    members: dict[int, list[int]] = {}
    for k in range(n):
        members.setdefault(root(k), []).append(k)
    lumps = [tuple(each) for each in members.values()]
    lump_of = [0] * n
    for number, lump in enumerate(lumps):
        for k in lump:
            lump_of[k] = number
    return lumps, lump_of
