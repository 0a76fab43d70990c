"""Power and energy agree for every element there is: the total power is the change of the total energy."""

import inspect

import numpy as np
import pytest

from holonomic import simulate
from holonomic.multibody import Mechanism, box, cylinder, disk, rod, sphere
from holonomic.multibody.drive_methods import DriveMethods
from holonomic.multibody.force_methods import ForceMethods
from holonomic.multibody.joint_methods import JointMethods
from holonomic.multibody.results import MechanismRecord

STEP = 1e-5  # of the central difference: its own error is STEP² of the rates, rounding leaves 1e-16/STEP
AGREES = 1e-7  # of the largest part of the change; constraints are kept to 1e-10 and reactions are a thousand times that


def energy_rates(sol, m):
    """Change per second of kinetic, gravitational and elastic energy along the motion, by a central difference."""
    record = sol.trail.mechanism.record(sol)
    Z = [np.eye(3 * len(m.bodies)) if m.dimension == 2 else m.kit.directions(q) for q in sol.q]
    change = np.stack([z @ v for z, v in zip(Z, sol.v, strict=True)])

    def at(side):
        moved = MechanismRecord(record.resolver, sol.t, sol.q + side * STEP * change, sol.v + side * STEP * sol.a, sol.a, sol.lam,
                       record.p, {}, sol.s)  # fmt: skip
        energy = record.resolver.view_of(moved, "energy")
        return np.stack([np.broadcast_to(part, sol.t.shape) for part in (energy.kinetic, energy.gravity, energy.elastic)])

    return (at(1) - at(-1)) / (2 * STEP)


def disagreement(m, t_end=0.2, **start):
    sol = simulate(m, t_end, save_at=np.linspace(t_end / 3, t_end, 4), **start)
    rates = energy_rates(sol, m)
    power = sol["power"]
    scale = max(np.abs(rates).max(), *(np.abs(part).max() for part in power.by_name.values()), 1e-3)
    return np.abs(rates.sum(axis=0) - power.total).max() / scale


# in the plane: two bars hang on each other, and the first on the ground unless the element is to hold it


def bars(held=True, gravity=(0, -9.81)):
    m = Mechanism(gravity=gravity)
    m.body("a", rod((0, 0), (1, 0), mass=2.0))
    m.body("b", rod((1, 0), (1.6, 0.4), mass=1.0))
    m.revolute("A", "a", "b", at=(1, 0))
    if held:
        m.revolute("O", m.ground, "a", at=(0, 0))
    return m


def joint_in_the_plane(**how):
    ((kind, given),) = how.items()

    def make():
        m = bars(held=False)
        getattr(m, kind)("J", m.ground, "a", **given)
        return m

    return make


def added(*calls, held=True, **options):
    """The two bars with more: (method, positional arguments, named ones)."""

    def make():
        m = bars(held, **options)
        for method, args, given in calls:
            getattr(m, method)(*args, **given)
        return m

    return make


def wheels():
    m = Mechanism()
    for name, at, radius in (("a", (0, 0), 0.1), ("b", (0.3, 0), 0.2)):
        m.body(name, disk(at, radius, mass=1.0))
        m.revolute(name.upper(), m.ground, name, at=at)
    m.gear("mesh", "a", "b", at=((0, 0), (0.3, 0)), radii=(0.1, 0.2))
    m.motor("A", torque=lambda t: 2.0 + np.sin(9 * t))
    return m


def wheels_by_ratio():
    m = Mechanism()
    for name, at in (("a", (0, 0)), ("b", (0.5, 0))):
        m.body(name, disk(at, 0.1, mass=1.0))
        m.revolute(name.upper(), m.ground, name, at=at)
    m.gear("mesh", "a", "b", ratio=-2.5)
    m.motor("A", torque=1.0)
    return m


