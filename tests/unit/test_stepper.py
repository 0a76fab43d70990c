"""A simulation in a loop of one's own: the numbers of simulate, inputs held, events told, states to go back to."""

import copy
import pickle
import resource

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    GGL,
    RK4,
    BadArgument,
    Event,
    FixedBDF,
    Index2,
    NotFinite,
    Ode,
    Radau,
    StepFailed,
    Stepper,
    System,
    UnknownArgument,
    problems,
    simulate,
)
from holonomic.multibody import Mechanism, rod

START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


def pendulum(**more):
    return System(
        mass=np.diag([1.0, 3.0]), force=lambda q, u: [u.push, -29.43], constraint={"rod": lambda q: q @ q - 1.0},
        inputs={"push": 0.0}, outputs={"height": lambda q: q[1]}, **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    "methods",
    [{}, {"integrator": RK4, "step": 0.002}, {"integrator": Radau, "formulation": GGL}, {"integrator": BDF, "formulation": Index2}],
    ids=["chosen", "fixed step", "Radau", "BDF"],
)
def test_it_goes_where_simulate_goes(methods):
    stepper = Stepper(pendulum(), **START, **methods)
    for _ in range(100):
        assert stepper.step(0.01) == ()
    assert stepper.t == pytest.approx(1.0, abs=1e-14)
    exact = simulate(pendulum(), 1.0, **START, rtol=1e-11, integrator=DOP853)
    bound = 3e-4 if methods.get("integrator") is BDF else 1e-6
    np.testing.assert_allclose(stepper.q, exact.q[-1], atol=bound)
    np.testing.assert_allclose(stepper.v, exact.v[-1], atol=bound)
    np.testing.assert_allclose(stepper.lam, exact.lam[-1], rtol=30 * bound)
    assert stepper.now.drift.max()["position"] < 1e-10
    assert stepper.outputs["height"] == stepper.q[1]


def test_fixed_steps_are_those_of_simulate_bit_for_bit():
    stepper = Stepper(pendulum(), **START, integrator=RK4, step=0.0625)
    stepper.step(1.0)
    sol = simulate(pendulum(), 1.0, **START, integrator=RK4, step=0.0625)
    assert (stepper.q == sol.q[-1]).all() and (stepper.v == sol.v[-1]).all()


@pytest.mark.parametrize("trace", [True, False])
def test_inputs_are_held_from_step_to_step(trace):
    mass = System(mass=np.eye(1), force=lambda q, u: [u.push], inputs={"push": 1.0}, trace=trace)
    stepper = Stepper(mass, q0=[0.0], v0=[0.0])
    stepper.step(1.0)
    stepper.step(1.0, u={"push": -2.0})
    stepper.step(1.0)
    assert stepper.v[0] == pytest.approx(1.0 - 2.0 - 2.0)
    assert stepper.q[0] == pytest.approx(0.5 + (1.0 - 1.0) + (-1.0 - 1.0))


@pytest.mark.parametrize("methods", [{}, {"integrator": Radau, "formulation": GGL}, {"integrator": BDF, "formulation": GGL}])
def test_one_goes_back_and_copies_go_their_own_ways(methods):
    stepper = Stepper(pendulum(), **START, **methods)
    for _ in range(7):
        stepper.step(0.05)
    kept, other = stepper.state(), stepper.copy()
    ways = []
    for each, push in ((stepper, 0.0), (other, 5.0)):
        for _ in range(5):
            each.step(0.05, u={"push": push})
        ways.append((each.t, *each.q, *each.v))
    assert ways[0] != ways[1]
    stepper.restore(kept)
    for _ in range(5):
        stepper.step(0.05)
    assert (stepper.t, *stepper.q, *stepper.v) == ways[0]
    stepper.reset()
    assert stepper.t == 0.0 and (stepper.q == [1.0, 0.0]).all()
    stepper.reset(q0=[0.0, -1.0], v0=[1.0, 0.0])
    assert stepper.v[0] == 1.0


