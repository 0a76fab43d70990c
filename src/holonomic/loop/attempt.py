"""One attempted step: stages, pull, error; and what an error or a failure means for the next one."""

from __future__ import annotations

from ..errors import MOVED_START, NOT_FINITE, OK, PULL_FAILED
from ..kernels.memory import STEPPING
from ..kernels.settle import settle
from ..kernels.signatures import call_advance, call_finish, call_passage, call_pull, call_tangent
from ..kernels.sizes import TOLERANCES, rounding_in_step
from ..kernels.step_control import error_norm, joined_error, largest_errors, predicted_factor, ratio_to_keep, step_factor, stiffness
from ..native.marks import inner, leaf, part
from ..native.types import f8

# The projected error estimate decides, but counts for no less than this share of the whole one: on a system
# with one or two degrees of freedom its few components vanish together now and then, and a step far too
# long is taken. Measured on eight problems with DOP853 at rtol 1e-5 to 1e-9: the evaluations needed for one
# error hardly depend on the share (within 10 %), but at 0 single errors are up to 100 times too large.
# An estimate in two parts is a quotient, in which chance counts twice: there the share is 1, the norm the largest
# component, and the quotient no less than in the step before. On 533 random linkages and masses on springs, rtol
# 1e-6, runs with more than 5 κ rtol of error fell from 119 to 22 of 1600, with 8 % fewer evaluations.
SHARE = 0.3
FAR_TOO_LARGE = 300.0  # tolerances: errors that no change of a smooth motion brings about, see `automatic_looks`


@leaf
def larger(a: f8, b: f8):
    """The larger one, or the one that is NaN."""
    return b if b > a or b != b else a


@leaf
def worst_component(E, x, xn, W, at_sizes, rtol, n):
    """Index of the component with the largest scaled error."""
    worst, at = -1.0, 0
    for i in range(n):
        value = abs(E[0, i]) / (W[at_sizes + TOLERANCES + i] + rtol * max(abs(x[i]), abs(xn[i])))
        if value > worst:
            worst, at = value, i
    return at


@part
def error_in_two_parts(slots, model, method, run, h, loop):
    """Size of an estimate that is joined from two vectors: the largest of whole and projected, of q and v."""
    size = model.size
    sp = method.sp
    x, xn, E, W = loop.state.x, loop.state.xn, loop.state.E, loop.state.W
    kinds, at, nq, nx = loop.scale.kinds, size.at_sizes, size.nq, size.nx
    shorter = 0.0
    line, arc = rounding_in_step(W, at, h)
    if run.h_before != 0.0:
        shorter = min(1.0, h / run.h_before) ** 2  # e5/e3 is O(h²)
    five, three = largest_errors(E, x, xn, W, at, run.rtol, kinds, line, arc, 0, nq)
    worst = joined_error(five, three, shorter * run.ratio_q)
    run.new_ratio_q = ratio_to_keep(five, three)
    five, three = largest_errors(E, x, xn, W, at, run.rtol, kinds, line, arc, nq, nx)
    worst = larger(worst, joined_error(five, three, shorter * run.ratio_v))
    run.new_ratio_v = ratio_to_keep(five, three)
    for k in range(2):
        call_tangent(slots, model, sp, E, k, W)
    five, three = largest_errors(E, x, xn, W, at, run.rtol, kinds, line, arc, 0, nq)
    worst = larger(worst, joined_error(five, three, 0.0))
    five, three = largest_errors(E, x, xn, W, at, run.rtol, kinds, line, arc, nq, nx)
    return larger(worst, joined_error(five, three, 0.0))


@leaf
def put_back(x, W, at, n):
    """x = W[at:at+n]"""
    for i in range(n):
        x[i] = W[at + i]


@part
def from_moved_start(slots, model, method, run, t, h, state):
    """Take the step again from the start that the stabilization has moved, as often as it asks; then put the start back."""
    size = model.size
    status = MOVED_START
    while status == MOVED_START:
        run.moved += 1
        status = call_advance(slots, model, method, run, t, h, state)
        if status == OK:
            run.pulls += 1
            status = call_pull(slots, model, method.sp, run, t + h, h, state.x, state.xs, state.xn, state.W)
    run.moved = 0
    put_back(state.x, state.W, size.at_state, size.nq + size.nv)
    return status


@leaf
def take_multipliers(xn, K, row, first, nl):
    """λ that is integrated follows what a stabilization has made of q and v: left where it is, it departs from them ever faster.

    On a pendulum Radau of order 13 was wrong by 0.03 at rtol 1e-10.
    """
    for i in range(nl):
        xn[first + i] = K[row, first + i]


