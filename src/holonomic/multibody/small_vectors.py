"""Vectors as tuples of components: the components may be numbers, symbols, complex numbers or whole time series."""

from __future__ import annotations

import numpy as np


def is_ground(k) -> bool:
    """Whether a body's number is that of the ground; a series of elements has arrays of numbers of bodies."""
    return type(k) is not np.ndarray and k < 0


def arctan2(sine, cosine):
    """Angle of a sine and a cosine, between -π and π; also of a complex step, for which NumPy has none."""
    if not np.iscomplexobj(sine):
        return np.arctan2(sine, cosine)
    s, c = np.real(sine), np.real(cosine)
    return np.arctan2(s, c) + 1j * (c * np.imag(sine) - s * np.imag(cosine)) / (s * s + c * c)


# closing joints in space spends its time here: vectors of three components, which nearly all are, go without loops


def plus(a, b):
    """a + b."""
    if len(a) == len(b) == 3:
        return a[0] + b[0], a[1] + b[1], a[2] + b[2]
    return tuple(x + y for x, y in zip(a, b, strict=True))


def minus(a, b):
    """a - b."""
    if len(a) == len(b) == 3:
        return a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return tuple(x - y for x, y in zip(a, b, strict=True))


def times(c, a):
    """c a, with a number c."""
    if len(a) == 3:
        return c * a[0], c * a[1], c * a[2]
    return tuple(c * x for x in a)


def dot(a, b):
    """a · b."""
    if len(a) == len(b) == 3:
        return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
    total = a[0] * b[0]
    for x, y in zip(a[1:], b[1:], strict=True):
        total = total + x * y
    return total


def cross(a, b):
    """a × b: a number in the plane, a vector in space."""
    if len(a) == 2:
        return a[0] * b[1] - a[1] * b[0]
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def apply(rows, a):
    """R a, the matrix given by its rows."""
    if len(rows) == 3:
        return dot(rows[0], a), dot(rows[1], a), dot(rows[2], a)
    return tuple(dot(row, a) for row in rows)


def transposed(rows):
    """Rᵀ."""
    return tuple(zip(*rows, strict=True))


def product(A, B):
    """A B, both given by their rows."""
    columns = transposed(B)
    return tuple(tuple(dot(row, column) for column in columns) for row in A)
