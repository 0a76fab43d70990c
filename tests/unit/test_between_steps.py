"""States between the steps of Radau are as good as its steps, and what nobody asks for costs nothing."""

from __future__ import annotations

import numpy as np
import pytest

from holonomic import BDF, DOP853, RK45, Event, Ode, Radau, StiffnessWarning, opaque, simulate, sweep
from holonomic.problems import get

# Prothero and Robinson's equation: cos t whatever r, and steps longer than a radian for a large one
DRIVEN = Ode(lambda t, y, p: np.array([-p.r * (y[0] - np.cos(t)) - np.sin(t)]), params={"r": 1.0})
# driven along a polynomial of degree 5
ALONG = Ode(lambda t, y, p: np.array([-p.r * (y[0] - t**5) + 5 * t**4]), params={"r": 1e8})


def run(r, rtol=1e-6, t_end=10.0, **options):
    options = {"y0": [1.0], "integrator": Radau(), "atol": 1e-3 * rtol} | options
    return simulate(DRIVEN.with_params(r=r), t_end, rtol=rtol, **options)


def error(sol):
    return np.max(np.abs(sol.y[:, 0] - np.cos(sol.t)))


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("r", [1e1, 1e2, 1e3, 1e4, 1e6])
def test_saved_times_are_as_good_as_steps(r, rtol):
    """Through the stages of one step alone they were wrong by up to 5e5 rtol."""
    every = run(r, rtol)
    for count in (21, 1001):  # farther apart than steps, in some of these runs, and closer
        sol = run(r, rtol, save_at=count)
        assert error(sol) < 3 * max(rtol, error(every))
        # what it may cost: fewer steps than the cubic would need, whose error is 7.6e-4 h⁴, and some attempts to begin with
        by_cubic = 10.0 / (rtol / 7.6e-4) ** 0.25
        assert sol.stats["steps"] + sol.stats["rejected"] < max(1.5 * every.stats["steps"], 0.6 * by_cubic) + 15


def test_stiffness_that_comes_with_time():
    system = Ode(lambda t, y: np.array([-406.0 * np.maximum(t - 1, 0) * (y[0] - np.cos(t)) - np.sin(t)]))
    sol = simulate(system, 10.0, y0=[1.0], integrator=Radau(), rtol=1e-6, save_at=1001)
    assert error(sol) < 3e-6  # 4e-5 by the cubic


def test_steps_that_nobody_looks_into_stay_as_they_are():
    every, ends = run(1e4), run(1e4, save_at=[0.0, 10.0])
    assert ends.stats == every.stats
    assert ends.y[-1, 0] == every.y[-1, 0]


@pytest.mark.parametrize("integrator", [Radau(), Radau(order="variable"), BDF()], ids=repr)
def test_dense_output_of_kept_steps_is_made_when_somebody_looks_into_them(integrator):
    """At every step it took nearly as long as the stages did; between steps the run is right to rtol more."""
    problem = get("car-axis")
    every = simulate(problem, 0.5, integrator=integrator)
    assert every.trail.memory.dense_outputs == 0
    unknown = opaque(lambda x: float(x))
    far = simulate(problem, 0.5, integrator=integrator, events={"never": Event(lambda q: q[0] - 10.0)})
    assert far.trail.memory.dense_outputs == 0  # no step comes near it, which slopes tell
    watched = simulate(problem, 0.5, integrator=integrator, events={"opaque": Event(lambda q: unknown(q[0]) - 10.0)})
    assert watched.trail.memory.dense_outputs >= watched.stats["steps"]  # nothing tells of this one
    middle = 0.5 * (every.t[1:] + every.t[:-1])
    exact = simulate(problem, 0.5, integrator=DOP853(), rtol=1e-12, atol=1e-15, save_at=[0.0, *middle])
    at_steps = simulate(problem, 0.5, integrator=DOP853(), rtol=1e-12, atol=1e-15, save_at=every.t)
    off = np.max(np.abs(every.q - at_steps.q))
    assert np.max(np.abs(every(middle).q - exact.q[1:])) < off + 1e-6


def test_a_few_saved_times_cost_a_step_each():
    every, few = run(1e6), run(1e6, save_at=[0.0, 3.3, 6.6, 10.0])
    assert few.stats["steps"] <= every.stats["steps"] + 4
    assert error(few) < 1e-6


