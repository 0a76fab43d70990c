"""The sliders of a live page: what their names mean, how far they go, and what a setting of the methods changes.

Parameters and initial values are numbers that a program reads: they move freely. Settings of methods (rtol, step, the strength
of a stabilization) are read by Python, which knows what follows from them; a page has a table of these instead.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..model.call_by_name import nearest
from ..model.given_numbers import is_number

STARTS = ("q0", "v0", "y0")
BY_DECADE = {"rtol": 4, "step": 8}  # positions of a slider in each factor of ten
STRENGTHS = 40  # parts of the range of a strength
MOST_POSITIONS = 81
MOST_SLIDERS = 12
MOST_SUGGESTED = 5
OFTEN_MOVED = ("stiffness", "damping", "torque", "mass")  # numbers of a mechanism, by the ends of their names
ARRAYS = ("REALS0", "WHOLES0", "sp", "atol", "P")  # what settings may change, entry by entry
NUMBERS = ("tol", "least")


@dataclass(frozen=True)
class Slider:
    """A number that is moved, from `low` to `high`; the recorded run has `value`."""

    name: str
    low: float
    high: float
    value: float
    param: tuple[str, int] | None = None  # a parameter and the entry of it
    start: int | None = None  # place in (q, v)
    setting: str | None = None  # of the methods
    place: int | None = None  # of an input, in data

    def place_in(self, model) -> int | None:
        """Where a parameter or an input stands in data; None: it is neither."""
        return self.place if self.param is None else model.places[self.param[0]][0].start + self.param[1]

    @property
    def positions(self) -> list[float]:
        """The values of a setting that the page knows; the recorded run's is one of them."""
        if self.setting in BY_DECADE:
            count = int(np.ceil(BY_DECADE[self.setting] * np.log10(self.high / self.low)))
            found = np.geomspace(self.low, self.high, min(max(2, count + 1), MOST_POSITIONS))
        else:
            found = np.linspace(self.low, self.high, STRENGTHS + 1)
        rounded = [float(f"{each:.3g}") for each in found]
        return sorted({*rounded, self.value})


def read_sliders(
    live, system, model, start: np.ndarray, inputs: Mapping[str, float], settings: Mapping[str, float]
) -> list[Slider]:
    """Return the sliders that `live=` asks for; `inputs` and `settings` of the methods come with their values."""
    if live is True:
        live = suggested(system, settings)
    if not isinstance(live, Mapping) or not live:
        raise BadArgument(f'live= is a mapping {{name: (low, high)}}, such as {{"g": (0, 25)}}, or True, got {reprlib.repr(live)}.')
    if len(live) > MOST_SLIDERS:
        raise BadArgument(f"live= has {len(live)} sliders; a page has room for {MOST_SLIDERS}.")
    return [_slider(name, given, system, model, start, inputs, settings) for name, given in live.items()]