def rack():
    m = Mechanism()
    m.body("rack", box((0, -0.1), (1.0, 0.1), mass=2.0))
    m.prismatic("guide", m.ground, "rack", at=(0, 0), axis=(1, 0))
    m.body("pinion", disk((0, 0.2), 0.2, mass=1.0))
    m.revolute("P", m.ground, "pinion", at=(0, 0.2))
    m.rack_and_pinion("mesh", "rack", "pinion", at=((0, 0), (0, 0.2)), axis=(1, 0), radius=0.2)
    m.motor("P", torque=1.5)
    return m


def wheel_on_a_swing():
    m = bars()
    m.body("wheel", disk((0.5, 0.1), 0.1, mass=0.5))
    m.rolling("roll", "a", "wheel", at=((0.5, 0), (0.5, 0.1)), axis=(1, 0), radius=0.1)
    return m


def sleigh():
    m = Mechanism(gravity=(2.0, -9.81))
    m.body("sleigh", box((0, 0), (1.0, 0.4), mass=3.0))
    m.skate("edge", "sleigh", at=(0.4, 0), axis=(1, 0.3))
    m.torque("turn", "sleigh", value=0.7)
    return m


def controlled():
    m = bars()
    m.input("valve", lambda t: 1.0 + t)
    m.parameter("gain", 3.0)
    m.state("flow", rate=lambda flow, u, O: u.valve - flow - O.speed)
    m.motor("O", torque=lambda flow, p, u, speed: p.gain * flow + u.valve - 0.2 * speed)
    return m


FIXED_ON_MOVING = {"at": ((0, 0.5), (1, 0))}
PLANE = {
    "revolute": joint_in_the_plane(revolute={"at": (0.1, 0.2)}),
    "prismatic": joint_in_the_plane(prismatic={"at": (0.1, 0.2), "axis": (1, -1)}),
    "fixed": joint_in_the_plane(fixed={}),
    "pin_in_slot": joint_in_the_plane(pin_in_slot={"at": (0.1, 0), "axis": (1, 0.5)}),
    "distance": joint_in_the_plane(distance={"at": ((0, 1), (0.2, 0))}),
    "distance of time": added(
        ("distance", ("J", "ground", "b"),
         {"at": ((1, -1), (1.3, 0.2)), "length": lambda t: np.hypot(0.3, 1.2) + 0.1 * np.sin(3 * t)})
    ),
    "distance of time between bodies": added(
        ("distance", ("J", "b", "a"), {"at": ((1.6, 0.4), (0.5, 0)), "length": lambda t: np.hypot(1.1, 0.4) - 0.2 * t * t})
    ),
    "close": joint_in_the_plane(close={"at": (0.1, 0.2)}),
    "gear": wheels,
    "gear ratio": wheels_by_ratio,
    "rack_and_pinion": rack,
    "rolling": wheel_on_a_swing,
    "skate": sleigh,
    "drive angle": added(("drive", ("O",), {"angle": lambda t: 0.5 * t * t})),
    "drive speed": added(("drive", ("A",), {"speed": 3.0})),
    "drive speed of time": added(("drive", ("A",), {"speed": lambda t: 2.0 + np.sin(t)})),
    "drive path": added(
        ("point", ("tip", "b", (1.6, 0.4)), {}),
        ("drive", ("tip",), {"path": lambda t: (1.6 - 0.3 * t * t, 0.4 + 0.1 * t * t)}),
    ),
    "drive position": added(
        ("prismatic", ("J", "ground", "a"), {"at": (0, 0), "axis": (1, 1)}),
        ("drive", ("J",), {"position": lambda t: np.sin(t)}), held=False,
    ),
    "couple": added(("couple", ("tied", "O", "A"), {"ratio": -0.5, "offset": 0.5880026}), gravity=(3, -9.81)),
    "spring": added(("spring", ("s", "ground", "b"), {**FIXED_ON_MOVING, "stiffness": 50.0, "length": 0.7, "damping": 3.0})),
    "spring law": added(
        ("spring", ("s", "ground", "b"), {**FIXED_ON_MOVING, "force": lambda stretch, rate: 9 * stretch**3 + rate})
    ),
    "damper": added(("damper", ("d", "ground", "b"), {**FIXED_ON_MOVING, "damping": 4.0})),
    "bushing": added(
        ("bushing", ("J", "ground", "a"), {"at": (0, 0.1), "axis": (1, 0.3), "stiffness": (900, 700, 30), "damping": 2.0}),
        held=False,
    ),
    "torsion_spring": added(("torsion_spring", ("A",), {"stiffness": 5.0, "damping": 0.4, "angle": 0.1})),
    "torsion_spring law": added(("torsion_spring", ("A",), {"torque": lambda stretch: -4 * stretch**3})),
    "motor": added(("motor", ("A",), {"torque": 2.0})),
    "motor curve": added(("motor", ("O",), {"curve": ((-5, 0, 5), (4, 3, -1))})),
    "friction": added(("friction", ("O",), {"coulomb": 0.4, "viscous": 0.1})),
    "friction under load": added(("friction", ("O",), {"coefficient": 0.2, "radius": 0.05})),
    "stop": added(("stop", ("O",), {"lower": -0.05, "upper": 1.0, "stiffness": 300.0, "damping": 0.3})),
    "contact": added(
        ("contact", ("c", "b"), {"centre": (1.6, 0.4), "radius": 0.1, "point": (0, 0.31), "normal": (0, 1), "stiffness": 1e4,
                                 "damping": 0.2, "friction": 0.4}),
    ),
    "force": added(("force", ("f", "b"), {"at": (1.6, 0.4), "value": (3.0, -2.0)})),
    "force law": added(("force", ("f", "b"), {"value": lambda t, b, A: (np.cos(t) - b.velocity[0], A.angle)})),
    "torque": added(("torque", ("f", "b"), {"value": lambda t, b: np.cos(9 * t) - b.speed})),
    "states": controlled,
}  # fmt: skip


