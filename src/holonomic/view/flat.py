"""Mechanisms in the plane for films: shapes become polygons, moved by the places of their bodies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb

from .geometry import bounds, path_of, placed
from .scene import Scene, Track

ROUND = 24  # corners of a circle
APART = 0.004  # of the picture's size: a joint open by more is marked


class Flat:
    """Draws the frames of a planar scene on axes."""

    def __init__(self, axes: Axes, scene: Scene, look, forces: bool):
        assert scene.what is not None
        self.axes, self.scene, self.what, self.look = axes, scene, scene.what, look
        low, high = bounds(scene)
        self.size = float(np.max(high - low)) or 1.0
        middle, half = (low + high) / 2, (high - low) / 2 + 0.07 * self.size
        axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
        axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
        axes.set_aspect("equal")
        self.several = len(scene.tracks) > 1
        self.ink = look.settings["text.color"]
        self._supports()
        self.made = [self._artists(track, n, forces) for n, track in enumerate(scene.tracks)]
        keys = ("polygons", "links", "gaps", "joints", "arrows")
        self.moving = [made[key] for made in self.made for key in keys if key in made]
        self.moving += [past for made in self.made for past, _ in made["traces"]]

    def _colour(self, run: int, k: int) -> str:
        return self.look.lines[(run if self.several else k) % len(self.look.lines)]

    def _artists(self, track: Track, n: int, forces: bool) -> dict[str, Any]:
        axes, look = self.axes, self.look
        through = self.several and n > 0  # of several runs the first is solid
        shapes = [
            (k, outline, self._colour(n, k))
            for k, body in enumerate(self.what["bodies"])
            for shape in body["shapes"]
            for outline in outlines(shape, self.size)
        ]
        lines = [(line, self._colour(n, k)) for k, line in enumerate(self.what.get("lines", ()))]
        colours = [colour for _, _, colour in shapes]
        colours += [colour for line, colour in lines for _ in range(max(1, line["count"] - 1))]
        fills = [(*mixed(colour, look.ground, 0.42), 0.35 if through else 1.0) for colour in colours]
        edges = [mixed(colour, self.ink, 0.12) for colour in colours]
        made: dict[str, Any] = {"shapes": shapes, "lines": lines}
        made["polygons"] = axes.add_collection(
            PolyCollection([], facecolors=fills, edgecolors=edges, linewidths=0.9, zorder=3, joinstyle="round")
        )
        own = self.look.lines[n % len(look.lines)] if self.several else look.settings["axes.edgecolor"]
        made["links"] = axes.add_collection(LineCollection([], colors=own, linewidths=1.2, zorder=4, capstyle="round"))
        made["gaps"] = axes.add_collection(LineCollection([], colors="#c1121f", linewidths=1.6, linestyles=":", zorder=6))
        (made["joints"],) = axes.plot(
            [], [], "o", markersize=4, markerfacecolor=look.ground, markeredgewidth=1.0, zorder=5,
            color=mixed(own, self.ink, 0.35) if self.several else self.ink,
        )  # fmt: skip
        made["traces"] = []
        for k, name in enumerate(self.scene.traces):
            colour = look.lines[(n if self.several else k + 1) % len(look.lines)]
            path = path_of(self.what, track, name)
            axes.plot(*path.T, color=colour, linewidth=0.8, alpha=0.3, zorder=2)
            (past,) = axes.plot([], [], color=colour, linewidth=1.4, zorder=2)
            made["traces"].append((past, path))
        if forces and track.forces.shape[1]:
            sizes = np.linalg.norm(track.forces, axis=2)
            made["longest"] = float(np.nanpercentile(sizes, 98.5)) or 1.0
            made["arrows"] = axes.add_collection(LineCollection([], colors="#c2410c", linewidths=1.6, zorder=7))
        return made

    def _supports(self) -> None:
        """Where the ground holds the mechanism: pins, and guides as long as they are used."""
        grey, s = self.look.settings["axes.edgecolor"], self.size
        for joint in self.what["joints"]:
            if joint["bodies"][0] >= 0:
                continue
            x, y = joint["at"][0]
            if joint["kind"] == "revolute":
                feet = np.array([(x, y), (x + 0.016 * s, y - 0.028 * s), (x - 0.016 * s, y - 0.028 * s)])
                self.axes.fill(*feet.T, facecolor=self.look.settings["grid.color"], edgecolor=grey, linewidth=0.8, zorder=1)
                self.axes.plot([x - 0.026 * s, x + 0.026 * s], [y - 0.028 * s] * 2, color=grey, linewidth=1.2, zorder=1)
            elif joint["axis"] is not None and joint["kind"] != "skate":
                u = np.array(joint["axis"]) / np.linalg.norm(joint["axis"])
                body, at = joint["bodies"][1], joint["at"][1]
                travel = [(placed(poses, body, at) - (x, y)) @ u for track in self.scene.tracks for poses in track.poses]
                ends = np.array([(x, y) + (end + side * 0.04 * s) * u for end, side in
                                 ((np.nanmin(travel), -1), (np.nanmax(travel), 1))])  # fmt: skip
                self.axes.plot(*ends.T, color=grey, linewidth=0.9, zorder=1)

    def draw(self, at: int) -> None:
        """Move everything to a frame; a run that ended before stays where it ended."""
        for track, made in zip(self.scene.tracks, self.made, strict=True):
            self._track(track, made, min(at, len(track.t) - 1))

    def _track(self, track: Track, made: dict[str, Any], at: int) -> None:
        poses = track.poses[at]
        polygons = [placed(poses, k, outline) for k, outline, _ in made["shapes"]]
        for line, _ in made["lines"]:
            points = track.lines[at, line["first"] : line["first"] + line["count"]]
            if len(points) == 1:
                polygons.append(circle(points[0], 0.022 * self.size))
            polygons += [capsule(a, b, 0.014 * self.size) for a, b in pairwise(points)]
        made["polygons"].set_verts([np.nan_to_num(each, nan=1e9, posinf=1e9, neginf=-1e9) for each in polygons])
        where = lambda part, e: placed(poses, part["bodies"][e], part["at"][e])
        made["links"].set_segments([zigzag(where(link, 0), where(link, 1), link["kind"], self.size) for link in self.what["links"]])
        shown = [joint for joint in self.what["joints"] if joint["kind"] not in ("gear", "skate", "rolling", "rack-and-pinion")]
        ends = np.array([[where(joint, 0), where(joint, 1)] for joint in shown]).reshape(-1, 2, 2)
        pins = [ends[:, 1]] + [
            track.lines[at, line["first"] : line["first"] + line["count"]] for line, _ in made["lines"] if 1 < line["count"] <= 40
        ]
        made["joints"].set_data(*np.concatenate(pins).T)
        held = [n for n, joint in enumerate(shown) if joint["kind"] in ("revolute", "fixed")]
        open_ = [n for n in held if np.linalg.norm(ends[n, 1] - ends[n, 0]) > APART * self.size]
        made["gaps"].set_segments(ends[open_])
        for past, path in made["traces"]:
            past.set_data(*path[: at + 1].T)
        if "arrows" in made:
            made["arrows"].set_segments(self._arrows(track, at, made["longest"], poses))

    def _arrows(self, track: Track, at: int, longest: float, poses) -> list[np.ndarray]:
        parts = [*self.what["joints"], *(link for link in self.what["links"] if link["kind"] == "distance")]
        found = []
        for part, force in zip(parts, track.forces[at], strict=True):
            foot = placed(poses, part["bodies"][1], part["at"][1])
            vector = force / longest * 0.2 * self.size
            if np.linalg.norm(vector) > 0.01 * self.size:
                tip, side = foot + vector, np.array([-vector[1], vector[0]])
                scale = 0.03 * self.size / np.linalg.norm(vector)
                left, right = tip - scale * vector + 0.45 * scale * side, tip - scale * vector - 0.45 * scale * side
                found.append(np.array([foot, tip, left, tip, right]))
        return found


def outlines(shape: dict[str, Any], size: float) -> list[np.ndarray]:
    """Polygons of a shape in the frame of its body."""
    kind = shape["kind"]
    if kind == "sketch":
        return _sketch(np.array(shape["points"], dtype=float).reshape(-1, 2), shape.get("slides"), size)
    if kind == "rod":
        half = shape["length"] / 2
        corners = capsule((-half, 0.0), (half, 0.0), min(max(shape["width"], 0.012 * size), 0.4 * shape["length"]))
    elif kind == "box":
        a, b = np.array(shape["size"]) / 2
        corners = np.array([(-a, -b), (a, -b), (a, b), (-a, b)])
    elif kind == "polygon":
        corners = np.array(shape["corners"])
    else:
        corners = circle((0.0, 0.0), shape["radius"])
        if shape.get("inner"):  # a ring: there and back around the hole
            corners = np.concatenate([corners, corners[:1], circle((0.0, 0.0), shape["inner"])[::-1]])
        corners = np.concatenate([corners, [(shape["radius"], 0.0), (shape.get("inner", 0.0), 0.0)]])  # a spoke
    c, s = np.cos(shape["axes"]), np.sin(shape["axes"])
    return [corners @ np.array([[c, s], [-s, c]]) + shape["centre"]]


def _sketch(points: np.ndarray, slides, size: float) -> list[np.ndarray]:
    """A body without a shape: what holds its joints together; a block where it slides."""
    if len(points) <= 1 and slides:
        u = np.array(slides) / np.linalg.norm(slides)
        block = np.array([(-1.5, -1), (1.5, -1), (1.5, 1), (-1.5, 1)]) * 0.02 * size
        return [block @ np.array([u, (-u[1], u[0])])]
    if len(points) >= 3:
        from scipy.spatial import ConvexHull, QhullError

        try:
            return [points[ConvexHull(points).vertices]]
        except QhullError:  # all on one line
            far = points[np.argsort(points @ (points[-1] - points[0]))]
            return [capsule(far[0], far[-1], 0.014 * size)]
    if len(points) == 2:
        return [capsule(points[0], points[1], 0.014 * size)]
    mass = circle((0.0, 0.0), 0.02 * size)
    if len(points) == 1 and np.linalg.norm(points[0]) > 1e-6 * size:
        return [capsule((0.0, 0.0), points[0], 0.012 * size), mass]
    return [mass]


def circle(centre, radius: float) -> np.ndarray:
    """Corners of a circle."""
    angles = np.linspace(0, 2 * np.pi, ROUND, endpoint=False)
    return np.asarray(centre) + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)


def capsule(a, b, width: float) -> np.ndarray:
    """A bar with round ends."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    turn = np.arctan2(*(b - a)[::-1])
    half = np.linspace(-np.pi / 2, np.pi / 2, ROUND // 2)
    ends = [centre + width / 2 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
            for centre, angles in ((b, turn + half), (a, turn + np.pi + half))]  # fmt: skip
    return np.concatenate(ends)


def zigzag(a: np.ndarray, b: np.ndarray, kind: str, size: float) -> np.ndarray:
    """A spring between two points; other links are straight."""
    if kind != "spring":
        return np.array([a, b])
    along = b - a
    across = np.array([-along[1], along[0]]) / (np.linalg.norm(along) or 1.0) * 0.02 * size
    s = np.concatenate([[0.0, 0.12], np.linspace(0.14, 0.86, 16), [0.88, 1.0]])
    side = np.concatenate([[0.0, 0.0], np.tile([1.0, -1.0], 8), [0.0, 0.0]])
    return a + s[:, None] * along + side[:, None] * across


def mixed(colour, other, part: float) -> tuple[float, ...]:
    """A colour on the way to another."""
    return tuple((1 - part) * np.array(to_rgb(colour)) + part * np.array(to_rgb(other)))