@pytest.mark.parametrize("t_end", [10.0, -10.0])
def test_both_directions_of_time(t_end):
    sol = run(np.copysign(1e4, t_end), t_end=t_end, save_at=301)
    assert error(sol) < 3e-6


@pytest.mark.parametrize("r", [1e2, 1e4, 1e6])
def test_events_are_where_saved_states_are(r):
    level = {"level": Event(lambda y: y[0] - 0.3)}
    sol = run(r, events=level)
    found = sol.events["level"]
    angle = np.arccos(0.3)
    assert np.max(np.abs(found.t - [angle, 2 * np.pi - angle, 2 * np.pi + angle])) < 3e-6
    assert np.max(np.abs(sol(found.t).y[:, 0] - 0.3)) < 1e-13  # one curve, and rounding
    # Saved times are looked at in other steps than events, which only count where one is near: two runs, each as good as above
    again = run(r, events=level, save_at=found.t)
    assert np.max(np.abs(again.y[:, 0] - 0.3)) < 3e-6


def test_members_of_a_sweep_save_what_single_runs_save():
    times, rates = np.linspace(0.0, 10.0, 101), [1e2, 1e4, 1e6]
    all_of = sweep(DRIVEN, 10.0, params={"r": rates}, y0=[1.0], integrator=Radau(), rtol=1e-6, atol=1e-9, save_at=times)
    for member, r in enumerate(rates):
        assert np.array_equal(all_of[member].y, run(r, save_at=times).y)


def test_two_steps_carry_a_polynomial_of_degree_six():
    """With stages that are exact, steps of half a second follow t⁵; the cubic is wrong by 8e-4 h⁴ times 120 t, 0.02."""
    sol = simulate(ALONG, 4.0, y0=[0.0], integrator=Radau(), step=0.5, save_at=np.linspace(0.5, 4.0, 71))
    # 1/r times the slope of what is left: stages are off by about 1e-8 of it
    assert np.max(np.abs(sol.y[:, 0] - sol.t**5)) < 1e-5


def test_states_on_constraints_between_steps():
    """The bushing of a suspension is stiff, and the road has a step."""
    problem, times = get("suspension"), np.linspace(0.0, 1.0, 801)
    exact = simulate(problem, 1.0, integrator=Radau(), rtol=1e-10, atol=1e-13, save_at=times)
    sol = simulate(problem, 1.0, integrator=Radau(), rtol=1e-5, atol=1e-8, save_at=times)
    scale = np.max(np.abs(exact.v), axis=0)
    assert np.max(np.abs(sol.v - exact.v) / scale) < 3e-5
    assert np.max(np.abs(sol.drift["position"])) < 1e-10


@pytest.mark.parametrize("integrator", [DOP853(), Radau(), BDF()], ids=repr)
@pytest.mark.parametrize("name", ["seven-body", "car-axis", "slider-crank-spring"])
def test_mechanisms_are_nearly_as_good_between_steps_as_at_them(name, integrator):
    """What the page on limits says: worse by 0.5 rtol (positions) and 3 rtol (velocities) at most, on its five mechanisms."""
    problem, rtol, times = get(name), 1e-6, np.linspace(0.0, get(name).t_end, 601)
    given = {"integrator": integrator, "rtol": rtol, "atol": 1e-9}
    fine = {"integrator": DOP853(), "rtol": 1e-12, "atol": 1e-15}
    steps, saved = simulate(problem, **given), simulate(problem, **given, save_at=times)
    at_steps, at_times = simulate(problem, **fine, save_at=steps.t), simulate(problem, **fine, save_at=times)
    for quantity, allowed in (("q", 0.5), ("v", 3.0)):
        size = 1 + np.abs(getattr(at_times, quantity)).max(axis=0)
        off = [
            np.max(np.abs(getattr(run, quantity) - getattr(exact, quantity)) / size)
            for run, exact in ((steps, at_steps), (saved, at_times))
        ]
        assert off[1] < off[0] + allowed * rtol


def test_between_steps_at_the_limit_of_stability_dop853_is_worse_and_rk45_is_not():
    given = {"rtol": 1e-6, "save_at": 5001}
    with pytest.warns(StiffnessWarning):
        assert 10e-6 < error(run(1e2, integrator=DOP853(), **given)) < 60e-6  # 47 rtol; the page says up to 54
        assert error(run(1e2, integrator=RK45(), **given)) < 1e-6
