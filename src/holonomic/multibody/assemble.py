"""Closing the joints: from the drawing, or from given joint angles, to consistent positions and velocities.

Newton's method on the joints' own functions, differentiated by complex steps; each step is the shortest that
closes the linearized joints, lengths counted as they are and rotations times the size of the body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..errors import BadArgument, InconsistentState, NotFinite
from ..model.call_by_name import Names, param_names, wanted
from ..model.given_numbers import vector
from ..model.names_in_order import NumbersInOrder
from ..model.refusals import warn
from ..results.states import State
from ..starting.initial import side_of
from .frames_met import refuse_turned, snapped
from .lower import UnitsWarning, mechanism_size, sizes_of_bodies
from .parameters import number
from .staying import held_together

CLOSED = 1e-12  # relative to the size of the mechanism; what rounding leaves
SMALL = 1e-2  # gaps of a drawing that are closed without being asked, relative to its size
SILENT = 1e-6  # gaps not worth a warning: coordinates written with six digits
COMPLEX = 1e-30  # complex step: no cancellation, so it may be this small
INDEPENDENT = 1e-7  # how far a row has to be from those before it, relative to the row farthest from them
# Bodies by dimension, above which joints are closed by tables. A matrix of all joints is dense: 10⁴ rods in the plane would take
# 5 GB, 100 on ball joints took 9 s.
LARGE = {2: 100, 3: 40}
INFINITE = 1e60  # of a rate: what a root has just beside zero
TURN = 2 * np.pi
MANY_TURNS = 4 * TURN  # rad: an angle to assemble at that was meant in degrees


class AssemblyWarning(UserWarning):
    """A drawing whose joints did not quite meet was corrected."""


@dataclass(frozen=True, eq=False)
class Assembly:
    """Where a run starts, and what it took.

    Parameters
    ----------
    q, v : array
        Consistent coordinates and velocities of all bodies.
    gaps : {str: float}
        How far each joint was open before, m (rad where only angles count); closed ones are left out.
    moved : float
        Largest displacement of a body from where it was before, m.
    turned : float
        Largest rotation of a body, rad.
    values : {str: float}
        Angle or position of each joint that has one.
    followed : {str: float}
        By how much joints that nobody named moved with those that were: loops, gears or couplings took them along; rad or m.
    others : {(float, float): Assembly}
        Starts of runs from other times, or back from there (-1), as far as they were asked for.
    """

    q: np.ndarray
    v: np.ndarray
    gaps: dict[str, float] = field(default_factory=dict)
    moved: float = 0.0
    turned: float = 0.0
    values: Mapping[str, float] = field(default_factory=dict)
    followed: dict[str, float] = field(default_factory=dict)
    others: dict[tuple[float, float], Assembly] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        text = f"assembled: bodies moved by at most {self.moved:.3g} m and turned by at most {self.turned:.3g} rad"
        if self.gaps:
            worst = max(self.gaps, key=self.gaps.get)
            text += f"; joint {worst!r} was open by {self.gaps[worst]:.3g}"
        if self.followed:
            text += "; loops took along " + ", ".join(f"{name!r} by {change:.3g}" for name, change in self.followed.items())
        return text + ". Of several closures, this is the one nearest to the start."


class Kinematics:
    """Rows of all joints and drives as numbers, with derivatives; t is when a run begins, and `side` the next time on its way."""

    def __init__(self, m, t: float = 0.0, forward: float = 1.0):
        self.m, self.kit = m, m.kit
        self.t, self.side = t, side_of(t, forward)
        self.nb = len(m.bodies)
        self.nq, self.nv = m.kit.NQ * self.nb, m.kit.NV * self.nb
        self.p = numbers_by_name(m)
        self.size = mechanism_size(m)

    @cached_property
    def parts(self):
        """Joints and drives in the order of the System's rows: holonomic, then velocity constraints."""
        parts = (*self.m.joints.values(), *self.m.drives.values())
        return [part for level in ("position", "velocity") for part in parts if part.level == level]

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """What the rows of each ask for."""
        return {part.name: wanted(part.rows, part.name, ("t", "q", "v", "p")) for part in self.parts}

    @cached_property
    def labels(self) -> list[tuple[str, str]]:
        """Joint or drive, and name, of every row."""
        return [(part.name, label) for part in self.parts for label in part.labels]

    @cached_property
    def scale(self) -> np.ndarray:
        """By what velocities are multiplied to be lengths."""
        one = np.array(self.kit.weights(1.0)[1])
        varies = one != np.array(self.kit.weights(2.0)[1])
        return np.sqrt(np.where(varies, one * sizes_of_bodies(self.m)[:, None] ** 2, one)).ravel()

    def value(self, part, t, q, v=None):
        """Rows of one joint or drive."""
        given = {"t": t, "q": q, "v": v, "p": self.p}
        return np.array([entry + 0.0 for entry in part.rows(**{name: given[name] for name in self.names[part.name]})])

    def values(self, part, t, q, v, count: int) -> np.ndarray:
        """The same at so many positions, or velocities, at once: coordinates, or velocities, are rows of numbers."""
        given = {"t": t, "q": q, "v": v, "p": self.p}
        rows = part.rows(**{name: given[name] for name in self.names[part.name]})
        return np.array([np.broadcast_to(entry + 0.0, count) for entry in rows]).reshape(-1, count)

    def columns(self, part):
        """Velocities that a part's rows depend on."""
        nv = self.kit.NV
        bodies = sorted({mark[0] for mark in part.marks if mark[0] >= 0})
        return [nv * k + i for k in bodies for i in range(nv)]

    def slope(self, function, t, q, columns):
        """Derivative of a function of q along the velocities `columns`, by complex steps."""
        Z = self.kit.directions(q)
        found = []
        for j in columns:
            step = np.zeros(len(q), dtype=complex)
            step[:] = q
            if Z is None:
                step[j] += 1j * COMPLEX
            else:
                step += 1j * COMPLEX * Z[:, j]
            found.append(np.imag(function(step)) / COMPLEX)
        return np.array(found).T

    def jacobian(self, t, q, parts=None):
        """G of all rows, velocity constraints included."""
        blocks, Z = [], self.kit.directions(q)
        directions = np.eye(self.nv) if Z is None else Z
        for part in self.parts if parts is None else parts:
            columns = self.columns(part)
            block = np.zeros((len(part.labels), self.nv))
            if part.level == "position":
                steps = q[:, None] + 1j * COMPLEX * directions[:, columns]
                block[:, columns] = np.imag(self.values(part, t, steps, None, len(columns))) / COMPLEX
            else:
                rest = self.value(part, t, q, np.zeros(self.nv))
                block[:, columns] = self.values(part, t, q, np.eye(self.nv)[:, columns], len(columns)) - rest[:, None]
            blocks.append(block)
        return np.vstack(blocks) if blocks else np.zeros((0, self.nv))

    def rate_row(self, joint, q):
        """Derivative of a joint's angle or position by all velocities."""
        row = np.zeros((1, self.nv))
        columns = self.columns(joint)
        row[0, columns] = joint.rate(q, np.eye(self.nv)[:, columns], self.p)
        return row

    def explicit_rates(self, q):
        """What G v has to be as a run begins: minus the derivative by time, and minus the free term of velocity constraints."""
        found, t = [], self.side
        for part in self.parts:
            if part.level == "velocity":
                found.append(-self.value(part, t, q, np.zeros(self.nv)))
            elif "t" in self.names[part.name]:
                found.append(-np.imag(self.value(part, t + 1j * COMPLEX, q)) / COMPLEX)
            else:
                found.append(np.zeros(len(part.labels)))
        return np.concatenate(found) if found else np.zeros(0)

    def residual(self, t, q, parts=None):
        """Rows at position level."""
        found = [self.value(part, t, q) for part in (self.parts if parts is None else parts) if part.level == "position"]
        return np.concatenate(found) if found else np.zeros(0)

    def rows_and_jacobian(self, q, parts):
        """Rows of parts at position level, and their derivatives along the velocities, as a run begins."""
        return self.residual(self.t, q, parts), self.jacobian(self.t, q, parts)

    def gaps(self, t, q) -> dict[str, float]:
        """How far each joint is open."""
        return {part.name: float(np.linalg.norm(self.value(part, t, q))) for part in self.parts if part.level == "position"}


