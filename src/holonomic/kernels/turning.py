"""Coordinates of Newton's matrix of tables: they are eliminated before the fronts, and follow from the solution.

δq = (c - ∂q̇/∂q)⁻¹ (r_q + Z δv),   which is (r_q + δv)/c where q' = v
"""

from __future__ import annotations

from ..native.marks import leaf


@leaf
def turn(turns, lumps, turned, spun, F, at_l, c, N, A):
    """A = (c - ∂q̇/∂q)⁻¹ and N = A Z of every lump whose coordinates turn; its numbers in F are ∂q̇/∂q and Z."""
    block = turned * turned
    for k in range(lumps):
        at, own = at_l + turns[3 * k + 2], k * block
        # A: Gauss and Jordan, the pivots being c plus what is small or skew
        for i in range(turned):
            for j in range(turned):
                A[own + i * turned + j] = -F[at + i * turned + j]
            A[own + i * turned + i] += c
        for p in range(turned):
            inverse = 1.0 / A[own + p * turned + p]
            for j in range(turned):
                if j != p:
                    A[own + p * turned + j] *= inverse
            A[own + p * turned + p] = inverse
            for i in range(turned):
                if i != p:
                    factor = A[own + i * turned + p]
                    for j in range(turned):
                        if j != p:
                            A[own + i * turned + j] -= factor * A[own + p * turned + j]
                    A[own + i * turned + p] = -factor * inverse
        for i in range(turned):
            for j in range(spun):
                total = A[own] * 0.0
                for p in range(turned):
                    total += A[own + i * turned + p] * F[at + block + p * spun + j]
                N[(k * turned + i) * spun + j] = total


@leaf
def follow(turns, lumps, turned, spun, F, at_l, over, N, A):
    """N = `over` Z, of methods that have a formula of their own for coordinates; no A."""
    block = turned * turned
    for k in range(lumps):
        at = at_l + turns[3 * k + 2] + block
        for i in range(turned):
            for j in range(turned):
                A[k * block + i * turned + j] = 0.0 * over
            for j in range(spun):
                N[(k * turned + i) * spun + j] = over * F[at + i * spun + j]


@leaf
def eliminate_coordinates(rq, plain, nq, c, turns, lumps, turned, A, s, st):
    """s = (c - ∂q̇/∂q)⁻¹ r_q, by velocities where q' = v, in `st` where coordinates turn."""
    over = 1.0 / c
    for i in range(nq):
        if plain[i] >= 0:
            s[plain[i]] = rq[i] * over
    for k in range(lumps):
        first, own = turns[3 * k], k * turned * turned
        for i in range(turned):
            total = rq[first] * 0.0
            for j in range(turned):
                total += A[own + i * turned + j] * rq[first + j]
            st[k * turned + i] = total


@leaf
def coordinates_of(rq, plain, nq, c, turns, lumps, turned, spun, N, s, st, z):
    """δq in the place of r_q."""
    over = 1.0 / c
    for i in range(nq):
        if plain[i] >= 0:
            rq[i] = s[plain[i]] + over * z[plain[i]]
    for k in range(lumps):
        first, velocity = turns[3 * k], turns[3 * k + 1]
        for i in range(turned):
            total = st[k * turned + i]
            for j in range(spun):
                total += N[(k * turned + i) * spun + j] * z[velocity + j]
            rq[first + i] = total
