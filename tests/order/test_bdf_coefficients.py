"""BDF with variable and with fixed leading coefficients: order over the whole run, dense output, λ, kinks, fixed steps."""

from functools import cache

import numpy as np
import pytest

from holonomic import BDF, DOP853, GGL, Index1, Index2, Index3, Ode, Projection, System, problems, simulate

NEW = pytest.mark.parametrize("kind", ["variable", "fixed-leading"])
ALL = pytest.mark.parametrize("kind", ["quasi-constant", "variable", "fixed-leading"])


@cache
def unequal():
    """A double pendulum with masses of 1 and 30 and a reference over the whole run."""
    system = System(
        mass=np.diag([1.0, 1.0, 30.0, 30.0]), force=[0.0, -9.81, 0.0, -9.81 * 30],
        constraint=lambda q: np.array([q[0] ** 2 + q[1] ** 2 - 1.0, (q[2] - q[0]) ** 2 + (q[3] - q[1]) ** 2 - 0.25]),
    )  # fmt: skip
    start = {"q0": [1.0, 0.0, 1.5, 0.0], "v0": [0.0, 0.0, 0.0, 0.0]}
    return system, start, simulate(system, 1.0, **start, integrator=DOP853(), rtol=1e-13, atol=1e-13)


def run(kind, rtol, order=5, formulation=None, stabilization=None, **options):
    system, start, known = unequal()
    sol = simulate(
        system, 1.0, **start, formulation=formulation or Index2(), integrator=BDF(order, coefficients=kind),
        stabilization=stabilization, rtol=rtol, atol=rtol, **options,
    )  # fmt: skip
    true = known(sol.t)
    return sol, max(np.abs(sol.q - true.q).max(), np.abs(sol.v - true.v).max())


# rtol of the coarser run; the other one is a thousand times smaller, with order 1 a hundred times
COARSE = {1: 3e-5, 2: 1e-4, 3: 1e-5, 4: 1e-6, 5: 1e-6, 6: 1e-6}


@NEW
@pytest.mark.parametrize("order", range(1, 7))
def test_errors_fall_with_the_order_while_steps_change(kind, order):
    """Errors over the whole run by the number of steps, masses of 1 and 30."""
    found = []
    for rtol in (COARSE[order], COARSE[order] / (100 if order == 1 else 1000)):
        formulation = Index1() if order == 6 else Index2()
        sol, error = run(kind, rtol, order, formulation)
        h = np.diff(sol.t)
        assert h.max() > 3 * h.min()  # steps do change
        found.append((sol.stats["steps"], error))
    (few, large), (many, small) = found
    observed = np.log(large / small) / np.log(many / few)
    # 1.0, 2.0, 3.1, 4.4, 4.6, 6.1: part of the steps is of lower order, and errors are sums with both signs
    assert observed > order - 0.5, (observed, found)


@NEW
@pytest.mark.parametrize("formulation", [Index1(), Index2(), Index3(), GGL()], ids=repr)
def test_errors_follow_the_tolerance_in_every_formulation(kind, formulation):
    (_, coarse), (_, fine) = (run(kind, rtol, formulation=formulation) for rtol in (1e-5, 1e-8))
    assert fine < 1e-2 * coarse  # three decades of tolerance are at least two of the error


@ALL
def test_states_between_steps_are_those_of_saved_times_and_as_good(kind):
    times = np.linspace(0.0, 1.0, 301)
    whole, error = run(kind, 1e-7)
    saved, between = run(kind, 1e-7, save_at=times)
    assert np.array_equal(saved.q, whole(times).q) and np.array_equal(saved.v, whole(times).v)
    assert between < 2 * error


@ALL
def test_multipliers_follow_the_state_through_changes_of_the_step(kind):
    """λ of the method itself: as good as q and v beside its size (5e-6 to 7e-6, and 1e-5 to 3e-5), no jumps where steps change."""
    sol, error = run(kind, 1e-7)
    true = unequal()[2](sol.t).lam
    off = (sol.unknowns["lam"] - true) / np.abs(true).max()
    assert np.abs(off).max() < error
    h = np.diff(sol.t)
    changes = np.abs(h[1:] / h[:-1] - 1) > 1e-6
    assert np.abs(np.diff(off, axis=0))[1:][changes].max() < error  # 7e-6 to 8e-6


@NEW
def test_history_and_estimate_are_projected(kind):
    """With coordinate projection constraints hold at every step, and errors are no larger than without."""
    sol, error = run(kind, 1e-7, formulation=Index1(), stabilization=Projection())
    _, without = run(kind, 1e-7, formulation=Index1())
    assert max(np.abs(sol.drift["position"]).max(), np.abs(sol.drift["velocity"]).max()) < 1e-9
    assert error < without


@ALL
def test_a_kink_in_the_force_costs_steps_and_no_digits(kind):
    jump = Ode(lambda t, y: np.array([y[1], -y[0] + np.where(t > 0.7123, 50.0, 0.0)]))
    sol = simulate(jump, 2.0, y0=[1.0, 0.0], rtol=1e-6, atol=1e-6, integrator=BDF(coefficients=kind))
    since = np.maximum(sol.t - 0.7123, 0.0)
    exact = np.array([np.cos(sol.t) + 50 * (1 - np.cos(since)), -np.sin(sol.t) + 50 * np.sin(since)])
    assert np.abs(sol.y - exact.T).max() < 10 * 50 * 1e-6  # 0.6 to 3 times rtol of the size
    assert sol.stats["steps"] < 150


@NEW
@pytest.mark.parametrize("t_end", [1.0, -1.0])
def test_both_directions_of_time(kind, t_end):
    swing = problems.pendulum()
    sol = simulate(swing, t_end, formulation=Index2(), integrator=BDF(coefficients=kind), rtol=1e-7, atol=1e-7)
    exact = np.array([swing.exact(t)[0] for t in sol.t])
    assert np.abs(sol.q - exact).max() < 3e-5


@NEW
def test_fixed_steps_are_those_of_equal_coefficients(kind):
    """All formulas are one on equal steps; rounding of 200 steps apart."""
    system, start, _ = unequal()
    ends = [
        simulate(system, 0.5, **start, formulation=Index2(), integrator=BDF(coefficients=which), stabilization=None, step=2.5e-3)
        for which in ("quasi-constant", kind)
    ]
    assert np.abs(ends[0].q - ends[1].q).max() < 1e-9


def test_a_first_step_that_is_tried_again_is_estimated_as_a_first_step():
    """With the length of the first attempt in its past the error of the second one was taken for a fifth of what it is."""
    suspension = problems.suspension(k=1e8, c=1e5)
    known = simulate(suspension, 1e-3, integrator=DOP853(), rtol=1e-11, atol=1e-11)
    sol = simulate(
        suspension, 1e-3, formulation=Index2(), integrator=BDF(coefficients="variable"), stabilization=None, rtol=1e-7, atol=1e-7
    )
    true = known(sol.t[:20])
    assert np.max(np.abs(sol.v[:20] - true.v) / (1.0 + np.abs(true.v))) < 30 * 1e-7  # 165 rtol then, 6 now
