"""The methods of Mechanism that prescribe motion: drives of joints and of points, couplings of joints."""

from __future__ import annotations

from ..errors import BadArgument
from . import rows
from .body import Point
from .joint import Drive


class DriveMethods:
    """Drives: `m.drive("O", speed=10.0)`; couplings: `m.couple("fingers", "left", "right", ratio=-1)`."""

    def drive(self, of, *, angle=None, position=None, speed=None, path=None) -> Drive:
        """Prescribe the motion of a joint or a point; what it takes is a result.

        What that takes is `sol[joint].effort`, the torque about the joint's axis or the force along it, which is in
        `sol[joint].torque` or `.force`, too. A mechanism all of whose freedom is driven gives inverse dynamics.

        Parameters
        ----------
        of : str, Joint or Point
            A joint with an angle or a position; with `path`, a point.
        angle, position : float or function of t
            Value to follow, rad or m. Parameter "joint.angle" or "joint.position" if a number.
        speed : float or function of t
            Rate to keep from where the mechanism stands at t = 0. Parameter "joint.speed" if a number. A run from another t0
            begins where a steady rate has led by then; with a function, where the mechanism stands.
        path : function of t
            Coordinates of the point.

        Examples
        --------
        >>> import numpy as np
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism, rod
        >>> m = Mechanism(gravity=(0, 0))
        >>> _ = m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=3.0)), at=(0, 0))
        >>> _ = m.drive("O", angle=lambda t: t**2)
        >>> float(simulate(m, 1.0)["O"].effort[-1].round(6))  # inertia 1 kg m², acceleration 2 rad/s²
        2.0
        """
        given = {"angle": angle, "position": position, "speed": speed, "path": path}
        chosen = [key for key, value in given.items() if value is not None]
        if len(chosen) != 1:
            raise BadArgument(f"a drive needs one of angle=, position=, speed= and path=, got {', '.join(chosen) or 'none'}.")
        if path is not None:
            return self._drive_path(of, path)
        kind = chosen[0]
        joint = self._joint(of, f"{kind} drive", None if kind == "speed" else kind)
        name = f"{joint.name} drive"
        self._new(name, "drive")
        value = given[kind]
        drive = Drive(name, joint.name, joint.marks, None, (joint.coordinate,), value=joint.value)
        if kind == "speed" and not callable(value):
            key = self.params.add(f"{joint.name}.speed", value)
            drive.start = self.params.add(f"{joint.name}.start", 0.0)
            drive.rows = rows.steady_rows(joint.gap, self.kit.place, *joint.marks, key, drive.start)
        elif kind == "speed":
            drive.level, drive.value = "velocity", None
            drive.rows = rows.rate_rows(joint.rate, self._of_time(value, f"{kind} of {name!r}"))
        else:
            if callable(value):
                drive.wanted = self._of_time(value, f"{kind} of {name!r}")
            else:
                drive.wanted = rows.constant(self.params.add(f"{joint.name}.{kind}", value))
            drive.rows = rows.following_rows(joint.gap, self.kit.place, *joint.marks, drive.wanted)
        return self._enter_drive(drive)

    def couple(self, name: str, leader, follower, *, ratio: float = 1.0, offset: float = 0.0) -> Drive:
        """Tie the angle or position of one joint to that of another: follower = ratio x leader + offset.

        As two fingers of a gripper move, or the telescopic parts of a lift. `sol[name].torque` (or `.force`) is what the coupling
        exerts on the second body of the follower, and against its first; the leader feels -ratio times that, so that it takes no
        power. What joints read has their share in it.

        Parameters
        ----------
        name : str
            Its name; parameters "name.ratio" and "name.offset".
        leader, follower : str or Joint
            Joints with an angle or a position.
        ratio : float
            rad/rad, m/m, m/rad or rad/m.
        offset : float
            Value of the follower where the leader's is zero, rad or m.

        Notes
        -----
        In space angles do not count turns. Where the leader has an angle and the ratio is no whole number, the joints are
        assembled by their values, and a run keeps the ratio of their rates, as gears do: values agree to its accuracy.
        """
        first, second = self._joint(leader, "coupling"), self._joint(follower, "coupling")
        if first is second:
            raise BadArgument(f"coupling {name!r}: joint {first.name!r} cannot follow itself. Name two joints.")
        self._new(name, "drive")
        keys = [self.params.add(f"{name}.{key}", value) for key, value in (("ratio", ratio), ("offset", offset))]
        made = rows.coupled_rows(second.gap, self.kit.place, *second.marks, first.value, *keys)
        drive = Drive(name, second.name, (*second.marks, *first.marks), made, ("coupling",), leader=first.name)
        if self.dimension == 3 and first.coordinate == "angle" and self.params[keys[0]] % 1.0:
            drive.level, drive.closing = "velocity", made
            drive.rows = rows.coupled_rates(second.rate, first.rate, keys[0])
        return self._enter_drive(drive)

    def _drive_path(self, of, path) -> Drive:
        point = of if isinstance(of, Point) else self.points.get(of) if isinstance(of, str) else None
        if point is None:
            raise self._unknown(of, "point", self.points)
        if not callable(path):
            raise BadArgument(f"drive of point {point.name!r}: path= is a function of t that returns its coordinates.")
        name = f"{point.name} drive"
        self._new(name, "drive")
        mark = point.mark
        made = rows.path_rows(self.kit.place, mark, self._of_time(path, f"path of {name!r}", self.dimension))
        return self._enter_drive(Drive(name, point.name, (mark, mark), made, tuple("xyz"[: self.dimension])))

    def _enter_drive(self, drive: Drive) -> Drive:
        drive.rows.row_names = drive.labels
        self.drives[drive.name] = drive
        self._changed()
        return drive

    def _of_time(self, function, role: str, n: int = 1):
        return rows.of_time(*self._asked(function, role, ("t", "p")), role, n)
