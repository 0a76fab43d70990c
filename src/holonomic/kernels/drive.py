"""The one step loop: step, pull, test, watch for events, write, accept.

The loop is resumable. All it knows lives in the arrays S and I (see `state`) and in the arrays of the
state, so it can return at any point between two steps or two rows and be called again; splitting a run
changes no bit of it. It returns

    DONE   the stop time is reached            EVENT  a terminal or mapping event is reached
    MORE   quota used up or buffer full        NEED_… a function has to be compiled first
    or what it failed of
"""

from __future__ import annotations

from ..errors import (
    ACCUMULATES,
    DONE,
    EVENT,
    MORE,
    NEED_REFINED,
    NEED_TERMS,
    NO_CONVERGENCE,
    NOT_FINITE,
    OK,
    SINGULAR,
    STEP_COLLAPSED,
    TOO_MANY_STEPS,
)
from .attempt import advised_factor, attempt, foreseen_factor, note_stiffness, refuse, reject, worst_component
from .compile import inner, leaf
from .control import lands, step_factor
from .doubt import in_doubt, may_be_asked, sure_step
from .evaluate import evaluate
from .locate import MOST, dense_ready, shyness, state_inside
from .signatures import (
    NERR,
    NEV,
    NK,
    NL,
    NQ,
    NROW,
    NV,
    NX,
    SELECT,
    call_accept,
    call_passage,
    call_prepare,
)
from .singular import DODGE, MAX_DODGES, alarm, between, in_the_way, note_ratio
from .state import (
    ACCEPTED,
    ADVICE_KEEP,
    ADVICE_SAFETY,
    ADVICE_SHRINK,
    ADVISES,
    AFTER_REJECT,
    ALARM,
    ALONG,
    ANSWERED,
    BETA,
    BY_ENDS,
    CROSSES,
    DENSE_READY,
    DODGES,
    ERR_OLD,
    EVENT_ROWS,
    EXPONENT,
    FAC_MAX,
    FAC_MIN,
    FAILED,
    FIXED,
    FORESEES,
    FRESH,
    GUIDED,
    H_FIXED,
    H_MAX,
    H_SURE,
    H_USED,
    HIT,
    KEEP_STEPS,
    LAST,
    LAST_STATUS,
    LIMIT,
    NEW_RATIO_Q,
    NEW_RATIO_V,
    OF_STEP,
    ON_STAGE,
    PASSING,
    PHASE,
    PREPARED,
    PULLS,
    QUOTA,
    RATIO_Q,
    RATIO_V,
    REJECTED,
    RETAKE,
    RETAKEN,
    RHO_ASKED,
    RHO_LEAST,
    ROWS,
    RTOL,
    SAFETY,
    SAVED,
    STAY,
    STEER_STEP,
    STEERS,
    STEP_NUMBER,
    STEPPING,
    STIFF_BOUND,
    STIFFNESS,
    T_BASE,
    T_FAILED,
    T_NEW,
    T_STOP,
    TRIES,
    WATCHING,
    WORST,
    WRITING,
    H,
    T,
)
from .vectors import write_row
from .watch import AGAIN, watch

EPS = 2.220446049250313e-16
HANDED_OVER = -(1 << 40)  # rows of this step are out of reach


@inner
def start(fns, n, data, S, I, x, K, W):
    """Evaluate the field at the first point, or after a change of state."""
    status = evaluate(fns, n, S[T], x, data, K, 0, W)
    if status == OK:
        S[RHO_LEAST] = min(S[RHO_LEAST], K[0, n[NROW] - 1])
    return status


