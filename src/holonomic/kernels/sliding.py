"""Motion along switches towards which both fields lead: Filippov's mean of them.

With f₋ where a switch is false and f₊ where it is true, and g its function, zero here, there is one mean that stays on g = 0:

    f = (1 - α) f₋ + α f₊,    α = g'₋ / (g'₋ - g'₊),    g' = ∂g/∂t + ∂g/∂z f

It is a motion while 0 <= α <= 1: dry friction that holds. Of several at once, as of masses on each other with dry friction between
them, it is

    f = f₀ + Σ α_j (f_j - f₀),    g'_i(f₀) + Σ α_j (g'_i(f_j) - g'_i(f₀)) = 0    for each i,

with f₀ where all of them are false and f_j where j alone is true. That is a mean of Filippov's where what each one changes adds up,
which is looked at when another one joins (`adds_up`). Of such a switch the mode in data is NaN, which makes its comparison
false and the pivot ratio of FIELD 0, so that `evaluate` asks for this.

Other switches may have the same function, or its negative: `v < 0` after `v > 0`. On either side they have the modes that belong
to it. What they are alike is a number in data behind the modes, of one size for those that are and with the sign of the function;
behind its point stands whether it is an equality, true at zero, or a function of two parts such as abs.

An equality, `v == 0`, is true while the motion holds there: its mode is +∞ then. Where comparisons say at zero what they say on no
side, as `v > 0` and `v < 0` do, they say it on both sides while it holds. A law that takes no side there has the same field on
both: any share does, so that α is 1/2 as long as g' is zero, and leaves 0 or 1 with g'.
"""

from __future__ import annotations

import math

from ..errors import NOT_FINITE, OK, SINGULAR
from ..native.marks import inner, leaf
from ..native.types import f8, i8, vec
from .signatures import EVENT_RATES, FIELD, call_field, call_model
from .vectors import EPS, row_finite

ASLEEP = 1e-300  # modes that are less are those of selects that sleep: the values decide
ASIDE = 1e290  # the size of modes where one side of a motion along them is looked at: what counts on either side is watched
MOST_ALONG = 8  # switches along which a motion goes at once
SAME_FIELD = 1e-6  # of the largest slope: what fields that add up may differ by
OF_EQUALITY, TRUE_AT_ZERO, OF_PARTS = 0.5, 0.25, 0.125  # behind the point of what switches are alike
HOLDS = 1e-9  # g', beside the largest slope, of a motion that stays at zero
CANCELS = 16.0 * EPS  # of the terms of a mean: below this it is rounding
RHO_LEAST = 1e-8  # pivot ratio of each field, as in `evaluate`


def along_work(nrow: int, n_watched: int, n_switches: int) -> int:
    """How many numbers the workspace of motions along switches has: rates, fields and theirs, places, shares, a matrix, modes."""
    most = min(MOST_ALONG, n_switches)
    return 2 * n_watched + (most + 1) * (2 * n_watched + nrow) + 2 * most + most * most + n_switches


@inner
def sleeps(model, j):
    """Tell whether switch j is that of a select that sleeps."""
    size = model.size
    return j >= size.n_switches - size.n_selects and abs(model.data[size.at_modes + j]) < ASLEEP


@inner
def nothing_watched(size, run):
    """Tell whether all that could be watched are selects that sleep; EVENTS may not be compiled then."""
    return size.n_events == size.n_selects and run.awake == 0


@inner
def is_along(model, j):
    """Tell whether the motion goes along switch j."""
    mode = model.data[model.size.at_modes + j]
    return mode != mode


@inner
def sliding(model):
    """The number of the first switch along which the motion goes, -1 where there is none."""
    for j in range(model.size.n_switches):
        if is_along(model, j):
            return j
    return -1


@inner
def how_many_along(model):
    """Along how many switches the motion goes."""
    count = 0
    for j in range(model.size.n_switches):
        if is_along(model, j):
            count += 1
    return count


