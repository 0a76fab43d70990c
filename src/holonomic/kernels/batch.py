"""The loop over ensemble members: each from its own start and data, all in one set of arrays.

Members do not see each other, so their numbers are the same in whatever order and on however many threads
they run. A member that fails leaves its status behind and the loop goes on.
"""

from __future__ import annotations

import math

from ..errors import DONE, EVENT, MORE, NEED_REFINED, NEED_TERMS, NOT_FINITE, OK
from .compile import inner, leaf
from .control import first_step
from .drive import drive
from .evaluate import evaluate
from .locate import AT_START, CAME, DIRECTION, LEAD, NEXT, SIGN, START, STOPS, has_nan, sign_of
from .looking import GLANCE, LONGEST_LOOK, hands_over, turned_stiff
from .signatures import EVENT_RATES, EVENTS, call_model
from .vectors import write_row

PLENTY = 1 << 62
# what a member may be left with besides the statuses of `drive`
MANY_EVENTS = 101  # more events than there is room for
BY_PYTHON = 102  # an event function of accelerations starts at zero: dealt with outside
UNREADY = 103  # a start that is not clearly fine: looked into outside
HANDED_OVER = 104  # the automatic choice has to look at it, and perhaps to change the method
HALTED = 105  # Ctrl-C came before its end
SLICE = 50  # steps between two looks for Ctrl-C: of 20 ms each a second, of 1 µs each without measurable cost
# what is noted of a member, in the first columns: since when it is stiff (NaN: it is not), and the smallest pivot ratio,
# the largest one, time and step of the smallest; state and slope there follow where there is room
STIFF_SINCE, LEAST, MOST_RATIO, AT_LEAST, STEP_LEAST, NOTED = 0, 1, 2, 3, 4, 5
UNCLEAR_RATE = 1e-14  # of the sum of sizes: a derivative below this may be rounding


@leaf
def enter_tables(m, t, forward, data, at_table, first_time, times, VALUES):
    """Enter the piece of every tabulated input that begins at t: value, slope and time, three numbers in data."""
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


@inner
def arm_events(fns, size, data, run, x, K, ev, ev_f, rates, forward):
    """Note on which side of zero the event functions start, and to which side those at zero leave it."""
    nev, nq = size.n_events, size.nq
    call_model(fns, EVENTS, run.t, x, 0, K, nq, data, ev_f, 0)
    if has_nan(ev_f, START, nev):
        return NOT_FINITE
    at_zero = False
    for k in range(nev):
        ev[SIGN, k] = sign_of(ev_f[START, k])
        ev[LEAD, k] = ev[NEXT, k] = ev[CAME, k] = 0
        at_zero = at_zero or ev_f[START, k] == 0.0
    if at_zero:
        if run.event_field != 0:
            return BY_PYTHON
        call_model(fns, EVENT_RATES, run.t, x, 0, K, nq, data, rates, 0)
        for k in range(nev):
            if ev_f[START, k] == 0.0:
                ev[SIGN, k] = AT_START
                if abs(rates[k]) > UNCLEAR_RATE * rates[nev + k]:
                    ev[LEAD, k] = sign_of(rates[k] * forward)
    return OK


@inner
def keep_events(m, size, run, rec_t, rec_i, rec_x, rec_k, EV_N, EV_T, EV_I, EV_X, EV_K):
    """Move the events of the last stretch to those of the member; False: there is no more room."""
    for row in range(run.event_rows):
        at = EV_N[m]
        if at >= EV_T.shape[1]:
            return False
        EV_T[m, at], EV_I[m, at] = rec_t[row], rec_i[row]
        for i in range(size.nx):
            EV_X[m, at, i] = rec_x[row, i]
        for i in range(size.nk):
            EV_K[m, at, i] = rec_k[row, i]
        EV_N[m] = at + 1
    run.event_rows = 0
    return True


@inner
def note_ends(m, size, run, x, K, ev, ev_f, rec_t, rec_i, rec_x, rec_k, ENDED):
    """Write down events whose functions are zero exactly where the run ends; a terminal one is what ended it."""
    for k in range(size.n_events):
        sign, wanted = ev[SIGN, k], ev[DIRECTION, k]
        if (sign == 1 or sign == -1) and ev_f[START, k] == 0.0 and (wanted == 0 or wanted == -sign):
            write_row(rec_t, rec_x, rec_k, run.event_rows, run.t, x, K, 0, size.nq, size.nx, size.nk)
            rec_i[run.event_rows] = k
            run.event_rows += 1
            if ev[STOPS, k] != 0 and ENDED[m] < 0:
                ENDED[m] = k


