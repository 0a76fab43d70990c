"""Changes that time alone brings about, such as of `t % 1 < 0.3`, are known before a step is taken: it ends there.

What of a switch holds for whatever state, bounds tell without one (`kernels.bounds`): they are asked with states that may be
anything. A part of the attempt in which a comparison may change is cut in two until it is as short as can be, and the change looked
for there. What a state has a part in is left to `event_bounds`, after the step.
"""

from __future__ import annotations

import math

from ..kernels.signatures import BOUNDS, EVENTS, call_model, has_function
from ..kernels.sliding import is_along, sleeps
from ..kernels.vectors import EPS
from ..native.marks import apart, inner
from .event_bounds import DEEPEST, HEAD
from .event_search import CHECK, HIGH, HOLDS_AT_ZERO, LOW, STOPS, TRIAL, side_of

MOST_LOOKS = 400  # parts of an attempt
SKIPPED = 16.0  # of the shortest parts: what has just changed is rounding there
FURTHEST = 10  # doublings of the shortest part, in which a change is looked for


@apart
def end_at_change(model, run, loop, events):
    """Cut the attempt where the first of the comparisons of time alone changes in it."""
    run.planned = 0
    if run.retake != 0 or run.fixed != 0 or run.lenient != 0 or not (has_function(model, BOUNDS) and has_function(model, EVENTS)):
        return
    size, state, ev, ev_f, W, h = model.size, loop.state, events.marks, events.values, loop.state.W, run.h_tried
    nev, first = size.n_events, size.n_events - size.n_switches
    finest = 4.0 * EPS * max(abs(run.t), abs(run.t + h)) / abs(h)
    a = SKIPPED * finest
    if not a < 0.5:
        return
    at = size.at_curve + HEAD + DEEPEST
    for i in range(size.nq + size.nv):
        W[at + 4 * i] = W[at + 4 * i + 2] = -math.inf
        W[at + 4 * i + 1] = W[at + 4 * i + 3] = math.inf
    bound_times(model, run, W, ev_f, a, a)
    for k in range(first, nev):
        j = k - first
        ev_f[CHECK, k] = 1.0 if not sleeps(model, j) and not is_along(model, j) and stays(model, ev, ev_f, k, j) else 0.0
    part = 1.0 - a
    for _ in range(MOST_LOOKS):
        b = min(1.0, a + part)
        bound_times(model, run, W, ev_f, a, b)
        found = -1
        for k in range(first, nev):
            if found < 0 and ev_f[CHECK, k] != 0.0 and not stays(model, ev, ev_f, k, k - first):
                found = k
        if found < 0:
            a = b
            part *= 2.0
        elif part > finest:
            part *= 0.5
        else:
            change = change_behind(model, run, state, loop.inside.K, events, found, run.t + a * h, finest * h) - run.t
            if change != 0.0 and abs(change) < abs(h):
                run.h_tried, run.planned, run.reaches_stop, run.landing = change, 1, 0, 0.0
            if change != 0.0:
                return
            ev_f[CHECK, found] = 0.0
        if a >= 1.0:
            return


@inner
def bound_times(model, run, W, ev_f, a, b):
    """Bounds of all functions from θ = a to b, whatever the state."""
    at = model.size.at_curve
    W[at], W[at + 1], W[at + 2], W[at + 3] = 0.0, a, b, run.h_tried
    call_model(model, BOUNDS, run.t, W, at + HEAD + DEEPEST, W, at, ev_f, LOW * model.size.n_events)


@inner
def stays(model, ev, ev_f, k, j):
    """Tell whether switch j is surely on the side of its mode, by its bounds."""
    low, high = ev_f[LOW, k], ev_f[HIGH, k]
    if model.data[model.size.at_modes + j] > 0.0:
        return low > 0.0 or (low >= 0.0 and ev[STOPS, k] == HOLDS_AT_ZERO)
    return high < 0.0 or (high <= 0.0 and ev[STOPS, k] != HOLDS_AT_ZERO)


@inner
def change_behind(model, run, state, K, events, k, before, short):
    """The first time behind `before` at which function k is on the other side; t where there is none within a few `short`."""
    size, ev_f = model.size, events.values
    mode = model.data[size.at_modes + k - (size.n_events - size.n_switches)]
    after, changed = before, False
    for _ in range(FURTHEST):
        after = before + short
        call_model(model, EVENTS, after, state.x, 0, K, size.nq, ev_f, TRIAL * size.n_events)
        if side_of(events.marks, k, ev_f[TRIAL, k]) * mode < 0.0:
            changed = True
            break
        before = after
        short *= 2.0
    while changed:
        middle = 0.5 * (before + after)
        if middle == before or middle == after:
            return after
        call_model(model, EVENTS, middle, state.x, 0, K, size.nq, ev_f, TRIAL * size.n_events)
        if side_of(events.marks, k, ev_f[TRIAL, k]) * mode < 0.0:
            after = middle
        else:
            before = middle
    return run.t
