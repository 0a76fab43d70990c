"""One evaluation of the field, and what to do when the unrolled solve is not to be trusted.

The emitted solve does not pivot; it loses about ε/ρ of its accuracy, ρ = min d_i/A_ii being its smallest
pivot ratio, which it returns:

    ρ > 1e-4            as it is
    1e-8 < ρ <= 1e-4    its twin with one step of iterative refinement
    below, or NaN       dense LU with pivoting and refinement of the whole saddle-point matrix
                        (also right where M is positive definite on the tangent space only)
    LU below 1e-14      a singular position

Where rows are redundant, FIELD has the usual independent ones; below 1e-4 the twin lets the others take their part, and the
dense solve chooses rows itself (see `model.short`).

Light parts between heavy ones are more than that can hold: G M⁻¹ Gᵀ has their 1/m beside those of the heavy parts, whose
digits are lost, and forces that nearly cancel are divided by m. With rods of 1e-6 kg on a beam of 3e4 kg, 0.1 ms from a
singular position, accelerations were wrong by 1e-3, where the equations themselves determine them to 1e-12. So a run that
comes to ρ <= 1e-2 is weighed once, and has the dense solve from then on if its masses are so different.
"""

from __future__ import annotations

from ..errors import NEED_REFINED, NEED_TERMS, NOT_FINITE, OK, SINGULAR
from .compile import inner, kernel
from .saddle import HETEROGENEOUS, dense_saddle, dense_short, kinematic_scales
from .signatures import (
    CAREFULLY,
    EXTRA_RATES,
    FIELD,
    REFINED,
    TERMS,
    call_careful,
    call_field,
    call_model,
    has_function,
)
from .vectors import all_finite, row_finite

RHO_WEIGHED = 1e-2
RHO_PLAIN = 1e-4
RHO_REFINED = 1e-8
RHO_SINGULAR = 1e-14
LARGEST = 80  # unknowns of the dense solve, from which on it costs too much to be taken for masses alone


@inner
def evaluate(fns, size, t, x, data, K, row, W):
    """Field at (t, x) into a row of K; W is workspace of `dense_work` numbers."""
    call_field(fns, FIELD, t, x, data, K, row)
    if K[row, size.nrow - 1] > RHO_WEIGHED and row_finite(K, row, size.nq + size.nv):
        return OK
    return call_careful(fns, fns, size, t, x, data, K, row, W)


@kernel(CAREFULLY)
def evaluate_carefully(fns, size, t, x, data, K, row, W):
    """The refined twin, or the dense solve; called through its address to keep the common path short."""
    finite = row_finite(K, row, size.nq + size.nv)
    if size.nv == 0:
        if not K[row, size.nrow - 1] > RHO_SINGULAR:  # G B of a Dae; an Ode has ρ = 1
            return SINGULAR
        return OK if finite else NOT_FINITE
    status = weigh(fns, size, t, x, data, W)
    if status != OK:
        return status
    uneven = W[size.at_state + size.nx + 1] > 0.0
    if K[row, size.nrow - 1] > RHO_PLAIN and finite and not uneven:
        return OK
    nq, nv, nl = size.nq, size.nv, size.nl
    if (size.rank < nl or (K[row, size.nrow - 1] > RHO_REFINED and finite)) and not uneven:
        if not has_function(fns, REFINED):
            return NEED_REFINED
        call_field(fns, REFINED, t, x, data, K, row)
        finite = row_finite(K, row, nq + nv)
        if size.rank == nl:
            return OK if finite else NOT_FINITE
        if finite and K[row, size.nrow - 1] > RHO_REFINED:
            return OK
    if not has_function(fns, TERMS):
        return NEED_TERMS
    count = nq + nv * nv + nv + nl * nv + nl
    call_model(fns, TERMS, t, x, 0, x, 0, data, W, 0)
    if not all_finite(W, count):
        return NOT_FINITE
    if size.rank < nl:
        status = dense_short(W, nq, nv, nl, size.rank, count, K[row])
    else:
        at_G = nq + nv * nv + nv
        status = dense_saddle(W, nq, nv, nl, nv + nl, count, at_G, at_G + nl * nv, K[row])
    if status != OK or size.nc == nq:
        return status
    at = row * K.shape[1]
    call_model(fns, EXTRA_RATES, t, x, 0, K, at + nq, data, K, at + size.nc)
    return OK if row_finite(K, row, nq) else NOT_FINITE


@inner
def weigh(fns, size, t, x, data, W):
    """Find out, once in a run, whether light parts are between heavy ones; kept in W: 1 if so, -1 if not."""
    nq, nv, nl, at = size.nq, size.nv, size.nl, size.at_state + size.nx + 1
    if W[at] != 0.0 or nl == 0:
        return OK
    if nv + nl > LARGEST:
        W[at] = -1.0
        return OK
    if not has_function(fns, TERMS):
        return NEED_TERMS
    call_model(fns, TERMS, t, x, 0, x, 0, data, W, 0)
    behind = nq + nv * nv + nv + nl * nv + nl
    ratio = kinematic_scales(W, nq, nq + nv * nv + nv, nv, nl, W[behind : behind + nv + nl])
    W[at] = 1.0 if ratio > HETEROGENEOUS else -1.0
    return OK
