"""From names to results: which body, joint or force a name means, and the arrays of the run it is read from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from inspect import getattr_static
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import Names, param_names, wanted, with_more
from ..model.input_tables import input_table, values_at
from ..model.names_in_order import NamesInOrder
from ..results.sampling import states_of_steps, time_direction
from ..starting.impulse import Impact
from . import plane, space
from .acting_views import DriveView, ForceView, JointView
from .body import Body, Frame
from .held_efforts import held_efforts, sticks, with_effort
from .joint import follows_time
from .lower import drawn_centres
from .row_layout import RowLayout
from .series import DrawnParts
from .state_methods import states_in
from .users_functions import answered
from .views import BodyView, EnergyView, FrameView, PointView, PowerView

COMPLEX = 1e-30


class Resolver:
    """What the names of a mechanism mean in a run; frozen when the mechanism was lowered."""

    def __init__(self, m, built_in=None):
        self.dimension = m.dimension
        self.built_in = m.params.built_in() if built_in is None else built_in  # parameters the model does not have
        self.bodies, self.joints = m.bodies.copy(), m.joints.copy()
        self.points, self.forces, self.drives = dict(m.points), m.forces.copy(), dict(m.drives)
        self.gravity, self.ground_shapes = m._gravity, tuple(m.ground.shapes)
        self.centres = drawn_centres(m)  # by number
        self.states = m._state_layout()
        self.n_alone = len(m.params.alone)  # numbers that stand before those in columns
        self.name_all()

    def name_all(self) -> None:
        """Work out which rows of the multipliers belong to which joint or drive."""
        self.layout = RowLayout(self.joints, self.drives)

    @property
    def names(self) -> Sequence[str]:
        """All names there are."""
        named = (self.bodies, self.joints, self.points, self.forces, self.drives)
        pieces = [each.names() if isinstance(each, DrawnParts) else list(each) for each in named]
        last = ["energy", "power"]
        if not any(isinstance(piece, NamesInOrder) for piece in pieces):
            return [*(name for piece in pieces for name in piece), *last]
        flat = [part for piece in pieces for part in (piece.pieces if isinstance(piece, NamesInOrder) else [piece])]
        return NamesInOrder([*flat, last])

    @property
    def kit(self) -> Any:
        """The formulas of the plane or of space; a module, which copies could not hold."""
        return plane if self.dimension == 2 else space

    def rows_of(self, joint: str | None) -> tuple[int, int] | None:
        """First row of a joint's multipliers, and the one after its last."""
        return None if joint is None else (self.layout[joint].start, self.layout[joint].stop)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (
            name in self.bodies or name in self.joints or name in self.points or name in self.forces or name in self.drives
            or name in ("energy", "power")
        )  # fmt: skip

    def view(self, sol, name: str):
        """Return what a name stands for in a solution."""
        return self.view_of(self.record(sol), name)

    def record(self, sol) -> MechanismRecord:
        """Return the arrays of a solution as views read them."""
        model = sol.plan.model
        p = self._with_built_in(param_names(sol.trail.data, model.places))
        inputs = model.inputs | sol.trail.inputs.along(np.atleast_1d(sol.t), time_direction(sol.source))
        made = MechanismRecord(self, sol.t, sol.q, sol.v, sol.a, sol.lam, p, inputs, sol.s, caught_in(sol))
        made.run = sol.source
        return made

    def view_members(self, runs, name: str):
        """Return what a name stands for in an ensemble: member first, then time."""
        model, n = runs.plan.model, len(runs.t)
        p = self._with_built_in(param_names(np.repeat(runs._data, n, axis=0).T, model.places))
        rows = len(runs) * n  # said: of a mechanism without joints λ has no columns to count them by
        parts = (part.reshape(rows, part.shape[-1]) for part in (runs.q, runs.v, runs.a, runs.lam))
        s = runs.s.reshape(rows, runs.s.shape[-1]) if self.states else None
        record = MechanismRecord(self, np.tile(runs.t, len(runs)), *parts, p, runs.inputs, s, runs.impact if runs.caught else None)
        record.shape = (len(runs), n)
        record.p_at_impact = self._with_built_in(param_names(runs._data.T, model.places))
        return self.view_of(record, name)

    def _with_built_in(self, p: Names) -> Names:
        return with_more(p, self.built_in)

    def view_of(self, record: MechanismRecord, name: str):
        """Return what a name stands for in a record of arrays."""
        if name == "energy":
            return EnergyView(record)
        if name == "power":
            return PowerView(record)
        if name in self.bodies:
            return BodyView(record, self.bodies[name])
        if name in self.joints:
            return JointView(record, self.joints[name])
        if name in self.drives:
            return DriveView(record, self.drives[name])
        if name in self.forces:
            return ForceView(record, self.forces[name])
        point = self.points[name]
        return (FrameView if isinstance(point, Frame) else PointView)(record, point.mark)

    def quantities(self, view) -> list[str]:
        """Names of what can be read of a view, but for what depends on more than its part."""
        if isinstance(view, PowerView):
            raise BadArgument('"power" has quantities that differ from mechanism to mechanism: name one, such as "power.total".')
        return [name for name in view._properties() if isinstance(getattr_static(type(view), name), property)]

    def drawing(self) -> dict[str, list[dict[str, Any]]]:
        """Shapes of every body in its own frame (origin at the centre of mass), for drawing.

        Each has kind, outline, centre and axes (an angle in the plane, columns in space); they move with
        `sol[body].position` and `sol[body].rotation`.
        """
        found: dict[str, list[dict[str, Any]]] = {}
        for name, body in self.bodies.items():
            turn = rotation_of(body.rotation, self.dimension).T
            found[name] = []
            for shape in body.shapes:
                centre = turn @ (np.array(shape.centre) - self.centres[body.index])
                axes = shape.axes - body.rotation if self.dimension == 2 else turn @ shape.axes
                found[name].append({"kind": shape.kind, "outline": shape.outline, "centre": centre, "axes": axes})
        return found

    def description(self, p) -> dict[str, Any]:
        """Everything that is drawn of the mechanism, as plain data; see `drawing.describe`."""
        from .drawing import describe

        return describe(self, self._with_built_in(p))

    def entries(self, sol) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything that a file holds of the mechanism, as plain data and arrays; see `saved_parts`."""
        from .saved_parts import entries

        return entries(self, self.record(sol))

    def joint_forces(self, sol, names) -> np.ndarray:
        """Force of each named joint on its second body, (time, joint, axis)."""
        from .drawing import joint_forces

        return joint_forces(self, sol, names)

    @cached_property
    def _on_joints(self) -> dict[str, list]:
        """Parts, drives, couplings and forces of each joint that has some; joints and forces in series are parts of none."""
        found: dict[str, list] = {}
        ends = lambda part: (part.on,) if part.name in self.forces else (part.of, part.leader)
        for part in (*self.joints.alone.values(), *self.drives.values(), *self.forces.alone.values()):
            for name in ends(part):
                found.setdefault(name, []).append(part)
        return found

    def parts_of(self, joint) -> list:
        """A joint with its parts and with what drives it; see `couplings_of`."""
        of_it = self._on_joints.get(joint.name, ())
        return [joint, *(part for part in of_it if part.name not in self.forces and part.leader is None)]

    def couplings_of(self, joint) -> list:
        """The couplings that a joint takes part in. What they do to a body may come through either of their joints."""
        return [part for part in self._on_joints.get(joint.name, ()) if part.name in self.drives and part.leader is not None]

    def actuators_of(self, joint) -> list:
        """The drive and the motors of a joint."""
        drives = [part for part in self.parts_of(joint) if part.name in self.drives]
        return drives + [part for part in self._on_joints.get(joint.name, ()) if part.name in self.forces and part.kind == "motor"]

    def acting(self, name: str) -> tuple[list[int], int, float]:
        """Rows of the multipliers by which a joint and its drives act, on which body, and the sign for its second one."""
        joint = self.joints[name]
        marks = joint.marks
        where = [self.layout[part.name] for part in self.parts_of(joint)]
        rows = [row for each in where for row in range(each.start, each.stop)]
        return (rows, marks[1][0], -1.0) if marks[1][0] >= 0 else (rows, marks[0][0], 1.0)

    def body_number(self, given) -> int:
        """Number of a body given as an object or a name; -1 for the ground."""
        name = given if isinstance(given, str) else given.name if isinstance(given, Body) else None
        if name == "ground":
            return -1
        if name not in self.bodies:
            name = given if name is None else name
            raise BadArgument(f"there is no body {name!r}. There are: ground, {', '.join(self.bodies)}.")
        return self.bodies[name].index


class MechanismRecord:
    """The arrays of a run with coordinates first, so that functions of components take whole time series."""

    def __init__(self, resolver: Resolver, t, q, v, a, lam, p, inputs, s=None, impact: Callable[[], Impact] | None = None):
        self.resolver, self.kit = resolver, resolver.kit
        self.t = np.atleast_1d(t)
        self.q, self.v, self.a = (np.atleast_2d(part).T for part in (q, v, a))
        self.lam = np.atleast_2d(lam).T if np.size(lam) else np.zeros((0, len(self.t)))
        self.p = self.p_at_impact = p
        self._inputs = inputs
        self.states = states_in(np.atleast_2d(s).T, resolver.states) if resolver.states else {}
        self.shape: tuple[int, ...] = np.shape(t)
        self._impact, self.caught = impact, impact is not None  # by a start with initial="impact"
        self.run: Any = None  # the solution whose steps turns are counted by; None of members of a sweep

    @cached_property
    def impact(self) -> Impact:
        """What a start with initial="impact" gave; of members of a sweep, with a last axis that runs along these."""
        assert self._impact is not None
        return self._impact()

    @cached_property
    def u(self) -> Names:
        """Inputs and states over time."""
        found = dict(self.states)
        for name, given in self._inputs.items():
            if callable(given):
                role = f"input {name!r}"
                found[name] = answered(given, wanted(given, role, ("t", "p")), {"t": self.t, "p": self.p}, role, 1)
            elif isinstance(given, np.ndarray):  # known at every time
                found[name] = given
            elif isinstance(given, tuple):
                found[name] = values_at(*input_table(name, given), self.t)
            else:
                found[name] = np.full(len(self.t), float(given))
        return Names(**found)

    def full(self, value) -> np.ndarray:
        """One value per time."""
        return np.broadcast_to(np.asarray(value, dtype=float), (len(self.t),))

    def out(self, value) -> np.ndarray:
        """A number or a vector over time as the user sees it: time first."""
        if isinstance(value, tuple):
            stacked = np.stack([self.full(part) for part in value], axis=-1)
        else:
            stacked = np.array(self.full(value))
        return stacked.reshape(self.shape + stacked.shape[1:])

    def rows(self, part, q, v):
        """Rows of a joint or drive over time."""
        given = {"t": self.t, "q": q, "v": v, "p": self.p}
        names = wanted(part.rows, part.name, ("t", "q", "v", "p"))
        return part.rows(**{name: given[name] for name in names})

    @cached_property
    def _complex(self) -> np.ndarray:
        """q as complex numbers, changed and changed back where slopes are taken."""
        return self.q.astype(complex)

    def generalized_reaction(self, part, k: int) -> tuple[np.ndarray, ...]:
        """-Gᵀλ of one joint or drive on the velocities of body k."""
        n = len(self.t)
        return tuple(sum(rows, np.zeros(n)) for rows in self._reactions(part, k))

    def row_reactions(self) -> tuple[list[list[int]], np.ndarray]:
        """-Gᵀλ row by row: pairs (row, velocity) that are not zero throughout, and their values, (time, pair)."""
        pairs, values = [], []
        nv, layout = self.kit.NV, self.resolver.layout
        for part in (*self.resolver.joints.values(), *self.resolver.drives.values()):
            for k in {mark[0] for mark in part.marks if mark[0] >= 0}:
                for i, rows in enumerate(self._reactions(part, k)):
                    for row, value in enumerate(rows):
                        if np.any(value):
                            pairs.append([layout[part.name].start + row, nv * k + i])
                            values.append(value)
        return pairs, np.stack(values, axis=1) if values else np.zeros((len(self.t), 0))

    def _reactions(self, part, k: int) -> list[list[np.ndarray]]:
        """-Gᵀλ of one joint or drive on the velocities of body k: for each of these, row by row."""
        nv = self.kit.NV
        lam = self.lam[self.resolver.layout[part.name]]
        found = []
        for i in range(nv):
            j = nv * k + i
            if part.level == "position":
                q, moved = self._complex, []
                for row, change in self.kit.direction(self.q, k, i):
                    moved.append(row)
                    q[row] = self.q[row] + 1j * COMPLEX * change
                slopes = [np.imag(row) / COMPLEX for row in self.rows(part, q, self.v)]
                q[moved] = self.q[moved]
            else:
                zero = np.zeros_like(self.v)
                unit = zero.copy()
                unit[j] = 1.0
                pair = self.rows(part, self.q, unit), self.rows(part, self.q, zero)
                slopes = [a - b for a, b in zip(*pair, strict=True)]
            found.append([-self.full(s) * l for s, l in zip(slopes, lam, strict=True)])
        return found

    def coupling_effort(self, drive, generalized, q, p):
        """What a coupling exerts along its follower, from what it does to the velocities of each body.

        That is parallel to what a unit of it does to both joints; by bodies alone it cannot be told apart, which may be shared.
        """
        kit, unit = self.kit, {}
        for name, share in drive.shares(p).items():
            joint = self.resolver.joints[name]
            force, torque = joint.wrench(kit, q, p, share)
            point = kit.place(q, p, joint.marks[1])[0]
            for mark, sign in zip(joint.marks, (-1.0, 1.0), strict=True):
                if mark[0] >= 0:
                    given = [sign * part for part in kit.generalized(q, mark[0], force, point, torque)]
                    unit[mark[0]] = [a + b for a, b in zip(unit.get(mark[0], [0.0] * kit.NV), given, strict=True)]
        pairs = [pair for k, parts in unit.items() for pair in zip(generalized(drive, k), parts, strict=True)]
        return sum(done * part for done, part in pairs) / sum(part * part for _, part in pairs)

    def generalized_impulse(self, part, k: int) -> np.ndarray:
        """-GᵀΛ of one joint or drive on the velocities of body k, at the impact with which the run began."""
        nv = self.kit.NV
        return self.impact.by_row[self.resolver.layout[part.name], nv * k : nv * (k + 1)].sum(axis=0)

    def follows_time(self, part) -> bool:
        """Whether the rows of a joint or drive depend on time by themselves: then it gives power."""
        return follows_time(part)

    @cached_property
    def steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Times, q and v of every step of the run, time first; None where they are not to be had."""
        found = None if self.run is None else states_of_steps(self.run)
        if found is None:
            return None
        model = self.run.plan.model
        return found[0], found[1][:, : model.nc].T, found[1][:, model.nq : model.nq + model.nv].T

    def counted_before(self, joint) -> np.ndarray | None:
        """The angle of a joint with its turns, as a file holds it."""
        return None

    def power(self, part):
        """Power of a joint or drive alone, -λ·G v over the bodies it acts on: λ·g_t, where its rows depend on time."""
        total = 0.0
        for k in {mark[0] for mark in part.marks if mark[0] >= 0}:
            forces = self.generalized_reaction(part, k)
            total = total + sum(force * self.v[self.kit.NV * k + i] for i, force in enumerate(forces))
        return total

    @cached_property
    def _held(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        return held_efforts(self)

    def acts(self, force):
        """What a force does to which body over time; while it holds a joint, what it takes to hold it."""
        acts = self.by_law(force)
        return with_effort(self, force, acts, *self._held[force.name]) if sticks(self, force) else acts

    def by_law(self, force):
        """What a force would do by its law alone."""
        return self._done(force, force.act)

    def applied(self, force):
        """What it does beside changing the energy that it stores."""
        return () if force.applied is None else self._done(force, force.applied)

    def _done(self, force, function):
        load = () if force.load is None else (self.lam[self.resolver.layout[force.load]],)
        return function(self.t, self.q, self.v, self.p, self.u, *load)

    def energy(self, force):
        """What a force stores."""
        return force.energy(self.q, self.p)

    def place(self, mark):
        return self.kit.place(self.q, self.p, mark)

    def work(self, k: int, force, point, torque):
        """Power of a force and a torque on body k."""
        if k < 0:
            return 0.0
        nv = self.kit.NV
        parts = self.kit.generalized(self.q, k, force, point, torque)
        return sum(part * self.v[nv * k + i] for i, part in enumerate(parts))


def caught_in(sol) -> Callable[[], Impact] | None:
    """What gives the impact with which a run began, as `MechanismRecord` takes it; None where it began otherwise."""
    return None if sol.trail.impact is None else lambda: sol.trail.impact


def rotation_of(rotation, dimension: int) -> np.ndarray:
    """Rotation matrix of a drawn angle, or of drawn axes."""
    if dimension == 3:
        return np.asarray(rotation)
    c, s = np.cos(rotation), np.sin(rotation)
    return np.array([[c, -s], [s, c]])
