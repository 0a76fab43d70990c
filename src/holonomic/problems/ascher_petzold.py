"""Three equations whose constraints vary rapidly or whose masses differ widely; e^t solves each of them.

Which formulation is discretized decides whether a stiff integrator behaves as one on them. Example 2 of the same
paper is `index2_pair`.
"""

from __future__ import annotations

import numpy as np

from ..model.dae import Dae
from ..model.system import System
from .problem import Problem


def rapid_pair(*, nu: float = 1000.0, t_end: float = 1.0) -> Problem:
    """Return Example 1 of [ascher-petzold-1993]: index 2, a constraint that turns with the speed nu.

    x' = -x + q + Cᵀy (the paper's sign of y),  0 = C x + r,  C = (sin nu t, cos nu t)

    The motion along the constraint is u' = -u: nothing in it is fast but the constraint.

    Parameters
    ----------
    nu : float
        How fast the constraint turns, rad/s.
    t_end : float
        End in seconds, below 2, where y is infinite.
    """

    def f(t, x, p):
        y = np.exp(t) / (2 - t)
        return np.array([-x[0] + 2 * np.exp(t) + np.sin(p.nu * t) * y, -x[1] + 2 * np.exp(t) + np.cos(p.nu * t) * y])

    return Problem(
        name="rapid-pair",
        title="Index-2 equation with a constraint that turns rapidly",
        system=Dae(
            order=1,
            f=f,
            B=lambda t, p: np.array([[-np.sin(p.nu * t)], [-np.cos(p.nu * t)]]),
            g={"g": lambda t, x, p: np.sin(p.nu * t) * (x[0] - np.exp(t)) + np.cos(p.nu * t) * (x[1] - np.exp(t))},
            params={"nu": nu},
        ),
        t_end=t_end,
        y0=(1.0, 1.0),
        exact=lambda t: np.array([np.exp(t), np.exp(t)]),
        source="[ascher-petzold-1993] Example 1 and Table 4.1",
        notes="Steps longer than 1/nu are possible only where the constraint is imposed as it is.",
    )


def heterogeneous_masses(*, nu: float = 1000.0, damping: float = 1.0, t_end: float = 1.0) -> Problem:
    """Return Example 3 of [ascher-petzold-1993]: M⁻¹Cᵀ is far longer than C where nu is large.

    M(t) v' = E v + q - Cᵀλ,  0 = C p + r,  C = (1, t - 2),  E = diag(0, damping/((2 + t) nu)),
    M = [[(2 nu² - 2 nu + 1)/(2 - t), -nu (2 nu - 1)], [-nu (2 nu - 1), 2 nu² (2 - t)]] / ((2 + t) nu²)

    The motion along the constraint is u'' = -c nu/(2 - t) u' - c nu/(2 - t)² u with c = 1, 2 and 0 for a damping of 1,
    0 and 2: stiff, stiff and not stiff.

    Parameters
    ----------
    nu : float
        Ratio of the masses, about; 1, 100 and 1000 in the paper.
    damping : float
        Factor of E: 1, 0 or 2 in the paper.
    t_end : float
        End in seconds, below 2, where λ is infinite.
    """

    def mass(t, p):
        off = -p.nu * (2 * p.nu - 1)
        return np.array([[(2 * p.nu**2 - 2 * p.nu + 1) / (2 - t), off], [off, 2 * p.nu**2 * (2 - t)]]) / ((2 + t) * p.nu**2)

    def force(t, v, p):
        M, e, grown = mass(t, p), p.damping / ((2 + t) * p.nu), np.exp(t)
        return np.array([grown * (M[0, 0] + M[0, 1] + 1 / (2 - t)), e * v[1] + grown * (M[1, 0] + M[1, 1] - e - 1)])

    return Problem(
        name="heterogeneous-masses",
        title="Two masses that differ widely under one moving constraint",
        system=System(
            mass=mass,
            force=force,
            constraint={"g": lambda t, q: q[0] + (t - 2) * q[1] + (1 - t) * np.exp(t)},
            coordinates=["p1", "p2"],
            outputs={"reaction": lambda t, lam: np.array([-lam[0], (2 - t) * lam[0]])},
            params={"nu": nu, "damping": damping},
        ),
        t_end=t_end,
        q0=(1.0, 1.0),
        v0=(1.0, 1.0),
        exact=_exponential,
        source="[ascher-petzold-1993] Example 3 and Tables 4.3 to 4.8",
        notes="Formulations that correct along M⁻¹Gᵀ, or treat the change of G explicitly, blow up for nu = 1000, h = 0.01.",
    )


def rapid_constraint(*, nu: float = 100.0, t_end: float = 1.0) -> Problem:
    """Return Example 4 of [ascher-petzold-1993]: strong damping under a constraint that turns with the speed nu.

    v' = -nu² v + q - Cᵀλ,  0 = C p + r,  C = (sin nu t, cos nu t)

    Parameters
    ----------
    nu : float
        How fast the constraint turns, rad/s.
    t_end : float
        End in seconds, below 2, where λ is infinite.
    """

    def force(t, v, p):
        lam, grown = np.exp(t) / (2 - t), np.exp(t)
        return np.array(
            [p.nu**2 * (grown - v[0]) + grown + np.sin(p.nu * t) * lam, p.nu**2 * (grown - v[1]) + grown + np.cos(p.nu * t) * lam]
        )

    return Problem(
        name="rapid-constraint",
        title="Damped point under a constraint that turns rapidly",
        system=System(
            mass=np.eye(2),
            force=force,
            constraint={"g": lambda t, q, p: np.sin(p.nu * t) * (q[0] - np.exp(t)) + np.cos(p.nu * t) * (q[1] - np.exp(t))},
            coordinates=["p1", "p2"],
            outputs={"reaction": lambda t, lam, p: -lam[0] * np.array([np.sin(p.nu * t), np.cos(p.nu * t)])},
            params={"nu": nu},
        ),
        t_end=t_end,
        q0=(1.0, 1.0),
        v0=(1.0, 1.0),
        exact=_exponential,
        source="[ascher-petzold-1993] Example 4 and Table 4.9",
        notes="With steps of 10/nu only the transpose of the whole constraint Jacobian keeps both levels and v.",
    )


def _exponential(t):
    return np.array([np.exp(t), np.exp(t)]), np.array([np.exp(t), np.exp(t)])
