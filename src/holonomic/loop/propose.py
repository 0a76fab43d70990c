"""The next attempt: what has to stand before it, and its length."""

from __future__ import annotations

from ..errors import DONE, MORE, OK, STEP_COLLAPSED, TOO_MANY_STEPS
from ..kernels.evaluate import evaluate
from ..kernels.memory import PASSING
from ..kernels.signatures import call_prepare
from ..kernels.step_control import lands
from ..kernels.vectors import EPS
from ..native.marks import part
from .dense_error import sure_step


@part
def propose(slots, model, run, state, save_t):
    """Make everything ready for an attempt and choose its length; or say why there is none.

    A path over a singular position supplies its own steps.
    """
    left = run.t_stop - run.t
    forward = 1.0 if run.t_stop >= run.t else -1.0
    if left * forward <= 0.0:
        return DONE
    if run.quota <= 0:
        return MORE
    if run.accepted + run.rejected + run.failed + run.retaken >= run.limit:
        return TOO_MANY_STEPS
    if run.guided != 0:
        run.quota -= 1
        run.phase = PASSING
        return OK
    status = stand_ready(slots, model, run, state)
    if status != OK:
        return status
    choose_length(run, left, save_t)
    if abs(run.h_tried) <= 4.0 * EPS * abs(run.t) and run.reaches_stop == 0:
        return STEP_COLLAPSED
    run.quota -= 1
    run.dense_ready = 0
    return OK


@part
def stand_ready(slots, model, run, state):
    """The field at the beginning of the step, and what a formulation chooses before it."""
    if run.evaluated == 0:
        status = evaluate(model, run, run.t, state.x, state.K, 0, state.W)
        if status != OK:
            return status
        run.rho_least = min(run.rho_least, state.K[0, model.size.nrow - 1])
        run.evaluated = 1
    if model.size.at_selectors > 0 and run.prepared == 0:
        status = call_prepare(slots, model, run, run.t, state.x, state.W)
        if status != OK:
            run.last_status = status
            run.t_failed = run.t
            return status
        run.prepared = 1
    return OK


@part
def choose_length(run, left, save_t):
    """The length of the attempt: what is proposed, cut at the stop time, at saved times, and by what dense output allows."""
    t, h = run.t, run.h
    run.landing = 0.0
    run.reaches_stop = 0
    run.along = 0
    if run.retake != 0:  # to an event
        if abs(h) >= abs(left):
            h = left
            run.reaches_stop = 1
    elif run.fixed != 0:
        h = run.h_fixed
        if abs(left) <= abs(h) * (1.0 + 1e-9):
            h = left
            run.reaches_stop = 1
        else:
            h = run.t_base + (run.step_number + 1) * run.h_fixed - t
    else:
        if abs(h) > run.h_max:
            h = run.h_max if left >= 0.0 else -run.h_max
        if abs(left) <= 1.01 * abs(h):
            h = left
            run.reaches_stop = 1
        elif abs(left) < 2.0 * abs(h):
            h = 0.5 * left
        landing = lands(run.stiffness, save_t, run.saved, t, h)
        if landing != 0.0:
            h = landing
            run.reaches_stop = 0
        elif run.h_sure != 0.0:
            sure = sure_step(h, run.h_sure, run.watched != 0, save_t, run.saved, t)
            if sure != h:
                h = sure
                run.reaches_stop = 0
                if run.saved < save_t.shape[0] and save_t[run.saved] - t == h:
                    landing = h
        run.landing = landing
    if run.fixed == 0 and run.reaches_stop == 0 and run.landing == 0.0:
        h = (t + h) - t  # as long as the time that passes; at t = 1e9 that is 1e-7 apart
    run.h_tried = h
