"""The path over a singular position: one polynomial by Gauss collocation of high order.

Every stage is projected onto the constraints before the field is evaluated, and none is near the position. Both sides
then determine the motion between them.
"""

from __future__ import annotations

import math

from ..errors import OK
from ..kernels.evaluate import asks_for_function, evaluate
from ..kernels.settle import settle
from ..kernels.signatures import call_pull
from ..kernels.sizes import TOLERANCES, rounding_in_step
from ..kernels.step_control import error_norm
from ..native.marks import inner, leaf
from ..native.types import f8, i8, mat, vec
from .alarm import expected
from .branch_gap import NARROW_MISS, misses
from .gauss_points import (
    LEAST,
    POINTS,
    begin_path,
    carry_over,
    clearance,
    finish_series,
    guess,
    integrate_points,
    note_point,
    singular_at,
    widest,
)
from .path import AT, BEGIN, CLEAR, LENGTH, NEW, NUMBERS, PIECE, ROOM, SERIES, SLOPE, T0, WHERE

SWEEPS = 40
LOOKS = 5  # tries to put the position between two points
NOISE = 1e-11  # of the size of a state: what rounding leaves near a singular position
ENOUGH = 1e-2  # of the tolerance: by so much the next sweep may change a point
LENGTHS = (2.0, 1.5, 3.0, 1.25, 4.0)  # of a path, in ways to the position, in the order in which they are tried
SHORTER = 0.5  # than the step that gave the alarm, which may have been too long: for the dense output of steps on a path
# why there is no path: it cannot be found from here, there is no position, two branches nearly meet
NO_PATH, NOTHING, MISSED = 201, 202, 203


@leaf
def is_velocity(path: mat, nq: i8, nv: i8):
    """Tell whether q' = v."""
    for i in range(nv):
        if path[SLOPE, i] != path[BEGIN, nq + i]:
            return False
    return True


@leaf
def note_sizes(path: mat, r: i8, W: vec, tolerances: i8, rtol: f8, size: i8):
    """What a change of each component is measured by; return the noise of the largest."""
    largest = 0.0
    for k in range(size):
        most = abs(path[BEGIN, k])
        for i in range(LEAST + r):
            most = max(most, abs(path[AT + i, k]))
        path[ROOM, k] = most
        largest = max(largest, most)
    noise = NOISE * (1.0 + largest)
    for k in range(size):
        path[ROOM, k] = max(W[tolerances + k] + rtol * path[ROOM, k], noise)
    return noise


@leaf
def take_over(path: mat, r: i8, size: i8):
    """New states in the place of the old ones; return the largest change by its measure, and the largest itself."""
    change, most = 0.0, 0.0
    for i in range(LEAST + r):
        for k in range(size):
            moved = abs(path[NEW + i, k] - path[AT + i, k])
            if not moved / path[ROOM, k] <= change:  # NaN wins
                change = moved / path[ROOM, k]
            most = max(most, moved)
            path[AT + i, k] = path[NEW + i, k]
    return change, most


@leaf
def left_out(path: mat, r: i8, noise: f8, size: i8, E: mat):
    """The first coefficient of the series that is left out, about, as an error vector."""
    m = LEAST + r
    last, before = 0.0, 0.0
    for k in range(size):
        last += path[SERIES + m - 1, k] ** 2
        before += path[SERIES + m - 2, k] ** 2
    fall = min(1.0, math.sqrt(last) / max(math.sqrt(before), 1e-300))
    for k in range(size):
        E[0, k] = path[NUMBERS, LENGTH] * fall * path[SERIES + m - 1, k] / (2 * m - 1)
        if abs(E[0, k]) < noise:
            E[0, k] = 0.0


@inner
def on_constraints(slots, model, tight, run, t, x, ke, W):
    """Move x onto the constraints, down to rounding, and evaluate the field there."""
    status = call_pull(slots, model, tight, run, t, 0.0, x, x, x, W)
    if status == OK:
        status = settle(model, t, x, W)
    return status if status != OK else evaluate(model, run, t, x, ke, 0, W)


@inner
def first_guess(slots, model, run, loop, r):
    """States, slopes and √ρ at the points, each extrapolated from those before."""
    size = model.size
    W = loop.state.W
    xe, ke = loop.inside.x, loop.inside.K
    path, tight = loop.passing.path, loop.passing.sp
    nz = size.nq + size.nv
    for i in range(LEAST + r):
        guess(path, r, i, nz, xe)
        t = path[NUMBERS, T0] + POINTS[r, i] * path[NUMBERS, LENGTH]
        status = on_constraints(slots, model, tight, run, t, xe, ke, W)
        if status != OK:
            return status if asks_for_function(status) else NO_PATH
        note_point(path, AT, i, xe, ke, W[size.at_velocity], nz)  # ρ of G Gᵀ: of the geometry alone, whatever the masses
    return OK


