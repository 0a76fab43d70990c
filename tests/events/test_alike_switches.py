"""Switches of one function, such as `v > 0` and `v < 0`, and switches inside the branches of one that the motion goes along."""

import numpy as np
import pytest

from holonomic import DOP853, RK45, Ode, Radau, System, simulate

TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def three_ways(v):
    if v > 0:
        return 1.0
    elif v < 0:
        return -1.0
    return 0.0


def two_ways(v):
    return 1.0 if v > 0 else -1.0


def by_falling(v):
    if v < 0:
        return -1.0
    return 1.0


def belt(law, mu=1.5):
    """A mass on a spring, on a belt that goes to and fro, with dry friction."""
    return System(mass=[[1.4]], force=lambda t, q, v: [1.2 * np.sin(1.3 * t) - 0.1 * q[0] - mu * law(v[0] - 0.4 * np.sin(2 * t))])


@pytest.mark.parametrize("integrator", [DOP853(), RK45(), None], ids=["DOP853", "RK45", "left open"])
@pytest.mark.parametrize("v0", [0.0, 0.7, -0.7])
def test_friction_in_three_ways_is_that_in_two(recwarn, integrator, v0):
    given = {"q0": [0.3], "v0": [v0], **TIGHT} | ({} if integrator is None else {"integrator": integrator})
    two, three = (simulate(belt(law), 12.0, **given) for law in (two_ways, three_ways))
    assert sum(len(log.along) for log in two.switches.values()) >= 4  # it sticks and slips to both sides
    assert three.q[-1, 0] == pytest.approx(two.q[-1, 0], abs=5e-8)
    assert three.v[-1, 0] == pytest.approx(two.v[-1, 0], abs=5e-8)
    assert not [str(warning.message) for warning in recwarn]


def test_friction_is_in_force_where_it_holds_in_three_ways():
    """Between -mu and mu, not between 0 and mu: it holds a push that changes its sign."""
    pushed = System(mass=np.eye(1), force=lambda t, v: [1.5 * np.cos(t) - 2.0 * three_ways(v[0])])
    sol = simulate(pushed, 9.0, q0=[0.0], v0=[1.0], integrator=DOP853(), **TIGHT)
    (end,) = (log.along[0] for log in sol.switches.values() if len(log.along))
    assert np.max(np.abs(sol(np.linspace(end, 9.0, 50)).v)) < 1e-12
    assert [log.t.tolist() for log in sol.switches.values() if len(log.along)] == [[end]]


@pytest.mark.parametrize("second", [two_ways, by_falling, np.sign, lambda v: np.where(v < 0, -1.0, 1.0)])
def test_two_laws_of_one_speed_are_one_of_their_sum(second):
    both = System(mass=np.eye(1), force=lambda t, v: [4.0 * np.sin(t) - 2.0 * two_ways(v[0]) - 0.5 * second(v[0])])
    one = System(mass=np.eye(1), force=lambda t, v: [4.0 * np.sin(t) - 2.5 * two_ways(v[0])])
    ends = [simulate(each, 15.0, q0=[0.0], v0=[0.5], integrator=DOP853(), **TIGHT).q[-1, 0] for each in (both, one)]
    assert ends[0] == pytest.approx(ends[1], abs=2e-8)


@pytest.mark.parametrize("law", [three_ways, two_ways, np.sign])
def test_a_stack_does_what_a_steep_smooth_law_does(law):
    """What changes one friction changes the others at once: a motion along a switch may end where another one jumps."""
    M = np.array([[1.63, 0.24, 0.19], [0.24, 1.51, 0.23], [0.19, 0.23, 3.49]])

    def force(t, v, law):
        one = 2.37 * law(v[1] - v[0] - 1.34 * np.sin(1.49 * t))
        two = 0.33 * law(1.8 * v[0] - 0.8 * v[1] - 1.8 * v[2])
        push = [2.17 * np.sin(0.92 * t + 3.02), 0.64 * np.sin(0.7 * t + 1.69), 1.45 * np.sin(2.89 * t + 3.94)]
        return [push[0] + one - 1.8 * two, push[1] - one + 0.8 * two, push[2] + 1.8 * two]

    start = {"q0": [0.53, -2.54, -0.43], "v0": [-0.97, 0.67, 1.02]}
    sharp = simulate(System(mass=M, force=lambda t, v: force(t, v, law)), 5.0, integrator=DOP853(), **start, **TIGHT)
    smooth = System(mass=M, force=lambda t, v: force(t, v, lambda rel: np.tanh(rel / 1e-6)))
    reference = simulate(smooth, 5.0, integrator=Radau(), rtol=1e-7, atol=1e-10, max_steps=10**6, **start)
    assert sharp.q[-1] == pytest.approx(reference.q[-1], abs=1e-4)  # what the smooth law creeps in 5 s, and its error
    assert sum(len(log.along) for log in sharp.switches.values()) >= 2


