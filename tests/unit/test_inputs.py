"""Inputs that a call sets: numbers, tables that are linear or held, in single runs, sweeps and steppers."""

import numpy as np
import pytest

from holonomic import BDF, GGL, RK4, BadArgument, Event, FixedBDF, Ode, Stepper, System, simulate, sweep
from holonomic.multibody import Mechanism, rod

TIMES, VALUES = np.array([0.0, 0.3, 0.55, 1.1]), np.array([2.0, -1.0, 4.0, 0.5])
HELD = (TIMES, VALUES, "hold")
START = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


def pendulum(**inputs):
    return System(
        mass=np.eye(2), force=lambda q, u: [u.push, u.lift - 9.81], constraint={"rod": lambda q: q @ q - 1.0},
        inputs={"push": 0.0, "lift": 0.0} | inputs,
        outputs={"push": lambda u: u.push, "miss": lambda a, lam, q, u: a[0] + 2 * q[0] * lam[0] - u.push},
    )  # fmt: skip


def falling(**inputs):
    return System(mass=np.eye(1), force=lambda u: [u.push], inputs={"push": 0.0} | inputs, outputs={"push": lambda u: u.push})


@pytest.mark.parametrize("table", [3.0, (TIMES, VALUES), HELD])
@pytest.mark.parametrize("methods", [{}, {"integrator": BDF, "formulation": GGL}, {"integrator": RK4, "step": 0.01}])
def test_a_run_with_inputs_is_that_of_a_system_which_has_them(table, methods):
    set_here = simulate(pendulum(), 1.5, **START, inputs={"push": table, "lift": 1.0}, **methods)
    stated = simulate(pendulum(push=table, lift=1.0), 1.5, **START, **methods)
    runs = sweep(pendulum(), 1.5, q0=[[1.0, 0.0], [0.0, -1.0]], v0=[0.0, 0.0], inputs={"push": table, "lift": 1.0}, **methods)
    assert np.array_equal(set_here.t, stated.t) and np.array_equal(set_here.q, stated.q)
    assert np.array_equal(set_here.lam, stated.lam) and np.array_equal(set_here["push"], stated["push"])
    assert np.array_equal(runs.q[0, -1], stated.q[-1]) and np.array_equal(runs["push"][0, -1], stated["push"][-1])


def position(t):
    """Twice the integral of the held values."""
    edges = np.append(TIMES, 9.0)
    q = v = 0.0
    for a, b, push in zip(edges[:-1], edges[1:], VALUES, strict=True):
        h = min(max(t - a, 0.0), b - a)
        q, v = q + v * h + 0.5 * push * h * h, v + push * h
    return q, v


def test_held_values_stay_until_the_next_time():
    # piecewise quadratic: every method here is exact
    for options in ({}, {"save_at": 4}, {"integrator": RK4, "step": 0.07}):
        sol = simulate(falling(), 2.0, q0=[0.0], v0=[0.0], inputs={"push": HELD}, **options)
        assert (sol.end.q[0], sol.end.v[0]) == pytest.approx(position(2.0), abs=1e-12)
        t = np.array([0.1, 0.3, 0.4, 0.55, 1.0, 1.1, 1.9])
        np.testing.assert_allclose(sol(t).q[:, 0], [position(s)[0] for s in t], atol=1e-12)
        assert sol(t)["push"].tolist() == [2.0, -1.0, -1.0, 4.0, 4.0, 0.5, 0.5]
    steps = simulate(falling(), 2.0, q0=[0.0], v0=[0.0], inputs={"push": HELD}).t
    assert set(TIMES) <= set(steps.tolist())


def test_backward_in_time_a_held_value_is_that_of_the_times_after():
    back = simulate(falling(), (2.0, 0.0), q0=[0.0], v0=[0.0], inputs={"push": HELD})
    assert back.end.v[0] == pytest.approx(-position(2.0)[1], abs=1e-12)


@pytest.mark.parametrize("save_at", [None, [0.0, 0.3, 0.55, 1.1, 1.2]])
def test_accelerations_and_multipliers_belong_to_the_inputs_after_a_jump(save_at):
    sol = simulate(pendulum(), 1.2, **START, inputs={"push": HELD}, save_at=save_at)
    assert np.abs(sol["miss"]).max() < 1e-12  # M v' = f - Gᵀλ holds in every row
    ends = simulate(pendulum(), 1.1, **START, inputs={"push": HELD}, save_at=[0.0, 1.1])  # a jump right at the end
    assert np.abs(ends["miss"]).max() < 1e-12 and ends["push"][-1] == 0.5
    runs = sweep(pendulum(), 1.1, **START, inputs={"push": (TIMES, np.tile(VALUES, (2, 1)), "hold")}, save_at=[0.0, 0.55, 1.1])
    assert np.abs(runs["miss"]).max() < 1e-12 and runs["push"].tolist() == [[2.0, 4.0, 0.5]] * 2


