"""Mechanism: bodies, joints and forces by name, that assemble into a System."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arguments import Assembling
from ..errors import BadArgument, HolonomicError, NotFinite
from ..model.blas_threads import one_thread
from ..model.call_by_name import methods_say_what_they_take
from ..model.collector_pause import collector_paused
from ..model.names_in_order import NumbersInOrder
from ..running.tiers import Tiers
from . import plane, space
from . import shapes as sh
from .as_tables import to_tables
from .assemble import Assembly, assemble, assemble_at, check_asked
from .body import Body, Frame, Point, combine
from .description import description
from .drive_methods import DriveMethods
from .force_methods import ForceMethods
from .joint import Drive, follows_time
from .joint_methods import JointMethods
from .lower import check_inertias, check_masses, lower, shape_masses, with_numbers
from .mobility import Mobility, mobility, refuse_shared_loads
from .named_parts import NamedParts
from .parameters import Parameters, positive
from .series import DrawnBodies, DrawnParts
from .series_methods import SeriesMethods
from .state_methods import NamedState, StateMethods, seen
from .table_numbers import Numbers

FOREIGN = {
    "rest": "length", "rest_length": "length", "free_length": "length", "natural_length": "length", "k": "stiffness",
    "c": "damping", "mu": "coefficient", "parent": "first", "child": "second", "point": "at", "points": "at",
    "pos": "at", "direction": "axis", "omega": "speed", "velocity": "speed", "g": "gravity", "m": "mass", "I": "inertia",
    "force": "value", "torque": "value", "vector": "value", "radius": "radii",
}  # fmt: skip
# Bodies, above which a mechanism runs as tables unless it is said otherwise. A chain of 80 rods compiled for 13 s, one of 160 for
# 14 s (its tape is then played), and had 0.5 times the time of a step.
UNROLLED = 100


@methods_say_what_they_take(FOREIGN)
class Mechanism(NamedParts, SeriesMethods, JointMethods, DriveMethods, ForceMethods, StateMethods, Assembling):
    """A machine out of bodies, joints and forces. SI units, radians.

    Draw it: give bodies and joints their places in one drawing, in which the mechanism stands in some
    position that it can have. `simulate(m, t_end)` starts from that position at rest, or from where
    `m.assemble` put it. Results are read by name: `sol["A"].force`, `sol["slider"].position`.

    Parameters
    ----------
    gravity : sequence of float
        Two numbers make a planar mechanism, three a spatial one; m/s². (0, 0) is without.

    Attributes
    ----------
    ground : Body
        What does not move.
    params : Parameters
        Every number by its dotted name, such as "link.mass" or "A.x"; can be set, and swept.

    Examples
    --------
    >>> from holonomic import simulate
    >>> from holonomic.multibody import Mechanism, rod
    >>> O, A, B = (0, 0), (0.25, 0.433), (1.686, 0)
    >>> m = Mechanism(gravity=(0, -9.81))
    >>> crank, link = m.body("crank", rod(O, A, mass=1.0)), m.body("link", rod(A, B, mass=2.0))
    >>> slider = m.body("slider", at=B, mass=1.0)
    >>> for name, first, second, at in [("O", m.ground, crank, O), ("A", crank, link, A), ("B", link, slider, B)]:
    ...     _ = m.revolute(name, first, second, at=at)
    >>> _ = m.prismatic("guide", m.ground, slider, at=B, axis=(1, 0))
    >>> _ = m.drive("O", speed=10.0)
    >>> sol = simulate(m, 1.0, save_at=101)
    >>> sol["A"].force.shape, bool(abs(sol["slider"].position[:, 1]).max() < 1e-9)
    ((101, 2), True)
    """

    def __init__(self, gravity=(0.0, -9.81)):
        if not isinstance(gravity, Iterable):
            raise BadArgument(f"gravity is a vector, (0, -9.81) in the plane or (0, 0, -9.81) in space, got {gravity!r}.")
        given = sh.point(gravity, "gravity")
        self.dimension = len(given)
        self.params = Parameters(self._moved, self._changed)
        self._gravity = self.params.add_point("gravity", given)
        self.bodies = DrawnBodies()
        self.joints = DrawnParts()
        self.drives: dict[str, Drive] = {}
        self.forces = DrawnParts()
        self.points: dict[str, Point] = {}
        self.states: dict[str, NamedState] = {}
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, Any] = {}
        self.limits: dict[str, dict[str, float]] = {}  # by joint; from URDF files
        self.ground = Body("ground", -1, self, 0.0 if self.dimension == 2 else np.eye(3))
        self._made: Any = None
        self._tables: Any = None
        self._tables_version = 0  # of the numbers that these have
        self._assembly: Assembly | None = None
        self._tiers: Tiers | None = None
        self._request: tuple | None = None  # what `assemble` was asked for last

    @property
    def kit(self) -> Any:
        """The formulas of the plane or of space; a module, which copies of a mechanism could not hold."""
        return plane if self.dimension == 2 else space

    @classmethod
    def from_urdf(cls, path, *, gravity=(0.0, 0.0, -9.81), package_dirs=None, base="fixed", stops=None) -> Mechanism:
        """Read a spatial mechanism from a URDF file, drawn with all joints at zero.

        Links keep their names as bodies, joints as joints; links without mass become points of the body they are fixed
        to. Axes of a body are those of its link. `m.limits` has the joints' limits. Close loops afterwards with `m.close`.

        Parameters
        ----------
        path : str or Path
            The file.
        gravity : three floats
            m/s².
        package_dirs : path or sequence of paths, optional
            Where "package://" meshes are; meshes are only drawn.
        base : {"fixed", "free"}
            Whether the root link is the ground, or a body that may move.
        stops : float, optional
            Stiffness of compliant stops at the joints' limits, N m/rad or N/m; none if not given.
        """
        from .urdf import fill

        m = cls(gravity=gravity)
        if m.dimension != 3:
            raise BadArgument(f"a URDF file is spatial: gravity needs three numbers, got {gravity!r}.")
        fill(m, path, package_dirs, base, stops)
        return m

    # bodies and points

    def body(
        self, name: str, *shapes: sh.Shape, at=None, angle=None, mass: float | None = None, inertia=None, com=None, about=None
    ) -> Body:
        """Add a body.

        Parameters
        ----------
        name : str
            Its name in labels and results.
        *shapes : Shape
            `rod`, `box`, `plate`, `disk`, `polygon`, `cylinder`, `sphere`; several make one body. They give
            mass, centre of mass and inertia, and are drawn.
        at : point, or two points, optional
            Origin of the frame in which everything else here is stated; with two points, the x axis goes
            through the second. Without it, shapes stand in the drawing itself.
        angle : float or 3 x 3 array, optional
            Angle of that frame, rad; in space its axes as columns.
        mass : float
            kg, where no shape gives it.
        inertia : float, three floats or 3 x 3 array, optional
            kg m². Without it and without a shape the body is a point mass, which may not be turned by forces.
        com : point, optional
            Centre of mass; the frame's origin if not given.
        about : point, optional
            Point about which `inertia` was taken; the centre of mass if not given.

        Examples
        --------
        >>> from holonomic.multibody import Mechanism, disk, rod
        >>> m = Mechanism()
        >>> flywheel = m.body("flywheel", rod((0, 0), (0.5, 0), mass=1.0), disk((0.5, 0), 0.1, mass=3.0))  # two shapes, one body
        >>> slider = m.body("slider", at=(1, 0), mass=2.0)  # a point mass
        >>> m.params["slider.mass"]
        2.0
        """
        self._new(name, "body")
        made = combine(name, self.dimension, shapes, at, angle, mass, inertia, com, about)
        body = Body(name, len(self.bodies), self, made.rotation, made.shapes, made.size, made.inertia is None)
        self.params.add(f"{name}.mass", made.mass, positive)
        if made.inertia is not None:
            keys = self._add_inertia(name, made.inertia)
            if shapes:
                self.params.tie(f"{name}.mass", keys)
        body.origin = self.params.add_point(name, made.centre)
        self.bodies[name] = body
        self._changed()
        return body

    def _add_inertia(self, name: str, inertia) -> tuple[str, ...]:
        if self.dimension == 2:
            return (self.params.add(f"{name}.inertia", inertia, positive),)
        scale = np.abs(inertia).max()
        return tuple(
            self.params.add(f"{name}.inertia.{'xyz'[i]}{'xyz'[j]}", inertia[i, j], positive if i == j else None)
            for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
            if i == j or abs(inertia[i, j]) > 1e-14 * scale  # products of inertia that vanish stay out of the model
        )

    def point(self, name: str, body, at) -> Point:
        """Add a named point of a body, at a place in the drawing; read as `sol[name].position`.

        Examples
        --------
        >>> from holonomic import simulate
        >>> from holonomic.multibody import Mechanism, rod
        >>> m = Mechanism()
        >>> _ = m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
        >>> _ = m.point("tip", "bar", (1, 0))
        >>> simulate(m, 0.5, save_at=6)["tip"].position.shape
        (6, 2)
        """
        self._new(name, "point")
        body = self._body(body)
        keys = self.params.add_point(name, sh.point(at, f"point {name!r}", self.dimension))
        self.points[name] = Point(name, body, self._mark(body, keys))
        self._changed()
        return self.points[name]

    def frame(self, name: str, body, at, axis=None, other=None) -> Frame:
        """Add a named frame of a body; read as `sol[name].position` and `.rotation`. A joint drawn at it takes its axis.

        Joints between two frames, `at=("tool", "socket")`, bring them to coincide as far as the joint demands.

        Parameters
        ----------
        name : str
            Its name; parameters "name.x", "name.axis.x" and so on.
        body : Body or str
            The body it belongs to, or m.ground.
        at : point
            Its origin in the drawing.
        axis : sequence of float, optional
            Its first axis in the drawing, that of joints; x if not given.
        other : three floats, optional
            In space, a direction normal to `axis`: its second axis.
        """
        self._new(name, "frame")
        body = self._body(body)
        keys = self.params.add_point(name, sh.point(at, f"frame {name!r}", self.dimension))
        axis = (1.0, 0.0, 0.0)[: self.dimension] if axis is None else axis
        if other is not None and (self.dimension == 2 or abs(np.dot(self._unit(axis, name), self._unit(other, name))) > 1e-9):
            raise BadArgument(f"frame {name!r}: other= is a direction in space, drawn normal to axis.")
        self.points[name] = Frame(name, body, self._mark(body, keys, self._direction(name, axis, other)))
        self._changed()
        return self.points[name]

    def input(self, name: str, given) -> None:
        """Add a control input, seen by functions of forces as `u.name`.

        A number, a function of t, or a pair (times, values), linear in between, or (times, values, "hold"), each value being kept
        until the next time; steps end on the times.
        """
        if not isinstance(name, str) or not name:
            raise BadArgument(f"an input needs a name, got {name!r}. Write m.input('valve', 1.0).")
        if name in self.inputs or name in self.states:
            kind = "a state" if name in self.states else "an input"
            raise BadArgument(f"there is {kind} {name!r} already.")
        self.inputs[name] = given
        self._changed()

    def quantity(self, function):
        """Return a function for events and outputs from one of named things: `lambda O, slider: O.angle - 1.0`.

        It names what it needs of t, p, u, states, bodies, points and joints, as the functions of `force` do.
        """
        return seen(with_numbers(self._named(function, "the quantity"), self.params.built_in()), self._state_layout())

    def output(self, name: str, function) -> None:
        """Add a named output, a function as for `quantity`; read as `sol[name]`, plotted and kept by sweeps."""
        self._new(name, "output")
        self.outputs[name] = self.quantity(function)
        self._changed()

    # assembling

    def assemble(self, values=None, *, speeds=None, near=None) -> Assembly:
        """Move the mechanism to given joint angles or positions, and give it speed.

        Parameters
        ----------
        values : {str: float}, optional
            Angles (rad) or positions (m) by joint name. The mechanism is taken there in small steps, so of
            several closures it keeps to the one it stands in. Joints that are not named stay as they are, unless a loop, a gear or
            a coupling takes them along; `followed` of the result says by how much.
        speeds : {str: float}, optional
            Angular or sliding speeds by joint name; everything else moves as little as possible.
        near : optional
            Where to begin: {body: (x, y, angle)}, the coordinates of all bodies, or the end of a run
            (`sol.end`). The position drawn if not given.

        Returns
        -------
        Assembly
            Coordinates and velocities, how far bodies moved, and which joints were open.

        Examples
        --------
        >>> import numpy as np
        >>> from holonomic.multibody import Mechanism, rod
        >>> m = Mechanism()
        >>> _ = m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
        >>> start = m.assemble({"O": np.pi / 2}, speeds={"O": 2.0})
        >>> system, q0, v0 = m.to_system()
        >>> q0.round(6), v0.round(6)
        (array([0.      , 0.5     , 1.570796]), array([-1.,  0.,  2.]))
        """
        check_asked(self, values, speeds)
        self._request = (dict(values or {}), dict(speeds or {}), near)
        self._assembly = None
        return self.assembly

    def mobility(self) -> Mobility:
        """Count degrees of freedom where the mechanism stands, and name redundant rows by joint."""
        with one_thread(self.kit.NV * len(self.bodies)):
            return mobility(self)

    def describe(self) -> str:
        """Say what the mechanism is made of, what it leaves free, where it stands and how it runs, in a few lines at any size.

        >>> from holonomic.multibody import Mechanism
        >>> m = Mechanism()
        >>> _ = m.chain("rope", at=((0, 0), (3, 0)), links=30, mass=1.5, first=m.ground)
        >>> print(m.describe().splitlines()[1])
          bodies              30, 1.5 kg in all: rope 0, rope 1, rope 2, rope 3, ...
        """
        return description(self, UNROLLED)

    @property
    def assembly(self) -> Assembly:
        """The position and velocity from which a run starts, and what it took to close the joints."""
        if self._assembly is None:
            if not self.bodies:
                raise BadArgument("the mechanism has no bodies. Add one with m.body(name, rod(start, end, mass=1.0)).")
            try:
                with collector_paused(), one_thread(self.kit.NV * len(self.bodies)):
                    self._assembly = assemble(self, *(self._request or ({}, {}, None)), drawn=self._request is None)
            except HolonomicError:
                self._request = None
                raise
        return self._assembly

    def assembly_at(self, t0: float, forward: float = 1.0) -> Assembly:
        """Return the assembled start of a run from t0, which goes forward or, -1, back: drives are where they are then.

        They go there from where they are at t = 0; without a place there, from the drawing.
        """
        request = self._request
        try:
            assembly = self.assembly
        except NotFinite:
            if t0 == 0.0:
                raise
            self._request = request
            with collector_paused(), one_thread(self.kit.NV * len(self.bodies)):
                return assemble(self, *(request or ({}, {}, None)), drawn=request is None, t=t0, forward=forward)
        parts = (*self.joints.alone.values(), *self.drives.values())
        if (t0, forward) == (0.0, 1.0) or not any(map(follows_time, parts)):
            return assembly
        if (t0, forward) not in assembly.others:
            speeds = self._request[1] if self._request else {}
            with collector_paused(), one_thread(self.kit.NV * len(self.bodies)):
                assembly.others[t0, forward] = assemble_at(self, assembly, speeds, t0, forward)
        return assembly.others[t0, forward]

    def to_system(self, varying=(), compile="now", t0=0.0, forward=1.0):
        """Return (system, q0, v0): what `simulate` runs, and the assembled start, of a run from t0 forward or, -1, back.

        `compile` says as what: "now" as one System, which is compiled as a whole, "never" as tables (`to_tables`); None as
        tables beyond 100 bodies.

        `varying` names parameters that are to be changed in the system itself, as `sweep` does. It matters for axes of
        joints in space, whose numbers, zeros above all, are part of the equations otherwise, and for a mass and an inertia that
        vary both: the inertia of shapes follows the mass otherwise.
        """
        assembly = self.assembly_at(t0, forward)
        if compile == "never" or (compile is None and len(self.bodies) > UNROLLED):
            return self.tables_at(assembly.q, varying, t0), assembly.q, assembly.v
        names = varying if isinstance(varying, Iterable) and not isinstance(varying, str) else (varying,)
        if isinstance(varying, str) or not all(isinstance(name, str) for name in names):
            raise BadArgument(f"to_system: varying= is a list of names of parameters, got {varying!r}.")
        apart = {key for mass in varying if set(tied := self.params.tied_to(mass)) & set(varying) for key in (mass, *tied)}
        varying = tuple(name for name in varying if name in self.params.built_in() or name in apart)
        if varying:
            return self._lowered(assembly, varying), assembly.q, assembly.v
        if self._made is None:
            self._made = self._lowered(assembly)
        known = self._made.params
        now = self.params.as_dict() | shape_masses(self)
        changes = {name: value for name, value in now.items() if name in known and known[name] != value}
        if changes:
            check_inertias(self)
            self._made = self._made.with_params(**changes)
        return self._made, assembly.q, assembly.v

    def tiers(self) -> Tiers | None:
        """What decides whether the next run is one of tables; None: its size, its elements, or that it is known as code do."""
        known_as_code = self._made is not None and self._made.made.models
        if known_as_code or not self.bodies or len(self.bodies) > UNROLLED or self.states:
            return None
        if self._tiers is None:
            self._tiers = Tiers(self.n_rows, self.dimension)
        return self._tiers

    @property
    def n_rows(self) -> int:
        """Rows of joints and drives."""
        return sum(len(part.labels) for part in (*self.joints.values(), *self.drives.values()))

    def to_tables(self, varying=()):
        """Return the equations as tables of bodies, joints and forces, which run without being compiled for this mechanism.

        `simulate(m, ..., compile="never")` runs them. What tables do not know is refused by name. `varying` as for `to_system`.
        """
        return self.tables_at(self.assembly.q, varying)

    def tables_at(self, q: np.ndarray, varying=(), t: float = 0.0):
        """The same for coordinates and a time that need not be those of the assembled position."""
        check_inertias(self)
        apart = tuple(key for mass in varying if set(tied := self.params.tied_to(mass)) & set(varying) for key in (mass, *tied))
        if apart or self._tables is None:
            refuse_shared_loads(self, q)
        if apart:
            return to_tables(self, q, apart, t)
        if self._tables is None:
            with collector_paused():
                self._tables = to_tables(self, q, t=t)
            self._tables_version = self.params.version
        self._follow_numbers()
        return self._tables

    def _follow_numbers(self) -> None:
        """Give the tables the numbers that have been set since."""
        known = self._tables.params
        if isinstance(known, NumbersInOrder):
            if self._tables_version == self.params.version:
                return
            now, first = Numbers(self).params, len(self.params)
            differs = now.flat != known.flat
            differs[first : first + len(self.bodies)] = False  # sizes stay those of the drawing
            changes = {known.names[k]: float(now.flat[k]) for k in np.flatnonzero(differs).tolist()}
        else:
            now = self.params.as_dict() | shape_masses(self)
            changes = {} if now == known else {name: value for name, value in now.items() if known[name] != value}
        self._tables_version = self.params.version
        if changes:
            self._tables = self._tables.with_params(**changes)

    def _lowered(self, assembly: Assembly, varying=()):
        check_inertias(self)
        made = lower(self, varying)
        with one_thread(self.kit.NV * len(self.bodies)):
            check_masses(self, made, assembly.q)
            refuse_shared_loads(self, assembly.q)
        return made

    def _changed(self) -> None:
        """Forget what was assembled and lowered; the next use does it again."""
        if self._tiers is not None:
            self._tiers.outdated = True
        self._made = self._tables = self._assembly = self._tiers = None

    def _moved(self) -> None:
        """Note that a number has changed: the equations stay, the assembled position does not."""
        self._assembly = None

    def __repr__(self) -> str:
        kind = "planar" if self.dimension == 2 else "spatial"
        parts = [f"{len(known)} {plural}" for plural, known in
                 (("bodies", self.bodies), ("joints", self.joints), ("drives", self.drives), ("forces", self.forces),
                  ("states", self.states))
                 if known]  # fmt: skip
        return f"Mechanism({kind}: {', '.join(parts) or 'empty'})"
