"""Consistent starts for many members: `initial` compiled, one member after the other.

Same equations as in `starting/initial.py`: position by Gauss-Newton to the nearest point of the constraints, velocity by
one linear least-squares step, both over the coordinates that are not held; at an impact velocity by impulses, as in
`starting/impulse.py`. What is not plain (rank, a function that is not finite, a mass matrix that is not positive) is left
for Python to look into.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..kernels.linalg import apply_q, cholesky, qr_pivoted, solve_upper_transposed
from ..kernels.signatures import RESIDUAL, TERMS, VEL_FACTOR, Model, call_function, call_model
from ..kernels.vectors import norm
from ..native.layout import REAL, WHOLE, Layout
from ..native.marks import entry, inner, leaf
from ..native.types import Group, f8, ints, mat, vec

FINE, OFF_POSITION, OFF_VELOCITY, UNCLEAR = 0, 1, 2, 3
CHECK, PROJECT, FREE, IMPACT = 0, 1, 2, 3
MOST_STEPS = 31
RANK_OF_STEP, RANK = 1e-12, 1e-9  # of the rows' angles, as in `initial` and `rank`
FULL_RANK = 1e-10
VELOCITY_LEFT = 1e-9

START = Layout("Start", (
    ("nq", WHOLE, "positions"),
    ("nv", WHOLE, "velocities"),
    ("nl", WHOLE, "rows with multipliers"),
    ("n_constraints", WHOLE, "position constraints"),
    ("n_invariants", WHOLE, "invariants"),
    ("kept", WHOLE, "independent rows"),
    ("exact", WHOLE, "1 where TERMS holds ∂g/∂q"),
    ("mode", WHOLE, "CHECK, PROJECT, FREE or IMPACT"),
    ("at_invariants", WHOLE, "place in data of what invariants are at the start"),
    ("tol", REAL, "to which positions are brought, beside max(1, ‖q‖)"),
    ("least", REAL, "distance at which a start is still taken as it is"),
))  # fmt: skip


class Room(NamedTuple):
    """Workspace of one member; the three `qr_` are (matrix, tau, pivots, work)."""

    z: Any  # the state that is moved
    q: Any  # the given position
    g: Any  # residuals
    kept: Any  # those of invariants at the given position
    trial: Any
    terms: Any
    F: Any  # factors
    J: Any  # position rows by q
    mass: Any
    b: Any
    rows: Any
    free_q: Any  # coordinates that are not held
    free_v: Any
    qr_q: Any  # for the free positions
    qr_v: Any  # for the free velocities
    qr_all: Any  # for all velocities


QR = Group(None, (mat, vec, ints, vec))


@leaf
def nearest_step(qr, b, rows, r):
    """b = the shortest solution of Aᵀ b = r, A = qr[0]; its columns are the rows of the equations.

    Returns the rank; -1: not finite. Columns are scaled to unit length, which changes no solution.
    """
    A, tau, jpvt, work = qr
    m, n = A.shape
    for j in range(n):
        size = 0.0
        for i in range(m):
            size += A[i, j] * A[i, j]
        size = math.sqrt(size)
        rows[j] = 1.0 / size if size > 0.0 else 1.0
        for i in range(m):
            A[i, j] *= rows[j]
    rank = qr_pivoted(A, tau, jpvt, work, RANK_OF_STEP)
    if rank < 0:
        return rank
    for i in range(m):
        b[i] = 0.0
    for k in range(rank):
        b[k] = r[jpvt[k]] * rows[jpvt[k]]
    solve_upper_transposed(A, rank, b)
    apply_q(A, tau, b)
    return rank


@inner
def position_rows(model, t, room):
    """J = position rows by q: out of the terms, or by central differences."""
    z, trial, terms, J = room.z, room.trial, room.terms, room.J
    nq, nv = model.size.nq, model.size.nv
    n = model.size.n_constraints + model.size.n_invariants
    if model.size.exact != 0:
        call_model(model, TERMS, t, z, 0, z, 0, terms, 0)
        at = nq + nv * nv + nv
        for i in range(n):
            for j in range(nq):
                J[i, j] = terms[at + i * nv + j]
        return
    for j in range(nq):
        held = z[j]
        step = 1e-6 * (1.0 + abs(held))
        z[j] = held + step
        call_model(model, RESIDUAL, t, z, 0, z, 0, trial, 0)
        for i in range(n):
            J[i, j] = trial[i]
        z[j] = held - step
        call_model(model, RESIDUAL, t, z, 0, z, 0, trial, 0)
        for i in range(n):
            J[i, j] = (J[i, j] - trial[i]) / (2.0 * step)
        z[j] = held
    return


@inner
def to_position(model, t, tol, room):
    """Move z onto the constraints, nearest to q; return FINE, OFF_POSITION or UNCLEAR."""
    q, z, free, g, kept, J, qr, b, rows = (room.q, room.z, room.free_q, room.g, room.kept, room.J, room.qr_q, room.b, room.rows)
    nq = model.size.nq
    n = model.size.n_constraints + model.size.n_invariants
    A = qr[0]
    nfree = A.shape[0]
    call_model(model, RESIDUAL, t, z, 0, z, 0, kept, 0)
    for i in range(model.size.n_constraints):
        kept[i] = 0.0
    worst = 0.0
    rank = n
    for _ in range(MOST_STEPS):
        call_model(model, RESIDUAL, t, z, 0, z, 0, g, 0)
        position_rows(model, t, room)
        worst = 0.0
        for i in range(n):
            g[i] -= kept[i]
            size = 0.0
            for j in range(nq):
                size += J[i, j] * J[i, j]
            distance = abs(g[i]) / max(math.sqrt(size), 1e-300)
            if not distance <= worst:
                worst = distance
        if not worst <= 1e300:
            return UNCLEAR
        if worst <= tol * 1e-2 + 1e-15:
            return FINE
        # the point of the linearized constraints nearest to the given q, not to the last iterate
        for i in range(n):
            target = -g[i]
            for k in range(nfree):
                j = free[k]
                A[k, i] = J[i, j]
                target += J[i, j] * (z[j] - q[j])
            g[i] = target
        rank = nearest_step(qr, b, rows, g)
        if rank < 0:
            return UNCLEAR
        for k in range(nfree):
            z[free[k]] = q[free[k]] + b[k]
    if worst <= tol:
        return FINE
    return OFF_POSITION if rank == n else UNCLEAR


@inner
def velocity_left(model, t, room, speed):
    """FINE if the velocity in z meets its rows, else OFF_VELOCITY; terms hold G."""
    z, g, terms = room.z, room.g, room.terms
    nq, nv = model.size.nq, model.size.nv
    n = model.size.n_constraints + model.size.n_invariants
    at = nq + nv * nv + nv
    call_model(model, RESIDUAL, t, z, 0, z, 0, g, 0)
    for i in range(model.size.nl):
        size = 0.0
        for j in range(nv):
            size += terms[at + i * nv + j] * terms[at + i * nv + j]
        size = math.sqrt(size)
        left = abs(g[n + i]) / (size if size > 0.0 else 1.0)
        if not left <= VELOCITY_LEFT * max(1.0, speed):
            return OFF_VELOCITY
    return FINE


@inner
def look_at_velocity(model, t, room):
    """Terms and residuals at z; return its speed."""
    call_model(model, TERMS, t, room.z, 0, room.z, 0, room.terms, 0)
    call_model(model, RESIDUAL, t, room.z, 0, room.z, 0, room.g, 0)
    return norm(room.z, model.size.nq, model.size.nv)


@inner
def to_velocity(model, t, room):
    """Move the velocity in z to the nearest with G v + g_t = 0; return FINE or OFF_VELOCITY."""
    z, free, g, terms, qr, b, rows = room.z, room.free_v, room.g, room.terms, room.qr_v, room.b, room.rows
    nq, nv, nl = model.size.nq, model.size.nv, model.size.nl
    n = model.size.n_constraints + model.size.n_invariants
    A = qr[0]
    nfree = A.shape[0]
    speed = look_at_velocity(model, t, room)
    at = nq + nv * nv + nv
    for i in range(nl):
        for k in range(nfree):
            A[k, i] = terms[at + i * nv + free[k]]
    if nearest_step(qr, b, rows, g[n:]) < 0:
        return UNCLEAR
    for k in range(nfree):
        z[nq + free[k]] -= b[k]
    return velocity_left(model, t, room, speed)


@leaf
def lower_solve(L, B):
    """B = L⁻¹ B, columns by columns, L lower triangular."""
    for i in range(L.shape[0]):
        for j in range(i):
            for k in range(B.shape[1]):
                B[i, k] -= L[i, j] * B[j, k]
        for k in range(B.shape[1]):
            B[i, k] /= L[i, i]


@leaf
def lower_transposed_solve(L, b):
    """b = L⁻ᵀ b."""
    for i in range(L.shape[0] - 1, -1, -1):
        b[i] /= L[i, i]
        for j in range(i):
            b[j] -= L[i, j] * b[i]


@inner
def by_impulse(model, t, room):
    """Give the velocity in z what an impulse -GᵀΛ gives it, so that G v + g_t = 0.

    With M = L Lᵀ the change is -L⁻ᵀ b, b the shortest solution of (L⁻¹ Gᵀ)ᵀ b = G v + g_t. Returns FINE, OFF_VELOCITY or UNCLEAR.
    """
    z, g, terms, mass, qr, b, rows = room.z, room.g, room.terms, room.mass, room.qr_all, room.b, room.rows
    nq, nv, nl = model.size.nq, model.size.nv, model.size.nl
    n = model.size.n_constraints + model.size.n_invariants
    A = qr[0]
    speed = look_at_velocity(model, t, room)
    at = nq + nv * nv + nv
    for i in range(nv):
        for j in range(nv):
            mass[i, j] = terms[nq + i * nv + j]
        for k in range(nl):
            A[i, k] = terms[at + k * nv + i]
    if cholesky(mass) != 0:
        return UNCLEAR
    lower_solve(mass, A)
    if nearest_step(qr, b, rows, g[n:]) < 0:
        return UNCLEAR
    lower_transposed_solve(mass, b)
    for j in range(nv):
        z[nq + j] -= b[j]
    return velocity_left(model, t, room, speed)


@inner
def distances_here(model, t, room, found):
    """found = largest distance from the position rows over max(1, ‖q‖), and from the velocity rows over max(1, ‖v‖)."""
    z, F, g = room.z, room.F, room.g
    nq, nv = model.size.nq, model.size.nv
    call_model(model, VEL_FACTOR, t, z, 0, z, 0, F, 0)
    call_model(model, RESIDUAL, t, z, 0, z, 0, g, 0)
    n = model.size.n_constraints + model.size.n_invariants
    first, second = 0.0, 0.0
    for i in range(model.size.n_constraints):
        value = abs(g[i]) * F[1 + i]
        if not value <= first:
            first = value
    for i in range(model.size.nl):
        value = abs(g[n + i]) * F[1 + i]
        if not value <= second:
            second = value
    size, speed = 0.0, 0.0
    for j in range(nq):
        size += z[j] * z[j]
    for j in range(nv):
        speed += z[nq + j] * z[nq + j]
    found[0] = first / max(1.0, math.sqrt(size))
    found[1] = second / max(1.0, math.sqrt(speed))


@inner
def clear_rank(model, ranked, t, room):
    """Whether the rows to keep are plainly independent, and the others plainly repeat them."""
    z, F, terms, qr = room.z, room.F, room.terms, room.qr_all
    nq, nv, nl = model.size.nq, model.size.nv, model.size.nl
    call_function(ranked, VEL_FACTOR, t, z, 0, z, 0, model.data, F, 0)
    if not F[0] > FULL_RANK:
        return False
    if model.size.kept == nl:
        return True
    call_model(model, TERMS, t, z, 0, z, 0, terms, 0)
    at = nq + nv * nv + nv
    R = qr[0]
    for i in range(nl):
        size = 0.0
        for j in range(nv):
            size += terms[at + i * nv + j] * terms[at + i * nv + j]
        size = max(math.sqrt(size), 1e-300)
        for j in range(nv):
            R[j, i] = terms[at + i * nv + j] / size
    return qr_pivoted(R, qr[1], qr[2], qr[3], RANK) == model.size.kept


@entry(
    Group(Model, (ints, START.type, vec)), ints, f8, mat, mat,
    Group(Room, (vec, vec, vec, vec, vec, vec, vec, mat, mat, vec, vec, ints, ints, QR, QR, QR)), mat, ints,
)  # fmt: skip
def assemble(model, ranked, t, X, DATA, room, FOUND, STATUS):
    """Check or make consistent the start of every member in X, in place; STATUS says which are fine, FOUND how far off.

    The model has RESIDUAL, TERMS and VEL_FACTOR of all rows, memory of START as its size, and room for data; `ranked` has
    VEL_FACTOR of the rows to keep.
    """
    start, data, z, q, g = model.size, model.data, room.z, room.q, room.g
    nq, nv, nc, mode, at_invariants = start.nq, start.nv, start.n_constraints, start.mode, start.at_invariants
    for m in range(X.shape[0]):
        for i in range(DATA.shape[1]):
            data[i] = DATA[m, i]
        for i in range(nq + nv):
            z[i] = X[m, i]
        status = FINE
        if start.nl > 0 and mode != FREE:
            if mode == IMPACT:
                distances_here(model, t, room, FOUND[m])
                if not FOUND[m, 0] <= start.least:
                    status = OFF_POSITION
            if (mode == PROJECT or mode == IMPACT) and status == FINE:
                size = 0.0
                for i in range(nq):
                    q[i] = z[i]
                    size += z[i] * z[i]
                for i in range(nv):
                    z[nq + i] = 0.0
                if nc + start.n_invariants > 0:
                    most = start.tol * max(1.0, math.sqrt(size))
                    status = to_position(model, t, most, room)
                for i in range(nv):
                    z[nq + i] = X[m, nq + i]
                if status == FINE and mode == IMPACT:
                    status = by_impulse(model, t, room)
                elif status == FINE:
                    status = to_velocity(model, t, room)
            distances_here(model, t, room, FOUND[m])
            if mode == CHECK:
                if not FOUND[m, 0] <= start.least:
                    status = OFF_POSITION
                elif not FOUND[m, 1] <= start.least:
                    status = OFF_VELOCITY
            if not FOUND[m, 0] <= 1e300 or not FOUND[m, 1] <= 1e300:
                status = UNCLEAR
            if status == FINE and not clear_rank(model, ranked, t, room):
                status = UNCLEAR
        if status == FINE:
            for i in range(nq + nv):
                X[m, i] = z[i]
            if start.n_invariants > 0 and mode != FREE:
                for i in range(start.n_invariants):
                    data[at_invariants + i] = 0.0
                call_model(model, RESIDUAL, t, z, 0, z, 0, g, 0)
                for i in range(start.n_invariants):
                    DATA[m, at_invariants + i] = g[nc + i]
        STATUS[m] = status
