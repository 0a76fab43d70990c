"""A state moved onto the constraints, and the field there, asked from Python."""

from __future__ import annotations

import numpy as np

from ..errors import OK
from ..kernels.memory import RUN
from ..kernels.settle import pull_and_settle
from ..loop.from_python import field_at, pull_compiled
from ..native.callbacks import raise_what_was_raised
from ..stabilizations.projection import tightened


class OntoConstraints:
    """The constraints and the field on them, for a plan with a projection."""

    def __init__(self, plan, data: np.ndarray, W: np.ndarray):
        self.plan, self.data, self.W = plan, data, W
        self.K = np.zeros((1, max(plan.size.nrow, 8)))
        self.rho = 1.0
        self.size = plan.model.nq + plan.model.nv
        self.run = RUN.new()
        self.sp = tightened(plan.stabilization.sp)

    def settle(self, t: float, x: np.ndarray) -> int:
        """Move x onto the constraints and evaluate the field there; return a status."""
        plan = self.plan
        with np.errstate(all="ignore"):
            pull = pull_and_settle if plan.model.interpreted else pull_compiled
            status = pull(plan.slots, plan.for_kernels(self.data), self.sp, self.run, t, x, self.W)
        raise_what_was_raised()
        self.rho = float(self.W[self.plan.size.at_velocity])  # of G Gᵀ: of the geometry alone, whatever the masses
        return status if status != OK else self.evaluate(t, x)

    def evaluate(self, t: float, x: np.ndarray) -> int:
        """Evaluate the field at x; return a status."""
        status = field_at(self.plan, self.run, t, x, self.data, self.K, 0, self.W)
        raise_what_was_raised()
        return status

    @property
    def row(self) -> np.ndarray:
        """(q', v', λ, ρ) at the last point."""
        return self.K[0, : self.plan.size.nrow]
