"""What a method begins with: λ of generalized-α, and the past of BDF with a fixed step."""

import numpy as np
import pytest

from holonomic import BDF, GeneralizedAlpha, Index1, Index2, Index3, Ode, Radau, StepFailed, System, simulate
from holonomic.testing import SLACK

pendulum = System(mass=np.diag([1.0, 3.0]), force=[0.0, -29.43], constraint=lambda q: q @ q - 1)
START = {"q0": [0.6, -0.8], "v0": [2.4, 1.8]}  # not at rest


@pytest.mark.parametrize("rho", [0.0, 0.8])
@pytest.mark.parametrize("formulation", [Index2(), Index3()], ids=repr)
def test_own_multipliers_of_generalized_alpha_have_order_2_from_the_first_step_on(formulation, rho):
    off = []
    for n in (200, 400):
        sol = simulate(
            pendulum, 0.5, formulation=formulation, integrator=GeneralizedAlpha(rho), stabilization=None, step=0.5 / n, **START
        )
        exact = simulate(pendulum, 0.5, rtol=1e-11, atol=1e-12, save_at=sol.t, **START)
        off.append([np.abs(lam - exact.lam).max() for lam in (sol.unknowns["lam"], sol.lam)])
    assert np.all(np.log2(np.divide(*off)) >= 2 - SLACK), off  # 1.0 where a0 = v̇0


def orders(system, integrator, exact, n=20, **given):
    off = [np.abs(simulate(system, 1.0, integrator=integrator, step=1 / k, **given).y[-1] - exact).max() for k in (n, 2 * n)]
    return np.log2(off[0] / off[1])


def test_bdf_begins_with_its_order_where_nothing_can_be_evaluated_before_the_start():
    swing = Ode(lambda t, y: np.array([np.where(t < 0, np.nan, 1.0) * y[1], -y[0]]))
    assert orders(swing, BDF(), np.array([np.sin(1.0), np.cos(1.0)]), n=40, y0=[0, 1]) >= 5 - SLACK


def test_bdf_begins_with_its_order_where_the_past_is_stiff():
    stiff = Ode(lambda t, y: np.array([-1e4 * (y[0] - np.cos(t)) - np.sin(t), y[0] - y[1]]))
    exact = np.array([np.cos(1.0), (np.cos(1.0) + np.sin(1.0)) / 2 - np.exp(-1.0) / 2])
    assert orders(stiff, BDF(), exact, y0=[1, 0]) >= 5 - SLACK  # 1.9 from order 1 on


@pytest.mark.parametrize("formulation", [Index1(), Index3()], ids=repr)
def test_bdf_begins_with_its_order_on_constraints(formulation):
    """A damper too stiff for steps back, on the coordinate that the constraint ties to nothing."""
    system = System(
        mass=np.eye(3), constraint=lambda q: q[0] ** 2 + q[1] ** 2 - 1,
        force=lambda t, q, v: np.array([0.0, -9.81, -4e3 * (v[2] - np.cos(t)) - np.sin(t) + 0.1 * q[0]]),
    )  # fmt: skip
    given = {"q0": [0.6, -0.8, 0.0], "v0": [0.8, 0.6, 1.0]}
    exact = simulate(system, 1.0, integrator=Radau(), rtol=1e-11, atol=1e-12, **given)
    off = []
    for n in (50, 100):
        sol = simulate(system, 1.0, formulation=formulation, integrator=BDF(), stabilization=None, step=1 / n, **given)
        off.append([np.abs(sol.q[-1] - exact.q[-1]).max(), np.abs(sol.v[-1] - exact.v[-1]).max()])
    assert np.all(np.log2(np.divide(*off)) >= 5 - 2 * SLACK), off


def test_bdf_says_so_where_it_cannot_begin_with_its_order():
    stiff = Ode(lambda t, y: np.array([-1e9 * (y[0] - np.cos(t)) - np.sin(t), y[0] - y[1]]))
    with pytest.raises(StepFailed) as told:
        simulate(stiff, 1.0, y0=[1, 0], integrator=BDF(), step=0.05)
    assert str(told.value) == (
        "BDF() with step 0.05 cannot begin with its order at t = 0: nothing leads there from before, and what follows is too "
        "stiff for the first steps, which DOP853 takes in up to 1024 pieces each. Use BDF(max_order=2), a smaller step, or "
        "rtol= in the place of step=."
    )
    exact = np.array([np.cos(1.0), (np.cos(1.0) + np.sin(1.0)) / 2 - np.exp(-1.0) / 2])
    assert orders(stiff, BDF(max_order=2), exact, n=80, y0=[1, 0]) >= 2 - SLACK
