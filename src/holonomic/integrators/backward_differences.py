"""The past of a multistep method as backward differences on any points, in rows of K.

With ψ_j = t_n - t_(n-j) the differences at t_n are divided ones times lengths,

    D_0 = y_n,      D_j = ψ_1 .. ψ_j y[t_n, .., t_(n-j)]

on equal steps ∇^j y_n. A step of length h to t_(n+1) has other lengths Ψ_j = h + ψ_(j-1), and its polynomial through the past
is a sum of D*_j = β_j D_j with β_j = Ψ_1 .. Ψ_j / (ψ_1 .. ψ_j). All that a formula needs of the points are the shares h / Ψ_j
(1/j on equal steps) and the growths β_j (there 1). Where steps are not equal they are either put into these numbers
(`uneven_points`), or the differences are interpolated to equal steps (`respace`).

References
----------
[shampine-reichelt-1997] Sec. 2.2 (interpolated differences); [BCP96] Sec. 5.2 (its φ_(j+1) is our D_j); [HW96] Sec. V.1.
"""

from __future__ import annotations

import math

from ..kernels.sizes import raised
from ..native.layout import REAL, Layout, view_as
from ..native.marks import leaf
from ..native.types import Group, f8, i8, mat, vec

BEHIND = 8  # differences, points behind the newest
# rows of K: numbers of its own; shares, then growths, of j = 1 .. 8; D_0 .. D_8; ψ_1 .. ψ_8. Dense output reads the first.
CONTROL, POINTS, D, SPANS = 2, 3, 4, 13
CONTROLS = Layout("BDF", (
    ("h", REAL, "step before, or of the differences; 0: there are none"),
    ("order", REAL, "order of the next step"),
    ("equal", REAL, "equal steps since the last change"),
    ("alpha", REAL, "α of the factors; 0: they are to be renewed"),
    ("fresh", REAL, "1 where the Jacobian is of this step"),
    ("rate", REAL, "at which iterations with these factors converge"),
    ("before", REAL, "α of the step before"),
    ("least", REAL, "Newton steps beyond the first that a new Jacobian took"),
    ("begun", REAL, "1 when a step has been taken"),
    ("yet", REAL, "steps that are yet to be taken in pieces"),
    ("pieces", REAL, "and in how many"),
))  # fmt: skip
controls_of = view_as(CONTROLS, CONTROL)


@leaf
def even_points(K: mat, h: f8):
    """Points behind the newest one at equal steps."""
    shares, spans = K[POINTS, :], K[SPANS, :]
    for j in range(1, BEHIND + 1):
        shares[j - 1], shares[BEHIND + j - 1] = 1.0 / j, 1.0
        spans[j - 1] = j * h


@leaf
def uneven_points(K: mat, h: f8):
    """Shares and growths of a step of length h from where the past stands."""
    shares, spans = K[POINTS, :], K[SPANS, :]
    growth, ahead = 1.0, h
    for j in range(1, BEHIND + 1):
        behind = spans[j - 1]
        shares[j - 1] = h / ahead
        growth *= ahead / behind
        shares[BEHIND + j - 1] = growth
        ahead = h + behind


@leaf
def move_points(K: mat, h: f8):
    """The new point is the newest."""
    shares, spans = K[POINTS, :], K[SPANS, :]
    for j in range(BEHIND):
        spans[j] = h / shares[j]


@leaf
def sum_of_shares(K: mat, order: i8):
    """h times the derivative of the polynomial through the new point by its value there."""
    shares, total = K[POINTS, :], 0.0
    for j in range(order):
        total += shares[j]
    return total


@leaf
def as_if_even(K: mat, order: i8):
    """By how much D_order would change if all steps were as long as this one."""
    shares, product = K[POINTS, :], 1.0
    for j in range(order):
        product *= (j + 1) * shares[j]
    return product


