"""Four-bar linkage out of bodies, in the plane and in space."""

from __future__ import annotations

import numpy as np

from ..multibody import Mechanism, rod
from .from_bodies import problem_of
from .problem import Problem, Reference

PINS = {"A": (0.0, 0.0), "B": (0.0, 1.0), "C": (2.0, 2.0), "D": (2.5, 0.0)}  # m
MASSES = {"crank": 1.0, "coupler": 2.0, "rocker": 1.5}  # kg


def four_bar_mechanism(dimension: int = 2) -> Mechanism:
    """Return crank, coupler and rocker, uniform rods between the pins A, B, C, D; A and D are on the ground.

    In space (dimension 3) the hinges have parallel axes: 20 rows of rank 17.
    """
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


REFERENCES = ()
