"""Symbols that ordinary NumPy code can compute with.

The user's function receives a `SymbolArray` where it expects coordinates. Every operation on its entries,
which are `Symbol`, adds a node to CasADi's expression graph; `to_sx` collects what the function returned.
Whatever needs a number instead (``if``, ``math.sin``, a place in an array of floats) raises
`UntraceableFunction` and says what to write.

A `SymbolArray` answers every NumPy function itself. ``np.array([q[0], 1.0])`` is NumPy's own object array:
arithmetic goes through the entries, but NumPy decides ``np.maximum``, ``np.sign`` and ``>`` by asking for a
truth value, so these raise and propose ``np.block([q[0], 1.0])``, which gives a `SymbolArray`.
"""

import contextlib
import contextvars
import dis
import itertools
import linecache
import math
import operator
import re
import sys

import casadi
import numpy as np
from casadi import SX

from ..errors import UntraceableFunction, WrongShape

if hasattr(casadi.GlobalOptions, "setNumpyMode"):
    casadi.GlobalOptions.setNumpyMode(-1)  # otherwise users see a FutureWarning of casadi's about NumPy

WIDTH = 60  # of an expression or a source line quoted in a message
_subject = contextvars.ContextVar("the function being traced", default="the traced function")


@contextlib.contextmanager
def tracing(subject):
    """Name the function being traced in messages, and reword NumPy's complaints about symbols.

    Parameters
    ----------
    subject : str
        How messages call the function, for example ``"constraint()"``.
    """
    token = _subject.set(subject)
    try:
        yield
    except UntraceableFunction:
        raise
    except (TypeError, IndexError) as error:
        advice = next((advice for pattern, advice in _COMPLAINTS if re.search(pattern, str(error))), None)
        if advice is None:
            raise
        raise UntraceableFunction(f"{subject} {advice} NumPy says: {error}.") from error
    finally:
        _subject.reset(token)


_BUILD = "Make arrays for NumPy's functions with np.block([...]) instead of np.array([...])."
_COMPLAINTS = (
    ("has no callable|input types|Cannot cast|unsupported in linalg|only boolean masks",
     f"uses a NumPy function on a plain array that holds symbols. {_BUILD}"),
    ("used as indices|valid indices",
     "picks entries of an array by a symbol. Use np.where, np.select or np.interp."),
)  # fmt: skip


