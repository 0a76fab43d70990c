"""Two small equations with an invariant: one that shows what each stabilization leaves, one that none can keep."""

from __future__ import annotations

import numpy as np

from ..model.system import Ode
from .problem import Problem


def cubic_time(*, t_end: float = 1.0) -> Problem:
    """Return Example 2 of [ascher-chin-reich-1992]: z' = 3t², with the invariant z - t³.

    The midpoint rule misses t³ by h³/4 in every step, so that the drift of each stabilization has a closed
    form: -n h³/4 without, -h³/(4α) with the forward or backward Euler pull of strength α, and
    -(1 - α) h³/(4α) with post-stabilization.

    Parameters
    ----------
    t_end : float
        End in seconds.
    """
    return Problem(
        name="cubic-time",
        title="z' = 3t² with the invariant z - t³",
        system=Ode(rhs=lambda t: np.array([3 * t**2]), invariants={"z - t³": lambda t, y: y[0] - t**3}),
        t_end=t_end,
        y0=(0.0,),
        exact=lambda t: np.array([t**3]),
        source="[ascher-chin-reich-1992] Example 2",
        notes="Any integrator of order 3 or more is exact here: try the midpoint rule.",
    )


def leaving_circle(*, t_end: float = 10.0) -> Problem:
    """Return the counterexample of [ascher-chin-reich-1992], Section 2: a circle that is not attracting.

    z' = (z2, -z1) + z h^(1/3)/r²,  h = r² - 1. On the circle h = 0 is kept, but the rate at which h grows beside
    it is no multiple of h: h' = 2 h^(1/3) - γ h under invariant stabilization, which ends at (2/γ)^(3/2).

    Parameters
    ----------
    t_end : float
        End in seconds.
    """
    return Problem(
        name="leaving-circle",
        title="A circle that stabilization cannot keep",
        system=Ode(rhs=leaving, invariants={"r² - 1": lambda y: y[0] ** 2 + y[1] ** 2 - 1}),
        t_end=t_end,
        y0=(1.0, 0.0),
        exact=lambda t: np.array([np.cos(t), -np.sin(t)]),
        source="[ascher-chin-reich-1992] Section 2, remark 1",
        notes="The right-hand side has no bounded derivative on the circle; projection keeps it there all the same.",
    )


def leaving(y):
    """Return a turn, and a push away from the unit circle."""
    square = y[0] ** 2 + y[1] ** 2
    h = square - 1
    root = np.where(h > 0, np.abs(h) ** (1 / 3), -(np.abs(h) ** (1 / 3)))
    return np.array([y[1] + y[0] * root / square, -y[0] + y[1] * root / square])
