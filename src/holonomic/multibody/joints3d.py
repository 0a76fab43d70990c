"""Joints in space: each type is one plain function of two frames that vanishes when the joint is closed.

A frame is (position, axes): the joint's point on the body, and the joint's three axes as they turn with the
body, the first along the joint's axis. Both frames coincide in the drawing.
"""

from __future__ import annotations

import numpy as np

from .small_vectors import arctan2, cross, dot, minus, plus, times


def spherical(first, second):
    """The two points coincide."""
    return minus(second[0], first[0])


def revolute(first, second):
    """Points and axes coincide."""
    return (*spherical(first, second), *parallel(first, second))


def cylindrical(first, second):
    """The second point stays on the axis, and the axes stay parallel."""
    return (*on_axis(first, second), *parallel(first, second))


def prismatic(first, second):
    """The second point stays on the axis, and the bodies do not turn against each other."""
    return (*on_axis(first, second), *unturned(first, second))


def fixed(first, second):
    """Neither moves against the other."""
    return (*spherical(first, second), *unturned(first, second))


def universal(first, second):
    """Points coincide; the first axis on the first body stays normal to the second axis on the second."""
    return (*spherical(first, second), dot(first[1][0], second[1][1]))


def planar(first, second):
    """The second point stays in the plane normal to the axis, and the axes stay parallel."""
    return (dot(first[1][0], minus(second[0], first[0])), *parallel(first, second))


def distance(first, second, length):
    """The distance is kept; (d² - L²)/(2 L) has the unit gradient of d - L, and no root."""
    d = minus(second[0], first[0])
    return ((dot(d, d) - length * length) / (2.0 * length),)


def disk_height(first, second, radius):
    """The rim of a disk (its axis is the joint's axis on the second body) touches the plane normal to the first's."""
    n, c = first[1][0], dot(first[1][0], second[1][0])
    return (dot(n, minus(second[0], first[0])) - radius * np.sqrt(1.0 - c * c),)


def disk_slip(first, second, radius, moving, other):
    """Velocity against the plane of the disk's point that touches it; zero without slipping. Not integrable."""
    n, axis = first[1][0], second[1][0]
    c = dot(n, axis)
    down = times(-radius / np.sqrt(1.0 - c * c), minus(n, times(c, axis)))
    return slip_along(first, second, down, moving, other)


def sphere_height(first, second, radius):
    """A sphere touches the plane."""
    return (dot(first[1][0], minus(second[0], first[0])) - radius,)


def sphere_slip(first, second, radius, moving, other):
    """Velocity against the plane of the sphere's point that touches it."""
    return slip_along(first, second, times(-radius, first[1][0]), moving, other)


def gear(first, second, radius, other, side, moving, turning):
    """Two wheels do not slip where their pitch circles touch; spur, internal and bevel gears.

    The point of contact lies on both wheels towards the other's centre, normal to the wheel's axis (away from it on the
    inner wheel of an internal gear, side = -1). Their velocities along the teeth are equal there: a row at velocity
    level, because angles in space do not count turns.
    """
    d = minus(second[0], first[0])
    here = across_axis(first[1][0], d)
    there = across_axis(second[1][0], times(-1.0, d))
    along = cross(first[1][0], here)
    one = plus(moving[0], cross(moving[1], times(side * radius, here)))
    two = plus(turning[0], cross(turning[1], times(side * other, there)))
    return (dot(along, minus(two, one)),)


def gear_ratio(first, second, ratio, moving, turning):
    """Angular velocities about the two axes keep a ratio; only torques act, the housing is the ground."""
    return (dot(second[1][0], turning[1]) - ratio * dot(first[1][0], moving[1]),)


def rack_and_pinion(first, second, radius, moving, turning):
    """The pinion, second, does not slip on the rack's line: equal velocities along it where they touch."""
    u, d = first[1][0], minus(second[0], first[0])
    arm = times(-radius, across_axis(u, d))
    touching = plus(moving[0], cross(moving[1], plus(d, arm)))
    return (dot(u, minus(plus(turning[0], cross(turning[1], arm)), touching)),)


def across_axis(axis, d):
    """Unit vector along what of d is normal to an axis."""
    n = minus(d, times(dot(axis, d), axis))
    return times(1.0 / np.sqrt(dot(n, n)), n)


