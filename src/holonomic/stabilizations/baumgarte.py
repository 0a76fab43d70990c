"""Baumgarte's stabilization: the constraint obeys a damped linear equation instead of g^(m) = 0."""

from __future__ import annotations

import math
import reprlib
from dataclasses import dataclass

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import is_number
from .base import Lowered, Stabilization, no_pull, no_tangent


@refuses_unknown
@dataclass(frozen=True, repr=False)
class Baumgarte(Stabilization):
    """Replace g̈ = 0 by g̈ + 2α ġ + β² g = 0 in the accelerations.

    For a `Dae` of order m: g^(m) + α_(m-1) g^(m-1) + .. + α_0 g = 0, usually with the characteristic polynomial
    (τ + α)^m. For an `Ode` with invariants h, which is order 1: y' = f - α Hᵀ(HHᵀ)⁻¹ h.

    Parameters
    ----------
    alpha : float
        Damping of the constraint error, 1/s.
    beta : float, optional
        Its frequency, 1/s, for order 2; equal to alpha if not given (critical damping).
    gamma : float, optional
        As in the papers: alpha = beta = gamma.
    gains : tuple of float, optional
        The factors of g^(m-1), .., g themselves. Order 2: (α₁, α₀) = (2α, β²), "Baum(α₁, α₀)".

    References
    ----------
    [baumgarte-1972]; [ascher-chin-petzold-reich-1995] (2.1) - (2.3); [ascher-chin-reich-1992] (1.4), (1.5).
    """

    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    gains: tuple[float, ...] | None = None
    acts = "field"
    rate_limit = 1.0
    strength_setting = "alpha"
    drift_order = "p; p (bounded)"
    references = ("baumgarte-1972", "ascher-chin-petzold-reich-1995", "ascher-chin-reich-1992")

    def __post_init__(self):
        ways = [self.alpha is not None, self.gamma is not None, self.gains is not None]
        if sum(ways) != 1:
            raise BadArgument("Baumgarte needs exactly one of alpha=, gamma= or gains=, e.g. Baumgarte(alpha=20).")
        if self.beta is not None and self.alpha is None:
            raise BadArgument("beta= goes with alpha=.")
        single = [each for each in (self.alpha, self.beta, self.gamma) if each is not None]
        stated = single if self.gains is None else self.gains
        if not isinstance(stated, list | tuple) or not all(map(is_number, stated)):
            raise BadArgument(f"Baumgarte's gains are numbers: Baumgarte(alpha=20), Baumgarte(gains=(9, 6)). Got {self._said()}.")
        if self.gains is not None:
            object.__setattr__(self, "gains", tuple(float(gain) for gain in self.gains))
        given = self.gains if self.gains is not None else (self.rate, self.beta or 0.0)
        if not min(given, default=-1.0) >= 0.0:
            raise BadArgument(f"Baumgarte's gains must not be negative, got {given}.")
        if math.isinf(max(given)):
            raise BadArgument(
                "with infinite gains the constraint itself is imposed: use formulation=Index3(), for a Dae of order 1 "
                "Index2(), with an implicit integrator."
            )

    def _said(self) -> str:
        given = {name: getattr(self, name) for name in ("alpha", "beta", "gamma", "gains")}
        return ", ".join(f"{name}={reprlib.repr(value)}" for name, value in given.items() if value is not None)

    @property
    def rate(self) -> float:
        """α: how fast the constraint error decays where damping is critical; the mean rate of other gains."""
        if self.gains is not None:
            return self.gains[0] / len(self.gains)  # the sum of the roots of the polynomial is -α_(m-1)
        return float(self.alpha if self.alpha is not None else self.gamma)  # type: ignore[arg-type]

    def factors(self, order: int) -> tuple[float, ...]:
        """Return α_0 .. α_(m-1), the factors of g, .., g^(m-1), for order m."""
        if self.gains is not None:
            if len(self.gains) != order:
                raise BadArgument(
                    f"gains={self.gains} are {len(self.gains)}, but the constraint is differentiated {order} times: "
                    f"give {order}, or alpha=."
                )
            return self.gains[::-1]
        if self.beta is not None:
            if order != 2:
                raise BadArgument(f"beta= is for order 2; with order {order} give alpha= alone, or gains=.")
            return (self.beta * self.beta, 2.0 * self.rate)
        return tuple(math.comb(order, j) * self.rate ** (order - j) for j in range(order))

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        return Lowered(no_pull, no_tangent, gains=self.factors, baumgarte=True)
