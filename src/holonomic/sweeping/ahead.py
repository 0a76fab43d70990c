"""How far ahead pieces are handed out: enough to keep workers busy, and so few that results do not pile up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

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


def completed(submit: Callable[[tuple[int, int]], Future], pieces: Iterable[tuple[int, int]], window: int) -> Iterator[Any]:
    """Yield the results of pieces as they are finished."""
    ahead = Ahead(pieces)
    try:
        while ahead.left or ahead.running:
            for _ in ahead.hand_out(submit, window):
                pass
            done, _ = wait(ahead.running, return_when=FIRST_COMPLETED)
            for future in done:
                del ahead.running[future]
            for future in done:
                yield future.result()
    finally:  # Ctrl-C: those that run go on to their end, the others are not begun
        for future in ahead.running:
            future.cancel()
