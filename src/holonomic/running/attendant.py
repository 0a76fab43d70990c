"""What looks after a run between two stretches of the step loop: whether its budget is used up, whether a checkpoint is due."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..arguments import Budget, in_bytes
from ..automatic.decide import Choosing
from ..errors import Cancelled, HolonomicError, LimitReached
from ..results.solution import Solution
from ..results.trail import WrittenRows
from .detour import Crossing
from .progress import Progress
from .run import Run

if TYPE_CHECKING:
    from .checkpoints import Checkpoints, Resumed
    from .keeping import Keeping


class Attendant:
    """Looks at a run about every 50 ms: stops it where it may not go on, and writes its checkpoints.

    Parameters
    ----------
    budget : Budget, optional
        What the call may use.
    checkpoints : Checkpoints, optional
        Where it is written down.
    t_end : float
        End of the whole run, s.
    choosing, crossing
        What else decides how the run goes on.
    keeping : Keeping, optional
        What takes its rows, and keeps of them what was asked for.
    pays : callable, optional
        Looks at a run by tables, and ends it where code is to make it: given the time it has come to.
    """

    def __init__(
        self, budget: Budget | None, checkpoints: Checkpoints | None, t_end: float, choosing: Choosing | None, crossing: Crossing,
        keeping: Keeping | None = None, pays: Callable[[float], None] | None = None,
    ):  # fmt: skip
        self.budget, self.checkpoints, self.t_end = budget, checkpoints, t_end
        self.choosing, self.crossing, self.keeping, self.pays = choosing, crossing, keeping, pays
        self._bar: Progress | None = None
        self._attended: tuple[Run, list[Solution]] | None = None
        self._counted: tuple[WrittenRows | None, int, int] = (None, 0, 0)  # of which rows, how many chunks, and their bytes

    def resumed(self) -> Resumed | None:
        """Return the run as its last checkpoint has it, where it is to go on from one."""
        return None if self.checkpoints is None else self.checkpoints.read(self.choosing, self.crossing, self.t_end)

    def beside(self, bar: Progress) -> Callable[[float], None]:
        """Return what to call between two stretches, in the place of the progress bar's own, which is told, too."""
        self._bar = bar
        return self.look

    def attend(self, run: Run, parts: list[Solution]) -> None:
        """Look after this run from here on; `parts` are those of other plans before it."""
        self._attended = run, parts

    def look(self, t: float) -> None:
        """Look at the run, which stands between two stretches."""
        assert self._bar is not None and self._attended is not None
        self._bar.tell(t)
        run, parts = self._attended
        if self.pays is not None:
            self.pays(t)
        if self.keeping is not None:
            self.keeping.look(run, parts)
        over = None
        if self.budget is not None:
            over = self.budget.over(self._held(run, parts) if self.budget.max_memory is not None else 0)
        if self.checkpoints is not None and (over is not None or self.checkpoints.is_due):
            self.checkpoints.write(run, parts, self.choosing, self.crossing)
        if over is not None:
            raise self._stopped(over, run, parts)

    def ended(self, run: Run, parts: list[Solution], how: str) -> None:
        """Write down a run that has reached its end."""
        if self.checkpoints is not None:
            self.checkpoints.write(run, parts, self.choosing, self.crossing, how)

    def _held(self, run: Run, parts: list[Solution]) -> int:
        """What the rows of a run take, bytes; only those that have come since the last look are counted."""
        record, chunks, total = self._counted
        if record is not run.record or chunks > len(run.record.t):  # another plan goes on, or rows were joined
            total, chunks = sum(part.trail.record.bytes_from(0) for part in parts), 0
        total += run.record.bytes_from(chunks)
        self._counted = (run.record, len(run.record.t), total)
        return total + (0 if self.keeping is None else self.keeping.held)

    def _stopped(self, over: str, run: Run, parts: list[Solution]) -> HolonomicError:
        assert self.budget is not None
        steps = run.memory.accepted + sum(part.trail.memory.accepted for part in parts)
        where = f"at t = {run.t:.6g} of {self.t_end:.6g}, after {steps} steps"
        goes_on = ""
        if self.checkpoints is not None:
            goes_on = f" Call again with resume=True to go on from {self.checkpoints.path}."
        if over == "cancelled":
            return Cancelled(f"the run was cancelled {where}.{goes_on} See error.solution.")
        if over == "time":
            rough = "loosen rtol" if run.plan.choice.step is None else "take a larger step"
            remedy = goes_on or f" Raise max_time, or {rough}."
            return LimitReached(f"max_time = {self.budget.max_time:g} s were used up {where}.{remedy} See error.solution.")
        return LimitReached(
            f"max_memory = {in_bytes(self.budget.max_memory or 0.0)} are used up {where}: what is kept takes "
            f"{in_bytes(self._held(run, parts))}. Keep fewer times (save_at=), or raise max_memory.{goes_on} See error.solution."
        )
