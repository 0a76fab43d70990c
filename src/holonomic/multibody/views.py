"""What a name stands for in a run: a body, a point, a joint, a drive, a force, energy, power.

Time is the first axis. Vectors are in the ground frame. Forces and torques of a joint act on its second body
at the joint's point.
"""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .lower import mass_keys
from .vectors import dot, minus
from .view import View

if TYPE_CHECKING:
    from .results import Record


class PointView(View):
    """A point of a body: position, velocity, acceleration; m, m/s, m/s²."""

    def __init__(self, record: Record, mark):
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

    def __init__(self, record: Record, body):
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
        return r.out(_kinetic(r, self._body))


class JointView(View):
    """A joint: force and torque on its second body at its point, in the ground frame; angle or position."""

    def __init__(self, record: Record, joint):
        self._record, self._joint = record, joint

    def _title(self) -> str:
        return f"{self._joint.kind} joint {self._joint.name!r}"

    def _properties(self) -> list[str]:
        joint, found = self._joint, super()._properties()
        has = {joint.coordinate, *joint.more, "speed" if joint.rate else None, "tension" if joint.kind == "distance" else None}
        has |= set() if self._record.impact is None else {"impulse", "angular_impulse"}
        often = ("angle", "position", "speed", "tension", "impulse", "angular_impulse")
        return [name for name in found if name not in often or name in has]

    def _parts(self) -> tuple[list, tuple]:
        """The joint with what drives it, and the marks on its bodies."""
        resolver, joint = self._record.resolver, self._joint
        every = (*resolver.drives.values(), *resolver.joints.values())
        return [joint, *(part for part in every if part.of == joint.name)], joint.marks

    def _wrench_of(self, generalized, q, place):
        """Force on the second body and torque about the joint's point, from what parts do to the velocities of a body."""
        parts, marks = self._parts()
        k, sign = (marks[1][0], 1.0) if marks[1][0] >= 0 else (marks[0][0], -1.0)
        total = [sum(each) for each in zip(*(generalized(part, k) for part in parts), strict=True)]
        return self._record.kit.wrench_at(q, k, [sign * part for part in total], place)

    @cached_property
    def _wrench(self):
        r = self._record
        point = r.place(self._parts()[1][1])[0]
        return self._wrench_of(r.generalized_reaction, r.q, point), point

    @property
    def force(self) -> np.ndarray:
        """Force on the second body, N, ground frame; what the joint and its drive exert."""
        return self._record.out(self._wrench[0][0])

    @property
    def torque(self) -> np.ndarray:
        """Torque on the second body about the joint's point, N m; what the joint and its drive exert."""
        return self._record.out(self._wrench[0][1])

    def reaction(self, frame="ground") -> SimpleNamespace:
        """Return force and torque in the frame of a body (object or name)."""
        r = self._record
        k = r.resolver.body_number(frame)
        force, torque = self._wrench[0]
        return SimpleNamespace(
            force=r.out(r.kit.into_frame(r.q, k, force)), torque=r.out(r.kit.spin_into_frame(r.q, k, torque))
        )

    def _impulses(self):
        r = self._record
        if r.impact is None:
            raise AttributeError(
                f'the {self._title()} has no impulse: that comes with a run that begins with initial="impact".'
            )
        q = r.impact.q
        return self._wrench_of(r.generalized_impulse, q, r.kit.place(q, r.p, self._parts()[1][1])[0])

    @property
    def impulse(self) -> np.ndarray:
        """Impulse on the second body at a start with initial="impact", N s, ground frame; of the joint and its drive."""
        return np.array(self._impulses()[0], dtype=float)

    @property
    def angular_impulse(self) -> np.ndarray:
        """Angular impulse on the second body about the joint's point at such a start, N m s."""
        return np.array(self._impulses()[1], dtype=float)

    @property
    def place(self) -> np.ndarray:
        """Where the joint is, m."""
        return self._record.out(self._wrench[1])

    @property
    def ends(self) -> np.ndarray:
        """The joint's points on the first and on the second body, m: (time, 2, n). They differ for rods, slides, gears."""
        r = self._record
        return np.stack([r.out(r.place(mark)[0]) for mark in self._joint.marks[:2]], axis=-2)

    @property
    def tension(self) -> np.ndarray:
        """Pull of a distance rod between its ends, N; negative where it is pushed together."""
        r, joint = self._record, self._joint
        if joint.kind != "distance":
            raise AttributeError(f"joint {joint.name!r} is {joint.kind} and has no tension; it has .force and .torque.")
        d = minus(*(r.place(mark)[0] for mark in joint.marks))
        return r.out(dot(self._wrench[0][0], d) / np.sqrt(dot(d, d)))

    def _value(self, kind: str):
        joint, r = self._joint, self._record
        if kind in joint.more:
            return joint.more[kind][0](r.q, r.p)
        if joint.coordinate != kind:
            has = {"angle": "it has an angle", "position": "it has a position"}.get(
                joint.coordinate, "it has neither an angle nor a position"
            )
            raise AttributeError(f"joint {joint.name!r} is {joint.kind} and has no {kind}; {has}.")
        return r.kit.counted(r, joint) if kind == "angle" else joint.value(r.q, r.p)

    @property
    def angle(self) -> np.ndarray:
        """Angle of the second body against the first, rad; it counts turns."""
        return self._record.out(self._value("angle"))

    @property
    def position(self) -> np.ndarray:
        """Distance travelled along the joint's axis from where it is drawn, m."""
        return self._record.out(self._value("position"))

    @property
    def speed(self) -> np.ndarray:
        """Derivative of the angle or the position."""
        r, joint = self._record, self._joint
        if joint.rate is None:
            raise AttributeError(f"joint {joint.name!r} is {joint.kind} and has neither an angle nor a position.")
        return r.out(joint.rate(r.q, r.v, r.p))

    @property
    def power(self) -> np.ndarray:
        """Power that the joint and its drive give to the bodies, W; zero unless something here follows time."""
        r, joint = self._record, self._joint
        (force, torque), point = self._wrench
        kit = r.kit
        opposite = tuple(-part for part in force), kit.negative(torque)
        given = r.work(joint.second.index, force, point, torque)
        return r.out(given + r.work(joint.first.index, opposite[0], point, opposite[1]))


