"""Switches: the comparisons by which a system's functions decide, with their names, their lines and what they watch.

A comparison `low < high` (or `<=`) stands in the equations as

    low < high + m

m being a number in data, its *mode*: 0 lets the values decide, as in plain Python; +∞ makes it true and -∞ false, whatever the
values are. So all that knows nothing of switches, and leaves zeros there, has the user's function as it was written; the step
loop sets m, ends a step where high - low is zero and changes m there, and never meets a corner or a jump inside a step.

A switch counts where the way through the function that leads to its comparison is taken: elsewhere its function may be
anything, NaN too, and what is watched is ±1, the sign of its mode.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from .refusals import SUBJECT, short, user_place
from .symbol import COMPARISONS, LOGIC, Condition, Symbol, as_sx, negated
from .symbolics import SX, binary, depends_on, if_else, operations, substitute, symvar, unary, vertcat

_ORDERED = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_JOINED = {sign: build for sign, build in LOGIC.values()}
_or, _and, _not, _lt, _if = binary("or"), binary("and"), unary("not"), binary("lt"), binary("if_else_zero")

BOARD: contextvars.ContextVar[Switchboard | None] = contextvars.ContextVar("where switches are collected", default=None)


@dataclass(frozen=True)
class SwitchName:
    """How messages and results call a switch."""

    role: str  # the function it is in, such as "force()"
    line: int  # of source
    text: str  # that line as it was written, or the comparison
    at_zero: bool = False  # whether it holds where both sides are equal

    def __str__(self) -> str:
        return f'"{self.text}" in {self.role}, line {self.line}'


@dataclass(eq=False)
class _Switch:
    name: SwitchName
    mode: SX
    value: SX  # high - low
    ways: dict[tuple, SX] = field(default_factory=dict)  # the ways that lead to it, and whether each is taken


@dataclass(frozen=True)
class Switches:
    """Those of a system, as expressions."""

    names: tuple[SwitchName, ...] = ()
    watched: SX | None = None  # of each: high - low where it counts, and elsewhere the sign of its mode
    modes: SX | None = None

    def __len__(self) -> int:
        return len(self.names)


class Switchboard:
    """The switches of one system, as its functions are traced."""

    def __init__(self, changing: SX, elsewhere: SX):
        self._changing = changing  # what changes along a run and is known at a state
        self._elsewhere = elsewhere  # what is not: accelerations
        self._known: dict[tuple, _Switch] = {}

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Make switches of the comparisons that decide, inside."""
        token = BOARD.set(self)
        try:
            yield
        finally:
            BOARD.reset(token)

    def leave_out(self, unknown: SX) -> None:
        """Take what else is no function of the state: multipliers, once there are symbols for them."""
        self._elsewhere = vertcat(self._elsewhere, unknown)

    def kept_in(self, expressions: SX) -> Switches:
        """Return the switches that expressions depend on, once all functions are traced."""
        every = list(self._known.values())
        kept = [each for each in every if depends_on(expressions, each.mode)]
        others = vertcat(SX(0, 1), *(each.mode for each in every if each not in kept))
        watched = vertcat(SX(0, 1), *(_watched(each) for each in kept))
        watched = substitute(watched, others, SX.zeros(others.numel(), 1))
        return Switches(tuple(each.name for each in kept), watched, vertcat(SX(0, 1), *(each.mode for each in kept)))

    def __len__(self) -> int:
        return len(self._known)

    @property
    def modes(self) -> SX:
        """The symbols of all modes so far."""
        return vertcat(SX(0, 1), *(each.mode for each in self._known.values()))

    def switched(self, condition: Symbol, path: list[tuple[Symbol, bool]]) -> Symbol:
        """Return a condition that follows the modes of its comparisons; `path` is what was decided before it."""
        if not isinstance(condition, Condition):
            return condition
        left, sign, right = condition.relation
        if sign == "~":
            return negated(self.switched(right, path))
        if sign in _JOINED:
            sides = [self.switched(side, path) if isinstance(side, Symbol) else side for side in (left, right)]
            return Condition(_JOINED[sign](as_sx(sides[0]), as_sx(sides[1])), (sides[0], sign, sides[1]))
        if sign not in _ORDERED:
            return condition
        low, high = (as_sx(left), as_sx(right)) if sign in ("<", "<=") else (as_sx(right), as_sx(left))
        if any(side.is_constant() and not math.isfinite(float(side)) for side in (low, high)):
            return condition  # whether it is a number at all, or finite
        value = high - low
        if not depends_on(value, self._changing) or depends_on(value, self._elsewhere):
            return condition
        key = (sign in ("<", ">"), _text(low), _text(high))
        known = self._known.get(key)
        if known is None:
            line, text = user_place()
            name = SwitchName(SUBJECT.get(), line, text or short(condition._text()), sign in ("<=", ">="))
            known = self._known[key] = _Switch(name, SX.sym(f"mode{len(self._known)}"), value)
        way, taken = [], SX(1)
        for before, answer in path:
            way.append((_text(before.sx), answer))
            taken = _and(taken, before.sx if answer else _not(before.sx))
        known.ways.setdefault(tuple(way), taken)
        build = COMPARISONS["less" if sign in ("<", ">") else "less_equal"][1]
        return Condition(build(low, high + known.mode), (left, sign, right))


def _watched(switch: _Switch) -> SX:
    """What is watched of a switch."""
    counts = SX(0)
    for way in switch.ways.values():
        counts = _or(counts, way)
    if counts.is_constant() and float(counts):
        return switch.value
    return _if(counts, switch.value) + _if(_not(counts), if_else(_lt(switch.mode, SX(0)), -1, 1))


def _text(expression: SX) -> str:
    """An expression as text: equal texts, equal expressions."""
    symbols = vertcat(SX(0, 1), *symvar(expression))
    return repr([each.name() for each in symvar(expression)]) + repr(operations([symbols], expression))
