"""What is seen of a mechanism: shapes, joints, springs and named points, each in the frame of its body.

The description is plain data (names, numbers, lists), so that a saved run can carry it. Bodies stand in the
order of their coordinates; body -1 is the ground, whose frame is that of the drawing. Whoever draws moves
each body by its coordinates: (x, y, angle) in the plane, (x, y, z, e0, e1, e2, e3) in space.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.call_by_name import known_in
from .meshes import triangles_of

LINES = ("spring", "damper")  # forces that act between two points and are drawn
RADII = ("radius", "other")  # parameters of joints that roll


def describe(resolver, p) -> dict[str, Any]:
    """Return the description of a mechanism with the parameters p of one run."""
    local = _Frames(resolver, p)
    joints, links = [], []
    slides: dict[int, list[float]] = {}  # direction in which a body slides, in its frame
    for joint in resolver.joints.values():
        if joint.of is not None:  # a part of another joint
            continue
        places = [local.point(mark) for mark in joint.marks]
        if joint.kind == "prismatic":
            slides |= {mark[0]: local.axis(mark) for mark in joint.marks}
        entry = {
            "name": joint.name, "kind": joint.kind, "bodies": [mark[0] for mark in joint.marks], "at": places,
            "axis": local.axis(joint.marks[0]),
            "radii": [float(p[f"{joint.name}.{key}"]) for key in RADII if f"{joint.name}.{key}" in known_in(p)],
        }  # fmt: skip
        (links if joint.kind == "distance" else joints).append(entry)
    for force in resolver.forces.values():
        if force.kind in LINES and force.on is None and len(force.marks) == 2:
            at = [local.point(mark) for mark in force.marks]
            links.append({"name": force.name, "kind": force.kind, "bodies": [m[0] for m in force.marks], "at": at})
    points = [{"name": point.name, "body": point.mark[0], "at": local.point(point.mark)} for point in resolver.points.values()]
    shapes = resolver.drawing()
    bodies, held_at = [], _places((*joints, *links))
    for k, (name, body) in enumerate(resolver.bodies.items()):
        drawn = [_plain(shape) for shape in shapes[name]]
        held = held_at.get(k, [])
        found = drawn + _stems(drawn, [shape.size for shape in body.shapes], held)
        bodies.append({"name": name, "shapes": found or _sketch(k, held, points, slides)})
    ground = [
        _plain({"kind": shape.kind, "outline": shape.outline, "centre": shape.centre, "axes": shape.axes})
        for shape in resolver.ground_shapes
    ]
    return {
        "dimension": resolver.dimension, "gravity": [float(p[key]) for key in resolver.gravity],
        "bodies": bodies, "ground": ground, "joints": joints, "links": links, "points": points,
    }  # fmt: skip


def joint_forces(resolver, sol, names) -> np.ndarray:
    """Force of each named joint on its second body, (time, joint, axis); N, ground frame."""
    record = resolver.record(sol)
    found = [np.atleast_2d(resolver.view_of(record, name).force) for name in names]
    times = np.atleast_1d(sol.t).size
    return np.stack(found, axis=1) if found else np.zeros((times, 0, resolver.dimension))


class _Frames:
    """Places and directions of marks in the frames of their bodies."""

    def __init__(self, resolver, p):
        self.p, self.dimension = p, resolver.dimension

    def point(self, mark) -> list[float]:
        body, keys, origin, rotation, _ = mark
        at = np.array([self.p[key] for key in keys], dtype=float)
        if body < 0:
            return at.tolist()
        return self._into(rotation, at - [self.p[key] for key in origin])

    def axis(self, mark) -> list[float] | None:
        body, _, _, rotation, direction = mark
        if direction is None:
            return None
        drawn = [self.p[key] for key in (direction if self.dimension == 2 else direction[0])]
        return np.array(drawn, dtype=float).tolist() if body < 0 else self._into(rotation, drawn)

    def _into(self, rotation, vector) -> list[float]:
        if self.dimension == 3:
            return (np.asarray(rotation).T @ vector).tolist()
        c, s = np.cos(rotation), np.sin(rotation)
        return [float(c * vector[0] + s * vector[1]), float(c * vector[1] - s * vector[0])]


def _plain(shape: dict[str, Any]) -> dict[str, Any]:
    """A shape as plain data; a mesh brings its triangles."""
    found = {"kind": shape["kind"], "centre": np.array(shape["centre"], dtype=float).tolist()}
    found["axes"] = np.array(shape["axes"], dtype=float).tolist()
    outline = dict(shape["outline"])
    if shape["kind"] == "mesh":
        outline = {"triangles": triangles_of(outline["file"], outline["scale"])}
    return found | {key: np.array(value).tolist() if np.ndim(value) else value for key, value in outline.items()}


def _places(parts) -> dict[int, list[list[float]]]:
    """Where joints and links hold each body, in its frame."""
    found: dict[int, list[list[float]]] = {}
    for part in parts:
        for body, at in zip(part["bodies"], part["at"], strict=True):
            found.setdefault(body, []).append(at)
    return found


def _stems(shapes: list[dict[str, Any]], sizes: list[float], held) -> list[dict[str, Any]]:
    """A joint outside of all shapes of its body is held by a stem from the nearest one."""
    found = []
    for at in held if shapes else ():
        gaps = [float(np.linalg.norm(np.subtract(at, s["centre"]))) - 1.02 * r for s, r in zip(shapes, sizes, strict=True)]
        nearest = int(np.argmin(gaps))
        if gaps[nearest] > 0.0 and shapes[nearest]["kind"] != "mesh":
            found.append({"kind": "sketch", "points": [shapes[nearest]["centre"], at], "slides": None})
    return found


def _sketch(k: int, held, points, slides) -> list[dict[str, Any]]:
    """A body without shapes is drawn as what holds its joints, ends of springs and points together."""
    places = held + [point["at"] for point in points if point["body"] == k]
    apart: list[list[float]] = []
    for at in places:
        if all(np.linalg.norm(np.subtract(at, other)) > 1e-9 for other in apart):
            apart.append(at)
    return [{"kind": "sketch", "points": apart, "slides": slides.get(k)}]
