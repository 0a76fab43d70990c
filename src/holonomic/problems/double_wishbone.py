"""Double-wishbone suspension of one wheel on a moving road, in space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .from_bodies import problem_of
from .problem import Problem, Reference

if TYPE_CHECKING:
    from ..multibody import Mechanism


def double_wishbone_mechanism() -> Mechanism:
    """Return a quarter of a car: chassis on a vertical rail, two wishbones, an upright, a tie rod, a tyre.

    x forwards, y to the side, z up. The tyre is a vertical spring and damper between the wheel's centre and the road,
    whose height is 0.14 + 0.03 sin²(2πt). Joints "rail", "upper hinge", "lower hinge", "upper ball", "lower ball",
    "tie rod"; forces "strut", "tyre".
    """
    from ..multibody import Mechanism, box, rod

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
    m.spring("strut", "lower arm", "chassis", at=((0.0, 0.55, 0.28), (0.0, 0.40, 0.80)), stiffness=32e3, damping=2.2e3, length=0.70)
    m.point("hub", "upright", (0.0, 0.72, 0.44))
    m.force("tyre", "upright", at="hub", value=tyre)
    return m


def road(t):
    """Return the road's height and its rate."""
    return 0.14 + 0.03 * np.sin(2 * np.pi * t) ** 2, 0.03 * 2 * np.pi * np.sin(4 * np.pi * t)


def tyre(t, hub):
    """Return the force on the hub: a vertical spring and damper, 0.32 m long when relaxed."""
    height, rate = road(t)
    return (0.0, 0.0, 180e3 * (0.32 - (hub.position[2] - height)) - 300.0 * (hub.velocity[2] - rate))


def double_wishbone(*, t_end: float = 2.0) -> Problem:
    """Return the suspension released from its drawn position onto the moving road; two degrees of freedom."""
    return problem_of(
        double_wishbone_mechanism(), name="double-wishbone", title="Double-wishbone suspension", t_end=t_end,
        references=REFERENCES, source="own", notes="Quaternions, ball joints, a tie rod; forces up to several kN.",
    )  # fmt: skip


SOURCE = "own runs at three tolerances, agreeing to these digits"

REFERENCES = (
    Reference(
        0.5,
        q=(
            0.0, 0.0, 0.5702657699369477, 1.0,
            0.0, 0.0, 0.0, -0.009557446710946311,
            0.4853969540371118, 0.6214147041558709, 0.6817422829515232, 0.004706611740096039,
            -0.0011571934612680116, 0.7315763585199176, 0.005000000000000117, 0.4890597622272183,
            0.29615340160475245, 0.7149250057735625, -0.04466324617744309, 0.044948676356823355,
            0.6963239526645156, 0.0003495070538251661, 0.6794300321863119, 0.4420561812899653,
            0.9999907840342843, -0.003933688467860649, 0.0010332059867442062, 0.0013749279699606246,
        ),
        v=(
            0.0, 0.0, -0.088173471283116,
            0.0, 0.0, 0.0,
            -0.0016535135622764584, -0.0003973422770329887, -0.05510320003758777,
            -0.017094197594910935, -0.24357944666364, 0.013508392823020667,
            0.0, 0.004333929069387857, -0.054192089277014154,
            0.004713675992752388, -0.17967663402961484, 0.00037200352742481653,
            -0.001304501661398442, 0.004032213152531903, -0.020249021712659805,
            0.02784995064707615, -0.007747787729401077, -0.010290669841708937,
        ),
        digits={"q": 13, "v": 12},
        source=SOURCE,
    ),
    Reference(
        2.0,
        q=(
            0.0, 0.0, 0.5612097427865124, 1.0,
            0.0, 0.0, 0.0, -0.009762304019173428,
            0.4852855352979276, 0.6164558231699785, 0.681039165314477, 0.015024855150133866,
            -0.0122256267302919, 0.7319907397546225, 0.005000000000000311, 0.4895495770942338,
            0.2913110537996408, 0.7153777761676376, -0.03670431588904399, 0.037196733375415826,
            0.6967810513976148, 0.00018781326022049766, 0.6798205164660088, 0.44142177816347006,
            0.999997231534448, -0.002164591050023402, 0.000553940819891139, 0.0007379827771085082,
        ),
        v=(
            0.0, 0.0, -0.053523633805327396,
            0.0, 0.0, 0.0,
            -0.0008993972421953008, -0.0007624347545341258, -0.035535688961421535,
            -0.009305721263185142, -0.1325995223529832, 0.007353684642212409,
            0.0, 0.001943779149853556, -0.035007714688119036,
            0.002561770686923128, -0.09764997316103459, 0.0002021750611315206,
            -0.0007102344547636388, 0.0012354453930445459, -0.016521534035345557,
            0.015922362392116265, -0.004200636823878227, -0.005589514195211572,
        ),
        digits={"q": 13, "v": 12},
        source=SOURCE,
    ),
)  # fmt: skip
