"""Forces between bodies: springs, dampers, bushings, contacts, and any function of named things.

A force is a function of (t, q, v, p, u) that returns what it does: a tuple of (body, force or None, point,
torque). Those with an energy are also potentials; the model takes them from there and the function serves
the results alone. All of them close over plain values and functions only.
"""

from __future__ import annotations

import numpy as np

from ..model.made_functions import maker
from .small_vectors import dot, minus, plus, times
from .users_functions import Seen, answered


def line(q, v, p, place, motion, first, second):
    """Unit vector from the first mark to the second, their distance and its rate."""
    P, Q = place(q, p, first)[0], place(q, p, second)[0]
    d = minus(Q, P)
    length = np.sqrt(dot(d, d))
    e = times(1.0 / length, d)
    rate = dot(e, minus(motion(q, v, p, second)[0], motion(q, v, p, first)[0]))
    return e, length, rate, P, Q


@maker
def along_line(tension, place, motion, first, second, none):
    """A force along the line between two marks; tension(length, rate, t, p, u) pulls them together."""

    def force(t, q, v, p, u):
        e, length, rate, P, Q = line(q, v, p, place, motion, first, second)
        pull = times(tension(length, rate, t, p, u), e)
        return ((first[0], pull, P, none), (second[0], times(-1.0, pull), Q, none))

    return force


@maker
def linear_tension(stiffness, natural, damping=None):
    """k (l - l0) + c l'."""

    def tension(length, rate, t, p, u):
        pull = p[stiffness] * (length - p[natural])
        return pull if damping is None else pull + p[damping] * rate

    return tension


@maker
def damping_tension(damping):
    """c l'."""

    def tension(length, rate, t, p, u):
        return p[damping] * rate

    return tension


@maker
def spring_energy(place, first, second, stiffness, natural):
    """k (l - l0)²/2."""

    def energy(q, p):
        d = minus(place(q, p, second)[0], place(q, p, first)[0])
        stretch = np.sqrt(dot(d, d)) - p[natural]
        return p[stiffness] * stretch * stretch / 2.0

    return energy


@maker
def user_tension(function, names, natural, role):
    """A user's function of length, stretch, rate, t, p and u."""

    def tension(length, rate, t, p, u):
        given = {"length": length, "stretch": length - p[natural], "rate": rate, "t": t, "p": p, "u": u}
        return answered(function, names, given, role, 1)

    return tension


@maker
def on_point(value, place, mark, none):
    """A force on a body at a mark; value(t, q, v, p, u) in the ground frame."""

    def force(t, q, v, p, u):
        return ((mark[0], value(t, q, v, p, u), place(q, p, mark)[0], none),)

    return force


@maker
def torque_on(value, mark):
    """A torque on a body, from the ground."""

    def force(t, q, v, p, u):
        return ((mark[0], None, None, value(t, q, v, p, u)),)

    return force


@maker
def user_value(function, names, things, role, n=None):
    """A user's function of t, p, u, states and named things, pairs (name, look); it returns n numbers."""

    def value(t, q, v, p, u):
        given = {"t": t, "p": p, "u": u}
        for name, look in things:
            given[name] = look(q, v, p)
        return answered(function, names, given, role, n)

    return value


@maker
def constant_vector(keys):
    """A force that stays the same in the ground frame."""

    def value(t, q, v, p, u):
        return tuple(p[key] for key in keys)

    return value


@maker
def constant_number(key):
    """A torque that stays the same."""

    def value(t, q, v, p, u):
        return p[key]

    return value


@maker
def bushing_energy(strain, place, first, second, stiffness, constants):
    """Σ k s²/2 over all displacements and rotations."""

    def energy(q, p):
        total = 0.0
        for s, key in zip(strain(place(q, p, first), place(q, p, second), *constants), stiffness, strict=True):
            total = total + p[key] * s * s / 2.0
        return total

    return energy


@maker
def bushing_force(strain, rates, wrench, place, motion, first, second, stiffness, damping, constants):
    """-k s - c s' for every displacement and rotation; without `stiffness` or `damping`, the other alone."""

    def force(t, q, v, p, u):
        frames = place(q, p, first), place(q, p, second)
        efforts = [0.0] * len(stiffness or damping)
        if damping:
            change = rates(*frames, motion(q, v, p, first), motion(q, v, p, second))
            efforts = [e - p[key] * rate for e, key, rate in zip(efforts, damping, change, strict=True)]
        if stiffness:
            strains = strain(*frames, *constants)
            efforts = [e - p[key] * s for e, key, s in zip(efforts, stiffness, strains, strict=True)]
        F, T = wrench(*frames, efforts)
        Q = frames[1][0]
        back = times(-1.0, T) if isinstance(T, tuple) else -T
        return ((first[0], times(-1.0, F), Q, back), (second[0], F, Q, T))

    return force


@maker
def seen_mark(place, motion, axes, mark, asking):
    """What a user's function sees of a body, a point or a frame.

    Position and velocity, the rotation (axes as columns) and the angular velocity in the ground frame, which is also its
    speed; in the plane an angle.
    """

    def look(q, v, p):
        here, (velocity, spin) = place(q, p, mark), motion(q, v, p, mark)
        angle = {"angle": here[2]} if len(here) == 3 else {}
        seen = {"position": here[0], "velocity": velocity, "rotation": axes(q, p, mark), "angular_velocity": spin, "speed": spin}
        return Seen(asking, seen | angle)

    return look


@maker
def seen_joint(value, rate, name, asking):
    """What a user's function sees of a joint: angle or position, and speed."""

    def look(q, v, p):
        return Seen(asking, {name: value(q, p), "speed": rate(q, v, p)})

    return look


@maker
def contact(place, motion, cross_spin, mark, plane, normal, keys, exponent, none):
    """Compliant contact of a circle or sphere with the half space behind a plane of the ground.

    N = k δⁿ (1 + c δ'), never pulling, the law of Hunt and Crossley (1975); friction μ N s/√(s² + ε²) against
    the slip s.
    """
    radius, stiffness, damping, friction, smoothing = keys

    def force(t, q, v, p, u):
        P = place(q, p, mark)[0]
        n = tuple(p[key] for key in normal)
        n = times(1.0 / np.sqrt(dot(n, n)), n)
        height = dot(n, minus(P, tuple(p[key] for key in plane)))
        depth = np.maximum(p[radius] - height, 0.0)
        velocity, spin = motion(q, v, p, mark)
        arm = times(-(p[radius] - depth), n)  # from the centre to the middle of the contact
        slip = plus(velocity, cross_spin(spin, arm))
        closing = -dot(n, slip)
        N = p[stiffness] * depth**exponent * np.maximum(1.0 + p[damping] * closing, 0.0)
        tangential = minus(slip, times(dot(n, slip), n))
        drag = -p[friction] * N / np.sqrt(dot(tangential, tangential) + p[smoothing] * p[smoothing])
        return ((mark[0], plus(times(N, n), times(drag, tangential)), plus(P, arm), none),)

    return force
