"""The user's functions on numbers: called by the names of their arguments, looked at once at the start.

Every function becomes f(t, q, v, data) -> float array of known shape; for an Ode, q is y and v is empty.
"""

from __future__ import annotations

import numpy as np

from ..errors import NotFinite, WrongShape
from .call_by_name import BASIC, FULL, Names, asked, call, param_names, wanted
from .extra_states import allowed
from .given_numbers import (
    numbers_text,
    refuse_constant,
    refuse_matrix,
    refuse_no_numbers,
    refuse_truth,
    refuse_without_state,
    refuse_without_v,
)
from .input_tables import input_table
from .model_base import ModelBase, role_of
from .statement import labelled, row_names
from .system import Ode

# where the value of each name comes from, in the scope of a caller
SOURCES = {"t": "t", "q": "q", "y": "q", "v": "v", "a": "a", "lam": "lam", "p": "params(data)", "u": "inputs(t, data)"}


class FunctionsOnNumbers:
    """Makes callers of a system's functions at the sizes of its start."""

    def __init__(self, model: ModelBase, q0: np.ndarray, v0: np.ndarray, t0: float):
        self.model, self.system = model, model.system
        self.nq, self.nv = model.nq, model.nv
        self.allowed = self.system.names if isinstance(self.system, Ode) else BASIC
        self.labels: dict[str, list[str]] = {"constraint": [], "nonholonomic": [], "invariants": []}
        self._size = sum(where.stop - where.start for where, _ in model.places.values())
        self._inputs = list(model.inputs.items())
        self._known: tuple[bytes | None, Names] = (None, Names())
        self.data = self._start_data(t0)
        self.points = _points(t0, q0, v0, model.nq - model.nw)
        self.sources, self._raw = dict(SOURCES), dict(SOURCES)
        self._name_extras()

    def _start_data(self, t0: float) -> np.ndarray:
        data = np.zeros(self._size + 3 * len(self._inputs))
        for name, (where, _) in self.model.places.items():
            data[where] = np.ravel(self.system.params[name])
        for i, (name, given) in enumerate(self._inputs):
            if not callable(given):
                data[self._size + 3 * i] = np.interp(t0, *input_table(name, given))
        return data

    def params(self, data) -> Names:
        """The parameters in data, by name; made anew only when they have changed."""
        content = data[: self._size].tobytes()
        known = self._known
        if known[0] != content:
            own = data[: self._size].copy()
            own.flags.writeable = False
            known = self._known = (content, param_names(own, self.model.places))
        return known[1]

    def inputs(self, t, data) -> Names:
        """The inputs at time t, by name."""
        at = self._size
        values = {}
        for name, given in self._inputs:
            if callable(given):
                values[name] = call(given, f"input {name!r}", ("t", "p"), {"t": t, "p": self.params(data)})
            else:
                values[name] = data[at] + data[at + 1] * (t - data[at + 2])
            at += 3
        return Names(**values)

    def _name_extras(self) -> None:
        """Where q, states and algebraic variables come from: out of (q, s, w), w solved for (or as it is: raw)."""
        nc, ns, nq = self.model.nc, self.model.ns, self.nq
        if nc == nq:
            return
        self.sources["q"] = self._raw["q"] = f"q[:{nc}]"
        self.sources["s"] = self._raw["s"] = f"q[{nc}:{nc + ns}]"
        self.sources["w"], self._raw["w"] = "solved(t, q, v, data)", f"q[{nc + ns}:]"
        for letter, parts in (("s", self.model.extras.states), ("w", self.model.extras.algebraic)):
            at = 0
            for name, size in parts:
                where = f"[{at}]" if size == 1 else f"[{at}:{at + size}]"
                for sources in (self.sources, self._raw):
                    sources[name] = sources[letter] + where
                at += size

    def solved(self, t, q, v, data) -> np.ndarray:
        """Return the algebraic variables at a state."""
        raise NotImplementedError(f"{type(self).__name__} does not say how algebraic variables are solved for")

    def caller(self, function, role: str, allowed, extended: bool = False, raw: bool = False, plain: bool = False):
        """Return a user's function as f(t, q, v, data), or f(t, q, v, data, a, lam) if `extended`.

        It sees algebraic variables as they are in q if `raw`, otherwise solved for; what it returns is made an array of
        floats unless `plain`.
        """
        if not callable(function):
            constant = np.array(function, dtype=float)
            return lambda *_: constant
        sources = self._raw if raw else self.sources
        takes, known = asked(function, role, allowed)
        ordered, named = takes.split(known)
        defaults = {f"default_{one.name}": one.default for one in ordered if one.name not in known}
        placed = [sources[one.name] if one.name in known else f"default_{one.name}" for one in ordered]
        names = ", ".join([*placed, *(f"{name}={sources[name]}" for name in named)])
        arguments = "t, q, v, data, a, lam" if extended else "t, q, v, data"
        scope = {
            "function": function, "asarray": np.asarray, "params": self.params, "inputs": self.inputs,
            "solved": self.solved,
        } | defaults  # fmt: skip
        # written out, because picking arguments from a mapping costs as much as many a user's function
        value = f"function({names})"
        return eval(f"lambda {arguments}: {value if plain else f'asarray({value}, float)'}", scope)

    def checked(self, function, role: str, shape: tuple[int, ...] | None, kind: str = "", raw: bool = False):
        """Return the caller of a function after a look at its value at the start; shape None: any vector."""
        known = allowed(self.system, kind, self.allowed)
        if callable(function):
            refuse_no_numbers(self.at_start(self.caller(function, role, known, raw=raw, plain=True), role), role)
        f = self.caller(function, role, known, raw=raw)
        value = self.at_start(f, role)
        if shape is None:
            refuse_matrix(value.shape, role)
        expected = (value.size,) if shape is None else shape
        wrong = len(expected) == 2 and value.shape != expected and 1 not in expected
        if wrong or value.size != int(np.prod(expected)):
            raise WrongShape(f"{role} returned shape {value.shape}, expected {expected}.")
        self.refuse_not_finite(value, role)
        if value.shape == expected:
            return f
        return lambda t, q, v, data: f(t, q, v, data).reshape(expected)

    def refuse_not_finite(self, value: np.ndarray, role: str) -> None:
        """Refuse a function that is NaN or infinite at the start."""
        if not np.all(np.isfinite(value)):
            t, q, _ = self.points[0]
            bad = value.ravel()[~np.isfinite(value.ravel())][0]
            raise NotFinite(f"{role} is {bad} at the start, t = {t:g}, {self.where(q)}.")

    def at_start(self, f, role: str, *more) -> np.ndarray:
        """Return the value of a function at the start; its own errors come with a note where it was called."""
        t, q, v = self.points[0]
        with np.errstate(all="ignore"):
            try:
                return f(t, q.copy(), v.copy(), self.data, *more)
            except Exception as problem:
                problem.add_note(f"raised by {role} at the start, t = {t:g}, {self.where(q)}")
                raise

    def depends_on_v(self, f) -> bool:
        """Whether a function has another value at other velocities."""
        t, q, v = self.points[0]
        with np.errstate(all="ignore"):
            here, there = (f(t, q.copy(), v + shift * (1.0 + np.abs(v)), self.data) for shift in (0.0, 0.37))
        return bool(np.any(np.isfinite(here) & np.isfinite(there) & (here != there)))

    def where(self, q) -> str:
        """A position as text, for messages."""
        letter = "y" if self.model.is_ode else "q"
        return f"{letter} = {numbers_text(q)}"

    def rows(self, name: str, singular: str):
        """Return the stacked rows of a labelled quantity, or None; labels go to self.labels."""
        labels = self.labels[name]
        found = []
        for label, function in labelled(getattr(self.system, name), singular).items():
            f = self.checked(function, role_of(label, singular), None, name)
            known, role = allowed(self.system, name, self.allowed), role_of(label, singular)
            refuse_truth(self.at_start(self.caller(function, role, known, plain=True), role), role)
            asked = wanted(function, role, known)
            if name == "nonholonomic" and "v" not in asked:
                refuse_without_v(role)
            if not set(asked) - {"p", "u"}:
                refuse_without_state(f"{singular} {label!r}", "y" if self.model.is_ode else "q")
            count = self.at_start(f, role_of(label, singular)).size
            labels += [label] if count == 1 else [f"{label}[{i}]" for i in row_names(function, count)]
            found.append(f)
        if len(found) < 2:
            return found[0] if found else None
        return lambda t, q, v, data: np.concatenate([f(t, q, v, data) for f in found])

    def timed(self, name: str) -> bool:
        """Whether a quantity depends on time, directly or through inputs."""
        functions = labelled(getattr(self.system, name), name).values()
        known = allowed(self.system, name, self.allowed)
        return any(set(wanted(f, name, known)) & {"t", "u"} for f in functions if callable(f))

    def named(self, functions, role: str, n_lam: int) -> tuple[dict, dict[str, tuple[int, ...]]]:
        """Outputs or events as f(t, q, v, data, a, lam), and their shapes."""
        known = self.allowed if self.model.is_ode else allowed(self.system, "output", FULL)
        made, shapes = {}, {}
        nothing = np.zeros(self.nv), np.zeros(n_lam)
        for name, function in (functions or {}).items():
            called = f"{role} {name!r}"
            if callable(function):
                value = self.at_start(self.caller(function, called, known, True, plain=True), called, *nothing)
                refuse_no_numbers(value, called)
                if not set(wanted(function, called, known)) & {"a", "lam"}:  # these are not known yet
                    self.refuse_not_finite(np.asarray(value, dtype=float), called)
                if role == "event":
                    refuse_truth(value, called)
            made[name] = self.caller(function, called, known, extended=True)
            shapes[name] = self.at_start(made[name], called, *nothing).shape
        return made, shapes

    def events(self, functions, n_lam: int) -> dict:
        """Events as f(t, q, v, data, a, lam); refuses those that cannot have a zero."""
        made, shapes = self.named(functions, "event", n_lam)
        known = self.allowed if self.model.is_ode else allowed(self.system, "output", FULL)
        for name, shape in shapes.items():
            role, count = f"event {name!r}", int(np.prod(shape))
            if count != 1:
                raise WrongShape(f"{role} returned {count} numbers; it must return one.")
            if not set(wanted(functions[name], role, known)) - {"p"}:
                value = self.at_start(made[name], role, np.zeros(self.nv), np.zeros(n_lam))
                refuse_constant(float(np.ravel(value)[0]), role)
        return made


def _points(t0, q0, v0, count: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """The start and two points near it, in the first `count` entries of q; random, but the same every time."""
    random = np.random.default_rng(7)
    points = []
    for spread in (0.0, 0.05, 0.3):
        q = q0 + spread * random.uniform(-1, 1, len(q0)) * (0.3 + np.abs(q0)) * (np.arange(len(q0)) < count)
        v = v0 + spread * random.uniform(-1, 1, len(v0)) * (1.0 + np.abs(v0))
        points.append((t0 + spread, q, v))
    return points
