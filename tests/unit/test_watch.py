"""What is changed between two runs of one system is seen by the second run, as plain Python would see it."""

import array
import collections
import functools
import math
import operator
import random
import types
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.linalg import norm

from holonomic import Event, Projection, System, load, simulate
from holonomic.model import compiled, graphs, machine_code, trace
from holonomic.model.watch import Watch

STIFFNESS = 1.0


def spring(q):
    return -STIFFNESS * q


def frequency(system):
    """ω of q'' = -ω² q from the state at t = 1."""
    return np.arccos(simulate(system, 1.0, q0=[1.0], v0=[0.0], rtol=1e-9).end.q[0])


class Holder:
    k = 1.0

    def force(self, q):
        return -self.k * q


@dataclass(frozen=True)
class Config:
    k: float = 1.0
    table: dict = field(default_factory=dict)

    @property
    def doubled(self):
        return 2 * self.k


def changed_global(monkeypatch):
    return spring, lambda: monkeypatch.setitem(globals(), "STIFFNESS", 4.0)


def changed_helper(monkeypatch):
    space = {}
    exec("def helper(q):\n    return -q\ndef force(q):\n    return helper(q)", space)
    return space["force"], lambda: exec("def helper(q):\n    return -4.0 * q", space)


def changed_closure(monkeypatch):
    k = 1.0

    def change():
        nonlocal k
        k = 4.0

    return lambda q: -k * q, change


def changed_array(monkeypatch):
    k = np.array([1.0])
    return lambda q: -k * q, lambda: k.fill(4.0)


def changed_dict(monkeypatch):
    values = {"k": 1.0}
    return lambda q: -values["k"] * q, lambda: values.update(k=4.0)


def changed_list(monkeypatch):
    values = [[1.0]]
    return lambda q: -values[0][0] * q, lambda: values[0].__setitem__(0, 4.0)


def changed_namespace(monkeypatch):
    values = types.SimpleNamespace(k=1.0)
    return lambda q: -values.k * q, lambda: setattr(values, "k", 4.0)


def changed_object(monkeypatch):
    holder = Holder()
    return holder.force, lambda: setattr(holder, "k", 4.0)


def changed_class(monkeypatch):
    return Holder().force, lambda: monkeypatch.setattr(Holder, "k", 4.0)


def changed_module(monkeypatch):
    laws = types.ModuleType("laws")
    laws.k = 1.0
    return lambda q: -laws.k * q, lambda: setattr(laws, "k", 4.0)


def changed_module_of_an_object(monkeypatch):
    laws = types.ModuleType("laws")
    laws.sub = types.ModuleType("sub")
    laws.sub.k = 1.0
    holder = types.SimpleNamespace(laws=laws)
    return lambda q: -holder.laws.sub.k * q, lambda: setattr(laws.sub, "k", 4.0)


def changed_module_of_a_class(monkeypatch):
    class Law:
        laws = types.ModuleType("laws")

        def force(self, q):
            return self.spring(self.laws, q)

        def spring(self, given, q):
            return given.spring(q)

    Law.laws.spring = spring
    return Law().force, lambda: setattr(Law.laws, "spring", lambda q: -4.0 * q)


def changed_attribute(monkeypatch):
    force = lambda q: -force.k * q
    force.k = 1.0
    return force, lambda: setattr(force, "k", 4.0)


def changed_argument(monkeypatch):
    k = np.array([1.0])
    return functools.partial(lambda k, q: -k * q, k), lambda: k.fill(4.0)


WAYS = [value for name, value in sorted(globals().items()) if name.startswith("changed_")]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("traced", [True, False], ids=["traced", "plain"])
def test_the_next_run_sees_the_change(way, traced, monkeypatch):
    force, change = way(monkeypatch)
    assert Watch(force).unknown is None
    system = System(mass=1.0, force=force, trace=traced)
    assert frequency(system) == pytest.approx(1.0, abs=1e-7)
    change()
    assert frequency(system) == pytest.approx(2.0, abs=1e-7)


