"""Elementary functions of pairs to 31 digits, in the kernels' own Python, for a printer that knows pairs.

`high(x)` and `low(x)` are the two doubles of a pair, `exactly(a, b)` is the product of two doubles as a pair, without rounding, and
`two_to(k)` a power of two. All else is arithmetic of pairs, or of doubles where both operands are.

    sin, cos    x = k π/16 + r with π/16 in four doubles; series for |r| <= π/32; sines of k π/16 from a table
    exp         x = k log 2 + j/64 + r; e^r - 1 by its series, e^(j/64) from a table
    log         2 artanh((x - 1)/(x + 1)) by its series near 1; elsewhere one step from y, the logarithm of the first double:
                y + 2 (z - 1)/(z + 1), z = x e^-y, which is off by (z - 1)³/12
    atan2       one step from a, that of the first doubles: what is left has the tangent (y cos a - x sin a)/(x cos a + y sin a),
                is of size 1e-16, and so is its tangent

The rest follows from these by identities that lose no digit where the result is small. [joldes-2017] for the arithmetic.
"""

from __future__ import annotations

import math

from .pair_tables import (
    ARTANH_TERMS,
    COSINE_TERMS,
    EXP_TERMS,
    EXPONENTIALS,
    EXPONENTIALS_LESS_ONE,
    LOG_2_INVERSE,
    LOG_2_PAIR,
    LOG_2_PIECES,
    PI_INVERSE,
    PI_PIECES,
    REST,
    SINE_TERMS,
    SINES,
)
from .pair_words import exactly, high, infinity, low, nearest, nothing, pair, root, two_to

FAR = 1e15  # angles beyond it have hardly a digit behind the point in their first double
NEAR_ONE = 0.25  # as far from 1 the logarithm has its series
FAR_FROM_ONE = 1e150  # beyond it an argument of the logarithm is scaled
MOST_FACTORS = 1024.0  # powers up to it are products


def polynomial(z, TERMS, count, exact):
    """Σ TERMS[k] z^k: the first `exact` terms as pairs, the others, which are 1e-16 of the sum, as doubles."""
    zh = high(z)
    tail = 0.0 * zh
    for k in range(count - 1, exact - 1, -1):
        tail = tail * zh + high(TERMS[k])
    total = pair(tail)
    for k in range(exact - 1, -1, -1):
        total = TERMS[k] + z * total
    return total


def sincos(x):
    """(sin x, cos x)"""
    if not abs(high(x)) <= FAR:
        return nothing(), nothing()
    turns = nearest(high(x) * PI_INVERSE)
    r = x
    for j in range(4):
        r -= exactly(turns, PI_PIECES[j])
    z = r * r
    s = r + r * z * polynomial(z, SINE_TERMS, 10, 5)
    c = 1.0 + z * polynomial(z, COSINE_TERMS, 10, 5)
    turn = int(turns) & 31
    sk, ck = SINES[turn], SINES[(turn + 8) & 31]
    return sk * c + ck * s, ck * c - sk * s


def sin(x):
    """sin x"""
    s, _ = sincos(x)
    return s


def cos(x):
    """cos x"""
    _, c = sincos(x)
    return c


def tan(x):
    """tan x"""
    s, c = sincos(x)
    return s / c


def scaled(x, k):
    """x 2^k, in two factors, so that each of them is a double."""
    half = k // 2
    return x * two_to(half) * two_to(k - half)


def exp(x):
    """e^x"""
    if not abs(high(x)) <= 745.0:
        if high(x) > 0.0:
            return infinity()
        return nothing() if high(x) != high(x) else 0.0 * x
    whole = nearest(high(x) * LOG_2_INVERSE)
    r = x
    for j in range(4):
        r -= exactly(whole, LOG_2_PIECES[j])
    steps = nearest(high(r) * 64.0)
    r -= steps / 64.0
    e = r + r * r * polynomial(r, EXP_TERMS, 12, 7)
    base = EXPONENTIALS[int(steps) + REST]
    return scaled(base + base * e, int(whole))


def expm1(x):
    """e^x - 1"""
    if not abs(high(x)) <= 0.5:
        return exp(x) - 1.0
    steps = nearest(high(x) * 64.0)
    r = x - steps / 64.0
    e = r + r * r * polynomial(r, EXP_TERMS, 12, 7)
    at = int(steps) + REST
    return EXPONENTIALS_LESS_ONE[at] + EXPONENTIALS[at] * e


def twice_artanh(s):
    """2 artanh s = log((1 + s)/(1 - s)) for |s| <= 1/7"""
    z = s * s
    return 2.0 * (s + s * z * polynomial(z, ARTANH_TERMS, 20, 11))


