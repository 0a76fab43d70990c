"""Heavy top on a fixed tip, out of one body: quaternions, gyroscopic forces, a ball joint."""

from __future__ import annotations

import numpy as np

from .from_bodies import problem_of
from .problem import Problem, Reference

MASS, LENGTH, GRAVITY = 15.0, 1.0, 9.81  # kg, m, m/s²
INERTIA = (0.234375, 0.46875, 0.234375)  # kg m² about the centre of mass; the axis is y
SPIN = (0.0, 150.0, -4.61538)  # rad/s at the start, along the body's axes


def heavy_top(*, t_end: float = 1.0) -> Problem:
    """Return the fast symmetric top used by many papers on integration of rotations.

    A body of 15 kg whose centre of mass lies 1 m from a fixed tip starts level, along y, with 150 rad/s about its
    own axis. Read `sol["top"].position`, `sol["top"].angular_velocity` and `sol["tip"].force`.
    """
    from ..multibody import Mechanism

    m = Mechanism(gravity=(0.0, 0.0, -GRAVITY))
    m.body("top", at=(0.0, LENGTH, 0.0), mass=MASS, inertia=INERTIA)
    m.spherical("tip", m.ground, "top", at=(0.0, 0.0, 0.0))
    made = problem_of(
        m, name="heavy-top", title="Heavy top", t_end=t_end, references=REFERENCES,
        source="data of Brüls, Cardona and Arnold, Mech. Mach. Theory 48 (2012) 121-137",
        notes="24 turns a second: the angular momentum about the vertical, that about the axis and the energy stay.",
    )  # fmt: skip
    v = np.concatenate([np.cross(SPIN, (0.0, LENGTH, 0.0)), SPIN])
    return Problem(**{**{name: getattr(made, name) for name in made.__dataclass_fields__}, "v0": tuple(v.tolist())})


SOURCE = "own runs of Euler's equations about the tip and of this problem, at three tolerances, agreeing to these digits"

REFERENCES = (
    Reference(
        0.1,
        q=(
            0.42129665892539675, 0.8945719743455962, -0.149164700561916,
            0.33182291260830266, 0.1773380566669321, 0.9149751591387278, -0.1458260144308817,
        ),
        v=(
            3.408537463339106, -2.083437950579024, -2.8678350450061383,
            4.808941331727585, 150.0, 1.028300756717899,
        ),
        digits={"q": 13, "v": 11.5},
        source=SOURCE,
    ),
    Reference(
        1.0,
        q=(
            0.17334396409833372, 0.6400885920703744, -0.7484907911337605,
            0.7329439806796927, -0.27828571933776547, 0.5318246113340344, -0.3201761427362629,
        ),
        v=(
            0.5708253034232883, -4.588728296335909, -3.791955154709393,
            -0.8220781016865263, 150.0, -5.923291348116913,
        ),
        digits={"q": 12, "v": 11},
        source=SOURCE,
    ),
)  # fmt: skip
