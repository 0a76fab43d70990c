"""What acts in a run of a mechanism: joints, drives, forces.

Time is the first axis. Vectors are in the ground frame. Forces and torques of a joint act on its second body
at the joint's point.
"""

from __future__ import annotations

from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from .drawing import LINES
from .small_vectors import dot, minus
from .views import PartView

if TYPE_CHECKING:
    from .results import MechanismRecord


class JointView(PartView):
    """A joint: force and torque on its second body at its point, in the ground frame; angle or position."""

    def __init__(self, record: MechanismRecord, joint):
        self._record, self._joint = record, joint

    def _title(self) -> str:
        return f"{self._joint.kind} joint {self._joint.name!r}"

    def _properties(self) -> list[str]:
        joint, found = self._joint, super()._properties()
        has = {"effort"} if self._record.resolver.actuators_of(joint) else set()
        has |= {joint.coordinate, *joint.more, "speed" if joint.rate else None, "tension" if joint.kind == "distance" else None}
        has |= set() if not self._record.caught else {"impulse", "angular_impulse"}
        often = ("angle", "position", "speed", "tension", "impulse", "angular_impulse", "effort")
        return [name for name in found if name not in often or name in has]

    def _parts(self) -> tuple[list, list, tuple]:
        """The joint with what drives it, the couplings it takes part in, and the marks on its bodies."""
        resolver, joint = self._record.resolver, self._joint
        return resolver.parts_of(joint), resolver.couplings_of(joint), joint.marks

    def _wrench_of(self, generalized, q, p):
        """Force on the second body, torque about the joint's point and that point, from what parts do to velocities of bodies."""
        r, (parts, couplings, marks) = self._record, self._parts()
        kit, place = r.kit, r.kit.place(q, p, marks[1])[0]
        k, sign = (marks[1][0], 1.0) if marks[1][0] >= 0 else (marks[0][0], -1.0)
        total = [sign * sum((generalized(part, k)[i] for part in parts), np.zeros(np.shape(place[0]))) for i in range(kit.NV)]
        for drive in couplings:
            share = drive.shares(p)[self._joint.name] * r.coupling_effort(drive, generalized, q, p)
            push, turn = self._joint.wrench(kit, q, p, share)
            given = kit.generalized(q, k, push, place, turn)
            total = [one + more for one, more in zip(total, given, strict=True)]
        return *kit.wrench_at(q, k, total, place), place

    @cached_property
    def _wrench(self):
        r = self._record
        force, torque, point = self._wrench_of(r.generalized_reaction, r.q, r.p)
        return (force, torque), point

    @property
    def force(self) -> np.ndarray:
        """Force on the second body, N, ground frame; what the joint, its drive and its couplings exert, not motors and springs."""
        return self._record.out(self._wrench[0][0])

    @property
    def torque(self) -> np.ndarray:
        """Torque on the second body about the joint's point, N m; what the joint, its drive and its couplings exert.

        Motors, springs and friction on the joint have views of their own, such as `sol["O motor"]`.
        """
        return self._record.out(self._wrench[0][1])

    def reaction(self, frame="ground") -> SimpleNamespace:
        """Return force and torque in the frame of a body (object or name)."""
        r = self._record
        k = r.resolver.body_number(frame)
        force, torque = self._wrench[0]
        return SimpleNamespace(force=r.out(r.kit.into_frame(r.q, k, force)), torque=r.out(r.kit.spin_into_frame(r.q, k, torque)))

    def _impulses(self):
        r = self._record
        if not r.caught:
            raise AttributeError(f'the {self._title()} has no impulse: that comes with a run that begins with initial="impact".')
        return self._wrench_of(r.generalized_impulse, r.impact.q, r.p_at_impact)

    @property
    def impulse(self) -> np.ndarray:
        """Impulse on the second body at a start with initial="impact", N s, ground frame; of the joint and its drive."""
        return _for_users(self._impulses()[0])

    @property
    def angular_impulse(self) -> np.ndarray:
        """Angular impulse on the second body about the joint's point at such a start, N m s."""
        return _for_users(self._impulses()[1])

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
        self._refuse_unmoving("speed")
        r = self._record
        return r.out(self._joint.rate(r.q, r.v, r.p))

    @property
    def effort(self) -> np.ndarray:
        """What its drive and its motors give together: torque about the joint's axis, N m, or force along it, N.

        It acts on the second body and against the first; positive where it makes the angle or position grow. Zero without a drive
        and a motor. Couplings, springs, friction and stops have an effort of their own.
        """
        self._refuse_unmoving("effort")
        r = self._record
        return sum((r.resolver.view_of(r, part.name).effort for part in r.resolver.actuators_of(self._joint)), r.out(0.0))

    def _refuse_unmoving(self, what: str) -> None:
        """Say that a joint has neither one angle nor one position."""
        joint = self._joint
        if joint.rate is None:
            raise AttributeError(f"joint {joint.name!r} is {joint.kind} and has neither an angle nor a position, so no {what}.")

    @property
    def power(self) -> np.ndarray:
        """Power that the joint, its drive and its couplings give to the bodies, W; without these zero."""
        r, joint = self._record, self._joint
        total = sum(r.power(part) for part in r.resolver.parts_of(joint))
        for drive in r.resolver.couplings_of(joint):
            share = drive.shares(r.p)[joint.name] * r.coupling_effort(drive, r.generalized_reaction, r.q, r.p)
            total = total + share * joint.rate(r.q, r.v, r.p)
        return r.out(total)


