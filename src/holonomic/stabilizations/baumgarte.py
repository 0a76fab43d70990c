"""Baumgarte's stabilization: the constraint obeys a damped oscillator instead of g̈ = 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import BadArgument
from .base import N_NUMBERS, Lowered, Stabilization, no_pull, no_tangent


@dataclass(frozen=True)
class Baumgarte(Stabilization):
    """Replace g̈ = 0 by g̈ + 2α ġ + β² g = 0 in the accelerations.

    For an `Ode` with invariants: y' = f - α Hᵀ(HHᵀ)⁻¹ h.

    Parameters
    ----------
    alpha : float
        Damping of the constraint error, 1/s.
    beta : float, optional
        Its frequency, 1/s; equal to alpha if not given (critical damping).
    gamma : float, optional
        As in the papers: alpha = beta = gamma.
    gains : pair of float, optional
        The factors of ġ and g themselves, (α₁, α₀) = (2α, β²): "Baum(α₁, α₀)".

    References
    ----------
    [baumgarte-1972]; [ascher-chin-petzold-reich-1995] (2.1).
    """

    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    gains: tuple[float, float] | None = None
    acts = "field"
    drift_order = "p; p (bounded)"
    references = ("baumgarte-1972", "ascher-chin-petzold-reich-1995")

    def __post_init__(self):
        ways = [self.alpha is not None, self.gamma is not None, self.gains is not None]
        if sum(ways) != 1:
            raise BadArgument("Baumgarte needs exactly one of alpha=, gamma= or gains=, e.g. Baumgarte(alpha=20).")
        if self.beta is not None and self.alpha is None:
            raise BadArgument("beta= goes with alpha=.")
        if min(self.pair()) < 0.0:
            raise BadArgument(f"Baumgarte's gains must not be negative, got {self.pair()}.")

    def pair(self) -> tuple[float, float]:
        """Return the factors of ġ and of g."""
        if self.gains is not None:
            return (float(self.gains[0]), float(self.gains[1]))
        alpha = float(self.alpha if self.alpha is not None else self.gamma)  # type: ignore[arg-type]
        beta = alpha if self.beta is None else float(self.beta)
        return (2.0 * alpha, beta * beta)

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        return Lowered(no_pull, no_tangent, np.zeros(N_NUMBERS), gains=self.pair())
