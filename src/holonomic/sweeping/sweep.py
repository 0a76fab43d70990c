"""sweep(): from a user's call to a Job, to chunks of results, to an Ensemble."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple

import numpy as np

from ..arguments import (
    Asked,
    Assembling,
    GivenStart,
    brought,
    check_kind,
    controllers_by_name,
    mapped,
    members_of_inputs,
    opened,
    refuse_unknown,
)
from ..entries import entry
from ..errors import BadArgument, Cancelled, IncompatibleMethods, LimitReached
from ..model.dae import Dae
from ..model.given_numbers import axes, is_whole
from ..planning.reuse import traced_model
from ..running.progress import Tally
from .chunk_run import finish, finished, not_run
from .common import plan_job, shared_aim
from .engines import Dask, Futures, Threads, is_dask_client
from .ensemble import Ensemble, MembersLog
from .ensemble_sources import Named, Summed
from .job import Engine, Job
from .members import STARTS, check_params, check_starts, count, first_of, starts_of_members
from .remarks import warn_of

NOT_RUN = "not run: the sweep was "
MOST_WORKERS = 4096


class AskedMembers(NamedTuple):
    """What is asked of many runs beyond what is asked of one, under the names and with the defaults of `sweep`."""

    params: Mapping[str, Any] | None = None
    outputs: str | Sequence[str] | None = None
    keep: str | None = None
    store: str | os.PathLike | None = None
    resume: bool = False
    on: Any = "threads"
    workers: int | None = None


def sweep(
    system,
    t_end=None,
    *positional,
    q0=None,
    v0=None,
    y0=None,
    s0=None,
    w0=None,
    x0=None,
    dx0=None,
    ddx0=None,
    lam0=None,
    params: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    controllers: Mapping[str, Any] | None = None,
    save_at=2,
    outputs: str | Sequence[str] | None = None,
    keep: str | None = None,
    events: Mapping[str, Any] | None = None,
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    prefer: str | None = None,
    rtol: float | None = None,
    atol=None,
    step: float | None = None,
    constraint_tol: float | None = None,
    initial: str = "check",
    hold=None,
    redundant: str | None = None,
    compile: str | None = None,
    max_steps: int = 1_000_000,
    max_step: float = np.inf,
    store: str | os.PathLike | None = None,
    resume: bool = False,
    on="threads",
    workers: int | None = None,
    progress: bool | None = None,
    max_time: float | None = None,
    max_memory: float | None = None,
    cancel=None,
    **unknown,
) -> Ensemble:
    """Run one system many times, over parameters and initial values.

    Parameters
    ----------
    system : System, Ode, Dae, Problem or Mechanism
        Compiled once; all members share it.
    t_end : float or (float, float)
        As for `simulate`.
    q0, v0, y0, x0, dx0, ddx0 : array_like
        As for `simulate`: one start for all members, or (member, entry) arrays.
    s0, w0 : mapping or array_like
        States and a guess of algebraic variables, as for `simulate`; a (member, entry) array of s0 gives each its own.
    lam0 : array_like
        As for `simulate`, one row for all members or (member, row): multipliers that are checked, or a guess of a Dae's y.
    params : dict
        Parameters of the system by name, one value (or array) per member, all of one length; `grid` and `sample`
        make such dicts.
    inputs : dict
        Inputs of the system by name: a number per member, or a pair (times, values) with values (member, time), linear in
        between; (times, values, "hold") keeps each value until the next time. One row of values is for all members.
    controllers : {name: Controller}, optional
        As for `simulate`, on threads of this process; each member has noise of its own. See `runs.controls`.
    save_at : int or array_like
        Times to keep; 2 keeps start and end.
    outputs : list of str, optional
        Keep these quantities only: "q", "v", "a", "lam", coordinates, named outputs, or quantities of a mechanism such
        as "A.force". Without it the whole state is kept, and everything can be read.
    keep : {"all", "summary"}
        "summary": mean, extremes and quantiles of `outputs` over the members, and no trajectory.
    events : {name: Event or function}, optional
        As for `simulate`; see `runs.events`.
    initial : {"check", "project", "impact", "free"}
        Members whose start misses the constraints are refused, or moved onto them; "impact": their velocities by impulses,
        as for `simulate`. A mechanism is projected by default.
    redundant : {None, "minimum-norm", "drop"}
        What to do about redundant constraint rows; they are the same for all members.
    compile : {None, "now", "never"}
        As what a Mechanism runs, as for `simulate`. Tables run on threads and on a GPU, there by themselves beyond 24 rows.
    store : path, optional
        Stream the results to a Zarr group of this name (extra `store`), in bounded memory. Finished chunks survive
        whatever happens to the process.
    resume : bool
        Go on with a store that a sweep with the same arguments has begun; finished members are not computed again.
    on : "threads", "cuda", Client of Dask, or concurrent.futures.Executor
        Where to run: threads of this process, without Python's lock; a GPU (extra `gpu`), one thread per member, explicit
        integrators; a Dask cluster (extra `cluster`); other processes, through MPI with `mpi4py.futures`. The numbers are
        the same, on a GPU to within rounding.
    workers : int, optional
        Number of threads; all cores if not given.
    integrator, stabilization, formulation, rtol, atol, step, constraint_tol, hold, max_steps, max_step, progress
        As for `simulate`. Where the integrator is left open, each member begins and goes on with what `simulate` would
        choose for it; `runs.plan.why()` and `runs.changed` tell. On a GPU one explicit method is chosen for all.
    prefer : {"speed", "accuracy", "energy"}, optional
        As for `simulate`; trials for "energy" are made with these three members, and the smallest tolerance is taken.
    max_time, max_memory, cancel
        As for `simulate`: what the sweep may use, seconds of wall time and bytes of results in memory, and how another thread
        stops it. `error.solution` has the members that were finished; a store has them on disk, and resume=True goes on. On
        threads it ends within about a second, on a GPU and a cluster with the pieces under way.
    *positional, **unknown
        Refused, with the name that it has here.

    Returns
    -------
    Ensemble
        A member that fails never disturbs the others: see `runs.failed` (which, when, why).

    Raises
    ------
    HolonomicError
        As for `simulate`, where arguments, system or methods are at fault and not a single member.
    MissingExtra
        A store, a cluster or a GPU is asked for and its library is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import System, sweep
    >>> swing = System(
    ...     mass=np.eye(2), potential=lambda q, p: p.g * q[1], constraint=lambda q: q @ q - 1, params={"g": 9.81}
    ... )
    >>> runs = sweep(swing, 1.0, q0=[0, -1], v0=[1, 0], params={"g": np.linspace(1, 20, 5)}, save_at=11)
    >>> runs.q.shape, runs.failed
    ((5, 11, 2), [])
    """
    if positional or unknown:
        refuse_unknown(sweep, positional, unknown, system)
    start = GivenStart(q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant, compile)
    asked = Asked(
        formulation, integrator, stabilization, rtol, atol, step, constraint_tol, prefer, save_at, events, max_steps, max_step,
        None, progress, max_time, max_memory, cancel, inputs, controllers,
    )  # fmt: skip
    many = AskedMembers(params, outputs, keep, store, resume, on, workers)
    return run_members("sweep", system, t_end, start, asked, many)


def run_members(call: str, system, t_end, start: GivenStart, asked: Asked, many: AskedMembers) -> Ensemble:
    """Run one system many times; `call` is the function that was called, for messages."""
    budget = asked.budget()
    engine = engine_of(many.on, many.workers)
    if controllers_by_name(asked.controllers) and (many.store is not None or not isinstance(engine, Threads)):
        raise BadArgument(
            'controllers run on threads of this process and keep their answers in memory: use on="threads", without store=.'
        )
    explicit_only = isinstance(many.on, str) and many.on == "cuda"
    left_open = start.compile is None
    if left_open and not isinstance(engine, Threads):
        start = start._replace(compile=how_elsewhere(engine, system))
    try:
        job = job_of(call, system, t_end, start, asked, many, explicit_only)
        if left_open and start.compile == "never":
            engine.check(job)  # type: ignore[attr-defined]
    except IncompatibleMethods:
        if not left_open or start.compile == "now" or not isinstance(system, Assembling):
            raise
        job = job_of(call, system, t_end, start._replace(compile="now"), asked, many, explicit_only)  # what tables do not offer
    job.halt.budget = budget
    if many.store is None:
        runs = gather(job, engine, many.keep, asked.progress)
    else:
        runs = stream(job, engine, many.store, many.resume, asked.progress)
    warn_of(runs.noted, job.count)
    return runs


def how_elsewhere(engine: Engine, system) -> str:
    """What a system runs as where it is not said, on other engines than threads: tables are memory of this process, or a GPU's."""
    beyond = engine.tables_beyond
    return "never" if beyond is not None and isinstance(system, Assembling) and system.n_rows > beyond else "now"


