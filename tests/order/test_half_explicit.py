"""PHEM56: order conditions of its coefficients, order 5 on every kind of constraint, error control, messages."""

from fractions import Fraction

import numpy as np
import pytest

from holonomic import (
    DOP853,
    PHEM56,
    RK45,
    Baumgarte,
    Dae,
    Event,
    IncompatibleMethods,
    Projection,
    S_both2,
    System,
    problems,
    simulate,
)
from holonomic.integrators import tableaus
from holonomic.integrators.half_explicit import BAR, C_BAR
from holonomic.study.order import observed_order
from holonomic.testing import SLACK, bead, check_integrator, moving_pendulum, skate


def test_constraint_stages_integrate_polynomials_of_degree_2_exactly():
    """Σ_j ā_ij c_j^k = c̄_i^(k+1)/(k+1); for the new point up to k = 4, for the embedded method up to 3."""
    c = [Fraction(value).limit_denominator(1000) for value in (*tableaus.RK45.c, 1.0)]
    for weights, to, exact in zip(BAR, C_BAR, (2, 2, 2, 2, 4, 3), strict=True):
        fractions = [Fraction(weight).limit_denominator(10**6) for weight in weights]
        end = Fraction(to).limit_denominator(1000)
        for k in range(exact + 1):
            assert sum(w * c[j] ** k for j, w in enumerate(fractions)) == end ** (k + 1) / (k + 1)


def rolling_top():
    """A body with quaternions, one of its points held and its spin tied to a drive that varies: Z(q), rheonomic."""

    def kinematics(q):
        o = 0 * q[0]
        turn = [[-q[1], -q[2], -q[3]], [q[0], -q[3], q[2]], [q[3], q[0], -q[1]], [-q[2], q[1], q[0]]]
        return 0.5 * np.array(turn) + np.array([[o] * 3] * 4)

    system = System(
        mass=np.diag([1.0, 1.2, 0.4]), kinematics=kinematics, invariants={"norm": lambda q: q @ q},
        force=lambda t, q, v: np.array([-0.8 * v[1] * v[2], 0.6 * v[2] * v[0], -0.2 * v[0] * v[1] + 0.3 * np.cos(t)]),
        nonholonomic={"drive": lambda t, q, v: v[2] + 0.3 * q[1] * v[0] - 1.0 - 0.2 * np.sin(t)},
    )  # fmt: skip
    return problems.Problem("top", "Driven top", system, 2.0, q0=(1.0, 0.0, 0.0, 0.0), v0=(0.5, 0.3, 1.0))


PROBLEMS = {
    "pendulum": (lambda: problems.pendulum_a01(t_end=1.0), 16),
    "moving pendulum": (moving_pendulum, 24),
    "moving wire": (lambda: bead(speed=0.5, rise=2.0, g=3.0), 60),
    "skate": (skate, 12),
    "driven top": (rolling_top, 10),
    "seven-body": (problems.seven_body, 512),
}


@pytest.mark.parametrize("stabilization", [None, Projection(), S_both2()], ids=repr)
@pytest.mark.parametrize("name", PROBLEMS)
def test_q_v_and_multipliers_have_order_5(name, stabilization):
    make, n = PROBLEMS[name]
    problem = make()
    study = observed_order(problem, PHEM56(), stabilization, [problem.t_end / (n * k) for k in (1, 1.5, 2)])
    orders = {part: fit.order for part, fit in study.error.items()}
    assert min(orders.values()) >= 5 - SLACK, study


@pytest.mark.parametrize("name", ["moving pendulum", "skate", "seven-body"])
def test_the_velocity_constraint_holds_after_every_step_without_stabilization(name):
    problem = PROBLEMS[name][0]()
    study = observed_order(problem, PHEM56(), None, [problem.t_end / n for n in (PROBLEMS[name][1], 600)])
    assert study.drift["velocity"].exact, study


def test_it_does_what_it_declares():
    check_integrator(PHEM56)


