"""Parts of a mechanism in a run, read by name: points, frames and bodies, and the energy and power of the whole.

Time is the first axis. Vectors are in the ground frame. What joints, drives and forces do is in `acting_views`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.call_by_name import known_in
from .lower import mass_keys
from .series_energy import of_bodies, of_forces, together
from .small_vectors import dot

if TYPE_CHECKING:
    from .results import MechanismRecord


class PartView:
    """A part of a mechanism in a run; its properties are arrays, time first."""

    def _title(self) -> str:
        return "part of the mechanism"

    def _properties(self) -> list[str]:
        """Names that can be read here."""
        return [name for name in dir(type(self)) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<{self._title()} in a run: .{', .'.join(self._properties())}>"

    def __getattr__(self, name: str) -> Any:
        own = getattr(type(self), name, None)
        if isinstance(own, property) and own.fget is not None:
            return own.fget(self)  # it has words of its own for what is not there
        if name.startswith("_"):
            raise AttributeError(name)
        there = self._properties()
        near = difflib.get_close_matches(name, there, 2)
        hint = f"Did you mean .{' or .'.join(near)}?" if near else f"It has .{', .'.join(there)}."
        raise AttributeError(f"the {self._title()} has no {name!r}. {hint}")


class EnergyView(PartView):
    """Energy of the whole mechanism, J: kinetic, gravity, elastic, and their sum."""

    def __init__(self, record: MechanismRecord):
        self._record = record

    def _title(self) -> str:
        return "energy of the mechanism"

    @property
    def kinetic(self) -> np.ndarray:
        r = self._record
        rows, rest = self._in_rows(r.resolver.bodies)
        return r.out(sum((of_bodies(r, row)[0] for row in rows), sum((kinetic_energy(r, body) for body in rest), 0.0)))

    def _in_rows(self, parts) -> tuple[list, Iterator]:
        """Series of which all parts are computed together, and the other parts."""
        rows = [series for series in parts.series if together(self._record, series)]
        return rows, parts.but(rows)

    @property
    def gravity(self) -> np.ndarray:
        r = self._record
        g = tuple(r.p[key] for key in r.resolver.gravity)
        rows, rest = self._in_rows(r.resolver.bodies)
        alone = -sum((r.p[f"{body.name}.mass"] * dot(g, r.kit.centre(r.q, body.index)) for body in rest), 0.0)
        return r.out(sum((of_bodies(r, row)[1] for row in rows), alone))

    @property
    def elastic(self) -> np.ndarray:
        r = self._record
        rows, rest = self._in_rows(r.resolver.forces)
        alone = sum((r.energy(force) for force in rest if force.stores), 0.0)
        return r.out(sum((of_forces(r, row) for row in rows if row.whole.stores), alone))

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.gravity + self.elastic


class PowerView:
    """Power given to the bodies by everything that stores no energy, W, by kind."""

    def __init__(self, record: MechanismRecord):
        self._record = record

    @property
    def by_name(self) -> dict[str, Any]:
        """Power of each force, each drive and each joint that follows time; of springs, that of their dampers."""
        r = self._record
        found = {}
        for force in r.resolver.forces.values():
            acts = r.applied(force)
            if acts:
                found[force.name] = r.out(sum(r.work(*act) for act in acts))
        for part in (*r.resolver.drives.values(), *filter(r.follows_time, r.resolver.joints.values())):
            found[part.name] = r.out(r.power(part))
        return found

    @property
    def by_kind(self) -> dict[str, Any]:
        """Sums over motors, dampers, drives and so on; a rod whose length follows time is a drive."""
        resolver = self._record.resolver
        kinds: dict[str, Any] = {}
        for name, power in self.by_name.items():
            kind = resolver.forces[name].kind if name in resolver.forces else "drive"
            kinds[kind] = kinds.get(kind, 0.0) + power
        return kinds

    @property
    def total(self) -> np.ndarray:
        """The change of the total energy per second."""
        return sum(self.by_name.values(), self._record.out(0.0))

    def __repr__(self) -> str:
        return f"<power in a run: .total, .by_name, .by_kind, .{', .'.join(self.by_kind)}>"

    def __getattr__(self, kind: str):
        if kind.startswith("_"):
            raise AttributeError(kind)
        known = self.by_kind
        if kind in known:
            return known[kind]
        raise AttributeError(f"no power of kind {kind!r} here; there is: {', '.join(known) or 'none'}.")


def mass_block(r: MechanismRecord, body):
    """Names of the numbers of a body's mass matrix, and the matrix."""
    params = known_in(r.p)
    stated = f"{body.name}.shape mass"  # there where the inertia grows with the mass
    mass, inertia, _ = mass_keys(body.name, params)
    keys = (mass, inertia, stated if stated in params else None)
    return keys, r.kit.mass_block(r.p, keys)


