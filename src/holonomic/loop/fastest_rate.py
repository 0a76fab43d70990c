"""One cheap look at a state: the fastest rate of its equations, whether that part decays, and how fast the motion is."""

from __future__ import annotations

import math

from ..errors import NEED_REFINED, NEED_SWITCHES, OK
from ..kernels.evaluate import evaluate
from ..kernels.memory import RUN
from ..kernels.signatures import LOOP, MODEL, RESIDUAL, TERMS, call_function
from ..native.marks import entry, inner, leaf
from ..native.types import Group, cube, f8, i8, ints, mat, vec

ITERATIONS = 8
MOVE = 1e-7  # of the size of the state: differences of the field
ALONG = 1e-4  # of the size of the state: the way to a second slope
ONE_VECTOR = 1e-8  # of its square length: what parts two vectors from one
RESTS = 0.1  # of the speed one accurate step later: below that a system counts as at rest
CLOSE = 1e-3  # of a step: how far ahead it is looked how constraints turn

# places in the result
FASTEST, REAL, MOTION = 0, 1, 2


@entry(MODEL, RUN.type, f8, vec, vec, mat, vec, i8, i8, i8, f8, vec)
def look(model, run, t, x, y, K, W, nq, nv, positions, left, out):
    """out = (largest |eigenvalue| of the field's Jacobian, its real part, rate of the motion), 1/s.

    Power iteration on differences of the field. A pair of complex eigenvalues never settles in one direction, so three
    successive vectors are fitted to J²u = a J u + b u, whose roots are the eigenvalues that dominate. Row 0 of K holds
    the field at x; rows 1 to 3 and y are used up. The first `positions` entries of x have rates among the others, which
    are larger by the rate that is sought; `left` is the time to go, with its sign. Zeros where the field fails nearby.
    """
    nz = nq + nv
    out[FASTEST], out[REAL], out[MOTION] = 0.0, 0.0, 0.0
    reach, speed = 0.0, 0.0
    for i in range(nz):
        reach = max(reach, abs(x[i]))
        speed = max(speed, abs(K[0, i]))
    apart = way_ahead(reach, speed, left)
    for i in range(nz):
        y[i] = x[i] + apart * K[0, i]
    if evaluate(model, run, t + apart, y, K, 1, W) == OK:
        out[MOTION] = motion(K, apart, x, nq, nv)
    fastest_at(model, run, t, x, y, K, W, nz, positions, MOVE * (reach if reach > 0.0 else 1.0), out)


@inner
def way_ahead(reach, speed, left):
    """Return how far ahead, in time, a second slope is looked at."""
    apart = left * 1e-3
    if abs(apart) * speed > ALONG * (1.0 + reach):
        apart = math.copysign(ALONG * (1.0 + reach) / speed, left)
    return apart


@inner
def fastest_at(model, run, t, x, y, K, W, nz, positions, move, out):
    """Put the largest |eigenvalue| at x, and its real part, into `out`, by differences of length `move`.

    Row 0 of K holds the field at x.
    """
    for i in range(nz):
        # no direction of a particular system, the same for every run
        K[2, i] = (1.0 + 0.618 * (i % 5)) * (1.0 if i % 2 == 0 else -1.0)
    weight, mean, growth, length = 1.0, 0.0, 1.0, 0.0
    for i in range(nz):
        length += K[2, i] * K[2, i]
    for k in range(ITERATIONS):
        length = math.sqrt(length)
        for i in range(nz):
            K[2, i] = K[2, i] / length  # u
            y[i] = x[i] + move * K[2, i]
        if evaluate(model, run, t, y, K, 1, W) != OK:
            return
        before, after, length = 0.0, 0.0, 0.0
        for i in range(nz):
            K[3, i] = (K[1, i] - K[0, i]) / move  # J u
            w = weight * weight if i < positions and positions < nz else 1.0
            before += w * K[2, i] * K[2, i]
            after += w * K[3, i] * K[3, i]
            length += K[3, i] * K[3, i]
        if not (after > 0.0 and after < 1e300):
            return
        growth = math.sqrt(after / before)
        mean += math.log(growth)
        if k >= 2:  # positions beside velocities, which are larger by the rate
            weight = math.exp(mean / (k + 1))
        if k < ITERATIONS - 1:
            for i in range(nz):
                K[2, i] = K[3, i]
    length = math.sqrt(length)
    for i in range(nz):
        y[i] = x[i] + move / length * K[3, i]
    if evaluate(model, run, t, y, K, 1, W) == OK:
        dominant(K, nz, positions, weight, move, length, out)


