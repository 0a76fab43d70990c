"""Car axis on a bumpy road: stiff springs and a constraint that moves with time."""

from __future__ import annotations

import numpy as np

from ..model.system import System
from .problem import Problem, Reference, choose

PARAMS = {"eps": 0.01, "mass": 10.0, "L": 1.0, "L0": 0.5, "r": 0.1, "w": 10.0, "grav": 1.0}


def car_axis(*, t_end: float = 3.0, **params: float) -> Problem:
    """Return the car axis of [ivp-testset]: two wheels on springs, joined by an axle of length L.

    q = (xl, yl, xr, yr), M = k I with k = mass eps²/2. The left spring stands at the origin, the right one
    on the road at (xb, yb), yb = r sin(w t), xb = √(L² - yb²). Constraints: the left strut is at right
    angles to the road, and the axle keeps its length. Outputs: 'road', the point (xb, yb), and
    'spring lengths'.

    Parameters
    ----------
    t_end : float
        End in seconds.
    **params
        eps, mass, L, L0, r, w, grav.
    """
    params, published = choose(PARAMS, params, "car-axis")
    return Problem(
        name="car-axis",
        title="Car axis on a bumpy road",
        system=System(
            mass=lambda p: p.mass * p.eps**2 / 2 * np.eye(4),
            force=force,
            constraint={
                "left strut": lambda t, q, p: road(t, p)[0] * q[0] + road(t, p)[1] * q[1],
                "axle": lambda q, p: (q[0] - q[2]) ** 2 + (q[1] - q[3]) ** 2 - p.L**2,
            },
            coordinates=["xl", "yl", "xr", "yr"],
            outputs={"road": lambda t, p: road(t, p), "spring lengths": lambda t, q, p: np.array([*struts(t, q, p)])},
            params=params,
            drawing=lambda t, q, p: {"axle": [q[:2], q[2:]], "left strut": [(0, 0), q[:2]], "right strut": [road(t, p), q[2:]]},
        ),
        t_end=t_end,
        q0=(0.0, 0.5, 1.0, 0.5),
        v0=(-0.5, 0.0, -0.5, 0.0),
        references=REFERENCES if published else (),
        source="[ivp-testset] caraxis",
        notes=(
            "The test set prints its multipliers with the opposite sign; its velocities are right to 11.3 digits; "
            "the references here are recomputed."
        ),
    )


def road(t, p):
    """Return the foot of the right spring."""
    yb = p.r * np.sin(p.w * t)
    return np.array([np.sqrt(p.L**2 - yb**2), yb])


def struts(t, q, p):
    """Return the lengths of the left and the right spring."""
    xb, yb = road(t, p)
    return np.sqrt(q[0] ** 2 + q[1] ** 2), np.sqrt((q[2] - xb) ** 2 + (q[3] - yb) ** 2)


def force(t, q, p):
    """Return spring forces and weight."""
    xb, yb = road(t, p)
    left, right = struts(t, q, p)
    weight = p.mass * p.eps**2 / 2 * p.grav
    sl, sr = (p.L0 - left) / left, (p.L0 - right) / right
    return np.array([sl * q[0], sl * q[1] - weight, sr * (q[2] - xb), sr * (q[3] - yb) - weight])


REFERENCES = (
    Reference(
        3.0,
        q=(0.049345578427524094, 0.49698946023000806, 1.0417425248854262, 0.3739110272653658),
        v=(-0.07705836840359201, 0.00744686659206916, 0.01755681575354163, 0.7703410437796002),
        lam=(0.004736886590853325, 0.001104680331259565),  # signs of M v' = f - Gᵀλ
        digits={"q": 14, "v": 12, "lam": 14},
        source="own extrapolation runs in 80-bit arithmetic with projection, at two tolerances",
    ),
)
