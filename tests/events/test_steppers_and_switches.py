"""In a loop of one's own comparisons are switches as in `simulate`: located, gone along, and part of a state."""

import numpy as np
import pytest
from test_user_comparisons import G, K, bounce, exact_bounce

from holonomic import DOP853, RK4, RK45, Event, Radau, StepFailed, Stepper, System, simulate, sweep
from holonomic.multibody import Mechanism

TIMES = np.arange(65) * 0.125
PUSH = 5.0 * np.sin(TIMES) + np.random.default_rng(1).normal(size=len(TIMES))


def pushed_ball():
    return System(mass=np.eye(1), force=lambda q, u: [bounce(q)[0] + u.push], inputs={"push": 0.0})


def rubbing(v, u):
    if v[0] > 0:
        return [u.push - 3.0]
    return [u.push + 3.0]


def block():
    return System(mass=np.eye(1), force=rubbing, inputs={"push": 0.0})


EXPLICIT = [{"integrator": DOP853()}, {"integrator": RK45(), "rtol": 1e-8}, {"integrator": RK4(), "step": 2.0**-7}]


@pytest.mark.parametrize(
    ("make", "methods"),
    [*((make, methods) for make in (pushed_ball, block) for methods in EXPLICIT), (pushed_ball, {"integrator": Radau()})],
    ids=lambda given: given.__name__ if callable(given) else type(given["integrator"]).__name__,
)
def test_its_numbers_are_those_of_simulate_with_the_same_inputs(make, methods):
    given = {"q0": [1.0], "v0": [1.0], "first_step": None if "step" in methods else 0.01, **methods}
    stepper = Stepper(make(), **given)
    sol = simulate(make(), TIMES[-1], inputs={"push": (TIMES, PUSH, "hold")}, **given)
    told = []
    for push in PUSH[:-1]:
        assert stepper.step(0.125, u={"push": push}) == ()
        there = sol(stepper.t)
        assert (stepper.q[0], stepper.v[0]) == (there.q[0], there.v[0])
        (log,) = stepper.now.switches.values()
        told += list(zip(log.t, log.true, strict=True))
    (log,) = sol.switches.values()
    assert told == list(zip(log.t, log.true, strict=True)) and len(told) > 5


def test_a_bump_stop_costs_no_accuracy():
    stepper = Stepper(System(mass=np.eye(1), force=bounce), q0=[1.0], v0=[0.0], integrator=DOP853)
    worst = 0.0
    for _ in range(500):
        stepper.step(0.01)
        worst = max(worst, abs(stepper.q[0] - exact_bounce(stepper.t)))
    assert worst < 2e-6  # rtol is 1e-6; 1.7e-5 as selects
    assert stepper._memory.rejected <= 20  # 74


def test_a_state_and_a_copy_keep_the_mode():
    stepper = Stepper(block(), q0=[0.0], v0=[1.0], integrator=DOP853)
    stepper.step(0.2)
    moving = stepper.state()
    stepper.step(0.3)
    (log,) = stepper.now.switches.values()
    assert log.along == pytest.approx(1.0 / 3.0, abs=1e-12)
    assert stepper.v[0] == pytest.approx(0.0, abs=4e-15)  # a deceleration of 3, and times are known to some 30 last places
    assert abs(stepper.now.a[-1, 0]) < 1e-15  # it sticks: neither branch is its field
    sticking, other = stepper.state(), stepper.copy()
    ways = []
    for each, kept in ((stepper, moving), (stepper, sticking), (other, sticking), (other, moving), (stepper, moving)):
        each.restore(kept)
        assert len(next(iter(each.now.switches.values()))) == 0  # what there was before is no part of a state
        way = []
        for push in (0.0, 2.9, 3.1, -3.1):
            each.step(0.1, u={"push": push})
            way += [each.t, *each.q, *each.v]
        ways.append(way)
    assert ways[0] == ways[3] == ways[4] and ways[1] == ways[2] != ways[0]
    stepper.restore(sticking)
    stepper.step(0.5, u={"push": 2.9})
    assert stepper.v[0] == pytest.approx(0.0, abs=4e-15)  # it holds
    stepper.step(0.5, u={"push": 3.5})
    assert stepper.v[0] == pytest.approx(0.5 * 0.5, abs=1e-12)  # and breaks away


def test_an_input_that_jumps_changes_the_mode_at_once():
    def held(q, u):
        if q[0] > u.level:
            return [-1.0]
        return [2.0]

    stepper = Stepper(System(mass=np.eye(1), force=held, inputs={"level": 1.0}), q0=[0.0], v0=[0.0], integrator=DOP853)
    stepper.step(0.5)
    assert stepper.v[0] == pytest.approx(1.0, abs=1e-14)
    stepper.step(0.25, u={"level": -1.0})
    assert stepper.v[0] == pytest.approx(0.75, abs=1e-14)
    (log,) = stepper.now.switches.values()
    assert log.t.tolist() == [0.5] and log.true.tolist() == [True]
    stepper.step(0.25, u={"level": 5.0})
    assert stepper.v[0] == pytest.approx(1.25, abs=1e-14)


