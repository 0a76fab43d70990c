"""The loops of a Radau step with three stages, each passed through once for all of them.

They do what their namesakes in `radau_stages` do for any number of stages. There a Newton iteration passes 40 loops, one for each
pair of stages; with the ten unknowns of a mechanism most of their time goes into beginning and ending them. Here it passes seven.
"""

from __future__ import annotations

from ..native.marks import leaf


@leaf
def weights_of_three(fp, c, theta):
    """ℓ_j(θ) of the three stages whose nodes begin at c; behind the numbers of the method are those that scale them."""
    scales, first, second, third = c + 41, theta - fp[c], theta - fp[c + 1], theta - fp[c + 2]
    return theta * fp[scales] * second * third, theta * fp[scales + 1] * first * third, theta * fp[scales + 2] * first * second


@leaf
def extrapolate_three(K, old, z, fp, c, old_c, ratio, ny):
    """Z from the curve through the three stages of the step before, this step being `ratio` times as long."""
    w1, w2, w3 = weights_of_three(fp, old_c, 1.0 + fp[c] * ratio)
    w4, w5, w6 = weights_of_three(fp, old_c, 1.0 + fp[c + 1] * ratio)
    w7, w8, w9 = weights_of_three(fp, old_c, 1.0 + ratio)
    old1, old2, old3, z1, z2, z3 = K[old], K[old + 1], K[old + 2], K[z], K[z + 1], K[z + 2]
    for i in range(ny):
        a, b, c = old1[i], old2[i], old3[i]
        z1[i] = w1 * a + w2 * b + w3 * c - c
        z2[i] = w4 * a + w5 * b + w6 * c - c
        z3[i] = w7 * a + w8 * b + w9 * c - c


@leaf
def arguments_three(W, at_y, x, K, z, fp, weights, stage, h, ny):
    """y0 + Z_i and, behind it, Σ a_ij Z_j / h."""
    y, slope, own, z1, z2, z3 = W[at_y : at_y + ny], W[at_y + ny : at_y + 2 * ny], K[z + stage], K[z], K[z + 1], K[z + 2]
    a1, a2, a3 = fp[weights] / h, fp[weights + 1] / h, fp[weights + 2] / h
    for i in range(ny):
        y[i] = x[i] + own[i]
        slope[i] = a1 * z1[i] + a2 * z2[i] + a3 * z3[i]


@leaf
def slope_three(W, at_slope, K, z, fp, weights, h, ny):
    """Σ w_j Z_j / h"""
    slope, z1, z2, z3 = W[at_slope : at_slope + ny], K[z], K[z + 1], K[z + 2]
    a1, a2, a3 = fp[weights] / h, fp[weights + 1] / h, fp[weights + 2] / h
    for i in range(ny):
        slope[i] = a1 * z1[i] + a2 * z2[i] + a3 * z3[i]


@leaf
def to_eigenvectors_three(W, at_r, at_to, fp, inverse, ny):
    """-T⁻¹ times the residuals of the stages."""
    r1, r2, r3 = W[at_r : at_r + ny], W[at_r + ny : at_r + 2 * ny], W[at_r + 2 * ny : at_r + 3 * ny]
    o1, o2, o3 = W[at_to : at_to + ny], W[at_to + ny : at_to + 2 * ny], W[at_to + 2 * ny : at_to + 3 * ny]
    t = fp[inverse : inverse + 9]
    t11, t12, t13, t21, t22, t23, t31, t32, t33 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]
    for i in range(ny):
        a, b, c = -r1[i], -r2[i], -r3[i]
        o1[i] = t11 * a + t12 * b + t13 * c
        o2[i] = t21 * a + t22 * b + t23 * c
        o3[i] = t31 * a + t32 * b + t33 * c


@leaf
def add_three(W, solved, weights, K, z, fp, T, first, last, ny):
    """Z += T Δw for the unknowns first .. last-1; return the sum of squares of the change beside the tolerance."""
    w1, w2, w3 = W[solved : solved + ny], W[solved + ny : solved + 2 * ny], W[solved + 2 * ny : solved + 3 * ny]
    scales, z1, z2, z3, t = W[weights : weights + ny], K[z], K[z + 1], K[z + 2], fp[T : T + 9]
    t11, t12, t13, t21, t22, t23, t31, t32, t33 = t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8]
    total = 0.0
    for i in range(first, last):
        a, b, c = w1[i], w2[i], w3[i]
        step1, step2, step3 = t11 * a + t12 * b + t13 * c, t21 * a + t22 * b + t23 * c, t31 * a + t32 * b + t33 * c
        z1[i] += step1
        z2[i] += step2
        z3[i] += step3
        total += (step1 * step1 + step2 * step2 + step3 * step3) * (scales[i] * scales[i])
    return total
