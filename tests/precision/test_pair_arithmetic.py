"""Compiled arithmetic and elementary functions of pairs against mpmath, in units of 2⁻¹⁰⁶."""

import ctypes

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest
from llvmlite import ir

from holonomic.native import host
from holonomic.printing.pair_arithmetic import PAIR, WORD
from holonomic.printing.pair_machine import PairMachine
from holonomic.results.pairs import Pairs

BASIC, ROOT = ("add", "sub", "mul", "div"), ("sqrt",)
OF_ONE = (
    "sin", "cos", "tan", "exp", "expm1", "log", "log1p", "atan", "asin", "acos", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "floor", "ceil",
)  # fmt: skip
OF_TWO = ("atan2", "hypot", "power", "fmod")
UNIT = mpmath.mpf(2) ** -106
COUNT = 400


@pytest.fixture(autouse=True)
def eighty_digits():
    with mpmath.workdps(80):
        yield


@pytest.fixture(scope="module")
def functions():
    """Functions of arrays of pairs, by name."""
    target = host.machine()
    module = ir.Module("functions of pairs")
    module.triple = target.triple
    machine = PairMachine(module)
    form = ir.FunctionType(ir.VoidType(), [WORD, *[PAIR.as_pointer()] * 3])
    names = (*BASIC, *ROOT, *OF_ONE, *OF_TWO)
    for name in names:
        function = ir.Function(module, form, f"all_{name}")
        builder = ir.IRBuilder(function.append_basic_block())
        count, x, y, out = function.args
        start = builder.block
        body, end = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(body)
        builder.position_at_end(body)
        i = builder.phi(WORD)
        i.add_incoming(ir.Constant(WORD, 0), start)
        given = [builder.load(builder.gep(array, [i]), typ=PAIR) for array in (x, y)]
        if name in BASIC or name in ROOT:
            value = machine.pairs.call(builder, name, *(given if name in BASIC else given[:1]))
        else:
            value = machine.apply(builder, name, *(given if name in OF_TWO else given[:1]))
        builder.store(value, builder.gep(out, [i]))
        further = builder.add(i, ir.Constant(WORD, 1))
        i.add_incoming(further, builder.block)
        builder.cbranch(builder.icmp_signed("<", further, count), body, end)
        builder.position_at_end(end)
        builder.ret_void()
    compiled = llvm.parse_assembly(str(module))
    compiled.verify()
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=2))
    passes.getModulePassManager().run(compiled, passes)
    found = host.load(target.emit_object(compiled), [f"all_{name}" for name in names])
    form = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3)
    called = {name: form(found[f"all_{name}"]) for name in names}

    def call(name, x, y=None):
        out = np.zeros_like(x)
        y = x if y is None else y
        called[name](len(x), x.ctypes.data, y.ctypes.data, out.ctypes.data)
        return out

    return call


RANDOM = np.random.default_rng(7)


def pairs(values):
    """Pairs with these first doubles."""
    values = np.asarray(values, dtype=float)
    return np.stack([values, values * 2.0**-53 * RANDOM.uniform(-0.49, 0.49, values.shape)], axis=-1)


def over(low, high):
    return pairs(RANDOM.uniform(low, high, COUNT))


def sizes(low, high):
    """Numbers of both signs from 10^low to 10^high."""
    return pairs(10.0 ** RANDOM.uniform(low, high, COUNT) * RANDOM.choice([-1.0, 1.0], COUNT))


def exact(pair):
    return mpmath.mpf(float(pair[0])) + mpmath.mpf(float(pair[1]))


def worst(found, wanted):
    """The largest error, relative, in units."""
    both = [(exact(one), other) for one, other in zip(found, wanted, strict=True)]
    return max(abs((one - other) / other) if other else abs(one) for one, other in both) / UNIT


@pytest.mark.parametrize(("name", "bound"), [("add", 3), ("sub", 3), ("mul", 5), ("div", 10)])
def test_arithmetic_keeps_the_bounds_that_are_proved(functions, name, bound):
    reference = {"add": mpmath.fadd, "sub": mpmath.fsub, "mul": mpmath.fmul, "div": mpmath.fdiv}[name]
    x, y = sizes(-20, 20), sizes(-20, 20)
    y[::2] = sizes(-1, 1)[::2]
    x[::4] = sizes(-1, 1)[::4]
    wanted = [reference(exact(a), exact(b)) for a, b in zip(x, y, strict=True)]
    assert worst(functions(name, x, y), wanted) < bound
    numpy_has = {"add": Pairs.__add__, "sub": Pairs.__sub__, "mul": Pairs.__mul__, "div": Pairs.__truediv__}[name]
    found = numpy_has(Pairs(x[:, 0], x[:, 1]), Pairs(y[:, 0], y[:, 1]))
    assert worst(np.stack([found.high, found.low], axis=-1), wanted) < max(bound, 8)


def test_differences_of_what_is_nearly_equal_lose_nothing(functions):
    x = sizes(-2, 2)
    y = x.copy()
    y[:, 0] *= 1.0 + RANDOM.choice([-1, 0, 1, 3], COUNT) * 2.0**-52
    wanted = [exact(a) - exact(b) for a, b in zip(x, y, strict=True)]
    assert worst(functions("sub", x, y), wanted) < 3


