"""Rows that stay independent wherever the constraints lead, found by a walk along them.

Which rows to count, where some are redundant, cannot be told from one position: in a planetary gear those that pivoted QR
picks at the start leave 2e-6 of each other half a turn later, and a choice with 2e-2 all around exists. So positions are
looked at along the motion that begins, then along random ones, and rows are left to the others that keep a part in the
dependence at all of them.
"""

from __future__ import annotations

import numpy as np

from ..errors import InconsistentState
from ..kernels.signatures import Fn

LEGS, PACES = 3, 16  # directions tried, and positions in each
PACE = 0.5  # of a radian, or of the size of the system
LOOSE = 1e-7  # of the size: how well positions on the way fulfil the constraints
TELLING = 0.03  # of the largest: where the last singular value is below, the position says nothing
ABOUT = 0.5  # of the largest part in the dependence: rows with so much serve as well


def lasting_rows(model, t, q, v, data, rank: int, project) -> tuple[int, ...]:
    """Rows, as many as the rank, that are independent at all positions of a walk from q.

    `project(position, at, tol)` moves a position onto the constraints of a time, or raises `InconsistentState`.
    """
    met = [_dependence(model, t, q, v, data, rank)]
    random = np.random.default_rng(7)
    for leg in range(LEGS):
        here, now = q.copy(), t
        heading = v if leg == 0 and np.any(v) else random.uniform(-1.0, 1.0, model.nv)
        for _ in range(PACES):
            rate, pace = _ahead(model, now, here, heading, data, rank, driven=leg == 0)
            if not pace > 0.0:
                break
            if leg == 0:
                now = now + pace
            try:
                here = project(here + pace * rate, at=now, tol=LOOSE * max(1.0, float(np.max(np.abs(here)))))
            except InconsistentState:
                break
            met.append(_dependence(model, now, here, v, data, rank))
    largest = max(value for _, value, _ in met)
    return _spread(np.array([null for null, value, _ in met if value >= TELLING * largest]), met[0][2])


def _parts(model, t, q, v, data) -> tuple[np.ndarray, np.ndarray]:
    """G with rows of length 1, in coordinates in which single masses are 1; and these coordinates' units."""
    flat = model.evaluate(Fn.TERMS, t, np.concatenate([q, v]), np.zeros(0), data)
    nq, nv, nl = model.nq, model.nv, model.n_lam
    masses = np.diag(flat[nq : nq + nv * nv].reshape(nv, nv))
    by = np.where(masses > 0.0, 1.0 / np.sqrt(np.where(masses > 0.0, masses, 1.0)), 1.0)
    at = nq + nv * nv + nv
    G = flat[at : at + nl * nv].reshape(nl, nv) * by
    return G / np.maximum(np.linalg.norm(G, axis=1), 1e-300)[:, None], by


def _dependence(model, t, q, v, data, rank: int) -> tuple[np.ndarray, float, np.ndarray]:
    """Combinations of rows that vanish, (row, combination), the last singular value, how many rows each one meets."""
    G, _ = _parts(model, t, q, v, data)
    turned, values, _ = np.linalg.svd(G)
    touches = (np.abs(G) > 1e-12).astype(float)
    return turned[:, rank:], float(values[rank - 1]), np.count_nonzero(touches @ touches.T, axis=1)


def _ahead(model, t, q, heading, data, rank: int, driven: bool) -> tuple[np.ndarray, float]:
    """q' of the motion that the constraints allow next to `heading`, and the time for one pace of it."""
    G, by = _parts(model, t, q, heading, data)
    turned = np.linalg.svd(G)[2]
    allowed = by * (turned[rank:].T @ (turned[rank:] @ (heading / by)))
    if driven:  # what the constraints themselves ask for as time goes on
        still = model.evaluate(Fn.RESIDUAL, t, np.concatenate([q, 0.0 * heading]), np.zeros(0), data)[-model.n_lam :]
        full = model.evaluate(Fn.TERMS, t, np.concatenate([q, heading]), np.zeros(0), data)
        at = model.nq + model.nv**2 + model.nv
        J = full[at : at + model.n_lam * model.nv].reshape(model.n_lam, model.nv)
        allowed = allowed - by * np.linalg.lstsq(J * by, still, rcond=1e-9)[0]
    rate = model.evaluate(Fn.TERMS, t, np.concatenate([q, allowed]), np.zeros(0), data)[: model.nq]
    rate[model.nc :] = 0.0
    turns = np.array(model.turns, dtype=bool)
    size = max(float(np.max(np.abs(q[~turns]), initial=0.0)), 1e-12)
    fastest = float(np.max(np.abs(rate) / np.where(turns, 1.0, size), initial=0.0))
    return rate, PACE / fastest if fastest > 1e-9 else 0.0


def _spread(nulls: np.ndarray, meets: np.ndarray) -> tuple[int, ...]:
    """Rows to count: all but those that have a part in the dependence at every position; of equals, the densest go."""
    left, gone = nulls.copy(), []
    for _ in range(nulls.shape[2]):
        part = np.min(np.sum(left**2, axis=2), axis=0)
        part[gone] = -1.0
        good = np.flatnonzero(part >= ABOUT * np.max(part))[::-1]  # later ones repeat earlier ones
        row = int(good[np.argmax(meets[good])])
        gone.append(row)
        along = left[:, row] / np.maximum(np.linalg.norm(left[:, row], axis=1), 1e-300)[:, None]
        left = left - np.einsum("pmk,pk,pj->pmj", left, along, along)
    return tuple(row for row in range(nulls.shape[1]) if row not in gone)
