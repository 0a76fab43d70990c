"""Numbers that write down how a plain function of them decides: every comparison, whole number, side and sign.

Two evaluations with the same *pattern* of decisions went the same way through the function, which is smooth along that way.
"""

import contextlib
import math
from types import SimpleNamespace

import numpy as np

_decided = []


def decide(outcome):
    """Write a decision down, and return it."""
    _decided.append(outcome)
    return outcome


def pattern(f, *numbers):
    """Return a function's value at plain numbers and the decisions that led to it."""
    _decided.clear()
    value = float(f(*(Traced(x) for x in numbers)))
    return value, tuple(_decided)


def _plain(x):
    return float(x) if isinstance(x, Traced) else x


def _side(x, y):
    return decide((x > y) - (x < y))


def _mod(x, y):
    decide(math.floor(x / y))
    return x % y


def _fmod(x, y):
    decide(math.trunc(x / y))
    return math.fmod(x, y)


def _remainder(x, y):
    decide(round(x / y))
    return math.remainder(x, y)


def _copysign(x, y):
    decide(math.copysign(1.0, y))
    decide(x > 0)
    return math.copysign(x, y)


def _smaller(x, y):
    return y if decide(x > y) else x


def _greater(x, y):
    return x if decide(x > y) else y


def _whole(rule):
    return lambda x, *more: float(decide(rule(x, *more)))


def _heaviside(x, y):
    return [y, 1.0, 0.0][_side(x, 0.0)]


def _interp(x, xs, ys, **more):
    decide(int(np.searchsorted(xs, x)))
    return float(np.interp(x, xs, ys, **more))


def _clip(x, low, high):
    x = x if low is None else _greater(x, low)
    return x if high is None else _smaller(x, high)


def _select(conditions, values, default=0.0):
    return next((value for condition, value in zip(conditions, values, strict=True) if condition), default)


def _piecewise(x, conditions, values):
    at = next((k for k, condition in enumerate(conditions) if condition), len(conditions))
    value = values[at] if at < len(values) else 0.0
    return value(x) if callable(value) else value


def _near(x, digits=0):
    return decide(float(np.round(x, digits)))


UFUNCS = {
    "remainder": _mod, "mod": _mod, "fmod": _fmod, "copysign": _copysign, "minimum": _smaller, "fmin": _smaller,
    "maximum": _greater, "fmax": _greater, "heaviside": _heaviside, "floor": _whole(math.floor), "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc), "rint": _whole(round), "floor_divide": lambda x, y: float(decide(math.floor(x / y))),
    "sign": lambda x: float(_side(x, 0.0)), "absolute": lambda x: x if decide(x >= 0) else -x,
    "fabs": lambda x: x if decide(x >= 0) else -x, "divmod": lambda x, y: (float(math.floor(x / y)), _mod(x, y)),
    "modf": lambda x: (x - decide(math.trunc(x)), float(math.trunc(x))), "clip": _clip,
}  # fmt: skip
COMPARED = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
FUNCTIONS = {
    "where": lambda condition, yes, no: yes if condition else no, "clip": _clip, "interp": _interp, "select": _select,
    "piecewise": _piecewise, "round": _near, "around": _near,
}  # fmt: skip
MATH = {
    "fmod": _fmod, "remainder": _remainder, "copysign": _copysign, "modf": UFUNCS["modf"], "fabs": UFUNCS["fabs"],
    "floor": lambda x: decide(math.floor(x)), "ceil": lambda x: decide(math.ceil(x)), "trunc": lambda x: decide(math.trunc(x)),
}  # fmt: skip


def _wrapped(value):
    if isinstance(value, tuple):
        return tuple(_wrapped(each) for each in value)
    return value if isinstance(value, bool | np.bool_ | int) or np.ndim(value) else Traced(value)


def _traced(f):
    return lambda *given, **more: _wrapped(f(*(_plain(x) for x in given), **more))


class Traced(float):
    """A float whose decisions are written down."""

    def __array_ufunc__(self, ufunc, method, *given, **more):
        given = [_plain(x) for x in given]
        if ufunc.__name__ in COMPARED:
            return decide(np.bool_(ufunc(*given)))
        rule = UFUNCS.get(ufunc.__name__)
        return _wrapped(ufunc(*given) if rule is None or any(map(np.ndim, given)) else rule(*(float(x) for x in given)))

    def __array_function__(self, function, types, given, more):
        plain = lambda x: [plain(y) for y in x] if isinstance(x, list | tuple) else _plain(x)
        return _wrapped(FUNCTIONS[function.__name__](*(plain(x) for x in given), **more))

    def __round__(self, digits=None):
        return decide(round(float(self))) if digits is None else _wrapped(_near(float(self), digits))

    def __bool__(self):
        return decide(float(self) != 0.0)

    def __floor__(self):
        return decide(math.floor(float(self)))

    def __ceil__(self):
        return decide(math.ceil(float(self)))

    def __trunc__(self):
        return decide(math.trunc(float(self)))

    __int__ = __trunc__
    __hash__ = float.__hash__


def _method(name, rule):
    def forward(self, *other):
        if other and not isinstance(other[0], int | float | np.number | np.bool_):
            return NotImplemented
        return _wrapped(rule(float(self), *(float(x) for x in other)))

    return forward


for _name in ("add", "sub", "mul", "truediv", "pow"):
    _rule = getattr(float, f"__{_name}__")
    setattr(Traced, f"__{_name}__", _method(_name, _rule))
    setattr(Traced, f"__r{_name}__", _method(_name, lambda x, y, rule=_rule: rule(y, x)))
for _name, _rule in (("mod", _mod), ("floordiv", UFUNCS["floor_divide"]), ("divmod", UFUNCS["divmod"])):
    setattr(Traced, f"__{_name}__", _method(_name, _rule))
    setattr(Traced, f"__r{_name}__", _method(_name, lambda x, y, rule=_rule: rule(y, x)))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _rule = getattr(float, f"__{_name}__")
    setattr(Traced, f"__{_name}__", _method(_name, lambda x, y, rule=_rule: decide(np.bool_(rule(x, y)))))
for _name, _rule in (("abs", UFUNCS["fabs"]), ("neg", float.__neg__), ("pos", float.__pos__)):
    setattr(Traced, f"__{_name}__", _method(_name, _rule))

SHIM = SimpleNamespace(
    **{name: _traced(MATH.get(name, f)) if callable(f) else f for name, f in vars(math).items() if name[0] != "_"}
)


@contextlib.contextmanager
def traced_math(names):
    """Let functions whose global names are `names` compute with a `math` that writes its decisions down."""
    before = names["math"]
    names["math"] = SHIM
    try:
        yield
    finally:
        names["math"] = before
