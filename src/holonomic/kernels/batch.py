"""The loop over ensemble members: each from its own start and data, all in one set of arrays.

Members do not see each other, so their numbers are the same in whatever order and on however many threads
they run. A member that fails leaves its status behind and the loop goes on.
"""

from __future__ import annotations

from ..errors import MORE, NEED_REFINED, NEED_TERMS, OK
from .compile import leaf
from .control import first_step
from .drive import drive
from .evaluate import evaluate
from .signatures import NK, NL, NQ, NROW, NV, NX, WX
from .state import (
    ACCEPTED,
    FIXED,
    FRESH,
    H_MAX,
    N_FLOATS,
    N_INTS,
    QUOTA,
    REJECTED,
    RHO_LEAST,
    ROWS,
    RTOL,
    SAVED,
    T_STOP,
    H,
    T,
)
from .vectors import write_row

PLENTY = 1 << 62


@leaf
def run_members(first, last, slots, fns, n, ip, fp, sp, DATA, X0, at_lam, S0, I0, order, data, S, I, x, xn, xs, K, E,
                W, atol, turns, rec_t, save_t, ev, ev_f, found_theta, found, xe, ke, rec_ev_t, rec_ev_i, rec_ev_x,
                rec_ev_k, OUT_X, OUT_K, STATUS, REACHED, STEPS, SAVED_ROWS):  # fmt: skip
    """Run members first .. last-1; what they saved goes to OUT_X and OUT_K, member by member.

    Where λ is an unknown, it stands at_lam in x and starts from the field; -1: it is not, or X0 has it.
    """
    nx, nq, nk = n[NX], n[NQ], n[NK]
    nz = nq + n[NV]
    for m in range(first, last):
        for i in range(DATA.shape[1]):
            data[i] = DATA[m, i]
        for i in range(nx):
            x[i] = X0[m, i]
        for i in range(N_FLOATS):
            S[i] = S0[i]
        for i in range(N_INTS):
            I[i] = I0[i]
        # nothing is remembered of another member
        W[n[WX] + nx] = 0.0
        for row in range(1, K.shape[0]):
            for i in range(K.shape[1]):
                K[row, i] = 0.0
        t = S[T]
        status = evaluate(fns, n, t, x, data, K, 0, W)
        if status == OK:
            I[FRESH] = 1
            S[RHO_LEAST] = min(S[RHO_LEAST], K[0, n[NROW] - 1])
            if at_lam >= 0:
                for i in range(n[NL]):
                    x[at_lam + i] = K[0, nz + i]
            if I[FIXED] == 0:
                forward = 1.0 if S[T_STOP] >= t else -1.0
                most = min(S[H_MAX], abs(S[T_STOP] - t))
                row = K[0]
                h = first_step(t, x, row, xn, row, order, atol, S[RTOL], forward, most, nz, 0)
                for i in range(nz):
                    xn[i] = x[i] + h * K[0, i]
                status = evaluate(fns, n, t + h, xn, data, K, 1, W)
                if status == OK:
                    h = first_step(t, x, row, xn, K[1], order, atol, S[RTOL], forward, most, nz, 1)
                S[H] = h
        if status != NEED_REFINED and status != NEED_TERMS and I[FRESH] == 1:
            if save_t.shape[0] > 0 and save_t[0] == t:
                write_row(rec_t, OUT_X[m], OUT_K[m], 0, t, x, K, 0, nq, nx, nk)
                I[ROWS] = 1
                I[SAVED] = 1
            I[QUOTA] = PLENTY
            status = MORE
            while status == MORE:
                status = drive(slots, fns, n, data, ip, fp, sp, S, I, x, xn, xs, K, E, W, atol, turns, rec_t,
                               OUT_X[m], OUT_K[m], save_t, ev, ev_f, found_theta, found, xe, ke, rec_ev_t,
                               rec_ev_i, rec_ev_x, rec_ev_k)  # fmt: skip
        STATUS[m] = status
        REACHED[m] = S[T]
        STEPS[m] = I[ACCEPTED] + I[REJECTED]
        SAVED_ROWS[m] = I[ROWS]
