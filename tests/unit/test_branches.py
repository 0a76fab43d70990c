"""Functions that decide by values: every way is run, and the results are joined by selects."""

import array
import collections
import dataclasses
import math
import types

import numpy as np
import pytest

from holonomic import Dae, Event, Ode, System, simulate
from holonomic.errors import UntraceableFunction
from holonomic.model import symbolics
from holonomic.model.branches import ways
from holonomic.model.call_by_name import call
from holonomic.model.make_symbols import symbol_vector, to_sx
from holonomic.model.trace_stage import ways_through
from holonomic.multibody import Mechanism, rod

POINTS = np.random.default_rng(1).uniform(-1.5, 1.5, (40, 3))


def on_symbols(function):
    sx, q = symbol_vector("q", 3)
    value = to_sx(ways_through(lambda: call(function, "force()", ("q",), {"q": q.copy()}), "force()"))
    return symbolics.function_of([sx], [symbolics.densify(value), symbolics.densify(symbolics.jacobian(value, sx))])


def early_returns(q):
    if q[0] > 0.5:
        return q * 2
    elif q[0] > 0.3 and q[1] < 1:
        return q
    return np.zeros(3)


def conditional_expression(q):
    return q[0] if q[0] < q[1] else q[1] ** 2


def chained_comparison(q):
    return q[1] if -0.5 < q[0] <= 0.5 else (q[2] if not q[1] > 0 or q[2] > 1 else 0.0)


def an_if_in_a_loop(q):
    F = np.zeros(3)
    for i in range(3):
        if q[i] > 0.6:
            F[i] = -10 * (q[i] - 0.6)
        else:
            F[i] += 1
    return F


def a_guard_against_zero(q):
    d = np.linalg.norm(q)
    if d == 0:
        return np.zeros(3)
    return q / d**3


def a_while_of_few_turns(q):
    x, n = q[0], 0
    while x > 0.4 and n < 5:
        x = x / 2
        n += 1
    return x


def a_for_that_breaks(q):
    total = 0.0
    for x in q:
        if x < 0:
            break
        total += x
    else:
        total = -1.0
    return total


def a_way_that_raises(q):
    if q[0] < -5:
        raise ValueError("too far")
    assert q[1] < 10
    return math.sqrt(q[0] + 6)


def roots_on_the_other_side(q):
    if q[0] <= 0:
        return 0.0
    return q[0] ** 1.5 + math.log(q[0]) + np.sqrt(q[0])


def helpers_with_an_if(q):
    return sum(contact(x) for x in [*q, *(2 * q), *(3 * q), *(q - 1)])


def contact(gap):
    if gap > 0:
        return 0.0
    return (-gap) ** 1.5


def a_helper_that_returns_truth(q):
    return 1.0 if inside(q[0]) and not inside(q[1]) else 2.0


def inside(x):
    if x > 1:
        return False
    return x > -1


def a_helper_with_several_results(q):
    F, (M, names) = parts(q[0])
    return np.array([F, M, names["x"]])


def parts(x):
    if x > 0:
        return x, [2 * x, {"x": 1.0}]
    return -x, [x, {"x": x}]


def any_and_all(q):
    return 1.0 if np.any(q > 0.9) else (2.0 if all(x > -0.3 for x in q) else q[0])


def truth_of_a_number(q):
    return q[1] / q[0] if q[0] else 0.0


def clamped_by_hand(q):
    x = q[0]
    if x > 1:
        x = 1.0
    if x < -1:
        x = -1.0
    return x


