"""Gauss's methods in double-double: their numbers to 34 digits, their orders down to rounding, formulations, saved times."""

from fractions import Fraction

import numpy as np
import pytest

from holonomic import GGL, GaussLegendre, GaussLegendre4, Index1, Index2, ProjectedInvariants, System, simulate
from holonomic.errors import IncompatibleMethods
from holonomic.integrators.gauss import exact_table, table
from holonomic.problems import chain, seven_body

PENDULUM = System(mass=np.eye(2), potential=lambda q: 9.81 * q[1], constraint=lambda q: q @ q - 1)
MORE = {"q0": [1.0, 0.0], "v0": [0.0, 0.0], "precision": "double-double"}


@pytest.fixture(scope="module")
def known():
    return simulate(PENDULUM, 1.0, **MORE, rtol=1e-28, save_at=[0.013, 0.7123, 1.0])


def error(sol, known, row=-1) -> float:
    return float(np.abs((sol.exact.q[row] - known.exact.q[row]).high).max())


@pytest.mark.parametrize("stages", [1, 2, 3, 6, 12])
def test_numbers_are_right_to_34_digits(stages):
    """Conditions of collocation and of order 2s; the doubles of other runs are those next to them, within rounding."""
    exact, s = exact_table(stages), stages
    c, d, a = np.array(exact[:s]), np.array(exact[s : 2 * s]), np.array(exact[2 * s : 2 * s + s * s]).reshape(s, s)
    assert all(type(each) is Fraction for each in exact[: 2 * s + s * s])
    powers = [c**k for k in range(1, s + 1)]
    tiny = 1e-34 * float(np.max(np.abs(a)))
    for k, power in enumerate(powers, 1):
        assert max(abs(a @ power - k * c ** (k - 1))) < tiny  # slopes of t^k at the nodes
        assert abs(sum(d * power) - 1) < tiny  # and t^k at the end
    below = [Fraction(1), *[None] * s]
    for x in c:  # the nodes are zeros of Legendre's polynomial: so that the order is 2s and not s
        below[1] = 2 * x - 1
        for k in range(1, s):
            below[k + 1] = ((2 * k + 1) * (2 * x - 1) * below[k] - k * below[k - 1]) / (k + 1)
        assert abs(below[s]) < 1e-34
    np.testing.assert_allclose(table(stages), [float(each) for each in exact], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("stages", "steps"), [(2, 1024), (3, 512), (4, 128), (5, 64)])
def test_orders_hold_far_below_the_rounding_of_doubles(known, stages, steps):
    first, second = (
        error(simulate(PENDULUM, 1.0, **MORE, integrator=GaussLegendre(stages), step=1 / n), known) for n in (steps, 2 * steps)
    )
    assert np.log2(first / second) > 2 * stages - 0.45
    assert second < 2e-16 or stages == 2


def test_steps_short_enough_leave_28_digits(known):
    sol = simulate(PENDULUM, 1.0, **MORE, integrator=GaussLegendre(12), step=1 / 64, constraint_tol=1e-28)
    assert error(sol, known) < 1e-27
    assert np.abs(sol.exact.residuals.high).max() < 1e-28


@pytest.mark.parametrize("formulation", [Index1(), Index2(), GGL(), ProjectedInvariants()], ids=repr)
def test_formulations_with_their_own_projection_keep_the_order(known, formulation):
    runs = (simulate(PENDULUM, 1.0, **MORE, integrator=GaussLegendre(4), formulation=formulation, step=1 / n) for n in (64, 128))
    first, second = (error(sol, known) for sol in runs)
    assert first < 1e-14 and np.log2(first / second) > 7.5


def test_saved_times_have_the_digits_of_the_steps(known):
    sol = simulate(PENDULUM, 1.0, **MORE, integrator=GaussLegendre(6), step=1 / 64, save_at=[0.013, 0.7123, 1.0])
    assert max(error(sol, known, row) for row in range(3)) < 1e-22


def test_a_mechanism_has_27_digits():
    sol = simulate(seven_body(), 0.01, precision="double-double", integrator=GaussLegendre(8), step=2.0**-14)
    other = simulate(seven_body(), 0.01, precision="double-double", rtol=1e-27)
    assert error(sol, other) < 1e-25


def test_it_takes_two_stages_by_name():
    runs = (simulate(PENDULUM, 0.5, **MORE, integrator=each, step=1 / 64) for each in (GaussLegendre4(), GaussLegendre(2)))
    first, second = runs
    assert np.array_equal(first.exact.q.low, second.exact.q.low)


def test_a_matrix_too_large_for_straight_line_code_is_refused_by_name():
    with pytest.raises(IncompatibleMethods, match="more products than straight-line code"):
        simulate(chain(16), 0.1, precision="double-double", integrator=GaussLegendre(2), step=1 / 64)
