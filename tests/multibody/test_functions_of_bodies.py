"""Functions of bodies, points and joints: what they see, that results call them time by time, and what they are told."""

import numpy as np
import pytest

from holonomic import simulate
from holonomic.errors import BadArgument, WrongShape
from holonomic.multibody import Mechanism, box, rod


def kite(value, **more):
    """A box in space on a ball joint, with a force of the user's."""
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("kite", box((0, 0, 0.2), (1.0, 0.2, 0.3), mass=1.0))
    m.spherical("O", m.ground, "kite", at=(0.5, 0, 0.2))
    m.force("wind", "kite", value=value, **more)
    return m


def drag(kite):
    """Along the body's axes, quadratic, and a lift that turns with the spin."""
    own = kite.rotation.T @ kite.velocity
    pushed = kite.rotation @ (-np.array([0.1, 2.0, 3.0]) * own * np.abs(own))
    return pushed + 0.3 * np.cross(kite.angular_velocity, kite.velocity) - kite.position / np.linalg.norm(kite.position)


def test_a_function_of_a_body_in_space_sees_its_rotation_and_its_angular_velocity_in_the_ground_frame():
    m = kite(drag)
    sol = simulate(m, 0.4, rtol=1e-9, save_at=9)
    body = sol["kite"]
    own = np.einsum("tji,tj->ti", body.rotation, body.velocity)
    wanted = np.einsum("tij,tj->ti", body.rotation, -np.array([0.1, 2.0, 3.0]) * own * np.abs(own))
    wanted += 0.3 * np.cross(body.angular_velocity, body.velocity)
    wanted -= body.position / np.linalg.norm(body.position, axis=1)[:, None]
    np.testing.assert_allclose(sol["wind"].force, wanted, atol=1e-13)
    # and the motion is that of this force: m a = force + weight + what the joint gives
    np.testing.assert_allclose(body.acceleration, wanted + [0, 0, -9.81] + sol["O"].force, atol=1e-9)


def test_results_call_a_function_once_for_every_time_so_norms_and_branches_are_those_of_one_time():
    m = Mechanism()
    m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
    m.point("tip", "bar", (1, 0))
    m.force("pull", "bar", value=lambda tip: -5.0 * (tip.position - (0, 2)) / np.linalg.norm(tip.position - (0, 2)))
    sol = simulate(m, 1.0, save_at=6)
    away = sol["tip"].position - (0, 2)
    np.testing.assert_allclose(sol["pull"].force, -5.0 * away / np.linalg.norm(away, axis=1)[:, None], atol=1e-13)


def test_a_path_may_be_an_array_with_constants():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("ball", box((0, 0, 0), (0.1, 0.1, 0.1), mass=2.0))
    m.point("centre", "ball", (0, 0, 0))
    m.drive("centre", path=lambda t: np.array([t * t, 0.0, 0.0]))
    sol = simulate(m, 0.5, save_at=4)
    np.testing.assert_allclose(sol["centre drive"].force, np.broadcast_to([4.0, 0.0, 19.62], (4, 3)), atol=1e-9)


def test_frames_and_points_have_axes_too_and_the_ground_keeps_its_own():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("a", box((0, 0, 0), (1, 0.2, 0.3), mass=1.0))
    m.spherical("O", m.ground, "a", at=(0.5, 0, 0))
    m.frame("tool", "a", (0.2, 0, 0), axis=(0, 1, 0), other=(0, 0, 1))
    m.point("mark", "a", (0.1, 0, 0))
    m.point("base", m.ground, (3, 2, 1))
    m.output("axes", lambda tool, mark, base: np.concatenate([tool.rotation.ravel(), mark.rotation.ravel(), base.position]))
    sol = simulate(m, 0.3, save_at=3)  # as many times as there are axes: none is taken for the other
    np.testing.assert_allclose(sol["axes"][:, :9], sol["tool"].rotation.reshape(3, 9), atol=1e-13)
    np.testing.assert_allclose(sol["axes"][:, 9:18], sol["a"].rotation.reshape(3, 9), atol=1e-13)
    np.testing.assert_array_equal(sol["axes"][:, 18:], np.broadcast_to([3.0, 2.0, 1.0], (3, 3)))


