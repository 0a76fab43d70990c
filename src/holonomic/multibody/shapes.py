"""Shapes: they know their centre, their inertia and how they are drawn.

Points with two numbers make planar shapes, with three spatial ones; lengths in m, masses in kg. The inertia
of a planar shape is that of a thin slice about the normal of the plane.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import says_what_it_takes
from ..model.given_numbers import LOOKS_LIKE_ONE, TRUTH, floats
from .parameters import number
from .small_vectors import cross


@dataclass(frozen=True)
class Shape:
    """A homogeneous shape.

    Parameters
    ----------
    kind : str
        "rod", "box", "disk", "polygon", "cylinder" or "sphere".
    mass : float or None
        kg; None: the body says it.
    centre : tuple of float
        Centre of mass in the drawing, m.
    axes : float or 3 x 3 array
        Angle of the shape's x axis (planar), or its axes as columns (spatial).
    inertia : float or 3 x 3 array
        Inertia for a mass of 1 kg about the centre along the shape's axes, m².
    size : float
        Largest distance of a point from the centre, m.
    outline : dict
        What is drawn, in the shape's own axes.
    """

    kind: str
    mass: float | None
    centre: tuple[float, ...]
    axes: Any
    inertia: Any
    size: float
    outline: dict[str, Any] = field(default_factory=dict, repr=False)

    def with_mass(self, mass: float) -> Shape:
        """Return the same shape with another mass."""
        return replace(self, mass=float(mass))


@says_what_it_takes
def rod(start, end, mass: float | None = None, *, width: float | None = None) -> Shape:
    """Return a slender rod from one point to another; its x axis runs along it.

    Parameters
    ----------
    start, end : sequence of float
        The ends in the drawing, m.
    mass : float
        kg.
    width : float, optional
        Width it is drawn with, m; a fifteenth of its length if not given. In space it also gives the small
        inertia about the rod's own axis, that of a round rod.

    Returns
    -------
    Shape
        For `m.body(name, shape)`: mass, centre, axes and inertia.
    """
    start, end = point(start, "start of a rod"), point(end, "end of a rod", len(start))
    whole = np.subtract(end, start)
    length = _positive(math.sqrt(whole.dot(whole)), "the length of a rod")
    outline = {"length": length, "width": length / 15 if width is None else _positive(width, "width of a rod")}
    centre = tuple((a + b) / 2 for a, b in zip(start, end, strict=True))
    across = length**2 / 12
    along = whole / length
    inertia = across if len(start) == 2 else np.diag([outline["width"] ** 2 / 8, across, across])
    return Shape("rod", _mass(mass, "rod"), centre, _axes_along_x(along), inertia, length / 2, outline)


@says_what_it_takes
def box(at, size, mass: float | None = None, *, angle: float = 0.0, axes=None) -> Shape:
    """Return a rectangle (two sizes) or a cuboid (three sizes) around its centre.

    Parameters
    ----------
    at : sequence of float
        Centre in the drawing, m.
    size : sequence of float
        Full lengths along its axes, m.
    mass : float
        kg.
    angle : float
        Of the x axis of a rectangle, rad.
    axes : 3 x 3 array, optional
        Axes of a cuboid as columns; the ground's if not given.

    Returns
    -------
    Shape
        For `m.body(name, shape)`: mass, centre, axes and inertia.
    """
    at = point(at, "centre of a box")
    size = point(size, "size of a box", len(at))
    for length in size:
        _positive(length, "each size of a box")
    squares = [length**2 / 12 for length in size]
    if len(at) == 2:
        inertia, turned = squares[0] + squares[1], number("angle of a box", angle)
    else:
        inertia = np.diag([squares[1] + squares[2], squares[0] + squares[2], squares[0] + squares[1]])
        turned = np.eye(3) if axes is None else rotation_matrix(axes, "axes of a box")
    reach = float(np.linalg.norm(size)) / 2
    return Shape("box", _mass(mass, "box"), at, turned, inertia, reach, {"size": size})


@says_what_it_takes
def plate(at, size, mass: float | None = None, *, angle: float = 0.0, axes=None) -> Shape:
    """Return a thin rectangular plate around its centre; in space its normal is the third of its axes.

    Parameters
    ----------
    at : sequence of float
        Centre in the drawing, m.
    size : (float, float)
        Full lengths, m.
    mass, angle, axes
        As for `box`.

    Returns
    -------
    Shape
        For `m.body(name, shape)`: mass, centre, axes and inertia.
    """
    at = point(at, "centre of a plate")
    flat = box(at[:2], size, mass, angle=angle)
    if len(at) == 2:
        return flat
    a, b = (length**2 / 12 for length in flat.outline["size"])
    turned = np.eye(3) if axes is None else rotation_matrix(axes, "axes of a plate")
    outline = {"size": (*flat.outline["size"], 0.0)}
    return Shape("box", flat.mass, at, turned, np.diag([b, a, a + b]), flat.size, outline)


@says_what_it_takes
def disk(at, radius: float, mass: float | None = None, *, inner: float = 0.0, axis=None, angle: float = 0.0) -> Shape:
    """Return a thin disk, or a ring with an inner radius; in space its x axis is the given axis.

    Parameters
    ----------
    at : sequence of float
        Centre in the drawing, m.
    radius, inner : float
        Outer and inner radius, m.
    mass : float
        kg.
    axis : sequence of float, optional
        Normal of a disk in space; z if not given.
    angle : float
        Angle of a planar disk's x axis, rad.

    Returns
    -------
    Shape
        For `m.body(name, shape)`: mass, centre, axes and inertia.
    """
    at = point(at, "centre of a disk")
    radius = _positive(radius, "radius of a disk")
    inner = _inner(inner, radius, "disk")
    polar = (radius**2 + inner**2) / 2
    outline = {"radius": radius, "inner": inner}
    if len(at) == 2:
        return Shape("disk", _mass(mass, "disk"), at, number("angle of a disk", angle), polar, radius, outline)
    turned = _axes_along_x(_direction((0, 0, 1) if axis is None else axis, "axis of a disk"))
    inertia = np.diag([polar, polar / 2, polar / 2])
    return Shape("disk", _mass(mass, "disk"), at, turned, inertia, radius, outline)


@says_what_it_takes
def polygon(points, mass: float | None = None) -> Shape:
    """Return a homogeneous planar polygon; its axes are those of the ground.

    Parameters
    ----------
    points : sequence of (float, float)
        Corners in order, m. The sides must not cross.
    mass : float
        kg.

    Returns
    -------
    Shape
        For `m.body(name, shape)`: mass, centre, axes and inertia.
    """
    if np.ndim(np.asarray(points, dtype=object)) < 1 or len(points) < 3:
        raise BadArgument(f"a polygon needs at least three corners, points in a list; got {points!r}.")
    corners = np.array([point(corner, "corner of a polygon", 2) for corner in points])
    following = np.roll(corners, -1, axis=0)
    weights = corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]
    area = weights.sum() / 2
    if abs(area) < 1e-14 * np.ptp(corners) ** 2:
        raise BadArgument("the corners of the polygon lie on one line: it has no area. Use rod(start, end).")
    middle = (weights[:, None] * (corners + following)).sum(axis=0) / (6 * area)
    corners, following = corners - middle, following - middle
    weights = corners[:, 0] * following[:, 1] - following[:, 0] * corners[:, 1]
    squares = np.sum(corners**2 + corners * following + following**2, axis=1)
    inertia = float(weights @ squares / (12 * area))
    if inertia <= 0.0:
        raise BadArgument("the sides of the polygon cross each other. Give the corners in order around it.")
    reach = float(np.max(np.linalg.norm(corners, axis=1)))
    outline = {"corners": tuple(map(tuple, corners.tolist()))}
    return Shape("polygon", _mass(mass, "polygon"), tuple(middle.tolist()), 0.0, inertia, reach, outline)


@says_what_it_takes
def cylinder(start, end, radius: float, mass: float | None = None, *, inner: float = 0.0) -> Shape:
    """Return a cylinder in space between the centres of its ends; its x axis runs along it.

    Parameters
    ----------
    start, end : sequence of three floats
        Centres of the ends in the drawing, m.
    radius, inner : float
        Outer and inner radius, m.
    mass : float
        kg.

    Returns
    -------
    Shape
        For `m.body(name, shape)`: mass, centre, axes and inertia.
    """
    bar = rod(point(start, "start of a cylinder", 3), end, mass)
    radius = _positive(radius, "radius of a cylinder")
    inner = _inner(inner, radius, "cylinder")
    length, rings = bar.outline["length"], radius**2 + inner**2
    across = length**2 / 12 + rings / 4
    outline = {"length": length, "radius": radius, "inner": inner}
    reach = float(np.hypot(length / 2, radius))
    inertia = np.diag([rings / 2, across, across])
    return Shape("cylinder", bar.mass, bar.centre, bar.axes, inertia, reach, outline)


@says_what_it_takes
def sphere(at, radius: float, mass: float | None = None) -> Shape:
    """Return a homogeneous sphere in space.

    Parameters
    ----------
    at : sequence of three floats
        Centre in the drawing, m.
    radius : float
        m.
    mass : float
        kg.

    Returns
    -------
    Shape
        For `m.body(name, shape)`: mass, centre, axes and inertia.
    """
    radius = _positive(radius, "radius of a sphere")
    inertia = np.eye(3) * (2 / 5 * radius**2)
    at = point(at, "centre of a sphere", 3)
    return Shape("sphere", _mass(mass, "sphere"), at, np.eye(3), inertia, radius, {"radius": radius})


def point(given, what: str, dimension: int | None = None) -> tuple[float, ...]:
    """Return a point as a tuple of floats, or say what is wrong with it."""
    if type(given) is tuple and len(given) in ((2, 3) if dimension is None else (dimension,)):  # nearly all, of thousands
        if all(type(each) in (float, int) and -1e300 < each < 1e300 for each in given):
            return tuple(map(float, given))
    try:
        parts = list(given)
        letters = any(isinstance(each, (*TRUTH, *LOOKS_LIKE_ONE)) for each in parts)
        if letters or isinstance(given, bytes | Set | Mapping):  # numbers in no order, or none
            raise TypeError
        numbers = tuple(float(each) for each in parts)
    except (TypeError, ValueError, OverflowError):
        raise BadArgument(f"{what} must be a point such as (0, 0), got {given!r}.") from None
    if dimension is not None and len(numbers) != dimension:
        raise BadArgument(f"{what} needs {dimension} numbers, got {given!r}.")
    if len(numbers) not in (2, 3) or not np.all(np.isfinite(numbers)):
        raise BadArgument(f"{what} must be two (planar) or three (spatial) finite numbers, got {given!r}.")
    return numbers


def rotation_matrix(given, what: str) -> np.ndarray:
    """Return a rotation matrix, checked."""
    try:
        matrix = floats(given)
    except (TypeError, ValueError, OverflowError):
        matrix = np.zeros(0)
    if matrix.shape != (3, 3) or not np.allclose(matrix.T @ matrix, np.eye(3), atol=1e-9):
        raise BadArgument(f"{what} must be three orthogonal unit vectors as columns, got {given!r}.")
    if np.linalg.det(matrix) < 0:
        raise BadArgument(f"{what} are left-handed; swap two of them.")
    return matrix


def _axes_along_x(direction):
    """Angle (planar) or axes (spatial) whose x axis has this direction."""
    if len(direction) == 2:
        return float(np.arctan2(direction[1], direction[0]))
    return axes_from(direction)


def axes_from(direction, second=None) -> np.ndarray:
    """Axes as columns: the first along a direction, the second near another one (any, if not given)."""
    x = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    second = second_axis(x) if second is None else second
    y = np.asarray(second, dtype=float) - x * float(np.dot(second, x))
    y = y / np.linalg.norm(y)
    return np.array([x, y, cross(x.tolist(), y.tolist())]).T


def second_axis(x) -> np.ndarray:
    """A direction for the second axis: level where that makes sense, so for x in the x-y plane it lies in that plane."""
    return np.array(cross((0.0, 0.0, 1.0), x) if abs(x[2]) < 0.9 else (0.0, 1.0, 0.0))


def _direction(given, what: str):
    vector = np.array(point(given, what))
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise BadArgument(f"{what} has no direction: {given!r}.")
    return vector / length


def _positive(value, what: str) -> float:
    try:
        found = number(what, value)
    except BadArgument:
        found = np.nan
    if not (found > 0.0 and np.isfinite(found)):
        raise BadArgument(f"{what} must be a positive number, got {value!r}.")
    return found


def _inner(value, radius: float, kind: str) -> float:
    inner = number(f"inner= of a {kind}", value)
    if not 0.0 <= inner < radius:
        raise BadArgument(f"inner={inner!r} of a {kind} must lie between 0 and its radius {radius:g}.")
    return inner


def _mass(mass, kind: str) -> float | None:
    return None if mass is None else _positive(mass, f"mass of a {kind}")