def numbers_by_name(m) -> Names:
    """All parameters of a mechanism."""
    if not m.params.columns:
        return Names(**m.params.as_dict())
    known = m.params.in_order()
    return param_names(known.flat, known.places)


def check_asked(m, values, speeds) -> None:
    """Refuse joint values without names, and say where an angle looks like degrees."""
    for what, given in (("values", values), ("speeds", speeds)):
        if given is not None and not isinstance(given, Mapping):
            raise BadArgument(f'assemble: {what} are given by joint, {{"O": 0.3}}, got {given!r}.')
        for name, value in (given or {}).items():
            m._joint(name, "assemble")
            number(f"assemble: the {'value' if what == 'values' else 'speed'} of joint {name!r}", value)
    for name, value in (values or {}).items():
        if m.joints[name].coordinate == "angle" and abs(value) > MANY_TURNS:
            warn(
                f"assemble: joint {name!r} is asked for {value:g} rad, {abs(value) / (2 * np.pi):.3g} turns. Angles are in "
                f"radians: np.radians({value:g}).",
                UnitsWarning,
            )


def assemble(m, values, speeds, near, drawn: bool = False, t: float = 0.0, forward: float = 1.0) -> Assembly:
    """Return consistent positions and velocities; `drawn`: nobody asked for a position, so only small gaps are closed."""
    k = Kinematics(m, t, forward)
    begin = beginning(m, k, near)
    if len(m.bodies) > LARGE[m.dimension] and not values and not speeds:
        return _by_tables(m, k, begin, drawn)
    joints = [part for part in k.parts if part.level == "position" and part.name in m.joints]
    gaps = {name: gap for name, gap in k.gaps(t, begin).items() if name in m.joints and gap > CLOSED * k.size}
    if drawn:
        _refuse_large(m, k, begin, gaps)
        refuse_turned(m, k, begin)
    closed = close(k, snapped(m, k, begin), joints, {}, "")
    q = _go_to(m, k, closed, joints, values)
    _begin_steady_drives(m, k, q)
    k.p = numbers_by_name(m)
    moved, turned = _moves(m, begin, q)
    if drawn:
        _warn_of(k, gaps, moved)
    found = _values_of(m, k, q)
    followed = _followed(m, _values_of(m, k, closed), found, values) if values else {}
    return Assembly(q, _velocities(m, k, q, speeds), gaps, moved, turned, found, followed)


