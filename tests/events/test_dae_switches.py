"""Comparisons in f and B of a Dae are switches: located, gone along, with the mean of y there."""

import numpy as np
import pytest

from holonomic import BDF, DOP853, RK45, Dae, Index2, Index3, Radau, StepFailed, Stepper, System, simulate, sweep

G = 9.81
START = {"x0": [0.8, -0.6], "dx0": [0.0, 0.0]}


def stopped(x):
    if x[0] < -0.5:
        return [-200 * (x[0] + 0.5), -G]
    return [0.0, -G]


def pendulum(force=stopped, **more):
    return Dae(order=2, f=force, B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1, **more)


@pytest.fixture(scope="module")
def known():
    system = System(mass=np.eye(2), force=lambda q: stopped(q), constraint=lambda q: q @ q - 1)
    return simulate(system, 3.0, q0=[0.8, -0.6], v0=[0.0, 0.0], integrator=DOP853, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("methods", "most"),
    [
        ({"integrator": DOP853()}, 5e-9), ({"integrator": RK45()}, 5e-8), ({"integrator": Radau()}, 5e-9),
        ({"integrator": Radau(), "formulation": Index2()}, 5e-9), ({"integrator": Radau(), "formulation": Index3()}, 5e-9),
        ({"integrator": BDF(), "formulation": Index3()}, 2e-6),
    ],
)  # fmt: skip
def test_a_bump_stop_is_located_as_in_a_system(known, methods, most):
    sol = simulate(pendulum(), 3.0, **START, rtol=1e-8, **methods)
    ((name, log),) = sol.switches.items()
    ((_, other),) = known.switches.items()
    assert name.startswith('"if x[0] < -0.5" in f(), line')
    assert log.t == pytest.approx(other.t, abs=most) and log.true.tolist() == [True, False] * 2
    assert sol.q[-1, :2] == pytest.approx(known.q[-1], abs=most)
    assert sol.y[-1] == pytest.approx(known.lam[-1], abs=10 * most)


def test_the_error_follows_the_tolerance(known):
    for rtol in (1e-6, 1e-8, 1e-10):
        sol = simulate(pendulum(), 3.0, **START, integrator=DOP853, rtol=rtol, atol=1e-3 * rtol)
        assert np.abs(sol.q[-1, :2] - known.q[-1]).max() < rtol and sol.stats["rejected"] <= 15


def test_along_a_switch_y_is_the_mean_of_its_sides():
    def pushed(x):
        if x[0] > 0.5:
            return [-1.0, 1.0]
        return [2.0, 4.0]

    sol = simulate(Dae(order=1, f=pushed, B=[[0.0], [1.0]], g=lambda x: x[1]), 2.0, x0=[0, 0], integrator=DOP853)
    (log,) = sol.switches.values()
    assert log.along == pytest.approx(0.25, abs=1e-14)
    assert sol.y[:, 0] == pytest.approx(np.where(sol.t < 0.25, 4.0, 4.0 - 2.0 / 3.0 * 3.0), abs=1e-12)  # 2 (1 - α) - α = 0
    assert sol(1.5).y == pytest.approx(2.0, abs=1e-12) and sol.q[-1, 0] == pytest.approx(0.5, abs=1e-14)


def test_friction_under_its_own_normal_force_sticks():
    def rubbing(dx, y):
        if dx[0] > 0:
            return [1.0 - 0.3 * abs(y[0]), -G]
        return [1.0 + 0.3 * abs(y[0]), -G]

    dae = Dae(order=2, f=rubbing, B=[[0.0], [1.0]], g=lambda x: x[1])
    how = {"x0": [0.0, 0.0], "dx0": [1.0, 0.0]}
    stops = 1.0 / (0.3 * G - 1.0)
    for integrator in (DOP853, RK45):
        sol = simulate(dae, 3.0, **how, integrator=integrator)
        (log,) = sol.switches.values()
        assert log.along == pytest.approx(stops, abs=1e-12)
        assert sol.q[-1, 0] == pytest.approx(stops / 2, abs=1e-12) and sol.q[-1, 2] == pytest.approx(0.0, abs=1e-14)
        assert sol.y[-1, 0] == pytest.approx(-G, abs=1e-12)
    with pytest.raises(StepFailed, match=r'switch "if dx\[0\] > 0" in f\(\), line \d+ from both sides, which Radau cannot follow'):
        simulate(dae, 3.0, **how, integrator=Radau)


def test_orders_three_and_a_direction_that_changes():
    def jerk(dx):
        if dx[0] > 0.5:
            return [-1.0, 0.0]
        return [2.0, 0.0]

    sol = simulate(
        Dae(order=3, f=jerk, B=[[0.0], [1.0]], g=lambda x: x[1]), 2.0, x0=[0, 0], dx0=[0, 0], ddx0=[0, 0], integrator=DOP853
    )
    (log,) = sol.switches.values()
    s = 2.0 - np.sqrt(0.5)
    assert log.t == pytest.approx(np.sqrt(0.5), abs=1e-12)
    assert sol.q[-1, 4] == pytest.approx(np.sqrt(2.0) - s, abs=1e-12)
    assert sol.q[-1, 2] == pytest.approx(0.5 + np.sqrt(2.0) * s - s**2 / 2, abs=1e-12)

    def direction(t):
        if t > 1.0:
            return [[1.0], [1.0]]
        return [[0.0], [1.0]]

    turned = Dae(order=1, f=lambda x: [1.0, 3.0], B=direction, g=lambda x: x[1])
    sol = simulate(turned, 2.0, x0=[0, 0], integrator=DOP853)
    assert sol.q[-1, 0] == pytest.approx(1.0 + (1.0 - 3.0), abs=1e-13) and sol.y[:, 0] == pytest.approx(3.0)
    assert next(iter(sol.switches.values())).t == pytest.approx(1.0, abs=1e-15)


def test_sweeps_and_steppers_of_a_dae_follow_them():
    def stopped(x, p):
        if x[0] < p.where:
            return [-200 * (x[0] - p.where), -G]
        return [0.0, -G]

    dae = pendulum(stopped, params={"where": -0.5})
    every = sweep(dae, 2.0, **START, params={"where": [-0.5, -0.3]}, integrator=DOP853, save_at=9)
    sol = simulate(dae, 2.0, **START, integrator=DOP853, save_at=9)
    assert np.array_equal(every.q[0], sol.q) and not np.array_equal(every.q[1], sol.q)
    stepper = Stepper(dae, **START, integrator=DOP853, rtol=1e-9)
    for _ in range(20):
        stepper.step(0.1)
    assert stepper.q == pytest.approx(sol.q[-1], abs=3e-6)
