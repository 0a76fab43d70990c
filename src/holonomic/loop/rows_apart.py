"""Whether constraint rows stay far from dependent around a place of a run: a bound, as singular values would take milliseconds."""

from __future__ import annotations

import math

from ..kernels.linalg import qr_pivoted
from ..kernels.signatures import TERMS, call_function
from ..native.marks import entry, inner, leaf
from ..native.types import Group, f8, i8, ints, mat, vec


@leaf
def least_of_rows(found: vec, at: i8, rank: i8, A: mat, tau: vec, jpvt: ints, work: vec, column: vec):
    """A number between the smallest singular value of `rank` rows at `at`, of length 1, over √rank and that value itself.

    It is 1/‖R⁻¹‖ of their pivoted QR; 0 where that cannot be told.
    """
    nv, nl = A.shape
    for r in range(nl):
        length = 0.0
        for j in range(nv):
            A[j, r] = found[at + r * nv + j]
            length += A[j, r] * A[j, r]
        length = max(math.sqrt(length), 1e-300)
        for j in range(nv):
            A[j, r] /= length
    if qr_pivoted(A, tau, jpvt, work, 0.0) < rank:
        return 0.0
    total = 0.0
    for c in range(rank):
        for i in range(c, -1, -1):
            value = 1.0 if i == c else 0.0
            for k in range(i + 1, c + 1):
                value -= A[i, k] * column[k]
            column[i] = value / A[i, i]
            total += column[i] * column[i]
    return 1.0 / math.sqrt(total) if total < math.inf else 0.0


@inner
def rows_at(fns, t, y, data, found, nq, nv, rank, room):
    """The same of the rows at a state."""
    A, tau, jpvt, work, column = room
    call_function(fns, TERMS, t, y, 0, y, 0, data, found, 0)
    return least_of_rows(found, nq + nv * nv + nv, rank, A, tau, jpvt, work, column)


@entry(
    ints, Group(None, (f8, vec)), Group(None, (f8, vec, vec)), vec, Group(None, (i8, i8, i8, i8)), Group(None, (f8, f8)), vec,
    Group(None, (mat, vec, ints, vec, vec)), vec, vec,
)  # fmt: skip
def surely_apart(fns, begun, place, data, sizes, way, found, room, there, y):
    """Tell whether the rows around (t, x) are farther than way[1] from dependent, beside those at the start and around.

    begun: time and state of the start; place: (t, x, slope); sizes: (nq, nv, rank, points); the points lie from -way[0] to
    way[0] about t, along the motion through x with this slope.
    """
    t_start, start = begun
    t, x, slope = place
    nq, nv, rank, points = sizes
    reach, share = way
    largest = rows_at(fns, t_start, start, data, found, nq, nv, rank, room)
    least = math.inf
    for i in range(points):
        tau = reach * (2.0 * i / (points - 1) - 1.0)
        for k in range(nq + nv):
            there[k] = x[k] + tau * slope[k]
        call_function(fns, TERMS, t + tau, there, 0, there, 0, data, found, 0)
        for k in range(nq):
            y[k] = x[k] + 0.5 * tau * (slope[k] + found[k])
        for k in range(nv):
            y[nq + k] = there[nq + k]
        value = rows_at(fns, t + tau, y, data, found, nq, nv, rank, room)
        least, largest = min(least, value), max(largest, value)
    return least > share * math.sqrt(1.0 * rank) * largest
