"""Loops over the components of small vectors."""

from __future__ import annotations

import math

from .compile import leaf


@leaf
def copy(source, target, n):
    """target = source"""
    for i in range(n):
        target[i] = source[i]


@leaf
def subtract(x, at, d, n, factor):
    """x[at:at+n] -= factor d"""
    for i in range(n):
        x[at + i] -= factor * d[i]


@leaf
def all_finite(x, n):
    """Tell whether the first n entries are finite."""
    total = 0.0
    for i in range(n):
        total += x[i] * 0.0  # NaN and infinity turn this into NaN
    return total == 0.0


@leaf
def largest_scaled(r, at, scale, n):
    """max |r[at+i] scale[1+i]|: residuals as distances, the scale being 1/‖row‖ behind ρ in a factor buffer."""
    largest = 0.0
    for i in range(n):
        value = abs(r[at + i]) * scale[1 + i]
        if not value <= largest:  # NaN wins
            largest = value
    return largest


@leaf
def norm(x, at, n):
    """Euclidean norm of x[at:at+n]."""
    total = 0.0
    for i in range(n):
        total += x[at + i] * x[at + i]
    return math.sqrt(total)