def test_a_mass_that_sticks_goes_on_so_where_its_push_jumps_to_what_friction_holds():
    tables = {"push": (np.arange(8.0), [0.0, 2.0, -2.9, 2.9, 3.5, 0.0, 1.0, 1.0], "hold")}
    sol = simulate(block(), 8.0, q0=[0.0], v0=[1.0], inputs=tables, integrator=DOP853)
    (log,) = sol.switches.values()
    # it stops, breaks away at 4 s with 0.5 m/s², and stops once more, with 3 m/s²
    assert log.t == pytest.approx([1 / 3, 4.0, 5.0 + 1 / 6], abs=1e-12) and log.along == pytest.approx(log.t[::2])
    assert log.true.tolist() == [False, True, False]
    assert sol.end.q[0] == pytest.approx(1 / 6 + 0.25 + 0.5**2 / 6, abs=1e-12) and abs(sol.end.v[0]) < 1e-14
    alone = sweep(block(), 8.0, q0=[0.0], v0=[[1.0], [1.0]], inputs=tables, integrator=DOP853, save_at=17)
    assert np.max(np.abs(alone.q[0, :, 0] - sol(alone.t).q[:, 0])) < 1e-9


def test_a_select_wakes_and_stays_awake_in_a_state():
    force = lambda v, u: u.push - 3.0 * np.sign(v)
    stepper = Stepper(System(mass=np.eye(1), force=force, inputs={"push": 0.0}), q0=[0.0], v0=[1.0], integrator=DOP853)
    stepper.step(1.0)
    assert stepper._memory.awake == 1 and stepper._memory.rejected < 10
    kept, other = stepper.state(), stepper.copy()
    for each in (stepper, other):
        each.restore(kept)
        each.step(1.0, u={"push": 2.0})
        assert each.v[0] == pytest.approx(0.0, abs=1e-15) and each._memory.rejected < 10


def test_all_changes_of_a_step_are_told_however_many():
    system = System(mass=np.eye(1), force=lambda t, q: [1.0 - q[0]] if np.sin(50 * t) > 0 else [-1.0 - q[0]])
    stepper = Stepper(system, q0=[0.0], v0=[0.0], integrator=DOP853)
    stepper.step(10.0)
    for _ in range(2):  # asked twice
        (log,) = stepper.now.switches.values()
        assert log.t == pytest.approx(np.pi / 50 * np.arange(1, 160), abs=1e-12)
    stepper.step(0.01)
    assert len(next(iter(stepper.now.switches.values()))) == 0


def test_events_and_switches_go_together():
    top = Event(lambda v: v[0], direction="falling", terminal=True)
    stepper = Stepper(System(mass=np.eye(1), force=bounce), q0=[1.0], v0=[0.0], events={"top": top}, integrator=DOP853, rtol=1e-9)
    stepper.step(0.2)
    for number in (1, 2):
        assert stepper.step(5.0) == ("top",)
        assert len(next(iter(stepper.now.switches.values()))) == 2
        assert stepper.q[0] == pytest.approx(1.0, abs=1e-7)
        contact = (2 * np.pi - 2 * np.arctan2(np.sqrt(2 * G * K), G)) / np.sqrt(K)
        assert stepper.t == pytest.approx(number * (contact + 2 * np.sqrt(2 / G)), abs=1e-7)


def test_what_cannot_be_followed_ends_a_step_and_leaves_the_last_good_state():
    stepper = Stepper(block(), q0=[0.0], v0=[1.0], integrator=Radau)
    with pytest.raises(StepFailed, match=r"switch .*if v\[0\] > 0.* from both sides"):
        stepper.step(1.0)
    assert stepper.t == pytest.approx(1.0 / 3.0, abs=1e-9) and abs(stepper.v[0]) < 1e-9


def test_a_stepper_of_a_mechanism_meets_its_bump_stop():
    m = Mechanism(gravity=(0, -G))
    m.prismatic("guide", m.ground, m.body("ball", at=(0, 1), mass=1.0), at=(0, 1), axis=(0, 1))

    def landing(position):
        if position[1] < 0:
            return -K * position[1]
        return 0.0

    m.force("mat", "ball", value=lambda ball: (0.0, landing(ball.position)))
    stepper = Stepper(m, integrator=DOP853)
    for _ in range(50):
        stepper.step(0.05)
    assert stepper.now["ball"].position[-1][1] == pytest.approx(exact_bounce(2.5), abs=2e-6)
