"""Every Runge-Kutta tableau has the orders it states: step, embedded formulas, dense output."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from holonomic.integrators.tableaus import DOP853, EULER, HEUN, MIDPOINT, RK4, RK23, RK45, TABLEAUS

ALL = pytest.mark.parametrize("tableau", TABLEAUS.values(), ids=TABLEAUS)
PAIRS = pytest.mark.parametrize("tableau", [RK23, RK45, DOP853], ids=["RK23", "RK45", "DOP853"])
theta_inside = st.floats(0.0, 1.0, allow_subnormal=False)

# Weights of DOP853 reach 43 in A; sums of their products round to 3e-15 in b, and to 7e-14 through its P
# (entries up to 545, 11 000 in sum). A coefficient of DOP853 wrong by one part in 1e9 shows.
ROUNDING = 5e-13


def forests(order, largest):
    """Yield multisets of rooted trees with `order` vertices in all; trees of rank up to `largest` each."""
    if order == 0:
        yield ()
        return
    for size, index in ((s, i) for s in range(order, 0, -1) for i in range(len(trees(s)))):
        if (size, index) <= largest:
            for rest in forests(order - size, (size, index)):
                yield (trees(size)[index], *rest)


_trees = {}


def trees(order):
    """Return all rooted trees with `order` vertices; a tree is the tuple of its root's branches."""
    if order not in _trees:
        _trees[order] = list(forests(order - 1, (order, 0))) if order > 1 else [()]
    return _trees[order]


def order_of(tree):
    return 1 + sum(order_of(branch) for branch in tree)


def density(tree):
    return order_of(tree) * math.prod(density(branch) for branch in tree)


def slopes_matrix(tableau):
    """Weights of all slopes: the stages, f at the new point (not moved), the extra stages."""
    s, n = tableau.n_stages, tableau.n_slopes
    A = np.zeros((n, n))
    A[:s, :s] = tableau.A
    A[s, :s] = tableau.b
    A[s + 1 :] = tableau.extra_A
    return A


def elementary_weights(A, tree):
    """Φ_j(tree): what slope K_j contributes to the elementary differential of the tree."""
    weights = np.ones(len(A))
    for branch in tree:
        weights *= A @ elementary_weights(A, branch)
    return weights


def defects(weights, A, order, target=1.0):
    """Largest miss of the conditions of this order; the right-hand side is target / density."""
    n = len(weights)
    return max(abs(weights @ elementary_weights(A, tree)[:n] - target / density(tree)) for tree in trees(order))


def dense_weights(tableau, theta):
    return tableau.dense_P @ theta ** np.arange(1, tableau.dense_P.shape[1] + 1)