def job_of(call: str, system, t_end, start: GivenStart, asked: Asked, many: AskedMembers, explicit_only: bool) -> Job:
    """Return what is to be run: a program, and what is different for each member."""
    if isinstance(system, Assembling) and start.q0 is None and start.initial == "check":
        start = start._replace(initial="project")  # other lengths: the same drawing, other speeds
    system, t_end, start = brought(system, t_end, start, tuple(mapped(many.params, "params")), by_size=True)
    check_kind(call, system)
    _check(many)
    changed = check_params(system, many.params)
    starts = {name: getattr(start, name) for name in STARTS}
    check_starts(starts)
    members = count(
        {name: len(values) for name, values in changed.items()}
        | members_of_inputs(asked.inputs)
        | {name: len(values) for name, values in starts.items() if values is not None and axes(values) == 2}
    )
    here = opened(call, system, t_end, start._replace(**{name: first_of(given) for name, given in starts.items()}))
    t0, t1, extras = here.t0, here.t1, here.extras
    model = traced_model(system, here.q, here.v, t0, extras, lambda why: _refusal(call, why))
    save_t = asked.times(t0, t1)
    if save_t is None:
        raise BadArgument(f"{call} keeps the same times of all members: give save_at, a number of times or times.")
    limits = asked.limits()
    start = start._replace(redundant=system.redundant if start.redundant is None else start.redundant)
    if explicit_only and start.lam0 is not None and isinstance(system, Dae):
        raise BadArgument('lam0 of a Dae is looked into member by member, which a GPU does not do. Use on="threads".')
    qs, vs = starts_of_members(model, here, start)
    if asked.prefer is not None:

        def at(m):
            x, u = (values[m if len(values) > 1 else 0] for values in (qs, vs))
            given = {"y0": x} if model.is_ode else {"q0": x[: model.nc], "v0": u, "w0": start.w0}
            if extras.ns:
                given["s0"] = x[model.nc : model.nc + extras.ns]
            return x, u, extras, given | {name: getattr(start, name) for name in ("initial", "hold", "redundant")}

        aim = shared_aim(asked, system, changed, members, at, (t0, t1))
        asked = asked._replace(rtol=aim.rtol, atol=aim.atol)
    return plan_job(
        model, asked, asked.watched(system), t0, t1, save_t, members, changed, asked.inputs, qs, vs, start, limits,
        _wanted(many.outputs, many.keep), explicit_only,
    )  # fmt: skip