@inner
def begin(fns, size, data, run, order, at_lam, x, xn, K, W, atol):
    """Evaluate the first point and choose the first step."""
    nz = size.nq + size.nv
    t = run.t
    status = evaluate(fns, size, t, x, data, K, 0, W)
    if status != OK:
        return status
    run.evaluated = 1
    run.rho_least = min(run.rho_least, K[0, size.nrow - 1])
    run.rho_most = run.rho_least
    if at_lam >= 0:
        for i in range(size.nl):
            x[at_lam + i] = K[0, nz + i]
    if run.fixed == 0:
        forward = 1.0 if run.t_stop >= t else -1.0
        most = min(run.h_max, abs(run.t_stop - t))
        row = K[0]
        h = first_step(x, row, row, order, atol, run.rtol, forward, most, nz, 0)
        for i in range(nz):
            xn[i] = x[i] + h * K[0, i]
        status = evaluate(fns, size, t + h, xn, data, K, 1, W)
        if status == OK:
            h = first_step(x, row, K[1], order, atol, run.rtol, forward, most, nz, 1)
        run.h = h
    return status


@inner
def run_member(m, slots, fns, size, data, ip, fp, sp, order, at_lam, remembers, stops, at_table, first_time, times, VALUES, run,
               x, xn, xs, K, E, W, atol, turns, rec_t, rec_x, rec_k, save_t, ev, ev_f, rates, found_theta, found, xe, ke,
               rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k, passing, looks, why, positions, LOOK, spare, halt, ENDED, EV_N, EV_T,
               EV_I, EV_X, EV_K):  # fmt: skip
    """Run member m from x, with S and I as every run has them at its start; return its status.

    It ends early when halt[0] is set; an empty `halt` is never looked at. With `looks` the automatic choice is asked on the
    way, first after LOOK[m] steps, as in a single run; see `looking`.
    """
    nx, nq, nk, nev = size.nx, size.nq, size.nk, size.n_events
    # nothing is remembered of another member
    W[size.at_state + nx] = W[size.at_state + nx + 1] = 0.0
    for row in range(1, K.shape[0]):
        for i in range(K.shape[1]):
            K[row, i] = 0.0
    forward = 1.0 if run.t_stop >= run.t else -1.0
    ENDED[m] = -1
    EV_N[m] = 0
    enter_tables(m, run.t, forward, data, at_table, first_time, times, VALUES)
    status = begin(fns, size, data, run, order, at_lam, x, xn, K, W, atol)
    if status == NEED_REFINED or status == NEED_TERMS or run.evaluated == 0:
        return status
    status = OK
    if save_t.shape[0] > 0 and save_t[0] == run.t:
        write_row(rec_t, rec_x, rec_k, 0, run.t, x, K, 0, nq, nx, nk)
        run.rows = 1
        run.saved = 1
    run.quota = SLICE if halt.shape[0] > 0 else PLENTY
    if nev > 0:
        status = arm_events(fns, size, data, run, x, K, ev, ev_f, rates, forward)
    stretch = 0
    since, steps, ahead = run.t, 0, 0
    while status == OK:
        run.t_stop = stops[stretch]
        if looks:
            ahead = LOOK[m]
            run.quota = min(ahead, GLANCE)
        if run.fixed != 0:
            run.t_base = run.t
            run.step_number = 0
        status = MORE
        while status == MORE:
            status = drive(slots, fns, size, data, ip, fp, sp, run, x, xn, xs, K, E, W, atol, turns, rec_t, rec_x, rec_k,
                           save_t, ev, ev_f, found_theta, found, xe, ke, rec_ev_t, rec_ev_i, rec_ev_x,
                           rec_ev_k, passing)  # fmt: skip
            if nev > 0:
                if status == EVENT:
                    for row in range(run.event_rows):
                        k = rec_ev_i[row]
                        if ENDED[m] < 0 and rec_ev_t[row] == run.t and ev[STOPS, k] != 0:
                            ENDED[m] = k
                room = keep_events(m, size, run, rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k, EV_N, EV_T, EV_I, EV_X, EV_K)
                if room and status == DONE and stretch == stops.shape[0] - 1:
                    note_ends(m, size, run, x, K, ev, ev_f, rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k, ENDED)
                    room = keep_events(m, size, run, rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k, EV_N, EV_T, EV_I, EV_X, EV_K)
                if not room:
                    status = MANY_EVENTS
            if halt.shape[0] > 0 and status == MORE:
                if halt[0] != 0:
                    return HALTED
                if not looks and run.quota <= 0:
                    run.quota = SLICE
            if looks and status == MORE and run.quota <= 0:
                t_end = stops[stops.shape[0] - 1]
                ahead -= min(ahead, GLANCE)
                if ahead > 0:
                    if turned_stiff(t_end, run):  # what the next look will find: no more steps in vain
                        return HANDED_OVER
                else:
                    if hands_over(why, t_end, since, steps, fns, size, data, run, x, xe, K, W, positions, spare):
                        return HANDED_OVER
                    LOOK[m] = ahead = min(2 * LOOK[m], LONGEST_LOOK)
                    since, steps = run.t, run.accepted
                run.quota = min(ahead, GLANCE)
        if status == DONE and stretch < stops.shape[0] - 1:
            stretch += 1
            enter_tables(m, run.t, forward, data, at_table, first_time, times, VALUES)
            run.evaluated = 0
            if remembers:
                for row in range(1, K.shape[0] - 2):  # the last two hold what is noted
                    for i in range(K.shape[1]):
                        K[row, i] = 0.0
            status = OK
    return status


