"""States of their own in tables: the same motion as compiled code, with explicit and implicit methods, in calls of every kind."""

import gc

import numpy as np
import pytest

from holonomic import BDF, DOP853, PHEM56, RK4, Event, Index2, Projection, Radau, S_both2, Stepper, simulate, sweep
from holonomic.kernels.signatures import Fn
from holonomic.model.bounded_tapes import BoundedTape
from holonomic.multibody import Mechanism, disk

from .test_tables import ball_chain, chain, controlled, warm_arm


def pair_of(make, t_end, **options):
    return tuple(simulate(make(), t_end, compile=how, **options) for how in ("never", "now"))


def test_fixed_steps_agree_with_compiled_code_to_rounding():
    for make in (controlled, warm_arm):
        for stabilization in (Projection(), S_both2()):
            sol, known = pair_of(make, 0.1, step=1e-3, integrator=RK4(), stabilization=stabilization)
            assert sol.plan.tier == "tables"
            assert sol.q == pytest.approx(known.q, abs=1e-11) and sol.s == pytest.approx(known.s, abs=1e-10)


@pytest.mark.parametrize("integrator", [DOP853(), Radau(), BDF(), PHEM56()], ids=repr)
def test_runs_with_error_control_agree_within_the_tolerance(integrator):
    how = {} if not integrator.implicit and integrator.takes == "ode" else {"formulation": Index2()}
    for make in (controlled, warm_arm):
        sol, known = pair_of(make, 0.4, save_at=9, integrator=integrator, stabilization=Projection(), **how)
        for name in ("q", "s"):
            a, b = getattr(sol, name), getattr(known, name)
            assert np.abs(a - b).max() < 3e-7 * (1.0 + np.abs(b).max()), name  # rtol 1e-6, steps apart by rounding


def test_events_outputs_inputs_and_starts_see_states():
    m = controlled()
    events = {"eight amperes": Event(m.quantity(lambda current: current - 8.0)), "sum": Event(lambda s, v: s[0] * v[2] - 0.5)}
    sol, known = (simulate(m, 0.6, compile=how, events=events, rtol=1e-9, s0={"current": 1.0}) for how in ("never", "now"))
    assert sol["current"][0] == 1.0
    for name in events:
        assert len(sol.events[name].t) and sol.events[name].t == pytest.approx(known.events[name].t, abs=1e-8)
    assert sol["both"] == pytest.approx(sol["wave"][:, 0] * sol["current"], abs=1e-14)
    more = simulate(m, 0.9, compile="never", q0=sol.end, rtol=1e-9)
    assert more["current"][0] == sol["current"][-1]


def test_a_state_in_space_may_ask_for_no_body():
    def clock():
        m = ball_chain(2)
        m.state("clock", rate=lambda clock, t: np.array([clock[1], -clock[0] + t]), start=[0.3, 0.1])
        m.force("push", "link 1", value=lambda clock: np.array([clock[0], 0.0, clock[1]]))
        return m

    for how in ({}, {"integrator": Radau(), "formulation": Index2(), "stabilization": Projection()}):
        sol, known = pair_of(clock, 0.2, rtol=1e-9, atol=1e-11, **how)
        assert sol.plan.tier == "tables" and np.abs(sol.s[-1] - known.s[-1]).max() < 1e-9
        assert np.abs(sol.q[-1] - known.q[-1]).max() < 1e-8


def test_events_in_space_have_rates():
    events = {"turned": Event(lambda q: q[5] - 0.5), "down": Event(lambda q, v: q[9] * v[8] - 0.01)}
    sol, known = pair_of(lambda: ball_chain(3), 1.0, events=events, rtol=1e-9)
    assert sum(len(known.events[name].t) for name in events) > 0
    for name in events:
        assert sol.events[name].t == pytest.approx(known.events[name].t, abs=1e-8)


def test_steppers_and_sweeps_have_states():
    m = controlled()
    known = simulate(m, 0.1, compile="now")
    stepper = Stepper(m, compile="never")
    for _ in range(5):
        stepper.step(0.02)
    assert stepper.now.q[-1] == pytest.approx(known.q[-1], abs=1e-6)
    assert stepper.now.s[-1] == pytest.approx(known.s[-1], abs=1e-5)
    voltages = [0.2, 0.4]
    runs = sweep(m, 0.05, params={"k": voltages}, save_at=3, compile="never", progress=False)
    for k, s in zip(voltages, runs.s, strict=True):
        m.params["k"] = k
        assert s == pytest.approx(simulate(m, 0.05, save_at=3, compile="now").s, abs=1e-5)


def test_a_long_chain_with_motors_has_one_front_for_each_state():
    m = chain(150)
    for i in range(0, 150, 10):
        m.state(f"current_{i}", rate=current_of(i), start=0.1)
        m.motor(f"pin {i}", torque=torque_of(i))
    sol = simulate(m, 0.01, compile=None, save_at=3)  # by itself as tables
    assert sol.plan.tier == "tables"
    how = {"integrator": Radau(), "formulation": Index2(), "stabilization": Projection()}
    stiff = simulate(m, 0.01, save_at=3, **how)
    assert np.abs(stiff.q - sol.q).max() < 1e-5 and np.abs(stiff.s - sol.s).max() < 1e-5
    system = m.to_tables()
    fronts = system._of_fronts(system.collection)._newton[Index2.levels]
    assert fronts.words[:, 1].max() < 20


def current_of(i):
    made = {}
    exec(f"def rate(current_{i}): return -3.0 * current_{i} + 0.5", made)
    return made["rate"]


def torque_of(i):
    made = {}
    exec(f"def torque(current_{i}, speed): return 0.2 * current_{i} - 0.01 * speed", made)
    return made["torque"]


def test_a_stiff_state_is_seen_by_the_automatic_choice():
    m = Mechanism(gravity=(0, 0))
    m.revolute("axle", m.ground, m.body("wheel", disk((0, 0), radius=0.2, mass=5.0)), at=(0, 0))
    m.state("fast", rate=lambda fast, axle: -1e5 * (fast - axle.speed))
    m.motor("axle", torque=lambda fast: 1.0 - 0.1 * fast)
    sol = simulate(m, 1.0, compile="never")
    known = simulate(m, 1.0, compile="now")
    assert sol.stats["steps"] < 2000
    assert np.abs(sol.s[-1] - known.s[-1]).max() < 1e-5 and np.abs(sol.q[-1] - known.q[-1]).max() < 1e-5


@pytest.mark.parametrize("how", ["never", "now"])
def test_what_bounds_of_events_lie_in_lives_as_long_as_their_plan(how):
    """A quantity of a mechanism is a function that cannot be known again, so that nothing else held them."""
    m = controlled()
    event = {"eight amperes": Event(m.quantity(lambda current: current - 8.0))}
    sol = simulate(m, 0.01, compile=how, events=event)
    gc.collect()
    there = {each.context for each in gc.get_objects() if type(each) is BoundedTape}
    assert sol.plan.fns[2 * Fn.BOUNDS + 1] in there
