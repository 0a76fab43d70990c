"""The modes of switches where a run stands: those of their signs, or of the side to which the field leads; and what is watched.

A mode is a number in data (see `model.switchboard`): ±∞ of a switch that is followed, NaN of one along which the motion goes
(`kernels.sliding`), and less than `ASLEEP` of a select that sleeps (`wake`), of which what is watched is 1.
"""

from __future__ import annotations

import math

from ..errors import NOT_FINITE, OK
from ..kernels.evaluate import asks_for_function, evaluate
from ..kernels.signatures import EVENTS, call_model
from ..kernels.sliding import (
    MOST_ALONG,
    adds_up,
    equality_of,
    how_many_along,
    is_along,
    is_equality,
    likeness,
    nothing_watched,
    share_of,
    sleeps,
    sliding,
)
from ..native.marks import inner, leaf
from ..native.types import f8, i8, mat
from .after_events import event_rates, write_event
from .event_search import CHECK, COUNTED, DIRECTION, FIRED, HOLDS_AT_ZERO, LEAD, NEVER, SIGN, START, STOPS, TRIAL, sign_of
from .lenience import NO_MODE

# How a change is written among the events, behind their numbers: of each switch, whether it is true from here on, 2 more where it
# did not cross zero but counts from here on, or no longer; ALONG where the motion goes along it from here on, and TO_SLEEP where a
# select is left to its values.
TIRED = -0.0  # the mode of a select that does not wake again; any other number would decide where two values are equal
TINY = 1e-305  # a value next to 0
CODES, ALONG, TO_SLEEP = 8, 4, 5
SAME = 1e-9  # values, beside the fastest of the state, of switches that are zero together
NUDGE, ALIKE = 1e-6, 1e-3  # of a state, to see which functions change alike; of these changes, what they may differ by
WEIGHTS, OTHERS = 0.7548776662466927, 0.5698402909980532  # of squares, whose fractions have no equal differences
ENDED = -1e280  # the mode of an equality that has just held
BY_ROUNDING = 1e-9  # of shares: what they may be beyond 0 and 1 where a motion along a switch begins
AHEAD = 1e-6  # of a step: where a switch is looked at that has no value here, or one beside another


@inner
def enter_modes(model, run, state, events, again):
    """Give every switch the mode of its sign where the run stands; of one that is zero, of the side to which the field leads.

    Where the field leads to neither side or to both, the comparison decides as it was written. `again` is 1 behind a jump of the
    state or of inputs: a motion along switches goes on over it if it can. A function may have to be compiled first.
    """
    size, ev, ev_f = model.size, events.marks, events.values
    nev, at = size.n_events, size.at_modes
    first = nev - size.n_switches
    if size.n_switches == size.n_selects and run.awake == 0:
        return OK
    for j in range(size.n_switches):
        ev[FIRED, first + j] = 0
        if is_equality(model, j):
            if again == 0 or not along_equality(model, j):
                model.data[at + j] = -math.inf
        elif not sleeps(model, j) and (again == 0 or not is_along(model, j)):  # where both sides are equal, too
            model.data[at + j] = NO_MODE if ev[STOPS, first + j] == HOLDS_AT_ZERO else -NO_MODE
    if again != 0 and sliding(model) >= 0:
        status = leave_along(model, run, state, events)
        if status != OK:
            return status
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    for k in range(first, nev):
        has_left = ev[FIRED, k] != 0
        ev[FIRED, k] = 0
        if not (has_left or sleeps(model, k - first) or is_along(model, k - first) or is_equality(model, k - first)):
            model.data[at + k - first] = math.inf if ev_f[TRIAL, k] > 0.0 else -math.inf
            ev[FIRED, k] = 1 if ev_f[TRIAL, k] == 0.0 else 0
    status = enter_at_zero(model, run, state, events)
    if status != OK:
        return status
    settle_sides(model, run, state, events, 0)
    return OK


