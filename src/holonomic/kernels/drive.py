"""The one step loop: step, pull, test, watch for events, write, accept.

The loop is resumable. All it knows lives in the arrays S and I (see `state`) and in the arrays of the
state, so it can return at any point between two steps or two rows and be called again; splitting a run
changes no bit of it. It returns

    DONE   the stop time is reached            EVENT  a terminal or mapping event is reached
    MORE   quota used up or buffer full        NEED_… a function has to be compiled first
    or what it failed of
"""

from __future__ import annotations

from ..errors import (
    ACCUMULATES,
    DONE,
    EVENT,
    MORE,
    NEED_REFINED,
    NEED_TERMS,
    NO_CONVERGENCE,
    NOT_FINITE,
    OK,
    SINGULAR,
    STEP_COLLAPSED,
    TOO_MANY_STEPS,
)
from .attempt import advised_factor, attempt, foreseen_factor, note_stiffness, refuse, reject, worst_component
from .compile import inner, leaf
from .control import lands, step_factor
from .doubt import in_doubt, may_be_asked, sure_step
from .evaluate import evaluate
from .locate import MOST, dense_ready, shyness, state_inside
from .memory import (
    ANSWERED,
    BY_ENDS,
    ON_STAGE,
    PASSING,
    STEPPING,
    WATCHING,
    WRITING,
)
from .signatures import (
    call_accept,
    call_passage,
    call_prepare,
)
from .singular import DODGE, MAX_DODGES, alarm, between, in_the_way, note_ratio
from .vectors import write_row
from .watch import AGAIN, watch

EPS = 2.220446049250313e-16
HANDED_OVER = -(1 << 40)  # rows of this step are out of reach


@inner
def start(model, run, state):
    """Evaluate the field at the first point, or after a change of state."""
    size = model.size
    x, K, W = state.x, state.K, state.W
    status = evaluate(model, run, run.t, x, K, 0, W)
    if status == OK:
        run.rho_least = min(run.rho_least, K[0, size.nrow - 1])
    return status


