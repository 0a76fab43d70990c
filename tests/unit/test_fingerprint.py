"""The key of a user's functions: every change of what they do changes it, nothing else does."""

import functools
import math
import operator
import subprocess
import sys
import types

import numpy as np
import pytest
from numpy.linalg import norm
from numpy.polynomial import Polynomial

from holonomic.model.fingerprint import fingerprint

STIFFNESS = 3.0
UNRELATED = 1.0


def spring(x):
    return -STIFFNESS * x


def cubic(x):
    return -(x**3)


def made(source, name="f", **given):
    """A function from its text, with the given globals."""
    space = {"np": np, **given}
    exec(source, space)
    return space[name]


PLAIN = "def f(q):\n    return 2.5 * q[0] + np.sin(q[1])"


def test_equal_functions_have_equal_keys():
    assert fingerprint(made(PLAIN)) == fingerprint(made(PLAIN)) is not None


@pytest.mark.parametrize(
    "changed",
    [
        PLAIN.replace("2.5", "2.6"),
        PLAIN.replace("q[0]", "q[2]"),
        PLAIN.replace("np.sin", "np.cos"),
        PLAIN.replace("+", "-"),
        PLAIN.replace("(q)", "(q, k=1.0)"),
        PLAIN.replace("q[0]", "abs(q[0])"),
    ],
)
def test_a_change_of_code_changes_the_key(changed):
    assert fingerprint(made(changed)) != fingerprint(made(PLAIN))


@pytest.mark.parametrize(
    "same",
    [
        PLAIN + "  # a comment",
        "\n\n\n" + PLAIN,
        PLAIN + "\ndef g(q):\n    return q",
        PLAIN.replace("2.5 * q[0]", "(2.5 * q[0])"),
    ],
)
def test_what_does_not_change_the_function_does_not_change_the_key(same):
    assert fingerprint(made(same)) == fingerprint(made(PLAIN))


def closing_over(value):
    return lambda q: value * q[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1.0, 1.0 + 2e-16),
        (0.0, -0.0),
        (1, 1.0),
        (True, 1),
        ("a", "b"),
        ((1.0, 2.0), (2.0, 1.0)),
        ([1.0], (1.0,)),
        ({"m": 1.0}, {"m": 2.0}),
        (np.array([1.0, 2.0]), np.array([1.0, 2.0 + 1e-15])),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (np.float64(1.0), np.float32(1.0)),
        (np.poly1d([1.23456789012, 1.0]), np.poly1d([1.23456789013, 1.0])),
        (Polynomial([1.23456789012, 1.0]), Polynomial([1.23456789013, 1.0])),
        (Polynomial([1.0, 2.0]), Polynomial([1.0, 2.0], domain=[0, 1])),
        (math.sin, math.cos),
        (np.sin, np.cos),
        (norm, np.linalg.det),
        (spring, cubic),
        (functools.partial(operator.mul, 2.0), functools.partial(operator.mul, 3.0)),
        (functools.partial(spring), functools.partial(cubic)),
        ({1.0, 2.0}, {1.0, 3.0}),
    ],
    ids=repr,
)
def test_a_changed_closure_value_changes_the_key(one, other):
    keys = fingerprint(closing_over(one)), fingerprint(closing_over(other))
    assert None not in keys and keys[0] != keys[1]


def test_a_changed_global_changes_the_key_of_those_who_read_it(monkeypatch):
    before = fingerprint(spring), fingerprint(lambda q: spring(q[0])), fingerprint(cubic)
    monkeypatch.setitem(globals(), "STIFFNESS", 4.0)
    after = fingerprint(spring), fingerprint(lambda q: spring(q[0])), fingerprint(cubic)
    assert after[0] != before[0] and after[1] != before[1] and after[2] == before[2]


def test_a_global_that_is_not_read_does_not_matter(monkeypatch):
    before = fingerprint(spring)
    monkeypatch.setitem(globals(), "UNRELATED", 2.0)
    assert fingerprint(spring) == before


def test_default_values_count():
    assert fingerprint(made("def f(q, k=1.0):\n    return k * q")) != fingerprint(
        made("def f(q, k=2.0):\n    return k * q")
    )
    assert fingerprint(made("def f(q, *, k=1.0):\n    return k * q")) != fingerprint(
        made("def f(q, *, k=2.0):\n    return k * q")
    )


def test_attributes_of_a_function_count():
    def key(number):
        function = made("def f(q):\n    return f.k * q")
        function.k = number
        return fingerprint(function)

    assert key(1.0) == key(1.0) is not None
    assert key(1.0) != key(2.0)


def test_a_function_in_the_clothes_of_a_librarys_is_told_by_its_own_code():
    def key(number):
        return fingerprint(functools.wraps(np.linalg.solve)(lambda q: number * q))

    assert key(1.0) != key(2.0)


@pytest.mark.parametrize(
    "source",
    [
        "def f(q):\n    from laws import K\n    return K * q",
        "def f(q):\n    import laws\n    return laws.K * q",
        "def f(q):\n    return [g() for g in [lambda: __import__('laws')]][0].K * q",
        "def f(q):\n    return globals()['K'] * q",
        "def f(q):\n    return eval('K') * q",
        "def f(q):\n    return getattr(laws, 'K') * q",
        "def f(q):\n    return np.loadtxt('table.txt') * q",
    ],
)
def test_what_is_looked_up_when_a_function_runs_gives_no_key(source):
    assert fingerprint(made(source, laws=module_with("K = 2.0"), K=2.0)) is None


