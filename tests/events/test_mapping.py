"""Events that map the state: impacts, and what an impulse does to constrained bodies."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ellipk

from holonomic import RK4, RK45, Euler, Event, Ode, PostStabilization, S_both, System, simulate

G = 9.81
BALL = System(mass=np.eye(2), force=[0, -G])


def bounce(e, floor=0.0):
    return Event(lambda q: q[1] - floor, "falling", then=lambda q, v: (q, np.array([v[0], -e * v[1]])))


def impacts(height, e, count):
    """Times of the impacts of a ball dropped from rest."""
    first = np.sqrt(2 * height / G)
    return first * (1 + 2 * np.cumsum(np.concatenate([[0.0], e ** np.arange(1, count)])))


@pytest.mark.parametrize("floor", [0.0, 1.0])
def test_a_bouncing_ball_hits_the_floor_at_the_exact_times(floor):
    e = 0.9
    exact = impacts(1.0, e, 40)
    exact = exact[exact < 8.0]
    sol = simulate(BALL, 8.0, q0=[0, floor + 1.0], v0=[1, 0], events={"floor": bounce(e, floor)})
    log = sol.events["floor"]
    assert len(log.t) == len(exact) > 20
    assert np.max(np.abs(log.t - exact)) < 1e-9
    assert np.max(np.abs(log.q[:, 1] - floor)) < 1e-12
    # the log holds the state before the impact: each one e times slower than the one before
    assert np.allclose(log.v[1:, 1] / log.v[:-1, 1], e, atol=1e-9)
    assert np.allclose(sol.q[:, 0], sol.t, atol=1e-12)


@pytest.mark.parametrize(("integrator", "step"), [(RK4(), 0.1), (RK4(), 0.5), (RK45(), None)])
def test_flights_shorter_than_a_step_are_not_lost(integrator, step):
    # flights of 0.9, 0.36, 0.14, ... s with steps of 0.1 and 0.5 s; RK4 is exact for parabolas
    e = 0.4
    exact = impacts(1.0, e, 8)
    sol = simulate(BALL, 1.05, q0=[0, 1.0], v0=[0, 0], events={"floor": bounce(e)}, integrator=integrator, step=step)
    found = sol.events["floor"].t
    assert np.max(np.abs(found - exact[: len(found)])) < 1e-9
    assert len(found) == np.sum(exact < 1.05)
    assert np.min(sol.q[:, 1]) > -1e-9


def test_rows_hold_the_state_before_and_after_an_impact():
    sol = simulate(BALL, 1.0, q0=[0, 1.0], v0=[0, 0], events={"floor": bounce(0.5)})
    at = np.flatnonzero(sol.t == sol.events["floor"].t[0])
    assert len(at) == 2
    assert np.allclose(sol.v[at[1], 1], -0.5 * sol.v[at[0], 1])


def test_an_event_beside_a_mapping_one_is_counted_as_often():
    events = {"hit": lambda q: q[1], "floor": bounce(0.8), "later": Event(lambda q: q[1], "falling")}
    sol = simulate(BALL, 3.0, q0=[0, 1.0], v0=[0, 0], events=events)
    assert len(sol.events["floor"].t) == 6
    assert np.array_equal(sol.events["hit"].t, sol.events["floor"].t)
    assert np.array_equal(sol.events["later"].t, sol.events["floor"].t)


def test_a_jump_of_the_state_is_no_zero_of_another_event():
    # v[1] jumps from below to above zero at impacts and crosses zero only at the tops
    sol = simulate(BALL, 2.0, q0=[0, 1.0], v0=[0, -1e-3], events={"floor": bounce(0.8), "top": lambda v: v[1]})
    assert np.all(sol.events["top"].q[:, 1] > 0.1)
    assert len(sol.events["top"].t) == len(sol.events["floor"].t) - (sol.q[-1, 1] < 0.1 and sol.v[-1, 1] > 0)


def test_passing_through_with_a_changed_speed_counts_each_passage_once():
    slow = {"edge": Event(lambda q: q[0] - 1.0, then=lambda q, v: (q, 0.5 * v))}
    sol = simulate(System(mass=[[1.0]], force=[0.0]), 10.0, q0=[0.0], v0=[1.0], events=slow)
    assert np.allclose(sol.events["edge"].t, [1.0], atol=1e-14)
    assert np.allclose(sol.end.q, 1.0 + 0.5 * 9.0)


def test_loose_tolerances_neither_lose_nor_double_an_impact():
    # an oscillator against a wall at its centre: an impact every half period, whatever the error of the run
    spring = System(mass=[[1.0]], force=lambda q: -q)
    wall = {"wall": Event(lambda q: q[0], then=lambda q, v: (q, -v))}
    for rtol in (1e-2, 1e-4, 1e-8):
        sol = simulate(spring, 100.0, q0=[1.0], v0=[0.0], events=wall, rtol=rtol, atol=rtol)
        assert len(sol.events["wall"].t) == 32
        # both sides of an impact are at the wall itself, not an error of the run away: a time of 100 is known to 8 ε t
        assert np.max(np.abs(sol.events["wall"].q)) < 2 * 1.8e-13
    assert np.allclose(sol.events["wall"].t, np.pi / 2 + np.pi * np.arange(32), atol=1e-5)


@pytest.mark.parametrize("stabilization", ["auto", S_both(), None])
def test_a_pendulum_against_a_wall_keeps_rod_and_energy(stabilization):
    pendulum = System(mass=np.eye(2), potential=lambda q: G * q[1], constraint={"rod": lambda q: q @ q - 1})
    wall = {"wall": Event(lambda q: q[0], "falling", then=lambda q, v: (q, -v))}
    sol = simulate(pendulum, 20.0, q0=[1, 0], v0=[0, 0], events=wall, rtol=1e-10, atol=1e-12, stabilization=stabilization)
    # quarter swing from the horizontal, then half swings: T = 4 K(sin² 45°)/√g
    period = 4 * ellipk(0.5) / np.sqrt(G)
    exact = period * np.arange(0.25, 20.0 / period, 0.5)
    found = sol.events["wall"].t
    assert len(found) == len(exact)
    # 17 half swings at rtol 1e-10 with unit growth of the error per swing
    assert np.max(np.abs(found - exact)) < 1e-7
    allowed = 1e-9 if stabilization is not None else 1e-6
    assert np.max(np.abs(np.sum(sol.q**2, axis=1) - 1)) < allowed
    assert np.max(np.abs(np.sum(sol.q * sol.v, axis=1))) < allowed
    energy = 0.5 * np.sum(sol.v**2, axis=1) + G * sol.q[:, 1]
    assert np.max(np.abs(energy)) < 1e-7


def test_an_impulse_acts_along_the_constraints_in_the_mass_metric():
    # two unequal masses on a rigid rod, in line with their motion; the first hits a wall elastically
    m1, m2, w = 1.0, 5.0, 2.0
    dumbbell = System(
        mass=np.diag([m1, m1, m2, m2]), force=np.zeros(4), constraint={"rod": lambda q: (q[2:] - q[:2]) @ (q[2:] - q[:2]) - 1}
    )
    hit = Event(lambda q: q[0], "falling", then=lambda q, v: (q, np.array([-v[0], v[1], v[2], v[3]])))
    sol = simulate(dumbbell, 1.5, q0=[1, 0, 2, 0], v0=[-w, 0, -w, 0], events={"wall": hit})
    assert np.allclose(sol.events["wall"].t, [0.5], atol=1e-12)
    # the rod's impulse acts on both, opposite: their common speed is that of the momentum m1 w - m2 w
    common = (m1 * w - m2 * w) / (m1 + m2)
    assert common < 0  # still towards the wall: with direction="falling" the wall has been passed for good
    assert np.allclose(sol.end.v, [common, 0, common, 0], atol=1e-12)
    # not the identity metric, which would bring both to rest
    assert abs(common) > 1.0


def test_an_impulse_turns_a_rod_that_is_hit_at_its_end():
    # a rod at right angles to its motion; mass 1 thrown back by a wall, the other goes on: no impulse along the rod
    dumbbell = System(
        mass=np.diag([1.0, 1.0, 3.0, 3.0]), force=np.zeros(4), constraint={"rod": lambda q: (q[2:] - q[:2]) @ (q[2:] - q[:2]) - 1}
    )
    hit = Event(lambda q: q[1], "falling", then=lambda q, v: (q, np.array([v[0], -v[1], v[2], v[3]])))
    sol = simulate(dumbbell, 0.6, q0=[0, 0.5, 1, 0.5], v0=[0, -1, 0, -1], events={"wall": hit})
    after = np.flatnonzero(sol.t == sol.events["wall"].t[0])[1]
    assert np.allclose(sol.v[after], [0, 1, 0, -1], atol=1e-12)
    assert np.allclose(sol.v[after:, 1] + 3.0 * sol.v[after:, 3], 1.0 - 3.0, atol=1e-9)  # momentum


def test_mapped_velocities_are_made_consistent_with_redundant_rows():
    twice = System(mass=np.eye(2), force=[0, -G], constraint={"rod": lambda q: q @ q - 1, "again": lambda q: 2 * q @ q - 2})
    kick = Event(lambda q: q[0], "falling", then=lambda q, v: (q, np.array([1.0, 2.0])))
    with pytest.warns(UserWarning, match="redundant"):
        sol = simulate(twice, 0.7, q0=[1, 0], v0=[0, 0], events={"kick": kick}, redundant="drop")
    after = np.flatnonzero(sol.t == sol.events["kick"].t[0])[1]
    assert np.allclose(sol.v[after], [1.0, 0.0], atol=1e-12)  # the radial part is taken by the rod


def test_two_walls_hit_at_once_both_act():
    corner = {
        "right": Event(lambda q: q[0] - 1, "rising", then=lambda q, v: (q, v * np.array([-1, 1]))),
        "top": Event(lambda q: q[1] - 1, "rising", then=lambda q, v: (q, v * np.array([1, -1]))),
    }
    free = System(mass=np.eye(2), force=[0.0, 0.0])
    sol = simulate(free, 2.0, q0=[0.25, 0.25], v0=[1.0, 1.0], events=corner)
    assert np.allclose(sol.events["right"].t, [0.75], atol=1e-14)
    assert np.allclose(sol.events["top"].t, [0.75], atol=1e-14)
    assert np.allclose(sol.end.q, [-0.25, -0.25], atol=1e-12)
    # reached along different ways: equal up to rounding only
    sol = simulate(free, 2.0, q0=[0.1, 0.7], v0=[0.9, 0.3], events=corner)
    assert len(sol.events["right"].t) == len(sol.events["top"].t) == 1
    assert np.allclose(sol.end.v, [-0.9, -0.3], atol=1e-12)
    assert np.allclose(sol.end.q, [0.1, 0.7], atol=1e-12)


def test_a_box_of_walls_holds_a_particle():
    walls = {}
    for axis, name in enumerate("xy"):
        flip = np.where(np.arange(2) == axis, -1.0, 1.0)
        for side in (-1, 1):
            walls[f"{name}{side:+d}"] = Event(
                lambda q, i=axis, s=side: 1 - s * q[i], "falling", then=lambda q, v, f=flip: (q, v * f)
            )
    v = np.array([1.0, np.sqrt(2.0)])
    sol = simulate(System(mass=np.eye(2), force=[0.0, 0.0]), 50.0, q0=[0, 0], v0=v, events=walls)
    assert np.max(np.abs(sol.q)) < 1 + 1e-12
    # unfolded, each coordinate passes a wall whenever its path 1 + v t has grown by 2
    for axis, name in enumerate("xy"):
        hits = len(sol.events[f"{name}+1"].t) + len(sol.events[f"{name}-1"].t)
        assert hits == int((v[axis] * 50 + 1) // 2)


def test_a_terminal_event_at_the_same_instant_ends_the_run_before_the_mapping():
    events = {"floor": bounce(0.8), "stop": Event(lambda q: q[1], "falling", terminal=True)}
    sol = simulate(BALL, 3.0, q0=[0, 1.0], v0=[0, 0], events=events)
    assert sol.ended == "stop"
    assert sol.end.v[1] < 0  # not mapped
    assert len(sol.events["floor"].t) == len(sol.events["stop"].t) == 1


def test_an_ode_is_mapped_too_and_its_invariants_are_kept_at_their_new_values():
    # the energy is an invariant between the impacts and falls by e² at each
    ball = Ode(lambda y: np.array([y[1], -G]), invariants={"energy": lambda y: 0.5 * y[1] ** 2 + G * y[0]})
    e = 0.8
    floor = {"floor": Event(lambda y: y[0], "falling", then=lambda y: np.array([y[0], -e * y[1]]))}
    sol = simulate(ball, 2.0, y0=[1.0, 0.0], events=floor)
    exact = impacts(1.0, e, 10)
    assert np.max(np.abs(sol.events["floor"].t - exact[exact < 2.0])) < 1e-9
    energy = 0.5 * sol.y[:, 1] ** 2 + G * sol.y[:, 0]
    fallen = np.searchsorted(exact, sol.t[-1])
    assert np.allclose(energy[-1], G * e ** (2 * fallen), rtol=1e-9)


def test_backward_runs_map_too():
    turn = {"wall": Event(lambda q: q[0], then=lambda q, v: (q, -v))}
    sol = simulate(System(mass=[[1.0]], force=[0.0]), (0.0, -5.0), q0=[2.0], v0=[1.0], events=turn)
    assert np.allclose(sol.events["wall"].t, [-2.0], atol=1e-14)
    assert np.allclose(sol.end.q, [3.0])


def test_then_may_use_time_and_parameters():
    grow = Event(lambda t: t - 1.0, then=lambda t, q, v, p: (q + p.jump * t, v))
    free = System(mass=[[1.0]], force=[0.0], params={"jump": 3.0})
    sol = simulate(free, 2.0, q0=[0.0], v0=[0.0], events={"jump": grow})
    assert np.allclose(sol.end.q, [3.0])


@pytest.mark.parametrize("integrator", [RK4(), Euler()])
def test_fixed_step_runs_restart_their_grid_at_an_impact(integrator):
    sol = simulate(BALL, 1.0, q0=[0, 1.0], v0=[0, 0], events={"floor": bounce(1.0)}, integrator=integrator, step=0.01)
    at = sol.events["floor"].t[0]
    after = sol.t[sol.t > at]
    assert np.allclose(np.diff(after)[:-1], 0.01)
    assert np.isclose(after[0] - at, 0.01)


def test_impacts_work_with_post_stabilization():
    pendulum = System(mass=np.eye(2), force=[0, -G], constraint=lambda q: q @ q - 1)
    wall = {"wall": Event(lambda q: q[0], "falling", then=lambda q, v: (q, -0.5 * v))}
    sol = simulate(pendulum, 5.0, q0=[1, 0], v0=[0, 0], events=wall, stabilization=PostStabilization(), rtol=1e-8)
    # each swing back has e² of the energy of the one before
    hits = sol.events["wall"].t
    top = [1 + np.max(sol(np.linspace(a, b, 100)).q[:, 1]) for a, b in pairwise(hits)]
    # the very top lies within 1/200 of a swing of one of these times: 3e-4 of its height below it
    assert np.allclose(top[:3], 0.25 ** np.arange(1, 4), rtol=1e-3)
