"""The methods of Mechanism that add forces."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import vector
from . import forces as fo
from . import joints, joints3d
from . import shapes as sh
from .body import Body, Point
from .joint import Force, Joint
from .joint_force_methods import JointForceMethods
from .parameters import not_negative, number, positive


class ForceMethods(JointForceMethods):
    """Forces by name: `m.spring("s", slider, m.ground, at=(B, W), stiffness=100.0)`. All return the Force.

    Functions given to them name what they need: t, p (parameters), u (inputs), states, and what each method says.
    """

    def spring(self, name: str, first, second, *, at, stiffness: float | None = None, length: float | None = None,
               damping: float | None = None, force=None) -> Force:  # fmt: skip
        """Add a spring, with a damper if wanted, between a point of each body.

        Parameters
        ----------
        name : str
            `sol[name].tension`, `.length`, `.energy`, `.power`; a positive tension pulls the ends together.
        first, second : Body or str
            Its bodies.
        at : pair of points
            Its ends as drawn.
        stiffness, damping : float
            N/m and N s/m. Parameters "name.stiffness", "name.damping".
        length : float, optional
            Natural length, m; as drawn if not given. Parameter "name.length".
        force : function, optional
            Instead of stiffness: tension as a function of what it names of length, stretch, rate, t, p, u.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism
        >>> m = Mechanism(gravity=(0, 0))
        >>> block = m.body("block", at=(1.2, 0), mass=1.0)
        >>> _ = m.spring("coil", m.ground, block, at=((0, 0), (1.2, 0)), stiffness=100.0, length=1.0, damping=0.5)
        >>> float(simulate(m, 1.0)["coil"].tension[0].round(6))
        20.0
        """
        if self._are_many(first, second):
            return self._in_row(
                "spring", name, first, second, at=at, stiffness=stiffness, length=length, damping=damping, force=force
            )
        marks, drawn = self._line(name, first, second, at)
        kit = self.kit
        natural = self.params.add(f"{name}.length", drawn if length is None else length, not_negative)
        if np.any(nowhere := np.equal(drawn, 0.0) & np.not_equal(self.params[natural], 0.0)):
            raise BadArgument(
                f"spring {self._which(name, nowhere)!r} is drawn with its ends in one place, where it has no direction. "
                "Draw them apart."
            )
        if (stiffness is None) == (force is None):
            raise BadArgument(f"spring {name!r}: give stiffness= or force=, one of them.")
        if force is not None:
            asked = self._asked(force, f"force of {name!r}", ("length", "stretch", "rate", *self._given))
            tension = fo.user_tension(*asked, natural, f"force of {name!r}")
            return self._enter(Force(name, "spring", self._pull(tension, marks), marks))
        k = self.params.add(f"{name}.stiffness", stiffness, not_negative)
        energy = fo.spring_energy(kit.place, *marks, k, natural)
        if damping is None:
            whole, damped = self._pull(fo.linear_tension(k, natural), marks), None
        else:
            c = self.params.add(f"{name}.damping", damping, not_negative)
            whole = self._pull(fo.linear_tension(k, natural, c), marks)
            damped = self._pull(fo.damping_tension(c), marks)
        return self._enter(Force(name, "spring", whole, marks, energy, damped))

    def damper(self, name: str, first, second, *, at, damping: float) -> Force:
        """Add a viscous damper between a point of each body; N s/m. Parameter "name.damping"."""
        if self._are_many(first, second):
            return self._in_row("damper", name, first, second, at=at, damping=damping)
        marks, drawn = self._line(name, first, second, at)
        if np.any(nowhere := np.equal(drawn, 0.0)):
            raise BadArgument(
                f"damper {self._which(name, nowhere)!r} is drawn with its ends in one place, where it has no direction. "
                "Draw them apart."
            )
        c = self.params.add(f"{name}.damping", damping, not_negative)
        return self._enter(Force(name, "damper", self._pull(fo.damping_tension(c), marks), marks))

    def bushing(self, name: str, first, second, *, at, stiffness, damping=None, axis=None) -> Force:
        """Add an elastic bearing between two bodies: springs for every displacement and rotation at a point.

        Parameters
        ----------
        name, first, second
            As for `spring`; relaxed where it is drawn.
        at : point or Point
            Where it is drawn.
        stiffness, damping : sequence of float, or float
            Along the axis, across it, and in rotation: 3 numbers in the plane (N/m, N/m, N m/rad), 6 in space.
            One number damps all alike. Parameters "name.stiffness.1" and so on.
        axis : sequence of float, optional
            Direction on the first body; x if not given.
        """
        self._new(name, "force")
        first, second = self._body(first), self._body(second)
        if first is second:
            raise BadArgument(f"{name!r} acts between body {first.name!r} and itself. Name two bodies, or m.ground.")
        n = 3 if self.dimension == 2 else 6
        springs = self._several(stiffness, f"stiffness of bushing {name!r}")
        dampers = () if damping is None else self._several(damping, f"damping of bushing {name!r}")
        dampers = np.full(n, dampers[0]) if len(dampers) == 1 else dampers
        if len(springs) != n or len(dampers) not in (0, n):
            raise BadArgument(
                f"bushing {name!r} needs {n} stiffnesses (and one or {n} dampings), got {len(springs)} and {np.size(damping)}."
            )
        keys = self._places(name, at)
        usual = (1.0, 0.0, 0.0)[: self.dimension]
        directions = self._directions("bushing", name, at, axis, None, None, usual)
        marks = tuple(map(self._mark, (first, second), keys, directions))
        k = tuple(self.params.add(f"{name}.stiffness.{i + 1}", value, not_negative) for i, value in enumerate(springs))
        c = tuple(self.params.add(f"{name}.damping.{i + 1}", value, not_negative) for i, value in enumerate(dampers))
        table = joints if self.dimension == 2 else joints3d
        constants = (second.rotation - first.rotation,) if self.dimension == 2 else ()
        parts = (table.bushing, table.bushing_rates, table.bushing_wrench, self.kit.place, self.kit.motion, *marks)
        whole = fo.bushing_force(*parts, k, c, constants)
        damped = fo.bushing_force(*parts, (), c, constants) if c else None
        energy = fo.bushing_energy(table.bushing, self.kit.place, *marks, k, constants)
        return self._enter(Force(name, "bushing", whole, marks, energy, damped))

    def force(self, name: str, body, *, at=None, value) -> Force:
        """Add a force on a body, in the ground frame, from outside.

        Parameters
        ----------
        name : str
            Name in results.
        body : Body or str
            What it acts on.
        at : point or Point, optional
            Where it acts, moving with the body; the centre of mass if not given.
        value : sequence of float, or function
            N. A function names what it needs of t, p, u, states, bodies, points and joints:
            `lambda t, slider, O: (-3 * slider.velocity[0], O.angle)`. Bodies, points and frames have position,
            velocity, rotation (axes as columns), angular_velocity (ground frame; also speed), in the plane angle; joints
            angle or position, and speed.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism
        >>> m = Mechanism(gravity=(0, 0))
        >>> block = m.body("block", at=(0, 0), mass=2.0)
        >>> _ = m.force("push", block, value=lambda t, block: (4.0 - 0.1 * block.velocity[0], 0.0))
        >>> simulate(m, 1.0)["push"].force[0]
        array([4., 0.])
        """
        self._new(name, "force")
        mark = self._force_mark(name, body, at)
        if callable(value):
            pushed = self._named(value, f"value of {name!r}", self.dimension)
            act = fo.on_point(pushed, self.kit.place, mark, self.kit.NO_TORQUE)
        else:
            keys = self.params.add_point(f"{name}.value", sh.point(value, f"force {name!r}", self.dimension))
            act = fo.on_point(fo.constant_vector(keys), self.kit.place, mark, self.kit.NO_TORQUE)
        return self._enter(Force(name, "force", act, (mark,)))

    def torque(self, name: str, body, *, value) -> Force:
        """Add a torque on a body from outside; N m. A function names what it needs, as for `force`."""
        self._new(name, "force")
        mark = self._force_mark(name, body, None)
        if callable(value):
            act = fo.torque_on(self._named(value, f"value of {name!r}", 1 if self.dimension == 2 else 3), mark)
        elif self.dimension == 2:
            act = fo.torque_on(fo.constant_number(self.params.add(f"{name}.value", value)), mark)
        else:
            given = sh.point(value, f"torque {name!r}", self.dimension)
            act = fo.torque_on(fo.constant_vector(self.params.add_point(f"{name}.value", given)), mark)
        return self._enter(Force(name, "force", act, (mark,), turns=True))

    def contact(self, name: str, body, *, centre, radius: float, point, normal, stiffness: float, exponent: float = 1.5,
                damping: float = 0.0, friction: float = 0.0, smoothing: float = 1e-2) -> Force:  # fmt: skip
        """Add compliant contact of a circle or sphere with the ground: N = k δⁿ (1 + c δ').

        Parameters
        ----------
        name, body
            As for `force`.
        centre : point or Point
            Centre of the circle on the body, as drawn.
        radius : float
            m.
        point, normal : points
            A point of the ground's surface and the direction out of it.
        stiffness : float
            k, N/mⁿ.
        exponent : float
            n; 1.5 is Hertz's sphere.
        damping : float
            c, s/m.
        friction : float
            Coefficient μ; slip slower than `smoothing` (m/s) is opposed in proportion.
        """
        self._new(name, "force")
        mark = self._force_mark(name, body, centre)
        surface = self.params.add_point(f"{name}.surface", self._drawn(point, name))
        direction = self.params.add_point(f"{name}.normal", self._unit(normal, name))
        numbers = {"radius": radius, "stiffness": stiffness, "damping": damping, "friction": friction, "smoothing": smoothing}
        above = ("radius", "stiffness", "smoothing")
        keys = [
            self.params.add(f"{name}.{key}", value, positive if key in above else not_negative) for key, value in numbers.items()
        ]
        kit, power = self.kit, number(f"the exponent of {name!r}", exponent)
        act = fo.contact(kit.place, kit.motion, kit.spin_arm, mark, surface, direction, tuple(keys), power, kit.NO_TORQUE)
        return self._enter(Force(name, "contact", act, (mark,)))

    # how a force is made

    def _several(self, given, what: str) -> np.ndarray:
        """Numbers for all directions of a bushing, or one for all."""
        return vector(np.ravel(given) if np.ndim(given) > 1 else given, what)

    def _line(self, name, first, second, at):
        self._new(name, "force")
        first, second = self._body(first), self._body(second)
        if first is second:
            raise BadArgument(f"{name!r} acts between body {first.name!r} and itself. Name two bodies, or m.ground.")
        ends = self._two_places(name, at)
        drawn = self._apart(ends, name)
        keys = self._places(name, ends)
        return (self._mark(first, keys[0]), self._mark(second, keys[1])), drawn

    def _pull(self, tension, marks):
        return fo.along_line(tension, self.kit.place, self.kit.motion, *marks, self.kit.NO_TORQUE)

    def _force_mark(self, name: str, body, at) -> tuple:
        body = self._body(body)
        if body.is_ground:
            raise BadArgument(f"{name!r} acts on the ground, which does not move. Name a body.")
        if at is None:
            return self._mark(body, body.origin)
        keys = self._point(at).mark[1] if isinstance(at, Point | str) else self.params.add_point(name, self._drawn(at, name))
        return self._mark(body, keys)

    def _named(self, function, role: str, n: int | None = None):
        """A user's function of t, p, u, states and named bodies, points and joints; it returns n numbers, or any."""
        every = {**self.bodies.alone, **self.points, **self.joints.alone}
        called, names = self._asked(function, role, (*self._given, *every))
        things = []
        for key in names:
            if key in self._given:
                continue
            thing = every[key]
            if isinstance(thing, Joint):
                joint = self._joint(thing, f"{role} asks for the angle or position")
                asking = f"{role} asks joint {key!r}"
                things.append((key, fo.seen_joint(joint.value, joint.rate, joint.coordinate, asking)))
            else:
                mark = self._mark(thing, thing.origin) if isinstance(thing, Body) else thing.mark
                asking = f"{role} asks {type(thing).__name__.lower()} {key!r}"
                things.append((key, fo.seen_mark(self.kit.place, self.kit.motion, self.kit.axes_seen, mark, asking)))
        return fo.user_value(called, names, tuple(things), role, n)

    def _enter(self, force: Force) -> Force:
        self.forces[force.name] = force
        self._changed()
        return force

    def _drawn_around(self, *bodies: Body) -> dict[int, float]:
        """The same of some bodies alone, by place, as fast in a mechanism of thousands."""
        q = {}
        for body in bodies:
            if not body.is_ground:
                q |= enumerate(self.kit.drawn(body.position, body.rotation), self.kit.NQ * body.index)
        return q

    def _drawn_position(self) -> np.ndarray:
        """Coordinates of all bodies as drawn."""
        one = lambda body: self.kit.drawn(body.position, body.rotation)
        many = lambda series: self.kit.drawn_series(self.params.by_code, series)
        return self.bodies.columns(one, many).reshape(-1)
