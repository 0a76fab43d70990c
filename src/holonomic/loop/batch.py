"""The loop over ensemble members: each from its own start and data, all in one set of arrays.

Members do not see each other, so their numbers are the same in whatever order and on however many threads
they run. A member that fails leaves its status behind and the loop goes on.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import DONE, EVENT, MORE, NOT_FINITE, OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import RUN
from ..kernels.signatures import EVENT_ARRAYS, EVENT_RATES, EVENTS, LOOP, METHOD, MODEL, Record, call_function, call_model
from ..kernels.sizes import OFTEN
from ..kernels.sliding import nothing_watched
from ..kernels.vectors import write_row
from ..native.marks import entry, inner, leaf
from ..native.types import Array, Group, cube, f8, i8, int_mat, ints, mat, vec
from .automatic_looks import GLANCE, LOOKS, hands_over, next_look, turned_stiff
from .begin import begin
from .drive import drive
from .event_search import (
    AT_START,
    CAME,
    DIRECTION,
    JUMPS,
    LARGEST,
    LEAD,
    LEFT,
    NEXT,
    ROUGH,
    SIGN,
    START,
    STEP,
    STOPS,
    has_nan,
    sign_of,
)
from .sides import arm_switches, enter_modes

PLENTY = 1 << 62
# what a member may be left with besides the statuses of `drive`
MANY_EVENTS = 101  # more events than there is room for
BY_PYTHON = 102  # an event function of accelerations starts at zero: dealt with outside
UNREADY = 103  # a start that is not clearly fine: looked into outside
HANDED_OVER = 104  # the automatic choice has to look at it, and perhaps to change the method
HALTED = 105  # Ctrl-C came before its end
SLICE = 50  # steps between two looks for Ctrl-C: of 20 ms each a second, of 1 µs each without measurable cost
# what is noted of a member, in the first columns: since when it is stiff (NaN: it is not), and the smallest pivot ratio,
# the largest one, time and step of the smallest; the first event whose function was given up, and when (NaN: none was); what
# rounding left unknown of velocities, where that was more than asked for in many steps (NaN: it was not); state and slope at the
# smallest ratio follow where there is room
STIFF_SINCE, LEAST, MOST_RATIO, AT_LEAST, STEP_LEAST, LEFT_EVENT, LEFT_AT, UNKNOWN, NOTED = 0, 1, 2, 3, 4, 5, 6, 7, 8
UNCLEAR_RATE = 1e-14  # of the sum of sizes: a derivative below this may be rounding


class Tables(NamedTuple):
    """Tabulated inputs of members."""

    at: Any  # where each stands in data
    first: Any  # where its times begin, and where the last one ends
    times: Any
    values: Any  # (member, time)
    stops: Any  # times at which a stretch ends: breaks of tables, and the end


class Log(NamedTuple):
    """Events of members."""

    ended: Any  # number of the event that ended a run, -1: none
    count: Any
    t: Any
    index: Any
    x: Any
    k: Any


class Members(NamedTuple):
    """Where members begin."""

    data: Any
    x: Any
    beginning: Any  # memory of a run as every member begins with it, an array of one record
    memory: Any  # that of the one that runs


class Results(NamedTuple):
    """What members leave, at the times that are saved."""

    save_t: Any
    t: Any  # room for them
    dense: Any  # nothing
    x: Any
    k: Any
    status: Any
    reached: Any
    steps: Any
    rows: Any
    notes: Any


TABLES = Group(Tables, (ints, ints, vec, mat, vec))


@leaf
def enter_tables(m: i8, t: f8, forward: f8, data: vec, tables: TABLES):
    """Enter the piece of every tabulated input that begins at t: value, slope and time, three numbers in data."""
    at_table, first_time, times, VALUES = tables.at, tables.first, tables.times, tables.values
    for j in range(at_table.shape[0]):
        a, b = first_time[j], first_time[j + 1]
        low, high = a, b  # as many times as lie before t, or at t where time runs forward
        while low < high:
            middle = (low + high) // 2
            if times[middle] < t or (forward > 0.0 and times[middle] == t):
                low = middle + 1
            else:
                high = middle
        at = at_table[j]
        data[at + 1] = 0.0
        data[at + 2] = t
        if low == a:
            data[at] = VALUES[m, a]
        elif low == b:
            data[at] = VALUES[m, b - 1]
        else:
            data[at] = VALUES[m, low - 1]
            data[at + 1] = (VALUES[m, low] - VALUES[m, low - 1]) / (times[low] - times[low - 1])
            data[at + 2] = times[low - 1]


@leaf
def any_jumps(m: i8, t: f8, tables: TABLES):
    """Tell whether a tabulated input jumps at t: its time stands twice there."""
    first_time, times, VALUES = tables.first, tables.times, tables.values
    for j in range(tables.at.shape[0]):
        low, high = first_time[j], first_time[j + 1]
        while low < high:
            middle = (low + high) // 2
            if times[middle] < t:
                low = middle + 1
            else:
                high = middle
        if low + 1 < first_time[j + 1] and times[low] == t and times[low + 1] == t and VALUES[m, low] != VALUES[m, low + 1]:
            return True
    return False


@inner
def enter_jump(m, model, run, loop, record, events, forward, tables):
    """Enter inputs that jump here, and write (v', λ) anew where they have been written before the jump."""
    size, K = model.size, loop.state.K
    enter_tables(m, run.t, forward, model.data, tables)
    if size.n_switches > 0:
        status = enter_modes(model, run, loop.state, events, 1)
        if status != OK:
            return status
    status = evaluate(model, run, run.t, loop.state.x, K, 0, loop.state.W)
    if status != OK:
        run.last_status = status
        run.t_failed = run.t
        return status
    run.evaluated = 1
    if size.n_switches > 0:
        arm_switches(model, run, loop.state, events)
    if run.rows > 0 and run.saved > 0 and record.save_t[run.saved - 1] == run.t:
        for i in range(size.nk):
            record.k[run.rows - 1, i] = K[0, size.nq + i]
    return OK


@inner
def arm_events(model, run, state, events, forward):
    """Note on which side of zero the event functions start, and to which side those at zero leave it."""
    size = model.size
    x, K = state.x, state.K
    ev, ev_f, rates = events.marks, events.values, events.rates
    nev, nq = size.n_events, size.nq
    own = nev - size.n_switches
    if nothing_watched(size, run):
        return OK
    call_model(model, EVENTS, run.t, x, 0, K, nq, ev_f, 0)
    if has_nan(ev_f, START, own):
        return NOT_FINITE
    at_zero = False
    for k in range(nev):
        ev[SIGN, k] = sign_of(ev_f[START, k])
        ev_f[LARGEST, k], ev_f[LEFT, k] = abs(ev_f[START, k]), math.nan
        ev[LEAD, k] = ev[NEXT, k] = ev[CAME, k] = ev[ROUGH, k] = ev[JUMPS, k] = 0
        at_zero = at_zero or (k < own and ev_f[START, k] == 0.0)
        for i in range(2):
            ev_f[STEP + i, k] = 0.0
    if size.n_switches > 0:
        arm_switches(model, run, state, events)
    if at_zero:
        if run.event_field != 0:
            return BY_PYTHON
        call_model(model, EVENT_RATES, run.t, x, 0, K, nq, rates, 0)
        for k in range(own):
            if ev_f[START, k] == 0.0:
                ev[SIGN, k] = AT_START
                if abs(rates[k]) > UNCLEAR_RATE * rates[nev + k]:
                    ev[LEAD, k] = sign_of(rates[k] * forward)
    return OK


@inner
def keep_events(m, size, run, events, log):
    """Move the events of the last stretch to those of the member; False: there is no more room."""
    for row in range(run.event_rows):
        if events.index[row] >= size.n_events - size.n_switches:
            continue
        at = log.count[m]
        if at >= log.t.shape[1]:
            return False
        log.t[m, at], log.index[m, at] = events.t[row], events.index[row]
        for i in range(size.nx):
            log.x[m, at, i] = events.x[row, i]
        for i in range(size.nk):
            log.k[m, at, i] = events.k[row, i]
        log.count[m] = at + 1
    run.event_rows = 0
    return True


@inner
def note_ends(m, size, run, state, events, log):
    """Write down events whose functions are zero exactly where the run ends; a terminal one is what ended it."""
    x, K = state.x, state.K
    ev, ev_f = events.marks, events.values
    for k in range(size.n_events - size.n_switches):
        sign, wanted = ev[SIGN, k], ev[DIRECTION, k]
        if (sign == 1 or sign == -1) and ev_f[START, k] == 0.0 and (wanted == 0 or wanted == -sign):
            write_row(events.t, events.x, events.k, run.event_rows, run.t, x, K, 0, size.nq, size.nx, size.nk)
            events.index[run.event_rows] = k
            run.event_rows += 1
            if ev[STOPS, k] != 0 and log.ended[m] < 0:
                log.ended[m] = k


@inner
def run_member(m, slots, model, method, run, loop, record, events, tables, looks, halt, log):
    """Run member m from the x of its state, with `run` as every run has it at its start; return its status.

    It ends early when halt[0] is set; an empty `halt` is never looked at. Where looks are wanted the automatic choice is
    asked on the way, first after looks.steps[m] steps, as in a single run; see `automatic_looks`.
    """
    size = model.size
    K, stops, own = loop.state.K, tables.stops, size.n_events - size.n_switches
    # nothing is remembered of another member
    for row in range(1, K.shape[0]):
        for i in range(K.shape[1]):
            K[row, i] = 0.0
    forward = 1.0 if run.t_stop >= run.t else -1.0
    log.ended[m] = -1
    log.count[m] = 0
    enter_tables(m, run.t, forward, model.data, tables)
    if size.n_switches > 0:
        status = enter_modes(model, run, loop.state, events, 0)
        if status != OK:
            return status
    status = begin(model, run, loop, record)
    if status != OK:
        return status
    run.quota = SLICE if halt.shape[0] > 0 else PLENTY
    if size.n_events > 0:
        status = arm_events(model, run, loop.state, events, forward)
    stretch = 0
    since, steps, ahead = run.t, 0, 0
    while status == OK:
        run.t_stop = stops[stretch]
        if looks.wanted:
            ahead = looks.steps[m]
            run.quota = min(ahead, GLANCE)
        if run.fixed != 0:
            run.t_base = run.t
            run.step_number = 0
        status = MORE
        while status == MORE:
            status = drive(slots, model, method, run, loop, record, events)
            if size.n_events > 0:
                if status == EVENT:
                    for row in range(run.event_rows):
                        k = events.index[row]
                        if k < own and log.ended[m] < 0 and events.t[row] == run.t and events.marks[STOPS, k] != 0:
                            log.ended[m] = k
                room = keep_events(m, size, run, events, log)
                if room and status == DONE and stretch == stops.shape[0] - 1:
                    note_ends(m, size, run, loop.state, events, log)
                    room = keep_events(m, size, run, events, log)
                if not room:
                    status = MANY_EVENTS
            if halt.shape[0] > 0 and status == MORE:
                if halt[0] != 0:
                    return HALTED
                if not looks.wanted and run.quota <= 0:
                    run.quota = SLICE
            if looks.wanted and status == MORE and run.quota <= 0:
                t_end = stops[stops.shape[0] - 1]
                ahead -= min(ahead, GLANCE)
                if ahead > 0:
                    if turned_stiff(t_end, run):  # what the next look will find: no more steps in vain
                        return HANDED_OVER
                else:
                    if hands_over(looks, m, t_end, since, steps, model, run, loop):
                        return HANDED_OVER
                    looks.steps[m] = ahead = next_look(looks.why, looks.steps[m])
                    since, steps = run.t, run.accepted
                run.quota = min(ahead, GLANCE)
        if status == DONE and stretch < stops.shape[0] - 1:
            stretch += 1
            if run.remembers != 0:
                for row in range(1, K.shape[0] - 2):  # the last two hold what is noted
                    for i in range(K.shape[1]):
                        K[row, i] = 0.0
            status = OK
            if any_jumps(m, run.t, tables):
                status = enter_jump(m, model, run, loop, record, events, forward, tables)
            else:
                enter_tables(m, run.t, forward, model.data, tables)
                run.evaluated = 0
        elif status == DONE and any_jumps(m, run.t, tables):
            status = enter_jump(m, model, run, loop, record, events, forward, tables)
            status = DONE if status == OK else status
    return status


@entry(
    Group(None, (i8, i8)), ints, MODEL, METHOD, LOOP, EVENT_ARRAYS,
    Group(Members, (mat, mat, Array(RUN.type, 1), Array(RUN.type, 1))), TABLES, LOOKS, ints,
    Group(Results, (vec, vec, mat, cube, cube, ints, vec, ints, ints, mat)),
    Group(Log, (ints, ints, mat, int_mat, cube, cube)),
)  # fmt: skip
def run_members(span, slots, model, method, loop, events, members, tables, looks, halt, results, log):
    """Run members span[0] .. span[1]-1."""
    run, data, x = members.memory[0], model.data, loop.state.x
    for m in range(span[0], span[1]):
        if halt[0] != 0:
            results.status[m] = HALTED
            continue
        for i in range(data.shape[0]):
            data[i] = members.data[m, i]
        for i in range(x.shape[0]):
            x[i] = members.x[m, i]
        members.memory[0] = members.beginning[0]
        record = Record(results.t, results.x[m], results.k[m], results.dense, results.save_t)
        results.status[m] = run_member(m, slots, model, method, run, loop, record, events, tables, looks, halt, log)
        results.reached[m] = run.t
        results.steps[m] = run.accepted + run.rejected
        results.rows[m] = run.rows
        note(m, run, loop.state.K, results.notes, model.size.nq + model.size.nv)
        note_events(m, events.values, model.size.n_events - model.size.n_switches, results.notes)


@leaf
def note_events(m: i8, ev_f: mat, nev: i8, notes: mat):
    """Write down which event function was given up first, of those with the lowest number."""
    notes[m, LEFT_AT] = math.nan
    for k in range(nev):
        if math.isnan(notes[m, LEFT_AT]):
            notes[m, LEFT_EVENT], notes[m, LEFT_AT] = k, ev_f[LEFT, k]


@inner
def note(m, run, K, notes, nz):
    """Write down what may have to be told of member m."""
    notes[m, STIFF_SINCE] = run.t_stiff if run.is_stiff != 0 else math.nan
    notes[m, UNKNOWN] = run.known if OFTEN * run.rounded > run.accepted else math.nan
    if notes.shape[1] > NOTED:
        notes[m, LEAST] = run.rho_least
        notes[m, MOST_RATIO] = run.rho_most
        notes[m, AT_LEAST] = run.t_least
        notes[m, STEP_LEAST] = run.h_least
        bottom = K.shape[0] - 2
        for i in range(nz):
            notes[m, NOTED + i] = K[bottom, i]
            notes[m, NOTED + nz + i] = K[bottom + 1, i]


@entry(ints, i8, vec, cube, cube, mat, TABLES, f8, vec, cube)
def along_members(fns, which, times, X, B, DATA, tables, forward, data, OUT):
    """Model function `which` at all times of all members: OUT[m, i] = f(times[i], X[m, i], B[m, i]); NaN where X is."""
    nx, nb, size = X.shape[2], B.shape[2], OUT.shape[2]
    for m in range(X.shape[0]):
        for i in range(DATA.shape[1]):
            data[i] = DATA[m, i]
        for i in range(times.shape[0]):
            row = m * times.shape[0] + i
            if X[m, i, 0] == X[m, i, 0]:
                enter_tables(m, times[i], forward, data, tables)
                call_function(fns, which, times[i], X, row * nx, B, row * nb, data, OUT, row * size)
            else:
                for j in range(size):
                    OUT[m, i, j] = X[m, i, 0]
