"""How large a motion is, kind by kind: what default absolute tolerances are a share of, and the rates that steps are measured by.

Lengths, speeds, angular velocities and multipliers have one size each, the largest so far. Angles that count turns, and
quaternions, have size 1. What may be anything (states of elements, y of an `Ode`, x of a `Dae`) has a size for each of its own. So
no unit decides: not how fine tolerances are, nor how long steps become.

A size that is zero at the start is begun by the motion: by what slopes make of it in a hundredth of the time scale there; where
nothing moves at first, by what they are a little later.
"""

from __future__ import annotations

import math

from ..native.marks import inner, leaf
from ..native.types import f8, i8, ints, mat, vec
from .vectors import EPS

# kinds of unknowns; of those that are NONE the size is never asked
LENGTH, TURNS, UNIT, SPEED, SPIN, OWN, MULTIPLIER, NONE = range(8)
# In the workspace from size.at_sizes on: the largest of each kind; rates of the whole and of what is OWN; the smallest tolerance of
# velocities, as a share of them; absolute tolerances
LENGTHS, SPEEDS, SPINS, OWNS, MULTIPLIERS, PACE, OWN_RATE, CLOSEST, TOLERANCES = range(9)
BEGUN, REST = 0.01, 1e-6  # of the time scale of the start; of the time that is left: what begins to move more slowly rests
FAST = 1e9  # times in the time that is left: nothing goes through its own size as often
LEAST, LEAST_OWN = 1e-3, 1e-7  # a speed at rest beside length times pace; one of several beside the largest of them
TIGHTER = 0.1  # with fixed steps there is no error to compare with: Newton's method goes on to this share
UNKNOWN, KNOWN, NOTHING_MOVES, NO_PACE = 0, 1, 2, 3  # what `sized` of a run says; slopes alone have no time scale
# How far aside, of the length, the field tells of springs; a speed at rest beside length times rate of the spring. Of that the
# usual tolerance is 5 ε: what rounding of a position at rest swings with.
ASIDE, TREMBLES = 1e-7, 1e-6
SLOW = 1e-3  # beside the speeds that forces make: what is slower rests
# What rounding leaves of sums, in units of ε times the size: no error is measured by less. Of velocities it is a share of what
# moves positions by ε in a step: with that, springs of 1e6 to 1e10 N/m take at rtol 1e-13 1.3 times the steps of rtol 1e-10; with
# a tenth of it they never end.
LEFT, LEFT_OF_SPEEDS = 100.0, 0.5
OFTEN = 10  # steps, of which one in which it leaves less than was asked for is worth telling
AT_MOST = 1e-9  # of the speed: where rounding left more than that, steps have become too short for another reason


def work(nx: int, rates: bool) -> int:
    """Numbers of workspace."""
    return TOLERANCES + (2 if rates else 1) * nx


@leaf
def raised(h, rate, power):
    """A step in units of the time in which an unknown changes, at most 1, to the power by which it is raised above index 1."""
    if power == 0.0:
        return 1.0
    share = min(1.0, abs(h) * rate)
    return share if power == 1.0 else share * share


@leaf
def rounding_of_speeds(length: f8, speed: f8, h: f8):
    """The change of velocities of this size that moves positions of this size by their rounding in a step."""
    return min(LEFT_OF_SPEEDS * EPS * length / abs(h), AT_MOST * speed)


@leaf
def rounding_in_step(W: vec, at: i8, h: f8):
    """The same of speeds and of angular velocities, as large as they have been."""
    return rounding_of_speeds(W[at + LENGTHS], W[at + SPEEDS], h), rounding_of_speeds(1.0, W[at + SPINS], h)


