"""Events of an exported run: which end it, and what it remembers of them."""

from __future__ import annotations

import numpy as np

from ..loop.after_events import ENDS, MANY_IMPACTS, MAPS, TOLD, WAIT, Impacts

LOGGED = 64  # events of one call that are told with their times; more are counted


def impacts_of(events: dict, t0: float, nx: int, first_map: int, several: bool) -> Impacts:
    """Return what a run remembers of its events, at its start."""
    n = len(events)
    kinds = [ENDS if each.terminal else TOLD if each.then is None else MAPS for each in events.values()]
    waits = np.zeros((n, WAIT + MANY_IMPACTS))
    waits[:, 0] = t0
    logged = LOGGED if n else 0
    return Impacts(
        np.array(kinds, dtype=np.int64), np.zeros(n, np.int64), waits, np.zeros(logged), np.zeros(logged, np.int64),
        np.zeros(1 + n, np.int64), np.zeros(nx + 2), np.array([first_map, several], dtype=np.int64),
    )  # fmt: skip
