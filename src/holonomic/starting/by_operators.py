"""Consistent initial values of a model without dense terms: checked, or moved by its own operators.

VEL_FACTOR says how independent the rows are and how long, VEL_SOLVE is the shortest way back onto them; position rows have the
same Jacobian.
"""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument, InconsistentState, NotFinite, RedundantConstraints
from ..kernels.signatures import Fn
from .rank import RHO_FULL_RANK

STEPS = 30  # of Newton's method onto the positions
ENOUGH = 1e-2  # of what is allowed: what a projection leaves


class Look:
    """The rows at one state: what they leave, by how much that is off, and the shortest way back."""

    def __init__(self, model, t: float, q: np.ndarray, v: np.ndarray, data: np.ndarray):
        n, x, nothing = model.n_lam, np.concatenate([q, v]), np.zeros(0)
        left = model.evaluate(Fn.RESIDUAL, t, x, nothing, data)
        factors = model.evaluate(Fn.VEL_FACTOR, t, x, nothing, data)
        if not np.all(np.isfinite(left)):
            raise NotFinite(f"a constraint is not finite at the start, t = {t:g}, q = {np.array2string(q, threshold=8)}.")
        if not factors[0] > RHO_FULL_RANK:
            raise RedundantConstraints(
                f"at t = {t:g} the rows of {model.name} are dependent (smallest pivot ratio {factors[0]:.1e}), which it "
                "does not allow. Leave out rows that repeat others, or start elsewhere."
            )
        self.position, self.velocity = left[:n], left[n:]
        self.far, self.fast = np.abs(self.position) * factors[1 : 1 + n], np.abs(self.velocity) * factors[1 : 1 + n]
        self._back = lambda r: model.evaluate(Fn.VEL_SOLVE, t, factors, r, data)

    def way_back(self, left: np.ndarray) -> np.ndarray:
        """The shortest move that takes a residual away, to first order."""
        return self._back(left)


def consistent(model, t, q, v, data, tol: float, initial: str, hold) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and velocities on the constraints, or say why not."""
    if initial == "impact":
        raise BadArgument(f'initial="impact" needs the mass matrix, which {model.name} does not offer. Use initial="project".')
    if hold is not None:
        raise BadArgument(f"hold= needs the Jacobian of the constraints, which {model.name} does not offer. Leave it out.")
    most, fastest = tol * max(1.0, float(np.linalg.norm(q))), tol * max(1.0, float(np.linalg.norm(v)))
    here = Look(model, t, q, v, data)
    if initial == "project":
        q = _onto_positions(model, t, q, v, data, most)
        here = Look(model, t, q, v, data)
        return q, v - here.way_back(here.velocity)
    if not np.max(here.far, initial=0.0) <= most:
        worst, moved = int(np.argmax(here.far)), np.linalg.norm(here.way_back(here.position))
        raise InconsistentState(
            f"q0 misses constraint {model.row_labels[worst]!r} by {here.far[worst]:.1e} (allowed {most:.1e}). Correct q0, or "
            f'pass initial="project" to move q0 by about {moved:.1e}.'
        )
    if not np.max(here.fast, initial=0.0) <= fastest:
        worst, moved = int(np.argmax(here.fast)), np.linalg.norm(here.way_back(here.velocity))
        raise InconsistentState(
            f"v0 misses the velocity level of constraint {model.row_labels[worst]!r} by {here.fast[worst]:.1e} (allowed "
            f'{fastest:.1e}). Correct v0, or pass initial="project" to move v0 by about {moved:.1e}.'
        )
    return q, v


def _onto_positions(model, t, q, v, data, most: float) -> np.ndarray:
    """Newton's method along the shortest ways back."""
    for _ in range(STEPS):
        here = Look(model, t, q, v, data)
        if np.max(here.far, initial=0.0) <= ENOUGH * most:
            return q
        q = q - here.way_back(here.position)
    worst = int(np.argmax(here.far))
    raise InconsistentState(
        f"q0 cannot be moved onto the constraints ({STEPS} Newton steps leave {model.row_labels[worst]!r} at "
        f"{here.far[worst]:.1e}). Start closer."
    )
