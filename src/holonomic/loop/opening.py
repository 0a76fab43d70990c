"""How a run opens that is plain: its start is consistent, and the plan it begins with is the one that suits it.

What can be told of a start without Python is told here, so that a run asked for in words that are known begins, is looked at and
takes its first steps in one call of compiled code. Whatever is not plain is left to `starting` and `automatic`: they find the
same, and say what is wrong or choose otherwise.
"""

from __future__ import annotations

from ..kernels.consistent import distances
from ..kernels.signatures import RESIDUAL, call_function
from ..native.layout import REAL, WHOLE, Layout
from ..native.marks import inner
from .automatic_looks import STABLE, little_happens, too_stiff
from .fastest_rate import FASTEST, MOTION, look
from .fastest_rate import REAL as REAL_PART

ASIDE = -1  # status: the start is not plain

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
    ("quota", WHOLE, "steps to the first look on the way"),
    ("calm", WHOLE, "the same where nothing is fast"),
    # what was found
    ("fastest", REAL, "fastest rate, 1/s"),
    ("real", REAL, "its real part"),
    ("accurate", REAL, "the step that accuracy would allow, s"),
    ("little", WHOLE, "1 where little happens to the end"),
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
def suits(opening, model, run, loop, seen):
    """Tell whether the explicit plan that a run has begun with is the one that `automatic` would take; note what was found."""
    size, state = model.size, loop.state
    left = run.t_stop - run.t
    look(
        model, run, run.t, state.x, loop.inside.x, state.K, state.W, size.nq, size.nv, opening.positions, left, seen
    )
    forward = 1.0 if left >= 0.0 else -1.0
    fastest, real, motion, left = seen[FASTEST], forward * seen[REAL_PART], seen[MOTION], abs(left)
    accurate = left
    if 0.0 < motion and motion < 1e308:
        accurate = min(left, opening.turn / motion)
    little = little_happens(fastest, real, motion, left)
    opening.fastest, opening.real, opening.accurate = fastest, real, accurate
    opening.little = 1 if little else 0
    short = little and opening.may_be_short != 0
    if short != (opening.is_short != 0):
        return False
    if not short and fastest * accurate < STABLE:
        opening.quota = opening.calm
    return not too_stiff(size.nq + size.nv, fastest, real, accurate, left, short)
