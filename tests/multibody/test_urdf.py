"""URDF files: the tree, its inertia and limits, what is drawn, and what is wrong with a file."""

import numpy as np
import pytest

from holonomic import simulate
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, UrdfWarning, rod

LINK = """
  <link name="{name}">
    <inertial>
      <origin xyz="{half} 0 0" rpy="0 0 0"/>
      <mass value="{mass}"/>
      <inertia ixx="{thin}" ixy="0" ixz="0" iyy="{J}" iyz="0" izz="{J}"/>
    </inertial>
    <visual><origin xyz="{half} 0 0"/><geometry>{geometry}</geometry></visual>
  </link>"""


def link(name, length, mass, geometry='<box size="1 0.1 0.1"/>'):
    J = mass * length**2 / 12
    return LINK.format(name=name, half=length / 2, mass=mass, J=J, thin=J / 50, geometry=geometry)


def write(folder, *parts):
    path = folder / "robot.urdf"
    path.write_text('<robot name="arm">\n<link name="base"/>' + "\n".join(parts) + "\n</robot>", encoding="utf-8")
    return path


def joint(name, parent, child, x, kind="revolute", more="", axis="0 -1 0", rpy="0 0 0"):
    return f"""
  <joint name="{name}" type="{kind}">
    <parent link="{parent}"/><child link="{child}"/>
    <origin xyz="{x} 0 0" rpy="{rpy}"/><axis xyz="{axis}"/>
    <limit lower="-2" upper="2" effort="10" velocity="5"/>{more}
  </joint>"""


def arm(folder, more="", **how):
    joints = joint("shoulder", "base", "upper", 0, more=more), joint("elbow", "upper", "lower", 1.0)
    return write(folder, link("upper", 1.0, 2.0, **how), link("lower", 0.5, 1.0), *joints)


def test_an_arm_from_a_file_swings_like_one_built_by_hand(tmp_path):
    m = Mechanism.from_urdf(arm(tmp_path))
    built = Mechanism(gravity=(0, -9.81))
    upper, lower = (built.body("upper", rod((0, 0), (1, 0), mass=2.0)), built.body("lower", rod((1, 0), (1.5, 0), mass=1.0)))
    built.revolute("shoulder", built.ground, upper, at=(0, 0))
    built.revolute("elbow", upper, lower, at=(1, 0))
    runs = [simulate(each, 1.0, rtol=1e-9, save_at=11) for each in (m, built)]
    # in the file the arm moves in the x-z plane, about -y
    np.testing.assert_allclose(runs[0]["lower"].position[:, [0, 2]], runs[1]["lower"].position, atol=1e-7)
    np.testing.assert_allclose(runs[0]["elbow"].angle, runs[1]["elbow"].angle, atol=1e-7)
    assert m.limits["elbow"] == {"lower": -2.0, "upper": 2.0, "effort": 10.0, "velocity": 5.0}
    assert [shape.kind for shape in m["upper"].shapes] == ["box"]


def test_rotated_origins_are_followed(tmp_path):
    path = write(tmp_path, link("upper", 1.0, 2.0), joint("shoulder", "base", "upper", 0, rpy="0 0 1.5707963267948966"))
    m = Mechanism.from_urdf(path)
    assert m["upper"].position == pytest.approx((0.0, 0.5, 0.0))
    # the axis turns with the origin
    sol = simulate(m, 0.05)
    assert sol["upper"].angular_velocity[-1] == pytest.approx([sol["upper"].angular_velocity[-1][0], 0, 0], abs=1e-9)


def test_damping_friction_and_stops_come_from_the_file(tmp_path):
    m = Mechanism.from_urdf(arm(tmp_path, more='<dynamics damping="0.5" friction="0.1"/>'), stops=1e3)
    assert m.params["shoulder friction.viscous"] == 0.5
    assert m.params["elbow stop.upper"] == 2.0


def test_links_without_mass_are_points_and_a_free_base_is_a_body(tmp_path):
    path = write(tmp_path, '<link name="tool"/>', link("upper", 1.0, 2.0), joint("shoulder", "base", "upper", 0),
                 joint("flange", "upper", "tool", 1.0, kind="fixed"))  # fmt: skip
    m = Mechanism.from_urdf(path)
    assert simulate(m, 0.1)["tool"].position[0] == pytest.approx([1.0, 0, 0])
    with pytest.raises(BadArgument, match="link 'base' moves but has no <inertial>"):
        Mechanism.from_urdf(path, base="free")


