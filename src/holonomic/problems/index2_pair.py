"""An index-2 equation whose multipliers enter almost along the constraint: Baumgarte's method fails on it."""

from __future__ import annotations

import numpy as np

from ..model.dae import Dae
from .problem import Problem


def index2_pair(*, nu: float = 1000.0, t_end: float = 1.0) -> Problem:
    """Return Example 1 of [ascher-chin-reich-1992]: two states, one algebraic unknown, exact solution e^t.

    x' = f - B y,  B = -((2 - t) nu, nu - 1),  0 = (t + 2) x1 + (t² - 4) x2 - (t² + t - 2) e^t

    G B = t² - 4 is moderate although G and B are large for a large nu: the columns of B lie almost in the
    tangent of the constraint, and corrections along B are long.

    Parameters
    ----------
    nu : float
        Size of B.
    t_end : float
        End in seconds, below 2, where G B vanishes.
    """
    return Problem(
        name="index-2-pair",
        title="Index-2 equation in two states",
        system=Dae(
            order=1,
            f=lambda t, p: np.array([(1 + p.nu) * np.exp(t), (1 + (p.nu - 1) / (2 - t)) * np.exp(t)]),
            B=lambda t, p: np.array([[-(2 - t) * p.nu], [1 - p.nu]]),
            g={"g": lambda t, x: (t + 2) * x[0] + (t**2 - 4) * x[1] - (t**2 + t - 2) * np.exp(t)},
            params={"nu": nu},
        ),
        t_end=t_end,
        y0=(1.0, 1.0),
        exact=lambda t: np.array([np.exp(t), np.exp(t)]),
        source="[ascher-chin-reich-1992] Example 1 and Table 1.1",
        notes="Baumgarte's method blows up for gains near 1000 even with backward Euler; corrections along Gᵀ do not.",
    )