class DriveView(JointView):
    """A drive: force and torque it exerts on the second body, and its power."""

    def __init__(self, record: Record, drive):
        joint = record.resolver.joints.get(drive.of)
        super().__init__(record, joint)
        self._drive = drive

    def _title(self) -> str:
        return f"drive {self._drive.name!r}"

    def _properties(self) -> list[str]:
        if self._joint is not None:
            return super()._properties()
        hit = [] if self._record.impact is None else ["angular_impulse", "impulse"]
        return sorted(["force", "power", "torque", *hit])

    def _parts(self) -> tuple[list, tuple]:
        return [self._drive], self._drive.marks

    @property
    def power(self) -> np.ndarray:
        """Power that the drive gives to the bodies, W."""
        return self._record.out(self._record.power(self._drive))


class ForceView(View):
    """A force: what it does to its (second) body, its power, and its energy where it has one."""

    def __init__(self, record: Record, force):
        self._record, self._force = record, force

    def _title(self) -> str:
        return f"{self._force.kind} {self._force.name!r}"

    def _properties(self) -> list[str]:
        line = len(self._force.marks) == 2 and self._force.on is None
        has = ("tension", "length") * line + ("energy",) * self._force.stores
        return [name for name in super()._properties() if name not in ("tension", "length", "energy") or name in has]

    @cached_property
    def _acts(self):
        return self._record.acts(self._force)

    @property
    def force(self) -> np.ndarray:
        """Force on the body, for two bodies on the second, N, ground frame."""
        r = self._record
        push = self._acts[-1][1]
        return r.out(tuple(np.zeros(len(r.t)) for _ in range(r.resolver.dimension)) if push is None else tuple(push))

    @property
    def torque(self) -> np.ndarray:
        """Torque on the body besides that of its force, N m."""
        return self._record.out(self._acts[-1][3])

    @property
    def tension(self) -> np.ndarray:
        """Pull between the two ends, N."""
        r = self._record
        first, second = self._ends()
        d = minus(second, first)
        return r.out(dot(self._acts[0][1], d) / np.sqrt(dot(d, d)))

    @property
    def length(self) -> np.ndarray:
        """Distance of the two ends, m."""
        first, second = self._ends()
        d = minus(second, first)
        return self._record.out(np.sqrt(dot(d, d)))

    def _ends(self):
        force, r = self._force, self._record
        if len(force.marks) != 2 or force.on is not None:
            raise AttributeError(f"{force.name!r} does not act along a line.")
        return tuple(r.place(mark)[0] for mark in force.marks)

    @property
    def power(self) -> np.ndarray:
        """Power given to the bodies, W."""
        r = self._record
        return r.out(sum(r.work(*act) for act in self._acts))

    @property
    def energy(self) -> np.ndarray:
        """Stored energy, J."""
        r = self._record
        if not self._force.stores:
            raise AttributeError(f"{self._force.name!r} stores no energy.")
        return r.out(r.energy(self._force))


class EnergyView(View):
    """Energy of the whole mechanism, J: kinetic, gravity, elastic, and their sum."""

    def __init__(self, record: Record):
        self._record = record

    def _title(self) -> str:
        return "energy of the mechanism"

    @property
    def kinetic(self) -> np.ndarray:
        r = self._record
        return r.out(sum(_kinetic(r, body) for body in r.resolver.bodies.values()))

    @property
    def gravity(self) -> np.ndarray:
        r = self._record
        g = tuple(r.p[key] for key in r.resolver.gravity)
        bodies = r.resolver.bodies.values()
        return r.out(-sum(r.p[f"{body.name}.mass"] * dot(g, r.kit.centre(r.q, body.index)) for body in bodies))

    @property
    def elastic(self) -> np.ndarray:
        r = self._record
        return r.out(sum((r.energy(force) for force in r.resolver.forces.values() if force.stores), 0.0))

    @property
    def total(self) -> np.ndarray:
        return self.kinetic + self.gravity + self.elastic


class PowerView:
    """Power given to the bodies by everything that stores no energy, W, by kind."""

    def __init__(self, record: Record):
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


def _kinetic(r: Record, body):
    nv, k = r.kit.NV, body.index
    params = vars(r.p)
    stated = f"{body.name}.shape mass"  # there where the inertia grows with the mass
    mass, inertia, _ = mass_keys(body.name, params)
    block = r.kit.mass_block(r.p, (mass, inertia, stated if stated in params else None))
    v = r.v[nv * k : nv * (k + 1)]
    return sum(block[i][j] * v[i] * v[j] for i in range(nv) for j in range(nv)) / 2.0

