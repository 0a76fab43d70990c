"""Python's collector of cycles, told to wait while a large mechanism is read.

Reading makes some hundred objects a body and throws none in cycles away, and the collector looks through all of them again and
again: a third of the time at 10 000 bodies.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager


@contextmanager
def collector_paused():
    """Let the collector wait; it goes on behind, if it was on."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
