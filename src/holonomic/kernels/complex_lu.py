"""LU of small dense complex matrices, real and imaginary parts in arrays of their own.

The second of the two systems of a Radau step is complex; keeping the parts apart lets it live in the real
workspace. Partial pivoting by |re| + |im|, as in [HW96].
"""

from __future__ import annotations

from ..native.marks import leaf


@leaf
def complex_lu_factor(Ar, Ai, piv):
    """Factor in place; return 0, or k + 1 where no pivot was found in column k."""
    n = Ar.shape[0]
    for k in range(n):
        row, best = -1, 0.0
        for i in range(k, n):
            size = abs(Ar[i, k]) + abs(Ai[i, k])
            if size > best:
                row, best = i, size
        if row < 0 or not best <= 1e300:
            return k + 1
        piv[k] = row
        if row != k:
            for j in range(n):
                held = Ar[k, j]
                Ar[k, j] = Ar[row, j]
                Ar[row, j] = held
                held = Ai[k, j]
                Ai[k, j] = Ai[row, j]
                Ai[row, j] = held
        size = Ar[k, k] * Ar[k, k] + Ai[k, k] * Ai[k, k]
        inverse_r, inverse_i = Ar[k, k] / size, -Ai[k, k] / size
        for i in range(k + 1, n):
            if Ar[i, k] != 0.0 or Ai[i, k] != 0.0:
                factor_r = Ar[i, k] * inverse_r - Ai[i, k] * inverse_i
                factor_i = Ar[i, k] * inverse_i + Ai[i, k] * inverse_r
                Ar[i, k], Ai[i, k] = factor_r, factor_i
                for j in range(k + 1, n):
                    Ar[i, j] -= factor_r * Ar[k, j] - factor_i * Ai[k, j]
                    Ai[i, j] -= factor_r * Ai[k, j] + factor_i * Ar[k, j]
    return 0


@leaf
def complex_lu_solve(Ar, Ai, piv, br, bi):
    """Solve in place with the factors."""
    n = Ar.shape[0]
    for k in range(n):
        row = piv[k]
        held = br[k]
        br[k] = br[row]
        br[row] = held
        held = bi[k]
        bi[k] = bi[row]
        bi[row] = held
    for i in range(n):
        rest_r, rest_i = br[i], bi[i]
        for j in range(i):
            rest_r -= Ar[i, j] * br[j] - Ai[i, j] * bi[j]
            rest_i -= Ar[i, j] * bi[j] + Ai[i, j] * br[j]
        br[i], bi[i] = rest_r, rest_i
    for i in range(n - 1, -1, -1):
        rest_r, rest_i = br[i], bi[i]
        for j in range(i + 1, n):
            rest_r -= Ar[i, j] * br[j] - Ai[i, j] * bi[j]
            rest_i -= Ar[i, j] * bi[j] + Ai[i, j] * br[j]
        size = Ar[i, i] * Ar[i, i] + Ai[i, i] * Ai[i, i]
        br[i] = (rest_r * Ar[i, i] + rest_i * Ai[i, i]) / size
        bi[i] = (rest_i * Ar[i, i] - rest_r * Ai[i, i]) / size
