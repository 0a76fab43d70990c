"""Springs, dampers, motors, friction, stops, contacts, inputs, and functions of named things."""

import numpy as np
import pytest

from holonomic import DOP853, BadArgument, NotFinite, StiffnessWarning, simulate
from holonomic.multibody import Mechanism, box, disk, rod

from .machines import pendulum, slider_crank


def car(mass=2.0, gravity=(0, 0)):
    m = Mechanism(gravity=gravity)
    m.prismatic("rail", m.ground, m.body("car", at=(1, 0), mass=mass), at=(1, 0), axis=(1, 0))
    return m


def test_a_spring_and_damper_give_the_known_oscillation():
    m = car()
    m.spring("s", m.ground, "car", at=((0, 0), (1, 0)), stiffness=8.0, damping=0.8, length=0.7)
    sol = simulate(m, 5.0, rtol=1e-10, save_at=41)
    w0, d = 2.0, 0.2
    w = np.sqrt(w0**2 - d**2)
    wanted = 0.7 + np.exp(-d * sol.t) * (0.3 * np.cos(w * sol.t) + 0.3 * d / w * np.sin(w * sol.t))
    np.testing.assert_allclose(sol["car"].position[:, 0], wanted, atol=1e-9)
    stretch, rate = sol["car"].position[:, 0] - 0.7, sol["car"].velocity[:, 0]
    np.testing.assert_allclose(sol["s"].tension, 8.0 * stretch + 0.8 * rate, atol=1e-12)  # both, as the car feels them
    np.testing.assert_allclose(-sol["s"].tension, 2.0 * sol["car"].acceleration[:, 0], atol=1e-12)
    np.testing.assert_allclose(sol["s"].energy, 4.0 * stretch**2, atol=1e-12)


def test_a_spring_by_a_function_is_what_the_function_says():
    linear, general = car(), car()
    linear.spring("s", "car", linear.ground, at=((1, 0), (0, 0)), stiffness=8.0, damping=0.8, length=0.7)
    general.spring("s", "car", general.ground, at=((1, 0), (0, 0)), length=0.7,
                   force=lambda stretch, rate: 8.0 * stretch + 0.8 * rate)  # fmt: skip
    runs = [simulate(m, 3.0, rtol=1e-9, save_at=9) for m in (linear, general)]
    np.testing.assert_allclose(runs[0]["car"].position, runs[1]["car"].position, atol=1e-8)


def test_a_torsion_spring_on_a_hinge_is_relaxed_where_it_is_drawn():
    m = pendulum()
    m.params["gravity.y"] = 0.0
    m.torsion_spring("O", stiffness=6.0)
    m.assemble({"O": 0.5})
    sol = simulate(m, 2.0, rtol=1e-9, save_at=21)
    np.testing.assert_allclose(sol["O"].angle, 0.5 * np.cos(3.0 * sol.t), atol=1e-8)  # J = 2/3
    np.testing.assert_allclose(sol["O spring"].torque, -6.0 * sol["O"].angle, atol=1e-12)


def test_a_motor_with_a_torque_speed_curve_reaches_its_idle_speed():
    m = pendulum()
    m.params["gravity.y"] = 0.0
    m.motor("O", curve=([-50.0, 0.0, 50.0], [4.0, 2.0, 0.0]))
    sol = simulate(m, 3.0)
    # J w' = 2 - 0.04 w
    assert sol["O"].speed[-1] == pytest.approx(50 * (1 - np.exp(-0.04 * 3 / (2.0 / 3))), rel=1e-6)


def test_friction_slows_a_body_at_a_constant_rate_and_then_holds_it():
    m = car()
    m.friction("rail", coulomb=3.0, smoothing=1e-3)
    q, v = [1, 0, 0], [1.5, 0, 0]
    sol = simulate(m, 0.5, q0=q, v0=v, save_at=6)
    np.testing.assert_allclose(sol["car"].velocity[:, 0], 1.5 - 1.5 * sol.t, atol=1e-5)
    stopped = simulate(m, 1.5, q0=q, v0=v)
    assert abs(stopped["car"].velocity[-1, 0]) < 1e-6
    with pytest.warns(StiffnessWarning):
        explicit = simulate(m, 100.0, q0=q, v0=v, integrator=DOP853())
    changed = simulate(m, 100.0, q0=q, v0=v)  # to an implicit method, when the car rests
    assert changed.stats["steps"] < explicit.stats["steps"] / 10
    assert abs(changed["car"].velocity[-1, 0]) < 1e-6


