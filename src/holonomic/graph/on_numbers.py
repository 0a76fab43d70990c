"""Every operation of a graph on plain numbers, with the results of floating-point arithmetic instead of exceptions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

import numpy as np

INF, NAN = math.inf, math.nan


def _div(x: float, y: float) -> float:
    if y:
        return x / y
    return NAN if x != x or x == 0.0 else math.copysign(INF, x) * math.copysign(1.0, y)


def _fmin(x: float, y: float) -> float:
    return x if x < y or x != x else y


def _fmax(x: float, y: float) -> float:
    return x if x > y or x != x else y


_IN_NUMPY = {"asin": "arcsin", "acos": "arccos", "acosh": "arccosh", "atanh": "arctanh", "pow": "power"}


def _quietly(name: str, f: Callable) -> Callable:
    """A function of `math` that gives what NumPy gives where the first raises."""
    theirs = getattr(np, _IN_NUMPY.get(name, name))

    def on_numbers(*x: float) -> float:
        try:
            return f(*x)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return float(theirs(*map(np.float64, x)))

    return on_numbers


BY_NAME: dict[str, Callable[..., float]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _div, "neg": operator.neg,
    "sq": lambda x: x * x, "twice": lambda x: x + x, "inv": lambda x: _div(1.0, x),
    "asinh": math.asinh, "atan": math.atan, "tanh": math.tanh, "atan2": math.atan2, "hypot": math.hypot, "erf": math.erf,
    "fabs": abs, "copysign": math.copysign,
    "floor": lambda x: float(math.floor(x)) if math.isfinite(x) else x,
    "ceil": lambda x: float(math.ceil(x)) if math.isfinite(x) else x,
    "sign": lambda x: 1.0 if x > 0 else -1.0 if x < 0 else x,
    "lt": lambda x, y: 1.0 if x < y else 0.0, "le": lambda x, y: 1.0 if x <= y else 0.0,
    "eq": lambda x, y: 1.0 if x == y else 0.0, "ne": lambda x, y: 1.0 if x != y else 0.0,
    "not": lambda x: 1.0 if x == 0 else 0.0,
    "and": lambda x, y: 1.0 if x != 0 and y != 0 else 0.0, "or": lambda x, y: 1.0 if x != 0 or y != 0 else 0.0,
    "if_else_zero": lambda x, y: y if x != 0 else 0.0, "fmin": _fmin, "fmax": _fmax, "assign": lambda x: x,
}  # fmt: skip
BY_NAME |= {
    name: _quietly(name, getattr(math, name))
    for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "sinh", "cosh", "acosh", "atanh", "expm1",
                 "log1p", "fmod", "pow")
}  # fmt: skip
BY_NAME["constpow"] = BY_NAME["pow"]
