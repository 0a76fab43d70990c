"""How parts of a mechanism move in a run: points, frames, bodies.

Time is the first axis. Vectors are in the ground frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .energy_views import kinetic_energy
from .view import View

if TYPE_CHECKING:
    from .results import Record


class PointView(View):
    """A point of a body: position, velocity, acceleration; m, m/s, m/s²."""

    def __init__(self, record: Record, mark):
        self._record, self._mark = record, mark

    def _title(self) -> str:
        return "point"

    @property
    def position(self) -> np.ndarray:
        r = self._record
        return r.out(r.place(self._mark)[0])

    @property
    def velocity(self) -> np.ndarray:
        r = self._record
        return r.out(r.kit.motion(r.q, r.v, r.p, self._mark)[0])

    @property
    def acceleration(self) -> np.ndarray:
        r = self._record
        return r.out(r.kit.acceleration_of(r.q, r.v, r.a, r.p, self._mark))


class FrameView(PointView):
    """A frame of a body: a point with axes."""

    @property
    def rotation(self) -> np.ndarray:
        """Axes as columns, (time, n, n)."""
        r = self._record
        axes = r.kit.axes_at(r.place(self._mark))
        stacked = np.stack([np.stack([r.full(x) for x in axis], axis=-1) for axis in axes], axis=-1)
        return stacked.reshape(r.shape + stacked.shape[1:])


class BodyView(PointView):
    """A body: position, velocity and acceleration of its centre of mass; angle, speed, kinetic energy."""

    def __init__(self, record: Record, body):
        resolver = record.resolver
        rotation = body.rotation
        if resolver.dimension == 3:
            rotation = tuple(map(tuple, np.asarray(rotation).tolist()))
        super().__init__(record, (body.index, body.origin, body.origin, rotation, None))
        self._body = body

    def _title(self) -> str:
        return f"body {self._body.name!r}"

    def _properties(self) -> list[str]:
        flat = self._record.resolver.dimension == 2
        return [name for name in super()._properties() if flat or name != "angle"]

    @property
    def angle(self) -> np.ndarray:
        """Angle in the plane, rad; it counts turns."""
        r = self._record
        return r.out(r.kit.body_angle(r.q, self._body.index))

    @property
    def rotation(self) -> np.ndarray:
        """Axes of the body as columns, (time, n, n)."""
        r = self._record
        rows = r.kit.rotation(r.q, self._body.index)
        stacked = np.stack([np.stack([r.full(x) for x in row], axis=-1) for row in rows], axis=-2)
        return stacked.reshape(r.shape + stacked.shape[1:])

    @property
    def angular_velocity(self) -> np.ndarray:
        """rad/s; in space a vector in the ground frame."""
        r = self._record
        return r.out(r.kit.motion(r.q, r.v, r.p, self._mark)[1])

    speed = angular_velocity

    @property
    def angular_acceleration(self) -> np.ndarray:
        """rad/s²; in space a vector in the ground frame."""
        r = self._record
        return r.out(r.kit.angular_acceleration(r.q, r.a, self._body.index))

    @property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy, J."""
        r = self._record
        return r.out(kinetic_energy(r, self._body))
