"""Inputs that a call sets in the place of the system's own: numbers and tables over time, for one run or for each of many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..controllers import Controller
from ..errors import BadArgument
from ..model.given_numbers import floats
from ..model.input_tables import InputTables, held, split_kind

Rows = tuple[np.ndarray, np.ndarray]  # times; values, a row for each member or one for all


def mapped(given, what: str) -> Mapping:
    """Return values by name, empty for None."""
    if given is not None and not isinstance(given, Mapping):
        one = "parameter" if what == "params" else "input"
        raise BadArgument(f"{what}= is a mapping {{name: values}}, one array per {one}, got {type(given).__name__}.")
    return given or {}


def given_inputs(own: Mapping[str, Any], given: Mapping[str, Any] | None) -> dict[str, Rows]:
    """Return the inputs that a call sets as tables, linear in between; `own` are those of the system."""
    given = mapped(given, "inputs")
    for name in given:
        if name not in own:
            known = ", ".join(own) or "none"
            raise BadArgument(f"inputs={{{name!r}: ...}}: the system has no such input; known: {known}.")
        if callable(own[name]):
            raise BadArgument(
                f"input {name!r} is a function of t in the system. Give it there as a number or a table, so that it can be set."
            )
    return {name: _table(name, each) for name, each in given.items()}


def inputs_of_run(call: str, model, given: Mapping[str, Any] | None, written=None, stops=()) -> InputTables:
    """Return the inputs of one run, those of `given` in the place of the system's own; `call` is the function that was called.

    `written` are tables that controllers write, `stops` other times at which steps end.
    """
    for name, members in members_of_inputs(given).items():
        raise BadArgument(f"inputs[{name!r}] has values for {members} members, but {call} makes one run; sweep makes many.")
    tables = {name: (times, rows[0]) for name, (times, rows) in given_inputs(model.inputs, given).items()}
    return InputTables(model, tables | (written or {}), stops)


def controllers_by_name(given) -> Mapping[str, Any]:
    """Return the controllers that a call is given, empty for None; refuse what is no mapping."""
    if given is not None and not isinstance(given, Mapping):
        raise BadArgument(
            'controllers= is a mapping {name: Controller(...)}, for example {"push": Controller(lambda q, v: -q[0], period=0.01)}.'
        )
    return given or {}


def given_controllers(own: Mapping[str, Any], given, inputs, t0: float, t1: float) -> dict[str, Controller]:
    """Return the controllers that a call is given, by name; `own` are the system's inputs, `inputs` those that the call sets."""
    given = controllers_by_name(given)
    if given and t1 < t0:
        raise BadArgument(f"controllers look at a run forward in time; ({t0:g}, {t1:g}) goes backward.")
    owner: dict[str, str] = {}
    for name, controller in given.items():
        if not isinstance(controller, Controller):
            raise BadArgument(f"controllers[{name!r}] must be a Controller(law, period=...), got {type(controller).__name__}.")
        for each in (name,) if controller.sets is None else controller.sets:
            if each not in own:
                known = ", ".join(own) or "none"
                hint = " Name them with sets=[...]." if controller.sets is None else ""
                raise BadArgument(f"controller {name!r} sets {each!r}: the system has no such input; known: {known}.{hint}")
            if callable(own[each]):
                raise BadArgument(
                    f"input {each!r} is a function of t in the system. Give it there as a number or a table, so that it can be set."
                )
            if each in mapped(inputs, "inputs"):
                raise BadArgument(f"input {each!r} is given in inputs= and set by controller {name!r}: leave out one of them.")
            if each in owner:
                raise BadArgument(f"input {each!r} is set by two controllers, {owner[each]!r} and {name!r}.")
            owner[each] = name
    return dict(given)


def members_of_inputs(given: Mapping[str, Any] | None) -> dict[str, int]:
    """How many members each of the given inputs is for, where it has a row for each."""
    found = {}
    for name, value in mapped(given, "inputs").items():
        try:
            values = floats(value[1] if isinstance(value, tuple) else value)
        except (TypeError, ValueError, IndexError):
            text = f"inputs[{name!r}] must be numbers, one per member, or a pair (times, values), got {value!r}."
            raise BadArgument(text) from None
        if values.ndim >= (2 if isinstance(value, tuple) else 1):
            found[name] = len(values)
    return found


def _table(name: str, given) -> Rows:
    given, hold = split_kind(name, given)
    if not isinstance(given, tuple):
        values = floats(given)
        if values.ndim > 1:
            raise BadArgument(
                f"inputs[{name!r}] has shape {values.shape}: give one number per member, or a pair (times, values) with "
                "values (members, times)."
            )
        values = values.reshape(-1, 1)
        times = np.zeros(1)
    else:
        try:
            times, values = map(floats, given)
        except (TypeError, ValueError):
            raise BadArgument(f"inputs[{name!r}] must be numbers, or a pair (times, values), got {given!r}.") from None
        if values.ndim == 1:
            values = values[None]
        if times.ndim != 1 or values.ndim != 2 or values.shape[1] != len(times) or len(times) < 2:
            raise BadArgument(
                f"inputs[{name!r}]: {len(np.atleast_1d(times))} times go with values of shape (members, "
                f"{len(np.atleast_1d(times))}), got {values.shape}."
            )
        if np.any(np.diff(times) <= 0):
            raise BadArgument(f"the times of input {name!r} must increase.")
    if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0]) if not np.all(np.isfinite(values)) else 0
        raise BadArgument(f"inputs[{name!r}] is not finite everywhere (member {bad}).")
    if hold:
        times, values = held(times, values)
    return times, np.ascontiguousarray(values)
