"""Planar pendulum in Cartesian coordinates: one mass, one rod, known exactly."""

from __future__ import annotations

import numpy as np

from ..model.system import System
from .problem import Problem, Reference

# [eich-1993] Table 3.1, as printed; a period 4 K(1/√2) √(L/g) of exactly 2 s needs 13.75037163604074565
EICH_G = 13.7503716373294544

# y' after whole multiples of 2 s with that g, by elliptic functions
EICH_RATES = {2.0: -1.28870874505e-9, 10.0: -6.44354372525e-9, 100.0: -6.44354372525e-8}


def pendulum(*, m: float = 1.0, g: float = EICH_G, L: float = 1.0, t_end: float = 100.0) -> Problem:
    """Return the pendulum of [eich-1993], Table 3.1: released from the horizontal, period 2 s, 50 periods.

    M = m I,  V = m g y,  g = x² + y² - L²,  start (L, 0) at rest.

    With the published g the period is 2 s - 9.4e-11 s. So at t = 100 the position is the start to all
    digits, but y' has reached -6.4e-8; who compares with zero sees that number as a floor of the error.

    Parameters
    ----------
    m, g, L : float
        Mass in kg, gravity in m/s², length in m.
    t_end : float
        End in seconds.
    """
    back = ()
    if g == EICH_G and L == 1.0:
        back = tuple(
            Reference(
                t,
                q=(1.0, 0.0),
                v=(0.0, rate),
                lam=(0.0,),
                digits={"q": 15, "v": 15, "lam": 14},  # λ is 3e-15 at t = 100
                source="elliptic functions, 40 digits carried",
            )
            for t, rate in EICH_RATES.items()
        )
    return Problem(
        name="pendulum",
        title="Pendulum with a period of 2 s",
        system=swing(m, g, L),
        t_end=t_end,
        q0=(L, 0.0),
        v0=(0.0, 0.0),
        references=back,
        exact=lambda t: released_from_horizontal(t, g, L, side=1.0),
        source="[eich-1993] Table 3.1",
        notes="After many periods the error is one of energy and phase.",
    )


def pendulum_a01(*, m: float = 1.0, g: float = 9.81, L: float = 1.0, t_end: float = 10.0) -> Problem:
    """Return the simple pendulum A01 of the IFToMM benchmark library, released from (-L, 0).

    Same equations as `pendulum`. The library's own task runs 2000 s, 845 periods.

    Parameters
    ----------
    m, g, L : float
        Mass in kg, gravity in m/s², length in m.
    t_end : float
        End in seconds.
    """
    table = ()
    if g == 9.81 and L == 1.0:
        table = tuple(
            Reference(t, q=state[:2], v=state[2:], digits={"q": 15, "v": 15}, source="elliptic functions, 40 digits carried")
            for t, state in A01_STATES.items()
        )
    return Problem(
        name="pendulum-a01",
        title="Simple pendulum (IFToMM A01)",
        system=swing(m, g, L),
        t_end=t_end,
        q0=(-L, 0.0),
        v0=(0.0, 0.0),
        references=table,
        exact=lambda t: released_from_horizontal(t, g, L, side=-1.0),
        source="[iftomm-benchmarks] A01",
        notes="Period 2.3678 s. Over 2000 s the error is a pure phase error.",
    )


# t: x, y, x', y'
A01_STATES = {
    0.5: (-0.3910487915505464, -0.9203699487851922, 3.9110480039555524, -1.6617346075474144),
    1.0: (0.9862917511318753, -0.16501085312554117, 0.2969055159163158, 1.7746436411126556),
    5.0: (-0.9423054350437573, -0.3347543384140006, 0.8579042568859491, -2.4149286543704886),
    10.0: (-0.2750874625761169, -0.961419205099125, 4.175598100951729, -1.1947490545604753),
    100.0: (-0.18151335142703137, -0.9833884803340575, 4.319536780534662, -0.7972979278553605),
    2000.0: (0.8146030685890322, -0.5800188278369355, -1.9566477078826578, -2.747999117430392),
}


def swing(m, g, L) -> System:
    """Return the system m q'' = -∇V - 2 q λ, |q|² = L²; output 'tension' is the pull in the rod in N."""
    return System(
        mass=lambda p: p.m * np.eye(2),
        potential=lambda q, p: p.m * p.g * q[1],
        constraint={"rod": lambda q, p: q[0] ** 2 + q[1] ** 2 - p.L**2},
        coordinates=["x", "y"],
        outputs={"tension": lambda lam, p: 2 * p.L * lam[0]},
        params={"m": float(m), "g": float(g), "L": float(L)},
        drawing=lambda q: {"rod": [(0, 0), q], "bob": [q]},
    )


def released_from_horizontal(t, g, L, side):
    """Return q and v at time t of a pendulum released at rest from (side L, 0).

    With α the angle from the downward vertical and k² = 1/2: sin(α/2) = k sn(K - ω t), ω = √(g/L).
    """
    from scipy.special import ellipj, ellipk

    k2, w = 0.5, np.sqrt(g / L)
    K = ellipk(k2)
    sn, cn, _, _ = ellipj(K - np.remainder(w * t, 4 * K), k2)
    half = np.arcsin(np.sqrt(k2) * sn)
    rate = -2 * w * np.sqrt(k2) * cn  # α' = 2 (k cn dn)(-ω) / cos(α/2), and cos(α/2) = dn
    sin, cos = np.sin(2 * half), np.cos(2 * half)
    q = np.array([side * L * sin, -L * cos])
    v = np.array([side * L * cos * rate, L * sin * rate])
    return q, v
