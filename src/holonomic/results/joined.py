"""One solution out of several runs of different plans, one going on where the other stopped.

States are kept as (q, v): what a formulation adds to them differs from part to part, and multipliers follow from the
state. Where two parts meet there is one row.
"""

from __future__ import annotations

import numpy as np

SUMS = (
    "steps", "rejected", "taken again for events", "failed attempts", "projection failures", "field evaluations", "residuals",
    "Jacobians", "factorizations", "pulls",
)  # fmt: skip


def join(parts):
    """Return the solution of all parts; it ends like the last one."""
    last = parts[-1]
    return last._of(
        _plan=last._plan.of_states(), _data=last._data, _events=last._events, _begin=last._begin, ended=last.ended,
        _start=parts[0]._start, _stop=_cut(last), _memory=last._memory, _noted=last._noted, _steps_kept=last._steps_kept,
        _parts=tuple(parts),
    )  # fmt: skip


def _size(part) -> int:
    return part._plan.model.nq + part._plan.model.nv


def _cut(part):
    """Where a part stands at its end, as (t, (q, v), (v', λ))."""
    t, x, k = part._final
    return t, x[: _size(part)], k


def arrays(parts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of all parts; the first row of a later part is the last one of the part before."""
    found = []
    for i, part in enumerate(parts):
        t, x, k = part._arrays
        skip = 1 if i and part._steps_kept else 0
        found.append((t[skip:], x[skip:, : _size(part)], k[skip:]))
    t, x, k = (np.concatenate(rows) for rows in zip(*found, strict=True))
    return t, x, k


def states(parts, times: np.ndarray, forward: float) -> tuple[np.ndarray, np.ndarray]:
    """(q, v) and (v', λ) at times in the order of the run, each from the part that covers it."""
    starts = np.array([part._start[0] for part in parts[1:]])
    owner = np.searchsorted(starts * forward, times * forward, side="right")
    size = _size(parts[0])
    xs, ks = np.empty((len(times), size)), np.empty((len(times), parts[0]._final[2].shape[0]))
    for index in np.unique(owner):
        here = owner == index
        found = parts[index](times[here])
        xs[here], ks[here] = found._arrays[1][:, :size], found._arrays[2]
    return xs, ks


def stats(parts) -> dict:
    """Counters of all parts together."""
    each = [part.stats for part in parts]
    total = {name: sum(found[name] for found in each) for name in SUMS}
    total["smallest pivot ratio"] = min(found["smallest pivot ratio"] for found in each)
    total["stiff"] = any(found["stiff"] for found in each)
    return each[-1] | total
