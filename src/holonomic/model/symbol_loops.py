"""NumPy's ufuncs entry by entry: expressions where an entry is a symbol, NumPy's own numbers where none is."""

import operator

import numpy as np

from .refusals import refusal
from .symbol import (
    BINARY,
    COMPARISONS,
    LOGIC,
    NO_BITS,
    UNARY,
    WHOLE,
    Condition,
    Symbol,
    WholeNumber,
    as_sx,
    chosen,
    inverted,
    negated,
)

floated = np.frompyfunc(lambda x: Symbol(x.sx) if isinstance(x, (Condition, WholeNumber)) else x, 1, 1)  # as floats are
counted = np.frompyfunc(lambda x: Symbol(x.sx) if isinstance(x, Condition) else x, 1, 1)  # a sum of truths counts them


_STAYING_WHOLE = frozenset({"maximum", "minimum", "fmax", "fmin", "remainder", "floor_divide", "absolute", "sign", "square"})


def _elementwise(name, nin, build):
    """NumPy's function `name` entry by entry: `build` on symbols, NumPy itself on numbers."""
    numeric = getattr(np, name)

    def one(*args):
        if any(isinstance(x, Symbol) for x in args):
            if name == "reciprocal" and isinstance(args[0], WholeNumber):
                raise refusal("uses np.reciprocal on whole numbers, of which NumPy makes 0", "Write 1.0 / x.")
            kind = WholeNumber if name in _STAYING_WHOLE and all(isinstance(x, WHOLE) for x in args) else Symbol
            return kind(build(*map(as_sx, args)))
        return float(numeric(*map(float, args)))  # beside symbols 2 means 2.0, also in np.reciprocal

    return np.frompyfunc(one, nin, 1)


def _divide(x, y):
    """x / y; between numbers NumPy's, which does not raise."""
    if isinstance(x, Symbol) or isinstance(y, Symbol):
        return x / y
    return float(np.divide(float(x), float(y)))


def _join(sign, build, number):
    def one(x, y):
        if isinstance(x, Symbol) or isinstance(y, Symbol):
            return Condition(build(as_sx(x), as_sx(y)), (x, sign, y))
        return number(bool(x), bool(y))

    return one


def _join_bits(sign, build, number):
    """&, | and ^: of truths as they are, of whole numbers by their bits."""
    truths = _join(sign, build, number)

    def one(x, y):
        if all(isinstance(z, (Condition, bool, np.bool_)) for z in (x, y)):
            return truths(x, y)
        if isinstance(x, Symbol) or isinstance(y, Symbol):
            raise refusal(f"uses {sign} on numbers that are not known", NO_BITS)
        return number(x, y)

    return one


def _choose(condition, a, b):
    if isinstance(condition, Symbol) and not condition.sx.is_constant():
        made = chosen(condition.sx, as_sx(a), as_sx(b))
        if all(isinstance(x, (Condition, bool, np.bool_)) for x in (a, b)):
            return Condition(made, ("", "", Symbol(made)))
        return WholeNumber(made) if all(isinstance(x, WHOLE) for x in (a, b)) else Symbol(made)
    return a if condition else b


def _make_loops():
    """The object loop for each ufunc: NumPy's own where it only does arithmetic on the entries."""
    own = ("add", "subtract", "multiply", "negative", "positive", "conjugate", "matmul", "vecdot", "matvec", "vecmat")
    loops = {getattr(np, name): getattr(np, name) for name in own if hasattr(np, name)}
    loops |= {getattr(np, name): _elementwise(name, 1, build) for name, build in UNARY.items()}
    loops |= {getattr(np, name): _elementwise(name, 2, build) for name, build in BINARY.items()}
    loops[np.divide] = np.frompyfunc(_divide, 2, 1)
    for name, (sign, _) in COMPARISONS.items():
        compare = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
                   ">": operator.gt, ">=": operator.ge}[sign]  # fmt: skip
        loops[getattr(np, name)] = np.frompyfunc(compare, 2, 1)
    for name, (sign, build) in LOGIC.items():
        number = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[name]
        loops[getattr(np, "logical_" + name)] = np.frompyfunc(_join(sign, build, number), 2, 1, identity=name == "and")
        loops[getattr(np, "bitwise_" + name)] = np.frompyfunc(_join_bits(sign, build, number), 2, 1, identity=name == "and")
    loops[np.logical_not], loops[np.invert] = np.frompyfunc(negated, 1, 1), np.frompyfunc(inverted, 1, 1)
    return loops


LOOPS = _make_loops()
TRUTHS = frozenset(getattr(np, name) for name in (*COMPARISONS, "logical_and", "logical_or", "logical_xor", "logical_not"))
choose_each = np.frompyfunc(_choose, 3, 1)
