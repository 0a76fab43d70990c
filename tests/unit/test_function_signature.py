"""Functions behind decorators, functools.partial, methods and objects that are called: given what they really take."""

import functools
import inspect

import numpy as np
import pytest
from numba import njit

from holonomic import Dae, Event, Ode, System, simulate, sweep
from holonomic.errors import BadArgument, UntracedWarning
from holonomic.model.call_by_name import call
from holonomic.multibody import Mechanism, rod


def by_position(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


def by_both(f):
    @functools.wraps(f)
    def wrapper(*args, **named):
        return f(*args, **named)

    return wrapper


def by_name(f):
    @functools.wraps(f)
    def wrapper(**named):
        return f(**named)

    return wrapper


def renamed(f):
    @functools.wraps(f)
    def wrapper(z):
        return f(z)

    return wrapper


def without_wraps(f):
    def wrapper(*args, **named):
        return f(*args, **named)

    return wrapper


class Rod:
    def __init__(self, length):
        self.length = length

    def __call__(self, q):
        return q @ q - self.length**2

    def method(self, q):
        return q @ q - self.length**2

    @by_position
    def decorated(self, q):
        return q @ q - self.length**2

    @staticmethod
    def static(q):
        return q @ q - 1.0

    @classmethod
    def of_class(cls, q):
        return q @ q - 1.0


class DecoratedRod:
    @by_position
    def __call__(self, q):
        return q @ q - 1.0


def on_circle(q):
    return q @ q - 1.0


def within(q, length):
    return q @ q - length**2


def shorter(f):
    @functools.wraps(f)
    def wrapper(q):
        return f(q, 1.0)

    return wrapper


@functools.cache
def exact():
    """A pendulum that is let go from the side, after 0.1 s, by the plain function."""
    return simulate(System(np.eye(2), [0, -9.81], on_circle), 0.1, q0=[1, 0], v0=[0, 0]).q[-1]


WAYS = {
    "wraps *args": by_position(on_circle),
    "wraps *args, **named": by_both(on_circle),
    "wraps **named": by_name(on_circle),
    "wraps twice": by_both(by_position(on_circle)),
    "wraps under another name": renamed(on_circle),
    "wraps and gives an argument": shorter(within),
    "partial by name": functools.partial(within, length=1.0),
    "partial of a wrapped one": functools.partial(by_both(within), length=1.0),
    "singledispatch": functools.singledispatch(on_circle),
    "object": Rod(1.0),
    "decorated object": DecoratedRod(),
    "method": Rod(1.0).method,
    "decorated method": Rod(1.0).decorated,
    "static method": Rod(1.0).static,
    "class method": Rod(1.0).of_class,
}


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_a_constraint_is_given_what_it_really_takes(way, trace):
    system = System(np.eye(2), [0, -9.81], WAYS[way], trace=trace)
    sol = simulate(system, 0.1, q0=[1, 0], v0=[0, 0], rtol=1e-6)
    assert sol.q[-1] == pytest.approx(exact(), abs=1e-7)  # the same run; differences instead of derivatives with trace=False


def test_what_partial_has_bound_is_not_given_again():
    push = lambda t, p: p.k * np.array([1.0 + t])
    of = lambda f: simulate(System(np.eye(1), f, params={"k": 3.0}), 1.0, q0=[0], v0=[0]).q[-1, 0]
    assert of(push) == pytest.approx(3.0 * (1 / 2 + 1 / 6), rel=1e-6)
    assert of(functools.partial(push, t=0.0)) == pytest.approx(3.0 / 2, rel=1e-6)
    assert of(functools.partial(push, 1.0)) == pytest.approx(3.0, rel=1e-6)


def test_a_default_in_between_stays_where_arguments_go_by_position():
    def push(t, scale=2.0, v=None):
        return scale * np.array([1.0]) - 0.0 * v

    for trace in (True, False):
        system = System(np.eye(1), by_position(push), trace=trace)
        assert simulate(system, 1.0, q0=[0], v0=[0]).q[-1, 0] == pytest.approx(1.0, rel=1e-6)


def test_every_function_of_a_system_may_be_wrapped():
    every = by_position
    system = System(
        mass=every(lambda p: p.m * np.eye(2)), potential=every(lambda q, p: p.m * 9.81 * q[1]),
        force=every(lambda v, u: -0.1 * v + u.push * np.array([1.0, 0.0])), constraint=every(on_circle),
        params={"m": 2.0}, inputs={"push": every(lambda t: np.sin(t))},
        outputs={"tension": every(lambda lam, q: 2 * lam[0])},
    )  # fmt: skip
    plain = System(
        mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * 9.81 * q[1],
        force=lambda v, u: -0.1 * v + u.push * np.array([1.0, 0.0]), constraint=on_circle,
        params={"m": 2.0}, inputs={"push": lambda t: np.sin(t)},
        outputs={"tension": lambda lam, q: 2 * lam[0]},
    )  # fmt: skip
    low = {"low": Event(every(lambda q, v: v[1]), then=every(lambda q, v: (q, 0.5 * v)))}
    same = {"low": Event(lambda q, v: v[1], then=lambda q, v: (q, 0.5 * v))}
    found = simulate(system, 2.0, q0=[1, 0], v0=[0, 0], events=low)
    wanted = simulate(plain, 2.0, q0=[1, 0], v0=[0, 0], events=same)
    assert found.q[-1] == pytest.approx(wanted.q[-1], abs=1e-12)
    assert found["tension"][-1] == pytest.approx(wanted["tension"][-1], abs=1e-9)
    assert len(found.events["low"].t) == len(wanted.events["low"].t) > 0
    assert "constraint=function of q" in repr(system)
    swept = sweep(system, 0.5, q0=[1, 0], v0=[0, 0], params={"m": [2.0]}, save_at=2)
    assert swept.q[0, -1] == pytest.approx(simulate(plain, 0.5, q0=[1, 0], v0=[0, 0]).q[-1], abs=1e-6)


def test_a_wrapped_force_may_ask_for_multipliers():
    rough = lambda q, v, lam: np.array([0.0, -9.81]) - 0.2 * np.sqrt(lam @ lam + 1.0) * v
    of = lambda f: simulate(System(np.eye(2), f, on_circle), 0.5, q0=[1, 0], v0=[0, 0]).q[-1]
    assert of(by_position(rough)) == pytest.approx(of(rough), abs=1e-12)


def test_functions_of_an_ode_and_of_a_dae_may_be_wrapped():
    class Decay:
        def rhs(self, y, p):
            return -p.rate * y

    ode = Ode(Decay().rhs, params={"rate": 2.0})
    assert simulate(ode, 1.0, y0=[1.0]).y[-1, 0] == pytest.approx(np.exp(-2.0), rel=1e-5)
    ode = Ode(functools.partial(lambda rate, y: -rate * y, 2.0))
    assert simulate(ode, 1.0, y0=[1.0]).y[-1, 0] == pytest.approx(np.exp(-2.0), rel=1e-5)
    dae = Dae(
        order=2, f=by_position(lambda x: np.array([0.0, -9.81])), B=by_position(lambda x: 2 * x[:, None]),
        g=by_position(lambda x: x @ x - 1),
    )  # fmt: skip
    assert simulate(dae, 0.1, x0=[1, 0], dx0=[0, 0]).x[-1] == pytest.approx(exact(), abs=1e-6)


def test_functions_of_a_mechanism_may_be_wrapped():
    def swung(wrap):
        m = Mechanism(gravity=(0, -9.81))
        bar = m.body("bar", rod((0, 0), (1, 0), mass=1.0))
        m.revolute("O", m.ground, bar, at=(0, 0))
        m.motor("O", torque=wrap(lambda speed, t: np.sin(t) - 0.1 * speed))
        m.spring("rope", m.ground, bar, at=((0, 2), (1, 0)), force=wrap(lambda length, rate: 3.0 * length + 0.1 * rate))
        m.force("wind", bar, at=(1, 0), value=wrap(lambda t, bar: (0.1 * bar.position[0], 0.0)))
        crank = m.body("crank", rod((3, 0), (4, 0), mass=1.0))
        m.revolute("P", m.ground, crank, at=(3, 0))
        m.drive("P", angle=wrap(lambda t: 0.5 * t))
        return simulate(m, 0.3)

    plain, wrapped = swung(lambda f: f), swung(by_position)
    assert wrapped["bar"].angle == pytest.approx(plain["bar"].angle, abs=1e-12)
    assert wrapped["crank"].angle[-1] == pytest.approx(0.15, abs=1e-9)


def test_a_function_that_does_not_say_what_it_takes_is_refused_by_name():
    with pytest.raises(BadArgument) as caught:
        System(np.eye(2), without_wraps(lambda q: q))
    assert str(caught.value) == (
        "force(): wrapper(*args, **named) does not say which arguments it takes. Name them, or, where it stands for "
        "another function, write @functools.wraps(that_function) above it."
    )
    with pytest.raises(BadArgument) as caught:
        Ode(functools.partial(on_circle, rate=2.0))
    assert str(caught.value).startswith("rhs(): functools.partial(<function on_circle at ")
    assert str(caught.value).endswith(", rate=2.0) sets an argument that on_circle does not have.")
    with pytest.raises(BadArgument) as caught:
        System(np.eye(2), [0, 0], outputs={"top": max})
    assert str(caught.value) == (
        "output 'top': Python cannot tell which arguments <built-in function max> takes. Write a function of named "
        "arguments that calls it."
    )


# an Ode's state under another name


def decay(t, x):
    return -x + t


def decay_backwards(state, t):
    return -state + t


def decay_with_a_number(t, z, k=1.0):
    return -k * z + t


@pytest.mark.parametrize("trace", [True, False])
@pytest.mark.parametrize(
    "rhs", [decay, decay_backwards, decay_with_a_number, by_both(decay), lambda t, x, p: -p.k * x + t, lambda t, u: -u + t]
)
def test_the_argument_beside_t_is_the_state_of_an_ode(rhs, trace):
    sol = simulate(
        Ode(rhs, params={"k": 1.0}, outputs={"double": lambda t, x: 2 * x[0]}, trace=trace),
        1.0,
        y0=[1.0],
        rtol=1e-9,
        events={"half": lambda t, w: w[0] - 0.8},
    )
    assert abs(sol.end.y[0] - 2 * np.exp(-1)) < 1e-8
    assert np.array_equal(sol["double"], 2 * sol.y[:, 0])
    assert len(sol.events["half"].t) == 1


def test_where_it_is_not_clear_what_is_the_state_the_message_asks():
    for rhs in (lambda x: -x, lambda t, x, v: -x, lambda x, v: -x):
        with pytest.raises(BadArgument, match=r"^rhs\(\) asks for '[xv]'; it can have t, y, p \(chosen by name\)\."):
            Ode(rhs)
    with pytest.raises(BadArgument, match=r"^force\(\) asks for 'x'; it can have t, q, v, p, u, lam"):
        System(mass=np.eye(1), force=lambda t, x: -x)


def test_what_a_function_takes_is_looked_up_once_for_a_call(monkeypatch):
    """Signatures are dear: with a partial, two of them are read for each look."""
    looks = []
    signature = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda *args, **given: (looks.append(args), signature(*args, **given))[1])
    found = call(functools.partial(lambda q, factor: factor * q, factor=2.0), "f()", ("t", "q"), {"t": 0.0, "q": 3.0})
    assert found == 6.0 and len(looks) == 2


