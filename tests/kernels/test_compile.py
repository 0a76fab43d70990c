"""Kernels are compiled so that nothing is allocated and no reference is counted inside the step loop."""

import importlib.util
import linecache

import numpy as np
import pytest
from numba.core.errors import NumbaError

from holonomic.kernels.signatures import Model, call_model
from holonomic.loop.drive import drive
from holonomic.native.marks import inner, leaf
from holonomic.native.numba_meaning import OPTIONS, dispatcher


def test_kernels_are_compiled_without_a_memory_manager():
    assert OPTIONS["_nrt"] is False
    assert OPTIONS["fastmath"] == {"contract"}
    assert OPTIONS["error_model"] == "numpy"
    for name, value in OPTIONS.items():
        if name != "fastmath":
            assert dispatcher(drive).targetoptions[name] == value


def test_a_leaf_that_allocates_does_not_compile():
    def makes_an_array(n):
        total = 0.0
        for value in np.zeros(n):
            total += value
        return total

    with pytest.raises(NumbaError, match="Only accept returning of array passed into the function"):
        leaf(makes_an_array)(3)


def test_an_inner_function_that_allocates_does_not_compile():
    @inner
    def difference(x):
        return x - 1.0

    def outer(x):
        return difference(x)[0]

    with pytest.raises(NumbaError, match="Only accept returning of array passed into the function"):
        leaf(outer)(np.ones(3))


def test_interpreted_calls_see_the_same_offsets_as_compiled_ones():
    seen = []

    def model(context, mode, t, a, b, data, out):
        seen.append((context, mode, t, a[0], b[0], data[0]))
        out[0] = 7.0

    a, b, out = np.arange(6.0).reshape(2, 3), np.arange(10.0, 16.0), np.zeros((2, 2))
    call_model(Model((model, "tables"), None, np.array([9.0])), 0, 0.5, a, 3, b, 2, out, 3)
    assert seen == [("tables", 0, 0.5, 3.0, 12.0, 9.0)]
    np.testing.assert_array_equal(out, [[0.0, 0.0], [0.0, 7.0]])


FILE = """
from holonomic.native.marks import leaf

@leaf
def helper(x):
    return {factor} * x

@leaf
def caller(x):
    return 2.0 * helper(x)
"""


def test_a_leaf_of_a_users_file_that_changes_is_seen_by_those_who_call_it(tmp_path, monkeypatch):
    """What stands on disk of a caller holds the code of the leaf: its own source says nothing about that."""
    monkeypatch.setenv("HOLONOMIC_CACHE", str(tmp_path / "cache"))

    def result(factor):
        path = tmp_path / "method.py"
        path.write_text(FILE.format(factor=factor))
        spec = importlib.util.spec_from_file_location("method", path)
        module = importlib.util.module_from_spec(spec)
        linecache.checkcache(str(path))
        exec(compile(path.read_text(), path, "exec"), vars(module))
        return module.caller(1.0)

    assert [result(3.0), result(5.0), result(3.0)] == [6.0, 10.0, 6.0]
