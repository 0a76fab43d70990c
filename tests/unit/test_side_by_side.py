"""Members in lanes of vectors are what they are one by one, to the last bit, whatever their neighbours; what is unusual leaves."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import holonomic as h
from holonomic.printing.lane_program import width_here
from holonomic.problems import four_bar, heavy_top, jansen, kepler, peaucellier, pendulum, rolling_disk, seven_body
from holonomic.sweeping import side_by_side
from holonomic.sweeping.side_by_side import Lanes


@pytest.fixture
def both(monkeypatch):
    """Run a sweep one by one, then side by side; return both, with how many ran in lanes."""

    def run(*given, **options):
        found = []
        for when in ("never", "at once"):
            monkeypatch.setattr(side_by_side, "WHEN", when)
            side_by_side.forget()
            found.append(h.sweep(*given, **options, workers=1))
        assert found[0]._log.in_lanes == 0
        return *found, found[1]._log.in_lanes

    return run


def assert_same(alone, beside):
    """Every bit that is kept, and all that is told."""
    for name in ("q", "v", "a", "lam"):
        if name == "q" or not alone.plan.model.is_ode:
            assert getattr(alone, name).tobytes() == getattr(beside, name).tobytes(), name
    assert alone.steps.tolist() == beside.steps.tolist()
    assert alone.reached.tolist() == beside.reached.tolist()
    assert alone.failed == beside.failed
    assert alone.noted == beside.noted
    assert alone.changed == beside.changed


def starts(problem, members=48, share=0.1):
    """A problem's start, with velocities of its own for every member."""
    factors = np.linspace(1.0 - share, 1.0 + share, members)[:, None]
    return {"q0": np.tile(problem.q0, (members, 1)), "v0": np.asarray(problem.v0)[None] * factors, "initial": "project"}


REST = 32  # of 48 members: the first piece, of 16, is run both ways


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (seven_body, {}),
        (pendulum, {"integrator": h.RK45(), "save_at": 6, "stabilization": h.S_both2()}),
        pytest.param(four_bar, {"integrator": h.RK45()}, marks=pytest.mark.slow),
        pytest.param(jansen, {}, marks=pytest.mark.slow),
        pytest.param(peaucellier, {"integrator": h.RK45(), "save_at": 7}, marks=pytest.mark.slow),
        pytest.param(heavy_top, {"save_at": 9}, marks=pytest.mark.slow),
        pytest.param(rolling_disk, {"integrator": h.RK45(), "save_at": 5}, marks=pytest.mark.slow),
        pytest.param(
            pendulum, {"integrator": h.RK4(), "step": 0.01, "stabilization": h.Baumgarte(alpha=5.0)}, marks=pytest.mark.slow
        ),
        pytest.param(pendulum, {"integrator": h.Heun(), "step": 0.01, "stabilization": None}, marks=pytest.mark.slow),
        pytest.param(pendulum, {"integrator": h.RK23(), "stabilization": h.S_vel()}, marks=pytest.mark.slow),
    ],
    ids=["seven-body", "RK45", "four-bar", "small pivots", "time in a constraint", "quaternion", "rolling", "RK4", "Heun", "RK23"],
)
def test_members_have_the_same_bits(both, problem, options):
    problem = problem()
    alone, beside, many = both(problem.system, min(problem.t_end, 2.0), **starts(problem), **options)
    assert many == REST
    assert_same(alone, beside)


@pytest.mark.slow
def test_ordinary_equations_and_their_invariants(both):
    problem = kepler()
    y0 = np.asarray(problem.y0)[None] * np.linspace(0.95, 1.05, 48)[:, None]
    alone, beside, many = both(problem.system, 3.0, y0=y0, save_at=4)
    assert many == REST
    assert_same(alone, beside)


def test_parameters_times_and_saved_times_are_each_members_own(both):
    """Members end after different numbers of steps, and the next ones take their lanes."""
    driven = h.System(
        mass=np.eye(2), force=lambda t, q, p: [p.a * np.sin(3.0 * t), -9.81 * (1.0 + 0.1 * t)],
        constraint=lambda q: q @ q - 1.0, params={"a": 1.0},
    )  # fmt: skip
    a, times = np.linspace(0.0, 30.0, 48), np.array([0.0, 0.1, 0.77, 2.0])
    alone, beside, many = both(driven, 2.0, q0=[0.0, -1.0], v0=[0.3, 0.0], params={"a": a}, save_at=times)
    assert many == REST
    assert len(set(beside.steps.tolist())) > 3
    assert_same(alone, beside)
    one = h.simulate(driven.with_params(a=a[30]), 2.0, q0=[0.0, -1.0], v0=[0.3, 0.0], save_at=times)
    assert beside.q[30].tobytes() == one.q.tobytes()


def test_looks_on_the_way_hand_over_what_they_would_change(both):
    oscillator = h.Ode(lambda t, y, p: [y[1], p.mu * (1.0 - y[0] ** 2) * y[1] - y[0]], params={"mu": 1.0})
    mu = np.concatenate([np.linspace(1.0, 3.0, 40), np.linspace(100.0, 300.0, 8)])
    alone, beside, many = both(oscillator, 60.0, y0=[2.0, 0.0], params={"mu": mu}, save_at=3)
    assert 10 < many < 40
    assert alone.changed
    assert_same(alone, beside)


@pytest.mark.slow
def test_members_that_fail_tell_what_they_tell_alone(both):
    blown = h.Ode(lambda t, y, p: [y[0] ** 2 * p.a], params={"a": 1.0})
    a = np.linspace(0.1, 1.2, 64)  # those above 1 go to infinity before the end
    alone, beside, many = both(blown, 1.0, y0=[1.0], params={"a": a}, integrator=h.DOP853(), max_steps=500)
    assert 0 < many < 48
    assert alone.failed
    assert_same(alone, beside)


