"""Comparisons of users' laws are switches in tables as in compiled code: located, gone along, with the same numbers."""

import numpy as np
import pytest

from holonomic import (
    BDF,
    DOP853,
    PHEM56,
    RK4,
    RK45,
    Baumgarte,
    Event,
    Index2,
    Projection,
    Radau,
    StepFailed,
    Stepper,
    simulate,
    sweep,
)
from holonomic.kernels.signatures import Fn
from holonomic.model.model_base import Variant
from holonomic.model.operators import OperatorModel
from holonomic.multibody import Mechanism

from .test_tables import chain

G, K = 9.81, 1e4


def on_ground(position):
    if position[1] < 0:
        return -K * position[1]
    return 0.0


def balls(count, dimension=2):
    """Balls on guides over a mat, each from a height of its own."""
    flat = dimension == 2
    whole = lambda x, y: (x, y) if flat else (x, y, 0)
    m = Mechanism(gravity=whole(0, -G))
    for k in range(count):
        m.body(f"ball{k}", at=whole(2.0 * k, 1 + 0.1 * k), mass=1.0, inertia=1.0 if flat else (1, 1, 1))
        m.prismatic(f"guide{k}", m.ground, f"ball{k}", at=whole(2.0 * k, 1 + 0.1 * k), axis=whole(0, 1))
    m.force("mat0", "ball0", value=lambda ball0: whole(0.0, on_ground(ball0.position)))
    if count > 1:
        m.force("mat1", "ball1", value=lambda ball1: whole(0.0, on_ground(ball1.position)))
    return m


def dry(speed):
    if speed > 0:
        return -0.05
    return 0.05


def dry_both_ways(speed):
    if speed > 0:
        return -0.05
    if speed < 0:
        return 0.05
    return 0.0


def stop(angle, speed):
    if angle < -1.0:
        return -5.0 * (angle + 1.0) - 0.01 * speed
    return 0.0


def rubbing(*pins, law=dry):
    m = chain(4)
    for pin in pins:
        m.motor(f"pin {pin}", torque=law)
    return m


def stopped():
    m = chain(4)
    m.motor("pin 1", torque=stop)
    return m


def pair_of(make, t_end, **options):
    return tuple(simulate(make(), t_end, compile=how, **options) for how in ("never", "now"))


def same_switches(sol, known, within):
    """The same changes at the same times, whichever stands first."""
    assert sol.plan.tier == "tables" and known.plan.tier == "code"
    read = lambda logs: sorted(((log.t, log.true, log.along) for log in logs.values()), key=lambda log: (len(log[0]), *log[0]))
    ours, theirs = read(sol.switches), read(known.switches)
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        assert one[0] == pytest.approx(other[0], abs=within) and one[1].tolist() == other[1].tolist()
        assert one[2] == pytest.approx(other[2], abs=within)
    return ours


@pytest.mark.parametrize("dimension", [2, 3])
def test_bump_stops_are_located(dimension):
    sol, known = pair_of(lambda: balls(2, dimension), 2.0, integrator=DOP853, rtol=1e-9, atol=1e-12)
    logs = same_switches(sol, known, 1e-12)
    assert [len(log[0]) for log in logs] == [4, 4]
    assert min(log[0][0] for log in logs) == pytest.approx(np.sqrt(2 / G), abs=1e-9)
    assert sol.stats["steps"] == known.stats["steps"] and sol.q[-1] == pytest.approx(known.q[-1], abs=1e-10)


@pytest.mark.parametrize("integrator", [DOP853(), RK45(), RK4()], ids=repr)
@pytest.mark.parametrize("pins", [(1,), (0, 2)], ids=["one joint", "two at once"])
def test_dry_friction_by_hand_sticks(integrator, pins):
    how = {"step": 1e-3} if isinstance(integrator, RK4) else {"rtol": 1e-8}
    sol, known = pair_of(lambda: rubbing(*pins), 1.2, integrator=integrator, **how)
    logs = same_switches(sol, known, 1e-8)
    assert sum(len(log[2]) for log in logs) > 0
    assert sol.q[-1] == pytest.approx(known.q[-1], abs=1e-8)


