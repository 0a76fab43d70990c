"""One solution out of several runs of different plans, one going on where the other stopped.

States are kept as (q, v): what a formulation adds to them differs from part to part, and multipliers follow from the
state. Where two parts meet there is one row.
"""

from __future__ import annotations

import numpy as np

from .trail import Trail, size_of

SUMS = (
    "steps", "rejected", "taken again for events", "failed attempts", "projection failures", "field evaluations", "residuals",
    "Jacobians", "factorizations", "pulls",
)  # fmt: skip


def join(parts):
    """Return the solution of all parts; it ends like the last one."""
    last, own = parts[-1], parts[-1].trail
    t, x, k = own.final
    trail = Trail(
        own.plan.of_states(), own.data, own.steps_kept, own.begin, own.events, own.memory, own.noted,
        start=parts[0].trail.start, stop=(t, x[: size_of(last)], k), parts=tuple(parts), impacts=own.impacts,
    )  # fmt: skip
    return type(last)(trail, last.ended)


def states(parts, times: np.ndarray, forward: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) and (v', λ) at times in the order of the run, each from the part that covers it."""
    starts = np.array([part.trail.start[0] for part in parts[1:]])
    owner = np.searchsorted(starts * forward, times * forward, side="right")
    size = size_of(parts[0])
    xs, ks = np.empty((len(times), size)), np.empty((len(times), parts[0].trail.final[2].shape[0]))
    for index in np.unique(owner):
        here = owner == index
        found = parts[index](times[here])
        xs[here], ks[here] = found.trail.arrays[1][:, :size], found.trail.arrays[2]
    return xs, ks


def stats(parts) -> dict:
    """Counters of all parts together."""
    each = [part.stats for part in parts]
    total = {name: sum(found[name] for found in each) for name in SUMS}
    total["smallest pivot ratio"] = min(found["smallest pivot ratio"] for found in each)
    total["stiff"] = any(found["stiff"] for found in each)
    return each[-1] | total
