"""opaque(f): functions that cannot be traced are called with numbers, and run beside what is traced."""

import ctypes
import ctypes.util
import math
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from numba import cfunc, njit
from scipy import LowLevelCallable

from holonomic import (
    BDF,
    GGL,
    RATTLE,
    RK45,
    BadArgument,
    Dae,
    Event,
    Index3,
    Ode,
    Projection,
    Radau,
    Stepper,
    System,
    export,
    gradient,
    opaque,
    simulate,
    sweep,
)
from holonomic.errors import IncompatibleMethods, NotFinite
from holonomic.gpu import engine
from holonomic.model import symbolics as door
from holonomic.model.opaque_code import Code
from holonomic.model.outside_functions import OutsideFunction
from holonomic.multibody import Mechanism, rod
from holonomic.native import cachefolder
from holonomic.native.callbacks import address_of, as_callback
from holonomic.view import view

FALL = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}
LIBM = ctypes.CDLL(ctypes.util.find_library("m"))
LIBM.sin.argtypes, LIBM.sin.restype = [ctypes.c_double], ctypes.c_double


def untraceable(x):
    """The same number, by a way that symbols cannot go."""
    return float(repr(float(x)))


@opaque
def oscillator(t, y, p):
    return [y[1], -p.k * untraceable(y[0])]


@njit
def jitted(x, v):
    return -math.sin(x) - 0.1 * v


@njit
def jitted_array(x, n):
    out = np.empty(2)
    out[0], out[1] = x[1], -np.sin(x[0]) * n
    return out


@cfunc("float64(float64, float64)")
def c_law(x, v):
    return -math.sin(x) - 0.1 * v


@cfunc("float64(int32, CPointer(float64), voidptr)")
def c_of_array(n, x, data):
    return -math.sin(x[0]) - 0.1 * x[1]


@cfunc("void(CPointer(float64), CPointer(float64))")
def c_writes(x, out):
    out[0] = x[1]
    out[1] = -math.sin(x[0])


def pendulum(law):
    return Ode(lambda y: [y[1], law(y[0], y[1])])


