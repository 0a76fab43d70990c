"""The methods of Mechanism that add joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import BadArgument
from . import joints, joints3d, rows
from . import shapes as sh
from .body import Frame, Point
from .gear_methods import GearMethods
from .joint import Joint
from .parameters import positive

NEED_AXIS = ("prismatic", "cylindrical", "universal", "planar", "pin-in-slot")


class JointMethods(GearMethods):
    """Joints by name: `m.revolute("A", crank, link, at=A)`. All return the Joint."""

    def revolute(self, name: str, first, second, *, at, axis=None) -> Joint:
        """Add a hinge: the bodies share a point and, in space, an axis.

        Parameters
        ----------
        name : str
            Name in results: `sol[name].force` acts on the second body.
        first, second : Body or str
            The bodies; `m.ground` may be one.
        at : point, Point, Frame, or a pair of these
            Where it is drawn; a pair gives the point on each body apart. A Frame brings the axis along.
        axis : three floats, optional
            Axis of a hinge in space, in the drawing; that of the frame if `at` is one, else z. Parameters "A.axis.x" ..

        Notes
        -----
        The angle of a planar hinge is that of the second body's x axis against the first's; in space it is
        counted from the drawing.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism, rod
        >>> m = Mechanism()
        >>> bar = m.body("bar", rod((0, 0), (1, 0), mass=1.0))
        >>> _ = m.revolute("O", m.ground, bar, at=(0, 0))
        >>> sol = simulate(m, 1.0, save_at=11)
        >>> sol["O"].force.shape, sol["O"].angle.shape
        ((11, 2), (11,))
        """
        if self._are_many(first, second):
            return self._in_row("revolute", name, first, second, at=at, axis=axis)
        if self.dimension == 2:
            if axis is not None:
                raise BadArgument(f"revolute {name!r}: a hinge in the plane turns in the plane; leave axis= out.")
            return self._join("revolute", name, first, second, at, joints.revolute, coordinate="angle")
        return self._join("revolute", name, first, second, at, joints3d.revolute, axis=axis, coordinate="angle",
                          usual=(0.0, 0.0, 1.0))  # fmt: skip

    def prismatic(self, name: str, first, second, *, at, axis=None) -> Joint:
        """Add a slide: the second body moves along a line of the first and does not turn against it.

        Parameters are those of `revolute`; `axis` is the direction in the drawing.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism
        >>> m = Mechanism(gravity=(0, -9.81))
        >>> _ = m.prismatic("rail", m.ground, m.body("slider", at=(0, 0), mass=2.0), at=(0, 0), axis=(0, 1))
        >>> float(simulate(m, 1.0)["rail"].position[-1].round(6))
        -4.905
        """
        if self._are_many(first, second):
            return self._in_row("prismatic", name, first, second, at=at, axis=axis)
        kind = joints.prismatic if self.dimension == 2 else joints3d.prismatic
        return self._join("prismatic", name, first, second, at, kind, axis=axis, coordinate="position", offset=True)

    def fixed(self, name: str, first, second, *, at=None) -> Joint:
        """Add a weld: neither body moves against the other. Without at=, it is at the second body's centre.

        With a pair of frames, these are brought to coincide.
        """
        if self._are_many(first, second):
            return self._in_row("fixed", name, first, second, at=at)
        other = self._body(second)
        at = (other if not other.is_ground else self._body(first)).position if at is None else at
        kind = joints.fixed if self.dimension == 2 else joints3d.fixed
        usual = None if self.dimension == 2 else (1.0, 0.0, 0.0)
        return self._join("fixed", name, first, second, at, kind, offset=True, usual=usual)

    def spherical(self, name: str, first, second, *, at) -> Joint:
        """Add a ball joint in space: the bodies share a point. Parameters are those of `revolute`."""
        if self._are_many(first, second):
            return self._in_row("spherical", name, first, second, at=at)
        self._spatial("spherical")
        return self._join("spherical", name, first, second, at, joints3d.spherical)

    def cylindrical(self, name: str, first, second, *, at, axis=None) -> Joint:
        """Add a joint in space that slides along an axis and turns about it: `.angle` and `.position`."""
        self._spatial("cylindrical")
        joint = self._join("cylindrical", name, first, second, at, joints3d.cylindrical, axis=axis, coordinate="angle")
        value, rate = joints3d.VALUES["position"]
        places = (self.kit.place, *joint.marks)
        motions = (self.kit.place, self.kit.motion, *joint.marks)
        joint.more["position"] = rows.joint_value(value, *places), rows.joint_rate(rate, *motions)
        return joint

    def universal(self, name: str, first, second, *, at, axis=None, other=None) -> Joint:
        """Add a Cardan joint in space: `axis` is fixed in the first body, `other`, normal to it, in the second.

        A frame at= brings both: its first two axes.
        """
        self._spatial("universal")
        if axis is not None:
            if other is None or abs(float(np.dot(self._unit(axis, name), self._unit(other, name)))) > 1e-9:
                raise BadArgument(f"universal joint {name!r}: axis and other must be drawn normal to each other.")
        return self._join("universal", name, first, second, at, joints3d.universal, axis=axis, other=other)

    def planar(self, name: str, first, second, *, at, axis=None) -> Joint:
        """Add a joint in space that slides and turns in the plane normal to `axis`."""
        self._spatial("planar")
        return self._join("planar", name, first, second, at, joints3d.planar, axis=axis)

    def close(self, name: str, first, second, *, at, axis=None, other=None) -> Joint:
        """Close a loop: a joint between two bodies that are joined otherwise already.

        Parameters are those of `revolute`; `at` is usually a pair, the joint's place on each body. In space it is a
        ball joint, with `axis` a hinge, and with `axis` and `other` a universal joint. A frame at= makes a hinge.
        """
        framed = any(self._framed(end) for end in (at if self._is_pair(at) else (at,)))
        if self.dimension == 3 and axis is None and not framed:
            return self.spherical(name, first, second, at=at)
        if other is not None:
            return self.universal(name, first, second, at=at, axis=axis, other=other)
        return self.revolute(name, first, second, at=at, axis=axis)

    def pin_in_slot(self, name: str, slot, pin, *, at, axis=None) -> Joint:
        """Add a pin of the second body that moves in a straight slot of the first; in space a ball in a tube.

        Parameters are those of `revolute`; `axis` is the direction of the slot in the drawing.
        """
        kind = joints.pin_in_slot if self.dimension == 2 else joints3d.on_axis
        return self._join("pin-in-slot", name, slot, pin, at, kind, axis=axis, coordinate="position")

    def distance(self, name: str, first, second, *, at, length=None) -> Joint:
        """Add a massless rod between a point of each body, of fixed length or an actuator of given length.

        Parameters
        ----------
        name, first, second
            As for `revolute`. The force on the second body acts at its point.
        at : pair of points
            Its ends as drawn, on the first and on the second body.
        length : float or function of t, optional
            m; as drawn if not given. Parameter "name.length" if it is a number.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism
        >>> m = Mechanism()
        >>> _ = m.distance("string", m.ground, m.body("bob", at=(0, -1), mass=2.0), at=((0, 0), (0, -1)))
        >>> float(simulate(m, 1.0)["string"].tension[0].round(6))  # the weight
        19.62
        """
        if self._are_many(first, second):
            if callable(length):
                raise BadArgument(f"distance {name!r}: length= of many is a number or an array; draw actuators one by one.")
            return self._in_row("distance", name, first, second, at=at, length=length)
        ends = self._two_places(name, at)
        drawn = self._apart(ends, name)
        kind = joints.distance if self.dimension == 2 else joints3d.distance
        if not callable(length):
            length = drawn if length is None else length
            return self._join("distance", name, first, second, ends, kind, numbers={"length": length})
        wanted = self._of_time(length, f"length of {name!r}")
        joint = self._join("distance", name, first, second, ends, kind, constants=(drawn,))
        joint.rows = rows.timed_rows(kind, self.kit.place, *joint.marks, wanted)
        joint.rows.row_names = joint.labels
        return joint

    # how a joint is made

    def _join(self, kind, name, first, second, at, residual, *, axis=None, other=None, axis2=None, coordinate=None,
              offset=False, numbers=None, constants=(), level="position", signed=False, usual=None) -> Joint:  # fmt: skip
        self._new(name, "joint")
        first, second = self._body(first), self._body(second)
        if first is second:
            raise BadArgument(f"joint {name!r} joins body {first.name!r} with itself. Name two bodies, or m.ground.")
        directions = self._directions(kind, name, at, axis, other, axis2, usual)
        marks = tuple(map(self._mark, (first, second), self._places(name, at), directions))
        check = None if signed or "ratio" in (numbers or {}) else positive
        names = tuple(self.params.add(f"{name}.{key}", value, check) for key, value in (numbers or {}).items())
        if offset and self.dimension == 2:
            constants = (*constants, second.rotation - first.rotation)
        table = joints if self.dimension == 2 else joints3d
        place, motion = self.kit.place, self.kit.motion
        if level == "velocity":
            made = rows.velocity_rows(residual, place, motion, *marks, names, constants)
        else:
            aligned = offset and self.dimension == 2 and directions[0] != directions[1]
            made = rows.joint_rows(residual, place, *marks, names, constants, aligned)
        made.row_names = table.ROWS[kind]
        joint = Joint(name, kind, first, second, marks, made, table.ROWS[kind], level, coordinate,
                      holds_rotation=kind in ("prismatic", "fixed"))  # fmt: skip
        if coordinate is not None:
            value, derivative = table.VALUES[coordinate]
            joint.value = rows.joint_value(value, place, *marks)
            joint.rate = rows.joint_rate(derivative, place, motion, *marks)
            joint.gap = table.GAPS[coordinate]
        self.joints[name] = joint
        self._changed()
        return joint

    def _directions(self, kind, name, at, axis, other, axis2, usual):
        """Direction of the joint on each body: given, or that of a frame, or the usual one."""
        frames = [self._framed(end) for end in (at if self._is_pair(at) else (at,))]
        if axis is None and any(frames):
            known = [frame.mark[4] for frame in frames if frame is not None]
            return (known[0], known[-1])
        if axis is None:
            axis = usual
        if axis is None:
            if kind in NEED_AXIS:
                raise BadArgument(f"{kind} {name!r} has no direction. Give axis=, or a frame as at=.")
            return (None, None)
        drawn = self._direction(name, axis, other)
        return (drawn, drawn if axis2 is None else self._direction(f"{name}.second", axis2))

    def _direction(self, name: str, axis, other=None):
        """A drawn direction as parameters; in space with another one, a number or parameters, that fixes the rest."""
        unit = self._unit(axis, name)
        keys = self.params.add_point(f"{name}.axis", unit)
        if self.dimension == 2:
            return keys
        if other is None:
            second = tuple(sh.second_axis(unit).tolist())
        else:
            second = self.params.add_point(f"{name}.other", self._unit(other, name))
            self.params.build_in(*second)
        self.params.build_in(*keys)
        return (keys, second)

    def _framed(self, end) -> Frame | None:
        found = self.points.get(end) if isinstance(end, str) else end
        return found if isinstance(found, Frame) else None

    def _places(self, name: str, at) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Parameters of the joint's point on each body."""
        if self._is_pair(at):
            return tuple(
                end.mark[1] if isinstance(end, Point) else self.params.add_point(f"{name}.{side}", end)
                for side, end in zip(("first", "second"), self._two_places(name, at), strict=True)
            )
        if isinstance(at, Point | str):
            keys = self._point(at).mark[1]
        else:
            keys = self.params.add_point(name, sh.point(at, f"at of joint {name!r}", self.dimension))
        return keys, keys

    def _is_pair(self, at) -> bool:
        if type(at) is tuple and len(at) > 0 and type(at[0]) in (float, int):  # a point, which nearly all are
            return False
        return (
            (isinstance(at, Sequence) or np.ndim(at) > 0)
            and not isinstance(at, str | bytes)
            and len(at) == 2
            and not all(np.isscalar(part) and not isinstance(part, str) for part in at)
        )

    def _two_places(self, name: str, at):
        if at is None or not self._is_pair(at):
            raise BadArgument(f"{name!r} needs two points: at=(point on the first body, point on the second).")
        return tuple(
            self._point(end) if isinstance(end, Point | str) else sh.point(end, f"at of {name!r}", self.dimension) for end in at
        )

    def _apart(self, ends, name: str):
        """How far two places are apart in the drawing."""
        return float(np.linalg.norm(np.subtract(*(self._drawn(end, name) for end in ends))))

    def _drawn(self, end, name) -> tuple[float, ...]:
        return end.position if isinstance(end, Point) else sh.point(end, f"at of {name!r}", self.dimension)

    def _point(self, given) -> Point:
        if isinstance(given, Point):
            return given
        if given in self.points:
            return self.points[given]
        raise self._unknown(given, "point", self.points)

    def _unit(self, axis, name) -> tuple[float, ...]:
        vector = np.array(sh.point(axis, f"axis of {name!r}", self.dimension))
        length = float(np.linalg.norm(vector))
        if length == 0.0:
            raise BadArgument(f"axis of {name!r} has no direction: {axis!r}.")
        return tuple((vector / length).tolist())

    def _spatial(self, what: str) -> None:
        if self.dimension != 3:
            raise BadArgument(f"{what} joints exist in spatial mechanisms only (gravity with three numbers).")

    def _planar(self, what: str) -> None:
        if self.dimension != 2:
            raise BadArgument(f"{what} exists in planar mechanisms only (gravity with two numbers).")