def _user_line():
    """Opcode and quoted source of what the innermost frame that is neither ours nor NumPy's is doing."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        module = frame.f_globals.get("__name__", "")
        if module != __name__ and module.partition(".")[0] not in ("numpy", "scipy"):
            break
        frame = frame.f_back
    code, at = frame.f_code, max(frame.f_lasti, 0)
    line = linecache.getline(code.co_filename, frame.f_lineno)
    text = line.strip().rstrip(":")
    if len(text) > WIDTH:  # then only the expression at fault, where it stands on one line
        first, last, start, end = next(itertools.islice(code.co_positions(), at // 2, None))
        if first == last is not None and end is not None:
            text = line.encode()[start:end].decode()
    return dis.opname[code.co_code[at]], f' ("{_short(text)}")' if text else ""


def _short(text):
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def _refuse(what, remedy):
    return UntraceableFunction(f"{_subject.get()} {what}{_user_line()[1]}. {remedy}")


class Symbol:
    """One number that is not known yet: a node of CasADi's expression graph.

    Parameters
    ----------
    sx : casadi.SX
        The 1 by 1 expression.
    """

    __slots__ = ("sx",)
    __array_priority__ = 1000
    __hash__ = object.__hash__
    shape, ndim, size = (), 0, 1

    # No __array__ and no __getitem__: NumPy would call them for np.array([q[0], 1.0]).

    def __init__(self, sx):
        self.sx = sx

    def __repr__(self):
        return str(self.sx)

    real = T = property(lambda self: self)
    imag = property(lambda self: 0.0)

    def item(self):
        """Return the symbol, as a NumPy scalar returns its number."""
        return self

    def __pos__(self):
        return self

    def conjugate(self):
        """Return the symbol: it stands for a real number."""
        return self

    conj = conjugate

    def _number(self):
        if self.sx.is_constant():
            return float(self.sx)
        name = _short(str(self.sx))
        opcode, line = _user_line()
        if opcode == "STORE_SUBSCR":
            what = f"assigns the symbol {name} into an array of floats"
            remedy = "Build the array with np.array([...]), or make it with np.zeros_like(q) or dtype=object."
        else:
            what = f"needs the value of the symbol {name}"
            remedy = (
                "Use np.sin(...) instead of math.sin(...), leave out float(...) and dtype=float, and build "
                "arrays with np.array([...]) or dtype=object."
            )
        raise UntraceableFunction(f"{_subject.get()} {what}{line}. {remedy}")

    __float__ = _number

    def __complex__(self):
        return complex(self._number())

    def __int__(self):
        return int(self._number())

    def __index__(self):
        if self.sx.is_constant() and float(self.sx).is_integer():
            return int(self.sx)
        raise _refuse(
            f"uses the symbol {_short(str(self.sx))} as an index or a count",
            "Use np.where, np.select or np.interp to choose by value.",
        )

    def __bool__(self):
        if self.sx.is_constant():
            return bool(float(self.sx))
        what, condition = self._decision()
        opcode, line = _user_line()
        if opcode.startswith("CALL") or opcode == "COMPARE_OP":
            # A function had to decide: max(), sorted(), or NumPy on an array it does not know to be ours.
            remedy = f"Use np.maximum, np.minimum or np.where. {_BUILD}"
        else:
            remedy = f"Use np.where({condition}, a, b), or an Event for a change of regime."
        raise UntraceableFunction(
            f"{_subject.get()} {what}{line}, so its derivative cannot be formed. {remedy}"
        )

    def _decision(self):
        name = _short(str(self.sx))
        return f"decides by the value of {name}", f"{name} != 0"

    def __len__(self):
        raise _refuse(f"takes the length of {_short(str(self.sx))}", "It is one number, not an array.")

    def __iter__(self):
        raise _refuse(f"iterates over {_short(str(self.sx))}", "It is one number, not an array.")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return _apply_function(func, args, kwargs)


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
        text = _short(self._text())
        if sign in "&|^~":
            return f"decides by {text}", text
        other = _show(right) if isinstance(right, Symbol) else "a number"
        return f"compares {_short(_show(left))} with {_short(other)}", text

    def __invert__(self):
        return _negate(self)


def _show(x):
    if isinstance(x, Condition):
        return f"({x._text()})"
    return f"{x:g}" if isinstance(x, float) else str(x)


_NUMBERS = (int, float, np.floating, np.integer, np.bool_)


def _sx(x):
    """The SX of a symbol or number; None for anything else."""
    if isinstance(x, Symbol):
        return x.sx
    return SX(float(x)) if isinstance(x, _NUMBERS) else None


# What NumPy's functions are made of. SX.unary and SX.binary take 2 µs, SX's own operators 13 µs.


def _node(name):
    op = getattr(casadi, "OP_" + name)
    return lambda x: SX.unary(op, x)


def _node2(name):
    op = getattr(casadi, "OP_" + name)
    return lambda x, y: SX.binary(op, x, y)


_add, _sub, _mul, _div = map(_node2, ("ADD", "SUB", "MUL", "DIV"))
_pow, _atan2, _max, _min, _fmod = map(_node2, ("POW", "ATAN2", "FMAX", "FMIN", "FMOD"))
_lt, _le, _eq, _ne, _and, _or, _if = map(_node2, ("LT", "LE", "EQ", "NE", "AND", "OR", "IF_ELSE_ZERO"))
_sqrt, _sq, _neg, _abs, _not, _sign = map(_node, ("SQRT", "SQ", "NEG", "FABS", "NOT", "SIGN"))
_exp, _log, _log1p, _floor, _ceil = map(_node, ("EXP", "LOG", "LOG1P", "FLOOR", "CEIL"))


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
        return _pow(x, y)  # casadi squares and multiplies
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


def _heaviside(x, at_zero):
    return _add(_lt(SX(0), x), _if(_eq(x, SX(0)), at_zero))


def _logaddexp(x, y):
    return _add(_max(x, y), _log1p(_exp(_neg(_abs(_sub(x, y))))))


_UNARY = {
    **{name: _node(name.upper()) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "expm1")},
    **{"arc" + name: _node("A" + name.upper()) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "exp": _exp, "exp2": lambda x: _exp(_mul(SX(math.log(2)), x)),
    "log": _log, "log1p": _log1p,
    "log2": lambda x: _div(_log(x), SX(math.log(2))), "log10": lambda x: _div(_log(x), SX(math.log(10))),
    "sqrt": _sqrt, "square": _sq, "cbrt": lambda x: _mul(_sign(x), _pow(_abs(x), SX(1 / 3))),
    "reciprocal": lambda x: _div(SX(1), x), "sign": _sign,
    "absolute": _abs, "fabs": _abs, "floor": _floor, "ceil": _ceil,
    "trunc": lambda x: _mul(_sign(x), _floor(_abs(x))),
    "degrees": _scale(180 / math.pi), "rad2deg": _scale(180 / math.pi),
    "radians": _scale(math.pi / 180), "deg2rad": _scale(math.pi / 180),
}  # fmt: skip
_BINARY = {
    "power": _power, "float_power": _power, "arctan2": _atan2, "hypot": _node2("HYPOT"),
    "maximum": _max, "fmax": _max, "minimum": _min, "fmin": _min, "copysign": _node2("COPYSIGN"),
    "fmod": _fmod, "remainder": _remainder, "floor_divide": _floor_divide,
    "heaviside": _heaviside, "logaddexp": _logaddexp,
}  # fmt: skip
_COMPARISONS = {
    "less": ("<", _lt), "less_equal": ("<=", _le), "equal": ("==", _eq), "not_equal": ("!=", _ne),
    "greater": (">", lambda x, y: _lt(y, x)), "greater_equal": (">=", lambda x, y: _le(y, x)),
}  # fmt: skip
_LOGIC = {"and": ("&", _and), "or": ("|", _or), "xor": ("^", _ne)}


def _methods(build):
    """The two Python methods x.op(y) and y.op(x) of a function of two SX."""

    def method(self, other):
        y = _sx(other)
        return NotImplemented if y is None else Symbol(build(self.sx, y))

    def reflected(self, other):
        y = _sx(other)
        return NotImplemented if y is None else Symbol(build(y, self.sx))

    return method, reflected


def _comparison(sign, build):
    def method(self, other):
        y = _sx(other)
        return NotImplemented if y is None else Condition(build(self.sx, y), (self, sign, other))

    return method


def _joining(sign, build):
    def method(self, other):
        if not isinstance(other, (Condition, bool, np.bool_)):
            return NotImplemented
        return Condition(build(self.sx, _sx(other)), (self, sign, other))

    return method


def _complete_symbol():
    """Give `Symbol` its operators, and the methods NumPy calls on the entries of an object array."""
    for name, build in _UNARY.items():
        setattr(Symbol, name, lambda self, build=build: Symbol(build(self.sx)))
    for name, build in _BINARY.items():
        setattr(Symbol, name, _methods(build)[0])
    unary = {"neg": _neg, "abs": _abs, "floor": _floor, "ceil": _ceil, "trunc": _UNARY["trunc"]}
    for name, build in unary.items():
        setattr(Symbol, f"__{name}__", lambda self, build=build: Symbol(build(self.sx)))
    binary = {"add": _add, "sub": _sub, "mul": _mul, "truediv": _div, "pow": _power, "mod": _remainder,
              "floordiv": _floor_divide}  # fmt: skip
    for name, build in binary.items():
        method, reflected = _methods(build)
        setattr(Symbol, f"__{name}__", method)
        setattr(Symbol, f"__r{name}__", reflected)
    for name, short in zip(_COMPARISONS, ("lt", "le", "eq", "ne", "gt", "ge"), strict=True):
        setattr(Symbol, f"__{short}__", _comparison(*_COMPARISONS[name]))
    for name, how in _LOGIC.items():
        setattr(Condition, f"__{name}__", _joining(*how))
        setattr(Condition, f"__r{name}__", _joining(*how))


_complete_symbol()


class SymbolArray(np.ndarray):
    """An object array of symbols and numbers on which NumPy's functions build expressions."""

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return _apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func, types, args, kwargs):
        return _apply_function(func, args, kwargs)

    def __bool__(self):
        if self.size == 1:
            return bool(self.item())
        raise _refuse("decides by an array of symbols", "Use np.where(condition, a, b).")

    def astype(self, dtype, *args, **kwargs):
        """Copy; symbols already stand for floats, so a floating dtype changes nothing."""
        return self.copy() if np.issubdtype(dtype, np.floating) else super().astype(dtype, *args, **kwargs)

    def clip(self, min=None, max=None, out=None):
        """Limit to [min, max]."""
        low = self if min is None else np.maximum(self, min)
        return np.minimum(low, max, out=out) if max is not None else np.positive(low, out=out)


