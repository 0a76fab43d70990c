"""What a function can be along a piece of a step: its tape in interval arithmetic, with its rate.

Of every node of a tape a register holds five numbers

    lowest, highest value      along the piece, rounding included
    lowest, highest rate       of the value, by time; infinite where it may jump
    whose value it is          nodes with one number here are equal, with opposite ones opposite; so |a| - a is 0 where a > 0

A value that is no number on the whole piece has NaN in both places; where it may be one, it may be anything. What is exact
stays exact: 0 x and x + 0 are not rounded, so that a function that lies flat at its bound is known to be there.

The states are polynomials along the step, by their Bernstein coefficients and what they may be off, or boxes: four numbers of
each, as in a register.
"""

from __future__ import annotations

import math

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import inner, kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .dense_operators import OPERATOR
from .vectors import EPS

BOUNDED = Layout(
    "BOUNDED",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("code", "address of the nodes, three words each: operation, and what it takes"),
            ("nodes", "how many"),
            ("constants", "address of the constants"),
            ("places", "address: node of each output, -1 of those that are not known"),
            ("outputs", "how many"),
        )
    ],
)
see = view_as(BOUNDED)
# operations by number
OPERATIONS = (
    "t", "state", "data", "const", "add", "sub", "mul", "div", "neg", "sq", "twice", "inv", "sin", "cos", "assign", "fabs", "sign",
    "fmin", "fmax", "if_else_zero", "lt", "le", "eq", "ne", "not", "and", "or", "floor", "ceil", "fmod", "copysign", "sqrt", "exp",
    "log", "expm1", "log1p", "tanh", "atan", "asin", "acos", "sinh", "cosh", "asinh", "acosh", "atanh", "tan", "pow",
    "constpow", "atan2", "hypot",
)  # fmt: skip
REGISTER = 5
SCRATCH = 4  # registers behind those of the nodes
MOST_COEFFICIENTS = 16
INF, NAN = math.inf, math.nan
TINY = 5e-324
SLACK = 16.0 * EPS  # of functions of the mathematics library


@leaf
def sum_down(x, y):
    """x + y or less."""
    s = x + y
    part = s - x
    left = (x - (s - part)) + (y - part)
    return s if left >= 0.0 or not abs(s) < INF else s - (abs(s) * EPS + TINY)


@leaf
def sum_up(x, y):
    """x + y or more."""
    return -sum_down(-x, -y)


@leaf
def less(x, share):
    """A number below x by a share of it; 0 is exact."""
    return x if x == 0.0 or not abs(x) < INF else x - (abs(x) * share + TINY)


@leaf
def product(x, y):
    """x y, and 0 where one of them is."""
    return 0.0 if x == 0.0 or y == 0.0 else x * y


@leaf
def times(xl, xh, yl, yh):
    """The bounds of a product."""
    a, b, c, d = product(xl, yl), product(xl, yh), product(xh, yl), product(xh, yh)
    return less(min(min(a, b), min(c, d)), EPS), -less(-max(max(a, b), max(c, d)), EPS)


@leaf
def over(xl, xh, yl, yh):
    """The bounds of a quotient."""
    if yl <= 0.0 and yh >= 0.0:
        return -INF, INF
    return times(xl, xh, less(1.0 / yh, EPS), -less(-1.0 / yl, EPS))


@leaf
def put(T, at, low, high, slow, fast):
    """Fill a register; what is no number may be anything."""
    if not low <= high:
        low, high = -INF, INF
    if not slow <= fast:
        slow, fast = -INF, INF
    T[at], T[at + 1], T[at + 2], T[at + 3] = low, high, slow, fast


@leaf
def put_missing(T, at):
    """Fill a register with what is no number anywhere."""
    T[at], T[at + 1], T[at + 2], T[at + 3] = NAN, NAN, 0.0, 0.0


@leaf
def move(T, at, x):
    """Fill a register with another one, whose value it is."""
    for i in range(REGISTER):
        T[at + i] = T[x + i]


@leaf
def missing(T, x):
    """Tell whether a register holds no number."""
    return T[x] != T[x]


@leaf
def decided(T, at, yes, no):
    """Fill a register with the truth of something, 1 or 0, or both."""
    if yes or no:
        put(T, at, 1.0 if yes else 0.0, 1.0 if yes else 0.0, 0.0, 0.0)
    else:
        put(T, at, 0.0, 1.0, -INF, INF)


@leaf
def is_true(T, x):
    """Tell whether a truth holds all along; what is no number is not 0."""
    return T[x] > 0.0 or T[x + 1] < 0.0 or missing(T, x)


