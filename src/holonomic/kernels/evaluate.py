"""One evaluation of the field, and what to do when the unrolled solve is not to be trusted.

The emitted solve does not pivot; it loses about ε/ρ of its accuracy, ρ = min d_i/A_ii being its smallest
pivot ratio, which it returns:

    ρ > 1e-4            as it is
    1e-8 < ρ <= 1e-4    its twin with one step of iterative refinement
    below, or NaN       dense LU with pivoting and refinement of the whole saddle-point matrix
                        (also right where M is positive definite on the tangent space only)
    LU below 1e-14      a singular position

A model without dense terms solves as well as it can by itself: from 1e-8 on downwards its position counts as singular.

Where rows are redundant, FIELD has the usual independent ones; below 1e-4 the twin lets the others take their part, and the
dense solve chooses rows itself (see `model.redundant_rows`).

Light parts between heavy ones are more than that can hold: G M⁻¹ Gᵀ has their 1/m beside those of the heavy parts, whose
digits are lost, and forces that nearly cancel are divided by m. With rods of 1e-6 kg on a beam of 3e4 kg, 0.1 ms from a
singular position, accelerations were wrong by 1e-3, where the equations themselves determine them to 1e-12. So a run that
comes to ρ <= 1e-2 is weighed once, and has the dense solve from then on if its masses are so different.

ρ depends on the order of elimination, and what is lost can be shared by several pivots, none of which shows it. What does not
depend on it is G v' + γ beside its terms. Of 9600 random loops of three to five bars, heaviest over lightest coordinate up to
1e5, whatever the order:

    ρ                     errors of v'    with |G v' + γ| <= 1e-13      refined       with |G v' + γ| <= 1e-14
    above 1e-2            5e-11
    1e-3 to 1e-2          3e-9            9e-11                         8e-14
    1e-4 to 1e-3          1e-7            9e-11                         7e-13
    1e-6 to 1e-4          4e-6                                          1e-11         1e-11
    1e-8 to 1e-6          8e-5                                          6e-9          1e-10

So where ρ <= 1e-2 a run looks at G v' + γ now and then; where that is larger, it has the next better solve from then on.
"""

from __future__ import annotations

from ..errors import NEED_REFINED, NEED_SWITCHES, NEED_TERMS, NOT_FINITE, OK, SINGULAR
from ..native.marks import inner, kernel, leaf
from ..native.types import i8
from .saddle import HETEROGENEOUS, dense_saddle, dense_short, kinematic_scales, missed_rows
from .signatures import CAREFULLY, EXTRA_RATES, FIELD, REFINED, TERMS, call_careful, call_field, call_model, has_function
from .sliding import mean_field, sliding
from .vectors import all_finite, row_finite

RHO_WEIGHED = 1e-2
RHO_PLAIN = 1e-4
RHO_REFINED = 1e-8
RHO_SINGULAR = 1e-14
MISSED_PLAIN, MISSED_REFINED = 1e-13, 1e-14  # |G v' + γ| beside its terms
RARELY = 16  # steps between looks at it, which take about as long as one evaluation
LARGEST = 80  # unknowns of the dense solve, from which on it costs too much to be taken for masses alone


@leaf
def asks_for_function(status: i8):
    """Tell whether a status asks for a model function that is to be compiled first."""
    return status == NEED_REFINED or status == NEED_TERMS or status == NEED_SWITCHES


@inner
def evaluate(model, run, t, x, K, row, W):
    """Field at (t, x) into a row of K; W is workspace of `dense_work` numbers."""
    size = model.size
    status = call_field(model, FIELD, t, x, K, row)
    if status != OK:
        return status
    if K[row, size.nrow - 1] > RHO_WEIGHED and row_finite(K, row, size.nq + size.nv):
        return OK
    return call_careful(model.fns, model, run, t, x, K, row, W)