def _array(value):
    """A SymbolArray, 0-dimensional for a scalar, sharing the memory of an object array."""
    if isinstance(value, Symbol):
        array = np.empty((), dtype=object)
        array[()] = value
        return array.view(SymbolArray)
    return np.asarray(value, dtype=object).view(SymbolArray)


def _plain(value):
    """What NumPy's object loops can take without coming back to us."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (int, float)) else _array(value).view(np.ndarray)


def _ours(result):
    """Results as the user should see them: arrays of symbols know that they are."""
    if isinstance(result, np.ndarray) and result.dtype == object:
        return result.view(SymbolArray) if result.ndim else result[()]
    if isinstance(result, (list, tuple)) and any(isinstance(x, np.ndarray) for x in result):
        return type(result)(map(_ours, result)) if type(result) in (list, tuple) else result
    return result


def _apply_ufunc(ufunc, method, inputs, kwargs):
    loop = _LOOPS.get(ufunc)
    if loop is None and all(set(types) <= set("O->") for types in ufunc.types):
        loop = ufunc  # made by np.frompyfunc or np.vectorize
    if loop is None:
        raise _refuse(
            f"uses np.{ufunc.__name__} on symbols", "It has no derivative here; use arithmetic or np.where."
        )
    out = kwargs.pop("out", None)
    for name in ("dtype", "casting", "subok", "order"):
        kwargs.pop(name, None)
    changed = out or (inputs[:1] if method == "at" else ())
    if any(array.dtype != object for array in changed):
        raise _refuse(
            "changes an array of floats in place by a symbol",
            "Write a = a + b instead of a += b, or make the array with np.zeros_like(q) or dtype=object.",
        )
    indices = 1 if method in ("at", "reduceat") else None
    args = [x if k == indices else _plain(x) for k, x in enumerate(inputs)]
    with np.errstate(all="ignore"):  # casadi leaves floating-point flags behind that mean nothing here
        result = _ours(getattr(loop, method)(*args, **kwargs))
    if out is None:
        return result
    out[0][...] = result
    return out[0]


def _elementwise(name, nin, build):
    """NumPy's function `name` entry by entry: `build` on symbols, NumPy itself on numbers."""
    numeric = getattr(np, name)

    def one(*args):
        if any(isinstance(x, Symbol) for x in args):
            return Symbol(build(*map(_sx, args)))
        return float(numeric(*map(float, args)))  # beside symbols 2 means 2.0, also in np.reciprocal

    return np.frompyfunc(one, nin, 1)


