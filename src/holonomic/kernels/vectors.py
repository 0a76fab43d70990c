"""Loops over the components of small vectors."""

from __future__ import annotations

import math

from ..native.marks import leaf
from ..native.types import f8, i8, mat, vec

EPS = 2.220446049250313e-16  # the distance from 1 to the next number
# What a few operations leave of numbers about 1: 45 EPS. Thresholds that speak of rounding are EPS or this times a number, inside
# kernels and in no other form: a run with more digits puts its own values in the place of both (`precision.pair_program`).
ROUNDING = 1e-14


@leaf
def copy(source: vec, target: vec, n: i8):
    """target = source"""
    for i in range(n):
        target[i] = source[i]


@leaf
def copy_row(source: mat, row: i8, target: mat, to: i8, n: i8):
    """target[to] = source[row], matrices"""
    for i in range(n):
        target[to, i] = source[row, i]


@leaf
def move_on(K: mat, last: i8, n_row: i8, xn: vec, x: vec, n: i8):
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
def subtract(x: vec, at: i8, W: vec, at_d: i8, n: i8, factor: f8):
    """x[at:at+n] -= factor W[at_d:at_d+n]"""
    for i in range(n):
        x[at + i] -= factor * W[at_d + i]


@leaf
def subtract_row(E: mat, row: i8, at: i8, W: vec, at_d: i8, n: i8):
    """E[row, at:at+n] -= W[at_d:at_d+n]"""
    for i in range(n):
        E[row, at + i] -= W[at_d + i]


@leaf
def row_finite(K: mat, row: i8, n: i8):
    """Tell whether the first n entries of a row are finite."""
    for i in range(n):
        if not abs(K[row, i]) <= 1.7976931348623157e308:
            return False
    return True


@leaf
def all_finite(x: vec, n: i8):
    """Tell whether the first n entries are finite."""
    for i in range(n):
        if not abs(x[i]) <= 1.7976931348623157e308:
            return False
    return True


@leaf
def largest_scaled(W: vec, at_r: i8, at_F: i8, n: i8):
    """max |r_i| / ‖row_i‖: residuals at at_r as distances, 1/‖row‖ standing behind ρ in the factors at at_F."""
    largest = 0.0
    for i in range(n):
        value = abs(W[at_r + i]) * W[at_F + 1 + i]
        if not value <= largest:  # NaN wins
            largest = value
    return largest


@leaf
def norm(x: vec, at: i8, n: i8):
    """Euclidean norm of x[at:at+n]."""
    total = 0.0
    for i in range(n):
        total += x[at + i] * x[at + i]
    return math.sqrt(total)


@leaf
def norm_of(x: vec, weights: vec, at: i8, n: i8):
    """Euclidean norm of weights[at:at+n] x[:n]."""
    total = 0.0
    for i in range(n):
        total += weights[at + i] * x[i] * x[i]
    return math.sqrt(total)


@leaf
def write_row(rec_t: vec, rec_x: mat, rec_k: mat, row: i8, t: f8, x: vec, K: mat, stage: i8, nq: i8, nx: i8, nk: i8):
    """Keep (t, x, v', λ), the last two out of a row of K."""
    rec_t[row] = t
    for i in range(nx):
        rec_x[row, i] = x[i]
    for i in range(nk):
        rec_k[row, i] = K[stage, nq + i]
