"""Bodies, points and frames of bodies, and how mass properties are put together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import floats
from . import shapes as sh
from .parameters import number


@dataclass(eq=False)
class Body:
    """A rigid body; made by `Mechanism.body`. Numbers are in `m.params` under "name.mass" and so on."""

    name: str
    index: int  # -1 for the ground
    mechanism: Any = field(repr=False)
    rotation: Any = 0.0  # drawn angle (planar) or drawn axes as columns (spatial)
    shapes: tuple[sh.Shape, ...] = field(default=(), repr=False)
    size: float = 0.0
    point_mass: bool = False  # without inertia of its own
    origin: tuple[str, ...] = field(default=(), repr=False)  # parameters of the drawn centre of mass

    @property
    def is_ground(self) -> bool:
        return self.index < 0

    @property
    def mass(self) -> float:
        """kg."""
        return np.inf if self.is_ground else self.mechanism.params[f"{self.name}.mass"]

    @property
    def position(self) -> tuple[float, ...]:
        """Centre of mass in the drawing, m."""
        return tuple(self.mechanism.params[key] for key in self.origin)


@dataclass(frozen=True, eq=False)
class Point:
    """A named point of a body; made by `Mechanism.point`."""

    name: str
    body: Body
    mark: tuple = field(repr=False)

    @property
    def marks(self) -> tuple:
        """Its one mark, as joints and forces have several."""
        return (self.mark,)

    @property
    def position(self) -> tuple[float, ...]:
        """Where it is drawn, m."""
        return tuple(self.body.mechanism.params[key] for key in self.mark[1])


@dataclass(frozen=True, eq=False)
class Frame(Point):
    """A named point of a body with a direction; made by `Mechanism.frame`. Joints drawn at it take its first axis."""


@dataclass(frozen=True)
class MassProperties:
    """Mass, centre of mass, frame and inertia about the centre of mass along the frame's axes."""

    mass: float
    centre: tuple[float, ...]
    rotation: Any
    inertia: Any  # number, 3 x 3 array, or None: a point mass
    size: float
    shapes: tuple[sh.Shape, ...]


def combine(name, dimension, shapes, at, angle, mass, inertia, com, about) -> MassProperties:
    """Put together what `Mechanism.body` was given; everything is in the frame `at`, `angle` if there is one."""
    shapes = _checked_shapes(name, dimension, shapes, mass)
    origin, frame = _frame(name, dimension, at, angle)
    if not shapes:
        if mass is None:
            raise BadArgument(f"body {name!r} has no mass. Give mass=, or a shape such as rod(start, end, mass=1.0).")
        if at is None:
            raise BadArgument(f"body {name!r} has no place. Give at=, or a shape such as rod(start, end, mass=1.0).")
        centre = (0.0,) * dimension if com is None else sh.point(com, f"com of body {name!r}", dimension)
        total = _mass(name, mass)
        own = None if inertia is None else _inertia(name, dimension, inertia)
        rotation = 0.0 if dimension == 2 else np.eye(3)
        size = 0.0
    else:
        if inertia is not None or com is not None:
            raise BadArgument(f"body {name!r}: its shape gives com and inertia. Leave com= and inertia= out.")
        if dimension == 2 and len(shapes) == 1 and at is None and about is None:  # as nearly all are
            (one,) = shapes
            check_inertia(name, one.mass * one.inertia)
            return MassProperties(one.mass, one.centre, one.axes, one.mass * one.inertia, one.size, shapes)
        total = sum(shape.mass for shape in shapes)
        weights = [shape.mass / total for shape in shapes]
        centre = tuple(np.sum([w * np.array(s.centre) for w, s in zip(weights, shapes, strict=True)], axis=0))
        rotation = shapes[0].axes
        own = sum(_moved_inertia(shape, centre, rotation) for shape in shapes)
        size = max(float(np.linalg.norm(np.subtract(s.centre, centre))) + s.size for s in shapes)
    if about is not None:
        own = _about_centre(name, own, total, sh.point(about, f"about of body {name!r}", dimension), centre)
    centre, rotation = _moved(origin, frame, centre, rotation)
    in_drawing = tuple(placed(shape, origin, frame) for shape in shapes)
    check_inertia(name, own)
    return MassProperties(total, centre, rotation, own, size, in_drawing)


def _checked_shapes(name, dimension, shapes, mass):
    for shape in shapes:
        if not isinstance(shape, sh.Shape):
            raise BadArgument(
                f"body {name!r}: {shape!r} is not a shape. Use rod, box, plate, disk, polygon, cylinder or sphere, "
                "or at= and mass=."
            )
        if len(shape.centre) != dimension:
            raise BadArgument(
                f"body {name!r}: a {shape.kind} with {len(shape.centre)} coordinates in a mechanism with {dimension}. "
                f"Give its points {dimension} numbers."
            )
    if not shapes:
        return ()
    without = [shape for shape in shapes if shape.mass is None]
    if mass is None:
        if without:
            raise BadArgument(f"body {name!r}: its {without[0].kind} has no mass. Write {without[0].kind}(..., mass=1.0).")
        return tuple(shapes)
    mass = _mass(name, mass)
    if len(shapes) > 1 or not without:
        raise BadArgument(f"body {name!r}: mass= and a shape with a mass. Give the mass once.")
    return (shapes[0].with_mass(mass),)


