"""Nasty functions on symbols give what plain Python gives on both sides of every decision, or are refused by name."""

import collections
import contextlib
import math
from dataclasses import dataclass

import numpy as np
import pytest

from holonomic import System, simulate
from holonomic.errors import UntraceableFunction
from holonomic.model import symbolics
from holonomic.model.call_by_name import call
from holonomic.model.make_symbols import symbol_vector, to_sx
from holonomic.model.trace_stage import ways_through

POINTS = np.random.default_rng(5).uniform(-2.0, 2.0, (40, 3))


def on_symbols(function):
    sx, q = symbol_vector("q", 3)
    value = to_sx(ways_through(lambda: call(function, "force()", ("q",), {"q": q.copy()}), "force()"))
    return symbolics.function_of([sx], [symbolics.densify(value)])


# views that functions of NumPy make of arrays that hold numbers yet


def reshaped(q):
    a = np.zeros(6)
    np.reshape(a, (2, 3))[0] = q
    np.transpose(np.reshape(a, (2, 3)))[0] += 1
    return a


def split_in_two(q):
    a = np.zeros(6)
    x, y = np.split(a, 2)
    x += q
    y -= q
    return a


def of_more_axes(q):
    a = np.zeros(3)
    np.atleast_2d(a)[0, 0] = q[0]
    np.expand_dims(a, 0)[0, 1] = q[1]
    np.flip(a)[0] = q[2]
    return a


def seen_through_broadcasting(q):
    a = np.zeros(3)
    b = np.broadcast_to(a, (2, 3))
    a[:] = q
    return b.sum(axis=0)


# truths


def counted(q):
    return np.sum(q > 0) + (q > 1).sum() + sum(q < 0) + np.cumsum(q > 0)[1] + float(q[0] > 0) + float(q[1] > 0)


def as_numbers(q):
    return (q > 0).astype(float) + (q < 1).astype(float)


def multiplied(q):
    return (q > 0) * (q < 1) * 3.0 + (q[0] > 0) * q


# NumPy's and math's own rules


def the_last_piece_that_holds(q):
    return np.piecewise(q, [q > 0, q > 1], [1.0, lambda x: x**2, -2.0])


def roots_that_are_no_numbers(q):
    y = np.sqrt(q)
    y[np.isnan(y)] = -1.0
    return y + np.where(np.isfinite(np.log(q)), 1.0, 2.0) + np.nan_to_num(np.sqrt(q - 1), nan=3.0)


def guarded_by_isnan(q):
    angle = np.arccos(q[0])
    return 0.0 if math.isnan(angle) else angle


def close_to(q):
    return q[0] if math.isclose(q[1], 0, abs_tol=0.5) and math.isclose(0.3, 0.1 + 0.2, rel_tol=1e-9) else q[2]


def is_a_scalar(q):
    return q * 2 if np.isscalar(q[0]) else q


# helpers that write into what they are given, or take from it


def marked(places, i, x):
    if x > 0:
        places[i] = 1


def whole_numbers_marked_by_a_helper(q):
    places, truths = np.zeros(3, dtype=int), np.zeros(3, dtype=bool)
    for i in range(3):
        marked(places, i, q[i])
        marked(truths, i, -q[i])
    return places * q + 3 * truths


def put_in(things, i, x):
    if x > 0:
        things.add(i)


def a_set_filled_by_a_helper(q):
    things = set()
    for i in range(3):
        put_in(things, i, q[i])
    return float(len(things))


def taken(queue):
    x = queue.popleft()
    return x if x > 0 else 0.0


def a_queue_emptied_by_a_helper(q):
    queue = collections.deque(q)
    return taken(queue) + 2 * taken(queue) + 4 * taken(queue)


@dataclass(slots=True)
class Load:
    total: float = 0.0

    def add(self, x):
        if x > 0:
            self.total += x


def slots_written_by_a_method(q):
    load = Load()
    for x in q:
        load.add(x)
    return load.total


class Reader:
    def __init__(self, items):
        self.items = iter(items)

    def read(self):
        x = next(self.items)
        return x if x > 0 else 0.0


def an_iterator_inside_an_object(q):
    reader = Reader(q)
    return reader.read() + 2 * reader.read()


# exceptions that are taken


def root(x):
    if x < 0:
        raise ValueError("negative")
    return x**2 + 1


def except_of_everything(q):
    try:
        return root(q[0])
    except:  # noqa: E722
        return -7.0


def everything_suppressed(q):
    y = -7.0
    with contextlib.suppress(BaseException):
        y = root(q[0])
    return y


@pytest.mark.parametrize("function", [
    reshaped, split_in_two, of_more_axes, seen_through_broadcasting, counted, as_numbers, multiplied, the_last_piece_that_holds,
    roots_that_are_no_numbers, guarded_by_isnan, close_to, is_a_scalar, whole_numbers_marked_by_a_helper,
    a_set_filled_by_a_helper, a_queue_emptied_by_a_helper, slots_written_by_a_method, an_iterator_inside_an_object,
    except_of_everything, everything_suppressed,
], ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_function_on_symbols_is_the_one_on_numbers(function):
    traced = on_symbols(function)
    for x in POINTS:
        own = np.asarray(function(x.copy()), dtype=float)
        assert np.allclose(np.array(traced(x)).reshape(own.shape), own, rtol=1e-14, atol=1e-14)  # a few roundings


@pytest.mark.parametrize("function", [
    lambda q: 3.0 * ((q[0] > 0) + (q[1] > 0)), lambda q: 3.0 * ((q > 0) + (q < 1)), lambda q: np.dot(q > 0, q < 1) * 1.0,
    lambda q: np.diff(q > 0) * 1.0,
])  # fmt: skip
def test_truths_of_which_numpy_makes_one_truth_are_not_counted(function):
    with pytest.raises(UntraceableFunction, match="adds or subtracts two comparisons, of which NumPy makes one truth"):
        on_symbols(function)


@pytest.mark.parametrize("function", [
    lambda q: {1.0: 5.0}.get(np.sign(q[0]), 3.0), lambda q: {True: 1.0, False: 2.0}[q[0] > 0],
    lambda q: 1.0 if q[0] in {1.0, 2.0} else 0.0, lambda q: 1.0 * len({np.sign(x) for x in q}),
])  # fmt: skip
def test_values_are_not_looked_up_in_mappings(function):
    with pytest.raises(UntraceableFunction, match=r"looks the symbol .* up in a mapping or a set"):
        on_symbols(function)


def test_an_angle_beyond_its_range_is_caught_by_isnan_in_compiled_code():
    def force(q):
        angle = np.arccos(q[0])
        return [1.0 if np.isnan(angle) else 2.0]

    sol = simulate(System(mass=np.eye(1), force=force, trace=True), 1.0, q0=[2.0], v0=[0.0])
    assert sol.q[-1, 0] == pytest.approx(2.5, abs=1e-12)  # q = 2 + t²/2, and not 2 + t²