def suggested(system, settings: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return ranges for a few numbers among the parameters, and for the first setting of the methods.

    A mechanism has dozens: gravity, masses, springs and dampers are taken, as far as they are not zero.
    """
    numbers = {name: float(value) for name, value in (system.params or {}).items() if np.ndim(value) == 0}
    if system.resolver is not None:
        word = lambda name: name.rpartition(".")[2]
        often = sorted((name for name in numbers if word(name) in OFTEN_MOVED), key=lambda name: OFTEN_MOVED.index(word(name)))
        order = [*(name for name in system.resolver.gravity if name in numbers), *often]
        numbers = {name: numbers[name] for name in order if numbers[name] != 0.0}
    found = {name: around(value) for name, value in list(numbers.items())[:MOST_SUGGESTED]}
    for name, value in list(settings.items())[:1]:
        ranges = {"rtol": (min(1e-10, value), max(1e-2, value)), "step": (value / 10, value * 10)}
        found[name] = ranges.get(name, (0.0, 4 * value))
    return found


def around(value: float) -> tuple[float, float]:
    """A range that does not change the sign of a number: from a quarter of it to twice as much."""
    if value == 0.0:
        return -1.0, 1.0
    low, high = sorted((float(f"{0.25 * value:.2g}"), float(f"{2 * value:.2g}")))
    return min(low, value), max(high, value)


def _slider(name, given, system, model, start, inputs, settings) -> Slider:
    if not isinstance(name, str):
        raise BadArgument(f"live= has {reprlib.repr(name)}, which is no name.")
    value, means = _meaning(name, system, model, start, inputs, settings)
    ends = list(given) if isinstance(given, tuple | list | np.ndarray) else []
    if len(ends) != 2 or not all(map(is_number, ends)) or not -np.inf < ends[0] < ends[1] < np.inf:
        raise BadArgument(f"live={{{name!r}: {reprlib.repr(given)}}}: a range is two numbers, the smaller one first: (0, 25).")
    low, high = map(float, ends)
    if not low <= value <= high:
        raise BadArgument(f"live={{{name!r}: ({low:g}, {high:g})}}: the recorded run has {value:g}. Give a range that holds it.")
    if means.get("setting") in BY_DECADE and not low > 0.0:
        raise BadArgument(f"live={{{name!r}: ({low:g}, {high:g})}}: {name} must be positive.")
    return Slider(name, low, high, value, **means)


def _meaning(name: str, system, model, start: np.ndarray, inputs, settings) -> tuple[float, dict[str, Any]]:
    """What a name stands for: its value in the recorded run, and where it goes."""
    params = dict(system.params or {})
    entry = re.fullmatch(r"(.+)\[(\d+)\]", name)
    stem, number = (entry[1], int(entry[2])) if entry else (name, 0)
    if name in params and np.ndim(params[name]) == 0:
        return float(params[name]), {"param": (name, 0)}
    if stem in params:
        values = np.ravel(params[stem])
        if entry is None or number >= len(values):
            raise BadArgument(
                f"live={{{name!r}: ...}}: {stem} has {len(values)} entries; name one, from {stem}[0] to {stem}[{len(values) - 1}]."
            )
        return float(values[number]), {"param": (stem, number)}
    places = start_places(model)
    if name in places:
        return float(start[places[name]]), {"start": places[name]}
    if name in inputs:
        return inputs[name], {"place": model.data_places["inputs"].start + 3 * list(model.inputs).index(name)}
    if name in settings:
        return settings[name], {"setting": name}
    raise BadArgument(
        f"live={{{name!r}: ...}}: there is nothing of this name to move. {nearest(name, [*params, *places, *inputs, *settings])}"
    )


def start_places(model) -> dict[str, int]:
    """Names of initial values, with their places in (q, v): "v0.y", "v0[1]"."""
    found = {}
    for letter, first, count in (("y0", 0, model.nq),) if model.is_ode else (("q0", 0, model.nc), ("v0", model.nq, model.nv)):
        for i in range(count):
            found[f"{letter}[{i}]"] = first + i
            if count == len(model.coordinates) and not model.coordinates[i].endswith("]"):
                found[f"{letter}.{model.coordinates[i]}"] = first + i
    return found


def settings_of(choices) -> dict[str, float]:
    """Settings that can be moved of some choices of methods, with the value of the first that has it."""
    found: dict[str, float] = {}
    for choice in choices:
        if choice.step is None:
            found.setdefault("rtol", float(choice.rtol))
        else:
            found.setdefault("step", abs(float(choice.step)))
        strength = strength_of(choice.stabilization)
        if strength is not None:
            found.setdefault(*strength)
    return found


def strength_of(stabilization) -> tuple[str, float] | None:
    """The name and the value of what says how strong a stabilization is, where that is one number."""
    name = stabilization.strength_setting
    if not is_dataclass(stabilization) or name not in stabilization.__dataclass_fields__:
        return None
    value = vars(stabilization)[name]
    return (name, float(value)) if is_number(value) else None


def entries(
    slider: Slider, base: dict[str, Any], told: tuple[int, ...], numbers_at: Callable[[float], dict[str, Any]]
) -> list[dict[str, Any]]:
    """What a setting changes of the numbers of a program, at all positions of its slider."""
    found = [numbers_at(value) for value in slider.positions]
    made = []
    for array in ARRAYS:
        rows = np.array([each[array] for each in found])
        for place in np.flatnonzero((rows != rows[:1]).any(axis=0) | (rows[0] != base[array])):
            if array == "sp" and place not in told:
                raise BadArgument(f"live={{{slider.name!r}: ...}}: it is part of the program of this method, and cannot be moved.")
            made.append({"array": array, "place": int(place), "values": [plain(each) for each in rows[:, place]]})
    for name in NUMBERS:
        values = [float(each[name]) for each in found]
        if any(value != base[name] for value in values):
            made.append({"array": name, "place": None, "values": values})
    return made


def plain(value: float) -> float | str:
    """A number as JSON has it; what it has not, as text."""
    return float(value) if np.isfinite(value) else str(value)
