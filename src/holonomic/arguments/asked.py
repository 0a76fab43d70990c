"""What is asked of a run: methods, tolerances, times to keep, events, limits of its steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import BadArgument
from ..events import Event, of_function
from ..files import writable
from ..model.call_by_name import FULL
from ..model.function_signature import taken
from ..model.given_numbers import axes, beyond_memory, is_whole, not_negative, positive, vector
from ..model.system import Ode
from ..planning.choice import Choice, make_choice
from ..planning.fit import check_fit
from ..results.naming import rows_of
from ..starting.initial import position_jacobian
from .budget import Budget, budget_of
from .given_inputs import controllers_by_name

ENDS = {
    "end": "a run reaches its end", "interrupted": "Ctrl-C, cancel= or a limit ended it", "failed": "it failed",
    "changed": "methods change",
}  # fmt: skip
OFTEN = 60.0  # seconds from one checkpoint to the next
MOST_STEPS = 2**62  # steps are counted in 64 bits
ROUNDING = 4e-16  # of the longest time: 3 * 0.1 is meant where the run ends at 0.3
NO_CONTROL = "no error would ever be too large. Give a number, or step= for steps without error control."
NO_CONSTRAINT = "no distance would ever be too large. Give a number, or stabilization=None to leave the constraints alone."
ONE_OR_THE_OTHER = "step= fixes the step, rtol= and atol= choose it by error: give one or the other."
CHOSEN = slice(7)  # of the fields below, beside precision, those that the choice of methods follows from


class Asked(NamedTuple):
    """What is asked of a run under the names and with the defaults of every call that makes one; see `simulate`."""

    formulation: Any = "auto"
    integrator: Any = "auto"
    stabilization: Any = "auto"
    rtol: float | None = None
    atol: Any = None
    step: float | None = None
    constraint_tol: float | None = None
    prefer: str | None = None
    save_at: Any = None
    events: Mapping[str, Any] | None = None
    max_steps: int = 1_000_000
    max_step: float = np.inf
    first_step: float | None = None
    progress: bool | None = None
    max_time: float | None = None
    max_memory: float | None = None
    cancel: Any = None
    inputs: Mapping[str, Any] | None = None
    controllers: Mapping[str, Any] | None = None
    checkpoint: Any = None
    every: float | None = None
    resume: bool = False
    precision: str | None = None
    keep: Any = None
    store: Any = None

    @property
    def names_to_keep(self) -> list[str] | None:
        """The names that keep= gives; None: it gives none."""
        keep = self.keep
        if keep is None or (isinstance(keep, str) and keep == "all"):
            return None
        names = [keep] if isinstance(keep, str) else list(keep) if isinstance(keep, list | tuple) else []
        if not names or not all(isinstance(name, str) for name in names):
            raise BadArgument(f'keep={keep!r}: give names of what is kept at each time, such as keep=["tip", "A.force"], or "all".')
        return names

    @property
    def methods(self) -> dict[str, Any]:
        """Formulation, integrator and stabilization as they were given."""
        return dict(zip(self._fields[:3], self[:3], strict=True))

    def choice(self, model) -> Choice:
        """Return what methods and tolerances amount to; made once per model, for short calls."""
        given, known = (*self[CHOSEN], self.precision), model.choices
        key = (given, *map(type, given))  # True is no 1.0
        try:
            found = known.get(key)
        except TypeError:  # arrays among them
            return _chosen(model, *given)
        if found is None:
            found = known[key] = _chosen(model, *given)
        return found

    def watched(self, system) -> dict[str, Event]:
        """Return the events by name."""
        events = self.events
        if events is None:
            return {}
        if not isinstance(events, Mapping):
            example = "y: y[0]" if isinstance(system, Ode) else "lam: lam[0]"
            raise BadArgument(f'events= is a mapping {{name: Event(...)}}, for example {{"slack": Event(lambda {example})}}.')
        for name in events:
            if not isinstance(name, str) or name in ENDS:
                ends = f" sol.ended is {name!r} where {ENDS[name]}." if isinstance(name, str) else ""
                raise BadArgument(f"an event cannot be called {name!r}.{ends} Give it another name, a text.")
        given = {name: event if isinstance(event, Event) else of_function(event, name) for name, event in events.items()}
        for name, event in given.items():
            _refuse_parts(name, event, system)
        return {name: event.of(name, system.outputs or {}) for name, event in given.items()}

    def budget(self) -> Budget | None:
        """Return what the call may use, from now on; None: whatever it takes."""
        return budget_of(self.max_time, self.max_memory, self.cancel)

    def checkpoint_file(self) -> tuple[Path, float] | None:
        """Return where a run is written down, and the seconds from one time to the next; None: nowhere."""
        if not isinstance(self.resume, bool | np.bool_):
            raise BadArgument(f"resume={self.resume!r}: choose True or False.")
        if self.checkpoint is None:
            if self.every is not None or self.resume:
                name = "every=" if self.every is not None else "resume=True"
                raise BadArgument(f"{name} goes with checkpoint=, the path of a file.")
            return None
        if controllers_by_name(self.controllers):
            raise BadArgument(
                "checkpoint= does not go with controllers=: of their laws nobody can tell whether they are what they were, and "
                "what they remember is theirs. Use a Stepper, which has state() and restore()."
            )
        every = OFTEN if self.every is None else positive(self.every, "every", "give seconds between two checkpoints.")
        path = writable(self.checkpoint, "checkpoint=")
        if path.exists() and not self.resume:
            raise BadArgument(
                f"checkpoint={str(self.checkpoint)!r} exists. Pass resume=True to go on with it, or take another name."
            )
        return path, every

    def times(self, t0: float, t1: float, width: int = 1) -> np.ndarray | None:
        """Return the times to keep, None for all steps; `width` is how many numbers are kept at each."""
        save_at = self.save_at
        if save_at is None:
            return None
        if axes(save_at) == 0:
            if not is_whole(save_at, 2):
                raise BadArgument(f"save_at={save_at!r}: a number of times must be a whole number, at least 2.")
            too_much = beyond_memory(8.0 * int(save_at) * width)
            if too_much is not None:
                raise BadArgument(f"save_at={save_at!r}: what is kept takes {too_much}. Keep fewer times.")
            return np.linspace(t0, t1, int(save_at))
        times = vector(save_at, "save_at")
        if not len(times):
            raise BadArgument(
                "save_at is empty: nothing would be kept. Leave it out, or pass save_at=[t_end] to keep the end alone."
            )
        forward = 1.0 if t1 >= t0 else -1.0
        if np.any(np.diff(times) * forward <= 0):
            raise BadArgument("save_at must go from t0 to t_end without repeating a time.")
        slack = ROUNDING * max(abs(t0), abs(t1))
        if (times[0] - t0) * forward < -slack or (times[-1] - t1) * forward > slack:
            raise BadArgument(f"save_at reaches from {times[0]:.12g} to {times[-1]:.12g}, outside the run ({t0:.12g}, {t1:.12g}).")
        return np.clip(times, min(t0, t1), max(t0, t1))

    def limits(self) -> dict[str, Any]:
        """Return the limits of the step control."""
        most, largest, first = self.max_steps, self.max_step, self.first_step
        if not (type(most) is int and 0 < most <= MOST_STEPS):
            most = _counted(most)
        if largest is not np.inf:
            largest = positive(largest, "max_step")
        if first is not None:
            first = positive(first, "first_step", "leave it out, and the first step is chosen.")
        return {"max_steps": most, "max_step": largest, "first": first}


def refuse_in_pairs(asked: Asked, start, error) -> None:
    """Refuse what a call asks for that a run in double-double does not have; methods are looked at when they are known."""
    if checked_precision(asked.precision) == "double":
        return
    known = {
        "events=": (asked.events, "events are located in doubles; take save_at="),
        "prefer=": (asked.prefer, "name the methods and the tolerance yourself"),
        "controllers=": (asked.controllers, "their laws get doubles"),
        "checkpoint=": (asked.checkpoint, "checkpoints hold doubles"),
        "error=True": (error, "compare sol.exact with that of a run with another tolerance"),
        "hold=": (start.hold, "give a start that is on the constraints"),
        "lam0=": (start.lam0, "compare it with sol.exact.lam[0]"),
        'compile="never"': (start.compile == "never", "tables compute in doubles"),
    }
    for name, (given, way) in known.items():
        if given is not None and given is not False and len(given if isinstance(given, Mapping) else "1"):
            raise BadArgument(f'{name} does not go with precision="double-double": {way}.')


def refuse_beside_names(asked: Asked, error) -> None:
    """Refuse what a call asks for that a run which keeps names, or goes to a store, does not have."""
    names = asked.names_to_keep
    if names is None and asked.store is None:
        return
    what = "keep=" if asked.store is None else "store="
    known = {
        "checkpoint=": (asked.checkpoint is not None, "a checkpoint holds whole states"),
        "error=True": (error, "two runs are compared at all their times"),
        'precision="double-double"': (checked_precision(asked.precision) != "double", "its rows hold pairs of doubles"),
    }
    for name, (given, why) in known.items():
        if given:
            raise BadArgument(f"{name} does not go with {what}: {why}. Take save_at= to keep less.")


def _counted(most) -> int:
    """Return a number of steps that can be counted."""
    if not is_whole(most, 1):
        raise BadArgument(f"max_steps={most!r} must be a whole number, at least 1.")
    if most > MOST_STEPS:
        raise BadArgument(f"max_steps={most!r} is more than can be counted. Use max_steps=10**15 for as many as it takes.")
    return int(most)


class Digits(NamedTuple):
    """How far tolerances go in one kind of numbers."""

    words: str
    rtol: float  # by default
    least: float  # of rtol, and of the distance from constraints


PRECISIONS = {
    "double": Digits("double precision has 16 digits", 1e-6, 1e-14),
    "double-double": Digits("double-double has 31 digits", 1e-20, 1e-29),
}


def checked_precision(precision) -> str:
    """Return the name of a precision, "double" for None."""
    if precision is None:
        return "double"
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise BadArgument(f'precision={precision!r}: choose "double" or "double-double".')
    return precision


def relative_tolerance(rtol, precision: str = "double") -> float:
    """Return a relative tolerance that can be met; 1e-6 for None, 1e-20 in double-double."""
    digits = PRECISIONS[precision]
    rtol = digits.rtol if rtol is None else positive(rtol, "rtol")
    if rtol >= 1.0 or rtol < digits.least:
        raise BadArgument(f"rtol={rtol:g} must lie between {digits.least:g} and 1; {digits.words}.")
    return rtol


def constraint_tolerance(constraint_tol, rtol: float, precision: str = "double") -> float:
    """Return the largest distance from the constraints; for None, what goes with rtol."""
    if constraint_tol is None:
        return max(min(1e-10, rtol / 10), PRECISIONS[precision].least)
    return positive(constraint_tol, "constraint_tol", NO_CONSTRAINT)


def check_step(step) -> float:
    """Return a fixed step that a run can be divided into."""
    return positive(step, "step", "the run is divided into steps of this length.")


def _chosen(
    model, formulation, integrator, stabilization, rtol, atol, step, constraint_tol, precision: str | None = None
) -> Choice:
    precision = checked_precision(precision)
    if step is not None:
        if rtol is not None:
            raise BadArgument(ONE_OR_THE_OTHER)
        step = check_step(step)
    rtol = relative_tolerance(rtol, precision)
    if rtol < model.attainable_rtol and model.inexact and step is None:
        raise BadArgument(
            f"rtol={rtol:g} cannot be reached: {' and '.join(model.inexact)} come from differences, good to "
            f"{model.attainable_rtol:g}. {model.exacter} rtol >= {model.attainable_rtol:g}."
        )
    sized = atol is not None
    atol = absolute_tolerance(model, atol)
    tol = constraint_tolerance(constraint_tol, rtol, precision)
    choice = make_choice(model, formulation, integrator, stabilization, step, rtol, atol, tol)
    if precision != "double":
        choice = replace(choice, precision=precision)
    if step is not None and sized and not choice.integrator.implicit:
        raise BadArgument(ONE_OR_THE_OTHER)
    return choice


def absolute_tolerance(model, atol):
    """Return an absolute tolerance, or one for each position and velocity; None, or below zero, where none is given."""
    if atol is None:
        return None
    if isinstance(atol, Mapping):
        values = np.full(model.nq + model.nv, -1.0)
        parts = {"q": slice(0, model.nc), "v": slice(model.nq, None)}
        if model.is_ode:
            parts["y"] = parts["q"]
        if len(model.extras):
            parts |= {"s": slice(model.nc, model.nc + model.ns), "w": slice(model.nc + model.ns, model.nq)}
        labels = [*model.coordinates, *model.extras.state_labels, *model.extras.algebraic_labels]
        for name in sorted(atol, key=lambda name: name not in parts):  # single coordinates come last
            value = not_negative(atol[name], f"atol[{name!r}]", NO_CONTROL)
            rows = rows_of(name, labels)
            if name not in parts and not rows:
                parts = [part for part in parts if part != "y"]
                raise BadArgument(f"atol[{name!r}]: known are {', '.join(map(repr, parts))} and {', '.join(labels)}.")
            values[parts.get(name, rows)] = value
        return tuple(values)
    if axes(atol) == 0:
        return not_negative(atol, "atol", NO_CONTROL)
    values = vector(atol, "atol", model.nc + model.nv)
    if not values.min() >= 0.0:
        raise BadArgument(f"atol[{int(np.argmin(values))}]={values.min():g} must be a positive number, or 0.")
    return tuple(np.insert(values, model.nc, np.full(len(model.extras), -1.0)))


def lowered(atol, share: float):
    """A share of absolute tolerances, however they are given; None where none is."""
    if atol is None:
        return None
    if isinstance(atol, Mapping):
        return {name: share * float(value) for name, value in atol.items()}
    return share * float(atol) if np.ndim(atol) == 0 else share * np.asarray(atol, dtype=float)


def given_again(model, atol):
    """Absolute tolerances of a choice as they may be given for another run; None where none was."""
    if not isinstance(atol, tuple) or min(atol) >= 0.0:
        return atol
    found = {name: value for name, value in zip(model.coordinates, atol, strict=False) if value >= 0.0}
    parts = {"s": slice(model.nc, model.nc + model.ns), "w": slice(model.nc + model.ns, model.nq), "v": slice(model.nq, None)}
    return found | {name: atol[part][0] for name, part in parts.items() if atol[part] and atol[part][0] >= 0.0}


def _refuse_parts(name: str, event: Event, system) -> None:
    """Refuse an event that names parts of a mechanism; the message says how it reads them."""
    resolver = system.resolver
    if resolver is None or not callable(event.f):
        return
    takes = taken(event.f, f"event {name!r}", (*FULL, *resolver.names))
    asked = [one.name for one in takes.parameters if one.name in resolver.names]
    if asked:
        raise BadArgument(
            f"event {name!r} asks for {asked[0]!r}, a part of the mechanism: events see such parts through "
            f"m.quantity(lambda {asked[0]}: ...)."
        )


def choice_at_start(choice: Choice, model, t0: float, q, data) -> Choice:
    """Return the choice with what its formulation chooses at the start of a run."""

    def jacobian():
        if model.is_ode:
            raise BadArgument('D="unit" is for a System. For a Dae give an array, one column per constraint.')
        if not model.dense:
            check_fit(choice, model)  # by its name, before a matrix is asked for that is not there
        return position_jacobian(model, t0, q, data)[:, : model.nc]

    formulation = choice.formulation.settled(jacobian)
    return choice if formulation is choice.formulation else replace(choice, formulation=formulation)