def test_a_force_towards_a_point_of_the_ground_is_right_at_three_times():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.body("kite", box((0, 0, 0.2), (1.0, 0.2, 0.3), mass=1.0))
    m.point("base", m.ground, (3, 2, 1))
    m.force("wind", "kite", value=lambda base, kite: base.position - kite.position)
    sol = simulate(m, 0.3, save_at=3)
    np.testing.assert_allclose(sol["wind"].force, np.array([3, 2, 1]) - sol["kite"].position, atol=1e-13)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda kite: (kite.positon, 0, 0),
         "value of 'wind' asks body 'kite' for 'positon', which functions do not see. Did you mean 'position'? There is "
         "position, velocity, rotation, angular_velocity, speed."),
        (lambda kite: (kite.angle, 0, 0),
         "value of 'wind' asks body 'kite' for 'angle', which functions do not see. There is position, velocity, rotation, "
         "angular_velocity, speed."),
        (lambda t: 3.0, "value of 'wind' must return 3 numbers, one an axis; it returned 1."),
        (lambda t: (1.0, t), "value of 'wind' must return 3 numbers, one an axis; it returned 2."),
        (lambda t: None, "value of 'wind' must return 3 numbers, one an axis; it returned nothing: is a `return` missing?"),
        (lambda t: np.eye(3), "value of 'wind' must return 3 numbers, one an axis; it returned an array (3, 3)."),
    ],
)  # fmt: skip
def test_what_a_function_cannot_have_or_must_return_is_said_with_its_name(value, words):
    with pytest.raises((BadArgument, WrongShape)) as refused:
        simulate(kite(value), 0.1)
    assert str(refused.value) == words


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda m: m.torque("T", "bar", value=lambda t: (1.0, 2.0)), "value of 'T' must return one number; it returned 2."),
        (lambda m: m.motor("O", torque=lambda t: np.ones(3)), "torque of 'O motor' must return one number; it returned 3."),
        (lambda m: m.torque("T", "bar", value=lambda u: u),
         "value of 'T' must return one number; it returned p or u, which have no entries here."),
        (lambda m: m.torque("T", "bar", value=lambda O: [O]),
         "value of 'T' must return one number; it returned what it was given, not a number of it; it has angle, speed."),
        (lambda m: m.torsion_spring("O", torque=lambda angle: None),
         "torque of 'O spring' must return one number; it returned nothing: is a `return` missing?"),
        (lambda m: m.drive("O", angle=lambda t: (t, t)), "angle of 'O drive' must return one number; it returned 2."),
        (lambda m: m.spring("s", "ground", "bar", at=((0, 1), (1, 0)), force=lambda length: [length] * 2),
         "force of 's' must return one number; it returned 2."),
        (lambda m: m.distance("d", "ground", "bar", at=((0, 1), (1, 0)), length=lambda t: [t, t]),
         "length of 'd' must return one number; it returned 2."),
        (lambda m: m.motor("O", torque=lambda O: O), "torque of 'O motor' asks for 'O'; it can have angle, speed, t, p, u"),
        (lambda m: m.force("f", "bar", value=lambda O: (O.position, 0)),
         "value of 'f' asks joint 'O' for 'position', which functions do not see. There is angle, speed."),
    ],
)  # fmt: skip
def test_numbers_and_vectors_are_told_apart_for_every_function(add, words):
    m = Mechanism()
    m.revolute("O", m.ground, m.body("bar", rod((0, 0), (1, 0), mass=1.0)), at=(0, 0))
    with pytest.raises((BadArgument, WrongShape)) as refused:
        add(m)
        simulate(m, 0.1)
    assert str(refused.value).startswith(words)
