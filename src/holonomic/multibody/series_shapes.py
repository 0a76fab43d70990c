"""Shapes of bodies in series, made when somebody asks for those of one."""

from __future__ import annotations

import numpy as np

from . import shapes as sh
from .body import placed


class RodShapes:
    """Shapes of rods, made on demand."""

    def __init__(self, start, end, mass, width):
        self.start, self.end, self.mass, self.width = start, end, mass, width

    def __call__(self, which: int) -> tuple[sh.Shape, ...]:
        width = None if self.width is None else float(self.width[which])
        start, end = tuple(self.start[which].tolist()), tuple(self.end[which].tolist())
        return (sh.rod(start, end, float(self.mass[which]), width=width),)


class PlacedShapes:
    """Shapes of copies, made on demand."""

    def __init__(self, shapes, origins, angles):
        self.shapes, self.origins, self.angles = shapes, origins, angles

    def __call__(self, which: int) -> tuple[sh.Shape, ...]:
        frame = np.eye(3) if self.angles is None else float(self.angles[which])
        return tuple(placed(shape, tuple(self.origins[which].tolist()), frame) for shape in self.shapes)


class NoShapes:
    """Of point masses."""

    def __call__(self, which: int) -> tuple[sh.Shape, ...]:
        return ()


class MovedShapes:
    """Shapes of copies that are moved on, made on demand."""

    def __init__(self, shapes, move):
        self.shapes, self.move = shapes, move

    def __call__(self, which: int) -> tuple[sh.Shape, ...]:
        plain = 0.0 if self.move.shape[1] == 2 else np.eye(3)
        return tuple(placed(shape, tuple(self.move[which].tolist()), plain) for shape in self.shapes)