@leaf
def is_false(T, x):
    """Tell whether a truth fails all along."""
    return T[x] == 0.0 and T[x + 1] == 0.0


@leaf
def add(T, at, x, y):
    """x + y"""
    if T[y] == 0.0 and T[y + 1] == 0.0:
        move(T, at, x)
    elif T[x] == 0.0 and T[x + 1] == 0.0:
        move(T, at, y)
    elif T[x + 4] == -T[y + 4] and abs(T[x]) < INF and abs(T[x + 1]) < INF:
        put(T, at, 0.0, 0.0, 0.0, 0.0)
    else:
        put(T, at, sum_down(T[x], T[y]), sum_up(T[x + 1], T[y + 1]), sum_down(T[x + 2], T[y + 2]), sum_up(T[x + 3], T[y + 3]))


@leaf
def negative(T, at, x):
    """-x"""
    low, high, slow, fast, whose = T[x], T[x + 1], T[x + 2], T[x + 3], T[x + 4]
    T[at], T[at + 1], T[at + 2], T[at + 3], T[at + 4] = -high, -low, -fast, -slow, -whose


@leaf
def multiply(T, at, x, y):
    """x y"""
    low, high = times(T[x], T[x + 1], T[y], T[y + 1])
    al, ah = times(T[x + 2], T[x + 3], T[y], T[y + 1])
    bl, bh = times(T[x], T[x + 1], T[y + 2], T[y + 3])
    if T[x + 4] == T[y + 4] and low < 0.0:
        low = 0.0
    put(T, at, low, high, sum_down(al, bl), sum_up(ah, bh))


@leaf
def divide(T, at, x, y):
    """x / y"""
    if T[y] <= 0.0 and T[y + 1] >= 0.0:
        put(T, at, -INF, INF, -INF, INF)
        return
    low, high = over(T[x], T[x + 1], T[y], T[y + 1])
    al, ah = times(low, high, T[y + 2], T[y + 3])
    al, ah = over(sum_down(T[x + 2], -ah), sum_up(T[x + 3], -al), T[y], T[y + 1])
    put(T, at, low, high, al, ah)


@leaf
def sine(low, high):
    """The bounds of a sine."""
    width = high - low
    if not width < 2.0 * math.pi or not abs(low) + abs(high) < 1e12:
        return -1.0, 1.0
    spread = 4.0 * EPS * (abs(low) + abs(high) + 1.0)
    least, most = min(math.sin(low), math.sin(high)) - SLACK, max(math.sin(low), math.sin(high)) + SLACK
    low, high, turn = low - spread, high + spread, 2.0 * math.pi
    if math.floor(high / turn - 0.25) != math.floor(low / turn - 0.25):
        most = 1.0
    if math.floor(high / turn + 0.25) != math.floor(low / turn + 0.25):
        least = -1.0
    return max(least, -1.0), min(most, 1.0)


@leaf
def turned(T, at, x, quarter):
    """sin(x), or cos(x) with a `quarter` of a turn."""
    low, high = T[x], T[x + 1]
    wide = EPS * (abs(low) + abs(high) + 2.0)
    ahead_low, ahead_high = sine(low + 0.5 * math.pi - wide, high + 0.5 * math.pi + wide)
    low, high = sine(low, high)
    if quarter == 0:
        slow, fast = times(ahead_low, ahead_high, T[x + 2], T[x + 3])
        put(T, at, low, high, slow, fast)
    else:
        slow, fast = times(-high, -low, T[x + 2], T[x + 3])
        put(T, at, ahead_low, ahead_high, slow, fast)


@leaf
def smallest(T, at, x, y):
    """The smaller of x and y."""
    if T[x + 1] <= T[y]:
        move(T, at, x)
    elif T[y + 1] <= T[x]:
        move(T, at, y)
    else:
        put(T, at, min(T[x], T[y]), min(T[x + 1], T[y + 1]), min(T[x + 2], T[y + 2]), max(T[x + 3], T[y + 3]))


@leaf
def largest(T, at, x, y):
    """The larger of x and y."""
    if T[x] >= T[y + 1]:
        move(T, at, x)
    elif T[y] >= T[x + 1]:
        move(T, at, y)
    else:
        put(T, at, max(T[x], T[y]), max(T[x + 1], T[y + 1]), min(T[x + 2], T[y + 2]), max(T[x + 3], T[y + 3]))