def _followed(m, before: dict[str, float], after: dict[str, float], named) -> dict[str, float]:
    """By how much joints moved that were neither named nor driven."""
    named = {*named, *(drive.of for drive in m.drives.values() if drive.leader is None)}
    changes = {name: after[name] - before[name] for name in after if name not in named}
    if m.dimension == 3:
        changes = {name: np.remainder(change + np.pi, TURN) - np.pi if m.joints[name].coordinate == "angle" else change
                   for name, change in changes.items()}  # fmt: skip
    return {name: float(change) for name, change in changes.items() if abs(change) > SILENT}


def _begin_steady_drives(m, k: Kinematics, q: np.ndarray) -> None:
    """Let drives of constant speed go from where their joints stand."""
    for drive in m.drives.values():
        if drive.start is not None:
            m.params.put(drive.start, float(drive.value(q, k.p)) - k.p[f"{drive.of}.speed"] * k.t)


def _values_of(m, k: Kinematics, q: np.ndarray) -> dict[str, float]:
    return {name: float(joint.value(q, k.p)) for name, joint in m.joints.items() if joint.value is not None}


def assemble_at(m, there: Assembly, speeds, t: float, forward: float) -> Assembly:
    """Return the start of a run at another time, or that goes back: drives go from where they are at t = 0."""
    k = Kinematics(m, t, forward)
    if len(m.bodies) > LARGE[m.dimension] and not speeds:
        from .closing_tables import TableKinematics  # which makes a model

        q = TableKinematics(m, there.q, k).closed(there.q, CLOSED * k.size, k.size)
        return replace(there, q=q, v=TableKinematics(m, q, k).velocities(q), others={})
    joints = [part for part in k.parts if part.level == "position" and part.name in m.joints]
    steady = (drive for drive in m.drives.values() if drive.start is not None)
    there_then = {drive.of: k.p[drive.start] + k.p[f"{drive.of}.speed"] * t for drive in steady}
    q = _go_to(m, k, close(k, there.q, joints, {}, ""), joints, there_then)
    moved, turned = _moves(m, there.q, q)
    return Assembly(q, _velocities(m, k, q, speeds), {}, moved, turned, _values_of(m, k, q))