def _frame(name, dimension, at, angle):
    """Origin and rotation of the frame in which a body is described; the drawing's own if at= is not given."""
    plain = 0.0 if dimension == 2 else np.eye(3)
    if at is None:
        if angle is not None:
            raise BadArgument(f"body {name!r}: angle= goes with at=.")
        return (0.0,) * dimension, plain
    if np.ndim(at) == 2:  # two points: origin, and a point on the x axis
        start, end = (sh.point(given, f"at of body {name!r}", dimension) for given in at)
        if angle is not None:
            raise BadArgument(f"body {name!r}: two points at= give the angle; leave angle= out.")
        return start, sh.rod(start, end).axes
    origin = sh.point(at, f"at of body {name!r}", dimension)
    if angle is None:
        return origin, plain
    if dimension == 2:
        return origin, number(f"angle of body {name!r}", angle)
    return origin, sh.rotation_matrix(angle, f"angle (the axes) of body {name!r}")


def _moved(origin, frame, centre, rotation):
    if len(origin) == 2:
        c, s = np.cos(frame), np.sin(frame)
        x, y = centre
        return (origin[0] + c * x - s * y, origin[1] + s * x + c * y), rotation + frame
    return tuple(np.array(origin) + frame @ np.array(centre)), frame @ rotation


def placed(shape, origin, frame):
    """A shape that was stated in a frame, in the drawing."""
    centre, axes = _moved(origin, frame, shape.centre, shape.axes)
    return sh.Shape(shape.kind, shape.mass, centre, axes, shape.inertia, shape.size, shape.outline)


def _moved_inertia(shape, centre, rotation):
    """Inertia of a shape about another centre, along the body's axes (parallel axes)."""
    d = np.subtract(shape.centre, centre)
    if len(d) == 2:
        return shape.mass * (shape.inertia + float(d @ d))
    turn = np.asarray(rotation).T @ shape.axes
    d = np.asarray(rotation).T @ d
    return shape.mass * (turn @ shape.inertia @ turn.T + _offset(d))


def _about_centre(name, inertia, mass, about, centre):
    """Inertia about the centre of mass from one about another point."""
    if inertia is None:
        raise BadArgument(f"body {name!r}: about= says where inertia= was taken; give inertia= too.")
    d = np.subtract(about, centre)
    moved = inertia - mass * (float(d @ d) if len(d) == 2 else _offset(d))
    smallest = moved if len(d) == 2 else np.linalg.eigvalsh(moved)[0]
    if not smallest > 0.0:
        raise BadArgument(
            f"body {name!r}: an inertia of {np.max(inertia):g} about {about} is too small: the mass alone, "
            f"{np.linalg.norm(d):g} m away, gives {mass * float(d @ d):g}. Leave about= out if it is about the centre "
            "of mass."
        )
    return moved


def _offset(d):
    return float(d @ d) * np.eye(3) - np.outer(d, d)


def _mass(name, mass) -> float:
    given = number(f"mass of body {name!r}", mass)
    if not given > 0.0:
        raise BadArgument(f"body {name!r} has mass {given:g} kg; it must be positive. A massless link is a distance joint.")
    return given


def _inertia(name, dimension, inertia):
    if dimension == 2:
        return number(f"inertia of body {name!r} in the plane", inertia)
    try:
        given = floats(inertia)
    except (TypeError, ValueError, OverflowError):
        given = np.zeros(0)
    if given.shape == (3,):
        given = np.diag(given)
    if given.shape != (3, 3):
        raise BadArgument(f"body {name!r}: inertia in space is three numbers or a 3 x 3 array, got {inertia!r}.")
    if not np.all(np.isfinite(given)):
        raise BadArgument(f"body {name!r}: its inertia is not finite: {inertia!r}.")
    return given


def check_inertia(name, inertia) -> None:
    """Refuse what no mass distribution has."""
    if inertia is None:
        return
    if np.ndim(inertia) == 0:
        if not inertia > 0.0:
            raise BadArgument(f"body {name!r} has inertia {inertia:g} kg m²; it must be positive.")
        return
    if np.abs(inertia - inertia.T).max() > 1e-9 * np.abs(inertia).max():
        raise BadArgument(f"body {name!r}: its inertia is not symmetric.")
    principal = np.linalg.eigvalsh((inertia + inertia.T) / 2)
    if not principal[0] > 0.0:
        raise BadArgument(f"body {name!r}: its inertia has the principal value {principal[0]:.3g}; all must be positive.")
    if principal[2] > (principal[0] + principal[1]) * (1 + 1e-9):
        raise BadArgument(
            f"body {name!r}: principal inertias {principal[0]:.4g}, {principal[1]:.4g}, {principal[2]:.4g} kg m² are "
            "not physical: none may exceed the sum of the other two."
        )
