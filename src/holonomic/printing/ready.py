"""A start on the constraints, where there is no room for pivoting: what is plain is done, the rest is told.

The same equations as in `loop.starts`, by the model's own unrolled factors: the nearest point of the constraints,
then the nearest velocity. Whatever is not clearly fine (rank, slow convergence, a start that misses the constraints) is
left for the processor to judge.
"""

from __future__ import annotations

from ..kernels.signatures import POS_FACTOR, POS_SOLVE, POS_TANGENT, RESIDUAL, VEL_FACTOR, VEL_SOLVE, call_model
from ..kernels.vectors import ROUNDING, largest_scaled, norm, subtract
from ..loop.starts import FREE, MOST_STEPS, PROJECT
from ..stabilizations.projection import begin_again, remember

CLEAR = 1e-6  # pivot ratios above this leave no doubt about the rank


def ready(model, t, mode, tol, least, x, W):
    """Check x = (q, v) against `least`, or project it in place to `tol`; False: not clearly a start.

    Written into the programs of a GPU alone, and so not compiled here.
    """
    size = model.size
    nq, rows, at_r, at_d = size.nq, size.n_position, size.at_residual, size.at_correction
    if mode == FREE or size.nl == 0:
        return True
    if rows > 0:
        if mode == PROJECT:
            enough = 1e-2 * tol * max(1.0, norm(x, 0, nq)) + 0.1 * ROUNDING
            remember(x, W, size.at_state, nq)
            found = False
            for _ in range(MOST_STEPS):
                call_model(model, POS_FACTOR, t, x, 0, x, 0, W, size.at_position)
                call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
                if not W[size.at_position] > CLEAR:
                    return False
                if largest_scaled(W, at_r, size.at_position, rows) <= enough:
                    found = True
                    break
                call_model(model, POS_SOLVE, t, W, size.at_position, W, at_r, W, at_d)
                begin_again(x, W, size.at_state, at_d, size.at_multipliers, nq)
                call_model(model, POS_TANGENT, t, W, size.at_position, W, size.at_multipliers, W, at_d)
                subtract(x, 0, W, at_d, nq, 1.0)
            if not found:
                return False
        else:
            call_model(model, POS_FACTOR, t, x, 0, x, 0, W, size.at_position)
            if not W[size.at_position] > CLEAR:
                return False
    call_model(model, VEL_FACTOR, t, x, 0, x, 0, W, size.at_velocity)
    if not W[size.at_velocity] > CLEAR:
        return False
    call_model(model, RESIDUAL, t, x, 0, x, 0, W, at_r)
    if mode == PROJECT:
        call_model(model, VEL_SOLVE, t, W, size.at_velocity, W, at_r + rows, W, at_d)
        subtract(x, nq, W, at_d, size.nv, 1.0)
        return True
    if rows > 0 and not largest_scaled(W, at_r, size.at_position, rows) <= least:
        return False
    return largest_scaled(W, at_r + rows, size.at_velocity, size.nl) <= least
