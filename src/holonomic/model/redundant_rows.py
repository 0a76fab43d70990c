"""Solves where rows are redundant: all rows stay, none is dropped for good.

Which rows depend on which changes on the way, as the planets of a gear go round. Three solves take care of that, all of them
functions of the position alone, as events, dense output and steps taken again need it:

    KeptFactors      accelerations: rows found independent in a walk along the constraints (`starting.rank`), at their cost
    ShortFactors     accelerations where these leave too little of each other: elimination itself finds others
    EvenFactors      projections: all rows alike, A + ε D with D the diagonal of A

`ShortFactors` is LDLᵀ in one fixed order, the usual rows first. Of the others, as many as the rank is short are passed over:
nothing is eliminated with them, and their multiplier is zero. A row of which those before it leave less than a small part is
passed over in their place, and one of the last ones takes its part.

Why accelerations have rows that count, and projections all: beside the constraints, where stages of a step are, rows that
repeat others contradict them. At a distance δ they ask for a multiplier δ/ε, which moves accelerations by δ²/(ε + δ²). For a
planetary gear, ε = 1e-12 and δ = 1e-8 of its size that was 1e-3 of the acceleration, for δ = 1e-6 half of it; with rows that
count it is δ. A projection ends on the constraints, where no row contradicts: what ε leaves is taken away by solving again,
and a row that depends on badly chosen others is as good as they are: with rows that count, those of a Bricard linkage
that were passed over missed their velocity level by 2e-9, and with all by 1e-12.

Where more rows than the rank is short have nothing of their own, the position is singular, or close to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..kernels.dense_projection import BESIDE, EVENLY, TURNS
from .factors import Factors, factor
from .symbolics import SX, Sparsity, densify, diag, fmax, fmin, if_else, logic_or, sparsify, vertcat

# of a row's square: a row of which those before it leave less is passed over
LEAST = 1e-3  # asked where the usual rows have come to 1e-4; what is below is left to the dense solve, which loses no digits


@dataclass(frozen=True)
class KeptFactors:
    """Factors of the usual rows alone; the others have no multiplier."""

    usual: Factors
    kept: tuple[int, ...]
    n_rows: int

    @property
    def rho(self) -> SX:
        return self.usual.rho

    def solve(self, b: SX) -> SX:
        """Multipliers of all rows."""
        found = self.usual.solve(b[list(self.kept)])
        back = [SX(0)] * self.n_rows
        for i, row in enumerate(self.kept):
            back[row] = found[i]
        return vertcat(*back)


@dataclass(frozen=True)
class ShortFactors:
    """L, reciprocals of pivots (0 for rows passed over) and the order of elimination; ρ as in `factors.Factors`."""

    below: dict[tuple[int, int], SX]  # entries of L by place in the order, (row, column)
    inverse: list[SX]
    order: tuple[int, ...]
    rho: SX

    def solve(self, b: SX) -> SX:
        """Multipliers that fulfil the rows that count; zero for the others."""
        x = [b[i] for i in self.order]
        for (i, k), entry in sorted(self.below.items(), key=lambda each: each[0][1]):
            x[i] = x[i] - entry * x[k]
        x = [value * inverse for value, inverse in zip(x, self.inverse, strict=True)]
        for (i, k), entry in sorted(self.below.items(), key=lambda each: -each[0][0]):
            x[k] = x[k] - entry * x[i]
        back = [SX(0)] * len(x)
        for place, row in enumerate(self.order):
            back[row] = x[place]
        return vertcat(*back)


def factor_short(A: SX, kept: Sequence[int]) -> ShortFactors:
    """Factor a symmetric matrix of rank len(kept).

    Parameters
    ----------
    A : SX
        J D, symmetric, positive semidefinite.
    kept : sequence of int
        Rows found independent at every position looked at; the others come last.
    """
    A = sparsify(A)
    n, first = A.shape[0], set(kept)
    short = n - len(first)
    likes = A.sparsity().amd()
    order = tuple([i for i in likes if i in first] + [i for i in likes if i not in first])
    entries = {(a, b): A[i, j] for a, i in enumerate(order) for b, j in enumerate(order) if a >= b and A.has_nz(i, j)}
    below: dict[tuple[int, int], SX] = {}
    inverse, passed, rho = [], SX(0), SX(1)
    for k, row in enumerate(order):
        whole, pivot = A[row, row], entries[k, k]
        out = pivot < LEAST * whole
        if n - k <= short:  # as many have to be passed over as the rank is short
            out = logic_or(out, passed <= short - (n - k))
        pivot = pivot + out * whole
        inverse.append((1 - out) / pivot)
        passed = passed + out
        rho = fmin(pivot / whole, rho)
        column = [i for i in range(k + 1, n) if (i, k) in entries]
        for i in column:
            below[i, k] = entries[i, k] * inverse[k]
        for at, i in enumerate(column):
            for j in column[: at + 1]:
                less = entries[i, k] * below[j, k]
                entries[i, j] = entries[i, j] - less if (i, j) in entries else -less
    return ShortFactors(below, inverse, order, if_else(passed > short, 0, rho))


@dataclass(frozen=True)
class EvenFactors:
    """Factors of A + ε D; what ε leaves is solved for again, so that rows hold as they do without it."""

    base: Factors
    extra: SX  # ε D
    rho: SX
    kept: ClassVar[None] = None  # every row is corrected

    def roughly(self, b: SX) -> SX:
        """The multipliers with (A + ε D) x = b."""
        return self.base.solve(b)

    def solve(self, b: SX) -> SX:
        """The multipliers with A x = b, up to (ε/s)² where s is the smallest eigenvalue of the scaled A that is not zero."""
        x = self.roughly(b)
        for _ in range(TURNS):
            x = self.base.solve(b + self.extra * x)
        return x

    def parts(self) -> list[SX]:
        """What has to be stored to solve again."""
        return [*self.base.parts(), self.extra]

    def stored(self, take: Callable, rho: SX) -> EvenFactors:
        """The same factors out of storage."""
        base = self.base.stored(take, rho)
        return EvenFactors(base, take(Sparsity.dense(self.extra.numel(), 1)), rho)


def factor_even(A: SX, short: int) -> EvenFactors:
    """Factor a symmetric matrix whose rank is short by a number of rows, all rows alike.

    How close to singular the position is must not depend on which rows are eliminated first. The pivots of A + ε D multiply to
    its determinant, whatever the order, so those of a small ε over those of a larger one tell Π s_i/(s_i + ε'), s_i the
    eigenvalues of the scaled A that are not zero because rows are redundant; and from that comes ρ = 1/Σ(1/s_i), about.
    """
    A = sparsify(A)
    diagonal = densify(diag(A))
    base, beside = (factor(A + diag(part * diagonal)) for part in (EVENLY, BESIDE))
    share = SX(1)
    for k in range(A.shape[0]):
        share = share * (base.D[k] / beside.D[k])
        if k < short:
            share = share * (BESIDE / EVENLY)
    rho = BESIDE * share / fmax(1 - share, BESIDE)
    return EvenFactors(base, EVENLY * diagonal, fmin(rho, 1))
