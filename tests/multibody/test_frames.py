"""Named frames: joints drawn at them take their axes, and axes are parameters."""

import numpy as np
import pytest

from holonomic import InconsistentState, simulate, sweep
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, box, rod


def arm():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("arm", rod((0, 0, 0), (1, 0, 0), mass=2.0, width=0.1))
    return m


def test_a_hinge_at_a_frame_turns_about_its_first_axis():
    framed, plain = arm(), arm()
    framed.frame("shoulder", framed.ground, (0, 0, 0), axis=(0, 1, 0.5))
    framed.revolute("A", framed.ground, "arm", at="shoulder")
    plain.revolute("A", plain.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0.5))
    one, other = (simulate(m, 1.0, save_at=4) for m in (framed, plain))
    np.testing.assert_allclose(one.q, other.q, atol=1e-12)
    assert framed.params["shoulder.axis.y"] == pytest.approx(1 / np.sqrt(1.25))


def test_two_frames_are_brought_together():
    """A body drawn anywhere is put where its frame meets that of the ground."""
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("plate", box((3, 3, 3), (0.4, 0.2, 0.1), mass=1.0))
    m.frame("socket", m.ground, (1, 0, 0), axis=(0, 0, 1), other=(1, 0, 0))
    m.frame("plug", "plate", (3.2, 3, 3), axis=(1, 0, 0), other=(0, 1, 0))
    m.fixed("weld", m.ground, "plate", at=("socket", "plug"))
    m.assemble()
    sol = simulate(m, 0.1, save_at=2)
    np.testing.assert_allclose(sol["plug"].position[-1], (1, 0, 0), atol=1e-9)
    np.testing.assert_allclose(sol["plug"].rotation[-1], sol["socket"].rotation[-1], atol=1e-9)
    np.testing.assert_allclose(sol["socket"].rotation[-1], [[0, 1, 0], [0, 0, 1], [1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(sol["plate"].position[-1], (1, 0, -0.2), atol=1e-9)


def test_frames_in_the_plane_meet_with_their_directions():
    m = Mechanism(gravity=(0, 0))
    m.body("bar", rod((0, 0), (1, 0), mass=1.0))
    m.frame("wall", m.ground, (2, 2), axis=(0, 1))
    m.frame("end", "bar", (0, 0), axis=(1, 0))
    m.fixed("clamp", m.ground, "bar", at=("wall", "end"))
    m.assemble()
    assert m.assembly.q == pytest.approx([2, 2.5, np.pi / 2])
    m.params["wall.axis.x"] = 1.0  # now at 45 degrees
    assert m.assembly.q[2] == pytest.approx(np.pi / 4)
    assert simulate(m, 0.1, save_at=2)["end"].rotation[-1, 0, 0] == pytest.approx(np.cos(np.pi / 4))


def test_axes_of_joints_are_parameters_that_are_set_and_swept():
    m = arm()
    m.revolute("A", m.ground, "arm", at=(0, 0, 0), axis=(0, 1, 0))
    level = simulate(m, 0.5)["arm"].position[-1, 2]
    m.params["A.axis.z"] = 1.0  # the hinge leans by 45 degrees: half the gravity along the path
    leaning = simulate(m, 0.5)["arm"].position[-1, 2]
    assert level < leaning < 0.0
    drawn = arm()
    drawn.revolute("A", drawn.ground, "arm", at=(0, 0, 0), axis=(0, 1, 1))
    assert leaning == pytest.approx(simulate(drawn, 0.5)["arm"].position[-1, 2], abs=1e-8)
    runs = sweep(m, 0.5, params={"A.axis.z": [0.0, 1.0]}, save_at=2)
    np.testing.assert_allclose(runs["arm"].position[:, -1, 2], [level, leaning], atol=1e-6)


def test_a_joint_without_a_direction_says_what_to_give():
    m = arm()
    with pytest.raises(BadArgument, match=r"prismatic 'A' has no direction. Give axis=, or a frame as at="):
        m.prismatic("A", m.ground, "arm", at=(0, 0, 0))
    with pytest.raises(BadArgument, match=r"frame 'f': other= is a direction in space, drawn normal to axis"):
        m.frame("f", "arm", (0, 0, 0), axis=(1, 0, 0), other=(1, 1, 0))
    with pytest.raises(BadArgument, match=r"the name 'arm' is used twice"):
        m.frame("arm", "arm", (0, 0, 0))


def test_frames_drawn_against_each_other_are_noticed():
    m = arm()
    m.frame("wall", m.ground, (0, 0, 0), axis=(0, 1, 0))
    m.frame("end", "arm", (0, 0, 0), axis=(0, -1, 0))
    m.revolute("A", m.ground, "arm", at=("wall", "end"))
    with pytest.raises(InconsistentState, match=r"frames of joint 'A' are drawn turned by 3.14 rad against each other"):
        simulate(m, 0.1)
    m.assemble()
    sol = simulate(m, 0.1, save_at=2)
    np.testing.assert_allclose(sol["end"].rotation[-1, :, 0], (0, 1, 0), atol=1e-9)