@leaf
def size_of(T, at, x):
    """|x|"""
    if T[x] >= 0.0:
        move(T, at, x)
    elif T[x + 1] <= 0.0:
        negative(T, at, x)
    else:
        put(T, at, 0.0, max(-T[x], T[x + 1]), min(T[x + 2], -T[x + 3]), max(T[x + 3], -T[x + 2]))


@leaf
def sign(x):
    """-1, 0 or 1"""
    return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else 0.0)


@leaf
def whole(x):
    """The whole number at x or below."""
    return math.floor(x) if abs(x) < 1e15 else x


@leaf
def in_jumps(T, at, low, high):
    """What is constant between its jumps."""
    if low == high:
        put(T, at, low, high, 0.0, 0.0)
    else:
        put(T, at, low, high, -INF, INF)


@leaf
def remainder(T, at, x, y):
    """fmod(x, y)"""
    low, high, by = T[x], T[x + 1], abs(T[y])
    if T[y] != T[y + 1] or not by > 0.0 or not by < INF or not abs(low) < INF or not abs(high) < INF:
        most = max(abs(T[y]), abs(T[y + 1]))
        put(T, at, -most, most, -INF, INF)
        return
    if -by < low and high < by:
        move(T, at, x)
        return
    first, last = math.copysign(abs(low) % by, low), math.copysign(abs(high) % by, high)
    if high - low < 0.5 * by and (low >= 0.0 or high <= 0.0) and first <= last:
        put(T, at, first, last, T[x + 2], T[x + 3])
    else:
        put(T, at, -by if low < 0.0 else 0.0, by if high > 0.0 else 0.0, -INF, INF)


@leaf
def value_of(number, x):
    """A monotone function at a point, by its place behind sqrt."""
    if number == 0:
        return math.sqrt(x) if x >= 0.0 else NAN
    if number == 1:
        return math.exp(x)
    if number == 2:
        return math.log(x) if x > 0.0 else (-INF if x == 0.0 else NAN)
    if number == 3:
        return math.expm1(x)
    if number == 4:
        return math.log1p(x) if x > -1.0 else (-INF if x == -1.0 else NAN)
    if number == 5:
        return math.tanh(x)
    if number == 6:
        return math.atan(x)
    if number == 7:
        return math.asin(x) if abs(x) <= 1.0 else NAN
    if number == 8:
        return -math.acos(x) if abs(x) <= 1.0 else NAN
    if number == 9:
        return math.sinh(x)
    if number == 10:
        return math.cosh(x)
    if number == 11:
        return math.copysign(math.log1p(abs(x) + x * x / (1.0 + math.sqrt(1.0 + x * x))), x)
    if number == 12:
        return math.log1p(x - 1.0 + math.sqrt((x - 1.0) * (x + 1.0))) if x >= 1.0 else NAN
    return 0.5 * math.log1p(2.0 * x / (1.0 - x)) if abs(x) < 1.0 else NAN


@leaf
def slope_of(number, x):
    """Its derivative there; it goes one way for x > 0, and for x < 0."""
    if number == 0:
        return 0.5 / math.sqrt(x) if x > 0.0 else INF
    if number == 1 or number == 3:
        return math.exp(x)
    if number == 2:
        return 1.0 / x if x > 0.0 else INF
    if number == 4:
        return 1.0 / (1.0 + x) if x > -1.0 else INF
    if number == 5:
        return 1.0 - math.tanh(x) ** 2
    if number == 6:
        return 1.0 / (1.0 + x * x)
    if number == 7 or number == 8:
        return 1.0 / math.sqrt(1.0 - x * x) if abs(x) < 1.0 else INF
    if number == 9:
        return math.cosh(x)
    if number == 10:
        return math.sinh(x)
    if number == 11:
        return 1.0 / math.sqrt(1.0 + x * x)
    if number == 12:
        return 1.0 / math.sqrt(x * x - 1.0) if x > 1.0 else INF
    return 1.0 / (1.0 - x * x) if abs(x) < 1.0 else INF


@leaf
def monotone(T, at, x, number):
    """A function that goes one way, for x > 0 at least."""
    low, high = T[x], T[x + 1]
    a, b = value_of(number, low), value_of(number, high)
    sl, sh = slope_of(number, low), slope_of(number, high)
    least, most = min(sl, sh), max(sl, sh)
    if low < 0.0 and high > 0.0:
        middle = slope_of(number, 0.0)
        least, most = min(least, middle), max(most, middle)
    if number == 10:  # cosh goes down, then up
        a, b = (1.0 if low <= 0.0 <= high else min(a, b)), max(a, b)
    rate_low, rate_high = times(less(least, SLACK), -less(-most, SLACK), T[x + 2], T[x + 3])
    a, b = less(a, SLACK), -less(-b, SLACK)
    put(T, at, a, b, rate_low, rate_high)


