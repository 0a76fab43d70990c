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
    LONGEST_LOOK,
    SEEN,
    STABLE,
    TELLING,
    WORTH,
    as_expected,
    is_limited,
    is_rough,
    little_happens,
    look_beside,
    may_be_held_back,
    too_stiff,
)
from .drive import drive
from .fastest_rate import FASTEST, MOTION, look
from .fastest_rate import REAL as REAL_PART

ASIDE = -1  # status: the start is not plain
# what was found besides: an implicit method suits the start, or takes over on the way
STIFF, LIMITED = 1, 2

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
    ("quota", WHOLE, "steps to the next look on the way"),
    ("calm", WHOLE, "the same at first, where nothing is fast"),
    ("t_end", REAL, "time at which the run ends"),
    ("looks", WHOLE, "steps up to which looks on the way are taken here"),
    ("keeps_order", WHOLE, "1 where corners of the forces are no reason to go on with a method of lower order"),
    # what was found
    ("fastest", REAL, "fastest rate at the start, 1/s"),
    ("real", REAL, "its real part"),
    ("accurate", REAL, "the step that accuracy would allow, s"),
    ("little", WHOLE, "1 where little happens to the end"),
    ("verdict", WHOLE, "STIFF or LIMITED"),
    ("fastest_later", REAL, "fastest rate where the step is limited, 1/s"),
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
    look(
        model, run, run.t, state.x, loop.inside.x, state.K, state.W, size.nq, size.nv, opening.positions, left, seen
    )
    forward = 1.0 if left >= 0.0 else -1.0
    fastest, real, motion, left = seen[FASTEST], forward * seen[REAL_PART], seen[MOTION], abs(left)
    accurate = accurate_step(opening.turn, motion, left)
    little = little_happens(fastest, real, motion, left)
    opening.fastest, opening.real, opening.accurate = fastest, real, accurate
    opening.little = 1 if little else 0
    short = little and opening.may_be_short != 0
    if short != (opening.is_short != 0):
        return False
    if not short and fastest * accurate < STABLE:
        opening.quota = opening.calm
    if too_stiff(size.nq + size.nv, fastest, real, accurate, left, short):
        opening.verdict = STIFF
        return False
    return True


@inner
def go_on(opening, slots, model, method, run, loop, record, events, seen, spare):
    """Take steps, and look on the way, as long as nothing calls for Python or for another method; return a status."""
    status = drive(slots, model, method, run, loop, record, events)
    while status == MORE and run.quota <= 0 and opening.quota < opening.looks:
        # whether a run goes on with a method of another order is decided in Python
        left = abs(opening.t_end - run.t)
        rough = opening.keeps_order == 0 and is_rough(run) and run.accepted >= TELLING
        if opening.is_short != 0 or (rough and left >= WORTH * abs(run.h)):
            return status
        if is_limited_here(opening, left, model, run, loop, seen, spare):
            opening.verdict = LIMITED
            return status
        opening.quota = run.quota = min(2 * opening.quota, LONGEST_LOOK)
        status = drive(slots, model, method, run, loop, record, events)
    return status


@inner
def is_limited_here(opening, left, model, run, loop, seen, spare):
    """Tell whether stability, not accuracy, limits the step, so that an implicit method takes over; as `automatic` does."""
    told, h = run.is_stiff != 0, abs(run.h)
    if told:
        run.is_stiff = 0
        run.stiff_steps = 0
    elif as_expected(opening.fastest, opening.real, opening.accurate, h) or not may_be_held_back(left, h, run):
        return False
    if left < WORTH * h:
        return False
    signed = opening.t_end - run.t
    look_beside(signed, model, run, loop, opening.positions, spare, seen)
    forward = 1.0 if signed >= 0.0 else -1.0
    fastest, real, motion = seen[FASTEST], forward * seen[REAL_PART], seen[MOTION]
    accurate = accurate_step(opening.turn, motion, left)
    if fastest * accurate < SEEN or not is_limited(told, fastest, real, accurate, h, run.stiff_bound):
        return False
    opening.fastest_later, opening.real_later, opening.accurate_later = fastest, real, accurate
    opening.little_later = 1 if little_happens(fastest, real, motion, left) else 0
    return True