KINDS = {
    "Python": opaque(lambda x, v: -math.sin(untraceable(x)) - 0.1 * v),
    "njit": opaque(jitted),
    "cfunc": opaque(c_law),
    "cfunc of an array": opaque(LowLevelCallable(c_of_array.ctypes)),
    "LowLevelCallable": opaque(LowLevelCallable(c_law.ctypes)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_function_gives_what_a_traced_one_gives(kind):
    law = KINDS[kind]
    given = (lambda x, v: law(np.array([x, v]))) if kind == "cfunc of an array" else law
    own, traced = pendulum(given), pendulum(lambda x, v: -np.sin(x) - 0.1 * v)
    for methods in ({}, {"integrator": Radau()}):
        a, b = (simulate(system, 5.0, y0=[1.0, 0.0], **methods) for system in (own, traced))
        assert len(a.t) == len(b.t)
        assert np.allclose(a.y[-1], b.y[-1], rtol=0, atol=1e-11)  # rounding over some hundred evaluations


def test_functions_of_ctypes_and_those_that_write_arrays():
    sine, both, array = opaque(LIBM.sin), opaque(c_writes, shape=2), opaque(jitted_array)
    exact = simulate(Ode(lambda y: [y[1], -np.sin(y[0])]), 5.0, y0=[1.0, 0.0]).y[-1]
    for rhs in (lambda y: [y[1], -sine(y[0])], lambda y: both(y), lambda y: array(y, 1)):
        assert np.allclose(simulate(Ode(rhs), 5.0, y0=[1.0, 0.0]).y[-1], exact, rtol=0, atol=1e-12)
    assert sine(1.0) == math.sin(1.0) and both([0.5, 2.0]).tolist() == [2.0, -math.sin(0.5)]


@pytest.mark.parametrize(
    "methods",
    [{}, {"integrator": BDF(), "formulation": GGL()}, {"integrator": Radau(), "formulation": Index3()},
     {"integrator": RATTLE(), "step": 0.01}],
    ids=str,
)  # fmt: skip
def test_a_constraint_by_differences_moves_as_a_traced_one(methods):
    circle = opaque(lambda q: untraceable(q @ q) - 1.0)
    own, traced = (System(mass=np.eye(2), force=[0, -9.81], constraint=g) for g in (lambda q: circle(q), lambda q: q @ q - 1))
    a, b = (simulate(system, 1.0, **FALL, **methods) for system in (own, traced))
    assert len(a.t) == len(b.t)
    assert np.abs(a.q[-1] - b.q[-1]).max() < 1e-7  # derivatives are good to 1e-9, steps and their errors, of 1e-7, follow them


def test_what_differences_cannot_reach_is_refused():
    circle = opaque(lambda q: untraceable(q @ q) - 1.0)
    with pytest.raises(BadArgument) as caught:
        simulate(System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: circle(q)), 1.0, **FALL, rtol=1e-12)
    assert str(caught.value) == (
        "rtol=1e-12 cannot be reached: derivatives of opaque '<lambda>' come from differences, good to 1e-09. Give jac=, or use "
        "rtol >= 1e-09."
    )
    slope = opaque(lambda x: 0.5 * untraceable(x) ** 2, jac=lambda x: x)  # only differentiated once: exact
    sol = simulate(System(mass=np.eye(1), potential=lambda q: slope(q[0])), math.pi, q0=[1.0], v0=[0.0], rtol=1e-12)
    assert abs(sol.q[-1, 0] + 1.0) < 1e-10


def test_steps_of_differences_suit_every_system_that_has_the_function():
    wave = opaque(lambda x: math.sin(untraceable(x) ** 2))  # bends a thousand times faster at 500 than at 0.5

    def slopes(start):
        system = System(mass=np.eye(1), force=lambda q: [0.0], potential=lambda q: wave(q[0]))
        return simulate(system, 1e-3, q0=[start], v0=[0.0]).a[0, 0], -2 * start * math.cos(start**2)

    for start in (0.5, 500.0, 0.5):
        found, exact = slopes(start)
        assert abs(found - exact) < 1e-7 * max(1.0, abs(exact))


def test_a_wrong_jac_is_refused():
    law = opaque(lambda x, y: [untraceable(x * y), x + y], jac=lambda x, y: [[y, x], [1.0, 2.0]])
    with pytest.raises(BadArgument) as caught:
        simulate(Ode(lambda y: law(y[0], y[1])), 1.0, y0=[1.0, 0.5])
    assert str(caught.value) == (
        "jac of opaque '<lambda>' gives 2 in entry [1, 1], but differences 1. Correct it: row 1 belongs to number 1 of what the "
        "function returns, column 1 to number 1 of what it takes, all arguments one after the other."
    )


def test_what_a_function_raises_ends_the_run_with_it():
    calls = []

    @opaque
    def table(x):
        calls.append(x)
        if x < 0.5:
            raise LookupError("the table begins at 0.5")
        return -x

    for methods in ({}, {"integrator": Radau()}):
        with pytest.raises(LookupError, match="the table begins") as caught:
            simulate(Ode(lambda y: [table(y[0])]), 5.0, y0=[1.0], **methods)
        sol = caught.value.solution
        assert sol.ended == "failed" and sol.y[-1, 0] > 0.5 and len(sol.t) > 1
        assert calls[-1] < 0.5  # and it was not called again
        assert np.allclose(sol.y[:, 0], np.exp(-sol.t), rtol=1e-4)  # what was accepted before is right
    assert simulate(Ode(lambda y: [table(y[0])]), 0.5, y0=[1.0]).y[-1, 0] == pytest.approx(math.exp(-0.5), rel=1e-5)
    with pytest.raises(LookupError):
        sweep(Ode(lambda y, p: [p.k * table(y[0])], params={"k": 1.0}), 1.0, y0=[1.0], params={"k": [0.1, 3.0]}, save_at=2)
    step = Stepper(Ode(lambda y: [table(y[0])]), y0=[1.0])
    with pytest.raises(LookupError):
        step.step(2.0)


def test_ctrl_c_inside_a_function_returns_the_run_so_far():
    @opaque
    def slow(x):
        if x < 0.5:
            raise KeyboardInterrupt
        return -x

    sol = simulate(Ode(lambda y: [slow(y[0])]), 5.0, y0=[1.0])
    assert sol.ended == "interrupted" and sol.y[-1, 0] > 0.5


def test_a_jitted_function_that_raises_is_not_a_number():
    @njit
    def law(x):
        if x < 0.5:
            raise ValueError("below")
        return -x

    given = opaque(law)
    with pytest.raises(NotFinite, match=r"rhs\(\) \(it raises ValueError: below\) gives NaN or infinity near t = 0.693147"):
        simulate(Ode(lambda y: [given(y[0])]), 5.0, y0=[1.0])


@njit
def seven_to_two(a, b, c, d, e, f, g):
    return a * b - c, d + e * f - g


@njit
def nine_to_one(a, b, c, d, e, f, g, h, i):
    return a * b - c * d + e * f - g * h + i


@njit
def whole_to_three(x, M, scale, k):
    return M @ x * scale + k


@njit
def row_to_one(x):
    return np.array([x[0] * x[1] - x[2]])


@njit
def row_to_pair(x, y):
    return x[0] * y, x[1] + y


@njit
def single_in_a_tuple(x):
    return (3.0 * x,)


def test_numbers_come_in_registers_or_in_memory_and_are_the_same():
    y = np.array([0.3, -0.7, 1.1])
    M = lambda y: np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]) * y[0]
    laws = {
        "two": lambda y, seven: seven(y[0], y[1], y[2], 0.5, 1.5, 2.0 * y[0], 4.0),
        "nine": lambda y, nine: nine(y[0], y[1], y[2], 0.5, 1.5, 2.0, 4.0, y[0] * y[1], 3.0),
        "three": lambda y, whole: whole(y[:2], M(y), y[2], 2),
        "one": lambda y, row: row(y),
        "pair": lambda y, pair: pair(y[1:], y[0]),
        "single": lambda y, single: single(y[0])[0],
    }
    functions = seven_to_two, nine_to_one, whole_to_three, row_to_one, row_to_pair, single_in_a_tuple
    made = {name: (law, opaque(f), f) for (name, law), f in zip(laws.items(), functions, strict=True)}
    outputs = {name: (lambda y, law=law, f=f: np.array(law(y, f))) for name, (law, f, _) in made.items()}
    system = Ode(lambda y: [sum(np.ravel(law(y, f))) for law, f, _ in [made["two"], made["nine"], made["three"]]], outputs=outputs)
    sol = simulate(system, 0.01, y0=y)
    for name, (law, _, f) in made.items():
        for here, found in zip(sol.y, sol[name], strict=True):
            assert np.allclose(found, np.array(law(here, f)), rtol=1e-14, atol=0), name
    many = sweep(system, 0.01, y0=np.repeat([y], 16, axis=0), save_at=3)
    assert np.allclose(many.y[:, -1], simulate(system, 0.01, y0=y, save_at=3).y[-1], rtol=1e-12)


