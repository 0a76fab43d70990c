"""Disk that rolls on a plane without slipping: two velocity constraints that cannot be integrated."""

from __future__ import annotations

import numpy as np

from .from_bodies import problem_of
from .problem import Problem


def rolling_disk(
    *, radius: float = 0.2, circle: float = 1.5, lean: float = 0.3, mass: float = 1.0, g: float = 9.81, t_end: float = 5.0
) -> Problem:
    """Return a thin disk that leans by a constant angle while its centre goes round a circle.

    Moments about the centre give the turning rate: Ω² (A sin β + C R/r + m r R) cos β = m g r sin β, with A = m r²/4
    and C = m r²/2. Read `sol["disk"].position` and `sol["plane"].force`.

    Parameters
    ----------
    radius, circle : float
        Of the disk, and of the circle its centre moves on, m.
    lean : float
        Angle of the disk's plane from the vertical, rad.
    mass, g : float
        kg, m/s².
    t_end : float
        End in seconds.
    """
    from ..multibody import Mechanism, disk

    r, R = radius, circle
    axis = np.array([0.0, np.cos(lean), np.sin(lean)])
    centre = np.array([0.0, 0.0, r * np.cos(lean)])
    m = Mechanism(gravity=(0.0, 0.0, -g))
    m.body("disk", disk(centre, r, mass=mass, axis=axis))
    m.rolling("plane", m.ground, "disk", at=((0.0, 0.0, 0.0), centre), axis=axis, radius=r)
    turn = np.sqrt(g * r * np.tan(lean) / (r**2 / 4 * np.sin(lean) + r * R / 2 + r * R))
    spin = -turn * (R / r + np.sin(lean))  # about the disk's own axis, besides the turning
    q0 = m.assembly.q

    def exact(t):
        about_z, about_x = turn * t, spin * t
        middle = np.array([0.0, -R, 0.0])
        position = middle + np.array([-R * np.sin(about_z), R * np.cos(about_z), r * np.cos(lean)])
        # first the spin about the body's own x axis, then the turning about the vertical
        e = multiply((np.cos(about_z / 2), 0.0, 0.0, np.sin(about_z / 2)),
                     multiply(q0[3:], (np.cos(about_x / 2), np.sin(about_x / 2), 0.0, 0.0)))  # fmt: skip
        velocity = -turn * R * np.array([np.cos(about_z), np.sin(about_z), 0.0])
        up = rotated_back(e, (0.0, 0.0, 1.0))
        w = turn * np.array(up) + spin * np.array([1.0, 0.0, 0.0])
        return np.concatenate([position, e]), np.concatenate([velocity, w])

    made = problem_of(
        m, name="rolling-disk", title="Disk rolling on a plane", t_end=t_end, exact=exact, source="own, closed form",
        notes="The steady motion is stable for these numbers; wobbles would grow out of errors otherwise.",
    )  # fmt: skip
    v0 = tuple(exact(0.0)[1].tolist())
    return Problem(**{**{name: getattr(made, name) for name in made.__dataclass_fields__}, "v0": v0})


def multiply(a, b) -> np.ndarray:
    """Return the product of two quaternions: first rotate by b, then by a."""
    a0, a1, a2, a3 = a
    b0, b1, b2, b3 = b
    return np.array([
        a0 * b0 - a1 * b1 - a2 * b2 - a3 * b3, a0 * b1 + a1 * b0 + a2 * b3 - a3 * b2,
        a0 * b2 - a1 * b3 + a2 * b0 + a3 * b1, a0 * b3 + a1 * b2 - a2 * b1 + a3 * b0,
    ])  # fmt: skip


def rotated_back(e, vector) -> np.ndarray:
    """Return the components of a vector of the ground along the body's axes."""
    e0, rest = e[0], -np.asarray(e[1:])
    u = np.asarray(vector)
    return u + 2 * np.cross(rest, np.cross(rest, u) + e0 * u)