def _moves(m, begin: np.ndarray, q: np.ndarray) -> tuple[float, float]:
    """By how much bodies were moved and turned at most."""
    before, after = begin.reshape(-1, m.kit.NQ), q.reshape(-1, m.kit.NQ)
    moved = float(np.max(np.linalg.norm(after[:, : m.dimension] - before[:, : m.dimension], axis=1)))
    return moved, m.kit.rotation_between(before, after)


def _warn_of(k: Kinematics, gaps: dict[str, float], moved: float) -> None:
    """Say that a drawing was corrected, unless by so little that it is worth no word."""
    if gaps and max(gaps.values()) > SILENT * k.size:
        worst = max(gaps, key=gaps.get)
        warn(
            f"joint {worst!r} was open by {gaps[worst]:.2g} in the drawing; bodies were moved by up to {moved:.2g} m "
            "to close it. m.assembly has the details.",
            AssemblyWarning,
        )


def _by_tables(m, k: Kinematics, begin: np.ndarray, drawn: bool) -> Assembly:
    """The same for a large mechanism that is to stand as it is drawn."""
    from .closing_tables import TableKinematics  # which makes a model

    tables = TableKinematics(m, begin, k)
    known = tables.system.params
    # tables have these numbers and more, in an array of their own: that of `k` goes
    numbers = param_names(known.flat, known.places) if isinstance(known, NumbersInOrder) else k.p
    gaps = {name: gap for name, gap in tables.gaps(begin, CLOSED * k.size).items() if name in m.joints}
    if drawn:
        _refuse_large(m, k, begin, gaps)
    q = tables.closed(begin, CLOSED * k.size, k.size) if gaps else begin
    _begin_steady_drives(m, k, q)
    moved, turned = _moves(m, begin, q)
    if drawn:
        _warn_of(k, gaps, moved)
    if m.drives or gaps:
        tables = TableKinematics(m, q, k)
        q = tables.closed(q, CLOSED * k.size, k.size) if m.drives else q
    return Assembly(q, tables.velocities(q), gaps, moved, turned, JointValues(m.joints.copy(), q, numbers))


class JointValues(Mapping):
    """Angles and positions of joints, computed when one is asked for."""

    def __init__(self, joints, q: np.ndarray, p):
        self._joints, self._q, self._p = joints, q, p

    def __getitem__(self, name: str) -> float:
        joint = self._joints[name]
        if joint.value is None:
            raise KeyError(name)
        return float(joint.value(self._q, self._p))

    def __iter__(self) -> Iterator[str]:
        for each in self._joints.in_order:
            if isinstance(each, dict):
                yield from (name for name, joint in each.items() if joint.value is not None)
            elif each.whole.value is not None:
                yield from each.names.all()

    def __len__(self) -> int:
        return sum(1 for _ in self)


def beginning(m, k: Kinematics, near) -> np.ndarray:
    """Coordinates to begin with."""
    drawn = m._drawn_position()
    if near is None:
        return drawn
    if isinstance(near, dict):
        q = drawn.copy().reshape(-1, m.kit.NQ)
        for name, pose in near.items():
            body = m._body(name)
            pose = vector(pose, f"near[{name!r}]")
            if len(pose) != m.kit.NQ:
                raise BadArgument(f"near[{name!r}] needs {m.kit.NQ} numbers, {m.kit.POSE}; got {len(pose)}.")
            if body.is_ground:
                raise BadArgument("near= places bodies; the ground stays where it is.")
            q[body.index] = pose
        return q.ravel()
    q = vector(near.q if isinstance(near, State) else near, "near")
    if len(q) != k.nq:
        raise BadArgument(f"near= has {len(q)} coordinates, the mechanism {k.nq}.")
    return q


