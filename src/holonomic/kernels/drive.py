"""The one step loop: step, pull, test, watch for events, write, accept.

The loop is resumable. All it knows lives in the arrays S and I (see `state`) and in the arrays of the
state, so it can return at any point between two steps or two rows and be called again; splitting a run
changes no bit of it. It returns

    DONE   the stop time is reached            EVENT  a terminal or mapping event is reached
    MORE   quota used up or buffer full        NEED_… a model function has to be compiled first
    or what it failed of
"""

from __future__ import annotations

from ..errors import (
    DONE,
    EVENT,
    MORE,
    NEED_REFINED,
    NEED_TERMS,
    OK,
    PULL_FAILED,
    SINGULAR,
    STEP_COLLAPSED,
    TOO_MANY_STEPS,
)
from .compile import inner, leaf
from .control import error_norm, step_factor, stiffness
from .evaluate import evaluate
from .locate import event_values, find_events, state_inside
from .signatures import (
    NERR,
    NEV,
    NK,
    NQ,
    NROW,
    NX,
    call_accept,
    call_advance,
    call_dense,
    call_finish,
    call_pull,
    call_tangent,
)
from .state import (
    ACCEPTED,
    AFTER_REJECT,
    BETA,
    DENSE_READY,
    DENSES,
    ERR_OLD,
    EVENT_ROWS,
    EXPONENT,
    FAC_MAX,
    FAC_MIN,
    FAILED,
    FIXED,
    FRESH,
    H,
    H_FIXED,
    H_MAX,
    H_USED,
    HIT,
    IS_STIFF,
    KEEP_STEPS,
    LAST,
    LAST_STATUS,
    LIMIT,
    NONSTIFF,
    PHASE,
    PULL_REJECTED,
    PULLS,
    QUOTA,
    REJECTED,
    RETAKE,
    RHO_LEAST,
    ROWS,
    RTOL,
    SAFETY,
    SAVED,
    STEP_NUMBER,
    STEPPING,
    STIFF,
    STIFF_BOUND,
    T_BASE,
    T_FAILED,
    T_NEW,
    T_STIFF,
    T_STOP,
    WATCHING,
    WORST,
    WRITING,
    T,
)
from .vectors import copy

# The projected error estimate decides, but counts for no less than this share of the whole one: on a system
# with one or two degrees of freedom its few components vanish together now and then, and a step far too
# long is taken. Measured on eight problems with DOP853 at rtol 1e-5 to 1e-9: the evaluations needed for one
# error hardly depend on the share (within 10 %), but at 0 single errors are up to 100 times too large.
SHARE = 0.3
EPS = 2.220446049250313e-16


@leaf
def write_row(rec_t, rec_x, rec_k, row, t, x, K, stage, nq, nx, nk):
    """Keep (t, x, v', λ), the last two out of a row of K."""
    rec_t[row] = t
    for i in range(nx):
        rec_x[row, i] = x[i]
    for i in range(nk):
        rec_k[row, i] = K[stage, nq + i]


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
def start(fns, n, data, S, I, x, K, W):
    """Evaluate the field at the first point, or after a change of state."""
    status = evaluate(fns, n, S[T], x, data, K, 0, W)
    if status == OK:
        S[RHO_LEAST] = min(S[RHO_LEAST], K[0, n[NROW] - 1])
    return status


@inner
def attempt(slots, fns, n, data, ip, fp, sp, S, I, t, h, x, xn, xs, K, E, W, atol, turns):
    """Try one step; err in S[WORST]."""
    status = call_advance(slots, fns, n, data, ip, fp, t, h, x, K, xn, xs, W)
    if status != OK:
        return status
    I[PULLS] += 1
    status = call_pull(slots, fns, n, data, sp, t + h, xn, W)
    if status != OK:
        return status
    status = call_finish(slots, fns, n, data, ip, fp, t, h, x, K, xn, xs, E, W)
    if status != OK:
        return status
    if n[NERR] > 0:
        whole = error_norm(E, n[NERR], x, xn, atol, S[RTOL], turns, n[NQ], n[NX])
        for k in range(n[NERR]):
            call_tangent(slots, fns, n, data, sp, E, k, W)
        S[WORST] = max(
            error_norm(E, n[NERR], x, xn, atol, S[RTOL], turns, n[NQ], n[NX]), SHARE * whole
        )
    else:
        S[WORST] = 0.0
    return OK


