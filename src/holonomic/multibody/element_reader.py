"""Elements read and made anew: which of them are of one kind, and what their numbers are.

Rows of joints and forces of springs are functions made by makers, of marks, names of parameters and numbers. Two elements are of
one kind if they were made alike, apart from which bodies, parameters and numbers they have: these are read off in the order in
which they are met. A kind's own function is made anew from the first of its elements, with numbers of one's own in their places.
"""

from __future__ import annotations

import inspect
from functools import cache
from types import FunctionType

import numpy as np

from ..assembly.kinds import SLOT
from ..model.made_functions import MadeFunction

TOLD = {"role", "asking", "joint"}  # arguments that only messages use
LITERAL = {"names"}
OURS = __name__.rpartition(".")[0]
NUMBERS = {"constants", "centre"}  # arguments that are an element's own numbers; others, such as an exponent, tell kinds apart


@cache
def argument_names(maker) -> tuple[str, ...]:
    """What a maker calls its arguments."""
    return tuple(inspect.signature(maker).parameters)


def is_mark(part) -> bool:
    """Whether something is a place on a body; see `plane` and `space`."""
    return type(part) is tuple and len(part) == 5 and type(part[0]) in (int, np.ndarray) and type(part[1]) is tuple


def is_ours(function) -> bool:
    """Whether a function is one of those that joints and forces are made of, which never change."""
    return isinstance(function, FunctionType) and (function.__module__ or "").startswith(OURS)


class Reader:
    """Reads an element: what it is like, and which bodies and numbers it has.

    Attributes
    ----------
    key : list
        What it is like; equal for elements of one kind.
    bodies : list of int
        In the order in which they are met; of a series arrays of these.
    numbers : list
        Names of parameters, and constants; of a series columns of these.
    functions : list
        Of the user's.
    asked : set of str
        What these name: bodies, joints, states, t, p, u.
    """

    def __init__(self, known):
        self.known = known
        self.key, self.bodies, self.numbers, self.functions, self.asked = [], [], [], [], set()
        self._places: dict[str, int] = {}

    def read(self, part, name: str = "", inside: bool = False) -> None:
        """Read one argument of a maker, or what was made."""
        kind = type(part)
        if kind is str:
            self._read_name(part, name)
        elif kind is np.ndarray or (kind is float and (inside or name in NUMBERS)):
            self.numbers.append(part)
            self.key.append(".")
        elif kind is tuple or kind is list:
            if kind is tuple and is_mark(part):
                self.key.append("mark")
                self.key.append(self._body(part[0]))
                inside, part = True, part[1:]
            self.key.append(len(part))
            for each in part:
                if type(each) is str:  # as nearly all are
                    self._read_name(each, name)
                else:
                    self.read(each, name, inside)
        elif kind is MadeFunction:
            self.key.append(part.maker)
            for argument, each in zip(argument_names(part.maker), part.args, strict=False):
                self.read(each, argument, False)
        else:
            self.key.append(part)
            if callable(part) and not is_ours(part):
                self.functions.append(part)

    def _read_name(self, part: str, name: str) -> None:
        """Read the name of a parameter, or another one, among the arguments of this name."""
        place = self._places.get(part)
        if name in TOLD:
            return
        if name in LITERAL:
            self.key.append(part)
            self.asked.add(part)
        elif place is not None:
            self.key.append(place)
        elif part in self.known:
            self.key.append(len(self.numbers))
            self._places[part] = len(self.numbers)
            self.numbers.append(part)
        else:
            self.key.append(part)

    def _body(self, k) -> int:
        if type(k) is np.ndarray:  # of a series
            place = next((i for i, other in enumerate(self.bodies) if other is k), len(self.bodies))
        elif k < 0:
            return -1
        else:
            place = 0
            for other in self.bodies:
                if type(other) is int and other == k:
                    break
                place += 1
        if place == len(self.bodies):
            self.bodies.append(k)
        return place


class Remaker:
    """Makes an element's function anew, with bodies by their local number and its numbers out of p."""

    def __init__(self, known, local: dict[int, int], p):
        self.known, self.local, self.p = known, local, p
        self._places: dict[str, int] = {}
        self._count = 0

    def make(self, part, name: str = "", inside: bool = False):
        """What `Reader.read` read, with other numbers."""
        kind = type(part)
        if kind is str:
            if name in TOLD or name in LITERAL or part not in self.known:
                return part
            place = self._places.get(part)
            if place is None:
                place = self._places[part] = self._next()
            return f"{SLOT}{place}"
        if kind is float and (inside or name in NUMBERS):
            return self.p[f"{SLOT}{self._next()}"]
        if kind is tuple or kind is list:
            if kind is tuple and is_mark(part):
                k = self.local.get(part[0], -1)
                return (k, *(self.make(each, name, True) for each in part[1:]))
            return kind(self.make(each, name, inside) for each in part)
        if kind is MadeFunction:
            names = argument_names(part.maker)
            return part.maker(*(self.make(each, argument) for argument, each in zip(names, part.args, strict=False)))
        return part

    def _next(self) -> int:
        self._count += 1
        return self._count - 1