@inner
def settle_sides(model, run, state, events, writes):
    """Give switches that are not zero the mode of their side: what counts depends on others. Those that are marked are left."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev, at = size.n_events, size.at_modes
    first, fastest = nev - size.n_switches, 1.0
    for i in range(size.nq + size.nv):
        fastest = max(fastest, abs(state.K[0, i]))
    for _ in range(size.n_switches):
        call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
        settled = True
        for k in range(first, nev):
            value, j = ev_f[TRIAL, k], k - first
            if not abs(value) > SAME * fastest or ev[FIRED, k] != 0 or sleeps(model, j) or is_along(model, j):
                continue
            if value * model.data[at + j] < 0.0:
                model.data[at + j] = math.copysign(math.inf, value)
                if writes != 0:
                    write_mode(model, run, state, events, j, 2)
                settled = False
        if settled:
            return


@inner
def along_equality(model, equality):
    """Tell whether the motion goes along a switch of which this is the equality."""
    for j in range(model.size.n_switches):
        if is_along(model, j) and equality_of(model, j) == equality:
            return True
    return False


@inner
def leave_along(model, run, state, events):
    """Of the switches along which the motion went up to a jump, let those leave to their side of which it is no mean any more.

    They are marked. One whose own function has jumped is left to its sign. A function may have to be compiled first.
    """
    size, ev, ev_f, data = model.size, events.marks, events.values, model.data
    nev, at = size.n_events, size.at_modes
    first, fastest = nev - size.n_switches, 1.0
    for i in range(size.nq + size.nv):
        fastest = max(fastest, abs(state.K[0, i]))
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    for k in range(first, nev):
        if is_along(model, k - first) and not abs(ev_f[TRIAL, k]) <= SAME * fastest:
            data[at + k - first] = NO_MODE
            end_hold(model, k - first)
    while sliding(model) >= 0:
        if not joins(model, run, state):
            for j in range(size.n_switches):
                if is_along(model, j):
                    data[at + j] = NO_MODE
                    end_hold(model, j)
            return OK
        for k in range(first, nev):
            if is_along(model, k - first):
                share = share_of(model, state.W, k - first)
                ev[FIRED, k] = 1 if share > 1.0 else (-1 if share < 0.0 else 0)
        settled = True
        for k in range(first, nev):
            if is_along(model, k - first) and ev[FIRED, k] != 0:
                data[at + k - first] = ev[FIRED, k] * math.inf
                end_hold(model, k - first)
                settled = False
        if settled:
            return OK
    return OK


@inner
def enter_at_zero(model, run, state, events):
    """Give the switches that are marked as zero the mode of the side to which the field leads."""
    size, ev = model.size, events.marks
    nev, at = size.n_events, size.at_modes
    first = nev - size.n_switches
    forward = 1.0 if run.t_stop >= run.t else -1.0
    for k in range(first, nev):
        if ev[FIRED, k] == 0 or was_before(model, ev, k):
            continue
        if holds_at(model, run, state, events, k - first, 0):
            continue
        falls = rises = 0.0
        for side in range(2):
            take_side_awake(model, k - first, 2 * side - 1)
            status = evaluate(model, run, run.t, state.x, state.K, 0, state.W)
            if asks_for_function(status):
                return status
            if status == OK:
                event_rates(model, run, state, events)
                if side == 1:
                    rises = forward * events.rates[k]
                else:
                    falls = -forward * events.rates[k]
        if falls < 0.0 and rises < 0.0 and size.may_slide != 0 and may_join(model):
            model.data[at + k - first] = math.nan
            if joins(model, run, state):
                continue
        below, above = falls > 0.0 or (falls == 0.0 and rises < 0.0), rises > 0.0 or (rises == 0.0 and falls < 0.0)
        if below != above:
            take_side_awake(model, k - first, 1 if above else -1)
            continue
        for other in range(k, nev):
            if ev[FIRED, other] == 0 or (other != k and likeness(model, k - first, other - first) == 0):
                continue
            if other - first >= size.n_switches - size.n_selects:
                model.data[at + other - first] = TIRED  # it is neither: its values decide
                run.awake -= 1
            else:
                model.data[at + other - first] = math.inf if ev[STOPS, other] == HOLDS_AT_ZERO else -math.inf
    run.evaluated = 0
    return OK


@inner
def was_before(model, ev, k):
    """Tell whether one of the switches before it that are marked as zero is alike."""
    first = model.size.n_events - model.size.n_switches
    for j in range(first, k):
        if ev[FIRED, j] != 0 and likeness(model, j - first, k - first) != 0:
            return True
    return False


@inner
def take_side_awake(model, j, side):
    """Give switch j, and those that are alike and awake, the modes where it is true (1) or false (-1)."""
    at = model.size.at_modes
    for k in range(model.size.n_switches):
        alike = 1 if k == j else likeness(model, j, k)
        if alike != 0 and not sleeps(model, k) and not is_along(model, k):
            model.data[at + k] = alike * side * math.inf


@leaf
def known(value: f8):
    """A value, or 0 where there is none: at the zero of a switch, one inside its branch may be NaN by rounding."""
    return value if value == value else 0.0


@inner
def arm_switches(model, run, state, events):
    """Note on which side of zero switches start; one that is zero goes on to the side of its mode."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    first = nev - size.n_switches
    if nothing_watched(size, run):
        return
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, TRIAL * nev)
    run.event_past = 0.0
    run.event_reach = 0.0
    if sliding(model) >= 0:  # for α
        evaluate(model, run, run.t, state.x, state.K, 0, state.W)
    watch_others(model, run, state, events)
    for k in range(first, nev):
        if is_along(model, k - first):
            arm_along(model, state, ev, ev_f, k)
            continue
        value = known(ev_f[TRIAL, k])
        mode = sign_of(model.data[size.at_modes + k - first])
        if sleeps(model, k - first):
            mode = 1  # its value is 1
        ev_f[START, k] = value
        ev[SIGN, k], ev[LEAD, k], ev[FIRED, k] = mode if sign_of(value) == mode else COUNTED, mode, 0


