"""Linear solves unrolled into straight-line code, and the corrections D (J D)⁻¹ r that are made of them.

Symmetric positive definite matrices are factored by LDLᵀ without pivoting, any others by QR (Gram-Schmidt).
Both know how far they can be trusted: ρ is the smallest pivot beside what it started from.

Rows of invariants may become dependent: the exact solution keeps them all the same, so a row that the ones before it
leave nothing of is left out of the correction, and not measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from ..kernels.dense_projection import DEPENDENT, OUT
from .symbolics import (
    SX,
    Sparsity,
    densify,
    diag,
    fabs,
    fmax,
    fmin,
    if_else,
    ldl,
    ldl_solve,
    mirrored,
    norm_2,
    qr,
    solve,
    sparsify,
    vertcat,
)

if TYPE_CHECKING:
    from .redundant_rows import EvenFactors


@dataclass(frozen=True)
class Factors:
    """A symbolic LDLᵀ factorization, and its smallest pivot ratio ρ = min d_i / A_ii."""

    D: SX
    LT: SX
    p: list[int]
    rho: SX
    kept: tuple[SX, ...] | None = None  # whether each row is corrected, where some may be left out

    def solve(self, b: SX) -> SX:
        return sparsify(ldl_solve(densify(b), self.D, self.LT, self.p))

    roughly = solve

    def parts(self) -> list[SX]:
        """What has to be stored to solve again; pivots as reciprocals, because solves are many."""
        return [nonzeros(self.LT), 1 / densify(self.D)]

    def stored(self, take: Callable, rho: SX) -> Factors:
        """The same factors out of storage."""
        LT = take(self.LT.sparsity())
        return Factors(1 / take(densify(self.D).sparsity()), LT, self.p, rho)


@dataclass(frozen=True)
class GeneralFactors:
    """A symbolic factorization Q R of any square matrix, and ρ = min |R_ii| / size of column i."""

    Q: SX
    R: SX
    rho: SX
    kept: ClassVar[None] = None  # every row is corrected

    def solve(self, b: SX) -> SX:
        return sparsify(solve(self.R, self.Q.T @ b))

    roughly = solve

    def parts(self) -> list[SX]:
        return [nonzeros(self.Q), nonzeros(self.R)]

    def stored(self, take: Callable, rho: SX) -> GeneralFactors:
        Q = take(self.Q.sparsity())
        return GeneralFactors(Q, take(self.R.sparsity()), rho)


def factor(A: SX) -> Factors:
    """Factor a symmetric positive definite matrix of expressions, ordered for little fill."""
    A = sparsify(A)
    if A.shape[0] == 0:
        return Factors(SX(0, 1), SX(0, 0), [], SX(1))
    if not A.sparsity().is_symmetric():  # terms that cancel are seen to vanish in one triangle and not in the other
        A = mirrored(A)
    D, LT, p = ldl(A)
    rho = SX(1)
    diagonal = diag(A)
    for i, pivot in enumerate(p):
        ratio = D[i] / diagonal[pivot] if not diagonal[pivot].is_zero() else SX(0)
        rho = fmin(ratio, rho)
    return Factors(D, LT, p, rho)


def factor_kept(A: SX) -> Factors:
    """Factor a symmetric matrix of invariants' rows, in their order; a row without a pivot of its own gets an endless one."""
    n = A.shape[0]
    L, D, kept, rho = [[SX(0)] * n for _ in range(n)], [SX(0)] * n, [SX(0)] * n, SX(1)
    for i in range(n):
        for k in range(i):
            L[i][k] = (A[i, k] - sum(L[i][m] * L[k][m] * D[m] for m in range(k))) / D[k]
        pivot = A[i, i] - sum(L[i][m] * L[i][m] * D[m] for m in range(i))
        kept[i] = pivot > DEPENDENT * A[i, i]
        D[i] = if_else(kept[i], pivot, OUT)
        for k in range(i):
            L[i][k] = if_else(kept[i], L[i][k], 0)
        rho = if_else(kept[i], fmin(pivot / A[i, i], rho), rho)
    LT = SX(Sparsity.upper(n))
    for i in range(n):
        for k in range(i):
            LT[k, i] = L[i][k]
        LT[i, i] = 0
    return Factors(vertcat(*D), sparsify(LT), list(range(n)), rho, tuple(kept))


