"""Joints in the plane: each type is one plain function of two frames that vanishes when the joint is closed.

A frame is (position, direction, angle): the joint's point on the body, the joint's direction as it turns with
the body, and the angle of the body. The functions take numbers, symbols and time series alike; the model, the
assembly and the results all use these same functions.
"""

from __future__ import annotations

import numpy as np

from .small_vectors import cross, dot, minus


def revolute(first, second):
    """The two points coincide."""
    return minus(second[0], first[0])


def prismatic(first, second, offset):
    """The second point stays on the line of the first body, and both bodies turn together."""
    return (across(first, second), second[2] - first[2] - offset)


def fixed(first, second, offset):
    """Neither moves against the other."""
    x, y = minus(second[0], first[0])
    return (x, y, second[2] - first[2] - offset)


def pin_in_slot(first, second):
    """The pin of the second body stays on the line of the slot in the first."""
    return (across(first, second),)


def distance(first, second, length):
    """The distance is kept; (d² - L²)/(2 L) has the unit gradient of d - L, and no root."""
    d = minus(second[0], first[0])
    return ((dot(d, d) - length * length) / (2.0 * length),)


def gear(first, second, radius, other, offset):
    """Two wheels roll on each other: their pitch circles do not slip.

    r₁(φ₁ - θ) + r₂(φ₂ - θ) = const with the angle θ of the line of centres, written as the cross product of
    the line of centres with the direction where it must be, so that it counts turns. r₂ < 0: internal gear.
    The force acts where the pitch circles touch, so bearings feel it.
    """
    angle = (radius * first[2] + other * second[2]) / (radius + other) - offset
    return (cross((np.cos(angle), np.sin(angle)), minus(second[0], first[0])),)


def gear_ratio(first, second, ratio, offset):
    """The angles keep a ratio, φ₂ = ratio φ₁ + offset; only torques act, the gear's housing is the ground."""
    return (second[2] - ratio * first[2] - offset,)


def rack_and_pinion(first, second, radius, offset):
    """The pinion, second, rolls along the rack's line; radius < 0 where it lies to the right of the direction."""
    return (dot(first[1], minus(second[0], first[0])) + radius * (second[2] - first[2]) - offset,)


def rolling(first, second, radius, offset):
    """A disk, second, rolls on a line of the first body without leaving it."""
    return (across(first, second) - radius, *rack_and_pinion(first, second, radius, offset))


def skate(first, second, moving, other):
    """A knife edge of the second body: no velocity across its direction. Not integrable."""
    return (cross(second[1], other[0]),)


def across(first, second):
    """Distance of the second point from the line of the first frame, positive to the left."""
    return cross(first[1], minus(second[0], first[0]))


def angle(first, second):
    """Angle of the second body against the first; it counts turns."""
    return second[2] - first[2]


def position(first, second):
    """Distance travelled along the joint's direction on the first body, zero where it is drawn."""
    u = first[1]
    return dot(u, minus(second[0], first[0])) / np.sqrt(dot(u, u))


def bushing(first, second, offset):
    """Displacements along and across the first body's direction, and rotation: what a bushing is strained by."""
    return (dot(first[1], minus(second[0], first[0])), across(first, second), second[2] - first[2] - offset)


def bushing_wrench(first, second, efforts):
    """Force and torque on the second body of efforts along the displacements and the rotation."""
    u = first[1]
    return (efforts[0] * u[0] - efforts[1] * u[1], efforts[0] * u[1] + efforts[1] * u[0]), efforts[2]


def bushing_rates(first, second, moving, other):
    """Derivatives of `bushing`."""
    d, w = minus(second[0], first[0]), moving[1]
    relative = minus(minus(other[0], moving[0]), (-w * d[1], w * d[0]))
    return (dot(first[1], relative), cross(first[1], relative), other[1] - moving[1])


def angle_rate(first, second, moving, other):
    """Derivative of `angle`; moving and other are (velocity, angular velocity) of the two frames."""
    return other[1] - moving[1]


def position_rate(first, second, moving, other):
    """Derivative of `position`."""
    u, d, w = first[1], minus(second[0], first[0]), moving[1]
    change = dot(u, minus(other[0], moving[0])) + w * cross(u, d)
    return change / np.sqrt(dot(u, u))


def angle_gap(first, second, wanted):
    """Angle minus what is wanted."""
    return angle(first, second) - wanted


def position_gap(first, second, wanted):
    """Position minus what is wanted."""
    return position(first, second) - wanted


ROWS = {
    "revolute": ("x", "y"),
    "prismatic": ("across", "angle"),
    "fixed": ("x", "y", "angle"),
    "pin-in-slot": ("across",),
    "distance": ("length",),
    "gear": ("mesh",),
    "rack-and-pinion": ("mesh",),
    "rolling": ("gap", "roll"),
    "skate": ("across",),
}
LOADS = {"revolute": (0, 1), "prismatic": (0,), "pin-in-slot": (0,)}  # rows whose multipliers are the force of contact
VALUES = {"angle": (angle, angle_rate), "position": (position, position_rate)}
GAPS = {"angle": angle_gap, "position": position_gap}