@leaf
def drive(slots, model, method, run, loop, record, events):
    """Go on until there is something to say."""
    size = model.size
    x, xn, xs, K, E, W = loop.state.x, loop.state.xn, loop.state.xs, loop.state.K, loop.state.E, loop.state.W
    xe, ke = loop.inside.x, loop.inside.K
    atol = loop.scale.atol
    rec_t, rec_x, rec_k, save_t = record.t, record.x, record.k, record.save_t
    rec_ev_t = events.t
    nx, nq, nk = size.nx, size.nq, size.nk
    last = run.last_stage
    forward = 1.0 if run.t_stop >= run.t else -1.0
    while True:
        if run.phase == STEPPING:
            t = run.t
            left = run.t_stop - t
            if left * forward <= 0.0:
                return DONE
            if run.quota <= 0:
                return MORE
            if run.accepted + run.rejected + run.failed + run.retaken >= run.limit:
                return TOO_MANY_STEPS
            if run.guided != 0:
                run.quota -= 1
                run.phase = PASSING
                continue
            if run.evaluated == 0:
                status = start(model, run, loop.state)
                if status != OK:
                    return status
                run.evaluated = 1
            if size.at_selectors > 0 and run.prepared == 0:
                status = call_prepare(slots, model, run, t, x, W)
                if status != OK:
                    run.last_status = status
                    run.t_failed = t
                    return status
                run.prepared = 1
            h = run.h
            landing = 0.0
            run.reaches_stop = 0
            run.along = 0
            if run.retake != 0:
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
                    h = run.h_max * forward
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
                    sure = sure_step(h, run.h_sure, size.n_events > 0, save_t, run.saved, t)
                    if sure != h:
                        h = sure
                        run.reaches_stop = 0
                        if run.saved < save_t.shape[0] and save_t[run.saved] - t == h:
                            landing = h
            if abs(h) <= 4.0 * EPS * abs(t) and run.reaches_stop == 0:
                return STEP_COLLAPSED
            run.quota -= 1
            run.dense_ready = 0
            status = attempt(slots, model, method, run, t, h, loop)
            if status == NEED_REFINED or status == NEED_TERMS:
                run.quota += 1  # it will be taken again: looks must not depend on what is compiled already
                return status
            if run.crosses != 0:
                answered = run.alarm == ANSWERED
                run.alarm = 0
                if not answered:
                    if status == OK:
                        run.alarm = alarm(K, last, size.nrow - 1, run.rtol, run.rho_asked)
                        if run.alarm == 0 and run.crosses == BY_ENDS and run.err <= 1.0:
                            run.alarm = between(slots, model, method, run, t, h, loop)
                    elif status == SINGULAR:
                        run.alarm = ON_STAGE
                    if run.alarm != 0:
                        run.h_used = h
                        run.phase = PASSING
                        continue
            if status != OK:
                if run.fixed != 0:
                    run.last_status = status
                    run.t_failed = t
                    return status
                refuse(run, h, status)
                if status == NO_CONVERGENCE and run.advises != 0:
                    run.h = h * run.advice_shrink
                if status == SINGULAR and run.dodges < MAX_DODGES:
                    run.dodges += 1
                    run.h = h * DODGE
                if abs(run.h) <= 16.0 * EPS * max(abs(t), abs(run.t_stop)) and abs(run.h) < 1e-12:
                    return STEP_COLLAPSED
                continue
            err = run.err
            if size.n_errors > 0 and run.fixed == 0:
                dodging = size.nl > 0 and run.dodges < MAX_DODGES and run.retake == 0
                if dodging and in_the_way(K, last, size.nrow - 1, run.rtol, err <= 1.0):
                    run.rejected += 1
                    run.dodges += 1
                    run.after_reject = 1
                    run.h = h * DODGE
                    continue
                if not err <= 1.0:
                    reject(run, h, err)
                    if abs(run.h) <= 16.0 * EPS * max(abs(t), abs(run.t_stop)) and abs(run.h) < 1e-12:
                        run.err = worst_component(E, x, xn, atol, run.rtol, nx)
                        return STEP_COLLAPSED
                    continue
                if may_be_asked(size, run, save_t):
                    run.h_used = h
                    status = dense_ready(slots, model, method, run, loop.state)
                    if status != OK:
                        return status
                    if in_doubt(size, run, save_t, t, h):
                        run.rejected += 1
                        continue
                factor = step_factor(
                    err, run.err_old, run.exponent, run.beta, run.safety, run.factor_min, run.factor_max
                )
                if run.advises != 0:
                    factor = advised_factor(run, err, h, factor)
                if run.foresees != 0.0:
                    factor = foreseen_factor(run, err, h, factor, run.safety)
                    run.ratio_q = run.new_ratio_q
                    run.ratio_v = run.new_ratio_v
                if run.after_reject != 0:
                    factor = min(factor, 1.0)
                if factor > 1.0 and factor < run.keeps_below and run.advises == 0:
                    factor = 1.0  # an implicit method keeps its factors
                proposal = h * factor
                # a step cut short by the stop time says nothing about the next one
                if (run.reaches_stop != 0 or landing != 0.0) and abs(proposal) < abs(run.h):
                    proposal = run.h
                run.h = proposal
                run.err_old = max(err, 1e-4)
                run.after_reject = 0
                if run.stiff_bound > 0.0:
                    saves = run.saved < save_t.shape[0] and landing == 0.0
                    note_stiffness(run, t, h, K, last, xn, xs, nx, saves)
            note_ratio(run, t + h, h, K[last, size.nrow - 1], xn, K, last, nq + size.nv)
            if K[last, size.nrow - 1] > 4.0 * run.rho_asked:
                run.rho_asked = 1e300
            if run.crosses != 0 and run.dodges > 0:
                # looked for in vain, from closer by, too: asked at every step, the steps would be halved for ever
                run.rho_asked = min(run.rho_asked, K[last, size.nrow - 1])
            run.h_used = h
            run.t_new = run.t_stop if run.reaches_stop != 0 else t + h
            if landing != 0.0:
                run.t_new = save_t[run.saved]
            run.phase = WATCHING
        if run.phase == PASSING:
            status = call_passage(slots, slots, model, run, loop)
            if status == NOT_FINITE:
                refuse(run, run.h_used, status)
                run.phase = STEPPING
            elif status != OK:
                return status
            continue
        if run.phase == WATCHING:
            if size.n_events > 0:
                if run.event_rows + MOST * size.n_events > rec_ev_t.shape[0]:
                    return MORE
                status = watch(slots, model, method, run, loop, events)
                if status == AGAIN or status == EVENT:
                    run.phase = STEPPING
                    run.retaken += 1
                    if status == EVENT:
                        return EVENT
                    continue
                if status == NEED_REFINED or status == NEED_TERMS or status == ACCUMULATES:
                    return status
                if status != OK:
                    if run.fixed != 0:
                        run.last_status = status
                        run.t_failed = run.t
                        return status
                    refuse(run, run.h_used, status)
                    run.phase = STEPPING
                    continue
            run.phase = WRITING
            run.rows_of_step = 0
        # WRITING
        room = rec_t.shape[0]
        status = OK
        if run.keep_steps != 0:
            if run.rows >= room:
                return MORE
            write_row(rec_t, rec_x, rec_k, run.rows, run.t_new, xn, K, last, nq, nx, nk)
            run.rows += 1
        else:
            while run.saved < save_t.shape[0] and (save_t[run.saved] - run.t_new) * forward <= 0.0:
                if run.rows >= room:
                    run.rows_of_step = HANDED_OVER
                    return MORE
                wanted = save_t[run.saved]
                if wanted == run.t_new:
                    write_row(rec_t, rec_x, rec_k, run.rows, wanted, xn, K, last, nq, nx, nk)
                else:
                    status = dense_ready(slots, model, method, run, loop.state)
                    if status != OK:
                        return status
                    theta = (wanted - run.t) / run.h_used
                    run.pulls += 1
                    status = state_inside(
                        slots, model, method, run, theta, run.t, run.h_used, loop.state, loop.inside, True, shyness(run)
                    )  # fmt: skip
                    if status != OK:
                        break
                    write_row(rec_t, rec_x, rec_k, run.rows, wanted, xe, ke, 0, nq, nx, nk)
                run.rows += 1
                run.saved += 1
                run.rows_of_step += 1
            if status == NEED_REFINED or status == NEED_TERMS:
                run.rows_of_step = HANDED_OVER
                return status
            if status != OK:
                if run.fixed != 0 or size.n_events > 0 or run.rows_of_step < 0:
                    run.last_status = status
                    run.t_failed = run.t
                    return status
                run.rows -= run.rows_of_step  # the step is too long for its dense output: none of it is kept
                run.saved -= run.rows_of_step
                refuse(run, run.h_used, status)
                run.phase = STEPPING
                continue
        call_accept(slots, model, method, run, run.h_used, loop.state)
        if run.steers != 0 and (run.reaches_stop == 0 or abs(run.steered_h) > abs(run.h)):
            run.h = run.steered_h
        run.t = run.t_new
        run.dodges = 0
        run.along = 0
        run.accepted += 1
        run.step_number += 1
        run.prepared = 0
        run.phase = STEPPING
        if run.retake != 0:
            run.retake = 0
            run.tries = 0
            return EVENT
