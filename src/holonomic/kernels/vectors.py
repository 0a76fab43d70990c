"""Loops over the components of small vectors."""

from __future__ import annotations

import math

from .compile import leaf

EPS = 2.220446049250313e-16  # the distance from 1 to the next number


@leaf
def copy(source, target, n):
    """target = source"""
    for i in range(n):
        target[i] = source[i]


@leaf
def copy_row(source, row, target, to, n):
    """target[to] = source[row], matrices"""
    for i in range(n):
        target[to, i] = source[row, i]


@leaf
def move_on(K, last, n_row, xn, x, n):
    """The new point and the field there, a row of K, become the old ones."""
    for i in range(n_row):
        K[0, i] = K[last, i]
    for i in range(n):
        x[i] = xn[i]


@leaf
def take_slopes(K, W, at, n, n_row):
    """y' of a method as the field at the new point, row 1 of K; the pivot ratio stays that of the old one."""
    for i in range(n):
        K[1, i] = W[at + i]
    K[1, n_row - 1] = K[0, n_row - 1]


@leaf
def subtract(x, at, W, at_d, n, factor):
    """x[at:at+n] -= factor W[at_d:at_d+n]"""
    for i in range(n):
        x[at + i] -= factor * W[at_d + i]


@leaf
def subtract_row(E, row, at, W, at_d, n):
    """E[row, at:at+n] -= W[at_d:at_d+n]"""
    for i in range(n):
        E[row, at + i] -= W[at_d + i]


@leaf
def row_finite(K, row, n):
    """Tell whether the first n entries of a row are finite."""
    for i in range(n):
        if not abs(K[row, i]) <= 1.7976931348623157e308:
            return False
    return True


@leaf
def all_finite(x, n):
    """Tell whether the first n entries are finite."""
    for i in range(n):
        if not abs(x[i]) <= 1.7976931348623157e308:
            return False
    return True


@leaf
def largest_scaled(W, at_r, at_F, n):
    """max |r_i| / ‖row_i‖: residuals at at_r as distances, 1/‖row‖ standing behind ρ in the factors at at_F."""
    largest = 0.0
    for i in range(n):
        value = abs(W[at_r + i]) * W[at_F + 1 + i]
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


@leaf
def norm_of(x, weights, at, n):
    """Euclidean norm of weights[at:at+n] x[:n]."""
    total = 0.0
    for i in range(n):
        total += weights[at + i] * x[i] * x[i]
    return math.sqrt(total)


@leaf
def write_row(rec_t, rec_x, rec_k, row, t, x, K, stage, nq, nx, nk):
    """Keep (t, x, v', λ), the last two out of a row of K."""
    rec_t[row] = t
    for i in range(nx):
        rec_x[row, i] = x[i]
    for i in range(nk):
        rec_k[row, i] = K[stage, nq + i]