def _check(many: AskedMembers) -> None:
    """Refuse what cannot be kept."""
    if many.keep is not None and (not isinstance(many.keep, str) or many.keep not in ("all", "summary")):
        names = isinstance(many.keep, str | list | tuple) and len(many.keep) and all(isinstance(name, str) for name in many.keep)
        what = f"outputs={many.keep!r} keeps quantities by name in a sweep; " if names else ""
        raise BadArgument(f'keep={many.keep!r}: {what}choose "all" or "summary".')
    if not isinstance(many.resume, bool | np.bool_):
        raise BadArgument(f"resume={many.resume!r}: choose True or False.")
    if many.store is None and many.resume:
        raise BadArgument("resume=True goes on with a store: give store=, the path of one.")
    if many.store is not None and many.keep == "summary":
        raise BadArgument('keep="summary" keeps no trajectories, store= keeps them on disk: choose one.')


def _refusal(call: str, why: str) -> str:
    """Why a system that is not compiled has no members run; `why` it cannot be traced, or nothing with trace=False."""
    what = f"{why} Or run its members" if why else "trace=False runs"
    return f"{call} needs a compiled system: {what} one at a time, with simulate."


def _wanted(outputs, keep: str) -> tuple[str, ...] | None:
    """The names to keep; None: the whole state."""
    if outputs is None:
        if keep == "summary":
            raise BadArgument('keep="summary" needs outputs=, the quantities to sum up, for example outputs=["q"].')
        return None
    if isinstance(outputs, Mapping):
        raise BadArgument(
            f"outputs={outputs!r}: sweep keeps outputs by name, outputs=[{', '.join(map(repr, outputs))}]; new ones are stated in "
            "System(..., outputs={name: function})."
        )
    names = (outputs,) if isinstance(outputs, str) else tuple(outputs) if isinstance(outputs, Iterable) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise BadArgument(f'outputs={outputs!r}: give names, for example outputs=["q", "tension"].')
    return names