def _for_users(impulse) -> np.ndarray:
    """An impulse as users read it; of members of a sweep, members first."""
    return np.array(impulse, dtype=float).T


class DriveView(JointView):
    """A drive: force and torque it exerts on the second body, and its power."""

    def __init__(self, record: MechanismRecord, drive):
        joint = record.resolver.joints.get(drive.of)
        super().__init__(record, joint)
        self._drive = drive

    def _title(self) -> str:
        return f"drive {self._drive.name!r}"

    def _properties(self) -> list[str]:
        if self._joint is not None:
            return sorted({*super()._properties(), "effort"})
        hit = [] if not self._record.caught else ["angular_impulse", "impulse"]
        return sorted(["force", "power", "torque", *hit])

    def _parts(self) -> tuple[list, list, tuple]:
        drive = self._drive
        return ([], [drive], self._joint.marks) if drive.leader is not None else ([drive], [], drive.marks)

    @property
    def effort(self) -> np.ndarray:
        """Torque about the joint's axis, N m, or force along it, N, on the second body and against the first.

        Of a coupling that along its follower.
        """
        r, joint = self._record, self._joint
        if joint is None:
            raise AttributeError(f"the {self._title()} moves a point and has no effort along an axis. It has .force.")
        return r.out(joint.effort_in(r.kit, r.q, r.p, *self._wrench[0]))

    @property
    def power(self) -> np.ndarray:
        """Power that the drive gives to the bodies, W."""
        return self._record.out(self._record.power(self._drive))


class ForceView(PartView):
    """A force: what it does to its (second) body, its power, and its energy where it has one."""

    def __init__(self, record: MechanismRecord, force):
        self._record, self._force = record, force

    def _title(self) -> str:
        return f"{self._force.kind} {self._force.name!r}"

    def _properties(self) -> list[str]:
        force = self._force
        has = ("tension", "length") * self._is_line + ("energy",) * force.stores + ("effort",) * (force.on is not None)
        often = ("tension", "length", "energy", "effort")
        return [name for name in super()._properties() if name not in often or name in has]

    @property
    def _is_line(self) -> bool:
        """Whether it pulls along the line between two points."""
        return self._force.kind in LINES and self._force.on is None

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
    def effort(self) -> np.ndarray:
        """Of a force on a joint: torque about its axis, N m, or force along it, N, on the second body and against the first."""
        r, force = self._record, self._force
        if force.on is None:
            raise AttributeError(f"{force.name!r} does not act on a joint and has no effort along an axis.")
        return r.out(r.resolver.joints[force.on].effort_in(r.kit, r.q, r.p, self._acts[-1][1], self._acts[-1][3]))

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
        if not self._is_line:
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
