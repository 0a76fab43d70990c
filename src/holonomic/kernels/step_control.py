"""Error norm, step size and stiffness test: pure arithmetic on one attempted step."""

from __future__ import annotations

import math

from ..native.marks import leaf
from ..native.types import f8, i8, ints, mat, vec
from .sizes import SPEED, SPIN, TOLERANCES, TURNS


@leaf
def error_norm(E: mat, x: vec, xn: vec, W: vec, at: i8, rtol: f8, kinds: ints, line: f8, arc: f8, nq: i8, nx: i8):
    """Scaled size of one error vector: RMS over q and over v separately, the larger counts.

    Scale atol_i + rtol max(|x_i|, |xn_i|); coordinates that count turns by max(1, |change in this step|). Speeds count for no
    less than `line` and `arc`, see `rounding_in_step`.
    """
    worst, tolerances = 0.0, at + TOLERANCES
    for block in range(2):
        first, last = (0, nq) if block == 0 else (nq, nx)
        if last == first:
            continue
        total = 0.0
        for i in range(first, last):
            size = max(abs(x[i]), abs(xn[i]))
            if kinds[i] == TURNS:
                size = max(1.0, abs(xn[i] - x[i]))
            scale = W[tolerances + i] + rtol * size
            if kinds[i] == SPEED:
                scale = max(scale, line)
            elif kinds[i] == SPIN:
                scale = max(scale, arc)
            part = E[0, i] / scale
            total += part * part
        value = math.sqrt(total / (last - first))
        if value > worst or value != value:  # NaN wins
            worst = value
    return worst


@leaf
def largest_errors(E: mat, x: vec, xn: vec, W: vec, at: i8, rtol: f8, kinds: ints, line: f8, arc: f8, begin: i8, end: i8):
    """Largest scaled component of each of two error vectors, among those from `begin` to `end`; scales as above."""
    first, second, tolerances = 0.0, 0.0, at + TOLERANCES
    for i in range(begin, end):
        size = max(abs(x[i]), abs(xn[i]))
        if kinds[i] == TURNS:
            size = max(1.0, abs(xn[i] - x[i]))
        scale = W[tolerances + i] + rtol * size
        if kinds[i] == SPEED:
            scale = max(scale, line)
        elif kinds[i] == SPIN:
            scale = max(scale, arc)
        one, other = abs(E[0, i]) / scale, abs(E[1, i]) / scale
        if one > first or one != one:  # NaN wins
            first = one
        if other > second or other != other:
            second = other
    return first, second


# 0.01 in [HNW93] Sec. II.10, where the norm is the RMS; it makes the estimate 1/√0.02 = 7 instead of 10 times e5²/e3.
JOIN = 0.02


@leaf
def joined_error(five: f8, three: f8, ratio: f8):
    """Estimate of order 7 from those of orders 5 and 3: e5² / √(e5² + 0.02 e3²), after [HNW93] Sec. II.10.

    It stands on e5/e3 falling like h². Where e5 is small by chance, that is far too little: so e5/e3 counts for no less
    than `ratio`, what it was in the step before.
    """
    if three == 0.0:
        return five
    if not five / three <= ratio:  # NaN wins
        ratio = five / three
    return three * ratio * ratio / math.sqrt(ratio * ratio + JOIN)


@leaf
def ratio_to_keep(five: f8, three: f8):
    """e5/e3 for the next step; none where e5 is so far below the tolerance that it may be rounding."""
    return five / three if five > 0.01 and three > 0.0 else 0.0


@leaf
def step_factor(err: f8, err_old: f8, exponent: f8, beta: f8, safety: f8, fac_min: f8, fac_max: f8):
    """h_new / h by PI control, [HW96] Sec. IV.2."""
    factor = safety * err_old**beta / max(err, 1e-10) ** exponent
    return min(fac_max, max(fac_min, factor))


@leaf
def predicted_factor(err: f8, err_acc: f8, h: f8, h_acc: f8, exponent: f8, safety: f8):
    """h_new / h by the predictive control of Gustafsson, from this step and the one before: [HW96] (IV.8.25)."""
    return safety * h / h_acc * (err_acc / max(err, 1e-10) ** 2) ** exponent


CLOSE_TO_LIMIT = 2.0  # explicit methods are stable for h times the eigenvalue up to 3 (RK45), 6 (DOP853)


@leaf
def lands(stiff: f8, save_t: vec, row: i8, t: f8, h: f8):
    """The step that ends on the next saved time, or 0 where dense output is as good.

    At the limit of stability dense output multiplies what is left of fast parts, between steps that damp them: on a stiff
    triangle of rods it was wrong by 17 rtol, the steps by 0.05. Elsewhere h times the largest eigenvalue is below 1.5.
    Not where saved times are close together: every one would cost a step.
    """
    if stiff < CLOSE_TO_LIMIT or row >= save_t.shape[0]:
        return 0.0
    ahead = save_t[row] - t
    if ahead * h <= 0.0 or abs(ahead) >= abs(h) or abs(ahead) < 1e-3 * abs(h):
        return 0.0
    if row + 1 < save_t.shape[0] and abs(save_t[row + 1] - save_t[row]) < 4.0 * abs(h):
        return 0.0
    return ahead


@leaf
def stiffness(h: f8, K: mat, last: i8, xn: vec, xs: vec, n: i8):
    """h times an estimate of the dominant eigenvalue, from the two last stages ([HW96] Sec. IV.2)."""
    above, below = 0.0, 0.0
    for i in range(n):
        slope = K[last, i] - K[last - 1, i]
        above += slope * slope
        gap = xn[i] - xs[i]
        below += gap * gap
    if below <= 0.0:
        return 0.0
    return abs(h) * math.sqrt(above / below)


# [HNW93] has 100: a start at rest, where the trial length follows from atol alone, then takes three more steps.
LEAP = 1e4
SHORT = 1e-4  # the first step where hardly anything moves, in times of 1/pace


@leaf
def first_step(x: vec, f: vec, f1: vec, order: i8, W: vec, at: i8, rtol: f8, pace: f8, direction: f8, h_most: f8, n: i8, stage: i8):
    """First step size, in two stages: a trial length, then the length from f there ([HNW93] Sec. II.4); in times of 1/pace.

    [HNW93] has 0.01 for the 1 in `grown`, in times of 1 s: beside the pace steps are then a third to a sixth of what the error
    allows. With 1 two in a hundred first steps are rejected.
    """
    size, slope = 0.0, 0.0
    for i in range(n):
        scale = W[at + i] + rtol * abs(x[i])
        size += (x[i] / scale) ** 2
        slope += (f[i] / scale) ** 2
    size, slope = math.sqrt(size / n), math.sqrt(slope / n)
    h = max(0.01 * size / slope, 1e-4 / pace) if size >= 1e-5 and slope >= 1e-5 * pace else SHORT / pace
    h = min(h, h_most)
    if stage == 0:
        return direction * h
    curve = 0.0
    for i in range(n):
        scale = W[at + i] + rtol * abs(x[i])
        curve += ((f1[i] - f[i]) / scale) ** 2
    curve = math.sqrt(curve / n) / h
    most = max(slope / pace, curve / (pace * pace))
    grown = max(SHORT / pace, h * 1e-3) if most <= 1e-15 else most ** (-1.0 / (order + 1)) / pace
    return direction * min(LEAP * h, grown, h_most)
