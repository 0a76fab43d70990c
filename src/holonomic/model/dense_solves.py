"""When solves are loops over dense matrices, and not code unrolled over their pattern."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..kernels.dense_operators import DENSE, dense_factor, dense_field, dense_inverse, dense_refined, dense_solve, dense_tangent
from ..kernels.signatures import Fn
from .derive import Derived
from .model_base import Variant

SMALLEST = 20  # velocities and rows, below which everything is unrolled
FEWEST = 20_000  # operations of an unrolled solve that are always worth compiling: a second and a half
MOST = 300_000  # and that never are
# ns: an unrolled operation, of which some are reads; one of a loop over rows, several at a time
UNROLLED, LOOPED = 0.7, 0.25
WORTH = 5.0  # times slower that loops may be where compiling takes seconds

# what takes the place of unrolled functions: of the field, and of projections in the metric of the identity
FIELDS = {Fn.FIELD: dense_field, Fn.REFINED: dense_refined}
MOVES = {Fn.VEL_FACTOR: dense_factor, Fn.VEL_SOLVE: dense_solve, Fn.VEL_TANGENT: dense_tangent, Fn.VEL_INVERSE: dense_inverse}


KERNELS = FIELDS | MOVES


def solved_densely(d: Derived, wanted, variant: Variant) -> dict[Fn, Fn]:
    """Which of the wanted functions work on dense matrices, and on those of which function."""
    e, nv = d.e, d.e.v.numel()
    fields, moves = [fn for fn in wanted if fn in FIELDS], [fn for fn in wanted if fn in MOVES]
    if d.is_ode or e.ns + e.nw or d.kept is not None or nv + d.n_lam < SMALLEST or not (fields or moves):
        return {}
    G, found = pattern(d.G), {}
    plain = not d.lam_in_force and d.bend is None and d.holding is None
    if fields and plain and too_long(unrolled_cost(pattern(e.mass), G), nv**3 / 3 + nv**2 * (d.n_lam + 1) + nv * d.n_lam**2):
        found |= dict.fromkeys(fields, Fn.TERMS)
    identity = variant.metric is None and variant.mass_at is None
    if moves and identity and too_long(projection_cost(G), nv * d.n_lam**2 / 2 + d.n_lam**3 / 3):
        found |= dict.fromkeys(moves, Fn.VELOCITY)
    return found


def too_long(unrolled: float, looped: float) -> bool:
    """Whether an unrolled solve of so many operations gives way to loops of so many."""
    return unrolled > MOST or (unrolled > FEWEST and LOOPED * looped < WORTH * UNROLLED * unrolled)


def projection_cost(G: np.ndarray) -> float:
    """About how many operations the unrolled solve of G Gᵀ takes."""
    A = (G.astype(int) @ G.T.astype(int)) > 0
    return float((G.sum(axis=1) * A.sum(axis=1)).sum()) + elimination(A)[0]


def pattern(matrix) -> np.ndarray:
    """Where a matrix of expressions may differ from zero."""
    found = np.zeros(matrix.shape, dtype=bool)
    sparsity = matrix.sparsity()
    columns = np.repeat(np.arange(matrix.shape[1]), np.diff(sparsity.colind()))
    found[np.array(sparsity.row(), dtype=int), columns] = True
    return found


def unrolled_cost(M: np.ndarray, G: np.ndarray) -> float:
    """About how many operations the unrolled solve of [M Gᵀ; G 0] takes, by patterns alone."""
    operations, entries, labels = elimination(M | M.T)
    parts = int(labels.max(initial=-1)) + 1
    touched = np.zeros((len(G), parts), dtype=bool)
    for part in range(parts):
        touched[:, part] = G[:, labels == part].any(axis=1)
    of_part = np.array([entries[labels == part].sum() for part in range(parts)])
    operations += 4.0 * float((touched @ of_part).sum())  # M⁻¹Gᵀ, forth and back
    S = (touched.astype(int) @ touched.T.astype(int)) > 0
    operations += float((G.sum(axis=1) * S.sum(axis=1)).sum())
    return operations + elimination(S)[0]


def elimination(A: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Operations of LDLᵀ of a symmetric pattern by minimum degree, entries of L in each column, and which part a row is in."""
    n = len(A)
    A = A.copy()
    np.fill_diagonal(A, False)
    labels = _parts(A)
    left, entries, operations = np.ones(n, dtype=bool), np.zeros(n), 0.0
    degrees = A.sum(axis=1)
    for _ in range(n):
        k = int(np.argmin(np.where(left, degrees, n + 1)))
        around = np.flatnonzero(A[k] & left)
        left[k] = False
        entries[k] = len(around)
        operations += len(around) * (len(around) + 3)
        A[np.ix_(around, around)] = True
        A[around, around] = False
        degrees[around] = (A[around] & left).sum(axis=1)
    return operations, entries, labels


def _parts(A: np.ndarray) -> np.ndarray:
    """Number the connected parts of a graph."""
    labels, number = np.full(len(A), -1), 0
    for first in range(len(A)):
        if labels[first] < 0:
            waiting = [first]
            labels[first] = number
            while waiting:
                fresh = np.flatnonzero(A[waiting.pop()] & (labels < 0))
                labels[fresh] = number
                waiting += fresh.tolist()
            number += 1
    return labels


class DenseSolve:
    """Context of operators that solve densely.

    Parameters
    ----------
    terms, context : int
        The operator that gives the matrices.
    sizes : dict
        nq, nv, nl, nx, nd.
    """

    def __init__(self, terms: int, context: int, **sizes: int):
        self._memory, nv, nl = DENSE.new(), sizes["nv"], sizes["nl"]
        self._lengths = dict.fromkeys(FIELDS, sizes["nq"] + nv + nl + 1) | {
            Fn.VEL_FACTOR: 1 + nl + nl * nv + nl * nl, Fn.VEL_SOLVE: nv, Fn.VEL_TANGENT: nv, Fn.VEL_INVERSE: nl,
        }  # fmt: skip
        for name, value in (("terms", terms), ("context", context), *sizes.items()):
            setattr(self._memory, name, value)

    @cached_property
    def context(self) -> int:
        """Its address."""
        return self._memory.array.ctypes.data

    def length(self, fn: Fn) -> int:
        """How many numbers a function writes."""
        return self._lengths[fn]
