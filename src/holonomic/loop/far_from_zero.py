"""Whether a step has to be looked into: where its switches are far from zero all the way, nobody has to ask its dense output.

Dense output costs evaluations, and a step that is looked into is kept short enough for it. The functions of events are asked in
every step all the same: they may be anything, and what is told of them shall not depend on how the steps fall. A switch is
looked for only to be met. So of switches alone the cubic through the states and slopes at both ends stands for dense output
first, at the same points as in `event_pieces`. The step is left alone where each switch has one sign at all of them, and its least
value is larger

    than half of what it goes through in the step, which no cubic through these points can undo, and
    than twenty times what the cubic through its values may be off, by two more points, which are left out where the cubic leads
    back to its values in the step before, and closely.

Whatever is in doubt is looked into as ever. Where all switches are twenty times as large as what they go through, the ends of the
next few steps are enough, as long as they hardly differ.
"""

from __future__ import annotations

from ..kernels.signatures import EVENTS, call_model
from ..kernels.sliding import nothing_watched, sliding
from ..kernels.vectors import copy_row
from ..native.marks import inner, leaf
from ..native.types import f8, i8, int_mat, mat, vec
from .event_pieces import (
    FIRST_CHECK,
    REACH,
    SECOND_CHECK,
    begin_step,
    end_step,
    off_at,
    scaled_off,
)
from .event_search import BEFORE, CHECK, END, INNER, OUTER, PIECE, SIGN

SPREAD = 0.5  # of the values in a step: the cubic through its four points stays within a quarter of that
OFF, OFF_BEFORE = 0.05, 0.003  # of the least value: what the cubic may be off, by two more points; by those of the step before
CALM = 0.05  # of a value: what it goes through in a step where it is calm
CALM_STEPS = 15  # after two such steps, of which the ends are enough
CALM_LONGER = 1.2  # how much longer than the one before a calm step may be
NEAR, FAR, CALM_AND_FAR = 0, 1, 2


@leaf
def between_ends(x: vec, xn: vec, K: mat, last: i8, h: f8, theta: f8, size: i8, length: i8, out: vec):
    """The cubic with the states and slopes of both ends of a step, at t + θ h."""
    for i in range(size):
        change = xn[i] - x[i]
        bend = (1.0 - theta) * (h * K[0, i] - change) - theta * (h * K[last, i] - change)
        out[i] = x[i] + theta * (change + (1.0 - theta) * bend)
    for i in range(size, length):
        out[i] = xn[i]


@inner
def values_between(model, run, loop, events, theta, row):
    """What is watched, at t + θ h of this attempt, into a row of values."""
    size, state, xe, h = model.size, loop.state, loop.inside.x, run.h_tried
    between_ends(state.x, state.xn, state.K, run.last_stage, h, theta, size.nq + size.nv, size.nx, xe)
    call_model(model, EVENTS, run.t + theta * h, xe, 0, loop.inside.K, size.nq, events.values, row * size.n_events)


@leaf
def distance(ev: int_mat, ev_f: mat, k: i8, last: i8, off: f8):
    """NEAR, FAR or CALM_AND_FAR: of a switch with values up to row `last`, larger than what its cubic is `off`."""
    sign = ev[SIGN, k]
    if sign != 1 and sign != -1:
        return NEAR
    least = most = sign * ev_f[PIECE, k]
    for row in range(PIECE + 1, last + 1):
        value = sign * ev_f[row, k]
        if not value > 0.0:
            return NEAR
        least, most = min(least, value), max(most, value)
    if not (least > 0.0 and off <= least):
        return NEAR
    spread = most - least
    return CALM_AND_FAR if spread <= CALM * least else (FAR if SPREAD * spread < least else NEAR)


@leaf
def nearest(ev: int_mat, ev_f: mat, nev: i8, past: f8):
    """The least of the distances; `past` is the length of the step before, in steps, or 0 where two more points tell."""
    least = CALM_AND_FAR
    inner, outer = past * (INNER - 1.0), past * (OUTER - 1.0)
    for k in range(nev):
        if past > 0.0:
            off = max(scaled_off(ev_f, k, inner, BEFORE), scaled_off(ev_f, k, outer, BEFORE + 1)) / OFF_BEFORE
        else:
            off = max(off_at(ev_f, k, FIRST_CHECK, CHECK), off_at(ev_f, k, SECOND_CHECK, CHECK + 1)) / OFF
        least = min(least, distance(ev, ev_f, k, END, off))
        if least == NEAR:
            return NEAR
    return least


@leaf
def ends_are_calm(ev: int_mat, ev_f: mat, nev: i8):
    """Tell whether all switches are calm by the ends of a step, the second of which stands behind the first."""
    for k in range(nev):
        if distance(ev, ev_f, k, PIECE + 1, 0.0) != CALM_AND_FAR:
            return False
    return True


@inner
def must_be_watched(model, run, loop, events):
    """Tell whether the step that has just passed has to be looked into: 1 or 0."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev, h = size.n_events, abs(run.h_tried)
    if nothing_watched(size, run):
        return 0
    if size.n_switches < nev or run.retake != 0 or run.lenient != 0 or sliding(model) >= 0:
        return 1
    if run.event_reach > 0.0 and REACH * run.event_reach < h:
        return 1
    begin_step(ev, ev_f, nev)
    call_model(model, EVENTS, run.t + run.h_tried, loop.state.xn, 0, loop.inside.K, size.nq, ev_f, (PIECE + 1) * nev)
    if run.calm > 0 and h <= CALM_LONGER * run.calm_step and ends_are_calm(ev, ev_f, nev):
        run.calm -= 1
        run.event_piece = 0.0
        copy_row(ev_f, PIECE + 1, ev_f, END, nev)
        return 0
    copy_row(ev_f, PIECE + 1, ev_f, END, nev)
    values_between(model, run, loop, events, INNER, PIECE + 1)
    values_between(model, run, loop, events, OUTER, PIECE + 2)
    past, found = run.event_past / h, NEAR
    if past > 0.0:
        found = nearest(ev, ev_f, nev, past)
    if found == NEAR:
        values_between(model, run, loop, events, FIRST_CHECK, CHECK)
        values_between(model, run, loop, events, SECOND_CHECK, CHECK + 1)
        found = nearest(ev, ev_f, nev, 0.0)
    run.calm = CALM_STEPS if found == CALM_AND_FAR and h <= CALM_LONGER * run.calm_step else 0
    run.calm_step = h if found == CALM_AND_FAR else 0.0
    run.event_piece = h
    return 1 if found == NEAR else 0


@inner
def pass_by(model, run, events):
    """Go on from a step that need not be looked into: what was seen of it lies before the next one."""
    if nothing_watched(model.size, run):
        return
    run.event_reach = 0.0
    end_step(run, events.marks, events.values, model.size.n_events)