def test_events_that_jump_over_zero_are_counted():
    turns = {"turn": Event(lambda u: u.push, direction="rising"), "stop": Event(lambda a: a[0] - 3.0, terminal=True)}
    sol = simulate(falling(), 2.0, q0=[0.0], v0=[0.0], inputs={"push": HELD}, events=turns)
    assert sol.ended == "stop" and sol.end.t == 0.55
    assert sol.events["turn"].t.tolist() == [0.55]
    bounce = {"bounce": Event(lambda u: u.push, direction="falling", then=lambda q, v: (q, -v))}
    sol = simulate(falling(), 1.0, q0=[0.0], v0=[0.0], inputs={"push": HELD}, events=bounce)
    assert sol(0.3).v[0] == pytest.approx(-0.6)  # of two rows at one time the later counts
    runs = sweep(falling(), 2.0, q0=[[0.0], [1.0]], v0=[0.0], inputs={"push": HELD}, events=turns)
    assert runs.reached.tolist() == [0.55, 0.55] and runs.events["turn"].first.tolist() == [0.55, 0.55]


def test_a_mechanism_reads_the_inputs_of_the_run():
    m = Mechanism(gravity=(0, -9.81))
    link = m.body("link", rod((0, 0), (1, 0), mass=2.0))
    m.revolute("pin", m.ground, link, at=(0, 0))
    m.input("torque", 0.0)
    m.motor("pin", torque=lambda u: u.torque)
    sol = simulate(m, 1.2, inputs={"torque": HELD})
    expected = VALUES[np.searchsorted(TIMES, sol.t, side="right") - 1]
    np.testing.assert_allclose(sol["pin motor"].torque, expected)


def test_a_stepper_follows_tables_and_sets_the_others():
    stepper = Stepper(pendulum(), **START, inputs={"push": HELD}, rtol=1e-9)
    for _ in range(15):
        stepper.step(0.1, u={"lift": 1.0})
    exact = simulate(pendulum(), 1.5, **START, inputs={"push": HELD, "lift": 1.0}, rtol=1e-11)
    np.testing.assert_allclose(stepper.q, exact.q[-1], atol=1e-7)
    with pytest.raises(BadArgument, match=r"has no input 'push' that can be set\. Known: lift"):
        stepper.step(0.1, u={"push": 1.0})
    stops = Stepper(falling(), q0=[0.0], v0=[0.0], inputs={"push": HELD}, events={"up": Event(lambda u: u.push, terminal=True)})
    assert stops.step(1.0) == ("up",) and stops.t == 0.3


def test_methods_with_even_steps_refuse_breaks_of_given_tables():
    with pytest.raises(BadArgument, match="cannot end them where a table of inputs bends"):
        simulate(pendulum(), 1.0, **START, inputs={"push": HELD}, integrator=FixedBDF(2), formulation=GGL, step=0.01)
    decay = Ode(lambda y, u: u.push - y, inputs={"push": 0.0})
    held = simulate(decay, 1.0, y0=[1.0], inputs={"push": ([0.0, 0.5], [1.0, 0.0], "hold")})
    assert held.end.y[0] == pytest.approx(np.exp(-0.5), abs=1e-7)


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"pull": 1.0}, "inputs={'pull': ...}: the system has no such input; known: push, lift."),
        ({"push": [1.0, 2.0]}, "inputs['push'] has values for 2 members, but {call} makes one run; sweep makes many."),
        ({"push": (TIMES, np.zeros((3, 4)))},
         "inputs['push'] has values for 3 members, but {call} makes one run; sweep makes many."),
        ({"push": (TIMES, VALUES[:2])}, "inputs['push']: 4 times go with values of shape (members, 4), got (1, 2)."),
        ({"push": (TIMES[::-1], VALUES)}, "the times of input 'push' must increase."),
        ({"push": np.nan}, "inputs['push'] is not finite everywhere (member 0)."),
        ({"push": "hard"}, "inputs['push'] must be numbers, one per member, or a pair (times, values), got 'hard'."),
        ({"push": (TIMES, VALUES, "cubic")},
         "input 'push' is (times, values, \"hold\") or (times, values, \"linear\"), got 'cubic' in the third place."),
        ([1.0], "inputs= is a mapping {name: values}, one array per input, got list."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("call", ["simulate", "Stepper"])
def test_bad_inputs_are_refused_in_the_words_of_sweep(call, inputs, text):
    with pytest.raises(BadArgument) as problem:
        simulate(pendulum(), 1.0, **START, inputs=inputs) if call == "simulate" else Stepper(pendulum(), **START, inputs=inputs)
    assert str(problem.value) == text.replace("{call}", call)
    if "members, but" not in text:
        with pytest.raises(BadArgument) as problem:
            sweep(pendulum(), 1.0, q0=[[1.0, 0.0]] * 2, v0=[0.0, 0.0], inputs=inputs)
        assert str(problem.value) == text


def test_a_function_of_the_system_cannot_be_set_here():
    with pytest.raises(BadArgument) as problem:
        simulate(pendulum(push=lambda t: t), 1.0, **START, inputs={"push": 1.0})
    assert str(problem.value) == (
        "input 'push' is a function of t in the system. Give it there as a number or a table, so that it can be set."
    )
