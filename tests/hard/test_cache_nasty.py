"""Closures made to deceive: whatever a function's number comes from, the next run sees its change.

Every case gives a force -k q with k = 1, and a way to make it k = 4 by which no name in the function changes.
"""

import array
import collections
import contextvars
import ctypes
import datetime
import enum
import functools
import itertools
import operator
import os
import random
import sys
import time
import types
import typing
import warnings
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest

from holonomic import System, UntraceableFunction, simulate
from holonomic.model.watch import Watch

K = 1.0


def end(system):
    return simulate(system, 1.0, q0=[1.0], v0=[0.0], rtol=1e-9).end.q[0]


def meta_property(tmp_path, monkeypatch):
    box = [1.0]

    class Meta(type):
        k = property(lambda cls: box[0])

    class Cfg(metaclass=Meta):
        pass

    return lambda q: -Cfg.k * q, lambda: box.__setitem__(0, 4.0)


def dynamic_attribute(tmp_path, monkeypatch):
    hidden = array.array("d", [1.0])

    class Cfg:
        def __getattr__(self, name):
            return hidden[0]

    cfg = Cfg()
    return lambda q: -cfg.anything * q, lambda: hidden.__setitem__(0, 4.0)


def every_attribute(tmp_path, monkeypatch):
    class Cfg:
        k = 1.0

        def __getattribute__(self, name):
            return 4.0 if "_switch" in object.__getattribute__(self, "__dict__") else 1.0

    cfg = Cfg()
    return lambda q: -cfg.k * q, lambda: object.__setattr__(cfg, "_switch", True)


def remembered_call(tmp_path, monkeypatch):
    box = [1.0]

    @functools.cache
    def stiffness():
        return box[0]

    def change():
        box[0] = 4.0
        stiffness.cache_clear()

    return lambda q: -stiffness() * q, change


def rebound_global(tmp_path, monkeypatch):
    return lambda q: -K * q, lambda: monkeypatch.setitem(globals(), "K", 4.0)


def global_by_name(tmp_path, monkeypatch):
    return lambda q: -globals()["K"] * q, lambda: monkeypatch.setitem(globals(), "K", 4.0)


def global_by_eval(tmp_path, monkeypatch):
    return lambda q: -eval("K") * q, lambda: monkeypatch.setitem(globals(), "K", 4.0)


def global_through_the_function(tmp_path, monkeypatch):
    def force(q):
        return -force.__globals__["K"] * q

    return force, lambda: monkeypatch.setitem(globals(), "K", 4.0)


def module_by_name(tmp_path, monkeypatch):
    laws = types.ModuleType("laws")
    laws.k = 1.0
    return lambda q: -getattr(laws, "".join(["k"])) * q, lambda: setattr(laws, "k", 4.0)


def module_handed_on(tmp_path, monkeypatch):
    laws = types.ModuleType("laws")
    laws.k = 1.0
    read = lambda m: m.k
    return lambda q: -read(laws) * q, lambda: setattr(laws, "k", 4.0)


def module_by_format(tmp_path, monkeypatch):
    laws = types.ModuleType("laws")
    laws.k = 1.0
    return lambda q: -float("{0.k}".format(laws)) * q, lambda: setattr(laws, "k", 4.0)  # noqa: UP030, UP032


def module_that_answers(tmp_path, monkeypatch):
    box = [1.0]
    laws = types.ModuleType("laws")
    laws.__getattr__ = lambda name: box[0]
    return lambda q: -laws.k * q, lambda: box.__setitem__(0, 4.0)


def module_imported_inside(tmp_path, monkeypatch):
    laws = types.ModuleType("laws_of_a_test")
    laws.k = 1.0
    monkeypatch.setitem(sys.modules, "laws_of_a_test", laws)

    def force(q):
        import laws_of_a_test

        return -laws_of_a_test.k * q

    return force, lambda: setattr(laws, "k", 4.0)


def patched_library(tmp_path, monkeypatch):
    import math

    return lambda q: -math.sqrt(1.0) * q, lambda: monkeypatch.setattr(math, "sqrt", lambda x: 4.0)


def patched_numpy(tmp_path, monkeypatch):
    return lambda q: -np.square(1.0) * q, lambda: monkeypatch.setattr(np, "square", lambda x: 4.0)


def patched_submodule(tmp_path, monkeypatch):
    return lambda q: -np.linalg.det(np.eye(2)) * q, lambda: monkeypatch.setattr(np.linalg, "det", lambda x: 4.0)