def log(x):
    """log x"""
    if not high(x) > 0.0:
        return -infinity() if high(x) == 0.0 else nothing()
    if not high(x) <= 1.7e308:
        return x
    if abs(high(x) - 1.0) <= NEAR_ONE:
        return twice_artanh((x - 1.0) / (x + 1.0))
    k = 0
    if high(x) > FAR_FROM_ONE or high(x) < 1.0 / FAR_FROM_ONE:  # e^-y has to be a pair, too
        k = 600 if high(x) > 1.0 else -600
    z = x * two_to(-k)
    y = pair(math.log(high(z)))
    z = z * exp(-y)
    return k * LOG_2_PAIR[0] + (y + 2.0 * ((z - 1.0) / (z + 1.0)))


def log1p(x):
    """log(1 + x)"""
    if abs(high(x)) <= NEAR_ONE:
        return twice_artanh(x / (2.0 + x))
    return log(1.0 + x)


def atan2(y, x):
    """The angle of (x, y)."""
    a = pair(math.atan2(high(y), high(x)))
    s, c = sincos(a)
    along = x * c + y * s
    if not (high(along) > 0.0 and high(along) <= 1.7e308):
        return a
    return a + (y * c - x * s) / along


def atan(x):
    """arctan x"""
    return atan2(x, pair(1.0 + 0.0 * high(x)))


def asin(x):
    """arcsin x"""
    return atan2(x, root((1.0 - x) * (1.0 + x)))


def acos(x):
    """arccos x"""
    return atan2(root((1.0 - x) * (1.0 + x)), x)


def sinh(x):
    """sinh x"""
    e = expm1(abs(x))
    value = 0.5 * (e + e / (1.0 + e)) if high(e) <= 1e300 else e
    return -value if high(x) < 0.0 else value


def cosh(x):
    """cosh x"""
    e = exp(abs(x))
    return 0.5 * (e + 1.0 / e) if high(e) <= 1e300 else e


def tanh(x):
    """tanh x"""
    value = pair(1.0 + 0.0 * high(x))
    if abs(high(x)) < 40.0:
        e = expm1(2.0 * abs(x))
        value = e / (2.0 + e)
    return -value if high(x) < 0.0 else value


def asinh(x):
    """arsinh x"""
    size = abs(x)
    if high(size) > 1e150:
        value = log(size) + LOG_2_PAIR[0]
    else:
        value = log1p(size + size * size / (1.0 + root(1.0 + size * size)))
    return -value if high(x) < 0.0 else value


def acosh(x):
    """arcosh x"""
    above = x - 1.0
    if high(x) > 1e150:
        return log(x) + LOG_2_PAIR[0]
    return log1p(above + root(above * (above + 2.0)))


def atanh(x):
    """artanh x"""
    size = abs(x)
    value = 0.5 * log1p(2.0 * size / (1.0 - size))
    return -value if high(x) < 0.0 else value


def hypot(x, y):
    """√(x² + y²)"""
    large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
    if not high(large) > 0.0:
        return large
    share = small / large
    return large * root(1.0 + share * share)


def whole_power(x, n):
    """x^n, n a whole number"""
    left, factor, total = abs(n), x, x - x + 1.0
    while left > 0:
        if left & 1 == 1:
            total = total * factor
        left = left // 2
        if left > 0:
            factor = factor * factor
    return 1.0 / total if n < 0 else total


def power(x, y):
    """x^y; for whole and half exponents a product, and a root"""
    twice = 2.0 * high(y)
    if low(y) == 0.0 and abs(twice) <= MOST_FACTORS and nearest(twice) == twice:
        n = int(twice)
        if n & 1 == 0:
            return whole_power(x, n // 2)
        return whole_power(x, (n - 1) // 2) * root(x)
    if high(x) == 0.0 and high(y) > 0.0:
        return x
    if high(x) < 0.0 and floor(y) == y:
        value = exp(y * log(-x))
        return value if floor(0.5 * y) == 0.5 * y else -value
    return exp(y * log(x))


def floor(x):
    """The largest whole number that is not above x"""
    below = math.floor(high(x))
    if below != high(x):
        return pair(below)
    return pair(below) + math.floor(low(x))


def ceil(x):
    """The smallest whole number that is not below x"""
    return -floor(-x)


def fmod(x, y):
    """x less as many y as leave it its sign"""
    size, step = abs(x), abs(y)
    left = size - floor(size / step) * step
    if high(left) < 0.0:
        left += step
    if left >= step:
        left -= step
    return -left if high(x) < 0.0 else left
