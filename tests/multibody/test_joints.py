"""Every planar joint against what it must do."""

import numpy as np
import pytest

from holonomic import BadArgument, problems, simulate
from holonomic.multibody import Mechanism, box, disk, joints, rod

from .machines import slider_crank, wheel_pair


def test_the_example_of_the_documentation_is_the_known_slider_crank():
    sol = simulate(slider_crank(speed=10.0), 1.0, rtol=1e-9, save_at=21)
    r, l = np.hypot(0.25, 0.433), np.hypot(1.436, 0.433)
    angle = np.arctan2(0.433, 0.25) + 10.0 * sol.t
    x = r * np.cos(angle) + np.sqrt(l**2 - (r * np.sin(angle)) ** 2)
    np.testing.assert_allclose(sol["slider"].position[:, 0], x, atol=1e-9)
    np.testing.assert_allclose(sol["slider"].position[:, 1], 0.0, atol=1e-9)


def test_a_hinge_that_is_free_leaves_energy_alone():
    sol = simulate(slider_crank(), 3.0, rtol=1e-9)
    assert np.ptp(sol["energy"].total) < 1e-7 * np.ptp(sol["energy"].kinetic)


def test_scotch_yoke_moves_by_the_cosine():
    m = Mechanism(gravity=(0, 0))
    crank = m.body("crank", rod((0, 0), (0.3, 0), mass=1.0))
    yoke = m.body("yoke", box((0.5, 0), (0.4, 0.1), mass=2.0))
    m.revolute("O", m.ground, crank, at=(0, 0))
    m.prismatic("guide", m.ground, yoke, at=(0.5, 0), axis=(1, 0))
    m.pin_in_slot("pin", yoke, crank, at=(0.3, 0), axis=(0, 1))
    m.drive("O", speed=5.0)
    sol = simulate(m, 2.0, rtol=1e-10, save_at=31)
    np.testing.assert_allclose(sol["guide"].position, 0.3 * (np.cos(5 * sol.t) - 1), atol=1e-10)
    np.testing.assert_allclose(sol["pin"].position, 0.3 * np.sin(5 * sol.t), atol=1e-10)
    # the pin pushes the yoke to and fro; on the crank, the second body, acts the opposite
    np.testing.assert_allclose(sol["pin"].force[:, 0], 2.0 * 0.3 * 25 * np.cos(5 * sol.t), atol=1e-8)
    np.testing.assert_allclose(sol["pin"].force[:, 1], 0.0, atol=1e-10)


def test_a_distance_rod_is_a_pendulum_and_carries_its_tension():
    m = Mechanism()
    m.body("bob", at=(1, 0), mass=2.0)
    m.distance("rod", m.ground, "bob", at=((0, 0), (1, 0)))
    sol = simulate(m, 1.5, rtol=1e-10, save_at=31)
    x, y = sol["bob"].position.T
    np.testing.assert_allclose(np.hypot(x, y), 1.0, atol=1e-9)
    # released level: v² = -2 g y, tension 3 m g sin below the level
    np.testing.assert_allclose(np.linalg.norm(sol["rod"].force, axis=1), 3 * 2.0 * 9.81 * -y, atol=1e-6)


@pytest.mark.parametrize("inside", [False, True])
def test_gears_turn_by_their_radii_and_their_tooth_force_is_felt_by_the_bearings(inside):
    m = wheel_pair(inside=inside)
    m.motor("A", torque=1.0)
    sol = simulate(m, 1.0)
    J = np.array([0.5 * 1.0 * 0.1**2, 0.5 * 2.0 * 0.2**2])
    acceleration = 1.0 / (J[0] + J[1] / 4)
    ratio = 0.5 if inside else -0.5
    assert sol["a"].angle[-1] == pytest.approx(acceleration / 2)
    assert sol["b"].angle[-1] == pytest.approx(ratio * acceleration / 2)
    tooth = J[1] * acceleration * abs(ratio) / 0.2
    np.testing.assert_allclose(np.linalg.norm(sol["A"].force[-1]), tooth, rtol=1e-9)
    np.testing.assert_allclose(sol["A"].force[-1], -sol["B"].force[-1], atol=1e-9)


def test_a_planet_turns_around_the_sun_as_it_must():
    m = Mechanism(gravity=(0, 0))
    arm = m.body("arm", rod((0, 0), (0.3, 0), mass=1.0))
    planet = m.body("planet", disk((0.3, 0), 0.2, mass=1.0))
    m.revolute("O", m.ground, arm, at=(0, 0))
    m.revolute("P", arm, planet, at=(0.3, 0))
    m.gear("mesh", m.ground, planet, at=((0, 0), (0.3, 0)), radii=(0.1, 0.2))
    m.drive("O", speed=4.0)
    sol = simulate(m, 5.0)  # three turns of the arm: the line of centres passes ±π
    # rolling on a fixed sun: ω_planet = (1 + r_sun/r_planet) ω_arm
    assert sol["planet"].angle[-1] == pytest.approx(1.5 * 20.0, abs=1e-6)