@leaf
def note_sizes(x: vec, kinds: ints, given: vec, W: vec, at: i8, n: i8, part: f8):
    """Let sizes grow to those of x, and the tolerances of what has its own; tell whether those of a kind have grown."""
    lengths, speeds, spins, own, multipliers = W[at + LENGTHS], W[at + SPEEDS], W[at + SPINS], W[at + OWNS], W[at + MULTIPLIERS]
    first = at + TOLERANCES
    for i in range(n):
        size, kind = abs(x[i]), kinds[i]
        if not size < 1e300:
            size = 0.0
        if kind == LENGTH:
            lengths = max(lengths, size)
        elif kind == SPEED:
            speeds = max(speeds, size)
        elif kind == SPIN:
            spins = max(spins, size)
        elif kind == MULTIPLIER:
            multipliers = max(multipliers, size)
        elif kind == OWN:
            own = max(own, size)
            W[first + i] = max(W[first + i], max(-part * given[i], LEFT * EPS) * size)
    grew = lengths > W[at + LENGTHS] or speeds > W[at + SPEEDS] or spins > W[at + SPINS]
    grew = grew or own > W[at + OWNS] or multipliers > W[at + MULTIPLIERS]
    W[at + LENGTHS] = lengths
    W[at + SPEEDS] = speeds
    W[at + SPINS] = spins
    W[at + OWNS] = own
    W[at + MULTIPLIERS] = multipliers
    return grew


@leaf
def begin_sizes(slopes: mat, kinds: ints, given: vec, W: vec, at: i8, nz: i8, part: f8, left: f8, ahead: f8):
    """Sizes at a start whose values are noted, from slopes there or, where it rests, a time `ahead`; return what is known then.

    The pace is the largest rate by which positions and velocities change; of what rests, one over the time that is left.
    """
    push, twist, own, row = 0.0, 0.0, 0.0, 0 if ahead == 0.0 else 1
    for i in range(nz):
        slope, kind = abs(slopes[row, i]), kinds[i]
        if kind == SPEED:
            push = max(push, slope)
        elif kind == SPIN:
            twist = max(twist, slope)
        elif kind == OWN:
            own = max(own, slope)
    length, speed, spin = W[at + LENGTHS], W[at + SPEEDS], W[at + SPINS]
    square, whole = max(spin * spin, twist), 1.0 / left if left > 0.0 and left < 1e300 else 1.0
    if speed > FAST * whole * length:  # it begins where it passes zero
        length = 0.0
    if length > 0.0:
        square = max(square, max(speed * speed / (length * length), push / length))
    elif speed > 0.0 and push > FAST * EPS * whole * speed:
        square = max(square, push * push / (speed * speed))
    pace = max(math.sqrt(square), 1.0 / ahead if ahead > 0.0 else 0.0)
    if pace * left < REST:
        pace = 0.0
    found = KNOWN if pace > 0.0 else NO_PACE
    if pace == 0.0:
        pace = whole
    rate = pace
    if square > 0.0 and W[at + OWNS] > 0.0:  # states beside a motion may be faster
        rate = max(rate, min(own / W[at + OWNS], FAST * whole))
    speed = max(max(speed, BEGUN * push / pace), LEAST * length * pace)
    if length == 0.0:
        length = BEGUN * speed / pace
    if push == 0.0 and twist == 0.0 and own == 0.0 and speed <= LEAST * length * pace:
        found = NOTHING_MOVES
    W[at + LENGTHS] = length
    W[at + SPEEDS] = speed
    W[at + SPINS] = max(max(spin, BEGUN * twist / pace), LEAST * pace)
    W[at + MULTIPLIERS] = max(max(W[at + MULTIPLIERS], max(push, twist)), max(own, speed * pace))
    W[at + PACE] = pace
    W[at + OWN_RATE] = rate
    for i in range(nz):
        if kinds[i] == OWN:
            begun = BEGUN * abs(slopes[row, i]) / rate
            W[at + TOLERANCES + i] = max(W[at + TOLERANCES + i], max(-part * given[i], LEFT * EPS) * begun)
    return found


