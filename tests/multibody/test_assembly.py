"""Assembling: as drawn, by joint names, nearest closure; mobility, redundancy, singular positions."""

import numpy as np
import pytest

from holonomic import InconsistentState, RedundancyWarning, simulate
from holonomic.multibody import AssemblyWarning, Mechanism, rod
from holonomic.multibody.assemble import Kinematics

from .machines import four_bar, pendulum, slider_crank, wheel_pair
from .random_machines import Machine


def open_pair(gap):
    """Two rods whose common pin is drawn in two places."""
    m = Mechanism()
    first, second = m.body("first", rod((0, 0), (1, 0), mass=1.0)), m.body("second", rod((1, 0), (2, 0), mass=1.0))
    m.revolute("O", m.ground, first, at=(0, 0))
    m.revolute("A", first, second, at=((1, 0), (1 + gap, 0)))
    return m


def test_a_drawing_that_closes_is_taken_as_it_is():
    m = slider_crank()
    drawn = m._drawn_position()
    assert np.array_equal(m.assembly.q, drawn)
    assert not np.any(m.assembly.v)
    assert m.assembly.gaps == {}


def test_a_small_gap_is_closed_and_reported():
    m = open_pair(2e-3)
    with pytest.warns(AssemblyWarning, match=r"joint 'A' was open by 0\.002 in the drawing"):
        q = m.assembly.q
    assert m.assembly.gaps == {"A": pytest.approx(2e-3)}
    assert 0.0 < m.assembly.moved < 2.1e-3
    sol = simulate(m, 0.1)
    assert np.allclose(sol.q[0], q)


def test_a_large_gap_is_refused_by_name_and_closed_when_asked():
    m = open_pair(0.3)
    with pytest.raises(InconsistentState, match=r"joint 'A' is open by 0\.3 in the drawing"):
        simulate(m, 0.1)
    m.assemble()
    assert m.assembly.gaps["A"] == pytest.approx(0.3)
    simulate(m, 0.1)


def test_assemble_moves_by_joint_names_along_the_same_closure():
    m = slider_crank()
    m.assemble({"O": 0.3})
    r, l = np.hypot(0.25, 0.433), np.hypot(1.436, 0.433)
    x = r * np.cos(0.3) + np.sqrt(l**2 - (r * np.sin(0.3)) ** 2)
    sol = simulate(m, 0.01)
    assert sol["O"].angle[0] == pytest.approx(0.3, abs=1e-12)
    assert sol["slider"].position[0] == pytest.approx([x, 0.0], abs=1e-12)


def test_assemble_counts_turns():
    m = slider_crank()
    m.assemble({"O": 1.0 + 4 * np.pi})
    assert m.assembly.values["O"] == pytest.approx(1.0 + 4 * np.pi)


def test_speeds_are_met_and_consistent():
    m = slider_crank()
    m.assemble({"O": 0.5}, speeds={"O": 3.0})
    sol = simulate(m, 0.01)
    assert sol["O"].speed[0] == pytest.approx(3.0, abs=1e-10)
    assert np.abs(sol.drift.velocity).max() < 1e-10


def test_the_other_closure_is_reached_from_near_it():
    m = four_bar()
    up = m.assemble().q
    flipped = {"b": (1.0, -0.5, -1.0), "c": (2.2, -0.9, -2.0)}
    down = m.assemble(near=flipped).q
    assert np.abs(up - down).max() > 0.3
    assert m.assembly.moved < 1.0


def test_what_cannot_be_reached_says_how_far_it_gets():
    m = four_bar()
    with pytest.raises(InconsistentState, match=r"joint 'D' comes no further than .* on the way to 9"):
        m.assemble({"D": 9.0})


def test_a_drive_brings_the_mechanism_to_its_first_value():
    m = slider_crank(angle=lambda t: 0.2 + t)
    sol = simulate(m, 0.5, save_at=3)
    np.testing.assert_allclose(sol["O"].angle, 0.2 + sol.t, atol=1e-9)
    with pytest.raises(ValueError, match=r"joint 'O' is driven and has the value 0.2 at t = 0, not 1"):
        m.assemble({"O": 1.0})


