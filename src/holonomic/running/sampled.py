"""Sampled controllers: when they look, and their answers as tables of inputs that are written while the run goes on.

What a controller sets is a held table whose times are known beforehand. So its answers end steps like any other table, and a run
whose answers are known can be made again, looked into or read without asking the laws again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..controllers import Controller
from ..model.input_tables import held, input_table, values_at
from ..results.controls import ControlLogs, Samples
from .laws import Law


class Answers:
    """The tables that the controllers of one or many runs write, member first.

    Parameters
    ----------
    laws : tuple of Law
        All controllers.
    model : Model
        Of the system.
    t0, t1 : float
        The interval of the runs.
    members : int
        How many runs there are.
    """

    def __init__(self, laws: tuple[Law, ...], model, t0: float, t1: float, members: int = 1):
        self.laws, self.looks = laws, [law.controller.looks(t0, t1) for law in laws]
        self.tables: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self.states: list[np.ndarray | None] = []
        for law, (t, applied) in zip(laws, self.looks, strict=True):
            for name in law.inputs:
                before = values_at(*input_table(name, model.inputs[name]), np.array(t0))
                values = np.full((members, len(t) + 1), float(before))
                self.tables[name] = held(np.append(t0 - law.controller.period, applied), values)
            start = law.controller.state
            self.states.append(None if start is None else np.full((members, len(t), *start.shape), np.nan))
        self.done = np.zeros((members, len(laws)), dtype=np.int64)  # looks so far
        self.seen: list[list[dict[str, Any]]] = [[] for _ in laws]  # of a single run
        self.stops = np.concatenate([t for t, _ in self.looks])

    def of(self, member: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """The tables of one member; its answers are written into them."""
        return {name: (times, values[member]) for name, (times, values) in self.tables.items()}

    def write(self, number: int, k: int, member: int, u: np.ndarray, state) -> None:
        """Enter the answer of a controller to look number k."""
        for name, value in zip(self.laws[number].inputs, u, strict=True):
            self.tables[name][1][member, 2 * k + 2 : 2 * k + 4] = value
        if state is not None:
            self.states[number][member, k] = state
        self.done[member, number] = k + 1

    def samples(self, member: int | None = None) -> ControlLogs:
        """What the controllers of a member answered, as far as its run went; of all, member first, NaN where one had ended."""
        found = ControlLogs()
        for number, (law, (t, applied)) in enumerate(zip(self.laws, self.looks, strict=True)):
            u = np.stack([self.tables[name][1][:, 2::2] for name in law.inputs], axis=-1)
            state, seen = self.states[number], None
            if member is None:
                u = np.where((np.arange(len(t)) < self.done[:, number, None])[..., None], u, np.nan)
            else:
                done = int(self.done[member, number])
                u, state, t, applied = u[member, :done], None if state is None else state[member, :done], t[:done], applied[:done]
                seen = {name: np.array([each[name] for each in self.seen[number]]) for name in law.measured}
            found[law.name] = Samples(t, u[..., 0] if law.controller.sets is None else u, applied, law.inputs, state, seen)
        return found


def laws_of_run(model, given: Mapping[str, Controller]) -> tuple[Law, ...]:
    """Return the laws of controllers that have been read."""
    return tuple(Law(model, name, controller, number) for number, (name, controller) in enumerate(given.items()))


class Sampling:
    """The controllers of one run, on its way."""

    def __init__(self, answers: Answers, member: int = 0):
        self.answers, self.member = answers, member
        self._next = [0] * len(answers.laws)
        self._states = [law.controller.state for law in answers.laws]

    def look(self, run) -> None:
        """Let the controllers whose time has come look at the run, all before any of their answers takes effect."""
        due = [
            number for number, (t, _) in enumerate(self.answers.looks)
            if self._next[number] < len(t) and t[self._next[number]] == run.t
        ]  # fmt: skip
        given = [self.answers.laws[i].answer(run, self._next[i], self._states[i], self.member) for i in due]
        for number, (u, state, seen) in zip(due, given, strict=True):
            self.answers.write(number, self._next[number], self.member, u, state)
            if len(self.answers.done) == 1:
                self.answers.seen[number].append(seen)
            self._next[number] += 1
            self._states[number] = state

    @property
    def log(self) -> ControlLogs:
        """What they have answered so far."""
        return self.answers.samples(self.member)


class EndlessSampling:
    """The controllers of a run without end: answers are entered as numbers, and not kept."""

    def __init__(self, laws: tuple[Law, ...], t0: float):
        self.laws, self.t0 = laws, t0
        self._next = [0] * len(laws)
        self._states: list[Any] = [law.controller.state for law in laws]
        self._waiting: list[deque[tuple[float, np.ndarray]]] = [deque() for _ in laws]

    def next_stop(self, t_end: float) -> float:
        """Return when a controller looks next or an answer takes effect, before an end."""
        times = [self.t0 + law.controller.period * k for law, k in zip(self.laws, self._next, strict=True)]
        return min([*times, *(waiting[0][0] for waiting in self._waiting if waiting), t_end])

    def look(self, run) -> bool:
        """Let those whose time has come look, and enter the answers that take effect; tell whether an input has changed."""
        due = [i for i, law in enumerate(self.laws) if self.t0 + law.controller.period * self._next[i] == run.t]
        given = [self.laws[i].answer(run, self._next[i], self._states[i], 0) for i in due]
        for i, (u, state, _) in zip(due, given, strict=True):
            self._waiting[i].append((float(self.laws[i].controller.effect(self.t0, self._next[i])), u))
            self._next[i] += 1
            self._states[i] = state
        changed = False
        for law, waiting in zip(self.laws, self._waiting, strict=True):
            while waiting and waiting[0][0] <= run.t:
                changed = self._enter(run, law, waiting.popleft()[1]) or changed
        return changed

    def _enter(self, run, law: Law, u: np.ndarray) -> bool:
        names, changed = list(law.model.inputs), False
        for name, value in zip(law.inputs, u, strict=True):
            at = run.inputs.at + 3 * names.index(name)
            changed = changed or run.data[at] != value
            run.data[at : at + 3] = (value, 0.0, run.t)
        return changed

    def memory(self) -> tuple:
        """What the controllers remember, to go back to."""
        return tuple(self._next), tuple(self._states), tuple(map(tuple, self._waiting))

    def restore(self, kept: tuple) -> None:
        """Go back to what they remembered."""
        self._next, self._states, self._waiting = list(kept[0]), list(kept[1]), [deque(each) for each in kept[2]]
