"""What members do where the integrator was left open: each what `simulate` would do with it.

A compiled look at every start tells which method it begins with: the usual explicit one, that of short runs, or an implicit
one where the choice of it does not depend on the state. Members that begin alike run together in the compiled loop, with
looks on the way after the same steps as in a single run. Where such a look would have to decide something, and where a
start is stiff beside constraints, the member is handed over to the walk of `simulate` and begins anew there.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..automatic.decide import AS_IMPLICIT, FIRST_LOOK, Choosing
from ..automatic.indicators import BRIEF
from ..automatic.rates import TIGHT, Rates, too_stiff, turns_rapidly
from ..errors import OK, HolonomicError
from ..kernels.memory import RUN
from ..kernels.signatures import Fn
from ..loop.automatic_looks import (
    EXPECTED,
    IF_LONG,
    IF_NOT_STIFF,
    IF_STIFF,
    QUIET,
    STABLE,
    WATCHED,
    decays,
    little_happens,
    look_at_starts,
    turned_in_a_step,
)
from ..loop.batch import enter_tables
from ..loop.fastest_rate import FASTEST, MOTION, REAL, turning_by_time
from ..native.callbacks import raise_what_was_raised
from ..native.layout import Memory
from ..planning.choice import Choice
from ..planning.plan import MISSING, Plan
from ..planning.reuse import plan_of
from ..planning.workspace import Workspace
from ..running.near_singular import without_passage
from ..running.run import Run
from .program import Program

USUAL, IN_SHORT, STIFF, ASIDE = range(4)  # what a member begins with; the last: what simulate finds
HANDED_OVER_FOR = {USUAL: IF_STIFF, IN_SHORT: IF_LONG, STIFF: IF_NOT_STIFF}


@dataclass(frozen=True)
class Way:
    """A program, and the loop's own memory as every member of it begins."""

    program: Program
    memory: Memory


