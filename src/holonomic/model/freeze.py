"""What a system was given, checked and copied: parameters, inputs, arrays that stand for functions."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import BadArgument
from .given_numbers import floats
from .input_tables import own_input


def freeze(system, *constants: str) -> None:
    """Copy parameters, inputs, labels and arrays that stand for functions, as they are now."""
    object.__setattr__(system, "params", own_params(system.params))
    if system.inputs:
        object.__setattr__(system, "inputs", {name: own_input(name, given) for name, given in system.inputs.items()})
    for name in constants:
        given = getattr(system, name)
        if given is not None and not callable(given):
            check_constant(given, f"{name}=", finite=name != "mass")  # a mass that is not finite is reported with its place later
            object.__setattr__(system, name, copy.deepcopy(given))
    for name in ("constraint", "nonholonomic", "invariants", "g", "outputs", "states", "algebraic", "derivatives"):
        given = getattr(system, name)
        if isinstance(given, Mapping):
            for label, each in given.items():
                if not callable(each):
                    check_constant(each, f"{name}[{label!r}]")
            object.__setattr__(system, name, dict(given))


def check_constant(given, what: str, finite: bool = True) -> np.ndarray:
    """Return the numbers that stand for a function; refuse text, dates, complex numbers, True and False."""
    try:
        if np.asarray(given).dtype.kind == "b":
            raise TypeError
        found = floats(given)
    except (TypeError, ValueError, OverflowError):  # also of rows of different lengths
        raise BadArgument(f"{what} must be a number, an array of numbers or a function, got {reprlib.repr(given)}.") from None
    if finite and not np.all(np.isfinite(found)):
        raise BadArgument(f"{what} must be finite, got {reprlib.repr(given)}.")
    return found


def check_mapping(given, name: str, example: str, word: str) -> None:
    """Refuse what is not a mapping from names to something; None and an empty mapping pass."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        raise BadArgument(f"{name}= is a mapping {example}, got {type(given).__name__}.")
    for label in given:
        if not isinstance(label, str) or not label:
            raise BadArgument(f"{name}={{{label!r}: ...}}: {word} is called by a text.")


def check_coordinates(given) -> None:
    """Refuse names of coordinates that are not strings, or that come in no order."""
    if given is None or isinstance(given, str):
        return
    if not isinstance(given, Mapping | Sequence | np.ndarray) or isinstance(given, bytes):
        raise BadArgument(
            f'coordinates= is a list of names, ["x", "y"], or {{name: kind}}, got {reprlib.repr(given)} ({type(given).__name__}).'
        )
    for name in given:
        if not isinstance(name, str) or not name:
            raise BadArgument(f"coordinates= has the name {reprlib.repr(name)}: a coordinate is called by a text.")


def own_params(params) -> Mapping[str, Any]:
    """Return checked parameters that no one else can change."""
    own = {}
    if params is not None and not isinstance(params, Mapping):
        raise BadArgument(f'params= is a mapping {{name: value}}, for example {{"g": 9.81}}, got {type(params).__name__}.')
    for name, value in (params or {}).items():
        if not (str(name).isidentifier() or "." in str(name)):  # p["link.mass"]: numbers of a mechanism
            raise BadArgument(f"parameter name {name!r} cannot be written as p.name.")
        try:
            number = floats(value)
        except (TypeError, ValueError, OverflowError):
            raise BadArgument(f"parameter {name!r} must be a number or an array, got {value!r}.") from None
        if np.any(np.isnan(number)):
            raise BadArgument(f"parameter {name!r} is not a number: {value!r}.")
        number.flags.writeable = False
        own[name] = number if number.ndim else float(number)
    return MappingProxyType(own)
