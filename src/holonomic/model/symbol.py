"""Symbol: a number that is not known yet, and the messages of code that needs to know it.

Every operation on a `Symbol` adds a node to the expression graph. A decision (``if``) is taken by the code that follows the
ways through a function; whatever needs a number instead raises `UntraceableFunction` and says what to write.
"""

import contextvars
import math
import numbers

import numpy as np

from ..errors import UntraceableFunction
from .refusals import BUILD, SUBJECT, noted, refusal, short, user_line
from .symbolics import SX, binary, unary

DECIDE = contextvars.ContextVar("who answers a condition", default=None)
SWITCHED = contextvars.ContextVar("who gives selects a mode", default=None)


class Symbol:
    """One number that is not known yet: a node of the expression graph.

    Parameters
    ----------
    sx : SX
        The 1 by 1 expression.
    """

    __slots__ = ("sx",)
    __array_priority__ = 1000
    shape, ndim, size = (), 0, 1

    # No __array__ and no __getitem__: NumPy would call them for np.array([q[0], 1.0]).

    def __init__(self, sx):
        self.sx = sx

    def __repr__(self):
        return str(self.sx)

    def __format__(self, spec):
        return str(self.sx)

    real = T = property(lambda self: self)
    imag = property(lambda self: 0.0)

    def item(self):
        """Return the symbol, as a NumPy scalar returns its number."""
        return self

    tolist = copy = __copy__ = item

    def __deepcopy__(self, memo):
        return self

    def astype(self, dtype, **kwargs):
        """Return the symbol, which stands for a float; whole numbers are refused."""
        return self if np.issubdtype(dtype, np.floating) else self.__int__()

    def __pos__(self):
        return self

    def conjugate(self):
        """Return the symbol: it stands for a real number."""
        return self

    conj = conjugate

    def _number(self):
        if self.sx.is_constant():
            return float(self.sx)
        name = short(str(self.sx))
        opcode, line = user_line()
        if opcode in ("STORE_SUBSCR", "STORE_SLICE"):  # the second for a[:] = ... from Python 3.12 on
            what = f"assigns the symbol {name} into an array of numbers"
            remedy = "Make the array anew inside the function, with np.zeros(...) or .copy(), in double precision."
        else:
            what = f"needs the value of the symbol {name}"
            remedy = "Write it with functions of NumPy or math, or call what needs numbers through opaque(f)."
        raise noted(UntraceableFunction(f"{SUBJECT.get()} {what}{line}. {remedy}"))

    __float__ = _number

    def __complex__(self):
        return complex(self._number())

    def __int__(self):
        if self.sx.is_constant():
            return int(float(self.sx))
        raise self._whole("makes a whole number of", "np.floor")

    def __round__(self, digits=None):
        if self.sx.is_constant():
            return round(float(self.sx), digits)
        raise self._whole("rounds", "np.round")

    def _whole(self, what, name):
        return refusal(
            f"{what} {short(str(self.sx))}",
            "Its value jumps, and between the jumps its derivative is zero. Leave it out, or use np.floor where steps are meant."
            if name == "np.round"
            else "Its value jumps, and an array of integers cuts what is put into it. Leave out int, make the array of floats, "
            "or use np.floor where steps are meant.",
        )

    def __index__(self):
        if self.sx.is_constant() and float(self.sx).is_integer():
            return int(self.sx)
        raise refusal(
            f"uses the symbol {short(str(self.sx))} as an index or a count",
            "Use np.where, np.select or np.interp to choose by value.",
        )

    def __hash__(self):
        if self.sx.is_constant():
            return hash(float(self.sx))
        raise refusal(
            f"looks the symbol {short(str(self.sx))} up in a mapping or a set", "Use if, np.where or np.select to choose by value."
        )

    def __bool__(self):
        if self.sx.is_constant():
            return bool(float(self.sx))
        decide = DECIDE.get()
        if decide is not None:
            return decide(self)
        what, condition = self._decision()
        opcode, line = user_line()
        if opcode.startswith("CALL") or opcode == "COMPARE_OP":
            # A function had to decide: max(), sorted(), or NumPy on an array it does not know to be ours.
            remedy = f"Use np.maximum, np.minimum or np.where. {BUILD}"
        else:
            remedy = f"Use np.where({condition}, a, b), or an Event for a change of regime."
        raise noted(UntraceableFunction(f"{SUBJECT.get()} {what}{line}, so its derivative cannot be formed. {remedy}"))

    def _decision(self):
        name = short(str(self.sx))
        return f"decides by the value of {name}", f"{name} != 0"

    def __divmod__(self, other):
        return self // other, self % other

    def __rdivmod__(self, other):
        return other // self, other % self

    # __array_ufunc__ and __array_function__ are those of `symbol_array`.


