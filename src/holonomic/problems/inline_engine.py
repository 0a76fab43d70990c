"""Four-cylinder engine, seen from the front: four slider-cranks on one shaft."""

from __future__ import annotations

import numpy as np

from .from_bodies import problem_of
from .problem import Problem

CRANK, ROD = 0.045, 0.15  # m
SHAFT, CONROD, PISTON = 5.0, 0.6, 0.4  # kg


def inline_engine(*, speed: float = 300.0, t_end: float = 0.1) -> Problem:
    """Return an engine whose shaft turns at constant speed; cranks of cylinders 2 and 3 stand opposite 1 and 4.

    Bodies "shaft", "rod 1" .., "piston 1" ..; joints "main", "crank pin 1" .., "piston pin 1" .., "bore 1" ... The
    first-order forces balance, so `sol["main"].force` shows twice the shaft's frequency.

    Parameters
    ----------
    speed : float
        Of the shaft, rad/s.
    t_end : float
        End in seconds.
    """
    from ..multibody import Mechanism, disk, rod

    m = Mechanism(gravity=(0.0, 0.0))
    m.body("shaft", disk((0.0, 0.0), 0.06, mass=SHAFT))
    m.revolute("main", m.ground, "shaft", at=(0.0, 0.0))
    signs = (1.0, -1.0, -1.0, 1.0)
    for number, sign in enumerate(signs, start=1):
        pin, head = (0.0, sign * CRANK), (0.0, sign * CRANK + ROD)
        m.body(f"rod {number}", rod(pin, head, mass=CONROD))
        m.body(f"piston {number}", at=head, mass=PISTON)
        m.revolute(f"crank pin {number}", "shaft", f"rod {number}", at=pin)
        m.revolute(f"piston pin {number}", f"rod {number}", f"piston {number}", at=head)
        m.prismatic(f"bore {number}", m.ground, f"piston {number}", at=head, axis=(0.0, 1.0))
    m.drive("main", speed=speed)

    def exact(t):
        step = 1e-30
        now = places(speed * (t + 1j * step), signs)
        return np.real(now), np.imag(now) / step

    return problem_of(
        m, name="inline-engine", title="Four-cylinder engine", t_end=t_end, exact=exact, source="own, closed form",
        notes="27 coordinates, 27 constraints: inverse dynamics of a balanced engine.",
    )  # fmt: skip


def places(angle, signs) -> np.ndarray:
    """Return x, y and angle of all bodies; the angle may be complex, for derivatives."""
    q = [0.0 * angle, 0.0 * angle, angle]
    for sign in signs:
        x, y = -sign * CRANK * np.sin(angle), sign * CRANK * np.cos(angle)
        tilt = np.arcsin(-x / ROD)  # of the rod from the vertical, to the right
        top = y + ROD * np.cos(tilt)
        q += [x / 2, (y + top) / 2, np.pi / 2 - tilt, 0.0 * angle, top, 0.0 * angle]
    return np.array(q)
