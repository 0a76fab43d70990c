"""Backward Euler and the implicit midpoint rule on fields: an Ode, a Dae, and fields that are bent."""

import numpy as np
import pytest

from holonomic import RK4, Baumgarte, Dae, InvariantStabilization, Ode, PostStabilization, Projection, System, simulate
from holonomic.integrators.fixed_steps import BackwardEuler, ImplicitMidpoint
from holonomic.study.order import observed_order

ROTATION = Ode(lambda y: np.array([y[1], -y[0]]))


def test_one_step_solves_the_implicit_equation():
    """Linear field A y: y₁ = (I - hA)⁻¹ y₀ and (I - hA/2)⁻¹ (I + hA/2) y₀."""
    A, y0, h, one = np.array([[0.0, 1.0], [-1.0, 0.0]]), np.array([1.0, 0.5]), 0.3, np.eye(2)
    euler = simulate(ROTATION, h, y0=y0, integrator=BackwardEuler(), step=h)
    np.testing.assert_allclose(euler.y[-1], np.linalg.solve(one - h * A, y0), atol=1e-14)
    middle = simulate(ROTATION, h, y0=y0, integrator=ImplicitMidpoint(), step=h)
    np.testing.assert_allclose(middle.y[-1], np.linalg.solve(one - h / 2 * A, (one + h / 2 * A) @ y0), atol=1e-14)


def test_midpoint_keeps_quadratic_invariants_of_a_nonlinear_field():
    """Euler's equations of a rigid body: energy and angular momentum are quadratic."""
    J = np.array([1.0, 2.0, 3.0])
    body = Ode(lambda y: np.array([y[1] * y[2] * (1 / 3 - 1 / 2), y[2] * y[0] * (1 - 1 / 3), y[0] * y[1] * (1 / 2 - 1)]))
    sol = simulate(body, 50.0, y0=[1.0, 0.2, 0.5], integrator=ImplicitMidpoint(), step=0.1)
    for weights in (np.ones(3), 1 / J):
        value = sol.y**2 @ weights
        # 500 steps, each solved to rounding
        assert np.max(np.abs(value - value[0])) < 1e-12


@pytest.mark.parametrize("integrator", [BackwardEuler(), ImplicitMidpoint()], ids=repr)
def test_order_on_a_field_bent_by_a_stabilization(integrator):
    pendulum = System(mass=np.eye(2), force=[0.0, -9.81], constraint=lambda q: q @ q - 1)
    steps = [0.01, 0.005, 0.0025] if integrator.order == 1 else [0.04, 0.02, 0.01]
    bent = InvariantStabilization(gain=10.0)
    study = observed_order(pendulum, integrator, bent, steps, t_end=0.6, q0=[1, 0], v0=[0, 0])
    assert study.order >= integrator.order - 0.2


def test_bent_field_of_a_system_is_the_one_explicit_methods_see():
    """Both discretize z' = f̂ - γ F h from a start off the constraints; midpoint with a small step against RK4."""
    pendulum = System(mass=np.diag([1.0, 2.0]), force=[0.0, -9.81], constraint=lambda q: q @ q - 1)
    run = {"q0": [1.1, 0.1], "v0": [0.3, -0.2], "initial": "free"}
    for bent in (InvariantStabilization(gain=3.0, D="blocks"), InvariantStabilization(gain=3.0, integral=True)):
        implicit = simulate(pendulum, 0.5, **run, integrator=ImplicitMidpoint(), step=1e-3, stabilization=bent)
        explicit = simulate(pendulum, 0.5, **run, integrator=RK4(), step=1e-2, stabilization=bent)
        np.testing.assert_allclose(implicit.q[-1], explicit.q[-1], atol=2e-6)  # h² = 1e-6
        np.testing.assert_allclose(implicit.v[-1], explicit.v[-1], atol=2e-5)