@leaf
def share_out(x: vec, kinds: ints, given: vec, W: vec, at: i8, at_rates: i8, raises: i8, n: i8, part: f8):
    """Absolute tolerances by the sizes, of what is not given: that stands as minus a share. Rates, where they are asked for.

    Of multipliers none is given, nor of velocities that `raises` measures by what they move: these go by their largest, to as
    much of it as what stands before them.
    """
    first, closest = at + TOLERANCES, 1.0
    for i in range(n):
        kind, share, size, least = kinds[i], part * abs(given[i]), 1.0, 0.0
        if kind == LENGTH:
            size = W[at + LENGTHS]
        elif kind == SPEED:
            size = W[at + SPEEDS]
        elif kind == SPIN:
            size = W[at + SPINS]
        elif kind == MULTIPLIER:
            size = W[at + MULTIPLIERS]
        if kind == MULTIPLIER or (raises != 0 and (kind == SPEED or kind == SPIN)):
            share += part * closest
        if kind == OWN:
            size = LEAST_OWN * W[at + OWNS]
            least = W[first + i]
        elif kind == TURNS or kind == UNIT:
            size = max(1.0, abs(x[i]))
        if size == 0.0:  # where nothing has moved yet, 1 is as good as any
            size = 1.0
        least = max(least, LEFT * EPS * size)
        if kind == TURNS or kind == UNIT or given[i] >= 0.0:
            size = 1.0
        W[first + i] = max(share * size, least)
        if kind == LENGTH and W[at + LENGTHS] > 0.0:
            closest = min(closest, W[first + i] / (part * W[at + LENGTHS]))
        elif kind == TURNS or kind == UNIT:
            closest = min(closest, W[first + i] / part)
        elif kind == SPEED and W[at + SPEEDS] > 0.0:
            closest = min(closest, W[first + i] / (part * W[at + SPEEDS]))
        elif kind == SPIN and W[at + SPINS] > 0.0:
            closest = min(closest, W[first + i] / (part * W[at + SPINS]))
        elif kind == OWN and W[at + OWNS] > 0.0:
            closest = min(closest, W[first + i] / (part * W[at + OWNS]))
    W[at + CLOSEST] = closest
    if at_rates == 0:
        return
    straight = W[at + SPEEDS] / W[at + LENGTHS] if W[at + LENGTHS] > 0.0 else W[at + PACE]
    for i in range(n):
        kind = kinds[i]
        if kind == SPEED:
            W[at_rates + i] = straight
        elif kind == SPIN:
            W[at_rates + i] = W[at + SPINS]
        elif kind == OWN:
            W[at_rates + i] = W[at + OWN_RATE]
        else:
            W[at_rates + i] = max(straight, max(W[at + SPINS], W[at + OWN_RATE]))


@leaf
def glide(x: vec, slopes: mat, kinds: ints, nq: i8, nv: i8, nc: i8, h: f8, moved: vec):
    """Write to `moved` where a start goes in a short time h; positions by their accelerations, too, where q' is v."""
    for i in range(nq + nv):
        moved[i] = x[i] + h * slopes[0, i]
    if nc == nv:
        for i in range(nv):
            moved[i] += 0.5 * h * h * slopes[0, nq + i]


@leaf
def rate_along(x: vec, slopes: mat, kinds: ints, nz: i8, h: f8, whole: f8):
    """The rate that slopes change by along a glide, as those of a decay or of a spring; 0: they do not."""
    push, pushed, own, owned, speed, rate = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(nz):
        slope, change = abs(slopes[0, i]), abs(slopes[1, i] - slopes[0, i])
        if kinds[i] == OWN:
            own, owned = max(own, slope), max(owned, change)
            if abs(x[i]) > 0.0 and slope <= FAST * whole * abs(x[i]):
                rate = max(rate, math.sqrt(change / (abs(h) * abs(x[i]))))
        elif kinds[i] == SPEED or kinds[i] == SPIN:
            push, pushed, speed = max(push, slope), max(pushed, change), max(speed, abs(x[i]))
    if rate == 0.0 and own > 0.0 and owned > 1e-12 * own:
        rate = owned / (own * abs(h))
    if speed > 0.0:
        rate = max(rate, math.sqrt(pushed / (abs(h) * speed)))
    elif push > 0.0 and pushed > 1e-12 * push:
        rate = max(rate, math.sqrt(2.0 * pushed / push) / abs(h))
    return min(rate, 1e100)