def forbid(monkeypatch, place, name):
    monkeypatch.setattr(place, name, lambda *_, **__: pytest.fail(f"{name} again"))


def test_nothing_is_traced_again_where_nothing_has_changed(monkeypatch):
    system = System(mass=1.0, force=spring)
    frequency(system)
    forbid(monkeypatch, compiled.Model, "__init__")
    frequency(system)


def test_a_trace_that_gives_the_same_keeps_the_model_its_plans_and_its_code(monkeypatch):
    system = System(mass=1.0, force=spring)
    frequency(system)
    (model,) = system.made.models.values()
    plans = dict(model.plans)
    for place, name in ((machine_code, "_compile"), (graphs, "tapes"), (graphs, "graphs")):
        forbid(monkeypatch, place, name)
    monkeypatch.setitem(globals(), "STIFFNESS", float("1.0"))  # another object of the same value
    frequency(system)
    assert list(system.made.models.values()) == [model] and model.plans == plans


def test_what_is_unknown_is_traced_at_every_run_and_compiled_once(monkeypatch):
    values = collections.deque([1.0])
    system = System(mass=1.0, force=lambda q: -values[0] * q)
    frequency(system)
    for place, name in ((machine_code, "_compile"), (graphs, "tapes")):
        forbid(monkeypatch, place, name)
    traced, own = [], trace.trace
    monkeypatch.setattr(trace, "trace", lambda *given, **more: traced.append(1) or own(*given, **more))
    for _ in range(3):
        frequency(system)
    assert len(traced) == 3


def test_a_library_that_a_function_is_handed_and_a_text_of_numpy_are_known_constants(monkeypatch):
    class Law:
        def __init__(self, library):
            self.xp, self.stiffness, self.key = library, {"k": 4.0}, np.str_("k")

        def force(self, q):
            return [-self.stiffness[self.key] * self.xp.sin(q[0])]

    key, stiffness = np.str_("k"), {"k": 4.0}
    for force in (Law(np).force, Law(math).force, lambda q: -stiffness[key] * q):
        system = System(mass=1.0, force=force)
        frequency(system)
        with monkeypatch.context() as patch:
            forbid(patch, compiled.Model, "__init__")
            frequency(system)


def test_systems_that_differ_in_parameters_share_what_was_traced_until_it_changes(monkeypatch):
    system = System(mass=1.0, force=lambda q, p: STIFFNESS * p.sign * q, params={"sign": -2.0})
    frequency(system)
    own = trace.trace
    forbid(monkeypatch, trace, "trace")
    assert frequency(system.with_params(sign=-1.0)) == pytest.approx(1.0, abs=1e-7)
    monkeypatch.setattr(trace, "trace", own)
    monkeypatch.setitem(globals(), "STIFFNESS", 4.0)
    assert frequency(system.with_params(sign=-1.0)) == pytest.approx(2.0, abs=1e-7)


def test_the_next_run_sees_a_change_of_an_event():
    level = [0.5]
    ball = System(mass=1.0, force=-2.0)
    event = Event(lambda q: q[0] - level[0], terminal=True)

    def ended():
        return simulate(ball, 2.0, q0=[1.0], v0=[0.0], events={"low": event}, rtol=1e-9).end.q[0]

    assert ended() == pytest.approx(0.5, abs=1e-7)
    level[0] = 0.25
    assert ended() == pytest.approx(0.25, abs=1e-7)
    assert [simulate(ball, 2.0, q0=[1.0], v0=[0.0], events={"low": Event(lambda q, at=at: q[0] - at, terminal=True)},
                     rtol=1e-9).end.q[0] for at in (0.125, 0.5, 0.125)] == pytest.approx([0.125, 0.5, 0.125], abs=1e-7)  # fmt: skip