# in space: the same, and the joints that are only there


def bodies(held=True):
    m = Mechanism(gravity=(1.0, 2.0, -9.81))
    m.body("a", cylinder((0, 0, 0), (1, 0, 0.2), radius=0.1, mass=2.0))
    m.body("b", box((1.3, 0.2, 0.2), (0.4, 0.2, 0.3), mass=1.0))
    m.spherical("A", "a", "b", at=(1, 0, 0.2))
    if held:
        m.revolute("O", m.ground, "a", at=(0, 0, 0), axis=(0.2, 1, 0))
    return m


def joint_in_space(**how):
    ((kind, given),) = how.items()

    def make():
        m = Mechanism(gravity=(1.0, 2.0, -9.81))
        m.body("a", cylinder((0, 0, 0), (1, 0, 0.2), radius=0.1, mass=2.0))
        getattr(m, kind)("J", m.ground, "a", **given)
        return m

    return make


def more(*calls, held=True):
    def make():
        m = bodies(held)
        for method, args, given in calls:
            getattr(m, method)(*args, **given)
        return m

    return make


def wheels_in_space():
    m = Mechanism(gravity=(0, 0, 0))
    for name, at, radius in (("a", (0, 0, 0), 0.1), ("b", (0.3, 0, 0), 0.2)):
        m.body(name, cylinder(np.array(at) - (0, 0, 0.02), np.array(at) + (0, 0, 0.02), radius=radius, mass=1.0))
        m.revolute(name.upper(), m.ground, name, at=at, axis=(0, 0, 1))
    m.gear("mesh", "a", "b", at=((0, 0, 0), (0.3, 0, 0)), radii=(0.1, 0.2), axis=(0, 0, 1))
    m.motor("A", torque=lambda t: 2.0 + np.sin(9 * t))
    return m


