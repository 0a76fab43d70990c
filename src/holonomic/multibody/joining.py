"""The methods of Mechanism that add joints."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from . import joints, joints3d, rows
from . import shapes as sh
from .body import Point
from .joint import Joint
from .parameters import positive


class JointMethods:
    """Joints by name: `m.revolute("A", crank, link, at=A)`. All return the Joint."""

    def revolute(self, name: str, first, second, *, at, axis=None) -> Joint:
        """Add a hinge: the bodies share a point and, in space, an axis.

        Parameters
        ----------
        name : str
            Name in results: `sol[name].force` acts on the second body.
        first, second : Body or str
            The bodies; `m.ground` may be one.
        at : point, Point, or a pair of these
            Where it is drawn; a pair gives the point on each body apart.
        axis : three floats, optional
            Axis of a hinge in space, in the drawing; z if not given.

        Notes
        -----
        The angle of a planar hinge is that of the second body's x axis against the first's; in space it is
        counted from the drawing.
        """
        if self.dimension == 2:
            return self._join("revolute", name, first, second, at, joints.revolute, coordinate="angle")
        axis = (0.0, 0.0, 1.0) if axis is None else axis
        return self._join("revolute", name, first, second, at, joints3d.revolute, axis=axis, coordinate="angle")

    def prismatic(self, name: str, first, second, *, at, axis) -> Joint:
        """Add a slide: the second body moves along a line of the first and does not turn against it.

        Parameters are those of `revolute`; `axis` is the direction in the drawing.
        """
        kind = joints.prismatic if self.dimension == 2 else joints3d.prismatic
        return self._join("prismatic", name, first, second, at, kind, axis=axis, coordinate="position", offset=True)

    def fixed(self, name: str, first, second, *, at=None) -> Joint:
        """Add a weld: neither body moves against the other. Without at=, it is at the second body's centre."""
        other = self._body(second)
        at = (other if not other.is_ground else self._body(first)).position if at is None else at
        kind = joints.fixed if self.dimension == 2 else joints3d.fixed
        axis = None if self.dimension == 2 else (1.0, 0.0, 0.0)
        return self._join("fixed", name, first, second, at, kind, axis=axis, offset=True)

    def spherical(self, name: str, first, second, *, at) -> Joint:
        """Add a ball joint in space: the bodies share a point. Parameters are those of `revolute`."""
        self._spatial("spherical")
        return self._join("spherical", name, first, second, at, joints3d.spherical)

    def cylindrical(self, name: str, first, second, *, at, axis) -> Joint:
        """Add a joint in space that slides along an axis and turns about it: `.angle` and `.position`."""
        self._spatial("cylindrical")
        joint = self._join("cylindrical", name, first, second, at, joints3d.cylindrical, axis=axis, coordinate="angle")
        value, rate = joints3d.VALUES["position"]
        places = (self.kit.place, *joint.marks)
        motions = (self.kit.place, self.kit.motion, *joint.marks)
        joint.more["position"] = rows.joint_value(value, *places), rows.joint_rate(rate, *motions)
        return joint

    def universal(self, name: str, first, second, *, at, axis, other) -> Joint:
        """Add a Cardan joint in space: `axis` is fixed in the first body, `other`, normal to it, in the second."""
        self._spatial("universal")
        if abs(float(np.dot(self._unit(axis, name), self._unit(other, name)))) > 1e-9:
            raise BadArgument(f"universal joint {name!r}: axis and other must be drawn normal to each other.")
        return self._join("universal", name, first, second, at, joints3d.universal, axis=axis, other=other)

    def planar(self, name: str, first, second, *, at, axis) -> Joint:
        """Add a joint in space that slides and turns in the plane normal to `axis`."""
        self._spatial("planar")
        return self._join("planar", name, first, second, at, joints3d.planar, axis=axis)

    def close(self, name: str, first, second, *, at, axis=None) -> Joint:
        """Close a loop: a pin between two bodies that are joined otherwise already.

        Parameters are those of `revolute`; `at` is usually a pair, the pin's place on each body. In space it is a
        ball joint unless an axis is given.
        """
        if self.dimension == 3 and axis is None:
            return self.spherical(name, first, second, at=at)
        return self.revolute(name, first, second, at=at, axis=axis)

    def pin_in_slot(self, name: str, slot, pin, *, at, axis) -> Joint:
        """Add a pin of the second body that moves in a straight slot of the first.

        Parameters are those of `revolute`; `axis` is the direction of the slot in the drawing.
        """
        self._planar("pin_in_slot")
        return self._join("pin-in-slot", name, slot, pin, at, joints.pin_in_slot, axis=axis, coordinate="position")

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
        """
        ends = self._two_places(name, at)
        drawn = float(np.linalg.norm(np.subtract(*(self._drawn(end, name) for end in ends))))
        kind = joints.distance if self.dimension == 2 else joints3d.distance
        if not callable(length):
            length = drawn if length is None else length
            return self._join("distance", name, first, second, ends, kind, numbers={"length": length})
        wanted = self._of_time(length, name)
        joint = self._join("distance", name, first, second, ends, kind, constants=(drawn,))
        joint.rows = rows.timed_rows(kind, self.kit.place, *joint.marks, wanted)
        joint.rows.row_names = joint.labels
        return joint

    def gear(self, name: str, first, second, *, at=None, radii=None, ratio: float | None = None) -> Joint:
        """Add a pair of gears.

        Parameters
        ----------
        name, first, second
            As for `revolute`.
        at : pair of points
            Centres of the two wheels as drawn (with `radii`).
        radii : (float, float)
            Pitch radii, m; the second negative for a ring around the first. The tooth force acts where the
            pitch circles touch; turning centres (planets) are taken into account. Parameters "name.radius",
            "name.other".
        ratio : float
            Instead of radii: angle of the second against the ground = ratio x angle of the first; negative
            where they turn against each other. Torques only. Parameter "name.ratio".
        """
        self._planar("gear")
        if (radii is None) == (ratio is None):
            raise BadArgument(f"gear {name!r}: give radii=(r1, r2) with at=(centre, centre), or ratio=.")
        bodies = self._body(first), self._body(second)
        angles = [body.rotation for body in bodies]
        if ratio is not None:
            places = tuple(body.position if not body.is_ground else (0.0, 0.0) for body in bodies)
            offset = angles[1] - ratio * angles[0]
            return self._join("gear", name, first, second, places if at is None else at, joints.gear_ratio,
                              numbers={"ratio": ratio}, constants=(offset,))  # fmt: skip
        ends = self._two_places(name, at)
        r1, r2 = (float(radius) for radius in radii)
        line = np.subtract(self._drawn(ends[1], name), self._drawn(ends[0], name))
        apart = float(np.linalg.norm(line))
        if r1 <= 0.0 or r2 == 0.0 or r1 + r2 == 0.0:
            raise BadArgument(
                f"gear {name!r}: radii {radii} must be positive, the second negative for an internal gear."
            )
        if abs(apart - abs(r1 + r2)) > 0.01 * apart:
            raise BadArgument(
                f"gear {name!r}: the centres are {apart:.4g} m apart, but the pitch circles touch at "
                f"{abs(r1 + r2):.4g} m."
            )
        offset = (r1 * angles[0] + r2 * angles[1]) / (r1 + r2) - np.arctan2(line[1], line[0])
        return self._join("gear", name, first, second, ends, joints.gear, numbers={"radius": r1, "other": r2},
                          constants=(float(offset),), signed=True)  # fmt: skip

    def rack_and_pinion(self, name: str, rack, pinion, *, at, axis, radius: float) -> Joint:
        """Add a rack, the first body, whose pitch line drives a pinion, the second.

        Parameters
        ----------
        at : pair of points
            A point of the rack's pitch line and the centre of the pinion, as drawn.
        axis : two floats
            Direction of the rack in the drawing.
        radius : float
            Pitch radius, m. Parameter "name.radius", negative where the pinion is right of the direction.
        """
        return self._rolls("rack-and-pinion", name, rack, pinion, at, axis, radius, joints.rack_and_pinion)

    def rolling(self, name: str, line, disk, *, at, axis=None, radius: float, normal=(0.0, 0.0, 1.0)) -> Joint:
        """Add a disk, the second body, that rolls without slipping on the first and stays on it.

        Parameters
        ----------
        at : pair of points
            A point of the line (in space: of the plane) and the centre of the disk, as drawn.
        axis : sequence of float, optional
            Direction of the line; in space the axis of the disk, or None for a sphere.
        radius : float
            m. Parameter "name.radius".
        normal : three floats
            Normal of the plane in space, z if not given.
        """
        if self.dimension == 2:
            return self._rolls("rolling", name, line, disk, at, axis, radius, joints.rolling, coordinate="angle")
        return self._rolls_in_space(name, line, disk, at, axis, radius, normal)

    def _rolls_in_space(self, name, plane, disk, at, axis, radius, normal) -> Joint:
        ends = self._two_places(name, at)
        n, d = self._unit(normal, name), np.subtract(self._drawn(ends[1], name), self._drawn(ends[0], name))
        tilt = 1.0 if axis is None else float(np.sqrt(1.0 - np.dot(n, self._unit(axis, name)) ** 2))
        if abs(float(np.dot(n, d)) - radius * tilt) > 0.01 * radius:
            raise BadArgument(
                f"rolling {name!r}: the centre is {np.dot(n, d):.4g} m above the plane, but the radius is "
                f"{radius:.4g} m"
                f"{'' if axis is None else f', which at this tilt means {radius * tilt:.4g} m'}. Draw them touching."
            )
        height, slip = (
            (joints3d.sphere_height, joints3d.sphere_slip)
            if axis is None
            else (joints3d.disk_height, joints3d.disk_slip)
        )
        joint = self._join("rolling", name, plane, disk, ends, height, axis=n, axis2=axis, numbers={"radius": radius})
        more = f"{name} slip"
        made = rows.velocity_rows(slip, self.kit.place, self.kit.motion, *joint.marks, (f"{name}.radius",))
        made.row_names = joints3d.ROWS["slip"]
        self.joints[more] = Joint(
            more, "slip", joint.first, joint.second, joint.marks, made, joints3d.ROWS["slip"], "velocity", of=name
        )
        return joint

    def skate(self, name: str, body, *, at, axis) -> Joint:
        """Add a knife edge (or a wheel seen from above) to a body: its point does not move across `axis`."""
        self._planar("skate")
        return self._join("skate", name, self.ground, body, at, joints.skate, axis=axis, level="velocity")

    def _rolls(self, kind, name, first, second, at, axis, radius, residual, coordinate=None) -> Joint:
        self._planar(kind)
        ends = self._two_places(name, at)
        u = self._unit(axis, name)
        d = np.subtract(self._drawn(ends[1], name), self._drawn(ends[0], name))
        height = float(u[0] * d[1] - u[1] * d[0])
        radius = float(radius)
        if not radius > 0.0:
            raise BadArgument(f"{kind} {name!r}: the radius must be positive, got {radius:g}.")
        if abs(abs(height) - radius) > 0.01 * radius:
            raise BadArgument(
                f"{kind} {name!r}: the centre is {abs(height):.4g} m from the line, but the radius is {radius:.4g} m. "
                "Draw them touching."
            )
        radius = radius if height > 0 else -radius
        relative = self._body(second).rotation - self._body(first).rotation
        offset = float(np.dot(u, d)) + radius * relative
        return self._join(kind, name, first, second, ends, residual, axis=axis, numbers={"radius": radius},
                          constants=(offset,), coordinate=coordinate, signed=True)  # fmt: skip

    # how a joint is made

    def _join(self, kind, name, first, second, at, residual, *, axis=None, other=None, axis2=None, coordinate=None,
              offset=False, numbers=None, constants=(), level="position", signed=False) -> Joint:  # fmt: skip
        self._new(name, "joint")
        first, second = self._body(first), self._body(second)
        if first is second:
            raise BadArgument(f"joint {name!r} joins body {first.name!r} with itself. Name two bodies, or m.ground.")
        keys = self._places(name, at)
        directions = (None, None)
        if axis is not None and self.dimension == 2:
            directions = (self.params.add_point(f"{name}.axis", self._unit(axis, name)),) * 2
        elif axis is not None:
            drawn = self.kit.axes_of(self._unit(axis, name), None if other is None else self._unit(other, name))
            directions = (drawn, drawn if axis2 is None else self.kit.axes_of(self._unit(axis2, name)))
        marks = tuple(map(self._mark, (first, second), keys, directions))
        check = None if signed or "ratio" in (numbers or {}) else positive
        names = tuple(self.params.add(f"{name}.{key}", value, check) for key, value in (numbers or {}).items())
        if offset and self.dimension == 2:
            constants = (*constants, second.rotation - first.rotation)
        table = joints if self.dimension == 2 else joints3d
        place, motion = self.kit.place, self.kit.motion
        if level == "velocity":
            made = rows.velocity_rows(residual, place, motion, *marks, names)
        else:
            made = rows.joint_rows(residual, place, *marks, names, constants)
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
        return (
            not isinstance(at, Point | str)
            and len(at) == 2
            and not all(np.isscalar(part) and not isinstance(part, str) for part in at)
        )

    def _two_places(self, name: str, at):
        if at is None or not self._is_pair(at):
            raise BadArgument(f"{name!r} needs two points: at=(point on the first body, point on the second).")
        return tuple(
            self._point(end) if isinstance(end, Point | str)
            else sh.point(end, f"at of {name!r}", self.dimension) for end in at
        )  # fmt: skip

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
