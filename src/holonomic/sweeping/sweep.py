"""sweep(): from a user's call to a Job, to chunks of results, to an Ensemble."""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

import numpy as np

from ..arguments import (
    choose,
    events_of,
    interval,
    limits_of,
    refuse_unknown,
    save_times,
    settled,
    start_values,
    unpacked,
)
from ..errors import BadArgument, HolonomicError, RedundancyWarning, SingularMass
from ..model.dae import Dae
from ..model.extra import start_of_extras
from ..model.given import axes, is_whole
from ..model.system import Ode, System
from ..model.warned import warn
from ..planning.reuse import model_of, plan_of
from ..running.progress import Tally
from ..running.walk import set_invariants
from ..starting.initial import held_coordinates, prepare
from ..starting.invariance import check_invariants, left_out
from ..starting.roots import take_root
from .checks import needed
from .cluster import Dask, Futures, is_dask_client
from .common import consistent_starts, left_open, shared_aim, shared_explicit
from .ensemble import Ensemble, Log
from .inputs import Tables, lengths
from .job import Engine, Job
from .members import all_of, beside, check_params, check_starts, count, first_of, mapped
from .open import memory
from .piece import finish, finished, not_run
from .program import Program
from .quantities import Quantities
from .sources import Named, Summed, Whole
from .telling import warn_of
from .threads import Threads

NOT_RUN = "not run: the sweep was interrupted"
MOST_WORKERS = 4096
TRIES = 50  # members looked at for one that can start, to see which rows are redundant


