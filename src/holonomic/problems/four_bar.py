"""Four-bar linkage out of bodies, in the plane and in space."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .from_bodies import problem_of
from .problem import Problem, Reference

if TYPE_CHECKING:
    from ..multibody import Mechanism

PINS = {"A": (0.0, 0.0), "B": (0.0, 1.0), "C": (2.0, 2.0), "D": (2.5, 0.0)}  # m
MASSES = {"crank": 1.0, "coupler": 2.0, "rocker": 1.5}  # kg


def four_bar_mechanism(dimension: int = 2) -> Mechanism:
    """Return crank, coupler and rocker, uniform rods between the pins A, B, C, D; A and D are on the ground.

    In space (dimension 3) the hinges have parallel axes: 20 rows of rank 17.
    """
    from ..multibody import Mechanism, rod

    P = {name: (*place, 0.0)[:dimension] for name, place in PINS.items()}
    m = Mechanism(gravity=(0.0, -9.81, 0.0)[:dimension])
    m.body("crank", rod(P["A"], P["B"], mass=MASSES["crank"]))
    m.body("coupler", rod(P["B"], P["C"], mass=MASSES["coupler"]))
    m.body("rocker", rod(P["D"], P["C"], mass=MASSES["rocker"]))
    for name, first, second in (
        ("A", "ground", "crank"), ("B", "crank", "coupler"), ("C", "coupler", "rocker"), ("D", "ground", "rocker"),
    ):  # fmt: skip
        m.revolute(name, first, second, at=P[name])
    return m


def four_bar(*, t_end: float = 5.0) -> Problem:
    """Return a four-bar linkage that falls from its drawn position; crank-rocker, one degree of freedom."""
    return problem_of(
        four_bar_mechanism(), name="four-bar", title="Four-bar linkage", t_end=t_end, references=REFERENCES,
        source="own", notes="Released at rest; the crank swings and turns over.",
    )  # fmt: skip


def four_bar_spatial(*, t_end: float = 5.0) -> Problem:
    """Return the same linkage with hinges in space: redundant constraints, the motion of the plane."""
    states = tuple(in_space(known) for known in REFERENCES)
    return problem_of(
        four_bar_mechanism(3), name="four-bar-spatial", title="Four-bar linkage of hinges in space", t_end=t_end,
        references=states, source="own", notes="Rank 17 of 20: the motion is unique, some reactions are not.",
    )  # fmt: skip


def in_space(known: Reference) -> Reference:
    """Return a planar state in the coordinates of space, rotation about z."""
    q, v = [], []
    for (x, y, angle), (dx, dy, rate) in zip(np.reshape(known.q, (-1, 3)), np.reshape(known.v, (-1, 3)), strict=True):
        q += [x, y, 0.0, np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)]
        v += [dx, dy, 0.0, 0.0, 0.0, rate]
    return Reference(known.t, q=q, v=v, digits=known.digits, source=known.source)


SOURCE = "own runs at two tolerances, and an equation in the crank angle alone, agreeing to these digits"

REFERENCES = (
    Reference(
        1.0,
        q=(
            -0.4915155116193578, 0.09171969165644639, 2.95710858303645,
            -0.025617319082612153, 0.760811879275503, 0.5426623175193941,
            1.715898192536743, 0.6690921876190569, 2.435172517533936,
        ),
        v=(
            -0.4459569105630704, -2.389832925699391, 4.862171933955389,
            -1.5516825259781637, -3.6856206656378734, 1.1427089261535457,
            -1.1057256154150934, -1.2957877399384825, 1.6525758869637688,
        ),
        digits={"q": 12, "v": 11},
        source=SOURCE,
    ),
    Reference(
        5.0,
        q=(
            -0.01841971469080048, 0.4996605989176068, 1.60764409400191,
            0.9651121330890072, 1.4953988797185176, 0.45972911949143563,
            2.2335318477798047, 0.9957382808009132, 1.8322779338421935,
        ),
        v=(
            -0.17280285548378987, -0.0063702827532578854, 0.3458404682260769,
            -0.3281736833449431, -0.047948856367784884, -0.03513971351514516,
            -0.15537082786115322, -0.041578573614527, 0.15603580866267616,
        ),
        digits={"q": 10, "v": 9.5},
        source=SOURCE,
    ),
)  # fmt: skip
