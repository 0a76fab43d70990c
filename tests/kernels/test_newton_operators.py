"""Newton's matrix through operators: a model's own, in its own form, give what dense matrices give."""

import numpy as np
import pytest

from holonomic.errors import OK, SINGULAR
from holonomic.kernels.memory import RUN, SIZE
from holonomic.kernels.newton_operators import (
    GROWTH,
    cheap_factors,
    dense_sizes,
    factor_real,
    factor_systems,
    gradient_lengths,
    linearize,
    solve_pair,
    solve_real,
    times_by_y,
    vectors_at,
)
from holonomic.kernels.signatures import N_FUNCTIONS, Fn, Model
from holonomic.model.interpreted import by_python

N, NQ = 7, 5  # unknowns; the last two equations are algebraic
H = 0.25
# γ, then α and β of two pairs, behind room for the scales of unknowns
SHIFTS = np.concatenate([np.zeros(3 + 2 * N), [3.6, 2.7, 3.1, 1.9, 0.8]])
PAIRS, AT_SHIFTS = 2, 3 + 2 * N


def matrices():
    """∂R/∂y and ∂R/∂y' of a chain of unknowns: three diagonals each, slopes in differential equations alone."""
    rng = np.random.default_rng(3)
    chain = np.abs(np.subtract.outer(np.arange(N), np.arange(N))) <= 1
    A, B = rng.normal(size=(2, N, N)) * chain
    B[NQ:] = 0.0
    return A + 4.0 * np.eye(N), B


def dense_model():
    """BY_Y and BY_SLOPE, row by row."""
    A, B = matrices()

    def by_y(t, a, b, data, out):
        out[: N * N] = A.ravel()

    def by_slope(t, a, b, data, out):
        out[: N * N] = B.ravel()

    return _model({Fn.BY_Y: by_y, Fn.BY_SLOPE: by_slope, Fn.EQUATIONS: equations}, dense_sizes(N))


def equations(t, a, b, data, out):
    """A y + B y', and something of the slopes' own time."""
    A, B = matrices()
    out[:N] = A @ a[:N] + B @ b[:N] + t


def banded_model(growth=1.0):
    """The same in three diagonals, eliminated from the first unknown to the last; no matrix anywhere."""
    A, B = matrices()

    below, on, above = ([M[i, i + k] if 0 <= i + k < N else 0.0 for M in (A, B) for i in range(N)] for k in (-1, 0, 1))
    kept = np.array([below, on, above]).reshape(3, 2, N)

    def linearized(t, a, b, data, out):
        out[: 6 * N] = kept.ravel()

    def gradients(t, a, b, data, out):
        low, mid, high = a[: 6 * N].reshape(3, 2, N)[:, 0]
        for i in range(NQ, N):
            row = [(i - 1, low[i]), (i, mid[i]), (i + 1, high[i])]
            total = sum(x * x for j, x in row if 0 <= j < NQ)
            out[i] = 1.0 / total if total > 0.0 else 0.0

    def eliminated(a, shift):
        parts = a[: 6 * N].reshape(3, 2, N)
        low, mid, high = parts[:, 0] + shift * parts[:, 1]
        for i in range(1, N):
            low[i] /= mid[i - 1]
            mid[i] -= low[i] * high[i - 1]
        return np.concatenate([low, mid, high])

    def solved(factors, x):
        low, mid, high = factors.reshape(3, N)
        for i in range(1, N):
            x[i] -= low[i] * x[i - 1]
        x[N - 1] /= mid[N - 1]
        for i in range(N - 2, -1, -1):
            x[i] = (x[i] - high[i] * x[i + 1]) / mid[i]
        return x

    def newton_factor(t, a, b, data, out):
        out[0], out[1 : 1 + 3 * N] = growth, eliminated(a, t)

    def newton_solve(t, a, b, data, out):
        out[:N] = solved(a[1 : 1 + 3 * N], b[:N].copy())

    def complex_factor(t, a, b, data, out):
        out[0], out[1 : 1 + 6 * N] = growth, eliminated(a, t + 1j * b[0]).view(float)

    def complex_solve(t, a, b, data, out):
        x = solved(a[1 : 1 + 6 * N].copy().view(complex), b[:N] + 1j * b[N : 2 * N])
        out[:N], out[N : 2 * N] = x.real, x.imag

    own = {
        Fn.LINEARIZED: linearized, Fn.GRADIENTS: gradients, Fn.NEWTON_FACTOR: newton_factor, Fn.NEWTON_SOLVE: newton_solve,
        Fn.COMPLEX_FACTOR: complex_factor, Fn.COMPLEX_SOLVE: complex_solve, Fn.EQUATIONS: equations,
    }  # fmt: skip
    return _model(own, (6 * N, 2 + 3 * N, 2 + 6 * N))


