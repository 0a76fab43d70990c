"""Every change of sign of a function of time, counted: by bounds of the function and of its slope on shorter and shorter stretches.

Where the bounds leave out zero, there is none; where those of the slope do, there is one if the signs at both ends differ. All
else is cut in two. A stretch where a comparison or a whole part is undecided holds a jump, and is cut down to neighbouring numbers.
"""

import math
import random

import numpy as np

NARROW = 1e-13  # a smooth function not resolved on such a stretch is too close to touching zero
ROUNDING = 2e-14  # so close to a threshold plain numbers may decide in either way


class Undecided(Exception):
    """Not all of the stretch decides alike."""


class Touches(Exception):
    """The function touches zero, as far as numbers can tell."""


class Bounds:
    """Bounds of a value and of its slope in time on a stretch."""

    def __init__(self, low, high, slope=(0.0, 0.0)):
        self.low, self.high, self.slope = low, high, slope

    def _sum(self, other, sign=1.0):
        o = _bounds(other)
        low, high = (o.low, o.high) if sign > 0 else (-o.high, -o.low)
        slope = o.slope if sign > 0 else (-o.slope[1], -o.slope[0])
        return Bounds(self.low + low, self.high + high, (self.slope[0] + slope[0], self.slope[1] + slope[1]))

    __add__ = __radd__ = _sum

    def __sub__(self, other):
        return self._sum(other, -1.0)

    def __neg__(self):
        return Bounds(-self.high, -self.low, (-self.slope[1], -self.slope[0]))

    def __rsub__(self, other):
        return (-self)._sum(other)

    def __mul__(self, other):
        o = _bounds(other)
        one, two = _times(self.slope, (o.low, o.high)), _times((self.low, self.high), o.slope)
        return Bounds(*_times((self.low, self.high), (o.low, o.high)), (one[0] + two[0], one[1] + two[1]))

    __rmul__ = __mul__

    def __truediv__(self, number):
        return self * (1.0 / number)

    def __pow__(self, two):
        low, high = sorted((abs(self.low), abs(self.high)))
        least = 0.0 if self.low < 0 < self.high else low * low
        return Bounds(least, high * high, _times(self.slope, (2 * self.low, 2 * self.high)))

    def __abs__(self):
        if self.low > 0 or self.high < 0:
            return self if self.low > 0 else -self
        most = max(map(abs, self.slope))
        return Bounds(0.0, max(-self.low, self.high), (-most, most))

    def _less(self, other):
        difference, o = self - other, _bounds(other)
        rounding = ROUNDING * max(map(abs, (self.low, self.high, o.low, o.high)))
        if difference.high < -rounding or difference.low > rounding:
            return difference.high < 0
        raise Undecided

    __lt__ = __le__ = _less

    def __gt__(self, other):
        return not self._less(other)

    __ge__ = __gt__

    def __floor__(self):
        rounding = ROUNDING * max(1.0, abs(self.low), abs(self.high))
        if math.floor(self.low - rounding) != math.floor(self.high + rounding):
            raise Undecided
        return float(math.floor(self.low))

    def __mod__(self, period):
        return self - period * math.floor(self / period)

    def sin(self):
        if self.high - self.low > 6.0:
            turn = (-1.0, 1.0)
        else:
            turn = _sines(self.low, self.high)
        rate = _sines(self.low + math.pi / 2, self.high + math.pi / 2) if self.high - self.low <= 6.0 else (-1.0, 1.0)
        return Bounds(*turn, _times(rate, self.slope))

    def cos(self):
        return (self + math.pi / 2).sin()

    def exp(self):
        both = math.exp(self.low), math.exp(self.high)
        return Bounds(*both, _times(both, self.slope))


def _bounds(x):
    return x if isinstance(x, Bounds) else Bounds(float(x), float(x))


def _times(x, y):
    products = x[0] * y[0], x[0] * y[1], x[1] * y[0], x[1] * y[1]
    return min(products), max(products)


def _sines(low, high):
    least, most = sorted((math.sin(low), math.sin(high)))
    quarter = lambda k: math.ceil((low - k * math.pi / 2) / (2 * math.pi)) * 2 * math.pi + k * math.pi / 2 <= high
    return (-1.0 if quarter(3) else least), (1.0 if quarter(1) else most)


def changes_of_sign(f, start, end):
    """The times at which a function of time changes its sign, in their order."""
    found, waiting, cut = [], [(start, end)], random.Random(0)
    while waiting:
        a, b = waiting.pop()
        smooth = True
        try:
            value = _bounds(f(Bounds(a, b, (1.0, 1.0))))
            if value.low > 1e-15 or value.high < -1e-15:
                continue
            monotone = value.slope[0] > 0 or value.slope[1] < 0
        except Undecided:
            smooth = monotone = False
        middle = a + (b - a) * cut.uniform(0.45, 0.55)
        if not monotone and a < middle < b and b - a > 1e-16:
            if smooth and b - a < NARROW:
                raise Touches
            waiting += [(middle, b), (a, middle)]
        elif np.sign(f(a)) != np.sign(f(b)):
            found.append(_closed_in(f, a, b))
    return _without_flicker(found)


def _without_flicker(times):
    """Times, where several that rounding makes of one are one: those of a cluster cancel in pairs."""
    kept = []
    for t in times:
        if kept and t - kept[-1] < 1e-12:
            kept.pop()
        else:
            kept.append(t)
    return kept


def _closed_in(f, a, b):
    """The zero between two times with different signs."""
    sign = np.sign(f(a))
    while a < (middle := 0.5 * (a + b)) < b:
        a, b = (middle, b) if np.sign(f(middle)) == sign else (a, middle)
    return b
