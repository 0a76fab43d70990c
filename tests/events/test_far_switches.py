"""A step whose switches stay far from zero is not looked into: it costs what it costs without them, and no zero is lost."""

import numpy as np
import pytest

from holonomic import BDF, DOP853, RK45, Index2, Ode, Radau, System, simulate


def switched(y):
    k = 2e3 if y[0] < -50 else 1.0
    return [y[1], -k * y[0]]


def selected(y):
    return [y[1], -np.where(y[0] < -50, 2e3, 1.0) * y[0]]


def chain(stop):
    """Three links of 1 m, and a stop for the last one."""

    def force(q, v):
        k = 1e4 if q[5] < stop else 0.0
        return np.array([0, -9.81] * 3, dtype=float) - 0.05 * v - k * q

    def rods(q):
        a, b, c = q[:2], q[2:4], q[4:]
        return np.array([a @ a - 1, (b - a) @ (b - a) - 1, (c - b) @ (c - b) - 1])

    return System(mass=np.eye(6), force=force, constraint=rods)


METHODS = [DOP853(), RK45(), Radau(), BDF(), None]


@pytest.mark.parametrize("integrator", METHODS, ids=["DOP853", "RK45", "Radau", "BDF", "left open"])
@pytest.mark.parametrize("save_at", [None, 30])
def test_a_switch_that_is_never_near_changes_no_bit_and_asks_no_dense_output(integrator, save_at):
    given = {"y0": [1.0, 0.0], "save_at": save_at} | ({} if integrator is None else {"integrator": integrator})
    far, plain = simulate(Ode(switched), 60.0, **given), simulate(Ode(selected), 60.0, **given)
    assert np.array_equal(far.t, plain.t) and np.array_equal(far.y, plain.y) and far.stats == plain.stats
    if save_at is None:
        assert far.trail.memory.dense_outputs == 0


def test_steps_of_an_implicit_method_are_not_cut_for_a_switch_that_is_not_near():
    """Radau keeps steps short enough for its dense output only where that is asked."""
    start = {"q0": [1, 0, 2, 0, 3, 0], "v0": [0] * 6, "integrator": Radau(), "formulation": Index2()}
    far, near = simulate(chain(-50.0), 5.0, **start), simulate(chain(-2.0), 5.0, **start)
    assert far.trail.memory.dense_outputs == 0 and far.stats["steps"] < 340  # 387 where each step was looked into
    assert near.trail.memory.dense_outputs > 10 and len(near.switches) == 1


def on_half_of_the_time(phase):
    return lambda t: [1.0 if np.cos(20 * np.pi * t + phase) > 0 else 0.0]


@pytest.mark.parametrize("integrator", [RK45(), DOP853(), Radau()], ids=["RK45", "DOP853", "Radau"])
@pytest.mark.parametrize("step", [0.1, 0.05, None])
@pytest.mark.parametrize("phase", [0.0, 1e-3])
def test_a_switch_that_is_as_fast_as_the_steps_is_followed(integrator, step, phase):
    """With a step of 0.1 its value is 1 and its rate 0 at every end."""
    sol = simulate(Ode(on_half_of_the_time(phase)), 10.0, y0=[0.0], integrator=integrator, step=step)
    assert sol.y[-1, 0] == pytest.approx(5.0, abs=1e-3 if phase else 1e-9)
    assert 199 <= sum(map(len, sol.switches.values())) <= 201


@pytest.mark.parametrize("integrator", [RK45(), DOP853(), BDF()], ids=["RK45", "DOP853", "BDF"])
def test_a_switch_that_wakes_after_a_long_calm_is_met(integrator):
    """It is 200 times as large as its bump, and begins to change in the middle of a long step."""
    law = lambda t: [2.0 if 100 + np.exp(-(((t - 8) / 0.5) ** 2)) > 100.5 else 1.0]
    sol = simulate(Ode(law), 10.0, y0=[0.0], integrator=integrator)
    assert sol.y[-1, 0] == pytest.approx(10 + np.sqrt(np.log(2)), abs=1e-9)
    sol = simulate(Ode(law), 10.0, y0=[0.0], integrator=RK45(), step=0.01)  # 780 calm steps before
    assert sol.y[-1, 0] == pytest.approx(10 + np.sqrt(np.log(2)), abs=1e-9)


def test_a_blow_from_elsewhere_is_met():
    """What is watched lies still for long, and is then hit by something that nothing announced."""

    def rhs(t, y):
        kick = 100.0 if t > 5.0 else 0.0
        stop = -1e4 * (y[0] - 1.0) if y[0] > 1.0 else 0.0
        return [y[1], kick + stop - 1e-3 * y[0]]

    tight = {"rtol": 1e-9, "atol": 1e-12}
    sols = [simulate(Ode(rhs), 5.5, y0=[0.0, 1e-6], integrator=each, **tight) for each in (DOP853(), RK45(), Radau())]
    for sol in sols:
        assert sol.y[-1] == pytest.approx(sols[0].y[-1], abs=1e-5)
        assert [len(log) for log in sol.switches.values()] == [len(log) for log in sols[0].switches.values()]
