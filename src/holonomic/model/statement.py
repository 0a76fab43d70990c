"""What systems of all kinds have in common when they are stated: names, what is refused, and how they show themselves."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ..errors import BadArgument
from .freeze import check_coordinates, check_mapping
from .function_signature import taken
from .made_functions import MadeFunction
from .names_in_order import KindsInOrder

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
    named = function.row_names if isinstance(function, MadeFunction) else None
    return range(count) if named is None else named


def coordinate_names(system, n: int) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of n coordinates, and their kinds."""
    given = system.coordinates
    if isinstance(given, KindsInOrder):
        return given.names, given.kinds * (len(given.names) // len(given.kinds))
    order = system.order if system.letter == "x" else 1  # the state of a Dae holds the derivatives of its coordinates, too
    n //= order
    letter = system.letter
    names = [f"{letter}[{i}]" for i in range(n)] if given is None else list(given)
    if len(names) != n:
        start = {"x": "x0", "y": "y0", "q": "q0"}[letter]
        shown = f"{', '.join(map(str, names[:6]))}{', ..' if len(names) > 6 else ''}"
        raise BadArgument(f"{start} has {n} entries, but coordinates= names {len(names)}: {shown}. Give one number for each.")
    if len(set(names)) < n:
        twice = next(name for name in names if names.count(name) > 1)
        raise BadArgument(f"coordinates= has the name {twice!r} twice; every coordinate needs its own.")
    kinds = list(given.values()) if isinstance(given, Mapping) else [""] * n
    known = [kind is None or (isinstance(kind, str) and kind in KINDS) for kind in kinds]
    odd = [(name, kind) for name, kind, one in zip(names, kinds, known, strict=True) if not one]
    if odd:
        raise BadArgument(
            f"coordinates= gives {odd[0][0]!r} the kind {odd[0][1]!r}; kinds are {', '.join(map(repr, KINDS[:3]))}. "
            '"angle" marks one that counts turns.'
        )
    names += ["d" * level + name for level in range(1, order) for name in names]
    return names, [kind or "" for kind in kinds] + [""] * (len(names) - n)


def system_text(stated) -> str:
    """Return a system as one line: names of constraints, arguments of functions, sizes of constants."""
    given = ((each.name, getattr(stated, each.name)) for each in fields(stated) if each.repr)
    parts = [f"{name}={_word(value)}" for name, value in given if not _left_out(value)]
    return f"{type(stated).__name__}({', '.join(parts)})"


def argument_text(value) -> str:
    """Return an argument of a method as it is written, a function by its name."""
    return getattr(value, "__name__", "function") if callable(value) else repr(value)


def _left_out(value) -> bool:
    return value is None or (isinstance(value, str) and value == "auto") or (isinstance(value, Mapping) and not value)


def _word(value) -> str:
    if isinstance(value, Mapping):
        numbers = all(isinstance(each, int | float) for each in value.values())
        return "{" + ", ".join(f"{name!r}: {each:g}" if numbers else repr(name) for name, each in value.items()) + "}"
    if callable(value):
        try:
            return f"function of {', '.join(one.name for one in taken(value, 'function', ()).parameters)}"
        except BadArgument:
            return "function"
    if not isinstance(value, np.ndarray):
        return repr(value)
    return repr(value.tolist()) if value.ndim < 2 else f"constant {'x'.join(map(str, value.shape))} matrix"


MOST_NAMES = 6


def by_part(rows, labels) -> dict[str, int]:
    """How many of the rows belong to each constraint or joint: 'A[tilt 1]' is one of 'A'."""
    found: dict[str, int] = {}
    for row in sorted(rows):
        name = labels[row].partition("[")[0]
        found[name] = found.get(name, 0) + 1
    return found


def rows_in_short(labels) -> str:
    """Name many rows by their number and what they belong to."""
    names = [repr(name) for name in by_part(range(len(labels)), labels)]
    if len(names) == len(labels):
        return f"{len(labels)} rows"
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"the {len(labels)} rows of {', '.join(names[:MOST_NAMES])}{more}"