def _join(sign, build, number):
    def one(x, y):
        if isinstance(x, Symbol) or isinstance(y, Symbol):
            return Condition(build(_sx(x), _sx(y)), (x, sign, y))
        return number(bool(x), bool(y))

    return one


def _negate(x):
    return Condition(_not(x.sx), ("", "~", x)) if isinstance(x, Symbol) else not x


def _choose(condition, a, b):
    if isinstance(condition, Symbol) and not condition.sx.is_constant():
        return Symbol(_add(_if(condition.sx, _sx(a)), _if(_not(condition.sx), _sx(b))))
    return a if condition else b


def _make_loops():
    """The object loop for each ufunc: NumPy's own where it only does arithmetic on the entries."""
    own = ("add", "subtract", "multiply", "divide", "negative", "positive", "conjugate", "matmul", "vecdot",
           "matvec", "vecmat")  # fmt: skip
    loops = {getattr(np, name): getattr(np, name) for name in own if hasattr(np, name)}
    loops |= {getattr(np, name): _elementwise(name, 1, build) for name, build in _UNARY.items()}
    loops |= {getattr(np, name): _elementwise(name, 2, build) for name, build in _BINARY.items()}
    for name, (sign, _) in _COMPARISONS.items():
        compare = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
                   ">": operator.gt, ">=": operator.ge}[sign]  # fmt: skip
        loops[getattr(np, name)] = np.frompyfunc(compare, 2, 1)
    for name, (sign, build) in _LOGIC.items():
        number = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}[name]
        join = np.frompyfunc(_join(sign, build, number), 2, 1, identity=name == "and")
        loops[getattr(np, "logical_" + name)] = loops[getattr(np, "bitwise_" + name)] = join
    loops[np.logical_not] = loops[np.invert] = np.frompyfunc(_negate, 1, 1)
    return loops


_LOOPS = _make_loops()
_choose_each = np.frompyfunc(_choose, 3, 1)


