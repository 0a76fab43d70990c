"""A mechanism in a file: what its names mean, as plain data, and what its functions gave along the run, as arrays.

A file holds no functions. Bodies, points, angles and places follow from the states, so their numbers are enough; what joints
and forces do comes from functions, some of them the user's, so their values are kept: -Gᵀλ row by row, what each force
does to which body, what it stores. The views of a run read both alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.call_by_name import Names, known_in
from . import joints, joints3d, plane, rows, space
from .body import Body, Frame, Point
from .joint import Drive, Force, Joint
from .results import MechanismRecord, Resolver, caught_in
from .series import DrawnBodies, DrawnParts

Arrays = dict[str, np.ndarray]  # by name, time first


def entries(resolver: Resolver, record: MechanismRecord) -> tuple[dict[str, Any], Arrays]:
    """Return what a file holds of a mechanism: plain data, and arrays over time."""
    pairs, values = record.row_reactions()
    arrays: Arrays = {"rows": values}
    forces = []
    for i, force in enumerate(resolver.forces.values()):
        said = {"name": force.name, "kind": force.kind, "marks": force.marks, "on": force.on, "stores": force.stores}
        said["acts"], arrays[f"act {i}"] = _flat(record, record.acts(force))
        said["applied"], arrays[f"applied {i}"] = _flat(record, record.applied(force))
        if force.stores:
            arrays[f"energy {i}"] = np.array(record.full(record.energy(force)))[:, None]
        forces.append(said)
    if resolver.dimension == 3:  # turns are counted by steps, which a file does not hold
        for i, joint in enumerate(resolver.joints.values()):
            if joint.coordinate == "angle":
                arrays[f"angle {i}"] = np.array(record.kit.counted(record, joint))[:, None]
    data = {
        "dimension": resolver.dimension, "gravity": resolver.gravity, "states": resolver.states, "pairs": pairs,
        "params": {name: float(value) for name, value in known_in(record.p).items()},
        "bodies": [
            {"name": body.name, "rotation": np.asarray(body.rotation).tolist(), "origin": body.origin}
            for body in resolver.bodies.values()
        ],
        "joints": [
            {key: getattr(joint, key) for key in ("name", "kind", "marks", "labels", "level", "coordinate", "of")}
            | {"ends": [joint.first.index, joint.second.index], "more": list(joint.more), "timed": record.follows_time(joint)}
            for joint in resolver.joints.values()
        ],
        "drives": [
            {key: getattr(drive, key) for key in ("name", "of", "marks", "labels", "level", "leader")}
            | {"timed": record.follows_time(drive)} for drive in resolver.drives.values()
        ],
        "forces": forces,
        "points": [
            {"name": point.name, "body": point.body.index, "mark": point.mark, "frame": isinstance(point, Frame)}
            for point in resolver.points.values()
        ],
    }  # fmt: skip
    return data, {name: values for name, values in arrays.items() if values.size}


def _flat(record: MechanismRecord, acts) -> tuple[list, np.ndarray]:
    """Which bodies a force acts on, and whether it pushes them, and everything it does in one array, time first."""
    layout, columns = [], []
    for k, push, point, torque in acts:
        layout.append([int(k), push is not None])
        parts = [*(() if push is None else (*push, *point)), *(torque if isinstance(torque, tuple) else (torque,))]
        columns += [record.full(part) for part in parts]
    return layout, np.stack(columns, axis=1) if columns else np.zeros((len(record.t), 0))


class KeptResolver(Resolver):
    """What the names of a mechanism mean in a loaded run."""

    def __init__(self, data: dict[str, Any]):
        said = _tuples(data)
        self.dimension, self.gravity, self.states = said["dimension"], said["gravity"], said["states"]
        self.numbers = Names(**data["params"])
        kit, table = (plane, joints) if self.dimension == 2 else (space, joints3d)
        made = [Body(each["name"], k, None, each["rotation"], origin=each["origin"]) for k, each in enumerate(said["bodies"])]
        ground = Body("ground", -1, None)
        self.bodies, self.joints, self.forces = DrawnBodies(), DrawnParts(), DrawnParts()
        self.bodies.update({body.name: body for body in made})
        self.drives, self.points = {}, {}
        self.timed = {each["name"] for each in (*said["joints"], *said["drives"]) if each["timed"]}
        for each in said["joints"]:
            ends = [made[k] if k >= 0 else ground for k in each["ends"]]
            joint = Joint(each["name"], each["kind"], *ends, each["marks"], None, each["labels"], each["level"], each["coordinate"])
            joint.of = each["of"]
            functions = {name: _coordinate(table, kit, name, joint.marks) for name in (joint.coordinate, *each["more"]) if name}
            if joint.coordinate:
                joint.value, joint.rate = functions[joint.coordinate]
            joint.more = {name: functions[name] for name in each["more"]}
            self.joints[joint.name] = joint
        for each in said["drives"]:
            made_by = Drive(each["name"], each["of"], each["marks"], None, each["labels"], each["level"])
            made_by.leader = each.get("leader") or self._leader_by(made_by.marks[2:])
            self.drives[made_by.name] = made_by
        for each in said["forces"]:
            self.forces[each["name"]] = Force(each["name"], each["kind"], None, each["marks"], on=each["on"], kept=each["stores"])
        for each in said["points"]:
            body = made[each["body"]] if each["body"] >= 0 else ground
            self.points[each["name"]] = (Frame if each["frame"] else Point)(each["name"], body, each["mark"])
        self.acts = {each["name"]: (i, each["acts"], each["applied"]) for i, each in enumerate(said["forces"])}
        self.pairs = np.array(data["pairs"], dtype=int).reshape(-1, 2)
        self.name_all()

    def _leader_by(self, marks: tuple) -> str | None:
        """The joint between two marks, which files of before name by them alone."""
        return next((joint.name for joint in self.joints.values() if joint.marks == marks), None)

    def record(self, sol) -> MechanismRecord:
        """Return the arrays of a loaded run as views read them."""
        return KeptRecord(self, sol)


class KeptRecord(MechanismRecord):
    """The arrays of a loaded run: what functions gave is read, not computed."""

    resolver: KeptResolver

    def __init__(self, resolver: KeptResolver, sol):
        super().__init__(resolver, sol.t, sol.q, sol.v, sol.a, sol.lam, resolver.numbers, {}, sol.s, caught_in(sol))
        self._kept = sol.trail.kept

    def row_reactions(self) -> tuple[list, np.ndarray]:
        """As `MechanismRecord.row_reactions`."""
        return self.resolver.pairs.tolist(), self._kept.get("rows", np.zeros((len(self.t), 0)))

    def generalized_reaction(self, part, k: int) -> tuple[np.ndarray, ...]:
        """As `MechanismRecord.generalized_reaction`."""
        where, nv = self.resolver.layout[part.name], self.kit.NV
        row, column = self.resolver.pairs.T
        own = (row >= where.start) & (row < where.stop)
        values = self.row_reactions()[1]
        return tuple(
            sum((values[:, i] for i in np.flatnonzero(own & (column == nv * k + j))), np.zeros(len(self.t))) for j in range(nv)
        )

    def counted_before(self, joint) -> np.ndarray | None:
        """As `MechanismRecord.counted_before`."""
        found = self._kept.get(f"angle {list(self.resolver.joints).index(joint.name)}")
        return None if found is None else found[:, 0]

    def follows_time(self, part) -> bool:
        """As `MechanismRecord.follows_time`."""
        return part.name in self.resolver.timed

    def acts(self, force):
        """As `MechanismRecord.acts`."""
        i, layout, _ = self.resolver.acts[force.name]
        return self._unpacked(layout, f"act {i}")

    def applied(self, force):
        """As `MechanismRecord.applied`."""
        i, _, layout = self.resolver.acts[force.name]
        return self._unpacked(layout, f"applied {i}")

    def energy(self, force):
        """As `MechanismRecord.energy`."""
        return self._kept[f"energy {self.resolver.acts[force.name][0]}"][:, 0]

    def _unpacked(self, layout, name: str):
        n, found, at = self.resolver.dimension, [], 0
        for k, pushes in layout:
            columns = self._kept[name].T
            push = point = None
            if pushes:
                push, point = tuple(columns[at : at + n]), tuple(columns[at + n : at + 2 * n])
                at += 2 * n
            torque = columns[at] if n == 2 else tuple(columns[at : at + 3])
            at += 1 if n == 2 else 3
            found.append((k, push, point, torque))
        return tuple(found)


def _coordinate(table, kit, name: str, marks) -> tuple:
    """Angle or position of a joint and its rate, as functions."""
    value, rate = table.VALUES[name]
    return rows.joint_value(value, kit.place, *marks), rows.joint_rate(rate, kit.place, kit.motion, *marks)


def _tuples(value):
    """Lists of a file as the tuples they were."""
    if isinstance(value, dict):
        return {key: _tuples(part) for key, part in value.items()}
    return tuple(_tuples(part) for part in value) if isinstance(value, list | tuple) else value