STIFFNESS = 2.0


@njit
def compiled_spring(q, v, c=0.5):
    return -STIFFNESS * q - c * v


@pytest.mark.parametrize("trace", [True, False])
def test_a_function_that_numba_compiles_is_taken_as_it_is(trace):
    """It is traced as it is written, and runs as it is compiled where nothing is traced."""
    end = simulate(System(mass=1.0, force=compiled_spring, trace=trace), 1.0, q0=[1.0], v0=[0.0]).end.q[0]
    plain = simulate(System(mass=1.0, force=lambda q, v: -2.0 * q - 0.5 * v), 1.0, q0=[1.0], v0=[0.0]).end.q[0]
    assert end == pytest.approx(plain, abs=1e-9)  # the same equations, to rounding


def test_a_compiled_function_whose_globals_have_changed_since_is_what_numba_calls(monkeypatch):
    """Numba keeps the globals it compiled with: the function on symbols has others, which is seen."""
    compiled_spring(np.ones(1), np.ones(1))
    monkeypatch.setitem(globals(), "STIFFNESS", 3.0)
    system = System(mass=1.0, force=compiled_spring)
    with pytest.warns(UntracedWarning, match=r"on numbers, but .* when traced on symbols"):
        end = simulate(system, 1.0, q0=[1.0], v0=[0.0]).end.q[0]
    monkeypatch.undo()
    assert end == pytest.approx(simulate(system, 1.0, q0=[1.0], v0=[0.0]).end.q[0], abs=1e-9)