def test_an_event_written_anew_in_a_loop_is_not_compiled_anew(monkeypatch):
    ball = System(mass=1.0, force=-2.0)

    def ended():
        low = Event(lambda q: q[0] - 0.3, terminal=True)
        return simulate(ball, 2.0, q0=[1.0], v0=[0.0], events={"low": low}).end.q[0]

    ended()
    for place, name in ((machine_code, "_compile"), (graphs, "tapes")):
        forbid(monkeypatch, place, name)
    assert ended() == pytest.approx(0.3, abs=1e-5)


def test_the_next_run_sees_a_change_of_a_direction():
    """A projection along other directions moves the state elsewhere."""
    factor = [1.0]
    circle = System(mass=np.eye(2), force=[0.0, -9.81], constraint=lambda q: q @ q - 1.0)

    def D(q):
        column = np.array([q[0], factor[0] * q[1], 0.0, 0.0])
        other = np.array([0.0, 0.0, q[0], factor[0] * q[1]])
        return np.column_stack([column, other])

    def ended():
        given = {"stabilization": Projection(D=D), "rtol": 1e-3, "atol": 1e-3}
        return simulate(circle, 3.0, q0=[1.0, 0.0], v0=[0.0, 0.0], **given).end.q[0]

    first = ended()
    assert ended() == first
    factor[0] = 3.0
    assert ended() != first
    factor[0] = 1.0
    assert ended() == first


# the positive list


KNOWN = [
    1, 1.0, True, None, "a", b"a", 1j, ..., np.float32(1), np.int64(2), range(3), (1.0, [2.0, {"k": 3.0}]), {1.0, 2.0},
    frozenset({1}), np.eye(2), np.arange(3), np.array(1.0), np.array([True]), np.zeros(2, dtype=np.float32), math.sin, np.sin,
    norm, np.linalg.solve, np.einsum, operator.mul, spring, Holder(), Holder, Holder().force, Config(), Config,
    functools.partial(spring), functools.partial(operator.mul, 2.0), types.SimpleNamespace(k=1.0, more=[1.0]), [1.0].index,
    np.str_("a"), np.bytes_(b"a"), np, math, types.ModuleType("laws"), types.SimpleNamespace(xp=np, la=np.linalg),
    {"k": 1.0}.get, np.ones(2).dot, float, np.float64, [spring, {"f": spring}], ValueError,
]  # fmt: skip


@pytest.mark.parametrize("value", KNOWN)
def test_what_is_on_the_list_is_known(value):
    watch = Watch(lambda q: value * q)
    assert watch.unknown is None and watch.unchanged()


class Slots:
    __slots__ = ("k",)


class Answering:
    def __getattr__(self, name):
        return 1.0


class Number(float):
    pass


class AnsweringModule(types.ModuleType):
    pass


ANSWERED = types.ModuleType("answered")
ANSWERED.__getattr__ = lambda name: 1.0

UNKNOWN = [
    Number(1.0), type("Row", (list,), {})(), type("Table", (dict,), {})(), type("Text", (str,), {})(), Slots(), Answering(),
    collections.OrderedDict(), collections.defaultdict(float), collections.Counter(), collections.deque(),
    collections.ChainMap(), collections.UserDict(), collections.namedtuple("P", "k")(1.0), array.array("d"), bytearray(2),
    memoryview(b"a"), types.MappingProxyType({}), np.array([None]), np.array(["a"]), np.zeros(1, dtype=[("a", float)]),
    np.array(["2020-01-01"], dtype="M8"), np.ma.array([1.0]), np.poly1d([1.0]), np.memmap,
    np.random.default_rng(0), np.random.rand, np.load, np.loadtxt, np.genfromtxt, np.fromfile, np.frompyfunc(spring, 1, 1),
    np.vectorize(spring), random.Random(1), random.random, open, iter([1]), zip([1]), (x for x in [1]), object(),
    functools.lru_cache(spring), functools.partial(np.load), AnsweringModule("laws"), ANSWERED, getattr, globals, eval, vars, input,
    operator.attrgetter("k"), property(spring), [Slots()], {"k": Slots()}, types.SimpleNamespace(k=Slots()), slice(1),
    np.sin.reduce, load, simulate, type("Sub", (np.ndarray,), {})(1),
]  # fmt: skip