def shadowed_builtin(tmp_path, monkeypatch):
    space = {}
    exec("def force(q):\n    return -abs(-1.0) * q", space)
    return space["force"], lambda: space.update(abs=lambda x: 4.0)


def own_builtins(tmp_path, monkeypatch):
    box = {"abs": abs}
    space = {"__builtins__": box}
    exec("def force(q):\n    return -abs(-1.0) * q", space)
    return space["force"], lambda: box.update(abs=lambda x: 4.0)


def globals_that_are_no_dict(tmp_path, monkeypatch):
    box = [1.0]

    class Space(dict):
        def __missing__(self, name):
            return box[0]

        def __getitem__(self, name):
            return box[0] if name == "k" else super().__getitem__(name)

    force = types.FunctionType(compile("lambda q: -k * q", "f", "eval").co_consts[0], Space(k=1.0))
    return force, lambda: (box.__setitem__(0, 4.0), dict.__setitem__(force.__globals__, "k", 4.0))


def other_code(tmp_path, monkeypatch):
    def force(q):
        return -1.0 * q

    return force, lambda: setattr(force, "__code__", (lambda q: -4.0 * q).__code__)


def other_defaults(tmp_path, monkeypatch):
    def helper(q, k=1.0):
        return -k * q

    return lambda q: helper(q), lambda: setattr(helper, "__defaults__", (4.0,))


def other_keyword_default(tmp_path, monkeypatch):
    def helper(q, *, k=1.0):
        return -k * q

    return lambda q: helper(q), lambda: helper.__kwdefaults__.update(k=4.0)


def other_dict_of_a_function(tmp_path, monkeypatch):
    force = lambda q: -force.k * q
    force.k = 1.0
    return force, lambda: setattr(force, "__dict__", {"k": 4.0})


def other_dict_of_an_object(tmp_path, monkeypatch):
    class Cfg:
        def __init__(self):
            self.k = 1.0

    cfg = Cfg()
    return lambda q: -cfg.k * q, lambda: setattr(cfg, "__dict__", {"k": 4.0})


def other_class_of_an_object(tmp_path, monkeypatch):
    class One:
        k = 1.0

    class Four:
        k = 4.0

    cfg = One()
    return lambda q: -cfg.k * q, lambda: setattr(cfg, "__class__", Four)


def other_bases(tmp_path, monkeypatch):
    class One:
        k = 1.0

    class Four:
        k = 4.0

    class Cfg(One):
        pass

    cfg = Cfg()
    return lambda q: -cfg.k * q, lambda: setattr(Cfg, "__bases__", (Four,))


def new_method(tmp_path, monkeypatch):
    class Cfg:
        def k(self):
            return 1.0

    cfg = Cfg()
    return lambda q: -cfg.k() * q, lambda: setattr(Cfg, "k", lambda self: 4.0)


def instance_hides_the_class(tmp_path, monkeypatch):
    class Cfg:
        k = 1.0

    cfg = Cfg()
    return lambda q: -cfg.k * q, lambda: setattr(cfg, "k", 4.0)


def counter_around(tmp_path, monkeypatch):
    calls, k = 0, 1.0

    def change():
        nonlocal k
        k = 4.0

    def force(q):
        nonlocal calls
        calls += 1
        return -k * q

    return force, change


def weak_reference(tmp_path, monkeypatch):
    class Cfg:
        k = 1.0

    cfg = Cfg()
    seen = weakref.ref(cfg)
    return lambda q, cfg=cfg: -seen().k * q, lambda: setattr(cfg, "k", 4.0)


def weak_proxy(tmp_path, monkeypatch):
    class Cfg:
        k = 1.0

    cfg = Cfg()
    seen = weakref.proxy(cfg)

    def change():
        cfg.k = 4.0

    return lambda q: -seen.k * q, change


def weak_dictionary(tmp_path, monkeypatch):
    class Key:
        pass

    key = Key()
    table = weakref.WeakKeyDictionary({key: 1.0})
    return lambda q: -table[key] * q, lambda: table.update({key: 4.0})


def c_memory(tmp_path, monkeypatch):
    number = ctypes.c_double(1.0)
    return lambda q: -number.value * q, lambda: setattr(number, "value", 4.0)


def c_structure(tmp_path, monkeypatch):
    class Cfg(ctypes.Structure):
        _fields_: typing.ClassVar = [("k", ctypes.c_double)]

    cfg = Cfg(1.0)
    return lambda q: -cfg.k * q, lambda: setattr(cfg, "k", 4.0)