def _refuse_large(m, k: Kinematics, q, gaps) -> None:
    size = k.size
    for name, gap in gaps.items():
        if gap > SMALL * size:
            joint = m.joints[name]
            if joint.kind == "distance":
                ends = [np.array(m.kit.place(q, k.p, mark)[0], dtype=float) for mark in joint.marks[:2]]
                raise InconsistentState(
                    f"joint {name!r}: its ends are {np.linalg.norm(ends[1] - ends[0]):.3g} m apart in the drawing, which is not "
                    "its length. Draw them at that length, leave out length=, or call m.assemble() to close it as near as "
                    "possible to the drawing."
                )
            raise InconsistentState(
                f"joint {name!r} is open by {gap:.3g} in the drawing (closed without asking up to {SMALL * size:.2g}). "
                "Draw its two points in one place, or call m.assemble() to close it as near as possible to the drawing."
            )


def close(k: Kinematics, q, parts, targets, what: str, steps: int = 40) -> np.ndarray:
    """Newton's method, shortest steps: rows of `parts` to zero and joint values to their targets."""
    x = q.copy()
    before = np.inf
    for _ in range(steps):
        r, J = _rows_and_targets(k, x, parts, targets)
        if not len(r):
            return x
        _refuse_not_finite(k, x, r, parts)
        norms = np.maximum(np.linalg.norm(J / k.scale, axis=1), 1e-300)
        distance = float(np.max(np.abs(r) / norms))
        if distance <= CLOSED * k.size or (distance <= 1e-9 * k.size and distance >= 0.5 * before):
            return x
        before = distance
        step = shortest(J / k.scale / norms[:, None], -r / norms)
        largest = float(np.max(np.abs(step)))
        x = k.kit.moved(x, step / k.scale * min(1.0, 0.3 * k.size / max(largest, 1e-300)))
    if not distance <= 1e-9 * k.size:
        gap = {part.name: float(np.linalg.norm(k.value(part, k.t, x))) for part in parts}
        worst = max(gap, key=gap.get) if gap else what
        raise InconsistentState(
            f"the joints cannot be closed{what}: {steps} Newton steps leave joint {worst!r} open by "
            f"{gap.get(worst, distance):.2g}. Check the lengths, or start nearer to a closed position with near=."
        )
    return x


def rows_by_qr(J: np.ndarray, mode: str = "reduced") -> tuple[np.ndarray, np.ndarray] | None:
    """Q and R of Jᵀ where the rows of J are independent, else None: a row that depends on others leaves a zero in R.

    An eighth of the time of a singular value decomposition, which tells how many rows depend on others, too.
    """
    if len(J) > J.shape[1]:
        return None
    Q, R = np.linalg.qr(J.T, mode=mode)
    R = R[: len(J)]
    pivots = np.abs(np.diag(R))
    return (Q, R) if pivots.min() > INDEPENDENT * pivots.max() else None


def shortest(J: np.ndarray, r: np.ndarray) -> np.ndarray:
    """The shortest x with J x = r, or with the least |J x - r|."""
    found = rows_by_qr(J)
    if found is None:
        return np.linalg.lstsq(J, r, rcond=1e-9)[0]
    Q, R = found
    return Q @ np.linalg.solve(R.T, r)


def _refuse_not_finite(k: Kinematics, x, r, parts) -> None:
    """Name the joint or drive whose rows are not numbers: a function of time that is not finite as a run begins."""
    if np.all(np.isfinite(r)):
        return
    worst = next((part.name for part in parts if not np.all(np.isfinite(k.value(part, k.t, x)))), "a joint")
    raise not_finite(worst, k.t)


def not_finite(name: str, t: float) -> NotFinite:
    """Say that a function of time is not finite as a run begins."""
    return NotFinite(f"{name!r} is not finite at t = {t:g}. Check what its function of time gives there.")


def _rows_and_targets(k: Kinematics, x, parts, targets):
    r, J = ([part] for part in k.rows_and_jacobian(x, parts))
    for joint, wanted_value in targets.values():
        frames = (k.kit.place(x, k.p, mark) for mark in joint.marks)
        r.append(np.array([float(joint.gap(*frames, wanted_value))]))
        J.append(k.rate_row(joint, x))
    return np.concatenate(r), np.vstack(J)


