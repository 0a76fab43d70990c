"""What Python remembers of a run, as text and arrays, and back: for files that hold no code.

Known are numbers, texts, arrays, tuples, lists, mappings, queues, memory of kernels, and records and methods of this package
(frozen dataclasses, named tuples), by the name of their class. Methods that the user gave stand as what they are in the call, so
that their classes need not be found; a plan is made anew from its choice.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..formulations.base import Formulation
from ..integrators.base import Integrator
from ..native.layout import Layout, Memory
from ..planning.choice import Choice
from ..planning.plan import Plan
from ..stabilizations.base import Stabilization

PACKAGE = __name__.partition(".")[0]
PLAIN = type(None) | bool | int | float | str | tuple
CHOICE = Choice.__dataclass_fields__
GIVEN = ("formulation", "integrator", "stabilization", "atol")


class Packing:
    """Turns things into what JSON holds, and collects the bytes of arrays, one behind the other.

    `given` is the choice that the call amounts to.
    """

    def __init__(self, given: Choice):
        self.given, self.arrays, self._at = given, [], 0

    def __call__(self, thing) -> Any:
        """Return a thing as text: a plain value, or a pair [kind, content]."""
        if thing is None or isinstance(thing, bool | int | str | float):
            return thing
        if isinstance(thing, np.generic):
            return thing.item()
        if isinstance(thing, np.ndarray | bytes):
            array = np.frombuffer(thing, np.uint8) if isinstance(thing, bytes) else np.ascontiguousarray(thing)
            at, self._at = self._at, self._at + array.nbytes
            self.arrays.append(array.reshape(-1).view(np.uint8))
            return ["bytes" if isinstance(thing, bytes) else "array", [array.dtype.str, at, list(array.shape)]]
        if isinstance(thing, Memory):
            return ["memory", [thing.layout.name, self(bytes(thing))]]
        if isinstance(thing, Plan):
            return ["plan", self(thing.choice)]
        if isinstance(thing, Choice):
            return ["choice", {name: self._of_choice(name, value) for name, value in _fields(thing).items() if name in CHOICE}]
        if isinstance(thing, deque):
            return ["deque", [thing.maxlen, [self(each) for each in thing]]]
        if isinstance(thing, dict):
            return ["dict", [[self(key), self(value)] for key, value in thing.items()]]
        if type(thing) in (tuple, list):
            return [type(thing).__name__, [self(each) for each in thing]]
        return ["record", [*_name(type(thing)), {name: self(value) for name, value in _fields(thing).items()}]]

    def _of_choice(self, name: str, value) -> Any:
        if name in GIVEN and value == getattr(self.given, name):
            return ["given", name]
        return self(value)


class Unpacking:
    """The way back; `content` are the bytes of all arrays, `plan_for` makes the plan of a choice."""

    def __init__(self, given: Choice, content: memoryview, plan_for: Callable[[Choice], Plan]):
        self.given, self.content, self.plan_for = given, content, plan_for

    def __call__(self, text) -> Any:
        """Return the thing that `Packing` turned into this text."""
        if not isinstance(text, list):
            return text
        kind, content = text
        return getattr(self, f"_{kind}")(content)

    def _array(self, place) -> np.ndarray:
        kind, at, shape = place
        return np.frombuffer(self.content, kind, math.prod(shape), at).reshape(shape).copy()

    def _bytes(self, place) -> bytes:
        return self._array(place).tobytes()

    def _memory(self, content) -> Memory:
        return Layout.known[content[0]].new(self(content[1]))

    def _plan(self, content) -> Plan:
        return self.plan_for(self(content))

    def _choice(self, content) -> Choice:
        return Choice(**{name: self(value) for name, value in content.items()})

    def _given(self, name: str) -> Any:
        return getattr(self.given, name)

    def _deque(self, content) -> deque:
        return deque(map(self, content[1]), maxlen=content[0])

    def _dict(self, content) -> dict:
        return {self(key): self(value) for key, value in content}

    def _tuple(self, content) -> tuple:
        return tuple(map(self, content))

    def _list(self, content) -> list:
        return list(map(self, content))

    def _record(self, content) -> Any:
        module, name, fields = content
        if module.partition(".")[0] != PACKAGE:
            raise ValueError(f"{module}.{name} is no record of {PACKAGE}")
        kind = getattr(importlib.import_module(module), name)
        _name(kind)
        values = {name: self(value) for name, value in fields.items()}
        if issubclass(kind, tuple):
            return kind(**values)
        made = object.__new__(kind)  # as it was, whatever it was made from
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return made


def _name(kind: type) -> tuple[str, str]:
    """Module and name of a class of records of this package, or of its methods."""
    named = isinstance(kind, type) and issubclass(kind, tuple) and "_fields" in vars(kind)
    method = isinstance(kind, type) and issubclass(kind, Formulation | Integrator | Stabilization)
    if not (named or method or dataclasses.is_dataclass(kind)) or kind.__module__.partition(".")[0] != PACKAGE:
        raise ValueError(f"{kind!r} is no record of {PACKAGE}")
    return kind.__module__, kind.__qualname__


def _fields(thing) -> dict[str, Any]:
    """The fields of a record, and what its constructor has set beside them; what it keeps for later is left out."""
    if isinstance(thing, tuple):
        return thing._asdict()  # type: ignore[attr-defined]
    names = {field.name for field in dataclasses.fields(thing)} if dataclasses.is_dataclass(thing) else set()
    return {name: value for name, value in vars(thing).items() if name in names or isinstance(value, PLAIN)}
