"""What an implicit step has done: residuals, Jacobians and factorizations, in the last numbers of the workspace."""

from __future__ import annotations

from .compile import leaf

RESIDUALS, JACOBIANS, FACTORIZATIONS = range(3)
N_COUNTS = 3


@leaf
def count(W, what, times):
    """Add to a counter."""
    W[W.shape[0] - 1 - what] += times
