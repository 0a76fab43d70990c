"""The field at the new point and the cubic through both ends of a step: slots that implicit methods share."""

from __future__ import annotations

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.signatures import DENSE, FINISH, INTERPOLATE
from ..native.marks import kernel, leaf


@kernel(FINISH)
def finish(model, method, run, t, h, state):
    """The field at the new point, for the predictor, the dense output and the record."""
    xn, K, W = state.xn, state.K, state.W
    return evaluate(model, run, t + h, xn, K, 1, W)


@kernel(DENSE)
def dense(model, method, run, t, h, state):
    """Nothing to prepare."""
    return OK


@leaf
def hermite(theta, h, x, K, xn, differential, ny, out):
    """Cubic through both ends for q and v, a line for multipliers."""
    turn = 1.0 - theta
    rise = theta * theta * (3.0 - 2.0 * theta)
    for i in range(differential):
        bend = theta * turn * (turn * K[0, i] - theta * K[1, i])
        out[i] = x[i] + rise * (xn[i] - x[i]) + h * bend
    for i in range(differential, ny):
        out[i] = x[i] + theta * (xn[i] - x[i])


@kernel(INTERPOLATE)
def interpolate(model, method, theta, h, state, out):
    """The unknowns at t + θ h."""
    size = model.size
    x, xn, K = state.x, state.xn, state.K
    hermite(theta, h, x, K, xn, size.nq + size.nv, size.ny, out)
    return OK