def test_a_joint_that_sticks_has_no_speed_and_the_acceleration_of_the_mean():
    sol = simulate(rubbing(0, 2), 1.0, compile="never", integrator=DOP853, rtol=1e-8)
    log = list(sol.switches.values())[1]
    since = log.along[0]
    until = next((t for t in log.t if t > since), 1.0)
    sticks = (sol.t > since) & (sol.t < until)
    assert np.sum(sticks) > 3
    assert np.abs(sol["pin 2"].speed[sticks]).max() < 1e-8  # rtol
    inside = sol(np.linspace(since + 1e-3, until - 1e-3, 5))
    spins = inside.a.reshape(5, 4, 3)[:, :, 2]
    assert np.abs(spins[:, 2] - spins[:, 1]).max() < 1e-5  # of accelerations of about 100 rad/s²


@pytest.mark.parametrize("integrator", [Radau(), BDF(), PHEM56()], ids=repr)
def test_implicit_and_half_explicit_methods_locate_them(integrator):
    how = {"formulation": Index2()} if integrator.implicit else {}
    sol, known = pair_of(stopped, 0.6, integrator=integrator, stabilization=Projection(), rtol=1e-7, **how)
    same_switches(sol, known, 1e-6)
    assert sol.q[-1] == pytest.approx(known.q[-1], abs=1e-5)


def test_a_motion_that_implicit_methods_cannot_follow_ends_with_its_line():
    line = r'switch "if speed > 0" in force\(\), line \d+ from both sides, which Radau cannot follow'
    with pytest.raises(StepFailed, match=line):
        simulate(rubbing(1), 1.0, compile="never", integrator=Radau, formulation=Index2())


def test_states_and_inputs_have_switches():
    def machine():
        m = chain(3)

        def voltage(t):
            if t > 0.3:
                return 0.2
            return -0.1

        def heating(heat, speed):
            if speed < 0.0:
                return 1.0 - heat
            return -heat

        def pushed(u):
            if u.heat > 0.2:
                return 0.1 + u.volt
            return u.volt

        m.input("volt", voltage)
        m.state("speed_seen", rate=lambda t: 1.0, start=-0.2)
        m.state("heat", rate=lambda heat, speed_seen: heating(heat, speed_seen), start=0.1)
        m.motor("pin 0", torque=lambda u: u.volt)
        m.motor("pin 1", torque=pushed)
        return m

    sol, known = pair_of(machine, 0.5, integrator=DOP853, rtol=1e-9)
    logs = same_switches(sol, known, 1e-9)  # that of the input once, though two motors see it
    warm = 1.0 - 0.9 * np.exp(-0.2)  # heat at 0.2 s, from where it cools
    times = [np.log(0.9 / 0.8), 0.2, 0.3, 0.2 + np.log(warm / 0.2)]
    assert sorted(t for log in logs for t in log[0]) == pytest.approx(times, abs=1e-9)
    assert sol.q[-1] == pytest.approx(known.q[-1], abs=1e-8) and sol.s[-1] == pytest.approx(known.s[-1], abs=1e-12)


def test_events_are_watched_beside_them():
    m = stopped()
    events = {"low": Event(lambda q: q[5] + 0.9), "back": Event(lambda v: v[2], direction="rising", terminal=True)}
    sol, known = (simulate(m, 2.0, compile=how, events=events, integrator=DOP853, rtol=1e-9) for how in ("never", "now"))
    same_switches(sol, known, 1e-8)
    assert sol.ended == known.ended == "back"
    for name in events:
        assert len(sol.events[name].t) and sol.events[name].t == pytest.approx(known.events[name].t, abs=1e-8)


def test_sweeps_and_steppers_follow_them():
    def machine():
        m = chain(4)
        m.parameter("hold", 0.05)

        def dry(speed, p):
            if speed > 0:
                return -p.hold
            return p.hold

        m.motor("pin 1", torque=dry)
        return m

    how = {"compile": "never", "integrator": DOP853, "rtol": 1e-8}
    every = sweep(machine(), 1.0, params={"hold": [0.02, 0.05]}, save_at=11, **how)
    assert np.array_equal(every.q[1], simulate(machine(), 1.0, save_at=11, **how).q)
    steppers = [Stepper(machine(), **(how | {"compile": tier})) for tier in ("never", "now")]
    for _ in range(10):
        for each in steppers:
            each.step(0.1)
    assert steppers[0].q == pytest.approx(steppers[1].q, abs=1e-8) and steppers[0].q == pytest.approx(every.q[1, -1], abs=1e-6)
    kept, other = steppers[0].state(), steppers[0].copy()
    steppers[0].step(0.1)
    other.step(0.1)
    assert np.array_equal(steppers[0].q, other.q)
    steppers[0].restore(kept)
    steppers[0].step(0.1)
    assert np.array_equal(steppers[0].q, other.q)