@inner
def likeness(model, j, k):
    """1 where switches j and k have one function, -1 where one is the other's negative, else 0."""
    at = model.size.at_modes + model.size.n_switches
    one, other = model.data[at + j], model.data[at + k]
    if one == 0.0 or math.floor(abs(one)) != math.floor(abs(other)) or is_equality(model, j) or is_equality(model, k):
        return 0
    return 1 if (one > 0.0) == (other > 0.0) else -1


@inner
def is_equality(model, j):
    """Tell whether switch j is an equality: it is not watched, but follows others of its function."""
    number = abs(model.data[model.size.at_modes + model.size.n_switches + j])
    return number - math.floor(number) >= OF_EQUALITY


@inner
def equality_of(model, j):
    """The number of the equality that has the function of switch j, -1 where there is none."""
    size = model.size
    at = size.at_modes + size.n_switches
    for k in range(size.n_switches):
        if is_equality(model, k) and math.floor(abs(model.data[at + k])) == math.floor(abs(model.data[at + j])):
            return k
    return -1


@inner
def take_side(model, j, side):
    """Look at the side where switch j is true (1) or false (-1), and those that are alike are what they are there.

    Where the motion holds at equality, comparisons may be what they are at zero.
    """
    size = model.size
    equality, at_zero = equality_of(model, j), False
    if equality >= 0 and model.data[size.at_modes + equality] > 0.0:
        number = abs(model.data[size.at_modes + size.n_switches + equality])
        at_zero = number - math.floor(number) > OF_EQUALITY
    for k in range(size.n_switches):
        alike = 1 if k == j else likeness(model, j, k)
        if alike == 0:
            continue
        number = abs(model.data[size.at_modes + size.n_switches + k])
        of_zero = number - math.floor(number)
        if at_zero and of_zero != OF_PARTS:
            model.data[size.at_modes + k] = ASIDE if of_zero == TRUE_AT_ZERO else -ASIDE
        else:
            model.data[size.at_modes + k] = alike * side * ASIDE


@inner
def place_of_modes(size):
    """Where modes are kept in the workspace."""
    places, shares = places_of_shares(size)
    most = shares - places
    return shares + most + most * most


@inner
def keep_modes(model, W):
    """Keep the modes as they are."""
    size = model.size
    kept = place_of_modes(size)
    for k in range(size.n_switches):
        W[kept + k] = model.data[size.at_modes + k]


@inner
def restore_modes(model, W):
    """Give the modes back that were kept."""
    size = model.size
    kept = place_of_modes(size)
    for k in range(size.n_switches):
        model.data[size.at_modes + k] = W[kept + k]


@inner
def places_of_shares(size):
    """Where the numbers of the switches stand in the workspace, and where their shares do."""
    most = min(MOST_ALONG, size.n_switches)
    places = size.at_sliding + 2 * size.n_events + (most + 1) * (2 * size.n_events + size.nrow)
    return places, places + most


@inner
def share_of(model, W, j):
    """The share of the field where switch j is true, in the mean that was evaluated last."""
    shares = places_of_shares(model.size)[1]
    count = 0
    for k in range(j):
        if is_along(model, k):
            count += 1
    return W[shares + count]


@leaf
def solve_shares(W: vec, matrix: i8, shares: i8, n: i8, least: f8):
    """Solve A α = b of n rows, A behind `matrix` and b in the place of α.

    What nothing determines is 1/2, and beyond 0 or 1 where b is larger than `least`: no share makes it zero.
    """
    for c in range(n):
        best = c
        for i in range(c + 1, n):
            if abs(W[matrix + i * n + c]) > abs(W[matrix + best * n + c]):
                best = i
        if best != c:
            for k in range(n):
                W[matrix + c * n + k], W[matrix + best * n + k] = W[matrix + best * n + k], W[matrix + c * n + k]
            W[shares + c], W[shares + best] = W[shares + best], W[shares + c]
        pivot = W[matrix + c * n + c]
        if pivot == 0.0:
            for k in range(n):
                W[matrix + c * n + k] = 0.0
            W[matrix + c * n + c], W[shares + c], pivot = 1.0, 0.5 - 0.5 * W[shares + c] / least, 1.0
        for i in range(c + 1, n):
            factor = W[matrix + i * n + c] / pivot
            for k in range(c, n):
                W[matrix + i * n + k] -= factor * W[matrix + c * n + k]
            W[shares + i] -= factor * W[shares + c]
    for c in range(n - 1, -1, -1):
        value = W[shares + c]
        for k in range(c + 1, n):
            value -= W[matrix + c * n + k] * W[shares + k]
        W[shares + c] = value / W[matrix + c * n + c]


