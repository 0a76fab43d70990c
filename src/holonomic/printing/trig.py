"""Sine and cosine of one angle together, the same in every language that a program is printed in.

A mechanism asks for both of every angle. Computed together they share the reduction to |r| <= π/4 and read no tables: about
35 instructions for both. Reduction in three parts of π/2 with 33 bits each (products with the quadrant are exact),
polynomials of [fdlibm]; both are good to 1e-16 up to |x| = 1e5. Sums and products alone: what IEEE arithmetic runs it gives
the same bits.
"""

from __future__ import annotations

import math

FAR = 1e5  # beyond it the library of a language has to do
ROUND = 6755399441055744.0  # 1.5 · 2^52: adding and subtracting it rounds to a whole number
TWO_OVER_PI = 0.6366197723675814
PI_1, PI_2, PI_3 = 1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21
S1, S2, S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
S4, S5, S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
C1, C2, C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
C4, C5, C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


def near_sincos(x):
    """(sin x, cos x) for |x| up to FAR."""
    turns = (x * TWO_OVER_PI + ROUND) - ROUND
    quadrant = int(turns)
    r = x - turns * PI_1
    r = r - turns * PI_2
    r = r - turns * PI_3
    z = r * r
    s = r + r * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))))
    c = 1.0 - (0.5 * z - z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6))))))
    odd = quadrant & 1
    sine = c if odd else s
    cosine = s if odd else c
    if quadrant & 2:
        sine = -sine
    if (quadrant + 1) & 2:
        cosine = -cosine
    return sine, cosine


def sincos(x):
    """(sin x, cos x)"""
    if not abs(x) <= FAR:
        return math.sin(x), math.cos(x)
    return near_sincos(x)
