"""Peaucellier's linkage: seven moving bars whose tip moves on an exact straight line."""

from __future__ import annotations

import numpy as np

from .from_bodies import problem_of
from .problem import Problem

LONG, SHORT, CRANK = 1.0, 0.4, 0.35  # m


def peaucellier(*, swing: float = 0.6, speed: float = 3.0, t_end: float = 5.0) -> Problem:
    """Return the linkage with its crank led to and fro by swing sin(speed t).

    Two long bars from O to the corners B and D, four short bars in a rhombus B P D Q, and a crank of length CRANK
    whose pin on the ground is as far from O, so that P moves on a circle through O and Q on a straight line:
    |OP| |OQ| = LONG² - SHORT². Points "P" and "Q"; `sol["Q"].position` has a constant x.

    Parameters
    ----------
    swing : float
        Amplitude of the crank, rad.
    speed : float
        rad/s.
    t_end : float
        End in seconds.
    """
    from ..multibody import Mechanism, rod

    joints = places(0.0)
    m = Mechanism(gravity=(0.0, -9.81))
    for name, (first, second) in BARS.items():
        m.body(name, rod(joints[first], joints[second], mass=1.0 if name.startswith("long") else 0.5))
    m.revolute("O1", m.ground, "long 1", at=joints["O"])
    m.revolute("O2", m.ground, "long 2", at=joints["O"])
    m.revolute("M", m.ground, "crank", at=joints["M"])
    for name, first, second, place in (
        ("B1", "long 1", "short BP", "B"), ("B2", "long 1", "short BQ", "B"),
        ("D1", "long 2", "short DP", "D"), ("D2", "long 2", "short DQ", "D"),
        ("P1", "short BP", "short DP", "P"), ("P2", "short BP", "crank", "P"), ("Q", "short BQ", "short DQ", "Q"),
    ):  # fmt: skip
        m.revolute(name, first, second, at=joints[place])
    m.point("tip", "short BQ", joints["Q"])
    m.drive("M", angle=lambda t: swing * np.sin(speed * t))

    def exact(t):
        step = 1e-30
        now = absolute(swing * np.sin(speed * t) + 1j * step * swing * speed * np.cos(speed * t))
        return np.real(now), np.imag(now) / step

    return problem_of(
        m, name="peaucellier", title="Peaucellier's straight-line linkage", t_end=t_end, exact=exact,
        source="own, closed form",
        notes="Seven bars, three loops; the tip's distance from the line is a test of closure.",
    )  # fmt: skip


BARS = {
    "long 1": ("O", "B"), "long 2": ("O", "D"), "short BP": ("B", "P"), "short DP": ("D", "P"), "short BQ": ("B", "Q"),
    "short DQ": ("D", "Q"), "crank": ("M", "P"),
}  # fmt: skip


def places(angle):
    """Return the joints at one angle of the crank; the angle may be complex, for derivatives."""
    P = (CRANK * (1 + np.cos(angle)), CRANK * np.sin(angle))
    reach = np.sqrt(P[0] * P[0] + P[1] * P[1])
    along = (P[0] / reach, P[1] / reach)
    far = (LONG**2 - SHORT**2) / reach
    middle = (reach + far) / 2
    height = np.sqrt(LONG**2 - middle * middle)
    B = (along[0] * middle - along[1] * height, along[1] * middle + along[0] * height)
    D = (along[0] * middle + along[1] * height, along[1] * middle - along[0] * height)
    Q = (along[0] * far, along[1] * far)
    return {"O": (0.0, 0.0), "M": (CRANK, 0.0), "P": P, "Q": Q, "B": B, "D": D}


def absolute(angle):
    """Return x, y and angle of all bars; arctan of a complex ratio, so that a complex step goes through."""
    joints, q = places(angle), []
    for first, second in BARS.values():
        (x1, y1), (x2, y2) = joints[first], joints[second]
        direction = np.arctan2(np.real(y2 - y1), np.real(x2 - x1))
        # the change of direction beyond its real value, to first order
        c, s = np.cos(direction), np.sin(direction)
        across, along = c * (y2 - y1) - s * (x2 - x1), c * (x2 - x1) + s * (y2 - y1)
        q += [(x1 + x2) / 2, (y1 + y2) / 2, direction + across / along]
    return np.array(q)