def test_stribeck_friction_is_largest_when_it_starts_to_slide():
    m = car()
    m.friction("rail", coulomb=1.0, static=2.0, stribeck=0.1, smoothing=1e-3, viscous=0.5)
    sol = simulate(m, 0.1, q0=[1, 0, 0], v0=[0.02, 0, 0], save_at=2)
    fast = simulate(m, 0.1, q0=[1, 0, 0], v0=[2.0, 0, 0], save_at=2)
    assert sol["rail friction"].force[0, 0] == pytest.approx(-(1 + np.exp(-0.04)) - 0.01, rel=1e-6)
    assert fast["rail friction"].force[0, 0] == pytest.approx(-1.0 - 1.0, rel=1e-6)


def test_a_nonlinear_torsion_spring_is_what_its_function_says():
    m = pendulum()
    m.torsion_spring("O", torque=lambda stretch, speed: -5.0 * stretch**3 - 0.2 * speed)
    m.assemble({"O": 0.5})
    sol = simulate(m, 0.5, save_at=5)
    np.testing.assert_allclose(sol["O spring"].torque, -5.0 * sol["O"].angle ** 3 - 0.2 * sol["O"].speed, atol=1e-12)
    with pytest.raises(ValueError, match=r"give stiffness= or torque=, one of them"):
        pendulum().torsion_spring("O", stiffness=1.0, torque=lambda angle: angle)


def test_numbers_that_are_zero_at_first_count_once_they_are_set():
    m = pendulum()
    m.torsion_spring("O", stiffness=1.0, damping=0.0)
    m.params["O spring.damping"] = 2.0
    m.params["gravity.y"] = 0.0
    still = Mechanism(gravity=(0, 0))
    still.body("stone", at=(0, 0), mass=1.0)
    still.to_system()
    still.params["gravity.y"] = -9.81
    assert simulate(still, 1.0)["stone"].position[-1, 1] == pytest.approx(-9.81 / 2)
    sol = simulate(m, 0.1, q0=m.assembly.q, v0=[0, 0.5, 1.0], save_at=2)
    assert sol["O spring"].torque[0] == pytest.approx(-2.0)
    assert sol["power"].spring[0] == pytest.approx(-2.0)


def test_a_stop_turns_a_body_back_and_keeps_its_energy_without_damping():
    m = car()
    m.stop("rail", lower=-0.5, upper=0.5, stiffness=1e4)
    sol = simulate(m, 2.0, q0=[1, 0, 0], v0=[1.0, 0, 0], rtol=1e-8)
    assert sol["car"].velocity[-1, 0] == pytest.approx(-1.0, abs=1e-4) or sol["car"].velocity[-1, 0] == pytest.approx(1.0, abs=1e-4)
    assert np.max(sol["rail"].position) < 0.5 + 1.0 * np.sqrt(2.0 / 1e4) * 1.001


def test_a_ball_bounces_by_the_law_of_hunt_and_crossley():
    m = Mechanism(gravity=(0, 0))
    m.body("ball", disk((0, 0.6), 0.1, mass=1.0))
    m.contact("floor", "ball", centre=(0, 0.6), radius=0.1, point=(0, 0), normal=(0, 1), stiffness=1e5, damping=0.1)
    sol = simulate(m, 0.4, q0=[0, 0.6, 0], v0=[0, -3.0, 0], rtol=1e-9)
    x, y = 0.1 * 3.0, 0.1 * sol["ball"].velocity[-1, 1]
    # m v dv = -k δⁿ (1 + c v) dδ integrates to the same number on the way in and on the way out
    assert x - np.log(1 + x) == pytest.approx(-y - np.log(1 - y), rel=1e-5)
    assert np.min(sol["floor"].force[:, 1]) >= 0.0


def test_contact_friction_makes_a_sliding_disk_roll():
    m = Mechanism()
    m.body("disk", disk((0, 0.1), 0.1, mass=1.0))
    m.contact("floor", "disk", centre=(0, 0.1), radius=0.1, point=(0, 0), normal=(0, 1), stiffness=1e7, damping=1.0, friction=0.3)
    sol = simulate(m, 0.8, q0=[0, 0.1, 0], v0=[1.0, 0, 0], rtol=1e-5)
    # once it rolls, two thirds of the speed are left; the contact gives way by 0.1 mm of 100
    assert sol["disk"].velocity[-1, 0] == pytest.approx(2 / 3, rel=2e-3)
    assert sol["disk"].speed[-1] == pytest.approx(-2 / 3 / 0.1, rel=5e-3)