def test_events_are_told_and_maps_are_applied():
    ball = System(mass=np.eye(1), force=[-9.81])
    bounce = Event(lambda q: q[0], direction="falling", then=lambda q, v: (q, -0.5 * v))
    stepper = Stepper(ball, q0=[1.0], v0=[0.0], events={"bounce": bounce, "top": Event(lambda v: v[0], direction="falling")})
    told = [(round(stepper.t, 6), names) for names in (stepper.step(0.1) for _ in range(10)) if names]
    fall = np.sqrt(2 / 9.81)
    # v leaves zero at the start, and falls through it on top
    assert told == [(0.1, ("top",)), (0.5, ("bounce",)), (0.7, ("top",)), (1.0, ("bounce",))]
    assert fall * 2 == pytest.approx(0.903, abs=1e-3)
    ending = Stepper(ball, q0=[1.0], v0=[0.0], events={"floor": Event(lambda q: q[0], terminal=True)})
    assert ending.step(10.0) == ("floor",)
    assert ending.t == pytest.approx(fall, abs=1e-9)


def test_mechanisms_have_their_names_and_odes_their_state():
    m = Mechanism(gravity=(0, -9.81))
    link = m.body("link", rod((0, 0), (1, 0), mass=2.0))
    m.revolute("pin", m.ground, link, at=(0, 0))
    stepper = Stepper(m)
    stepper.step(0.3)
    sol = simulate(m, 0.3)
    np.testing.assert_allclose(stepper.now["pin"].force[-1], sol["pin"].force[-1], rtol=1e-5)
    decay = Stepper(Ode(lambda y: -y), y0=[1.0])
    decay.step(1.0)
    assert decay.q[0] == pytest.approx(np.exp(-1.0), abs=1e-6)
    assert Stepper(problems.get("seven-body")).step(0.001) == ()


def test_a_failed_step_leaves_the_last_good_state():
    stepper = Stepper(System(mass=np.eye(1), force=lambda q: [1.0 / (1.0 - q[0])]), q0=[0.0], v0=[1.0])
    with pytest.raises((NotFinite, StepFailed), match=r"t = 0\.") as problem:
        for _ in range(100):
            stepper.step(0.05)
    assert problem.value.solution.end.t == stepper.t
    assert 0.5 < stepper.t < 1.0 and np.isfinite(stepper.q).all() and stepper.q[0] < 1.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda s: s.step(0.0), r"step\(dt\): dt must be a time above 0 that changes t = 0, got 0.0"),
        (lambda s: s.step(-1.0), "above 0"),
        (lambda s: s.step(np.nan), "above 0"),
        (lambda s: s.step(np.inf), "above 0"),
        (lambda s: s.step(0.1, u={"pull": 1.0}), r"step\(u=...\) has no input 'pull' that can be set. Known: push."),
        (lambda s: s.step(0.1, u={"push": np.nan}), "input 'push' must be finite, got nan"),
        (lambda s: Stepper(pendulum(), **START, integrator=FixedBDF(2), formulation=GGL, step=0.1), "one that starts by itself"),
    ],
)
def test_bad_input_gets_plain_words(call, text):
    stepper = Stepper(pendulum(), **START)
    with pytest.raises(BadArgument, match=text):
        call(stepper)
    stepper.step(0.1)  # nothing is lost


def test_unknown_names_are_told():
    with pytest.raises(UnknownArgument, match="Stepper has no argument 't_end'"):
        Stepper(pendulum(), **START, t_end=1.0)
    with pytest.raises(UnknownArgument, match="has no argument 'x1'"):
        Stepper(pendulum(), **START).reset(x1=[0.0])