def example_1(nu=1000.0):
    """[ascher-chin-reich-1992] Example 1; x₁ = x₂ = eᵗ."""

    def f(t):
        return np.array([(1 + nu) * np.exp(t), (1 + (nu - 1) / (2 - t)) * np.exp(t)])

    return Dae(
        order=1, f=f, B=lambda t: -np.array([[(2 - t) * nu], [nu - 1 + 0 * t]]),
        g=lambda t, x: (t + 2) * x[0] + (t**2 - 4) * x[1] - (t**2 + t - 2) * np.exp(t),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stabilization", "error", "drift"),
    [
        # Table 1.1 as recomputed, h = .01, at t = 1: Baumgarte, (1.7), (1.8)
        (Baumgarte(gamma=0.0), 0.001876, 0.0085058),
        (Baumgarte(gamma=10.0), 0.0010082, 0.00028547),
        (InvariantStabilization(gamma=10.0, F="1.7"), 5.5841e-5, 3.1161e-4),
        (InvariantStabilization(gamma=10.0, F="1.8"), 1.3676e-5, 1.2103e-6),
        (InvariantStabilization(gamma=10.0, D="B"), 0.0010082, 0.00028547),
        (Baumgarte(gamma=1000.0), 1.3381e41, 4.5233e38),
        (InvariantStabilization(gamma=1000.0, F="1.7"), 1.3555e-5, 4.02e-8),
        (InvariantStabilization(gamma=1000.0, F="1.8"), 1.3553e-5, 1.3477e-10),
        (InvariantStabilization(gamma=1e8, F="1.7"), 1.3553e-5, None),
    ],
    ids=repr,
)
def test_backward_euler_gives_table_1_1(stabilization, error, drift):
    sol = simulate(example_1(), 1.0, x0=[1, 1], integrator=BackwardEuler(), step=0.01, stabilization=stabilization)
    assert np.max(np.abs(sol.x[-1] - np.e)) == pytest.approx(error, rel=1e-3)
    left = abs(sol.drift["position"][-1, 0])
    if drift is None:
        assert left < 1e-13  # printed as 0; roundoff of g
    else:
        assert left == pytest.approx(drift, rel=1e-3)


def test_backward_euler_with_a_pull_stays_on_the_linear_constraint():
    for pull in (PostStabilization(sweeps=1), Projection()):
        sol = simulate(example_1(), 1.0, x0=[1, 1], integrator=BackwardEuler(), step=0.01, stabilization=pull)
        assert np.max(np.abs(sol.drift["position"])) < 1e-12  # roundoff of terms of size 20
        assert np.max(np.abs(sol.x[-1] - np.e)) == pytest.approx(1.355e-5, rel=0.02)


def test_implicit_midpoint_gives_table_3_1():
    """Kepler, h = .001π, corrected along the velocity: .27e-4 and .55e-4 (truncated), as recomputed."""
    kepler = Ode(
        lambda y: np.concatenate([y[2:], -y[:2] / (y[:2] @ y[:2]) ** 1.5]),
        invariants={"energy": lambda y: (y[2] ** 2 + y[3] ** 2) / 2 - 1 / np.sqrt(y[0] ** 2 + y[1] ** 2)},
    )
    run = {"y0": [0.5, 0, 0, np.sqrt(3)], "integrator": ImplicitMidpoint(), "step": 0.001 * np.pi}
    along = PostStabilization(D=lambda y: np.array([0, 0, y[2], y[3]]), sweeps=1)
    sol = simulate(kepler, 4 * np.pi, **run, stabilization=along)
    np.testing.assert_allclose(sol.y[[2000, 4000], 1], [2.7553e-5, 5.5105e-5], rtol=1e-3)
    free = simulate(kepler, 4 * np.pi, **run, stabilization=None)
    np.testing.assert_allclose(free.y[[2000, 4000], 1], [5.6229e-4, 1.12458e-3], rtol=1e-3)
