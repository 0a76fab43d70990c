"""Mechanisms in space for films: faces from far to near, with a light and a floor."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb

from .geometry import bounds, path_of, placed, rotation
from .scene import Scene, Track

YAW, PITCH = -0.95, 0.36  # rad; from where one looks, as on the page
SIDES = 16  # of a round thing
APART = 0.006  # of the picture's size: a joint open by more is marked


class Solid:
    """Draws the frames of a spatial scene on axes, seen in parallel projection."""

    def __init__(self, axes: Axes, scene: Scene, look, forces: bool):
        assert scene.what is not None
        self.axes, self.scene, self.what, self.look = axes, scene, scene.what, look
        low, high = bounds(scene)
        self.size = float(np.linalg.norm(high - low)) or 1.0
        self.several = len(scene.tracks) > 1
        self._aim()
        corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
        floor = float((corners @ self.up).min()) - 0.02 * self.size
        self._floor(axes, corners, floor)
        flat = corners @ self.screen.T
        margin = 0.05 * self.size
        axes.set_xlim(flat[:, 0].min() - margin, flat[:, 0].max() + margin)
        axes.set_ylim(flat[:, 1].min() - margin, flat[:, 1].max() + margin)
        axes.set_aspect("equal")
        self.meshes = [faces_of(body["shapes"], self.size) for body in self.what["bodies"]]
        self.ground = faces_of(self.what["ground"], self.size)
        self.faces = axes.add_collection(PolyCollection([], linewidths=0.3, zorder=3))
        ink = look.settings["text.color"]
        self.made = []
        for n, track in enumerate(scene.tracks):
            made: dict[str, Any] = {"traces": []}
            for k, name in enumerate(scene.traces):
                colour = look.lines[(n if self.several else k + 1) % len(look.lines)]
                path = path_of(self.what, track, name) @ self.screen.T
                axes.plot(*path.T, color=colour, linewidth=0.8, alpha=0.3, zorder=4)
                made["traces"].append((axes.plot([], [], color=colour, linewidth=1.4, zorder=4)[0], path))
            colour = look.lines[n % len(look.lines)] if self.several else ink
            (made["joints"],) = axes.plot(
                [], [], "o", markersize=4, markerfacecolor=look.ground, markeredgewidth=1.0, color=colour, zorder=5
            )
            made["gaps"] = axes.add_collection(LineCollection([], colors="#c1121f", linewidths=1.6, zorder=6))
            if forces and track.forces.shape[1]:
                made["longest"] = float(np.nanpercentile(np.linalg.norm(track.forces, axis=2), 98.5)) or 1.0
                made["arrows"] = axes.add_collection(LineCollection([], colors="#c2410c", linewidths=1.6, zorder=7))
            self.made.append(made)
        keys = ("joints", "gaps", "arrows")
        self.moving: list[Any] = [self.shadows, self.faces]
        self.moving += [made[key] for made in self.made for key in keys if key in made]
        self.moving += [past for made in self.made for past, _ in made["traces"]]

    def _aim(self) -> None:
        """Axes of the screen: right and up in it, and towards the eye."""
        g = self.what["gravity"]
        self.up = np.array([0.0, 0.0, 1.0])
        if g is not None and np.linalg.norm(g) > 0:
            k = int(np.argmax(np.abs(g)))
            self.up = np.zeros(3)
            self.up[k] = -np.sign(g[k])
        side = np.array([0.0, 1.0, 0.0]) if abs(self.up[0]) > 0.5 else np.array([1.0, 0.0, 0.0])
        self.e1, self.e2 = side, np.cross(self.up, side)
        c = np.cos(PITCH)
        self.eye = c * np.cos(YAW) * self.e1 + c * np.sin(YAW) * self.e2 + np.sin(PITCH) * self.up
        right = np.cross(self.up, self.eye)
        right /= np.linalg.norm(right)
        self.screen = np.array([right, np.cross(self.eye, right)])
        light = self.up + 0.6 * right + 0.5 * self.eye
        self.light = light / np.linalg.norm(light)

    def _floor(self, axes: Axes, corners: np.ndarray, height: float) -> None:
        """A grid under the mechanism; shadows fall on it."""
        self.height = height
        spans = [(float((corners @ e).min()), float((corners @ e).max())) for e in (self.e1, self.e2)]
        step = 10 ** np.floor(np.log10(self.size / 3))
        marks = [np.arange(np.floor(a / step) - 1, np.ceil(b / step) + 2) * step for a, b in spans]
        segments = []
        for i, (e, other) in enumerate(((self.e1, self.e2), (self.e2, self.e1))):
            for s in marks[i]:
                ends = [s * e + marks[1 - i][k] * other + height * self.up for k in (0, -1)]
                segments.append(np.array(ends) @ self.screen.T)
        axes.add_collection(LineCollection(segments, colors=self.look.settings["grid.color"], linewidths=0.7, zorder=1))
        colour = 0.91 * np.array(to_rgb(self.look.ground)) + 0.09 * np.array(to_rgb(self.look.settings["text.color"]))
        self.shadows = axes.add_collection(PolyCollection([], facecolors=[colour], edgecolors="none", zorder=2))

    def draw(self, at: int) -> None:
        """Move everything to a frame; a run that ended before stays where it ended."""
        polygons, colours = [], []
        for n, (track, made) in enumerate(zip(self.scene.tracks, self.made, strict=True)):
            row = min(at, len(track.t) - 1)
            for faces, colour in self._solids(track, row, n):
                polygons += faces
                colours += [(*to_rgb(colour), 1.0 if not (self.several and n) else 0.5)] * len(faces)
            self._marks(track, made, row)
        polygons += self.ground
        colours += [(*to_rgb(self.look.settings["axes.edgecolor"]), 1.0)] * len(self.ground)
        self._paint(polygons, colours)

    def _solids(self, track: Track, row: int, n: int):
        poses, lines = track.poses[row], self.look.lines
        for k, faces in enumerate(self.meshes):
            if np.isfinite(poses[k]).all():
                R, p = rotation(poses[k]), poses[k, :3]
                yield [face @ R.T + p for face in faces], lines[(n if self.several else k) % len(lines)]
        for link in self.what["links"]:
            ends = [placed(poses, body, at) for body, at in zip(link["bodies"], link["at"], strict=True)]
            yield bar(*ends, 0.006 * self.size, 8), lines[n] if self.several else self.look.settings["axes.edgecolor"]
        for k, line in enumerate(self.what.get("lines", ())):
            points = track.lines[row, line["first"] : line["first"] + line["count"]]
            colour = lines[(n if self.several else k) % len(lines)]
            for a, b in pairwise(points):
                yield bar(a, b, 0.006 * self.size, 8), colour
            if len(points) == 1:
                yield [face + points[0] for face in ball(0.025 * self.size)], colour

    def _marks(self, track: Track, made: dict[str, Any], row: int) -> None:
        poses = track.poses[row]
        joints = self.what["joints"]
        ends = np.array([[placed(poses, j["bodies"][e], j["at"][e]) for e in (0, 1)] for j in joints]).reshape(-1, 2, 3)
        flat = ends @ self.screen.T
        made["joints"].set_data(*flat[:, 1].T)
        held = [k for k, j in enumerate(joints) if j["kind"] in ("revolute", "spherical", "fixed", "universal")]
        made["gaps"].set_segments([flat[k] for k in held if np.linalg.norm(ends[k, 1] - ends[k, 0]) > APART * self.size])
        for past, path in made["traces"]:
            past.set_data(*path[: row + 1].T)
        if "arrows" in made:
            parts = [*joints, *(link for link in self.what["links"] if link["kind"] == "distance")]
            feet = np.array([placed(poses, part["bodies"][1], part["at"][1]) for part in parts])
            tips = feet + track.forces[row] / made["longest"] * 0.2 * self.size
            made["arrows"].set_segments(np.stack([feet, tips], axis=1) @ self.screen.T)

    def _paint(self, polygons: list[np.ndarray], colours: list) -> None:
        """Faces that look at the eye, from far to near; their shadows on the floor."""
        normals = [np.cross(face[1] - face[0], face[2] - face[0]) for face in polygons]
        towards = [k for k, normal in enumerate(normals) if normal @ self.eye > 0]
        towards.sort(key=lambda k: float(polygons[k].mean(axis=0) @ self.eye))
        shaded = []
        for k in towards:
            normal = normals[k] / (np.linalg.norm(normals[k]) or 1.0)
            bright = 0.5 + 0.24 * (0.5 + 0.5 * normal @ self.up) + 0.36 * max(0.0, float(normal @ self.light))
            base = 0.78 * np.array(colours[k][:3]) + 0.22
            shaded.append((*np.clip(base * bright, 0, 1), colours[k][3]))
        self.faces.set_verts([polygons[k] @ self.screen.T for k in towards])
        self.faces.set_facecolors(shaded)
        self.faces.set_edgecolors(shaded)
        drop = np.eye(3) - np.outer(self.up, self.up)
        below = [face @ drop + self.height * self.up for face, n in zip(polygons, normals, strict=True) if n @ self.up > 0]
        self.shadows.set_verts([face @ self.screen.T for face in below])


# faces of shapes, corners counterclockwise seen from outside


def faces_of(shapes: list[dict[str, Any]], size: float) -> list[np.ndarray]:
    """Faces of all shapes of a body in its frame."""
    found: list[np.ndarray] = []
    thin = 0.006 * size
    for shape in shapes:
        kind = shape["kind"]
        if kind == "sketch":
            points = np.array(shape["points"], dtype=float).reshape(-1, 3)
            pairs = [(points[0], points[1])] if len(points) == 2 else [(np.zeros(3), point) for point in points]
            found += [face for a, b in pairs if np.linalg.norm(b - a) > 1e-9 for face in bar(a, b, thin, 10)]
            found += [] if len(points) == 2 else ball(2 * thin)
            continue
        if kind == "mesh":
            own = list(np.array(shape["triangles"], dtype=float).reshape(-1, 3, 3))
        elif kind == "box":
            own = cuboid(np.maximum(shape["size"], 0.3 * thin))
        elif kind == "sphere":
            own = ball(shape["radius"])
        elif kind == "disk":
            own = tube(0.05 * shape["radius"], shape["radius"], 2 * SIDES)
        else:
            own = tube(shape["length"], shape.get("radius", max(shape.get("width", 0.0) / 2, 0.3 * thin)), SIDES)
        axes = np.array(shape["axes"])
        found += [face @ axes.T + shape["centre"] for face in own]
    return found


def cuboid(size) -> list[np.ndarray]:
    """Six faces."""
    found = []
    for d in range(3):
        for sign in (-1.0, 1.0):
            face = np.zeros((4, 3))
            face[:, d] = sign
            face[:, (d + 1) % 3] = [-1, 1, 1, -1]
            face[:, (d + 2) % 3] = np.array([-1, -1, 1, 1]) * sign
            found.append(face * np.asarray(size) / 2)
    return found


def tube(length: float, radius: float, sides: int) -> list[np.ndarray]:
    """A cylinder along x around its centre."""
    angles = np.linspace(0, 2 * np.pi, sides, endpoint=False)
    ring = np.stack([np.zeros(sides), radius * np.cos(angles), radius * np.sin(angles)], axis=1)
    a, b = ring - [length / 2, 0, 0], ring + [length / 2, 0, 0]
    sides_of = [np.array([a[i], b[i], b[(i + 1) % sides], a[(i + 1) % sides]])[::-1] for i in range(sides)]
    return [*sides_of, a[::-1], b]


def ball(radius: float, rings: int = 8) -> list[np.ndarray]:
    """A sphere around the origin."""
    i, j = np.arange(rings), np.arange(2 * rings)
    at = lambda i, j: radius * np.array([
        np.cos(np.pi * i / rings), np.sin(np.pi * i / rings) * np.cos(np.pi * j / rings),
        np.sin(np.pi * i / rings) * np.sin(np.pi * j / rings),
    ])  # fmt: skip
    return [np.array([at(a, b), at(a + 1, b), at(a + 1, b + 1), at(a, b + 1)])[0 if a else 1 :] for a in i for b in j]


def bar(a, b, radius: float, sides: int) -> list[np.ndarray]:
    """A cylinder between two points."""
    along = np.asarray(b, dtype=float) - a
    length = float(np.linalg.norm(along)) or 1e-12
    x = along / length
    y = np.cross((0.0, 0.0, 1.0) if abs(x[2]) < 0.9 else (0.0, 1.0, 0.0), x)
    y /= np.linalg.norm(y)
    axes = np.stack([x, y, np.cross(x, y)])
    return [face @ axes + (np.asarray(a) + b) / 2 for face in tube(length, radius, sides)]
