"""BDF formulas on uneven points: exact for polynomials of their order, with the error that is estimated, compiled or not."""

import numpy as np
import pytest

from holonomic.integrators.backward_differences import (
    BEHIND,
    CONTROL,
    POINTS,
    SPANS,
    D,
    controls_of,
    even_points,
    history_polynomial,
    move_points,
    predict,
    take_in,
    uneven_points,
)
from holonomic.integrators.bdf_coefficients import FIXED_LEADING, QUASI_CONSTANT, VARIABLE, bring_to, gamma, leading, over_error

STEPS = np.array([0.11, 0.31, 0.07, 0.23, 0.17, 0.4, 0.13, 0.29, 0.19])  # ratios from 0.2 to 4.4
KINDS = pytest.mark.parametrize("kind", [VARIABLE, FIXED_LEADING], ids=["variable", "fixed-leading"])
ORDERS = pytest.mark.parametrize("order", range(1, 7))


def divided(t, y):
    """y[t_0], y[t_0, t_1], .. for times from the newest back."""
    table, found = np.array(y, float), []
    for j in range(len(t)):
        found.append(table[0])
        table = (table[:-1] - table[1:]) / (t[: len(t) - j - 1] - t[j + 1 :])
    return np.array(found)


def past(values, t_new=0.5):
    """Rows of K for values of a function at the times before t_new; the times, newest first, and the next step."""
    times = t_new - np.cumsum(STEPS)
    K = np.zeros((SPANS + 1, 16))
    spans = times[0] - times[1:]
    K[SPANS, :BEHIND] = spans
    scaled = np.cumprod(np.concatenate([[1.0], spans]))
    K[D : D + 9, 0] = divided(times, values(times)) * scaled
    controls_of(K).h = spans[0]
    return K, times, t_new - times[0]


def step(kind, order, values):
    """α, β, predicted point and K of the step to 0.5."""
    K, _, h = past(values)
    h = bring_to(K, kind, h, order, 1)
    alpha = leading(K, kind, order) / h
    xn, xs, W = np.zeros(1), np.zeros(1), np.zeros(1)
    predict(K, order, xn, xs, W, 0, alpha, h, 1)
    return alpha, W[0], xs[0], K


@KINDS
@ORDERS
def test_slopes_of_polynomials_of_the_order_are_exact(kind, order):
    polynomial = np.polynomial.Polynomial(np.arange(1.0, order + 2.0))
    alpha, beta, predicted, _ = step(kind, order, polynomial)
    size = np.abs(polynomial.coef).sum()
    assert abs(predicted - polynomial(0.5)) < 1e-12 * size
    # differences of nine values over steps of 0.07: their rounding grows to some 1e-10
    assert abs(alpha * polynomial(0.5) + beta - polynomial.deriv()(0.5)) < 1e-10 * size


@ORDERS
def test_variable_coefficients_estimate_the_error_of_the_next_power(order):
    """Of y' = f(t) the formula leaves (α y + β - y') / α, for a polynomial of degree order + 1 exactly what d says."""
    polynomial = np.polynomial.Polynomial([0.0] * (order + 1) + [1.0])
    alpha, beta, predicted, K = step(VARIABLE, order, polynomial)
    left = (alpha * polynomial(0.5) + beta - polynomial.deriv()(0.5)) / alpha
    assert left == pytest.approx(-(polynomial(0.5) - predicted) / over_error(K, VARIABLE, order), rel=1e-6)


@ORDERS
def test_fixed_leading_coefficients_estimate_no_less_than_the_error(order):
    polynomial = np.polynomial.Polynomial([0.0] * (order + 1) + [1.0])
    alpha, beta, predicted, K = step(FIXED_LEADING, order, polynomial)
    left = abs(alpha * polynomial(0.5) + beta - polynomial.deriv()(0.5)) * gamma(order) / alpha
    estimate = abs(polynomial(0.5) - predicted) / over_error(K, FIXED_LEADING, order)
    assert left <= estimate * (1 + 1e-6)
    share, total = K[POINTS, order], K[POINTS, :order].sum()
    if abs(share + total - gamma(order)) > share:
        assert left == pytest.approx(estimate, rel=1e-6)


@KINDS
@ORDERS
def test_on_equal_steps_all_kinds_are_one(kind, order):
    K, plain = (np.random.default_rng(order).normal(size=(SPANS + 1, 16)) for _ in range(2))
    for each, which in ((K, kind), (plain, QUASI_CONSTANT)):
        even_points(each, 0.1)
        controls_of(each).h = 0.1
        controls_of(each).equal = 0.0
        bring_to(each, which, 0.1, order, 1)
    assert np.allclose(K[POINTS, : 2 * BEHIND], plain[POINTS, : 2 * BEHIND], rtol=1e-14)
    assert leading(K, kind, order) == pytest.approx(leading(plain, QUASI_CONSTANT, order), rel=1e-14)


@ORDERS
def test_differences_at_the_new_point_are_divided_differences(order):
    values = np.sin
    _, _, _, K = step(VARIABLE, order, values)
    take_in(K, np.array([values(0.5)]), order, 1)
    move_points(K, STEPS[0])
    times = np.concatenate([[0.5], 0.5 - np.cumsum(STEPS)])
    spans = 0.5 - times[1:]
    expected = divided(times, values(times))[: order + 3] * np.cumprod(np.concatenate([[1.0], spans]))[: order + 3]
    assert np.allclose(K[D : D + order + 3, 0], expected, rtol=1e-9, atol=1e-13)
    assert np.allclose(K[SPANS, :BEHIND], spans[:BEHIND], rtol=1e-14)


@ORDERS
def test_dense_output_goes_through_the_points_of_the_formula(order):
    values = np.cos
    _, _, _, K = step(VARIABLE, order, values)
    out, h = np.zeros(1), STEPS[0]
    for t in np.concatenate([[0.5], 0.5 - np.cumsum(STEPS)])[: order + 1]:
        history_polynomial(1.0 + (t - 0.5) / h, K, np.array([values(0.5)]), order, 1, out)
        assert out[0] == pytest.approx(values(t), abs=1e-12)


def test_compiled_leaves_are_their_python():
    rng = np.random.default_rng(5)
    K = rng.normal(size=(SPANS + 1, 16))
    K[SPANS, :BEHIND] = np.cumsum(STEPS[:BEHIND])
    K[CONTROL] = 0.0
    other, order, n = K.copy(), 4, 7
    results = []
    for rows, plain in ((K, False), (other, True)):

        def call(leaf, *given, plain=plain):
            return (leaf.py if plain else leaf)(*given)

        call(uneven_points, rows, 0.2)
        xn, xs, W, out = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        alpha = call(leading, rows, VARIABLE, order) / 0.2
        call(predict, rows, order, xn, xs, W, 0, alpha, 0.2, n)
        call(history_polynomial, 0.4, rows, xn + 0.1, order, n, out)
        divisors = [call(over_error, rows, kind, order) for kind in range(3)]
        call(move_points, rows, 0.2)
        call(take_in, rows, xn + 0.1, order, n)
        results.append(np.concatenate([xn, xs, W, out, divisors, rows.ravel()]))
    assert np.allclose(results[0], results[1], rtol=1e-12, atol=1e-12)  # contracted products round once
