"""What a call of an opaque function costs: runs with one beside the same runs traced, by turns in one process.

    python benchmarks/opaque_calls.py

Laws of a few operations, so that the call itself counts; the best of some turns each: of runs in processor time, of sweeps in time.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import time
from functools import partial

import numpy as np
from numba import njit
from stamp import stamp

from holonomic import Ode, System, opaque, simulate, sweep

LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.sin.argtypes, LIBM.sin.restype = [ctypes.c_double], ctypes.c_double


@njit
def spring(x):
    return -x - x**3


@njit
def both(x, y, w):
    return -x - 0.1 * w**3, -2.0 * y


@njit
def of_arrays(q, v):
    return -q[0] - 0.1 * v[0] ** 3, -2.0 * q[1]


@njit
def both_in_an_array(q, w):
    out = np.empty(2)
    out[0] = -q[0] - 0.1 * w**3
    out[1] = -2.0 * q[1]
    return out


def in_python(x):
    return -x - x**3


def oscillator(law):
    return Ode(lambda y: [y[1], law(y[0])])


def plane(law):
    return System(mass=np.eye(2), force=law)


def cases() -> dict[str, tuple]:
    """Systems with an opaque function, the same traced, and where they start."""
    sine, law, pair, arrays, array, slow = map(opaque, (LIBM.sin, spring, both, of_arrays, both_in_an_array, in_python))
    one, two = {"y0": [1.0, 0.0]}, {"q0": [1.0, 0.5], "v0": [0.0, 1.0]}
    traced = plane(lambda q, v: [-q[0] - 0.1 * v[0] ** 3, -2.0 * q[1]])
    return {
        "C, one number (`sin` of libm)": (oscillator(lambda x: -sine(x)), oscillator(lambda x: -np.sin(x)), one),
        "njit, one number": (oscillator(lambda x: law(x)), oscillator(in_python), one),
        "njit, two numbers": (plane(lambda q, v: pair(q[0], q[1], v[0])), traced, two),
        "njit, of two arrays": (plane(lambda q, v: arrays(q, v)), traced, two),
        "njit, an array, which it allocates": (plane(lambda q, v: array(q, v[0])), traced, two),
        "Python": (oscillator(lambda x: slow(x)), oscillator(in_python), one),
    }


def main(turns: int = 25) -> None:
    """Print the table."""
    print(f"{stamp()}\n\n| function | time of a run beside the traced one | of a sweep on all threads |\n| --- | --- | --- |")
    for name, (own, traced, start) in cases().items():
        members = {"params": None, **{key: np.repeat([value], 64, axis=0) for key, value in start.items()}}
        runs = [partial(simulate, s, 300.0, **start, save_at=2) for s in (own, traced)]
        sweeps = [partial(sweep, s, 100.0, **members, save_at=2) for s in (own, traced)]
        assert math.isclose(*(float(run().q[-1, 0]) for run in runs), abs_tol=1e-3)
        print(f"| {name} | {_ratio(runs, turns, time.thread_time):.2f} | {_ratio(sweeps, max(3, turns // 4)):.2f} |")


def _ratio(pair, turns: int, clock=time.perf_counter) -> float:
    times: list[list[float]] = [[], []]
    for _ in range(turns):
        for run, kept in zip(pair, times, strict=True):
            began = clock()
            run()
            kept.append(clock() - began)
    return min(times[0]) / min(times[1])


if __name__ == "__main__":
    main()
