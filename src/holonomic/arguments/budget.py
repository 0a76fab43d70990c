"""What a call may use before it stops: wall time, memory for what it keeps, and the patience of whoever asked for it.

Runs look at it about every 50 ms, between two stretches of the compiled loop; sweeps every 100 ms. What is over ends the call
with an error that carries everything computed until then.
"""

from __future__ import annotations

import time
from typing import Any, Protocol, runtime_checkable

from ..errors import BadArgument, LimitReached
from ..model.given_numbers import positive


@runtime_checkable
class Cancelling(Protocol):
    """What can be given as cancel=: an Event of threading, of multiprocessing, or an object like them."""

    def is_set(self) -> bool:
        """Tell whether the run is to stop."""
        ...


class Budget:
    """What is left of max_time= and max_memory=, and whether cancel= was set; the clock starts when it is made."""

    def __init__(self, max_time: float | None, max_memory: float | None, cancel: Cancelling | None):
        self.max_time, self.max_memory, self.cancel = max_time, max_memory, cancel
        self.began = time.perf_counter()

    @property
    def time_left(self) -> float | None:
        """Seconds of max_time that are left, at least a little; None without a limit."""
        return None if self.max_time is None else max(self.began + self.max_time - time.perf_counter(), 1e-9)

    def over(self, held: int) -> str | None:
        """Say what is used up, "time" or "memory", or that the call was "cancelled"; None: go on.

        `held` is what the results so far take, bytes.
        """
        if self.cancel is not None and self.cancel.is_set():
            return "cancelled"
        if self.max_time is not None and time.perf_counter() - self.began >= self.max_time:
            return "time"
        return "memory" if self.max_memory is not None and held > self.max_memory else None

    def refuse(self, needed: float, what: str, remedy: str) -> None:
        """Refuse to begin with what is known to take more than max_memory, bytes."""
        if self.max_memory is not None and needed > self.max_memory:
            raise LimitReached(f"{what} {in_bytes(needed)}, more than max_memory = {in_bytes(self.max_memory)}. {remedy}")


def budget_of(max_time, max_memory, cancel: Any) -> Budget | None:
    """Read the three arguments; None where all are left out."""
    if max_time is None and max_memory is None and cancel is None:
        return None
    if max_time is not None:
        max_time = positive(max_time, "max_time")
    if max_memory is not None:
        max_memory = positive(max_memory, "max_memory")
    if cancel is not None and (isinstance(cancel, type) or not isinstance(cancel, Cancelling)):
        raise BadArgument(f"cancel={cancel!r}: give an object with is_set(), for example threading.Event().")
    return Budget(max_time, max_memory, cancel)


def in_bytes(amount: float) -> str:
    """A number of bytes as people read it."""
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