def rack_in_space():
    m = Mechanism(gravity=(0, 0, 0))
    m.body("rack", box((0, -0.1, 0), (1.0, 0.1, 0.1), mass=2.0))
    m.prismatic("guide", m.ground, "rack", at=(0, 0, 0), axis=(1, 0, 0))
    m.body("pinion", cylinder((0, 0.2, -0.05), (0, 0.2, 0.05), radius=0.2, mass=1.0))
    m.revolute("P", m.ground, "pinion", at=(0, 0.2, 0), axis=(0, 0, 1))
    m.rack_and_pinion("mesh", "rack", "pinion", at=((0, 0, 0), (0, 0.2, 0)), axis=(1, 0, 0), radius=0.2)
    m.motor("P", torque=1.5)
    return m


def on_a_moving_plate(axis):
    """A ball, or a disk, on a plate that swings on a hinge."""

    def make():
        m = Mechanism(gravity=(0, 0, -9.81))
        m.body("plate", box((0.2, 0, -0.05), (2, 2, 0.1), mass=5.0))
        m.revolute("O", m.ground, "plate", at=(-0.3, 0, 0), axis=(1, 2, 0))
        m.body("ball", sphere((0.4, 0.1, 0.2), 0.2, mass=1.0) if axis is None else
               cylinder((0.4, 0.08, 0.2), (0.4, 0.12, 0.2), radius=0.2, mass=1.0))  # fmt: skip
        m.rolling("roll", "plate", "ball", at=((0, 0, 0), (0.4, 0.1, 0.2)), radius=0.2, axis=axis)
        return m

    return make


SIX = (900, 700, 800, 30, 20, 40)
SPACE = {
    "revolute": joint_in_space(revolute={"at": (0.1, 0.2, 0), "axis": (1, 1, 0)}),
    "prismatic": joint_in_space(prismatic={"at": (0.1, 0.2, 0), "axis": (1, -1, 0.5)}),
    "fixed": joint_in_space(fixed={}),
    "spherical": joint_in_space(spherical={"at": (0.1, 0.2, 0)}),
    "cylindrical": joint_in_space(cylindrical={"at": (0.1, 0.2, 0), "axis": (1, -1, 0.5)}),
    "universal": joint_in_space(universal={"at": (0.1, 0.2, 0), "axis": (1, 0, 0), "other": (0, 1, 0)}),
    "planar": joint_in_space(planar={"at": (0.1, 0.2, 0), "axis": (1, 0, 3)}),
    "close": joint_in_space(close={"at": (0.1, 0.2, 0)}),
    "pin_in_slot": joint_in_space(pin_in_slot={"at": (0.1, 0, 0), "axis": (1, 0.5, 0)}),
    "distance": joint_in_space(distance={"at": ((0, 1, 0), (0.2, 0, 0))}),
    "distance of time": more(
        ("distance", ("J", "ground", "b"), {"at": ((1.3, 0.2, 1.2), (1.3, 0.2, 0.2)), "length": lambda t: 1 + 0.1 * np.sin(3 * t)})
    ),
    "gear": wheels_in_space,
    "rack_and_pinion": rack_in_space,
    "rolling": on_a_moving_plate(None),
    "rolling disk": on_a_moving_plate((0, 1, 0)),
    "drive": more(("drive", ("O",), {"angle": lambda t: 0.5 * t * t})),
    "drive speed of time": more(("drive", ("O",), {"speed": lambda t: 1 + np.sin(t)})),
    "drive path": more(
        ("point", ("tip", "b", (1.5, 0.3, 0.3)), {}),
        ("drive", ("tip",), {"path": lambda t: np.array([1.5 - 0.3 * t * t, 0.3, 0.3 + 0.1 * t * t])}),
    ),
    "couple": more(
        ("body", ("c", box((0, 2, 0), (0.3, 0.2, 0.3), mass=1.0)), {}),
        ("prismatic", ("P", "ground", "c"), {"at": (0, 2, 0), "axis": (0, 0, 1)}),
        ("couple", ("tied", "O", "P"), {"ratio": 0.5}),
    ),
    "spring": more(
        ("spring", ("s", "ground", "b"), {"at": ((0, 0, 1), (1.5, 0.3, 0.3)), "stiffness": 50.0, "length": 0.7, "damping": 3.0})
    ),
    "damper": more(("damper", ("d", "ground", "b"), {"at": ((0, 0, 1), (1.5, 0.3, 0.3)), "damping": 4.0})),
    "bushing": more(
        ("bushing", ("J", "ground", "a"), {"at": (0, 0, 0.1), "axis": (1, 0.3, 0), "stiffness": SIX, "damping": 2.0}), held=False
    ),
    "torsion_spring": more(("torsion_spring", ("O",), {"stiffness": 5.0, "damping": 0.4, "angle": 0.1})),
    "motor": more(("motor", ("O",), {"torque": 2.0})),
    "friction": more(("friction", ("O",), {"coefficient": 0.2, "radius": 0.05})),
    "stop": more(("stop", ("O",), {"lower": -1.0, "upper": 0.02, "stiffness": 300.0, "damping": 0.3})),
    "contact": more(
        ("contact", ("c", "b"), {"centre": (1.3, 0.2, 0.2), "radius": 0.1, "point": (0, 0, 0.11), "normal": (0, 0, 1),
                                 "stiffness": 1e4, "damping": 0.2, "friction": 0.4}),
    ),
    "force": more(("force", ("f", "b"), {"value": lambda t, b: (np.cos(t) - b.velocity[0], 1.0, t)})),
    "torque": more(("torque", ("f", "b"), {"value": (0.3, 0.1, -0.2)})),
}  # fmt: skip