def test_a_loop_is_closed_in_python(tmp_path):
    path = write(tmp_path, link("a", 1.0, 1.0), link("b", 1.0, 1.0), joint("A", "base", "a", 0), joint("B", "base", "b", 1.0))
    m = Mechanism.from_urdf(path)
    m.distance("bar", "a", "b", at=((1, 0, 0), (2, 0, 0)))
    assert m.mobility().dof == 1
    m.close("tie", "a", "b", at=((0.5, 0, 0), (0.5, 0, 0)))
    assert m.mobility().dof == 0


def test_a_missing_mesh_is_a_warning_and_the_motion_is_the_same(tmp_path):
    path = arm(tmp_path, geometry='<mesh filename="package://arm/upper.stl"/>')
    with pytest.warns(UrdfWarning, match=r"link 'upper': its mesh 'package://arm/upper.stl' is not there"):
        m = Mechanism.from_urdf(path)
    simulate(m, 0.1)
    (tmp_path / "meshes" / "arm").mkdir(parents=True)
    (tmp_path / "meshes" / "arm" / "upper.stl").write_text("solid", encoding="utf-8")
    found = Mechanism.from_urdf(path, package_dirs=tmp_path / "meshes")
    assert found["upper"].shapes[0].outline["file"].endswith("upper.stl")


def test_files_that_are_wrong_say_where(tmp_path):
    with pytest.raises(BadArgument, match="there is no file"):
        Mechanism.from_urdf(tmp_path / "nothing.urdf")
    (tmp_path / "text.urdf").write_text("hello", encoding="utf-8")
    with pytest.raises(BadArgument, match="is not XML"):
        Mechanism.from_urdf(tmp_path / "text.urdf")
    with pytest.raises(BadArgument, match="joint 'J' has the child link 'ghost', which is not in the file"):
        Mechanism.from_urdf(write(tmp_path, joint("J", "base", "ghost", 0)))
    with pytest.raises(BadArgument, match="link 'x' moves but has no <inertial>"):
        Mechanism.from_urdf(write(tmp_path, '<link name="x"/>', joint("J", "base", "x", 0)))
    with pytest.raises(BadArgument, match="joint 'J' has the type 'ball'"):
        Mechanism.from_urdf(write(tmp_path, link("x", 1.0, 1.0), joint("J", "base", "x", 0, kind="ball")))