def sweep(
    system,
    t_end=None,
    *positional,
    q0=None,
    v0=None,
    y0=None,
    s0=None,
    w0=None,
    params: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    save_at=2,
    outputs: str | Sequence[str] | None = None,
    keep: str = "all",
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
    max_steps: int = 1_000_000,
    max_step: float = np.inf,
    store: str | os.PathLike | None = None,
    resume: bool = False,
    on="threads",
    workers: int | None = None,
    progress: bool | None = None,
    **unknown,
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
    s0, w0 : mapping or array_like
        States and a guess of algebraic variables, as for `simulate`; a (member, entry) array of s0 gives each its own.
    params : dict
        Parameters of the system by name, one value (or array) per member, all of one length; `grid` and `sample`
        make such dicts.
    inputs : dict
        Inputs of the system by name: a number per member, or a pair (times, values) with values (member, time).
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
        as for `simulate`. A mechanism is projected unless something else is said.
    redundant : {None, "minimum-norm", "drop"}
        What to do about redundant constraint rows; they are the same for all members.
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
    *positional, **unknown
        Refused, with the name that is meant here.

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
        refuse_unknown(unknown, sweep, positional, system)
    engine = engine_of(on, workers)
    if hasattr(system, "to_system") and q0 is None and initial == "check":
        initial = "project"  # other lengths: the same drawing, other speeds
    system, t_end, q0, v0, y0, s0, w0 = unpacked(system, t_end, q0, v0, y0, s0, w0, varying=tuple(mapped(params, "params")))
    if not isinstance(system, System | Ode):
        raise BadArgument(f"sweep needs a System, an Ode or a Mechanism, got {type(system).__name__}.")
    if not isinstance(keep, str) or keep not in ("all", "summary"):
        raise BadArgument(f'keep={keep!r}: choose "all" or "summary".')
    if not isinstance(resume, bool | np.bool_):
        raise BadArgument(f"resume={resume!r}: choose True or False.")
    if store is None and resume:
        raise BadArgument("resume=True goes on with a store: give store=, the path of one.")
    if store is not None and keep == "summary":
        raise BadArgument('keep="summary" keeps no trajectories, store= keeps them on disk: choose one.')
    mapped(inputs, "inputs")
    changed = check_params(system, params)
    starts = {"q0": q0, "v0": v0, "y0": y0, "s0": s0}
    check_starts(starts)
    members = count(
        {name: len(values) for name, values in changed.items()}
        | lengths(inputs)
        | {name: len(values) for name, values in starts.items() if values is not None and axes(values) == 2}
    )
    began, q, v = start_values(system, first_of(q0), first_of(v0), first_of(y0))
    t0, t1 = interval(began, t_end)
    more, extras = start_of_extras(system, first_of(s0), w0, q0 if hasattr(q0, "t") else None)
    model = model_of(system, np.concatenate([q, more]), v, t0, extras)
    if model.interpreted:
        why = f"{model.untraced} Or run its members" if model.untraced else "trace=False runs"
        raise BadArgument(f"sweep needs a compiled system: {why} one at a time, with simulate.")
    save_t = save_times(save_at, t0, t1)
    if save_t is None:
        raise BadArgument("sweep keeps the same times of all members: give save_at, a number of times or times.")
    limits = limits_of(max_steps, max_step, None)
    redundant = getattr(system, "redundant", None) if redundant is None else redundant
    qs = beside(
        all_of(q0 if y0 is None else y0, q, "q0" if y0 is None else "y0"), all_of(s0, more[: extras.ns], "s0"),
        more[None, extras.ns :],
    )  # fmt: skip
    vs = all_of(v0, v, "v0")
    if prefer is not None:

        def start(m):
            x, u = (values[m if len(values) > 1 else 0] for values in (qs, vs))
            given = {"y0": x} if model.is_ode else {"q0": x[: model.nc], "v0": u, "w0": w0}
            if extras.ns:
                given["s0"] = x[model.nc : model.nc + extras.ns]
            return x, u, extras, given | {"initial": initial, "hold": hold, "redundant": redundant}

        methods = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
        aim = shared_aim(prefer, system, changed, members, start, (t0, t1), methods, step, rtol, atol)
        rtol, atol = aim.rtol, aim.atol
    job = plan_job(
        model, (formulation, integrator, stabilization, rtol, atol, step, constraint_tol), events_of(events, system),
        t0, t1, save_t, members, changed, inputs, qs, vs, initial, hold, redundant, limits, _wanted(outputs, keep),
        explicit_only=isinstance(on, str) and on == "cuda",
    )  # fmt: skip
    runs = gather(job, engine, keep, progress) if store is None else stream(job, engine, store, resume, progress)
    warn_of(runs.noted, members)
    return runs


def plan_job(
    model, methods, events, t0, t1, save_t, members, params, inputs, q0, v0, initial, hold, redundant, limits, wanted,
    explicit_only: bool = False,
) -> Job:
    """Settle what is common to all members: the plan, with the rows that the first member shows to be redundant."""
    choice = choose(model, *methods)
    tables = Tables.of(model, inputs)
    held = held_coordinates(model, hold)
    data = model.data()
    rows = begin = None

    def member(m):
        own = data.copy()
        for name, values in params.items():
            own[model.places[name][0]] = values[m].reshape(-1)
        _enter(tables, own, m, t0, 1.0 if t1 >= t0 else -1.0)
        q, v = (values[m if len(values) > 1 else 0].copy() for values in (q0, v0))
        return q, v, own

    for m in range(min(members, TRIES)):
        q, v, own = member(m)
        try:
            begin = prepare(
                model, t0, q, v, own, tol=choice.constraint_tol, initial=initial, hold=hold, redundant=redundant
            )
        except BadArgument:
            raise
        except SingularMass:
            if not needed(plan_of(model, choice, events, None), params, bool(inputs), len(q0) > 1, initial).mass:
                raise  # the same for all
            continue
        except HolonomicError:
            continue  # told of each member by itself
        rows = begin.rows
        if isinstance(model.system, Dae) and initial != "free":  # the solution for y that all members look for
            take_root(model, t0, begin.q, own)
            data[model.data_places["root"]] = own[model.data_places["root"]]
        choice = settled(choice, model, t0, begin.q, own)
        if initial != "free":
            z0 = np.concatenate([begin.q, begin.v])
            set_invariants(model, t0, z0, own)
            if not params:  # the equations are the same for all
                check_invariants(model, t0, z0, own)
            depends = left_out(model, [t0], [z0], own) if choice.stabilization.acts == "step" else None
            if depends is not None:
                warn(depends, RedundancyWarning)
        break
    for m in _without(params):  # where a mass is zero, the functions of all members have to know
        q, v, own = member(m)
        with contextlib.suppress(HolonomicError), warnings.catch_warnings():  # told of each member by itself
            warnings.simplefilter("ignore", RedundancyWarning)
            prepare(model, t0, q, v, own, tol=choice.constraint_tol, initial=initial, hold=hold, redundant=redundant)
    is_open = "integrator" not in choice.chosen and not choice.integrator.implicit and choice.step is None
    is_left = None
    if is_open and initial != "free":
        given = {"formulation": methods[0], "stabilization": methods[2]}
        options = {"initial": initial, "hold": hold, "redundant": redundant}
        starts = list(consistent_starts(model, choice, members, member, t0, options))
        if explicit_only:
            choice = shared_explicit(model, given, choice, rows, t0, t1, starts)
        else:
            is_left = left_open(model, given, choice, starts)
    plan = plan_of(model, choice, events, rows)
    plan.enter_gains(data, 1.0 if t1 >= t0 else -1.0)
    data = plan.extended(data)
    x0 = np.concatenate([q0[0], v0[0]])
    places = {name: model.places[name][0] for name in params}
    job = Job(
        Program(plan, redundant if rows is not None else None), t0, t1, save_t, members, data, places, params, tables,
        tuple(inputs or {}), q0, v0, initial, held, limits, memory(plan, data, t0, t1, save_t, x0, limits), wanted, is_left,
        needed(plan, params, bool(inputs), len(q0) > 1, initial),
    )  # fmt: skip
    for name in wanted or ():
        known = Quantities(job, 0, 0, np.zeros((0, *job.shape[:2])), np.zeros((0, job.shape[0], job.shape[2])))
        if not known.knows(name):
            raise BadArgument(f"outputs={name!r}: there is no such quantity; there is: q, v, a, lam, {', '.join(known.names())}.")
    return job


def _enter(tables: Tables, data: np.ndarray, m: int, t: float, forward: float) -> None:
    """Enter the inputs of one member at a time."""
    from ..kernels.batch import enter_tables

    enter_tables(0, t, forward, data, tables.at, tables.first, tables.times, tables.rows(m, m + 1))


def _without(params) -> list[int]:
    """For each parameter that is zero in some members and not in the first one, the first of these members."""
    zero = (np.any(np.reshape(values, (len(values), -1)) == 0.0, axis=1) for values in params.values())
    return sorted({int(np.argmax(found)) for found in zero if np.any(found) and not found[0]})


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
        from ..gpu.engine import Cuda

        return Cuda()
    if workers is not None:
        raise BadArgument('workers= goes with on="threads"; other engines have as many as they have.')
    if isinstance(on, Executor):
        return Futures(on)
    if is_dask_client(on):
        return Dask(on)
    raise BadArgument(
        f'on={on!r}: sweeps run on "threads", on "cuda", on a Client of Dask, or on an Executor of concurrent.futures.'
    )


def gather(job: Job, engine: Engine, keep: str, progress: bool | None) -> Ensemble:
    """Run a job and hold in memory what is asked for. Ctrl-C ends it early, and what there is is returned."""
    source = Summed(job) if keep == "summary" else Named(job) if job.wanted else getattr(engine, "whole", Whole)(job)
    log, bar, left = Log(job), Tally(job.count, progress), dict(job.pieces())
    try:
        with job.halt.listening(engine.halts):
            for chunk in engine.chunks(job, job.pieces()):
                chunk = finish(job, chunk)
                source.add(chunk)
                log.add(chunk)
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
    if job.halt.asked:
        bar.interrupted("the members so far are returned")
        _not_run(job, source, log, left, "the sweep was interrupted")
    return Ensemble(job, source, log)


def _not_run(job: Job, source, log: Log, left: dict[int, int], why: str) -> None:
    """Enter members that were not run."""
    for first, last in sorted(left.items()):
        chunk = not_run(job, first, last, f"not run: {why}")
        source.add(chunk)
        log.add(chunk)


def stream(job: Job, engine: Engine, path, resume: bool, progress: bool | None) -> Ensemble:
    """Run what is missing in a store."""
    from .store import Store, Stored

    store = Store(job, path, resume)
    bar = Tally(job.count, progress, done=store.members_done)
    try:
        with job.halt.listening(engine.halts):
            for chunk in engine.chunks(job, store.missing()):
                chunk = finish(job, chunk)
                if finished(chunk) == chunk.last - chunk.first:  # a store holds whole chunks
                    store.add(chunk)
                    bar.add(chunk.last - chunk.first)
        if job.halt.asked:
            raise KeyboardInterrupt
        return Ensemble(job, Stored(store), store.log())
    except KeyboardInterrupt as pressed:
        job.halt.ask()
        bar.interrupted(f"they are in {store.path}, resume=True goes on")
        log = store.log()
        log.why |= {m: NOT_RUN for first, last in store.missing() for m in range(first, last)}
        pressed.solution = Ensemble(job, Stored(store), log)
        raise
    finally:
        bar.close()
        store.close()
