"""The two printers of a tape, machine code and Python, compute the same numbers."""

import ctypes
import math
import re

import numpy as np
import pytest

from holonomic.errors import OK
from holonomic.kernels.played import OPERATIONS
from holonomic.kernels.signatures import NO_MODE, Fn
from holonomic.model import machine_code
from holonomic.model.compiled import Model
from holonomic.model.emit import PYTHON, python_source
from holonomic.model.graphs import tapes
from holonomic.model.model_base import PLAIN
from holonomic.model.played_tapes import PlayedTape
from holonomic.model.tape import Tape
from holonomic.problems import seven_body

POINTER = ctypes.POINTER(ctypes.c_double)
PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, POINTER, POINTER, POINTER, POINTER)

# where an operation is defined, as ranges of its operands; elsewhere Python raises and machine code gives NaN
POSITIVE, UNIT, ABOVE_ONE, ANY = (1e-3, 30.0), (-0.999, 0.999), (1.001, 30.0), (-20.0, 20.0)
DOMAIN = {
    "sqrt": POSITIVE, "log": POSITIVE, "pow": POSITIVE, "constpow": POSITIVE, "asin": UNIT, "acos": UNIT,
    "acosh": ABOVE_ONE, "atanh": UNIT, "log1p": POSITIVE,
}  # fmt: skip
UNARY = {name for name, text in PYTHON.items() if not re.search(r"\by\b", text)}


def call(addresses, name, t, a, b, data, out):
    """Call machine code on arrays."""
    pointers = [array.ctypes.data_as(POINTER) for array in (a, b, data, out)]
    assert PROTOTYPE(addresses[name])(None, NO_MODE, t, *pointers) == OK


def printed(tape, name):
    """The Python function of a tape."""
    scope = {"math": math}
    exec(python_source(tape, name), scope)
    return scope[name]


def one_operation(name):
    operands = {"choose": (0, 1, 0)}.get(name, (0,) if name in UNARY else (0, 1))
    return Tape((("in", 1, 0), ("in", 2, 0), (name, *operands)), (2,))


@pytest.fixture(scope="module")
def operations():
    made = {name: one_operation(name) for name in PYTHON}
    named = {f"do_{name}": tape for name, tape in made.items()}  # not the names of C functions
    return made, machine_code.addresses(machine_code.compile_tapes(named), tuple(named))


@pytest.mark.parametrize("name", PYTHON)
def test_python_equals_machine_code(name, operations):
    made, addresses = operations
    function = printed(made[name], "f")
    random = np.random.default_rng(sum(map(ord, name)))
    for _ in range(200):
        a, b = random.uniform(*DOMAIN.get(name, ANY), (2, 1))
        if name in ("eq", "ne", "le", "lt", "and", "or", "not", "if_else_zero", "sign", "choose"):
            a, b = np.round(a / 10.0), np.round(b / 10.0)  # often equal, often zero
        mine, theirs = np.zeros(1), np.zeros(1)
        function(0.0, a, b, a, mine)
        call(addresses, f"do_{name}", 0.0, a, b, a, theirs)
        # both call the C library, perhaps in different builds: two units in the last place
        assert abs(mine[0] - theirs[0]) <= 2.0 * np.spacing(abs(mine[0])), (a, b)


def test_nearly_all_that_is_compiled_is_played():
    assert set(PYTHON) - set(OPERATIONS) == {"choose", "asinh", "acosh", "atanh", "erf"}


@pytest.mark.parametrize("name", OPERATIONS)
def test_played_equals_python(name):
    tape = one_operation(name)
    function, played = printed(tape, "f"), PlayedTape(tape)
    random = np.random.default_rng(sum(map(ord, name)))
    for _ in range(200):
        a, b = random.uniform(*DOMAIN.get(name, ANY), (2, 1))
        if name in ("eq", "ne", "le", "lt", "and", "or", "not", "if_else_zero", "sign"):
            a, b = np.round(a / 10.0), np.round(b / 10.0)
        mine, theirs = np.zeros(1), np.zeros(1)
        function(0.0, a, b, a, mine)
        pointers = [array.ctypes.data_as(POINTER) for array in (a, b, a, theirs)]
        assert PROTOTYPE(played.address)(played.context, NO_MODE, 0.0, *pointers) == OK
        assert abs(mine[0] - theirs[0]) <= 2.0 * np.spacing(abs(mine[0])), (a, b)


@pytest.mark.parametrize("name", ["sqrt", "log", "asin", "acos"])
def test_played_gives_nan_where_there_is_no_number(name):
    played, out = PlayedTape(one_operation(name)), np.zeros(1)
    pointers = [array.ctypes.data_as(POINTER) for array in (np.array([-2.0]), out, out, out)]
    PROTOTYPE(played.address)(played.context, NO_MODE, 0.0, *pointers)
    assert np.isnan(out[0])


@pytest.mark.parametrize("name", ["fmin", "fmax"])
@pytest.mark.parametrize("pair", [(1.0, np.nan), (np.nan, 1.0), (np.nan, np.nan), (-1.0, 2.0), (2.0, -1.0)])
def test_nan_goes_through_minimum_and_maximum_as_in_numpy(name, pair, operations):
    made, addresses = operations
    a, b = np.array([pair[0]]), np.array([pair[1]])
    expected = (np.minimum if name == "fmin" else np.maximum)(a, b)
    mine, theirs = np.zeros(1), np.zeros(1)
    printed(made[name], "f")(0.0, a, b, a, mine)
    call(addresses, f"do_{name}", 0.0, a, b, a, theirs)
    np.testing.assert_array_equal(mine, expected)
    np.testing.assert_array_equal(theirs, expected)


def test_a_whole_mechanism_is_the_same_printed_and_compiled():
    problem = seven_body()
    q, v = np.asarray(problem.q0, dtype=float), np.asarray(problem.v0, dtype=float)
    model = Model(problem.system, q, v)
    wanted = (Fn.FIELD, Fn.RESIDUAL, Fn.TERMS, Fn.VEL_FACTOR)
    made = tapes(model._derived(PLAIN), wanted)
    data, random = model.data(), np.random.default_rng(2)
    for fn, tape in made.items():
        function = printed(tape, fn.name)
        for _ in range(5):
            x = np.concatenate([q + 0.1 * random.uniform(-1, 1, 7), 10.0 * random.uniform(-1, 1, 7)])
            mine, theirs = np.zeros(len(tape.outputs)), model.evaluate(fn, 0.0, x, [0.0], data)
            function(0.0, x, x, data, mine)
            # 500 operations, some fused in machine code; pivot ratios down to 1e-3 amplify their rounding
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-11 * np.max(np.abs(theirs)))


def test_tapes_that_differ_in_one_thing_have_names_of_their_own_and_come_back_from_text():
    nodes = (("in", 1, 0), ("in", 1, 1), ("add", 0, 1), ("const", 2.0), ("mul", 2, 3))
    one = Tape(nodes, (2, 4, None))
    others = [
        Tape(nodes, (4, 2, None)), Tape(nodes, (2, 4)), Tape(nodes, (2, None, 4)),
        Tape((*nodes[:3], ("const", 3.0), nodes[4]), (2, 4, None)), Tape((*nodes[:4], ("mul", 2, 2)), (2, 4, None)),
        Tape((nodes[1], nodes[0], *nodes[2:]), (2, 4, None)),
    ]  # fmt: skip
    assert len({each.content() for each in (one, *others)}) == 1 + len(others)
    for each in (one, *others):
        assert Tape.from_text(each.text()) == each