def slip_along(first, second, arm, moving, other):
    """Velocity of the second body against the first, an arm away from the second's point, along the first's plane."""
    d = minus(second[0], first[0])
    here, there = plus(moving[0], cross(moving[1], plus(d, arm))), plus(other[0], cross(other[1], arm))
    slip = minus(there, here)
    return (dot(first[1][1], slip), dot(first[1][2], slip))


def on_axis(first, second):
    """Distance from the axis, two components."""
    d = minus(second[0], first[0])
    return (dot(first[1][1], d), dot(first[1][2], d))


def parallel(first, second):
    """The second's axis has no component across the first's."""
    return (dot(first[1][1], second[1][0]), dot(first[1][2], second[1][0]))


def unturned(first, second):
    """No rotation about any axis."""
    return (*parallel(first, second), dot(first[1][2], second[1][1]))


def bushing(first, second):
    """Displacements along the joint's axes on the first body, and small rotations about them."""
    d = minus(second[0], first[0])
    return (*(dot(axis, d) for axis in first[1]), *(dot(first[1][i], second[1][j]) for i, j in PAIRS))


def bushing_wrench(first, second, efforts):
    """Force and torque on the second body of efforts along the displacements and rotations of `bushing`."""
    force, torque = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for axis, effort in zip(first[1], efforts[:3], strict=True):
        force = plus(force, times(effort, axis))
    for (i, j), effort in zip(PAIRS, efforts[3:], strict=True):
        torque = plus(torque, times(effort, cross(second[1][j], first[1][i])))
    return force, torque


def bushing_rates(first, second, moving, other):
    """Derivatives of `bushing`."""
    d = minus(second[0], first[0])
    relative = minus(minus(other[0], moving[0]), cross(moving[1], d))
    spin = minus(other[1], moving[1])
    turning = (dot(spin, cross(second[1][j], first[1][i])) for i, j in PAIRS)
    return (*(dot(axis, relative) for axis in first[1]), *turning)


PAIRS = ((2, 1), (0, 2), (1, 0))  # axes whose product is the sine of the rotation about the first, second, third axis


def angle(first, second):
    """Angle about the axis since the drawing, between -π and π; results count turns."""
    return arctan2(dot(first[1][2], second[1][1]), dot(first[1][1], second[1][1]))


def angle_rate(first, second, moving, other):
    """Derivative of `angle`."""
    return dot(first[1][0], minus(other[1], moving[1]))


def position(first, second):
    """Distance travelled along the axis since the drawing."""
    return dot(first[1][0], minus(second[0], first[0]))


def position_rate(first, second, moving, other):
    """Derivative of `position`."""
    axis, d = first[1][0], minus(second[0], first[0])
    return dot(axis, minus(other[0], moving[0])) + dot(cross(moving[1], axis), d)


def angle_gap(first, second, wanted):
    """sin(angle - wanted): smooth through all turns."""
    return dot(first[1][2], second[1][1]) * np.cos(wanted) - dot(first[1][1], second[1][1]) * np.sin(wanted)


def position_gap(first, second, wanted):
    """Position minus what is wanted."""
    return position(first, second) - wanted


ROWS = {
    "spherical": ("x", "y", "z"),
    "revolute": ("x", "y", "z", "tilt 1", "tilt 2"),
    "cylindrical": ("across 1", "across 2", "tilt 1", "tilt 2"),
    "prismatic": ("across 1", "across 2", "tilt 1", "tilt 2", "twist"),
    "fixed": ("x", "y", "z", "tilt 1", "tilt 2", "twist"),
    "universal": ("x", "y", "z", "cross"),
    "planar": ("height", "tilt 1", "tilt 2"),
    "pin-in-slot": ("across 1", "across 2"),
    "distance": ("length",),
    "gear": ("mesh",),
    "rack-and-pinion": ("mesh",),
    "rolling": ("height",),
    "slip": ("slip 1", "slip 2"),
}
# rows whose multipliers are the force of contact
LOADS = {"revolute": (0, 1, 2), "prismatic": (0, 1), "cylindrical": (0, 1), "pin-in-slot": (0, 1)}
VALUES = {"angle": (angle, angle_rate), "position": (position, position_rate)}
GAPS = {"angle": angle_gap, "position": position_gap}
