"""Dense output of order 5 or 6 from positions, velocities and accelerations at both ends of a step; where q' = v.

With b = q1 - q0 and the cubic through positions and velocities, whose second derivatives by θ at the ends are

    c0 = 6 b - h (4 v0 + 2 v1),      c1 = -6 b + h (2 v0 + 4 v1)

the curve of degree 5 is

    q(θ) = cubic + θ² (1 - θ)² ((1 - θ) A + θ B),      A = (h² a0 - c0)/2,      B = (h² a1 - c1)/2

and v = q'/h; it errs by h⁶ q⁽⁶⁾ θ³ (θ - 1)³/720, so that in the middle its velocity is right to one power of h more. The
acceleration of that point makes it a curve of degree 6, with errors O(h⁷) of q and O(h⁶) of v:

    + C θ³ (1 - θ)³,      C = 8/3 (h (v1 - v0) - (A + B)/2 - h² a(½))

References
----------
[HNW93] Sec. II.6, on Hermite interpolation with further evaluations.
"""

from __future__ import annotations

from ..errors import OK
from ..kernels.evaluate import evaluate
from ..kernels.signatures import DENSE, INTERPOLATE
from ..native.marks import kernel, leaf

MIDDLE = 2  # the row of K with the field in the middle of the step


@leaf
def degree_five(theta, h, x, xn, K, nq, nv, ny, out):
    """The curve of degree 5; multipliers on a line."""
    turn = 1.0 - theta
    rise, swing, tilt = theta * theta * (3.0 - 2.0 * theta), theta * turn, turn - theta
    for i in range(nv):
        b, v0, v1 = xn[i] - x[i], h * x[nq + i], h * xn[nq + i]
        A = 0.5 * (h * h * K[0, nq + i] - 6.0 * b) + 2.0 * v0 + v1
        B = 0.5 * (h * h * K[1, nq + i] + 6.0 * b) - v0 - 2.0 * v1
        bend = turn * A + theta * B
        out[i] = x[i] + rise * b + swing * (turn * v0 - theta * v1) + swing * swing * bend
        slope = 6.0 * swing * b + turn * (1.0 - 3.0 * theta) * v0 + theta * (3.0 * theta - 2.0) * v1
        out[nq + i] = (slope + 2.0 * swing * tilt * bend + swing * swing * (B - A)) / h
    for i in range(nq + nv, ny):
        out[i] = x[i] + theta * (xn[i] - x[i])


@leaf
def add_degree_six(theta, h, x, xn, K, nq, nv, out):
    """What the acceleration in the middle adds."""
    swing, tilt = theta * (1.0 - theta), 1.0 - 2.0 * theta
    for i in range(nv):
        v0, v1 = h * x[nq + i], h * xn[nq + i]
        half = 0.25 * h * h * (K[0, nq + i] + K[1, nq + i]) + 0.5 * (v0 - v1)  # (A + B)/2
        C = 8.0 / 3.0 * (v1 - v0 - half - h * h * K[MIDDLE, nq + i])
        out[i] += C * swing * swing * swing
        out[nq + i] += 3.0 * C * swing * swing * tilt / h


@kernel(DENSE)
def dense_six(model, method, run, t, h, state):
    """The field in the middle of the step, where the curve of degree 5 has it."""
    size, xs = model.size, state.xs
    degree_five(0.5, h, state.x, state.xn, state.K, size.nq, size.nv, size.ny, xs)
    return evaluate(model, run, t + 0.5 * h, xs, state.K, MIDDLE, state.W)


@kernel(INTERPOLATE)
def interpolate_five(model, method, theta, h, state, out):
    """The unknowns at t + θ h."""
    size = model.size
    degree_five(theta, h, state.x, state.xn, state.K, size.nq, size.nv, size.ny, out)
    return OK


@kernel(INTERPOLATE)
def interpolate_six(model, method, theta, h, state, out):
    """The same with the acceleration in the middle."""
    size = model.size
    degree_five(theta, h, state.x, state.xn, state.K, size.nq, size.nv, size.ny, out)
    add_degree_six(theta, h, state.x, state.xn, state.K, size.nq, size.nv, out)
    return OK