@leaf
def tangent(T, at, x):
    """tan(x)"""
    low, high = T[x], T[x + 1]
    spread = 4.0 * EPS * (abs(low) + abs(high) + 1.0)
    turn = math.floor((low - spread) / math.pi + 0.5)
    if not high - low < math.pi or math.floor((high + spread) / math.pi + 0.5) != turn:
        put(T, at, -INF, INF, -INF, INF)
        return
    a, b = less(math.tan(low), 4.0 * SLACK), -less(-math.tan(high), 4.0 * SLACK)
    least = 0.0 if a <= 0.0 <= b else min(a * a, b * b)
    sl, sh = times(1.0 + least, 1.0 + max(a * a, b * b), T[x + 2], T[x + 3])
    put(T, at, a, b, sl, sh)


@leaf
def whole_power(low, high, n):
    """The bounds of xⁿ, n whole."""
    if n == 0.0:
        return 1.0, 1.0
    if n < 0.0 and low <= 0.0 and high >= 0.0:
        return -INF, INF
    a, b = low**n, high**n
    even = n == 2.0 * math.floor(0.5 * n)
    if even and low < 0.0 and high > 0.0:
        return 0.0, -less(-max(a, b), SLACK)
    return less(min(a, b), SLACK), -less(-max(a, b), SLACK)


@leaf
def power(T, at, x, y, room):
    """x ** y"""
    low, high, n = T[x], T[x + 1], T[y]
    if n == T[y + 1]:
        if n == math.floor(n) and abs(n) < 1e9:
            a, b = whole_power(low, high, n)
            sl, sh = whole_power(low, high, n - 1.0) if n != 0.0 else (0.0, 0.0)
        elif low >= 0.0:
            p, q = low**n, high**n
            a, b = less(min(p, q), SLACK), -less(-max(p, q), SLACK)
            p, q = (low ** (n - 1.0) if low > 0.0 or n > 1.0 else INF), (high ** (n - 1.0) if high > 0.0 or n > 1.0 else INF)
            sl, sh = less(min(p, q), SLACK), -less(-max(p, q), SLACK)
        else:
            a, b, sl, sh = -INF, INF, -INF, INF
        sl, sh = times(sl, sh, n, n)
        sl, sh = times(sl, sh, T[x + 2], T[x + 3])
        put(T, at, a, b, sl, sh)
        return
    if not low > 0.0:
        put(T, at, -INF, INF, -INF, INF)
        return
    monotone(T, room, x, 2)
    multiply(T, room + REGISTER, room, y)
    monotone(T, at, room + REGISTER, 1)


@leaf
def angle(T, at, y, x):
    """atan2(y, x)"""
    yl, yh, xl, xh = T[y], T[y + 1], T[x], T[x + 1]
    if xl <= 0.0 and yl <= 0.0 and yh >= 0.0:
        put(T, at, -math.pi, math.pi, -INF, INF)
        return
    a, b, c, d = math.atan2(yl, xl), math.atan2(yl, xh), math.atan2(yh, xl), math.atan2(yh, xh)
    low, high = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
    al, ah = times(xl, xh, T[y + 2], T[y + 3])
    bl, bh = times(yl, yh, T[x + 2], T[x + 3])
    pl, ph = whole_power(xl, xh, 2.0)
    ql, qh = whole_power(yl, yh, 2.0)
    sl, sh = over(sum_down(al, -bh), sum_up(ah, -bl), pl + ql, -less(-(ph + qh), SLACK))
    put(T, at, less(low, SLACK), -less(-high, SLACK), sl, sh)


@leaf
def long_side(T, at, x, y):
    """hypot(x, y)"""
    pl, ph = whole_power(T[x], T[x + 1], 2.0)
    ql, qh = whole_power(T[y], T[y + 1], 2.0)
    low, high = less(math.sqrt(pl + ql), SLACK), -less(-math.sqrt(ph + qh), SLACK)
    al, ah = times(T[x], T[x + 1], T[x + 2], T[x + 3])
    bl, bh = times(T[y], T[y + 1], T[y + 2], T[y + 3])
    sl, sh = over(sum_down(al, bl), sum_up(ah, bh), low, high)
    put(T, at, low, high, sl, sh)


