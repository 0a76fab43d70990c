"""Double-wishbone suspension of one wheel on a moving road, in space."""

from __future__ import annotations

import numpy as np

from ..multibody import Mechanism, box, rod
from .from_bodies import problem_of
from .problem import Problem, Reference


def double_wishbone_mechanism() -> Mechanism:
    """Return a quarter of a car: chassis on a vertical rail, two wishbones, an upright, a tie rod, a tyre.

    x forwards, y to the side, z up. The tyre is a vertical spring and damper between the wheel's centre and the road,
    whose height is 0.14 + 0.03 sin²(2πt). Joints "rail", "upper hinge", "lower hinge", "upper ball", "lower ball",
    "tie rod"; forces "strut", "tyre".
    """
    m = Mechanism(gravity=(0.0, 0.0, -9.81))
    m.body("chassis", box((0.0, 0.0, 0.55), (1.0, 0.4, 0.4), mass=320.0))
    m.body("upper arm", rod((0.0, 0.35, 0.60), (-0.02, 0.62, 0.62), mass=3.0))
    m.body("lower arm", rod((0.0, 0.30, 0.30), (0.01, 0.68, 0.27), mass=5.0))
    m.body("upright", box((0.0, 0.68, 0.44), (0.10, 0.06, 0.40), mass=30.0))
    m.prismatic("rail", m.ground, "chassis", at=(0.0, 0.0, 0.55), axis=(0.0, 0.0, 1.0))
    m.revolute("upper hinge", "chassis", "upper arm", at=(0.0, 0.35, 0.60), axis=(1.0, 0.0, 0.05))
    m.revolute("lower hinge", "chassis", "lower arm", at=(0.0, 0.30, 0.30), axis=(1.0, 0.0, 0.0))
    m.spherical("upper ball", "upper arm", "upright", at=(-0.02, 0.62, 0.62))
    m.spherical("lower ball", "lower arm", "upright", at=(0.01, 0.68, 0.27))
    m.distance("tie rod", "chassis", "upright", at=((0.15, 0.30, 0.35), (0.14, 0.66, 0.34)))
    m.spring(
        "strut", "lower arm", "chassis", at=((0.0, 0.55, 0.28), (0.0, 0.40, 0.80)), stiffness=32e3, damping=2.2e3,
        length=0.70,
    )  # fmt: skip
    m.point("hub", "upright", (0.0, 0.72, 0.44))
    m.force(
        "tyre", "upright", at="hub",
        value=lambda t, hub: (
            0.0, 0.0,
            180e3 * (0.32 - (hub.position[2] - 0.14 - 0.03 * np.sin(2 * np.pi * t) ** 2))
            - 300.0 * (hub.velocity[2] - 0.03 * 2 * np.pi * np.sin(4 * np.pi * t)),
        ),
    )  # fmt: skip
    return m


def double_wishbone(*, t_end: float = 2.0) -> Problem:
    """Return the suspension released from its drawn position onto the moving road; two degrees of freedom."""
    return problem_of(
        double_wishbone_mechanism(), name="double-wishbone", title="Double-wishbone suspension", t_end=t_end,
        references=REFERENCES, source="own", notes="Quaternions, ball joints, a tie rod; forces up to several kN.",
    )  # fmt: skip


REFERENCES: tuple[Reference, ...] = ()
