"""Algebraic variables after a state has been moved: solved again, from where they were."""

from __future__ import annotations

from ..errors import NOT_FINITE, OK
from ..native.marks import inner, leaf
from .signatures import SETTLED, call_model, call_pull


@leaf
def take(x, at_x, W, at, n):
    """x[at_x:] = W[at:], n numbers; 1 where one of them is not finite."""
    for i in range(n):
        if not abs(W[at + i]) < 1e300:
            return 1
    for i in range(n):
        x[at_x + i] = W[at + i]
    return 0


@inner
def settle(model, t, x, W):
    """Make the algebraic variables in x fit the rest of it."""
    size = model.size
    if size.nw == 0:
        return OK
    call_model(model, SETTLED, t, x, 0, x, 0, W, size.at_correction)
    return NOT_FINITE if take(x, size.nq - size.nw, W, size.at_correction, size.nw) != 0 else OK


@inner
def pull_and_settle(slots, model, sp, run, t, x, W):
    """Move x onto the constraints, algebraic variables with it."""
    status = call_pull(slots, model, sp, run, t, 0.0, x, x, x, W)
    return status if status != OK else settle(model, t, x, W)