def test_runs_of_compiled_ones_that_are_asked_for_again_are_the_same_and_end_alike():
    @njit
    def law(x, t):
        if t > 1.5:
            raise ValueError("late")
        return -x

    given = opaque(law)
    system = Ode(lambda t, y: [given(y[0], t)])
    first, *others = (simulate(system, 1.0, y0=[1.0], integrator=RK45) for _ in range(3))
    assert system.made.models and any(next(iter(system.made.models.values())).prepared.values())
    assert all(np.array_equal(first.y, each.y) for each in others)
    for _ in range(2):
        with pytest.raises(NotFinite, match=r"it raises ValueError: late"):
            simulate(system, 2.0, y0=[1.0], integrator=RK45)


def test_nothing_of_it_is_kept_on_disk_and_no_two_are_mixed_up(monkeypatch):
    written = []
    monkeypatch.setattr(cachefolder, "write", lambda *what: written.append(what[1]))
    ends = []
    for k in (1.0, 2.0):
        law = opaque(lambda x, k=k: -untraceable(k * x), jac=lambda x, k=k: -k)
        ends.append(simulate(Ode(lambda y, law=law: [law(y[0])]), 1.0, y0=[1.0], integrator=Radau(), rtol=1e-8).y[-1, 0])
    assert np.allclose(ends, np.exp([-1.0, -2.0]), rtol=1e-6)
    assert written == []