@pytest.mark.parametrize("value", UNKNOWN)
def test_what_is_not_on_the_list_is_unknown(value):
    watch = Watch(lambda q: value * q)
    assert watch.unknown is not None and not watch.unchanged()


@pytest.mark.parametrize(
    "source",
    [
        "import laws\n    return laws.K * q",
        "from laws import K\n    return K * q",
        "import numpy\n    return numpy.sin(q)",
        "return getattr(laws, 'K') * q",
        "return vars(laws)['K'] * q",
        "return laws.__dict__['K'] * q",
        "return f.__globals__['K'] * q",
        "return globals()['K'] * q",
        "return eval('K') * q",
        "return '{0.K}'.format(laws)",
        "return laws.missing * q",
        "return other(np) * q",
        "return held.xp.random.rand() * q",
        "xp = np\n    return xp.random.rand() * q",
        "match held.xp:\n        case object(random=source):\n            return source.rand() * q",
        "return open('table.txt').read()",
        "return np.loadtxt('table.txt') * q",
        "return np.random.rand() * q",
        "return (x for x in q).gi_frame.f_globals['K']",
        "global K\n    K = 2.0\n    return K * q",
        "class A:\n        k = K\n    return A.k * q",
    ],
)
def test_code_that_finds_things_by_itself_is_unknown(source):
    laws = types.ModuleType("laws")
    laws.K = 2.0
    space = {"np": np, "laws": laws, "K": 2.0, "other": lambda m: m.random.rand(), "held": types.SimpleNamespace(xp=np)}
    exec(f"def f(q):\n    {source}", space)
    assert Watch(space["f"]).unknown is not None


@pytest.mark.parametrize(
    "source",
    [
        "return K * q + np.sin(q[0]) * laws.K - np.linalg.norm(q) * np.pi",
        "return [K * x for x in q]",
        "return sum(K * x for x in q)",
        "def inner(x):\n        return K * x\n    return inner(q)",
        "k = 0\n    def inner():\n        nonlocal k\n        k += 1\n    inner()\n    return k * q",
        "return p.load * p.open * p.random * q",
        "return (lambda x: laws.sub.K * x)(q)",
        "if len(q) > 3:\n        raise ValueError(f'too long: {len(q)}')\n    return np.where(q > 0, q, -q)",
        "return np.array([q[i] for i in range(3)]) @ laws.table",
        "return other(laws) * q",
        "xp = np\n    return xp.sin(q) * xp.pi",
        "return held.xp.linalg.norm(q) * held.math.sin(1.0) * q",
    ],
)
def test_ordinary_code_is_known(source):
    laws, laws.sub = types.ModuleType("laws"), types.ModuleType("sub")
    laws.K, laws.sub.K, laws.table, laws.unused = 2.0, 3.0, np.eye(3), Slots()
    held = types.SimpleNamespace(xp=np, math=math)
    space = {"np": np, "laws": laws, "K": 2.0, "unused": Slots(), "other": lambda m: m.K, "held": held}
    exec(f"def f(q, p=None):\n    {source}", space)
    assert Watch(space["f"]).unknown is None


def test_what_does_not_belong_to_a_function_does_not_count():
    laws = types.ModuleType("laws")
    laws.K, laws.other = 1.0, 2.0
    watch = Watch(lambda q: laws.K * q)
    laws.other = 3.0
    assert watch.unchanged()
    laws.K = 2.0
    assert not watch.unchanged()


def test_what_leads_too_far_is_unknown(monkeypatch):
    chain = None
    for _ in range(5000):
        chain = types.SimpleNamespace(next=chain)
    watch = Watch(lambda q: chain.next * q)
    assert watch.unknown is None and watch.unchanged()
    monkeypatch.setattr("holonomic.model.watch.MOST", 1000)
    assert Watch(lambda q: chain.next * q).unknown == "more than 1000 things"