@kernel(CAREFULLY)
def evaluate_carefully(model, run, t, x, K, row, W):
    """The refined twin, or the dense solve; called through its address to keep the common path short."""
    size = model.size
    if size.n_switches > 0:
        if sliding(model) >= 0:
            return mean_field(model, run, t, x, K, row, W)
    finite = row_finite(K, row, size.nq + size.nv)
    if size.nv == 0:
        if not K[row, size.nrow - 1] > RHO_SINGULAR:  # G B of a Dae; an Ode has ρ = 1
            return SINGULAR
        return OK if finite else NOT_FINITE
    status = weigh(model, run, t, x, W)
    if status != OK:
        return status
    nq, nv, nl = size.nq, size.nv, size.nl
    looks = finite and K[row, size.nrow - 1] > RHO_REFINED and may_look(run, size)
    if looks:
        if not has_function(model, TERMS):
            return NEED_TERMS
        call_model(model, TERMS, t, x, 0, x, 0, W, 0)
    if K[row, size.nrow - 1] > RHO_PLAIN and finite and run.uneven < 1:
        if not looks:
            return OK
        if missed_rows(W, nq, nv, nl, K[row]) <= MISSED_PLAIN:
            look_later(run)
            return OK
        if not has_function(model, REFINED):
            return NEED_REFINED
        run.uneven = 2
    if (size.rank < nl or (K[row, size.nrow - 1] > RHO_REFINED and finite)) and run.uneven != 1:
        if not has_function(model, REFINED):
            return NEED_REFINED
        call_field(model, REFINED, t, x, K, row)
        finite = row_finite(K, row, nq + nv)
        if size.rank == nl:
            if not finite:
                return NOT_FINITE
            if not looks:
                return OK
            if missed_rows(W, nq, nv, nl, K[row]) <= MISSED_REFINED:
                look_later(run)
                return OK
            run.uneven = 1
        elif finite and K[row, size.nrow - 1] > RHO_REFINED:
            return OK
    if not has_function(model, TERMS):
        return NEED_TERMS
    count = nq + nv * nv + nv + nl * nv + nl
    call_model(model, TERMS, t, x, 0, x, 0, W, 0)
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
    call_model(model, EXTRA_RATES, t, x, 0, K, at + nq, K, at + size.nc)
    return OK if row_finite(K, row, nq) else NOT_FINITE


@kernel(CAREFULLY)
def judge_field(model, run, t, x, K, row, W):
    """The same for models without dense terms: return why their field failed, if it did."""
    size = model.size
    if size.n_switches > 0:
        if sliding(model) >= 0:
            return mean_field(model, run, t, x, K, row, W)
    rho = K[row, size.nrow - 1]
    if not rho >= 0.0 or not row_finite(K, row, size.nq + size.nv):
        return SINGULAR if rho == 0.0 else NOT_FINITE
    return OK if rho > RHO_REFINED else SINGULAR


@inner
def may_look(run, size):
    """Whether it is time to look at what the solve loses, and anything follows from it."""
    return run.accepted >= run.next_look and run.uneven != 1 and 0 < size.nl == size.rank and size.nv + size.nl <= LARGEST


@leaf
def look_later(run):
    """Note that the solve has lost little, and when to look again: at first soon."""
    run.look_gap = min(2 * run.look_gap + 1, RARELY)
    run.next_look = run.accepted + run.look_gap


@inner
def weigh(model, run, t, x, W):
    """Find out, once in a run, whether light parts are between heavy ones."""
    size = model.size
    nq, nv, nl = size.nq, size.nv, size.nl
    if run.uneven != 0 or nl == 0:
        return OK
    if nv + nl > LARGEST:
        run.uneven = -1
        return OK
    if not has_function(model, TERMS):
        return NEED_TERMS
    call_model(model, TERMS, t, x, 0, x, 0, W, 0)
    behind = nq + nv * nv + nv + nl * nv + nl
    ratio = kinematic_scales(W, nq, nq + nv * nv + nv, nv, nl, W[behind : behind + nv + nl])
    run.uneven = 1 if ratio > HETEROGENEOUS else -1
    return OK