def raw_bytes(tmp_path, monkeypatch):
    memory = bytearray(np.float64(1.0).tobytes())
    return lambda q: -np.frombuffer(memory)[0] * q, lambda: memory.__setitem__(slice(None), np.float64(4.0).tobytes())


def view_of_memory(tmp_path, monkeypatch):
    memory = np.ones(3)
    view = memoryview(memory)
    return lambda q: -view[1] * q, lambda: memory.fill(4.0)


def read_only_mapping(tmp_path, monkeypatch):
    table = {"k": 1.0}
    seen = types.MappingProxyType(table)
    return lambda q: -seen["k"] * q, lambda: table.update(k=4.0)


def chained_mapping(tmp_path, monkeypatch):
    table = {"k": 1.0}
    seen = collections.ChainMap({}, table)
    return lambda q: -seen["k"] * q, lambda: table.update(k=4.0)


def default_mapping(tmp_path, monkeypatch):
    box = [1.0]
    table = collections.defaultdict(lambda: box[0])

    def change():
        box[0] = 4.0
        table.clear()

    return lambda q: -table["k"] * q, change


def view_of_a_dict(tmp_path, monkeypatch):
    table = {"k": 1.0}
    values = table.values()
    return lambda q: -next(iter(values)) * q, lambda: table.update(k=4.0)


def enum_property(tmp_path, monkeypatch):
    box = [1.0]

    class Law(enum.Enum):
        SOFT = 1
        k = property(lambda self: box[0])

    return lambda q: -Law.SOFT.k * q, lambda: box.__setitem__(0, 4.0)


def int_enum(tmp_path, monkeypatch):
    class Law(enum.IntEnum):
        SOFT = 1

        def k(self):
            return float(self.box[0])

    Law.box = [1.0]
    return lambda q: -Law.SOFT.k() * q, lambda: setattr(Law, "box", [4.0])


def named_tuple_property(tmp_path, monkeypatch):
    box = [1.0]

    class P(typing.NamedTuple):
        x: float = 0.0
        k = property(lambda self: box[0])

    p = P()
    return lambda q: -p.k * q, lambda: box.__setitem__(0, 4.0)


def array_subclass(tmp_path, monkeypatch):
    class Scaled(np.ndarray):
        def __array_finalize__(self, other):
            self.factor = getattr(other, "factor", 1.0)

    table = np.ones(1).view(Scaled)
    return lambda q: -float(table.factor) * q, lambda: setattr(table, "factor", 4.0)


def masked_array(tmp_path, monkeypatch):
    table = np.ma.array([1.0, 4.0], mask=[False, True])
    return lambda q: -float(table.max()) * q, lambda: setattr(table, "mask", [False, False])