def test_gears_by_ratio_exchange_torques_only():
    m = Mechanism(gravity=(0, 0))
    for name, x in (("a", 0.0), ("b", 1.0)):
        m.body(name, disk((x, 0), 0.1, mass=1.0))
        m.revolute(f"pin {name}", m.ground, name, at=(x, 0))
    m.gear("box", "a", "b", ratio=-3.0)
    m.motor("pin a", torque=0.2)
    sol = simulate(m, 1.0)
    J = 0.5 * 0.1**2
    assert sol["a"].speed[-1] == pytest.approx(0.2 / (10 * J))
    assert sol["b"].speed[-1] == pytest.approx(-3 * 0.2 / (10 * J))
    np.testing.assert_allclose(sol["pin a"].force, 0.0, atol=1e-12)


def test_a_rack_moves_by_the_pinion_radius():
    m = Mechanism(gravity=(0, 0))
    rack = m.body("rack", box((0, -0.1), (1.0, 0.1), mass=2.0))
    pinion = m.body("pinion", disk((0, 0.05), 0.1, mass=1.0))
    m.prismatic("guide", m.ground, rack, at=(0, -0.1), axis=(1, 0))
    m.revolute("O", m.ground, pinion, at=(0, 0.05))
    m.rack_and_pinion("mesh", rack, pinion, at=((0, -0.05), (0, 0.05)), axis=(1, 0), radius=0.1)
    m.motor("O", torque=1.0)
    sol = simulate(m, 0.5)
    acceleration = 1.0 / (0.5 * 0.1**2 + 2.0 * 0.1**2)
    assert sol["O"].angle[-1] == pytest.approx(acceleration / 8)
    # a pinion on top that turns to the left pushes the rack to the right
    assert sol["guide"].position[-1] == pytest.approx(0.1 * acceleration / 8)


def test_a_skate_moves_only_along_its_edge_and_the_path_is_a_circle():
    m = Mechanism(gravity=(0, 0))
    m.body("sledge", box((0, 0), (0.4, 0.2), mass=2.0))
    m.skate("edge", "sledge", at=(0, 0), axis=(1, 0))
    q = [0, 0, 0]
    sol = simulate(m, 3.0, q0=q, v0=[1.0, 0.0, 0.5], rtol=1e-9, save_at=31)
    # edge under the centre: speed and spin both stay, so it goes round with radius 1/0.5
    angle = 0.5 * sol.t
    wanted = 2.0 * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=-1)
    np.testing.assert_allclose(sol["sledge"].position, wanted, atol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(sol["edge"].force, axis=1), 2.0 * 1.0 * 0.5, atol=1e-7)


def test_a_speed_drive_by_a_function_is_integrated():
    m = Mechanism(gravity=(0, 0))
    m.revolute("O", m.ground, m.body("rod", rod((0, 0), (1, 0), mass=3.0)), at=(0, 0))
    m.drive("O", speed=lambda t: np.sin(t))
    sol = simulate(m, 2.0, rtol=1e-10)
    assert sol["O"].angle[-1] == pytest.approx(1 - np.cos(2.0), abs=1e-9)
    assert sol["O"].torque[-1] == pytest.approx(np.cos(2.0), abs=1e-8)  # J = m l²/3 = 1


def test_a_point_can_be_led_along_a_path():
    m = Mechanism(gravity=(0, 0))
    first = m.body("first", rod((0, 0), (1, 0), mass=1.0))
    second = m.body("second", rod((1, 0), (1, 1), mass=1.0))
    m.revolute("O", m.ground, first, at=(0, 0))
    m.revolute("A", first, second, at=(1, 0))
    m.point("hand", second, (1, 1))
    m.drive("hand", path=lambda t: (1 + 0.2 * np.sin(3 * t), 1 - 0.2 * t))
    assert m.mobility().dof == 0
    sol = simulate(m, 1.0, save_at=11)
    wanted = np.stack([1 + 0.2 * np.sin(3 * sol.t), 1 - 0.2 * sol.t], axis=-1)
    np.testing.assert_allclose(sol["hand"].position, wanted, atol=1e-9)
    assert sol["hand drive"].force.shape == (11, 2)


def test_a_driven_slide_needs_mass_times_acceleration():
    m = Mechanism()
    m.prismatic("rail", m.ground, m.body("car", at=(0, 0), mass=4.0), at=(0, 0), axis=(3, 4))
    m.drive("rail", position=lambda t: 0.5 * t**2)
    sol = simulate(m, 1.0)
    u = np.array([0.6, 0.8])
    np.testing.assert_allclose(sol["rail drive"].force, (4.0 + 4.0 * 9.81 * 0.8) * np.broadcast_to(u, (len(sol.t), 2)), rtol=1e-9)


