"""Python's collector of cycles, told to wait while very many objects are made.

Reading a large mechanism makes some hundred objects a body and throws none in cycles away; nodes of an expression graph refer to
each other in circles. The collector looks through all of them again and again as more are made: a third of the time at 10 000
bodies, a third to a half of the time in which the functions of a delta robot are derived.
"""

from __future__ import annotations

import contextlib
import gc
import threading

_lock = threading.Lock()
_inside = 0  # how many are going on, in all threads
_was_on = False


class collector_paused(contextlib.ContextDecorator):
    """Let the collector wait; it goes on behind the last one that asked for that, if it was on."""

    def __enter__(self):
        global _inside, _was_on
        with _lock:
            if _inside == 0:
                _was_on = gc.isenabled()
                gc.disable()
            _inside += 1

    def __exit__(self, *problem):
        global _inside
        with _lock:
            _inside -= 1
            if _inside == 0 and _was_on:
                gc.enable()
