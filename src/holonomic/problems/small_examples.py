"""Small equations with known answers: a point on a circle, an index-2 pair, and two with an invariant.

The first is sine and cosine to the last digit. In the second the multipliers enter almost along the constraint, and Baumgarte's
method fails. Of the last two one shows what each stabilization leaves, and none can keep the other.
"""

from __future__ import annotations

import numpy as np

from ..model.dae import Dae
from ..model.system import Ode, System
from .problem import Problem


def unit_circle(*, t_end: float = 5.0) -> Problem:
    """Return the example of [steinbrecher-2003]: q = (sin t, cos t), λ = sin t cos t.

    v' = (-q1 - 2 q1 v1 v2, -v1 + 2 q1 q2²) - Gᵀλ,  0 = q1² + q2² - 1

    Parameters
    ----------
    t_end : float
        End in seconds.
    """
    return Problem(
        name="unit-circle",
        title="Point on a circle, even motion",
        system=System(
            mass=np.eye(2),
            force=lambda q, v: np.array([-q[0] - 2 * q[0] * v[0] * v[1], -v[0] + 2 * q[0] * q[1] ** 2]),
            constraint={"circle": lambda q: q @ q - 1},
            coordinates=["x", "y"],
            outputs={"pull": lambda lam: 2 * lam[0]},
            drawing=lambda q: {"rod": [(0, 0), q], "point": [q]},
        ),
        t_end=t_end,
        q0=(0.0, 1.0),
        v0=(1.0, 0.0),
        exact=lambda t: (np.array([np.sin(t), np.cos(t)]), np.array([np.cos(t), -np.sin(t)])),
        source="[steinbrecher-2003] (34), (35)",
        notes="Small errors grow: a start that is off by 1e-4 ends 3e-2 away at t = 5.",
    )


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
