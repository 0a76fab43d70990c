"""What users bring, with nothing chosen: units, masses and switches of all sizes; a right answer, or a refusal that says why."""

import numpy as np
import pytest

from holonomic import BDF, Event, Ode, Radau, StepFailed, System, simulate

REST = {"q0": [1.0, 0.0], "v0": [0.0, 0.0]}


def pendulum_of(damping):
    """A pendulum in a bath whose thickness is a function of time and states."""
    return System(mass=np.eye(2), force=lambda t, q, v: np.array([0.0, -9.81]) - damping(t, q) * v, constraint=lambda q: q @ q - 1)


def double(masses, scales=(1.0, 1.0)):
    upper, lower = masses
    return System(
        mass=np.diag([upper, upper, lower, lower]),
        potential=lambda q: 9.81 * (upper * q[1] + lower * q[3]),
        constraint={
            "upper": lambda q: scales[0] * (q[:2] @ q[:2] - 1),
            "lower": lambda q: scales[1] * ((q[2:] - q[:2]) @ (q[2:] - q[:2]) - 0.25),
        },
    )


STRETCHED = {"q0": [1.0, 0.0, 1.5, 0.0], "v0": np.zeros(4)}


def test_millimetres_and_tonnes_give_the_motion_of_metres_and_kilograms():
    metres = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    small = System(mass=1e-3 * np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1e6)
    a = simulate(metres, 10.0, **REST)
    b = simulate(small, 10.0, q0=[1000.0, 0.0], v0=[0.0, 0.0])
    assert np.abs(a.end.q - b.end.q / 1000).max() < 1e-7  # far below rtol: steps differ in their last digits only
    assert len(a.t) == len(b.t)


def test_constraint_equations_of_other_sizes_change_multipliers_alone():
    a = simulate(double((1.0, 1.0)), 2.0, **STRETCHED)
    b = simulate(double((1.0, 1.0), (1e-9, 1e9)), 2.0, **STRETCHED)
    assert np.abs(a.end.q - b.end.q).max() < 1e-10
    assert b.lam[-1] * [1e-9, 1e9] == pytest.approx(a.lam[-1], rel=1e-6)


def test_a_mass_a_trillion_times_lighter_than_what_it_hangs_on():
    system = double((1e6, 1e-6))
    sol, fine = simulate(system, 3.0, **STRETCHED), simulate(system, 3.0, **STRETCHED, rtol=1e-10, atol=1e-12)
    assert np.abs(sol.end.q - fine.end.q).max() < 1e-5
    alone = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    assert np.abs(fine.end.q[:2] - simulate(alone, 3.0, **REST, rtol=1e-10).end.q).max() < 1e-8  # the heavy one feels nothing


def test_a_light_mass_that_carries_a_heavy_one_is_refused_with_its_frequency():
    with pytest.raises(StepFailed, match=r"vibrates there with .*e\+0[56] rad/s and hardly decays") as caught:
        simulate(double((1e-6, 1e6)), 1.0, **STRETCHED, max_steps=20_000)
    assert 0.0 < caught.value.solution.end.t < 1.0


def test_a_stiff_bumper_stated_by_where():
    k, c = 1e8, 1e4
    system = System(mass=np.eye(1), force=lambda q, v: np.array([-9.81 + np.where(q[0] < 0, -k * q[0] - c * v[0], 0.0)]))
    sol = simulate(system, 2.0, q0=[1.0], v0=[0.0])
    fine = simulate(system, 2.0, q0=[1.0], v0=[0.0], rtol=1e-9, atol=1e-13)
    times = np.array([0.3, 0.5, 1.0, 2.0])
    assert np.abs(sol(times).q - fine(times).q).max() < 1e-5
    assert sol.end.q[0] == pytest.approx(-9.81 / k, rel=1e-3)  # at rest on the bumper


def test_a_damper_that_an_event_latches():
    system = System(
        mass=np.eye(2),
        force=lambda v, s: np.array([0.0, -9.81]) - s[0] * 1e4 * v,
        constraint=lambda q: q @ q - 1,
        states={"on": lambda s: 0.0 * s[0]},
    )
    latch = Event(lambda q: q[0] - 0.5, then=lambda q, v, s: (q, v, np.array([1.0])))
    sol = simulate(system, 3.0, **REST, s0=[0.0], events={"latch": latch})
    assert len(sol.trail.story.changes) == 1 and isinstance(sol.plan.choice.integrator, Radau | BDF)
    assert sol.events["latch"].t[0] <= sol.trail.story.changes[0].t < sol.events["latch"].t[0] + 0.1
    # from x = 0.5 on it creeps: θ' = -(g/c) sin θ, θ from the downward line, so tan(θ/2) decays with g/c
    angle = np.arctan2(sol.end.q[0], -sol.end.q[1])
    crept = 2 * np.arctan(np.tan(np.pi / 12) * np.exp(-9.81e-4 * (3.0 - sol.events["latch"].t[0])))
    assert angle == pytest.approx(crept, rel=2e-3)  # a speed of 3 m/s is lost within 3e-4 rad


def test_a_clutch_that_grips_once_a_second():
    system = pendulum_of(lambda t, q: 1e5 * np.where(np.sin(2 * np.pi * t) > 0.9, 1.0, 0.0))
    sol, fine = simulate(system, 3.0, **REST), simulate(system, 3.0, **REST, rtol=1e-9, atol=1e-12)
    assert sol.trail.story.changes and np.abs(sol.end.q - fine.end.q).max() < 1e-5


def test_reactions_of_robertson_over_eight_decades():
    def rates(y):
        fast, slow = 3e7 * y[1] ** 2, 0.04 * y[0] - 1e4 * y[1] * y[2]
        return np.array([-slow, slow - fast, fast])

    sol = simulate(Ode(rates, invariants={"all": lambda y: y[0] + y[1] + y[2]}), 1e8, y0=[1, 0, 0], atol=[1e-10, 1e-14, 1e-10])
    # Radau of SciPy at rtol 1e-11
    assert sol.end.y == pytest.approx([2.08241751e-05, 8.32984143e-11, 9.99979176e-01], rel=1e-4)
    assert sol.stats["steps"] < 2000
