"""The loops of a Radau step with five and seven stages, each passed through once or twice for all of them; see `radau_three`."""

from __future__ import annotations

from ..native.marks import leaf
from .radau_nodes import stage_weight


@leaf
def rows_of_five(out, w1, w2, w3, w4, w5, K, z, ny):
    """Σ w_j K[z + j] of five rows."""
    z1, z2, z3, z4, z5 = K[z], K[z + 1], K[z + 2], K[z + 3], K[z + 4]
    for i in range(ny):
        out[i] = w1 * z1[i] + w2 * z2[i] + w3 * z3[i] + w4 * z4[i] + w5 * z5[i]


@leaf
def add_two_rows(out, w1, w2, K, z, ny):
    """out += w_1 K[z] + w_2 K[z + 1]"""
    z1, z2 = K[z], K[z + 1]
    for i in range(ny):
        out[i] += w1 * z1[i] + w2 * z2[i]


@leaf
def slope_more(W, at_slope, K, z, fp, weights, stages, h, ny):
    """Σ w_j Z_j / h"""
    slope, w, by = W[at_slope : at_slope + ny], fp[weights : weights + stages], 1.0 / h
    rows_of_five(slope, by * w[0], by * w[1], by * w[2], by * w[3], by * w[4], K, z, ny)
    if stages == 7:
        add_two_rows(slope, by * w[5], by * w[6], K, z + 5, ny)


@leaf
def extrapolate_more(K, old, z, fp, c, stages, old_c, old_stages, ratio, ny):
    """Z from the curve through the five or seven stages of the step before, this step being `ratio` times as long."""
    end = K[old + old_stages - 1]
    for k in range(stages):
        row, theta = K[z + k], 1.0 + fp[c + k] * ratio
        w1, w2, w3, w4, w5 = (
            stage_weight(fp, old_c, old_stages, 0, theta), stage_weight(fp, old_c, old_stages, 1, theta),
            stage_weight(fp, old_c, old_stages, 2, theta), stage_weight(fp, old_c, old_stages, 3, theta),
            stage_weight(fp, old_c, old_stages, 4, theta),
        )  # fmt: skip
        rows_of_five(row, w1, w2, w3, w4, w5, K, old, ny)
        if old_stages == 7:
            w6, w7 = stage_weight(fp, old_c, old_stages, 5, theta), stage_weight(fp, old_c, old_stages, 6, theta)
            add_two_rows(row, w6, w7, K, old + 5, ny)
        for i in range(ny):
            row[i] -= end[i]


@leaf
def to_eigenvectors_more(W, at_r, at_to, fp, inverse, stages, ny):
    """-T⁻¹ times the residuals of the stages."""
    for i in range(ny):
        at = at_r + i
        a, b, c, d, e = -W[at], -W[at + ny], -W[at + 2 * ny], -W[at + 3 * ny], -W[at + 4 * ny]
        if stages == 5:
            for k in range(5):
                t = inverse + 5 * k
                W[at_to + k * ny + i] = fp[t] * a + fp[t + 1] * b + fp[t + 2] * c + fp[t + 3] * d + fp[t + 4] * e
        else:
            f, g = -W[at + 5 * ny], -W[at + 6 * ny]
            for k in range(7):
                t = inverse + 7 * k
                first = fp[t] * a + fp[t + 1] * b + fp[t + 2] * c + fp[t + 3] * d
                W[at_to + k * ny + i] = first + (fp[t + 4] * e + fp[t + 5] * f + fp[t + 6] * g)


@leaf
def add_more(W, solved, weights, K, z, fp, T, stages, first, last, ny):
    """Z += T Δw for the unknowns first .. last-1; return the sum of squares of the change beside the tolerance."""
    total = 0.0
    for i in range(first, last):
        at, squares = solved + i, 0.0
        a, b, c, d, e = W[at], W[at + ny], W[at + 2 * ny], W[at + 3 * ny], W[at + 4 * ny]
        if stages == 5:
            for k in range(5):
                t = T + 5 * k
                step = fp[t] * a + fp[t + 1] * b + fp[t + 2] * c + fp[t + 3] * d + fp[t + 4] * e
                K[z + k, i] += step
                squares += step * step
        else:
            f, g = W[at + 5 * ny], W[at + 6 * ny]
            for k in range(7):
                t = T + 7 * k
                step = fp[t] * a + fp[t + 1] * b + fp[t + 2] * c + fp[t + 3] * d
                step += fp[t + 4] * e + fp[t + 5] * f + fp[t + 6] * g
                K[z + k, i] += step
                squares += step * step
        total += squares * (W[weights + i] * W[weights + i])
    return total
