"""Arrays of numbers with 31 digits, for reading and computing on: each is the unevaluated sum of two doubles.

    a + b = s + e   and   a b = p + e   without rounding      [knuth-1998] Sec. 4.2.2, [dekker-1971]

Sums, products, quotients and roots are those of `printing.pair_arithmetic`, with NumPy; there is no other function.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

SPLIT = 2.0**27 + 1.0  # parts a double in two of 26 bits
DIGITS = 32


def _two_sum(a, b):
    s = a + b
    of_a = s - b
    return s, (a - of_a) + (b - (s - of_a))


def _fast_two_sum(a, b):
    s = a + b
    return s, b - (s - a)


def _parted(a):
    high = SPLIT * a
    high = high - (high - a)
    return high, a - high


def two_product(a, b):
    """a b and its error."""
    p = a * b
    (ah, al), (bh, bl) = _parted(a), _parted(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


class Pairs:
    """An array of pairs `high + low`, |low| being at most half a unit of the last place of `high`.

    Arithmetic (+, -, *, /, **2, `sqrt`, `abs`, comparisons) keeps 31 digits, with numbers and arrays of doubles, too. Indexing is
    that of NumPy; `float()`, `np.asarray` and `high` round to doubles; `text()` gives the digits.

    Parameters
    ----------
    high, low : array_like
        The two parts.

    Examples
    --------
    >>> from holonomic.results.pairs import Pairs
    >>> third = Pairs(1.0) / 3.0
    >>> print(third, float(3.0 * third - 1.0))
    0.33333333333333333333333333333333 0.0
    """

    __array_priority__ = 1000  # doubles + pairs are pairs
    __array_ufunc__ = None

    def __init__(self, high: Any, low: Any = 0.0):
        self.high = np.asarray(high, dtype=float)
        self.low = np.broadcast_to(np.asarray(low, dtype=float), self.high.shape)

    @classmethod
    def from_exact(cls, value) -> Pairs:
        """Return the pair next to a fraction, a `Decimal`, or a number written as text; or those next to a list of them."""
        if isinstance(value, str | Fraction | Decimal | int | float):
            exact = Fraction(value)
            return cls(float(exact), float(exact - Fraction(float(exact))))
        return cls.stacked([cls.from_exact(each) for each in value])

    @classmethod
    def stacked(cls, parts) -> Pairs:
        """Return pairs as one array, those given being its rows."""
        return cls(np.array([each.high for each in parts]), np.array([each.low for each in parts]))

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.high.shape

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, index) -> Pairs:
        return Pairs(self.high[index], self.low[index])

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __float__(self) -> float:
        return float(self.high)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.high, dtype=dtype)

    def exact(self) -> Fraction:
        """One pair as a fraction, without rounding."""
        return Fraction(float(self.high)) + Fraction(float(self.low))

    def text(self, digits: int = DIGITS) -> Any:
        """Return digits as text; of an array, a list of it."""
        if self.high.ndim:
            return [each.text(digits) for each in self]
        if not math.isfinite(float(self.high)):
            return repr(float(self.high))
        exact, context = self.exact(), Context(prec=digits)
        return str(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))

    def __str__(self) -> str:
        return self.text() if not self.high.ndim else str(self.text())

    def __repr__(self) -> str:
        return f"Pairs({self})"

    def __neg__(self) -> Pairs:
        return Pairs(-self.high, -self.low)

    def __abs__(self) -> Pairs:
        sign = np.where(self.high < 0.0, -1.0, 1.0)
        return Pairs(sign * self.high, sign * self.low)

    def __add__(self, other) -> Pairs:
        other = _as_pairs(other)
        sh, sl = _two_sum(self.high, other.high)
        th, tl = _two_sum(self.low, other.low)
        vh, vl = _fast_two_sum(sh, sl + th)
        return Pairs(*_fast_two_sum(vh, tl + vl))

    __radd__ = __add__

    def __sub__(self, other) -> Pairs:
        return self + -_as_pairs(other)

    def __rsub__(self, other) -> Pairs:
        return _as_pairs(other) + -self

    def __mul__(self, other) -> Pairs:
        other = _as_pairs(other)
        p, e = two_product(self.high, other.high)
        return Pairs(*_fast_two_sum(p, e + (self.high * other.low + self.low * other.high)))

    __rmul__ = __mul__

    def __truediv__(self, other) -> Pairs:
        other = _as_pairs(other)
        quotient = Pairs(self.high / other.high)
        for _ in range(2):
            quotient = quotient + (self - quotient * other).high / other.high
        return quotient

    def __rtruediv__(self, other) -> Pairs:
        return _as_pairs(other) / self

    def __pow__(self, exponent) -> Pairs:
        if exponent != 2:
            raise TypeError("pairs know squares alone: write products, or take mpmath")
        return self * self

    def sqrt(self) -> Pairs:
        """Square roots."""
        root = Pairs(np.sqrt(self.high))
        safe = np.where(root.high > 0.0, root.high, 1.0)
        return root + (self - root * root).high / (2.0 * safe)

    def sum(self, axis: int = 0) -> Pairs:
        """Sums along an axis."""
        total = Pairs(np.zeros_like(np.take(self.high, 0, axis)))
        for i in range(self.high.shape[axis]):
            total = total + Pairs(np.take(self.high, i, axis), np.take(self.low, i, axis))
        return total

    def _compared(self, other, name: str):
        return getattr((self - other).high, name)(0.0)

    def __lt__(self, other):
        return self._compared(other, "__lt__")

    def __le__(self, other):
        return self._compared(other, "__le__")

    def __gt__(self, other):
        return self._compared(other, "__gt__")

    def __ge__(self, other):
        return self._compared(other, "__ge__")


def _as_pairs(value) -> Pairs:
    return value if isinstance(value, Pairs) else Pairs(value)
