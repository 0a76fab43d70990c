"""System.linear: linear equations of motion from their matrices, and StrangenessFree with q' = Z v."""

import numpy as np
import pytest

from holonomic import BackwardEuler, BadArgument, IncompatibleMethods, Index3, Radau, StateSpace, StrangenessFree, System, simulate

START = {"q0": [1.0, 0.5], "v0": [1.0, 0.5]}


def oscillator(**more):
    """Two masses on springs, q1 - 2 q2 = 0 kept: (4 m1 + m2) q2'' = -(4 k1 + k2) q2."""
    return System.linear(np.diag([1.0, 2.0]), np.diag([-3.0, -1.0]), None, np.array([[1.0, -2.0]]), **more)


def test_constant_matrices_give_the_motion_of_one_oscillator():
    sol = simulate(oscillator(), 2.0, q0=[1.0, 0.5], v0=[0.0, 0.0], rtol=1e-10, atol=1e-12)
    w = np.sqrt(13.0 / 6.0)
    assert sol.q[-1, 1] == pytest.approx(0.5 * np.cos(w * 2.0), abs=1e-8)


def test_inputs_forces_and_moving_constraints_are_those_of_a_system_written_by_hand():
    moving = System.linear(
        np.diag([1.0, 2.0]), lambda p: np.diag([-p.k, -1.0]) + np.array([[0 * p.k, 0 * p.k]] * 2), np.diag([-0.1, -0.2]),
        lambda t: np.array([[1.0 + 0 * t, -2.0 + 0.1 * t]]), f=lambda t: np.array([np.sin(t), 0 * t]),
        r=lambda t: np.array([0.2 * t]), params={"k": 3.0},
    )  # fmt: skip
    by_hand = System(
        mass=np.diag([1.0, 2.0]), params={"k": 3.0},
        force=lambda t, q, v, p: np.array([-p.k * q[0] - 0.1 * v[0] + np.sin(t), -q[1] - 0.2 * v[1]]),
        constraint=lambda t, q: q[0] + (0.1 * t - 2.0) * q[1] + 0.2 * t,
    )  # fmt: skip
    one, two = (simulate(each, 1.0, q0=[1.0, 0.5], v0=[0.0, 0.125], rtol=1e-9, atol=1e-10) for each in (moving, by_hand))
    assert np.abs(one.q[-1] - two.q[-1]).max() < 1e-12
    assert np.abs(one.lam[-1] - two.lam[-1]).max() < 1e-10


@pytest.mark.parametrize("formulation", [StrangenessFree("null-space"), StrangenessFree("rows"), StateSpace()], ids=repr)
def test_square_kinematics_are_selected_from(formulation):
    turning = oscillator(Z=lambda t: np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]))
    start = {"q0": [1.0, 0.5], "v0": [0.2, 0.1]}
    one = simulate(turning, 2.0, **start, formulation=formulation, integrator=Radau(), rtol=1e-8, atol=1e-10)
    two = simulate(turning, 2.0, **start, rtol=1e-11, atol=1e-12)
    assert np.abs(one.q[-1] - two.q[-1]).max() < 1e-6
    assert np.abs(one.lam[-1] - two.lam[-1]).max() < 1e-5


def test_one_newton_iteration_solves_a_linear_step():
    once, often = (
        simulate(oscillator(), 1.0, **START, formulation=Index3(), integrator=BackwardEuler(once=way), step=0.01)
        for way in (True, False)
    )
    assert np.abs(once.q - often.q).max() < 1e-13


def test_what_cannot_be_meant_is_refused():
    with pytest.raises(BadArgument, match=r"G\(\) asks for 'q'; it can have t, p, u"):
        System.linear(np.eye(2), G=lambda q: q)
    with pytest.raises(BadArgument, match="need G, one row per constraint"):
        System.linear(np.eye(2))
    system = System(
        mass=np.eye(1), kinematics=lambda q: np.array([[-q[1]], [q[0]]]), invariants={"norm": lambda q: q @ q}, force=[0.3]
    )
    with pytest.raises(IncompatibleMethods, match="as many coordinates as velocities"):
        simulate(system, 1.0, q0=[1, 0], v0=[1], formulation=StrangenessFree(), integrator=Radau())
