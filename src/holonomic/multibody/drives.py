"""Drives: a joint's angle or position, or a point's path, is prescribed as a function of time.

A drive is a constraint that depends on time; its multiplier is the torque or force the drive needs.
"""

from __future__ import annotations

from .vectors import minus


def hold_rate(value, t, rate, start):
    """Angle or position with a constant rate: value = start + rate t."""
    return (value - start - rate * t,)


def follow(value, wanted):
    """Angle or position as a given function of time."""
    return (value - wanted,)


def follow_rate(rate, wanted):
    """Rate as a given function of time; the angle follows by integration, so this is a velocity constraint."""
    return (rate - wanted,)


def follow_path(place, wanted):
    """Position of a point as a given function of time."""
    return minus(place, wanted)
