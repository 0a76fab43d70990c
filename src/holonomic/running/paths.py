"""What a run knows of singular positions: whether its methods pass them, and the paths it has followed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.memory import PASSING, STEPPING
from ..passage.path import COUNT, KEPT, LENGTH, NUMBERS, SERIES, T0, USED, path_slope, path_state


@dataclass(frozen=True)
class Path:
    """A polynomial that passes a singular position, see `passage.path`."""

    rows: np.ndarray
    size: int

    @property
    def t(self) -> float:
        """Where it begins."""
        return float(self.rows[NUMBERS, T0])

    @property
    def h(self) -> float:
        """How long it is."""
        return float(self.rows[NUMBERS, LENGTH])

    @property
    def used(self) -> float:
        """θ up to which a run has followed it."""
        return float(self.rows[NUMBERS, USED])

    def state(self, theta: float) -> np.ndarray:
        """State at t + θ h, not projected."""
        x = np.empty(self.size)
        path_state(self.rows, theta, self.size, x)
        return x

    def slope(self, theta: float) -> np.ndarray:
        """Slope at t + θ h."""
        row = np.empty((1, self.size))
        path_slope(self.rows, theta, self.size, row, 0)
        return row[0]


class Passages:
    """The paths of a run over singular positions."""

    def __init__(self, run):
        self.run = run
        self._size = run.plan.model.nq + run.plan.model.nv
        self._paths: list[Path] = []

    @property
    def paths(self) -> list[Path]:
        """All paths so far; the last one may not have been followed to its end."""
        return self._paths + ([self._copied(self.run.work.loop.passing.path)] if self.run.memory.guided else [])

    @property
    def finished(self) -> list[Path]:
        """Those that have been left."""
        return self._paths

    def recall(self, paths: list[Path]) -> None:
        """Take over those that have been left."""
        self._paths = paths

    def collect(self) -> None:
        """Take the paths that the loop has written down."""
        memory, kept = self.run.memory, self.run.work.loop.passing.kept
        for i in range(memory.paths):
            self._paths.append(self._copied(kept[i * KEPT :]))
        memory.paths = 0

    def leave(self) -> None:
        """Leave the path: the state or the field has changed."""
        memory = self.run.memory
        self._paths = self.paths
        memory.guided = memory.alarm = 0
        if memory.phase == PASSING:
            memory.phase = STEPPING

    def _copied(self, rows: np.ndarray) -> Path:
        count = SERIES + int(rows[NUMBERS, COUNT])
        return Path(rows[:count].copy(), self._size)
