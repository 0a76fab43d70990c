"""What a run in pairs of doubles knows beyond the doubles that a `Solution` shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadArgument
from .pairs import Pairs
from .trail import WrittenRows

Evaluate = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of times and states, as pairs with a last axis of two


@dataclass
class PairRows(WrittenRows):
    """What a run in pairs writes: the first doubles as every run has them, all of it beside them."""

    pairs: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)  # (t, x, k), with a last axis of two
    evaluate: dict[str, Evaluate] = field(default_factory=dict)  # "residuals" and "energy" of states

    def __getstate__(self):
        return self.__dict__ | {"evaluate": {}}  # machine code stays in its process

    def bytes_from(self, chunk: int) -> int:
        return super().bytes_from(chunk) + sum(part.nbytes for parts in self.pairs[chunk:] for part in parts)

    def whole(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All rows."""
        if len(self.pairs) != 1:
            self.pairs = [tuple(np.concatenate(parts) for parts in zip(*self.pairs, strict=True))]  # type: ignore[list-item]
        return self.pairs[0]


class Exact:
    """Rows of a run with 31 digits; time is the first axis. See `sol.exact`.

    Attributes
    ----------
    t, q, v, a, lam : Pairs
        As those of the solution.
    """

    def __init__(self, sol: Any):
        record, model = sol.trail.record, sol.plan.model
        if not isinstance(record, PairRows) or not record.pairs:
            raise BadArgument(
                "sol.exact belongs to a run with precision='double-double', at the times that it kept: pass these as save_at=."
            )
        t, x, k = record.whole()
        self._rows, self._evaluate = (t, x), record.evaluate
        t, x, k = (part.copy() for part in (t, x, k))  # what is handed out is the reader's
        self.t = _pairs(t)
        self.q, self.v = _pairs(x[:, : model.nq]), _pairs(x[:, model.nq : model.nq + model.nv])
        self.a, self.lam = _pairs(k[:, : model.nv]), _pairs(k[:, model.nv :])

    @property
    def y(self) -> Pairs:
        """What an Ode calls y."""
        return self.q

    @property
    def residuals(self) -> Pairs:
        """What constraints and invariants leave, (time, row): position rows, invariants, then velocity rows."""
        return self._of("residuals")

    @property
    def energy(self) -> Pairs:
        """Kinetic and potential energy, (time, 2); J."""
        return self._of("energy")

    def _of(self, name: str) -> Pairs:
        if name not in self._evaluate:
            raise BadArgument(f"there is no {name}: that is for systems with {_NEEDS[name]}, in the process that ran them.")
        return _pairs(self._evaluate[name](*self._rows))


_NEEDS = {"residuals": "constraints or invariants", "energy": "a mass matrix"}


def _pairs(values: np.ndarray) -> Pairs:
    return Pairs(values[..., 0], values[..., 1])