def test_few_members_events_and_implicit_methods_stay_one_by_one(both):
    problem = pendulum()
    few = {"q0": problem.q0, "v0": problem.v0, "params": {"g": np.linspace(9.0, 10.0, width_here() - 1)}}
    assert both(problem.system, 1.0, **few)[2] == 0
    many = few | {"params": {"g": np.linspace(9.0, 10.0, 30)}}
    assert both(problem.system, 1.0, **many, events={"low": lambda q: q[0]})[2] == 0
    assert both(problem.system, 1.0, **many, integrator=h.Radau())[2] == 0


def test_a_processor_that_rounds_differently_is_noticed(monkeypatch, caplog):
    class Off:
        width = 8

        def run(self, given):
            given["results_status"][given["waiting_members"]] = 1
            given["results_x"][given["waiting_members"]] = 0.5

    monkeypatch.setattr(side_by_side, "WHEN", "at once")
    monkeypatch.setattr(side_by_side, "entry", lambda name: lambda *given: Off())
    side_by_side.forget()
    problem = pendulum()
    options = {"q0": problem.q0, "v0": problem.v0, "params": {"g": np.linspace(9.0, 10.0, 48)}}
    runs = h.sweep(problem.system, 1.0, workers=1, **options)
    assert runs._log.in_lanes == 0
    assert "round differently" in caplog.text
    monkeypatch.setattr(side_by_side, "WHEN", "worth it")
    side_by_side.forget()
    assert h.sweep(problem.system, 1.0, **options).q.tobytes() == runs.q.tobytes()


def test_only_long_sweeps_make_a_program(monkeypatch):
    made = []
    monkeypatch.setattr(side_by_side.SideBySide, "_make", lambda self, lanes, *given: made.append(lanes))
    side_by_side.forget()
    problem = pendulum()
    go = lambda members: h.sweep(
        problem.system, 5.0, q0=problem.q0, v0=problem.v0, params={"g": np.linspace(9.0, 10.0, members)}, workers=1
    )
    go(40)
    assert not made
    monkeypatch.setattr(side_by_side, "WORTH", 1e-4)
    monkeypatch.setattr(side_by_side, "FOR_EACH", 0.0)
    go(400)
    assert len(made) == 1


def test_what_a_plan_has_learned_is_remembered(monkeypatch):
    monkeypatch.setattr(side_by_side, "WHEN", "at once")
    side_by_side.forget()
    problem = pendulum()
    options = {"q0": problem.q0, "v0": problem.v0, "params": {"g": np.linspace(9.0, 10.0, 48)}, "workers": 1}
    assert "32 ran side by side" in repr(h.sweep(problem.system, 1.0, **options))
    monkeypatch.setattr(side_by_side, "WHEN", "worth it")
    assert h.sweep(problem.system, 1.0, **options)._log.in_lanes == 48


def test_lanes_that_most_members_leave_are_given_up():
    assert Lanes(program=object(), tried=200, left=20).useful
    assert not Lanes(program=object(), tried=200, left=120).useful
    assert not Lanes().useful


def test_a_program_that_cannot_be_made_is_told_and_the_sweep_goes_on(monkeypatch, caplog):
    def broken(*given):
        raise RuntimeError("no room")

    monkeypatch.setattr(side_by_side, "WHEN", "at once")
    monkeypatch.setattr(side_by_side, "entry", lambda name: broken)
    side_by_side.forget()
    problem = pendulum()
    runs = h.sweep(problem.system, 1.0, q0=problem.q0, v0=problem.v0, params={"g": np.linspace(9.0, 10.0, 32)})
    side_by_side.forget()
    assert not runs.failed
    assert "one by one, not side by side: RuntimeError: no room" in caplog.text


def test_a_sweep_in_lanes_ends_when_it_is_told_to(monkeypatch):
    monkeypatch.setattr(side_by_side, "WHEN", "at once")
    side_by_side.forget()
    problem = pendulum()
    options = {"q0": problem.q0, "v0": problem.v0, "integrator": h.DOP853(), "rtol": 1e-12}
    h.sweep(problem.system, 0.1, params={"g": np.linspace(9.0, 10.0, 48)}, workers=1, **options)
    began, cancel = time.monotonic(), threading.Event()
    threading.Timer(0.3, cancel.set).start()
    with pytest.raises(h.Cancelled) as stopped:
        h.sweep(problem.system, 1e4, params={"g": np.linspace(9.0, 10.0, 64)}, max_steps=10**9, cancel=cancel, **options)
    assert time.monotonic() - began < 30.0
    runs = stopped.value.solution
    assert len(runs.failed) > 0
    assert all("not finished" in failure.why or "not run" in failure.why for failure in runs.failed)


def test_angles_beyond_all_bounds_leave_the_neighbours_as_they_are(both):
    """Sines of angles above 1e5 come from the mathematics library, for those members alone."""
    turning = h.Ode(lambda t, y, p: [p.rate + 0.1 * np.sin(y[0]) * np.cos(y[1]), np.sin(y[1] - t)], params={"rate": 1.0})
    rate = np.where(np.arange(48) % 5 == 0, 3e5, 1.0) * np.linspace(1.0, 1.2, 48)
    alone, beside, many = both(turning, 1.0, y0=[0.5, 0.2], params={"rate": rate}, integrator=h.RK4(), step=0.05)
    assert many == REST
    assert np.abs(beside.y[:, -1, 0]).max() > 2e5
    assert_same(alone, beside)
