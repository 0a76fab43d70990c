"""A controller's law on the numbers of a run: what it sees, with its noise, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..controllers import Controller
from ..errors import BadArgument, HolonomicError, NotFinite, StepFailed, WrongShape
from ..kernels.signatures import Fn
from ..model.call_by_name import FULL, Names, asked, call, param_names, wanted
from ..model.dae import state_values
from ..model.extra_states import allowed
from ..model.function_signature import in_run
from ..results.trail import in_all_rows

BLOCK = 1024  # looks whose noise is drawn together, so that any look's noise is found again from its number


class Law:
    """The law of one controller in a model.

    Parameters
    ----------
    model : Model
        Of the system.
    name : str
        Of the controller.
    controller : Controller
        What was given.
    number : int
        Its place among the controllers, by which its noise differs from that of others.
    """

    def __init__(self, model, name: str, controller: Controller, number: int):
        self.model, self.name, self.controller, self.number = model, name, controller, number
        self.role = f"controller {name!r}"
        self.inputs = (name,) if controller.sets is None else tuple(controller.sets)
        system = model.system
        known = system.names if model.is_ode else allowed(system, "output", FULL)
        self._outputs = [each for each in model.output_shapes if each not in known]
        known = (*known, *self._outputs, *(("state",) if controller.state is not None else ()))
        takes, self.names = asked(controller.law, self.role, known)
        self._by_position, self._by_name = takes.split(self.names)
        self.reads = [each for each in self._outputs if each in self.names]
        self._places = [each for each in places_of(model.output_shapes) if each[0] in self.reads]
        self._plain = not (model.is_ode or len(model.extras))  # q and v are all there is
        self.field = bool({"a", "lam"} & set(self.names)) or bool(self.reads)
        self.measured = [each for each in self.names if each not in ("t", "p", "u", "state")]
        for each in controller.noise or {}:
            if each not in self.measured:
                seen = ", ".join(self.measured) or "nothing"
                raise BadArgument(f"{self.role}: noise[{each!r}] is on nothing that the law measures; it measures {seen}.")

    def refuse_multipliers(self, rows) -> None:
        """Refuse multipliers where they are not unique; `rows` are the independent ones of redundant rows."""
        if rows is None:
            return
        known = allowed(self.model.system, "output", FULL)
        for what, function in [("lam", None), *((each, (self.model.system.outputs or {})[each]) for each in self.reads)]:
            if "lam" in self.names if function is None else "lam" in wanted(function, f"output {what!r}", known):
                raise BadArgument(
                    f"{self.role} looks at {what}, but constraint rows are redundant and their multipliers not unique. Look at a "
                    "force or an acceleration instead, or remove the redundant rows."
                )

    def answer(self, run, k: int, state, member: int) -> tuple[np.ndarray, Any, dict[str, Any]]:
        """What it sets after look number k at the present state of a run, its own next state, and what it measured."""
        values = self._seen(run, state)
        if self.controller.noise:
            for name, noise in self.noise(values, k, member).items():
                values[name] = values[name] + noise
        measured = {name: _own(values[name]) for name in self.measured}
        by_position = [values.get(one.name, one.default) for one in self._by_position]
        try:
            with np.errstate(all="ignore"):
                result = in_run(self.controller.law)(*by_position, **{name: values[name] for name in self._by_name})
        except HolonomicError:
            raise
        except Exception as problem:
            raise StepFailed(
                f"{self.role} failed at t = {run.t:.6g}: {type(problem).__name__}: {problem}. See error.solution."
            ) from problem
        where = f"{self.role} at t = {run.t:.6g}"
        if state is not None:
            if not isinstance(result, tuple | list) or len(result) != 2:
                raise WrongShape(f"{where} has a state: it must return a pair (inputs, next state), got {type(result).__name__}.")
            result, state = result[0], _checked(result[1], np.shape(state), f"the next state of {where}")
        u = _checked(result, (len(self.inputs),), where, f"one for {', '.join(self.inputs)}")
        return u, state, measured

    def noise(self, values: dict[str, Any], k: int, member: int) -> dict[str, np.ndarray]:
        """The noise of look number k on what the law measures, by name."""
        deviations = self.controller.noise
        if not deviations:
            return {}
        shapes = {name: np.shape(values[name]) for name in deviations}
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        drawn = self._drawn(k // BLOCK, sum(sizes), member)[k % BLOCK]
        found, at = {}, 0
        for (name, shape), size in zip(shapes.items(), sizes, strict=True):
            try:
                found[name] = drawn[at : at + size].reshape(shape) * np.broadcast_to(deviations[name], shape)
            except ValueError:
                text = f"{self.role}: noise[{name!r}] has shape {deviations[name].shape}, {name} has {shape}."
                raise BadArgument(text) from None
            at += size
        return found

    def _drawn(self, block: int, width: int, member: int) -> np.ndarray:
        key, known = (block, width, member), self._blocks
        drawn = known.get(key)
        if drawn is None:
            if len(known) > 64:  # of many members and looks: drawn again when they are asked for
                known.clear()
            random = np.random.default_rng([int(self.controller.seed), self.number, member, block])
            drawn = known[key] = random.standard_normal((BLOCK, width))
        return drawn

    @cached_property
    def _blocks(self) -> dict[tuple[int, int, int], np.ndarray]:
        return {}

    def _seen(self, run, state) -> dict[str, Any]:
        """What the law names, at the present state of a run."""
        model, t, names = self.model, run.t, self.names
        nq, nv = model.nq, model.nv
        x = run.x[: nq + nv].copy()
        # copies: a law may write into what it is given
        q, v = x[:nq], x[nq:]
        values: dict[str, Any] = {"q": q, "v": v} if self._plain else state_values(model.system, q, v, model.extras)
        values["t"] = t
        if state is not None:
            values["state"] = np.copy(state)
        if "p" in names or "u" in names:
            values["p"] = param_names(run.data, model.places)
        if "u" in names:
            values["u"] = inputs_now(model, t, run.data, values["p"])
        if self.field:
            if not run.memory.evaluated and not run.slope(t, run.x, 0):
                raise StepFailed(f"{self.role}: the accelerations at t = {t:.6g} cannot be found. See error.solution.")
            k = run.K[0, nq : nq + run.plan.size.nk].copy()
            values |= {"a": k[:nv], "lam": k[nv:]}
            if self.reads:
                k = in_all_rows(run.plan, k)
                values |= self._read(model.evaluate(Fn.OUTPUTS, t, x, k, run.data))
        return {name: values[name] for name in names}

    def _read(self, flat: np.ndarray) -> dict[str, Any]:
        """Outputs by name."""
        return {name: flat[first] if shape == () else flat[first:end].reshape(shape) for name, first, end, shape in self._places}


def places_of(shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[str, int, int, tuple[int, ...]]]:
    """Where outputs stand that lie one behind the other: name, first entry, the one after the last, shape."""
    ends = np.cumsum([0, *(math.prod(shape) for shape in shapes.values())]).tolist()
    return [(name, ends[k], ends[k + 1], shape) for k, (name, shape) in enumerate(shapes.items())]


def _own(value):
    """A copy of an array; numbers as they are."""
    return value.copy() if isinstance(value, np.ndarray) else value


def inputs_now(model, t: float, data: np.ndarray, p) -> Names:
    """The inputs as a run has them at time t, by name."""
    at, found = model.data_places["inputs"].start, {}
    for i, (name, given) in enumerate(model.inputs.items()):
        value, slope, since = data[at + 3 * i : at + 3 * i + 3]
        line = float(value + slope * (t - since))
        found[name] = call(given, f"input {name!r}", ("t", "p"), {"t": t, "p": p}) if callable(given) else line
    return Names(**found)


def _checked(values, shape: tuple[int, ...], what: str, each: str = "") -> np.ndarray:
    """Return what a law gave as numbers of this shape."""
    try:
        if values is None:  # of which NumPy makes a nan
            raise TypeError
        found = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise WrongShape(f"{what} must be numbers, got {values!r}.") from None
    if found.size != math.prod(shape):
        raise WrongShape(f"{what} gives {found.size} numbers, expected {math.prod(shape)}{f', {each}' if each else ''}.")
    if not np.isfinite(found).all():
        raise NotFinite(f"{what} gives {found.ravel()[~np.isfinite(found.ravel())][0]}. See error.solution.")
    return found.reshape(shape)
