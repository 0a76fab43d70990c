"""Mechanisms of any size, drawn from nothing: what `scale.py` measures."""

from __future__ import annotations

from itertools import cycle

import numpy as np

from holonomic.multibody import Mechanism, disk, rod
from holonomic.problems.delta_robot import LEGS, delta_robot_mechanism, shoulder_angle


def chain(n: int) -> Mechanism:
    """Rods of 0.1 m and 0.1 kg on pins, released level."""
    m, before = Mechanism(), "ground"
    for i in range(n):
        m.body(f"b{i}", rod((0.1 * i, 0), (0.1 * i + 0.1, 0), mass=0.1))
        m.revolute(f"j{i}", before, f"b{i}", at=(0.1 * i, 0))
        before = f"b{i}"
    return m


def branches(n: int) -> Mechanism:
    """Unequal rods, a branch at every tenth, a spring on every joint."""
    m, before, at, random = Mechanism(), "ground", np.zeros(2), np.random.default_rng(0)
    for i in range(n):
        step = random.uniform(0.05, 0.15) * np.array([1.0, 0.3 * (-1) ** i])
        m.body(f"b{i}", rod(at, at + step, mass=random.uniform(0.05, 0.2)))
        m.revolute(f"j{i}", before, f"b{i}", at=at)
        m.torsion_spring(f"j{i}", stiffness=0.5)
        if i % 10:
            before, at = f"b{i}", at + step
    return m


def ball_chain(n: int) -> Mechanism:
    """Rods of 0.1 m in space on ball joints, released level, with a first turn."""
    m, before = Mechanism(gravity=(0, 0, -9.81)), "ground"
    for i in range(n):
        at, to = (0.1 * i, 0, 0), (0.1 * i + 0.1, 0, 0)
        m.body(f"b{i}", rod(at, to, mass=0.1, width=0.01))
        m.spherical(f"j{i}", before, f"b{i}", at=at)
        before = f"b{i}"
    return m


def four_bars(n: int) -> Mechanism:
    """A row of n four-bar linkages of 1 m and 1 kg, hanging, released at 45 degrees; a unit that is repeated."""
    unit, m, d = Mechanism(), Mechanism(), np.array([np.sqrt(0.5), -np.sqrt(0.5)])
    unit.body("u", rod((0, 0), d, mass=1.0))
    unit.body("c", rod(d, (1, 0) + d, mass=1.0))
    unit.revolute("A", unit.ground, "u", at=(0, 0))
    unit.revolute("B", "u", "c", at=d)
    row = m.repeat("row", unit, times=n, step=(1, 0))
    last = m.body("last", rod((n, 0), (n, 0) + d, mass=1.0))
    m.revolute("A", m.ground, last, at=(n, 0))
    if n > 1:
        m.revolute("C", row["c"][:-1], row["u"][1:], at=np.arange(1, n)[:, None] * [1.0, 0.0] + d)
    m.revolute("C last", row["c"][-1], last, at=(n, 0) + d)
    return m


def net(n: int) -> Mechanism:
    """n x n point masses on rods of 0.1 m, held at one corner; drawn by one call."""
    m, side = Mechanism(), 0.1 * (n - 1)
    knots = m.net("net", at=((0, 0), (0, -side), (side, 0)), size=(n, n), mass=0.01 * n * n)
    m.revolute("held", m.ground, knots[0], at=(0, 0))
    return m


def drawn_chain(n: int) -> Mechanism:
    """The same as `chain`, drawn with one call."""
    m = Mechanism()
    m.chain("rope", at=((0, 0), (0.1 * n, 0)), links=n, mass=0.1 * n, first=m.ground)
    return m


def tree(n: int) -> Mechanism:
    """Unequal rods, each on one of the last ten before it."""
    m, ends, random = Mechanism(), [("ground", np.zeros(2))], np.random.default_rng(1)
    for i in range(n):
        before, at = ends[random.integers(max(0, len(ends) - 10), len(ends))]
        to = at + random.uniform(0.05, 0.15) * np.array([1.0, random.uniform(-0.5, 0.5)])
        m.body(f"b{i}", rod(at, to, mass=random.uniform(0.05, 0.2)))
        m.revolute(f"j{i}", before, f"b{i}", at=at)
        ends.append((f"b{i}", to))
    return m


def gears(n: int) -> Mechanism:
    """A train of wheels on the ground, each in gear with the next; a weight turns the first."""
    m = Mechanism()
    for i in range(n):
        m.body(f"w{i}", disk((0.2 * i, 0), 0.1, mass=0.5))
        m.revolute(f"A{i}", m.ground, f"w{i}", at=(0.2 * i, 0))
        if i:
            ends = ((0.2 * i - 0.2, 0), (0.2 * i, 0))
            m.gear(f"g{i}", f"w{i - 1}", f"w{i}", at=ends, radii=(0.1, 0.1))
    m.torque("turn", "w0", value=0.05)
    return m


def hinge_chain(n: int) -> Mechanism:
    """Rods in space on hinges whose axes turn by a right angle from one to the next."""
    m, before = Mechanism(gravity=(0, 0, -9.81)), "ground"
    for i in range(n):
        at, to = (0.1 * i, 0, 0), (0.1 * i + 0.1, 0, 0)
        m.body(f"b{i}", rod(at, to, mass=0.1, width=0.01))
        m.revolute(f"j{i}", before, f"b{i}", at=at, axis=(0, 1, 0) if i % 2 == 0 else (0, 0, 1))
        before = f"b{i}"
    return m