@inner
def one_field(model, t, x, K, row, W, at):
    """The field of the modes as they are into a row of K, and behind its rates into W."""
    size = model.size
    if call_field(model, FIELD, t, x, K, row) != OK or not row_finite(K, row, size.nq + size.nv):
        return NOT_FINITE
    if not K[row, size.nrow - 1] > RHO_LEAST:
        return SINGULAR
    call_model(model, EVENT_RATES, t, x, 0, K, row * K.shape[1] + size.nq, W, at)
    for i in range(size.nrow):
        W[at + 2 * size.n_events + i] = K[row, i]
    return OK


@inner
def mean_field(model, run, t, x, K, row, W):
    """The mean of the fields into a row of K; the mean of the rates of all that is watched goes into W."""
    size, nev = model.size, model.size.n_events
    rates, block = size.at_sliding, 2 * size.n_events + size.nrow
    first = rates + 2 * nev
    places, shares = places_of_shares(size)
    most = shares - places
    n = 0
    for j in range(size.n_switches):
        if is_along(model, j) and n < most:
            W[places + n] = j
            n += 1
    keep_modes(model, W)
    status = OK
    for i in range(n + 1):  # none of them is true in the first field, and one alone in each of the others
        for k in range(n):
            take_side(model, int(W[places + k]), 1 if k == i - 1 else -1)
        if status == OK:
            status = one_field(model, t, x, K, row, W, first + i * block)
    restore_modes(model, W)
    if status != OK:
        return status
    matrix, own = shares + most, first + nev - size.n_switches
    for i in range(n):
        wanted = own + int(W[places + i])
        W[shares + i] = -W[wanted]
        for k in range(n):
            W[matrix + i * n + k] = W[wanted + (k + 1) * block] - W[wanted]
    fastest = 1.0
    for i in range(size.nq + size.nv):
        fastest = max(fastest, abs(W[first + 2 * nev + i]))
    solve_shares(W, matrix, shares, n, HOLDS * fastest)
    for i in range(block):
        value = least = W[first + i]
        terms = abs(value)
        for k in range(n):
            other = W[first + (k + 1) * block + i]
            part = W[shares + k] * (other - W[first + i])
            value += part
            terms += abs(part)
            least = min(least, other)
        if abs(value) <= CANCELS * terms:  # what rounding leaves of a motion that is held
            value = 0.0
        if i < 2 * nev:
            W[rates + i] = value
        else:
            K[row, i - 2 * nev] = value if i < block - 1 else least
    return OK if row_finite(K, row, size.nq + size.nv) else NOT_FINITE


@inner
def adds_up(model, run, t, x, K, row, W):
    """Tell whether what the switches change adds up, where their mean was evaluated last; a row of K is used up."""
    size = model.size
    block = 2 * size.n_events + size.nrow
    first = size.at_sliding + 4 * size.n_events
    places, shares = places_of_shares(size)
    n = how_many_along(model)
    if n > shares - places:
        return False
    keep_modes(model, W)
    for k in range(n):
        take_side(model, int(W[places + k]), 1)
    status = call_field(model, FIELD, t, x, K, row)
    restore_modes(model, W)
    if status != OK or not row_finite(K, row, size.nq + size.nv):
        return False
    largest, off = 0.0, 0.0
    for i in range(size.nq + size.nv):
        value = W[first + i]
        for k in range(n):
            value += W[first + (k + 1) * block + i] - W[first + i]
        largest, off = max(largest, abs(K[row, i]), abs(value)), max(off, abs(K[row, i] - value))
    return off <= SAME_FIELD * largest
