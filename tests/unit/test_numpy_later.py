"""What NumPy does with whole numbers, views and things that change, where a run comes to it only later.

Runs start at 0.7, and below 0.3 another way is taken, so that looking at numbers near the start shows nothing. What is traced is
compared with the same functions run as plain Python.
"""

import itertools
import random
import time
import warnings

import numpy as np
import pytest

from holonomic import RK45, Ode, UntracedWarning, simulate
from holonomic.errors import UntraceableFunction


def whole_halved(y):
    a = np.where(y > 0.3, 2, 3)
    a[0] = a[0] * 0.5
    return -a * y


def whole_like(y):
    a = np.zeros_like(np.where(y > 0.3, 2, 3))
    a[0] = np.where(y[0] > 0.3, 1, 0.5)
    return -a * y - 0.2 * y


def whole_bits(y):
    return -(np.where(y > 0.3, 1, 2) & 1) * y - 0.3 * y


def whole_sum(y):
    a = np.where(y > 0.3, 1, 2) + np.ones(1, dtype=int)
    a.fill(a[0] / 2)
    return -a * y


def diagonal_seen(y):
    A = np.eye(2)
    d = np.einsum("ii->i", A)
    if y[0] < 0.3:
        d[:] = 2 * y[0]
    return -(A @ np.array([y[0], y[0]]))[:1]


def transpose_seen(y):
    A = np.eye(2)
    d = np.einsum(A, [0, 1], [1, 0])
    if y[0] < 0.3:
        d[0, 1] = 3.0
    return -(A @ np.array([y[0], y[0]]))[1:]


def kinds_told(y):
    """Different numbers for each kind of array, none of which the start shows."""
    whole, truth = np.where(y > 0.3, 1, 2), y > 0.3
    seen = (y.dtype == float, whole.dtype.kind == "i", truth.dtype == bool, np.issubdtype(y.dtype, np.floating))
    k = sum(2.0**i for i, one in enumerate(seen) if one)
    return -np.where(y < 0.3, k, 1.0) * y


@pytest.mark.parametrize("rhs", [kinds_told, whole_halved, whole_like, whole_bits, whole_sum, diagonal_seen, transpose_seen])
def test_whole_numbers_and_views_are_numpys_or_refused(rhs):
    """Refused means run as plain Python, with a warning: the end is the same either way.

    An `if` is a switch where it is traced, and met by small steps as plain Python.
    """
    given = {"y0": [0.7], "integrator": RK45(), "rtol": 1e-10, "atol": 1e-12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UntracedWarning)
        end = simulate(Ode(rhs), 1.5, **given).end.q
    assert end == pytest.approx(simulate(Ode(rhs, trace=False), 1.5, **given).end.q, abs=1e-8)


@pytest.mark.parametrize("rhs", [kinds_told, diagonal_seen, transpose_seen])
def test_views_by_einsum_and_kinds_of_arrays_are_traced(rhs):
    simulate(Ode(rhs, trace=True), 0.1, y0=[0.7])


@pytest.mark.parametrize(
    ("rhs", "words"),
    [
        (whole_halved, "puts a number into an array of whole numbers, which cuts it"),
        (whole_like, "makes a whole number of"),
        (whole_bits, "uses & on numbers that are not known"),
        (lambda y: ~np.where(y > 0.3, 1, 2) * y, "uses ~ on numbers that are not known"),
        (lambda y: -np.reciprocal(np.where(y > 0.3, 1, 2)) * y, "uses np.reciprocal on whole numbers, of which NumPy makes 0"),
    ],
)
def test_what_whole_numbers_do_otherwise_is_named(rhs, words):
    with pytest.raises(UntraceableFunction, match=words):
        simulate(Ode(rhs, trace=True), 0.1, y0=[0.7])


def test_whole_numbers_in_arithmetic_are_traced():
    """Products, quotients, whole quotients, remainders, sums with floats and arrays of floats made of them."""

    def rhs(y):
        k = np.where(y > 0.3, 3, 2)
        a = np.zeros(1)
        a[0] = k[0]
        a[0] = a[0] / 2
        return -(k * 0.5 + k // 2 + k % 2 + np.maximum(k, 2) / 3 + k.astype(float) / 7 + a) * y

    sol = simulate(Ode(rhs, trace=True), 1.5, y0=[0.7], rtol=1e-10, atol=1e-12)
    fast, slow = (-float(rhs(np.array([y]))[0]) / y for y in (0.5, 0.1))  # y' = -fast y above 0.3, -slow y below
    turn = np.log(0.7 / 0.3) / fast
    assert sol.end.q == pytest.approx(0.3 * np.exp(-slow * (1.5 - turn)), rel=1e-8)


def far(y, value):
    return -y * value() if y[0] < 0.3 else -y


GENERATOR = np.random.default_rng(1)
COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda: GENERATOR.random(), "uses random numbers of a Generator outside itself"),
        (lambda: np.random.random(), "is another function when it is called again"),  # noqa: NPY002
        (lambda: random.random(), "is another function when it is called again"),
        (lambda: time.perf_counter(), "is another function when it is called again"),
        (lambda: next(COUNTER), "is another function when it is called again"),
    ],
    ids=["Generator", "np.random", "random", "time", "counter"],
)
def test_what_differs_from_call_to_call_is_seen_where_the_start_does_not_lead(value, words):
    with pytest.raises(UntraceableFunction, match=words):
        simulate(Ode(lambda y: far(y, value), trace=True), 0.1, y0=[0.7])


def test_tables_of_pandas_are_not_written_into_by_tracing():
    pandas = pytest.importorskip("pandas")
    row, table = pandas.Series([1.0, 2.0]), pandas.DataFrame({"a": [1.0, 2.0]})

    def in_row(y):
        if y[0] < 0.3:
            row[1] = row[1] + 1.0
        return -y * row[1]

    def in_table(y):
        if y[0] < 0.3:
            table.loc[0, "a"] += 1.0
        return -y * table["a"].iloc[0]

    for rhs, kind in ((in_row, "Series"), (in_table, "DataFrame")):
        with pytest.raises(UntraceableFunction, match=f"changes a {kind} outside itself"):
            simulate(Ode(rhs, trace=True), 0.1, y0=[0.7])
    assert row[1] == 2.0 and table["a"].iloc[0] == 1.0
    read = Ode(lambda y: -y * row[1] * table["a"].to_numpy()[1], trace=True)
    assert simulate(read, 0.5, y0=[1.0]).end.q[0] == pytest.approx(np.exp(-2.0), abs=1e-6)


def test_a_generator_is_not_drawn_from_by_tracing():
    own, other = np.random.default_rng(5), np.random.default_rng(5)
    with pytest.raises(UntraceableFunction):
        simulate(Ode(lambda y: far(y, lambda: own.random()), trace=True), 0.1, y0=[0.7])
    assert own.random() == other.random()