def _model(functions, sizes):
    fns = [None] * (2 * N_FUNCTIONS)
    for fn, function in functions.items():
        fns[2 * fn], fns[2 * fn + 1] = by_python, function
    size = SIZE.new()
    size.ny, size.n_equations, size.nq, size.at_newton = N, N, NQ, 3
    size.n_linear, size.n_factors, size.n_pair = sizes
    return Model(tuple(fns), size, np.zeros(0))


def solutions(model):
    """Solutions with the real and two complex matrices, and the lengths of gradients."""
    run, v = RUN.new(), vectors_at(model.size, PAIRS)
    W = np.zeros(v + 9 * N)
    rng = np.random.default_rng(5)
    W[v : v + 2 * N] = rng.normal(size=2 * N)
    linearize(model, 0.0, W, v, W, v)
    assert factor_systems(model, run, W, H, SHIFTS, AT_SHIFTS, PAIRS) == OK
    solve_real(model, W, v, v + 2 * N)
    for pair in range(PAIRS):
        solve_pair(model, W, pair, v, v + (3 + 2 * pair) * N)
    gradient_lengths(model, W, v + 8 * N)
    return W[v + 2 * N :], W[v : v + 2 * N], run


def test_own_operators_and_dense_matrices_give_the_same_solutions():
    A, B = matrices()
    (dense, r, _), (own, _, run) = solutions(dense_model()), solutions(banded_model())
    assert own == pytest.approx(dense, rel=1e-12, abs=1e-14)  # condition about 10
    assert run.factorizations == 1  # all shifts of a step count once
    gamma, *pairs = SHIFTS[AT_SHIFTS:] / H
    assert own[:N] == pytest.approx(np.linalg.solve(A + gamma * B, r[:N]), rel=1e-12)
    for pair in range(PAIRS):
        shift = pairs[2 * pair] - 1j * pairs[2 * pair + 1]
        known = np.linalg.solve(A + shift * B, r[:N] + 1j * r[N:])
        found = own[(1 + 2 * pair) * N : (3 + 2 * pair) * N]
        assert found == pytest.approx([*known.real, *known.imag], rel=1e-12)
    assert own[6 * N + NQ :] == pytest.approx([1.0 / (row @ row) for row in A[NQ:, :NQ][:1]] + [0.0])


def test_own_factors_that_grow_are_singular_where_there_are_no_dense_rows():
    model = banded_model(growth=2 * GROWTH)
    W, run = np.zeros(vectors_at(model.size, PAIRS) + N), RUN.new()
    linearize(model, 0.0, W, 0, W, 0)
    assert factor_real(model, run, W, 1.0, 1.0, NQ, H, SHIFTS) == SINGULAR
    assert factor_systems(model, run, W, H, SHIFTS, AT_SHIFTS, PAIRS) == SINGULAR


def test_factors_of_a_model_of_its_own_are_said_to_be_cheap():
    for model, cheap in ((dense_model(), False), (banded_model(), True)):
        W, run = np.zeros(vectors_at(model.size, 0) + N), RUN.new()
        linearize(model, 0.0, W, 0, W, 0)
        assert factor_real(model, run, W, 1.0, 1.0, NQ, H, SHIFTS) == OK
        assert cheap_factors(model.size, W) == cheap


def test_what_unknowns_alone_make_of_the_matrix_is_the_same_with_and_without_rows():
    """∂R/∂y x, from (∂R/∂y + γ/h ∂R/∂y') x and, without rows, from the equations with other slopes."""
    A, B = matrices()
    rng = np.random.default_rng(6)
    y, slope, x = rng.normal(size=(3, N))
    for model in (dense_model(), banded_model()):
        v, shift = vectors_at(model.size, 0), 3.6 / H
        W = np.zeros(v + 6 * N)
        W[v : v + N], W[v + N : v + 2 * N], W[v + 2 * N : v + 3 * N] = slope, (A + shift * B) @ x, x
        W[v + 3 * N : v + 4 * N] = A @ y + B @ slope + 0.5
        linearize(model, 0.5, y, 0, W, v)
        times_by_y(model, 0.5, y, W, v, shift, v + N, v + 2 * N, v + 3 * N, v + 4 * N)
        assert W[v + N : v + 2 * N] == pytest.approx(A @ x, rel=1e-12, abs=1e-12)