def test_a_run_goes_on_from_the_end_of_another():
    m = slider_crank(speed=2.0)
    whole, half = simulate(m, 1.0, rtol=1e-9), simulate(m, 0.5, rtol=1e-9)
    rest = simulate(m, 1.0, q0=half.end, rtol=1e-9)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], atol=1e-8)


def test_mobility_counts_freedom_and_drives():
    assert slider_crank().mobility().dof == 1
    assert slider_crank(speed=1.0).mobility().dof == 0
    assert pendulum().mobility().margin == pytest.approx(1.0, rel=0.5)


def test_a_spatial_four_bar_has_rank_17_of_20_and_one_degree_of_freedom():
    found = four_bar(3).mobility()
    assert (found.dof, found.rank, found.rows) == (1, 17, 20)
    assert sum(found.redundant.values()) == 3
    assert set(found.redundant) <= {"A", "B", "C", "D"}
    assert "17 of 20 rows independent" in str(found)


def test_redundant_joints_run_with_one_warning_and_the_motion_of_the_plane():
    flat, space = four_bar(2), four_bar(3)
    T = np.linspace(0, 2, 11)
    with pytest.warns(RedundancyWarning, match="3 of 20 constraint rows are redundant") as seen:
        solid = simulate(space, 2.0, rtol=1e-8, save_at=T)
    assert len(seen) == 1
    plane = simulate(flat, 2.0, rtol=1e-8, save_at=T)
    for name in "abc":
        np.testing.assert_allclose(solid[name].position[:, :2], plane[name].position, atol=1e-7)  # 10 rtol
    for name in "ABCD":
        np.testing.assert_allclose(solid[name].force[:, :2], plane[name].force, atol=1e-4)
        np.testing.assert_allclose(solid[name].angle, plane[name].angle - plane[name].angle[0], atol=1e-6)


def test_a_flat_parallelogram_is_singular_and_not_redundant():
    m = Mechanism(gravity=(0, 0))
    a = m.body("a", rod((0, 0), (1, 0), mass=1.0))
    b = m.body("b", rod((1, 0), (3, 0), mass=1.0))
    c = m.body("c", rod((2, 0), (3, 0), mass=1.0))
    for name, first, second, at in (("A", m.ground, a, (0, 0)), ("B", a, b, (1, 0)), ("C", b, c, (3, 0)),
                                    ("D", m.ground, c, (2, 0))):  # fmt: skip
        m.revolute(name, first, second, at=at)
    found = m.mobility()
    assert found.redundant == {}
    assert found.dof == 1
    assert found.margin < 1e-6


def robot(dimension):
    """Three links on hinges and a slide, and a wheel beside them, geared to another one."""
    z = (0.0,) * (dimension - 2)
    about = {} if dimension == 2 else {"axis": (0.0, 0.2, 1.0)}
    m = Mechanism(gravity=(0, -9.81, *z))
    for k, name in enumerate(("upper", "fore", "hand")):
        m.body(name, rod((k, 0, *z), (k + 1, 0.3, *z), mass=1.0))
    m.revolute("shoulder", "ground", "upper", at=(0, 0, *z), **about)
    m.revolute("elbow", "upper", "fore", at=(1, 0, *z), **about)
    m.prismatic("grip", "fore", "hand", at=(2, 0, *z), axis=(1, 0, *z))
    return m


@pytest.mark.parametrize("dimension", [2, 3])
def test_joints_that_are_not_named_stay(dimension):
    m = robot(dimension)
    before = m.assembly.values
    for name, value in (("elbow", 1.5), ("shoulder", -2.0), ("grip", 0.4)):
        found = m.assemble({name: value})
        assert found.values == pytest.approx(dict(before) | {name: value}, abs=1e-12)
        assert not found.followed and "took along" not in str(found)
    found = m.assemble({"elbow": 1.0, "grip": -0.2})
    assert found.values == pytest.approx(dict(before) | {"elbow": 1.0, "grip": -0.2}, abs=1e-12)


