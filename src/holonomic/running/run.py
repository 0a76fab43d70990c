"""One run of the step loop: its arrays, and the small Python loop around the compiled one.

The compiled loop returns about every 50 ms; between two calls Python stores what was written, shows
progress, notices Ctrl-C, compiles what is missing and deals with events.
"""

from __future__ import annotations

import ctypes
import time
from typing import NamedTuple

import numpy as np

from ..entries import entry
from ..errors import MORE, OK
from ..kernels.memory import BY_STAGES, RUN
from ..kernels.signatures import Fn, Record
from ..kernels.sizes import TOLERANCES
from ..loop.begin import begin, enter_again
from ..loop.events_from_python import enter_compiled
from ..loop.from_python import BEGIN, DRIVE, NOT_OPENED, drive_interpreted, field_at, run_compiled
from ..model.input_tables import InputTables
from ..native.callbacks import raise_what_was_raised
from ..planning.plan import Plan
from ..planning.workspace import Workspace
from ..results.trail import WrittenRows
from .modes import counting, enter_modes, keep_modes, know_selects
from .paths import Passages
from .sampled import Sampling
from .watching import Watching

STRETCH_SECONDS = 0.05
QUOTA, INTERPRETED = 2000, 50  # steps of the first stretch
INTERRUPTED = -2  # status of a stretch behind which Ctrl-C was seen
DOUBLE = "double"  # the precision of a `Run`; what runs in others stands among the entries
NOTHING = np.zeros(0)


def run_of(plan: Plan, *given, **options) -> Run:
    """Return a run in the precision of its plan."""
    kind = Run if plan.choice.precision == DOUBLE else entry(f"run: {plan.choice.precision}")
    return kind(plan, *given, **options)


class RunState(NamedTuple):
    """A state of a run: everything that its next steps depend on, as bytes."""

    arena: bytes
    memory: bytes
    data: bytes
    controllers: tuple = ()  # what they remember, of a `Stepper`