def arm(n: int) -> Mechanism:
    """Links in space on hinges, each with a motor whose law is the user's."""
    m = hinge_chain(n)
    for i in range(n):
        m.motor(f"j{i}", torque=lambda angle, speed, i=i: -2.0 * np.sin(angle - 0.1) - 0.05 * speed)
    return m


def spatial_loops(n: int) -> Mechanism:
    """A row of n four-bar linkages in space on hinges, of whose rows three of each loop repeat others; drawn by one call."""
    unit, m, down, axis = Mechanism(gravity=(0, 0, -9.81)), Mechanism(gravity=(0, 0, -9.81)), (0.3, 0, -1.0), (0, 1, 0)
    ends = {"A": ((0, 0, 0), down), "B": (down, (1.3, 0, -1.2)), "C": ((1.0, 0, 0), (1.3, 0, -1.2))}
    for name, (at, to) in ends.items():
        unit.body(name, rod(at, to, mass=1.0, width=0.05))
    for name, first, second, at in (
        ("a", unit.ground, "A", (0, 0, 0)), ("b", "A", "B", down), ("c", "B", "C", (1.3, 0, -1.2)),
        ("d", unit.ground, "C", (1.0, 0, 0)),
    ):  # fmt: skip
        unit.revolute(name, first, second, at=at, axis=axis)
    m.repeat("row", unit, times=n, step=(0, 1, 0))
    return m


def delta(n: int) -> Mechanism:
    """A delta robot from its file, three loops in space, its shoulders free; there is one, whatever n."""
    return delta_robot_mechanism()


def driven_delta(n: int) -> Mechanism:
    """The same with driven shoulders."""
    m = delta_robot_mechanism()
    for leg in LEGS:
        m.drive(f"shoulder {leg}", angle=shoulder_angle(leg))
    return m


def spring_net(n: int) -> Mechanism:
    """n x n point masses tied by springs, held at two corners; drawn by one call."""
    m, side = Mechanism(), 0.1 * (n - 1)
    knots = m.net("net", at=((0, 0), (0, -side), (side, 0)), size=(n, n), mass=0.01 * n * n, stiffness=100.0, damping=0.01)
    for name, knot, at in (("left", knots[0], (0, 0)), ("right", knots[n - 1], (side, 0))):
        m.revolute(name, m.ground, knot, at=at)
    return m


def all_joints(n: int) -> Mechanism:
    """Rods in space, each hung on the ground by another kind of joint, by turns."""
    m = Mechanism(gravity=(0, 0, -9.81))
    kinds = {
        "revolute": {"axis": (0, 1, 0)}, "prismatic": {"axis": (1, 0, -0.2)}, "spherical": {}, "fixed": {},
        "cylindrical": {"axis": (1, 0, -0.3)}, "universal": {"axis": (1, 0, 0), "other": (0, 1, 0)},
        "planar": {"axis": (0, 1, 0)}, "distance": {}, "pin_in_slot": {"axis": (1, 0, -0.1)},
    }  # fmt: skip
    for i, (kind, more) in zip(range(n), cycle(kinds.items()), strict=False):
        at, to = np.array([0, 0.2 * i, 0]), np.array([0.3, 0.2 * i, -0.1])
        m.body(f"b{i}", rod(at, to, mass=0.1, width=0.02))
        where = ((0, 0.2 * i, 0.4), at) if kind == "distance" else at
        getattr(m, kind)(f"j{i}", m.ground, f"b{i}", at=where, **more)
    return m


def stiff_chain(n: int) -> Mechanism:
    """The chain with a torsion spring and a damper on every pin that decay within microseconds."""
    m = chain(n)
    for i in range(n):
        m.torsion_spring(f"j{i}", stiffness=5e3, damping=50.0)
    return m


CASES = {
    "chain": (chain, (10, 40, 100, 1000, 10_000)), "drawn chain": (drawn_chain, (10_000, 100_000)),
    "branches": (branches, (1000,)),
    "tree": (tree, (1000,)), "ball chain": (ball_chain, (10, 100, 1000)), "hinge chain": (hinge_chain, (10, 100)),
    "arm": (arm, (6,)), "gears": (gears, (20,)), "four-bars": (four_bars, (5, 400, 4000)), "net": (net, (5, 15, 30, 100)),
    "spring net": (spring_net, (30, 100)), "delta": (delta, (1,)), "driven delta": (driven_delta, (1,)),
    "spatial loops": (spatial_loops, (10, 300)), "all joints": (all_joints, (9, 900)),
}  # fmt: skip
TITLES = {
    "chain": "planar chain", "drawn chain": "planar chain, `m.chain`", "branches": "unequal rods, branches, springs",
    "tree": "random tree of unequal rods", "ball chain": "ball chain in space", "hinge chain": "hinge chain in space",
    "arm": "arm with motors by laws of one's own", "gears": "train of gears", "four-bars": "row of four-bars, `m.repeat`",
    "net": "net of rods, `m.net`", "spring net": "net of springs, `m.net`", "delta": "delta robot from URDF, free shoulders",
    "driven delta": "delta robot from URDF, driven shoulders", "spatial loops": "row of four-bars in space, `m.repeat`",
    "all joints": "every kind of joint in space",
}  # fmt: skip
