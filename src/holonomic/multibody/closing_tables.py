"""Closing the joints of a large mechanism by its tables: no matrix of all joints and bodies is made.

The same shortest steps as in `assemble`, lengths counted as they are and rotations times the size of the body, by the moves that
runs take onto their constraints.
"""

from __future__ import annotations

import numpy as np

from ..errors import InconsistentState
from ..kernels.signatures import Fn
from ..model.extra_states import Extras
from ..planning.reuse import model_of
from ..starting.by_operators import NEARBY, SPREAD, Look
from .assemble import Kinematics

STEPS = 40


class TableKinematics:
    """Rows of all joints and drives of a mechanism, by its tables, as a run begins: `of` are the kinematics that say when."""

    def __init__(self, m, q: np.ndarray, of: Kinematics):
        self.t, self.side = of.t, of.side
        self.system = m.tables_at(q, t=of.t)
        self.rest = np.zeros(self.system.n_velocities)
        states = m.states.values()
        self.states = np.concatenate([np.zeros(0), *(state.start for state in states)])
        extras = Extras(tuple((state.name, len(state.start)) for state in states))
        self.model = model_of(self.system, self._whole(q), self.rest, self.t, extras)
        self.data = self.model.data()
        rows = self.system.resolver.layout
        self.names, self.starts = rows.names(), rows.starts()

    def _whole(self, q: np.ndarray) -> np.ndarray:
        """Coordinates, and behind them states as they begin."""
        return np.concatenate([q, self.states]) if len(self.states) else q

    def gaps(self, q: np.ndarray, most: float = -1.0) -> dict[str, float]:
        """How far each joint or drive is open, of those that are open by more than `most`."""
        left = self.model.evaluate(Fn.RESIDUAL, self.t, np.concatenate([self._whole(q), self.rest]), np.zeros(0), self.data)
        n = self.model.n_constraints
        starts = self.starts[self.starts < n]  # those at position level come first
        if not len(starts):
            return {}
        gaps = np.sqrt(np.add.reduceat(left[:n] ** 2, starts))
        return {self.names[k]: float(gaps[k]) for k in np.flatnonzero(gaps > most).tolist()}

    def closed(self, q: np.ndarray, closed: float, size: float) -> np.ndarray:
        """A position near this one whose joints are open by no more than `closed`; `size` is that of the mechanism."""
        found, q = self.nearest(q, closed, size, STEPS)
        if found:
            return q
        gaps = self.gaps(q)
        worst = max(gaps, key=gaps.__getitem__)
        raise InconsistentState(
            f"the joints cannot be closed: {STEPS} Newton steps leave joint {worst!r} open by {gaps[worst]:.2g}. Check the "
            "lengths, or start nearer to a closed position with near=."
        )

    def nearest(self, q: np.ndarray, closed: float, size: float, steps: int) -> tuple[bool, np.ndarray]:
        """Whether Newton's method, shortest steps, closes the joints in so many of them; and where it comes to."""
        before, kept = np.inf, None
        for _ in range(steps):
            here = Look(self.model, self.t, self._whole(q), self.rest, self.data, kept)
            kept = here.kept
            distance = float(np.max(here.far, initial=0.0))
            if distance <= closed or (distance <= 1e-9 * size and distance >= 0.5 * before):
                return True, q
            before = distance
            step = here.way_back(here.position)[: len(q)]
            q = q - step * min(1.0, 0.3 * size / max(float(np.max(np.abs(step))), 1e-300))
        return False, q

    def redundant(self, q: np.ndarray) -> int:
        """How many rows repeat others, wherever the mechanism stands: fewer than do so here, where this is a singular position."""
        known, random = self.system.rank, np.random.default_rng(11)
        Look(self.model, self.t, q, self.rest, self.data)
        here = self.system.rank[0]
        if here <= 0:
            return 0
        near, kept = q + SPREAD * random.uniform(-1, 1, len(q)) * (1.0 + np.abs(q)), None
        for _ in range(STEPS):
            look = Look(self.model, self.t, near, self.rest, self.data, kept)
            kept = look.kept
            if np.max(look.far, initial=0.0) <= NEARBY:
                break
            near = near - look.way_back(look.position)
        self.system.set_rank(-1, -1)
        Look(self.model, self.t, near, self.rest, self.data)
        nearby = max(0, self.system.rank[0])
        self.system.set_rank(*known)
        return min(here, nearby)

    def repeating(self, count: int) -> dict[str, int]:
        """As many rows as repeat others, by joint or drive, such that all others are independent; none where that is unknown."""
        known = self.system.rank
        self.system.set_rank(count, known[1])
        gone = self.system.repeating
        self.system.set_rank(*known)
        if gone is None or gone.sum() != count:
            return {}
        order = np.argsort(self.starts, kind="stable")
        parts = order[np.searchsorted(self.starts[order], np.flatnonzero(gone), side="right") - 1]
        return {self.names[k]: int(np.sum(parts == k)) for k in np.unique(parts).tolist()}

    def velocities(self, q: np.ndarray) -> np.ndarray:
        """The smallest velocities that meet the drives."""
        n = self.model.n_lam
        if n == 0:
            return self.rest
        look = Look(self.model, self.t, self._whole(q), self.rest, self.data, side=self.side)
        return -look.slower() if np.any(look.velocity) else self.rest
