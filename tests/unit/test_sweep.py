"""Sweeps give what single runs give, member by member, and never lose one to another."""

from __future__ import annotations

import numpy as np
import pytest

import holonomic as h
from holonomic import DOP853, BadArgument, Projection, System, grid, sample, simulate, sweep


@pytest.fixture(scope="module")
def swing():
    return System(
        mass=lambda p: p.m * np.eye(2),
        potential=lambda q, p: p.m * p.g * q[1],
        constraint={"rod": lambda q, p: q @ q - p.L**2},
        params={"m": 1.0, "g": 9.81, "L": 1.0},
        outputs={"tension": lambda lam, p: 2 * p.L * lam[0]},
        coordinates=["x", "y"],
    )


def test_each_member_equals_its_own_run_bit_by_bit(swing):
    g = np.linspace(1, 20, 70)
    runs = sweep(swing, 2.0, q0=[0, -1], v0=[1, 0], params={"g": g}, save_at=11)
    for member in (0, 33, 69):
        alone = simulate(swing.with_params(g=g[member]), 2.0, q0=[0, -1], v0=[1, 0], save_at=11)
        assert np.array_equal(alone.q, runs.q[member])
        assert np.array_equal(alone.lam, runs.lam[member])
        assert np.array_equal(alone["tension"], runs["tension"][member])


METHODS = [
    {"integrator": h.BDF(), "formulation": h.Index2()},
    {"integrator": h.BDF(), "formulation": h.Index1(), "step": 0.02},
    {"integrator": h.Radau(), "formulation": h.Index3()},
    {"integrator": h.Radau(), "formulation": h.GGL()},
    {"integrator": h.Radau(), "formulation": h.StateSpace()},
    {"integrator": h.GeneralizedAlpha(), "formulation": h.Index3(), "step": 0.02},
    {"integrator": h.Trapezoidal(), "formulation": h.Index2(), "step": 0.02},
    {"integrator": h.AdamsBashforth2(), "step": 0.02},
    {"integrator": h.RK4(), "step": 0.02, "stabilization": h.PostStabilization(keep=3)},
]


@pytest.mark.parametrize("methods", METHODS, ids=lambda methods: " ".join(map(repr, methods.values())))
def test_nothing_of_one_member_is_left_for_the_next(swing, methods):
    """Methods that look back, keep factors or solve for λ begin every member as they begin a single run."""
    start = {"q0": [0, -1], "v0": [1, 0], "save_at": 5, **methods}
    runs = sweep(swing, 0.5, params={"g": [9.0, 2.0, 15.0]}, workers=1, **start)
    assert not runs.failed
    for member, g in enumerate([9.0, 2.0, 15.0]):
        alone = simulate(swing.with_params(g=g), 0.5, **start)
        assert np.array_equal(alone.q, runs.q[member])
        assert np.array_equal(alone.lam, runs.lam[member])
        assert np.array_equal(alone["tension"], runs["tension"][member])


def test_a_dae_is_swept_with_its_algebraic_unknowns():
    circle = h.Dae(
        order=2, f=lambda p: np.array([0.0, -p.g]), B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1, params={"g": 9.81}
    )
    for methods in ({}, {"integrator": h.Radau(), "formulation": h.Index3()}):
        runs = sweep(circle, 0.5, y0=[1.0, 0.0, 0.0, 0.0], params={"g": [2.0, 9.81]}, save_at=4, **methods)
        alone = simulate(circle, 0.5, x0=[1.0, 0.0], dx0=[0.0, 0.0], save_at=4, **methods)
        assert np.array_equal(alone.y, runs.y[1])
        assert np.array_equal(alone.x, runs.q[1, :, :2])


def test_a_dae_is_swept_from_x0_and_dx0_as_it_is_run():
    circle = h.Dae(
        order=2, f=lambda p: np.array([0.0, -p.g]), B=lambda x: 2 * x[:, None], g=lambda x: x @ x - 1, params={"g": 9.81}
    )
    angles = np.array([0.0, 0.4])
    x0, dx0 = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    runs = sweep(circle, 0.5, x0=x0, dx0=dx0, save_at=4)
    for member in range(2):
        alone = simulate(circle, 0.5, x0=x0[member], dx0=dx0[member], save_at=4)
        assert np.array_equal(alone.q, runs.q[member]) and np.array_equal(alone.y, runs.y[member])
    one_start = sweep(circle, 0.5, x0=x0[0], dx0=[[0.0, 1.0], [0.0, 2.0]], save_at=4)
    assert np.array_equal(one_start.q[0], runs.q[0]) and not np.array_equal(one_start.q[1], runs.q[0])
    further = sweep(circle, 1.0, x0=simulate(circle, 0.5, x0=x0[0], dx0=dx0[0]).end, params={"g": [9.81, 1.0]})
    assert further.t[0] == 0.5 and np.array_equal(further.q[0, 0], runs.q[0, -1])
    with pytest.raises(h.BadArgument, match=r"^x0 of member 1 is not finite: "):
        sweep(circle, 0.5, x0=[[1.0, 0.0], [np.nan, 0.0]], dx0=[0.0, 0.0])
    with pytest.raises(h.BadArgument, match=r"^all arrays run along the members and must have equal length, got x0 2, dx0 3\. "):
        sweep(circle, 0.5, x0=x0, dx0=np.zeros((3, 2)))


