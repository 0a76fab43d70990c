"""Small dense linear algebra: right to rounding, whatever the scaling; a failure is reported."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given as hypothesis_given
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from holonomic.kernels.linalg import (
    apply_q,
    chol_solve,
    cholesky,
    lu_factor,
    lu_refine,
    lu_solve,
    qr_pivoted,
    solve_upper_transposed,
)

EPS = np.finfo(float).eps
seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(1, 12)


def given(*strategies):
    """Draw examples without a deadline: the first call compiles."""
    return lambda test: settings(deadline=None)(hypothesis_given(*strategies)(test))


def lu(A):
    LU, piv = A.copy(), np.full(len(A), -1, dtype=np.int64)
    return LU, piv, lu_factor(LU, piv)


def solve(A, b):
    LU, piv, status = lu(A)
    assert status == 0
    x = b.copy()
    lu_solve(LU, piv, x)
    return x


def row_error(A, x, b):
    """Largest backward error of a row: the residual beside what the row adds up."""
    return np.max(abs(b - A @ x) / (abs(A) @ abs(x) + abs(b)))


def qr(A, tol=1e-12):
    m, n = A.shape
    QR, tau, jpvt = A.copy(), np.full(min(m, n), np.nan), np.full(n, -1, dtype=np.int64)
    rank = qr_pivoted(QR, tau, jpvt, np.full(3 * n, np.nan), tol)
    return QR, tau, jpvt, rank


def q_matrix(QR, tau):
    Q = np.eye(len(QR))
    for column in range(len(QR)):
        b = Q[:, column].copy()
        apply_q(QR, tau, b)
        Q[:, column] = b
    return Q


# LU


@given(seeds, sizes)
def test_lu_factors_multiply_to_the_permuted_matrix(seed, n):
    A = np.random.default_rng(seed).normal(size=(n, n))
    LU, piv, status = lu(A)
    assert status == 0
    rows = np.arange(n)
    for k in range(n):
        rows[[k, piv[k]]] = rows[[piv[k], k]]
    L, U = np.tril(LU, -1) + np.eye(n), np.triu(LU)
    # n eps |L| |U| is the bound for elimination whatever the pivots
    assert np.all(abs(A[rows] - L @ U) <= n * EPS * (abs(L) @ abs(U)))


@given(seeds, sizes)
def test_lu_solves_as_numpy_does(seed, n):
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(n, n)), random.normal(size=n)
    x = solve(A, b)
    # two backward stable answers differ by the condition number times rounding
    assert np.allclose(x, np.linalg.solve(A, b), rtol=0, atol=100 * EPS * np.linalg.cond(A) * abs(x).max())


@given(seeds, sizes, st.integers(-900, 900), st.integers(0, 200))
def test_lu_answer_does_not_change_when_equations_change_units(seed, n, centre, spread):
    random = np.random.default_rng(seed)
    A, b = random.uniform(0.5, 1.0, size=(n, n)) * random.choice([-1, 1], size=(n, n)), random.normal(size=n)
    exponents = np.clip(centre + random.integers(-spread, spread + 1, size=n), -900, 900)
    units = np.ldexp(1.0, exponents)  # powers of two: no rounding, so every bit must agree
    assert np.array_equal(solve(units[:, None] * A, units * b), solve(A, b))


def test_lu_scales_rows_before_it_chooses_a_pivot():
    # pivoting by plain size takes 2 and returns x[0] = 0
    x = solve(np.array([[2.0, 1e20], [1.0, 1.0]]), np.array([1e20, 2.0]))
    assert np.allclose(x, [1.0, 1.0], rtol=4 * EPS)


@pytest.mark.parametrize("n", [5, 10, 12])
def test_lu_of_a_nearly_singular_matrix_leaves_a_small_residual(n):
    A = scipy.linalg.hilbert(n)  # condition number 5e5, 2e13, 2e16
    b = A @ np.ones(n)
    x = solve(A, b)
    assert np.linalg.norm(b - A @ x) <= 4 * n * EPS * np.linalg.norm(A) * np.linalg.norm(x)


def test_lu_of_a_saddle_point_matrix_with_masses_apart_by_1e20():
    M, G = np.diag([1e-10, 1.0, 1e10]), np.array([[1.0, 2.0, -1.0], [0.5, -1.0, 3.0]])
    A = np.block([[M, G.T], [G, np.zeros((2, 2))]])
    b = np.array([1.0, -2.0, 3.0, 0.5, -0.25])
    x = solve(A, b)
    lu_refine(A, *lu(A)[:2], b, x, np.zeros(5))
    assert row_error(A, x, b) < 2 * EPS


def test_lu_names_the_column_without_pivot():
    for column in range(4):
        A = np.random.default_rng(column).normal(size=(4, 4))
        A[:, column] = 0.0
        assert lu(A)[2] == column + 1
    repeated = np.array([[1.0, 2.0, 4.0], [2.0, 4.0, 1.0], [4.0, 8.0, 3.0]])
    assert lu(repeated)[2] == 2
    assert lu(np.zeros((2, 2)))[2] == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_lu_reports_a_matrix_that_is_not_finite(bad):
    for i in range(4):
        for j in range(4):
            A = np.random.default_rng(7).normal(size=(4, 4))
            A[i, j] = bad
            assert lu(A)[2] == j + 1


def test_lu_reports_numbers_that_grow_beyond_the_largest():
    # the second pivot would be -2e308
    assert lu(np.array([[1e308, 1e308], [1e308, -1e308]]))[2] == 2


def test_refinement_repairs_what_growth_of_the_elements_has_spoilt():
    # Wilkinson's matrix: elimination multiplies the last column by 2^(n-1), so all digits go by n = 60
    n = 60
    A = np.eye(n) - np.tril(np.ones((n, n)), -1)
    A[:, -1] = 1.0
    b = A @ np.random.default_rng(3).normal(size=n)
    LU, piv, _ = lu(A)
    x = b.copy()
    lu_solve(LU, piv, x)
    spoilt = row_error(A, x, b)
    lu_refine(A, LU, piv, b, x, np.zeros(n))
    assert spoilt > 1e4 * EPS
    assert row_error(A, x, b) < 4 * EPS


@given(seeds, st.integers(2, 10))
def test_refinement_returns_the_relative_error_it_found(seed, n):
    random = np.random.default_rng(seed)
    A, exact = random.normal(size=(n, n)), random.normal(size=n)
    if np.linalg.cond(A) > 1e6:
        return
    LU, piv, _ = lu(A)
    x = exact * (1 + 1e-6 * random.uniform(-1, 1, size=n))  # far above rounding, so the step must find it
    error = abs(x - exact).sum() / abs(exact).sum()
    found = lu_refine(A, LU, piv, A @ exact, x, np.zeros(n))
    assert found == pytest.approx(error, rel=1e-2)  # rounding: cond * eps = 2e-10 beside 1e-6 at most
    assert abs(x - exact).max() <= 100 * EPS * np.linalg.cond(A) * abs(exact).max()


def test_refinement_says_zero_for_a_zero_solution_and_nan_for_a_broken_one():
    LU, piv, _ = lu(np.eye(3))
    assert np.isnan(lu_refine(np.eye(3), LU, piv, np.array([1.0, np.nan, 2.0]), np.ones(3), np.zeros(3)))
    assert lu_refine(np.eye(3), LU, piv, np.zeros(3), np.zeros(3), np.zeros(3)) == 0.0


# Cholesky


@given(seeds, sizes)
def test_cholesky_factors_and_solves_and_leaves_the_upper_triangle(seed, n):
    random = np.random.default_rng(seed)
    B = random.normal(size=(n, n + 2))
    A, b = B @ B.T, random.normal(size=n)
    L = np.where(np.tri(n, dtype=bool), A, np.nan)  # what lies above must not be read
    assert cholesky(L) == 0
    assert np.all(np.isnan(L[~np.tri(n, dtype=bool)]))
    lower = np.tril(np.nan_to_num(L))
    assert np.allclose(lower @ lower.T, A, rtol=0, atol=(n + 1) * EPS * A.diagonal().max())
    x = b.copy()
    chol_solve(L, x)
    assert np.linalg.norm(A @ x - b) <= 20 * n * EPS * np.linalg.norm(A) * np.linalg.norm(x)


@given(seeds, st.integers(1, 8), st.integers(-400, 400))
def test_cholesky_does_not_depend_on_the_units_of_the_unknowns(seed, n, spread):
    random = np.random.default_rng(seed)
    B = random.normal(size=(n, n + 2))
    A = B @ B.T
    units = np.ldexp(1.0, random.integers(-abs(spread), abs(spread) + 1, size=n))
    plain, scaled = A.copy(), units[:, None] * A * units
    assert cholesky(plain) == 0
    assert cholesky(scaled) == 0
    assert np.array_equal(np.tril(scaled), units[:, None] * np.tril(plain))  # powers of two: bit for bit


def test_cholesky_names_the_leading_block_that_is_not_positive_definite():
    assert cholesky(np.diag([1.0, 2.0, -1.0, 3.0])) == 3
    assert cholesky(np.array([[1.0, 1.0], [1.0, 1.0]])) == 2
    assert cholesky(np.zeros((1, 1))) == 1
    assert cholesky(np.array([[1.0, 0.0], [np.nan, 1.0]])) == 2
    assert cholesky(np.array([[np.inf]])) == 1


# QR

shapes = st.tuples(st.integers(1, 10), st.integers(1, 10))


@given(seeds, shapes)
def test_qr_gives_the_permuted_matrix_and_an_orthogonal_q(seed, shape):
    m, n = shape
    A = np.random.default_rng(seed).normal(size=shape)
    QR, tau, jpvt, _ = qr(A)
    Q, R = q_matrix(QR, tau), np.triu(QR)
    assert sorted(jpvt) == list(range(n))
    rounding = 20 * max(m, n) * EPS
    assert np.allclose(Q.T @ Q, np.eye(m), rtol=0, atol=rounding)
    assert np.allclose(Q @ R, A[:, jpvt], rtol=0, atol=rounding * np.linalg.norm(A))


@given(seeds, shapes)
def test_qr_agrees_with_lapack(seed, shape):
    A = np.random.default_rng(seed).normal(size=shape)
    QR, _, jpvt, rank = qr(A)
    R, theirs = scipy.linalg.qr(A, mode="r", pivoting=True)
    assert rank == min(shape)
    assert np.array_equal(jpvt, theirs)
    k = min(shape)
    assert np.allclose(abs(np.diag(QR)), abs(np.diag(R)), rtol=0, atol=20 * max(shape) * EPS * abs(R[0, 0]))
    assert np.all(np.diff(abs(np.diag(QR)[:k])) <= 20 * EPS * abs(R[0, 0]))


@given(seeds, shapes, st.integers(0, 10), st.integers(-250, 250))
def test_qr_finds_the_rank_in_any_units(seed, shape, rank, exponent):
    m, n = shape
    rank = min(rank, m, n)
    random = np.random.default_rng(seed)
    left, right = np.linalg.qr(random.normal(size=(m, m)))[0], np.linalg.qr(random.normal(size=(n, n)))[0]
    # singular values 1 .. 1e-3: 1e-9 lies between them and the rounding of the product with room to spare
    A = (left[:, :rank] * np.geomspace(1, 1e-3, rank)) @ right[:rank] * 10.0**exponent
    assert qr(A, tol=1e-9)[3] == rank


@given(seeds, st.integers(2, 8))
def test_independent_rows_from_qr_of_the_transpose_span_all_rows(seed, n):
    # how redundant constraints are found: G has repeated and combined rows
    random = np.random.default_rng(seed)
    basis = random.normal(size=(n // 2, n))
    G = np.vstack([basis, random.normal(size=(3, n // 2)) @ basis])
    _, _, jpvt, rank = qr(np.ascontiguousarray(G.T), tol=1e-10)
    assert rank == n // 2
    assert np.linalg.matrix_rank(G[jpvt[:rank]]) == rank


def test_qr_rank_follows_its_tolerance():
    A = np.diag([1.0, 1e-4, 1e-8, 0.0])
    assert [qr(A, tol)[3] for tol in (0.5, 1e-6, 1e-9, 0.0)] == [1, 2, 3, 3]


def test_qr_recomputes_column_lengths_that_have_cancelled():
    # what the first column leaves of the others is 1e-10 and 2e-10; subtracting squares would see 0 and 0
    A = np.array([[1.0, 0.9, 0.8], [0.0, 1e-10, 0.0], [0.0, 0.0, 2e-10]])
    QR, _, jpvt, rank = qr(A)
    assert list(jpvt) == [0, 2, 1]
    assert np.allclose(abs(np.diag(QR)), [1.0, 2e-10, 1e-10], rtol=1e-5)  # rounding of 1.0 beside 1e-10
    assert rank == 3


@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e200, 1e307])
def test_qr_neither_overflows_nor_underflows(size):
    A = np.random.default_rng(11).uniform(-1, 1, size=(5, 3))
    QR, tau, jpvt, rank = qr(A * size)
    plain, plain_tau, plain_jpvt, _ = qr(A)
    assert rank == 3
    assert np.array_equal(jpvt, plain_jpvt)
    # 1e-310 is subnormal: 14 bits of its 53 are left at 1e-320
    rtol = 1e-8 if size < 1e-300 else 100 * EPS
    assert np.allclose(tau, plain_tau, rtol=rtol)
    assert np.allclose(np.triu(QR)[:3] / size, np.triu(plain)[:3], rtol=rtol, atol=rtol)


def test_qr_of_zero_and_of_nan():
    QR, tau, _, rank = qr(np.zeros((3, 2)))
    assert rank == 0
    assert np.array_equal(q_matrix(QR, tau), np.eye(3))
    for bad in (np.nan, np.inf):
        A = np.array([[1.0, 2.0], [bad, 3.0]])
        QR, _, _, rank = qr(A)
        assert rank == -1
        assert np.array_equal(QR, A, equal_nan=True)


@given(seeds, shapes)
def test_q_keeps_lengths_and_its_transpose_undoes_it(seed, shape):
    random = np.random.default_rng(seed)
    QR, tau, _, _ = qr(random.normal(size=shape))
    b = random.normal(size=shape[0])
    c = b.copy()
    apply_q(QR, tau, c)
    assert np.linalg.norm(c) == pytest.approx(np.linalg.norm(b), rel=100 * EPS)
    assert np.allclose(q_matrix(QR, tau).T @ c, b, rtol=0, atol=100 * EPS * np.linalg.norm(b))


@given(seeds, st.integers(1, 6), st.integers(1, 4))
def test_transposed_solve_gives_the_shortest_solution_of_a_wide_system(seed, n, more):
    # G x = b with G wide: Gᵀ P = Q R, so x = Q R⁻ᵀ Pᵀ b
    random = np.random.default_rng(seed)
    G, b = random.normal(size=(n, n + more)), random.normal(size=n)
    QR, tau, jpvt, rank = qr(np.ascontiguousarray(G.T))
    x = np.zeros(n + more)
    x[:n] = b[jpvt]
    assert solve_upper_transposed(QR, rank, x) == 0
    apply_q(QR, tau, x)
    expected = np.linalg.pinv(G) @ b
    assert np.allclose(x, expected, rtol=0, atol=100 * EPS * np.linalg.cond(G) ** 2 * (1 + abs(expected).max()))


@given(hnp.arrays(float, (4, 4), elements=st.floats(0.5, 2.0)), st.integers(0, 4))
def test_transposed_solve_touches_only_the_leading_block(R, k):
    R = np.triu(R)
    b = np.arange(1.0, 5.0)
    assert solve_upper_transposed(R, k, b) == 0
    assert np.array_equal(b[k:], np.arange(1.0, 5.0)[k:])
    # entries of R within 0.5 .. 2: the inverse of a block of 4 stays below 2 * 5^3
    assert np.allclose(R.T[:k, :k] @ b[:k], np.arange(1.0, 5.0)[:k], rtol=0, atol=1e-11)


def test_transposed_solve_names_a_zero_on_the_diagonal():
    R = np.triu(np.ones((3, 3)))
    R[1, 1] = 0.0
    assert solve_upper_transposed(R, 3, np.ones(3)) == 2
    assert solve_upper_transposed(R, 1, np.ones(3)) == 0
