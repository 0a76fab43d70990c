"""The methods of Mechanism that add gears, racks and wheels."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from . import joints, joints3d, rows
from .joint import Joint
from .parameters import number


class GearMethods:
    """Bodies that roll on each other: `m.gear("mesh", a, b, at=(A, B), radii=(0.1, 0.2))`. All return the Joint."""

    def gear(self, name: str, first, second, *, at=None, radii=None, ratio: float | None = None, axis=None) -> Joint:
        """Add a pair of gears: spur or internal, in space also bevel gears.

        Parameters
        ----------
        name, first, second
            As for `revolute`.
        at : pair of points
            Centres of the two wheels' pitch circles as drawn (with `radii`).
        radii : (float, float)
            Pitch radii, m; the second negative for a ring around the first. The tooth force acts where the
            pitch circles touch; turning centres (planets) are taken into account. Parameters "name.radius",
            "name.other".
        ratio : float
            Instead of radii: angle of the second against the ground = ratio x angle of the first; negative
            where they turn against each other. Torques only: `sol[name].torque` on the second, -ratio times that on the first,
            the rest on the housing, the ground. Parameter "name.ratio".
        axis : three floats, or a pair of these
            In space: axes of the wheels in the drawing.

        Notes
        -----
        In the plane the angles themselves keep their ratio. In space angles do not count turns, so their rates keep it:
        wheels do not slip, and their angles agree to the accuracy of the run.
        """
        if (radii is None) == (ratio is None):
            raise BadArgument(f"gear {name!r}: give radii=(r1, r2) with at=(centre, centre), or ratio=.")
        bodies = self._body(first), self._body(second)
        if ratio is not None and any(body.is_ground for body in bodies):
            raise BadArgument(
                f"gear {name!r}: with ratio= the housing is the ground, which cannot be a wheel, too. Name two bodies that turn; "
                "one that is held is fixed to the ground, or driven."
            )
        if self.dimension == 3:
            return self._gear_in_space(name, first, second, at, radii, ratio, axis)
        angles = [body.rotation for body in bodies]
        if ratio is not None:
            places = tuple(body.position for body in bodies)
            offset = angles[1] - ratio * angles[0]
            return self._join("gear", name, first, second, places if at is None else at, joints.gear_ratio,
                              numbers={"ratio": ratio}, constants=(offset,))  # fmt: skip
        ends = self._two_places(name, at)
        r1, r2 = self._radii(name, radii)
        line = np.subtract(self._drawn(ends[1], name), self._drawn(ends[0], name))
        apart = float(np.linalg.norm(line))
        if abs(apart - abs(r1 + r2)) > 0.01 * apart:
            raise BadArgument(
                f"gear {name!r}: the centres are {apart:.4g} m apart, but the pitch circles touch at {abs(r1 + r2):.4g} m."
            )
        offset = (r1 * angles[0] + r2 * angles[1]) / (r1 + r2) - np.arctan2(line[1], line[0])
        return self._join("gear", name, first, second, ends, joints.gear, numbers={"radius": r1, "other": r2},
                          constants=(float(offset),), signed=True)  # fmt: skip

    def _gear_in_space(self, name, first, second, at, radii, ratio, axis) -> Joint:
        if axis is None:
            raise BadArgument(f"gear {name!r}: in space the wheels need axis=, one for both or a pair.")
        axes = [self._unit(each, name) for each in (axis if np.ndim(axis) == 2 else (axis, axis))]
        how = {"axis": axes[0], "axis2": axes[1] if np.ndim(axis) == 2 else None, "level": "velocity", "signed": True}
        if ratio is not None:
            bodies = (self._body(first), self._body(second))
            places = tuple(body.position for body in bodies)
            return self._join("gear", name, first, second, places if at is None else at, joints3d.gear_ratio,
                              numbers={"ratio": ratio}, **how)  # fmt: skip
        ends = self._two_places(name, at)
        r1, r2 = self._radii(name, radii)
        side = 1.0 if r2 > 0 else -1.0
        centres = [np.array(self._drawn(end, name)) for end in ends]
        touch = []
        for centre, unit, toward, reach in zip(centres, axes, centres[::-1], (side * r1, side * r2), strict=True):
            across = np.cross(np.cross(unit, toward - centre), unit)
            if np.linalg.norm(across) < 1e-9 * np.linalg.norm(toward - centre):
                raise BadArgument(f"gear {name!r}: both wheels turn about one line, so they do not touch. Check at=.")
            touch.append(centre + reach * across / np.linalg.norm(across))
        apart = float(np.linalg.norm(touch[1] - touch[0]))
        if apart > 0.01 * (r1 + abs(r2)):
            raise BadArgument(
                f"gear {name!r}: the pitch circles miss each other by {apart:.4g} m. Draw their centres so that circles "
                f"of radius {r1:.4g} m and {abs(r2):.4g} m touch; the axes of bevel gears must meet."
            )
        return self._join("gear", name, first, second, ends, joints3d.gear, numbers={"radius": r1, "other": r2},
                          constants=(side,), **how)  # fmt: skip

    def _radii(self, name: str, radii) -> tuple[float, float]:
        if np.ndim(radii) != 1 or len(radii) != 2:
            raise BadArgument(f"gear {name!r}: radii= is a pair (r1, r2), got {radii!r}.")
        r1, r2 = (number(f"a radius of gear {name!r}", radius) for radius in radii)
        if r1 <= 0.0 or r2 == 0.0 or r1 + r2 == 0.0:
            raise BadArgument(f"gear {name!r}: radii {radii} must be positive, the second negative for an internal gear.")
        return r1, r2

    def rack_and_pinion(self, name: str, rack, pinion, *, at, axis, radius: float) -> Joint:
        """Add a rack, the first body, whose pitch line drives a pinion, the second.

        Parameters
        ----------
        at : pair of points
            A point of the rack's pitch line and the centre of the pinion, as drawn.
        axis : sequence of float
            Direction of the rack in the drawing.
        radius : float
            Pitch radius, m. Parameter "name.radius", in the plane negative where the pinion is right of the direction.

        Notes
        -----
        In space it is kept at velocity level, as gears are; the pinion's own bearing holds it at its distance.
        """
        if self.dimension == 3:
            return self._rack_in_space(name, rack, pinion, at, axis, radius)
        return self._rolls("rack-and-pinion", name, rack, pinion, at, axis, radius, joints.rack_and_pinion)

    def _rack_in_space(self, name, rack, pinion, at, axis, radius) -> Joint:
        ends = self._two_places(name, at)
        radius = number(f"the radius of rack-and-pinion {name!r}", radius)
        u, d = self._unit(axis, name), np.subtract(self._drawn(ends[1], name), self._drawn(ends[0], name))
        self._check_touching("rack-and-pinion", name, float(np.linalg.norm(np.cross(u, d))), radius)
        return self._join("rack-and-pinion", name, rack, pinion, ends, joints3d.rack_and_pinion, axis=axis,
                          numbers={"radius": radius}, level="velocity")  # fmt: skip

    def _check_touching(self, kind: str, name: str, height: float, radius) -> None:
        if not radius > 0.0:
            raise BadArgument(f"{kind} {name!r}: the radius must be positive, got {radius:g}.")
        if abs(abs(height) - radius) > 0.01 * radius:
            raise BadArgument(
                f"{kind} {name!r}: the centre is {abs(height):.4g} m from the line, but the radius is {radius:.4g} m. "
                "Draw them touching."
            )

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
        radius = number(f"the radius of rolling {name!r}", radius)
        tilt = 1.0 if axis is None else float(np.sqrt(1.0 - np.dot(n, self._unit(axis, name)) ** 2))
        if abs(float(np.dot(n, d)) - radius * tilt) > 0.01 * radius:
            raise BadArgument(
                f"rolling {name!r}: the centre is {np.dot(n, d):.4g} m above the plane, but the radius is "
                f"{radius:.4g} m"
                f"{'' if axis is None else f', which at this tilt means {radius * tilt:.4g} m'}. Draw them touching."
            )
        height, slip = (
            (joints3d.sphere_height, joints3d.sphere_slip) if axis is None else (joints3d.disk_height, joints3d.disk_slip)
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
        ends = self._two_places(name, at)
        u = self._unit(axis, name)
        d = np.subtract(self._drawn(ends[1], name), self._drawn(ends[0], name))
        height = float(u[0] * d[1] - u[1] * d[0])
        radius = number(f"the radius of {kind} {name!r}", radius)
        self._check_touching(kind, name, height, radius)
        radius = radius if height > 0 else -radius
        relative = self._body(second).rotation - self._body(first).rotation
        offset = float(np.dot(u, d)) + radius * relative
        return self._join(kind, name, first, second, ends, residual, axis=axis, numbers={"radius": radius},
                          constants=(offset,), coordinate=coordinate, signed=True)  # fmt: skip
