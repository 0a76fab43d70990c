"""Looks of the automatic choice from inside compiled loops: at the starts of many members, and on their way.

Here it is only decided whether to look closer: `automatic` does the rest, for single runs and for those members that are handed
over to it. The bounds below are its own.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import RUN
from ..kernels.signatures import LOOP, MODEL, Model
from ..native.marks import entry, inner, leaf
from ..native.types import Group, b1, f8, i8, ints, mat, vec
from .fastest_rate import FASTEST, MOTION, REAL, look, look_ahead

STABLE = 6.0  # |h λ| up to which DOP853 is stable, [HW96] Sec. IV.2
# A step that accuracy allows, times the fastest rate, above which an implicit method wins. BDF takes 7 to 10 steps where
# DOP853 takes one, and DOP853 is stable up to 6: measured, the two are level at about 30 to 60.
FAR_BEYOND = 50.0
# A run is short where its motion, rad, is less than the first and nothing vibrates for more than the second. DOP853 crosses
# it in 2 to 5 steps whatever the tolerance, so that its error does not follow the tolerance (slope 0.3 to 0.5 on the smooth
# problems of [ascher-petzold-1993], RK45 0.7 to 0.9). RK45 evaluates about as often there
SHORT, QUIET = 1.3, 3.0
# The same as FAR_BEYOND in a short run, which Radau crosses in a dozen steps where stability asks RK45 for 60 and more
SOON = 20.0
ACCURATE = 2.5  # DOP853 takes about 2.5 rtol^(1/8) / rate, measured on the smooth problems of the library
WORTH = 60  # explicit steps to go: with fewer a change gains nothing
LONGER = 3.0  # an explicit step must be this many times longer than the implicit ones, to go back
LONGEST_LOOK = 1600  # steps between two looks
DECAYS = 0.2  # of the rate: what loses less than this share while it turns by one radian is an oscillation
# A step that accuracy allows, times the fastest rate, above which an implicit method wins once steps are found to be held back. Of
# 60 random stiff systems those below lost by the change, time and accuracy; above 60 they gained up to a factor of 30, and
# y' = -300 (y - cos t) does with 32
SEEN = 25.0
# Steps to go from which on those are looked at of which the stiffness test tells nothing; |h λ| above which what is fast may hold
# them back, and how much longer accurate ones are then. A slider on a stiff strut, rtol 1e-9, is held at |h λ| = 0.6 to 1.4, a
# hundredth of the accurate step: far below the limit of stability, by errors of what is stiff and driven. With 100 steps to go
# van der Pol's oscillator with mu = 4 to 16, which is stiff between its jumps alone, loses a factor of 2 to 3
FAR, NEAR, FORCED = 1000, 0.3, 10.0
# Of accepted steps, those rejected up to which nothing else may be the reason: 0.14 to 0.25 where smooth equations become stiff,
# 0.34 to 0.5 with feet that touch the ground
UNEVEN = 0.3
GENEROUS = 1.5  # by which accurate steps of members count as longer: single runs know the tolerance before its reserve
RESIDUALS = 8.6  # in one step of Radau of order 5; other orders have as many times its cost
# |h λ| beside the limit of stability from which on a step counts as held there, and looks in a row that find it so
AT_LIMIT, IN_A_ROW = 0.5, 2
# Steps to the first look at an explicit run on its way, and the share of it by which each next one is later: so something stiff
# is met within a fifth of the steps after it began. A look costs as much as one step of DOP853
WATCHED, LATER = 12, 4
GLANCE = 100  # steps after which the stiffness test of a member is read
EXPECTED = 0.5  # of the accurate step at the start: what a step is where nothing holds it back
# Of |h λ| at the limit of stability: what vibrates more slowly is followed by the steps, and is part of the motion
PASSED_OVER = 0.4
TELLING = 60  # steps from which on a share of them tells of corners; the onset of something stiff is met by as many rejections

# what a member that begins with a method is handed over for
IF_STIFF, IF_LONG, IF_NOT_STIFF = 0, 1, 2
ROWS = 4  # of K that a look uses up


class Looks(NamedTuple):
    """Looks at members on their way; `wanted` False: none are taken."""

    wanted: Any
    why: Any  # what they are handed over for
    positions: Any  # entries of x that have rates among the others
    steps: Any  # until the next look, by member
    expected: Any  # steps at least so long are held back by nothing, by member
    spare: Any  # room for the rows of K that a look uses up, and what it finds


LOOKS = Group(Looks, (b1, i8, i8, ints, vec, mat))


@inner
def turned_in_a_step(rtol):
    """Return how far a motion may turn, rad, in one step of order 8 that is as long as accuracy allows."""
    return ACCURATE * rtol**0.125


# The rules by which a start is judged, for runs one by one, from Python or compiled, and for arrays of members.


@inner
def decays(fastest, real):
    """Tell whether the fastest part decays rather than oscillates."""
    return real < -DECAYS * fastest


@inner
def little_happens(fastest, real, motion, left):
    """Tell whether a run with so much time left is short."""
    return (decays(fastest, real) | (fastest * left < QUIET)) & (motion * left < SHORT)


@inner
def dearer(size):
    """Return what an implicit step costs beside an explicit one: factors of so many unknowns."""
    return 1.0 + 2.0 * size / 100.0


@inner
def stiff_from(size, short):
    """Return the accurate step times the fastest rate above which an implicit method wins."""
    return (FAR_BEYOND + (SOON - FAR_BEYOND) * short) * dearer(size)


@inner
def too_stiff(size, fastest, real, accurate, left, short):
    """Tell whether a start, with so much time left (s), is far too stiff for an explicit method."""
    worth = STABLE * WORTH + (2 * SOON - STABLE * WORTH) * short
    return decays(fastest, real) & (fastest * accurate >= stiff_from(size, short)) & (fastest * left >= worth)


@inner
def look_at_start(model, run, t, state, y, positions, left, found):
    """Look at a start, and of an ODE of order 1 a little ahead, too: it may become stiff at once, as reactions do.

    Row 0 of K holds the field there; y has room for a state. What decays faster ahead than anything at the start counts.
    """
    size, x, K, W = model.size, state.x, state.K, state.W
    look(model, run, t, x, y, K, W, size.nq, size.nv, positions, left, found)
    if size.nv == 0 and size.nl == 0 and positions == size.nq:
        fastest, real = found[FASTEST], found[REAL]
        look_ahead(model, run, t, x, state.xn, y, K, W, size.nq, left, found)
        forward = 1.0 if left >= 0.0 else -1.0
        if not (found[FASTEST] > fastest and decays(found[FASTEST], forward * found[REAL])):
            found[FASTEST] = fastest
            found[REAL] = real


@entry(MODEL, RUN.type, f8, f8, mat, mat, LOOP, i8, mat, ints)
def look_at_starts(model, run, t, left, X0, DATA, loop, positions, FOUND, STATUS):
    """What `look` finds at the start of every member; zeros and a status where its field fails."""
    size, x, K, W = model.size, loop.state.x, loop.state.K, loop.state.W
    for m in range(X0.shape[0]):
        for i in range(size.nq + size.nv):
            x[i] = X0[m, i]
        member = Model(model.fns, size, DATA[m])
        STATUS[m] = evaluate(member, run, t, x, K, 0, W)
        if STATUS[m] == OK:
            look_at_start(member, run, t, loop.state, loop.inside.x, positions, left, FOUND[m])


# Steps of DOP853 rejected with more than 300 times the tolerance, beside those accepted: 8 % with wheels on rails whose creep
# forces saturate, 5 % with feet that touch the ground, 0 to 1.7 % on 20 smooth problems
UNSMOOTH, ENOUGH = 0.03, 4


@inner
def is_rough(run):
    """Tell whether steps meet corners of the forces, which a method of high order steps over at a loss."""
    return run.rough >= ENOUGH and run.rough > UNSMOOTH * run.accepted


@inner
def next_look(why, interval):
    """Return the steps to the next look, after so many to this one."""
    longer = interval + interval // LATER if why == IF_STIFF else 2 * interval
    return min(longer, LONGEST_LOOK)


@inner
def is_even(run):
    """Tell whether so few steps are rejected that something stiff may be why they are short."""
    return run.rejected <= UNEVEN * run.accepted


@inner
def is_held_back(fastest, accurate, h):
    """Tell whether a part that decays at this rate makes steps far shorter than accuracy asks for."""
    return fastest * h > NEAR and accurate > FORCED * h and fastest * accurate >= SEEN


@inner
def as_expected(fastest, real, accurate, h):
    """Tell whether a step is about as long as the motion asked for at the start, where nothing decayed."""
    return (not decays(fastest, real)) and h > EXPECTED * accurate


@inner
def is_limited(told, fastest, real, accurate, h, left, stiff_bound):
    """Tell whether what is fast, and not accuracy, limits steps of length h; `told`: the stiffness test says so."""
    if not decays(fastest, real):
        return told and fastest * h > PASSED_OVER * stiff_bound
    return told or (left >= FAR * h and is_held_back(fastest, accurate, h))


@inner
def is_at_limit(fastest, real, h, stiff_bound):
    """Tell whether a step reaches the limit of stability, for something that decays."""
    return decays(fastest, real) and fastest * h > AT_LIMIT * stiff_bound


@inner
def dearness(run):
    """Return how many times the cost of one step of Radau of order 5 an implicit step has."""
    return max(1.0, run.residuals / (RESIDUALS * max(run.accepted, 1)))


@inner
def turned_stiff(t_end, run):
    """Tell whether stability limits the step, with so much to go that it matters."""
    return run.is_stiff != 0 and abs(t_end - run.t) >= WORTH * abs(run.h)


@inner
def hands_over(looks, m, t_end, since, steps, model, run, loop):
    """Tell whether the automatic choice would look closer at member m: at `since` it had taken so many `steps`."""
    left = t_end - run.t
    h = abs(run.h)
    if looks.why == IF_NOT_STIFF:
        h = max(abs(run.t - since) / max(run.accepted - steps, 1), h)  # the first steps are short
        if h == 0.0 or abs(left) < WORTH * h:
            return False
        return goes_back(h, left, model, run, loop, looks)
    asked = looks.why == IF_LONG or run.is_stiff != 0 or is_rough(run)
    if run.is_stiff != 0:
        run.is_stiff = 0
        run.stiff_steps = 0
    if abs(left) < WORTH * h:
        return False
    return asked or (h <= looks.expected[m] and is_even(run) and held_back(h, left, model, run, loop, looks))


@leaf
def held_back(h, left, model, run, loop, looks):
    """Tell whether what decays may make explicit steps of length h far shorter than accuracy asks for."""
    look_aside(left, model, run, loop, looks)
    found = looks.spare[ROWS]
    fastest, real = found[FASTEST], math.copysign(1.0, left) * found[REAL]
    accurate = GENEROUS * accurate_at(found, left, run)
    if not decays(fastest, real) or fastest * accurate < SEEN:
        return False
    return is_limited(False, fastest, real, accurate, h, abs(left), run.stiff_bound) or is_at_limit(
        fastest, real, h, run.stiff_bound
    )


@leaf
def goes_back(h, left, model, run, loop, looks):
    """Tell whether explicit steps could be longer than implicit ones of length h, or cost less."""
    look_aside(left, model, run, loop, looks)
    found = looks.spare[ROWS]
    possible = min(accurate_at(found, left, run), STABLE / max(found[FASTEST], 1e-300))
    return possible * dearness(run) >= LONGER * h


@inner
def accurate_at(found, left, run):
    """Return the step that accuracy allows, by what a look has found."""
    if found[MOTION] > 0.0:
        return min(abs(left), turned_in_a_step(run.rtol) / found[MOTION])
    return abs(left)


@inner
def look_aside(left, model, run, loop, looks):
    """Look at the current state; what is found stands behind the rows of `spare`, and K is left as it is."""
    look_beside(left, model, run, loop, looks.positions, looks.spare, looks.spare[ROWS])


@leaf
def look_beside(left, model, run, loop, positions, spare, found):
    """Look at the current state, and leave K as it is; its rows are kept in `spare` meanwhile."""
    size, x, K, W = model.size, loop.state.x, loop.state.K, loop.state.W
    width = K.shape[1]
    for row in range(ROWS):
        for i in range(width):
            spare[row, i] = K[row, i]
    found[FASTEST] = found[REAL] = found[MOTION] = 0.0
    if evaluate(model, run, run.t, x, K, 0, W) == OK:
        look(model, run, run.t, x, loop.inside.x, K, W, size.nq, size.nv, positions, left, found)
    for row in range(ROWS):
        for i in range(width):
            K[row, i] = spare[row, i]