@leaf
def moves(x: vec, kinds: ints, W: vec, at: i8, n: i8):
    """Tell whether speeds are not far below what the forces at the start make of them."""
    for i in range(n):
        if kinds[i] == SPEED and abs(x[i]) > SLOW * W[at + SPEEDS]:
            return True
        if kinds[i] == SPIN and abs(x[i]) > SLOW * W[at + SPINS]:
            return True
    return False


@leaf
def aside(x: vec, kinds: ints, W: vec, at: i8, n: i8, moved: vec):
    """Write to `moved` a point a little aside in all positions; another way in each, lest springs move as a whole."""
    way = 0.0
    for i in range(n):
        kind = kinds[i]
        way += 0.618034
        if way > 1.0:
            way -= 1.0
        if kind == LENGTH:
            moved[i] = x[i] + ASIDE * (way - 0.3) * W[at + LENGTHS]
        elif kind == TURNS:
            moved[i] = x[i] + ASIDE * (way - 0.3)
        else:
            moved[i] = x[i]


@leaf
def note_springs(slopes: mat, kinds: ints, W: vec, at: i8, nz: i8):
    """Let speeds at rest count for what the rounding of positions makes of them, by slopes here and aside."""
    push, twist, length = 0.0, 0.0, W[at + LENGTHS]
    for i in range(nz):
        change = abs(slopes[1, i] - slopes[0, i])
        if kinds[i] == SPEED:
            push = max(push, change)
        elif kinds[i] == SPIN:
            twist = max(twist, change)
    if length > 0.0 and push < 1e300:
        W[at + SPEEDS] = max(W[at + SPEEDS], TREMBLES * length * math.sqrt(push / (ASIDE * length)))
    if twist < 1e300:
        W[at + SPINS] = max(W[at + SPINS], TREMBLES * math.sqrt(twist / ASIDE))


@inner
def enter_sizes(model, run, state, scale, ahead):
    """Let sizes begin with the point at which a run begins, or take another point in; its field stands in the first stage.

    Where nothing moves there, the field a time `ahead`, in the second stage, tells what comes.
    """
    size, x, W = model.size, state.x, state.W
    at, n, part = size.at_sizes, size.nx, TIGHTER if run.fixed != 0 else 1.0
    if run.sized == UNKNOWN:
        for i in range(TOLERANCES + n):
            W[at + i] = 0.0
    note_sizes(x, scale.kinds, scale.atol, W, at, n, part)
    if run.sized != KNOWN:
        left = min(run.h_max, abs(run.t_stop - run.t))
        run.sized = begin_sizes(state.K, scale.kinds, scale.atol, W, at, size.nq + size.nv, part, left, ahead)
    share_out(x, scale.kinds, scale.atol, W, at, size.at_rates, size.raises_speeds, n, part)


@inner
def grow_sizes(model, run, state, scale):
    """Take the point at the end of a step in; note where rounding leaves less of velocities than was asked for."""
    at, part, W = model.size.at_sizes, TIGHTER if run.fixed != 0 else 1.0, state.W
    asked, moved = run.rtol + W[at + CLOSEST], abs(run.h_used) * W[at + SPEEDS]
    if run.fixed == 0 and asked < AT_MOST and LEFT_OF_SPEEDS * EPS * W[at + LENGTHS] > asked * moved and moved > 0.0:
        run.rounded += 1
        run.known = max(run.known, rounding_of_speeds(W[at + LENGTHS], W[at + SPEEDS], run.h_used) / W[at + SPEEDS])
    if note_sizes(state.xn, scale.kinds, scale.atol, state.W, at, model.size.nx, part):
        raises = model.size.raises_speeds
        share_out(state.xn, scale.kinds, scale.atol, state.W, at, model.size.at_rates, raises, model.size.nx, part)