@pytest.mark.parametrize("element", PLANE)
def test_in_the_plane_the_total_power_is_the_change_of_the_energy(element):
    assert disagreement(PLANE[element]()) < AGREES


QUICK = ("distance of time", "rolling", "drive path", "bushing", "spherical")  # a model in space compiles for a second


@pytest.mark.parametrize("element", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in SPACE])
def test_in_space_the_total_power_is_the_change_of_the_energy(element):
    assert disagreement(SPACE[element]()) < AGREES


def test_every_element_of_the_library_is_looked_at():
    """A method that adds a joint, a drive or a force stands in one of the tables above, for the plane and for space."""
    every = {
        name for kind in (JointMethods, DriveMethods, ForceMethods)
        for name, method in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")
    }  # fmt: skip
    in_space_only, in_the_plane_only = {"spherical", "cylindrical", "universal", "planar"}, {"skate"}
    assert every - in_space_only == {name.split(" ")[0] for name in PLANE} - {"states"}
    assert every - in_the_plane_only == {name.split(" ")[0] for name in SPACE}


def test_a_cylinder_that_lifts_a_bar_gives_its_power():
    """A bar of 10 kg on a hinge, lifted by an actuator: force of the actuator times the rate of its length."""
    m = Mechanism(gravity=(0, -9.81))
    m.body("bar", rod((0, 0), (1, 0), mass=10.0))
    m.revolute("O", "ground", "bar", at=(0, 0))
    m.distance("cyl", "ground", "bar", at=((0, -1), (1, 0)), length=lambda t: 2**0.5 + 0.1 * np.sin(t))
    sol = simulate(m, 2.0, save_at=21)
    given = -sol["cyl"].tension * 0.1 * np.cos(sol.t)
    assert np.abs(given).max() > 5.0
    np.testing.assert_allclose(sol["power"].total, given, atol=1e-7)
    np.testing.assert_allclose(sol["cyl"].power, given, atol=1e-7)
    np.testing.assert_allclose(sol["power"].drive, given, atol=1e-7)
    assert set(sol["power"].by_name) == {"cyl"}
