"""The walk of a run to its end: stretches between breaks of inputs, events and changes of plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ..arguments import check_multipliers
from ..automatic.decide import Choosing
from ..automatic.reasons import reasons
from ..errors import (
    DONE,
    EVENT,
    MORE,
    OK,
    TOO_MANY_STEPS,
    Cancelled,
    EventWarning,
    HandedOverWarning,
    HolonomicError,
    InvariantWarning,
    LimitReached,
    NearSingularWarning,
    RedundancyWarning,
    RoundingWarning,
    StiffnessWarning,
    UnstableWarning,
)
from ..kernels.signatures import Fn
from ..kernels.sizes import KNOWN, OFTEN
from ..model.refusals import warn
from ..planning.choice import Choice
from ..planning.plan import Plan
from ..results.solution import Solution
from ..results.trail import join
from ..starting.initial import Start
from ..starting.invariance import AT_THE_END, NEAR_ITS_VALUE, left_out, not_kept, was_kept
from . import failure
from .detour import Crossing
from .impact import after_event
from .modes import awake_in, keep_modes
from .multistep_start import start_multistep
from .near_singular import passed_singular
from .progress import Progress
from .run import Run, run_of

if TYPE_CHECKING:
    from .attendant import Attendant


def walk(
    run: Run, plan: Plan, begin: Start, t0, t1, lam0, progress, free: bool = False,
    choosing: Choosing | None = None, crossing: Crossing | None = None, warn: Callable[[str, type], None] = warn,
    bar: Progress | None = None, attendant: Attendant | None = None, begun: bool = False, parts: list[Solution] | None = None,
) -> Solution:  # fmt: skip
    """Run the stretches between breaks of inputs, events and changes of plan; wrap whatever there is at the end.

    A run that has `begun` is behind its first stretch, of which it knows the status; `parts` are the runs of other plans before it.
    Warnings about a run that reached its end go to `warn(text, kind)`.
    """
    bar = bar or Progress(t0, t1, progress)
    look = bar.tell if attendant is None else attendant.beside(bar)
    ended = "end"
    parts = [] if parts is None else parts
    known = None if attendant is None else attendant.resumed()
    if begun:
        status = OK
    elif known is None:
        status = run.begin()
        if choosing is not None and status == OK:
            run, status = take_over(run, choosing.at_start(run), choosing, begin, parts, started=False)
        if status == OK and lam0 is not None:
            first = plan.model.nq + plan.model.nv
            check_multipliers(plan, run.K[0, first : first + plan.n_lam], lam0, (run.t, run.x, run.data))
        if status == OK and plan.integrator.starting_points:
            start_multistep(run, begin, t1, free)
    else:
        run.release()
        run, parts, ended, status = known.run, known.parts, known.ended or ended, OK if known.ended is None else DONE
    crossing = crossing or Crossing(None, t1)
    try:
        while status == OK:
            if known is None and run.ahead is None:
                run.stop_at(run.inputs.next_break(run.t, t1))
                crossing.watch(run)
                run.left = crossing.interval or (None if choosing is None else choosing.steps_to_look(run))
            if choosing is not None and crossing.interval is None:
                choosing.watch(run)
            known = None  # a checkpoint is gone on with in the middle of a stretch
            if attendant is not None:
                attendant.attend(run, parts)
            look(run.t)
            status = run.go(look, run.left)
            if crossing.concerns(run, status):
                run, status = crossing.turn(run, status, begin, parts)
            elif choosing is not None and status not in (OK, DONE, EVENT):
                other = choosing.on_the_way(run) if status == MORE else choosing.failed(run, status)
                if status == MORE or other is not None:
                    run, status = take_over(run, other, choosing, begin, parts)
            elif status == EVENT:
                stop, status = happened(run, begin, parts, choosing)
                if stop:
                    ended, status = stop, DONE
                    break
            elif status == DONE:
                there = run.t == t1
                if run.sampling is not None:
                    _look(run, begin, parts, choosing)
                if run.inputs.jumps(run.t):
                    status = run.inputs_jump()
                    if status == EVENT:
                        stop, status = happened(run, begin, parts, choosing)
                        if stop:
                            ended, status = stop, DONE
                            break
                elif not there:
                    run.inputs.set(run.data, run.t, run.direction)
                    run.field_changed()
                    status = OK
                if there and status in (OK, DONE):
                    ended, status = _ended(run, run.plan), DONE
                    break
        if attendant is not None and status == DONE and known is None:
            attendant.ended(run, parts, ended)
    except KeyboardInterrupt:
        bar.interrupted(run.t)
        ended, status = "interrupted", DONE
    except HolonomicError as problem:
        if isinstance(problem, LimitReached | Cancelled):
            problem.solution = _wrapped(run, begin, "interrupted", parts, choosing)
            problem.solution.trail.story = crossing.told(problem.solution.trail.story)
        _with_reason(problem, t1)
        raise
    except Exception as problem:  # of the user's functions
        problem.solution = _wrapped(run, begin, "failed", parts, choosing)  # pyright: ignore[reportAttributeAccessIssue]
        problem.solution.trail.stopped = (f"{type(problem).__name__}: {problem}", t1)  # pyright: ignore[reportAttributeAccessIssue]
        problem.add_note(f"raised in the run after t = {run.t:.6g}; what there is of it is in error.solution")
        raise
    finally:
        bar.close()
    plan = run.plan
    sol = _wrapped(run, begin, ended if status == DONE else "failed", parts, choosing)
    sol.trail.story = crossing.told(sol.trail.story)
    if choosing is None and run.memory.is_stiff:
        warn(failure.stiff_since(run.memory.t_stiff, type(plan.choice.integrator).__name__), StiffnessWarning)
    if OFTEN * run.memory.rounded > run.memory.accepted:
        warn(failure.below_rounding(run.memory.known, plan.choice.rtol), RoundingWarning)
    if status != DONE:
        why = choosing.vibrating(run) if choosing is not None and status == TOO_MANY_STEPS else ""
        raise _with_reason(failure.explain(status, run, plan, sol, why), t1)
    if plan.model.n_invariants and not free and plan.choice.stabilization.acts == "step":
        tell_of_invariants(sol, plan.model, run.t, run.x, run.data, warn)
    lost = run.watching.given_up() if plan.watches else None
    if lost is not None:
        warn(lost, EventWarning)
    text = failure.unstable(plan, run.memory, run.start[1], run.x)
    if text is not None:
        warn(text, UnstableWarning)
    handed = crossing.warning(run.t)
    if handed is not None:
        warn(handed, HandedOverWarning)
    near = next(filter(None, map(passed_singular, sol.trail.parts or (sol,))), None)
    if near is not None:
        warn(near, NearSingularWarning)
    run.release()
    return sol


def tell_of_invariants(sol: Solution, model, t: float, x: np.ndarray, data: np.ndarray, warn: Callable[[str, type], None]) -> None:
    """Warn of invariants that were held at their values although the equations change them, and of such as depend on each other."""
    found = not_kept(model, t, x, data, cancels=AT_THE_END, within=NEAR_ITS_VALUE)
    if found is not None:
        warn(was_kept(*found, t), InvariantWarning)
    depends = left_out(model, sol.t, sol.y, data) if model.is_ode else None
    if depends is not None:
        warn(depends, RedundancyWarning)


def _look(run: Run, begin: Start, parts: list, choosing) -> None:
    """Let controllers look at the run; one that fails leaves the run so far."""
    try:
        run.sampling.look(run)
    except HolonomicError as problem:
        problem.solution = _wrapped(run, begin, "failed", parts, choosing)
        raise


def _with_reason(problem: HolonomicError, t1: float) -> HolonomicError:
    """Write into the solution so far why it ends."""
    if problem.solution is not None:
        problem.solution.trail.stopped = (f"{type(problem).__name__}: {problem}", t1)
    return problem


def take_over(run: Run, other: Choice | None, choosing, begin: Start, parts: list, started=True) -> tuple[Run, int]:
    """Let another plan go on from where a run stands, if there is one; return the run that goes on."""
    if other is None:
        return run, OK
    if started:
        parts.append(Solution.from_run(run, run.plan, begin, "changed"))
    return run.handed_to(choosing.plan_for(other), choosing.t_end, started)


def _wrapped(run: Run, begin: Start, ended: str, parts: list, choosing) -> Solution:
    """Return the solution of a run, with those of the plans before it."""
    sol = Solution.from_run(run, run.plan, begin, ended)
    if parts:
        sol = join([*parts, sol])
    for each in (sol, *sol.trail.parts):
        each.trail.repeat, each.trail.again, each.trail.reasons = repeated, run_again, reasons
    if choosing is not None:
        sol.trail.story = choosing.story()
    return sol


def repeated(sol: Solution, data: np.ndarray, t0: float, x0: np.ndarray, times: np.ndarray) -> Solution:
    """Run a stretch of a solution again from one of its states, with the same plan and events, and keep these times."""
    plan, t1 = sol.plan, float(times[-1])
    run = run_of(plan, data, t0, x0, t1, save_t=times, first=None, inputs=sol.trail.inputs, **sol.trail.limits)
    _enter_sizes(run, sol.trail.sizes)  # a state that is small by chance tells nothing of how large the motion is
    return walk(run, plan, sol.trail.begin, t0, t1, None, False)


def _enter_sizes(run: Run, sizes: np.ndarray | None) -> None:
    """Let a run go by how large its motion is known to be; it finds that itself where nothing is known."""
    if sizes is not None:
        run.memory.sized = KNOWN
        run.work.sizes[:] = sizes


def run_again(sol: Solution, data: np.ndarray, times: np.ndarray | None) -> Solution:
    """Run the whole of a solution again, step by step as it was, and keep these times; None: every step."""
    plan, trail = sol.plan, sol.trail
    t0, x0 = trail.first
    reached = sol.ended not in ("changed", "failed", "interrupted")  # the end that its steps were led to
    t1 = trail.memory.t_stop if reached else trail.final[0]
    run = run_of(plan, data, t0, x0, t1, save_t=times, first=trail.first_step, inputs=trail.inputs, **trail.limits)
    run.lam0 = trail.lam0
    if trail.sizes_before is not None:
        run.sizes_before = trail.sizes_before
        _enter_sizes(run, trail.sizes_before)
    if trail.modes is not None:  # those before any that changed at once
        run.data[plan.model.data_places["modes"]] = trail.modes
        if awake_in(plan, trail.modes):
            keep_modes(run)
    return walk(run, plan, trail.begin, t0, t1, None, False)


def happened(run: Run, begin: Start, parts: list, choosing) -> tuple[str | None, int]:
    """Deal with the events at the current time: end the run (its name), or map the state and go on."""
    plan = run.plan
    names, fired = list(plan.events), run.watching.happened()
    stopping = [k for k in fired if plan.events[names[k]].stops]
    for k in stopping:
        if plan.events[names[k]].terminal:
            run.watching.may_pass(stopping)
            return names[k], DONE
    spurious = run.watching.by_rounding(stopping)
    if spurious:
        run.watching.forget(spurious)
        stopping = [k for k in stopping if k not in spurious]
    x = run.x[: plan.model.nq + plan.model.nv].copy()
    kept = plan.rows if begin.redundant == "drop" else None
    for k in stopping:
        if run.watching.accumulates(k):
            raise failure.accumulating(names[k], run, _wrapped(run, begin, "failed", parts, choosing))
        try:
            x, impact = after_event(plan.model, plan.events[names[k]], names[k], run.t, x, run.data, kept)
        except HolonomicError as problem:
            problem.solution = _wrapped(run, begin, "failed", parts, choosing)
            raise
        if impact is not None:
            run.watching.impacts.append((k, run.t, impact))
    set_invariants(plan.model, run.t, x, run.data)
    return None, run.restart(x, tuple(fired))


def _ended(run: Run, plan: Plan) -> str:
    """Count events at the very end of the run; a terminal one is what ended it."""
    names = list(plan.events)
    stops = [names[k] for k in run.watching.at_the_end() if plan.events[names[k]].terminal]
    return stops[0] if stops else "end"


def set_invariants(model, t: float, x: np.ndarray, data: np.ndarray) -> None:
    """Enter the values at which the invariants are kept from here on: those of this state."""
    if model.n_invariants:
        places = model.data_places["invariants"]
        data[places] = 0.0
        r = model.evaluate(Fn.RESIDUAL, t, x, np.zeros(0), data)
        data[places] = r[model.n_constraints : model.n_constraints + model.n_invariants]