@pytest.mark.parametrize(
    ("was", "written", "match"),
    [
        ('<mass value="2.0"/>', '<mass value="two"/>', r'link .upper.: <mass> value="two" is not a number'),
        ('<mass value="2.0"/>', "", r"link .upper.: its <inertial> has no <mass>"),
        ('<mass value="2.0"/>', '<mass value="0"/>', r"body .upper. has mass 0 kg; it must be positive"),
        ('<origin xyz="1.0 0 0"', '<origin xyz="1.0 0"', r'joint .elbow.: <origin xyz="1.0 0"> must be 3 numbers'),
        ('<joint name="elbow"', '<joint name="shoulder"', r"two <joint> with the name .shoulder.. Rename one"),
        ('<joint name="elbow"', "<joint", r"a <joint> without a name"),
        ('<box size="1 0.1 0.1"/>', '<cylinder length="1"/>', r"link .upper.: <cylinder> has no radius="),
        ('<box size="1 0.1 0.1"/>', "<mesh/>", r"link .upper.: its <mesh> has no filename="),
        ('type="revolute"', 'type="ball"', r"joint .shoulder. has the type .ball."),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_link_or_joint(tmp_path, was, written, match):
    path = arm(tmp_path)
    text = path.read_text(encoding="utf-8")
    assert was in text
    path.write_text(text.replace(was, written, 1), encoding="utf-8")
    with pytest.raises(BadArgument, match=match):
        Mechanism.from_urdf(path)


def test_names_that_cannot_be_taken_over_are_changed_with_a_warning(tmp_path):
    path = arm(tmp_path)
    text = path.read_text(encoding="utf-8").replace('"lower"', '"arm.2"').replace('<joint name="elbow"', '<joint name="upper"')
    path.write_text(text, encoding="utf-8")
    with pytest.warns(UrdfWarning) as told:
        m = Mechanism.from_urdf(path)
    assert sorted(str(one.message) for one in told) == [
        "joint 'upper' is called 'upper joint' here.", "link 'arm.2' is called 'arm_2' here.",
    ]  # fmt: skip
    assert set(m.bodies) == {"upper", "arm_2"} and set(m.joints) == {"shoulder", "upper joint"}


def mimicking(folder, ratio, offset=0.0, leader="shoulder", more=""):
    """The arm whose elbow follows its shoulder."""
    tie = f'<mimic joint="{leader}" multiplier="{ratio}" offset="{offset}"/>'
    joints = joint("elbow", "upper", "lower", 1.0, more=tie), joint("shoulder", "base", "upper", 0)
    return write(folder, link("upper", 1.0, 2.0), link("lower", 0.5, 1.0), *joints, more)


@pytest.mark.parametrize("ratio", [-1.0, -0.7])
def test_a_joint_that_mimics_another_follows_it_by_the_formula(tmp_path, ratio):
    """One degree of freedom θ: x₂' = θ'(a + (1 + k) b/2) at θ = 0, so (I₁ + m₂ c² + J₂ (1 + k)²) θ'' = -g (m₁ a/2 + m₂ c)."""
    m = Mechanism.from_urdf(mimicking(tmp_path, ratio))
    assert m.mobility().dof == 1
    sol = simulate(m, 1.0, rtol=1e-9, save_at=11)
    # whole ratios are a constraint of the angles, others of their rates
    np.testing.assert_allclose(sol["elbow"].angle, ratio * sol["shoulder"].angle, atol=1e-12 if ratio == -1.0 else 1e-7)
    assert np.abs(sol["shoulder"].angle).max() > 1.0
    c = 1.0 + (1 + ratio) * 0.25
    inertia = 2.0 * (0.25 + 1 / 12) + 1.0 * c**2 + 0.25 / 12 * (1 + ratio) ** 2
    alpha = -9.81 * (1.0 + c) / inertia
    assert sol["lower"].acceleration[0, 2] == pytest.approx(alpha * c, rel=1e-9)
    # the shoulder turns about -y: what the coupling does to the forearm about the elbow is its angular momentum
    about_elbow = (0.25 / 12 * (1 + ratio) + 0.25 * c) * alpha + 0.25 * 9.81
    assert -sol["elbow mimic"].torque[0, 1] == pytest.approx(about_elbow, rel=1e-8)
    assert np.abs(sol["elbow mimic"].power).max() < 1e-9  # a coupling takes no power


def test_a_mimicked_offset_moves_the_follower_and_not_the_leader(tmp_path):
    m = Mechanism.from_urdf(mimicking(tmp_path, 0.5, offset=0.3))
    sol = simulate(m, 0.1)
    assert sol["shoulder"].angle[0] == pytest.approx(0.0, abs=1e-9)
    assert sol["elbow"].angle[0] == pytest.approx(0.3, abs=1e-9)
    m.assemble({"shoulder": 0.4})
    assert simulate(m, 0.1)["elbow"].angle[0] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize("between", [0.2, 0.0])
def test_offsets_of_a_chain_of_mimics_add_up(tmp_path, between):
    links = [link(name, 1.0, 1.0) for name in ("one", "two", "three")]
    first = joint("jc", "base", "one", 0)
    second = joint("jb", "one", "two", 1.0, more=f'<mimic joint="jc" offset="{between}"/>')
    third = joint("ja", "two", "three", 1.0, more='<mimic joint="jb" multiplier="2" offset="0.1"/>')
    sol = simulate(Mechanism.from_urdf(write(tmp_path, *links, third, second, first)), 0.1)
    found = [sol[name].angle[0] for name in ("jc", "jb", "ja")]
    np.testing.assert_allclose(found, [0.0, between, 2 * between + 0.1], atol=1e-9)


def test_a_ring_of_mimics_is_refused(tmp_path):
    links = [link(name, 1.0, 1.0) for name in ("one", "two", "three")]
    joints = [joint("jc", "base", "one", 0), joint("jb", "one", "two", 1.0, more='<mimic joint="ja"/>')]
    joints.append(joint("ja", "two", "three", 1.0, more='<mimic joint="jb"/>'))
    with pytest.raises(BadArgument, match="in a ring, jb <- ja <- jb"):
        Mechanism.from_urdf(write(tmp_path, *links, *joints))


@pytest.mark.parametrize(
    ("leader", "more", "text"),
    [
        ("hip", "", "joint 'elbow' mimics 'hip', which is no joint of the file. There are: elbow, shoulder"),
        ("elbow", "", "joint 'elbow' cannot follow itself"),
        ("tool", '<link name="tip"/>' + joint("tool", "lower", "tip", 0.5, kind="fixed"), "joint 'tool' is fixed and has neither"),
    ],
)
def test_a_mimic_that_cannot_be_is_refused(tmp_path, leader, more, text):
    with pytest.raises(BadArgument, match=text):
        Mechanism.from_urdf(mimicking(tmp_path, 1.0, leader=leader, more=more))


@pytest.mark.parametrize("text", ['<xacro:property name="a" value="1"/>', '<link name="x"><mass value="${m}"/></link>'])
def test_xacro_is_refused_and_not_left_out(tmp_path, text):
    path = tmp_path / "robot.urdf"
    path.write_text(f'<robot name="r" xmlns:xacro="http://ros.org/xacro"><link name="base"/>{text}</robot>', encoding="utf-8")
    with pytest.raises(BadArgument, match="holds xacro, which is not expanded here"):
        Mechanism.from_urdf(path)


def test_an_argument_that_from_urdf_does_not_have_is_told():
    with pytest.raises(TypeError, match=r"Mechanism.from_urdf has no argument 'floating'. It is written Mechanism.from_urdf\(path"):
        Mechanism.from_urdf("robot.urdf", floating=True)


TURNED = """
  <link name="upper">
    <inertial><origin xyz="0.2 0.03 -0.02" rpy="0.4 -0.3 0.7"/><mass value="2.0"/>
      <inertia ixx="0.01" iyy="0.03" izz="0.035" ixy="0.002" ixz="-0.001" iyz="0.003"/></inertial>
  </link>
  <link name="fore">
    <inertial><origin xyz="0.15 -0.02 0.04" rpy="-0.5 0.9 0.2"/><mass value="1.2"/>
      <inertia ixx="0.004" iyy="0.011" izz="0.012" ixy="0" ixz="0.001" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.5" rpy="0.1 0.2 -0.4"/><axis xyz="0 1 0"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/><child link="fore"/><origin xyz="0.5 0 0.05" rpy="0.7 0 0.3"/><axis xyz="0 0.6 0.8"/>
  </joint>"""
# MuJoCo 4.0.0 on the same file at t = 0.5 s: RK4 with steps of 1e-4 s, xmat, and cfrc_int moved to the link's origin
IN_MUJOCO = {
    "upper": (
        [[-0.385211758044, 0.405741047246, 0.828846248736], [0.267100794897, 0.908735865163, -0.320712164927],
         [-0.883328402594, 0.097843395007, -0.458429496459]],
        [-60.2976847474, 1.9150274911, -6.2589111506], [0.0106697432, 0.0, 1.4280298429],
        [2.1071498395, 4.7193712478, 0.5081336865],
    ),
    "fore": (
        [[-0.264359508564, 0.911362845566, 0.315486630387], [0.500469600067, 0.409267800722, -0.762908937358],
         [-0.824405379434, -0.043790764023, -0.564303233507]],
        [-31.3111907913, 5.6495206182, -6.7452596683], [0.0455135391, -0.3733425745, 0.2800069308],
        [3.2914939319, 4.1788241719, -0.1997947377],
    ),
}  # fmt: skip


def test_rotations_and_reactions_are_those_of_the_link_whatever_the_axes_of_its_inertia(tmp_path):
    m = Mechanism.from_urdf(write(tmp_path, TURNED))
    end = simulate(m, 0.5, rtol=1e-9, save_at=2)(0.5)
    for (link, (rotation, force, torque, spin)), joint in zip(IN_MUJOCO.items(), ("shoulder", "elbow"), strict=True):
        # both runs are good to 1e-9 in their angles; forces are of the order of 60 N
        np.testing.assert_allclose(end[link].rotation, rotation, atol=1e-8)
        np.testing.assert_allclose(end[link].angular_velocity, spin, atol=1e-7)
        seen = end[joint].reaction(frame=link)
        np.testing.assert_allclose(seen.force, force, atol=1e-6)
        np.testing.assert_allclose(seen.torque, torque, atol=1e-6)


def test_limits_of_a_turn_or_more_get_no_stop_and_a_warning(tmp_path):
    path = arm(tmp_path)
    path.write_text(path.read_text().replace('lower="-2" upper="2"', 'lower="-3.1" upper="3.1"', 1))
    with pytest.warns(UrdfWarning, match=r"'shoulder' has no stop: its limits leave 6\.2 rad, and joints in space count no turns"):
        m = Mechanism.from_urdf(path, stops=1e3)
    assert "elbow stop" in m.forces and "shoulder stop" not in m.forces