def test_a_function_is_seen_as_it_is_now():
    rate = {"k": 1.0}
    law = opaque(lambda x: -rate["k"] * untraceable(x))
    system = Ode(lambda y: [law(y[0])])
    first = simulate(system, 1.0, y0=[1.0])
    rate["k"] = 2.0
    second = simulate(system, 1.0, y0=[1.0])
    assert second.plan.model is first.plan.model  # nothing is traced again
    assert np.allclose([first.y[-1, 0], second.y[-1, 0]], np.exp([-1.0, -2.0]), rtol=1e-5)


FACTOR = 1.0


def test_a_function_of_numba_that_was_compiled_anew_is_compared_at_the_start_of_a_run():
    global FACTOR

    @njit
    def law(x):
        return -FACTOR * x

    given = opaque(law)
    system = Ode(lambda y: [given(y[0])])
    ends = []
    for k in (1.0, 2.0):
        FACTOR = k
        law.recompile()
        ends.append(simulate(system, 1.0, y0=[1.0]).y[-1, 0])
    FACTOR = 1.0
    assert np.allclose(ends, np.exp([-1.0, -2.0]), rtol=1e-5)


def test_events_outputs_inputs_invariants_and_decisions():
    same = opaque(untraceable)
    system = Ode(
        lambda y, u: [y[1], -y[0] if same(y[0]) > 0 else -y[0] + 0.0 * u.f], inputs={"f": lambda t: same(t)},
        outputs={"half": lambda y: 0.5 * same(y[0])}, invariants={"E": lambda y: same(y[0]) ** 2 + y[1] ** 2},
    )  # fmt: skip
    sol = simulate(system, 3.0, y0=[1.0, 0.0], stabilization=Projection(), events={"zero": Event(lambda y: same(y[0]))})
    assert sol.events["zero"].t == pytest.approx([math.pi / 2], abs=1e-5)
    assert np.array_equal(sol["half"], 0.5 * sol.y[:, 0])
    assert np.abs(np.sum(sol.y**2, axis=1) - 1.0).max() < 1e-9


