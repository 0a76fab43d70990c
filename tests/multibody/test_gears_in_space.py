"""Gears, racks and slots in space: speeds by the radii, tooth forces where the pitch circles touch."""

import numpy as np
import pytest

from holonomic import simulate
from holonomic.errors import BadArgument
from holonomic.multibody import Mechanism, box, disk

from .machines import wheel_pair


def wheel(m, name, at, radius, axis, mass=1.0):
    m.body(name, disk(at, radius, mass=mass, axis=axis))
    m.revolute(f"{name} bearing", m.ground, name, at=at, axis=axis)


@pytest.mark.parametrize("inside", [False, True])
def test_spur_gears_in_space_are_those_of_the_plane(inside):
    flat = wheel_pair(inside=inside)
    flat.motor("A", torque=0.5)
    space = Mechanism(gravity=(0, 0, 0))
    apart = 0.1 if inside else 0.3
    wheel(space, "a", (0, 0, 0), 0.1, (0, 0, 1), 1.0)
    wheel(space, "b", (apart, 0, 0), 0.2, (0, 0, 1), 2.0)
    space.gear("mesh", "a", "b", at=((0, 0, 0), (apart, 0, 0)), radii=(0.1, -0.2 if inside else 0.2), axis=(0, 0, 1))
    space.motor("a bearing", torque=0.5)
    one, other = (simulate(m, 1.0, rtol=1e-8, save_at=6) for m in (flat, space))
    for plane, solid in (("A", "a bearing"), ("B", "b bearing")):
        np.testing.assert_allclose(other[solid].angle, one[plane].angle, atol=1e-5)
        np.testing.assert_allclose(other[solid].force[:, :2], one[plane].force, atol=1e-6)


def test_bevel_gears_turn_by_their_radii_and_the_teeth_do_no_work():
    m = Mechanism(gravity=(0, 0, 0))
    # axes x and z meet in the origin; the circles of radius 0.1 and 0.2 touch in (0.2, 0, 0.1)
    wheel(m, "pinion", (0.2, 0, 0), 0.1, (1, 0, 0))
    wheel(m, "crown", (0, 0, 0.1), 0.2, (0, 0, 1))
    m.gear("mesh", "pinion", "crown", at=((0.2, 0, 0), (0, 0, 0.1)), radii=(0.1, 0.2), axis=((1, 0, 0), (0, 0, 1)))
    m.motor("pinion bearing", torque=0.3)
    sol = simulate(m, 1.0, save_at=6)
    # both points of contact move alike along y: w_pinion x (0, 0, r1) = w_crown x (r2, 0, 0)
    np.testing.assert_allclose(-0.1 * sol["pinion bearing"].speed, 0.2 * sol["crown bearing"].speed, atol=1e-9)
    np.testing.assert_allclose(sol["mesh"].force[:, (0, 2)], 0.0, atol=1e-9)
    J1, J2 = 0.1**2 / 2, 0.2**2 / 2
    accelerated = 0.3 / (J1 + J2 / 4)
    assert sol["pinion bearing"].speed[-1] == pytest.approx(accelerated, rel=1e-6)
    # the crown is turned by the tooth force at its radius
    np.testing.assert_allclose(0.2 * np.abs(sol["mesh"].force[:, 1]), J2 * accelerated / 2, rtol=1e-6)
    np.testing.assert_allclose(sol["energy"].total, 0.3 * sol["pinion bearing"].angle, atol=1e-5)


def test_a_ratio_in_space_exchanges_torques_only():
    m = Mechanism(gravity=(0, 0, 0))
    wheel(m, "a", (0, 0, 0), 0.1, (0, 0, 1))
    wheel(m, "b", (1, 2, 3), 0.2, (1, 0, 0))
    m.gear("drive", "a", "b", ratio=-3.0, axis=((0, 0, 1), (1, 0, 0)))
    m.motor("a bearing", torque=0.3)
    sol = simulate(m, 0.5, save_at=3)
    np.testing.assert_allclose(sol["b bearing"].speed, -3.0 * sol["a bearing"].speed, atol=1e-9)
    np.testing.assert_allclose(sol["drive"].force, 0.0, atol=1e-12)


def test_a_rack_in_space_moves_by_the_pinion_radius():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("rack", box((0, 0, -0.05), (1.0, 0.1, 0.1), mass=3.0))
    m.prismatic("guide", m.ground, "rack", at=(0, 0, -0.05), axis=(1, 0, 0))
    wheel(m, "pinion", (0, 0, 0.2), 0.2, (0, 1, 0), mass=2.0)
    m.rack_and_pinion("teeth", "rack", "pinion", at=((0, 0, 0), (0, 0, 0.2)), axis=(1, 0, 0), radius=0.2)
    m.motor("pinion bearing", torque=1.0)
    sol = simulate(m, 1.0, save_at=6)
    # turning about +y moves the lowest point towards -x
    np.testing.assert_allclose(sol["guide"].position, -0.2 * sol["pinion bearing"].angle, atol=1e-6)
    J = 2.0 * 0.2**2 / 2
    assert sol["pinion bearing"].speed[-1] == pytest.approx(1.0 / (J + 3.0 * 0.2**2), rel=1e-6)
    np.testing.assert_allclose(np.abs(sol["teeth"].force[:, 0]), 3.0 * 0.2 / (J + 3.0 * 0.2**2), rtol=1e-6)


def test_a_ball_in_a_tube_slides_along_it_alone():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("ball", box((0, 0, 0), (0.1, 0.2, 0.3), mass=1.0))
    m.pin_in_slot("tube", m.ground, "ball", at=(0, 0, 0), axis=(1, 0, -1))
    assert m.mobility().dof == 4
    sol = simulate(m, 1.0, save_at=3)
    np.testing.assert_allclose(sol["tube"].position, 9.81 / np.sqrt(2) / 2 * sol.t**2, atol=1e-8)


def test_wheels_that_miss_each_other_are_refused():
    m = Mechanism(gravity=(0, 0, 0))
    wheel(m, "a", (0, 0, 0), 0.1, (0, 0, 1))
    wheel(m, "b", (1, 0, 0), 0.2, (0, 0, 1))
    with pytest.raises(BadArgument, match=r"gear 'mesh': the pitch circles miss each other by 0.7 m"):
        m.gear("mesh", "a", "b", at=((0, 0, 0), (1, 0, 0)), radii=(0.1, 0.2), axis=(0, 0, 1))
    with pytest.raises(BadArgument, match=r"gear 'mesh': in space the wheels need axis="):
        m.gear("mesh", "a", "b", at=((0, 0, 0), (1, 0, 0)), radii=(0.1, 0.2))
    with pytest.raises(BadArgument, match=r"the centre is 0.5 m from the line, but the radius is 0.1 m"):
        m.rack_and_pinion("r", m.ground, "a", at=((0, 0, -0.5), (0, 0, 0)), axis=(1, 0, 0), radius=0.1)
