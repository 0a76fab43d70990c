"""Adams-Bashforth of order 2: one evaluation a step, looking one step back."""

from __future__ import annotations

import numpy as np

from ..errors import OK
from ..kernels.signatures import ACCEPT, ADVANCE
from ..kernels.vectors import copy_row, move_on
from ..native.marks import kernel, leaf
from .base import Integrator, Lowered
from .runge_kutta import dense, finish, interpolate

# rows of K: the field at the old point, at the new point, and one step before the old point; in the last place
# of that row, where other rows have ρ, stands the length of that step, 0 if there was none
NOW, NEW, PAST = 0, 1, 2


@leaf
def two_step(xn, x, h, last, K, n):
    """xn = x + h ((1 + ω/2) K_now - ω/2 K_past), ω the ratio of this step to the last one; Euler without a last one."""
    half = 0.5 * h / last if last != 0.0 else 0.0
    for i in range(n):
        xn[i] = x[i] + h * ((1.0 + half) * K[NOW, i] - half * K[PAST, i])


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """The new point."""
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    two_step(xn, x, h, K[PAST, size.nrow - 1], K, size.nx)
    return OK


@kernel(ACCEPT)
def accept(model, method, run, h, state):
    """Shift the history; the new row is the field at the stabilized point."""
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    copy_row(K, NOW, K, PAST, size.nrow)
    K[PAST, size.nrow - 1] = h
    move_on(K, NEW, size.nrow, xn, x, size.nx)
    return OK


class AdamsBashforth2(Integrator):
    """Adams-Bashforth of order 2, fixed step; the first step is forward Euler.

    x₁ = x₀ + h (3/2 f₀ - 1/2 f₋₁),   f at the stabilized points

    Where a step has another length than the one before (the last one, or one that ends at an event), the weights
    are 1 + ω/2 and -ω/2 with the ratio ω of the two. The Euler step costs O(h²) once and leaves order 2.

    References
    ----------
    [HNW93] Sec. III.1 and III.5; [ascher-chin-reich-1992] Example 4.
    """

    order, adaptive = 2, False
    damping_limit = 1.0
    references = ("HNW93", "ascher-chin-reich-1992")

    def lower(self) -> Lowered:
        ip = np.array([NEW, 0, 0, 0, 0, 0, 0, 0, 0, 0], dtype=np.int64)  # as for Runge-Kutta with one stage
        slots = {"advance": advance, "finish": finish, "accept": accept, "dense": dense, "interpolate": interpolate}
        return Lowered(slots, ip, np.zeros(1), rows=3, errors=0, remembers=True)