@leaf
def run_members(first, last, slots, fns, size, ip, fp, sp, DATA, X0, at_lam, beginning, order, remembers, stops, tables, data,
                memory, x, xn, xs, K, E, W, atol, turns, rec_t, save_t, ev, ev_f, rates, found_theta, found, xe, ke,
                rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k, passing, looks, why, positions, LOOK, spare, halt, NOTES_OF, OUT_X,
                OUT_K, STATUS, REACHED, STEPS, SAVED_ROWS, ENDED, EV_N, EV_T, EV_I, EV_X, EV_K):  # fmt: skip
    """Run members first .. last-1; what they saved goes to OUT_X and OUT_K, member by member.

    Where λ is an unknown, it stands at_lam in x and starts from the field; -1: it is not, or X0 has it. `stops` are
    the times at which a stretch ends: breaks of tabulated inputs, and the end. `tables` holds where each table stands
    in data, where its times begin, the times, and the values, (member, time).
    """
    at_table, first_time, times, VALUES = tables
    run = memory[0]
    for m in range(first, last):
        if halt[0] != 0:
            STATUS[m] = HALTED
            continue
        for i in range(DATA.shape[1]):
            data[i] = DATA[m, i]
        for i in range(size.nx):
            x[i] = X0[m, i]
        memory[0] = beginning[0]
        STATUS[m] = run_member(
            m, slots, fns, size, data, ip, fp, sp, order, at_lam, remembers, stops, at_table, first_time, times, VALUES, run,
            x, xn, xs, K, E, W, atol, turns, rec_t, OUT_X[m], OUT_K[m], save_t, ev, ev_f, rates, found_theta, found, xe,
            ke, rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k, passing, looks, why, positions, LOOK, spare, halt, ENDED, EV_N,
            EV_T, EV_I, EV_X, EV_K,
        )  # fmt: skip
        REACHED[m] = run.t
        STEPS[m] = run.accepted + run.rejected
        SAVED_ROWS[m] = run.rows
        note(m, size, run, K, NOTES_OF)


@inner
def note(m, size, run, K, NOTES_OF):
    """Write down what may have to be told of member m."""
    NOTES_OF[m, STIFF_SINCE] = run.t_stiff if run.is_stiff != 0 else math.nan
    if NOTES_OF.shape[1] > NOTED:
        NOTES_OF[m, LEAST] = run.rho_least
        NOTES_OF[m, MOST_RATIO] = run.rho_most
        NOTES_OF[m, AT_LEAST] = run.t_least
        NOTES_OF[m, STEP_LEAST] = run.h_least
        nz, bottom = size.nq + size.nv, K.shape[0] - 2
        for i in range(nz):
            NOTES_OF[m, NOTED + i] = K[bottom, i]
            NOTES_OF[m, NOTED + nz + i] = K[bottom + 1, i]


@leaf
def along_members(fns, which, times, X, B, DATA, tables, forward, data, OUT):
    """Model function `which` at all times of all members: OUT[m, i] = f(times[i], X[m, i], B[m, i]); NaN where X is."""
    at_table, first_time, table_times, VALUES = tables
    nx, nb, size = X.shape[2], B.shape[2], OUT.shape[2]
    for m in range(X.shape[0]):
        for i in range(DATA.shape[1]):
            data[i] = DATA[m, i]
        for i in range(times.shape[0]):
            row = m * times.shape[0] + i
            if X[m, i, 0] == X[m, i, 0]:
                enter_tables(m, times[i], forward, data, at_table, first_time, table_times, VALUES)
                call_model(fns, which, times[i], X, row * nx, B, row * nb, data, OUT, row * size)
            else:
                for j in range(size):
                    OUT[m, i, j] = X[m, i, 0]
