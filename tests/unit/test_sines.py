"""Sines and cosines of models: exact to a unit in the last place, side by side or alone, also far from zero."""

import ctypes

import mpmath
import numpy as np
import pytest

from holonomic import System, simulate
from holonomic.model import machine_code
from holonomic.model.sines import LARGEST
from holonomic.model.tape import Tape


def compiled(tape: Tape):
    """The tape as a function of an array."""
    address = machine_code.addresses(machine_code.compile_tapes({"f": tape}), ("f",))["f"]
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_double, *[ctypes.c_void_p] * 4)(address)

    def function(x):
        x, out = np.array(x, float), np.empty(len(tape.outputs))
        call(None, 0, 0.0, x.ctypes.data, None, None, out.ctypes.data)
        return out

    return function


def of_all(count: int):
    """Sines, then cosines of `count` inputs."""
    nodes = [("in", 1, i) for i in range(count)]
    nodes += [(name, i) for name in ("sin", "cos") for i in range(count)]
    return compiled(Tape(tuple(nodes), tuple(range(count, 3 * count))))


def units_off(found, name: str, x) -> float:
    """Largest distance from the exact values, in units in the last place."""
    worst = 0.0
    with mpmath.workprec(300):
        for value, argument in zip(found, x, strict=True):
            exact = getattr(mpmath, name)(mpmath.mpf(float(argument)))
            worst = max(worst, float(abs(mpmath.mpf(float(value)) - exact) / np.spacing(abs(float(exact)))))
    return worst


def arguments(count: int, seed: int):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, count) * 10.0 ** rng.uniform(-9, np.log10(LARGEST), count)
    x[::5] = rng.integers(-60000, 60000, len(x[::5])) * (np.pi / 2)  # next to zeros of either
    x[::7] = rng.integers(-60000, 60000, len(x[::7])) * (np.pi / 4)  # next to the ends of the reduced interval
    return x


@pytest.mark.parametrize("count", [1, 2, 3, 8, 9, 300])  # alone, pairs, with an empty lane, full, full and one alone, in pieces
def test_sines_and_cosines_are_exact_to_a_unit_in_the_last_place(count):
    function = of_all(count)
    for seed in range(max(1, 600 // count)):
        x = arguments(count, seed)
        found = function(x)
        assert units_off(found[:count], "sin", x) < 1.0
        assert units_off(found[count:], "cos", x) < 1.0


def test_what_stands_beside_an_argument_does_not_matter():
    x = arguments(300, 3)
    alone, beside = of_all(1), of_all(300)(x)
    for k in range(300):
        assert np.array_equal(alone(x[k : k + 1]), beside[[k, 300 + k]]), x[k]


@pytest.mark.parametrize("count", [1, 5])
def test_large_arguments_infinite_ones_and_nan_are_those_of_the_library(count):
    far = [np.nextafter(LARGEST, np.inf), -3e7, 1e300, np.inf, -np.inf, np.nan]
    for value in far:
        x = np.linspace(0.1, 0.5, count)
        x[-1] = value
        found = of_all(count)(x)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(found, np.concatenate([np.sin(x), np.cos(x)]), rtol=3e-16)


def test_signed_zeros_and_tiny_numbers_keep_their_sign_and_digits():
    x = [0.0, -0.0, 5e-324, -1e-300]
    found = of_all(4)(x)
    assert np.array_equal(found[:4], x) and np.array_equal(np.signbit(found[:4]), np.signbit(x))
    assert np.array_equal(found[4:], np.ones(4))


def test_sines_of_sines_wait_for_each_other():
    depth = 3000  # a chain longer than Python's stack, in several pieces
    nodes = [("in", 1, 0), ("in", 1, 1)]
    ends = [0, 1]
    for _ in range(depth // 2):
        ends = [len(nodes), len(nodes) + 1]
        nodes += [("sin", len(nodes) - 1), ("cos", len(nodes) - 2)]  # each of the other
    found = compiled(Tape(tuple(nodes), tuple(ends)))([0.3, 0.7])
    a, b = 0.3, 0.7
    for _ in range(depth // 2):
        a, b = np.sin(b), np.cos(a)
    np.testing.assert_allclose(found, [a, b], rtol=1e-14)


def test_a_fast_turning_angle_is_right():
    """x'' = -sin(θ), θ = 1000 t up to 3000 rad: x' = (cos(θ) - 1) / 1000."""
    spun = System(mass=np.eye(2), force=lambda q: np.array([-np.sin(q[1]), 0.0]))
    sol = simulate(spun, 3.0, q0=[0.0, 0.0], v0=[0.0, 1000.0], rtol=1e-10, atol=1e-13)
    assert sol.v[-1, 0] == pytest.approx((np.cos(3000.0) - 1) / 1000, abs=1e-9)
