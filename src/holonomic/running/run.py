"""One run of the step loop: its arrays, and the small Python loop around the compiled one.

The compiled loop returns about every 50 ms; between two calls Python stores what was written, shows
progress, notices Ctrl-C, compiles what is missing and deals with events.
"""

from __future__ import annotations

import time

import numpy as np

from ..errors import MORE, OK
from ..kernels import state as s
from ..kernels.calling import drive_interpreted, field_at
from ..kernels.control import first_step
from ..kernels.counting import N_COUNTS
from ..kernels.drive import drive
from ..kernels.signatures import NK, NROW, NX, WX, Fn
from ..planning.plan import Plan
from .passage import Passages
from .watching import Watching
from .workspace import Record, Workspace

STRETCH_SECONDS = 0.05
NOTHING = np.zeros(0)


class Run:
    """State and buffers of one run of a plan."""

    def __init__(self, plan: Plan, data: np.ndarray, t0: float, x0: np.ndarray, t_end: float, *,
                 save_t: np.ndarray | None, max_steps: int, max_step: float, first: float | None):  # fmt: skip
        self.plan, self.data, self.start = plan, data, (t0, x0)
        lowered, choice, nev = plan.integrator, plan.choice, len(plan.events)
        try:
            work = plan.spare.pop()
        except IndexError:
            work = Workspace(plan)
        self.work = work
        size = plan.model.nq + plan.model.nv
        self.S, self.I = S, I = np.zeros(s.N_FLOATS + 2 * size), np.zeros(s.N_INTS, dtype=np.int64)
        self.x, self.xn, self.xs, self.K, self.E, self.W = work.x, work.xn, work.xs, work.K, work.E, work.W
        self.x[: len(x0)] = x0
        at = plan.sizes[WX] + plan.sizes[NX]
        self.W[at : at + 2] = 0.0  # nothing is remembered of another run
        self.W[-N_COUNTS:] = 0.0
        self._forget()
        self.atol, self.turns, self.rec = work.atol, work.turns, work.rec
        S[s.T], S[s.T_BASE], S[s.T_STOP] = t0, t0, t_end
        S[s.ERR_OLD], S[s.RHO_LEAST], S[s.RTOL] = 1e-4, 1.0, choice.kept_rtol
        S[s.RHO_ASKED] = 1e300
        S[s.EXPONENT], S[s.BETA], S[s.SAFETY] = lowered.exponent, lowered.beta, lowered.safety
        S[s.FAC_MIN], S[s.FAC_MAX], S[s.STIFF_BOUND] = lowered.fac_min, lowered.fac_max, lowered.stiff_bound
        S[s.FORESEES] = lowered.foresees
        self.direction = 1.0 if t_end >= t0 else -1.0
        S[s.H_MAX] = max_step
        I[s.LIMIT] = self.max_steps = max_steps  # the second is what was asked for, whatever other plans have used of it
        I[s.LAST] = work.last
        I[s.STEERS], I[s.ADVISES], I[s.DOUBTS] = lowered.steers, lowered.advises, lowered.doubts
        S[s.STAY] = 1.2 if choice.integrator.implicit else 1.0
        if not lowered.one_step:
            self.K[2:-2] = 0.0
        if choice.step is not None:
            I[s.FIXED] = 1
            S[s.H_FIXED] = S[s.H] = abs(choice.step) * self.direction
        self.first = first
        self.lam0: np.ndarray | None = None  # multipliers to start from, where the start need not be consistent
        self.save_t = NOTHING if save_t is None else save_t
        I[s.KEEP_STEPS] = save_t is None
        self.record = Record()
        self.watching, self.found = Watching(self, work.ev), work.found
        self.xe, self.ke, self.rec_ev = work.xe, work.ke, work.rec_ev
        self._quota = 2000 if not plan.model.interpreted else 50
        I[s.EVENT_FIELD] = plan.event_field if nev else 0
        self.passages = Passages(self)
        I[s.CROSSES] = s.BY_STAGES if plan.crosses else 0

    def release(self) -> None:
        """Give the arrays back to the plan: a next run uses them again."""
        self.plan.spare.append(self.work)

    @property
    def t(self) -> float:
        return float(self.S[s.T])

    def begin(self) -> int:
        """Evaluate the first point, choose the first step, write the first row; return a status."""
        n, S, I = self.plan.sizes, self.S, self.I
        I[s.NOTES] = 1
        status = self._enter_point()
        if status != OK:
            return status
        S[s.RHO_LEAST] = min(S[s.RHO_LEAST], self.K[0, int(n[NROW]) - 1])
        S[s.RHO_MOST] = S[s.RHO_LEAST]
        if not I[s.FIXED]:
            S[s.H] = self._first_step() if self.first is None else self.first * self.direction
        first_row = I[s.KEEP_STEPS] or (len(self.save_t) and self.save_t[0] == self.t)
        if first_row:
            self._write_current()
            I[s.SAVED] = 0 if I[s.KEEP_STEPS] else 1
        return self.watching.arm(fresh=True)

    def _enter_point(self) -> int:
        """Evaluate the field where the run stands, and fill in the multipliers that it begins with."""
        status = self._evaluate(self.t, self.x, 0)
        if status != OK:
            self.I[s.LAST_STATUS], self.S[s.T_FAILED] = status, self.t
            return status
        self.I[s.FRESH] = 1
        self._fill_multipliers()
        return OK

    def _fill_multipliers(self) -> None:
        """Start values of what an implicit formulation adds to q and v: λ from the field, the rest vanishes."""
        model = self.plan.model
        at = first = model.nq + model.nv
        self.x[at:] = 0.0
        for block in self.plan.blocks[2:]:
            if block.name == "lam" and self.lam0 is not None:
                self.x[at : at + block.size] = self.lam0
            elif block.name == "lam" and model.is_ode and block.size:  # of a Dae
                self.x[at : at + block.size] = model.evaluate(Fn.MULTIPLIERS, self.t, self.x[:first], NOTHING, self.data)
            elif block.name == "lam":
                self.x[at : at + block.size] = self.K[0, first : first + block.size]
            at += block.size
        self.lam0 = None

    def _write_current(self) -> None:
        nq, nk = self.plan.model.nq, int(self.plan.sizes[NK])
        self.record.write(self.t, self.x, self.K[0, nq : nq + nk])

    def _evaluate(self, t, x, row) -> int:
        """Field at (t, x) into a row of K, compiling what it needs; return a status."""
        return field_at(self.plan, t, x, self.data, self.K, row, self.W)

    def slope(self, t: float, x: np.ndarray, row: int) -> bool:
        """Put the field at (t, x) into a row of K; tell whether it is there."""
        return self._evaluate(t, x, row) == OK

    def handed_to(self, plan: Plan, t_end: float, started: bool = True) -> tuple[Run, int]:
        """Return a run of another plan that goes on from the current state, and its status; events go on as they are.

        Before the first step (not `started`) it begins anew instead.
        """
        model, S, I = self.plan.model, self.S, self.I
        data = plan.extended(self.data[: len(model.data())].copy())
        plan.enter_gains(data, self.direction)
        used = int(I[s.ACCEPTED] + I[s.REJECTED] + I[s.FAILED] + I[s.RETAKEN])
        left = None if I[s.KEEP_STEPS] else self.save_t[int(I[s.SAVED]) if started else 0 :]
        x = self.x[: model.nq + model.nv].copy()
        other = Run(
            plan, data, self.t, x, t_end, save_t=left, max_steps=max(1, int(I[s.LIMIT]) - used), max_step=S[s.H_MAX],
            first=None if started else self.first,
        )  # fmt: skip
        other.max_steps = self.max_steps
        status = other.begin()
        if not started:
            self.release()
            return other, status
        other.watching.go_on_from(self.watching)
        return other, status

    def _first_step(self) -> float:
        S, n = self.S, self.plan.model.nq + self.plan.model.nv
        most = min(S[s.H_MAX], abs(S[s.T_STOP] - S[s.T]))
        order = self.plan.integrator.error_order
        order = max(order, self.plan.choice.integrator.order - 1)
        f = self.K[0]
        arguments = (order, self.atol, S[s.RTOL], self.direction, most, n)
        h = first_step(self.x, f, f, *arguments, 0)
        self.xn[:n] = self.x[:n] + h * f[:n]
        if self._evaluate(self.t + h, self.xn, 1) != OK:
            return h
        return first_step(self.x, f, self.K[1], *arguments, 1)

    def restart(self, x: np.ndarray, counted: tuple[int, ...]) -> int:
        """Go on from another state at the same time: new first step, controller memory forgotten."""
        self.passages.leave()
        self.x[: len(x)] = x
        self._forget()
        S, I = self.S, self.I
        S[s.ERR_OLD], S[s.H_ACC], S[s.H_SURE] = 1e-4, 0.0, 0.0
        I[s.AFTER_REJECT] = I[s.STIFF] = I[s.NONSTIFF] = 0
        if not self.plan.integrator.one_step:
            self.K[2:-2] = 0.0  # the history ends here
        I[s.PREPARED] = 0
        status = self._enter_point()
        if status != OK:
            return status
        if I[s.FIXED]:
            S[s.T_BASE], I[s.STEP_NUMBER] = self.t, 0
        elif self.t != S[s.T_STOP]:
            S[s.H] = self._first_step()
        if I[s.KEEP_STEPS]:
            self._write_current()
        return self.watching.arm(fresh=False, counted=counted)

    def stop_at(self, t_stop: float) -> None:
        """Set the time at which the loop returns DONE."""
        self.S[s.T_STOP] = t_stop
        if self.I[s.FIXED]:
            self.S[s.T_BASE], self.I[s.STEP_NUMBER] = self.t, 0

    def go_to(self, t: float) -> None:
        """Take a state that was entered as that of time t."""
        self.S[s.T] = t
        self.field_changed()

    def field_changed(self) -> None:
        """The data have changed: the first stage must be evaluated again."""
        self.passages.leave()
        self.I[s.FRESH] = 0
        self._forget()

    def _forget(self) -> None:
        """A method that looks back begins anew."""
        if self.plan.integrator.remembers:
            self.K[1:-2] = 0.0

    def go(self, tell=None, most: int | None = None) -> int:
        """Run until the stop time, an event or a failure; `tell(t)` is called about every 50 ms.

        With `most`, return MORE after that many attempted steps.
        """
        plan, I = self.plan, self.I
        loop = drive_interpreted if plan.model.interpreted else drive
        while True:
            quota = I[s.QUOTA] = self._quota if most is None else min(self._quota, most)
            began = time.perf_counter()
            written = len(self.record.t), len(self.watching.log)
            try:
                status = loop(
                    plan.slots, plan.fns, plan.sizes, self.data, plan.integrator.ip, plan.integrator.fp,
                    plan.stabilization.sp, self.S, I, self.x, self.xn, self.xs, self.K, self.E, self.W, self.atol,
                    self.turns, *self.rec, self.save_t, *self.watching.state, *self.found, self.xe, self.ke,
                    *self.rec_ev, self.work.passing,
                )  # fmt: skip
            finally:
                try:
                    self._collect(*written)
                except KeyboardInterrupt:  # that came while rows were taken over: none is lost, and none twice
                    self._collect(*written)
                    raise
            steps = quota - int(I[s.QUOTA])
            if most is not None:
                most -= steps
            if plan.supplies(status):
                continue
            if status != MORE:
                return status
            used = time.perf_counter() - began
            if most is not None and most <= 0:
                return MORE
            if steps > 10 and used > 0:
                self._quota = int(min(1e7, max(20, steps * STRETCH_SECONDS / used)))
            if tell is not None:
                tell(self.t)

    def _collect(self, chunks: int, events: int) -> None:
        """Take over what the loop has written, after as many chunks of rows and as many events."""
        self.record.add(*self.rec, int(self.I[s.ROWS]), chunks)
        self.I[s.ROWS] = 0
        self.S[s.N_FLOATS :] = self.K[-2:, : (len(self.S) - s.N_FLOATS) // 2].ravel()  # they outlive the workspace
        self.I[s.COUNTS :] = self.W[: -N_COUNTS - 1 : -1]
        self.watching.collect(*self.rec_ev, int(self.I[s.EVENT_ROWS]), events)
        self.I[s.EVENT_ROWS] = 0
        self.passages.collect()

