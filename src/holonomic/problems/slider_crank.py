"""Slider-crank with a periodic torque on the crank."""

from __future__ import annotations

import numpy as np

from ..model.system import System
from .problem import Problem, Reference, choose

PARAMS = {"J1": 10.0, "m2": 1.0, "J2": 1.0, "g": 9.81, "r": 1.0, "l": 3.0, "l1": 2.0}  # kg m², kg, m/s², m


def slider_crank(*, t_end: float = 10.0, **params: float) -> Problem:
    """Return the slider-crank of [ascher-chin-reich-1992], Example 4.

    q = (θ, x2, y2, ψ): crank angle, centre of the rod, rod angle. The crank of length r is turned by
    sin t - θ'; gravity acts on the rod, whose length is l and whose centre lies l1 from the crank pin.
    Outputs: 'slider', its position on the x axis, and 'crank torque'.

    Parameters
    ----------
    t_end : float
        End in seconds.
    **params
        J1, m2, J2, g, r, l, l1. With another r, l or l1 the start is no longer consistent.
    """
    params, published = choose(PARAMS, params, "slider-crank")
    return Problem(
        name="slider-crank",
        title="Slider-crank under a periodic torque",
        system=System(
            mass=lambda p: np.array([[p.J1, 0, 0, 0], [0, p.m2, 0, 0], [0, 0, p.m2, 0], [0, 0, 0, p.J2]]),
            force=lambda t, v: np.array([np.sin(t) - v[0], 0, 0, 0]),
            potential=lambda q, p: p.m2 * p.g * q[2],
            constraint={
                "crank pin x": lambda q, p: q[1] - p.r * np.cos(q[0]) - p.l1 * np.cos(q[3]),
                "slider height": lambda q, p: p.r * np.sin(q[0]) - p.l * np.sin(q[3]),
                "rod centre y": lambda q, p: q[2] - (p.l - p.l1) * np.sin(q[3]),
            },
            coordinates={"theta": "angle", "x2": "length", "y2": "length", "psi": "angle"},
            outputs={"slider": lambda q, p: p.r * np.cos(q[0]) + p.l * np.cos(q[3]), "crank torque": lambda t, v: np.sin(t) - v[0]},
            params=params,
            drawing=drawing,
        ),
        t_end=t_end,
        q0=(0.0, 3.0, 0.0, 0.0),
        v0=(-1.0, 0.0, -1 / 3, -1 / 3),
        references=REFERENCES if published else (),
        source="[ascher-chin-reich-1992] Example 4",
        notes="The report names no end time; 10 s is our choice.",
    )


def drawing(q, p):
    """Return crank, rod and slider; the rod's ends follow from its centre, so drift is seen as a gap."""
    theta, x, y, psi = q
    slider = (x + (p.l - p.l1) * np.cos(psi), y - (p.l - p.l1) * np.sin(psi))
    pin = (x - p.l1 * np.cos(psi), y + p.l1 * np.sin(psi))
    return {"crank": [(0, 0), (p.r * np.cos(theta), p.r * np.sin(theta))], "rod": [pin, slider], "slider": [slider]}


SOURCE = "own extrapolation runs in 80-bit arithmetic, in the crank angle alone, at two step sizes"

REFERENCES = (
    Reference(
        1.0,
        q=(-1.0612702823979524, 2.4012145661167686, -0.29099192798484267, -0.29526346926284171),
        v=(-1.0741410601763161, -1.0439354473165059, -0.17464228554156306, -0.18254168417495116),
        lam=(0.37303786310647746, 3.4314443807581919, -10.154967754503073),
        digits={"q": 15, "v": 15, "lam": 15},
        source=SOURCE,
    ),
    Reference(
        10.0,
        q=(-0.58703307062855055, 2.7982034997828359, -0.18463107849784761, -0.18569647409865289),
        v=(0.57758998220120902, 0.38015064489273822, 0.16029810557529126, 0.1631021747602337),
        lam=(0.53711360211795777, 3.1774963196133679, -9.7753018261354088),
        digits={"q": 15, "v": 15, "lam": 15},
        source=SOURCE,
    ),
)
