"""Gauss's rules with ten to fourteen points, and the path through slopes at such points."""

from __future__ import annotations

import math

import numpy as np

from ..native.marks import leaf
from ..native.types import f8, i8, mat, vec
from .path import AT, BEGIN, COUNT, LENGTH, MOST, NEW, NUMBERS, ROOM, SERIES, SIGMA, SLOPE, SLOPES, T0, USED

LEAST = 10  # points of the first rule
USUAL = 2  # rule number of the usual one, with twelve
BACK = 4  # points before from which the first guess at a point is extrapolated
BENT = 0.3  # of its size: by so much √ρ may leave two straight lines and still be called a passage


def _rules():
    """Points, values -> coefficients, values -> integrals from 0 to each point, and first guesses, by rule number."""
    from numpy.polynomial import legendre

    count = MOST - LEAST + 1
    points, guesses = np.zeros((count, MOST)), np.zeros((count, MOST, 2, BACK))
    coefficients, integrals = np.zeros((count, MOST, MOST)), np.zeros((count, MOST, MOST))
    for r in range(count):
        m = LEAST + r
        z, w = legendre.leggauss(m)
        c, k = (z + 1) / 2, np.arange(m)
        values = legendre.legvander(z, m)
        coefficients[r, :m, :m] = (2 * k[:, None] + 1) * (values[:, :m] * w[:, None] / 2).T
        parts = np.empty((m, m))
        parts[:, 0] = c
        for j in range(1, m):  # ∫ P_k = (P_k+1 - P_k-1)/(2k+1), vanishing at both ends
            parts[:, j] = (values[:, j + 1] - values[:, j - 1]) / (2 * (2 * j + 1))
        points[r, :m], integrals[r, :m, :m] = c, parts @ coefficients[r, :m, :m]
        known = np.concatenate([[0.0], c])
        for i in range(m):
            before = known[: i + 1][-BACK:]
            powers = np.arange(len(before))
            to = (known[max(i - 1, 0) : i + 2, None] / c[i]) ** (powers + 1) * c[i] / (powers + 1)
            weights = np.linalg.solve((before[None, :] / c[i]) ** powers[:, None], np.diff(to, axis=0).T)
            guesses[r, i, 2 - weights.shape[1] :, : len(before)] = weights.T  # exact for powers of time
    return points, coefficients, integrals, guesses


POINTS, COEFFICIENTS, INTEGRALS, GUESSES = _rules()


@leaf
def clearance(r: i8, where: f8):
    """Distance of θ from the nearest point of a rule."""
    nearest = 1.0
    for i in range(LEAST + r):
        nearest = min(nearest, abs(POINTS[r, i] - where))
    return nearest


@leaf
def widest(where: f8):
    """The rule whose gap around θ is widest; the usual one unless another is clearly better."""
    best, gap = USUAL, clearance(USUAL, where) / 0.8
    for r in range(MOST - LEAST + 1):
        here = clearance(r, where)
        if here > gap:
            best, gap = r, here
    return best


@leaf
def begin_path(path: mat, t: f8, length: f8, r: i8, x: vec, K: mat, size: i8):
    """Where a path begins, and the slope there."""
    path[NUMBERS, T0], path[NUMBERS, LENGTH], path[NUMBERS, COUNT], path[NUMBERS, USED] = t, length, LEAST + r, 0.0
    for k in range(size):
        path[BEGIN, k] = x[k]
        path[SLOPE, k] = K[0, k]


@leaf
def guess(path: mat, r: i8, i: i8, size: i8, x: vec):
    """x = state at point i, from the polynomial through slopes before, with which the point before is corrected."""
    known = min(BACK, i + 1)
    first, h = SLOPES + i - known, path[NUMBERS, LENGTH]
    if i == 0:
        for k in range(size):
            path[ROOM, k] = path[BEGIN, k]
    for j in range(known):
        weight = h * GUESSES[r, i, 0, j]
        for k in range(size):
            path[ROOM, k] += weight * path[first + j, k]
    for k in range(size):
        x[k] = path[ROOM, k]
    for j in range(known):
        weight = h * GUESSES[r, i, 1, j]
        for k in range(size):
            x[k] += weight * path[first + j, k]


@leaf
def note_point(path: mat, to: i8, i: i8, x: vec, ke: mat, rho: f8, size: i8):
    """Keep state, slope and √ρ of point i."""
    for k in range(size):
        path[to + i, k] = x[k]
        path[SLOPES + i, k] = ke[0, k]
    path[SIGMA, i] = np.sqrt(max(rho, 0.0))


@leaf
def integrate_points(path: mat, r: i8, at: i8, to: i8, first: i8, last: i8):
    """New states at points at .. to-1 from the slopes at all of them, components first .. last-1."""
    m, h = LEAST + r, path[NUMBERS, LENGTH]
    for i in range(at, to):
        for k in range(first, last):
            path[NEW + i, k] = 0.0
        for j in range(m):
            weight = INTEGRALS[r, i, j]
            for k in range(first, last):
                path[NEW + i, k] += weight * path[SLOPES + j, k]
        for k in range(first, last):
            path[NEW + i, k] = path[BEGIN, k] + h * path[NEW + i, k]


@leaf
def carry_over(path: mat, r: i8, nq: i8, nv: i8):
    """q' = v: what has changed in the velocities has changed in the slopes of the positions."""
    for i in range(LEAST + r):
        for k in range(nv):
            path[SLOPES + i, k] += path[NEW + i, nq + k] - path[AT + i, nq + k]


@leaf
def finish_series(path: mat, r: i8, size: i8):
    """Coefficients from the slopes at the points."""
    m = LEAST + r
    for i in range(m):
        for k in range(size):
            path[SERIES + i, k] = 0.0
        for j in range(m):
            weight = COEFFICIENTS[r, i, j]
            for k in range(size):
                path[SERIES + i, k] += weight * path[SLOPES + j, k]


@leaf
def singular_at(path: mat, r: i8):
    """θ where σ = √ρ, straight on both sides of a singular position, vanishes; above 1 it is a forecast, below 0 none."""
    m, least = LEAST + r, 0
    for i in range(m):
        if path[SIGMA, i] < path[SIGMA, least]:
            least = i
    best, found, size = math.inf, -1.0, 0.0
    for split in range(least, least + 2):  # points before have another sign than those from here on
        first, last = max(0, split - 2), min(m, split + 2)
        if last - first < 2:
            continue
        middle, mean, size = 0.0, 0.0, 0.0
        for i in range(first, last):
            middle += POINTS[r, i] / (last - first)
            mean += (path[SIGMA, i] if i < split else -path[SIGMA, i]) / (last - first)
            size = max(size, path[SIGMA, i])
        above, below = 0.0, 0.0
        for i in range(first, last):
            away = POINTS[r, i] - middle
            above += away * ((path[SIGMA, i] if i < split else -path[SIGMA, i]) - mean)
            below += away * away
        slope, left = above / below, 0.0
        for i in range(first, last):
            signed = path[SIGMA, i] if i < split else -path[SIGMA, i]
            left = max(left, abs(mean + slope * (POINTS[r, i] - middle) - signed))
        if slope < 0.0 and left < best:
            best, found = left, middle - mean / slope
    return found if best <= BENT * size else -1.0