def engine_of(on, workers: int | None) -> Engine:
    """Return the engine that `on=` asks for."""
    if workers is not None and not is_whole(workers, 1):
        raise BadArgument(f"workers={workers!r} must be a whole number, at least 1.")
    if workers is not None and workers > MOST_WORKERS:
        raise BadArgument(f"workers={workers!r}: this machine has {os.cpu_count()} cores. Take at most {MOST_WORKERS} threads.")
    if isinstance(on, str) and on == "threads":
        return Threads(workers)
    if isinstance(on, str) and on == "cuda":
        return entry("engine: cuda")()
    if workers is not None:
        raise BadArgument('workers= goes with on="threads"; other engines have as many as they have.')
    if isinstance(on, Executor):
        return Futures(on)
    if is_dask_client(on):
        return Dask(on)
    raise BadArgument(
        f'on={on!r}: sweeps run on "threads", on "cuda", on a Client of Dask, or on an Executor of concurrent.futures.'
    )


def gather(job: Job, engine: Engine, keep: str | None, progress: bool | None) -> Ensemble:
    """Run a job and hold in memory what is asked for. Ctrl-C ends it early; the members that are finished are returned."""
    source = Summed(job) if keep == "summary" else Named(job) if job.wanted else engine.whole(job)
    log, bar, left = MembersLog(job), Tally(job.count, progress), dict(job.pieces())
    log.on = engine.name
    try:
        with job.halt.listening(engine.halts):
            for chunk in engine.chunks(job, job.pieces()):
                chunk = finish(job, chunk)
                source.add(chunk)
                log.add(chunk)
                job.halt.held += chunk.events.nbytes
                del left[chunk.first]
                bar.add(finished(chunk))
    except KeyboardInterrupt:
        job.halt.ask()
    except Exception as problem:
        if bar.done:
            _not_run(job, source, log, left, "the sweep failed")
            problem.solution = Ensemble(job, source, log)
            problem.add_note(f"The {bar.done} of {job.count} members that were finished are in error.solution.")
        raise
    finally:
        bar.close()
    if job.halt.stopped and job.halt.over is None:
        bar.interrupted("the members so far are returned")
        _not_run(job, source, log, left, f"the sweep was {job.halt.how}")
    elif job.halt.over is not None and bar.done < job.count:
        _not_run(job, source, log, left, f"the sweep was {job.halt.how}")
        problem = job.halt.problem(bar.done, job.count)
        problem.solution = Ensemble(job, source, log)
        raise problem
    return Ensemble(job, source, log)


def _not_run(job: Job, source, log: MembersLog, left: dict[int, int], why: str) -> None:
    """Enter members that were not run."""
    for first, last in sorted(left.items()):
        chunk = not_run(job, first, last, f"not run: {why}")
        source.add(chunk)
        log.add(chunk)


def stream(job: Job, engine: Engine, path, resume: bool, progress: bool | None) -> Ensemble:
    """Run what is missing in a store."""
    from .store import Store, Stored

    store = Store(job, path, resume, engine.name)
    bar = Tally(job.count, progress, done=store.members_done)
    try:
        with job.halt.listening(engine.halts):
            for chunk in engine.chunks(job, store.missing()):
                chunk = finish(job, chunk)
                if finished(chunk) == chunk.last - chunk.first:  # a store holds whole chunks
                    store.add(chunk)
                    bar.add(chunk.last - chunk.first)
        if job.halt.stopped and job.halt.over is None:
            raise KeyboardInterrupt
        if job.halt.over is not None and store.missing():
            raise job.halt.problem(store.members_done, job.count, store.path)
        return Ensemble(job, Stored(store), store.log())
    except (KeyboardInterrupt, LimitReached, Cancelled) as stop:
        if isinstance(stop, KeyboardInterrupt):
            job.halt.ask()
            bar.interrupted(f"they are in {store.path}, resume=True goes on")
        log = store.log()
        log.why |= {m: NOT_RUN + job.halt.how for first, last in store.missing() for m in range(first, last)}
        stop.solution = Ensemble(job, Stored(store), log)
        raise
    finally:
        bar.close()
        store.close()
