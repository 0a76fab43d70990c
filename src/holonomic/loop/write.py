"""What an accepted step leaves: its rows, and the new point in the place of the old one."""

from __future__ import annotations

from ..errors import EVENT, MORE, OK
from ..kernels.evaluate import asks_for_function
from ..kernels.memory import STEPPING
from ..kernels.signatures import call_accept
from ..kernels.sizes import grow_sizes
from ..kernels.vectors import write_row
from ..native.marks import inner, part
from .attempt import refuse
from .event_search import dense_ready, shyness, state_inside
from .kept_steps import keep_step
from .lenience import be_strict

OUT_OF_REACH = -(1 << 40)  # rows of this step are out of reach


@part
def write(slots, model, method, run, loop, record):
    """Write the rows that are asked of this step, then make its end the beginning of the next one."""
    if run.keep_steps != 0:
        if run.rows >= record.t.shape[0]:
            return MORE
        if record.dense.shape[1] > 0:
            keep_step(record.dense, run.rows, run.h_used, loop.state.K, model.size.dense_first)
        write_end(model.size, run, loop.state, record, run.t_new)
    elif is_saved(run, record.save_t):
        status = write_saved(slots, model, method, run, loop, record)
        if status != OK or run.phase == STEPPING:
            return status
    return accept(slots, model, method, run, loop)


@inner
def is_saved(run, save_t):
    """Tell whether the next saved time lies in this step."""
    if run.saved >= save_t.shape[0]:
        return False
    forward = 1.0 if run.t_stop >= run.t else -1.0
    return (save_t[run.saved] - run.t_new) * forward <= 0.0


@inner
def write_end(size, run, state, record, t):
    """Write the end of the step."""
    write_row(record.t, record.x, record.k, run.rows, t, state.xn, state.K, run.last_stage, size.nq, size.nx, size.nk)
    run.rows += 1


@part
def write_saved(slots, model, method, run, loop, record):
    """Write the saved times inside the step; one that is too long for its dense output is refused."""
    size, inside, save_t = model.size, loop.inside, record.save_t
    status = OK
    while is_saved(run, save_t):
        if run.rows >= record.t.shape[0]:
            run.rows_of_step = OUT_OF_REACH
            return MORE
        wanted = save_t[run.saved]
        if wanted == run.t_new:
            write_end(size, run, loop.state, record, wanted)
        else:
            status = dense_ready(slots, model, method, run, loop.state)
            if status != OK:
                return status
            theta = (wanted - run.t) / run.h_used
            run.pulls += 1
            status = state_inside(slots, model, method, run, theta, run.t, run.h_used, loop.state, inside, True, shyness(run))
            if status != OK:
                break
            write_row(record.t, record.x, record.k, run.rows, wanted, inside.x, inside.K, 0, size.nq, size.nx, size.nk)
            run.rows += 1
        run.saved += 1
        run.rows_of_step += 1
    if status == OK:
        return OK
    if asks_for_function(status):
        run.rows_of_step = OUT_OF_REACH
        return status
    if run.fixed != 0 or run.watched != 0 or run.rows_of_step < 0:
        run.last_status = status
        run.t_failed = run.t
        return status
    run.rows -= run.rows_of_step  # the step is too long for its dense output: none of it is kept
    run.saved -= run.rows_of_step
    refuse(run, run.h_used, status)
    run.phase = STEPPING
    return OK


@part
def accept(slots, model, method, run, loop):
    """Make the end of the step the beginning of the next one; EVENT where it was taken to end on one."""
    if run.fixed == 0 or model.size.at_rates != 0:
        grow_sizes(model, run, loop.state, loop.scale)
    call_accept(slots, model, method, run, run.h_used, loop.state)
    if model.size.n_switches > 0 and run.lenient != 0:
        be_strict(model, run)
    if run.steers != 0 and (run.reaches_stop == 0 or abs(run.steered_h) > abs(run.h)):
        run.h = run.steered_h
    run.t = run.t_new
    run.dodges = run.in_a_row = 0
    run.along = 0
    run.accepted += 1
    run.step_number += 1
    run.prepared = 0
    run.phase = STEPPING
    if run.retake != 0:
        run.retake = 0
        run.tries = 0
        return EVENT
    return OK
