"""Dense output of Radau IIA: through the stages of a step and, where that converges, of the one before.

The cubic through start and stages is off by h⁴ y''''/24 times ω(θ) = θ (θ - c1)(θ - c2)(θ - 1). Where a stiff part is at rest
the filtered error estimate allows steps for which that is far above the tolerance: the stages are exact there, whatever
lies between them. So Newton's form goes on with the points of the step before, nearest first,

    p(θ) = cubic + ω(θ) (D4 + (θ + a)(D5 + (θ + b) D6)),      a = (1 - c2) w,  b = (1 - c1) w,  w = h_old / h

as long as its terms fall. The last term taken is what the step loop holds against steps that are looked into. Where terms
do not fall, because the step before was of another kind, the cubic is left as it is, and the first term is its error.
"""

from __future__ import annotations

from ..errors import OK
from ..kernels.signatures import DENSE, INTERPOLATE
from ..native.layout import REAL, Layout, view_as
from ..native.marks import kernel, leaf

SQ6 = 6.0**0.5
C1, C2 = (4.0 - SQ6) / 10.0, (4.0 + SQ6) / 10.0  # and 1
# rows of K: field at both ends, stages Z of the last step and of this one, control; what a stabilization moved the end of
# the last step by; divided differences D4 to D6
OLD_Z, Z, CONTROL, OLD_SHIFT, DIVIDED = 2, 5, 8, 9, 10
ROWS = 13
CONTROLS = Layout("Radau", (
    ("h_old", REAL, "length of the step before; 0: there was none"),
    ("h_factors", REAL, "step for which there are factors; 0: there are none"),
    ("jacobian_good", REAL, "1 while the Jacobian serves"),
    ("fresh", REAL, "1 where it is of this step"),
    ("retry", REAL, "1 where iterations took so long that the next step has a new one"),
    ("slowness", REAL, "θ/(1 - θ) of the last iteration"),
    ("tried", REAL, "1 after an attempt at this step"),
    ("degree", REAL, "of the polynomial between the ends of this step"),
))  # fmt: skip
controls_of = view_as(CONTROLS, CONTROL)
LOOKED = (0.40, 0.86)  # θ where |ω| is largest, between c1 and c2 and between c2 and 1
ENOUGH = 1.0  # of the tolerance, an error of the cubic at which it is taken
SHARE = 0.1  # of the term before, what the last one counts for at least: it may be small by chance


@leaf
def stage_polynomial(s, c1, c2):
    """Weights at s of the values at c1, c2 and 1, for a cubic that vanishes at 0."""
    l1 = s * (s - c2) * (s - 1.0) / (c1 * (c1 - c2) * (c1 - 1.0))
    l2 = s * (s - c1) * (s - 1.0) / (c2 * (c2 - c1) * (c2 - 1.0))
    l3 = s * (s - c1) * (s - c2) / ((1.0 - c1) * (1.0 - c2))
    return l1, l2, l3


@leaf
def rise(theta):
    """How much of what a stabilization moved the end of a step by is seen at θ."""
    return theta * theta * (3.0 - 2.0 * theta)


@leaf
def keep_shift(K, x, xn, ny):
    """Remember what the stabilization has moved the end of this step by."""
    shift, z3 = K[OLD_SHIFT, :], K[Z + 2]
    for i in range(ny):
        shift[i] = xn[i] - x[i] - z3[i]


@leaf
def omega(theta, c1, c2):
    """θ (θ - c1)(θ - c2)(θ - 1)"""
    return theta * (theta - c1) * (theta - c2) * (theta - 1.0)


@leaf
def divide(K, x, xn, w, ny, c1, c2):
    """D4, D5 and D6 from the points of the step before."""
    a, b = (1.0 - c2) * w, (1.0 - c1) * w
    z1, z2, z3, old1, old2, old3 = K[Z, :], K[Z + 1], K[Z + 2], K[OLD_Z, :], K[OLD_Z + 1], K[OLD_Z + 2]
    shift, d4, d5, d6 = K[OLD_SHIFT, :], K[DIVIDED, :], K[DIVIDED + 1], K[DIVIDED + 2]
    la1, la2, la3 = stage_polynomial(-a, c1, c2)
    lb1, lb2, lb3 = stage_polynomial(-b, c1, c2)
    lw1, lw2, lw3 = stage_polynomial(-w, c1, c2)
    rise_a, rise_b, rise_w = rise(-a), rise(-b), rise(-w)
    seen1, seen2 = rise(c1) - 1.0, rise(c2) - 1.0
    omega_a, omega_b, omega_w = omega(-a, c1, c2), omega(-b, c1, c2), omega(-w, c1, c2)
    for i in range(ny):
        moved = xn[i] - x[i] - z3[i]
        at_a = old2[i] - old3[i] + seen2 * shift[i]
        at_b = old1[i] - old3[i] + seen1 * shift[i]
        at_w = -old3[i] - shift[i]
        gap_a = at_a - (la1 * z1[i] + la2 * z2[i] + la3 * z3[i] + rise_a * moved)
        gap_b = at_b - (lb1 * z1[i] + lb2 * z2[i] + lb3 * z3[i] + rise_b * moved)
        gap_w = at_w - (lw1 * z1[i] + lw2 * z2[i] + lw3 * z3[i] + rise_w * moved)
        d4[i] = gap_a / omega_a
        d5[i] = (gap_b / omega_b - d4[i]) / (a - b)
        d6[i] = ((gap_w / omega_w - d4[i]) / (a - w) - d5[i]) / (b - w)


