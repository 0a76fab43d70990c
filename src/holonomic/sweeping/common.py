"""What all members of a sweep share: the plan, what is left open to each, the explicit method of all on a GPU, and the
tolerance that a preference leads to. It is looked for at the first member that can start, or at the first, the middle and
the last.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import Asked, GivenStart, choice_at_start, given_controllers
from ..automatic.decide import Choosing
from ..automatic.indicators import moving
from ..automatic.prefer import Aim, preferred
from ..errors import OK, BadArgument, HolonomicError, RedundancyWarning, SingularMass
from ..loop.batch import enter_tables
from ..model.dae import Dae
from ..model.refusals import warn
from ..planning.choice import Choice
from ..planning.reuse import model_of, plan_of
from ..running.run import Run
from ..running.sampled import Answers, laws_of_run
from ..running.walk import set_invariants
from ..simulate import simulate
from ..starting.initial import Start, check_initial, prepare
from ..starting.invariance import check_invariants, left_out
from ..starting.roots import take_root
from .checks import needed
from .inputs import MemberTables
from .job import Job
from .member_quantities import Quantities
from .members import expected_of_members
from .open import Open, memory
from .program import Program

TRIES = 50  # members looked at for one that can start, to see which rows are redundant


def looked_at(members: int) -> list[int]:
    """Return the numbers of the members that stand for all."""
    return sorted({0, members // 2, members - 1})


def left_open(model, given: dict[str, Any], choice: Choice, starts) -> Open:
    """Return what is left open for every member; `starts` are pairs (state, data) of those that are looked at."""
    turning = [moving(model, data) for _, data in starts]  # with the parameters of members, not with the system's own
    return Open(given, any(turning), model.order if model.is_ode else 1, choice.rtol)


def shared_explicit(model, given: dict[str, Any], choice: Choice, rows, t0: float, t1: float, starts) -> Choice:
    """Return the explicit choice for all members; `starts` are pairs (state, data) of those that are looked at."""
    direction, found = (1.0 if t1 >= t0 else -1.0), []
    for z0, data in starts:
        plan = plan_of(model, choice, {}, rows)
        plan.enter_gains(data, direction)
        run = Run(plan, plan.extended(data), t0, z0, t1, save_t=None, max_steps=1, max_step=np.inf, first=None)
        if run.begin() == OK:
            choosing = Choosing(model, given, choice, t1, lambda made: plan_of(model, made, {}, rows))
            choosing.at_start(run)
            found.append(choosing.explicit)
        run.release()
    return next(iter([*(each for each in found if each == choice), *found]), choice)


def consistent_starts(model, choice: Choice, members: int, member, t0: float, start: GivenStart, forward: float):
    """Yield (state, data) of the members that are looked at, where they can start; member(m) is (q, v, data)."""
    for m in looked_at(members):
        q, v, data = member(m)
        try:
            begin = _begun(model, t0, q, v, data, choice, start, forward)
        except HolonomicError:  # each member reports it for itself
            continue
        yield np.concatenate([begin.q, begin.v]), data


def _begun(model, t0: float, q, v, data, choice: Choice, start: GivenStart, forward: float = 1.0) -> Start:
    return prepare(
        model, t0, q, v, data, tol=choice.constraint_tol, initial=start.initial, hold=start.hold, redundant=start.redundant,
        forward=forward,
    )  # fmt: skip


def shared_aim(asked: Asked, system, params: dict, members: int, start, interval) -> Aim:
    """Return what a preference leads to for all members: the smallest tolerance of those that are looked at.

    start(m) is (q, v, extras, arguments of simulate) of a member. Trials take the system's own inputs.
    """
    found, prefer = [], asked.prefer
    for m in looked_at(members) if isinstance(prefer, str) and prefer == "energy" else [0]:
        values = {name: each[m] if np.ndim(each[m]) else float(each[m]) for name, each in params.items()}
        own = system.with_params(**values) if values else system
        q, v, extras, given = start(m)
        model = model_of(own, q, v, interval[0], extras)
        found.append(preferred(prefer, simulate, model, interval, given, asked.methods, asked.step, asked.rtol, asked.atol))
    return min(found, key=lambda aim: aim.rtol or 0.0)


def plan_job(
    model, asked: Asked, events, t0, t1, save_t, members, params, inputs, q0, v0, start: GivenStart, limits, wanted,
    explicit_only: bool = False,
) -> Job:  # fmt: skip
    """Settle what is common to all members: the plan, with the rows that the first member shows to be redundant.

    With `explicit_only`, for other processors, comparisons are selects of values.
    """
    choice, initial, redundant = asked.choice(model), start.initial, start.redundant
    controlled = given_controllers(model.inputs, asked.controllers, inputs, t0, t1)
    answers = Answers(laws_of_run(model, controlled), model, t0, t1, members) if controlled else None
    tables = MemberTables.of(model, inputs, answers)
    held = check_initial(model, initial, start.hold, redundant)
    data = model.data()
    rows, begin, forward = None, None, 1.0 if t1 >= t0 else -1.0

    def member(m):
        own = data.copy()
        for name, values in params.items():
            own[model.places[name][0]] = values[m].reshape(-1)
        _enter(tables, own, m, t0, forward)
        q, v = (values[m if len(values) > 1 else 0].copy() for values in (q0, v0))
        return q, v, own

    for m in range(min(members, TRIES)):
        q, v, own = member(m)
        try:
            begin = _begun(model, t0, q, v, own, choice, start, forward)
        except BadArgument:
            raise
        except SingularMass:
            if not needed(plan_of(model, choice, events, None), params, bool(inputs), len(q0) > 1, initial).mass:
                raise  # the same for all
            continue
        except HolonomicError:
            continue  # each member reports it for itself
        rows = begin.rows
        if isinstance(model.system, Dae) and initial != "free" and start.lam0 is None:  # what all members look for
            take_root(model, t0, begin.q, own)
            data[model.data_places["root"]] = own[model.data_places["root"]]
        choice = choice_at_start(choice, model, t0, begin.q, own)
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
        with contextlib.suppress(HolonomicError), warnings.catch_warnings():  # each member reports it for itself
            warnings.simplefilter("ignore", RedundancyWarning)
            _begun(model, t0, q, v, own, choice, start, forward)
    is_left = None
    if choice.integrator_open and (model.dense or (model.formulations and not explicit_only)) and initial != "free":
        given = {"formulation": asked.formulation, "stabilization": asked.stabilization}
        starts = list(consistent_starts(model, choice, members, member, t0, start, forward))
        if explicit_only:
            choice = shared_explicit(model, given, choice, rows, t0, t1, starts)
        else:
            is_left = left_open(model, given, choice, starts)
    plan = plan_of(model, choice, events, rows, not explicit_only)
    lam0, roots = expected_of_members(plan, start.lam0, initial), None
    if lam0 is not None and isinstance(model.system, Dae) and initial != "free":
        roots = (model.data_places["root"], np.array([_root(model, t0, member(m), lam0, m, choice, start) for m in range(members)]))
    plan.enter_gains(data, 1.0 if t1 >= t0 else -1.0)
    data = plan.extended(data)
    x0 = np.concatenate([q0[0], v0[0]])
    places = {name: model.places[name][0] for name in params}
    job = Job(
        Program(plan, redundant if rows is not None else None), t0, t1, save_t, members, data, places, params, tables,
        tuple(inputs or {}), q0, v0, initial, held, lam0, roots, limits, memory(plan, data, t0, t1, save_t, x0, limits), wanted,
        is_left,
        needed(plan, params, bool(inputs), len(q0) > 1, initial, lam0 is not None), answers=answers,
    )  # fmt: skip
    for name in wanted or ():
        _check_output(job, name)
    return job


def _check_output(job: Job, name: str) -> None:
    """Refuse a name that members cannot be read by, or that stands for several quantities."""
    times, nx, nk = job.shape
    known = Quantities(job, 0, 1, np.full((1, times, nx), np.nan), np.full((1, times, nk), np.nan))
    if not known.knows(name):
        raise BadArgument(f"outputs={name!r}: there is no such quantity; there is: q, v, a, lam, {', '.join(known.names())}.")
    try:
        with np.errstate(all="ignore"):  # there are no states yet
            values = known[name]
    except AttributeError as missing:
        raise BadArgument(f"outputs={name!r}: {missing}") from None
    if not isinstance(values, np.ndarray):
        raise BadArgument(f"outputs={name!r} has several quantities: name one, as {values!r} has them.")


def _root(model, t0: float, given, lam0, m: int, choice: Choice, start: GivenStart) -> np.ndarray:
    """What leads to the solution for y that a member's guess chooses; zeros where there is none, which the member then reports."""
    q, v, data = given
    with contextlib.suppress(HolonomicError):
        begin = _begun(model, t0, q, v, data, choice, start)
        take_root(model, t0, begin.q, data, lam0[m if len(lam0) > 1 else 0])
    return data[model.data_places["root"]]


def with_methods(job: Job, asked: Asked) -> Job:
    """Return the same job with other methods or tolerances."""
    model, rows = job.plan.model, job.plan.rows
    plan = plan_of(model, asked.choice(model), job.plan.events, rows, bool(job.plan.switches))
    data = model.data()
    data[: len(job.data)] = job.data[: len(data)]
    plan.enter_gains(data, job.forward)
    data, x0 = plan.extended(data), np.concatenate([job.q0[0], job.v0[0]])
    return replace(
        job, program=Program(plan, job.program.redundant), data=data,
        memory=memory(plan, data, job.t0, job.t1, job.save_t, x0, job.limits),
    )  # fmt: skip


def _enter(tables: MemberTables, data: np.ndarray, m: int, t: float, forward: float) -> None:
    """Enter the inputs of one member at a time."""
    enter_tables(0, t, forward, data, tables.for_kernels(tables.rows(m, m + 1)))


def _without(params) -> list[int]:
    """For each parameter that is zero in some members and not in the first one, the first of these members."""
    zero = (np.any(np.reshape(values, (len(values), -1)) == 0.0, axis=1) for values in params.values())
    return sorted({int(np.argmax(found)) for found in zero if np.any(found) and not found[0]})