@inner
def look_ahead(model, run, t, x, z, y, K, W, n, left, out):
    """The same a little further along the motion, of an ODE of order 1; row 0 of K holds the field at x, before and after.

    `z` and `y` have room for states. The rate of the motion in `out` stays as it is.
    """
    reach, speed = 0.0, 0.0
    for i in range(n):
        reach = max(reach, abs(x[i]))
        speed = max(speed, abs(K[0, i]))
    apart = way_ahead(reach, speed, left)
    for i in range(n):
        z[i] = x[i] + apart * K[0, i]
    out[FASTEST], out[REAL] = 0.0, 0.0
    if evaluate(model, run, t + apart, z, K, 0, W) == OK:
        fastest_at(model, run, t + apart, z, y, K, W, n, n, MOVE * (reach if reach > 0.0 else 1.0), out)
    evaluate(model, run, t, x, K, 0, W)


@leaf
def dominant(K, size, positions, weight, move, length, out):
    """Eigenvalues from u = K[2], J u = K[3] and J²u = length (K[1] - K[0]) / move."""
    uu, uv, vv, uw, vw = 0.0, 0.0, 0.0, 0.0, 0.0  # v and w are J u and J²u over `length`
    for i in range(size):
        scale = weight if i < positions and positions < size else 1.0
        u, v, w = scale * K[2, i], scale * K[3, i] / length, scale * (K[1, i] - K[0, i]) / move
        uu += u * u
        uv += u * v
        vv += v * v
        uw += u * w
        vw += v * w
    gap = uu * vv - uv * uv
    if gap <= ONE_VECTOR * uu * vv:  # one real eigenvalue
        out[REAL] = vw / vv
        out[FASTEST] = abs(out[REAL])
        return
    a = (uu * vw - uv * uw) / gap
    b = (vv * uw - uv * vw) / gap * length
    inside = a * a + 4.0 * b
    if inside < 0.0:
        out[REAL] = 0.5 * a
        out[FASTEST] = math.sqrt(-b)
        return
    root = math.sqrt(inside)
    out[REAL] = 0.5 * (a + root) if a > 0.0 else 0.5 * (a - root)
    out[FASTEST] = abs(out[REAL])


@leaf
def motion(K: mat, apart: f8, x: vec, nq: i8, nv: i8):
    """Rate of the motion itself, 1/s: the largest of |q'|/L, (|q''|/L)^(1/2) and (|v''|/L)^(1/3), L the size of q.

    What is slow on the motion is slow here, however fast the equations are beside it. Rows 0 and 1 of K hold the slopes
    now and `apart` later.
    """
    size, first, second, third = 0.0, 0.0, 0.0, 0.0
    for i in range(nq):
        size = max(size, abs(x[i]))
        first = max(first, abs(K[0, i]))
        if nv == 0:
            second = max(second, abs(K[1, i] - K[0, i]))
    for i in range(nq, nq + nv):
        second = max(second, abs(K[0, i]))
        third = max(third, abs(K[1, i] - K[0, i]))
    if size == 0.0:
        size = 1.0
    if nv == 0:
        return max(first / size, math.sqrt(second / (abs(apart) * size)))
    return max(first / size, math.sqrt(second / size), (third / (abs(apart) * size)) ** (1.0 / 3.0))


