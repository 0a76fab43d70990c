"""What is wrong, where, and what to write instead."""

import warnings

import pytest

from holonomic import simulate, sweep
from holonomic.errors import BadArgument, InconsistentState, UnknownArgument
from holonomic.model.call_by_name import says_what_it_takes
from holonomic.multibody import Mechanism, UnitsWarning, box, disk, polygon, rod

from .machines import slider_crank


def refuse(match):
    return pytest.raises(BadArgument, match=match)


def test_a_body_without_mass_place_or_sense():
    m = Mechanism()
    with refuse(r"body 'a' has mass 0 kg; it must be positive"):
        m.body("a", at=(0, 0), mass=0.0)
    with refuse(r"body 'a' has no mass. Give mass=, or a shape such as rod"):
        m.body("a", at=(0, 0))
    with refuse(r"body 'a' has no place. Give at="):
        m.body("a", mass=1.0)
    with refuse(r"body 'a': its rod has no mass. Write rod\(..., mass=1.0\)"):
        m.body("a", rod((0, 0), (1, 0)))
    with refuse(r"a rod with 3 coordinates in a mechanism with 2"):
        m.body("a", rod((0, 0, 0), (1, 0, 0), mass=1.0))
    with refuse(r"length of a rod must be a positive number"):
        rod((1, 1), (1, 1), mass=1.0)
    with refuse(r"corners of the polygon lie on one line"):
        polygon([(0, 0), (1, 1), (2, 2)], mass=1.0)


def test_inertia_that_no_body_has():
    m = Mechanism()
    with refuse(r"body 'a' has inertia -1 kg m²; it must be positive"):
        m.body("a", at=(0, 0), mass=1.0, inertia=-1.0)
    with refuse(r"too small: the mass alone, 1 m away, gives 2"):
        m.body("a", at=(0, 0), mass=2.0, inertia=0.5, about=(1, 0))
    space = Mechanism(gravity=(0, 0, -9.81))
    with refuse(r"principal inertias 1, 1, 3 kg m² are not physical"):
        space.body("a", at=(0, 0, 0), mass=1.0, inertia=(1.0, 1.0, 3.0))


def test_numbers_set_later_are_checked_like_those_given_at_first():
    m = Mechanism(gravity=(0, 0, -9.81))
    m.revolute("A", m.ground, m.body("a", box((0, 0, 0), (1, 0.2, 0.1), mass=1.0)), at=(0, 0, 0))
    m.to_system()
    with refuse(r"a.mass = 0 must be positive"):
        m.params["a.mass"] = 0.0
    m.params["a.inertia.zz"] = 100.0
    with refuse(r"body 'a': principal inertias .* are not physical"):
        simulate(m, 0.1)
    with pytest.raises(KeyError, match=r"there is no parameter 'a.mas'. Did you mean 'a.mass'"):
        m.params["a.mas"] = 1.0


def test_a_hinge_in_the_plane_has_no_axis():
    m = slider_crank()
    with refuse(r"revolute 'X': a hinge in the plane turns in the plane; leave axis= out"):
        m.revolute("X", "crank", "slider", at=(0, 0), axis=(0, 0, 1))
    with refuse(r"axis of 'X' needs 2 numbers, got \(0, 0, 1\)"):
        m.prismatic("X", "crank", "slider", at=(0, 0), axis=(0, 0, 1))
    with refuse(r"at of joint 'X' needs 2 numbers"):
        m.revolute("X", "crank", "slider", at=(0, 0, 0))


def test_names_used_twice_unknown_or_reserved():
    m = slider_crank()
    with refuse(r"the name 'A' is used twice: there is a joint 'A' already"):
        m.body("A", at=(0, 0), mass=1.0)
    with refuse(r"there is no body 'cranc'. Did you mean 'crank'\?"):
        m.revolute("X", "cranc", m.ground, at=(0, 0))
    with refuse(r"there is no joint 'Q'"):
        m.drive("Q", speed=1.0)
    with refuse(r"'energy' is a name of its own here"):
        m.body("energy", at=(0, 0), mass=1.0)
    with refuse(r"names have no dots"):
        m.body("a.b", at=(0, 0), mass=1.0)


def test_a_joint_of_a_body_with_itself_or_of_another_mechanism():
    m, other = slider_crank(), slider_crank()
    with refuse(r"joint 'X' joins body 'crank' with itself"):
        m.revolute("X", "crank", "crank", at=(0, 0))
    with refuse(r"body 'crank' belongs to another mechanism"):
        m.revolute("X", other["crank"], m.ground, at=(0, 0))


def test_drives_and_motors_that_do_not_fit_their_joint():
    m = slider_crank()
    with refuse(r"a prismatic joint has a position, not an angle. Write position="):
        m.drive("guide", angle=1.0)
    with refuse(r"a drive needs one of angle=, position=, speed= and path=, got none"):
        m.drive("O")
    with refuse(r"a motor needs one of torque=, force= and curve="):
        m.motor("O")
    with refuse(r"asks for 'phi'; it can have angle, speed, t, p, u"):
        m.motor("O", torque=lambda phi: 0.0)


