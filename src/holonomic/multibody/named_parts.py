"""Parts of a mechanism by name: finding the one that is meant, and the message where there is none."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import asked
from ..model.function_signature import by_name
from .body import Body, Point
from .joint import EFFORT, Drive, Joint
from .series import Bodies, DrawnBodies, DrawnParts, PartRow
from .state_methods import NamedState

RESERVED = ("energy", "power", "gravity")
MANY = 2000  # names that are looked through for one that is near to a wrong one


class NamedParts:
    """The part of `Mechanism` that finds bodies, joints and the rest by what users give for them."""

    dimension: int
    ground: Body
    bodies: DrawnBodies
    joints: DrawnParts
    drives: dict[str, Drive]
    forces: DrawnParts
    points: dict[str, Point]
    states: dict[str, NamedState]
    outputs: dict[str, Any]

    def _new(self, name: str, what: str) -> None:
        if not isinstance(name, str) or not name:
            raise BadArgument(f"a {what} needs a name, got {name!r}. Write m.{what}('crank', ...).")
        if name in RESERVED or name == "ground":
            raise BadArgument(f"{name!r} is a name of its own here; call the {what} something else.")
        if "." in name or "[" in name:
            raise BadArgument(f"{what} {name!r}: names have no dots or brackets, because parameters are name.number.")
        for kind, known in self._kinds().items():
            if name in known:
                raise BadArgument(f"the name {name!r} is used twice: there is a {kind} {name!r} already.")

    def _kinds(self) -> dict[str, dict[str, Any]]:
        return {
            "body": self.bodies, "joint": self.joints, "point": self.points, "force": self.forces,
            "drive": self.drives, "output": self.outputs, "state": self.states,
        }  # fmt: skip

    def __getitem__(self, name: str):
        """Return a body, joint, point, force, drive or state by name."""
        if isinstance(name, str) and name == "ground":
            return self.ground
        for known in self._kinds().values():
            if isinstance(name, str) and name in known:
                return known[name]
        raise self._unknown(name, "body, joint, point or force")

    def _unknown(self, name, what: str, known=None) -> BadArgument:
        names = list(itertools.islice(itertools.chain(*self._kinds().values()) if known is None else known, MANY))
        near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5)
        more = ", .." if len(names) == MANY else ""
        hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"There are: {', '.join(names) or 'none'}{more}."
        return BadArgument(f"there is no {what} {name!r}. {hint}")

    def _are_many(self, *bodies) -> bool:
        """Whether there are many bodies where often there is one."""
        return any(isinstance(body, Bodies) for body in bodies)

    def _which(self, name: str, wrong) -> str:
        """The name of what is wrong with an element that is being drawn; of a series, that of the first that is."""
        return name

    def _body(self, given) -> Body:
        if isinstance(given, Body):
            if given.mechanism is not self:
                raise BadArgument(f"body {given.name!r} belongs to another mechanism.")
            return given
        if isinstance(given, str) and given == "ground":
            return self.ground
        if isinstance(given, str) and given in self.bodies:
            return self.bodies[given]
        if isinstance(given, Bodies):
            raise BadArgument(
                f"{len(given)} bodies where one is asked for. Joints, springs and dampers between two bodies are drawn in a row; "
                "for anything else take one of them, bodies[0]."
            )
        raise self._unknown(given, "body", self.bodies)

    def _joint(self, given, role: str, coordinate: str | None = None) -> Joint:
        joint = given if isinstance(given, Joint) else self.joints.get(given) if isinstance(given, str) else None
        if isinstance(given, PartRow):
            raise BadArgument(
                f"{role}: {len(given)} joints where one is asked for. Springs on joints are drawn in a row, by torsion_spring; for "
                "anything else take one of them, joints[0]."
            )
        if joint is None:
            raise self._unknown(given, "joint", self.joints)
        return self._that_moves(joint, role, coordinate)

    def _that_moves(self, joint: Joint, role: str, coordinate: str | None = None) -> Joint:
        """A joint, if it has the coordinate that is needed."""
        if joint.coordinate is None:
            raise BadArgument(f"{role} of joint {joint.name!r}: a {joint.kind} joint has neither one angle nor one position.")
        if coordinate is not None and joint.coordinate != coordinate:
            raise BadArgument(
                f"{role} of joint {joint.name!r}: a {joint.kind} joint has {_a(joint.coordinate)}, not "
                f"{_a(coordinate)}. Write {EFFORT[joint.coordinate] if role == 'motor' else joint.coordinate}=."
            )
        return joint

    @property
    def _given(self) -> tuple[str, ...]:
        """What every function of the user's may ask for."""
        return ("t", "p", "u", *self.states)

    def _mark(self, body: Body, keys, direction=None) -> tuple:
        """A place on a body as plain values; see `plane` and `space`."""
        rotation = body.rotation if self.dimension == 2 else tuple(map(tuple, np.asarray(body.rotation).tolist()))
        return (body.index, tuple(keys), body.origin, rotation, direction)

    def _asked(self, function, role: str, allowed: tuple[str, ...]) -> tuple[Callable, tuple[str, ...]]:
        """A user's function as it is called by name, and the names that it asks for."""
        takes, names = asked(function, role, allowed)
        return by_name(function, takes, names), names


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
