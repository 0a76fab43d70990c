"""A plan's part of a run that is asked for in words that are known: what does not depend on where it begins is settled.

The memory of a run that has not begun is known, byte by byte; arrays lie ready from runs that are over. So a part costs what its
steps take, and some microseconds. What it has is named as in `run.Run`, for those who look at either.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..automatic.on_the_way import opening_of, room
from ..automatic.reasons import reasons
from ..errors import OK
from ..loop.from_python import field_at
from ..planning.plan import Plan
from ..planning.workspace import Workspace
from ..results.solution import Solution
from ..results.trail import Trail, WrittenRows
from ..starting.initial import Start
from .detour import alarm_of
from .near_singular import without_passage
from .run import NOTHING, Run, RunState
from .walk import repeated, run_again


class Leg:
    """What the parts of a plan have in common, in runs that are asked for in the same words.

    Parameters
    ----------
    plan : Plan
        What runs.
    t0, t1 : float
        Of one of these runs.
    limits : dict
        Limits of the step control, as `Run` takes them.
    every : bool
        Whether every step is kept, not times that are asked for.
    """

    def __init__(self, plan: Plan, t0: float, t1: float, limits: dict[str, Any], every: bool):
        model = plan.model
        self.plan, self.forward = plan, 1.0 if t1 >= t0 else -1.0
        self.size = model.nq + model.nv
        data = model.data()
        self.numbers = len(data)
        plan.enter_gains(data, self.forward)
        self.data = plan.extended(data)
        lowered = plan.stabilization
        self.has_gains = lowered.shift is not None or lowered.gains is not None
        run = Run(plan, self.data.copy(), t0, np.zeros(self.size), t1, save_t=None if every else NOTHING, **limits)
        self.interval = 0  # steps to the first look on the way
        self.unbegun, self.kind = run.unbegun(), type(run.memory)
        self.first = run.first
        width = run.K.shape[1]
        run.release()
        # how the step loop notices singular positions, and whether one may be passed unnoticed
        self.crosses = alarm_of(plan) or run.memory.crosses
        self.may_pass = without_passage(model, self.crosses)
        self.forgets = 1 if plan.integrator.remembers else 2 if not plan.integrator.one_step else 0  # rows of K from here on
        self.spare = [self.new_opening(width)]  # what compiled code is given for an opening, of runs that are over

    def new_opening(self, width: int) -> tuple:
        """Return what compiled code is given for an opening; rows of K are as long as `width`."""
        opening = opening_of(self.plan.model, self.plan.choice)
        opening.crosses = self.crosses
        return room(width, opening)


class Part:
    """The part of a plan in one run: its arrays and memory."""

    __slots__ = ("K", "W", "data", "leg", "memory", "opened", "plan", "save_t", "sizes_before", "start", "work", "x", "xe")

    def __init__(self, leg: Leg, data: np.ndarray, save_t: np.ndarray):
        self.leg, self.plan, self.data, self.save_t = leg, leg.plan, data, save_t
        self.memory: Any = leg.kind.from_buffer_copy(leg.unbegun)
        self.work = work = Workspace.of(leg.plan)
        self.x, _, _, self.K, _, self.W = work.loop.state
        self.xe = work.loop.inside.x
        if leg.forgets:
            self.K[leg.forgets : -2] = 0.0
        self.x[leg.size :] = 0.0
        try:
            self.opened = leg.spare.pop()
        except IndexError:
            self.opened = leg.new_opening(self.K.shape[1])
        self.start: tuple[float, np.ndarray] | None = None
        self.sizes_before: np.ndarray | None = None

    @property
    def t(self) -> float:
        return self.memory.t

    @property
    def direction(self) -> float:
        return self.leg.forward

    def slope(self, t: float, x: np.ndarray, row: int) -> bool:
        """Put the field at (t, x) into a row of K; tell whether it is there."""
        return field_at(self.plan, self.memory, t, x, self.data, self.K, row, self.W) == OK

    def begins(self, t0: float, t1: float, t_stop: float, quota: int) -> None:
        """Let the part begin with the state that was entered, to end at t1; its first stretch ends at t_stop at the latest."""
        memory, opening = self.memory, self.opened[0]
        memory.t = memory.t_base = t0
        memory.t_stop = t1
        opening.t_stop, opening.quota = t_stop, quota
        if self.leg.interval:
            opening.t_end, opening.verdict, opening.limited = t1, 0, 0
            opening.interval = opening.left = self.leg.interval
        self.start = (t0, self.x[: self.leg.size].copy())

    def handed_to(self, leg: Leg, t1: float, inputs, quota: int, started: bool = True) -> Part:
        """Return the part of another plan that goes on from the current state; before the first step it begins anew instead."""
        own = self.memory
        data = leg.plan.extended(self.data[: leg.numbers].copy())
        if leg.has_gains:
            leg.plan.enter_gains(data, leg.forward)
        save_t = self.save_t
        if started and not own.keep_steps:
            save_t = save_t[own.saved :]
        part = Part(leg, data, save_t)
        part.x[: leg.size] = self.x[: leg.size]
        memory = part.memory
        memory.limit = max(1, own.limit - own.accepted - own.rejected - own.failed - own.retaken)
        if started:
            memory.first_given = 0
            memory.sized = own.sized
            part.sizes_before = part.work.go_on_from(self.work, leg.size)
        part.begins(own.t, t1, inputs.next_break(own.t, t1) if inputs.tables else t1, quota)
        return part

    def kept(self) -> RunState:
        """Return everything that the next steps depend on."""
        return RunState(self.work.arena.tobytes(), bytes(self.memory), self.data.tobytes())

    def over(self, begin: Start, inputs, first: float | None, ended: str, story=None) -> Solution:
        """Return the solution of this part, and give its arrays to later ones."""
        plan, memory, state, record = self.plan, self.memory, self.work.loop.state, WrittenRows()
        record.add(*self.work.rows, memory.rows, 0)
        memory.rows, stop, at = 0, None, plan.size.nq
        if not (memory.keep_steps and record.t):
            stop = (memory.t, state.x.copy(), state.K[0, at : at + plan.size.nk].copy())
        noted = state.K[-2:, : self.leg.size].copy()
        trail = Trail(
            plan, self.data, memory.keep_steps == 1, begin, [], memory, noted, record, self.start, stop, [], (), story,
            repeat=repeated, again=run_again, first_step=first, inputs=inputs, reasons=reasons, impacts=[],
            sizes_before=self.sizes_before, sizes=self.work.sizes.copy(),
        )  # fmt: skip
        plan.spare.append(self.work)
        self.leg.spare.append(self.opened)
        return Solution(trail, ended)

    def release(self) -> None:
        """Give the arrays to later runs."""
        self.plan.spare.append(self.work)
        self.leg.spare.append(self.opened)
