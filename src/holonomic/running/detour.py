"""Singular positions in the way of methods without a passage: another plan leads over them, and hands back.

Implicit integrators, and stabilizations that are no projection, have no path over a position in which rows of G become
dependent (see `passage.steps`). Where the step loop gives the alarm, or an attempt fails close to such a position, the
state is put onto the constraints and an explicit plan with a projection goes on until the position lies behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import MORE, NEED_PASSAGE, NO_CONVERGENCE, OK, PULL_FAILED, SINGULAR, STEP_COLLAPSED, HolonomicError
from ..formulations.index1 import Index1
from ..integrators.runge_kutta import DOP853
from ..kernels.memory import BY_ENDS, BY_STAGES
from ..kernels.signatures import Fn
from ..model.model_base import Variant
from ..passage.alarm import BESIDE, EARLY
from ..planning.choice import Choice
from ..planning.plan import Plan
from ..results.solution import Solution
from ..results.story import Change, Story
from ..stabilizations.projection import Projection
from .near_singular import rank_falls
from .run import Run

FAILURES = (SINGULAR, PULL_FAILED, STEP_COLLAPSED, NO_CONVERGENCE)
LOOK = 2  # attempted steps between two looks whether the position lies behind
LONG = 5.0  # steps of the plan that handed over: where there was no path by then, the alarm may have been a false one
FAR = 5.0  # times the pivot ratio of the alarm, at which to hand back
MOST = 2000  # explicit steps without a path
ALLOWED = 1e3  # tolerances by which the state may be moved onto the constraints; Index3 leaves some 100 in velocities
ROUNDS = 6
LOOKED_AT = 16  # states of a run that say how independent the rows usually are


def alarm_of(plan: Plan) -> int:
    """How the step loop notices the singular positions that a plan leaves to another one; 0: it does not."""
    if not plan.hands_over:
        return 0
    return BY_ENDS if plan.integrator.nodes is None else BY_STAGES


class Crossing:
    """Watches a run for singular positions that its plan cannot pass.

    Parameters
    ----------
    plan_for : callable, optional
        Makes a plan of a choice; without it nothing is done.
    t_end : float
        End of the whole run, s.
    """

    def __init__(self, plan_for: Callable[[Choice], Plan] | None, t_end: float):
        self.plan_for, self.t_end = plan_for, t_end
        self.home: Plan | None = None  # the plan to go back to
        self.notes: list[tuple[float, Choice, float]] = []
        self._led: list[tuple[Choice, float, float, int]] = []  # who was helped, from when to when, in how many steps
        self._begun = (0.0, 0.0, 0.0, 0.0)  # where another plan took over: t, step, pivot ratio, the largest so far
        self._last = self._refused = np.nan

    def memories(self) -> dict[str, Any]:
        """Return what was met so far; `recall` takes it over."""
        met = {name: value for name, value in vars(self).items() if name not in ("plan_for", "t_end")}
        return met | {"gave_up": self.plan_for is None}

    def recall(self, known: dict[str, Any]) -> None:
        """Take over what `memories` gave."""
        if known.pop("gave_up"):
            self.plan_for = None
        vars(self).update(known)

    @property
    def interval(self) -> int | None:
        """Steps after which to look again; None where nothing is being crossed."""
        return None if self.home is None else LOOK

    def watch(self, run: Run) -> None:
        """Let the step loop raise the alarm, where another plan may help this one."""
        if self.plan_for is not None and self.home is None and run.plan.hands_over:
            run.memory.crosses = alarm_of(run.plan)

    def concerns(self, run: Run, status: int) -> bool:
        """Tell whether a status is handled here."""
        if self.home is not None:
            return status == MORE
        if status == NEED_PASSAGE:
            return True
        near = _ratio(run) < BESIDE * run.memory.rho_most
        return self.plan_for is not None and run.plan.hands_over and status in FAILURES and near and run.t != self._last

    def turn(self, run: Run, status: int, begin, parts: list) -> tuple[Run, int]:
        """Hand over, or back where the position lies behind; return the run that goes on, and its status."""
        if self.home is not None:
            if not self._behind(run):
                return run, OK
            home, self.home = self.home, None
            self._led[-1] = (*self._led[-1][:2], run.t, run.memory.accepted)
            parts.append(Solution.from_run(run, run.plan, begin, "changed"))
            back, status = run.handed_to(home, self.t_end)
            back.memory.rho_most = self._begun[3]
            if not run.passages.paths:
                back.memory.rho_asked = run.memory.rho_least  # there was nothing: do not ask again soon
            return back, status
        ahead = rank_falls(run.plan, run.t, run.x, _states(run, parts), run.data)
        helped = self._helped(run) if ahead else None
        if helped is None:
            if status != NEED_PASSAGE:
                return run, status
            run.passages.leave()
            if not ahead and run.t != self._refused:  # the constraints are as they were: ask again where ρ falls further
                self._refused, run.memory.rho_asked = run.t, _ratio(run)
                return run, OK
            run.memory.crosses = 0
            self.plan_for = None
            return run, OK
        plan, x = helped
        self.home, self._last = run.plan, run.t
        self._begun = (run.t, abs(run.memory.h_used), _ratio(run), run.memory.rho_most)
        self.notes.append((run.t, plan.choice, self._begun[1]))
        self._led.append((run.plan.choice, run.t, np.nan, 0))
        parts.append(Solution.from_run(run, run.plan, begin, "changed"))
        run.x[: len(x)] = x
        return run.handed_to(plan, self.t_end)

    def told(self, story: Story | None) -> Story | None:
        """Return a story that also tells of the positions passed."""
        if not self.notes:
            return story
        t, choice, step = self.notes[0]
        count = len(self.notes)
        more = "" if count == 1 else f"; {count - 1} more on the way"
        reason = f"a singular position lay ahead, which the methods asked for do not pass (and back behind it{more})"
        story = story or Story()
        return story._replace(changes=(*story.changes, Change(t, choice, 0.0, 0.0, step, reason)))

    def warning(self, t_end: float) -> str | None:
        """Say that another method replaced one that was asked for by name, and for how long."""
        named = [led for led in self._led if led[0].chosen]
        if not named:
            return None
        choice, t, back, steps = named[0]
        other = self.notes[0][1]
        until = f"until t = {t_end if np.isnan(back) else back:.6g}" + (f" ({steps} steps)" if steps else "")
        more = len(named) - 1
        again = f", and so {more} more time{'s' * (more > 1)}" if more else ""
        asked = f"{choice.formulation!r} + {choice.integrator!r} + {choice.stabilization!r}"
        return (
            f"at t = {t:.6g} a singular position of the constraints lay ahead, which {asked} does not pass: "
            f"{other.integrator!r} + {other.stabilization!r} led over it {until}{again}. To have one method throughout, ask "
            "for that one."
        )

    def _behind(self, run: Run) -> bool:
        if run.memory.guided:
            return False
        t, step, ratio, most = self._begun
        if run.passages.paths:
            ratio = min(max(FAR * EARLY * most, 2.0 * ratio), 0.5 * most)  # farther behind than where Newton's method failed
        tried = run.memory.accepted + run.memory.rejected + run.memory.failed
        return (abs(run.t - t) > LONG * step and _ratio(run) > ratio) or tried > MOST

    def _helped(self, run: Run) -> tuple[Plan, np.ndarray] | None:
        """Another plan, and the state on the constraints; None where there is none, or the state is too far from them."""
        c = run.plan.choice
        integrator = c.integrator if run.plan.integrator.nodes is not None else DOP853()
        other = replace(c, formulation=Index1(), integrator=integrator, stabilization=Projection(), chosen=())
        try:
            plan = self.plan_for(other)
        except HolonomicError:
            return None
        if not plan.crosses:
            return None
        size = run.plan.model.nq + run.plan.model.nv
        x = _on_constraints(run, plan.variant, mass=c.formulation.index == 3)
        if x is None or not np.all(np.abs(x - run.x[:size]) <= ALLOWED * (run.atol[:size] + c.rtol * (1.0 + np.abs(x)))):
            return None
        return plan, x


def _states(run: Run, parts: list) -> list[tuple[float, np.ndarray]]:
    """The start of a run and some of what it has written down since."""
    first = parts[0].trail.start if parts else run.start
    found = [(float(first[0]), np.asarray(first[1]))]
    if run.record.t:
        t, x, _ = run.record.joined()
        for i in np.unique(np.linspace(0, len(t) - 1, LOOKED_AT).astype(int)).tolist():
            found.append((float(t[i]), x[i]))
    return found


def _ratio(run: Run) -> float:
    """The pivot ratio where a run stands."""
    return float(run.K[0, run.plan.size.nrow - 1])


def _on_constraints(run: Run, variant: Variant, mass: bool) -> np.ndarray | None:
    """The state of a run on the constraints; with `mass`, velocities along M⁻¹Gᵀ, in which those of index 3 are off."""
    model, t = run.plan.model, run.t
    data, nothing, x = run.data[: len(model.data())], np.zeros(0), run.x[: model.nq + model.nv].copy()
    n = run.plan.n_position
    for _ in range(ROUNDS):
        r = model.evaluate(Fn.RESIDUAL, t, x, nothing, data, variant)[:n]
        if not n:
            break
        F = model.evaluate(Fn.POS_FACTOR, t, x, nothing, data, variant)
        move = model.evaluate(Fn.POS_SOLVE, t, F, r, data, variant)
        if not np.all(np.isfinite(move)):
            return None
        x[: model.nq] -= move
        if np.max(np.abs(move)) <= 1e-15 * (1.0 + np.max(np.abs(x[: model.nq]))):
            break
    variant = replace(variant, metric="mass") if mass else variant
    r = model.evaluate(Fn.RESIDUAL, t, x, nothing, data, variant)[n:]
    F = model.evaluate(Fn.VEL_FACTOR, t, x, nothing, data, variant)
    x[model.nq :] -= model.evaluate(Fn.VEL_SOLVE, t, F, r, data, variant)
    return x if np.all(np.isfinite(x)) else None
