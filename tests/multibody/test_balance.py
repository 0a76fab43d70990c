"""Random machines: what joints, drives, couplings and gears give balances every body, however they share bodies."""

import numpy as np
import pytest

from holonomic import load, simulate, sweep
from holonomic.errors import BadArgument, HolonomicError
from holonomic.multibody import Mechanism, rod

from .random_machines import Machine

LEFT = 1e-8  # of the largest force or torque: accelerations and multipliers are solved for together, to rounding
QUICK = {2: 30, 3: 12}
REFUSED = 0.06  # of random machines: singular where they are drawn, or on the way


def unbalanced(seeds, dimension, compile):
    """Machines that are out of balance, and those that do not run."""
    wrong, refused = {}, {}
    for seed in seeds:
        machine = Machine(seed, dimension)
        try:
            sol = simulate(machine.m, 0.02, save_at=3, compile=compile)
        except HolonomicError as problem:
            refused[seed] = str(problem)
            continue
        left = machine.left(sol)
        if not left < LEFT:
            wrong[seed] = left
    return wrong, refused


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dimension", [2, 3])
def test_random_machines_are_in_balance(dimension):
    wrong, refused = unbalanced(range(QUICK[dimension]), dimension, "never")
    assert not wrong
    assert len(refused) <= max(1, REFUSED * QUICK[dimension]), refused


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dimension", [2, 3])
def test_as_code_they_are_in_balance_too(dimension):
    assert unbalanced(range(100, 104), dimension, "now") == ({}, {})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dimension", [2, 3])
def test_hundreds_of_random_machines_are_in_balance(dimension):
    wrong, refused = unbalanced(range(1000, 1250), dimension, "never")
    assert not wrong
    assert len(refused) <= REFUSED * 250, refused


def two_links(ratio=0.7):
    """A chain of two links whose hinges are coupled: the crank belongs to both of them."""
    m = Mechanism(gravity=(0, 0))
    m.body("crank", rod((0, 0), (1, 0), mass=1.0))
    m.body("link", rod((1, 0), (2, 0), mass=1.0))
    m.revolute("A", "ground", "crank", at=(0, 0))
    m.revolute("B", "crank", "link", at=(1, 0))
    m.couple("tie", "B", "A", ratio=ratio)
    m.motor("B", torque=1.0)
    return m


def coupling_torque(a, b, da, db, r):
    """T on A and -r T on B of two rods of 1 m and 1 kg with 1 N m on B, by Lagrange's equations for the two angles."""
    c, s, J = np.cos(b), np.sin(b), 1 / 12
    M = np.array([[1 / 3 + J + 1.25 + c, J + 0.25 + 0.5 * c], [J + 0.25 + 0.5 * c, J + 0.25]])
    h = np.array([-0.5 * s * (2 * da * db + db * db), 0.5 * s * da * da])
    return np.linalg.solve(np.column_stack([M @ (r, 1.0), (-1.0, r)]), np.array([0.0, 1.0]) - h)[1]


@pytest.mark.parametrize("compile", ["now", "never"])
def test_a_coupling_whose_joints_share_a_body_says_what_each_of_them_feels(compile, tmp_path):
    sol = simulate(two_links(), 0.5, save_at=4, compile=compile)
    A, B = sol["A"], sol["B"]
    torque = [coupling_torque(*each, 0.7) for each in zip(A.angle, B.angle, A.speed, B.speed, strict=True)]
    sol.save(tmp_path / "run.nc")
    for run in (sol, load(tmp_path / "run.nc")):
        np.testing.assert_allclose(run["tie"].torque, torque, rtol=1e-9)
        np.testing.assert_allclose(run["tie"].effort, torque, rtol=1e-9)
        np.testing.assert_allclose(run["A"].torque, torque, rtol=1e-9)
        np.testing.assert_allclose(run["B"].torque, -0.7 * np.array(torque), rtol=1e-9)
        np.testing.assert_allclose(run["A"].power, -run["B"].power, rtol=1e-9)
    runs = sweep(two_links(), 0.5, params={"tie.ratio": [0.7]}, save_at=4, compile=compile)
    np.testing.assert_allclose(runs["tie"].torque[0], torque, rtol=1e-7)
    np.testing.assert_allclose(runs["B"].torque[0], -0.7 * np.array(torque), rtol=1e-7)


def test_an_impact_is_shared_by_a_coupling_as_its_torque_is():
    """The crank is hit by 1 N m s on B alone: M (ȧ, ḃ) = (T, 1 - r T) by hand, from rest."""
    r = 0.7
    m = two_links(r)
    q = m.assembly.q
    M = np.array([[1 / 3 + 1 / 12 + 2.25, 1 / 12 + 0.75], [1 / 12 + 0.75, 1 / 3]])
    rates = np.linalg.solve(M, [0.0, 1.0])  # of the two links without the coupling
    v0 = np.array([0, rates[0] / 2, rates[0], 0, rates[0] + (rates[0] + rates[1]) / 2, rates[0] + rates[1]])
    sol = simulate(m, 0.1, q0=q, v0=v0, initial="impact", save_at=2)
    _, T = np.linalg.solve(np.column_stack([M @ (r, 1.0), (-1.0, r)]), M @ rates)
    np.testing.assert_allclose(sol["tie"].angular_impulse, T, rtol=1e-9)
    np.testing.assert_allclose(sol["A"].angular_impulse, T, rtol=1e-9)
    np.testing.assert_allclose(sol["B"].angular_impulse, -r * T, rtol=1e-9)


def test_a_gear_with_a_housing_is_between_two_bodies():
    m = Mechanism()
    m.body("wheel", at=(0, 0), mass=1.0, inertia=1.0)
    with pytest.raises(BadArgument, match=r"gear 'mesh': with ratio= the housing is the ground, which cannot be a wheel, too\."):
        m.gear("mesh", "wheel", "ground", ratio=2.0)
