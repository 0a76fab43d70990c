"""Impacts: velocities made consistent by impulses of the constraints.

    M (v⁺ - v) + GᵀΛ = 0,  G v⁺ + g_t = 0

the mass metric, because what a constraint can give at an instant is -GᵀΛ. An event that maps the state and a run that
begins with initial="impact" both go through here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InconsistentState
from ..kernels.signatures import Fn
from ..model.model_base import Variant
from .rank import terms

OFF = 1e-8  # how far off the constraints an impact may find the position: where an event was located, not where it is typed
RANK = 1e-12  # of the scaled saddle-point matrix, and of the rows in the mass metric
LEFT = 1e-9  # of the velocity, that may be left of the rows


@dataclass(frozen=True)
class Impact:
    """What happened at an impact: where, and the impulse of every row on the velocities."""

    q: np.ndarray
    by_row: Any  # (row, nv): -GᵀΛ of each row alone; an array, or a sparse one where G is

    @property
    def impulses(self) -> np.ndarray:
        """-GᵀΛ of all rows, (nv,)."""
        return self.by_row.sum(axis=0)


def as_array(by_row) -> np.ndarray:
    """Impulses row by row with their zeros."""
    return by_row if isinstance(by_row, np.ndarray) else by_row.toarray()


def impulse(model, t: float, q, v, missing, data, kept=None) -> tuple[np.ndarray, Impact]:
    """Return the velocity after an impact and the impulses, `missing` being G v + g_t before.

    Redundant rows share their impulse so that Λ is as short as can be, as multipliers do; where rows are dropped, those that
    are `kept` carry it.

    Raises
    ------
    InconsistentState
        No velocity meets all rows.
    """
    if not model.dense and model.system.along_mass is not None:
        return _by_operators(model, t, q, v, missing, data)
    M, _, G, _ = terms(model, t, q, v, data)
    # scaled to unit diagonal of M and unit rows of G, so that the rank test sees angles, not units
    diagonal = np.diag(M)
    by = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
    rows = 1.0 / np.maximum(np.linalg.norm(G * by, axis=1), 1e-300)
    scaled = G * by * rows[:, None]
    saddle = np.block([[M * np.outer(by, by), scaled.T], [scaled, np.zeros((len(G), len(G)))]])
    right = np.concatenate([np.zeros(model.nv), -missing * rows])
    solved = np.linalg.lstsq(saddle, right, rcond=RANK)[0]
    change, lam = by * solved[: model.nv], rows * solved[model.nv :]
    _check_left(model, t, v, np.abs(missing + G @ change) / np.maximum(np.linalg.norm(G, axis=1), 1e-300))
    if kept is not None:
        carried = np.zeros(len(G))
        carried[list(kept)] = np.linalg.lstsq(scaled[list(kept)].T, scaled.T @ (lam / rows), rcond=RANK)[0]
        return v + change, Impact(q, -G * (rows * carried)[:, None])
    return v + change, Impact(q, -G * _shortest(scaled, rows, lam)[:, None])


def _check_left(model, t: float, v, left: np.ndarray) -> None:
    """Refuse velocities that leave too much of a row, as a velocity."""
    if not np.max(left, initial=0.0) <= LEFT * max(1.0, float(np.linalg.norm(v))):
        worst = model.row_labels[int(np.argmax(left))]
        raise InconsistentState(
            f"no impulse meets the velocity level of constraint {worst!r} at t = {t:.6g}. Check how it depends on t, and "
            "whether rows that repeat each other ask for different velocities."
        )


def _by_operators(model, t: float, q, v, missing, data) -> tuple[np.ndarray, Impact]:
    """The same by moves onto the rows in the metric of masses; where rows repeat others, these give the smallest Λ."""
    nothing = np.zeros(0)
    metric, mass_at = model.system.along_mass
    by_mass = Variant(metric=metric, mass_at=mass_at)
    F = model.evaluate(Fn.VEL_FACTOR, t, np.concatenate([q, v]), nothing, data, by_mass)
    change = -model.evaluate(Fn.VEL_SOLVE, t, F, missing, data, by_mass)
    lam = model.evaluate(Fn.VEL_INVERSE, t, F, missing, data, by_mass)
    after = model.evaluate(Fn.RESIDUAL, t, np.concatenate([q, v + change]), nothing, data)[-len(missing) :]
    _check_left(model, t, v, np.abs(after) * F[1 : 1 + len(missing)])
    G = model.system.sparse_rows(t, np.concatenate([q, v]), data)
    return v + change, Impact(q, (G * -lam[:, None]).tocsr())


def _shortest(scaled: np.ndarray, rows: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """Λ without what has no effect: the part along which rows repeat each other."""
    left, sizes, _ = np.linalg.svd(scaled)
    rank = int(np.sum(sizes > RANK * np.max(sizes, initial=0.0)))
    if rank == len(lam):
        return lam
    without_effect, _ = np.linalg.qr(rows[:, None] * left[:, rank:])
    return lam - without_effect @ (without_effect.T @ lam)
