"""Ctrl-C in a sweep: members that are finished are kept, those under way end within the second, the others do not begin.

A press is written down where compiled loops and threads see it, and nothing is thrown: what a chunk has finished comes back
with it. A second press ends the sweep at once, as Python does by itself.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator

import numpy as np

from ..running.progress import Progress

INTERRUPTED = "not finished: the sweep was interrupted"


class Halt:
    """Whether a sweep is to end; the same for all its threads."""

    def __init__(self):
        self.flag = np.zeros(1, dtype=np.int64)  # read by `run_members`

    def __getstate__(self) -> dict:
        return {}  # another process is not reached from here

    def __setstate__(self, state: dict) -> None:
        self.__init__()

    @property
    def asked(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return bool(self.flag[0])

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
