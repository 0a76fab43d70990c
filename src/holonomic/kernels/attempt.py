"""One attempted step: stages, pull, error; what is made of an error or a failure for the next step."""

from __future__ import annotations

from ..errors import (
    OK,
    PULL_FAILED,
)
from .compile import inner, leaf
from .control import error_norm, joined_error, largest_errors, predicted_factor, ratio_to_keep, step_factor, stiffness
from .settle import settle
from .signatures import (
    NERR,
    NQ,
    NX,
    call_advance,
    call_finish,
    call_pull,
    call_tangent,
)
from .state import (
    ACCEPTED,
    AFTER_REJECT,
    ERR_ACC,
    EXPONENT,
    FAC_MAX,
    FAC_MIN,
    FAILED,
    H_ACC,
    IS_STIFF,
    LAST_STATUS,
    NEW_RATIO_Q,
    NEW_RATIO_V,
    NONSTIFF,
    PULL_REJECTED,
    PULLS,
    RATIO_Q,
    RATIO_V,
    REJECTED,
    RETAKE,
    ROUGH,
    RTOL,
    SAFETY,
    STAY,
    STEER_ORDER,
    STEERS,
    STIFF,
    STIFF_BOUND,
    STIFFNESS,
    T_FAILED,
    T_STIFF,
    TRIES,
    WORST,
    H,
    T,
)

# The projected error estimate decides, but counts for no less than this share of the whole one: on a system
# with one or two degrees of freedom its few components vanish together now and then, and a step far too
# long is taken. Measured on eight problems with DOP853 at rtol 1e-5 to 1e-9: the evaluations needed for one
# error hardly depend on the share (within 10 %), but at 0 single errors are up to 100 times too large.
# An estimate in two parts is a quotient, in which chance counts twice: there the share is 1, the norm the largest
# component, and the quotient no less than in the step before. On 533 random linkages and masses on springs, rtol
# 1e-6, runs with more than 5 κ rtol of error fell from 119 to 22 of 1600, with 8 % fewer evaluations.
SHARE = 0.3
FAR_TOO_LARGE = 300.0  # tolerances: errors that no change of a smooth motion brings about, see `looking`


@leaf
def larger(a, b):
    """The larger one, or the one that is NaN."""
    return b if b > a or b != b else a


@leaf
def worst_component(E, x, xn, atol, rtol, n):
    """Index of the component with the largest scaled error."""
    worst, at = -1.0, 0
    for i in range(n):
        value = abs(E[0, i]) / (atol[i] + rtol * max(abs(x[i]), abs(xn[i])))
        if value > worst:
            worst, at = value, i
    return at


@inner
def error_in_two_parts(slots, fns, n, data, sp, S, h, x, xn, E, W, atol, turns):
    """Size of an estimate that is joined from two vectors: the largest of whole and projected, of q and v."""
    nq, nx = n[NQ], n[NX]
    shorter = 0.0
    if S[H_ACC] != 0.0:
        shorter = min(1.0, h / S[H_ACC]) ** 2  # e5/e3 is O(h²)
    five, three = largest_errors(E, x, xn, atol, S[RTOL], turns, 0, nq)
    worst = joined_error(five, three, shorter * S[RATIO_Q])
    S[NEW_RATIO_Q] = ratio_to_keep(five, three)
    five, three = largest_errors(E, x, xn, atol, S[RTOL], turns, nq, nx)
    worst = larger(worst, joined_error(five, three, shorter * S[RATIO_V]))
    S[NEW_RATIO_V] = ratio_to_keep(five, three)
    for k in range(2):
        call_tangent(slots, fns, n, data, sp, E, k, W)
    five, three = largest_errors(E, x, xn, atol, S[RTOL], turns, 0, nq)
    worst = larger(worst, joined_error(five, three, 0.0))
    five, three = largest_errors(E, x, xn, atol, S[RTOL], turns, nq, nx)
    return larger(worst, joined_error(five, three, 0.0))


