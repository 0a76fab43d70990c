"""What a picture is asked for: names, numbers, switches and axes, taken as they are meant or refused by the argument's name."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import as_number, is_whole


def texts(given, argument: str, example: str) -> list[str]:
    """Return names one by one; a text alone is one of them. A mapping or a set is no row of names."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, bytes | Mapping):
        raise BadArgument(f"{argument}= is a list of names, such as [{example!r}], got {reprlib.repr(given)}.")
    for name in given:
        if not isinstance(name, str):
            raise BadArgument(f"{argument}= has {reprlib.repr(name)}, which is no name. Write {argument}=[{example!r}].")
    return list(given)


def text(given, argument: str) -> str:
    """Return one text."""
    if not isinstance(given, str):
        raise BadArgument(f"{argument}={reprlib.repr(given)} must be a text.")
    return given


def switch(given, argument: str) -> bool:
    """Return True or False."""
    if not isinstance(given, bool | np.bool_):
        raise BadArgument(f"{argument}={reprlib.repr(given)}: choose True or False.")
    return bool(given)


def whole(given, argument: str, low: int, high: int) -> int:
    """Return a whole number between two others."""
    if not is_whole(given, low) or given > high:
        raise BadArgument(f"{argument}={reprlib.repr(given)} must be a whole number between {low} and {high}.")
    return int(given)


def number(given, argument: str, low: float, high: float, unit: str = "") -> float:
    """Return a number above one and at most another."""
    refused = f"{argument}={reprlib.repr(given)} must lie between {low:g} and {high:g}{unit and ' ' + unit}."
    found = as_number(given)
    if not low < found <= high:
        raise BadArgument(refused)
    return found


def axes_given(ax, names: Sequence[str], word: str = "names") -> list | None:
    """Return the axes to draw on, one for each name, or None for a new figure."""
    from matplotlib.axes import Axes

    if ax is None:
        return None
    found = list(ax) if isinstance(ax, list | tuple) else list(np.ravel(ax)) if isinstance(ax, np.ndarray) else [ax]
    other = [each for each in found if not isinstance(each, Axes)]
    if other:
        raise BadArgument(f"ax= is an Axes of Matplotlib, or several of them, got {reprlib.repr(other[0])}.")
    if len(found) != len(names):
        raise BadArgument(f"ax has {len(found)} axes for {len(names)} {word} ({', '.join(names)}).")
    return found