@inner
def collocate(slots, model, run, loop, r):
    """Iterate to the polynomial whose slopes at the points are the field there."""
    size = model.size
    x, W = loop.state.x, loop.state.W
    xe, ke = loop.inside.x, loop.inside.K
    path, tight = loop.passing.path, loop.passing.sp
    nq, nv, nz = size.nq, size.nv, size.nq + size.nv
    noise = note_sizes(path, r, W, size.at_sizes + TOLERANCES, run.rtol, nz)
    plain = size.nc == nv and is_velocity(path, nq, nv)
    before, converged = math.inf, False
    for sweep in range(SWEEPS):
        if plain:
            integrate_points(path, r, 0, LEAST + r, nq, nz)
            carry_over(path, r, nq, nv)
        for i in range(LEAST + r):
            t = path[NUMBERS, T0] + POINTS[r, i] * path[NUMBERS, LENGTH]
            integrate_points(path, r, i, i + 1, 0, nz)
            copy_from(path, NEW + i, xe, nz)
            status = on_constraints(slots, model, tight, run, t, xe, ke, W)
            if status != OK:
                return status if asks_for_function(status) else NO_PATH
            note_point(path, NEW, i, xe, ke, W[size.at_velocity], nz)
        change, most = take_over(path, r, nz)
        stays = change >= 0.5 * before and (change <= 1.0 or most <= 10.0 * noise)
        coming = change * min(1.0, change / before) if sweep > 0 else change  # in the next sweep
        if coming <= ENOUGH or stays:
            converged = True
            break
        if not change <= (1e3 if sweep < 4 else 0.7) * before:
            return NO_PATH
        before = change
    if not converged:
        return NO_PATH
    finish_series(path, r, nz)
    left_out(path, r, noise, nz, ke)
    copy_from(path, AT + LEAST + r - 1, xe, nz)
    line, arc = rounding_in_step(W, size.at_sizes, path[NUMBERS, LENGTH])
    err = error_norm(ke, x, xe, W, size.at_sizes, run.rtol, loop.scale.kinds, line, arc, nq, nz)
    return OK if err <= 1.0 else NO_PATH


@leaf
def copy_from(path: mat, row: i8, x: vec, size: i8):
    """x = row of a path"""
    for k in range(size):
        x[k] = path[row, k]


@inner
def find_path(slots, model, run, loop):
    """Find the path from the current state over the singular position that is expected.

    One length of it may be too long for the tolerance, another too short for the rounding beside the position: of 175 runs
    of IFToMM A02 from bodies with RK45, rtol 2e-7 to 1e-12, one length left 9 before a position, three 1, five none.
    """
    status = NO_PATH
    for i in range(len(LENGTHS)):
        status = path_of_length(slots, model, run, loop, LENGTHS[i])
        if status != NO_PATH:
            return status
    return status


@inner
def path_of_length(slots, model, run, loop, times):
    """Find a path that is some times as long as the way to the position.

    A position behind the stop time need not be passed; the path may be longer.
    """
    size = model.size
    x, K, W = loop.state.x, loop.state.K, loop.state.W
    xe = loop.inside.x
    path, nodes = loop.passing.path, loop.passing.nodes
    h, nz = run.h_used, size.nq + size.nv
    forward = 1.0 if h > 0.0 else -1.0
    reach = abs(h) if run.retake != 0 else abs(run.t_stop - run.t)
    distance = abs(h) * expected(K, run.last_stage, size.nrow - 1, run.alarm, nodes)
    placed, where, r, length = False, 0.0, 0, 0.0
    for _ in range(LOOKS):
        length = max(times * distance, abs(h))
        r = widest(distance / length)
        clear = clearance(r, distance / length)
        begin_path(path, run.t, forward * length, r, x, K, nz)
        status = first_guess(slots, model, run, loop, r)
        if status != OK:
            return status
        where = singular_at(path, r)
        distance = where * length
        if where <= 0.0 or distance > 1.05 * reach:
            return NOTHING
        if where < 1.0 and clearance(r, where) > 0.6 * clear:
            placed = True
            break
    if not placed:
        return NOTHING if where >= 1.0 else NO_PATH
    status = collocate(slots, model, run, loop, r)
    if status != OK:
        return status
    where = singular_at(path, r)
    if where <= 0.0 or where * length >= reach or where >= 1.0:
        return NOTHING
    path[NUMBERS, WHERE] = where
    path[NUMBERS, CLEAR] = clearance(r, where)
    path[NUMBERS, PIECE] = min(1.0, SHORTER * abs(h) / length)
    status = misses(model, path, xe, W)
    if status == OK or asks_for_function(status):
        return status
    return MISSED if status == NARROW_MISS else NO_PATH