@leaf
def respace(K: mat, factor: f8, order: i8, ny: i8):
    """Differences of the interpolating polynomial on steps `factor` times as long.

    In Newton's basis D~_j = Σ_i M_ji D_i, where M = R(factor) U as in [shampine-reichelt-1997]: the values at
    the new points, differenced. Done column by column, for orders up to 6.
    """
    for i in range(ny):
        d0, d1, d2, d3, d4, d5 = K[D, i], K[D + 1, i], K[D + 2, i], K[D + 3, i], K[D + 4, i], K[D + 5, i]
        d6 = K[D + 6, i] if order > 5 else 0.0
        if order < 5:
            d5 = 0.0
        if order < 4:
            d4 = 0.0
        if order < 3:
            d3 = 0.0
        if order < 2:
            d2 = 0.0
        v0 = d0
        v1 = value_at(-factor, d0, d1, d2, d3, d4, d5, d6)
        v2 = value_at(-2.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v3 = value_at(-3.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v4 = value_at(-4.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v5 = value_at(-5.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        v6 = value_at(-6.0 * factor, d0, d1, d2, d3, d4, d5, d6)
        K[D + 1, i] = v0 - v1
        if order > 1:
            K[D + 2, i] = v0 - 2.0 * v1 + v2
        if order > 2:
            K[D + 3, i] = v0 - 3.0 * v1 + 3.0 * v2 - v3
        if order > 3:
            K[D + 4, i] = v0 - 4.0 * v1 + 6.0 * v2 - 4.0 * v3 + v4
        if order > 4:
            K[D + 5, i] = v0 - 5.0 * v1 + 10.0 * v2 - 10.0 * v3 + 5.0 * v4 - v5
        if order > 5:
            K[D + 6, i] = v0 - 6.0 * v1 + 15.0 * v2 - 20.0 * v3 + 15.0 * v4 - 6.0 * v5 + v6


@leaf
def value_at(s, d0, d1, d2, d3, d4, d5, d6):
    """Newton's backward interpolant at s steps from the newest point (s <= 0 is the past)."""
    a1 = s
    a2 = a1 * (s + 1.0) / 2.0
    a3 = a2 * (s + 2.0) / 3.0
    a4 = a3 * (s + 3.0) / 4.0
    a5 = a4 * (s + 4.0) / 5.0
    a6 = a5 * (s + 5.0) / 6.0
    return d0 + a1 * d1 + a2 * d2 + a3 * d3 + a4 * d4 + a5 * d5 + a6 * d6


@leaf
def predict(K: mat, order: i8, xn: vec, xp: vec, W: vec, beta: i8, alpha: f8, h: f8, ny: i8):
    """y_p, and β of y' = α y + β."""
    b, newest, points, weight = W[beta : beta + ny], K[D, :], K[POINTS, :], 0.0
    for i in range(ny):
        xn[i], b[i] = newest[i], 0.0
    for j in range(1, order + 1):
        weight += points[j - 1]
        growth, difference = points[BEHIND + j - 1], K[D + j]
        for i in range(ny):
            part = growth * difference[i]
            xn[i] += part
            b[i] += weight * part
    for i in range(ny):
        xp[i] = xn[i]
        b[i] = b[i] / h - alpha * xn[i]


@leaf
def take_in(K: mat, xn: vec, order: i8, ny: i8):
    """Differences at the new point."""
    points, highest, above = K[POINTS, :], K[D + order + 1], K[D + order + 2]
    for i in range(ny):
        above[i] = 0.0
    for j in range(order + 1):
        difference = K[D + j]
        growth = points[BEHIND + j - 1] if j > 0 else 1.0
        for i in range(ny):
            difference[i] *= growth
            above[i] += difference[i]
    growth = points[BEHIND + order]
    for i in range(ny):
        d = xn[i] - above[i]
        above[i] = d - growth * highest[i]
        highest[i] = d
    for j in range(order, -1, -1):
        difference, higher = K[D + j], K[D + j + 1]
        for i in range(ny):
            difference[i] += higher[i]


@leaf
def history_polynomial(theta: f8, K: mat, xn: vec, order: i8, ny: i8, out: vec):
    """Interpolant through the new point and those before it."""
    points = K[POINTS, :]
    for i in range(ny):
        predicted = K[D, i]
        for j in range(1, order + 1):
            predicted += points[BEHIND + j - 1] * K[D + j, i]
        step = xn[i] - predicted
        # differences at the new point, from the highest down; s = θ - 1 steps from there
        s = theta - 1.0
        total, basis = 0.0, 1.0
        for j in range(order + 1):
            new = step
            for m in range(j, order + 1):
                new += points[BEHIND + m - 1] * K[D + m, i] if m > 0 else K[D, i]
            if j == 1:
                basis = s * points[0]
            elif j > 1:
                basis *= (s + 1.0 / points[j - 2]) * points[j - 1]
            total += basis * new
        out[i] = total


@leaf
def scaled_norm(K: mat, row: i8, x: vec, W: vec, places: Group(None, (i8, i8)), h: f8, fp: vec, nq: i8, differential: i8, ny: i8):
    """Size of a row in the error norm: RMS over q, over v and over multipliers, the largest counts."""
    worst, first = 0.0, 0
    found, rtol, powers = K[row], fp[0], fp[2 : 2 + ny]
    at, rates = places
    for block in range(3):
        last = nq if block == 0 else (differential if block == 1 else ny)
        total = 0.0
        for i in range(first, last):
            part = found[i] * raised(h, W[rates + i], powers[i]) / (W[at + i] + rtol * abs(x[i]))
            total += part * part
        if last > first:
            worst = max(worst, math.sqrt(total / (last - first)))
        first = last
    return worst