def matrix(tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy would rather not have it
        table = np.matrix([[1.0]])
    return lambda q: -float(table[0, 0]) * q, lambda: table.fill(4.0)


def structured_array(tmp_path, monkeypatch):
    table = np.array([(1.0, 4.0)], dtype=[("a", float), ("b", float)])
    return lambda q: -table["a"][0] * q, lambda: setattr(table.dtype, "names", ("b", "a"))


def shared_memory(tmp_path, monkeypatch):
    memory = np.ones((4, 4))
    view = memory[1:3, ::2].T
    return lambda q: -view[1, 1] * q, lambda: memory.fill(4.0)


def other_shape(tmp_path, monkeypatch):
    table = np.array([1.0, 7.0, 4.0, 7.0])
    return lambda q: -table.reshape(table.shape)[:2].ravel()[-1 if table.ndim == 2 else 0] * q, lambda: (
        table.__setitem__(slice(None), [7.0, 7.0, 7.0, 4.0]), setattr(table, "shape", (2, 2)))  # fmt: skip


def same_bytes_other_type(tmp_path, monkeypatch):
    table = np.array([1.0])
    other = int(np.float64(4.0).view(np.int64))

    def change():
        table[0] = np.int64(4).view(np.float64)
        table.dtype = np.int64

    assert other
    return lambda q: -float(table[0]) * q, change


def array_of_objects(tmp_path, monkeypatch):
    inner = [1.0]
    table = np.empty(1, dtype=object)
    table[0] = inner
    return lambda q: -table[0][0] * q, lambda: inner.__setitem__(0, 4.0)


def polynomial(tmp_path, monkeypatch):
    law = np.poly1d([1.0])
    return lambda q: -law(0.0) * q, lambda: law.coeffs.__setitem__(0, 4.0)


def polynomial_of_the_new_kind(tmp_path, monkeypatch):
    law = np.polynomial.Polynomial([1.0])
    return lambda q: -law.coef[0] * q, lambda: law.coef.__setitem__(0, 4.0)


def vectorized(tmp_path, monkeypatch):
    box = [1.0]
    law = np.frompyfunc(lambda x: box[0], 1, 1)
    return lambda q: -float(law(0.0)) * q, lambda: box.__setitem__(0, 4.0)


def random_numbers(tmp_path, monkeypatch):
    return lambda q: -float(np.random.RandomState(int(K)).get_state()[1][0] ** 2) * q, lambda: (
        monkeypatch.setitem(globals(), "K", 2.0))  # fmt: skip


def seeded_generator(tmp_path, monkeypatch):
    generator = random.Random(1)

    class Fixed(random.Random):
        k = 1.0

        def random(self):
            return self.k

    fixed = Fixed()
    assert generator
    return lambda q: -fixed.random() * q, lambda: setattr(fixed, "k", 4.0)


def clock(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 1.0)
    return lambda q: -time.time() * q, lambda: monkeypatch.setattr(time, "time", lambda: 4.0)


def calendar(tmp_path, monkeypatch):
    class Clock(datetime.datetime):
        seconds = 1

        @classmethod
        def now(cls, tz=None):
            return cls(2020, 1, 1, second=cls.seconds)

    return lambda q: -float(Clock.now().second) * q, lambda: setattr(Clock, "seconds", 4)


def environment(tmp_path, monkeypatch):
    monkeypatch.setenv("STIFFNESS_OF_A_TEST", "1.0")
    return lambda q: -float(os.environ["STIFFNESS_OF_A_TEST"]) * q, lambda: monkeypatch.setenv("STIFFNESS_OF_A_TEST", "4.0")


def file_of_text(tmp_path, monkeypatch):
    path = tmp_path / "k.txt"
    path.write_text("1.0")
    return lambda q: -float(open(path).read()) * q, lambda: path.write_text("4.0")


def file_by_numpy(tmp_path, monkeypatch):
    path = str(tmp_path / "k.npy")
    np.save(path, 1.0)
    return lambda q: -float(np.load(path)) * q, lambda: np.save(path, 4.0)


def file_by_path(tmp_path, monkeypatch):
    path = tmp_path / "k.txt"
    path.write_text("1.0")
    return lambda q: -float(path.read_text()) * q, lambda: path.write_text("4.0")


def file_in_memory(tmp_path, monkeypatch):
    path = tmp_path / "k.bin"
    np.ones(2).tofile(path)
    table = np.memmap(path, dtype=float, mode="r+")
    return lambda q: -float(table[0]) * q, lambda: table.__setitem__(0, 4.0)


def context_variable(tmp_path, monkeypatch):
    k = contextvars.ContextVar("k", default=1.0)
    return lambda q: -k.get() * q, lambda: k.set(4.0)


def slots(tmp_path, monkeypatch):
    @dataclass(slots=True)
    class Cfg:
        k: float = 1.0

    cfg = Cfg()
    return lambda q: -cfg.k * q, lambda: setattr(cfg, "k", 4.0)


def frozen_dataclass(tmp_path, monkeypatch):
    @dataclass(frozen=True)
    class Cfg:
        k: float = 1.0
        more: dict = field(default_factory=dict)

    cfg = Cfg()
    return lambda q: -cfg.k * q, lambda: object.__setattr__(cfg, "k", 4.0)


def property_of_a_plain_class(tmp_path, monkeypatch):
    class Cfg:
        def __init__(self):
            self.half = 0.5

        @property
        def k(self):
            return 2 * self.half

    cfg = Cfg()
    return lambda q: -cfg.k * q, lambda: setattr(cfg, "half", 2.0)


def value_kept_on_first_use(tmp_path, monkeypatch):
    class Cfg:
        base = 1.0

        @functools.cached_property
        def k(self):
            return self.base

    cfg = Cfg()

    def change():
        Cfg.base = 4.0
        cfg.__dict__.pop("k", None)

    return lambda q: -cfg.k * q, change


def callable_object(tmp_path, monkeypatch):
    class Law:
        k = 1.0

        def __call__(self, q):
            return -self.k * q

    law = Law()
    return law, lambda: setattr(law, "k", 4.0)


def attribute_getter(tmp_path, monkeypatch):
    cfg = types.SimpleNamespace(k=1.0)
    laws = types.ModuleType("laws")
    laws.cfg = cfg
    get = operator.attrgetter("cfg.k")
    return lambda q: -get(laws) * q, lambda: setattr(cfg, "k", 4.0)


def argument_of_partial(tmp_path, monkeypatch):
    law = functools.partial(lambda k, x: k * x, 1.0)
    return lambda q: -law(q), lambda: law.__setstate__((law.func, (4.0,), {}, {}))


def iterator(tmp_path, monkeypatch):
    values = itertools.chain(itertools.repeat(1.0, 10**6))
    box = [values]
    return lambda q: -next(box[0]) * q, lambda: box.__setitem__(0, itertools.repeat(4.0))


def generator(tmp_path, monkeypatch):
    box = [1.0]

    def forever():
        while True:
            yield box[0]

    values = forever()
    return lambda q: -next(values) * q, lambda: box.__setitem__(0, 4.0)


def hidden_in_a_deque(tmp_path, monkeypatch):
    values = collections.deque([1.0])
    return lambda q: -values[0] * q, lambda: values.__setitem__(0, 4.0)


def too_much_to_follow(tmp_path, monkeypatch):
    monkeypatch.setattr("holonomic.model.watch.MOST", 50)
    rows = [[1.0] for _ in range(100)]
    return lambda q: -rows[-1][0] * q, lambda: [row.__setitem__(0, 4.0) for row in rows]


def long_chain(tmp_path, monkeypatch):
    first = link = types.SimpleNamespace(next=None)
    for _ in range(100):
        link.next = types.SimpleNamespace(next=None)
        link = link.next
    link.k = 1.0

    def force(q, first=first):
        here = first
        while here.next is not None:
            here = here.next
        return -here.k * q

    return force, lambda: setattr(link, "k", 4.0)


def set_of_numbers(tmp_path, monkeypatch):
    values = {1.0}
    return lambda q: -max(values) * q, lambda: values.add(4.0)


def key_of_a_dict(tmp_path, monkeypatch):
    table = {1.0: "k"}

    def change():
        table.clear()
        table[4.0] = "k"

    return lambda q: -next(iter(table)) * q, change


def bound_method_of_a_list(tmp_path, monkeypatch):
    values = [1.0]
    get = values.__getitem__
    return lambda q: -get(0) * q, lambda: values.__setitem__(0, 4.0)


def local_class(tmp_path, monkeypatch):
    box = [1.0]

    def force(q):
        class Cfg:
            k = box[0]

        return -Cfg.k * q

    return force, lambda: box.__setitem__(0, 4.0)


def frame(tmp_path, monkeypatch):
    return lambda q: -sys._getframe().f_globals["K"] * q, lambda: monkeypatch.setitem(globals(), "K", 4.0)


def bare_builtin_subclass(tmp_path, monkeypatch):
    class Number(float):
        def __mul__(self, other):
            return self.k * other

        def __neg__(self):
            return self

    number = Number(7.0)
    number.k = -1.0
    return lambda q: number.__neg__() * q, lambda: setattr(number, "k", -4.0)


NASTY = [
    value for name, value in list(globals().items())
    if isinstance(value, types.FunctionType) and value.__code__.co_varnames[:2] == ("tmp_path", "monkeypatch")
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::holonomic.errors.UntracedWarning")  # some run as plain Python, and are as right
@pytest.mark.parametrize("case", NASTY, ids=lambda case: case.__name__)
def test_the_next_run_sees_what_changed_behind_the_function(case, tmp_path, monkeypatch):
    force, change = case(tmp_path, monkeypatch)
    system = System(mass=1.0, force=force)
    assert end(system) == pytest.approx(np.cos(1.0), abs=1e-7)
    change()
    assert end(system) == pytest.approx(np.cos(2.0), abs=1e-7)


def test_a_function_of_chance_is_refused_or_known_to_be_unknown():
    chance = lambda: np.random.default_rng().random()
    for force in (lambda q: -random.random() * q, lambda q: -chance() * q, lambda q: -time.perf_counter() * q):
        assert Watch(force).unknown is not None
        with pytest.raises(UntraceableFunction, match="Does it use random numbers"):
            end(System(mass=1.0, force=force, trace=True))
