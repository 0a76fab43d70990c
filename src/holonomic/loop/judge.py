"""What becomes of an attempt: accepted, rejected for its error, refused because it failed, or handed to a passage."""

from __future__ import annotations

from ..errors import NO_CONVERGENCE, OK, SINGULAR, STEP_COLLAPSED
from ..kernels.evaluate import asks_for_function
from ..kernels.memory import ANSWERED, BY_ENDS, JUDGING, ON_STAGE, PASSING, WATCHING
from ..kernels.signatures import EVENTS, has_function
from ..kernels.step_control import step_factor
from ..kernels.vectors import EPS
from ..native.marks import inner, part
from ..passage.alarm import DODGE, MAX_DODGES, alarm, between, in_the_way, note_ratio
from .attempt import advised_factor, foreseen_factor, note_stiffness, refuse, reject, worst_component
from .dense_error import in_doubt, may_be_asked
from .event_bounds import must_be_watched
from .event_search import dense_ready
from .lenience import loosen
from .wake import WOKEN, wake, wake_hidden


@part
def judge(slots, model, method, run, loop, record, events, status):
    """Decide on an attempt that ended with this status; the phase says what comes next. Anything but OK goes back to Python."""
    if asks_for_function(status):
        run.quota += 1  # it will be taken again: looks must not depend on what is compiled already
        return status
    if run.crosses != 0 and gives_alarm(slots, model, method, run, loop, status):
        run.h_used = run.h_tried
        run.phase = PASSING
        return OK
    if status == OK:
        return go_on_judging(slots, model, method, run, loop, record, events)
    if model.size.n_selects > 0 and run.fixed == 0:
        found = wake(model, run, loop, record, events)
        if asks_for_function(found):
            run.quota += 1
        if found != OK:
            return OK if found == WOKEN else found
    if model.size.n_switches > 0 and loosen(model, run, status):
        return OK
    return judge_failure(run, status)


@part
def go_on_judging(slots, model, method, run, loop, record, events):
    """Decide on an attempt that has not failed but for its error; where switches are to be compiled, it goes on here, not anew."""
    by_error = model.size.n_errors > 0 and run.fixed == 0
    if model.size.n_selects > 0 and by_error and not run.err <= 1.0:
        found = wake(model, run, loop, record, events)
        note_wait(model, run, found)
        if found != OK:
            return OK if found == WOKEN else found
    if by_error:
        accepted, status = judge_error(model, run, loop)
        if not accepted:
            return status
    if model.size.n_selects > 0:
        found = wake_hidden(model, run, loop, record, events)
        note_wait(model, run, found)
        if found != OK:
            return OK if found == WOKEN else found
    if model.size.n_events > 0:
        run.watched = must_be_watched(model, run, loop, events)
    if by_error:
        accepted, status = confirm(slots, model, method, run, loop.state, record.save_t)
        if not accepted:
            return status
    note_accepted(model.size, run, loop.state, record.save_t)
    run.phase = WATCHING
    return OK


@inner
def note_wait(model, run, found):
    """Where a function is to be compiled first, note whether the attempt is judged then, or taken again: modes have changed."""
    if asks_for_function(found):
        if has_function(model, EVENTS):
            run.quota += 1
        else:
            run.phase = JUDGING


@inner
def collapsed(run):
    """Tell whether the step has become so short that the rounding of t swallows it."""
    return abs(run.h) <= 16.0 * EPS * max(abs(run.t), abs(run.t_stop)) and abs(run.h) < 1e-12


@part
def gives_alarm(slots, model, method, run, loop, status):
    """Tell whether the attempt gives reason to look for a singular position, and note which."""
    answered = run.alarm == ANSWERED
    run.alarm = 0
    if answered:
        return False
    if status == OK:
        run.alarm = alarm(loop.state.K, run.last_stage, model.size.nrow - 1, run.rtol, run.rho_asked, run.rho_most)
        if run.alarm == 0 and run.crosses == BY_ENDS and run.err <= 1.0:
            run.alarm = between(slots, model, method, run, run.t, run.h_tried, loop)
    elif status == SINGULAR:
        run.alarm = ON_STAGE
    return run.alarm != 0


