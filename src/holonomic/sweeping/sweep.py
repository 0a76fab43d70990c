"""sweep(): from a user's call to a Job, to chunks of results, to an Ensemble."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import DONE, BadArgument
from ..failure import reason
from ..inputs import InputTables
from ..model.system import Ode, System
from ..progress import Progress
from ..simulate import _limits, choose, interval, model_of, plan_of, save_times, start_values
from .ensemble import Ensemble, Failure
from .job import Engine, Job
from .members import all_of, count, first_of
from .threads import Threads


def sweep(
    system,
    t_end,
    *,
    q0=None,
    v0=None,
    y0=None,
    params: Mapping[str, Any] | None = None,
    save_at=2,
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    rtol: float | None = None,
    atol=None,
    step: float | None = None,
    constraint_tol: float | None = None,
    initial: str = "check",
    hold=None,
    max_steps: int = 1_000_000,
    max_step: float = np.inf,
    on: str = "threads",
    workers: int | None = None,
    progress: bool | None = None,
) -> Ensemble:
    """Run one system many times, over parameters and initial values.

    Parameters
    ----------
    system : System, Ode or Mechanism
        Compiled once; all members share it.
    t_end : float or (float, float)
        As for `simulate`.
    q0, v0, y0 : array_like
        One start for all members, or (member, entry) arrays.
    params : dict
        Parameters of the system by name, one value (or array) per member, all of one length; `grid` and `sample`
        make such dicts.
    save_at : int or array_like
        Times to keep; 2 keeps start and end.
    initial : {"check", "project"}
        Members whose start misses the constraints are refused, or moved onto them (`hold=` as for `simulate`).
    on : {"threads"}
        Where to run; threads on this machine, without Python's lock.
    workers : int, optional
        Number of threads; all cores if not given.
    integrator, stabilization, formulation, rtol, atol, step, constraint_tol, max_steps, max_step, progress
        As for `simulate`.

    Returns
    -------
    Ensemble
        A member that fails never disturbs the others: see `runs.failed` (which, when, why).
    """
    engine = engine_of(on, workers)
    if hasattr(system, "to_system"):  # a Mechanism, from where it was assembled
        system, q, v = system.to_system(varying=tuple(params or ()))
        initial = "project" if q0 is None else initial  # other lengths: the same drawing, other speeds
        q0, v0 = q if q0 is None else q0, v if q0 is None and v0 is None else v0
    if not isinstance(system, System | Ode):
        raise BadArgument(f"sweep needs a System, an Ode or a Mechanism, got {type(system).__name__}.")
    changed = {name: np.asarray(values, dtype=float) for name, values in (params or {}).items()}
    members = count(system, changed, {"q0": q0, "v0": v0, "y0": y0})
    began, q, v = start_values(system, first_of(q0), first_of(v0), first_of(y0), t_end)
    t0, t1 = interval(began, t_end)
    model = model_of(system, q, v, t0)
    if model.interpreted:
        raise BadArgument("sweep needs a compiled system: trace=False runs one at a time, with simulate.")
    choice = choose(model, formulation, integrator, stabilization, rtol, atol, step, constraint_tol)
    plan = plan_of(model, choice, {}, None)
    if plan.integrator.starting_points:
        raise BadArgument(f"sweep does not start {choice.integrator!r}. Use BDF(), or a one-step method.")
    save_t = save_times(save_at, t0, t1)
    if save_t is None:
        raise BadArgument("sweep keeps the same times of all members: give save_at, a number of times or times.")
    job = Job(
        plan, t0, t1, save_t, members, _data(model, plan, t0, t1), changed, all_of(q0 if y0 is None else y0, q),
        all_of(v0, v), initial, hold, _limits(max_steps, max_step, None),
    )  # fmt: skip
    return gather(job, engine, progress)


def engine_of(on, workers: int | None) -> Engine:
    """Return the engine that `on=` asks for."""
    if on == "threads":
        return Threads(workers)
    raise BadArgument(f'on={on!r}: sweeps run on "threads".')


def gather(job: Job, engine: Engine, progress: bool | None) -> Ensemble:
    """Run a job and hold all of its results in memory."""
    times, nx, nk = job.shape
    x, k = np.empty((job.count, times, nx)), np.empty((job.count, times, nk))
    status, steps = np.zeros(job.count, dtype=np.int64), np.zeros(job.count, dtype=np.int64)
    reached = np.empty(job.count)
    failed = []
    bar, done = Progress(0.0, float(job.count), progress), 0
    try:
        for chunk in engine.chunks(job, job.pieces()):
            here = slice(chunk.first, chunk.last)
            x[here], k[here] = chunk.x, chunk.k
            status[here], steps[here], reached[here] = chunk.status, chunk.steps, chunk.reached
            failed += failures(job, chunk)
            done += chunk.last - chunk.first
            bar.tell(float(done))
    finally:
        bar.close()
    return Ensemble(job, x, k, status, reached, steps, sorted(failed, key=lambda failure: failure.member))


def failures(job: Job, chunk) -> list[Failure]:
    """Which members of a chunk did not reach the end, when and why."""
    found = [Failure(m, job.t0, why) for m, why in chunk.unable.items()]
    for i in np.flatnonzero(chunk.status != DONE):
        if chunk.first + i not in chunk.unable:
            found.append(Failure(chunk.first + int(i), float(chunk.reached[i]), reason(int(chunk.status[i]), job.plan)))
    return found


def _data(model, plan, t0, t1) -> np.ndarray:
    """Data that all members have in common."""
    data = model.data()
    direction = 1.0 if t1 >= t0 else -1.0
    plan.enter_gains(data, direction)
    tables = InputTables(model)
    if len(tables.breaks):
        raise BadArgument("sweep cannot follow inputs given as tables; give them as functions of t.")
    tables.set(data, t0, direction)
    return plan.extended(data)
