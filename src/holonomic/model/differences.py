"""Derivatives by central differences of order 4, for functions that cannot be traced.

A step must be small beside the size over which a function bends and large beside rounding. That size is not
known, so it is measured once per coordinate: of several candidates the one is taken at which halving the step
changes the derivative least. What is left of that change is the error that can be expected.
"""

from __future__ import annotations

import numpy as np

# Steps in units of a coordinate's scale, where truncation (s⁴/30, s⁴/90 for the second derivative) meets
# rounding (1.5 ε/s, 5 ε/s²).
FIRST = 1e-3
SECOND = 6e-3
SMALLEST = -5  # decimal exponent of the smallest scale tried
GOOD = 1e-10  # relative change below which no other scale is tried


class Differences:
    """Derivatives of one function f(t, q) with vector values, with steps measured at given points.

    Parameters
    ----------
    f : function of (t, q)
        Returns an array of fixed length.
    points : sequence of (t, q)
        Where the scales are measured; the first one counts, others are left out if f is not finite there.
    timed : bool
        Whether f depends on t.
    """

    def __init__(self, f, points, timed: bool):
        self.timed = timed
        self.scale = np.ones(len(points[0][1]))
        self.scale_t = 1.0
        self.error = 0.0
        slopes = [self.by_q(f, t, q) for t, q in points]
        kept = [i for i, slope in enumerate(slopes) if i == 0 or np.all(np.isfinite(slope))]
        points = [points[i] for i in kept]
        size = max((float(np.max(np.abs(slopes[i]), initial=0.0)) for i in kept), default=0.0) or 1.0
        for i in range(len(self.scale)):
            largest = max(abs(q[i]) for _, q in points)
            self.scale[i], change = _best(lambda c, i=i: self._column(f, points, i, c), largest, size)
            self.error = max(self.error, change)
        if timed:
            size = max(size, max(float(np.max(np.abs(self.by_t(f, t, q)), initial=0.0)) for t, q in points))
            self.scale_t, change = _best(lambda c: self._time_slope(f, points, c), 1.0, size)
            self.error = max(self.error, change)

    def _column(self, f, points, i, scale):
        return np.array([_first(lambda s: f(t, _moved(q, i, s)), FIRST * scale) for t, q in points])

    def _time_slope(self, f, points, scale):
        return np.array([_first(lambda s: f(t + s, q), FIRST * scale) for t, q in points])

    def by_q(self, f, t, q) -> np.ndarray:
        """∂f/∂q, one column per coordinate."""
        columns = [_first(lambda s, i=i: f(t, _moved(q, i, s)), FIRST * self.scale[i]) for i in range(len(q))]
        return np.stack(columns, axis=-1)

    def by_t(self, f, t, q) -> np.ndarray:
        """∂f/∂t."""
        return _first(lambda s: f(t + s, q), FIRST * self.scale_t)

    def along(self, f, t, q, q_dot) -> np.ndarray:
        """df/ds along (t + s, q + s q_dot)."""
        rate = self._rate(q_dot)
        if rate == 0.0:
            return 0.0 * f(t, q)
        return _first(lambda s: f(t + s, q + s * q_dot), FIRST / rate)

    def twice_along(self, f, t, q, q_dot, bend=0.0) -> np.ndarray:
        """d²f/ds² along (t + s, q + s q_dot + s²/2 bend)."""
        rate = self._rate(q_dot)
        if rate == 0.0:
            return 0.0 * f(t, q)
        s = SECOND / rate

        def at(s):
            return f(t + s, q + s * (q_dot + 0.5 * s * bend))

        outer, inner = at(2 * s) + at(-2 * s), at(s) + at(-s)
        return (16.0 * inner - outer - 30.0 * f(t, q)) / (12.0 * s * s)

    def _rate(self, q_dot) -> float:
        """How many scales the argument moves per unit of s."""
        fastest = float(np.max(np.abs(q_dot) / self.scale, initial=0.0))
        return max(fastest, 1.0 / self.scale_t) if self.timed else fastest


def _first(f, s):
    return (8.0 * (f(s) - f(-s)) - (f(2 * s) - f(-2 * s))) / (12.0 * s)


def _moved(q, i, s):
    moved = q.copy()
    moved[i] += s
    return moved


def _best(slope, largest: float, size: float) -> tuple[float, float]:
    """The scale at which halving changes the slope least, and that change relative to `size`."""
    top = int(np.ceil(np.log10(max(1.0, largest))))
    best, least = 1.0, np.inf
    for exponent in [0, *range(-1, SMALLEST - 1, -1), *range(1, top + 1)]:
        scale = 10.0**exponent
        change = float(np.max(np.abs(slope(scale) - slope(0.5 * scale)), initial=0.0)) / size
        if change < 0.5 * least:
            best, least = scale, change
        if least <= GOOD:
            break
    return best, least
