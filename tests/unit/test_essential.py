"""The essential underlying ODE: its eigenvalues are those the papers give, and its advice is their decision guide."""

import numpy as np
import pytest

from holonomic import BadArgument, Index1, Ode, ProjectedInvariants, Radau, essential_ode, problems, simulate


def found(problem, t=0.5):
    sol = simulate(problem, 0.5, formulation=ProjectedInvariants("Pa"), integrator=Radau(), rtol=1e-6, stabilization=None)
    return essential_ode(sol, t)


# [ascher-petzold-1993]: u' = -u; u' = -nu/(2 - t) u; u'' = -c nu/(2 - t) u' - c nu/(2 - t)² u; u'' = -nu² u' + ..
@pytest.mark.parametrize(
    ("problem", "fastest"),
    [
        (problems.rapid_pair(nu=1000.0), -1.0),
        (problems.index2_pair(nu=1000.0), -1000 / 1.5),
        (problems.heterogeneous_masses(nu=1000.0, damping=1.0), -1000 / 1.5),
        (problems.heterogeneous_masses(nu=1000.0, damping=0.0), -2000 / 1.5),
        (problems.rapid_constraint(nu=100.0), -1e4),
    ],
    ids=["example 1", "example 2", "example 3, c = 1", "example 3, c = 2", "example 4"],
)
def test_fastest_eigenvalue_is_that_of_the_paper(problem, fastest):
    eigenvalues = found(problem).eigenvalues
    worst = eigenvalues[np.argmax(np.abs(eigenvalues))]
    # u is unique up to a factor that changes slowly: 1 % beside the large ones
    assert worst.real == pytest.approx(fastest, rel=0.01) and worst.imag == 0


def test_damping_that_balances_the_moving_constraint_leaves_nothing_stiff():
    rates = found(problems.heterogeneous_masses(nu=1000.0, damping=2.0))
    assert rates.stiffness < 2.0 and rates.frozen > 1000.0


def test_rates_of_the_constraint():
    nu = 1000.0
    rates = found(problems.heterogeneous_masses(nu=nu))
    # C = (1, t - 2), C' = (0, 1), B = (2 + t)((2 - t) nu, nu - 1), C B = 4 - t²
    t = 0.5
    F = np.array([(2 - t) * nu, nu - 1]) / (2 - t)
    length = np.hypot(1, t - 2)
    assert rates.explicit == pytest.approx(np.linalg.norm(F), rel=1e-5)
    assert rates.turning == pytest.approx(1 / length, rel=1e-5)
    assert rates.projected == pytest.approx(1 / length, rel=1e-5)
    assert rates.masses > 1e6


@pytest.mark.parametrize(
    ("problem", "step", "text"),
    [
        (problems.heterogeneous_masses(nu=1000.0), 0.01, r'ProjectedInvariants\("Pa"\), with'),
        (problems.rapid_constraint(nu=100.0), 0.1, '"Pc" where velocities must hold'),
        (problems.rapid_constraint(nu=100.0), 0.001, "GGL or Index2"),
        (problems.unit_circle(t_end=0.5), 0.01, "Index1 with an explicit integrator"),
    ],
)
def test_advice_is_the_decision_guide(problem, step, text):
    import re

    assert re.search(text, found(problem).advice(step))


def test_a_pendulum_near_its_lowest_point_swings_with_its_frequency():
    sol = simulate(problems.pendulum_a01(t_end=1.2), formulation=Index1())
    lowest = sol.t[np.argmin(sol.q[:, 1])]
    rates = essential_ode(sol, lowest)
    # frozen: no force depends on q; moving: the rod's turning enters, and with it the tension
    assert rates.frozen == pytest.approx(0.0, abs=1e-6)
    assert rates.stiffness > 1.0
    assert "stiffness" in repr(rates)


def test_what_has_no_constraint_is_refused():
    sol = simulate(Ode(lambda y: -y), 1.0, y0=[1.0])
    with pytest.raises(BadArgument, match="needs constraints"):
        essential_ode(sol)