def _apply_function(func, args, kwargs):
    special = _FUNCTIONS.get(func)
    if special is not None:
        return special(*args, **kwargs)
    args, kwargs = _without_scalars(args), {key: _without_scalars(value) for key, value in kwargs.items()}
    try:
        # NumPy's own code, whose inner calls come back to us
        result = np.ndarray.__array_function__(np.empty(0), func, (SymbolArray,), args, kwargs)
    except UntraceableFunction:
        raise
    except TypeError as error:
        name = f"{func.__module__}.{func.__name__}".replace("numpy", "np", 1)
        raise _refuse(
            f"uses {name} on symbols", f"Use arithmetic, np.where or np.linalg.solve. NumPy says: {error}."
        ) from error
    return _ours(result)


def _without_scalars(value):
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_scalars, value)) if type(value) in (list, tuple) else value
    return _array(value) if isinstance(value, Symbol) else value


_FUNCTIONS = {}


def _implements(*functions):
    def register(implementation):
        _FUNCTIONS.update(dict.fromkeys(functions, implementation))
        return implementation

    return register


@_implements(np.where)
def _where(condition, *branches):
    if len(branches) != 2:
        raise _refuse("uses np.where(condition) to find indices", "Use np.where(condition, a, b).")
    return _ours(_choose_each(*map(_plain, (condition, *branches))))


@_implements(np.select)
def _select(condlist, choicelist, default=0):
    result = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = _where(condition, choice, result)
    return result


@_implements(np.piecewise)
def _piecewise(x, condlist, funclist, *args, **kw):
    condlist = list(condlist) if isinstance(condlist, (list, tuple)) else [condlist]
    values = [f(x, *args, **kw) if callable(f) else f for f in funclist]
    default = values.pop() if len(values) == len(condlist) + 1 else 0.0
    return _select(condlist, values, default) + 0.0 * x


@_implements(np.clip)
def _clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    return _ours(_array(a).clip(a_min if min is None else min, a_max if max is None else max, out))


@_implements(np.interp)
def _interp(x, xp, fp, left=None, right=None, period=None):
    if period is not None:
        raise _refuse("uses np.interp with period=", "Reduce x by x % period and close the table by hand.")
    xp, fp = _numbers(xp, "the x values of np.interp"), _array(fp)
    x = _array(x)
    result = fp[0] + 0.0 * x
    for j in range(len(xp) - 1):
        line = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]) * (x - xp[j]) + fp[j]
        result = _where(x >= xp[j], line, result) if j else line  # the first line also carries a NaN in x
    result = _where(x >= xp[-1], fp[-1], result)
    result = _where(x < xp[0], fp[0] if left is None else left, result)
    return result if right is None else _where(x > xp[-1], right, result)


def _numbers(value, what):
    try:
        return np.asarray(value, dtype=float)
    except UntraceableFunction as error:
        raise _refuse(f"gives symbols as {what}", "These must be numbers.") from error


@_implements(np.zeros_like, np.empty_like)
def _zeros_like(a, dtype=None, order="K", subok=True, shape=None, **kw):
    return _full_like(a, 0.0, dtype, order, subok, shape)


@_implements(np.ones_like)
def _ones_like(a, dtype=None, order="K", subok=True, shape=None, **kw):
    return _full_like(a, 1.0, dtype, order, subok, shape)


@_implements(np.full_like)
def _full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, **kw):
    # an array of floats was asked for; one of objects takes floats and symbols
    floats = dtype is None or dtype is object or np.issubdtype(dtype, np.floating)
    result = np.empty(np.shape(a) if shape is None else shape, dtype=object if floats else dtype)
    result[...] = _plain(fill_value)
    return result.view(SymbolArray) if floats else result


@_implements(np.linalg.norm)
def _norm(x, ord=None, axis=None, keepdims=False):
    x = _array(x)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if ord is None or (ord == "fro" and len(axes) == 2) or (ord == 2 and len(axes) == 1):
        return np.sqrt(np.sum(x * x, axis=axes, keepdims=keepdims))
    if ord == 1 and len(axes) == 1:
        return np.sum(np.abs(x), axis=axes, keepdims=keepdims)
    if ord == math.inf and len(axes) == 1:
        return np.max(np.abs(x), axis=axes, keepdims=keepdims)
    raise _refuse(f"uses np.linalg.norm(..., ord={ord!r}) on symbols", "Use ord=None, or ord=1 on a vector.")