def test_a_point_mass_that_turns_freely():
    m = Mechanism()
    m.revolute("O", m.ground, m.body("bob", at=(1, 0), mass=1.0), at=(1, 0))
    m.motor("O", torque=1.0)
    with refuse(r"body 'bob' has no inertia, but its joints let it turn. Give inertia=, or a shape"):
        simulate(m, 0.1)


def test_gears_and_wheels_that_do_not_touch():
    m = Mechanism()
    a, b = m.body("a", disk((0, 0), 0.1, mass=1.0)), m.body("b", disk((1, 0), 0.1, mass=1.0))
    with refuse(r"the centres are 1 m apart, but the pitch circles touch at 0.2 m"):
        m.gear("g", a, b, at=((0, 0), (1, 0)), radii=(0.1, 0.1))
    with refuse(r"the centre is 0.5 m from the line, but the radius is 0.1 m. Draw them touching"):
        m.rolling("r", m.ground, a, at=((0, -0.5), (0, 0)), axis=(1, 0), radius=0.1)


def test_millimetres_are_noticed():
    m = Mechanism()
    m.revolute("O", m.ground, m.body("arm", rod((0, 0), (300, 0), mass=1.0)), at=(0, 0))
    with pytest.warns(UnitsWarning, match=r"body 'arm' reaches .* m .* multiply millimetres by 1e-3"):
        m.to_system()
    small = Mechanism()  # 60 mm and 100 g
    small.revolute("O", small.ground, small.body("arm", rod((0, 0), (60, 0), mass=0.1)), at=(0, 0))
    with pytest.warns(UnitsWarning, match=r"body 'arm' reaches 30 m"):
        small.to_system()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        slider_crank().to_system()


def test_an_empty_mechanism_and_planar_joints_in_space():
    with refuse(r"the mechanism has no bodies"):
        Mechanism().to_system()
    space = Mechanism(gravity=(0, 0, -9.81))
    space.body("a", box((0, 0, 0), (1, 1, 1), mass=1.0))
    with refuse(r"skate exists in planar mechanisms only"):
        space.skate("p", "a", at=(0, 0, 0), axis=(1, 0, 0))
    with refuse(r"spherical joints exist in spatial mechanisms only"):
        Mechanism().spherical("s", "a", "b", at=(0, 0))


def test_a_solution_does_not_know_the_name():
    sol = simulate(slider_crank(speed=1.0), 0.1)
    with pytest.raises(KeyError, match="slider"):
        sol["slyder"]


@pytest.mark.parametrize("call, said", [
    (lambda m: m.spring("s", "crank", "ground", at=((0, 0), (1, 1)), rest=0.5), "'rest'. Here it is called 'length'"),
    (lambda m: m.friction("O", mu=0.1), "m.friction has no argument 'mu'. Here it is called 'coefficient'"),
    (lambda m: m.revolute("Z", "ground", "link"), r"missing a required argument: 'at'. It is written m.revolute\(name, first"),
    (lambda m: m.motor("O", tork=1.0), "Did you mean 'torque'"),
    (lambda m: rod((0, 0), mass=1.0), r"rod: missing a required argument: 'end'. It is written rod\(start, end, mass=None"),
    (lambda m: Mechanism(g=9.81), "Mechanism has no argument 'g'. Here it is called 'gravity'"),
])  # fmt: skip
def test_a_call_that_does_not_fit_is_told_what_does(call, said):
    with pytest.raises(UnknownArgument, match=said):
        call(slider_crank())


def test_a_type_error_inside_a_function_is_left_as_it_is():
    with pytest.raises(TypeError) as caught:
        says_what_it_takes(lambda given: len(given))(3)
    assert not isinstance(caught.value, UnknownArgument)


def test_a_motor_is_told_what_its_joint_takes():
    with refuse("a revolute joint has an angle, not a position. Write torque="):
        slider_crank().motor("O", force=1.0)


def test_a_rod_of_another_length_than_drawn_is_told_so():
    m = slider_crank()
    m.distance("far", "ground", "slider", at=((0, 3), (1.686, 0)), length=0.5)
    with pytest.raises(InconsistentState, match=r"'far': its ends are 3.44 m apart in the drawing, which is not its length"):
        simulate(m, 0.1)


@pytest.mark.parametrize("call", [
    lambda m: simulate(m, 0.01), lambda m: sweep(m, 0.01, params={"long.mass": [1.0, 2.0]}, save_at=2),
], ids=["simulate", "sweep"])  # fmt: skip
def test_a_warning_points_at_the_line_that_called(call):
    m = Mechanism()
    m.revolute("O", "ground", m.body("long", rod((0, 0), (300, 0), mass=1.0)), at=(0, 0))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call(m)
    assert told and all(each.filename == __file__ for each in told)
