"""Continuous stabilization of invariants: the manifold h = 0 is made attracting in the field itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import refuses_unknown
from ..model.given_numbers import as_number, is_one_of
from ..model.model_base import Bend
from .base import Lowered, Stabilization, no_pull, no_tangent

ORTHOGONAL = {"1.7": "1.13", "1.8": "1.14"}  # index 2, where H = G: the general form with D = Gᵀ
NAMED = ("orthogonal", "blocks", "mass", "B")


@refuses_unknown
@dataclass(frozen=True, repr=False)
class InvariantStabilization(Stabilization):
    """Replace z' = f̂(z) by z' = f̂(z) - γ F(z) h(z).

    z = (q, v) and h = (g, G v + g_t) for a `System`; z = y and h the invariants for an `Ode`; z = (x, x', ..) and
    h = (g, g', ..) for a `Dae`. f̂ is the field with the multipliers eliminated, H = ∂h/∂z.

    F = "1.13"   F = D (H D)⁻¹:  h' = H f̂ + h_t - γ h.  For a System s = g and r = G v + g_t obey
                 s' = r - γ s,  r' = -γ r,  so γ alone sets the rate, whatever the system.
    F = "1.14"   F = D:  h' = H f̂ + h_t - γ H D h.  Cheaper; the eigenvalues of H D set the rate.
    F = "1.7", "1.8"   the two with D = Hᵀ; for a Dae of order 1 that is Gᵀ(GGᵀ)⁻¹ and Gᵀ.
    F = "4.8"    a System's q and v each by P = Gᵀ(GGᵀ)⁻¹, without the coupling L = ∂(G v + g_t)/∂q.

    Parameters
    ----------
    gain : float
        γ, 1/s. Explicit integrators need γ h below about 2.
    F : {"1.13", "1.14", "1.7", "1.8", "4.8"}
        See above.
    D : {"orthogonal", "blocks", "mass", "B"} or function
        Directions: Hᵀ; diag(Gᵀ, Gᵀ); diag(M⁻¹Gᵀ, M⁻¹Gᵀ); the Dae's B; or a function of the state that returns one
        column per entry of h. With "1.13", D = "B" and order 1 it is Baumgarte's method.
    integral : bool
        First replace f̂ by f̂ - F (H f̂ + h_t), which makes h an integral invariant: off the manifold, too, h' = -γ h.
        With F = "1.13" only; the gain may then be 0.
    gamma : float, optional
        The papers' name of gain.

    References
    ----------
    [ascher-chin-reich-1992] (1.7), (1.8), (1.12) - (1.14), (2.4), (4.4), (4.5), (4.7), (4.8);
    [ascher-chin-petzold-reich-1995] (4.3) - (4.6).
    """

    gain: float | None = None
    F: str = "1.13"
    D: str | Callable = "orthogonal"
    integral: bool = False
    gamma: float | None = None
    acts = "field"
    drift_order = "p; p (bounded)"
    references = ("ascher-chin-reich-1992", "ascher-chin-petzold-reich-1995")

    def __post_init__(self):
        if not isinstance(self.integral, bool):
            raise BadArgument(f"integral={self.integral!r}: choose True or False.")
        if self.gain is not None and self.gamma is not None:
            raise BadArgument("gain= and gamma= are the same thing: give one of them.")
        given = self.gain if self.gain is not None else self.gamma
        if given is None:
            if not self.integral:
                raise BadArgument("InvariantStabilization needs gain=, e.g. InvariantStabilization(gain=20).")
            given = 0.0
        if not 0.0 <= as_number(given) < np.inf:
            raise BadArgument(f"gain={given!r} must be a number, not negative.")
        object.__setattr__(self, "gain", float(given))
        object.__setattr__(self, "gamma", None)
        check_operator(self.F, self.D, ("1.13", "1.14", "1.7", "1.8", "4.8"))
        if self.integral and ORTHOGONAL.get(self.F, self.F) != "1.13":
            raise BadArgument('integral=True needs H F = I: use F="1.13".')
        if self.F == "4.8" and self.D not in ("orthogonal", "mass"):
            raise BadArgument(f'F="4.8" knows D="orthogonal" and D="mass", not {self.D!r}.')

    @property
    def mechanical(self) -> bool:  # type: ignore[override]
        return self.F == "4.8" or self.D == "mass"

    @property
    def rate(self) -> float:
        """How fast h decays, where the gain alone says so; otherwise 0."""
        return self.gain if self.F in ("1.13", "1.7", "4.8") else 0.0  # type: ignore[return-value]

    def lower(self, tol: float, hopeless: float = np.inf) -> Lowered:
        bend = Bend(ORTHOGONAL.get(self.F, self.F), self.D, self.integral)
        return Lowered(no_pull, no_tangent, gains=lambda order: (float(self.gain or 0.0),), bend=bend)


def check_operator(F: str, D, known: tuple[str, ...]) -> None:
    """Refuse an F or D that is not there."""
    if not is_one_of(F, known):
        raise BadArgument(f"F={F!r}: choose {', '.join(repr(name) for name in known)}.")
    if isinstance(D, str) and D not in NAMED:
        raise BadArgument(f"D={D!r}: choose {', '.join(repr(name) for name in NAMED)}, or give a function.")
    if not isinstance(D, str) and not callable(D):
        raise BadArgument(f"D={D!r} must be a name or a function of the state.")
    if F in ORTHOGONAL and D != "orthogonal":
        raise BadArgument(f'F="{F}" has D = Hᵀ; with another D use F="{ORTHOGONAL[F]}".')