@leaf
def compared(T, at, x, y, number):
    """x < y, x <= y, x == y, x != y, by their numbers 0 to 3."""
    same = T[x + 4] == T[y + 4] and not missing(T, x)
    none = missing(T, x) or missing(T, y)
    if number == 0:
        decided(T, at, not (same or none) and T[x + 1] < T[y], same or none or T[x] >= T[y + 1])
    elif number == 1:
        decided(T, at, not none and (same or T[x + 1] <= T[y]), none or (not same and T[x] > T[y + 1]))
    else:
        equal = not none and (same or (T[x] == T[x + 1] and T[x] == T[y] and T[y] == T[y + 1]))
        apart = none or (not same and (T[x + 1] < T[y] or T[x] > T[y + 1]))
        decided(T, at, equal if number == 2 else apart, apart if number == 2 else equal)


@leaf
def joined(T, at, x, y, number):
    """not x, x and y, x or y, by their numbers 0 to 2."""
    if number == 0:
        decided(T, at, is_false(T, x), is_true(T, x))
    elif number == 1:
        decided(T, at, is_true(T, x) and is_true(T, y), is_false(T, x) or is_false(T, y))
    else:
        decided(T, at, is_true(T, x) or is_true(T, y), is_false(T, x) and is_false(T, y))


@leaf
def chosen(T, at, c, y):
    """y where c holds, 0 elsewhere."""
    if is_true(T, c):
        move(T, at, y)
    elif is_false(T, c):
        put(T, at, 0.0, 0.0, 0.0, 0.0)
    else:
        put(T, at, min(0.0, T[y]), max(0.0, T[y + 1]), -INF, INF)


@leaf
def subtract(T, at, x, y):
    """x - y"""
    if T[x + 4] == T[y + 4] and abs(T[x]) < INF and abs(T[x + 1]) < INF:
        put(T, at, 0.0, 0.0, 0.0, 0.0)
    elif T[y] == 0.0 and T[y + 1] == 0.0:
        move(T, at, x)
    elif T[x] == 0.0 and T[x + 1] == 0.0:
        negative(T, at, y)
    else:
        put(T, at, sum_down(T[x], -T[y + 1]), sum_up(T[x + 1], -T[y]), sum_down(T[x + 2], -T[y + 3]), sum_up(T[x + 3], -T[y + 2]))


@leaf
def plain(T, at, x, y, number, room):
    """Arithmetic, by its place behind add."""
    if number == 0:
        add(T, at, x, y)
    elif number == 1:
        subtract(T, at, x, y)
    elif number == 2:
        multiply(T, at, x, y)
    elif number == 3:
        divide(T, at, x, y)
    elif number == 4:
        negative(T, at, x)
    elif number == 5:
        multiply(T, at, x, x)
    elif number == 6:
        put(T, at, 2.0 * T[x], 2.0 * T[x + 1], 2.0 * T[x + 2], 2.0 * T[x + 3])
    else:
        put(T, room, 1.0, 1.0, 0.0, 0.0)
        divide(T, at, room, x)


@leaf
def rare(T, at, x, y, number, room):
    """What is no plain arithmetic, by its number."""
    if number == 12 or number == 13:
        turned(T, at, x, number - 12)
    elif number == 14:
        move(T, at, x)
    elif number == 15:
        size_of(T, at, x)
    elif number == 16:
        in_jumps(T, at, sign(T[x]), sign(T[x + 1]))
    elif number == 17:
        smallest(T, at, x, y)
    elif number == 18:
        largest(T, at, x, y)
    elif number == 27:
        in_jumps(T, at, whole(T[x]), whole(T[x + 1]))
    elif number == 28:
        in_jumps(T, at, -whole(-T[x]), -whole(-T[x + 1]))
    elif number == 29:
        remainder(T, at, x, y)
    elif number == 30:
        size_of(T, room, x)
        if T[y] >= 0.0:
            move(T, at, room)
        elif T[y + 1] < 0.0:
            negative(T, at, room)
        else:
            put(T, at, -T[room + 1], T[room + 1], -INF, INF)
    elif number == 39:
        monotone(T, room, x, 8)
        negative(T, at, room)
    elif number < 45:
        monotone(T, at, x, number - 31)
    elif number == 45:
        tangent(T, at, x)
    elif number == 46 or number == 47:
        power(T, at, x, y, room)
    elif number == 48:
        angle(T, at, x, y)
    else:
        long_side(T, at, x, y)


