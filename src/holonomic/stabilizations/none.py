"""No stabilization: the state drifts off its constraints at the order of the integrator."""

from __future__ import annotations

import numpy as np

from .base import Lowered, Stabilization, no_pull, no_tangent


class Unstabilized(Stabilization):
    """Nothing; what `stabilization=None` means."""

    acts = "none"
    levels = ()
    drift_order = "p; p"

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        return Lowered(no_pull, no_tangent)

    def __repr__(self) -> str:
        return "None"
