"""Error norm, step size and stiffness test: pure arithmetic on one attempted step."""

from __future__ import annotations

import math

from .compile import leaf


@leaf
def error_norm(E, errors, x, xn, atol, rtol, turns, nq, nx):
    """Scaled size of the error estimate: RMS over q and over v separately, the larger counts.

    Scale atol_i + rtol max(|x_i|, |xn_i|); coordinates that count turns by max(1, |change in this step|).
    With two error vectors (DOP853) they are joined to e5² / √(e5² + 0.01 e3²), [HNW93] Sec. II.10.
    """
    worst = 0.0
    for block in range(2):
        first, last = (0, nq) if block == 0 else (nq, nx)
        if last == first:
            continue
        five, three = 0.0, 0.0
        for i in range(first, last):
            size = max(abs(x[i]), abs(xn[i]))
            if turns[i] != 0:
                size = max(1.0, abs(xn[i] - x[i]))
            scale = atol[i] + rtol * size
            part = E[0, i] / scale
            five += part * part
            if errors > 1:
                part = E[1, i] / scale
                three += part * part
        if errors > 1:
            size = five + 0.01 * three
            value = five / math.sqrt(size * (last - first)) if size > 0.0 else 0.0
        else:
            value = math.sqrt(five / (last - first))
        if not value <= worst:  # NaN wins
            worst = value
    return worst


@leaf
def step_factor(err, err_old, exponent, beta, safety, fac_min, fac_max):
    """h_new / h by PI control, [HW96] Sec. IV.2."""
    factor = safety * err_old**beta / max(err, 1e-10) ** exponent
    return min(fac_max, max(fac_min, factor))


@leaf
def predicted_factor(err, err_acc, h, h_acc, exponent, safety):
    """h_new / h by the predictive control of Gustafsson, from this step and the one before: [HW96] (IV.8.25)."""
    return safety * h / h_acc * (err_acc / max(err, 1e-10) ** 2) ** exponent


@leaf
def stiffness(h, K, last, xn, xs, n):
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


@leaf
def first_step(x, f, f1, order, atol, rtol, direction, h_most, n, stage):
    """First step size, in two stages: a trial length, then the length from f there ([HNW93] Sec. II.4)."""
    size, slope = 0.0, 0.0
    for i in range(n):
        scale = atol[i] + rtol * abs(x[i])
        size += (x[i] / scale) ** 2
        slope += (f[i] / scale) ** 2
    size, slope = math.sqrt(size / n), math.sqrt(slope / n)
    h = 1e-6 if size < 1e-5 or slope < 1e-5 else 0.01 * size / slope
    h = min(h, h_most)
    if stage == 0:
        return direction * h
    curve = 0.0
    for i in range(n):
        scale = atol[i] + rtol * abs(x[i])
        curve += ((f1[i] - f[i]) / scale) ** 2
    curve = math.sqrt(curve / n) / h
    most = max(slope, curve)
    grown = max(1e-6, h * 1e-3) if most <= 1e-15 else (0.01 / most) ** (1.0 / (order + 1))
    return direction * min(100.0 * h, grown, h_most)