@leaf
def drive(slots, fns, n, data, ip, fp, sp, S, I, x, xn, xs, K, E, W, atol, turns, rec_t, rec_x, rec_k, save_t,
          ev, ev_f, found_theta, found, xe, ke, rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k, passing):  # fmt: skip
    """Go on until there is something to say."""
    nx, nq, nk = n[NX], n[NQ], n[NK]
    last = I[LAST]
    forward = 1.0 if S[T_STOP] >= S[T] else -1.0
    while True:
        if I[PHASE] == STEPPING:
            t = S[T]
            left = S[T_STOP] - t
            if left * forward <= 0.0:
                return DONE
            if I[QUOTA] <= 0:
                return MORE
            if I[ACCEPTED] + I[REJECTED] + I[FAILED] + I[RETAKEN] >= I[LIMIT]:
                return TOO_MANY_STEPS
            if I[GUIDED] != 0:
                I[QUOTA] -= 1
                I[PHASE] = PASSING
                continue
            if I[FRESH] == 0:
                status = start(fns, n, data, S, I, x, K, W)
                if status != OK:
                    return status
                I[FRESH] = 1
            if n[SELECT] > 0 and I[PREPARED] == 0:
                status = call_prepare(slots, fns, n, data, t, x, W)
                if status != OK:
                    I[LAST_STATUS] = status
                    S[T_FAILED] = t
                    return status
                I[PREPARED] = 1
            h = S[H]
            landing = 0.0
            I[HIT] = 0
            I[ALONG] = 0
            if I[RETAKE] != 0:
                if abs(h) >= abs(left):
                    h = left
                    I[HIT] = 1
            elif I[FIXED] != 0:
                h = S[H_FIXED]
                if abs(left) <= abs(h) * (1.0 + 1e-9):
                    h = left
                    I[HIT] = 1
                else:
                    h = S[T_BASE] + (I[STEP_NUMBER] + 1) * S[H_FIXED] - t
            else:
                if abs(h) > S[H_MAX]:
                    h = S[H_MAX] * forward
                if abs(left) <= 1.01 * abs(h):
                    h = left
                    I[HIT] = 1
                elif abs(left) < 2.0 * abs(h):
                    h = 0.5 * left
                landing = lands(S[STIFFNESS], save_t, I[SAVED], t, h)
                if landing != 0.0:
                    h = landing
                    I[HIT] = 0
                elif S[H_SURE] != 0.0:
                    sure = sure_step(h, S[H_SURE], n[NEV] > 0, save_t, I[SAVED], t)
                    if sure != h:
                        h = sure
                        I[HIT] = 0
                        if I[SAVED] < save_t.shape[0] and save_t[I[SAVED]] - t == h:
                            landing = h
            if abs(h) <= 4.0 * EPS * abs(t) and I[HIT] == 0:
                return STEP_COLLAPSED
            I[QUOTA] -= 1
            I[DENSE_READY] = 0
            status = attempt(slots, fns, n, data, ip, fp, sp, S, I, t, h, x, xn, xs, K, E, W, atol, turns)
            if status == NEED_REFINED or status == NEED_TERMS:
                I[QUOTA] += 1  # it will be taken again: looks must not depend on what is compiled already
                return status
            if I[CROSSES] != 0:
                answered = I[ALARM] == ANSWERED
                I[ALARM] = 0
                if not answered:
                    if status == OK:
                        I[ALARM] = alarm(K, last, n[NROW] - 1, S[RTOL], S[RHO_ASKED])
                        if I[ALARM] == 0 and I[CROSSES] == BY_ENDS and S[WORST] <= 1.0:
                            I[ALARM] = between(
                                slots, fns, n, data, ip, fp, S, t, h, x, K, last, xn, xs, xe, ke, W
                            )  # fmt: skip
                    elif status == SINGULAR:
                        I[ALARM] = ON_STAGE
                    if I[ALARM] != 0:
                        S[H_USED] = h
                        I[PHASE] = PASSING
                        continue
            if status != OK:
                if I[FIXED] != 0:
                    I[LAST_STATUS] = status
                    S[T_FAILED] = t
                    return status
                refuse(S, I, h, status)
                if status == NO_CONVERGENCE and I[ADVISES] >= 0:
                    S[H] = h * K[I[ADVISES], ADVICE_SHRINK]
                if status == SINGULAR and I[DODGES] < MAX_DODGES:
                    I[DODGES] += 1
                    S[H] = h * DODGE
                if abs(S[H]) <= 16.0 * EPS * max(abs(t), abs(S[T_STOP])) and abs(S[H]) < 1e-12:
                    return STEP_COLLAPSED
                continue
            err = S[WORST]
            if n[NERR] > 0 and I[FIXED] == 0:
                dodging = n[NL] > 0 and I[DODGES] < MAX_DODGES and I[RETAKE] == 0
                if dodging and in_the_way(K, last, n[NROW] - 1, S[RTOL], err <= 1.0):
                    I[REJECTED] += 1
                    I[DODGES] += 1
                    I[AFTER_REJECT] = 1
                    S[H] = h * DODGE
                    continue
                if not err <= 1.0:
                    reject(S, I, K, h, err)
                    if abs(S[H]) <= 16.0 * EPS * max(abs(t), abs(S[T_STOP])) and abs(S[H]) < 1e-12:
                        S[WORST] = worst_component(E, x, xn, atol, S[RTOL], nx)
                        return STEP_COLLAPSED
                    continue
                if may_be_asked(n, I, save_t):
                    S[H_USED] = h
                    status = dense_ready(slots, fns, n, data, ip, fp, S, I, x, K, xn, xs, W)
                    if status != OK:
                        return status
                    if in_doubt(n, S, I, K, save_t, t, h):
                        I[REJECTED] += 1
                        continue
                factor = step_factor(
                    err, S[ERR_OLD], S[EXPONENT], S[BETA], S[SAFETY], S[FAC_MIN], S[FAC_MAX]
                )
                if I[ADVISES] >= 0:
                    factor = advised_factor(
                        S, err, h, factor, K[I[ADVISES], ADVICE_KEEP], K[I[ADVISES], ADVICE_SAFETY]
                    )
                if S[FORESEES] != 0.0:
                    factor = foreseen_factor(S, err, h, factor, S[SAFETY])
                    S[RATIO_Q] = S[NEW_RATIO_Q]
                    S[RATIO_V] = S[NEW_RATIO_V]
                if I[AFTER_REJECT] != 0:
                    factor = min(factor, 1.0)
                if factor > 1.0 and factor < S[STAY] and I[ADVISES] < 0:
                    factor = 1.0  # an implicit method keeps its factors
                proposal = h * factor
                # a step cut short by the stop time says nothing about the next one
                if (I[HIT] != 0 or landing != 0.0) and abs(proposal) < abs(S[H]):
                    proposal = S[H]
                S[H] = proposal
                S[ERR_OLD] = max(err, 1e-4)
                I[AFTER_REJECT] = 0
                if S[STIFF_BOUND] > 0.0:
                    saves = I[SAVED] < save_t.shape[0] and landing == 0.0
                    note_stiffness(S, I, t, h, K, last, xn, xs, nx, saves)
            note_ratio(S, I, t + h, h, K[last, n[NROW] - 1], xn, K, last, nq + n[NV])
            if K[last, n[NROW] - 1] > 4.0 * S[RHO_ASKED]:
                S[RHO_ASKED] = 1e300
            if I[CROSSES] != 0 and I[DODGES] > 0:
                # looked for in vain, from closer by, too: asked at every step, the steps would be halved for ever
                S[RHO_ASKED] = min(S[RHO_ASKED], K[last, n[NROW] - 1])
            S[H_USED] = h
            S[T_NEW] = S[T_STOP] if I[HIT] != 0 else t + h
            if landing != 0.0:
                S[T_NEW] = save_t[I[SAVED]]
            I[PHASE] = WATCHING
        if I[PHASE] == PASSING:
            status = call_passage(slots, slots, fns, n, data, S, I, x, xn, K, xe, ke, W, atol, turns, passing)
            if status == NOT_FINITE:
                refuse(S, I, S[H_USED], status)
                I[PHASE] = STEPPING
            elif status != OK:
                return status
            continue
        if I[PHASE] == WATCHING:
            if n[NEV] > 0:
                if I[EVENT_ROWS] + MOST * n[NEV] > rec_ev_t.shape[0]:
                    return MORE
                status = watch(
                    slots, fns, n, data, ip, fp, sp, S, I, x, K, xn, xs, last, xe, ke, W, ev, ev_f, found_theta,
                    found, rec_ev_t, rec_ev_i, rec_ev_x, rec_ev_k,
                )  # fmt: skip
                if status == AGAIN or status == EVENT:
                    I[PHASE] = STEPPING
                    I[RETAKEN] += 1
                    if status == EVENT:
                        return EVENT
                    continue
                if status == NEED_REFINED or status == NEED_TERMS or status == ACCUMULATES:
                    return status
                if status != OK:
                    if I[FIXED] != 0:
                        I[LAST_STATUS] = status
                        S[T_FAILED] = S[T]
                        return status
                    refuse(S, I, S[H_USED], status)
                    I[PHASE] = STEPPING
                    continue
            I[PHASE] = WRITING
            I[OF_STEP] = 0
        # WRITING
        room = rec_t.shape[0]
        status = OK
        if I[KEEP_STEPS] != 0:
            if I[ROWS] >= room:
                return MORE
            write_row(rec_t, rec_x, rec_k, I[ROWS], S[T_NEW], xn, K, last, nq, nx, nk)
            I[ROWS] += 1
        else:
            while I[SAVED] < save_t.shape[0] and (save_t[I[SAVED]] - S[T_NEW]) * forward <= 0.0:
                if I[ROWS] >= room:
                    I[OF_STEP] = HANDED_OVER
                    return MORE
                wanted = save_t[I[SAVED]]
                if wanted == S[T_NEW]:
                    write_row(rec_t, rec_x, rec_k, I[ROWS], wanted, xn, K, last, nq, nx, nk)
                else:
                    status = dense_ready(slots, fns, n, data, ip, fp, S, I, x, K, xn, xs, W)
                    if status != OK:
                        return status
                    theta = (wanted - S[T]) / S[H_USED]
                    I[PULLS] += 1
                    status = state_inside(
                        slots, fns, n, data, ip, fp, sp, theta, S[T], S[H_USED], x, K, xn, xe, ke, W, True,
                        shyness(S, I),
                    )  # fmt: skip
                    if status != OK:
                        break
                    write_row(rec_t, rec_x, rec_k, I[ROWS], wanted, xe, ke, 0, nq, nx, nk)
                I[ROWS] += 1
                I[SAVED] += 1
                I[OF_STEP] += 1
            if status == NEED_REFINED or status == NEED_TERMS:
                I[OF_STEP] = HANDED_OVER
                return status
            if status != OK:
                if I[FIXED] != 0 or n[NEV] > 0 or I[OF_STEP] < 0:
                    I[LAST_STATUS] = status
                    S[T_FAILED] = S[T]
                    return status
                I[ROWS] -= I[OF_STEP]  # the step is too long for its dense output: none of it is kept
                I[SAVED] -= I[OF_STEP]
                refuse(S, I, S[H_USED], status)
                I[PHASE] = STEPPING
                continue
        call_accept(slots, n, ip, fp, S[H_USED], x, K, xn)
        if I[STEERS] >= 0 and (I[HIT] == 0 or abs(K[I[STEERS], STEER_STEP]) > abs(S[H])):
            S[H] = K[I[STEERS], STEER_STEP]
        S[T] = S[T_NEW]
        I[DODGES] = 0
        I[ALONG] = 0
        I[ACCEPTED] += 1
        I[STEP_NUMBER] += 1
        I[PREPARED] = 0
        I[PHASE] = STEPPING
        if I[RETAKE] != 0:
            I[RETAKE] = 0
            I[TRIES] = 0
            return EVENT
