"""Forces with corners: the automatic choice sees them by the steps that are rejected, and takes a lower order."""

import numpy as np

from holonomic import DOP853, RK45, Ode, simulate, sweep


def saturating(sharpness):
    """A mass on a spring, dragged to and fro under friction that saturates: a corner, or `sharpness` to smooth it."""

    def friction(v):
        if sharpness is None:
            return np.minimum(1.0, np.maximum(-1.0, 80.0 * v))
        return np.tanh(sharpness * v)

    def rates(t, y):
        return np.array([y[1], -4.0 * y[0] - friction(y[1]) + 1.5 * np.sin(3.0 * t) + 0.7 * np.sin(7.1 * t)])

    return Ode(rates)


def test_corners_of_the_forces_ask_for_a_lower_order():
    sol = simulate(saturating(None), 60.0, y0=[1.0, 0.0])
    assert isinstance(sol.plan.choice.integrator, RK45) and "corners of the forces" in sol.plan.why()
    assert len(sol.trail.story.changes) == 1 and sol.ended == "end"
    reference = simulate(saturating(None), 60.0, y0=[1.0, 0.0], integrator=RK45(), rtol=1e-11, atol=1e-13)
    assert np.max(np.abs(sol.end.y - reference.end.y)) < 1e-5


def test_a_smooth_motion_keeps_its_high_order():
    sol = simulate(saturating(2.0), 60.0, y0=[1.0, 0.0])
    assert isinstance(sol.plan.choice.integrator, DOP853) and not sol.trail.story.changes


def test_members_with_corners_do_what_single_runs_do():
    ode = Ode(
        lambda t, y, p: np.array([y[1], -4.0 * y[0] - np.minimum(1.0, np.maximum(-1.0, 50.0 * y[1])) + p.a * np.sin(3.0 * t)]),
        params={"a": 1.5},
    )
    runs = sweep(ode, 60.0, y0=[1.0, 0.0], params={"a": [1.5, 2.5]}, save_at=7)
    for m, a in enumerate((1.5, 2.5)):
        alone = simulate(ode.with_params(a=a), 60.0, y0=[1.0, 0.0], save_at=7)
        assert np.array_equal(runs.y[m], alone.y)
        assert any("corners" in change.reason for change in alone.trail.story.changes) or len(alone.switches) == 2