@pytest.mark.parametrize("steps", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_it_does_not_grow(steps):
    stepper = Stepper(pendulum(), **START, integrator=RK4, step=0.001)
    for _ in range(1000):
        stepper.step(0.001)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(steps):
        stepper.step(0.001)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000  # kB
    assert stepper.now.drift.max()["position"] < 1e-10


def test_copies_that_are_no_more_leave_their_arrays_to_others_and_never_their_state():
    stepper = Stepper(pendulum(), **START)
    stepper.step(0.3)
    here = stepper.state()
    ways = {}
    for push in (0.0, 5.0, -5.0) * 30:
        other = stepper.copy()
        twin = other.copy()  # of one that has not been asked for anything yet
        other.step(0.1, u={"push": push})
        twin.step(0.1, u={"push": push})
        found = (other.t, *other.q, *other.v)
        assert found == (twin.t, *twin.q, *twin.v) == ways.setdefault(push, found)
        now = other.now
        del other, twin
        assert (*now.q[-1], *now.v[-1]) == found[1:] and now.drift.max()["position"] < 1e-10  # it is not theirs any more
    assert len(set(ways.values())) == 3
    for other in (copy.copy(stepper), copy.deepcopy(stepper)):
        other.step(0.1)
        assert stepper.t == 0.3
    del other
    with pytest.raises(BadArgument, match="a Stepper stays in its process"):
        pickle.dumps(stepper)
    kept = [stepper.copy() for _ in range(3)]
    stepper.step(1.0)
    kept[0].restore(here)
    assert [each.t for each in kept] == [0.3] * 3 and kept[1].lam == pytest.approx(kept[0].lam)


def test_it_goes_on_through_a_terminal_event():
    stepper = Stepper(pendulum(), **START, events={"left": Event(lambda q: q[0] + 0.5, terminal=True)})
    assert stepper.step(5.0) == ("left",) and stepper.t < 1.0
    assert stepper.step(0.1) == () and stepper.q[0] < -0.5
    assert stepper.step(5.0) == ("left",) and stepper.q[0] == pytest.approx(-0.5)


def test_what_was_read_stays_when_the_stepper_goes_on():
    stepper = Stepper(pendulum(), **START)
    q, v, lam = stepper.q, stepper.v, stepper.lam
    before = [part.copy() for part in (q, v, lam)]
    stepper.step(0.1)
    assert not np.array_equal(stepper.q, q)
    for now, then in zip((q, v, lam), before, strict=True):
        np.testing.assert_array_equal(now, then)
    q[:] = 7.0  # of the caller's own
    assert np.all(np.abs(stepper.q) < 2.0)


def test_what_is_no_number_is_refused_in_words():
    stepper = Stepper(pushed(), q0=[1.0], v0=[0.0])
    for dt in ("0.1", None, [0.1], 1j, np.array([0.1, 0.2])):
        with pytest.raises(BadArgument, match=r"^step\(dt\): dt must be a number, got "):
            stepper.step(dt)
    for value in ("x", None, [1.0], 1j):
        with pytest.raises(BadArgument, match=r"^step\(u=\.\.\.\): input 'push' must be a number, got "):
            stepper.step(0.1, u={"push": value})
    with pytest.raises(BadArgument, match=r"^step\(u=\.\.\.\) is a mapping \{input: number\}, got 5\.$"):
        stepper.step(0.1, u=5)
    for kept in (None, 5, Stepper(System(mass=np.eye(9), force=np.zeros(9)), q0=np.zeros(9), v0=np.zeros(9)).state()):
        with pytest.raises(BadArgument, match=r"^restore\(state\) takes what state\(\) of this stepper gave, or of a copy"):
            stepper.restore(kept)
    assert stepper.t == 0.0
    stepper.step(np.array(0.25), u={"push": np.bool_(True)})
    assert stepper.t == 0.25


def test_a_time_of_32_bits_does_not_round_the_time_of_a_stepper():
    stepper = Stepper(pushed(), q0=[1.0], v0=[0.0])
    stepper.step(1000.0)
    stepper.step(np.float32(0.001))
    assert stepper.t == 1000.0 + float(np.float32(0.001))


def pushed():
    return System(mass=np.eye(1), force=lambda q, u: u.push - q, inputs={"push": 0.0})
