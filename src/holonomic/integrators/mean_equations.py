"""Newton's method of the trapezoidal and the midpoint rule for models without dense rows.

Their differential rows are means, so that Newton's matrix has half of ∂R/∂y beside 1/h ∂R/∂y'. Doubled, it is that of a shift 2/h:

    trapezoidal    (∂R/∂y + 2/h ∂R/∂y') Δy = (R(t0, y0, δ) + R(t1, y1, δ); algebraic rows at t1)
    midpoint       the same in the middle, of (Δq, Δv, 2 Δλ), with 2 R(t0 + h/2, (y0 + y1)/2, δ) in differential rows

Algebraic rows that the midpoint rule has at t1 are those of the end in its matrix, too: ENDS_FACTOR takes the equations linearized
at both points.
"""

from __future__ import annotations

from ..errors import OK, SINGULAR
from ..kernels.newton import subtract_scaled
from ..kernels.newton_operators import GROWTH, OWN, linearize, real_at
from ..kernels.signatures import ENDS_FACTOR, ENDS_SOLVE, EQUATIONS, LINEARIZED, NEWTON_FACTOR, NEWTON_SOLVE, call_model
from ..native.marks import inner, leaf


@leaf
def add_rows(W, at_r, at_old, differential):
    """Differential rows of both ends."""
    for i in range(differential):
        W[at_r + i] += W[at_old + i]


@leaf
def middle(W, at, x, y, differential, ny):
    """Mean of old and new; multipliers are those of the step."""
    for i in range(ny):
        W[at + i] = 0.5 * (x[i] + y[i]) if i < differential else y[i]


@leaf
def end_with_twice(W, at, y, differential, ny):
    """The new point with twice its multipliers, which are the unknowns here: rows that are left out say that they vanish."""
    for i in range(ny):
        W[at + i] = y[i] if i < differential else 2.0 * y[i]


@leaf
def join_rows(W, at_r, at_end, first, last, equations):
    """Rows first .. last-1 of the end; twice all others."""
    for i in range(equations):
        W[at_r + i] = W[at_end + i] if first <= i < last else 2.0 * W[at_r + i]


@leaf
def halve(W, at, first, last):
    """Half of some numbers."""
    for i in range(first, last):
        W[at + i] *= 0.5


@inner
def middle_residuals(model, t, h, x, xn, W, mid, old, slope, r, in_end):
    """Right-hand side of the midpoint rule; rows from the differential ones to `in_end` are those of the end."""
    size = model.size
    rows, differential, ny = size.n_differential_rows, size.n_differential, size.ny
    if in_end > rows:
        end_with_twice(W, mid, xn, differential, ny)
        call_model(model, EQUATIONS, t + h, W, mid, W, slope, W, old)
    middle(W, mid, x, xn, differential, ny)
    call_model(model, EQUATIONS, t + 0.5 * h, W, mid, W, slope, W, r)
    join_rows(W, r, old, rows, in_end, size.n_equations)


@inner
def factor_middle(model, run, t, h, xn, W, mid, slope, ends):
    """Factors of its matrix; `ends` says whether it has rows of the end."""
    size = model.size
    linearize(model, t + 0.5 * h, W, mid, W, slope)
    if not ends:
        return factor_doubled(model, run, W, NEWTON_FACTOR, h)
    call_model(model, LINEARIZED, t + h, xn, 0, W, slope, W, size.at_newton + size.n_linear // 2)
    return factor_doubled(model, run, W, ENDS_FACTOR, h)


@inner
def factor_doubled(model, run, W, which, h):
    """A model's own factors for the shift 2/h."""
    at, at_linear = real_at(model.size), model.size.at_newton
    run.factorizations += 1
    status = call_model(model, which, 2.0 / h, W, at_linear, W, at_linear, W, at + 1)
    W[at] = OWN
    return OK if status == OK and W[at + 1] <= GROWTH else SINGULAR


@inner
def step_doubled(model, run, W, r, at_step, y, halved, ends, h, fp):
    """y less the solution for r, its multipliers halved or not, with the factors of `ends`; return its size in the error norm."""
    size = model.size
    ny = size.ny
    run.residuals += 1
    call_model(model, ENDS_SOLVE if ends else NEWTON_SOLVE, 0.0, W, real_at(size) + 1, W, r, W, at_step)
    if halved:
        halve(W, at_step, size.n_differential, ny)
    return subtract_scaled(size, y, W, at_step, ny, 1.0, h, fp)
