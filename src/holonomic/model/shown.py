"""How a stated system shows itself: what each part is, in a word or two, and nothing that was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from ..errors import BadArgument
from .taking import taken


def shown(stated) -> str:
    """Return a system as one line: names of constraints, arguments of functions, sizes of constants."""
    given = ((each.name, getattr(stated, each.name)) for each in fields(stated) if each.repr)
    parts = [f"{name}={_word(value)}" for name, value in given if not _left_out(value)]
    return f"{type(stated).__name__}({', '.join(parts)})"


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
