"""Three ways to take a BDF step of another length than the last one: formulas, their errors, order and length of the next step.

With the shares s_j = h / (t_(n+1) - t_(n+1-j)), 1/j on equal steps, γ_k = 1 + 1/2 + .. + 1/k and d = y1 - y_p,

    quasi-constant    the past is interpolated to equal steps         h α = γ_k               error  d / (k + 1)
    variable          the polynomial through k points of the past     h α = s_1 + .. + s_k    error  d s_(k+1) / (h α)
    fixed-leading     the slope of the predicted polynomial, and α d  h α = γ_k               error  d c

with c = max(s_(k+1), |s_(k+1) + s_1 + .. + s_k - γ_k|). The estimate of the variable ones is the local error of y, that of the
others h times the local error of y': on equal steps γ_k times as large.

References
----------
[shampine-reichelt-1997] Sec. 2.2; [eich-1993] Sec. 3 (variable, with projected history and estimate); [BCP96] Sec. 5.2 (fixed
leading coefficient, as in DASSL and IDA).
"""

from __future__ import annotations

from ..kernels.sizes import TOLERANCES
from ..native.marks import inner, leaf
from ..native.types import f8, i8, mat
from .backward_differences import (
    BEHIND,
    POINTS,
    D,
    as_if_even,
    controls_of,
    even_points,
    respace,
    scaled_norm,
    sum_of_shares,
    uneven_points,
)

QUASI_CONSTANT, VARIABLE, FIXED_LEADING = range(3)
KINDS = {"quasi-constant": QUASI_CONSTANT, "variable": VARIABLE, "fixed-leading": FIXED_LEADING}
GROW_FROM = 1.2  # a smaller growth of the step is not worth a new factorization
# Where points stay as they are, steps that hardly change are worth more. At equal error on 24 stiff runs: from 1.2 to 1.5 the
# factorizations fall from 1.12 to 1.02 of the quasi-constant ones with variable coefficients, those of the car axis from 1.09 to
# 0.83, and from 0.83 to 0.65 with a fixed leading one, with as many evaluations; from 2 on it takes 1.05 to 1.09 times the steps.
GROW_UNEVEN_FROM = 1.5
SHRINK_TO = 0.9  # a step is shortened by no less, so that it need not be again at once


@leaf
def gamma(k: i8):
    """1 + 1/2 + .. + 1/k"""
    total = 0.0
    for j in range(1, k + 1):
        total += 1.0 / j
    return total


@inner
def bring_to(K, kind, h, order, ny):
    """Make the past ready for a step of length h; return the length without rounding."""
    control = controls_of(K)
    # differences of times are steps with rounding, which even steps must not have
    if abs(h - control.h) <= 1e-10 * abs(h):
        h = control.h
    if kind != QUASI_CONSTANT:
        if h != control.h or control.equal <= BEHIND:
            uneven_points(K, h)
    elif h != control.h:
        respace(K, h / control.h, order, ny)
        even_points(K, h)
        control.equal = 0.0
        control.h = h
    return h


@leaf
def leading(K: mat, kind: i8, order: i8):
    """h α"""
    return sum_of_shares(K, order) if kind == VARIABLE else gamma(order)


@leaf
def over_error(K: mat, kind: i8, order: i8):
    """d over the error of a step."""
    if kind == QUASI_CONSTANT:
        return order + 1.0
    share, total = K[POINTS, order], sum_of_shares(K, order)
    return total / share if kind == VARIABLE else 1.0 / max(share, abs(share + total - gamma(order)))


@leaf
def over_even_error(K: mat, kind: i8, order: i8):
    """The difference D_(order+1) over the error that steps of this length would come to have, if all were equal."""
    if kind == QUASI_CONSTANT:
        return order + 1.0
    constant = (order + 1.0) / as_if_even(K, order + 1)
    return constant * gamma(order) if kind == VARIABLE else constant


@leaf
def growth(err: f8, order: i8):
    """h_new / h that makes an error 1."""
    return max(err, 1e-10) ** (-1.0 / (order + 1))


@inner
def choose(model, method, run, kind, highest, h, state):
    """Order and length of the next step, from the differences at the new point: the order with the longest step.

    Both are kept for order + 1 steps, so that differences of a higher order tell of the motion. With other coefficients than
    quasi-constant ones a step may be shortened before that, as soon as its error would come to exceed the tolerance.
    """
    size = model.size
    fp = method.fp
    x, K = state.x, state.K
    control = controls_of(K)
    ny, nq, differential = size.ny, size.nq, size.nq + size.nv
    W, places = state.W, (size.at_sizes + TOLERANCES, size.at_rates)
    length, order = abs(h), int(control.order)
    waited = control.equal >= order + 1
    if not waited:
        to_come = run.err * over_error(K, kind, order) / over_even_error(K, kind, order)
        if kind == QUASI_CONSTANT or to_come <= 1.0:
            return
    here = scaled_norm(K, D + order + 1, x, W, places, length, fp, nq, differential, ny) / over_even_error(K, kind, order)
    best, factor = order, growth(here, order)
    if order > 1:
        below = scaled_norm(K, D + order, x, W, places, length, fp, nq, differential, ny) / over_even_error(K, kind, order - 1)
        candidate = growth(below, order - 1)
        if candidate > factor:
            best, factor = order - 1, candidate
    if order < highest and waited:
        above = scaled_norm(K, D + order + 2, x, W, places, length, fp, nq, differential, ny) / over_even_error(K, kind, order + 1)
        candidate = growth(above, order + 1)
        if candidate > factor:
            best, factor = order + 1, candidate
    longer = min(10.0, 0.9 * factor)
    changes = best != order
    if changes:
        control.order = best
        control.equal = 0.0
    if kind == QUASI_CONSTANT:
        if longer >= GROW_FROM or longer < 1.0 or changes:
            run.steered_h = h * max(0.2, longer)
    elif longer >= GROW_UNEVEN_FROM or (changes and longer >= 1.0):
        run.steered_h = h * longer
    elif factor < 1.0:
        run.steered_h = h * max(0.2, min(SHRINK_TO, longer))
