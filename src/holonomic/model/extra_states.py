"""States and algebraic variables beside the coordinates: their names, their sizes, and where they lie.

    s' = h(t, q, v, s, w, a, λ),    0 = k(t, q, v, s, w)

Kernels know one position vector, (q, s, w): constraints leave the columns of s and w empty, so that corrections move
coordinates alone. w is kept there so that Newton's method begins where it was last; every function that uses w
corrects it first (`unrolled_newton`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BadArgument
from .function_signature import taken
from .given_numbers import vector

TAKEN = ("t", "q", "v", "p", "u", "a", "lam", "s", "w", "x", "dx", "ddx", "y")
KINDS = {"states": ("s", "s0", "state"), "algebraic": ("w", "w0", "algebraic variable")}
# what functions may name beside t, q, v, p, u
ALSO = {
    "mass": ("s",), "potential": ("s",), "force": ("s", "w"), "constraint": ("s", "w"), "nonholonomic": ("s", "w"),
    "states": ("s", "w", "a", "lam"), "algebraic": ("s", "w"), "output": ("s", "w", "a", "lam"),
}  # fmt: skip


@dataclass(frozen=True)
class Extras:
    """Which states and algebraic variables there are, with their lengths, in the order in which they lie."""

    states: tuple[tuple[str, int], ...] = ()
    algebraic: tuple[tuple[str, int], ...] = ()

    @property
    def ns(self) -> int:
        return sum(size for _, size in self.states)

    @property
    def nw(self) -> int:
        return sum(size for _, size in self.algebraic)

    def __len__(self) -> int:
        return self.ns + self.nw

    def values(self, q) -> dict[str, Any]:
        """Return s, w and each of them under its own name, out of (q, s, w)."""
        found = {}
        at = len(q) - len(self)
        for letter, parts in (("s", self.states), ("w", self.algebraic)):
            if parts:
                found[letter] = q[at : at + sum(size for _, size in parts)]
            for name, size in parts:
                found[name] = q[at] if size == 1 else q[at : at + size]
                at += size
        return found

    @property
    def state_labels(self) -> list[str]:
        return _labels(self.states)

    @property
    def algebraic_labels(self) -> list[str]:
        return _labels(self.algebraic)

    def rows(self, name: str) -> tuple[str, list[int]] | None:
        """Return ("s" or "w", places in it) of a name, or None."""
        for letter, parts in (("s", self.states), ("w", self.algebraic)):
            at = 0
            for known, size in parts:
                if name == known:
                    return letter, list(range(at, at + size))
                at += size
            labels = _labels(parts)
            if name in labels:
                return letter, [labels.index(name)]
        return None


NONE = Extras()
NOTHING = np.zeros(0)


def _labels(parts) -> list[str]:
    return [name if size == 1 else f"{name}[{i}]" for name, size in parts for i in range(size)]


def allowed(system, role: str, basic: tuple[str, ...]) -> tuple[str, ...]:
    """Return what a function in this role may name: `basic`, and the states and algebraic variables it may see."""
    names = list(basic)
    for letter in ALSO.get(role, ()):
        if letter in ("a", "lam"):
            names += [letter] * (letter not in names)
            continue
        own = system.states if letter == "s" else system.algebraic
        if own:
            names += [letter, *own]
    return tuple(names)


def check_names(system) -> None:
    """Refuse names that stand for something else already."""
    seen: dict[str, str] = {name: "coordinate" for name in system.coordinates or ()}
    for kind, (_, _, word) in KINDS.items():
        for name in getattr(system, kind) or {}:
            if name in TAKEN:
                raise BadArgument(f"{kind}= has the name {name!r}, which functions use for something else.")
            if name in seen:
                article = "an" if word[0] == "a" else "a"
                raise BadArgument(f"{name!r} names a {seen[name]} and {article} {word}; each needs its own name.")
            seen[name] = word


def start_of_extras(call: str, system, s0, w0, before=None) -> tuple[np.ndarray, Extras]:
    """Return initial (s, w) and their layout; `before`, an earlier run's end, stands for what is not given.

    `call` is the function that was called, for messages.
    """
    if not system.states and not system.algebraic and s0 is None and w0 is None:
        return NOTHING, NONE
    sizes, values = {}, []
    for (kind, (letter, argument, word)), given in zip(KINDS.items(), (s0, w0), strict=True):
        names = list(getattr(system, kind) or {})
        if not names:
            if given is not None:
                raise BadArgument(f"{argument}= is given, but the system has no {word}s. State them as {kind}=.")
            sizes[kind] = ()
            continue
        if given is None and before is not None and np.size(getattr(before, letter)):
            given = getattr(before, letter)
        if given is None:
            first = "the initial values of its states" if kind == "states" else "a first guess of its algebraic variables"
            raise BadArgument(f"{call} needs {argument}, {first}: {argument}={{{', '.join(f'{n!r}: ...' for n in names)}}}.")
        parts = _parts(given, names, argument, word)
        sizes[kind] = tuple((name, len(part)) for name, part in parts.items())
        values += parts.values()
    return np.concatenate([*values, np.zeros(0)]), Extras(**sizes)


def _parts(given, names: list[str], argument: str, word: str) -> dict[str, np.ndarray]:
    """Return each name's values, of a mapping or of one row of numbers."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in names]
        missing = [name for name in names if name not in given]
        if unknown:
            raise BadArgument(f"{argument} has {unknown[0]!r}, which is no {word}; known: {', '.join(names)}.")
        if missing:
            raise BadArgument(f"{argument} has no value for {missing[0]!r}.")
        parts = {name: given[name] for name in names}
    else:
        flat = vector(given, argument)
        if len(names) == 1:
            parts = {names[0]: flat}
        elif len(flat) == len(names):
            parts = dict(zip(names, flat, strict=True))
        else:
            raise BadArgument(
                f"{argument} has {len(flat)} entries for the {word}s {', '.join(names)}. Give one number each, or "
                f"{argument}={{name: values}} where some have several."
            )
    parts = {name: vector(part, f"{argument}[{name!r}]") for name, part in parts.items()}
    for name, part in parts.items():
        if not len(part):
            raise BadArgument(f"{argument}[{name!r}] is empty.")
    return parts


