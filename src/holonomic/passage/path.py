"""A path over a singular position: a polynomial that stands in the rows of one matrix.

First its numbers, then the state where it begins and the coefficients of its slopes by Legendre polynomials of
2θ - 1; behind them is what finding it takes. x(t + θ h) = x0 + h ∫ slopes.
"""

from __future__ import annotations

from ..native.marks import leaf
from ..native.types import f8, i8, mat, vec

MOST = 14  # points through which it may lead
# numbers in the first row of a path: where the singular position lies, how far the nearest point is from it and how far
# a run has followed the path are values of θ; COUNT points
T0, LENGTH, WHERE, CLEAR, USED, COUNT, PIECE = range(7)
# rows: NUMBERS, the state at the BEGIN, the SERIES, then states and slopes at points, slope at the beginning first, new
# states, √ρ at the points, and room for one number per unknown
NUMBERS, BEGIN, SERIES = 0, 1, 2
KEPT = SERIES + MOST
AT, SLOPE = KEPT, KEPT + MOST
SLOPES, NEW = SLOPE + 1, SLOPE + 1 + MOST
SIGMA = NEW + MOST
ROOM = SIGMA + 1
ROWS = ROOM + 1


@leaf
def path_state(path: mat, theta: f8, size: i8, x: vec):
    """x = state at θ, not projected."""
    z, m, h = 2.0 * theta - 1.0, int(path[NUMBERS, COUNT]), path[NUMBERS, LENGTH]
    for k in range(size):
        x[k] = theta * path[SERIES, k]
    before, here = 1.0, z
    for j in range(1, m):
        after = ((2 * j + 1) * z * here - j * before) / (j + 1)
        weight = (after - before) / (2 * (2 * j + 1))
        for k in range(size):
            x[k] += weight * path[SERIES + j, k]
        before, here = here, after
    for k in range(size):
        x[k] = path[BEGIN, k] + h * x[k]


@leaf
def path_slope(path: mat, theta: f8, size: i8, K: mat, row: i8):
    """Slope at θ into a row of K."""
    z, m = 2.0 * theta - 1.0, int(path[NUMBERS, COUNT])
    for k in range(size):
        K[row, k] = path[SERIES, k]
    before, here = 1.0, z
    for j in range(1, m):
        for k in range(size):
            K[row, k] += here * path[SERIES + j, k]
        before, here = here, ((2 * j + 1) * z * here - j * before) / (j + 1)