@inner
def refuse(S, I, h, status):
    """A step that failed otherwise than by its error: try a shorter one."""
    I[FAILED] += 1
    I[LAST_STATUS] = status
    S[T_FAILED] = S[T]
    if status == PULL_FAILED:
        I[PULL_REJECTED] += 1
    # near a singular position the stages only have to miss the point
    S[H] = h * (0.7 if status == SINGULAR else 0.25)
    I[AFTER_REJECT] = 1
    I[RETAKE] = 0


@leaf
def drive(slots, fns, n, data, ip, fp, sp, S, I, x, xn, xs, K, E, W, atol, turns, rec_t, rec_x, rec_k, save_t,
          ev_dir, ev_stop, ev_sign, ev_old, ev_at, ev_value, ev_scratch, ev_sampled, found_theta, found_index, xe, ke, rec_ev_t,
          rec_ev_i, rec_ev_x, rec_ev_k):  # fmt: skip
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
            if I[ACCEPTED] + I[REJECTED] + I[FAILED] >= I[LIMIT]:
                return TOO_MANY_STEPS
            if I[FRESH] == 0:
                status = start(fns, n, data, S, I, x, K, W)
                if status != OK:
                    return status
                I[FRESH] = 1
            h = S[H]
            I[HIT] = 0
            if I[RETAKE] != 0:
                pass
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
            if abs(h) <= 4.0 * EPS * abs(t) and I[HIT] == 0:
                return STEP_COLLAPSED
            I[QUOTA] -= 1
            status = attempt(slots, fns, n, data, ip, fp, sp, S, I, t, h, x, xn, xs, K, E, W, atol, turns)
            if status == NEED_REFINED or status == NEED_TERMS:
                return status
            if status != OK:
                if I[FIXED] != 0:
                    I[LAST_STATUS] = status
                    S[T_FAILED] = t
                    return status
                refuse(S, I, h, status)
                if abs(S[H]) <= 16.0 * EPS * max(abs(t), abs(S[T_STOP])) and abs(S[H]) < 1e-12:
                    return STEP_COLLAPSED
                continue
            err = S[WORST]
            if n[NERR] > 0 and I[FIXED] == 0:
                if not err <= 1.0:
                    I[REJECTED] += 1
                    S[H] = h * step_factor(err, 1.0, S[EXPONENT], 0.0, S[SAFETY], S[FAC_MIN], 1.0)
                    if not err <= 1e300:
                        S[H] = h * 0.1
                    I[AFTER_REJECT] = 1
                    I[RETAKE] = 0
                    if abs(S[H]) <= 16.0 * EPS * max(abs(t), abs(S[T_STOP])) and abs(S[H]) < 1e-12:
                        S[WORST] = worst_component(E, x, xn, atol, S[RTOL], nx)
                        return STEP_COLLAPSED
                    continue
                factor = step_factor(
                    err, S[ERR_OLD], S[EXPONENT], S[BETA], S[SAFETY], S[FAC_MIN], S[FAC_MAX]
                )
                if I[AFTER_REJECT] != 0:
                    factor = min(factor, 1.0)
                proposal = h * factor
                # a step cut short by the stop time says nothing about the next one
                if I[HIT] != 0 and abs(proposal) < abs(S[H]):
                    proposal = S[H]
                S[H] = proposal
                S[ERR_OLD] = max(err, 1e-4)
                I[AFTER_REJECT] = 0
                if S[STIFF_BOUND] > 0.0 and (I[STIFF] > 0 or I[ACCEPTED] % 50 == 49):
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
            S[RHO_LEAST] = min(S[RHO_LEAST], K[last, n[NROW] - 1])
            S[H_USED] = h
            S[T_NEW] = S[T_STOP] if I[HIT] != 0 else t + h
            I[DENSE_READY] = 0
            I[PHASE] = WATCHING
        if I[PHASE] == WATCHING:
            if n[NEV] > 0 and I[RETAKE] == 0:
                if I[EVENT_ROWS] + 4 * n[NEV] > rec_ev_t.shape[0]:
                    return MORE
                status = call_dense(slots, fns, n, data, ip, fp, S[T], S[H_USED], x, K, xn, xs, W)
                if status != OK:
                    if status == NEED_REFINED or status == NEED_TERMS:
                        return status
                    refuse(S, I, S[H_USED], status)
                    I[PHASE] = STEPPING
                    continue
                I[DENSE_READY] = 1
                for k in range(n[NEV]):  # what was the end of the last step is the start of this one
                    ev_at[k] = 0.0
                    ev_old[k] = ev_sign[k]
                count = find_events(
                    slots, fns, n, data, ip, fp, sp, S, I, x, K, xn, last, xe, ke, W, ev_dir, ev_sign, ev_at,
                    ev_value, ev_scratch, ev_sampled, found_theta, found_index,
                )  # fmt: skip
                if count < 0:
                    if -count == NEED_REFINED or -count == NEED_TERMS:
                        return -count
                    refuse(S, I, S[H_USED], -count)
                    I[PHASE] = STEPPING
                    continue
                retake = False
                for i in range(count):
                    theta = found_theta[i]
                    k = found_index[i]
                    if ev_stop[k] != 0:
                        if theta * abs(S[H_USED]) <= 8.0 * EPS * max(abs(S[T]), abs(S[T_NEW])):
                            # at the start of the step: the state is already there
                            row = I[EVENT_ROWS]
                            write_row(rec_ev_t, rec_ev_x, rec_ev_k, row, S[T], x, K, 0, nq, nx, nk)
                            rec_ev_i[row] = k
                            I[EVENT_ROWS] += 1
                            I[PHASE] = STEPPING
                            ev_sign[k] = 0
                            return EVENT
                        if theta < 1.0:
                            retake = True
                            S[H] = theta * S[H_USED]
                        I[RETAKE] = k + 1
                        break
                    ev_old[k] = -ev_old[k]
                    row = I[EVENT_ROWS]
                    if theta >= 1.0:
                        write_row(rec_ev_t, rec_ev_x, rec_ev_k, row, S[T_NEW], xn, K, last, nq, nx, nk)
                    else:
                        status = state_inside(
                            slots, fns, n, data, ip, fp, sp, theta, S[T], S[H_USED], x, K, xn, xe, ke, W, True
                        )
                        if status != OK:
                            return status
                        t_event = S[T] + theta * S[H_USED]
                        write_row(rec_ev_t, rec_ev_x, rec_ev_k, row, t_event, xe, ke, 0, nq, nx, nk)
                    rec_ev_i[row] = k
                    I[EVENT_ROWS] += 1
                if retake:
                    I[PHASE] = STEPPING
                    continue
            I[PHASE] = WRITING
        # WRITING
        room = rec_t.shape[0]
        if I[KEEP_STEPS] != 0:
            if I[ROWS] >= room:
                return MORE
            write_row(rec_t, rec_x, rec_k, I[ROWS], S[T_NEW], xn, K, last, nq, nx, nk)
            I[ROWS] += 1
        else:
            while I[SAVED] < save_t.shape[0] and (save_t[I[SAVED]] - S[T_NEW]) * forward <= 0.0:
                if I[ROWS] >= room:
                    return MORE
                wanted = save_t[I[SAVED]]
                if wanted == S[T_NEW]:
                    write_row(rec_t, rec_x, rec_k, I[ROWS], wanted, xn, K, last, nq, nx, nk)
                else:
                    if I[DENSE_READY] == 0:
                        status = call_dense(slots, fns, n, data, ip, fp, S[T], S[H_USED], x, K, xn, xs, W)
                        if status != OK:
                            return status
                        I[DENSE_READY] = 1
                        I[DENSES] += 1
                    theta = (wanted - S[T]) / S[H_USED]
                    I[PULLS] += 1
                    status = state_inside(
                        slots, fns, n, data, ip, fp, sp, theta, S[T], S[H_USED], x, K, xn, xe, ke, W, True
                    )
                    if status != OK:
                        return status
                    write_row(rec_t, rec_x, rec_k, I[ROWS], wanted, xe, ke, 0, nq, nx, nk)
                I[ROWS] += 1
                I[SAVED] += 1
        retaken = I[RETAKE]
        call_accept(slots, n, ip, fp, S[H_USED], x, K, xn)
        S[T] = S[T_NEW]
        I[ACCEPTED] += 1
        I[STEP_NUMBER] += 1
        I[PHASE] = STEPPING
        if retaken != 0:
            I[RETAKE] = 0
            status = event_values(
                slots, fns, n, data, ip, fp, sp, 1.0, S[T], S[H_USED], x, K, xn, last, xe, ke, W, I, ev_scratch
            )
            for k in range(n[NEV]):
                sign = 1 if ev_scratch[k] > 0.0 else (-1 if ev_scratch[k] < 0.0 else 0)
                crossed = sign != 0 and abs(ev_old[k]) == 1 and sign != ev_old[k]
                if k == retaken - 1 or (crossed and (ev_dir[k] == 0 or ev_dir[k] == sign)):
                    row = I[EVENT_ROWS]
                    write_row(rec_ev_t, rec_ev_x, rec_ev_k, row, S[T], x, K, 0, nq, nx, nk)
                    rec_ev_i[row] = k
                    I[EVENT_ROWS] += 1
                    sign = 0  # armed again after it has left zero
                ev_sign[k] = sign
                ev_value[k] = ev_scratch[k]
            return EVENT
