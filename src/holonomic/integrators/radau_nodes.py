"""Radau IIA methods with three, five and seven stages: their nodes, and every other number as it follows from them.

With the nodes 0, c_1 .. c_s, the last of them 1, and their Lagrange polynomials ℓ_j, the curve of a step is

    u(θ) = y0 + Σ ℓ_j(θ) Z_j,      h u'(c_i) = Σ a_ij Z_j,      a_ij = ℓ_j'(c_i)

a being the inverse of the method's matrix. It has one real eigenvalue γ and (s - 1)/2 pairs α ± iβ. The slope h u'(0) with
which the error is estimated has the weights ℓ_j'(0). With M(θ) = Π (θ - c_i) the curve misses a smooth motion by

    y - u = h^(s+1) y^(s+1) / s! ∫ M dθ + ...,      the estimate being  h^(s+1) y^(s+1) / s! M(0) / γ + ...

so that ν(θ) = γ ∫ M dθ / M(0) times the estimate is what it misses.

References
----------
[HW96] Sec. IV.5 and IV.8, [hairer-wanner-1999].
"""

from __future__ import annotations

from functools import cache

import numpy as np

from ..native.marks import leaf

# zeros of d^(s-1)/dθ^(s-1) θ^(s-1) (θ - 1)^s, but the last, which is 1
NODES = {
    3: ("0.1550510257216821901802715925294109", "0.6449489742783178098197284074705891"),
    5: (
        "0.05710419611451768219312119255411562",
        "0.2768430136381238276800459976856251",
        "0.5835904323689168200566976686629172",
        "0.8602401356562194478479129188751198",
    ),
    7: (
        "0.02931642715978489197205027691316491",
        "0.1480785996684842918499768524959792",
        "0.3369846902811542990970529720807757",
        "0.5586715187715501320813933418055219",
        "0.7692338620300545009168833601156455",
        "0.9269456713197411148518739658196820",
    ),
}


def table_size(stages: int) -> int:
    """How many numbers there are for a method of so many stages."""
    return 3 * stages * stages + 5 * stages + 2


@cache
def table(stages: int) -> np.ndarray:
    """c; ℓ_j'(0); a, T and T⁻¹ row by row, with a = T Λ T⁻¹; γ and α, β of each pair; coefficients of ν from θ⁰ on; those
    by which products of distances from the nodes become ℓ_j."""
    s, c = stages, np.array([*map(float, NODES[stages]), 1.0])
    slopes = lagrange_slopes(np.concatenate([[0.0], c]))
    a = slopes[1:, 1:]
    values, vectors = np.linalg.eig(a)
    real = int(np.argmin(np.abs(values.imag)))
    pairs = sorted(np.flatnonzero(values.imag > 1e-6), key=lambda k: values[k].imag)
    columns = [vectors[:, real].real, *(part for k in pairs for part in (vectors[:, k].real, vectors[:, k].imag))]
    T, gamma = np.column_stack(columns), values[real].real
    moment = np.polynomial.Polynomial.fromroots(c)
    missed = (moment.integ() * (gamma / moment(0.0))).coef
    apart = c[:, None] - c + np.eye(s)
    found = np.concatenate([
        c, slopes[0, 1:], a.ravel(), T.ravel(), np.linalg.inv(T).ravel(),
        [gamma, *(part for k in pairs for part in (values[k].real, values[k].imag))], missed,
        1.0 / (c * np.prod(apart, axis=1)),
    ])  # fmt: skip
    assert len(found) == table_size(s)
    return found


def lagrange_slopes(nodes: np.ndarray) -> np.ndarray:
    """ℓ_j' at the nodes, row by row, of doubles or fractions. Products of differences and sums of their inverses: nothing is
    lost by rounding."""
    apart = nodes[:, None] - nodes
    np.fill_diagonal(apart, 0 * nodes[0] + 1)
    weights = 1 / np.prod(apart, axis=1)
    slopes = weights / weights[:, None] / apart
    np.fill_diagonal(slopes, np.sum(1 / apart, axis=1) - 1)
    return slopes


@leaf
def table_at(first, lowest, stages):
    """Where the numbers for so many stages begin, tables from `lowest` stages on standing one behind the other."""
    at = first
    for s in range(lowest, stages, 2):
        at += 3 * s * s + 5 * s + 2
    return at


@leaf
def stage_weight(fp, c, stages, j, theta):
    """ℓ_j(θ), j from 0 on counting the nodes behind 0; c says where these begin in fp."""
    weight = theta * fp[c + 3 * stages * stages + 4 * stages + 2 + j]
    for k in range(stages):
        if k != j:
            weight *= theta - fp[c + k]
    return weight


@leaf
def omega(fp, c, stages, theta):
    """θ Π (θ - c_i)"""
    product = theta
    for k in range(stages):
        product *= theta - fp[c + k]
    return product


@leaf
def missed(fp, c, stages, theta):
    """ν(θ)"""
    at, value = c + 3 * stages * stages + 3 * stages, 0.0
    for k in range(stages + 1, -1, -1):
        value = value * theta + fp[at + k]
    return value