def kinetic_energy(r: MechanismRecord, body):
    """Of one body, J."""
    nv, k, (_, block) = r.kit.NV, body.index, mass_block(r, body)
    v = r.v[nv * k : nv * (k + 1)]
    return sum(block[i][j] * v[i] * v[j] for i in range(nv) for j in range(nv)) / 2.0


class PointView(PartView):
    """A point of a body: position, velocity, acceleration; m, m/s, m/s²."""

    def __init__(self, record: MechanismRecord, mark):
        self._record, self._mark = record, mark

    def _title(self) -> str:
        return "point"

    @property
    def position(self) -> np.ndarray:
        r = self._record
        return r.out(r.place(self._mark)[0])

    @property
    def velocity(self) -> np.ndarray:
        r = self._record
        return r.out(r.kit.motion(r.q, r.v, r.p, self._mark)[0])

    @property
    def acceleration(self) -> np.ndarray:
        r = self._record
        return r.out(r.kit.acceleration_of(r.q, r.v, r.a, r.p, self._mark))


class FrameView(PointView):
    """A frame of a body: a point with axes."""

    @property
    def rotation(self) -> np.ndarray:
        """Axes as columns, (time, n, n)."""
        r = self._record
        axes = r.kit.axes_at(r.place(self._mark))
        stacked = np.stack([np.stack([r.full(x) for x in axis], axis=-1) for axis in axes], axis=-1)
        return stacked.reshape(r.shape + stacked.shape[1:])


class BodyView(PointView):
    """A body: position, velocity and acceleration of its centre of mass; angle, speed, kinetic energy."""

    def __init__(self, record: MechanismRecord, body):
        resolver = record.resolver
        rotation = body.rotation
        if resolver.dimension == 3:
            rotation = tuple(map(tuple, np.asarray(rotation).tolist()))
        super().__init__(record, (body.index, body.origin, body.origin, rotation, None))
        self._body = body

    def _title(self) -> str:
        return f"body {self._body.name!r}"

    def _properties(self) -> list[str]:
        flat = self._record.resolver.dimension == 2
        return [name for name in super()._properties() if flat or name != "angle"]

    @property
    def angle(self) -> np.ndarray:
        """Angle in the plane, rad; it counts turns."""
        r = self._record
        return r.out(r.kit.body_angle(r.q, self._body.index))

    @property
    def rotation(self) -> np.ndarray:
        """Axes of the body as columns, (time, n, n)."""
        r = self._record
        rows = r.kit.rotation(r.q, self._body.index)
        stacked = np.stack([np.stack([r.full(x) for x in row], axis=-1) for row in rows], axis=-2)
        return stacked.reshape(r.shape + stacked.shape[1:])

    @property
    def angular_velocity(self) -> np.ndarray:
        """rad/s; in space a vector in the ground frame."""
        r = self._record
        return r.out(r.kit.motion(r.q, r.v, r.p, self._mark)[1])

    speed = angular_velocity

    @property
    def angular_acceleration(self) -> np.ndarray:
        """rad/s²; in space a vector in the ground frame."""
        r = self._record
        return r.out(r.kit.angular_acceleration(r.q, r.a, self._body.index))

    @property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy, J."""
        r = self._record
        return r.out(kinetic_energy(r, self._body))
