"""Kepler's two-body problem: an ODE with two invariants."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..model.system import Ode
from .problem import Problem, Reference


def kepler(*, c: float = 0.5, K: float = 1.0, t_end: float = 4 * np.pi) -> Problem:
    """Return the orbit of [ascher-chin-reich-1992], Example 3: y = (x, y, x', y'), two turns.

    x'' = -K x/r³,  start (c, 0) with velocity (0, √(K(2/c - 1))), so that the energy is -K/2 and the
    major half axis 1. Invariants: energy |v|²/2 - K/r and momentum x y' - y x'.

    Parameters
    ----------
    c : float
        Distance of the start from the centre, 0 < c < 2; the eccentricity is |1 - c|.
    K : float
        Strength of attraction; the period is 2π/√K.
    t_end : float
        End in seconds.
    """
    if not 0 < c < 2:
        raise BadArgument(f"c = {c:g} gives no ellipse with major half axis 1. Choose c between 0 and 2.")
    c, K = float(c), float(K)
    y0 = (c, 0.0, 0.0, float(np.sqrt(K * (2 / c - 1))))
    back = ()
    if K == 1.0:
        back = tuple(Reference(2 * np.pi * n, y=y0, digits={"y": 15}, source="exact: a whole number of turns") for n in (1, 2))
    return Problem(
        name="kepler",
        title="Kepler's problem, two turns",
        system=Ode(
            rhs=attraction,
            invariants={
                "energy": lambda y, p: (y[2] ** 2 + y[3] ** 2) / 2 - p.K / np.sqrt(y[0] ** 2 + y[1] ** 2),
                "momentum": lambda y: y[0] * y[3] - y[1] * y[2],
            },
            params={"K": K},
            drawing=lambda y: {"sun": [(0, 0)], "planet": [y[:2]]},
        ),
        t_end=t_end,
        y0=y0,
        references=back,
        exact=lambda t: orbit(t, c, K),
        source="[ascher-chin-reich-1992] Example 3 and Table 3.1",
        notes="On a circular orbit (c = 1) the gradients of energy and momentum are parallel.",
    )


def attraction(y, p):
    """Return (x', y', x'', y'')."""
    r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.array([y[2], y[3], -p.K * y[0] / r3, -p.K * y[1] / r3])


def orbit(t, c, K):
    """Return y(t) from Kepler's equation E - e sin E = √K t; e = 1 - c < 0: from the far end."""
    e, n = 1 - c, np.sqrt(K)
    mean = np.remainder(n * t + np.pi, 2 * np.pi) - np.pi
    # the root lies within |e| of the mean anomaly; bisection cannot be led astray by e near 1
    low, high = mean - abs(e), mean + abs(e)
    for _ in range(60):
        E = (low + high) / 2
        low, high = (E, high) if E - e * np.sin(E) < mean else (low, E)
    E -= (E - e * np.sin(E) - mean) / (1 - e * np.cos(E))
    sin, cos, b = np.sin(E), np.cos(E), np.sqrt(1 - e * e)
    rate = n / (1 - e * cos)
    return np.array([cos - e, b * sin, -sin * rate, b * cos * rate])