class Condition(Symbol):
    """The outcome of a comparison, 1 or 0; joined by ``&``, ``|``, ``^`` and ``~``."""

    __slots__ = ("relation",)

    def __init__(self, sx, relation):
        self.sx = sx
        self.relation = relation

    def _text(self):
        left, sign, right = self.relation
        return f"{_show(left)} {sign} {_show(right)}".strip()

    def _decision(self):
        left, sign, right = self.relation
        text = short(self._text())
        if sign in "&|^~":
            return f"decides by {text}", text
        other = _show(right) if isinstance(right, Symbol) else "a number"
        return f"compares {short(_show(left))} with {short(other)}", text

    def __invert__(self):
        return negated(self)


class WholeNumber(Symbol):
    """A whole number that is not known yet, such as np.where(q > 0, 1, 2): in NumPy an integer, whose arrays cut what they get."""

    __slots__ = ()


WHOLE = (int, np.integer, WholeNumber, Condition)


def _show(x):
    if isinstance(x, Condition):
        return f"({x._text()})"
    return f"{x:g}" if isinstance(x, float) else str(x)


_NUMBERS = (int, float, np.floating, np.integer, np.bool_)


def as_sx(x):
    """The SX of a symbol or number; None for anything else."""
    if isinstance(x, Symbol):
        return x.sx
    return SX(float(x)) if isinstance(x, _NUMBERS) else None


# What NumPy's functions are made of.
_add, _sub, _mul, _div = map(binary, ("add", "sub", "mul", "div"))
_pow, _atan2, _max, _min, _fmod = map(binary, ("pow", "atan2", "fmax", "fmin", "fmod"))
_lt, _le, _eq, _ne, _and, _or, _if = map(binary, ("lt", "le", "eq", "ne", "and", "or", "if_else_zero"))
_sqrt, _sq, _neg, _abs, _not, _sign = map(unary, ("sqrt", "sq", "neg", "fabs", "not", "sign"))
_exp, _log, _log1p, _floor, _ceil = map(unary, ("exp", "log", "log1p", "floor", "ceil"))
erf = unary("erf")


def _scale(factor):
    return lambda x: _mul(SX(factor), x)


def _power(x, y):
    """x**y, small whole and half powers by products and square roots."""
    p = float(y) if y.is_constant() else math.nan
    if not (abs(p) <= 16 and (2 * p).is_integer()):
        return _pow(x, y)
    if p < 0:
        return _div(SX(1), _power(x, SX(-p)))
    if p == int(p):
        return _pow(x, y)  # by squares and products
    if p == 0.5:
        return _sqrt(x)
    # 1e-200 is lost in x > 1e-184, but keeps the derivative of max(d, 0)**1.5 from being 0·inf where d < 0
    return _mul(_pow(x, SX(p - 0.5)), _sqrt(_add(x, SX(1e-200))))


def _remainder(x, y):
    r = _fmod(x, y)
    return _add(r, _if(_lt(_mul(r, y), SX(0)), y))  # the sign of y, as in Python and NumPy