def check_uses(system, derivatives: Mapping) -> None:
    """With trace=False, tell by the names of arguments whether constraints use what changes with v, v' or λ."""
    own = {name: set(_asked(system, kind, f)) for kind, name, f in _functions(system, "states", "algebraic")}
    whole = {"s": list(system.states or {}), "w": list(system.algebraic or {})}
    for kind, label, function in _functions(system, "constraint", "nonholonomic"):
        asked, reached = _asked(system, kind, function), set()
        while asked:
            name = asked.pop()
            for each in whole.get(name, [name]):
                if each in own and each not in reached:
                    reached.add(each)
                    asked += own[each]
        moving = [name for name in sorted(reached) if own[name] & {"v", "a", "lam"}]
        if moving:
            raise BadArgument(
                f"constraint {label!r} uses {moving[0]!r}, which changes with v, v' or λ: its force would no longer act "
                "along the constraint. Write it with q and t, or give that variable an equation without them."
            )
        if reached and set(derivatives) & {"G", "g_t", "gamma"}:
            raise BadArgument(f"derivatives= cannot be given where a constraint ({label!r}) uses {sorted(reached)[0]!r}.")


def _functions(system, *kinds: str):
    for kind in kinds:
        given = getattr(system, kind) or {}
        for name, function in (given if isinstance(given, Mapping) else {kind: given}).items():
            if callable(function):
                yield kind, name, function


def _asked(system, kind: str, function) -> list[str]:
    """Names that a function in this role asks for."""
    takes = taken(function, kind, allowed(system, kind, ("t", "q", "v", "p", "u")))
    return [one.name for one in takes.parameters]