def test_number_of_rooted_trees_is_the_known_one():
    assert [len(trees(order)) for order in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


@ALL
def test_stage_times_are_row_sums(tableau):
    s = tableau.n_stages
    sums = slopes_matrix(tableau).sum(axis=1)
    assert np.allclose(sums, [*tableau.c, 1.0, *tableau.extra_c], rtol=0, atol=2e-14)  # weights up to 43
    assert np.all(np.triu(tableau.A) == 0)
    assert np.all(np.triu(tableau.extra_A, k=s + 1) == 0)


@ALL
def test_step_has_its_order_and_no_more(tableau):
    A = slopes_matrix(tableau)
    for order in range(1, tableau.order + 1):
        assert defects(tableau.b, A, order) < ROUNDING
    assert defects(tableau.b, A, tableau.order + 1) > 1e-6


@pytest.mark.parametrize(("tableau", "orders"), [(RK23, [2]), (RK45, [4]), (DOP853, [5, 3])], ids=["RK23", "RK45", "DOP853"])
def test_embedded_formulas_have_their_orders_and_no_more(tableau, orders):
    A = slopes_matrix(tableau)
    assert len(tableau.error) == len(orders)
    for weights, embedded in zip(tableau.error, orders, strict=True):
        for order in range(1, embedded + 1):
            assert defects(weights, A, order, target=0.0) < ROUNDING
        assert defects(weights, A, embedded + 1, target=0.0) > 1e-6


def test_order_of_the_joined_estimate_of_dop853_is_the_one_stated():
    assert DOP853.error_order == 2 * (5 + 1) - (3 + 1) - 1


@ALL
def test_dense_output_has_its_order_at_every_theta(tableau):
    A = slopes_matrix(tableau)
    for theta in (0.1, 0.37, 0.5, 0.81, 1.0):
        weights = dense_weights(tableau, theta)
        for order in range(1, tableau.dense_order + 1):
            assert defects(weights, A, order, target=theta**order) < ROUNDING
    middle = dense_weights(tableau, 0.37)
    above = tableau.dense_order + 1
    assert defects(middle, A, above, target=0.37**above) > 1e-7


@ALL
def test_dense_output_joins_both_ends_with_their_slopes(tableau):
    s, n = tableau.n_stages, tableau.n_slopes
    powers = np.arange(1, tableau.dense_P.shape[1] + 1)
    at_end = np.zeros(n)
    at_end[:s] = tableau.b
    assert np.allclose(dense_weights(tableau, 1.0), at_end, rtol=0, atol=ROUNDING)
    assert np.array_equal(tableau.dense_P[:, 0], np.eye(n)[0])  # x'(0) = K_0
    rounding = 8 * np.finfo(float).eps * 7 * max(1.0, abs(tableau.dense_P).max())  # powers up to the seventh
    assert np.allclose(tableau.dense_P @ powers, np.eye(n)[s], rtol=0, atol=rounding)  # x'(1) = K_s


@ALL
@given(theta=theta_inside)
def test_powers_and_bumps_give_the_same_curve(tableau, theta):
    s, eta = tableau.n_stages, 1 - theta
    bumps = np.array([theta**2 * eta**2, theta**3 * eta**2, theta**3 * eta**3, theta**4 * eta**3])
    weights = bumps[: len(tableau.D)] @ tableau.D
    weights[:s] += theta**2 * (3 - 2 * theta) * tableau.b
    weights[0] += theta * eta**2
    weights[s] -= theta**2 * eta
    rounding = 8 * np.finfo(float).eps * abs(tableau.dense_P).max()  # seven terms of this size are summed
    assert np.allclose(dense_weights(tableau, theta), weights, rtol=0, atol=rounding)


def curved_field(t, x):
    """A nonlinear, time-dependent field with no symmetry that would hide an error term."""
    x, y, z = x
    return np.array([y + 0.3 * np.sin(t * z), -x * z + np.cos(t), np.exp(-0.5 * x**2) - 0.4 * y])


START = np.array([0.7, -0.2, 1.1])


def take_step(tableau, t, x, h):
    """Return the new point, all slopes, and the estimates of the error."""
    A = slopes_matrix(tableau)
    times = [*tableau.c, 1.0, *tableau.extra_c]
    K = np.zeros((tableau.n_slopes, len(x)))
    for i, c in enumerate(times):
        K[i] = curved_field(t + c * h, x + h * (A[i] @ K))
    s = tableau.n_stages
    return x + h * (tableau.b @ K[:s]), K, [h * (e @ K[: s + 1]) for e in tableau.error]


def reference(t_end):
    """Gauss's method with 5 nodes (order 10) in small steps: independent of the tableaus under test."""
    nodes, weights = np.polynomial.legendre.leggauss(5)
    nodes, weights = (nodes + 1) / 2, weights / 2
    lagrange = np.linalg.inv(np.vander(nodes, increasing=True))
    A = np.vander(nodes, 6, increasing=True)[:, 1:] / np.arange(1, 6) @ lagrange
    steps = 12
    h, x = t_end / steps, START.copy()
    for n in range(steps):
        K = np.tile(curved_field(n * h, x), (5, 1))
        for _ in range(60):
            stages = x + h * (A @ K)
            K = np.array([curved_field((n + c) * h, stage) for c, stage in zip(nodes, stages, strict=True)])
        x = x + h * (weights @ K)
    return x


def observed_orders(errors, ratio):
    return np.diff(np.log(errors)) / np.log(ratio)


# Largest step for which h^(p+2) is small beside h^(p+1), smallest for which h^(p+1) stays above rounding.
STEPS = {"Euler": 0.01, "Heun": 0.02, "Midpoint": 0.02, "RK4": 0.05, "RK23": 0.05, "RK45": 0.05, "DOP853": 0.3}


@ALL
def test_observed_local_orders_on_a_nonlinear_problem(tableau):
    theta = 0.37
    at_end, inside = [], []
    for h in (STEPS[tableau.name], STEPS[tableau.name] / 1.5):
        x1, K, _ = take_step(tableau, 0.0, START, h)
        at_end.append(np.linalg.norm(x1 - reference(h)))
        curve = START + h * (dense_weights(tableau, theta) @ K)
        inside.append(np.linalg.norm(curve - reference(theta * h)))
    # 0.3: the next term of the expansion at these steps; a wrong order would be off by 1
    assert observed_orders(at_end, 1 / 1.5)[0] == pytest.approx(tableau.order + 1, abs=0.3)
    assert observed_orders(inside, 1 / 1.5)[0] == pytest.approx(tableau.dense_order + 1, abs=0.3)


@PAIRS
def test_estimated_error_shrinks_with_the_stated_order(tableau):
    sizes = []
    for h in (STEPS[tableau.name], STEPS[tableau.name] / 1.5):
        estimates = [np.linalg.norm(e) for e in take_step(tableau, 0.0, START, h)[2]]
        if len(estimates) == 2:
            five, three = estimates
            sizes.append(five**2 / math.hypot(five, 0.1 * three))
        else:
            sizes.append(estimates[0])
    assert observed_orders(sizes, 1 / 1.5)[0] == pytest.approx(tableau.error_order + 1, abs=0.3)


@pytest.mark.parametrize("tableau", [RK23, RK45], ids=["RK23", "RK45"])
def test_estimate_is_new_point_minus_embedded_point(tableau):
    # to leading order the embedded point is the one that is wrong, so the estimate has the sign of its error
    h = STEPS[tableau.name]
    x1, _, (estimate,) = take_step(tableau, 0.0, START, h)
    embedded_error = (x1 - estimate) - reference(h)
    assert np.linalg.norm(estimate + embedded_error) < 0.1 * np.linalg.norm(estimate)


@pytest.mark.parametrize(
    ("tableau", "method"),
    [(RK23, integrate.RK23), (RK45, integrate.RK45), (DOP853, integrate.DOP853)],
    ids=["RK23", "RK45", "DOP853"],
)
def test_step_error_and_dense_output_agree_with_scipy(tableau, method):
    h = 0.25
    other = method(curved_field, 0.0, START, 10.0, first_step=h, rtol=1e-1, atol=1e-1)
    other.step()
    assert other.step_size == h
    curve = other.dense_output()
    x1, K, estimates = take_step(tableau, 0.0, START, h)
    assert np.allclose(x1, other.y, rtol=0, atol=1e-13)
    # rounding of P: 545 eps at the most, weighted by h
    for theta in np.linspace(0.0, 1.0, 21):
        ours = START + h * (dense_weights(tableau, theta) @ K)
        assert np.allclose(ours, curve(theta * h), rtol=0, atol=1e-13)
    if tableau is DOP853:
        theirs = [h * (other.K.T @ other.E5), h * (other.K.T @ other.E3)]
    else:
        theirs = [-h * (other.K.T @ other.E)]  # SciPy: embedded minus new
    assert np.allclose(estimates, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize("theta", [0.0, 0.3, 1.0])
def test_curve_through_a_moved_point_needs_no_unmoved_point(theta):
    # the two forms of the dense output in the module's docstring, with a move as a projection would make it
    h, s = 0.25, RK45.n_stages
    y, K, _ = take_step(RK45, 0.0, START, h)
    x1 = y + np.array([1e-3, -2e-3, 5e-4])
    K[s] = curved_field(h, x1)
    smooth, eta = theta**2 * (3 - 2 * theta), 1 - theta
    by_powers = START + h * (dense_weights(RK45, theta) @ K) + smooth * (x1 - y)
    by_ends = START + smooth * (x1 - START)
    by_ends += h * (theta * eta**2 * K[0] - theta**2 * eta * K[s] + theta**2 * eta**2 * (RK45.D[0] @ K))
    assert np.allclose(by_powers, by_ends, rtol=0, atol=2e-14)  # P of RK45: entries up to 10
    if theta == 1.0:
        assert np.array_equal(by_ends, START + (x1 - START))


def test_controller_constants_are_those_of_the_codes():
    # DOPRI5: expo1 = 0.2 - 0.75 beta, beta = 0.04, 0.2 .. 10; DOP853: 1/8, 0, 0.333 .. 6
    assert (RK45.exponent, RK45.beta) == (pytest.approx(0.17, abs=1e-15), 0.04)
    assert (RK45.safety, RK45.fac_min, RK45.fac_max) == (0.9, 0.2, 10.0)
    assert (DOP853.exponent, DOP853.beta) == (0.125, 0.0)
    assert (DOP853.safety, DOP853.fac_min, DOP853.fac_max) == (0.9, 0.333, 6.0)
    assert (RK23.exponent, RK23.beta, RK23.stiff_bound) == (pytest.approx(1 / 3), 0.0, 0.0)
    # the codes have 3.25 and 6.1; at the limit the steps here swing between 4.4 and 5.8 (DOP853), or stay at 2.7 (RK45)
    assert (RK45.stiff_bound, DOP853.stiff_bound) == (2.5, 4.0)


@ALL
def test_stiffness_test_only_where_the_last_stage_is_at_the_end_of_the_step(tableau):
    if tableau.stiff_bound:
        assert tableau.c[-1] == 1.0
        assert not np.allclose(tableau.A[-1], tableau.b)  # otherwise its argument would be the new point


def test_fixed_step_methods_state_no_error_estimate():
    for tableau in (EULER, HEUN, MIDPOINT, RK4):
        assert tableau.error == ()
        assert tableau.error_order == 0


@ALL
def test_arrays_cannot_be_changed(tableau):
    tables = (tableau.A, tableau.b, tableau.c, tableau.D, tableau.extra_A, tableau.extra_c, tableau.dense_P)
    for array in (*tables, *tableau.error):
        assert array.flags.c_contiguous
        assert array.dtype == np.float64
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0.0