def _floor_divide(x, y):
    # (x - remainder) / y is whole but for rounding; the quotient itself may round up to the next whole number
    return _floor(_add(_div(_sub(x, _remainder(x, y)), y), SX(0.5)))


def _in_two(plain, low, high, above, below, corner=False):
    """A function with a corner or a jump where low = high: it is `above` where low < high, and `below` beyond."""
    switched = SWITCHED.get()
    return plain if switched is None else switched.in_two(plain, low, high, above, below, corner)


def _absolute(x):
    return _in_two(_abs(x), SX(0), x, x, _neg(x), corner=True)


def _signum(x):
    return _in_two(_sign(x), SX(0), x, SX(1), SX(-1))


def _maximum(x, y):
    return _in_two(_max(x, y), y, x, x, y, corner=True)


def _minimum(x, y):
    return _in_two(_min(x, y), x, y, x, y, corner=True)


def _copysign(x, y):
    return _in_two(binary("copysign")(x, y), SX(0), y, _abs(x), _neg(_abs(x)))


def _heaviside(x, at_zero):
    return _in_two(_add(_lt(SX(0), x), _if(_eq(x, SX(0)), at_zero)), SX(0), x, SX(1), SX(0))


def _logaddexp(x, y):
    return _add(_max(x, y), _log1p(_exp(_neg(_abs(_sub(x, y))))))


