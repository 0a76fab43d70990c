"""Nodes of an expression graph: numbers that are not known yet, and what is made of them.

Two nodes with the same operation and the same operands are one and the same object, so what is common to several expressions is
there once, and whether two expressions are equal is a question of identity. A node keeps what was made with it as its first
operand that is not a constant: so nothing outlives the symbols it is made of, and no table grows in a long process. Which node
an operation gives depends on its operands alone, never on what else the process has done.

What holds for all numbers is simplified at once (x + 0, x · 1, x - x, -(-x), operations on constants). 0 · x is 0 also where x
is infinite or NaN, and 0 / x, x / x and x - x are taken in the same way: expressions are of finite numbers. Where a number may be
none, `if_else_zero` chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from .on_numbers import BY_NAME

CONST, SYMBOL, RESULT = "const", "symbol", "result"  # the leaves, and what a call gives
NEG, ADD, SUB, MUL, DIV, SQ, INV, TWICE = "neg", "add", "sub", "mul", "div", "sq", "inv", "twice"
CHOOSE = "if_else_zero"
COMMUTATIVE = frozenset({ADD, MUL, "and", "or", "fmin", "fmax", "eq", "ne", "hypot"})
MOST_FACTORS = 100  # a whole power up to this one is products


class Node:
    """One number of a graph.

    Attributes
    ----------
    op : str
        What makes it: "const", "symbol", "result" of a call, or an operation.
    a, b : Node or None
        Its operands; of a leaf None.
    value : float, str or tuple
        Of a constant the number, of a symbol its name, of a result the call and its place.
    made : dict
        What was made with it.
    """

    __slots__ = ("__weakref__", "a", "b", "made", "op", "value")

    def __init__(self, op: str, a: Node | None, b: Node | None, value: Any = None):
        self.op, self.a, self.b, self.value = op, a, b, value
        self.made: dict[Any, Node] = {}

    def __repr__(self) -> str:
        from .text import text_of

        return text_of(self)


_constants: WeakValueDictionary[Any, Node] = WeakValueDictionary()


def constant(value: float) -> Node:
    """The node of a number; -0 is 0."""
    key = value if value == value else "nan"
    found = _constants.get(key)
    if found is None:
        found = _constants[key] = Node(CONST, None, None, float(value) + 0.0)
    return found


ZERO, ONE, TWO, MINUS_ONE, HALF, NAN = map(constant, (0.0, 1.0, 2.0, -1.0, 0.5, math.nan))


def symbol(name: str) -> Node:
    """A new number that is not known yet; two of the same name are two."""
    return Node(SYMBOL, None, None, name)


def _plain(op: str, a: Node, b: Node | None = None) -> Node:
    """The node of an operation as it stands."""
    home: Node
    key: Any
    if b is None:
        home, key = a, op
    elif a.op is CONST:
        home, key = b, (a, op)
    else:
        home, key = a, (op, b)
    found = home.made.get(key)
    if found is None:
        found = home.made[key] = Node(op, a, b)
    return found


def _folded(op: str, *operands: Node) -> Node:
    return constant(BY_NAME[op](*(each.value for each in operands)))


# ---- arithmetic ---------------------------------------------------------------------------------------------------


def add(x: Node, y: Node) -> Node:
    """x + y"""
    if x is ZERO:
        return y
    if y is ZERO:
        return x
    xo, yo = x.op, y.op
    if yo is NEG:
        return sub(x, y.a)
    if xo is NEG:
        return sub(y, x.a)
    if xo is CONST and yo is CONST:
        return constant(x.value + y.value)
    if x is y:
        return twice(x)
    if xo is SUB and x.b is y:
        return x.a
    if yo is SUB and y.b is x:
        return y.a
    if xo is SUB and yo is SUB and x.a is y.b and x.b is y.a:
        return ZERO
    if xo is SQ and yo is SQ and x.a.a is not None and x.a.a is y.a.a and {x.a.op, y.a.op} == {"sin", "cos"}:
        return ONE
    return _plain(ADD, x, y)


def sub(x: Node, y: Node) -> Node:
    """x - y"""
    if y is ZERO:
        return x
    if x is ZERO:
        return neg(y)
    xo, yo = x.op, y.op
    if xo is CONST and yo is CONST:
        return constant(x.value - y.value)
    if x is y:
        return ZERO
    if yo is NEG:
        return add(x, y.a)
    if xo is NEG:
        return neg(add(x.a, y))
    if xo is ADD:
        if x.b is y:
            return x.a
        if x.a is y:
            return x.b
    if yo is ADD:
        if y.b is x:
            return neg(y.a)
        if y.a is x:
            return neg(y.b)
    if xo is TWICE and x.a is y:
        return y
    return _plain(SUB, x, y)


def mul(x: Node, y: Node) -> Node:
    """x y"""
    if x is ZERO or y is ZERO:
        return ZERO
    if x is ONE:
        return y
    if y is ONE:
        return x
    if x is y:
        return sq(x)
    xo, yo = x.op, y.op
    if yo is CONST:
        if xo is CONST:
            return constant(x.value * y.value)
        x, y, xo, yo = y, x, yo, xo
    if yo is NEG:
        return mul(x.a, y.a) if xo is NEG else neg(mul(x, y.a))
    if xo is NEG:
        return neg(mul(x.a, y))
    if xo is CONST:
        if x is MINUS_ONE:
            return neg(y)
        if x is TWO:
            return twice(y)
        if yo is TWICE:
            return mul(constant(2.0 * x.value), y.a)
        if yo is MUL and y.a.op is CONST and (x.value in _EXACT or y.a.value in _EXACT):
            return mul(constant(x.value * y.a.value), y.b)
        return _plain(MUL, x, y)
    if yo is INV:
        return div(x, y.a)
    if xo is INV:
        return div(y, x.a)
    if xo is DIV and x.b is y:
        return x.a
    if yo is DIV and y.b is x:
        return y.a
    if yo is TWICE and xo is MUL and x.a is HALF:
        return mul(x.b, y.a)
    if xo is TWICE and yo is MUL and y.a is HALF:
        return mul(x.a, y.b)
    return _plain(MUL, x, y)


_EXACT = frozenset({2.0, -2.0, 4.0, 0.5, -0.5})  # products with them are not rounded; any other number may be data


def div(x: Node, y: Node) -> Node:
    """x / y"""
    if y is ONE:
        return x
    xo, yo = x.op, y.op
    if yo is CONST:
        if xo is CONST:
            return _folded(DIV, x, y)
        if y is MINUS_ONE:
            return neg(x)
        if y is TWO and xo is TWICE:
            return x.a
        if y is TWO:
            return mul(HALF, x)
    if x is ZERO:
        return ZERO if y is not ZERO else NAN
    if x is y:
        return ONE
    if x is ONE:
        return inv(y)
    if xo is NEG:
        return div(x.a, y.a) if yo is NEG else neg(div(x.a, y))
    if yo is NEG:
        return neg(div(x, y.a))
    if xo is TWICE and yo is TWICE:
        return div(x.a, y.a)
    if xo is MUL:
        if x.a is y:
            return x.b
        if x.b is y:
            return x.a
    if xo is SQ and x.a is y:
        return y
    if yo is INV:
        return mul(x, y.a)
    return _plain(DIV, x, y)


def neg(x: Node) -> Node:
    """-x"""
    op = x.op
    if op is NEG:
        return x.a
    if op is CONST:
        return constant(-x.value)
    if op is SUB:
        return sub(x.b, x.a)
    return _plain(NEG, x)


def sq(x: Node) -> Node:
    """x²"""
    if x.op is CONST:
        return constant(x.value * x.value)
    if x.op is NEG or x.op == "fabs":
        return sq(x.a)
    if x.op == "sqrt":
        return x.a
    return _plain(SQ, x)


def inv(x: Node) -> Node:
    """1 / x"""
    if x.op is CONST:
        return _folded(INV, x)
    if x.op is INV:
        return x.a
    if x.op is NEG:
        return neg(inv(x.a))
    if x.op is DIV:
        return div(x.b, x.a)
    return _plain(INV, x)


def twice(x: Node) -> Node:
    """2 x"""
    if x.op is CONST:
        return constant(2.0 * x.value)
    if x.op is NEG:
        return neg(twice(x.a))
    if x.op is MUL and x.a.op is CONST:
        return mul(constant(2.0 * x.a.value), x.b)
    return _plain(TWICE, x)


# ---- functions, comparisons, choices --------------------------------------------------------------------------------


def sqrt(x: Node) -> Node:
    """√x"""
    if x.op is SQ:
        return unary("fabs")(x.a)
    return _folded("sqrt", x) if x.op is CONST else _plain("sqrt", x)


def fabs(x: Node) -> Node:
    """|x|"""
    if x.op is CONST:
        return constant(abs(x.value))
    if x.op in ("fabs", SQ, "sqrt"):
        return x
    return fabs(x.a) if x.op is NEG else _plain("fabs", x)


def power(x: Node, y: Node) -> Node:
    """x^y, small whole powers by products"""
    if y.op is not CONST:
        return _plain("pow", x, y)
    p = y.value
    if x.op is CONST:
        return _folded("pow", x, y)
    if p == 0.5:
        return sqrt(x)
    if p != p or abs(p) > MOST_FACTORS or p != int(p):
        return _plain("constpow", x, y)
    if p < 0:
        return inv(power(x, constant(-p)))
    if p == 0:
        return ONE
    whole = int(p)
    if whole % 2:
        return x if whole == 1 else mul(x, power(x, constant(whole - 1)))
    return sq(power(x, constant(whole // 2)))


def choose(condition: Node, x: Node) -> Node:
    """x where a condition holds, 0 elsewhere; what is not taken may be NaN."""
    if condition.op is CONST:
        return x if condition.value != 0.0 else ZERO
    return ZERO if x is ZERO else condition if x is ONE and condition.op in _TRUTHS else _plain(CHOOSE, condition, x)


def _joined_truths(name: str, neutral: bool) -> Callable[[Node, Node], Node]:
    """`and` (neutral: true) or `or` (neutral: false) of two nodes."""

    def found(x: Node, y: Node) -> Node:
        for one, other in ((x, y), (y, x)):
            if one.op is CONST and other.op is CONST:
                return _folded(name, x, y)
            if one.op is CONST and (one.value != 0.0) != neutral:
                return constant(float(not neutral))
            if one.op is CONST and other.op in _TRUTHS:
                return other
        return _plain(name, x, y)

    return found


def _not(x: Node) -> Node:
    if x.op is CONST:
        return constant(float(x.value == 0.0))
    if x.op == "not" and x.a.op in _TRUTHS:
        return x.a
    return _plain("not", x)


_TRUTHS = frozenset({"lt", "le", "eq", "ne", "and", "or", "not"})
_OF_ITSELF = {"lt": ZERO, "ne": ZERO, "le": ONE, "eq": ONE}  # x < x and so on
_UNDONE = {"log": "exp", "tan": "atan", "sin": "asin", "cos": "acos", "sinh": "asinh", "tanh": "atanh"}  # f(g(x)) = x
_UNARY: dict[str, Callable[[Node], Node]] = {
    NEG: neg, SQ: sq, INV: inv, TWICE: twice, "sqrt": sqrt, "fabs": fabs, "not": _not, "assign": lambda x: x,
}  # fmt: skip
_BINARY: dict[str, Callable[[Node, Node], Node]] = {
    ADD: add, SUB: sub, MUL: mul, DIV: div, "pow": power, "constpow": power, CHOOSE: choose,
    "and": _joined_truths("and", True), "or": _joined_truths("or", False),
}  # fmt: skip


def unary(name: str) -> Callable[[Node], Node]:
    """The operation of this name on one node."""
    found = _UNARY.get(name)
    if found is None:
        inner = _UNDONE.get(name)

        def found(x: Node) -> Node:
            if x.op is CONST:
                return _folded(name, x)
            return x.a if x.op == inner else _plain(name, x)

        _UNARY[name] = found
    return found


def binary(name: str) -> Callable[[Node, Node], Node]:
    """The operation of this name on two nodes."""
    found = _BINARY.get(name)
    if found is None:
        of_itself = _OF_ITSELF.get(name)
        either = name in ("fmin", "fmax")

        def found(x: Node, y: Node) -> Node:
            if x is y:
                if of_itself is not None:
                    return of_itself
                if either:
                    return x
            if x.op is CONST and y.op is CONST:
                return _folded(name, x, y)
            return _plain(name, x, y)

        _BINARY[name] = found
    return found


def made(op: str, a: Node, b: Node | None) -> Node:
    """The node of an operation on other operands, simplified."""
    if b is None:
        f = _UNARY.get(op)
        return f(a) if f is not None else unary(op)(a)
    g = _BINARY.get(op)
    return g(a, b) if g is not None else binary(op)(a, b)
