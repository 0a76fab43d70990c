"""Scotch yoke: a crank pin in a slot makes a yoke move by the cosine."""

from __future__ import annotations

import numpy as np

from .from_bodies import problem_of
from .problem import Problem


def scotch_yoke(*, radius: float = 0.3, speed: float = 5.0, t_end: float = 4.0) -> Problem:
    """Return a yoke driven at constant speed: no freedom left, so the run gives the drive's torque.

    Bodies "crank" (1 kg) and "yoke" (2 kg); joints "O", "guide" and the pin-in-slot joint "pin". The torque of the
    drive, `sol["O"].torque`, is -m r² ω² sin φ cos φ with the mass m of the yoke.

    Parameters
    ----------
    radius : float
        Of the crank pin, m.
    speed : float
        Of the crank, rad/s.
    t_end : float
        End in seconds.
    """
    from ..multibody import Mechanism, box, rod

    m = Mechanism(gravity=(0.0, 0.0))
    m.body("crank", rod((0.0, 0.0), (radius, 0.0), mass=1.0))
    m.body("yoke", box((radius + 0.2, 0.0), (0.4, 0.1), mass=2.0))
    m.revolute("O", m.ground, "crank", at=(0.0, 0.0))
    m.prismatic("guide", m.ground, "yoke", at=(radius + 0.2, 0.0), axis=(1.0, 0.0))
    m.pin_in_slot("pin", "yoke", "crank", at=(radius, 0.0), axis=(0.0, 1.0))
    m.drive("O", speed=speed)

    def exact(t):
        c, s = np.cos(speed * t), np.sin(speed * t)
        q = [radius / 2 * c, radius / 2 * s, speed * t, 0.2 + radius * c, 0.0, 0.0]
        v = [-radius / 2 * s * speed, radius / 2 * c * speed, speed, -radius * s * speed, 0.0, 0.0]
        return np.array(q), np.array(v)

    return problem_of(
        m, name="scotch-yoke", title="Scotch yoke", t_end=t_end, exact=exact, source="own, closed form",
        notes="Inverse dynamics: 6 coordinates, 6 constraints.",
    )  # fmt: skip