def _go_to(m, k: Kinematics, q, joints, values):
    """Take joint values to their targets in small steps, so that the closure stays the same one.

    Joints that share no loop with one of these stay as they are.
    """
    targets = {}
    for name, value in values.items():
        joint = m._joint(name, "assemble")
        targets[joint.name] = (joint, float(value))
    for drive in m.drives.values():
        if drive.wanted is not None:
            value = float(drive.wanted(k.t, k.p))
            if not np.isfinite(value):
                raise not_finite(drive.name, k.t)
            if drive.of in targets and abs(targets[drive.of][1] - value) > 1e-9:
                raise BadArgument(
                    f"assemble: joint {drive.of!r} is driven and has the value {value:.6g} at t = {k.t:g}, not "
                    f"{targets[drive.of][1]:.6g}."
                )
            targets[drive.of] = (m.joints[drive.of], value)
    paths = [drive for drive in m.drives.values() if drive.level == "position" and drive.value is None]
    for drive in m.drives.values():
        if drive.closing is not None:
            paths.append(replace(drive, name=f"{drive.name} closing", rows=drive.closing, level="position"))
            k.names[paths[-1].name] = wanted(drive.closing, drive.name, ("t", "q", "v", "p"))
    if paths:
        q = close(k, q, [*joints, *paths], {}, " with driven points and coupled joints in place")
        joints = [*joints, *paths]
    if not targets:
        return q
    first = {name: float(joint.value(q, k.p)) for name, (joint, _) in targets.items()}
    if m.dimension == 3:  # angles count no turns there: the nearest way
        turns = lambda name, value: TURN * round((value - first[name]) / TURN)
        targets = {name: (joint, value - (turns(name, value) if joint.coordinate == "angle" else 0.0))
                   for name, (joint, value) in targets.items()}  # fmt: skip
    span = max(
        abs(value - first[name]) / (0.1 if joint.coordinate == "angle" else 0.05 * k.size)
        for name, (joint, value) in targets.items()
    )
    joints = held_together(m, k, q, joints, targets)
    done, step = 0.0, 1.0 / max(1.0, np.ceil(span))
    smallest = step / 64
    while done < 1.0:
        share = min(1.0, done + step)
        now = {name: (joint, first[name] + share * (value - first[name])) for name, (joint, value) in targets.items()}
        try:
            q = close(k, q, joints, now, "", steps=12)
        except InconsistentState:
            step /= 2
            if step < smallest:
                name, (joint, value) = next(iter(targets.items()))
                reached = float(joint.value(q, k.p))
                raise InconsistentState(
                    f"assemble: joint {name!r} comes no further than {reached:.4g} on the way to {value:.4g}; the "
                    "other joints hold it there. Ask for less, or begin from another closure with near=."
                ) from None
            continue
        done = share
    return q


def _velocities(m, k: Kinematics, q, speeds) -> np.ndarray:
    """The smallest velocities that meet the drives and the asked speeds."""
    rows, wanted_rates = [k.jacobian(k.t, q)], [k.explicit_rates(q)]
    names = [name for name, _ in k.labels]
    for name, speed in speeds.items():
        joint = m._joint(name, "speed")
        rows.append(k.rate_row(joint, q))
        wanted_rates.append(np.array([float(speed)]))
        names.append(name)
    G, right = np.vstack(rows), np.concatenate(wanted_rates)
    beyond = ~(np.abs(right) < INFINITE)
    if np.any(beyond):
        worst = names[int(np.flatnonzero(beyond)[0])]
        raise NotFinite(f"the rate of {worst!r} is not finite at t = {k.t:g}. Check what its function of time gives there.")
    if not len(G) or not np.any(right):
        return np.zeros(k.nv)
    norms = np.maximum(np.linalg.norm(G / k.scale, axis=1), 1e-300)
    v = np.linalg.lstsq(G / k.scale / norms[:, None], right / norms, rcond=1e-9)[0] / k.scale
    left = np.abs(G @ v - right) / norms
    worst = int(np.argmax(left))
    if left[worst] > 1e-8 * max(1.0, float(np.max(np.abs(right) / norms))):
        raise InconsistentState(
            f"the speeds asked for cannot be had together: {names[worst]!r} misses its own by {left[worst]:.2g}. "
            "Ask for fewer, or leave the dead centre."
        )
    return v
