"""Motion along a switch towards which both fields lead: Filippov's mean of them.

With f₋ where the switch is false and f₊ where it is true, and g its function, zero here, there is one mean that stays on g = 0:

    f = (1 - α) f₋ + α f₊,    α = g'₋ / (g'₋ - g'₊),    g' = ∂g/∂t + ∂g/∂z f

It is a motion while 0 <= α <= 1: dry friction that holds. Of such a switch the mode in data is NaN, which makes its comparison
false and the pivot ratio of FIELD 0, so that `evaluate` asks for this.
"""

from __future__ import annotations

import math

from ..errors import NOT_FINITE, OK, SINGULAR
from ..native.marks import inner
from .signatures import EVENT_RATES, FIELD, call_field, call_model
from .vectors import row_finite

ASLEEP = 1e-300  # modes that are less are those of selects that sleep: the values decide
RHO_LEAST = 1e-8  # pivot ratio of either field, as in `evaluate`


@inner
def sleeps(model, j):
    """Tell whether switch j is that of a select that sleeps."""
    size = model.size
    return j >= size.n_switches - size.n_selects and abs(model.data[size.at_modes + j]) < ASLEEP


@inner
def sliding(model):
    """The number of the switch along which the motion goes, -1 where there is none."""
    size = model.size
    for j in range(size.n_switches):
        mode = model.data[size.at_modes + j]
        if mode != mode:
            return j
    return -1


@inner
def mean_field(model, run, t, x, K, row, W, j):
    """The mean of both fields into a row of K; α goes to run.share, the mean of the rates of all that is watched into W."""
    size, nev = model.size, model.size.n_events
    at, rates = size.at_modes + j, size.at_sliding
    before, here = rates + 2 * nev, rates + 4 * nev
    wanted = rates + nev - size.n_switches + j
    below = above = 0.0
    status = OK
    for side in range(2):
        model.data[at] = math.inf if side == 1 else -math.inf
        if call_field(model, FIELD, t, x, K, row) != OK or not row_finite(K, row, size.nq + size.nv):
            status = NOT_FINITE
            break
        if not K[row, size.nrow - 1] > RHO_LEAST:
            status = SINGULAR
            break
        call_model(model, EVENT_RATES, t, x, 0, K, row * K.shape[1] + size.nq, W, rates)
        if side == 0:
            below = W[wanted]
            for i in range(size.nrow):
                W[here + i] = K[row, i]
            for i in range(2 * nev):
                W[before + i] = W[rates + i]
        else:
            above = W[wanted]
    model.data[at] = math.nan
    if status != OK:
        return status
    share = below / (below - above) if below != above else 0.5
    run.share = share
    for i in range(size.nrow - 1):
        K[row, i] = (1.0 - share) * W[here + i] + share * K[row, i]
    for i in range(2 * nev):
        W[rates + i] = (1.0 - share) * W[before + i] + share * W[rates + i]
    K[row, size.nrow - 1] = min(K[row, size.nrow - 1], W[here + size.nrow - 1])
    return OK if row_finite(K, row, size.nq + size.nv) else NOT_FINITE
