"""What a solution hands out: one state, the states at an event, energies, counters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadArgument
from .naming import rows_of, stems, unknown


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
    by_row: Any = None  # -GᵀΛ of each row alone, (row, nv) for each time, sparse where G is; None where the event maps no System
    row_labels: tuple[str, ...] = ()

    @property
    def impulses(self) -> np.ndarray:
        """-GᵀΛ, (time, nv): what all constraints together gave the system where `then` changed its velocity; N s, N m s.

        M v⁺ = M v + impulses, v being the velocity that `then` returned. NaN at the end of a run, where nothing is mapped.
        """
        return self._sums(slice(None))

    def impulse(self, label: str) -> np.ndarray:
        """-GᵀΛ of one constraint alone, (time, nv); labels are those of `sol.reaction`."""
        rows = rows_of(label, self.row_labels)
        if not rows:
            raise unknown(label, "constraint", {"constraints": stems(self.row_labels)})
        return self._sums(rows)

    def _sums(self, rows) -> np.ndarray:
        if self.by_row is None:
            raise BadArgument("this event has no impulses: they come with Event(..., then=) of a System or a Mechanism.")
        return np.array([each[rows].sum(axis=0) for each in self.by_row]).reshape(len(self), self.v.shape[1])

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
