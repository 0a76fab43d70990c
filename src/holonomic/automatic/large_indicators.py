"""Indicators of large mechanisms, by their operators: no matrix of the whole system is made.

The fastest eigenvalues come by Arnoldi's method from differences of the field along the constraints, norms by Lanczos' method from
sparse matrices M and C = G and factors of [M Cᵀ; C 0], whose solutions are F = M⁻¹Cᵀ(C M⁻¹Cᵀ)⁻¹ and its transpose.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

APART = 1e-6  # of differences along a direction, beside 1 + |x|
FASTEST = 12  # eigenvalues that are looked for
ENOUGH, MOST = 1e-3, 60  # accuracy of eigenvalues and norms; restarts of Arnoldi's method


def fastest(model, t: float, x: np.ndarray, data: np.ndarray, rows, field: Callable) -> np.ndarray:
    """The largest eigenvalues of the motion along the constraints, by size; `rows` are independent ones, or None: all are."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

    n, tangent = len(x), lambda way: way
    if model.n_lam:
        H = model.system.sparse_gradients(t, x, data)
        if rows is not None:
            first = model.n_constraints
            H = H[[row for row in rows if row < first] + [first + row for row in rows]]
        try:
            tangent = _Saddle(_identity(n), _unit(H)).within
        except RuntimeError:  # a singular position
            return np.zeros(0, complex)

    def product(way: np.ndarray) -> np.ndarray:
        way = tangent(np.ravel(way))
        longest = float(np.max(np.abs(way), initial=0.0))
        if longest == 0.0:
            return way
        apart = APART * (1.0 + float(np.max(np.abs(x)))) / longest
        return tangent((field(t, x + apart * way) - field(t, x - apart * way)) / (2.0 * apart))

    start = tangent(np.random.default_rng(17).uniform(-1, 1, n))
    try:
        values = eigs(LinearOperator((n, n), product, dtype=float), FASTEST, v0=start, maxiter=MOST, tol=ENOUGH)[0]
    except ArpackNoConvergence as found:
        values = found.eigenvalues
    return values[np.argsort(-np.abs(values))]


def of_constraints(model, t: float, x: np.ndarray, f: np.ndarray, data: np.ndarray, rows, s: float) -> dict:
    """How constraints and masses lie to each other; `f` is the motion, s a short time along it."""
    system, count = model.system, max(0, model.system.rank[0])
    found = {"rows": model.n_lam, "rank": model.n_lam - count, "freedom": model.nv - model.n_lam + count}
    if not model.n_lam or (count and rows is None):
        return found
    kept = np.arange(model.n_lam) if rows is None else np.array(rows)
    at = [system.sparse_rows(t + side * s, x + side * s * f, data)[kept] for side in (-1, 0, 1)]
    unit = [_unit(C) for C in at]
    rate = (at[2] - at[0]) / (2 * s)
    identity, M = _identity(model.nv), system.sparse_mass(t, x, data)
    try:
        smallest = [_smallest(_Saddle(identity, C)) for C in unit]
        plain, heavy = _Saddle(identity, at[1]), _Saddle(M, at[1])
    except RuntimeError:  # a singular position, or masses that vanish
        return found
    shrinking = (smallest[0] - smallest[2]) / (2 * s)
    oblique = _norm(lambda v: heavy.forth(at[1] @ v), lambda v: at[1].T @ heavy.back(v), model.nv, model.nv)
    return found | {
        "margin": smallest[1],
        "singular_in": smallest[1] / shrinking if shrinking > 1e-9 * smallest[1] / s else np.inf,
        "turning": _norm_of((unit[2] - unit[0]) / (2 * s)),
        "projected": _norm(lambda v: plain.forth(rate @ v), lambda v: rate.T @ plain.back(v), model.nv, model.nv),
        "explicit": _norm(lambda v: heavy.forth(rate @ v), lambda v: rate.T @ heavy.back(v), model.nv, model.nv),
        "angle": float(np.degrees(np.arccos(1.0 / max(1.0, oblique)))),
    }


class _Saddle:
    """Factors of [M Cᵀ; C 0]."""

    def __init__(self, M, C):
        from scipy.sparse import block_array
        from scipy.sparse.linalg import splu

        self.n, self.m = C.shape[1], C.shape[0]
        self.factors = splu(block_array([[M, C.T], [C, None]], format="csc"))

    def forth(self, r: np.ndarray) -> np.ndarray:
        """F r"""
        return self.factors.solve(np.concatenate([np.zeros(self.n), r]))[: self.n]

    def back(self, z: np.ndarray) -> np.ndarray:
        """Fᵀ z"""
        return self.factors.solve(np.concatenate([z, np.zeros(self.m)]))[self.n :]

    def within(self, z: np.ndarray) -> np.ndarray:
        """What of z lies in the null space of C, M being 1."""
        return self.factors.solve(np.concatenate([z, np.zeros(self.m)]))[: self.n]

    def inverse(self, r: np.ndarray) -> np.ndarray:
        """(C M⁻¹ Cᵀ)⁻¹ r"""
        return -self.factors.solve(np.concatenate([np.zeros(self.n), r]))[self.n :]


def _identity(n: int):
    from scipy.sparse import eye_array

    return eye_array(n)


def _unit(C):
    from scipy.sparse import diags_array

    return diags_array(1.0 / np.maximum(np.sqrt((C * C).sum(axis=1)), 1e-300)) @ C


def _smallest(saddle: _Saddle) -> float:
    """The smallest singular value of C, M being 1."""
    return 1.0 / np.sqrt(max(_largest(saddle.inverse, saddle.m), 1e-300))


def _norm_of(A) -> float:
    return _norm(lambda v: A @ v, lambda v: A.T @ v, *A.shape)


def _norm(forth: Callable, back: Callable, rows: int, columns: int) -> float:
    """The largest singular value of what a function and its transpose do."""
    return float(np.sqrt(max(0.0, _largest(lambda v: back(forth(v)), columns))))


def _largest(product: Callable, n: int) -> float:
    """The largest eigenvalue of a symmetric product, none of which is below zero."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    start = np.random.default_rng(19).uniform(0.5, 1.5, n)
    if not np.any(product(start)):
        return 0.0
    if n < 3:
        return float(np.max(np.linalg.eigvalsh(np.array([product(e) for e in np.eye(n)]))))
    A = LinearOperator((n, n), lambda v: product(np.ravel(v)), dtype=float)
    try:
        return float(eigsh(A, 1, v0=start, tol=ENOUGH, return_eigenvectors=False)[0])
    except ArpackNoConvergence as found:
        return float(np.max(found.eigenvalues, initial=0.0))