@leaf
def term_size(K, row, factor, x, xn, h, fp, ny):
    """The largest component of factor times a row of K beside its tolerance, index-raised unknowns times powers of h."""
    largest, rtol, atol, powers, found = 0.0, fp[0], fp[2 : 2 + ny], fp[2 + ny : 2 + 2 * ny], K[row]
    for i in range(ny):
        scale = atol[i] + rtol * max(abs(x[i]), abs(xn[i]))
        part = abs(found[i] * factor) * abs(h) ** int(powers[i]) / scale
        if not part <= largest:
            largest = part
    return largest


@leaf
def choose_degree(K, x, xn, h, w, fp, ny, c1, c2):
    """How far Newton's form is taken, 3, 4 or 6; how wrong it is then, in tolerances; by which power of that a step is set."""
    a, b = (1.0 - c2) * w, (1.0 - c1) * w
    f4, f5, f6 = 0.0, 0.0, 0.0
    for look in range(2):
        theta = LOOKED[look]
        size = abs(omega(theta, c1, c2))
        f4 = max(f4, size)
        f5 = max(f5, size * (theta + a))
        f6 = max(f6, size * (theta + a) * (theta + b))
    e4 = term_size(K, DIVIDED, f4, x, xn, h, fp, ny)
    e5 = term_size(K, DIVIDED + 1, f5, x, xn, h, fp, ny)
    e6 = term_size(K, DIVIDED + 2, f6, x, xn, h, fp, ny)
    degree, doubt, exponent = 3, e4, 0.25
    if e5 <= e4:
        degree, doubt, exponent = (6, max(e6, SHARE * e5), 1.0 / 6.0) if e6 <= e5 else (4, e5, 0.2)
    return 3 if e4 <= ENOUGH else degree, doubt, exponent


@kernel(DENSE)
def dense(model, method, run, t, h, state):
    """Divided differences over two steps, and the error between their ends."""
    size = model.size
    fp = method.fp
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    ny = size.ny
    degree, doubt, exponent = 3, 0.0, 0.25  # without a step before there is nothing to measure the cubic by
    if control.h_old != 0.0:
        w = control.h_old / h
        divide(K, x, xn, w, ny, C1, C2)
        degree, doubt, exponent = choose_degree(K, x, xn, h, w, fp, ny, C1, C2)
    control.degree, run.doubt, run.doubt_exponent = degree, doubt, exponent
    return OK


@leaf
def polynomial(theta, w, degree, x, K, xn, ny, c1, c2, out):
    """Through the stages, the stabilized end, and points of the step before."""
    l1, l2, l3 = stage_polynomial(theta, c1, c2)
    z1, z2, z3, seen = K[Z, :], K[Z + 1], K[Z + 2], rise(theta)
    for i in range(ny):
        out[i] = x[i] + l1 * z1[i] + l2 * z2[i] + l3 * z3[i] + seen * (xn[i] - x[i] - z3[i])
    if degree > 3:
        f4 = omega(theta, c1, c2)
        f5 = f4 * (theta + (1.0 - c2) * w)
        f6 = f5 * (theta + (1.0 - c1) * w) if degree > 4 else 0.0
        if degree == 4:
            f5 = 0.0
        d4, d5, d6 = K[DIVIDED, :], K[DIVIDED + 1], K[DIVIDED + 2]
        for i in range(ny):
            out[i] += f4 * d4[i] + f5 * d5[i] + f6 * d6[i]


@kernel(INTERPOLATE)
def interpolate(model, method, theta, h, state, out):
    """The unknowns at t + θ h."""
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    polynomial(theta, control.h_old / h, int(control.degree), x, K, xn, size.ny, C1, C2, out)
    return OK
