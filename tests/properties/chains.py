"""Random chains of masses on rods: what the property tests of this folder run."""

from functools import cache

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from holonomic import System

# The same examples every time: a run near a tolerance must not fail on one day in a hundred.
QUICK = settings(max_examples=25, deadline=None, derandomize=True)


@cache
def chain(n, order=None, rows=None):
    """Point masses on rods under gravity; `order` permutes the coordinates, `rows` the constraints.

    Coordinate `order[k]` of the plain chain (x1, y1, x2, y2, ...) stands at place k.
    """
    order = tuple(range(2 * n)) if order is None else order
    rows = tuple(range(n)) if rows is None else rows
    place = {k: where for where, k in enumerate(order)}

    def rod(i):
        ends = [place[2 * i], place[2 * i + 1]]
        last = [place[2 * i - 2], place[2 * i - 1]] if i else None

        def g(q, p):
            x = q[ends[0]] - (q[last[0]] if last else 0)
            y = q[ends[1]] - (q[last[1]] if last else 0)
            return p.scale[i] * (x**2 + y**2 - p.length[i] ** 2)

        return g

    return System(
        mass=lambda p: np.diag([p.mass[k // 2] for k in order]),
        potential=lambda q, p: sum(9.81 * p.mass[i] * q[place[2 * i + 1]] for i in range(n)),
        constraint={f"rod {i + 1}": rod(i) for i in rows},
        params={"mass": np.ones(n), "length": np.ones(n), "scale": np.ones(n)},
    )


def start(length, angles, rates):
    """q and v of the plain chain; angles from the downward vertical."""
    length, angles, rates = map(np.asarray, (length, angles, rates))
    q = np.cumsum(np.column_stack([length * np.sin(angles), -length * np.cos(angles)]), axis=0)
    v = np.cumsum(np.column_stack([length * rates * np.cos(angles), length * rates * np.sin(angles)]), axis=0)
    return q.ravel(), v.ravel()


def numbers(low, high, n):
    return st.lists(st.floats(low, high, allow_subnormal=False), min_size=n, max_size=n)


@st.composite
def swinging_chains(draw, most=3):
    """(system, q0, v0): 1 to `most` masses, lengths and masses over a decade, not too fast."""
    n = draw(st.integers(1, most))
    length = draw(numbers(0.3, 2.0, n))
    mass = draw(numbers(0.2, 5.0, n))
    q, v = start(length, draw(numbers(-2.5, 2.5, n)), draw(numbers(-2.0, 2.0, n)))
    return chain(n).with_params(length=length, mass=mass), q, v