@inner
def write_mode(model, run, state, events, j, how):
    """Write down the mode that switch j has from here on; `how` is 0 where it has changed, 2 where it counts from here on."""
    size, mode = model.size, model.data[model.size.at_modes + j]
    code = TO_SLEEP if sleeps(model, j) else ALONG if mode != mode else how + (1 if mode > 0.0 else 0)
    write_event(events, run, size.n_events + CODES * j + code, run.t, state.x, state.K, 0, size)


@inner
def holds_at(model, run, state, events, j, writes):
    """Let the motion stay on switch j, zero here, if the branch taken at equality can hold it there; tell whether it can."""
    size, data = model.size, model.data
    equality = equality_of(model, j)
    if equality < 0 or data[size.at_modes + equality] == ENDED:
        return False
    mode = data[size.at_modes + j]
    if size.may_slide != 0 and may_join(model):
        data[size.at_modes + j], data[size.at_modes + equality] = math.nan, math.inf
        settle_sides(model, run, state, events, writes)
        if joins(model, run, state):
            share = share_of(model, state.W, j)
            if share >= 0.0 and share <= 1.0:
                return True
        data[size.at_modes + j] = mode
    data[size.at_modes + equality] = -math.inf
    settle_sides(model, run, state, events, writes)
    if evaluate(model, run, run.t, state.x, state.K, 0, state.W) == NOT_FINITE:  # it keeps others from dividing by zero
        data[size.at_modes + equality] = -NO_MODE
        settle_sides(model, run, state, events, writes)
    return False


@inner
def end_hold(model, j):
    """Let the branch at equality hold the motion along switch j no longer, nor again at this instant."""
    equality = equality_of(model, j)
    if equality >= 0:
        model.data[model.size.at_modes + equality] = ENDED


@inner
def leave_equality(model, j):
    """Switch j, zero here, changes: the branch at equality is left out unless it holds the motion."""
    equality = equality_of(model, j)
    if equality >= 0 and model.data[model.size.at_modes + equality] != ENDED:
        model.data[model.size.at_modes + equality] = -math.inf


@inner
def forget_holds(model):
    """Let what has held hold again: time has gone on. Nor do values decide any more of an equality."""
    for j in range(model.size.n_switches):
        if is_equality(model, j) and model.data[model.size.at_modes + j] < 0.0:
            model.data[model.size.at_modes + j] = -math.inf


@inner
def write_equality(model, run, state, events, j):
    """Write down whether the branch at equality holds the motion along switch j from here on."""
    equality = equality_of(model, j)
    if equality >= 0:
        write_mode(model, run, state, events, equality, 2)


@inner
def may_join(model):
    """Tell whether there is room for another switch along which the motion goes."""
    size = model.size
    return how_many_along(model) < min(MOST_ALONG, size.n_switches)


