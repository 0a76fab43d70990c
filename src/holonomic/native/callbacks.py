"""Python functions that compiled code calls, and functions at an address that Python calls.

All have one form: f(x, out), n numbers in, m numbers out. What a Python function raises cannot pass through compiled code: it is
kept, the function gives NaN from then on, so that the compiled loop soon comes to an end, and whoever called that loop
raises it. A thread sees what it raised itself, and nothing of others.
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence

import numpy as np

FORM = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class _Raised(threading.local):
    problem: BaseException | None = None


_raised = _Raised()


def as_callback(function: Callable[[list[float]], Sequence[float]], n: int, m: int):
    """Return a Python function of a list as what compiled code can call, from any thread; keep it as long as its address.

    Lists, because to make arrays of one or two numbers would take as long as all the rest.
    """
    given, written = ctypes.c_double * n, ctypes.c_double * m

    def called(x, out):
        results = written.from_address(out)
        if _raised.problem is None:
            try:
                results[:] = function(given.from_address(x)[:])
                return
            except BaseException as problem:  # Ctrl-C, too: Python would print it and go on
                _raised.problem = problem
        results[:] = (math.nan,) * m

    return FORM(called)


def address_of(callback) -> int:
    """Return the address of a function of ctypes."""
    return ctypes.cast(callback, ctypes.c_void_p).value or 0


def call_at(address: int, x: np.ndarray, m: int) -> np.ndarray:
    """Call the function at an address with numbers; raises what it raises."""
    given, out = np.array(x, dtype=float), np.full(m, np.nan)
    FORM(address)(given.ctypes.data, out.ctypes.data)
    raise_what_was_raised()
    return out


def raise_what_was_raised() -> None:
    """Raise what a Python function raised inside compiled code since this was last asked on this thread."""
    problem = _raised.problem
    if problem is not None:
        _raised.problem = None
        raise problem