def factor_general(A: SX, sizes: list[SX] | None = None) -> GeneralFactors:
    """Factor any square matrix of expressions; pivots are measured by the lengths of its columns, or by `sizes`."""
    A = sparsify(A)
    if A.shape[0] == 0:
        return GeneralFactors(SX(0, 0), SX(0, 0), SX(1))
    Q, R = qr(A)
    rho = SX(1)
    for i in range(A.shape[0]):
        size = norm_2(A[:, i]) if sizes is None else sizes[i]
        rho = fmin(fabs(R[i, i]) / fmax(size, SX(1e-300)), rho)
    return GeneralFactors(sparsify(Q), sparsify(R), rho)


class Projector:
    """Symbolic Δ = D (J D)⁻¹ r in two halves: factors stored in a buffer F, and solves from it.

    F holds ρ, 1/‖row‖ for every row, the nonzeros of D, of J (unless J = Dᵀ), and the factors of J D.

    Parameters
    ----------
    J : SX
        Jacobian of the rows.
    D : SX
        Directions, one per row.
    same : bool
        Whether D = Jᵀ.
    symmetric : bool
        Whether J D is symmetric positive definite, as with D = W⁻¹Jᵀ.
    shift : SX, optional
        Number added to the diagonal of J D.
    measured : SX, optional
        Matrix whose rows say how long the rows are, if not J: residuals are measured as distances by them.
    droppable : bool
        Whether rows are invariants, of which dependent ones are left out.
    factors : EvenFactors, optional
        Factors of J D, where rows repeat others.
    """

    def __init__(
        self, J: SX, D: SX, *, same: bool = False, symmetric: bool = True, shift: SX | None = None,
        measured: SX | None = None, droppable: bool = False, factors: EvenFactors | None = None,
    ):  # fmt: skip
        self.J, self.D, self.same = J, D, same
        self.measured = J if measured is None else measured
        self.n_rows, self.n_columns = J.shape
        A = J @ D if shift is None else J @ D + shift * SX.eye(self.n_rows)
        if factors is not None:
            self.factors = factors
        elif symmetric and droppable:
            self.factors = factor_kept(A)
        else:
            self.factors = factor(A) if symmetric else factor_general(A)

    @cached_property
    def buffer(self) -> SX:
        rows = [norm_2(self.measured[i, :]) for i in range(self.n_rows)]
        inverse = [1 / fmax(row, SX(1e-300)) for row in rows]
        kept = self.factors.kept
        if kept is not None:
            inverse = [if_else(keep, size, 0) for keep, size in zip(kept, inverse, strict=True)]
        parts = [self.factors.rho, *inverse, nonzeros(self.D)]
        if not self.same:
            parts.append(nonzeros(self.J))
        return vertcat(*parts, *self.factors.parts())

    @property
    def size(self) -> int:
        return self.buffer.numel()

    def _unpack(self, F: SX) -> tuple[SX, SX, Factors | GeneralFactors | EvenFactors]:
        at = 1 + self.n_rows

        def take(sparsity):
            nonlocal at
            count = sparsity.nnz()
            matrix = SX(sparsity, F[at : at + count]) if count else SX(sparsity)
            at += count
            return matrix

        D = take(self.D.sparsity())
        J = D.T if self.same else take(self.J.sparsity())
        return D, J, self.factors.stored(take, F[0])

    def solve(self, F: SX, r: SX) -> SX:
        """D (J D)⁻¹ r."""
        D, _, factors = self._unpack(F)
        return D @ factors.solve(r) if self.n_rows else SX.zeros(self.n_columns, 1)

    def tangent(self, F: SX, e: SX) -> SX:
        """D (J D)⁻¹ J e, for estimates."""
        D, J, factors = self._unpack(F)
        return D @ factors.roughly(J @ e) if self.n_rows else SX.zeros(self.n_columns, 1)

    def inverse(self, F: SX, r: SX) -> SX:
        """(J D)⁻¹ r."""
        return self._unpack(F)[2].solve(r) if self.n_rows else SX(0, 1)

    def spread(self, mu: SX) -> SX:
        """D μ, at the point of the symbols."""
        return self.D @ mu if self.n_rows else SX.zeros(self.n_columns, 1)


def nonzeros(matrix: SX) -> SX:
    """The nonzeros of a matrix as a column."""
    return vertcat(*matrix.nonzeros()) if matrix.nnz() else SX(0, 1)