def _square(a, name):
    a = _array(a)
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise _refuse(f"uses np.linalg.{name} on an array of shape {a.shape}", "Give one square matrix.")
    return a


def _from_sx(sx):
    values = _array([Symbol(entry) for entry in casadi.densify(sx).nonzeros()])
    return values.reshape(sx.shape, order="F")


@_implements(np.linalg.solve)
def _solve(a, b):
    b = _array(b)
    return _from_sx(casadi.solve(to_sx(_square(a, "solve")), to_sx(b))).reshape(b.shape)


@_implements(np.linalg.inv)
def _inv(a):
    return _from_sx(casadi.inv(to_sx(_square(a, "inv"))))


@_implements(np.linalg.det)
def _det(a):
    a = _square(a, "det")
    if len(a) > 10:
        raise _refuse(f"uses np.linalg.det on {len(a)} by {len(a)} symbols", "The limit is 10 by 10.")
    minors = {(): 1.0}  # determinants of the rows so far, by the columns they use
    for row in a:
        larger = {}
        for columns, minor in minors.items():
            for j in set(range(len(a))).difference(columns):
                key = tuple(sorted((*columns, j)))
                term = row[j] * minor if (len(columns) - key.index(j)) % 2 == 0 else -row[j] * minor
                larger[key] = larger[key] + term if key in larger else term
        minors = larger
    return minors[tuple(range(len(a)))]


def scalar(name):
    """Make one named symbol.

    Returns
    -------
    sx : casadi.SX
    symbol : Symbol
    """
    sx = SX.sym(name)
    return sx, Symbol(sx)


def vector(name, n):
    """Make the named symbols ``name[0] ... name[n-1]``.

    Returns
    -------
    sx : casadi.SX
        Column of n symbols.
    symbols : SymbolArray
        The same symbols, shape (n,).
    """
    entries = [SX.sym(f"{name}[{i}]") for i in range(n)]
    array = np.empty(n, dtype=object)
    array[:] = [Symbol(entry) for entry in entries]
    return casadi.vertcat(SX(0, 1), *entries), array.view(SymbolArray)


def to_sx(value, shape=None):
    """Collect what a traced function returned into one expression.

    Parameters
    ----------
    value : Symbol, number, array, nested sequence or casadi.SX
        At most two axes; one axis gives a column.
    shape : tuple of int, optional
        What the result must have as a NumPy shape; a scalar passes for one entry.

    Returns
    -------
    casadi.SX
        Entries that are exactly zero are left out of its sparsity pattern.
    """
    if isinstance(value, (SX, casadi.DM)):
        result = casadi.sparsify(SX(value))
    else:
        result = _collect(value)
    if shape is not None and result.shape != (*shape, 1, 1)[:2]:
        raise WrongShape(f"{_subject.get()} returned shape {result.shape}, but shape {shape} is needed here.")
    return result


def _collect(value):
    try:
        array = _array(_symbols(value))
    except ValueError as error:
        raise UntraceableFunction(
            f"{_subject.get()} returned rows of different lengths. Join them with np.concatenate."
        ) from error
    if array.ndim > 2:
        raise WrongShape(f"{_subject.get()} returned an array of {array.ndim} axes. Return at most two.")
    places, entries = [], []
    for place, entry in np.ndenumerate(array):
        sx = _sx(entry)
        if sx is None:
            raise UntraceableFunction(f"{_subject.get()} returned {_misfit(entry, place)}")
        if not sx.is_zero():
            places.append((*place, 0, 0)[:2])
            entries.append(sx)
    rows, columns = zip(*places, strict=True) if places else ((), ())
    return SX.triplet(rows, columns, casadi.vertcat(SX(0, 1), *entries), *(*array.shape, 1, 1)[:2])


def _symbols(value):
    """Nested sequences with their single SX as symbols and 0-dimensional arrays as numbers."""
    if isinstance(value, (list, tuple)):
        return [_symbols(entry) for entry in value]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value.item()
    return Symbol(value) if isinstance(value, SX) and value.is_scalar() else value


def _misfit(entry, place):
    at = f" at {list(place)}" if place else ""
    if entry is None and not place:
        return "nothing: is a `return` missing?"
    if isinstance(entry, (list, tuple, np.ndarray)):
        return f"an array inside an array{at}. Join the parts with np.concatenate."
    kind = "None" if entry is None else f"a {type(entry).__name__}"
    return f"{kind}{at}. Return real numbers and symbols, alone, in a list or in an array."
