"""How far a run is from the motion itself: an estimate of its global error from a second run.

Error control bounds what one step adds; what the steps add up to depends on the motion. A companion of the run, by the same
methods at a smaller tolerance, has errors that are smaller by about the same share,

    |x - x(t)| ≈ |x - x'| / (1 - share),   share = rtol'/rtol, or (h'/h)^p with fixed steps

On random linkages and systems of springs and masses (`benchmarks/global_error.py`) estimate over true error, both at
their largest along the run, was 0.5 to 20 for 99.3 % of 966.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..errors import BadArgument
from .naming import is_dae, order_of

if TYPE_CHECKING:
    from .solution import Solution

# Of the tolerance, for the companion: explicit methods of order 5 and 8 then take 1.46 and 1.27 times the steps.
SHARE = 0.15
SHORTER = 2.0 / 3.0  # of a fixed step: with it the companion takes 1.5 times the steps
PARTED = 0.1  # of the largest value: beyond, two runs have nothing to say of each other


class ErrorEstimateWarning(UserWarning):
    """The global error of a run could not be estimated, or the run has lost all its digits on the way."""


class ErrorEstimate:
    """Estimated errors of a run, of the same shape as what they belong to: `sol.error.q`, `sol.error["tension"]`.

    Parameters
    ----------
    sol, companion : Solution
        The run, and a more accurate one at its times.
    rows : array of int
        The row of the companion that belongs to each row of the run.
    share : float
        Errors of the companion over those of the run.
    """

    def __init__(self, sol: Solution, companion: Solution, rows: np.ndarray, share: float):
        self._sol, self.companion, self._rows, self._share = sol.as_written, companion.as_written, rows, share

    def of(self, read: Callable[[Solution], np.ndarray]) -> np.ndarray:
        """Return the error of what `read` gives of a solution, time first."""
        return np.abs(read(self._sol) - read(self.companion)[self._rows]) / (1.0 - self._share)

    @property
    def t(self) -> np.ndarray:
        """Times, s: those of the run."""
        return self._sol.t

    @property
    def q(self) -> np.ndarray:
        """Errors of positions, (time, coordinate)."""
        return self.of(lambda sol: sol.q)

    @property
    def v(self) -> np.ndarray:
        """Errors of velocities, (time, coordinate)."""
        return self.of(lambda sol: sol.v)

    @property
    def lam(self) -> np.ndarray:
        """Errors of multipliers, (time, row)."""
        return self.of(lambda sol: sol.lam)

    @property
    def s(self) -> np.ndarray:
        """Errors of states beside positions and velocities."""
        return self.of(lambda sol: sol.s)

    @property
    def w(self) -> np.ndarray:
        """Errors of algebraic variables."""
        return self.of(lambda sol: sol.w)

    @property
    def y(self) -> np.ndarray:
        """Errors of the states of an Ode, or of the algebraic unknowns of a Dae."""
        return self.of(lambda sol: sol.y)

    @property
    def x(self) -> np.ndarray:
        """Errors of x of a Dae."""
        return self.of(lambda sol: sol.x)

    @property
    def dx(self) -> np.ndarray:
        """Errors of x' of a Dae."""
        return self.of(lambda sol: sol.dx)

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the error of a named output, coordinate or multiplier."""
        if not isinstance(self._sol[name], np.ndarray):
            raise BadArgument(
                f"sol.error[{name!r}]: {name!r} is a part with several quantities. Ask for one: "
                f"sol.error.of(lambda sol: sol[{name!r}].force)."
            )
        return self.of(lambda sol: sol[name])

    @property
    def largest(self) -> dict[str, float]:
        """Largest error of positions, velocities and multipliers (of an Ode y, of a Dae x and y), over the whole run."""
        return {name: _largest(getattr(self, name)) for name in self._names(True)}

    def _names(self, multipliers: bool) -> tuple[str, ...]:
        model = self._sol.plan.model
        if is_dae(model):
            names = ("x", "dx")[: min(order_of(model), 2)]
            return (*names, "y") if multipliers else names
        if model.is_ode:
            return ("y",)
        return ("q", "v", "lam") if multipliers and model.n_lam else ("q", "v")

    def _relative(self) -> np.ndarray:
        """The larger relative error of positions and velocities, over time; each relative to its largest value in the run."""
        found = np.zeros(len(self._rows))
        for name in self._names(False):
            size = _largest(getattr(self.companion, name))
            if size > 0.0:
                found = np.maximum(found, np.max(getattr(self, name), axis=1, initial=0.0) / size)
        return found

    @property
    def digits(self) -> float:
        """Decimal digits of positions and velocities that are right all along the run; 0 where they are lost."""
        return float(-np.log10(np.clip(np.max(self._relative(), initial=0.0), 1e-16, 1.0)))

    @property
    def parted(self) -> float | None:
        """The time from which on the run has no digit left, s: its motion is chaotic, or its tolerance too large."""
        lost = self._relative() > PARTED
        return float(self.t[np.argmax(lost)]) if np.any(lost) else None

    def __str__(self) -> str:
        sizes = ", ".join(f"{size:.1e} in {name}" for name, size in self.largest.items())
        if self.parted is not None:
            return f"no digit is left from t = {self.parted:.6g} s on ({sizes}): a second run has parted from this one"
        return f"at most about {sizes}; {self.digits:.1f} digits, by a second run"

    __repr__ = __str__


def _largest(values: np.ndarray) -> float:
    return float(np.max(np.abs(values), initial=0.0))