@part
def attempt(slots, model, method, run, loop):
    """Try one step: stages, pull, field at the new point, error."""
    size = model.size
    sp = method.sp
    x, xn, xs, E, W = loop.state.x, loop.state.xn, loop.state.xs, loop.state.E, loop.state.W
    kinds, at, nq, nx = loop.scale.kinds, size.at_sizes, size.nq, size.nx
    t, h = run.t, run.h_tried
    status = call_advance(slots, model, method, run, t, h, loop.state)
    if status != OK:
        return status
    run.pulls += 1
    status = call_pull(slots, model, sp, run, t + h, h, x, xs, xn, W)
    if status == MOVED_START:
        status = from_moved_start(slots, model, method, run, t, h, loop.state)
    if status != OK:
        return status
    status = settle(model, t + h, xn, W)
    if status != OK:
        return status
    status = call_finish(slots, model, method, run, t, h, loop.state)
    if status != OK:
        return status
    if size.nv > 0 and size.n_differential > size.nq + size.nv and sp.shape[0] > size.nq:
        take_multipliers(xn, loop.state.K, run.last_stage, size.nq + size.nv, size.nl)
    if size.n_errors > 1:
        run.err = error_in_two_parts(slots, model, method, run, h, loop)
    elif size.n_errors > 0:
        line, arc = rounding_in_step(W, at, h)
        whole = error_norm(E, x, xn, W, at, run.rtol, kinds, line, arc, nq, nx)
        call_tangent(slots, model, sp, E, 0, W)
        run.err = max(error_norm(E, x, xn, W, at, run.rtol, kinds, line, arc, nq, nx), SHARE * whole)
    else:
        run.err = 0.0
    return OK


@inner
def reject(run, h, err):
    """A step whose error is too large: try a shorter one."""
    run.rejected += 1
    if err > FAR_TOO_LARGE:
        run.rough += 1
    exponent = run.exponent
    if run.steers != 0:
        exponent = 1.0 / (run.steered_order + 1.0)
    run.h = h * step_factor(err, 1.0, exponent, 0.0, run.safety, run.factor_min, 1.0)
    if not err <= 1e300:
        run.h = h * 0.1
    run.after_reject = 1
    run.retake = 0
    run.tries = 0


@inner
def note_stiffness(run, t, h, K, last, xn, xs, nx, saves):
    """Count steps that stability limits, 15 of them before 6 others; `saves`: also keep h λ for the next saved time."""
    if saves:
        run.stiffness = stiffness(h, K, last, xn, xs, nx)
    if run.stiff_steps == 0 and run.accepted % 50 != 49:
        return
    if stiffness(h, K, last, xn, xs, nx) > run.stiff_bound:
        run.nonstiff_steps = 0
        run.stiff_steps += 1
        if run.stiff_steps == 15 and run.is_stiff == 0:
            run.is_stiff = 1
            run.t_stiff = t
    else:
        run.nonstiff_steps += 1
        if run.nonstiff_steps == 6:
            run.stiff_steps = 0


@inner
def refuse(run, h, status):
    """A step that failed for another reason than its error: try a shorter one."""
    run.failed += 1
    run.last_status = status
    run.t_failed = run.t
    if status == PULL_FAILED:
        run.pull_rejected += 1
    run.h = h * 0.25
    run.after_reject = 1
    run.retake = 0
    run.tries = 0


@inner
def foreseen_factor(run, err, h, factor, safety):
    """h_new / h, no more than this step and the one before predict; this step is remembered."""
    if run.h_before != 0.0:
        factor = min(factor, max(run.factor_min, predicted_factor(err, run.err_before, h, run.h_before, run.exponent, safety)))
    run.h_before = h
    run.err_before = max(err, 1e-2)
    return factor


@inner
def advised_factor(run, err, h, factor):
    """h_new / h of an implicit one-step method: less after a hard iteration, predicted from two steps, 1 to keep its factors."""
    factor = min(run.factor_max, max(run.factor_min, factor * run.advice_safety))
    factor = foreseen_factor(run, err, h, factor, run.safety * run.advice_safety)
    if factor >= 1.0 and factor <= run.keeps_below and run.advice_keep != 0:
        factor = 1.0
    return factor


@part
def follow_path(slots, model, run, loop):
    """Take the next step along a path over a singular position, or look for one."""
    status = call_passage(slots, slots, model, run, loop)
    if status == NOT_FINITE:
        refuse(run, run.h_used, status)
        run.phase = STEPPING
        return OK
    return status
