"""A pendulum whose rod is followed by a stiff spring: an oscillation that nothing excites, or a damped one."""

from __future__ import annotations

import numpy as np

from ..model.system import System
from .problem import Problem, Reference, choose

PARAMS = {"k": 1e6, "c": 0.0, "g": 9.81}
REFERENCE = Reference(
    t=2.0,
    q=(0.037555563333, -0.999294540995, 0.000529739672, -1.998621384702),
    v=(1.237996864, 0.046526492, 2.372667018, 0.004486080),
    digits={"q": 10, "v": 9},
    source="DOP853 at rtol 1e-13; Radau at 1e-12 differs by 6e-11",
)


def spring_pendulum(*, t_end: float = 2.0, **params: float) -> Problem:
    """Return two point masses of 1 kg: the first on a rod of 1 m, the second on a stiff spring of 1 m below it.

    q = (x1, y1, x2, y2). The spring oscillates with about sqrt(2 k) rad/s. It starts stretched by what it carries, so
    that hardly anything of this oscillation is in the motion.

    Parameters
    ----------
    t_end : float
        End in seconds.
    **params
        k in N/m and c in N s/m of the spring and its damper; g in m/s².
    """
    params, published = choose(PARAMS, params, "spring-pendulum")
    stretched = 1.0 + params["g"] * np.cos(0.5) / params["k"]
    x, y = np.sin(0.5), -np.cos(0.5)
    return Problem(
        name="spring-pendulum",
        title="Double pendulum with a stiff spring for its second rod",
        system=System(
            mass=np.eye(4),
            potential=lambda q, p: p.g * (q[1] + q[3]) + p.k * (_length(q) - 1.0) ** 2 / 2,
            force=_damper,
            constraint={"rod": lambda q: q[0] ** 2 + q[1] ** 2 - 1.0},
            coordinates=["x1", "y1", "x2", "y2"],
            outputs={"spring": lambda q, p: p.k * (_length(q) - 1.0)},
            params=params,
        ),
        t_end=t_end,
        q0=(float(x), float(y), float(x * (1.0 + stretched)), float(y * (1.0 + stretched))),
        v0=(0.0,) * 4,
        references=(REFERENCE,) if published else (),
        source="this library",
        notes="Without damping the spring stays excited a little: implicit methods damp it, explicit ones resolve it.",
    )


def _length(q):
    return np.sqrt((q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2)


def _damper(q, v, p):
    d = np.array([q[2] - q[0], q[3] - q[1]]) / _length(q)
    pull = p.c * (d[0] * (v[2] - v[0]) + d[1] * (v[3] - v[1]))
    return np.array([pull * d[0], pull * d[1], -pull * d[0], -pull * d[1]])