def test_pairs_are_normalized(functions):
    for name in BASIC:
        found = functions(name, sizes(-5, 5), sizes(-5, 5))
        assert np.array_equal(found[:, 0] + found[:, 1], found[:, 0])


def test_below_the_range_of_errors_that_are_doubles_products_keep_the_accuracy_of_doubles(functions):
    x, y = sizes(-170, -150), sizes(-170, -150)
    found = functions("mul", x, y)
    for a, b, c in zip(x, y, found, strict=True):
        assert abs(exact(c) - exact(a) * exact(b)) <= 4 * mpmath.mpf(2) ** -1074


def test_roots(functions):
    x = abs(sizes(-200, 200)[:, :1]) * np.array([1.0, 0.0])
    assert worst(functions("sqrt", x), [mpmath.sqrt(exact(a)) for a in x]) < 25 / 8
    special = functions("sqrt", np.array([[0.0, 0.0], [-1.0, 0.0]]))
    assert special[0, 0] == 0.0 and np.isnan(special[1, 0])


FUNCTIONS = [
    ("sin", (-4, 4), 5), ("cos", (-4, 4), 5), ("sin", (-1e6, 1e6), 5), ("tan", (-4, 4), 8), ("exp", (-20, 20), 5),
    ("exp", (-600, 700), 5), ("expm1", (-0.6, 0.6), 5), ("expm1", (-30, 30), 5), ("log", (1e-5, 3), 12), ("log", (0.7, 1.4), 12),
    ("log1p", (-0.999, 50), 12), ("atan", (-4, 4), 6), ("asin", (-1, 1), 8), ("acos", (-1, 1), 8), ("sinh", (-5, 5), 6),
    ("cosh", (-5, 5), 6), ("tanh", (-5, 5), 8), ("asinh", (-50, 50), 12), ("acosh", (1, 50), 12), ("atanh", (-0.9999, 0.9999), 12),
    ("floor", (-50, 50), 1), ("ceil", (-50, 50), 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "range_", "bound"), FUNCTIONS)
def test_elementary_functions(functions, name, range_, bound):
    x = over(*range_)
    reference = getattr(mpmath, name)
    assert worst(functions(name, x), [reference(exact(a)) for a in x]) < bound


@pytest.mark.parametrize("name", ["sin", "tan", "expm1", "log1p", "atan", "asin", "sinh", "tanh", "asinh", "atanh"])
def test_small_arguments_keep_all_digits(functions, name):
    x = sizes(-30, -1.3)
    assert worst(functions(name, x), [getattr(mpmath, name)(exact(a)) for a in x]) < 12


def test_near_their_zeros_and_ends(functions):
    near_one = pairs(1.0 + sizes(-15, -1)[:, 0])
    assert worst(functions("log", near_one), [mpmath.log(exact(a)) for a in near_one]) < 12
    far = pairs(10.0 ** RANDOM.uniform(-290, 300, COUNT))
    assert worst(functions("log", far), [mpmath.log(exact(a)) for a in far]) < 12
    turns = pairs(np.arange(1, COUNT + 1) * np.pi / 2)
    assert worst(functions("sin", turns), [mpmath.sin(exact(a)) for a in turns]) < 5
    assert worst(functions("cos", turns), [mpmath.cos(exact(a)) for a in turns]) < 5
    below_one = pairs(1.0 - 10.0 ** RANDOM.uniform(-10, 0, COUNT))
    assert worst(functions("acos", below_one), [mpmath.acos(exact(a)) for a in below_one]) < 8


def test_functions_of_two(functions):
    x, y = sizes(-5, 5), sizes(-5, 5)
    both = list(zip(x, y, strict=True))
    assert worst(functions("atan2", x, y), [mpmath.atan2(exact(a), exact(b)) for a, b in both]) < 6
    assert worst(functions("hypot", x, y), [mpmath.hypot(exact(a), exact(b)) for a, b in both]) < 8
    base, exponent = over(0.01, 20), over(-5, 5)
    wanted = [exact(a) ** exact(b) for a, b in zip(base, exponent, strict=True)]
    assert worst(functions("power", base, exponent), wanted) < 60
    for n in (-3, -1.5, 0, 0.5, 1, 1.5, 2, 7):
        given = np.tile([n, 0.0], (COUNT, 1))
        assert worst(functions("power", base, given), [exact(a) ** mpmath.mpf(n) for a in base]) < 20
    assert functions("power", np.array([[-2.0, 0.0]]), np.array([[3.0, 0.0]]))[0, 0] == -8.0
    a, b = over(-50, 50), over(0.5, 3)
    for one, other, found in zip(a, b, functions("fmod", a, b), strict=True):
        wanted = mpmath.sign(exact(one)) * mpmath.fmod(abs(exact(one)), exact(other))
        assert abs(exact(found) - wanted) < 100 * 50 * UNIT


def test_what_is_not_finite_is_seen(functions):
    given = np.array([[np.inf, 0.0], [np.nan, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    assert not np.isfinite(functions("log", given)[:3, 0]).any() or functions("log", given)[0, 0] == np.inf
    assert functions("log", given)[3, 0] == -np.inf
    assert np.isnan(functions("sin", given)[:2, 0]).all()
    assert functions("exp", np.array([[800.0, 0.0], [-800.0, 0.0]]))[:, 0].tolist() == [np.inf, 0.0]
    assert np.isnan(functions("acosh", np.array([[0.5, 0.0]]))[0, 0])
