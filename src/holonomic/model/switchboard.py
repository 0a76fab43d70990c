"""Switches: the comparisons by which a system's functions decide, with their names, their lines and what they watch.

A comparison `low < high` (or `<=`) stands in the equations as

    low < high + m

m being a number in data, its *mode*: 0 lets the values decide, as in plain Python; +∞ makes it true and -∞ false, whatever the
values are. So do the corners and jumps of abs, sign, max and min, of which a mode takes one side. All that knows nothing of
switches, and leaves zeros there, has the user's function as it was written; the step loop sets m, ends a step where high - low is
zero and changes m there, and never meets a corner or a jump inside a step.

There are two kinds. A comparison that decides, of an `if`, is followed from the start of a run. One of which a select, a mask
or a function with a corner is made sleeps: its mode stays 0 until a step fails over it (see `loop.wake`), and what is watched of
it is 1 up to then. Nobody has asked for anything to happen there, and most corners are never met, or cost no accuracy.

An equality such as `v == 0` is no switch: a motion meets it for an instant only, but for one that stays there, along other
comparisons of the same function. The branch taken at equality is then what holds, as far as it can (see `loop.sides`); its mode is
+∞ for so long, and nothing is watched of it. Branches of `v > 0` and `v < 0` that leave a third one for v = 0 are
the same. Where no other comparison has its function, the values decide; so they do at an instant at which the equality keeps the
other branch from dividing by zero.

A switch counts where the way through the function that leads to its comparison is taken: elsewhere its function may be
anything, NaN too, and what is watched is ±1, the sign of its mode.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ..kernels.sliding import ASIDE, ASLEEP, OF_EQUALITY, OF_PARTS, TRUE_AT_ZERO
from .refusals import SUBJECT, short, user_place
from .symbol import COMPARISONS, LOGIC, SWITCHED, Condition, Symbol, as_sx, negated
from .symbolics import SX, binary, depends_on, if_else, is_equal, operations, substitute, symvar, unary, vertcat, vertsplit

_ORDERED = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}
_JOINED = {sign: build for sign, build in LOGIC.values()}
_or, _and, _not = *map(binary, ("or", "and")), unary("not")
_lt, _le, _eq, _if = map(binary, ("lt", "le", "eq", "if_else_zero"))
_abs = unary("fabs")

MOST_SELECTS = 100  # of a system, that may wake: events are kept room for, of each

BOARD: contextvars.ContextVar[Switchboard | None] = contextvars.ContextVar("where switches are collected", default=None)
PATH: contextvars.ContextVar = contextvars.ContextVar("the way being followed through a function", default=None)


@dataclass(frozen=True)
class SwitchName:
    """How messages and results call a switch."""

    role: str  # the function it is in, such as "force()"
    line: int  # of source
    text: str  # that line as it was written, or the comparison
    at_zero: bool = False  # whether it holds where both sides are equal
    sleeps: bool = False  # whether it is one of a select, which is followed only where a step has failed over it
    corner: bool = False  # whether nothing jumps there
    timed: bool = False  # whether it changes with time alone
    alike: int = 0  # a number that those have whose function is the same, but for its sign, which is that of the number; or 0
    equality: bool = False  # whether it is true where both sides are equal, and nowhere else
    of_parts: bool = False  # whether it is no comparison, but a function of two parts, such as abs or sign
    others_at_zero: bool = False  # of an equality: whether the comparisons of its function are at zero what they are on no side

    def behind(self, others: int) -> SwitchName:
        """The same switch of another element: its number is none of so many others."""
        return replace(self, alike=self.alike + (others if self.alike > 0 else -others)) if self.alike else self

    @property
    def likeness(self) -> float:
        """`alike`, with what kernels have to know of it behind the point (see `kernels.sliding`)."""
        if self.equality:
            more = OF_EQUALITY + (TRUE_AT_ZERO if self.others_at_zero else 0.0)
        else:
            more = OF_PARTS if self.of_parts else TRUE_AT_ZERO if self.at_zero else 0.0
        return self.alike + math.copysign(more, self.alike) if self.alike else 0.0

    def __str__(self) -> str:
        return f'"{self.text}" in {self.role}' + (f", line {self.line}" if self.line else "")


@dataclass(eq=False)
class _Switch:
    name: SwitchName
    mode: SX
    low: SX
    high: SX
    truths: list[tuple[SX, int]] = field(default_factory=list)  # where it stands in expressions: 1 where low < high, or -1
    ways: dict[tuple, SX] = field(default_factory=dict)  # the ways that lead to it, and whether each is taken
    either: dict[tuple, SX] = field(default_factory=dict)  # the same where both sides of what the motion goes along are taken

    @property
    def value(self) -> SX:
        """What is watched."""
        return self.high - self.low

    def on(self, side: int, expression: SX) -> SX:
        """An expression on one side of this switch."""
        instead = [SX(float(side == sense)) for _, sense in self.truths]
        return substitute(expression, vertcat(self.mode, *(truth for truth, _ in self.truths)), vertcat(SX(side), *instead))


@dataclass(frozen=True)
class Switches:
    """Those of a system, as expressions."""

    names: tuple[SwitchName, ...] = ()
    watched: SX | None = None  # of each: high - low where it counts, and elsewhere the sign of its mode
    modes: SX | None = None
    unused: SX | None = None  # modes that stand in the expressions, and of which the values decide always

    def __len__(self) -> int:
        return len(self.names)


class Switchboard:
    """The switches of one system, as its functions are traced."""

    def __init__(self, t: SX, state: SX, elsewhere: SX):
        self._changing = vertcat(t, state)  # what changes along a run and is known at a state
        self._state = state
        self._elsewhere = elsewhere  # what is not: accelerations
        self._known: dict[tuple, _Switch] = {}

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Make switches of comparisons and of functions with corners, inside."""
        tokens = BOARD.set(self), SWITCHED.set(self)
        try:
            yield
        finally:
            BOARD.reset(tokens[0])
            SWITCHED.reset(tokens[1])

    def leave_out(self, unknown: SX) -> None:
        """Take what else is no function of the state: multipliers, once there are symbols for them."""
        self._elsewhere = vertcat(self._elsewhere, unknown)

    def kept_in(self, expressions: SX) -> Switches:
        """Return the switches that expressions depend on, once all functions are traced."""
        every = list(self._known.values())
        found = [each for each in every if depends_on(expressions, each.mode)]
        kept = self._with_equalities(found)
        unused = vertcat(SX(0, 1), *(each.mode for each in found if each not in kept))
        kept.sort(key=lambda each: each.name.sleeps)  # those of selects stand last
        others = vertcat(SX(0, 1), *(each.mode for each in every if each not in kept))
        watched = vertcat(SX(0, 1), *(_watched(each) for each in kept))
        watched = substitute(watched, others, SX.zeros(others.numel(), 1))
        timed = [not depends_on(each, self._state) for each in vertsplit(watched)] if kept else []
        names = tuple(replace(name, timed=alone) for name, alone in zip(_alike(kept), timed, strict=True))
        return Switches(names, watched, vertcat(SX(0, 1), *(each.mode for each in kept)), unused)

    def _with_equalities(self, found: list[_Switch]) -> list[_Switch]:
        """The same with one equality for each function on which a motion may stay, and no other."""
        kept, groups = list(found), {}
        for each in found:
            groups.setdefault(min(_text(each.value), _text(-each.value)), []).append(each)
        for group in groups.values():
            others = [each for each in group if not each.name.equality]
            equal = [each for each in group if each.name.equality]
            compared = [each for each in others if not each.name.of_parts]
            at_zero = _leave_a_branch_for_zero(compared)
            if at_zero and not equal:
                name = SwitchName(compared[0].name.role, compared[0].name.line, f"{compared[0].name.text} (at equality)")
                equal = [_Switch(name, SX.sym(f"mode{len(self._known)}"), compared[0].low, compared[0].high)]
                self._known["at equality", _text(compared[0].value)] = equal[0]
                kept += equal
            for each in equal:
                each.name = replace(each.name, equality=True, others_at_zero=at_zero)
                if not others:
                    kept.remove(each)
            for each in others if equal else ():  # followed from the start: it is said what holds there
                each.name = replace(each.name, sleeps=False)
        return kept

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
        if sign in ("==", "!="):
            mode = self._mode_of_equality(as_sx(left), as_sx(right), lambda: condition._text())
            return condition if mode is None else Condition(_equal(as_sx(left), sign, as_sx(right), mode), condition.relation)
        if sign not in _ORDERED:
            return condition
        low, high = (as_sx(left), as_sx(right)) if sign in ("<", "<=") else (as_sx(right), as_sx(left))
        return Condition(self._truth(low, high, sign, lambda: condition._text(), path, False), (left, sign, right))

    def compared(self, left: SX, sign: str, right: SX, build) -> SX:
        """Return a comparison for a select or a mask, which follows its mode."""
        if sign in _ORDERED:
            low, high = (left, right) if sign in ("<", "<=") else (right, left)
            followed = PATH.get()
            path = [] if followed is None else followed.before()
            return self._truth(low, high, sign, lambda: f"{left} {sign} {right}", path, True)
        if sign in ("==", "!="):
            mode = self._mode_of_equality(left, right, lambda: f"{left} {sign} {right}")
            if mode is not None:
                return _equal(left, sign, right, mode)
        return build(left, right)

    def in_two(self, plain: SX, low: SX, high: SX, above: SX, below: SX, corner: bool) -> SX:
        """Return a function of which a mode takes one side: `above` where low < high, or `below`."""
        mode = self._mode_of(low, high, False, lambda: f"{low} < {high}", corner=corner, of_parts=True)
        if mode is None:
            return plain
        return _if(_lt(_abs(mode), SX(1)), plain) + _if(_le(SX(1), mode), above) + _if(_le(mode, SX(-1)), below)

    def _truth(self, low: SX, high: SX, sign: str, told, path: list, sleeps: bool, split: bool = False) -> SX:
        """Whether low < high, or low <= high, which follows its mode.

        What lies flat at zero on one side of another switch, as |v| + v and max(0, v) do, has no rate there, and a motion along
        its zero could not be told. So that switch decides first, and this one counts where it does not lie flat. What is left is
        `split`, too, where it is constant.
        """
        flat = self._flat(high - low, split)
        if flat is None:
            mode = self._mode_of(low, high, sign in ("<=", ">="), told, path, sleeps)
            if mode is None:
                return COMPARISONS["less" if sign in ("<", ">") else "less_equal"][1](low, high)
            truth = _compare(low, high, sign, mode)
            for each in self._known.values():
                if depends_on(mode, each.mode):
                    each.truths.append((truth, 1 if is_equal(mode, each.mode) else -1))
            return truth
        other, side, value = flat
        apart = self._truth(other.low, other.high, "<=" if other.name.at_zero else "<", told, path, sleeps)
        apart = apart if side < 0 else _not(apart)
        low, high = other.on(-side, low), other.on(-side, high)
        if _same_sign(high - low, other.value if side < 0 else -other.value):
            rest = apart
        else:
            rest = self._truth(low, high, sign, told, [*path, (Symbol(apart), True)], sleeps, True)
        holds = value > 0.0 if sign in ("<", ">") else value >= 0.0
        return _or(_not(apart), rest) if holds else _and(apart, rest)

    def _flat(self, value: SX, constant: bool) -> tuple[_Switch, int, float] | None:
        """A switch on one side of which a value is zero, or `constant`, which side that is, and the value."""
        if not depends_on(value, self.modes):
            return None
        for each in self._known.values():
            if each.name.equality or not depends_on(value, each.mode):
                continue
            for side in (-1, 1):
                left = each.on(side, value)
                left = substitute(left, self.modes, SX.zeros(len(self), 1))
                if left.is_constant() and (float(left) == 0.0 or constant):
                    return each, side, float(left)
        return None

    def _undecided(self, condition: SX) -> SX:
        """Whether a condition is one along which the motion goes.

        Its mode is NaN then, or ±ASIDE where one side of it is looked at; or it is an equality that holds.
        """
        found = SX(0)
        for each in self._known.values():
            if not depends_on(condition, each.mode):
                continue
            if each.name.equality:
                found = _or(found, _le(SX(1), each.mode))
            else:
                size = _abs(each.mode)
                found = _or(found, _not(_or(_lt(size, SX(0.1 * ASIDE)), _lt(SX(10.0 * ASIDE), size))))
        return found

    def _changing_difference(self, low: SX, high: SX) -> SX | None:
        """high - low, or None where it does not change along a run, or is not known at a state."""
        if any(side.is_constant() and not math.isfinite(float(side)) for side in (low, high)):
            return None  # whether it is a number at all, or finite
        value = high - low
        return value if depends_on(value, self._changing) and not depends_on(value, self._elsewhere) else None

    def _mode_of_equality(self, left: SX, right: SX, told) -> SX | None:
        """The mode of an equality, None where it has none; one for each function, whatever its sign."""
        value = self._changing_difference(left, right)
        if value is None:
            return None
        key = "==", min(_text(value), _text(-value))
        if key not in self._known:
            line, text = user_place()
            name = SwitchName(SUBJECT.get(), line, text or short(told()), equality=True)
            self._known[key] = _Switch(name, SX.sym(f"mode{len(self._known)}"), left, right)
        return self._known[key].mode

    def _mode_of(self, low: SX, high: SX, at_zero: bool, told, path=None, sleeps=True, corner=False, of_parts=False) -> SX | None:
        """The mode of a comparison, None where it is no switch; without a `path` it counts on the way that is being followed."""
        value = self._changing_difference(low, high)
        if value is None:
            return None
        texts = _text(low), _text(high)
        key, opposite = (sleeps, at_zero, of_parts, *texts), of_parts and self._known.get((sleeps, False, True, *reversed(texts)))
        known = opposite or self._known.get(key)  # v < 0 has the mode of v > 0, with the other sign
        if known is None:
            if sleeps and sum(each.name.sleeps for each in self._known.values()) >= MOST_SELECTS:
                return None
            line, text = user_place()
            name = SwitchName(SUBJECT.get(), line, text or short(told()), at_zero, sleeps, corner, of_parts=of_parts)
            known = self._known[key] = _Switch(name, SX.sym(f"mode{len(self._known)}"), low, high)
        if known.name.corner and not corner:
            known.name = replace(known.name, corner=False)
        if path is None:
            followed = PATH.get()
            path = [] if followed is None else followed.before()
        way, taken, either = [], SX(1), SX(1)
        for before, answer in path:
            way.append((_text(before.sx), answer))
            here = before.sx if answer else _not(before.sx)
            taken, either = _and(taken, here), _and(either, _or(here, self._undecided(before.sx)))
        known.ways.setdefault(tuple(way), taken)
        known.either.setdefault(tuple(way), either)
        return -known.mode if opposite else known.mode


