"""Solution: the record of one run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .kernels import state as s


@dataclass(frozen=True)
class State:
    """A consistent state at one time; `simulate(..., q0=sol.end)` goes on from it."""

    t: float
    q: np.ndarray
    v: np.ndarray
    lam: np.ndarray
    a: np.ndarray

    @property
    def y(self) -> np.ndarray:
        """The state of an Ode."""
        return self.q


@dataclass(frozen=True)
class EventLog:
    """Where one event happened: times, positions, velocities."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    lam: np.ndarray
    a: np.ndarray

    @property
    def y(self) -> np.ndarray:
        return self.q

    def __len__(self) -> int:
        return len(self.t)


class Solution:
    """What a run computed. Time is the first axis of every array; nothing is computed until asked for."""

    def __init__(self, plan, data, t, x, k, events, stats, ended, begin, steps_kept):
        self.plan = plan
        self._data, self._x, self._k = data, x, k
        self.t = t
        self._events = events
        self.stats: dict[str, Any] = stats
        self.ended: str = ended
        self._begin = begin
        self._steps_kept = steps_kept

    @classmethod
    def from_run(cls, run, plan, begin, ended: str) -> Solution:
        t, x, k = run.record.joined() if run.record.t else (np.zeros(0), np.zeros((0, len(run.x))), np.zeros((0, 0)))
        return cls(plan, run.data, t, x, k, list(run.events), statistics(run), ended, begin, bool(run.I[s.KEEP_STEPS]))

    @property
    def q(self) -> np.ndarray:
        """Positions, (time, coordinate)."""
        return self._x[:, : self.plan.model.nq]

    y = q

    @property
    def v(self) -> np.ndarray:
        """Velocities."""
        return self._x[:, self.plan.model.nq :]

    @property
    def a(self) -> np.ndarray:
        """Accelerations v'."""
        return self._k[:, : self.plan.model.nv]

    @property
    def lam(self) -> np.ndarray:
        """Multipliers λ."""
        return self._k[:, self.plan.model.nv :]

    @property
    def end(self) -> State:
        """The last state; the start of the next run."""
        return State(float(self.t[-1]), self.q[-1], self.v[-1], self.lam[-1], self.a[-1])

    @cached_property
    def events(self) -> dict[str, EventLog]:
        """Where each event happened."""
        model = self.plan.model
        logs = {}
        for index, name in enumerate(self.plan.events):
            rows = [(t, x, k) for which, t, x, k in self._events if which == index]
            x = np.array([row[1] for row in rows]).reshape(len(rows), model.nq + model.nv)
            k = np.array([row[2] for row in rows]).reshape(len(rows), -1)
            t = np.array([row[0] for row in rows])
            logs[name] = EventLog(t, x[:, : model.nq], x[:, model.nq :], k[:, model.nv :], k[:, : model.nv])
        return logs


def statistics(run) -> dict[str, Any]:
    """Counters of a run."""
    I, S = run.I, run.S
    stages = int(I[s.LAST])
    attempts = int(I[s.ACCEPTED] + I[s.REJECTED])
    extra = run.plan.integrator.rows - stages - 1
    return {
        "steps": int(I[s.ACCEPTED]),
        "rejected": int(I[s.REJECTED]),
        "failed attempts": int(I[s.FAILED]),
        "projection failures": int(I[s.PULL_REJECTED]),
        "field evaluations": 1 + attempts * stages + int(I[s.DENSES]) * extra,
        "pulls": int(I[s.PULLS]),
        "smallest pivot ratio": float(S[s.RHO_LEAST]),
        "stiff": bool(I[s.IS_STIFF]),
    }
