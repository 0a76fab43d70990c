"""What systems of all kinds have in common when they are stated: names of functions, rows and coordinates, and what is refused."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import BadArgument
from .freezing import check_coordinates, check_mapping
from .makers import Made

Labelled = Any  # a function or constant, or {name: function}
KINDS = ("angle", "length", "quaternion", "")  # of coordinates


def labelled(given: Labelled, role: str) -> dict[str, Any]:
    """Return {label: function} of what was given: a mapping, one function, or nothing."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, list | tuple) and any(callable(part) for part in given):
        raise BadArgument(f"{role}: several functions are given by name, {{name: function, ...}}, not as a {type(given).__name__}.")
    return {role: given}


MAPPINGS = {  # what is given by name, how, and what one of them is called
    "params": ('{name: value}, for example {"g": 9.81}', "a parameter"),
    "inputs": ("{name: number, function of t, or (times, values)}", "an input"),
    "outputs": ("{name: function}", "an output"),
    "states": ("{name: function}", "a state"),
    "algebraic": ("{name: function}", "an algebraic variable"),
    "derivatives": ("{name: function}", "a derivative"),
}


def check_statement(system) -> None:
    """Refuse what is the wrong kind of thing: mappings without names, coordinates that are none, other ways to trace."""
    for name, words in MAPPINGS.items():
        check_mapping(getattr(system, name), name, *words)
    for name in ("constraint", "nonholonomic", "invariants", "g"):
        given = getattr(system, name)
        if isinstance(given, Mapping):
            check_mapping(given, name, "{name: function}", "an invariant" if name == "invariants" else "a constraint")
    check_coordinates(system.coordinates)
    own = ("q", "v", "a", "lam", "s", "w") if system.letter == "q" else ("y", "lam")
    for label in system.outputs or {}:
        if label in own:
            raise BadArgument(f"an output cannot be called {label!r}: sol.{label} is something else. Give it another name.")
    if not isinstance(system.trace, bool) and not (isinstance(system.trace, str) and system.trace == "auto"):
        raise BadArgument(f'trace={reprlib.repr(system.trace)}: choose "auto", True or False.')
    if system.derivatives and system.trace:
        raise BadArgument("derivatives= goes with trace=False; traced systems are differentiated exactly.")
    if system.drawing is not None and not callable(system.drawing):
        raise BadArgument(f"drawing= is a function of what it names of t, q, v, p, got {reprlib.repr(system.drawing)}.")


def row_names(function, count: int) -> Sequence[Any]:
    """What the rows of a vector constraint are called in brackets: their numbers, or the names a mechanism gives them."""
    named = function.row_names if isinstance(function, Made) else None
    return range(count) if named is None else named


def coordinate_names(system, n: int) -> tuple[list[str], list[bool]]:
    """Return the names of n coordinates, and which of them count turns."""
    given = system.coordinates
    order = system.order if system.letter == "x" else 1  # the state of a Dae holds the derivatives of its coordinates, too
    n //= order
    letter = system.letter
    names = [f"{letter}[{i}]" for i in range(n)] if given is None else list(given)
    if len(names) != n:
        start = {"x": "x0", "y": "y0", "q": "q0"}[letter]
        shown = f"{', '.join(map(str, names[:6]))}{', ..' if len(names) > 6 else ''}"
        raise BadArgument(f"{start} has {n} entries, but coordinates= names {len(names)}: {shown}. Give one number for each.")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BadArgument(f"coordinates= has the name {twice[0]!r} twice; every coordinate needs its own.")
    kinds = given.values() if isinstance(given, Mapping) else [""] * n
    known = [kind is None or (isinstance(kind, str) and kind in KINDS) for kind in kinds]
    odd = [(name, kind) for name, kind, one in zip(names, kinds, known, strict=True) if not one]
    if odd:
        raise BadArgument(
            f"coordinates= gives {odd[0][0]!r} the kind {odd[0][1]!r}; kinds are {', '.join(map(repr, KINDS[:3]))}. "
            '"angle" marks one that counts turns.'
        )
    names += ["d" * level + name for level in range(1, order) for name in names]
    return names, [kind == "angle" for kind in kinds] + [False] * (len(names) - n)