def test_forces_are_functions_of_named_things_inputs_and_parameters():
    m = slider_crank()
    m.input("wind", ([0.0, 1.0], [0.0, 2.0]))
    m.force("push", "slider", value=lambda t, u, slider, O, p: (-3 * slider.velocity[0] + u.wind + O.angle * p["slider.mass"], 0))
    sol = simulate(m, 1.0, save_at=11)
    wanted = -3 * sol["slider"].velocity[:, 0] + 2 * sol.t + sol["O"].angle
    np.testing.assert_allclose(sol["push"].force[:, 0], wanted, atol=1e-10)


def test_a_force_off_the_centre_turns_the_body():
    m = Mechanism(gravity=(0, 0))
    m.body("plank", box((0, 0), (2.0, 0.1), mass=3.0))
    m.force("kick", "plank", at=(1.0, 0), value=(0, 2.0))
    sol = simulate(m, 0.01)
    J = 3.0 * (4 + 0.01) / 12
    assert sol["plank"].angular_acceleration[0] == pytest.approx(2.0 / J)
    assert sol["plank"].acceleration[0] == pytest.approx([0, 2.0 / 3])


def test_a_torque_and_a_force_on_a_slide_act_on_what_they_name():
    m = car()
    m.motor("rail", force=lambda t, position: 3.0 - position)
    m.torque("twist", m.body("wheel", disk((5, 5), 0.1, mass=2.0)), value=0.4)
    sol = simulate(m, 1.0, rtol=1e-9)
    assert sol["wheel"].speed[-1] == pytest.approx(0.4 / (0.5 * 2.0 * 0.01))
    # 2 x'' = 3 - x
    assert sol["rail"].position[-1] == pytest.approx(3 * (1 - np.cos(np.sqrt(0.5))), abs=1e-8)


def test_rods_have_the_inertia_of_rods():
    m = Mechanism()
    m.body("rod", rod((1, 1), (1, 4), mass=2.0))
    assert m.params["rod.inertia"] == pytest.approx(2.0 * 9 / 12)


def wheel(dimension, **spring):
    """A wheel of 1 kg m² on a hinge with a spring of 1 N m/rad."""
    m = Mechanism(gravity=(0, 0, 0)[:dimension])
    shape = disk((0, 0), 1.0, mass=2.0) if dimension == 2 else disk((0, 0, 0), 1.0, mass=2.0, axis=(0, 0, 1))
    m.body("wheel", shape)
    m.revolute("O", m.ground, "wheel", at=(0, 0, 0)[:dimension], axis=None if dimension == 2 else (0, 0, 1))
    m.torsion_spring("O", stiffness=1.0, **spring)
    return m


@pytest.mark.parametrize(("rest", "speed"), [(0.0, 2.8), (2.0, 1.5), (-2.5, 0.5)])
def test_a_torsion_spring_in_space_swings_as_in_the_plane(rest, speed):
    """Also over half a turn from the drawing: θ = r + speed sin t - r cos t, with rtol 1e-6 and amplitudes of about 3."""
    for dimension in (2, 3):
        m = wheel(dimension, angle=rest)
        m.assemble(speeds={"O": speed})
        sol = simulate(m, 6.0, save_at=61)
        assert sol["O"].angle == pytest.approx(rest + speed * np.sin(sol.t) - rest * np.cos(sol.t), abs=3e-5)


@pytest.mark.parametrize("law", [{}, {"angle": 1.0}])
def test_a_torsion_spring_in_space_stops_the_run_before_it_loses_a_turn(law):
    m = wheel(3, **law)
    m.assemble(speeds={"O": 5.0})
    with pytest.raises(NotFinite, match=r"joint 'O' turns more than 2\.94 rad away from .*, but joints in space count no turns"):
        simulate(m, 6.0)


def test_a_stop_in_space_works_up_to_a_turn_and_no_further():
    m = wheel(3)
    with pytest.raises(BadArgument) as refused:
        m.stop("O", lower=-3.0, upper=3.0, stiffness=10.0)
    assert str(refused.value) == (
        "the stop of joint 'O' leaves 6 rad, but joints in space count no turns: at most 5.883 rad can be told apart. Bring the "
        "limits closer, or leave the stop out."
    )
    ends = []
    for dimension in (2, 3):
        m = wheel(dimension, angle=1.0)
        m.stop("O", lower=0.0, upper=3.5, stiffness=500.0)
        m.assemble(speeds={"O": 4.0})  # it reaches the stop at 3.5 rad, beyond half a turn
        ends.append(simulate(m, 2.0)["O"].angle[-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)  # steps across the corner of the stop, of the size of 1e-3
