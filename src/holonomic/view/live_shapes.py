"""Shapes that follow the sliders of a live page: where joints, springs and points sit on their bodies.

They do so in straight lines (a point in the frame of a body is a difference of two drawn points, turned by a constant), so a
page needs the slope of each number by each slider and no formula. A rod reaches to the joint at its end, wherever that moves;
other bodies keep their shape, and a stem goes from it to a joint that has left it.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import param_names
from .live_sliders import Slider

PARTS = ("joints", "links", "points")
AT_END = 0.02  # of the length of a rod: a joint so close to its end sits there
STRAIGHT = 1e-9  # of the size of a number: what is left of it where it does not move in a straight line


def following(what: dict[str, Any], sol, sliders: list[Slider]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the description with stems, and its moving numbers: the path to each, its value, slopes by slider."""
    resolver, model, data = sol.trail.mechanism, sol.plan.model, sol.trail.data
    if resolver is None:
        return what, []

    def described(slider: Slider, value: float) -> dict[tuple, float]:
        changed = np.array(data, dtype=float)
        name, entry = slider.param  # type: ignore[misc]
        changed[model.places[name][0].start + entry] = value
        return _numbers(resolver.description(param_names(changed, model.places)))

    moves: dict[tuple, dict[int, float]] = {}
    now = _numbers(what)
    for number, slider in enumerate(sliders):
        if slider.param is None or slider.param[0] not in model.places:
            continue
        low, high = described(slider, slider.low), described(slider, slider.high)
        for path, value in now.items():
            slope = (high[path] - low[path]) / (slider.high - slider.low)
            if abs(low[path] + slope * (slider.value - slider.low) - value) > STRAIGHT * (1.0 + abs(value)):
                raise BadArgument(f"live={{{slider.name!r}: ...}}: a page cannot draw what it changes. Leave it out.")
            if slope != 0.0:
                moves.setdefault(path, {})[number] = slope
    what = copy.deepcopy(what)
    made = [_move(path, now[path], slopes) for path, slopes in moves.items()]
    for body, at, paths in _held(what, moves):
        shapes = what["bodies"][body]["shapes"]
        number, corner = _end_of_rod(shapes, at)
        if number is None:
            number, corner = len(shapes), 1
            shapes.append({"kind": "sketch", "points": [shapes[0].get("centre", [0.0] * len(at)), list(at)], "slides": None})
        made += [_move(("bodies", body, "shapes", number, "points", corner, path[-1]), now[path], moves[path]) for path in paths]
    return what, made


def _end_of_rod(shapes: list[dict[str, Any]], at: list[float]) -> tuple[int | None, int]:
    """The number of the rod that ends here, now a bar between two points, and which of its ends; None: no rod does."""
    for number, shape in enumerate(shapes):
        if shape["kind"] == "rod":
            axes = np.array(shape["axes"])
            half = 0.5 * shape["length"] * (np.array([np.cos(axes), np.sin(axes)]) if len(at) == 2 else axes[:, 0])
            ends = [np.array(shape["centre"]) - half, np.array(shape["centre"]) + half]
        elif shape["kind"] == "sketch" and "width" in shape:
            ends = [np.array(point) for point in shape["points"]]
        else:
            continue
        gaps = [float(np.linalg.norm(end - at)) for end in ends]
        if min(gaps) <= AT_END * float(np.linalg.norm(ends[1] - ends[0])):
            points = [end.tolist() for end in ends]
            shapes[number] = {"kind": "sketch", "points": points, "slides": None, "width": shape["width"]}
            return number, int(np.argmin(gaps))
    return None, 0


def _move(path: tuple, value: float, slopes: dict[int, float]) -> dict[str, Any]:
    return {"path": list(path), "value": value, "slopes": [[number, slope] for number, slope in slopes.items()]}


def _numbers(what: dict[str, Any]) -> dict[tuple, float]:
    """Numbers of joints, links and points by their paths."""
    found: dict[tuple, float] = {}

    def walk(part, path):
        if isinstance(part, dict):
            for name, each in part.items():
                if name in ("at", "axis", "radii"):
                    walk(each, (*path, name))
        elif isinstance(part, list):
            for number, each in enumerate(part):
                walk(each, (*path, number))
        elif isinstance(part, float):
            found[path] = part

    for kind in PARTS:
        for number, part in enumerate(what[kind]):
            walk(part, (kind, number))
    return found


def _held(what, moves) -> list[tuple[int, list[float], list[tuple]]]:
    """Bodies with the places on them that move, and the paths of these."""
    found = []
    for kind in ("joints", "links"):
        for number, part in enumerate(what[kind]):
            for end, (body, at) in enumerate(zip(part["bodies"], part["at"], strict=True)):
                paths = [path for axis in range(len(at)) if (path := (kind, number, "at", end, axis)) in moves]
                if body >= 0 and paths:
                    found.append((body, at, paths))
    return found