def test_a_motion_along_a_switch_ends_where_another_one_changes_what_would_hold_it():
    """Two speeds that share a mass: one reaches zero while the other sticks, and the friction that turns pulls it loose."""
    M = np.array([[2.32, 0.074], [0.074, 2.507]])

    def force(t, v, law):
        one, two = 0.37 * law(v[0] - v[1]), 1.2 * law(1.2 * v[0] + 0.5 * v[1])
        return [np.sin(2.0 * t + 1.0) - 0.2 * v[0] - one - 1.2 * two, 3.8 * np.sin(1.7 * t + 0.4) - 0.2 * v[1] + one - 0.5 * two]

    start = {"q0": [0.0, 0.0], "v0": [0.94, 0.27]}
    sharp = simulate(System(mass=M, force=lambda t, v: force(t, v, two_ways)), 12.0, integrator=DOP853(), **start, **TIGHT)
    for t in np.linspace(0.05, 11.95, 300):  # the share that holds is a friction that there is
        at = sharp(t)
        held = M @ at.a - np.array(force(t, at.v, lambda rel: 0.0))  # = -Rᵀ friction
        friction = np.linalg.solve(np.array([[1.0, 1.2], [-1.0, 0.5]]), -held) / [0.37, 1.2]
        speeds = np.array([at.v[0] - at.v[1], 1.2 * at.v[0] + 0.5 * at.v[1]])
        assert np.all(np.abs(friction) <= 1.0 + 1e-6), t
        assert np.all((np.abs(speeds) < 1e-9) | (np.abs(friction - np.sign(speeds)) < 1e-6)), t


def inside_true(y):
    if y[0] > 0:
        down = -3.0 if y[1] > 1 else -1.0
        return [down, 1.0]
    return [1.0, 2.0]


def inside_false(y):
    if y[0] > 0:
        return [-1.0, 1.0]
    up = 3.0 if y[1] > 1 else 1.0
    return [up, 2.0]


def as_select(y):
    above = y[0] > 0
    return [np.where(above, np.where(y[1] > 1, -3.0, -1.0), 1.0), np.where(above, 1.0, 2.0)]


@pytest.mark.parametrize(("rhs", "share"), [(inside_true, 0.25), (inside_false, 0.75), (as_select, 0.25)])
def test_a_switch_in_one_branch_is_watched_while_the_motion_goes_along_the_other(rhs, share):
    """The mean that stays on y₀ = 0 is another one from y₁ = 1 on."""
    sol = simulate(Ode(rhs), 2.0, y0=[0.5, 0.0], integrator=DOP853())
    change = 0.5 + 0.5 / 1.5  # it is at y₁ = 0.5 when it comes to y₀ = 0, after 0.5 s, and has half of both there
    assert sol.y[-1] == pytest.approx([0.0, 1.0 + (2.0 - change) * (2.0 - share)], abs=1e-9)


def test_three_at_rest_together_are_sorted_out_one_by_one():
    """Where all would change together they went round in a circle; who sticks and who slips is found all the same."""
    M, R, mu = np.diag([1.19, 0.98, 0.8]), np.array([[1.0, -1.0, 0.0], [1.0, 0.0, 0.0], [1.4, -0.7, -0.7]]), [1.59, 2.48, 1.19]
    push = lambda t: [0.21 * np.sin(0.72 * t + 0.59), 3.82 * np.sin(3.21 * t + 0.82), 3.29 * np.sin(2.0 * t + 1.2)]

    def force(t, v, law):
        slips = [sum(R[j, i] * v[i] for i in range(3) if R[j, i]) for j in range(3)]
        return [push(t)[i] - sum(mu[j] * R[j, i] * law(slips[j]) for j in range(3) if R[j, i]) for i in range(3)]

    rest = System(mass=M, force=lambda t, v: force(t, v, lambda rel: -1.0 if rel <= 0 else 1.0))
    for integrator in (DOP853(), RK45()):
        sol = simulate(rest, 5.0, q0=np.zeros(3), v0=np.zeros(3), integrator=integrator, **TIGHT)
        for t in np.linspace(1e-3, 4.99, 200):
            at = sol(t)
            friction, slips = np.linalg.solve(R.T, np.array(push(t)) - M @ at.a) / mu, R @ at.v
            assert np.all(np.abs(friction) <= 1.0 + 1e-6), t
            assert np.all((np.abs(slips) < 1e-9) | (np.abs(friction - np.sign(slips)) < 1e-6)), t
