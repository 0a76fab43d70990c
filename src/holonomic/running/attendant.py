"""What looks after a run between two stretches of the step loop: whether its budget is used up."""

from __future__ import annotations

from ..arguments import Budget, Cancelled, LimitReached, in_bytes
from ..errors import HolonomicError
from ..results.solution import Solution
from ..results.trail import WrittenRows
from .run import Run


class Attendant:
    """Looks at a run about every 50 ms, and stops it where it may not go on.

    Parameters
    ----------
    budget : Budget
        What the call may use.
    t_end : float
        End of the whole run, s.
    """

    def __init__(self, budget: Budget, t_end: float):
        self.budget, self.t_end = budget, t_end
        self._counted: tuple[WrittenRows | None, int, int] = (None, 0, 0)  # of which rows, how many chunks, and their bytes

    def look(self, run: Run, parts: list[Solution]) -> None:
        """Look at a run that stands between two stretches; `parts` are those of other plans before it."""
        over = self.budget.over(self._held(run, parts) if self.budget.max_memory is not None else 0)
        if over is not None:
            raise self._stopped(over, run, parts)

    def _held(self, run: Run, parts: list[Solution]) -> int:
        """What the rows of a run take, bytes; only those that have come since the last look are counted."""
        record, chunks, total = self._counted
        if record is not run.record or chunks > len(run.record.t):  # another plan goes on, or rows were joined
            total, chunks = sum(part.trail.record.bytes_from(0) for part in parts), 0
        total += run.record.bytes_from(chunks)
        self._counted = (run.record, len(run.record.t), total)
        return total

    def _stopped(self, over: str, run: Run, parts: list[Solution]) -> HolonomicError:
        steps = run.memory.accepted + sum(part.trail.memory.accepted for part in parts)
        where = f"at t = {run.t:.6g} of {self.t_end:.6g}, after {steps} steps"
        if over == "cancelled":
            return Cancelled(f"the run was cancelled {where}. See error.solution.")
        if over == "time":
            rough = "loosen rtol" if run.plan.choice.step is None else "take a larger step"
            return LimitReached(
                f"max_time = {self.budget.max_time:g} s were used up {where}. Raise max_time, or {rough}. See error.solution."
            )
        return LimitReached(
            f"max_memory = {in_bytes(self.budget.max_memory)} are used up {where}: what is kept takes "
            f"{in_bytes(self._counted[2])}. Keep fewer times (save_at=), or raise max_memory. See error.solution."
        )