@part
def judge_failure(run, status):
    """Choose a shorter step after an attempt that failed for another reason than its error; a fixed step cannot be shortened."""
    if run.fixed != 0:
        run.last_status = status
        run.t_failed = run.t
        return status
    h = run.h_tried
    refuse(run, h, status)
    if status == NO_CONVERGENCE and run.advises != 0:
        run.h = h * run.advice_shrink
    if status == SINGULAR and run.dodges < MAX_DODGES:
        run.dodges += 1
        run.h = h * DODGE
    return STEP_COLLAPSED if collapsed(run) else OK


@part
def judge_error(model, run, loop):
    """Tell whether the error lets an attempt pass; what is returned second is a status for Python."""
    size, state = model.size, loop.state
    err, h = run.err, run.h_tried
    dodging = size.nl > 0 and run.dodges < MAX_DODGES and run.retake == 0
    if dodging and in_the_way(state.K, run.last_stage, size.nrow - 1, run.rtol, err <= 1.0):
        run.rejected += 1
        run.dodges += 1
        run.after_reject = 1
        run.h = h * DODGE
        return False, OK
    if not err <= 1.0:
        reject(run, h, err)
        if collapsed(run):
            run.err = worst_component(state.E, state.x, state.xn, state.W, size.at_sizes, run.rtol, size.nx)
            return False, STEP_COLLAPSED
        return False, OK
    return True, OK


@part
def confirm(slots, model, method, run, state, save_t):
    """Choose the step after one that passed, if its dense output is right, too; what is returned second is a status for Python."""
    err, h = run.err, run.h_tried
    if may_be_asked(run, save_t):
        run.h_used = h
        status = dense_ready(slots, model, method, run, state)
        if status != OK:
            return False, status
        if in_doubt(run, save_t, run.t, h):
            run.rejected += 1
            return False, OK
    choose_next(run, err, h)
    return True, OK


@part
def choose_next(run, err, h):
    """The step after one that passed."""
    factor = step_factor(err, run.err_old, run.exponent, run.beta, run.safety, run.factor_min, run.factor_max)
    if run.advises != 0:
        factor = advised_factor(run, err, h, factor)
    if run.foresees != 0:
        factor = foreseen_factor(run, err, h, factor, run.safety)
        run.ratio_q = run.new_ratio_q
        run.ratio_v = run.new_ratio_v
    if run.after_reject != 0:
        factor = min(factor, 1.0)
    if factor > 1.0 and factor < run.keeps_below and run.advises == 0:
        factor = 1.0  # an implicit method keeps its factors
    proposal = h * factor
    # a step cut short by the stop time says nothing about the next one
    if (run.reaches_stop != 0 or run.landing != 0.0 or run.planned != 0) and abs(proposal) < abs(run.h):
        proposal = run.h
    run.h = proposal
    run.err_old = max(err, 1e-4)
    run.after_reject = 0


@part
def note_accepted(size, run, state, save_t):
    """Note what an accepted attempt tells of stiffness and singular positions, and where it ends."""
    t, h, K, last = run.t, run.h_tried, state.K, run.last_stage
    rho = K[last, size.nrow - 1]
    if size.n_errors > 0 and run.fixed == 0 and run.stiff_bound > 0.0:
        saves = run.saved < save_t.shape[0] and run.landing == 0.0
        note_stiffness(run, t, h, K, last, state.xn, state.xs, size.nx, saves)
    note_ratio(run, t + h, h, rho, state.xn, K, last, size.nq + size.nv)
    if rho > 4.0 * run.rho_asked:
        run.rho_asked = 1e300
    if run.crosses != 0 and run.dodges > 0:
        # looked for in vain, from closer by, too: asked at every step, the steps would be halved for ever
        run.rho_asked = min(run.rho_asked, rho)
    run.h_used = h
    run.t_new = run.t_stop if run.reaches_stop != 0 else t + h
    if run.landing != 0.0:
        run.t_new = save_t[run.saved]
