"""A tape as numbers, and the loop that plays it: for functions so long that compiling them would take longer than a run.

A played operation takes 2 to 4 ns, several times that of a compiled one; to lay a tape out takes microseconds each, where
compiling takes 75. Registers begin with the constants, t, a, b and data as they are given; then come places of results, used
again as soon as nobody needs what is in them. An operation is two words: its number and the place of its result, and its places.
"""

from __future__ import annotations

import math

from ..errors import NOT_FINITE, OK
from ..native.layout import WHOLE, Layout, view_as
from ..native.marks import kernel, leaf, leave_room, numbers_at, take_room, whole_at
from .dense_operators import OPERATOR

PLAYED = Layout(
    "PLAYED",
    [
        (name, WHOLE, meaning)
        for name, meaning in (
            ("code", "address of the operations, two words each"),
            ("operations", "how many"),
            ("constants", "address of the constants"),
            ("n_constants", "how many"),
            ("na", "numbers of a that are read"),
            ("nb", "numbers of b"),
            ("nd", "numbers of data"),
            ("places", "address: register of each output"),
            ("outputs", "how many"),
            ("registers", "how many"),
        )
    ],
)
see = view_as(PLAYED)
# operations by number: words of a tape in this order
OPERATIONS = (
    "add", "sub", "mul", "div", "neg", "sq", "twice", "inv", "sqrt", "sin", "cos", "assign", "if_else_zero", "lt", "le", "eq", "ne",
    "not", "and", "or", "fmin", "fmax", "fabs", "sign", "exp", "log", "pow", "constpow", "tan", "atan", "atan2", "tanh", "asin",
    "acos", "sinh", "cosh", "floor", "ceil", "hypot", "expm1", "log1p", "fmod", "copysign",
)  # fmt: skip
ROOT, FURTHER = 8, 24  # from here on they are rare
PLACE, SECOND = 8, 32  # bits at which a word has the place of the result, and the place of a second operand
LOW = (1 << SECOND) - 1


@leaf
def one(number, x, y):
    """One of the operations that are no plain arithmetic."""
    if number == 8:
        return math.sqrt(x) if x >= 0.0 else math.nan
    if number == 9:
        return math.sin(x)
    if number == 10:
        return math.cos(x)
    if number == 11:
        return x
    if number == 12:
        return y if x != 0.0 else 0.0
    if number == 13:
        return 1.0 if x < y else 0.0
    if number == 14:
        return 1.0 if x <= y else 0.0
    if number == 15:
        return 1.0 if x == y else 0.0
    if number == 16:
        return 1.0 if x != y else 0.0
    if number == 17:
        return 1.0 if x == 0.0 else 0.0
    if number == 18:
        return 1.0 if x != 0.0 and y != 0.0 else 0.0
    if number == 19:
        return 1.0 if x != 0.0 or y != 0.0 else 0.0
    if number == 20:
        return x if x < y or x != x else y
    if number == 21:
        return x if x > y or x != x else y
    if number == 22:
        return abs(x)
    if number == 23:
        return 1.0 if x > 0.0 else (-1.0 if x < 0.0 else x)
    return rare(number, x, y)


@leaf
def rare(number, x, y):
    """Functions of the mathematics library."""
    if number == 24:
        return math.exp(x)
    if number == 25:
        return math.log(x) if x > 0.0 else (-math.inf if x == 0.0 else math.nan)
    if number == 26 or number == 27:
        return x**y
    if number == 28:
        return math.tan(x)
    if number == 29:
        return math.atan(x)
    if number == 30:
        return math.atan2(x, y)
    if number == 31:
        return math.tanh(x)
    if number == 32:
        return math.asin(x) if abs(x) <= 1.0 else math.nan
    if number == 33:
        return math.acos(x) if abs(x) <= 1.0 else math.nan
    if number == 34:
        return math.sinh(x)
    if number == 35:
        return math.cosh(x)
    if number == 36:
        return math.floor(x)
    if number == 37:
        return math.ceil(x)
    return rarest(number, x, y)


@leaf
def rarest(number, x, y):
    """Those that stand for others near zero and without overflow, and remainders."""
    if number == 38:
        return hypotenuse(abs(x), abs(y))
    if number == 39:
        return math.expm1(x)
    if number == 40:
        return math.log1p(x) if x > -1.0 else (-math.inf if x == -1.0 else math.nan)
    if number == 41:
        return math.copysign(abs(x) % abs(y), x) if y != 0.0 and abs(x) < math.inf else math.nan
    return math.copysign(x, y)


@leaf
def hypotenuse(x, y):
    """sqrt(x² + y²) of positive numbers, whose squares may be too large or too small."""
    longer, shorter = max(x, y), min(x, y)
    return longer * math.sqrt(1.0 + (shorter / longer) ** 2) if 0.0 < longer < math.inf else longer + shorter


@leaf
def play(code, operations, T):
    """Play the operations on the registers T."""
    for k in range(operations):
        head, operands = code[2 * k], code[2 * k + 1]
        number, at = head & 255, head >> PLACE
        x, y = T[operands & LOW], T[operands >> SECOND]
        if number == 2:
            T[at] = x * y
        elif number == 0:
            T[at] = x + y
        elif number == 1:
            T[at] = x - y
        elif number == 3:
            T[at] = x / y
        elif number == 4:
            T[at] = -x
        elif number == 5:
            T[at] = x * x
        elif number == 6:
            T[at] = x + x
        elif number == 7:
            T[at] = 1.0 / x
        else:
            T[at] = one(number, x, y)


@kernel(OPERATOR)
def played(context, mode, t, a, b, data, out):
    """Whatever the tape of the context computes."""
    head = see(numbers_at(context, 1))
    address = take_room(head.registers)
    if address == 0:
        return NOT_FINITE
    T, at = numbers_at(address, head.registers), head.n_constants
    constants, x, y, numbers = (
        numbers_at(head.constants, head.n_constants), numbers_at(a, head.na), numbers_at(b, head.nb), numbers_at(data, head.nd),
    )  # fmt: skip
    for i in range(head.n_constants):
        T[i] = constants[i]
    T[at] = t
    at += 1
    for i in range(head.na):
        T[at + i] = x[i]
    at += head.na
    for i in range(head.nb):
        T[at + i] = y[i]
    at += head.nb
    for i in range(head.nd):
        T[at + i] = numbers[i]
    play(whole_at(head.code, 2 * head.operations), head.operations, T)
    places, O = whole_at(head.places, head.outputs), numbers_at(out, head.outputs)
    for i in range(head.outputs):
        O[i] = T[places[i]]
    leave_room(address)
    return OK
