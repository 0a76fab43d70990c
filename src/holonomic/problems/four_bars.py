"""Row of n four-bar linkages that share their uprights: one degree of freedom, singular twice per turn."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument
from ..model.system import System
from .problem import Problem, Reference


def four_bars(n: int = 2, *, m: float = 1.0, l: float = 1.0, g: float = 9.81, speed: float = 1.0, t_end: float = 10.0) -> Problem:
    """Return the n-four-bar mechanism A02 of the IFToMM benchmark library.

    Ground pins stand at (i l, 0), i = 0..n; above each a uniform upright of length l ends in the joint
    B_i, and uniform bars of length l join neighbouring joints. q = (x0, y0, ..., xn, yn). A uniform rod
    adds m/3 to the diagonal at each moving end and m/6 to the coupling of two. All start upright with
    velocity (speed, 0) and stay parallel. Output: 'angle' of the first upright from the vertical, in
    (-π, π].

    Parameters
    ----------
    n : int
        Number of four-bar loops.
    m, l, g : float
        Mass in kg and length in m of every rod, gravity in m/s².
    speed : float
        Starting speed of the joints in m/s.
    t_end : float
        End in seconds.
    """
    if n < 1:
        raise BadArgument(f"A four-bar mechanism needs at least one loop, not {n}.")
    m, l, g, speed = float(m), float(l), float(g), float(speed)
    exact = lambda t: parallel_motion(t, n, l, g, speed)
    published = (l, g, speed) == (1.0, 9.81, 1.0)
    return Problem(
        name="four-bars",
        title=f"Row of {n} four-bar linkages (IFToMM A02)",
        system=System(
            mass=lambda p: rod_masses(n, p.m),
            potential=lambda q, p: p.m * p.g * rod_heights(n, q),
            constraint={**{f"upright {i}": upright(i) for i in range(n + 1)}, **{f"bar {i + 1}": bar(i) for i in range(n)}},
            coordinates=[f"{axis}{i}" for i in range(n + 1) for axis in "xy"],
            outputs={"angle": lambda q: np.arctan2(q[0], q[1])},
            params={"m": m, "l": l, "g": g},
            drawing=drawing,
        ),
        t_end=t_end,
        q0=tuple(x for i in range(n + 1) for x in (i * l, l)),
        v0=(speed, 0.0) * (n + 1),
        references=tuple(spread(n, t, s) for t, s in FIRST_JOINT.get(n, {}).items()) if published else (),
        exact=exact,
        source="[iftomm-benchmarks] A02",
        notes=(
            "G loses rank n whenever the uprights lie flat, twice in a turn of 1.94 s (n = 2); "
            "the smooth continuation is the parallel motion."
        ),
    )


def drawing(q, p):
    """Return uprights and bars."""
    tops = np.reshape(q, (-1, 2))
    uprights = {f"upright {i}": [(i * p.l, 0), top] for i, top in enumerate(tops)}
    return uprights | {f"bar {i + 1}": tops[i : i + 2] for i in range(len(tops) - 1)}


def upright(i):
    """Return the constraint of upright i."""
    return lambda q, p: (q[2 * i] - i * p.l) ** 2 + q[2 * i + 1] ** 2 - p.l**2


def bar(i):
    """Return the constraint of the bar between the joints i and i + 1."""
    k = 2 * i
    return lambda q, p: (q[k + 2] - q[k]) ** 2 + (q[k + 3] - q[k + 1]) ** 2 - p.l**2


def rod_masses(n, m):
    """Return the constant mass matrix."""
    bars_at = [(i > 0) + (i < n) for i in range(n + 1)]

    def entry(i, j):
        if i == j:
            return m * (1 + bars_at[i]) / 3
        return m / 6 if abs(i - j) == 1 else 0

    size = range(2 * (n + 1))
    return np.array([[entry(a // 2, b // 2) if a % 2 == b % 2 else 0 for b in size] for a in size])


def rod_heights(n, q):
    """Return the sum of the heights of all rod centres."""
    uprights = sum(q[2 * i + 1] for i in range(n + 1)) / 2
    bars = sum(q[2 * i + 1] + q[2 * i + 3] for i in range(n)) / 2
    return uprights + bars


def parallel_motion(t, n, l, g, speed):
    """Return q and v at time t.

    The common angle ψ from the vertical obeys ψ'' = κ sin ψ with κ = (g/l) ((n+1)/2 + n)/((n+1)/3 + n),
    so ψ/2 = am(ω t/2 | -4κ/ω²), ω = ψ'(0). A negative parameter is turned into one between 0 and 1 by
    am(u | -s) = π/2 - am(K - √(1+s) u), the right side with parameter s/(1+s).
    """
    from scipy.special import ellipj, ellipkm1

    kappa = g / l * ((n + 1) / 2 + n) / ((n + 1) / 3 + n)
    w = speed / l
    s = 4 * kappa / w**2
    m1 = 1 / (1 + s)  # complementary parameter
    K = ellipkm1(m1)
    u = np.remainder(np.sqrt(1 + s) * w * t / 2, 2 * K)  # ψ/2 gains π in 2K: sin ψ and cos ψ are periodic
    half = np.pi / 2 - ellipj(K - u, s * m1)[3]
    sin, cos = np.sin(2 * half), np.cos(2 * half)
    rate = np.sign(w) * np.sqrt(w**2 + 4 * kappa * np.sin(half) ** 2)
    q = np.array([x for i in range(n + 1) for x in (i * l + l * sin, l * cos)])
    v = np.tile([l * cos * rate, -l * sin * rate], n + 1)
    return q, v


def spread(n, t, first) -> Reference:
    """Return the reference of the whole row from the state of its first joint."""
    x, y, vx, vy = first
    return Reference(
        t,
        q=[c for i in range(n + 1) for c in (i + x, y)],
        v=[vx, vy] * (n + 1),
        digits={"q": 15, "v": 15},
        source="elliptic functions, 40 digits carried",
    )


# n: {t: x, y, x', y' of the first joint}
FIRST_JOINT = {
    2: {
        1.0: (-0.1950203019494351, -0.9807992056621738, -6.6766780368811585, 1.3275783251604871),
        5.0: (-0.8113104610051074, -0.5846155453489755, -3.5691173971932093, 4.953105171313327),
        10.0: (0.3284581115408154, 0.944518538178601, 1.4230514702069441, -0.49486884548704296),
        20.0: (0.8397465743068435, 0.5429785363528846, 1.8382226441967426, -2.842913789274097),
    },
    40: {
        1.0: (-0.1153568806321099, -0.9933241113004502, -6.669987523941772, 0.7746000986623434),
        5.0: (-0.5401900506755263, -0.841543052464443, -5.436369112578549, 3.489628365197338),
        10.0: (0.1805122266867284, 0.9835727405823116, 1.1484412774694142, -0.21077006677942392),
        20.0: (0.4109011537629452, 0.9116799009719807, 1.5667853719090699, -0.7061622355938373),
    },
}
