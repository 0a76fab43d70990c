"""What is measured of one solution: drift by level, energy, and the error against a known state."""

from __future__ import annotations

import numpy as np

from ..kernels.signatures import Fn


def drift(sol) -> dict[str, np.ndarray]:
    """Return what the constraints leave, by level: arrays (time, row). Invariants are counted as positions."""
    rows = len(sol.t)
    levels = {"position": [name for name in sol.drift if name != "velocity"], "velocity": ["velocity"]}
    return {
        level: np.hstack([sol.drift[name].reshape(rows, -1) for name in names])
        for level, names in levels.items()
        if any(name in sol.drift for name in names)
    }


def largest_drift(sol) -> dict[str, float]:
    """Return the largest |residual| of a solution by level; NaN where one is not a number."""
    return {level: float(np.max(np.abs(rows), initial=0.0)) for level, rows in drift(sol).items()}


def energy(sol, t, q, v) -> float:
    """Return the total energy of a state of this solution's system."""
    return float(sum(sol.plan.model.evaluate(Fn.ENERGY, t, np.concatenate([q, v]), np.zeros(0), sol.trail.data)))


def relative_error(x, known) -> float:
    """Return the largest |x - known| / max(1, |known|); infinite where x is not a number."""
    x, known = np.asarray(x, dtype=float), np.asarray(known, dtype=float)
    if not x.size:
        return np.nan
    error = float(np.max(np.abs(x - known) / np.maximum(1.0, np.abs(known))))
    return error if np.isfinite(error) else np.inf
