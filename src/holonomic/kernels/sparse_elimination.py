"""Newton's matrix A + w B factored and solved by lists: in a fixed order of pivots, over the entries that elimination fills.

For matrices whose straight-line code (`model.newton_factors`) would take seconds to compile, and of which dense LU would find
most to be zero: a beam with GGL, 100 unknowns, takes a fifth of the time of dense LU, and 1.6 times that of code. Rows are
eliminated one by one, in the order of the pivots, spread out over a vector of room. The first number that factors write is the
growth, as there. Where the order ends before the matrix does, what is left is full: dense LU with pivoting has it, as of
systems whose coordinates are all coupled when positions have been eliminated by their velocities.
"""

from __future__ import annotations

import math

import numpy as np

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .complex_lu import complex_lu_factor, complex_lu_solve
from .dense_operators import OPERATOR
from .linalg import lu_factor, lu_solve

SPARSE = Layout(
    "SPARSE",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("n", "unknowns"),
            ("pivots", "how many pivots there are in a fixed order; rows and columns behind them are left to dense LU"),
            ("entries", "of L and U together"),
            ("rows", "address: row of each pivot, then those that are left"),
            ("columns", "column of each pivot, then those that are left"),
            ("first", "first entry of each row, in the order of pivots; one number more"),
            ("middle", "entry of each pivot: before it stand those of L, behind it those of U; rows that are left have L alone"),
            ("at", "for each entry the pivot whose column it stands in, ascending in a row"),
            ("sources", "for each entry its place in A and B; -1 where it fills in"),
            ("sources_left", "the same of what is left, row by row"),
        )
    ],
)
see = view_as(SPARSE)


@leaf
def spread_row(w, M, t, size, at, sources, begin, end):
    """Entries of a row of A + t B, each in its place; return the sum of their sizes."""
    length = 0.0
    for e in range(begin, end):
        source = sources[e]
        value = M[source] + t * M[size + source] if source >= 0 else 0.0
        w[at[e]] = value
        length += abs(value)
    return length


@leaf
def eliminate_row(w, F, at, first, middle, begin, end, n, length):
    """Take the rows before off this one, and keep by how much; return the growth."""
    growth = 0.0
    for e in range(begin, end):
        j = at[e]
        factor = w[j] * F[1 + middle[j]]
        F[1 + e] = factor
        growth += abs(factor) * w[n + j] / length
        for u in range(middle[j] + 1, first[j + 1]):
            w[at[u]] -= factor * F[1 + u]
    return growth


@leaf
def spread_rest(w, M, t, size, sources, row, pivots, left):
    """What is left of a row behind the pivots."""
    length = 0.0
    for j in range(left):
        source = sources[row * left + j]
        value = M[source] + t * M[size + source] if source >= 0 else 0.0
        w[pivots + j] = value
        length += abs(value)
    return length


@kernel(OPERATOR)
def factor_by_lists(context, mode, t, a, b, data, out):
    """L and U of A + t B, pivots inverted, behind the growth; then dense factors of what is left, and their pivots."""
    head = see(numbers_at(context, 1))
    n, size, entries, pivots = head.n, head.n * head.n, head.entries, head.pivots
    left = n - pivots
    room = 1 + entries + left * left + left
    address = take_room(2 * n)
    if address == 0:
        return NOT_FINITE
    w, M, F = numbers_at(address, 2 * n), numbers_at(a, 2 * size), numbers_at(out, room)
    first, middle, at, sources = (
        whole_at(head.first, n + 1), whole_at(head.middle, n), whole_at(head.at, entries), whole_at(head.sources, entries)
    )  # fmt: skip
    growth = 0.0
    for k in range(pivots):
        length = spread_row(w, M, t, size, at, sources, first[k], first[k + 1])
        w[n + k] = length
        growth += eliminate_row(w, F, at, first, middle, first[k], middle[k], n, length)
        F[1 + middle[k]] = 1.0 / w[k]
        for u in range(middle[k] + 1, first[k + 1]):
            F[1 + u] = w[at[u]]
    if left > 0:
        rest, dense = whole_at(head.sources_left, left * left), F[1 + entries : 1 + entries + left * left].reshape((left, left))
        for k in range(pivots, n):
            length = spread_row(w, M, t, size, at, sources, first[k], first[k + 1])
            length += spread_rest(w, M, t, size, rest, k - pivots, pivots, left)
            growth += eliminate_row(w, F, at, first, middle, first[k], first[k + 1], n, length)
            for j in range(left):
                dense[k - pivots, j] = w[pivots + j]
        if lu_factor(dense, F[room - left : room].view(np.int64)) != 0:
            growth = math.inf
    F[0] = growth
    leave_room(address)
    return OK


