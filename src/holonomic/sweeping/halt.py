"""Ctrl-C in a sweep, and what else ends it: members that are finished are kept, those under way end within the second, the
others do not begin.

A press is written down where compiled loops and threads see it, and nothing is thrown: what a chunk has finished comes back
with it. A second press ends the sweep at once, as Python does by itself. The same place tells that its budget is used up.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

import numpy as np

from ..arguments import Budget, in_bytes
from ..errors import Cancelled, HolonomicError, LimitReached
from ..running.progress import Progress

UNFINISHED = "not finished: the sweep was "


class Halt:
    """Whether a sweep is to end; the same for all its threads."""

    def __init__(self):
        self.flag = np.zeros(1, dtype=np.int64)  # read by `run_members`
        self.budget: Budget | None = None
        self.held = 0  # bytes that its results take
        self.over: str | None = None  # what of its budget is used up

    def __getstate__(self) -> dict:
        return {}  # another process is not reached from here

    def __setstate__(self, state: dict) -> None:
        self.__init__()

    @property
    def stopped(self) -> bool:
        """Whether the sweep was told to end."""
        return bool(self.flag[0])

    @property
    def asked(self) -> bool:
        """Whether the sweep is to end, by Ctrl-C or by its budget, at which this looks."""
        if self.budget is not None and not self.stopped:
            self.over = self.budget.over(self.held)
            if self.over is not None:
                self.ask()
        return self.stopped

    @property
    def how(self) -> str:
        """What ended the sweep, as the end of a sentence."""
        if self.budget is None or self.over is None:
            return "interrupted"
        limits = {
            "time": lambda budget: f"stopped by max_time = {budget.max_time:g} s",
            "memory": lambda budget: f"stopped by max_memory = {in_bytes(budget.max_memory)}",
        }
        return limits[self.over](self.budget) if self.over in limits else self.over

    def problem(self, done: int, count: int, path=None) -> HolonomicError:
        """Return the error for a budget that was used up after `done` of `count` runs; `path` is the store that has them."""
        budget, where = self.budget, f"after {done} of {count} runs"
        kept = "The members so far are in error.solution."
        if path is not None:
            kept = f"They are in {path}; call sweep again with resume=True to go on."
        if budget is None or self.over == "cancelled":
            return Cancelled(f"the sweep was cancelled {where}. {kept}")
        if self.over == "time":
            remedy = "" if path is not None else " Raise max_time, or give a store=, with which resume=True goes on."
            return LimitReached(f"max_time = {budget.max_time:g} s were used up {where}.{remedy} {kept}")
        return LimitReached(
            f"max_memory = {in_bytes(budget.max_memory or 0.0)} are used up {where}: results and events take "
            f"{in_bytes(self.held)}. Raise max_memory, or watch fewer events. {kept}"
        )

    def ask(self) -> None:
        """Ask everything that looks here to end."""
        self.flag[0] = 1

    @contextlib.contextmanager
    def listening(self, heard: bool) -> Iterator[None]:
        """Write down the first Ctrl-C, where that is `heard`; signals that somebody else has taken over are left to them."""
        ours = heard and threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return

        def press(number, frame):
            if self.asked:
                raise KeyboardInterrupt
            self.ask()

        signal.signal(signal.SIGINT, press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class HaltingProgress(Progress):
    """Ends a member that runs through Python when its sweep is to end; shows nothing."""

    def __init__(self, t0: float, t1: float, halt: Halt):
        super().__init__(t0, t1, False)
        self.halt = halt

    def tell(self, t: float) -> None:
        """Stop at t if the sweep is to end."""
        if self.halt.asked:
            raise KeyboardInterrupt

    def interrupted(self, t: float) -> None:
        """The sweep says it once for all members."""