UNARY = {
    **{name: unary(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "expm1")},
    **{"arc" + name: unary("a" + name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "exp": _exp, "exp2": lambda x: _exp(_mul(SX(math.log(2)), x)),
    "log": _log, "log1p": _log1p,
    "log2": lambda x: _div(_log(x), SX(math.log(2))), "log10": lambda x: _div(_log(x), SX(math.log(10))),
    "sqrt": _sqrt, "square": _sq, "cbrt": lambda x: _mul(_sign(x), _pow(_abs(x), SX(1 / 3))),
    "reciprocal": lambda x: _div(SX(1), x), "sign": _signum,
    "absolute": _absolute, "fabs": _absolute, "floor": _floor, "ceil": _ceil,
    "trunc": lambda x: _mul(_sign(x), _floor(_abs(x))),
    "degrees": _scale(180 / math.pi), "rad2deg": _scale(180 / math.pi),
    "radians": _scale(math.pi / 180), "deg2rad": _scale(math.pi / 180),
}  # fmt: skip
BINARY = {
    "power": _power, "float_power": _power, "arctan2": _atan2, "hypot": binary("hypot"),
    "maximum": _maximum, "fmax": _maximum, "minimum": _minimum, "fmin": _minimum, "copysign": _copysign,
    "fmod": _fmod, "remainder": _remainder, "floor_divide": _floor_divide,
    "heaviside": _heaviside, "logaddexp": _logaddexp,
}  # fmt: skip
COMPARISONS = {
    "less": ("<", _lt), "less_equal": ("<=", _le), "equal": ("==", _eq), "not_equal": ("!=", _ne),
    "greater": (">", lambda x, y: _lt(y, x)), "greater_equal": (">=", lambda x, y: _le(y, x)),
}  # fmt: skip
LOGIC = {"and": ("&", _and), "or": ("|", _or), "xor": ("^", _ne)}


NO_BITS = "It works on the bits of whole numbers; use % and //, np.where, or logical_and and the like for truths."


def chosen(condition, a, b):
    """a where a condition holds, b elsewhere."""
    return _add(_if(condition, a), _if(_not(condition), b))


def negated(x):
    """The opposite of a condition."""
    return Condition(_not(x.sx), ("", "~", x)) if isinstance(x, Symbol) else not x


def inverted(x):
    """~x: the opposite of a truth; of whole numbers, all bits."""
    if isinstance(x, Symbol):
        if not isinstance(x, Condition):
            raise refusal("uses ~ on numbers that are not known", NO_BITS)
        return negated(x)
    return not x if isinstance(x, bool | np.bool_) else ~x


def _methods(build):
    """The two Python methods x.op(y) and y.op(x) of a function of two SX."""

    def method(self, other):
        y = as_sx(other)
        return NotImplemented if y is None else Symbol(build(self.sx, y))

    def reflected(self, other):
        y = as_sx(other)
        return NotImplemented if y is None else Symbol(build(y, self.sx))

    return method, reflected


def _comparison(sign, build):
    def method(self, other):
        y = as_sx(other)
        if y is None:
            return NotImplemented
        switched = SWITCHED.get()
        return Condition(build(self.sx, y) if switched is None else switched.compared(self.sx, sign, y, build), (self, sign, other))

    return method


def _joining(sign, build):
    def method(self, other):
        if not isinstance(other, (Condition, bool, np.bool_)):
            return NotImplemented
        return Condition(build(self.sx, as_sx(other)), (self, sign, other))

    return method


def _no_truth(other):
    """What is added to a condition; another condition is refused."""
    if isinstance(other, (Condition, bool, np.bool_)):
        raise refusal(
            "adds or subtracts two comparisons, of which NumPy makes one truth and no count",
            "Write 1.0 * (a > b) + 1.0 * (c > d), or (a > b) | (c > d).",
        )
    return other


def _joined_by_product(self, other):
    """The product of two conditions is one, which is refused in sums, as in (q > 0) @ (v > 0)."""
    return self & other if isinstance(other, Condition) else Symbol.__mul__(self, other)


def _staying_whole(plain):
    """An operation of which whole numbers make a whole number."""

    def method(self, other):
        made = plain(self, other)
        return WholeNumber(made.sx) if isinstance(other, WHOLE) and made is not NotImplemented else made

    return method


def _complete_symbol():
    """Give `Symbol` its operators, and the methods NumPy calls on the entries of an object array."""
    for name, build in UNARY.items():
        setattr(Symbol, name, lambda self, build=build: Symbol(build(self.sx)))
    for name, build in BINARY.items():
        setattr(Symbol, name, _methods(build)[0])
    of_one = {"neg": _neg, "abs": _absolute, "floor": _floor, "ceil": _ceil, "trunc": UNARY["trunc"]}
    for name, build in of_one.items():
        setattr(Symbol, f"__{name}__", lambda self, build=build: Symbol(build(self.sx)))
    of_two = {"add": _add, "sub": _sub, "mul": _mul, "truediv": _div, "pow": _power, "mod": _remainder, "floordiv": _floor_divide}
    for name, build in of_two.items():
        method, reflected = _methods(build)
        setattr(Symbol, f"__{name}__", method)
        setattr(Symbol, f"__r{name}__", reflected)
    for name, method in zip(COMPARISONS, ("lt", "le", "eq", "ne", "gt", "ge"), strict=True):
        setattr(Symbol, f"__{method}__", _comparison(*COMPARISONS[name]))
    for name in ("add", "sub", "mul", "mod", "floordiv"):
        for both in (name, f"r{name}"):
            setattr(WholeNumber, f"__{both}__", _staying_whole(getattr(Symbol, f"__{both}__")))
    for name in ("neg", "abs"):
        setattr(WholeNumber, f"__{name}__", lambda self, build=of_one[name]: WholeNumber(build(self.sx)))
    for name in ("add", "radd", "sub", "rsub"):
        plain = getattr(Symbol, f"__{name}__")
        setattr(Condition, f"__{name}__", lambda self, other, plain=plain: plain(self, _no_truth(other)))
    Condition.__mul__ = _joined_by_product
    for name, how in LOGIC.items():
        setattr(Condition, f"__{name}__", _joining(*how))
        setattr(Condition, f"__r{name}__", _joining(*how))


_complete_symbol()
numbers.Real.register(Symbol)