def _compare(low: SX, high: SX, sign: str, mode: SX) -> SX:
    """low < high or low <= high, as the mode has it."""
    return COMPARISONS["less" if sign in ("<", ">") else "less_equal"][1](low, high + mode)


def _equal(left: SX, sign: str, right: SX, mode: SX) -> SX:
    """left == right or left != right, as the mode has it."""
    equal = _or(_le(SX(1), mode), _and(_lt(_abs(mode), SX(1)), _eq(left, right)))
    return equal if sign == "==" else _not(equal)


def _leave_a_branch_for_zero(group: list[_Switch]) -> bool:
    """Whether comparisons of one function say at zero what they say on neither side of it, as `v > 0` and `v < 0` do."""
    first = _text(group[0].value) if group else ""
    at_zero, above = zip(*((each.name.at_zero, _text(each.value) == first) for each in group), strict=True) if group else ((), ())
    return at_zero != above and at_zero != tuple(not each for each in above)


def _same_sign(one: SX, other: SX) -> bool:
    """Whether one expression is surely another one, but for a positive factor, or its root."""
    ratio = one / other
    alike = is_equal(one, other) or is_equal(one, other + other) or is_equal(one, unary("sqrt")(other))
    return alike or (ratio.is_constant() and float(ratio) > 0.0)


