"""Samples: what a controller saw and answered, look by look."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .naming import unknown


@dataclass(frozen=True)
class Samples:
    """The looks of a controller in a run, one row each.

    Attributes
    ----------
    t : numpy.ndarray
        Times of the looks, s.
    u : numpy.ndarray
        Answers: one number a look; with several inputs, a column for each, in the order of `inputs`. Of a sweep, member first.
    applied : numpy.ndarray
        Times at which they took effect, s.
    inputs : tuple of str
        What it sets.
    state : numpy.ndarray or None
        Its own state after each look.
    seen : dict or None
        What the law measured, noise included, by the names of its arguments; None of a sweep.
    """

    t: np.ndarray
    u: np.ndarray
    applied: np.ndarray
    inputs: tuple[str, ...]
    state: np.ndarray | None = None
    seen: dict[str, np.ndarray] | None = None


class ControlLogs(dict):
    """Samples by the name of the controller; a name that is not there is answered with those that are."""

    def __getitem__(self, name: str) -> Samples:
        if not isinstance(name, str) or name not in self:
            raise unknown(name, "controller", {"controllers": list(self)} if self else {})
        return super().__getitem__(name)
