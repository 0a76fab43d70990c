"""What a mechanism keeps of a joint, a drive and a force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from ..model.call_by_name import wanted
from .body import Body
from .small_vectors import dot, times

EFFORT = {"angle": "torque", "position": "force"}  # what a motor gives along each coordinate


@dataclass(eq=False)
class Joint:
    """A joint between two bodies; made by methods of `Mechanism` such as `revolute`."""

    name: str
    kind: str
    first: Body
    second: Body
    marks: tuple = field(repr=False)  # on the first and on the second body
    rows: Callable = field(repr=False)  # of (q, p), or of (q, v, p) at velocity level
    labels: tuple[str, ...] = field(repr=False)
    level: str = field(default="position", repr=False)
    coordinate: str | None = field(default=None, repr=False)  # "angle", "position" or None
    value: Callable | None = field(default=None, repr=False)
    rate: Callable | None = field(default=None, repr=False)
    gap: Callable | None = field(default=None, repr=False)  # of two frames and a wanted value
    more: dict[str, tuple] = field(default_factory=dict, repr=False)  # further coordinates: value and rate
    of: str | None = field(default=None, repr=False)  # the joint it is a part of
    holds_rotation: bool = field(default=False, repr=False)  # the bodies keep their relative rotation
    on: ClassVar[None] = None  # a force may act on a joint
    leader: ClassVar[None] = None  # a drive may be a coupling

    def wrench(self, kit, q, p, effort) -> tuple:
        """Force and torque on the second body, at its point, of an effort along the angle or position."""
        return wrench_along(kit, self.coordinate, self.marks[0], q, p, effort)

    def effort_in(self, kit, q, p, force, torque):
        """What such a force and such a torque are along the angle or position: the inverse of `wrench`."""
        return effort_in(kit, self.coordinate, self.marks[0], q, p, force, torque)


def wrench_along(kit, coordinate: str, mark, q, p, effort) -> tuple:
    """Force and torque of an effort along the angle or position of a joint, which has this mark on its first body."""
    here = kit.place(q, p, mark)
    if coordinate == "angle":
        return times(0.0, here[0]), kit.about(here, effort)
    return times(effort, kit.along(here)), kit.NO_TORQUE


def effort_in(kit, coordinate: str, mark, q, p, force, torque):
    """The inverse of `wrench_along`."""
    here = kit.place(q, p, mark)
    return kit.around(here, torque) if coordinate == "angle" else dot(force, kit.along(here))


@dataclass(eq=False)
class Drive:
    """A prescribed motion of a joint or a point; made by `Mechanism.drive`."""

    name: str
    of: str  # name of the joint or point
    marks: tuple = field(repr=False)
    rows: Callable = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    level: str = field(default="position", repr=False)
    start: str | None = field(default=None, repr=False)  # parameter that takes the assembled value
    wanted: Callable | None = field(default=None, repr=False)  # of (t, p)
    value: Callable | None = field(default=None, repr=False)  # of (q, p)
    closing: Callable | None = field(default=None, repr=False)  # rows that assembling closes, where a run keeps their rates
    leader: str | None = field(default=None, repr=False)  # of a coupling: name of the joint that the other one follows

    def shares(self, p) -> dict[str, float]:
        """Of a coupling: what the two joints feel of its effort, by name. Its row is follower - ratio x leader."""
        return {} if self.leader is None else {self.of: 1.0, self.leader: -p[f"{self.name}.ratio"]}


def follows_time(part: Joint | Drive) -> bool:
    """Whether the rows of a joint or drive depend on time by themselves."""
    return "t" in wanted(part.rows, part.name, ("t", "q", "v", "p"))


@dataclass(eq=False)
class Force:
    """A force; made by methods of `Mechanism` such as `spring` or `motor`."""

    name: str
    kind: str
    act: Callable = field(repr=False)  # (t, q, v, p, u) -> what it does to which body; with a load, its λ at the end
    marks: tuple = field(repr=False)
    energy: Callable | None = field(default=None, repr=False)  # of (q, p)
    damping: Callable | None = field(default=None, repr=False)  # the part of `act` that is not in the energy
    on: str | None = None  # name of a joint it acts on
    load: str | None = None  # name of a joint whose multipliers it follows
    turns: bool = field(default=False, repr=False)  # it turns a body at whose centre it acts, too
    kept: bool = field(default=False, repr=False)  # of a loaded run, whose functions are gone: whether it stores energy

    @property
    def stores(self) -> bool:
        """Whether it stores energy."""
        return self.kept or self.energy is not None

    @property
    def applied(self) -> Callable | None:
        """What the model adds to the force; the rest follows from the energy."""
        return self.act if self.energy is None else self.damping