class Open:
    """The choice that was left open, for all members of a sweep.

    Parameters
    ----------
    given : dict
        formulation and stabilization as the user gave them.
    moving : bool
        Whether constraints of members change their direction with time alone.
    order : int
        Of an Ode that is a Dae; 1 otherwise.
    rtol : float
        Of the explicit plan.
    """

    def __init__(self, given: dict[str, Any], moving: bool, order: int, rtol: float):
        self.given, self.moving, self.order, self.rtol = given, moving, order, rtol
        self.ways: dict[int, Way | None] = {}
        self._plans: dict[Choice, Plan] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_plans", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._plans, self._lock = {}, threading.RLock()

    # plans, where the user's functions are at hand

    def choosing(self, job) -> Choosing:
        """Return what watches a run of one member."""
        return Choosing(job.plan.model, self.given, job.plan.choice, job.t1, lambda choice: self.plan_for(job, choice))

    def plan_for(self, job, choice: Choice) -> Plan:
        """Return the plan of a choice, made once for all members."""
        plan = job.plan
        if choice is plan.choice:
            return plan
        with self._lock:
            if choice not in self._plans:
                self._plans[choice] = plan_of(plan.model, choice, plan.events, plan.rows, bool(plan.switches))
            return self._plans[choice]

    def plan_like(self, job, words: str) -> Plan | None:
        """Return the plan that goes by these words, if it has been made here."""
        return next((plan for plan in [job.plan, *self._plans.values()] if repr(plan) == words), None)

    def way(self, job, number: int) -> Way | None:
        """Return what members of a kind run on together; None: nothing, or nothing that could be made here."""
        if number == USUAL:
            return Way(job.program, job.memory)
        with self._lock:
            if number not in self.ways and job.program.plan is not None:
                self.ways[number] = self._made(job, number)
            return self.ways.get(number)

    def make_all(self, job) -> None:
        """Make what members may begin with, before it travels to where it could not be made."""
        for number in (IN_SHORT, STIFF):
            self.way(job, number)

    def _made(self, job, number: int) -> Way | None:
        choosing = self.choosing(job)
        choice = choosing.in_short() if number == IN_SHORT else choosing.one_implicit()
        if choice is None:
            return None
        try:
            plan = self.plan_for(job, choice)
        except HolonomicError:
            return None
        program = Program(plan, job.program.redundant)
        same = program.shape == job.program.shape and len(plan.extended(plan.model.data())) == len(job.data)
        return Way(program, memory_of(plan, job)) if same and not program.by_python else None

    # looks

    def begin_with(self, job, members, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what each member of a stretch begins with, when it is looked at first, and which steps are held back by nothing.

        The second are steps; the third are lengths, s.
        """
        rates = self._rates(job, members, values)
        left = abs(job.t1 - job.t0)
        short = rates.short & (self.rtol >= TIGHT)
        model = job.program.model
        stiff = too_stiff(model, rates, left, short)
        kind = np.where(short, IN_SHORT, USUAL).astype(np.int8)
        kind[stiff] = STIFF
        kind[~stiff & turns_rapidly(model, rates, left, self.rtol)] = ASIDE
        looks = np.where(kind == USUAL, WATCHED, FIRST_LOOK).astype(np.int64)
        looks[kind == STIFF] = AS_IMPLICIT
        expected = np.where(decays(rates.fastest, rates.real), np.inf, EXPECTED * rates.accurate)
        return kind, looks, expected

    def _rates(self, job, members, values: np.ndarray) -> Rates:
        """What `Choosing.rates` finds at the start of a run, for many."""
        program, (X, DATA) = job.program, (members.starts, members.data)
        model, n = program.model, len(members.starts)
        found, status = np.zeros((n, 3)), np.zeros(n, dtype=np.int64)
        left, forward = job.t1 - job.t0, 1.0 if job.t1 >= job.t0 else -1.0
        tables = job.tables
        if len(tables.at):
            for m in range(n):
                enter_tables(m, job.t0, forward, DATA[m], tables.for_kernels(values))
        work, run = Workspace(program, paths=0), RUN.new()
        positions = self.positions(model)
        while True:
            look_at_starts(program.for_kernels(DATA[0]), run, job.t0, left, X, DATA, work.loop, positions, found, status)
            raise_what_was_raised()
            missing = [fn for code, fn in MISSING.items() if np.any(status == code)]
            if not missing:
                break
            for fn in missing:
                program.add(fn)
        motion, fastest = found[:, MOTION], found[:, FASTEST]
        with np.errstate(divide="ignore"):
            step = np.where((motion > 0.0) & (motion < np.inf), turned_in_a_step(self.rtol) / motion, np.inf)
        rates = Rates(fastest, forward * found[:, REAL], np.minimum(abs(left), step))
        short = little_happens(fastest, rates.real, motion, abs(left))
        rates = rates._replace(short=short & (status == OK), turning=np.zeros(n))
        return self._turning(job, rates, X, DATA) if self.moving else rates

    def positions(self, model) -> int:
        """How many entries of the state have their rates among the others."""
        return model.nq // self.order if model.is_ode else model.nq

    def _turning(self, job, rates: Rates, X, DATA) -> Rates:
        """Add how fast constraints turn with time alone, where nothing else is fast."""
        program = job.program
        model, (fns, lengths) = program.model, program.table("start")
        forward = 1.0 if job.t1 >= job.t0 else -1.0
        n, size, room = model.n_constraints, model.nq + model.nv, lengths[Fn.RESIDUAL]
        x, y, now, moved, rows = np.empty(size), np.empty(size), np.empty(room), np.empty(room), np.empty((2, n, model.nq))
        for m in np.flatnonzero(rates.fastest * rates.accurate < STABLE):
            x[:] = X[m, :size]
            later = BRIEF * (forward * rates.accurate[m])
            rate = turning_by_time(fns, job.t0, later, x, y, DATA[m], n, model.nq, now, moved, rows)
            rates.turning[m] = rate if np.isfinite(rate) else 0.0
        return rates._replace(short=rates.short & (rates.turning * abs(job.t1 - job.t0) < QUIET))


def memory_of(plan: Plan, job) -> Memory:
    """The loop's own memory, as every member of a plan begins with it."""
    return memory(plan, job.data, job.t0, job.t1, job.save_t, np.concatenate([job.q0[0], job.v0[0]]), job.limits)


def memory(plan: Plan, data, t0: float, t1: float, save_t, x0, limits) -> Memory:
    """The same before there is a job."""
    run = Run(plan, data, t0, x0, t1, save_t=save_t, **limits)
    run.memory.notes = without_passage(plan.model, plan.crosses)
    run.release()
    return run.memory