def test_an_ode_is_swept_by_an_implicit_method():
    decay = h.Ode(lambda y, p: -p.k * y, params={"k": 1.0})
    runs = sweep(decay, 1.0, y0=[1.0], params={"k": [1.0, 50.0]}, save_at=3, integrator=h.Radau())
    assert np.array_equal(runs.y[1], simulate(decay.with_params(k=50.0), 1.0, y0=[1.0], save_at=3, integrator=h.Radau()).y)


def test_a_sweep_goes_on_from_the_end_of_a_run(swing):
    first = simulate(swing, 0.5, q0=[0, -1], v0=[1, 0])
    runs = sweep(swing, 1.0, q0=first.end, params={"m": [1.0, 2.0]}, save_at=3, integrator=DOP853())
    assert runs.t[0] == 0.5
    assert np.array_equal(runs.q[0], simulate(swing, 1.0, q0=first.end, save_at=3, integrator=DOP853()).q)


def test_numbers_do_not_depend_on_the_number_of_threads(swing):
    design = sample(200, g=(5.0, 15.0), m=(0.5, 2.0), seed=3)
    one = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params=design, workers=1)
    four = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params=design, workers=4)
    assert np.array_equal(one.q, four.q)


def test_a_failing_member_is_named_and_the_rest_are_complete(swing):
    runs = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params={"L": [1.0, 1.5, 1.0]}, save_at=3)
    assert [failure.member for failure in runs.failed] == [1]
    assert "misses constraint 'rod'" in runs.failed[0].why
    assert np.all(np.isfinite(runs.q[[0, 2]]))
    assert np.all(np.isnan(runs.q[1]))
    assert "1 failed" in repr(runs)


def test_members_are_assembled_one_by_one(swing):
    lengths = np.array([0.8, 1.0, 1.3])
    runs = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params={"L": lengths}, save_at=5, initial="project")
    assert not runs.failed
    # the default constraint tolerance is 1e-10, as distance
    assert np.max(np.abs(np.linalg.norm(runs.q, axis=2) - lengths[:, None])) < 2e-10


def test_starts_may_differ_between_members(swing):
    angle = np.linspace(-1, 1, 5)
    q0 = np.stack([np.sin(angle), -np.cos(angle)], axis=1)
    runs = sweep(swing, 1.0, q0=q0, v0=[0, 0], save_at=[0.0, 1.0])
    assert np.array_equal(runs.q[:, 0], q0)
    # mirror images swing as mirror images; rounding of sin is all that differs
    assert np.allclose(runs.q[0, 1, 0], -runs.q[4, 1, 0], atol=1e-9)


def test_grid_makes_all_products():
    made = grid(g=[1.0, 2.0], L=[3.0, 4.0, 5.0])
    assert made["g"].tolist() == [1, 1, 1, 2, 2, 2]
    assert made["L"].tolist() == [3, 4, 5, 3, 4, 5]


def test_reducers_leave_out_failed_members(swing):
    runs = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params={"L": [1.0, 2.0, 1.0], "g": [5.0, 5.0, 9.0]}, save_at=3)
    low, high = runs.extremes("x")
    assert np.array_equal(runs.mean("x"), runs.q[[0, 2], :, 0].mean(axis=0))
    assert np.all(low <= high)
    assert runs.quantiles("x").shape == (3, 3)


def test_to_xarray_has_labels(swing):
    data = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params={"g": [5.0, 9.0]}, save_at=3).to_xarray()
    assert data["q"].dims == ("member", "time", "coordinate")
    assert list(data["coordinate"].values) == ["x", "y"]
    assert data["param_g"].values.tolist() == [5.0, 9.0]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"params": {"gravity": [1.0]}}, "no such parameter. Known: m, g, L"),
        ({"params": {"g": [1.0, 2.0], "m": [1.0]}}, "equal length, got g 2, m 1. For products use grid()"),
        ({}, "nothing to sweep over"),
        ({"params": {"g": [1.0]}, "on": "moon"}, "on='moon'"),
        ({"params": {"g": []}}, "there is nothing to run: 'g' has no members"),
        ({"params": {"g": [1.0]}, "save_at": None}, "give save_at"),
        ({"params": {"g": [1.0]}, "max_steps": 0}, "max_steps=0 must be a whole number"),
    ],
)
def test_bad_input_says_what_to_do(swing, options, text):
    with pytest.raises(BadArgument, match=text.replace("(", r"\(").replace(")", r"\)")):
        sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], **options)


def test_constraints_hold_for_every_member(swing):
    runs = sweep(swing, 3.0, q0=[0, -1], v0=[1, 0], params={"g": np.linspace(1, 30, 40)}, save_at=31, stabilization=Projection())
    assert np.max(np.abs(np.sum(runs.q**2, axis=2) - 1)) < 4e-10  # |g| = 2 |q| times the distance of 1e-10
