"""Functions printed for lanes do for every lane what Python does for its numbers alone."""

from __future__ import annotations

import ast
import ctypes
import inspect
import math
import textwrap

import numpy as np
import pytest

from holonomic.native import host
from holonomic.printing.lane_code import ENTRY, compiled
from holonomic.printing.lane_memory import LANES, REAL, SHARED, WHOLE, LaneArray
from holonomic.printing.lane_program import aligned
from holonomic.printing.lane_types import LaneTypes, NoLaneCode

WIDTH = 4
TABLE = np.array([3.0, -1.0, 0.5, 8.0, 2.0, -7.0])


def branches(x, k, table, out):
    """Each way for its own lanes, and both for some."""
    y = 0.0
    if x[0] > 0.0:
        y = x[0] * 2.0
        if x[1] > 1.0:
            y = y + 100.0
        else:
            y -= 1.0
    elif x[1] < 0.0:
        y = -5.0
    out[0] = y
    out[1] = 1.0 if x[0] > x[1] and table[k[0] % 6] > 0.0 else 2.0
    out[2] = max(x[0], x[1], 0.25) - min(x[0], 3)


def turns(x, k, table, out):
    """Loops that lanes leave at different times."""
    total = 0.0
    i = 0
    while total < 10.0 and i < 50:
        i += 1
        if i == k[0]:
            continue
        if i > k[0] + 20:
            break
        total += x[0] * x[0]
    out[0] = total
    k[1] = i
    last = -1
    for j in range(6):
        if table[j] > x[1]:
            continue
        last = j
        if table[j] < -3.0:
            break
    out[1] = last * 1.0
    count = 0
    for j in range(k[0]):
        count += j
    out[2] = count / 2


def found(x, table):
    """The first entry of a table above x."""
    for j in range(6):
        if table[j] > x:
            return j
    return -1


def two(x, y):
    """Several values at once, and early returns."""
    if x == y:
        return 0.0, True
    if x > y:
        return x - y, False
    return y - x, False


def calls(x, k, table, out):
    """Calls of some lanes alone, which return at different places."""
    out[0] = found(x[0], table) * 1.0
    if x[1] > 0.0:
        apart, same = two(x[0], x[1])
        out[1] = apart
        k[1] = 7 if same else 8
    if not x[0] <= 1e300 or math.isnan(x[1]):
        out[2] = -1.0


def arithmetic(x, k, table, out):
    """What kernels compute."""
    size, other = math.sqrt(x[0] ** 2 + 1.0), abs(x[1])
    size, other = other, size
    out[0] = size + other**0.3
    out[1] = math.copysign(other, x[1]) * math.exp(-size) + math.log(1.0 + size)
    k[1] = (k[0] * 3 - 7) // 4 + (k[0] - 9) % 5 - abs(k[0] - 3)
    row = out
    row[2] = x[0] - 2 * x[1]
    row[2] -= x[0] * 0.5
    out[3 + k[0] % 2] = 4.0


FUNCTIONS = {
    each.__name__: ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
    for each in (branches, turns, found, two, calls, arithmetic)
}
ARRAYS = {
    "x": LaneArray(REAL, LANES, (2,)), "k": LaneArray(WHOLE, LANES, (2,)), "out": LaneArray(REAL, LANES, (5,)),
    "table": LaneArray(REAL, SHARED, (None,)),
}  # fmt: skip


def in_lanes(function, X, K):
    """What a function leaves in k and out for members with these x and k, in lanes."""
    given = list(inspect.signature(function).parameters)
    code = compiled(FUNCTIONS, {}, function.__name__, given, ARRAYS, WIDTH)
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(host.load(code, (ENTRY,))[ENTRY])
    rooms = [aligned(2 * WIDTH, "float64"), aligned(2 * WIDTH, "int64"), aligned(5 * WIDTH, "float64")]
    rooms[0][:], rooms[1][:] = X.T.ravel(), K.T.ravel()
    words = np.array([room.ctypes.data for room in rooms] + [TABLE.ctypes.data, len(TABLE)], dtype=np.int64)
    run(words.ctypes.data)
    return rooms[1].reshape(2, WIDTH).T.copy(), rooms[2].reshape(5, WIDTH).T.copy()


@pytest.mark.parametrize("function", [branches, turns, calls, arithmetic])
def test_every_lane_has_the_numbers_of_python(function):
    random = np.random.default_rng(5)
    for _ in range(12):
        X = np.round(random.normal(scale=2.0, size=(WIDTH, 2)), 1)
        X[0, 0], X[1] = random.choice([0.0, math.nan, math.inf, 2.0]), random.choice([0.5, 2.0])
        K = random.integers(0, 12, size=(WIDTH, 2))
        if function is arithmetic:
            X[0, 0] = 1.5  # Python raises where a processor gives NaN
        told, left = in_lanes(function, X, K)
        for lane in range(WIDTH):
            k, out = K[lane].tolist(), [0.0] * 5
            function(X[lane].tolist(), k, TABLE.tolist(), out)
            assert told[lane].tolist() == k
            # a product and a sum may be rounded once instead of twice, in up to fifty turns of a loop
            np.testing.assert_allclose(left[lane], out, rtol=50 * 1.2e-16, atol=4e-16, equal_nan=True)


def test_what_a_lane_computes_does_not_depend_on_its_neighbours():
    random = np.random.default_rng(6)
    X, K = random.normal(scale=2.0, size=(WIDTH, 2)), random.integers(0, 12, size=(WIDTH, 2))
    for function in (branches, turns, calls, arithmetic):
        _, together = in_lanes(function, X, K)
        for lane in range(WIDTH):
            others = random.normal(size=(WIDTH, 2))
            others[lane] = X[lane]
            keys = random.integers(0, 12, size=(WIDTH, 2))
            keys[lane] = K[lane]
            assert in_lanes(function, others, keys)[1][lane].tobytes() == together[lane].tobytes()


def test_numbers_that_are_the_same_for_all_stay_numbers():
    node = ast.parse("def f(x, table):\n    n = 3\n    y = 0.0\n    for i in range(n):\n        y = table[i] + x[i]\n").body[0]
    found = LaneTypes(None, node, (LaneArray(REAL, LANES, (4,)), ARRAYS["table"])).types
    assert not found["n"].varying
    assert not found["i"].varying
    assert found["y"].varying


def test_what_has_no_code_for_lanes_is_named():
    node = ast.parse("def f(x):\n    return [each for each in x]").body[0]
    with pytest.raises(NoLaneCode, match="each for each"):
        LaneTypes(None, node, (LaneArray(REAL, LANES, (4,)),))
