"""What a solution hands out: one state, the states at an event, energies, counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


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


def statistics(memory, rows: int) -> dict[str, Any]:
    """Return the counters of a run by name; `rows` is how many stages the dense output needs in all, if more than a step."""
    stages = memory.last_stage
    attempts = memory.accepted + memory.rejected + memory.retaken
    extra = max(0, rows - stages - 1)
    return {
        "steps": memory.accepted,
        "rejected": memory.rejected,
        "taken again for events": memory.retaken,
        "failed attempts": memory.failed,
        "projection failures": memory.pull_rejected,
        "field evaluations": 1 + attempts * stages + memory.dense_outputs * extra,
        "residuals": memory.residuals,
        "Jacobians": memory.jacobians,
        "factorizations": memory.factorizations,
        "pulls": memory.pulls,
        "smallest pivot ratio": memory.rho_least,
        "stiff": bool(memory.is_stiff),
    }
