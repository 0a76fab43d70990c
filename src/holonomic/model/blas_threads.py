"""Matrices of starts and assemblies on one thread: so small that threads cost more time than they save, and change last bits.

OpenBLAS, which NumPy and SciPy bring, lets all processors wait for each other from some 100 rows on: where others use the machine,
a chain of 90 links took 4.8 s to assemble, and takes 0.12 s. Another BLAS is left as it is.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
import threading
from collections.abc import Iterator

MOST = 1000  # rows or columns, beyond which threads are of use
FILES = ("numpy.linalg._umath_linalg", "scipy.linalg._fblas", "scipy.linalg._flapack")  # modules that are linked with a BLAS
NAMES = [(before, after) for before in ("scipy_", "") for after in ("64_", "")]
_lock = threading.Lock()
_inside = 0  # how many are at work with one thread
_before: list[int] = []  # numbers of threads that were there


@functools.cache
def _switches(file: str) -> tuple | None:
    """The functions (get, set) of the number of threads in the BLAS that a module is linked with."""
    try:
        library = ctypes.CDLL(file)
    except OSError:
        return None
    for before, after in NAMES:
        with contextlib.suppress(AttributeError):
            return tuple(getattr(library, f"{before}openblas_{what}_num_threads{after}") for what in ("get", "set"))
    return None


def _all() -> list[tuple]:
    """Those of all libraries that are loaded."""
    files = (sys.modules[name].__file__ for name in FILES if name in sys.modules)
    return [found for file in files if file is not None and (found := _switches(file)) is not None]


@contextlib.contextmanager
def one_thread(size: int) -> Iterator[None]:
    """Let BLAS work on one thread, if matrices have at most `MOST` rows or columns."""
    global _inside, _before
    if size > MOST:
        yield
        return
    known = _all()
    with _lock:
        if _inside == 0:
            _before = [get() for get, _ in known]
            for _, set_number in known:
                set_number(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for (_, set_number), number in zip(known, _before, strict=False):
                    set_number(number)
