"""Members that were stiff for the explicit method of a GPU: found by the processor, after the run, among those with many steps.

The program of a thread has no stiffness test, which would cost it registers. Instead the fastest rate of the equations is
looked at in the saved states of a member: where it decays, and times the mean step is as large as stability allows, accuracy
did not limit the step.
"""

from __future__ import annotations

import numpy as np

from ..automatic.decide import DECAYS
from ..errors import TOO_MANY_STEPS
from ..kernels.memory import RUN
from ..kernels.step_control import CLOSE_TO_LIMIT
from ..loop.automatic_looks import look_at_starts
from ..loop.fastest_rate import FASTEST, REAL
from ..planning.workspace import Workspace
from ..sweeping.job import Job

MANY = 300  # steps from which a member is looked at
MOST_LOOKS = 64  # members, those with the most steps
ROWS = 8  # saved times of each


def suspects(status: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Numbers of the members to look at, those with the most steps first."""
    many = np.flatnonzero((steps >= MANY) | (status == TOO_MANY_STEPS))
    return many[np.argsort(-steps[many], kind="stable")]


def remarks(job: Job, first: int, x: np.ndarray, looked: np.ndarray, host: dict[str, np.ndarray], all_of: np.ndarray):
    """What to tell of stiff members: those that reached their end, and those that used up their steps, by number.

    `x` holds the states of the members `looked` at, (member, time, entry); `all_of` are all that took many steps.
    """
    if job.plan.choice.step is not None:
        return {}, {}
    notes: dict[int, str] = {}
    why: dict[int, str] = {}
    fewest = None
    for row, m in enumerate(looked.tolist()):
        found = _fastest(job, first + m, x[row], abs(host["reached"][m] - job.t0) / max(1, int(host["steps"][m])))
        if found is not None:
            fewest = int(host["steps"][m])
            notes[first + m] = STIFF.format(job.program.integrator_name, *found)
    for m in all_of[len(looked) :].tolist():
        if fewest is not None and host["steps"][m] >= fewest:
            notes[first + m] = LIKELY.format(int(host["steps"][m]), job.program.integrator_name)
    for m in np.flatnonzero(host["status"] == TOO_MANY_STEPS).tolist():
        told = notes.pop(first + m, UNKNOWN.format(job.program.integrator_name))
        why[first + m] = f"max_steps = {job.limits['max_steps']} steps were used up: {told}"
    return notes, why


def _fastest(job: Job, number: int, x: np.ndarray, step: float) -> tuple[float, float, float] | None:
    """Time (s), rate (1/s) and its product with the mean step, where the fastest part of a member's equations decays."""
    rows = np.flatnonzero(np.isfinite(x).all(axis=1))
    if not len(rows):
        return None
    program, data = job.program, job.data_of(number, number + 1)
    run, work, found, status = RUN.new(), Workspace(program, paths=0), np.zeros((1, 3)), np.zeros(1, dtype=np.int64)
    model, forward = program.model, 1.0 if job.t1 >= job.t0 else -1.0
    positions = model.nq // job.plan.model.order if model.is_ode else model.nq
    worst = None
    for row in rows[np.unique(np.linspace(0, len(rows) - 1, ROWS).astype(int))]:
        t, found[:] = job.save_t[row], 0.0
        look_at_starts(
            program.for_kernels(data[0]), run, t, job.t1 - job.t0, np.ascontiguousarray(x[row : row + 1]), data, work.loop,
            positions, found, status,
        )  # fmt: skip
        rate, real = found[0, FASTEST], forward * found[0, REAL]
        if real < -DECAYS * rate and rate * step > CLOSE_TO_LIMIT and (worst is None or rate > worst[1]):
            worst = float(t), float(rate), float(rate * step)
    return worst


REMEDY = 'With on="threads" and integrator= left open an implicit method takes over there.'
STIFF = (
    "stability, not accuracy, limits the steps of {}: at t = {:.6g} the fastest part of the equations decays with {:.3g} 1/s, "
    "times the mean step {:.2g}, where explicit methods are stable up to 3 or 6. " + REMEDY
)
LIKELY = "{} steps of {}, as many as those of stiff members of this sweep; it was not looked into. " + REMEDY
UNKNOWN = "with {}, which is explicit, stiff equations can be the reason. " + REMEDY
