"""A point on a circle under a force that makes it go round evenly: sine and cosine to the last digit."""

from __future__ import annotations

import numpy as np

from ..model.system import System
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