@leaf
def solve_forth(F, y, at, begin, end, rest):
    """A right-hand side less what rows before have taken."""
    for e in range(begin, end):
        rest -= F[1 + e] * y[at[e]]
    return rest


@kernel(OPERATOR)
def solve_by_lists(context, mode, t, a, b, data, out):
    """x of L U x = r."""
    head = see(numbers_at(context, 1))
    n, entries, pivots = head.n, head.entries, head.pivots
    left = n - pivots
    room = 1 + entries + left * left + left
    address = take_room(n)
    if address == 0:
        return NOT_FINITE
    y, F, r, x = numbers_at(address, n), numbers_at(a, room), numbers_at(b, n), numbers_at(out, n)
    rows, columns, first, middle, at = (
        whole_at(head.rows, n), whole_at(head.columns, n), whole_at(head.first, n + 1), whole_at(head.middle, n),
        whole_at(head.at, entries),
    )  # fmt: skip
    for k in range(n):
        y[k] = solve_forth(F, y, at, first[k], middle[k], r[rows[k]])
    if left > 0:
        dense = F[1 + entries : 1 + entries + left * left].reshape((left, left))
        lu_solve(dense, F[room - left : room].view(np.int64), y[pivots:n])
    for k in range(pivots - 1, -1, -1):
        rest = y[k]
        for u in range(middle[k] + 1, first[k + 1]):
            rest -= F[1 + u] * y[at[u]]
        y[k] = rest * F[1 + middle[k]]
    for k in range(n):
        x[columns[k]] = y[k]
    leave_room(address)
    return OK


@leaf
def spread_complex_row(w, M, t, turned, size, at, sources, begin, end):
    """Entries of a row of A + (t + i turned) B."""
    length = 0.0
    for e in range(begin, end):
        source, real, imaginary = sources[e], 0.0, 0.0
        if source >= 0:
            real, imaginary = M[source] + t * M[size + source], turned * M[size + source]
        w[2 * at[e]], w[2 * at[e] + 1] = real, imaginary
        length += abs(real) + abs(imaginary)
    return length


@leaf
def eliminate_complex_row(w, F, at, first, middle, begin, end, n, length):
    """The same of a complex row."""
    growth = 0.0
    for e in range(begin, end):
        j = at[e]
        p, q, c, s = w[2 * j], w[2 * j + 1], F[1 + 2 * middle[j]], F[2 + 2 * middle[j]]
        real, imaginary = p * c - q * s, p * s + q * c
        F[1 + 2 * e], F[2 + 2 * e] = real, imaginary
        growth += (abs(real) + abs(imaginary)) * w[2 * n + j] / length
        for u in range(middle[j] + 1, first[j + 1]):
            c, s, to = F[1 + 2 * u], F[2 + 2 * u], 2 * at[u]
            w[to] -= real * c - imaginary * s
            w[to + 1] -= real * s + imaginary * c
    return growth


@leaf
def spread_complex_rest(w, M, t, turned, size, sources, row, pivots, left):
    """What is left of a complex row."""
    length = 0.0
    for j in range(left):
        source, real, imaginary = sources[row * left + j], 0.0, 0.0
        if source >= 0:
            real, imaginary = M[source] + t * M[size + source], turned * M[size + source]
        w[2 * (pivots + j)], w[2 * (pivots + j) + 1] = real, imaginary
        length += abs(real) + abs(imaginary)
    return length