def test_mechanisms_and_daes():
    brake = opaque(lambda angle: -3.0 * untraceable(angle))

    def crank(law):
        m = Mechanism(gravity=(0, -9.81))
        m.revolute("O", m.ground, m.body("crank", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
        m.motor("O", torque=law)
        return simulate(m, 1.0)

    assert np.array_equal(crank(lambda angle: brake(angle)).q[-1], crank(lambda angle: -3.0 * angle).q[-1])
    circle = opaque(lambda x: untraceable(x @ x) - 1.0)
    ends = [
        simulate(Dae(f=lambda x: np.array([0, -9.81]), B=lambda x: 2 * x.reshape(2, 1), g=g, order=2), 1.0, x0=[1, 0], dx0=[0, 0])
        for g in (lambda x: circle(x), lambda x: x @ x - 1)
    ]
    assert np.abs(ends[0].x[-1] - ends[1].x[-1]).max() < 1e-7


def test_sweeps_and_gradients():
    spring = opaque(jitted)
    own = Ode(lambda y, p: [y[1], p.k * spring(y[0], y[1])], params={"k": 1.0})
    values = np.linspace(0.5, 2.0, 40)
    runs = sweep(own, 5.0, y0=[1.0, 0.0], params={"k": values}, save_at=3)
    for m in (0, 39):
        alone = simulate(replace(own, params={"k": values[m]}), 5.0, y0=[1.0, 0.0], save_at=3)
        assert np.array_equal(runs.y[m], alone.y)
    system = Ode(oscillator, params={"k": 1.0})
    runs = sweep(system, 5.0, y0=[1.0, 0.0], params={"k": values}, save_at=3)
    assert np.allclose(runs.y[:, -1, 0], np.cos(5.0 * np.sqrt(values)), atol=1e-5) and not runs.failed
    found = gradient(lambda sol: sol.y[-1, 0], system, 1.0, y0=[1.0, 0.0], wrt=["k"])
    assert found.grad["k"] == pytest.approx(-0.5 * math.sin(1.0), rel=1e-5)


@pytest.mark.slow  # two processes import everything anew
def test_sweeps_in_other_processes():
    system, members = Ode(oscillator, params={"k": 1.0}), {"k": np.linspace(0.5, 2.0, 10)}
    here = sweep(system, 5.0, y0=[1.0, 0.0], params=members, save_at=3)
    with ProcessPoolExecutor(2) as processes:
        there = sweep(system, 5.0, y0=[1.0, 0.0], params=members, save_at=3, on=processes)
    assert np.array_equal(here.y, there.y)


def test_a_long_model_is_compiled_in_pieces_around_it():
    n = 80
    shuffle = opaque(lambda y: np.array([untraceable(each) for each in y])[::-1])

    def rhs(y, turn):
        z = y
        for _ in range(5):
            z = np.sin(z) + 0.1 * turn(y)
        return -z

    a, b = (
        simulate(Ode(lambda y, turn=turn: rhs(y, turn)), 1.0, y0=np.linspace(0.1, 1.0, n)).y[-1]
        for turn in (shuffle, lambda y: y[::-1])
    )
    assert np.allclose(a, b, rtol=1e-13)


def test_a_page_cannot_have_one(tmp_path):
    with pytest.raises(IncompatibleMethods) as caught:
        view(Ode(oscillator, params={"k": 1.0}), 1.0, y0=[1.0, 0.0], live={"k": (0.5, 2)}, path=tmp_path / "page.html")
    assert str(caught.value) == "this run cannot be live: opaque 'oscillator' is no expression that a page could have."


def test_a_gpu_cannot_call_one(monkeypatch):
    monkeypatch.setattr(engine, "device", lambda: None)
    with pytest.raises(IncompatibleMethods) as caught:
        sweep(Ode(oscillator, params={"k": 1.0}), 1.0, y0=[1.0, 0.0], params={"k": [1.0, 2.0]}, save_at=2, on="cuda")
    assert str(caught.value) == ('on="cuda" cannot call opaque \'oscillator\', whose code is for the processor. Use on="threads".')


def test_an_exported_library_cannot_have_one(tmp_path):
    with pytest.raises(BadArgument) as caught:
        export(Ode(oscillator, params={"k": 1.0}), 1.0, y0=[1.0, 0.0], folder=tmp_path / "library")
    assert str(caught.value) == (
        "export cannot have opaque 'oscillator': it is code of this process, which a library does not have."
    )


def test_nothing_is_gone_on_with_where_the_function_cannot_be_known(tmp_path):
    pytest.importorskip("zarr")
    system = Ode(oscillator, params={"k": 1.0})
    many = {"y0": [1.0, 0.0], "params": {"k": [1.0, 2.0]}, "save_at": 2, "store": tmp_path / "store"}
    sweep(system, 1.0, **many)
    with pytest.raises(BadArgument, match="made with opaque 'oscillator', of which nobody can tell whether it is the same"):
        sweep(system, 1.0, resume=True, **many)
    with pytest.raises(BadArgument, match="checkpoint= does not go with opaque functions"):
        simulate(system, 1.0, y0=[1.0, 0.0], checkpoint=tmp_path / "run.checkpoint")


def test_decorated_functions_keep_their_name_and_can_be_sent():
    assert oscillator.__name__ == "oscillator" and repr(oscillator) == "opaque(oscillator)"
    assert pickle.loads(pickle.dumps(oscillator)) is oscillator
    again = pickle.loads(pickle.dumps(opaque(untraceable)))
    assert again(2.0) == 2.0

    @opaque(jac=lambda x: -2.0 * x)
    def law(x):
        return -(untraceable(x) ** 2)

    sol = simulate(Ode(lambda y: [law(x=y[0])]), 1.0, y0=[1.0], integrator=Radau())
    assert sol.y[-1, 0] == pytest.approx(0.5, rel=1e-5)  # y' = -y²


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: opaque(3.0), "opaque takes a function, got 3.0."),
        (lambda: opaque(opaque(untraceable)), "opaque: 'untraceable' is opaque already."),
        (lambda: opaque(ctypes.CDLL(None).abs), "opaque 'abs': set its argtypes and restype, as ctypes takes them."),
        (lambda: opaque(c_writes)([1.0]), "opaque 'c_writes' writes into double *out: say how many numbers, opaque(f, shape=3)."),
        (lambda: opaque(LIBM.sin)(1.0, 2.0), "opaque 'sin' takes 1 numbers, got 2."),
        (lambda: opaque(LIBM.sin, shape=2)(1.0), "opaque 'sin' returns one number; leave out shape=."),
        (lambda: opaque(LIBM.sin)(x=1.0), "opaque 'sin' takes its arguments by position."),
    ],
)
def test_what_cannot_be_called_is_refused_by_name(made, words):
    with pytest.raises(BadArgument) as caught:
        made()
    assert str(caught.value) == words