def _watched(switch: _Switch) -> SX:
    """What is watched of a switch."""
    if switch.name.equality:
        return if_else(_lt(switch.mode, SX(0)), -1, 1)
    counts, either = SX(0), SX(0)
    for way in switch.ways.values():
        counts = _or(counts, way)
    for way in switch.either.values():
        either = _or(either, way)
    is_number = _le(_abs(switch.value), SX(math.inf))  # which bounds can tell, too
    if not (counts.is_constant() and float(counts)):
        counts = _or(counts, _and(either, is_number))
    if switch.name.sleeps:  # it has no value, too, where that is NaN: comparisons are false there
        counts = _and(_and(counts, _not(_le(_abs(switch.mode), SX(ASLEEP)))), is_number)
    if counts.is_constant() and float(counts):
        return switch.value
    return _if(counts, switch.value) + _if(_not(counts), if_else(_lt(switch.mode, SX(0)), -1, 1))


def _alike(kept: list[_Switch]) -> tuple[SwitchName, ...]:
    """The names of switches, which know of each other where they have one function, as `v > 0` and `v < 0` do."""
    numbers, signs = {}, []
    for switch in kept:
        way, other = _text(switch.value), _text(-switch.value)
        signs.append((numbers.setdefault(min(way, other), len(numbers) + 1), 1 if way <= other else -1))
    many = Counter(number for number, _ in signs)
    return tuple(
        replace(switch.name, alike=sign * number if many[number] > 1 else 0)
        for switch, (number, sign) in zip(kept, signs, strict=True)
    )


def _text(expression: SX) -> str:
    """An expression as text: equal texts, equal expressions."""
    symbols = vertcat(SX(0, 1), *symvar(expression))
    return repr([each.name() for each in symvar(expression)]) + repr(operations([symbols], expression))
