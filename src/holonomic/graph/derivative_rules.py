"""Derivatives of every operation by its operands, as nodes."""

from __future__ import annotations

import math
from collections.abc import Callable

from .nodes import MINUS_ONE, ONE, TWO, ZERO, Node, add, binary, constant, div, inv, mul, neg, power, sq, sqrt, sub, twice, unary

_exp, _log, _sin, _cos, _sinh, _cosh, _sign = map(unary, ("exp", "log", "sin", "cos", "sinh", "cosh", "sign"))
_copysign, _le = binary("copysign"), binary("le")
_not = unary("not")

# f(x): the derivative, given the node
OF_ONE: dict[str, Callable[[Node], Node]] = {
    "neg": lambda f: MINUS_ONE,
    "twice": lambda f: TWO,
    "assign": lambda f: ONE,
    "sq": lambda f: twice(f.a),
    "inv": lambda f: neg(sq(f)),
    "sqrt": lambda f: inv(twice(f)),
    "exp": lambda f: f,
    "expm1": lambda f: add(f, ONE),
    "log": lambda f: inv(f.a),
    "log1p": lambda f: inv(add(ONE, f.a)),
    "sin": lambda f: _cos(f.a),
    "cos": lambda f: neg(_sin(f.a)),
    "tan": lambda f: add(ONE, sq(f)),
    "asin": lambda f: inv(sqrt(sub(ONE, sq(f.a)))),
    "acos": lambda f: neg(inv(sqrt(sub(ONE, sq(f.a))))),
    "atan": lambda f: inv(add(ONE, sq(f.a))),
    "sinh": lambda f: _cosh(f.a),
    "cosh": lambda f: _sinh(f.a),
    "tanh": lambda f: sub(ONE, sq(f)),
    "asinh": lambda f: inv(sqrt(add(ONE, sq(f.a)))),
    "acosh": lambda f: inv(mul(sqrt(sub(f.a, ONE)), sqrt(add(f.a, ONE)))),
    "atanh": lambda f: inv(sub(ONE, sq(f.a))),
    "erf": lambda f: mul(constant(2.0 / math.sqrt(math.pi)), _exp(neg(sq(f.a)))),
    "fabs": lambda f: _sign(f.a),
    "sign": lambda f: ZERO,
    "floor": lambda f: ZERO,
    "ceil": lambda f: ZERO,
    "not": lambda f: ZERO,
}

# f(x, y): both derivatives, given the node
OF_TWO: dict[str, tuple[Callable[[Node], Node], Callable[[Node], Node]]] = {
    "add": (lambda f: ONE, lambda f: ONE),
    "sub": (lambda f: ONE, lambda f: MINUS_ONE),
    "mul": (lambda f: f.b, lambda f: f.a),
    "div": (lambda f: inv(f.b), lambda f: neg(div(f, f.b))),
    "pow": (lambda f: mul(f.b, power(f.a, sub(f.b, ONE))), lambda f: mul(f, _log(f.a))),
    "atan2": (lambda f: div(f.b, add(sq(f.a), sq(f.b))), lambda f: neg(div(f.a, add(sq(f.a), sq(f.b))))),
    "hypot": (lambda f: div(f.a, f), lambda f: div(f.b, f)),
    "fmod": (lambda f: ONE, lambda f: div(sub(f, f.a), f.b)),
    "copysign": (lambda f: mul(_sign(f.a), _copysign(ONE, f.b)), lambda f: ZERO),
    **{name: (lambda f: ZERO, lambda f: ZERO) for name in ("lt", "le", "eq", "ne", "and", "or")},
}
OF_TWO["constpow"] = OF_TWO["pow"]

# Operations that choose one of their operands: (which is chosen, where), given the node. What is not taken has no share in the
# derivative, even if it is infinite.
CHOOSING: dict[str, Callable[[Node], tuple[tuple[int, Node], ...]]] = {
    "if_else_zero": lambda f: ((1, f.a),),
    "fmin": lambda f: _first_where(_le(f.a, f.b)),
    "fmax": lambda f: _first_where(_le(f.b, f.a)),
}


def _first_where(condition: Node) -> tuple[tuple[int, Node], ...]:
    return (0, condition), (1, _not(condition))
