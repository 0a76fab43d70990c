"""simulate(): from a user's call to a Solution, top to bottom."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from .arguments import (
    Asked,
    Assembling,
    Budget,
    GivenStart,
    Opened,
    free_multipliers,
    given_controllers,
    inputs_of_run,
    opened,
    refuse_beside_names,
    refuse_in_pairs,
    refuse_unknown,
)
from .automatic.decide import Choosing
from .errors import BadArgument, IncompatibleMethods
from .model.collector_pause import collector_paused
from .model.input_tables import InputTables
from .model.operators import Operators
from .planning.reuse import UntraceableEvent, as_python, model_of, plan_of
from .results.solution import Solution
from .results.story import told
from .running.companion import check_error, enter_error
from .running.detour import Crossing
from .running.one_plan import consistent_start, filled_data
from .running.prepared import prepared_for, remember
from .running.run import DOUBLE, run_of
from .running.sampled import Answers, Sampling, laws_of_run
from .running.walk import walk

KEPT_WHOLE = 10_000  # coordinates above which states are kept where they are asked for: 0.3 MB each, and more


def simulate(
    system,
    t_end: float | tuple[float, float] | None = None,
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
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    prefer: str | None = None,
    rtol: float | None = None,
    atol=None,
    step: float | None = None,
    constraint_tol: float | None = None,
    save_at=None,
    events: Mapping[str, Any] | None = None,
    initial: str = "check",
    hold=None,
    redundant: str | None = None,
    compile: str | None = None,
    max_steps: int = 1_000_000,
    max_step: float = np.inf,
    first_step: float | None = None,
    progress: bool | None = None,
    max_time: float | None = None,
    max_memory: float | None = None,
    cancel=None,
    inputs: Mapping[str, Any] | None = None,
    controllers: Mapping[str, Any] | None = None,
    checkpoint: str | os.PathLike | None = None,
    every: float | None = None,
    resume: bool = False,
    error: bool = False,
    precision: str | None = None,
    keep=None,
    store: str | os.PathLike | None = None,
    **unknown,
) -> Solution:
    """Simulate a system from consistent initial values.

    Parameters
    ----------
    system : System, Ode, Dae, Problem or Mechanism
        What to simulate; a problem brings its own start and end, a mechanism its start.
    t_end : float or (float, float)
        End time, or (t0, t_end); the end may lie before the start. Seconds.
    q0, v0 : array_like
        Initial positions and velocities of a System (or another run's `sol.end`, given as `q0=sol.end`).
    y0 : array_like
        Initial state of an Ode.
    s0, w0 : mapping or array_like
        Initial values of a System's states, and a first guess of its algebraic variables, which are solved for: by
        name, or one number each in their order.
    x0, dx0, ddx0 : array_like
        Initial x, x', x'' of a Dae, as many as its order (or another run's `sol.end`, given as `x0=sol.end`).
    lam0 : array_like, optional
        Multipliers you expect at the start; checked against those that follow from the equations. Where f() of a Dae
        contains y, a first guess: the solution that Newton's method finds from there is taken. With initial="free",
        where λ is an unknown of the formulation, those the run begins with.
    integrator, stabilization, formulation
        Objects (a class without brackets is accepted); "auto": we choose, None: without. With the integrator left open
        the choice follows from the equations, and may change on the way; `sol.plan.why()` tells the numbers.
    prefer : {"speed", "accuracy", "energy"}, optional
        What the automatic choice aims at: the fastest method (as without it), steps controlled to a tenth of rtol, or an
        energy that stays within rtol of its value to the end of the run, however long; trials find the tolerance for it.
    rtol, atol : float
        Tolerances of the error per step. rtol is 1e-6; `atol` is 1e-3 rtol times the size of the motion if not given, so that
        units do not matter: of lengths, velocities and angular velocities the largest so far, of every state and of every y of
        an `Ode` its own, of angles and quaternions 1. It may be an array over (q, v), or a mapping with "q", "v", "s", "w" or
        names of coordinates, states and algebraic variables; 0 leaves it to rounding. With `step` and an implicit integrator
        `atol` alone may be given: its iterations end where they change a value by less than 1e-15 of itself and 1e-6 of atol.
    step : float, optional
        Fixed step instead of error control.
    constraint_tol : float, optional
        Largest distance from the constraints; min(1e-10, rtol/10).
    save_at : int or array_like, optional
        Number of equidistant times, or times, to keep; otherwise every accepted step is kept.
    events : {name: Event or function}, optional
        Zeros to locate.
    inputs : {name: number or table}, optional
        Inputs of the system, in the place of its own numbers and tables: a number, a pair (times, values), linear in between,
        or (times, values, "hold"), each value being kept until the next time. Steps end on these times.
    controllers : {name: Controller}, optional
        Sampled laws that set inputs; see `Controller` and `sol.controls`.
    initial : {"check", "project", "impact", "free"}
        Check the initial values, or move them onto the constraints, the shortest way. "impact": v0 is the velocity
        before constraints catch the system; impulses -GᵀΛ make it consistent, and `sol.impulses` has them. "free" takes
        values as they are, to watch a stabilization pull: constraints and invariants both to zero.
    hold : sequence of str or int, optional
        With initial="project": coordinates, by name or number, that stay where they are.
    redundant : {None, "minimum-norm", "drop"}
        What to do about redundant constraint rows; None refuses them by name. All rows are kept in either case:
        "minimum-norm" gives the smallest multipliers, "drop" those of independent rows, zero for the others.
    compile : {None, "now", "never"}
        As what a Mechanism runs: "now" as code for all of it, compiled before the run; "never" as tables of bodies, joints and
        forces, which are there at once for a mechanism of any size; None as tables beyond 100 bodies, where these have what
        is asked for, and in first runs of what takes more than half a second to compile; `sol.plan.tier` tells.
    max_steps, max_step, first_step
        Limits of the step control.
    progress : bool, optional
        Show a bar; by default when the run takes longer than about two seconds in a terminal.
    max_time : float, optional
        Seconds of wall time that the call may take; then it stops with `LimitReached`, and `error.solution` holds the run so far.
    max_memory : float, optional
        Bytes that what the run keeps may take; otherwise as max_time.
    cancel : threading.Event, optional
        Another thread sets it to stop the run within about 50 ms, with `Cancelled`; any object with `is_set()` will do.
    checkpoint : path, optional
        Write the run down there, so that it can go on after whatever ends the process: every so many seconds, at a limit or a
        cancellation, and at its end.
    every : float, optional
        Seconds from one checkpoint to the next, 60.
    resume : bool
        Go on from the checkpoint of a call with the same arguments; where there is none, begin. The numbers are those of a run that
        was never interrupted.
    error : bool
        Estimate the global error by a second run at 0.15 times the tolerance, about as long as the first: `sol.error.q`, `.v`,
        `.lam` hold it along the run, `print(sol)` says digits, and plots draw it as a band.
    precision : {None, "double", "double-double"}
        With "double-double" the run has 31 digits, by explicit Runge-Kutta methods or, with a fixed step, Gauss's on pairs of
        doubles; rtol is 1e-20 and atol a thousandth of it where they are not given. Numbers that are given mean their doubles.
        `sol.exact` has the digits.
    keep : list of str or "all", optional
        Keep these quantities only, at every step or at `save_at`: "q", "v", coordinates, outputs, "energy", parts of a mechanism,
        such as "tip", or quantities of them, such as "A.force". Whole states are kept of the beginning and the end. Left out,
        states are kept, above 10 000 coordinates those at `save_at` or at both ends; "all" keeps them at every step there, too.
    store : path, optional
        Stream what is kept to a Zarr group of this name (extra `store`), so that a run may be larger than memory; without `keep`
        that is states. xarray opens it.
    *positional, **unknown
        Nothing: a start without its name is refused, and so is an unknown name; the message gives the right one.

    Returns
    -------
    Solution
        Arrays with time first, and everything that follows from them.

    Raises
    ------
    BadArgument, UnknownArgument
        An argument that makes no sense, or that has another name here.
    InconsistentState, RedundantConstraints, SingularMass
        A start or a system that cannot be simulated as it is; the message says how it can.
    IncompatibleMethods
        Methods that do not fit together, or not this system; the message names some that do.
    StepFailed, SingularPosition, NotFinite
        The run had to stop; `error.solution` holds it so far.
    LimitReached, Cancelled
        max_time or max_memory is used up, or cancel was set; `error.solution` holds the run so far.

    Examples
    --------
    >>> import numpy as np
    >>> from holonomic import System, simulate
    >>> pendulum = System(mass=np.eye(2), force=[0, -9.81], constraint=lambda q: q @ q - 1)
    >>> sol = simulate(pendulum, 10.0, q0=[1, 0], v0=[0, 0])
    >>> sol.ended, bool(abs(sol.drift["position"]).max() < 1e-10)
    ('end', True)
    """
    if positional or unknown:
        refuse_unknown(simulate, positional, unknown, system)
    start = GivenStart(q0, v0, y0, s0, w0, x0, dx0, ddx0, lam0, initial, hold, redundant, compile)
    asked = Asked(
        formulation, integrator, stabilization, rtol, atol, step, constraint_tol, prefer, save_at, events, max_steps, max_step,
        first_step, progress, max_time, max_memory, cancel, inputs, controllers, checkpoint, every, resume, precision, keep, store,
    )  # fmt: skip
    if keep is not None or store is not None:
        refuse_beside_names(asked, error)
    if precision is not None:
        refuse_in_pairs(asked, start, error)
    budget = None if max_time is None and max_memory is None and cancel is None else asked.budget()
    file = None if checkpoint is None and every is None and resume is False else asked.checkpoint_file()
    if compile is None and isinstance(system, Assembling) and _is_plain(asked, start) and not error:
        sol = _first_answer(system, t_end, start, asked, budget)
        if sol is not None:
            return sol
    here = opened("simulate", system, t_end, start, by_size=True)
    if error is not False:
        check_error(error, asked)
    try:
        sol = _as_possible(here, asked, budget, file)
    except IncompatibleMethods:
        if compile is not None or not (isinstance(system, Assembling) and isinstance(here.system, Operators)):
            raise
        here = opened("simulate", system, t_end, start._replace(compile="now"))
        sol = _as_possible(here, asked, budget, file)
    if error:
        enter_error(sol, asked, lambda again: _as_possible(here._replace(t1=sol.span[1]), again, budget, None))
    return sol


def _is_plain(asked: Asked, start: GivenStart) -> bool:
    """Whether a run may be made twice, by tables and by code, without anybody noticing more than the time."""
    given = asked.events, asked.controllers, asked.checkpoint, asked.store, asked.precision, asked.prefer
    free = all(each is None for each in (*given, start.lam0, start.hold, start.redundant))
    return free and type(start.initial) is str and start.initial in ("check", "project")


def _first_answer(system: Assembling, t_end, start: GivenStart, asked: Asked, budget: Budget | None) -> Solution | None:
    """Run a mechanism as tables, which are there at once, where that is what is next; None: it is to be compiled."""
    tiers = system.tiers()
    if tiers is None or not tiers.by_tables:
        return None
    began = time.thread_time()
    alone = asked._replace(keep=None, progress=False, max_time=None, max_memory=None, cancel=None)

    def by_tables() -> Solution:
        here = opened("simulate", system, t_end, start._replace(compile="never"))
        sol = _simulated(here, asked, budget, None, lambda t: tiers.look(began, here.t0, t, here.t1))
        numbers, code = system.params.as_dict(), start._replace(compile="now", q0=here.q, v0=here.v)

        def by_code() -> Solution:
            if tiers.outdated or system.params.as_dict() != numbers:
                raise BadArgument(
                    "the mechanism has been changed since this run, which was one of tables, and what is asked for needs its code. "
                    'Simulate again with compile="now".'
                )
            return _simulated(opened("simulate", system, (here.t0, here.t1), code), alone, None, None)

        sol.trail.by_code = by_code
        return sol

    sol = tiers.first(by_tables)
    if sol is not None:
        tiers.compile_beside(sol.trail.by_code)
    return sol


def _as_possible(here: Opened, asked: Asked, budget: Budget | None, file: tuple[Path, float] | None) -> Solution:
    """Run what was asked for: as plain Python where an event cannot be traced."""
    try:
        return _simulated(here, asked, budget, file)
    except UntraceableEvent as problem:
        with as_python(problem):
            return _simulated(here, asked, budget, file)


def _simulated(
    here: Opened, asked: Asked, budget: Budget | None, file: tuple[Path, float] | None, pays: Callable[[float], None] | None = None
) -> Solution:
    """Run what was asked for, once the arguments are read; `pays` is what `Attendant` takes."""
    system, t0, t1, q, v, extras, start = here
    initial, forward = start.initial, 1.0 if t1 >= t0 else -1.0
    model = model_of(system, q, v, t0, extras)
    ready = prepared_for(model, start, asked)
    sol = None if ready is None else ready.run(here, asked)
    if sol is not None:
        return sol
    note, words = None, asked
    if asked.prefer is not None:
        from .automatic.prefer import preferred

        given: dict[str, Any] = {"y0": q} if model.is_ode else {"q0": q[: model.nc], "v0": v}
        if len(extras):  # those of an earlier run's end, too
            given |= {"s0": q[model.nc : model.nc + model.ns], "w0": q[model.nc + model.ns :]}
        given |= {name: getattr(start, name) for name in ("initial", "hold", "redundant")}
        given |= {"constraint_tol": asked.constraint_tol, "inputs": asked.inputs, "controllers": asked.controllers}
        if budget is not None:
            given |= {"max_time": budget.time_left, "cancel": budget.cancel}
        aim = preferred(asked.prefer, simulate, model, (t0, t1), given, asked.methods, asked.step, asked.rtol, asked.atol)
        note, asked = aim.note, asked._replace(step=aim.step, rtol=aim.rtol, atol=aim.atol, **aim.methods)
    choice = asked.choice(model)
    watched = asked.watched(system)
    sampling = None
    if asked.inputs is None and asked.controllers is None:
        inputs = InputTables(model)
    else:
        inputs, sampling = _driven(model, asked, t0, t1)
    with collector_paused():  # a large model leaves millions of nodes, which nobody drops here
        begin, choice, data, lam0 = consistent_start(model, here, choice, inputs, forward)
        pairs = choice.precision != DOUBLE
        plan_for = lambda other: plan_of(model, other, watched, begin.rows, not pairs)
        plan = plan_for(choice)
        choosing = None
        compiled = not model.interpreted and (model.dense or model.formulations)
        if choice.integrator_open and not pairs and compiled and initial != "free":
            others = {"formulation": asked.formulation, "stabilization": asked.stabilization}
            choosing = Choosing(model, others, choice, t1, plan_for)
            plan = choosing.likely(plan)
    data, z0 = filled_data(plan, begin, data, t0, initial == "free", forward)
    keeping = None
    if asked.names_to_keep is not None or asked.store is not None:
        from .running.keeping import Keeping, probe_of

        keeping = Keeping(asked.names_to_keep, asked.store, probe_of(plan, data, begin, inputs, t0, z0))
    width = 1 + model.nq + 2 * model.nv + model.n_lam if keeping is None else keeping.width
    save_t = asked.times(t0, t1, width)
    ends_alone = save_t is None and asked.keep is None and keeping is None and model.nq > KEPT_WHOLE and t0 != t1
    if ends_alone:
        save_t = np.array([t0, t1])
    if budget is not None and save_t is not None:
        numbers = len(save_t) * width
        budget.refuse(8 * numbers, f"what is kept at {len(save_t)} times takes", "Keep fewer times, or raise max_memory.")
    run = run_of(plan, data, t0, z0, t1, save_t=save_t, inputs=inputs, **asked.limits())
    run.free = initial == "free"
    if sampling is not None:
        run.follow(sampling)
    if initial == "free" and lam0 is not None:
        run.lam0, lam0 = free_multipliers(plan, lam0), None
    crossing = Crossing(None if initial == "free" or pairs else plan_for, t1)
    attendant = None
    if budget is not None or file is not None or keeping is not None or pays is not None:
        from .running.attendant import Attendant

        checkpoints = None
        if file is not None:
            from .running.checkpoints import Checkpoints, identity_of

            from_start = (begin.q, begin.v, initial, begin.rows, begin.redundant, start.lam0)
            identity = identity_of(plan, choice, from_start, save_t, t0, t1, inputs, asked.limits())
            checkpoints = Checkpoints(*file, identity, choice, plan_for, begin, inputs)
        attendant = Attendant(budget, checkpoints, t1, choosing, crossing, keeping, pays)
    with nullcontext() if keeping is None else keeping.of_failures():
        sol = walk(
            run, plan, begin, t0, t1, lam0, asked.progress, free=initial == "free", choosing=choosing, crossing=crossing,
            attendant=attendant,
        )  # fmt: skip
    sol.trail.ends_alone = ends_alone
    if keeping is not None:
        sol = keeping.over(sol)
    if note is not None:
        sol.trail.story = told(sol.trail.story, note)
    if attendant is None and sampling is None and not ends_alone:
        remember(here, words, choice, sol, inputs)
    return sol


def _driven(model, asked: Asked, t0: float, t1: float) -> tuple[InputTables, Sampling | None]:
    """Return the inputs of a run that are set by the call, and the controllers that write some of them."""
    given = given_controllers(model.inputs, asked.controllers, asked.inputs, t0, t1)
    if not given:
        return inputs_of_run("simulate", model, asked.inputs), None
    answers = Answers(laws_of_run(model, given), model, t0, t1)
    return inputs_of_run("simulate", model, asked.inputs, answers.of(0), [answers.stops]), Sampling(answers)