@kernel(OPERATOR)
def factor_complex_by_lists(context, mode, t, a, b, data, out):
    """The same of A + (t + i b_0) B, real and imaginary parts side by side; of what is left apart."""
    head = see(numbers_at(context, 1))
    n, size, entries, pivots = head.n, head.n * head.n, head.entries, head.pivots
    left = n - pivots
    area, room = left * left, 1 + 2 * entries + 2 * left * left + left
    address = take_room(3 * n)
    if address == 0:
        return NOT_FINITE
    w, M, F, turned = numbers_at(address, 3 * n), numbers_at(a, 2 * size), numbers_at(out, room), numbers_at(b, 1)[0]
    first, middle, at, sources = (
        whole_at(head.first, n + 1), whole_at(head.middle, n), whole_at(head.at, entries), whole_at(head.sources, entries)
    )  # fmt: skip
    growth = 0.0
    for k in range(pivots):
        length = spread_complex_row(w, M, t, turned, size, at, sources, first[k], first[k + 1])
        w[2 * n + k] = length
        growth += eliminate_complex_row(w, F, at, first, middle, first[k], middle[k], n, length)
        p, q = w[2 * k], w[2 * k + 1]
        by = 1.0 / (p * p + q * q)
        F[1 + 2 * middle[k]], F[2 + 2 * middle[k]] = p * by, -q * by
        for u in range(middle[k] + 1, first[k + 1]):
            F[1 + 2 * u], F[2 + 2 * u] = w[2 * at[u]], w[2 * at[u] + 1]
    if left > 0:
        begin, rest = 1 + 2 * entries, whole_at(head.sources_left, area)
        re, im = F[begin : begin + area].reshape((left, left)), F[begin + area : begin + 2 * area].reshape((left, left))
        for k in range(pivots, n):
            length = spread_complex_row(w, M, t, turned, size, at, sources, first[k], first[k + 1])
            length += spread_complex_rest(w, M, t, turned, size, rest, k - pivots, pivots, left)
            growth += eliminate_complex_row(w, F, at, first, middle, first[k], first[k + 1], n, length)
            for j in range(left):
                re[k - pivots, j], im[k - pivots, j] = w[2 * (pivots + j)], w[2 * (pivots + j) + 1]
        if complex_lu_factor(re, im, F[room - left : room].view(np.int64)) != 0:
            growth = math.inf
    F[0] = growth
    leave_room(address)
    return OK


@kernel(OPERATOR)
def solve_complex_by_lists(context, mode, t, a, b, data, out):
    """The same with complex factors; right-hand side and solution have their real parts first."""
    head = see(numbers_at(context, 1))
    n, entries, pivots = head.n, head.entries, head.pivots
    left = n - pivots
    area, room = left * left, 1 + 2 * entries + 2 * left * left + left
    address = take_room(2 * n + 2 * left)
    if address == 0:
        return NOT_FINITE
    y, F, r, x = numbers_at(address, 2 * n + 2 * left), numbers_at(a, room), numbers_at(b, 2 * n), numbers_at(out, 2 * n)
    rows, columns, first, middle, at = (
        whole_at(head.rows, n), whole_at(head.columns, n), whole_at(head.first, n + 1), whole_at(head.middle, n),
        whole_at(head.at, entries),
    )  # fmt: skip
    for k in range(n):
        real, imaginary = r[rows[k]], r[n + rows[k]]
        for e in range(first[k], middle[k]):
            c, s, p, q = F[1 + 2 * e], F[2 + 2 * e], y[2 * at[e]], y[2 * at[e] + 1]
            real -= c * p - s * q
            imaginary -= c * q + s * p
        y[2 * k], y[2 * k + 1] = real, imaginary
    if left > 0:
        begin, re, im = 1 + 2 * entries, y[2 * n : 2 * n + left], y[2 * n + left : 2 * n + 2 * left]
        for j in range(left):
            re[j], im[j] = y[2 * (pivots + j)], y[2 * (pivots + j) + 1]
        complex_lu_solve(
            F[begin : begin + area].reshape((left, left)), F[begin + area : begin + 2 * area].reshape((left, left)),
            F[room - left : room].view(np.int64), re, im,
        )  # fmt: skip
        for j in range(left):
            y[2 * (pivots + j)], y[2 * (pivots + j) + 1] = re[j], im[j]
    for k in range(pivots - 1, -1, -1):
        real, imaginary = y[2 * k], y[2 * k + 1]
        for u in range(middle[k] + 1, first[k + 1]):
            c, s, p, q = F[1 + 2 * u], F[2 + 2 * u], y[2 * at[u]], y[2 * at[u] + 1]
            real -= c * p - s * q
            imaginary -= c * q + s * p
        c, s = F[1 + 2 * middle[k]], F[2 + 2 * middle[k]]
        y[2 * k], y[2 * k + 1] = real * c - imaginary * s, real * s + imaginary * c
    for k in range(n):
        x[columns[k]], x[n + columns[k]] = y[2 * k], y[2 * k + 1]
    leave_room(address)
    return OK