@inner
def attempt(slots, fns, n, data, ip, fp, sp, S, I, t, h, x, xn, xs, K, E, W, atol, turns):
    """Try one step; err in S[WORST]."""
    status = call_advance(slots, fns, n, data, ip, fp, t, h, x, K, xn, xs, W)
    if status != OK:
        return status
    I[PULLS] += 1
    status = call_pull(slots, fns, n, data, sp, t + h, h, x, xs, xn, W)
    if status != OK:
        return status
    status = settle(fns, n, data, t + h, xn, W)
    if status != OK:
        return status
    status = call_finish(slots, fns, n, data, ip, fp, t, h, x, K, xn, xs, E, W)
    if status != OK:
        return status
    if n[NERR] > 1:
        S[WORST] = error_in_two_parts(slots, fns, n, data, sp, S, h, x, xn, E, W, atol, turns)
    elif n[NERR] > 0:
        whole = error_norm(E, x, xn, atol, S[RTOL], turns, n[NQ], n[NX])
        call_tangent(slots, fns, n, data, sp, E, 0, W)
        S[WORST] = max(error_norm(E, x, xn, atol, S[RTOL], turns, n[NQ], n[NX]), SHARE * whole)
    else:
        S[WORST] = 0.0
    return OK


@inner
def reject(S, I, K, h, err):
    """A step whose error is too large: try a shorter one."""
    I[REJECTED] += 1
    if err > FAR_TOO_LARGE:
        I[ROUGH] += 1
    exponent = S[EXPONENT]
    if I[STEERS] >= 0:
        exponent = 1.0 / (K[I[STEERS], STEER_ORDER] + 1.0)
    S[H] = h * step_factor(err, 1.0, exponent, 0.0, S[SAFETY], S[FAC_MIN], 1.0)
    if not err <= 1e300:
        S[H] = h * 0.1
    I[AFTER_REJECT] = 1
    I[RETAKE] = 0
    I[TRIES] = 0


@inner
def note_stiffness(S, I, t, h, K, last, xn, xs, nx, saves):
    """Count steps that stability limits, 15 of them before 6 others; `saves`: also keep h λ for the next saved time."""
    if saves:
        S[STIFFNESS] = stiffness(h, K, last, xn, xs, nx)
    if I[STIFF] == 0 and I[ACCEPTED] % 50 != 49:
        return
    if stiffness(h, K, last, xn, xs, nx) > S[STIFF_BOUND]:
        I[NONSTIFF] = 0
        I[STIFF] += 1
        if I[STIFF] == 15 and I[IS_STIFF] == 0:
            I[IS_STIFF] = 1
            S[T_STIFF] = t
    else:
        I[NONSTIFF] += 1
        if I[NONSTIFF] == 6:
            I[STIFF] = 0


@inner
def refuse(S, I, h, status):
    """A step that failed otherwise than by its error: try a shorter one."""
    I[FAILED] += 1
    I[LAST_STATUS] = status
    S[T_FAILED] = S[T]
    if status == PULL_FAILED:
        I[PULL_REJECTED] += 1
    S[H] = h * 0.25
    I[AFTER_REJECT] = 1
    I[RETAKE] = 0
    I[TRIES] = 0


@inner
def foreseen_factor(S, err, h, factor, safety):
    """h_new / h, no more than is foreseen from this step, which is remembered, and the one before."""
    if S[H_ACC] != 0.0:
        factor = min(factor, max(S[FAC_MIN], predicted_factor(err, S[ERR_ACC], h, S[H_ACC], S[EXPONENT], safety)))
    S[H_ACC] = h
    S[ERR_ACC] = max(err, 1e-2)
    return factor


@inner
def advised_factor(S, err, h, factor, keep, safety):
    """h_new / h of an implicit one-step method: less after a hard iteration, foreseen from two steps, factors kept."""
    factor = min(S[FAC_MAX], max(S[FAC_MIN], factor * safety))
    factor = foreseen_factor(S, err, h, factor, S[SAFETY] * safety)
    if factor >= 1.0 and factor <= S[STAY] and keep != 0.0:
        factor = 1.0
    return factor
