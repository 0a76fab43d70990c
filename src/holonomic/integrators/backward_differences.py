"""The past of a multistep method as backward differences D_j = ∇^j y_n on equal steps, in rows of K.

References
----------
[shampine-reichelt-1997] Sec. 2.2 (other steps); [HW96] Sec. V.1.
"""

from __future__ import annotations

import math

from ..native.marks import leaf

D = 2  # row of K with D_0; up to D_8 follow


@leaf
def gamma(k):
    """1 + 1/2 + .. + 1/k"""
    total = 0.0
    for j in range(1, k + 1):
        total += 1.0 / j
    return total


@leaf
def respace(K, factor, order, ny):
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
def predict(K, order, xn, xp, W, beta, alpha, h, ny):
    """y_p, and β of y' = α y + β."""
    b, newest, weight = W[beta : beta + ny], K[D, :], 0.0
    for i in range(ny):
        xn[i], b[i] = newest[i], 0.0
    for j in range(1, order + 1):
        weight += 1.0 / j
        difference = K[D + j]
        for i in range(ny):
            xn[i] += difference[i]
            b[i] += weight * difference[i]
    for i in range(ny):
        xp[i] = xn[i]
        b[i] = b[i] / h - alpha * xn[i]


@leaf
def take_in(K, xn, order, ny):
    """Differences at the new point."""
    highest, above = K[D + order + 1], K[D + order + 2]
    for i in range(ny):
        above[i] = 0.0
    for j in range(order + 1):
        difference = K[D + j]
        for i in range(ny):
            above[i] += difference[i]
    for i in range(ny):
        d = xn[i] - above[i]
        above[i] = d - highest[i]
        highest[i] = d
    for j in range(order, -1, -1):
        difference, higher = K[D + j], K[D + j + 1]
        for i in range(ny):
            difference[i] += higher[i]


@leaf
def history_polynomial(theta, K, xn, order, ny, out):
    """Interpolant through the new point and those before it."""
    for i in range(ny):
        predicted = 0.0
        for j in range(order + 1):
            predicted += K[D + j, i]
        step = xn[i] - predicted
        # differences at the new point, from the highest down; s = θ - 1 steps from there
        s = theta - 1.0
        total, basis = 0.0, 1.0
        for j in range(order + 1):
            new = step
            for m in range(j, order + 1):
                new += K[D + m, i]
            if j > 0:
                basis *= (s + j - 1) / j
            total += basis * new
        out[i] = total


@leaf
def scaled_norm(K, row, x, h, fp, nq, differential, ny):
    """Size of a row in the error norm: RMS over q, over v and over multipliers, the largest counts."""
    worst, first = 0.0, 0
    found, rtol, atol, powers = K[row], fp[0], fp[2 : 2 + ny], fp[2 + ny : 2 + 2 * ny]
    for block in range(3):
        last = nq if block == 0 else (differential if block == 1 else ny)
        total = 0.0
        for i in range(first, last):
            part = found[i] * h ** int(powers[i]) / (atol[i] + rtol * abs(x[i]))
            total += part * part
        if last > first:
            worst = max(worst, math.sqrt(total / (last - first)))
        first = last
    return worst