FUNCTIONS = [
    early_returns, conditional_expression, chained_comparison, an_if_in_a_loop, a_guard_against_zero, a_while_of_few_turns,
    a_for_that_breaks, a_way_that_raises, roots_on_the_other_side, helpers_with_an_if, a_helper_that_returns_truth,
    a_helper_with_several_results, any_and_all, truth_of_a_number, clamped_by_hand,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_every_way_has_its_value(function):
    traced = on_symbols(function)
    for x in POINTS:
        own = np.asarray(function(x.copy()), dtype=float)
        # a few dozen roundings of numbers up to 100
        assert np.max(np.abs(np.array(traced(x)[0]).reshape(own.shape) - own)) <= 1e-13 * (1 + np.max(np.abs(own)))


EXPRESSIONS = """
q[0] if 0 <= q[0] <= 1 else (q[1] if q[0] else q[2])
(q[0] > 0 and q[1]) or q[2]
-q[0] if not (q[0] > 0 or q[1] > 0) else q[1] ** 2
sorted([q[0], q[1]])[0] + max(q, key=lambda x: x * x)
[max(q[0], q[1], 0), min(q), abs(q[2]), bool(q[0] > 0) * 3.0]
1.0 if (q > 0).all() else 2.0 if (q < 0).any() and q[0] > q[1] else float(q[0] < q[1])
np.where(q > 0, np.sqrt(np.abs(q)), q**3).sum(axis=0, keepdims=True)
sum(x for x in q if x > 0)
q[0] // 0.7 + q[1] % 0.7 + divmod(q[2], 0.3)[1] + math.fmod(q[0], 0.4) + math.floor(q[1]) + math.trunc(q[2])
np.piecewise(q, [q < 0, q >= 0], [lambda x: -x, lambda x: x**2]) + np.select([q > 1], [q], 0)
next((x for x in q if x > 0), -1.0)
{True: q[1], False: q[2]}[bool(q[0] > 0)]
"""


@pytest.mark.parametrize("text", EXPRESSIONS.strip().splitlines())
def test_an_expression_that_decides_has_its_value(text):
    test_every_way_has_its_value(eval(f"lambda q: {text}", {"np": np, "math": math}))


def test_the_way_not_taken_may_be_nan_in_value_and_derivative():
    value, slope = on_symbols(roots_on_the_other_side)([-0.5, 0.0, 0.0])
    assert value.item() == 0.0 and not np.any(np.array(slope))
    value, slope = on_symbols(a_guard_against_zero)([0.0, 0.0, 0.0])
    assert not np.any(np.array(value)) and not np.any(np.array(slope))


def test_a_way_that_raises_gives_nan():
    assert np.isnan(on_symbols(a_way_that_raises)([-5.5, 0.0, 0.0])[0].item())


def runs_of(function):
    """How often a function is run to see all its ways."""
    count = 0

    def run():
        nonlocal count
        count += 1
        return function(symbol_vector("q", 3)[1])

    ways(run)
    return count


def test_what_is_decided_already_is_not_asked_again():
    def bounded(q):
        F = 1.0 if q[0] < 0 else 2.0
        F += 1.0 if q[0] >= 0 else 0.0
        F += 1.0 if q[0] < 1 else 0.0
        F += 1.0 if q[1] == q[2] else 0.0
        F += 1.0 if q[2] != q[1] else 0.0
        return F + (1.0 if 0 > q[0] else 0.0)

    assert runs_of(bounded) == 6  # below 0, below 1, above; q[1] = q[2] or not
    assert runs_of(lambda q: (1 if q[0] > q[1] else 2) + (1 if q[1] < q[0] else 2) + (1 if q[1] >= q[0] else 2)) == 2
    assert runs_of(lambda q: (1 if q[0] * q[1] > 2 else 2) + (1 if ~(q[0] * q[1] <= 2) else 2)) == 2


def test_selects_are_no_decisions():
    _, q = symbol_vector("q", 3)
    law = lambda q: np.array([max(x, 0.0) + min(x, 1.0) + abs(x) + np.clip(x, 0, 1) + np.where(x > 0, x, 0) for x in [*q] * 9])
    assert to_sx(ways_through(lambda: call(law, "force()", ("q",), {"q": q}), "force()")).shape == (27, 1)


# what one way does must not be seen by another

COUNTS, SHARED = np.zeros(3, dtype=int), {"mode": 0}


class Mode:
    fast = False


mode = Mode()


def limited(F):
    """The argument itself on one way, a new array on the other."""
    if F[0] > 0.5:
        return F
    return F * 2


def positive_sum(items):
    total = 0.0
    for x in items:
        if x > 0:
            total += x
    return total


def the_argument_comes_back(q):
    F = q * 1.0
    G = limited(F)
    G[1] = 7.0
    return F + G


def a_generator_is_gone_after_one_way(q):
    return positive_sum(2 * x for x in q)


def an_array_of_integers_inside(q):
    counts = np.zeros(3, dtype=int)
    for i in range(3):
        if q[i] > 0:
            counts[i] += 1
    return counts * q


class Slotted:
    __slots__ = ("kept",)


def noted(x, what, how):
    """A number that is not changed; on one way something else is."""
    if x > 0:
        how(what)
    return x


def put(value):
    def into(what):
        what[0] = value

    return into


def what_helpers_write_into(q):
    counts, single, whole = np.zeros(2, dtype=int), np.zeros(2, dtype=np.float32), bytearray(1)
    members, queue, named, deep, slotted = set(), collections.deque(), {"a": 2.0}, [[[[[[0.0]]]]]], Slotted()
    slotted.kept = 1.0
    noted(q[0], counts, put(1))
    noted(q[0], single, put(2))
    noted(q[0], whole, put(3))
    noted(q[0], members, lambda each: each.add(4.0))
    noted(q[0], queue, lambda each: each.append(5.0))
    noted(q[1], named, lambda each: each.update(b=each.pop("a")))
    noted(q[1], deep, lambda each: put(6.0)(each[0][0][0][0][0]))
    noted(q[1], slotted, lambda each: setattr(each, "kept", 7.0))
    sums = counts[0] + single[0] + whole[0] + sum(members) + sum(queue)
    return np.array([sums, named.get("b", 0.0), deep[0][0][0][0][0][0], slotted.kept])


def mapping(x):
    if x > 0:
        return {"a": x, "b": 1.0}
    return {"b": 2.0, "a": 2 * x}


def the_order_of_a_mapping(q):
    return np.array(list(mapping(q[0]).values()))


@dataclasses.dataclass
class Pair:
    a: float
    b: float


def pair(x):
    return Pair(x, 2 * x) if x > 0 else Pair(-x, x * x)


def objects_that_compare_what_they_hold(q):
    pairs = [pair(x) for x in (*q, *(q + 0.1), *(q - 0.1))]
    return np.array([each.a - each.b for each in pairs])


@pytest.mark.parametrize("function", [
    the_argument_comes_back, a_generator_is_gone_after_one_way, an_array_of_integers_inside, what_helpers_write_into,
    the_order_of_a_mapping, objects_that_compare_what_they_hold,
])  # fmt: skip
def test_ways_know_nothing_of_each_other(function):
    test_every_way_has_its_value(function)


def counts_outside(q):
    if q[0] > 0:
        COUNTS[0] += 1
    return q * COUNTS[0]


def sets_a_class(q):
    if q[0] > 0:
        Mode.fast = True
    return q if Mode.fast else -q


def sets_an_object(q):
    if q[0] > 0:
        mode.fast = True
    return q if mode.fast else -q


def sets_itself(q):
    if q[0] > 1:
        sets_itself.on = True
    return q if sets_itself.on else -q


sets_itself.on = False


def sets_a_dictionary(q):
    if q[0] > 0:
        SHARED["mode"] = 1
    return q * SHARED["mode"]


@pytest.mark.parametrize("function", [counts_outside, sets_a_class, sets_an_object, sets_itself, sets_a_dictionary])
def test_what_outlasts_a_call_is_refused_and_left_as_it_was(function):
    with pytest.raises(UntraceableFunction, match=r"outside itself|remembers 'fast' of a Mode"):
        on_symbols(function)
    assert not COUNTS.any() and not Mode.fast and not mode.fast and not sets_itself.on and SHARED == {"mode": 0}


class Table(list):
    pass


class Single(np.ndarray):
    pass


def slotted(value):
    made = Slotted()
    made.kept = value
    return made


# a thing that holds a number, how another one gets into it, and how it is read
KEEPERS = {
    "deque": (collections.deque([0.0]), put(1.0), lambda it: it[0]),
    "OrderedDict": (collections.OrderedDict({0: 0.0}), put(1.0), lambda it: it[0]),
    "defaultdict": (collections.defaultdict(float, {0: 0.0}), put(1.0), lambda it: it[0]),
    "UserDict": (collections.UserDict({0: 0.0}), put(1.0), lambda it: it[0]),
    "bytearray": (bytearray(1), put(1), lambda it: it[0]),
    "array": (array.array("d", [0.0]), put(1.0), lambda it: it[0]),
    "set": ({0.0}, lambda it: (it.clear(), it.add(1.0)), sum),
    "list of one's own": (Table([0.0]), put(1.0), lambda it: it[0]),
    "array of one's own": (np.zeros(1).view(Single), put(1.0), lambda it: it[0]),
    "array of objects": (np.zeros(1, dtype=object), put(1.0), lambda it: it[0]),
    "proxy": (types.MappingProxyType({0: [0.0]}), lambda it: put(1.0)(it[0]), lambda it: it[0][0]),
    "namespace": (types.SimpleNamespace(kept=0.0), lambda it: setattr(it, "kept", 1.0), lambda it: it.kept),
    "slots": (slotted(0.0), lambda it: setattr(it, "kept", 1.0), lambda it: it.kept),
    "attributes as a dict": (Mode(), lambda it: vars(it).update(kept=1.0), lambda it: it.kept),
}
KEEPERS["attributes as a dict"][0].kept = 0.0


@pytest.mark.parametrize("kind", KEEPERS)
def test_whatever_keeps_something_is_refused_and_left_as_it_was(kind):
    keeper, write, read = KEEPERS[kind]

    def force(q):
        if q[0] > 0:
            write(keeper)
        return q * read(keeper)

    with pytest.raises(UntraceableFunction, match=r"changes an? \w+ outside itself|remembers .* from one call to the next"):
        on_symbols(force)
    assert read(keeper) == 0.0


@pytest.mark.parametrize("kind", KEEPERS)
def test_whatever_holds_something_may_be_read(kind):
    keeper, _, read = KEEPERS[kind]
    assert np.array_equal(np.array(on_symbols(lambda q: q + read(keeper))(POINTS[0])[0]).ravel(), POINTS[0])


def namespace(x):
    if x > 0:
        return types.SimpleNamespace(a=x, b=2 * x)
    return types.SimpleNamespace(a=2 * x, b=x)


def test_namespaces_are_joined():
    test_every_way_has_its_value(lambda q: np.array([namespace(q[0]).a, namespace(q[1]).b]))


# as part of systems


def spring_with_a_stop(q, p):
    F = np.zeros(1)
    F[0] = -p.k * q[0]
    if q[0] > p.stop:
        F[0] -= 1e3 * (q[0] - p.stop)
    elif p.k < 0:
        raise ValueError("k")
    return F


def smooth_spring(q, p):
    return -p.k * q - 1e3 * np.where(q > p.stop, q - p.stop, 0.0)


def test_a_stop_by_if_is_a_stop_by_where():
    params, start = {"k": 10.0, "stop": 0.3}, {"q0": [0.0], "v0": [2.0]}
    decided, selected = (
        simulate(System(mass=np.eye(1), force=force, params=params), 2.0, **start, rtol=1e-9)
        for force in (spring_with_a_stop, smooth_spring)
    )
    assert decided.q[:, 0].max() > 0.3
    assert abs(decided.end.q[0] - selected.end.q[0]) < 1e-7  # rtol over some hundred steps


def test_all_kinds_of_functions_may_decide():
    system = System(
        mass=lambda t: np.eye(2) if t >= 0 else 2 * np.eye(2),
        force=lambda q, u: [u.push if q[0] < 1 else 0.0, -9.81],
        constraint=lambda q: q @ q - 1 if q[0] > -2 else q @ q - 2,
        inputs={"push": lambda t: 1.0 if t > 0.5 else 0.0},
        outputs={"side": lambda q: "left" and (1.0 if q[0] > 0 else -1.0), "row": lambda q: q if q[1] > 0 else -q},
    )
    sol = simulate(
        system,
        1.0,
        q0=[1, 0],
        v0=[0, 0],
        rtol=1e-8,
        events={"low": Event(lambda q, p: q[1] + 0.5 if q[0] > -3 else 1.0), "flip": lambda q: 1 if q[0] > 0 else -1},
    )
    assert np.array_equal(sol["side"], np.where(sol.q[:, 0] > 0, 1.0, -1.0))
    assert np.array_equal(sol["row"], np.where(sol.q[:, 1:] > 0, sol.q, -sol.q))
    assert len(sol.events["low"].t) == 2


def bounce(t, y):
    height, speed = y
    if height < 0:
        return np.array([speed, -9.81 - 1e4 * height])
    return np.array([speed, -9.81])


def test_an_ode_may_decide():
    own = simulate(Ode(bounce, trace=False), 1.0, y0=[1.0, 0.0], rtol=1e-9)
    traced = simulate(Ode(bounce), 1.0, y0=[1.0, 0.0], rtol=1e-9)
    assert own.y[:, 0].min() < 0
    assert np.allclose(traced.end.y, own.end.y, atol=1e-6)  # the same equations; another error control through the corner


def test_a_dae_may_decide():
    f = lambda x, dx: np.array([0, -9.81]) - (0.5 * dx if dx[0] > 0 else 0.1 * dx)
    g = lambda x: x @ x - 1
    damped = Dae(order=2, f=f, B=lambda x: 2 * x[:, None], g=g)
    twin = System(mass=np.eye(2), force=lambda q, v: f(q, v), constraint=lambda q: g(q))
    one = simulate(damped, 1.0, x0=[1.0, 0.0], dx0=[0.0, 0.0], rtol=1e-9)
    other = simulate(twin, 1.0, q0=[1.0, 0.0], v0=[0.0, 0.0], rtol=1e-9)
    assert np.allclose(one.end.y[:2], other.end.q, atol=1e-7)


@pytest.mark.filterwarnings("error")
def test_a_function_of_a_mechanism_may_decide_and_fill_arrays():
    def brake(speed):
        effort = np.zeros(1)
        if speed > 1.0:
            effort[0] = -0.5 * (speed - 1.0)
        return effort[0]

    m = Mechanism(gravity=(0, -9.81))
    arm = m.body("arm", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("O", m.ground, arm, at=(0, 0))
    m.motor("O", torque=brake)
    braked = simulate(m, 1.0, rtol=1e-8)
    assert np.allclose(braked["O motor"].torque, [brake(speed) for speed in braked["O"].speed], atol=1e-9)


def test_recursion_by_value_is_refused():
    def halved(x):
        return x if x < 1 else halved(x / 2)

    with pytest.raises(UntraceableFunction):
        simulate(Ode(lambda y: -halved(y[0]) * np.ones(1), trace=True), 1.0, y0=[3.0])


@pytest.mark.filterwarnings("error")
def test_all_functions_of_a_mechanism_may_decide_and_fill_arrays():
    def filled(value):
        made = np.zeros(1)
        made[0] = value if value > 0 else 0.5 * value
        return made[0]

    m = Mechanism(gravity=(0, -9.81))
    arm = m.body("arm", rod((0, 0), (1, 0), mass=1.0))
    m.revolute("O", m.ground, arm, at=(0, 0))
    tip = m.point("tip", arm, at=(1, 0))
    m.state("wear", rate=lambda wear: -filled(wear), start=1.0)
    m.spring("band", m.ground, arm, at=((0, -2), (1, 0)), length=1.0, force=lambda stretch: filled(stretch))
    m.force("wind", arm, at=tip, value=lambda t, tip: np.array([filled(t - 0.1), filled(tip.velocity[1])]))
    m.torque("brake", arm, value=lambda wear: -filled(wear))
    sol = simulate(m, 0.5)
    assert abs(sol["wear"][-1] - np.exp(-0.5)) < 1e-6
