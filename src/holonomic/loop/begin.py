"""How a run begins: the field at the first point, the first step, the first row.

Single runs, members of a sweep, interpreted runs and the programs of a GPU all begin here. After an event that has moved the
state the first two are done again.
"""

from __future__ import annotations

from ..errors import OK
from ..kernels.evaluate import asks_for_function, evaluate
from ..kernels.sizes import (
    KNOWN,
    NO_PACE,
    NOTHING_MOVES,
    PACE,
    TOLERANCES,
    UNKNOWN,
    aside,
    enter_sizes,
    glide,
    moves,
    note_springs,
    rate_along,
    share_out,
)
from ..kernels.step_control import first_step
from ..kernels.vectors import write_row
from ..native.marks import inner
from .kept_steps import keep_none

SOON = 1e-4  # where the field is looked at if nothing moves at the start, in times of 1/pace


@inner
def enter_point(model, run, state):
    """Evaluate the field where the run stands, and give multipliers that are unknowns what it gives."""
    size = model.size
    x, K = state.x, state.K
    status = evaluate(model, run, run.t, x, K, 0, state.W)
    if status != OK:
        run.last_status = status
        run.t_failed = run.t
        return status
    run.evaluated = 1
    if run.at_lam >= 0:
        for i in range(size.nl):
            x[run.at_lam + i] = K[0, size.nq + size.nv + i]
    return OK


@inner
def choose_first_step(model, run, state):
    """The first step, from the slopes at the first point and a little further on; or a fixed or given one."""
    if run.fixed != 0 or run.first_given != 0:
        return OK
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    nz, t = size.nq + size.nv, run.t
    forward = 1.0 if run.t_stop >= t else -1.0
    most = min(run.h_max, abs(run.t_stop - t))
    row = K[0]
    W, at, pace = state.W, size.at_sizes + TOLERANCES, state.W[size.at_sizes + PACE]
    run.h = first_step(x, row, row, run.order, W, at, run.rtol, pace, forward, most, nz, 0)
    for i in range(nz):
        xn[i] = x[i] + run.h * K[0, i]
    status = evaluate(model, run, t + run.h, xn, K, 1, state.W)
    if status == OK:
        run.h = first_step(x, row, K[1], run.order, W, at, run.rtol, pace, forward, most, nz, 1)
    return status


@inner
def find_pace(model, run, loop):
    """Look a little along a start whose slopes alone have no time scale, as from y = 0: how they change gives one."""
    size, state, kinds = model.size, loop.state, loop.scale.kinds
    ahead = SOON * SOON / state.W[size.at_sizes + PACE]
    h = ahead if run.t_stop >= run.t else -ahead
    glide(state.x, state.K, kinds, size.nq, size.nv, size.nc, h, state.xn)
    status = evaluate(model, run, run.t, state.xn, state.K, 1, state.W)
    if status == OK:
        whole = state.W[size.at_sizes + PACE]
        rate = rate_along(state.x, state.K, kinds, size.nq + size.nv, h, whole)
        if rate > whole:
            run.sized = UNKNOWN
            enter_sizes(model, run, state, loop.scale, 1.0 / rate)
    run.sized = KNOWN
    return status


@inner
def note_rest(model, run, loop):
    """Look a little aside of a start at rest: springs there swing by rounding, which no step is to follow."""
    size, state, kinds = model.size, loop.state, loop.scale.kinds
    nz, at = size.nq + size.nv, size.at_sizes
    if run.fixed != 0 or size.nv == 0 or moves(state.x, kinds, state.W, at, nz):
        return OK
    aside(state.x, kinds, state.W, at, nz, state.xn)
    status = evaluate(model, run, run.t, state.xn, state.K, 1, state.W)
    if status == OK:
        note_springs(state.K, kinds, state.W, at, nz)
        share_out(state.x, kinds, loop.scale.atol, state.W, at, size.at_rates, size.raises_speeds, size.nx, 1.0)
    return status


@inner
def write_point(size, run, state, record):
    """Write the point where the run stands."""
    write_row(record.t, record.x, record.k, run.rows, run.t, state.x, state.K, 0, size.nq, size.nx, size.nk)
    run.rows += 1


@inner
def begin(model, run, loop, record):
    """Evaluate the first point, choose the first step and write the first row; a function may have to be compiled first."""
    status = enter_point(model, run, loop.state)
    if status != OK:
        return status
    run.rho_least = min(run.rho_least, loop.state.K[0, model.size.nrow - 1])
    run.rho_most = run.rho_least
    enter_sizes(model, run, loop.state, loop.scale, 0.0)
    if run.sized == NO_PACE and run.fixed == 0:
        status = find_pace(model, run, loop)
        if asks_for_function(status):
            return status
    if run.sized == NOTHING_MOVES and run.fixed == 0:
        ahead = SOON / loop.state.W[model.size.at_sizes + PACE]
        forward = 1.0 if run.t_stop >= run.t else -1.0
        status = evaluate(model, run, run.t + forward * ahead, loop.state.x, loop.state.K, 1, loop.state.W)
        if asks_for_function(status):
            return status
        if status == OK:
            enter_sizes(model, run, loop.state, loop.scale, ahead)
        run.sized = KNOWN
    status = note_rest(model, run, loop)
    if asks_for_function(status):
        return status
    status = choose_first_step(model, run, loop.state)
    if asks_for_function(status):
        return status
    run.first_given = 0  # after an event the step is chosen anew
    save_t = record.save_t
    if run.keep_steps != 0:
        if record.dense.shape[1] > 0:
            keep_none(record.dense, run.rows)
        write_point(model.size, run, loop.state, record)
    elif save_t.shape[0] > 0 and save_t[0] == run.t:
        write_point(model.size, run, loop.state, record)
        run.saved = 1
    return OK


@inner
def enter_again(model, run, loop):
    """Evaluate another point and choose the step anew, after an event has moved the state."""
    status = enter_point(model, run, loop.state)
    if status == OK:
        enter_sizes(model, run, loop.state, loop.scale, 0.0)
    if status == OK and run.t != run.t_stop:
        status = choose_first_step(model, run, loop.state)
        return status if asks_for_function(status) else OK
    return status
