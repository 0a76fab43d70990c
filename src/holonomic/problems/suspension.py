"""An arm of a wheel suspension in a stiff bushing: the fast motion dies out at once and stays in the equations."""

from __future__ import annotations

import numpy as np

from ..model.system import System
from .problem import Problem, Reference, choose

PARAMS = {"k": 1e8, "c": 1e5, "k_coil": 2.5e4, "c_coil": 1.5e3, "k_tyre": 2.0e5, "bump": 0.03}
LENGTH = 0.4
REFERENCE = Reference(
    t=1.0,
    q=(0.19955506073641, 0.013333331709151, 0.066716140271166, 0.39911012147288, 0.026666663418295),
    v=(-2.0674968e-08, 3.0808673e-07, 1.5438038e-06, -4.1259016e-08, 6.1616058e-07),
    digits={"q": 12, "v": 12},
    source="DOP853 at rtol 1e-13; Radau at 1e-12 differs by 3e-13",
)


def suspension(*, t_end: float = 1.0, **params: float) -> Problem:
    """Return an arm that turns in a rubber bushing, with a hub at its end on a coil spring and a tyre.

    q = (x, y, angle) of the arm, (x, y) of the hub. The bushing is a spring k and a damper c in both directions; its
    motion decays within about m/c. The road rises by twice `bump` at t = 0.5 s.

    Parameters
    ----------
    t_end : float
        End in seconds.
    **params
        k in N/m and c in N s/m of the bushing; k_coil, c_coil of the coil spring and its damper; k_tyre; bump in m.
    """
    params, published = choose(PARAMS, params, "suspension")
    return Problem(
        name="suspension",
        title="Wheel suspension with a stiff bushing",
        system=System(
            mass=np.diag([3.0, 3.0, 0.05, 30.0, 30.0]),
            force=_force,
            constraint={
                "ball joint x": lambda q: q[3] - q[0] - LENGTH / 2 * np.cos(q[2]),
                "ball joint y": lambda q: q[4] - q[1] - LENGTH / 2 * np.sin(q[2]),
            },
            coordinates={"arm x": "length", "arm y": "length", "arm angle": "angle", "hub x": "length", "hub y": "length"},
            outputs={"bushing x": lambda q, v, p: _bushing(q, v, p)[0], "bushing y": lambda q, v, p: _bushing(q, v, p)[1]},
            params=params,
        ),
        t_end=t_end,
        q0=(LENGTH / 2, 0.0, 0.0, LENGTH, 0.0),
        v0=(0.0,) * 5,
        references=(REFERENCE,) if published else (),
        source="this library, tutorial on stiff systems",
        notes="An explicit method needs steps of about 60 µs for the bushing, the motion 100 times longer ones.",
    )


def _bushing(q, v, p):
    """Force of the bushing on the arm."""
    half = LENGTH / 2
    x, y = q[0] - half * np.cos(q[2]), q[1] - half * np.sin(q[2])  # the end of the arm at the bushing
    dx, dy = v[0] + half * np.sin(q[2]) * v[2], v[1] - half * np.cos(q[2]) * v[2]
    return np.array([-p.k * x - p.c * dx, -p.k * y - p.c * dy])


def _force(t, q, v, p):
    bush = _bushing(q, v, p)
    torque = LENGTH / 2 * (np.sin(q[2]) * bush[0] - np.cos(q[2]) * bush[1])
    road = p.bump * np.tanh(20 * (t - 0.5))
    return np.array([bush[0], bush[1], torque, 0, -p.k_coil * q[4] - p.c_coil * v[4] - p.k_tyre * (q[4] - road)])