def test_two_bodies_fixed_together_are_one():
    whole = Mechanism()
    whole.revolute("O", whole.ground, whole.body("rod", rod((0, 0), (2, 0), mass=2.0)), at=(0, 0))
    split = Mechanism()
    inner, outer = (split.body(n, rod(a, b, mass=1.0)) for n, a, b in (("in", (0, 0), (1, 0)), ("out", (1, 0), (2, 0))))
    split.revolute("O", split.ground, inner, at=(0, 0))
    split.fixed("weld", inner, outer, at=(1, 0))
    runs = [simulate(m, 2.0, rtol=1e-8, save_at=9) for m in (whole, split)]
    np.testing.assert_allclose(runs[0]["O"].angle, runs[1]["O"].angle, atol=1e-7)  # 10 times the tolerance
    np.testing.assert_allclose(runs[0]["O"].force, runs[1]["O"].force, atol=1e-5)


def test_a_point_mass_welded_to_a_rod_adds_its_mass_and_no_inertia_of_its_own():
    m = Mechanism()
    arm = m.body("arm", rod((0, 0), (1, 0), mass=3.0))
    m.body("bob", at=(1, 0), mass=2.0)
    m.revolute("O", m.ground, arm, at=(0, 0))
    m.fixed("weld", arm, "bob")
    sol = simulate(m, 0.05, rtol=1e-10)
    J, moment = 3.0 / 3 + 2.0, -(3.0 * 0.5 + 2.0) * 9.81
    assert sol["arm"].angular_acceleration[0] == pytest.approx(moment / J, rel=1e-12)


def test_a_point_mass_on_a_hinge_away_from_it_is_the_mathematical_pendulum():
    m = Mechanism()
    m.revolute("O", m.ground, m.body("bob", at=(-1, 0), mass=1.0), at=(0, 0))
    sol = simulate(m, 5.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sol["bob"].position[-1], problems.pendulum_a01().reference(5.0).q, atol=1e-8)


def test_coupled_slides_share_a_load_by_their_ratio():
    """A weight m₁ on a slide lifts m₂ on another, which moves twice as far: (m₁ + 4 m₂) a = -(m₁ - 2 m₂) g."""
    m = Mechanism(gravity=(0, -9.81))
    one, two = m.body("one", at=(0, 0), mass=3.0), m.body("two", at=(1, 0), mass=0.5)
    m.prismatic("a", m.ground, one, at=(0, 0), axis=(0, 1))
    m.prismatic("b", m.ground, two, at=(1, 0), axis=(0, 1))
    m.couple("rope", "a", "b", ratio=-2.0)
    sol = simulate(m, 0.5, save_at=3)
    a = -(3.0 - 2 * 0.5) / (3.0 + 4 * 0.5) * 9.81
    assert np.allclose(sol["one"].acceleration[:, 1], a, rtol=1e-9)
    assert np.allclose(sol["b"].position, -2 * sol["a"].position, atol=1e-12)
    assert np.allclose(sol["rope"].force[:, 1], 0.5 * (9.81 - 2 * a), rtol=1e-9)  # on the lighter one
    m.params["rope.ratio"] = -1.0
    assert np.allclose(simulate(m, 0.1)["one"].acceleration[:, 1], -2.5 / 3.5 * 9.81, rtol=1e-9)
    with pytest.raises(BadArgument, match="cannot follow itself"):
        m.couple("again", "a", "a")


@pytest.mark.parametrize(
    ("value", "rate"),
    [
        (joints.angle, joints.angle_rate), (joints.position, joints.position_rate),
        (lambda first, second: joints.bushing(first, second, 0.3), joints.bushing_rates),
    ],
    ids=["angle", "position", "bushing"],
)  # fmt: skip
def test_the_rate_of_what_a_joint_measures_is_its_derivative(value, rate):
    """Two frames that move and turn, by differences: 1e-6 of a second leaves 1e-9."""

    def frames(t):
        first, second = 0.4 + 1.3 * t, -0.7 - 2.1 * t
        return [
            ((0.1 + 0.5 * t, 0.2 - 0.3 * t), (np.cos(first), np.sin(first)), first),
            ((0.9 - 0.2 * t, 0.7 + 0.8 * t), (np.cos(second), np.sin(second)), second),
        ]

    moving, other = ((0.5, -0.3), 1.3), ((-0.2, 0.8), -2.1)
    h = 1e-6
    known = (np.array(value(*frames(h))) - np.array(value(*frames(-h)))) / (2 * h)
    np.testing.assert_allclose(rate(*frames(0.0), moving, other), known, atol=1e-8)