@leaf
def turning_by_time(fns: ints, t: f8, later: f8, x: vec, y: vec, data: vec, n: i8, size: i8, now: vec, moved: vec, rows: cube):
    """How fast the first n residuals' gradients, each of length 1, change with time alone, 1/s.

    `now` and `moved` have room for the residuals, `rows` for 2 n `size` numbers. The largest change of an entry counts.
    """
    for k in range(2):
        at = t + k * later
        call_function(fns, RESIDUAL, at, x, 0, x, 0, data, now, 0)
        for i in range(size):
            y[i] = x[i]
        for i in range(size):
            move = MOVE * (1.0 + abs(x[i]))
            y[i] = x[i] + move
            call_function(fns, RESIDUAL, at, y, 0, y, 0, data, moved, 0)
            y[i] = x[i]
            for j in range(n):
                rows[k, j, i] = (moved[j] - now[j]) / move
        for j in range(n):
            length = 1e-300
            for i in range(size):
                length += rows[k, j, i] * rows[k, j, i]
            length = math.sqrt(length)
            for i in range(size):
                rows[k, j, i] = rows[k, j, i] / length
    worst = 0.0
    for j in range(n):
        for i in range(size):
            worst = max(worst, abs(rows[1, j, i] - rows[0, j, i]))
    return worst / abs(later)


@leaf
def turning(
    fns: ints, t: f8, x: vec, y: vec, data: vec, K: mat, row: i8, sizes: Group(None, (i8, i8, i8)), apart: f8, now: vec, later: vec
):
    """How fast the rows of G, each of length 1, change along the motion, 1/s: the largest change of an entry.

    A row of K holds the velocity and acceleration; `now` and `later` have room for the terms (q', M, f, G, γ).
    """
    nq, nv, nl = sizes
    for i in range(nq + nv):
        y[i] = x[i] + apart * K[row, i]
    call_function(fns, TERMS, t, x, 0, x, 0, data, now, 0)
    call_function(fns, TERMS, t + apart, y, 0, y, 0, data, later, 0)
    at, worst = nq + nv * nv + nv, 0.0
    for _ in range(nl):
        first, second = 1e-300, 1e-300
        for j in range(at, at + nv):
            first += now[j] * now[j]
            second += later[j] * later[j]
        first, second = math.sqrt(first), math.sqrt(second)
        for j in range(at, at + nv):
            worst = max(worst, abs(later[j] / second - now[j] / first))
        at += nv
    return worst / abs(apart)


@entry(MODEL, RUN.type, f8, LOOP, ints, Group(None, (i8, i8, i8)), f8, vec, vec, mat)
def turning_ahead(model, run, t, loop, fns, sizes, ahead, now, later, along):
    """How fast the rows of G change along the motion at a state, 1/s, for a step `ahead`; -status where a function is missing.

    Row 0 of K holds the field. Row 0 of `along` becomes the motion: velocities and accelerations; of a system at rest those of one
    step later, because G turns with the speed. Row 1 and `now` and `later`, for the terms (q', M, f, G, γ), are room.
    """
    x, y, K = loop.state.x, loop.inside.x, loop.state.K
    nq, nv, nl = sizes
    n, moves, pushes = nq + nv, 0.0, 0.0
    for i in range(n):
        along[0, i] = K[0, i]
        if i < nq:
            moves = max(moves, abs(K[0, i]))
        else:
            pushes = max(pushes, abs(K[0, i]))
    if moves < RESTS * abs(ahead) * pushes:
        for i in range(x.shape[0]):
            y[i] = x[i] + (ahead * along[0, i] if nq <= i < n else 0.0)
        for i in range(K.shape[1]):
            along[1, i] = K[1, i]
        status = evaluate(model, run, t, y, K, 1, loop.state.W)
        for i in range(K.shape[1]):
            if status == OK and i < n:
                along[0, i] = K[1, i]
            K[1, i] = along[1, i]
        if NEED_REFINED <= status <= NEED_SWITCHES:
            return float(-status)
    return turning(fns, t, x, y, model.data, along, 0, (nq, nv, nl), CLOSE * ahead, now, later)
