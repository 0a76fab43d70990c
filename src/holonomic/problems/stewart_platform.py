"""Stewart platform: one body on six legs whose lengths are prescribed."""

from __future__ import annotations

import numpy as np

from .from_bodies import problem_of
from .problem import Problem

BASE, TOP, HEIGHT = 1.0, 0.6, 1.2  # radii of the two rings of joints and height of the platform, m
HEAVE, TURN, RATE = 0.1, 0.3, 2.0  # amplitudes in m and rad, and rad/s


def stewart_platform(*, t_end: float = 5.0) -> Problem:
    """Return a platform of 50 kg that heaves and turns about the vertical; six loops, no freedom left.

    The legs are massless actuators "leg 1" .. "leg 6" whose lengths follow from the wanted motion
    z = HEIGHT + HEAVE sin(ωt), angle = TURN (1 - cos ωt); `sol["leg 1"].force` is what each has to carry.
    """
    from ..multibody import Mechanism, cylinder

    m = Mechanism(gravity=(0.0, 0.0, -9.81))
    plate = ((0.0, 0.0, HEIGHT - 0.02), (0.0, 0.0, HEIGHT + 0.02))
    m.body("platform", cylinder(*plate, radius=TOP, mass=50.0))
    for number in range(6):
        ends = base_joint(number), top_joint(number, 0.0, HEIGHT)
        m.distance(f"leg {number + 1}", m.ground, "platform", at=ends, length=leg_length(number))
    start = m.assembly.q

    def exact(t):
        z, angle, rise, spin = motion(t)
        e0, e1, e2, e3 = start[3:]
        c, s = np.cos(angle / 2), np.sin(angle / 2)
        e = (c * e0 - s * e3, c * e1 - s * e2, c * e2 + s * e1, c * e3 + s * e0)  # turned about z of the ground
        return np.array([0.0, 0.0, z, *e]), np.array([0.0, 0.0, rise, spin, 0.0, 0.0])  # its own x axis is the vertical

    return problem_of(
        m, name="stewart-platform", title="Stewart platform", t_end=t_end, exact=exact, source="own, closed form",
        notes="Inverse dynamics in space: 6 velocities, 6 constraints that depend on time.",
    )  # fmt: skip


def motion(t):
    """Return height, angle and their rates."""
    z, rise = HEIGHT + HEAVE * np.sin(RATE * t), HEAVE * RATE * np.cos(RATE * t)
    return z, TURN * (1 - np.cos(RATE * t)), rise, TURN * RATE * np.sin(RATE * t)


def base_joint(number: int):
    """Return the lower joint of a leg: pairs, 20 degrees apart."""
    angle = 2 * np.pi / 3 * (number // 2) + np.radians(-10 if number % 2 == 0 else 10)
    return (BASE * np.cos(angle), BASE * np.sin(angle), 0.0)


def top_joint(number: int, turn, height):
    """Return the upper joint of a leg: pairs between those below."""
    angle = 2 * np.pi / 3 * (number // 2) + np.radians(-50 if number % 2 == 0 else 50) + turn
    return (TOP * np.cos(angle), TOP * np.sin(angle), height)


def leg_length(number: int):
    """Return the length of a leg as a function of time."""
    x, y, _ = base_joint(number)
    angle = 2 * np.pi / 3 * (number // 2) + np.radians(-50 if number % 2 == 0 else 50)
    height, heave, turn, rate, top = HEIGHT, HEAVE, TURN, RATE, TOP

    def length(t):
        z = height + heave * np.sin(rate * t)
        now = angle + turn * (1 - np.cos(rate * t))
        return np.sqrt((top * np.cos(now) - x) ** 2 + (top * np.sin(now) - y) ** 2 + z**2)

    return length
