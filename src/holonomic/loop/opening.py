"""How a run opens that is plain: its start is consistent, and the plan it begins with is the one that suits it.

What can be told of a start without Python is told here, so that a run asked for in words that are known begins, is looked at,
takes its first steps and is looked at on its way in one call of compiled code. Whatever is not plain is left to `starting` and
`automatic`: they find the same, and say what is wrong or choose otherwise.
"""

from __future__ import annotations

from ..errors import MORE
from ..kernels.consistent import distances
from ..kernels.signatures import RESIDUAL, call_function
from ..native.layout import REAL, WHOLE, Layout
from ..native.marks import inner
from .automatic_looks import (
    IF_LONG,
    IF_STIFF,
    IN_A_ROW,
    TELLING,
    WORTH,
    as_expected,
    is_at_limit,
    is_even,
    is_limited,
    is_rough,
    little_happens,
    look_at_start,
    look_beside,
    next_look,
    too_stiff,
)
from .drive import drive
from .fastest_rate import FASTEST, MOTION
from .fastest_rate import REAL as REAL_PART

ASIDE = -1  # status: the start is not plain
# what calls for another method: the start is stiff; on the way stability limits steps, or they meet corners of the forces, or a
# run is not as short as it seemed
STIFF, LIMITED, ROUGH, LONGER = 1, 2, 3, 4

OPENING = Layout("Opening", (
    ("tolerance", REAL, "largest distance of a consistent start from its constraints"),
    ("independent", REAL, "pivot ratio above which all their rows count as independent"),
    ("t_stop", REAL, "time at which the first stretch of steps ends"),
    ("turn", REAL, "how far a motion may turn in one step that is as long as accuracy allows, rad"),
    ("invariants", WHOLE, "place in data of the values at which invariants are kept"),
    ("positions", WHOLE, "entries of x that have their rates among the others"),
    ("may_be_short", WHOLE, "1 where runs in which little happens have a plan of their own"),
    ("is_short", WHOLE, "1 where this is the one"),
    ("crosses", WHOLE, "how the step loop notices singular positions, as the run has it"),
    ("quota", WHOLE, "steps that may be tried before Python is asked"),
    # looks on the way
    ("looks", WHOLE, "1 where they are taken"),
    ("t_end", REAL, "time at which the run ends"),
    ("interval", WHOLE, "steps from the last one to the next"),
    ("left", WHOLE, "how many of these are left"),
    ("least", REAL, "accurate step times the fastest rate, from which on an implicit method may take over"),
    ("keeps_order", WHOLE, "1 where corners of the forces are no reason to go on with a method of lower order"),
    ("corners", WHOLE, "1 where corners are why steps are short"),
    ("limited", WHOLE, "looks in a row that found steps at the limit of stability"),
    # what was found
    ("fastest", REAL, "fastest rate at the start, 1/s"),
    ("real", REAL, "its real part"),
    ("accurate", REAL, "the step that accuracy would allow, s"),
    ("little", WHOLE, "1 where little happens to the end"),
    ("verdict", WHOLE, "what calls for another method; 0: nothing"),
    ("fastest_later", REAL, "fastest rate where another method may take over, 1/s"),
    ("real_later", REAL, "its real part"),
    ("accurate_later", REAL, "the step that accuracy would allow there, s"),
    ("little_later", WHOLE, "1 where little happens from there to the end"),
))  # fmt: skip


@inner
def is_consistent(opening, fns, size, run, x, data, F, r, seen):
    """Tell whether a start is on its constraints, and these are independent."""
    distances(fns, run.t, x, data, F, r, seen, (size.nh, size.n_position, size.nl, size.nc, size.nq, size.nv))
    return seen[0] > opening.independent and seen[1] <= opening.tolerance and seen[2] <= opening.tolerance


@inner
def keep_invariants(opening, fns, size, run, x, data, r):
    """Note the values of the invariants where a run starts: those at which they are kept."""
    count = size.n_position - size.nh
    for i in range(count):
        data[opening.invariants + i] = 0.0
    call_function(fns, RESIDUAL, run.t, x, 0, x, 0, data, r, 0)
    for i in range(count):
        data[opening.invariants + i] = r[size.nh + i]


