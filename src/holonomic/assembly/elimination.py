"""Room that is used again."""

from __future__ import annotations


class Freed:
    """Room that is used again by what is as large."""

    def __init__(self):
        self.end, self._of_size = 0, {}

    def take(self, size: int) -> int:
        """Return the place of some room."""
        known = self._of_size.get(size)
        if known:
            return known.pop()
        self.end += size
        return self.end - size

    def give_back(self, at: int, size: int) -> None:
        """Let others have it."""
        self._of_size.setdefault(size, []).append(at)