@pytest.mark.parametrize(
    "source",
    [
        "def f(q):\n    import numpy as numbers\n    return numbers.sin(q)",
        "def f(q, p):\n    return getattr(p, 'open') * p.eval * q",
    ],
)
def test_libraries_and_parameters_of_any_name_do_not_take_the_key(source):
    assert fingerprint(made(source)) == fingerprint(made(source)) is not None


def test_functions_inside_functions_count():
    source = "def f(q):\n    def inner(x):\n        return 2.0 * x\n    return inner(q)"
    assert fingerprint(made(source)) != fingerprint(made(source.replace("2.0", "3.0")))
    source = "def f(q):\n    return [2.0 * x for x in q]"
    assert fingerprint(made(source)) != fingerprint(made(source.replace("2.0", "3.0")))


def module_with(source):
    module = types.ModuleType("laws")
    exec(source, module.__dict__)
    return module


@pytest.mark.parametrize("closed", [False, True], ids=["global", "closure"])
def test_a_changed_function_of_a_users_module_changes_the_key(closed):
    """The module's name says nothing about what stands in its file today."""
    laws = "K = 2.0\ndef force(x):\n    return K * x\ndef other(x):\n    return x"
    source = "def f(q):\n    return laws.force(q[0])"

    def key(text):
        if closed:
            laws = module_with(text)
            return fingerprint(lambda q: laws.force(q[0]))
        return fingerprint(made(source, laws=module_with(text)))

    assert key(laws) == key(laws) is not None
    assert key(laws.replace("K = 2.0", "K = 3.0")) != key(laws)
    assert key(laws.replace("K * x", "K * x**2")) != key(laws)
    assert key(laws.replace("return x", "return 5 * x")) == key(laws)


def test_functions_that_read_different_names_of_one_module_all_count():
    """One of the names having been seen does not mean that the others have."""

    def key(first, second):
        package = types.ModuleType("package")
        package.laws = module_with(f"A = {first}\nB = {second}")
        one = made("def f(q):\n    return package.laws.A * q", package=package)
        return fingerprint((one, made("def f(q):\n    return package.laws.B * q", package=package)))

    assert key(1.0, 2.0) == key(1.0, 2.0) is not None
    assert len({key(1.0, 2.0), key(3.0, 2.0), key(1.0, 3.0)}) == 3


def test_a_module_inside_a_module_is_followed():
    def key(number):
        package = types.ModuleType("package")
        package.laws = module_with(f"def force(x):\n    return {number} * x")
        return fingerprint(made("def f(q):\n    return package.laws.force(q)", package=package))

    assert key(2.0) == key(2.0) is not None
    assert key(2.0) != key(3.0)


def test_a_name_bound_to_another_function_that_was_seen_before_changes_the_key():
    source = "def f(q):\n    return a(q[0]) + b(q[1]) + c(q[2])"
    one = fingerprint(made(source, a=spring, b=cubic, c=spring))
    other = fingerprint(made(source, a=spring, b=cubic, c=cubic))
    assert one != other


def test_recursion_ends():
    source = "def f(n):\n    return 1 if n < 1 else n * f(n - 1)"
    assert fingerprint(made(source)) == fingerprint(made(source)) is not None
    source = "def f(n):\n    return g(n)\ndef g(n):\n    return 2.0 * f(n)"
    assert fingerprint(made(source)) != fingerprint(made(source.replace("2.0", "3.0")))


class Table:
    """An object of a user's class."""

    def __call__(self, x):
        return 2 * x

    def value(self, x):
        return 2 * x


@pytest.mark.parametrize(
    "value",
    [
        Table(),
        Table().value,
        Table,
        np.array([Table()], dtype=object),
        np.ma.array([1.0, 2.0], mask=[False, True]),
        np.random.default_rng(0),
        functools.lru_cache(spring),
        functools.partial(Table()),
        iter([1, 2]),
        types.ModuleType("laws"),
        np.ones(2).dot,  # bound to numbers that its name does not tell
        {"k": 2.0}.get,
        np.frompyfunc(spring, 1, 1),
        np.random.rand,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_told_gives_no_key(value):
    assert fingerprint(closing_over(value)) is None


def test_a_variable_that_is_not_bound_yet_gives_no_key():
    def outer():
        function = lambda q: later * q
        key = fingerprint(function)
        later = 2.0
        return key, later

    assert outer()[0] is None


SCRIPT = """
import numpy as np
from numpy.linalg import norm
from holonomic.model.fingerprint import fingerprint
table = {"a": np.arange(3.0), "b": {1.0, 2.0, "x"}}
f = lambda q: norm(q) + np.interp(q[0], table["a"], table["a"]) + len(table["b"])
print(fingerprint(f, [1, 2.5], "x"))
"""


def test_the_key_is_the_same_in_every_process():
    runs = [subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True) for _ in range(2)]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    assert runs[0].stdout == runs[1].stdout != "None\n"
