"""Where the points of a scene are: of bodies in one frame, of one point in all frames, of everything together."""

from __future__ import annotations

from typing import Any

import numpy as np

from .scene import Scene, Track

SOME = 60  # frames that are enough to know how far things go


def placed(poses: np.ndarray, body: int, at) -> np.ndarray:
    """Points of a body's frame in the world; poses are those of all bodies in one frame. Body -1 is the ground."""
    points = np.asarray(at, dtype=float)
    if body < 0:
        return points
    n = 2 if poses.shape[1] == 3 else 3
    return points @ rotation(poses[body]).T + poses[body, :n]


def rotation(pose: np.ndarray) -> np.ndarray:
    """Axes of a body as columns."""
    if len(pose) == 3:
        c, s = np.cos(pose[2]), np.sin(pose[2])
        return np.array([[c, -s], [s, c]])
    a, b, c, d = pose[3:] / (np.linalg.norm(pose[3:]) or 1.0)
    return np.array([
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
    ])  # fmt: skip


def path_of(what: dict[str, Any], track: Track, name: str) -> np.ndarray:
    """A point, body, joint or the end of a line, by name, in all frames."""
    for line in what.get("lines", ()):
        if line["name"] == name:
            return track.lines[:, line["first"] + line["count"] - 1]
    known = {joint["name"]: (joint["bodies"][1], joint["at"][1]) for joint in what["joints"]}
    known |= {body["name"]: (k, [0.0] * what["dimension"]) for k, body in enumerate(what["bodies"])}
    known |= {point["name"]: (point["body"], point["at"]) for point in what["points"]}
    body, at = known[name]
    return np.array([placed(poses, body, at) for poses in track.poses])


def reach(shape: dict[str, Any], dimension: int) -> np.ndarray:
    """Points that bound a shape, in the frame of its body."""
    kind = shape["kind"]
    if kind == "sketch":
        return np.array([*shape["points"], [0.0] * dimension], dtype=float)
    centre = np.array(shape["centre"])
    if kind == "mesh":
        half = np.abs(np.array(shape["triangles"]).reshape(-1, 3)).max(axis=0, initial=0.0)
    elif kind == "polygon":
        half = np.abs(np.array(shape["corners"])).max(axis=0)
    elif kind == "box":
        half = np.array(shape["size"]) / 2
    else:
        radius = shape.get("radius", shape.get("width", 0.0) / 2)
        along = shape["length"] / 2 if "length" in shape else radius if len(centre) == 2 or kind == "sphere" else 0.0
        half = np.array([along] + [radius] * (len(centre) - 1))
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * len(half))).reshape(len(half), -1).T
    axes = np.asarray(shape["axes"])
    if axes.ndim == 0:
        axes = rotation(np.array([0.0, 0.0, float(axes)]))
    return (signs * half) @ axes.T + centre


def bounds(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest coordinates of everything drawn; runs that fly apart do not count beside one that does not."""
    what = scene.what
    assert what is not None
    boxes = []
    for track in scene.tracks:
        points = [np.array(track.lines[:: max(1, len(track.t) // SOME)]).reshape(-1, scene.dimension)]
        for poses in track.poses[:: max(1, len(track.t) // SOME)]:
            points += [placed(poses, k, reach(s, scene.dimension)) for k, body in enumerate(what["bodies"]) for s in body["shapes"]]
            parts = (*what["joints"], *what["links"])
            points += [placed(poses, k, at)[None] for part in parts for k, at in zip(part["bodies"], part["at"], strict=True)]
        points += [reach(shape, scene.dimension) for shape in what["ground"]]
        every = np.concatenate(points)
        every = every[np.isfinite(every).all(axis=1)]
        if len(every):
            boxes.append((every.min(axis=0), every.max(axis=0)))
    if not boxes:
        return -np.ones(scene.dimension), np.ones(scene.dimension)
    sizes = [float(np.max(high - low)) for low, high in boxes]
    kept = [box for box, size in zip(boxes, sizes, strict=True) if size <= 2 * min(sizes)]
    return np.min([low for low, _ in kept], axis=0), np.max([high for _, high in kept], axis=0)