def test_a_coupled_joint_a_gear_and_a_loop_go_along_and_it_is_said():
    m = robot(2)
    before = m.assembly.values
    m.couple("tie", "elbow", "grip", ratio=0.1, offset=-0.1 * before["elbow"])
    found = m.assemble({"elbow": before["elbow"] + 1.0})
    assert found.values["shoulder"] == pytest.approx(before["shoulder"], abs=1e-12)
    assert found.followed == pytest.approx({"grip": 0.1})
    assert str(found).endswith("; loops took along 'grip' by 0.1. Of several closures, this is the one nearest to the start.")
    m = wheel_pair((0.1, 0.2))
    m.body("arm", rod((0.3, 0), (1, 0), mass=1.0))
    m.revolute("hand", "b", "arm", at=(0.4, 0))
    assert m.assemble({"A": 1.0}).followed == pytest.approx({"B": -0.5})
    assert m.assembly.values["hand"] == pytest.approx(0.0, abs=1e-12)
    m = four_bar()
    m.body("arm", rod((0.2, 1), (1, 2), mass=1.0))
    m.revolute("hand", "b", "arm", at=(0.5, 1.2))
    found = m.assemble({"A": m.assembly.values["A"] - 0.3})
    assert set(found.followed) == {"B", "C", "D"} and "hand" not in found.followed
    assert m.mobility().dof == 2


def test_a_ball_joint_that_is_not_named_stays_too():
    m = Mechanism(gravity=(0, 0, 0))
    m.body("a", at=(1, 0, 0), mass=1.0, inertia=(1, 1, 1))
    m.body("b", at=(1, 1, 0), mass=1.0, inertia=(1, 2, 1))
    m.body("c", at=(2, 1, 0.5), mass=1.0, inertia=(1, 2, 1))
    m.revolute("O", "ground", "a", at=(0, 0, 0), axis=(0, 0, 1))
    m.spherical("ball", "a", "b", at=(1, 0.5, 0))
    m.cylindrical("tube", "b", "c", at=(1.5, 1, 0), axis=(1, 0, 0))
    start = {name: simulate(m, 1e-6, save_at=2)[name].rotation[0] for name in "abc"}
    m.assemble({"O": 2.0, "tube": 1.0})
    sol = simulate(m, 1e-6, save_at=2)
    turn = {name: sol[name].rotation[0] @ start[name].T for name in "abc"}
    np.testing.assert_allclose(turn["b"], turn["a"], atol=1e-12)
    assert sol["tube"].position[0] == pytest.approx(0.0, abs=1e-12) and sol["tube"].angle[0] == pytest.approx(1.0)


def test_a_driven_point_stays_on_its_path_while_another_joint_is_moved():
    m = Mechanism()
    for k, name in enumerate(("upper", "fore", "hand")):
        m.body(name, rod((k, 0.3 * (k % 2)), (k + 1, 0.3 * ((k + 1) % 2)), mass=1.0))
    m.revolute("shoulder", "ground", "upper", at=(0, 0))
    m.revolute("elbow", "upper", "fore", at=(1, 0.3))
    m.revolute("wrist", "fore", "hand", at=(2, 0))
    m.point("tip", "fore", (2, 0))
    m.drive("tip", path=lambda t: (1.9 - t, 0.1))
    m.assemble({"wrist": 2.0})
    sol = simulate(m, 0.1)
    np.testing.assert_allclose(sol["tip"].position[0], (1.9, 0.1), atol=1e-10)
    assert sol["wrist"].angle[0] == pytest.approx(2.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dimension", [2, 3])
def test_random_machines_are_closed_where_a_joint_was_asked_for_and_trees_stay(dimension):
    """A joint moved by up to 0.4: it is there, every row is closed, and what moved with it without a loop is nothing."""
    there = 0
    for seed in range(6000, 6040 if dimension == 2 else 6015):
        machine = Machine(seed, dimension)
        m = machine.m
        try:
            before = dict(m.assembly.values)
            name = next(name for name in machine.hinges if name not in machine.drives)
            found = m.assemble({name: before[name] + machine.rng.uniform(-0.4, 0.4)})
        except (InconsistentState, StopIteration):  # loops that reach no further; no hinge
            continue
        k = Kinematics(m)
        assert max(k.gaps(0.0, found.q).values()) < 1e-9 * k.size, seed
        loops = machine.couplings or machine.gears or any(each.startswith(("rod", "teeth")) for each in machine.ends)
        assert loops or not found.followed, seed
        there += 1
    assert there > (25 if dimension == 2 else 9)
