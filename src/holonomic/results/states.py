"""What a solution hands out: one state, the states at an event, energies, counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels import state as s
from ..kernels.counting import FACTORIZATIONS, JACOBIANS, RESIDUALS


def _nothing() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True)
class _States:
    """The arrays of a state; of several states, with time as their first axis."""

    t: Any
    q: np.ndarray
    v: np.ndarray
    lam: np.ndarray
    a: np.ndarray
    s: np.ndarray = field(default_factory=_nothing)
    w: np.ndarray = field(default_factory=_nothing)

    @property
    def y(self) -> np.ndarray:
        """What an Ode calls y."""
        return self.q


@dataclass(frozen=True)
class State(_States):
    """A consistent state at one time; `simulate(..., q0=sol.end)` goes on from it."""

    t: float


@dataclass(frozen=True)
class EventLog(_States):
    """Where one event happened: times, and the states there, before any mapping."""

    t: np.ndarray

    def __len__(self) -> int:
        return len(self.t)


@dataclass(frozen=True)
class Energy:
    """Kinetic and potential energy along a solution, and their sum; J."""

    kinetic: np.ndarray
    potential: np.ndarray
    total: np.ndarray


def statistics(S, I, rows: int) -> dict[str, Any]:
    """Return the counters of a run by name; `rows` is how many stages the dense output needs in all, if more than a step."""
    stages = int(I[s.LAST])
    attempts = int(I[s.ACCEPTED] + I[s.REJECTED] + I[s.RETAKEN])
    extra = max(0, rows - stages - 1)
    return {
        "steps": int(I[s.ACCEPTED]),
        "rejected": int(I[s.REJECTED]),
        "taken again for events": int(I[s.RETAKEN]),
        "failed attempts": int(I[s.FAILED]),
        "projection failures": int(I[s.PULL_REJECTED]),
        "field evaluations": 1 + attempts * stages + int(I[s.DENSES]) * extra,
        "residuals": int(I[s.COUNTS + RESIDUALS]),
        "Jacobians": int(I[s.COUNTS + JACOBIANS]),
        "factorizations": int(I[s.COUNTS + FACTORIZATIONS]),
        "pulls": int(I[s.PULLS]),
        "smallest pivot ratio": float(S[s.RHO_LEAST]),
        "stiff": bool(I[s.IS_STIFF]),
    }