class Run:
    """State and buffers of one run of a plan."""

    def __init__(self, plan: Plan, data: np.ndarray, t0: float, x0: np.ndarray, t_end: float, *,
                 save_t: np.ndarray | None, max_steps: int, max_step: float, first: float | None,
                 inputs: InputTables | None = None, work: Workspace | None = None):  # fmt: skip
        self.plan, self.data, self.start = plan, data, (t0, x0)
        self.inputs = InputTables(plan.model) if inputs is None else inputs
        lowered, choice, nev = plan.integrator, plan.choice, len(plan.events)
        self.modes: np.ndarray | None = None  # of the switches, at the start
        self.work = work = work or Workspace.of(plan)
        self.memory = memory = RUN.new()
        # state and slope at the smallest pivot ratio, where singular positions can be told from them
        self.noted = np.zeros((2, plan.model.nq + plan.model.nv if plan.model.has_terms else 0))
        self.x, self.xn, self.xs, self.K, self.E, self.W = work.loop.state
        self.x[: len(x0)] = x0
        self._forget()
        memory.t, memory.t_base, memory.t_stop = t0, t0, t_end
        memory.err_old, memory.rho_least, memory.rtol = 1e-4, 1.0, choice.kept_rtol
        memory.rho_asked = 1e300
        memory.exponent, memory.beta, memory.safety = lowered.exponent, lowered.beta, lowered.safety
        memory.factor_min, memory.factor_max, memory.stiff_bound = lowered.fac_min, lowered.fac_max, lowered.stiff_bound
        memory.foresees = lowered.foresees
        self.direction = 1.0 if t_end >= t0 else -1.0
        memory.h_max = max_step
        memory.limit = self.max_steps = max_steps  # the second is what was asked for, whatever other plans have used of it
        memory.last_stage = int(lowered.ip[0])
        memory.order = max(lowered.error_order, (lowered.first_order or choice.integrator.order) - 1)
        memory.remembers, memory.at_lam = lowered.remembers, -1
        memory.steers, memory.advises, memory.doubts = lowered.steers, lowered.advises, lowered.doubts
        memory.keeps_below = 1.2 if choice.integrator.implicit else 1.0
        if not lowered.one_step:
            self.K[2:-2] = 0.0
        if choice.step is not None:
            memory.fixed = 1
            memory.h_fixed = memory.h = abs(choice.step) * self.direction
        self.first = first
        self.free = False  # whether the start is taken as it is, on its constraints or not
        if first is not None:
            memory.first_given, memory.h = 1, first * self.direction
        self.sizes_before: np.ndarray | None = None  # how large the motion has been before, in a run of another plan
        self.lam0: np.ndarray | None = None  # multipliers to start from, where the start need not be consistent
        self.save_t = NOTHING if save_t is None else np.ascontiguousarray(save_t)
        memory.keep_steps = save_t is None
        self.record = WrittenRows()
        self.watching = Watching(self, work.events)
        self.xe = work.loop.inside.x
        self._quota = QUOTA if not plan.model.interpreted else INTERPRETED
        memory.event_field = plan.event_field if nev else 0
        self.passages = Passages(self)
        self.sampling: Sampling | None = None  # controllers
        self.left: int | None = None  # attempted steps until `go` returns, where they are counted
        self.ahead: int | None = None  # status of a stretch that has been taken already
        self.opened = NOT_OPENED  # what compiled code is given to look at the run on its way
        memory.crosses = BY_STAGES if plan.crosses else 0

    def release(self) -> None:
        """Give the arrays back to the plan, for the next run; what is kept of events belongs to this one."""
        if not self.plan.events:
            self.plan.spare.append(self.work)

    @property
    def t(self) -> float:
        return self.memory.t

    @property
    def atol(self) -> np.ndarray:
        """Absolute tolerances in force."""
        first = self.plan.size.at_sizes + TOLERANCES
        return self.W[first : first + self.plan.size.nx]

    def state(self) -> RunState:
        """Return everything that the next steps depend on."""
        # not RunState(...), which takes as long as one of the copies
        return tuple.__new__(RunState, (self.work.arena.tobytes(), bytes(self.memory), self.data.tobytes(), ()))

    def restore(self, kept: RunState) -> None:
        """Go back to a state of this run, or of another one with the same plan and start."""
        self.work.arena.data.cast("B")[:] = kept.arena
        ctypes.memmove(ctypes.addressof(self.memory), kept.memory, len(kept.memory))
        self.data.data.cast("B")[:] = kept.data
        know_selects(self)

    def unbegun(self) -> bytes:
        """Return the memory of a run that is about to begin."""
        self.memory.notes = int(self.noted.size > 0)
        self._fill_multipliers(self.lam0)
        return bytes(self.memory)

    def begin(self) -> int:
        """Evaluate the first point, choose the first step, write the first row; return a status."""
        plan, written = self.plan, (len(self.record.t), len(self.watching.log))
        self.unbegun()
        if self.modes is None:
            enter_modes(self)
        if plan.model.interpreted:
            status = self._call(begin, Record(*self.work.rows, self.save_t))
        else:
            status = run_compiled(self._given(), NOT_OPENED, BEGIN)
            while plan.supplies(status):
                status = run_compiled(self._given(), NOT_OPENED, BEGIN)
            raise_what_was_raised()
        if status != OK:
            return status
        self._collect(*written)
        return self.watching.arm(fresh=True)

    def _given(self) -> tuple:
        """What a run works on, as compiled kernels take it from Python."""
        return self.work.given(self.plan, self.data, self.memory, self.save_t)

    def _call(self, go, *more) -> int:
        """Call a kernel that works on the whole run, compiling what it needs; return a status."""
        plan = self.plan
        while True:
            with np.errstate(all="ignore"):
                status = go(plan.for_kernels(self.data), self.memory, self.work.loop, *more)
            raise_what_was_raised()
            if not plan.supplies(status):
                return status

    def _fill_multipliers(self, given: np.ndarray | None = None) -> None:
        """Start values of what an implicit formulation adds to q and v: λ as given, of a Dae, or from the field; else zero."""
        model = self.plan.model
        at = first = model.nq + model.nv
        self.x[at:] = 0.0
        self.memory.at_lam = -1
        for block in self.plan.blocks[2:]:
            if block.name == "lam" and given is not None:
                self.x[at : at + block.size] = given
            elif block.name == "lam" and model.is_ode and block.size:
                self.x[at : at + block.size] = model.evaluate(Fn.MULTIPLIERS, self.t, self.x[:first], NOTHING, self.data)
            elif block.name == "lam":
                self.memory.at_lam = at
            at += block.size

    def _evaluate(self, t, x, row) -> int:
        """Field at (t, x) into a row of K, compiling what it needs; return a status."""
        status = field_at(self.plan, self.memory, t, x, self.data, self.K, row, self.W)
        raise_what_was_raised()
        return status

    def slope(self, t: float, x: np.ndarray, row: int) -> bool:
        """Put the field at (t, x) into a row of K; tell whether it is there."""
        return self._evaluate(t, x, row) == OK

    def handed_to(self, plan: Plan, t_end: float, started: bool = True) -> tuple[Run, int]:
        """Return a run of another plan that goes on from the current state, and its status; events go on as they are.

        Before the first step (not `started`) it begins anew instead.
        """
        model, memory = self.plan.model, self.memory
        data = plan.extended(self.data[: len(model.data())].copy())
        plan.enter_gains(data, self.direction)
        used = memory.accepted + memory.rejected + memory.failed + memory.retaken
        left = None if memory.keep_steps else self.save_t[memory.saved if started else 0 :]
        x = self.x[: model.nq + model.nv].copy()
        other = Run(
            plan, data, self.t, x, t_end, save_t=left, max_steps=max(1, memory.limit - used), max_step=memory.h_max,
            first=None if started else self.first, inputs=self.inputs,
        )  # fmt: skip
        other.max_steps, other.sampling = self.max_steps, self.sampling
        if started:
            other.memory.sized = memory.sized
            other.sizes_before = other.work.go_on_from(self.work, model.nq + model.nv)
            keep_modes(other)
        status = other.begin()
        if started:
            other.watching.go_on_from(self.watching)
        self.release()
        return other, status

    def restart(self, x: np.ndarray, counted: tuple[int, ...]) -> int:
        """Go on from another state at the same time: new first step, controller memory forgotten."""
        self.passages.leave()
        counted_before = counting(self)
        self.x[: len(x)] = x
        self._forget()
        memory = self.memory
        memory.err_old, memory.h_before, memory.h_sure = 1e-4, 0.0, 0.0
        memory.after_reject = memory.stiff_steps = memory.nonstiff_steps = 0
        if not self.plan.integrator.one_step:
            self.K[2:-2] = 0.0  # the history ends here
        memory.prepared = 0
        self._fill_multipliers()
        enter_modes(self, lambda: counted_before)
        status = self._call(enter_again if self.plan.model.interpreted else enter_compiled)
        if status != OK:
            return status
        if memory.fixed:
            memory.t_base, memory.step_number = self.t, 0
        if memory.keep_steps:
            k = self.K[0, self.plan.model.nq :][: self.plan.size.nk]
            self.record.write(self.t, self.x, k, self.work.columns)
        return self.watching.arm(fresh=False, counted=counted)

    def stop_at(self, t_stop: float) -> None:
        """Set the time at which the loop returns DONE."""
        self.memory.t_stop = t_stop
        if self.memory.fixed:
            self.memory.t_base, self.memory.step_number = self.t, 0

    def go_to(self, t: float) -> None:
        """Take the state that was entered as the state at time t."""
        self.memory.t = t
        self.field_changed()

    def field_changed(self) -> None:
        """Note that the data have changed: the first stage must be evaluated again."""
        self.passages.leave()
        self.memory.evaluated = 0
        self._forget()

    def follow(self, sampling: Sampling) -> None:
        """Let controllers look at the run from here on, at first where it stands."""
        self.sampling = sampling
        for law in sampling.answers.laws:
            law.refuse_multipliers(self.plan.rows)
        sampling.look(self)
        self.inputs.begin(self.data, self.t, self.direction)
        self.memory.evaluated = 0

    def inputs_jump(self) -> int:
        """Enter the inputs that begin here and jump: the field is another one, what was written of it, and what events watch.

        EVENT: the function of one has jumped over zero.
        """
        counted_before = counting(self)
        self.inputs.set(self.data, self.t, self.direction)
        self.field_changed()
        enter_modes(self, lambda: counted_before)
        status = self._evaluate(self.t, self.x, 0)
        if status != OK:
            self.memory.last_status, self.memory.t_failed = status, self.t
            return status
        self.memory.evaluated = 1
        self.record.renew(self.t, self.K[0, self.plan.model.nq :][: self.plan.size.nk])
        return self.watching.over_a_jump()

    def _forget(self) -> None:
        """Let a method that looks back begin anew."""
        if self.plan.integrator.remembers:
            self.K[1:-2] = 0.0

    def go(self, tell=None, most: int | None = None) -> int:
        """Run until the stop time, an event or a failure; `tell(t)` is called about every 50 ms.

        With `most`, return MORE after that many attempted steps; and where a look on the way calls for another method.
        """
        plan, memory = self.plan, self.memory
        while True:
            quota = self._quota if most is None else min(self._quota, most)
            status, self.ahead = self.ahead, None
            measured = status is None
            began = time.perf_counter()
            written = len(self.record.t), len(self.watching.log)
            try:
                if status is None:
                    memory.quota = quota
                    status = self._stretch()
                elif status == INTERRUPTED:
                    raise KeyboardInterrupt
            finally:
                try:
                    self._collect(*written)
                except KeyboardInterrupt:  # that came while rows were taken over: none is lost, and none twice
                    self._collect(*written)
                    raise
            raise_what_was_raised()
            steps = quota - memory.quota
            if most is not None:
                most -= steps
            self.left = most
            if plan.supplies(status):
                continue
            if status != MORE:
                return status
            used = time.perf_counter() - began
            if (most is not None and most <= 0) or self.opened[0].verdict:
                return MORE
            if measured and steps > 10 and used > 0:
                self._quota = int(min(1e7, max(20, steps * STRETCH_SECONDS / used)))
            if tell is not None:
                tell(self.t)

    def _stretch(self) -> int:
        """Take steps until Python has to know of something; return a status."""
        plan = self.plan
        if not plan.model.interpreted:
            return run_compiled(self._given(), self.opened, DRIVE)
        return drive_interpreted(
            plan.slots, plan.for_kernels(self.data), plan.method, self.memory, self.work.loop,
            Record(*self.work.rows, self.save_t), self.work.events,
        )  # fmt: skip

    def collect(self) -> None:
        """Take over what a stretch has left that this run did not take itself."""
        self._collect(0, 0)

    def _collect(self, chunks: int, events: int) -> None:
        """Take over what the loop has written, after as many chunks of rows and as many events."""
        t, x, k, dense = self.work.rows
        if not self.memory.keep_steps:  # nobody looks into steps that are not kept
            dense = dense[:, :0]
        self.record.add(t, x, k, dense, self.memory.rows, chunks)
        self.memory.rows = 0
        self.noted[:] = self.K[-2:, : self.noted.shape[1]]  # they outlive the workspace
        self.watching.collect(self.memory.event_rows, events)
        self.memory.event_rows = 0
        self.passages.collect()
