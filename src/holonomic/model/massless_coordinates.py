"""Coordinates without mass that constraints hold: a rope's end, a massless pin, a point on a light rod.

M is singular there, and the saddle-point matrix [M Gᵀ; G 0] is not, as long as no motion that the constraints leave free
is without mass. On G v' = -γ the equations of motion stay what they are if GᵀW(G v' + γ) = 0 is added to them:

    (M + GᵀWG) v' = f - GᵀWγ - Gᵀλ

has the same v' and the same λ whatever the weights W are, and M + GᵀWG is positive definite (the augmented Lagrangian
form; Benzi, Golub and Liesen, Acta Numerica 14 (2005), section 3.5). It is eliminated without pivoting as any M is. W is
zero but for the rows that hold a coordinate without mass. There it is the mass that such a row sees through the other
coordinates, 1/(G_k M⁻¹ G_kᵀ): larger weights would cost digits of M, smaller ones digits of what is added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .model_base import Held

if TYPE_CHECKING:
    from .symbolics import SX

LEAST_EIGENVALUE = 1e-12  # of M with unit diagonal: below, M counts as singular


def holding_weights(M: SX, G: SX, held: Held | None = None) -> SX | None:
    """W, a diagonal with one entry per row of G; None where every coordinate has mass, or no row holds one without.

    Coordinates without mass are those with nothing on the diagonal of M, and those that numbers show to have none.
    """
    from .symbolics import SX, diag, sparsify, vertcat

    diagonal = diag(sparsify(M))
    massless = {j for j in range(M.shape[0]) if diagonal[j].is_zero()} | set(held.coordinates if held else ())
    every = held is not None and held.all_rows
    holding = [k for k in range(G.shape[0]) if every or any(G.sparsity().has_nz(k, j) for j in massless)]
    if not holding:
        return None
    massive = [j for j in range(M.shape[0]) if j not in massless]
    # what coordinates without mass count for: enough that W has bounds where a row sees no others
    usual = sum((M[j, j] for j in massive), SX(0)) / len(massive) if massive else SX(1)
    weights = [SX(0)] * G.shape[0]
    for k in holding:
        seen = sum((G[k, j] * G[k, j] / (M[j, j] if j in massive else usual) for j in range(M.shape[0])), SX(0))
        weights[k] = 1 / seen
    return sparsify(diag(vertcat(*weights)))


def held_in(M: np.ndarray) -> Held | None:
    """Return what constraints have to hold where M is singular; None where M is positive definite, or its diagonal is negative."""
    some = np.diag(M) > 0.0
    if not np.all(np.isfinite(M)) or np.any(np.diag(M) < 0.0):
        return None
    by = 1.0 / np.sqrt(np.diag(M)[some])
    rest = not np.any(some) or np.linalg.eigvalsh(M[np.ix_(some, some)] * np.outer(by, by))[0] > LEAST_EIGENVALUE
    return None if rest and np.all(some) else Held(tuple(np.flatnonzero(~some).tolist()), all_rows=not rest)


def held_mass(M: np.ndarray, G: np.ndarray) -> np.ndarray:
    """M as numbers, or M + GᵀWG where it is singular; all rows have weights."""
    if held_in(M) is None:
        return M
    masses = np.diag(M)
    masses = np.where(masses > 0.0, masses, np.mean(masses[masses > 0.0]) if np.any(masses > 0.0) else 1.0)
    return M + (G.T / np.sum(G * G / masses, axis=1)) @ G
