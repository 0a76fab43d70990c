"""The memory of a run has names; kernels take few things, and no number of a place is written in them."""

import ast
import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import holonomic
from holonomic.kernels.memory import RUN, SIZE
from holonomic.native.layout import REAL, WHOLE, Layout, view_as
from holonomic.native.marks import leaf

PACKAGE = Path(holonomic.__file__).parent
ROOMS = ("kernels", "passage", "loop", "integrators", "stabilizations", "formulations")
KERNELS = [path for room in ROOMS for path in (PACKAGE / room).glob("*.py")]
MIXED = Layout("Mixed", (("first", REAL, "a number"), ("count", WHOLE, "how often"), ("last", REAL, "another number")))
PAIR = Layout("Pair", (("low", REAL, "the smaller one"), ("high", REAL, "the larger one")))
as_pair, as_second_row = view_as(PAIR), view_as(PAIR, 1)


@leaf
def used(memory):
    memory.count += 3
    memory.last = 2.0 * memory.first
    return memory.count


@leaf
def swapped(numbers, table):
    pair, row = as_pair(numbers), as_second_row(table)
    pair.low, pair.high = pair.high, pair.low
    row.high = pair.low


def test_compiled_kernels_and_python_see_one_memory():
    memory = MIXED.new()
    memory.first, memory.count = 1.5, 4
    assert used(memory.array[0]) == 7
    assert (memory.count, memory.last) == (7, 3.0)
    assert memory.array["last"] == [3.0]
    assert isinstance(memory.count, int) and isinstance(memory.last, float)


def test_a_copy_is_apart_and_memory_travels():
    memory = MIXED.new()
    memory.first, memory.count = 1.5, 4
    for other in (memory.copy(), copy.deepcopy(memory), pickle.loads(pickle.dumps(memory))):
        assert (other.first, other.count, other.last) == (1.5, 4, 0.0)
        other.first = 2.5
        used(other.array[0])
        assert (memory.first, memory.count, other.last) == (1.5, 4, 5.0)


def test_numbers_of_a_method_are_seen_by_name_compiled_and_not():
    results = []
    for run in (swapped, swapped.py):
        numbers, table = np.append(PAIR.numbers(low=1.0, high=2.0), 7.0), np.zeros((3, 4))
        run(numbers, table)
        results.append((numbers.tolist(), table.tolist()))
    assert results[0] == results[1] == ([2.0, 1.0, 7.0], [[0.0] * 4, [0.0, 2.0, 0.0, 0.0], [0.0] * 4])


def test_layouts_refuse_what_they_do_not_know():
    with pytest.raises(ValueError, match="no number middle"):
        PAIR.numbers(middle=1.0)
    with pytest.raises(ValueError, match="declared twice"):
        Layout("Pair", ())
    with pytest.raises(ValueError, match="declared twice"):
        Layout("Twins", (("a", REAL, ""), ("a", WHOLE, "")))


def test_every_field_has_a_meaning_and_is_used():
    source = "".join(path.read_text() for path in PACKAGE.rglob("*.py") if path.name != "memory.py")
    for layout in (RUN, SIZE):
        for name, (_, meaning) in layout.fields.items():
            assert len(meaning) > 4, name
            assert re.search(rf"\.{name}\b|\"{name}\"", source), f"nobody reads {name}"
    assert "t_stop" in RUN.describe(RUN.new())


def test_no_kernel_addresses_memory_by_number():
    places = re.compile(r"\b(S|I|n|sp|W|K)\[[A-Z_]+\]")
    assert [str(path) for path in PACKAGE.rglob("*.py") if places.search(path.read_text())] == []


def test_kernels_take_at_most_twelve_things():
    long = {}
    for path in KERNELS:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.decorator_list and len(node.args.args) > 12:
                long[f"{path.name}: {node.name}"] = len(node.args.args)
    assert long == {}


def test_the_loop_fits_on_a_page():
    (drive,) = [n for n in ast.parse((PACKAGE / "loop" / "drive.py").read_text()).body if isinstance(n, ast.FunctionDef)]
    assert drive.name == "drive"
    assert drive.end_lineno - drive.lineno < 60
