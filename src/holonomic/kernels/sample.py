"""Looking into a finished run: one recorded step replayed, and model functions along recorded rows."""

from __future__ import annotations

from ..errors import OK
from .compile import leaf
from .evaluate import evaluate
from .locate import state_inside
from .signatures import call_advance, call_dense, call_finish, call_model


@leaf
def take_row(source, row, target, n):
    """target = source[row]"""
    for i in range(n):
        target[i] = source[row, i]


@leaf
def put_state(xe, ke, nq, nx, nk, out_x, out_k, row):
    """Keep a state and (v', λ) in one row of the results."""
    for i in range(nx):
        out_x[row, i] = xe[i]
    for i in range(nk):
        out_k[row, i] = ke[0, nq + i]


@leaf
def replay(slots, fns, size, data, ip, fp, sp, rec_t, rec_x, steps, wanted, last, x, xn, xs, K, E, xe, ke, W,
           out_x, out_k, done):  # fmt: skip
    """States at `wanted[done[0]:last]`, in the order of the run; the step of time j begins at row steps[j].

    Each step is taken again from its recorded beginning, once for all times inside it. Its recorded end takes
    the place of the end computed here, so that the curve joins the recorded points. done[0] counts the times
    that are finished: after NEED_REFINED or NEED_TERMS the call is repeated.
    """
    nx, nq, nk = size.nx, size.nq, size.nk
    now = -1
    while done[0] < last:
        j = done[0]
        i = steps[j]
        t = rec_t[i]
        h = rec_t[i + 1] - t
        if i != now:
            take_row(rec_x, i, x, nx)
            status = evaluate(fns, size, t, x, data, K, 0, W)
            if status != OK:
                return status
            status = call_advance(slots, fns, size, data, ip, fp, t, h, x, K, xn, xs, W)
            if status != OK:
                return status
            take_row(rec_x, i + 1, xn, nx)
            status = call_finish(slots, fns, size, data, ip, fp, t, h, x, K, xn, xs, E, W)
            if status != OK:
                return status
            status = call_dense(slots, fns, size, data, ip, fp, t, h, x, K, xn, xs, W)
            if status != OK:
                return status
            now = i
        theta = (wanted[j] - t) / h
        status = state_inside(slots, fns, size, data, ip, fp, sp, theta, t, h, x, K, xn, xe, ke, W, True, 0.0)
        if status != OK:
            return status
        put_state(xe, ke, nq, nx, nk, out_x, out_k, j)
        done[0] += 1
    return OK


@leaf
def along(fns, which, t, x, b, data, first, last, out):
    """Model function `which` at rows first .. last-1: out[row] = f(t[row], x[row], b[row])."""
    for row in range(first, last):
        call_model(
            fns, which, t[row], x, row * x.shape[1], b, row * b.shape[1], data, out, row * out.shape[1]
        )  # fmt: skip