def test_a_large_mechanism_meets_its_bump_stop_and_sticks():
    m = Mechanism()
    m.chain("c", at=((0, 0), (12.0, 0)), links=120, mass=12.0, first=m.ground)
    m.motor("c pin 1", torque=dry)
    sol = simulate(m, 0.2, integrator=DOP853, rtol=1e-8)
    (log,) = sol.switches.values()
    assert sol.plan.tier == "tables" and len(log.along) == 1
    assert np.abs(sol["c pin 1"].speed[sol.t > log.along[0]]).max() < 1e-9


def test_so_is_one_whose_accelerations_come_from_the_whole_matrix():
    def machine():
        m = Mechanism(gravity=(0, 0))
        m.body("light", at=(0, 0), mass=1.0)
        m.body("heavy", at=(0, 1), mass=2e6)
        for name, y in (("light", 0), ("heavy", 1)):
            m.prismatic(f"rail {name}", m.ground, name, at=(0, y), axis=(1, 0))
        m.motor("rail light", force=lambda speed: 60 * dry(speed))
        return m

    sol = simulate(machine(), 1.0, compile="never", integrator=DOP853, v0=[1.0, 0, 0, 0, 0, 0])
    (log,) = sol.switches.values()
    assert log.along == pytest.approx(1.0 / 3.0, abs=1e-12)
    assert sol.q[-1, 0] == pytest.approx(1.0 / 6.0, abs=1e-12) and abs(sol.v[-1, 0]) < 1e-14


def test_where_there_are_too_many_the_values_decide():
    unit = Mechanism(gravity=(0, -G))
    unit.prismatic("guide", unit.ground, unit.body("ball", at=(0, 1), mass=1.0), at=(0, 1), axis=(0, 1))
    unit.force("mat", "ball", value=lambda ball: (0.0, on_ground(ball.position)))
    heights = []
    for times, followed in ((100, 100), (101, 0)):
        m = Mechanism(gravity=(0, -G))
        m.repeat("r", unit, times=times, step=(1, 0))
        sol = simulate(m, 0.6, compile="never", integrator=DOP853, rtol=1e-9, atol=1e-12)
        assert len(sol.switches) == followed
        heights.append(sol.q[-1, 1])
    assert heights[0] == pytest.approx(heights[1], abs=1e-8)


def test_operators_that_watch_stay_when_contexts_of_a_metric_are_arranged_later():
    system, q, v = rubbing(1, 2).to_system(compile="never")
    model = OperatorModel(system, q, v)
    x, rates, data = np.concatenate([q, v + np.arange(len(v)) ** 2]), np.zeros(len(v) + model.n_lam), model.data()
    watch = lambda: model.evaluate(Fn.EVENTS, 0.0, x, rates, data, Variant(switching=True))
    before, watching = watch(), system.watching({})
    assert before.size == 2 and (before != 0.0).all()
    model.evaluate(Fn.VEL_FACTOR, 0.0, x, np.zeros(0), data, Variant(metric="mass"))
    assert system.watching({}) is watching  # with the memory at whose address it looks
    held = {key[1] for key in system.collection.watched if key and key[0] == "held"}
    assert {operator.context for operator in watching.values()} <= held
    np.testing.assert_array_equal(watch(), before)


def test_baumgartes_terms_are_read_behind_the_modes_of_switches():
    how = {"stabilization": Baumgarte(alpha=20.0), "integrator": DOP853(), "save_at": 5}
    sol, known = pair_of(lambda: rubbing(1, 2), 0.3, **how)
    assert sol.plan.tier == "tables"
    assert np.abs(sol.q - known.q).max() < 1e-6 and np.abs(sol.lam - known.lam).max() < 1e-4


