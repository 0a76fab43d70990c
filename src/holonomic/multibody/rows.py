"""Functions of (t, q, v, p) out of joints and marks; drives prescribe a joint's motion as a function of time.

They close over plain values and functions only, so that a known mechanism is found in the cache by what it
does, without being traced again. A drive is a constraint that depends on time; its multiplier is the torque or
force the drive needs.
"""

from __future__ import annotations

import numpy as np

from ..model.made_functions import maker
from .small_vectors import minus
from .users_functions import answered, answered_along


@maker
def joint_rows(residual, place, first, second, keys=(), constants=(), aligned=False):
    """Constraint rows of a joint between two marks; its numbers are parameters, then constants.

    `aligned`: the last number is an angle between two bodies in the plane whose drawn directions are to coincide.
    """

    def rows(q, p):
        numbers = [*(p[key] for key in keys), *constants]
        if aligned:
            numbers[-1] = numbers[-1] + drawn_angle(p, first[4]) - drawn_angle(p, second[4])
        return residual(place(q, p, first), place(q, p, second), *numbers)

    return rows


def drawn_angle(p, direction):
    """Angle of a drawn direction in the plane."""
    return np.arctan2(p[direction[1]], p[direction[0]])


@maker
def timed_rows(residual, place, first, second, wanted):
    """Constraint rows of a joint with one number that is a function of time: a leg of given length."""

    def rows(t, q, p):
        return residual(place(q, p, first), place(q, p, second), wanted(t, p))

    return rows


@maker
def velocity_rows(residual, place, motion, first, second, keys=(), constants=()):
    """Velocity rows of a joint that cannot be integrated: rolling, knife edges."""

    def rows(q, v, p):
        numbers = [p[key] for key in keys]
        frames = place(q, p, first), place(q, p, second)
        return residual(*frames, *numbers, *constants, motion(q, v, p, first), motion(q, v, p, second))

    return rows


@maker
def joint_value(coordinate, place, first, second):
    """Angle or position of a joint."""

    def value(q, p):
        return coordinate(place(q, p, first), place(q, p, second))

    return value


@maker
def joint_rate(derivative, place, motion, first, second):
    """Derivative of an angle or position of a joint."""

    def rate(q, v, p):
        return derivative(place(q, p, first), place(q, p, second), motion(q, v, p, first), motion(q, v, p, second))

    return rate


@maker
def steady_rows(gap, place, first, second, rate, start):
    """Rows of a drive with constant speed: angle or position = start + rate t."""

    def rows(t, q, p):
        return (gap(place(q, p, first), place(q, p, second), p[start] + p[rate] * t),)

    return rows


@maker
def following_rows(gap, place, first, second, wanted):
    """Rows of a drive that follows a function of time."""

    def rows(t, q, p):
        return (gap(place(q, p, first), place(q, p, second), wanted(t, p)),)

    return rows


@maker
def coupled_rows(gap, place, first, second, leader, ratio, offset):
    """Rows of a coupling: the angle or position of a joint is a ratio times that of another, its leader, plus an offset."""

    def rows(q, p):
        return (gap(place(q, p, first), place(q, p, second), p[ratio] * leader(q, p) + p[offset]),)

    return rows


@maker
def coupled_rates(follower, leader, ratio):
    """Velocity rows of a coupling."""

    def rows(q, v, p):
        return (follower(q, v, p) - p[ratio] * leader(q, v, p),)

    return rows


@maker
def rate_rows(rate, wanted):
    """Velocity rows of a drive whose speed is a function of time."""

    def rows(t, q, v, p):
        return (rate(q, v, p) - wanted(t, p),)

    return rows


@maker
def path_rows(place, mark, wanted):
    """Rows of a drive that moves a point."""

    def rows(t, q, p):
        return minus(place(q, p, mark)[0], wanted(t, p))

    return rows


@maker
def of_time(function, names, role, n):
    """A user's function of t and p that returns n numbers; at a complex time with its derivative."""

    def value(t, p):
        answer = answered_along if isinstance(t, complex) else answered
        return answer(function, names, {"t": t, "p": p}, role, n)

    return value


@maker
def constant(key):
    """A parameter as a function of time."""

    def value(t, p):
        return p[key]

    return value