def test_a_function_that_changes_from_call_to_call_is_refused():
    count = [0.0]

    def counting(x):
        count[0] += 1.0
        return x + count[0]

    with pytest.raises(BadArgument, match=r"opaque 'counting' gives .* when it is called from Python, but .* from compiled code"):
        simulate(Ode(lambda y: [opaque(counting)(y[0])]), 1.0, y0=[1.0])


# the graph


def outside(function, n, m, derivative=None):
    callback = as_callback(lambda x: np.ravel(function(np.array(x))).tolist(), n, m)
    return OutsideFunction("f", n, m, Code(address_of(callback), callback), [np.full(n, 0.4)], derivative)


def test_graphs_look_behind_calls():
    f = outside(lambda x: [x[0] * x[1], np.sin(x[1])], 2, 2)
    x, z = door.SX.sym("x", 2), door.SX.sym("z")
    results = door.call(f, 2 * x)
    y = results[0] * z + door.call(f, results)[1]
    plain = 4 * x[0] * x[1] * z + door.unary("sin")(door.unary("sin")(2 * x[1]))
    at = [0.3, 0.7, 1.5]
    inputs = [door.vertcat(x, z)]
    both = lambda expression: np.array(door.function_of(inputs, [door.densify(expression)])(at)).ravel()
    assert np.allclose(both(y), both(plain), rtol=1e-14)
    for derivative in (
        lambda e: door.jacobian(e, inputs[0]), lambda e: door.jtimes(e, x, door.vertcat(z, 2.0)),
        lambda e: door.jacobian(door.jacobian(e, x), x), lambda e: door.substitute(e, x, door.vertcat(z, x[0])),
        lambda e: door.jacobian(door.substitute(e, x, door.vertcat(z, x[0])), z),
    ):  # fmt: skip
        assert np.allclose(both(derivative(y)), both(derivative(plain)), rtol=0, atol=1e-8)
    assert {symbol.name() for symbol in door.symvar(y)} == {"x_0", "x_1", "z"}
    assert door.depends_on(y, x[1]) and not door.depends_on(results, z)
    assert door.is_equal(door.call(f, 2 * x)[0], results[0])  # the same call is one call
    names = [name for name, *_ in door.operations(inputs, y)[0]]
    assert sum(name.startswith("call ") for name in names) == 4  # two calls of two results each
    assert np.allclose(np.array(door.function_of(inputs, [y])(door.vertcat(z, 1.0, z)).shape), (1, 1))


def test_differences_are_as_good_as_said():
    f = outside(np.sin, 1, 1)
    exact = (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin)
    for times, (derivative, bound) in enumerate(zip(exact, (1e-12, 1e-9, 2e-8, 1e-5), strict=True), 1):
        f_k = f
        for _ in range(times):
            f_k = f_k.derivative
        gaps = [abs(f_k.on_numbers(np.array([x]))[0] - derivative(x)) for x in np.linspace(-3, 3, 50)]
        assert max(gaps) < bound and f.error(times) <= bound
    with pytest.raises(BadArgument, match="differentiated 5 times by differences"):
        _ = f_k.derivative
