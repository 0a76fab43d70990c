"""Derivatives by central differences of order 4, for functions that cannot be traced.

A step must be small beside the size over which a function bends and large beside rounding. That size is not
known, so it is measured once per coordinate: of several candidates the one is taken at which halving the step
changes the second derivative least. What is left of that change is the error that can be expected.
"""

from __future__ import annotations

import numpy as np

# Steps in units of a coordinate's scale, where truncation (s⁴/30, s⁴/90 for the second derivative) meets
# rounding (1.5 ε/s, 5 ε/s²).
FIRST = 1e-3
SECOND = 6e-3
SMALLEST = -5  # decimal exponent of the smallest scale tried
GOOD = 1e-9  # relative change of the second derivative below which no other scale is tried


DIFFERENCES_RTOL = 1e-9  # no better with differences, however smooth the functions


def attainable_rtol(error: float) -> float:
    """The tightest rtol that makes sense where derivatives with this relative error enter the equations: a power of ten."""
    error = min(1.0, max(DIFFERENCES_RTOL, 10.0 * error))
    return float(10.0 ** np.ceil(np.log10(error) - 1e-9))


class Differences:
    """Derivatives of one function f(t, q) with array values, with steps measured at given points.

    Parameters
    ----------
    f : function of (t, q)
        Returns an array of fixed shape.
    points : sequence of (t, q)
        Where the scales are measured; all but the first are left out where f is not finite.
    timed : bool
        Whether f depends on t.
    count : int, optional
        How many entries of q it depends on, the first ones.
    """

    def __init__(self, f, points, timed: bool, count: int | None = None):
        self.timed = timed
        self.count = len(points[0][1]) if count is None else count
        self.scale, self.scale_t = np.ones(len(points[0][1])), 1.0
        first, *others = points
        points = [first, *(point for point in others if np.all(np.isfinite(self.by_q(f, *point))))]
        self.error = self.error_second = 0.0  # relative, of first and second derivatives
        size = max(float(np.max(np.abs(self.by_q(f, t, q)), initial=0.0)) for t, q in points) or 1.0
        lines = [(i, [_line(f, t, q, i) for t, q in points]) for i in range(self.count)]
        for i, along in lines:
            largest = max(abs(q[i]) for _, q in points)
            self.scale[i] = self._measure(along, size, largest)
        if timed:
            size = max(size, *(float(np.max(np.abs(self.by_t(f, t, q)), initial=0.0)) for t, q in points))
            self.scale_t = self._measure([_line(f, t, q, None) for t, q in points], size, 1.0)

    def _measure(self, lines, size: float, largest: float) -> float:
        """The scale at which halving the step changes second derivatives least."""
        top = int(np.ceil(np.log10(max(1.0, largest))))
        best, least = 1.0, np.inf
        for exponent in [0, *range(-1, SMALLEST - 1, -1), *range(1, top + 1)]:
            scale = 10.0**exponent
            change = scale / size * _change(_second, lines, SECOND * scale)
            if change < 0.5 * least:
                best, least = scale, change
            if least <= GOOD:
                break
        self.error_second = max(self.error_second, least)
        self.error = max(self.error, _change(_first, lines, FIRST * best) / size)
        return best

    def error_at(self, f, points) -> float:
        """Relative error of first derivatives at other points, with the steps measured before; 0 where f is not finite."""
        points = [point for point in points if np.all(np.isfinite(self.by_q(f, *point)))]
        if not points:
            return 0.0
        size = max(float(np.max(np.abs(self.by_q(f, t, q)), initial=0.0)) for t, q in points) or 1.0
        changes = [_change(_first, [_line(f, t, q, i) for t, q in points], FIRST * self.scale[i]) for i in range(self.count)]
        return max(changes, default=0.0) / size

    def by_q(self, f, t, q) -> np.ndarray:
        """∂f/∂q, the coordinates along a last axis of their own."""
        columns = [_first(_line(f, t, q, i), FIRST * self.scale[i]) for i in range(self.count)]
        columns += [0.0 * columns[0]] * (len(q) - self.count)
        return np.stack(columns, axis=-1)

    def by_t(self, f, t, q) -> np.ndarray:
        """∂f/∂t."""
        return _first(_line(f, t, q, None), FIRST * self.scale_t)

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
        return _second(lambda s: f(t + s, q + s * (q_dot + 0.5 * s * bend)), SECOND / rate)

    def _rate(self, q_dot) -> float:
        """How many scales the argument moves per unit of s."""
        fastest = float(np.max(np.abs(q_dot) / self.scale, initial=0.0))
        return max(fastest, 1.0 / self.scale_t) if self.timed else fastest


def _line(f, t, q, i):
    """f as a function of the distance moved along coordinate i, or in time for None."""

    def moved(s):
        if i is None:
            return f(t + s, q)
        x = q.copy()
        x[i] += s
        return f(t, x)

    return moved


def _first(f, s):
    return (8.0 * (f(s) - f(-s)) - (f(2 * s) - f(-2 * s))) / (12.0 * s)


def _second(f, s):
    return (16.0 * (f(s) + f(-s)) - (f(2 * s) + f(-2 * s)) - 30.0 * f(0.0)) / (12.0 * s * s)


def _change(derivative, lines, s) -> float:
    """Largest change of a derivative when its step is halved; infinite where it is not finite."""
    change = max(float(np.max(np.abs(derivative(line, s) - derivative(line, 0.5 * s)), initial=0.0)) for line in lines)
    return change if np.isfinite(change) else np.inf
