"""A loaded run at other times than the saved ones: there is no model to take steps with, so it is interpolated."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .sampling import check_times

if TYPE_CHECKING:
    from .solution import Solution


def between(sol: Solution, wanted) -> Solution:
    """Return a loaded run at other times: cubic Hermite on (q, q') and (v, v'), jumps kept.

    A row at which a switch changed has the slope behind it: states before are quadratic, by the slope that they begin with.
    Everything else is cubic with slopes from neighbouring times; at saved times it is what was saved.
    """
    t, x, k = sol.trail.arrays
    times = check_times(wanted, float(t[0]), float(t[-1]))
    forward = 1.0 if t[-1] >= t[0] else -1.0
    rows = np.searchsorted(t * forward, times * forward, side="right") - 1
    known = t[rows] == times
    left = np.where(known, 0, rows)
    h = np.where(known, 1.0, t[np.minimum(left + 1, len(t) - 1)] - t[left])
    theta = (times - t[left]) / h

    def cubic(values: np.ndarray, slopes: np.ndarray, bends: np.ndarray | None = None) -> np.ndarray:
        shape = (-1,) + (1,) * (values.ndim - 1)
        s, width = theta.reshape(shape), h.reshape(shape)
        right = np.minimum(left + 1, len(t) - 1)
        rise = s * s * (3 - 2 * s)
        inside = values[left] + rise * (values[right] - values[left])
        ends = slopes[right]
        if bends is not None:
            ends = np.where(bends[right].reshape(shape), 2.0 * (values[right] - values[left]) / width - slopes[left], ends)
        inside = inside + width * s * (1 - s) * ((1 - s) * slopes[left] - s * ends)
        return np.where(known.reshape(shape), values[rows], inside)

    def smooth(values: np.ndarray) -> np.ndarray:
        return cubic(values, _slopes_between_jumps(t, values))

    nq, nv = sol.plan.model.nq, sol.plan.model.nv
    rates = x[:, nq:] if sol.trail.slopes is None else sol.trail.slopes
    bends = np.isin(t, [when for log in sol.switches.values() for when in (*log.t, *log.along)])
    states = np.hstack([cubic(x[:, :nq], rates, None if nv else bends), cubic(x[:, nq:], k[:, :nv], bends)])
    there = sol.at_rows(times, states, smooth(k), single=np.ndim(wanted) == 0)
    hold_beside_states(there, sol, sol, lambda values, _: smooth(values))
    return there


def hold_beside_states(target: Solution, first: Solution, second: Solution, join) -> None:
    """Enter what a loaded solution holds besides states: join(array of the first, array of the second)."""
    one, other, known = first.trail.known, second.trail.known, target.trail.known
    for name in ("multipliers", "reactions", "energies", "residuals", "settled"):
        known[name] = join(one[name], other[name])
    for name in ("outputs", "drawn"):
        known[name] = {key: join(values, other[name][key]) for key, values in one[name].items()}
    for name in ("facts", "stats", "events"):
        known[name] = one[name]
    target.trail.kept = {name: join(values, second.trail.kept[name]) for name, values in first.trail.kept.items()}
    target.trail.pairs = first.trail.pairs
    solved = first.trail.unknowns
    target.trail.unknowns = solved and {name: join(values, second.trail.unknowns[name]) for name, values in solved.items()}


def _slopes_between_jumps(t: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Differences of second order over each stretch between times that were recorded twice."""
    slopes = np.zeros_like(values)
    cuts = [0, *(np.flatnonzero(np.diff(t) == 0) + 1).tolist(), len(t)]
    for first, last in pairwise(cuts):
        if last - first >= 2:
            order = 2 if last - first >= 3 else 1
            slopes[first:last] = np.gradient(values[first:last], t[first:last], axis=0, edge_order=order)
    return slopes