def test_switches_with_one_function_are_alike_in_their_own_element_alone():
    numbers = [switch.alike for switch in rubbing(1, 2, law=dry_both_ways).to_system(compile="never")[0].switches]
    assert len(numbers) == 6 and all(numbers)  # each with the equality that its law leaves
    assert len({abs(number) for number in numbers}) == 2
    sol, known = pair_of(lambda: rubbing(1, 2, law=dry_both_ways), 0.6, integrator=DOP853(), save_at=7)
    assert sol.plan.tier == "tables"
    assert np.abs(sol.q - known.q).max() < 1e-6


def carts(*laws):
    """Carts of 1 kg side by side, each with a motor of its own law."""
    m = Mechanism(gravity=(0, 0))
    for k, law in enumerate(laws):
        m.body(f"cart {k}", at=(0, k), mass=1.0, inertia=1.0)
        m.prismatic(f"rail {k}", m.ground, f"cart {k}", at=(0, k), axis=(1, 0))
        m.motor(f"rail {k}", force=law)
    return m


def pulse(at, wide):
    return lambda t: np.where(abs(t - at) < wide / 2, 1.0 / wide, 0.0)


def pressed(t):
    return t < 1 or t > 2


def test_a_short_pulse_of_a_select_is_not_leapt_over():
    sol = simulate(carts(pulse(1.0, 0.01), pulse(0.4, 1e-4)), 3.0, compile="never")
    assert sol.plan.tier == "tables"
    assert sol.v[-1, [0, 3]] == pytest.approx([1.0, 1.0], abs=1e-9) and sol.q[-1, [0, 3]] == pytest.approx([2.0, 2.6], abs=1e-6)


def test_comparisons_that_a_function_returns_are_selects_that_wake():
    """Dry friction of 2 N and a push of 1 N, under a brake that `pressed` decides by `t < 1 or t > 2`: it returns `t > 2`."""
    m = carts(
        lambda t, speed: 1.0 + (-2.0 if speed > 0 else 2.0) * pressed(t),
        lambda t, speed: 1.0 - 2.0 * np.sign(speed) * (1.0 if t < 1 or t > 2 else 0.0),
        lambda t, speed: 1.0 - 3.0 * np.sign(speed),
    )
    sol = simulate(m, 4.0, compile="never")
    speed = [0.0 if t < 1 else t - 1 if t < 2 else max(3.0 - t, 0.0) for t in sol.t]
    assert sol.v[:, 0] == pytest.approx(speed, abs=1e-9) and sol.v[:, 3] == pytest.approx(speed, abs=1e-9)
    assert np.abs(sol.v[:, 6]).max() < 1e-12


def test_selects_of_one_kind_wake_one_by_one():
    """Steps of a box of another force and length each, and corners that no cart meets."""
    made = lambda until, force: lambda t, position: np.where(t < until, force, 0.0) + max(0.0, -1.0 - position)
    system, *start = carts(*(made(0.3 + 0.2 * k, 1.0 + k) for k in range(4)), dry).to_system(compile="never")
    sleeps = [switch.sleeps for switch in system.switches]
    assert sleeps == [False] + 8 * [True]  # whatever its kind, what is followed from the start stands first
    sol = simulate(system, 2.0, q0=start[0], v0=start[1])
    assert sol.v[-1, 0:12:3] == pytest.approx([(0.3 + 0.2 * k) * (1.0 + k) for k in range(4)], abs=1e-9)
    assert len(sol.switches) == 5


def test_selects_that_find_no_room_are_left_to_their_values():
    unit = Mechanism(gravity=(0, -G))
    unit.prismatic("guide", unit.ground, unit.body("ball", at=(0, 1), mass=1.0), at=(0, 1), axis=(0, 1))
    unit.force("mat", "ball", value=lambda ball: (0.0, on_ground(ball.position) + max(0.0, -K * ball.position[1])))
    heights = []
    for times, followed in ((50, 100), (51, 51)):
        m = Mechanism(gravity=(0, -G))
        m.repeat("r", unit, times=times, step=(1, 0))
        sol = simulate(m, 0.6, compile="never", integrator=DOP853, rtol=1e-9, atol=1e-12)
        assert len(sol.plan.switches) == followed and sum(not switch.sleeps for switch in sol.plan.switches) == times
        heights.append(sol.q[-1, 1])
    assert heights[0] == pytest.approx(heights[1], abs=1e-8)
