"""A polynomial through the slopes at points of a Gauss rule: the path over a singular position."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

BACK = 5  # points before from which the first guess at a point is extrapolated


@dataclass(frozen=True)
class Rule:
    """Gauss's points in [0, 1] and what is computed from values there."""

    c: np.ndarray
    b: np.ndarray
    coefficients: np.ndarray  # values -> coefficients of Legendre polynomials
    integrals: np.ndarray  # values -> integrals from 0 to each point
    guesses: list[np.ndarray]  # values at 0 and at points before -> integral to each point


@cache
def rule(m: int) -> Rule:
    """Gauss's rule with m points."""
    from numpy.polynomial import legendre

    z, w = legendre.leggauss(m)
    c, b = (z + 1) / 2, w / 2
    k = np.arange(m)
    coefficients = (2 * k[:, None] + 1) * (legendre.legvander(z, m - 1) * b[:, None]).T
    guesses = []
    for i in range(m):
        before = np.concatenate([[0.0], c[:i]])[-BACK:]
        scale = c[i]
        powers = np.arange(len(before))
        vander = (before[None, :] / scale) ** powers[:, None]
        guesses.append(np.linalg.solve(vander, scale / (powers + 1)))  # exact for powers of time
    made = Rule(c, b, coefficients, np.zeros((m, m)), guesses)
    made.integrals[:] = _integrated(coefficients, c)
    return made


def _integrated(coefficients: np.ndarray, theta) -> np.ndarray:
    """Integrals from 0 to θ of the polynomial with these coefficients."""
    from numpy.polynomial import legendre

    theta = np.atleast_1d(theta)
    m = len(coefficients)
    values = legendre.legvander(2 * theta - 1, m)
    parts = np.empty((len(theta), m))
    parts[:, 0] = theta
    for k in range(1, m):  # ∫ P_k = (P_k+1 - P_k-1)/(2k+1), vanishing at both ends
        parts[:, k] = (values[:, k + 1] - values[:, k - 1]) / (2 * (2 * k + 1))
    return parts @ coefficients


@dataclass
class Path:
    """A polynomial that passes a singular position: x(t0 + θ h) = x0 + h ∫ slopes."""

    t: float
    h: float
    x: np.ndarray
    coefficients: np.ndarray  # of the slopes
    where: float = 0.5  # θ of the singular position
    clear: float = 0.0  # no point is nearer to it than this, in θ
    used: float = 0.0  # θ up to which a run has followed it

    def state(self, theta: float) -> np.ndarray:
        """State at t + θ h, not projected."""
        return self.x + self.h * _integrated(self.coefficients, theta)[0]

    def slope(self, theta) -> np.ndarray:
        """Slopes at t + θ h."""
        from numpy.polynomial import legendre

        return legendre.legvander(2 * np.atleast_1d(theta) - 1, len(self.coefficients) - 1) @ self.coefficients
