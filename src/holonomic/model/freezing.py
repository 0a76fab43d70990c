"""What a system was given, checked and taken into our own hands: parameters, inputs, arrays that stand for functions."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import BadArgument


def freeze(system, *constants: str) -> None:
    """Take parameters, inputs, labels and arrays that stand for functions into our own hands, as they are now."""
    object.__setattr__(system, "params", own_params(system.params))
    if system.inputs:
        object.__setattr__(system, "inputs", {name: _own_input(given) for name, given in system.inputs.items()})
    for name in constants:
        if not callable(getattr(system, name)):
            object.__setattr__(system, name, copy.deepcopy(getattr(system, name)))
    for name in ("constraint", "nonholonomic", "invariants", "g", "outputs", "states", "algebraic"):
        given = getattr(system, name, None)
        if isinstance(given, Mapping):
            object.__setattr__(system, name, dict(given))


def _own_input(given):
    """Return a table as a pair of arrays of our own, however its rows were given; whether it is one is seen later."""
    if not isinstance(given, tuple | list | np.ndarray) or getattr(given, "ndim", 1) == 0:
        return given
    return tuple(np.array(part) for part in given)


def input_table(name: str, given) -> tuple[np.ndarray, np.ndarray]:
    """Return a checked input as (times, values); a number is a table of one time."""
    try:
        if not isinstance(given, tuple):
            return np.zeros(1), np.array([float(given)])
        times, values = (np.asarray(part, dtype=float) for part in given)
    except (TypeError, ValueError):
        raise BadArgument(f"input {name!r} must be a number, a function of t, or a pair (times, values).") from None
    if times.ndim != 1 or times.shape != values.shape or len(times) < 2:
        raise BadArgument(f"input {name!r} must be a pair (times, values) of equal length, at least 2.")
    if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
        raise BadArgument(f"input {name!r} is not finite everywhere: {times}, {values}.")
    if np.any(np.diff(times) <= 0):
        raise BadArgument(f"the times of input {name!r} must increase.")
    return times, values


def own_params(params) -> Mapping[str, Any]:
    """Return checked parameters that no one else can change."""
    own = {}
    if params is not None and not isinstance(params, Mapping):
        raise BadArgument(f'params= is a mapping {{name: value}}, for example {{"g": 9.81}}, got {type(params).__name__}.')
    for name, value in (params or {}).items():
        if not (str(name).isidentifier() or "." in str(name)):  # p["link.mass"]: numbers of a mechanism
            raise BadArgument(f"parameter name {name!r} cannot be written as p.name.")
        try:
            number = np.array(value, dtype=float)
        except (TypeError, ValueError):
            raise BadArgument(f"parameter {name!r} must be a number or an array, got {value!r}.") from None
        if np.any(np.isnan(number)):
            raise BadArgument(f"parameter {name!r} is not a number: {value!r}.")
        number.flags.writeable = False
        own[name] = number if number.ndim else float(number)
    return MappingProxyType(own)