@inner
def accurate_step(turn, motion, left):
    """Return the step that accuracy allows for a motion of this rate, at most as long as the time that is left."""
    return min(left, turn / motion) if 0.0 < motion and motion < 1e308 else left


@inner
def suits(opening, model, run, loop, seen):
    """Tell whether the explicit plan that a run has begun with is the one that `automatic` would take; note what was found."""
    size, state = model.size, loop.state
    left = run.t_stop - run.t
    look_at_start(model, run, run.t, state, loop.inside.x, opening.positions, left, seen)
    forward = 1.0 if left >= 0.0 else -1.0
    fastest, real, motion, left = seen[FASTEST], forward * seen[REAL_PART], seen[MOTION], abs(left)
    accurate = accurate_step(opening.turn, motion, left)
    little = little_happens(fastest, real, motion, left)
    opening.fastest, opening.real, opening.accurate = fastest, real, accurate
    opening.little = 1 if little else 0
    short = little and opening.may_be_short != 0
    if short != (opening.is_short != 0):
        return False
    if too_stiff(size.nq + size.nv, fastest, real, accurate, left, short):
        opening.verdict = STIFF
        return False
    return True


@inner
def go_on(opening, slots, model, method, run, loop, record, events, seen, spare):
    """Take steps, and look on the way where that is asked for, until Python has to know of something; return a status.

    MORE with a verdict: another method may take over. Looks come after the same steps wherever Python interrupts the loop.
    """
    if opening.looks == 0:
        return drive(slots, model, method, run, loop, record, events)
    while True:
        rest, given = run.quota, min(run.quota, opening.left)
        run.quota = given
        status = drive(slots, model, method, run, loop, record, events)
        used = given - run.quota
        run.quota = rest - used
        opening.left -= used
        if status != MORE or opening.left > 0:
            return status
        opening.interval = next_look(IF_LONG if opening.is_short != 0 else IF_STIFF, opening.interval)
        opening.left = opening.interval
        opening.verdict = verdict_on_the_way(opening, model, run, loop, seen, spare)
        if opening.verdict != 0 or run.quota <= 0:
            return status


@inner
def verdict_on_the_way(opening, model, run, loop, seen, spare):
    """Look at an explicit run on its way; return what calls for another method, 0 for nothing."""
    told, h, left = run.is_stiff != 0, abs(run.h), abs(opening.t_end - run.t)
    if told:
        run.is_stiff = 0
        run.stiff_steps = 0
    worth, looked = left >= WORTH * h, False
    at_limit = 0
    expected = opening.corners != 0 or as_expected(opening.fastest, opening.real, opening.accurate, h) or not is_even(run)
    if worth and (told or not expected):
        look_here(opening, model, run, loop, seen, spare)
        looked = True
        fastest, real, accurate = opening.fastest_later, opening.real_later, opening.accurate_later
        if fastest * accurate >= opening.least:
            if is_limited(told, fastest, real, accurate, h, left, run.stiff_bound):
                return LIMITED
            if is_at_limit(fastest, real, h, run.stiff_bound):
                at_limit = opening.limited + 1
    opening.limited = at_limit
    if at_limit >= IN_A_ROW:
        return LIMITED
    if opening.keeps_order == 0 and worth and is_rough(run) and run.accepted >= TELLING:
        if not looked:
            look_here(opening, model, run, loop, seen, spare)
        return ROUGH
    if opening.is_short != 0 and opening.corners == 0 and worth:
        if not looked:
            look_here(opening, model, run, loop, seen, spare)
        if opening.fastest_later * h <= 1.0:  # otherwise stability may be the reason, which is seen in time
            return LONGER
    return 0


@inner
def look_here(opening, model, run, loop, seen, spare):
    """Look where a run stands, and note what was found."""
    left = opening.t_end - run.t
    look_beside(left, model, run, loop, opening.positions, spare, seen)
    forward = 1.0 if left >= 0.0 else -1.0
    fastest, real, motion, left = seen[FASTEST], forward * seen[REAL_PART], seen[MOTION], abs(left)
    opening.fastest_later, opening.real_later = fastest, real
    opening.accurate_later = accurate_step(opening.turn, motion, left)
    opening.little_later = 1 if little_happens(fastest, real, motion, left) else 0
