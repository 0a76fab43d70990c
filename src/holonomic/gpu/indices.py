"""Indices as they are: none of our kernels counts from the end, and to ask for that takes several instructions each time.

Where an index is a number the compiler finds that out; where it was read from a table it asks at every access.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import config


@contextmanager
def indices_as_they_are() -> Iterator[None]:
    """Compile kernels for a GPU, meanwhile, without looking whether an index is below zero."""
    try:
        from numba.cuda.np import arrayobj

        asked = arrayobj.fix_integer_index
    except (ImportError, AttributeError):  # other releases have it elsewhere: the same numbers, later
        asked = None
    if asked is None or config.ENABLE_CUDASIM:
        yield
        return

    def as_it_is(context, builder, kind, index, size):
        return context.cast(builder, index, kind, arrayobj.types.intp)

    arrayobj.fix_integer_index = as_it_is
    try:
        yield
    finally:
        arrayobj.fix_integer_index = asked
