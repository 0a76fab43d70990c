"""Derivatives of runs: against exact ones, against variational equations, and what is said where there are none."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from holonomic import Dae, Ode, System, gradient
from holonomic.errors import BadArgument, StepFailed, UnknownArgument
from holonomic.multibody import Mechanism, rod

SWING = System(
    mass=lambda p: p.m * np.eye(2), potential=lambda q, p: p.m * p.g * q[1], constraint={"rod": lambda q, p: q @ q - p.L**2},
    params={"m": 1.0, "g": 9.81, "L": 1.0},
)  # fmt: skip
HANGING = {"q0": [0, -1], "v0": [1, 0]}
GOOD = 1e-7  # of order 1: runs at rtol 1e-10 over some growth, divided by steps of 1e-3


def last_x(sol):
    return sol.q[-1, 0]


def variational(g: float, speed: float) -> tuple[float, float]:
    """d sin φ(5) by g and by the first speed, from φ'' = -g sin φ and its derivatives."""

    def rhs(_, y):
        return [y[1], -g * np.sin(y[0]), y[3], -g * np.cos(y[0]) * y[2] - np.sin(y[0]), y[5], -g * np.cos(y[0]) * y[4]]

    end = solve_ivp(rhs, (0, 5), [0, speed, 0, 0, 0, 1], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    return np.cos(end[0]) * end[2], np.cos(end[0]) * end[4]


def test_gradient_of_a_pendulum_is_that_of_its_variational_equation():
    found = gradient(last_x, SWING, 5.0, **HANGING, wrt=["g", "m", "v0"])
    grad, error = found.grad, found.error
    by_g, by_speed = variational(9.81, 1.0)
    assert grad["g"] == pytest.approx(by_g, abs=GOOD)
    assert grad["v0"] == pytest.approx([by_speed, 0.0], abs=GOOD)  # the rod takes what points along it
    assert grad["m"] == pytest.approx(0.0, abs=GOOD)
    assert error["g"] < 1e-6


def test_gradient_of_an_ode_by_an_array_of_parameters_and_by_its_start_is_exact():
    decay = Ode(lambda y, p: -p.rate * y, params={"rate": np.array([0.5, 1.0])})
    value, grad = gradient(lambda sol: sol.y[-1], decay, 2.0, y0=[3.0, 0.0], wrt=["rate", "y0"])
    assert value == pytest.approx([3 * np.exp(-1), 0.0], abs=1e-9)
    assert grad["rate"] == pytest.approx(np.diag([-6 * np.exp(-1), 0.0]), abs=GOOD)
    assert grad["y0"] == pytest.approx(np.diag(np.exp([-1.0, -2.0])), abs=GOOD)  # also where the value is zero


def test_gradient_of_a_dae_by_its_start_is_exact():
    """x'' = -y x on the unit circle turns evenly: the angle at the end grows by the time for each unit of the first speed."""
    turning = Dae(order=2, f=lambda x: 0 * x, B=lambda x: x[:, None], g=lambda x: x @ x - 1)
    _, grad = gradient(lambda sol: sol.q[-1, :2], turning, 2.0, x0=[1.0, 0.0], dx0=[0.0, 0.5], wrt=["x0", "dx0"])
    across = np.array([-np.sin(1.0), np.cos(1.0)])  # the angle at the end is 2 * 0.5
    assert grad["dx0"] @ [0.0, 1.0] == pytest.approx(2.0 * across, abs=GOOD)
    assert grad["x0"] @ [0.0, 1.0] + grad["dx0"] @ [-0.5, 0.0] == pytest.approx(across, abs=GOOD)  # the start turned as a whole


def test_gradient_of_a_joint_force_by_a_mass_is_the_force_of_that_mass():
    m = Mechanism(gravity=(0, -9.81))
    m.fixed("wall", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=2.0)), at=(0, 0))
    value, grad = gradient(lambda sol: sol["wall"].force[-1, 1], m, 0.1, wrt="bar.mass")
    assert value == pytest.approx(2 * 9.81) and grad["bar.mass"] == pytest.approx(9.81)


def test_a_loss_with_a_corner_is_known_by_its_error():
    corner = Ode(lambda y, p: 0.0 * y + p.rate, params={"rate": 0.0})
    found = gradient(lambda sol: abs(sol.y[-1, 0] - 1e-3), corner, 1.0, y0=[0.0], wrt="rate")
    value, error = found.value, found.error
    assert value == pytest.approx(1e-3)
    assert error["rate"] > 0.01  # the derivative jumps from -1 to 1 within the steps


@pytest.mark.parametrize("loss, more, kind, said", [
    (last_x, {"wrt": "gg"}, BadArgument, "wrt='gg' is no parameter and no start here. Did you mean 'g'"),
    (last_x, {"wrt": []}, BadArgument, "needs wrt="),
    (last_x, {"wrt": 3}, BadArgument, "needs wrt=: names of parameters, or of a start such as 'v0', got 3"),
    (3, {"wrt": "g"}, BadArgument, "loss=3 must be a function of a run"),
    (lambda: 1.0, {"wrt": "g"}, BadArgument, "must be a function of a run, for example lambda sol"),
    (lambda sol: "far", {"wrt": "g"}, BadArgument, "the loss of the run itself must be a number or an array of numbers, got 'far'"),
    (last_x, {"wrt": "g", "nearby": 0.0}, BadArgument, "nearby=0.0 must be a positive number"),
    (last_x, {}, UnknownArgument, "missing a required argument: 'wrt'"),
    (last_x, {"wrt": "g", "params": {"m": [1.0]}}, BadArgument, r"varies the parameters itself.*with_params"),
    (last_x, {"wrt": "L"}, StepFailed, 'the run with L moved by -4 steps of nearby failed at t = 0: .*initial="project"'),
    (lambda sol: np.nan, {"wrt": "g"}, BadArgument, "the loss of the run itself is nan"),
])  # fmt: skip
def test_what_cannot_be_differentiated_is_told(loss, more, kind, said):
    with pytest.raises(kind, match=said):
        gradient(loss, SWING, 0.5, **HANGING, **more)


def test_a_length_that_moves_the_constraint_is_differentiated_where_starts_are_projected():
    _, grad = gradient(lambda sol: sol.q[0, 1], SWING, 0.5, **HANGING, wrt="L", initial="project")
    assert grad["L"] == pytest.approx(-1.0, abs=GOOD)