@leaf
def play(code, nodes, T):
    """Fill the registers of all nodes that are operations."""
    room = REGISTER * nodes
    for k in range(nodes):
        number = code[3 * k]
        if number < 4:
            continue
        at, x, y = REGISTER * k, REGISTER * code[3 * k + 1], REGISTER * code[3 * k + 2]
        T[at + 4] = k + 1.0
        if (missing(T, x) or missing(T, y)) and not 19 <= number <= 26:
            put_missing(T, at)
        elif number < 12:
            plain(T, at, x, y, number - 4, room)
        elif number == 19:
            chosen(T, at, x, y)
        elif 20 <= number <= 23:
            compared(T, at, x, y, number - 20)
        elif 24 <= number <= 26:
            joined(T, at, x, y, number - 24)
        else:
            rare(T, at, x, y, number, room)


@leaf
def cut_out(C, n, a, b):
    """Bernstein coefficients of the part from a to b, in the place of those from 0 to 1."""
    if a > 0.0:
        for level in range(1, n):
            for i in range(n - level):
                C[i] = (1.0 - a) * C[i] + a * C[i + 1]
    if b < 1.0:
        share = (b - a) / (1.0 - a)
        for level in range(1, n):
            for i in range(n - 1, level - 1, -1):
                C[i] = (1.0 - share) * C[i - 1] + share * C[i]


@leaf
def along_piece(curve, first, n, a, b, h, C, T, at):
    """Fill a register with a state of a step, from a to b of it; C is room for the coefficients there."""
    largest_size, off = abs(curve[first]), curve[first + n]
    for i in range(1, n):
        C[i - 1] = (n - 1) * (curve[first + i] - curve[first + i - 1])
        largest_size = max(largest_size, abs(curve[first + i]))
    cut_out(C, n - 1, a, b)
    slow, fast = C[0], C[0]
    for i in range(1, n - 1):
        slow, fast = min(slow, C[i]), max(fast, C[i])
    for i in range(n):
        C[i] = curve[first + i]
    cut_out(C, n, a, b)
    low, high = C[0], C[0]
    for i in range(1, n):
        low, high = min(low, C[i]), max(high, C[i])
    wide = 2.0 * n * EPS * largest_size
    doubt = 2.0 * n * (wide + n * off)
    slow, fast = slow - doubt, fast + doubt
    if h < 0.0:
        slow, fast = fast, slow
    put(T, at, low - wide - off, high + wide + off, slow / h, fast / h)


@inner
def fill_inputs(head, code, t, curve, b, data, T, C):
    """Fill the registers of what a tape reads; b has coefficients of each state, or 0 for boxes, both ends of the piece, and h."""
    constants = numbers_at(head.constants, 1)
    n, first, last, h = int(b[0]), b[1], b[2], b[3]
    for k in range(head.nodes):
        number, at, index = code[3 * k], REGISTER * k, code[3 * k + 1]
        if number > 3:
            continue
        T[at + 4] = k + 1.0
        if number == 0:
            begin, end = t + first * h, t + last * h
            wide = EPS * (abs(begin) + abs(end))
            put(T, at, min(begin, end) - wide, max(begin, end) + wide, 1.0, 1.0)
        elif number == 1 and n == 0:
            i = 4 * index
            put(T, at, curve[i], curve[i + 1], curve[i + 2], curve[i + 3])
        elif number == 1:
            along_piece(curve, (n + 1) * index, n, first, last, h, C, T, at)
        else:
            value = data[index] if number == 2 else constants[index]
            if value == value:
                put(T, at, value, value, 0.0, 0.0)
            else:
                put_missing(T, at)


@kernel(OPERATOR)
def bounded(context, mode, t, a, b, data, out):
    """Bounds of values and rates of the functions of the context, four rows: lowest, highest value; lowest, highest rate."""
    head = see(numbers_at(context, 1))
    count = REGISTER * (head.nodes + SCRATCH)
    address = take_room(count + MOST_COEFFICIENTS)
    if address == 0:
        return NOT_FINITE
    T, C = numbers_at(address, 1), numbers_at(address + 8 * count, 1)
    code = whole_at(head.code, 1)
    fill_inputs(head, code, t, numbers_at(a, 1), numbers_at(b, 1), numbers_at(data, 1), T, C)
    play(code, head.nodes, T)
    places, found = whole_at(head.places, 1), numbers_at(out, 1)
    for k in range(head.outputs):
        place = REGISTER * places[k]
        for row in range(4):
            found[row * head.outputs + k] = T[place + row] if places[k] >= 0 else NAN
    leave_room(address)
    return OK
