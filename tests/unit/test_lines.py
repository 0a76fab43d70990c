"""Machine code written as lines of text: what a tape computes, whatever stands between the lines."""

import math

import numpy as np
import pytest

from holonomic.kernels.signatures import N_FUNCTIONS, Fn
from holonomic.loop.from_python import invoke
from holonomic.model import machine_code
from holonomic.model.emit import PIECE, python_source
from holonomic.model.tape import Tape

ONE = ("neg", "sq", "twice", "inv", "sqrt", "sin", "cos", "fabs", "sign", "exp", "atan")
TWO = ("add", "sub", "mul", "div", "fmin", "lt")


def compiled(tape: Tape, a: np.ndarray) -> np.ndarray:
    """What the machine code of a tape gives."""
    found = machine_code.addresses(machine_code.compile_tapes({"f": tape}), ("f",))
    fns = np.zeros(2 * N_FUNCTIONS, dtype=np.int64)
    fns[2 * Fn.FIELD] = found["f"]
    out = np.empty(len(tape.outputs))
    invoke(fns, int(Fn.FIELD), 0.0, a, np.zeros(0), np.zeros(0), out)
    return out


@pytest.mark.parametrize("length", [40, 2 * PIECE])
def test_lines_and_objects_of_llvmlite_compute_a_tape_together(length):
    random = np.random.default_rng(length)
    nodes: list[tuple] = [("in", 1, 0), ("in", 1, 1), ("const", 0.1)]
    while len(nodes) < length:
        x, y = (int(i) for i in random.integers(max(0, len(nodes) - 12), len(nodes), 2))
        nodes += [("add", x, y), ("sin", len(nodes))]  # stay of the size of 1
        name = str(random.choice([*ONE, *TWO]))
        nodes.append(("fabs", len(nodes) - 1) if name == "sqrt" else (name, len(nodes) - 1, *((x,) if name in TWO else ())))
    tape = Tape(tuple(nodes), (*range(3, len(nodes), 7), None, len(nodes) - 1))
    a, out = np.array([0.7, -1.3]), np.empty(len(tape.outputs))
    space: dict = {"math": math}
    exec(python_source(tape, "f"), space)
    space["f"](0.0, a, None, None, out)
    mine = compiled(tape, a)
    assert mine[-2] == 0.0
    # fused products and our own sines round otherwise; what follows magnifies that by its derivative, at most some hundred times
    assert np.allclose(mine, out, rtol=1e-11, atol=1e-11)


def test_constants_keep_every_bit():
    numbers = [0.1, -0.0, 1e300, -5e-324, math.pi, math.inf, math.nan]
    tape = Tape(tuple(("const", number) for number in numbers), tuple(range(len(numbers))))
    assert compiled(tape, np.zeros(1)).tobytes() == np.array(numbers).tobytes()
