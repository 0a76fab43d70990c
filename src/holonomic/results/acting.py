"""What acts in a run, as a file holds it: reactions row by row, the impact at its start, and the parts of a mechanism.

Without the model these cannot be computed again, so they are written: as arrays over time, with plain data that tell
them apart. A mechanism decides by itself what a file holds of it (`multibody/saved_parts.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..entries import entry
from ..kernels.signatures import Fn
from ..starting.impulse import Impact, as_array
from .sampling import multipliers, values_along
from .tables import Variables

MOST = 2_000_000  # rows times times whose reactions are written: a few seconds of a small system, 16 MB a pair and million


def entries(sol) -> tuple[dict[str, Any], Variables]:
    """Return what a file holds of a run's parts: plain data, and variables."""
    said: dict[str, Any] = {}
    if sol.trail.mechanism is not None:
        said["mechanism"], arrays = sol.trail.mechanism.entries(sol)
    elif sol.plan.model.is_ode:
        arrays = {}
    else:
        said["pairs"], rows = row_reactions(sol)
        arrays = {"rows": rows} if rows.size else {}
    found: Variables = {
        f"acting_{name.replace(' ', '_')}": (("time", f"acting_{name.replace(' ', '_')}_number"), values, f"acting: {name}")
        for name, values in arrays.items()
    }
    said["acting"] = list(arrays)
    if sol.trail.impact is not None:
        said["impact"] = [sol.trail.impact.q.tolist(), as_array(sol.trail.impact.by_row).tolist()]
    return said, found


@dataclass(frozen=True)
class Acting:
    """What acts in a loaded run; fields as in `Trail`."""

    mechanism: Any
    kept: dict[str, np.ndarray]
    pairs: np.ndarray | None
    impact: Impact | None


def restored(known: dict[str, Any], arrays: dict[str, np.ndarray]) -> Acting:
    """Return what comes from `entries`."""
    mechanism = None
    if "mechanism" in known:
        mechanism = entry("parts of a loaded run: mechanism")(known["mechanism"])
    impact = known.get("impact")
    pairs = known["mechanism"]["pairs"] if mechanism is not None else known.get("pairs")
    nv = known["labels"]["nv"]
    return Acting(
        mechanism,
        kept={name: np.array(arrays[f"acting_{name.replace(' ', '_')}"]) for name in known.get("acting", ())},
        pairs=None if pairs is None else np.array(pairs, dtype=int).reshape(-1, 2),
        impact=None if impact is None else Impact(np.array(impact[0]), np.array(impact[1], dtype=float).reshape(-1, nv)),
    )


def row_reactions(sol) -> tuple[list[list[int]] | None, np.ndarray]:
    """-Gᵀλ row by row: pairs (row, velocity) that are not zero throughout, and their values, (time, pair).

    Nothing of a run that is too large for it: then reactions of single constraints need the model.
    """
    if sol.trail.data is None:
        pairs, nothing = sol.trail.pairs, np.zeros((len(sol.trail.arrays[0]), 0))
        return None if pairs is None else pairs.tolist(), sol.trail.kept.get("rows", nothing)
    lam = multipliers(sol)
    if lam.size > MOST:
        return None, np.zeros((len(lam), 0))
    pairs, values = [], []
    for row in range(lam.shape[1]):
        alone = np.zeros_like(lam)
        alone[:, row] = lam[:, row]
        forces = values_along(sol, Fn.REACTIONS, alone)
        for column in np.flatnonzero(np.any(forces, axis=0)):
            pairs.append([row, int(column)])
            values.append(forces[:, column])
    return pairs, np.stack(values, axis=1) if values else np.zeros((len(lam), 0))


def kept_reaction(sol, rows: list[int]) -> np.ndarray:
    """-Gᵀλ of some rows of a loaded run, (time, nv)."""
    found = np.zeros((len(sol.trail.arrays[0]), sol.plan.model.nv))
    for i, (row, column) in enumerate(sol.trail.pairs):
        if row in rows:
            found[:, column] += sol.trail.kept["rows"][:, i]
    return found
