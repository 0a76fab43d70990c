"""How far ahead pieces are handed out: enough to keep workers busy, and so few that results do not pile up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from .halt import Halt

GLANCE = 0.1  # seconds between two looks for Ctrl-C
LEAD = 8  # windows by which the newest piece may be ahead of the oldest one under way


class Ahead:
    """Which piece may be handed out next, with `window` pieces under way at most."""

    def __init__(self, pieces: Iterable[tuple[int, int]]):
        self.left = deque(enumerate(pieces))
        self.running: dict[Any, int] = {}  # whatever stands for a piece under way, and its number

    def hand_out(self, submit: Callable, window: int, key: Callable = lambda future: future) -> Iterator[Any]:
        """Submit what may be submitted now."""
        while self.left and len(self.running) < window:
            number, piece = self.left[0]
            if number - min(self.running.values(), default=number) >= LEAD * window:
                return  # those that sum up in order wait for a slow piece; they should not hold all that came after it
            self.left.popleft()
            future = submit(piece)
            self.running[key(future)] = number
            yield future


def completed(
    submit: Callable[[tuple[int, int]], Future], pieces: Iterable[tuple[int, int]], window: int, halt: Halt, ends: bool
) -> Iterator[Any]:
    """Yield the results of pieces as they are finished; after Ctrl-C no more are begun.

    With `ends`, those under way see Ctrl-C themselves and are waited for; otherwise they are left alone.
    """
    ahead = Ahead(pieces)
    try:
        while ahead.running or (ahead.left and not halt.asked):
            if halt.asked:
                for future in [future for future in ahead.running if future.cancel()]:
                    del ahead.running[future]
            else:
                for _ in ahead.hand_out(submit, window):
                    pass
            try:
                done, _ = wait(ahead.running, timeout=GLANCE, return_when=FIRST_COMPLETED)
            except KeyboardInterrupt:  # of a signal that is not ours
                halt.ask()
                continue
            if halt.asked and not ends and not done:
                return
            for future in done:
                del ahead.running[future]
            for future in done:
                yield future.result()
    finally:
        for future in ahead.running:
            future.cancel()
