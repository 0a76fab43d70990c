"""Inputs given as tables: linear between their times, so that each stretch between two breaks is smooth."""

from __future__ import annotations

import numpy as np

from .freeze import input_table


class InputTables:
    """The tabulated and constant inputs of a model, and their entries (value, slope, time) in data."""

    def __init__(self, model):
        self.at = model.data_places["inputs"].start if model.inputs else 0
        self.tables: list[tuple[int, np.ndarray, np.ndarray]] = []
        breaks: set[float] = set()
        for i, (name, given) in enumerate(model.inputs.items()):
            if callable(given):
                continue
            times, values = input_table(name, given)
            if len(times) > 1:
                breaks.update(times.tolist())
            self.tables.append((i, times, values))
        self.breaks = np.array(sorted(breaks))

    def set(self, data: np.ndarray, t: float, direction: float) -> None:
        """Enter the piece of every table that begins at t."""
        for i, times, values in self.tables:
            at = self.at + 3 * i
            side = "right" if direction > 0 else "left"
            k = int(np.searchsorted(times, t, side=side))
            if k == 0 or k == len(times):
                data[at : at + 3] = (values[0] if k == 0 else values[-1], 0.0, t)
            else:
                slope = (values[k] - values[k - 1]) / (times[k] - times[k - 1])
                data[at : at + 3] = (values[k - 1], slope, times[k - 1])

    def next_break(self, t: float, t_end: float) -> float:
        """Return where the piece that begins at t ends."""
        if not len(self.breaks):
            return t_end
        if t_end >= t:
            later = self.breaks[self.breaks > t]
            return float(min(later[0], t_end)) if len(later) else t_end
        earlier = self.breaks[self.breaks < t]
        return float(max(earlier[-1], t_end)) if len(earlier) else t_end