@pytest.mark.parametrize("stabilization", [None, Projection()], ids=repr)
def test_errors_follow_the_tolerance_with_the_steps_of_a_pair_of_order_5(stabilization):
    problem = problems.seven_body()
    known = simulate(problem, integrator=DOP853(), rtol=1e-12, atol=1e-12)
    off, steps = [], []
    for rtol in (1e-6, 1e-10):
        sol = simulate(problem, integrator=PHEM56(), stabilization=stabilization, rtol=rtol, atol=rtol)
        off.append(np.abs(sol.q[-1] - known.q[-1]).max())
        steps.append(sol.stats["steps"])
    assert off[1] <= 1e-3 * off[0] and off[1] <= 1e-8, off
    # the estimate is O(h^5): four decades are a factor of 6.3; without the constraint in it, it would be far from that
    assert 4.5 <= steps[1] / steps[0] <= 8.0, steps


def test_events_and_states_inside_steps_are_as_good_as_those_of_rk45():
    problem = moving_pendulum()
    events = {"below": Event(lambda t, q: q[0] - 0.5 * t, "falling")}
    runs = [simulate(problem, integrator=method, rtol=1e-8, events=events, save_at=37) for method in (PHEM56(), RK45())]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-6
    assert len(runs[0].events["below"].t) == 1
    assert runs[0].events["below"].t == pytest.approx(runs[1].events["below"].t, abs=1e-6)


def test_masses_that_are_positive_only_on_the_tangent_space_take_the_dense_solve():
    """M = diag(1, 0) with q₁² + q₂² = 1 and a force along the circle: the unrolled factors of M do not exist."""
    mass = np.array([[1.0, 0.0], [0.0, 1e-11]])
    system = System(mass=mass, force=lambda q: np.array([0.3 * q[1], -0.3 * q[0]]), constraint=lambda q: q @ q - 1)
    runs = [simulate(system, 0.3, q0=[0, 1], v0=[1, 0], integrator=method, rtol=1e-8) for method in (PHEM56(), DOP853())]
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 1e-6


def test_what_does_not_fit_is_refused_with_what_does():
    problem = problems.pendulum_a01(t_end=0.1)
    with pytest.raises(IncompatibleMethods, match=r"changes the field, which Index2\(\) does not use"):
        simulate(problem, integrator=PHEM56(), stabilization=Baumgarte(alpha=5))
    dae = Dae(f=lambda x: -x, B=np.ones((2, 1)), g=lambda x: x[0] - x[1], order=1)
    with pytest.raises(IncompatibleMethods, match=r"not for a Dae\. Use RK45\(\) with formulation=Index1\(\)"):
        simulate(dae, 1.0, y0=[1, 1], integrator=PHEM56(), stabilization=None)
    rubbing = System(mass=np.eye(2), force=lambda v, lam: np.array([-0.1 * lam[0] * v[0], -9.81]), constraint=lambda q: q @ q - 1)
    with pytest.raises(IncompatibleMethods, match=r"force\(\) depends on them\. Use RK45\(\)"):
        simulate(rubbing, 0.1, q0=[1, 0], v0=[0, 0], integrator=PHEM56())


def with_state(constraint):
    """A pendulum driven by a state that follows its position and its rod, and by an algebraic variable."""
    return System(
        mass=np.eye(2), force=lambda v, s, w: np.array([s[0] - w[0], -9.81 - 0.3 * v[1]]), constraint=constraint,
        states={"c": lambda q, s, lam: -s[0] + q[0] + 0.1 * lam[0]},
        algebraic={"z": lambda q, w: w[0] + 0.1 * w[0] ** 3 - q[1]},
    )  # fmt: skip


def test_states_and_algebraic_variables_keep_order_5():
    system, start = with_state(lambda t, q: q @ q - 1 - 0.1 * t), dict(q0=[1, 0], v0=[0.05, 0], s0=[0.2], w0=[0.0])
    known = simulate(system, 1.0, **start, integrator=DOP853(), rtol=1e-12, atol=1e-12)
    off = []
    for n in (20, 40):
        sol = simulate(system, 1.0, **start, integrator=PHEM56(), step=1 / n)
        gaps = [getattr(sol, part)[-1] - getattr(known, part)[-1] for part in ("q", "v", "s", "w")]
        off.append(np.abs(np.concatenate(gaps)).max())
    assert np.log2(off[0] / off[1]) >= 5 - SLACK, off


def test_constraints_of_states_are_refused():
    system = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q, s: q @ q - 1 - 0.1 * s[0], states={"c": lambda s: 1 - s})
    with pytest.raises(IncompatibleMethods, match=r"depend on states or algebraic variables\. Use RK45\(\)"):
        simulate(system, 1.0, q0=[1, 0], v0=[0, 0], s0=[0.0], integrator=PHEM56(), initial="project")