@inner
def joins(model, run, state):
    """Tell whether the motion can go along all switches that are marked so: what they change has to add up."""
    K, W = state.K, state.W
    if evaluate(model, run, run.t, state.x, K, 0, W) != OK:
        return False
    if how_many_along(model) > 1:
        if not adds_up(model, run, run.t, state.x, K, 0, W):
            return False
        if evaluate(model, run, run.t, state.x, K, 0, W) != OK:
            return False
    return True


@inner
def still_add_up(model, run, t, x, K, W):
    """Tell whether what the switches change along which the motion goes adds up at (t, x), too; row 0 of K is used up."""
    if how_many_along(model) < 2 or evaluate(model, run, t, x, K, 0, W) != OK:
        return True
    return adds_up(model, run, t, x, K, 0, W)


@inner
def arm_along(model, state, ev, ev_f, k):
    """Of a switch along which the motion goes, α (1 - α) is watched, which is positive."""
    share = share_of(model, state.W, k - model.size.n_events + model.size.n_switches)
    value = share * (1.0 - share)
    ev_f[START, k] = value
    # where another change has left no such motion it ends at once; where it has just begun, rounding may say so
    ev[SIGN, k], ev[LEAD, k], ev[FIRED, k] = 1 if value > 0.0 or value < -BY_ROUNDING else COUNTED, 1, 0


@inner
def arm_at_zero(model, run, events, k):
    """A switch that is zero, and that the field leads back over it from the side of its mode, changes at once.

    Were it left to the values in the next step, it might have come back when it is looked at first.
    """
    mode = events.marks[LEAD, k]
    forward = 1.0 if run.t_stop >= run.t else -1.0
    if events.marks[SIGN, k] == COUNTED and forward * mode * events.rates[k] < 0.0:
        events.marks[SIGN, k] = mode
        events.values[START, k] = -mode * TINY


@inner
def rates_here(model, run, state, events):
    """Time derivatives of all that is watched, where the field has just been evaluated."""
    size = model.size
    if sliding(model) < 0:
        event_rates(model, run, state, events)
        return
    for k in range(2 * size.n_events):
        events.rates[k] = state.W[size.at_sliding + k]


@inner
def watch_others(model, run, state, events):
    """Do not watch switches that are zero along those on which the motion goes, as `v < 0` beside `v > 0`; all others are."""
    size, ev, ev_f = model.size, events.marks, events.values
    nev = size.n_events
    first = nev - size.n_switches
    for k in range(first, nev):
        ev[DIRECTION, k] = 0
    if sliding(model) < 0:
        return
    # The same function, but for a factor: it changes with the state as that one does, whichever way.
    W, at, fastest = state.W, size.at_sliding + 4 * nev, 1.0
    for i in range(size.nq + size.nv):
        fastest = max(fastest, abs(state.K[0, i]))
    call_model(model, EVENTS, run.t, state.x, 0, state.K, size.nq, ev_f, START * nev)
    for way in range(2):
        for i in range(size.nq + size.nv):
            weight = (WEIGHTS if way == 0 else OTHERS) * (i + 1) * (i + 1)
            W[at + i] = state.x[i] + NUDGE * (1.0 + abs(state.x[i])) * (0.5 + weight - math.floor(weight))
        call_model(model, EVENTS, run.t, W, at, state.K, size.nq, ev_f, (CHECK + way) * nev)
    for k in range(first, nev):
        if is_along(model, k - first) or not abs(ev_f[START, k]) <= SAME * fastest:
            continue
        for j in range(first, nev):
            if is_along(model, j - first) and changes_alike(ev_f, k, j):
                ev[DIRECTION, k] = NEVER
    for k in range(first, nev):
        for j in range(first, nev):
            if k != j and is_along(model, j - first) and likeness(model, j - first, k - first) != 0:
                ev[DIRECTION, k] = NEVER


@leaf
def changes_alike(ev_f: mat, k: i8, j: i8):
    """Tell whether two functions have changed by one ratio from the start in both checks."""
    one, other = ev_f[CHECK, k] - ev_f[START, k], ev_f[CHECK, j] - ev_f[START, j]
    two, another = ev_f[CHECK + 1, k] - ev_f[START, k], ev_f[CHECK + 1, j] - ev_f[START, j]
    return one * other != 0.0 and abs(one * another - two * other) <= ALIKE * abs(one * another)
