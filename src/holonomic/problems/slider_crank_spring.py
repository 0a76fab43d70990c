"""Slider-crank with a spring and a damper between the midpoints of crank and rod."""

from __future__ import annotations

import numpy as np

from ..model.system import System
from .problem import Problem, Reference, choose

PARAMS = {"a": 0.5, "J1": 1.0, "m2": 1.0, "J2": 2.0, "k": 1.0, "c": 1.0, "l0": 1.0, "F": 1.0}


def slider_crank_spring(*, t_end: float = 10.0, **params: float) -> Problem:
    """Return the slider-crank distributed with SUNDIALS as an example of IDA.

    q = (θ, x, φ): crank angle, slider position, rod angle. Crank length a, rod length 1; a spring and a
    damper act along a distance l(q), and a constant force F pushes slider and rod end. The spring is a
    potential, k (l - l0)²/2; the damper force is -c l' ∂l/∂q. Output: 'spring length'.

    Parameters
    ----------
    t_end : float
        End in seconds.
    **params
        a, J1, m2, J2, k, c, l0, F. With another a the start is no longer consistent.
    """
    params, published = choose(PARAMS, params, "slider-crank-spring")
    return Problem(
        name="slider-crank-spring",
        title="Slider-crank with spring and damper",
        system=System(
            mass=lambda p: np.array([[p.J1, 0, 0], [0, p.m2, 0], [0, 0, p.J2]]),
            force=damper_and_push,
            potential=lambda q, p: p.k * (spring_length(q, p) - p.l0) ** 2 / 2,
            constraint={
                "rod end x": lambda q, p: q[1] - np.cos(q[2]) - p.a * np.cos(q[0]),
                "rod end y": lambda q, p: -np.sin(q[2]) - p.a * np.sin(q[0]),
            },
            coordinates={"theta": "angle", "x": "length", "phi": "angle"},
            outputs={"spring length": lambda q, p: spring_length(q, p)},
            params=params,
            drawing=lambda q, p: {
                "crank": [(0, 0), (p.a * np.cos(q[0]), p.a * np.sin(q[0]))],
                "rod": [(q[1] - np.cos(q[2]), -np.sin(q[2])), (q[1], 0)],
                "slider": [(q[1], 0)],
            },
        ),
        t_end=t_end,
        q0=(1.5707963267948966, 0.8660254037844386, -0.5235987755982989),
        v0=(0.0, 0.0, 0.0),
        references=REFERENCES if published else (),
        source="SUNDIALS (Hindmarsh et al., ACM TOMS 31, 2005, 363-396), example idaSlCrank_dns",
        notes="The example's printed output, made at tolerance 1e-6, agrees with the references to 4 digits.",
    )


def squared_length(q, p):
    """Return l²."""
    th, x, ph = q[0], q[1], q[2]
    return x**2 - x * (np.cos(ph) + p.a * np.cos(th)) + (1 + p.a**2) / 4 + p.a / 2 * np.cos(ph - th)


def spring_length(q, p):
    """Return l(q)."""
    return np.sqrt(squared_length(q, p))


def damper_and_push(q, v, p):
    """Return -c l' ∂l/∂q plus the constant push."""
    th, x, ph = q[0], q[1], q[2]
    # ∂(l²)/∂q; l l' is half of its product with v
    gradient = np.array(
        [
            p.a * (x * np.sin(th) + np.sin(ph - th) / 2),
            2 * x - np.cos(ph) - p.a * np.cos(th),
            x * np.sin(ph) - p.a / 2 * np.sin(ph - th),
        ]
    )
    rate = (gradient[0] * v[0] + gradient[1] * v[1] + gradient[2] * v[2]) / 2
    push = np.array([0, p.F, -p.F * np.sin(ph)])
    return push - p.c * rate / squared_length(q, p) / 2 * gradient


SOURCE = "own extrapolation runs in 80-bit arithmetic, in the crank angle alone, at two step sizes"

REFERENCES = (
    Reference(
        1.0,
        q=(1.3154205708816982, 1.0014918072308003, -0.50497347064200146),
        v=(-0.50879297690986916, 0.28166909468698724, 0.073427529014185308),
        lam=(1.0548152466553253, -0.55382072666396439),
        digits={"q": 15, "v": 15, "lam": 15},
        source=SOURCE,
    ),
    Reference(
        5.0,
        q=(-1.4299969676472273, 0.93903061357826625, 0.51789475648988624),
        v=(0.0549916105377645, 0.029422231647781112, -0.00444098975895675),
        lam=(1.2218087447057584, 1.0131220400588034),
        digits={"q": 15, "v": 15, "lam": 15},
        source=SOURCE,
    ),
    Reference(
        10.0,
        q=(1.2756758486502394, 1.0235785589798395, -0.49881304918249875),
        v=(-0.23991499719600072, 0.13377828321577765, 0.039731495991321747),
        lam=(1.1137561582630466, -0.76250727510644779),
        digits={"q": 15, "v": 15, "lam": 15},
        source=SOURCE,
    ),
)
