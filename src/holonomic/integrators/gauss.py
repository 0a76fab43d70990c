"""Gauss-Legendre methods of any number s of stages, order 2s, fixed step, for any residual R(t, y, y') = 0.

The stages Z_i = Y_i - y0 obey

    R(t0 + c_i h, y0 + Z_i, Σ_j a_ij Z_j / h) = 0,    a = A⁻¹,    y1 = y0 + Σ_j d_j Z_j

c being the zeros of the Legendre polynomial of degree s on [0, 1]. With the Lagrange polynomials ℓ_j of the nodes 0, c_1 .. c_s it
is a_ij = ℓ_j'(c_i) and d_j = ℓ_j(1). a has s/2 pairs of eigenvalues α ± iβ and, for odd s, a real one γ, so that Newton's method
with one matrix for all stages is as many complex and real systems, as in a Radau step:

    (∂R/∂y + (α - iβ)/h ∂R/∂y')(Δw_1 + i Δw_2) = ...,     Z = T w

Algebraic unknowns belong to the stages; at the end of a step stands the polynomial through theirs.

Between the ends of a step the curve through the stages has order s only. So a step that is looked into is taken again from its
start to s - 2 points τ_k of it; values and slopes at 0, τ_k and 1 make a curve of degree 2s - 1.

References
----------
[HW96] Sec. IV.5, IV.8 and VII.4; [HLW06] Sec. II.1; [ascher-petzold-1993] for the projected method.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from ..errors import NO_CONVERGENCE, OK, SINGULAR, BadArgument
from ..kernels.evaluate import evaluate
from ..kernels.newton import AT_ROUNDING, LOOSE, small
from ..kernels.newton import ROUNDING as NEAR_ROUNDING
from ..kernels.newton_operators import factor_pairs, factor_systems, linearize, solve_pair, solve_real, vectors_at
from ..kernels.signatures import ADVANCE, DENSE, EQUATIONS, INTERPOLATE, Fn, call_model
from ..kernels.sizes import TOLERANCES, raised
from ..model.call_by_name import refuses_unknown
from ..native.marks import inner, kernel, leaf
from . import hermite
from .base import Integrator, Lowered
from .radau_nodes import lagrange_slopes
from .radau_stages import combine, stage_arguments
from .rattle import accept

MOST_STAGES = 12  # order 24; from here on T, whose condition grows tenfold with two stages, costs more digits than stages bring
STAGES = 1  # ip: how many
Z = 2  # rows of K from here on: the stages, then values and slopes at τ_k
MOST_ITERATIONS = 30
# fp behind the scales (3 + ny numbers), the first ones as those of Radau: c, d, a, T, T⁻¹; γ, or 0, and α, β of each pair; then
# weights by which algebraic unknowns at the end follow from those of stages; 0, τ_k, 1, ℓ_k'(τ_k) of these and what scales ℓ_k


@leaf
def shifts_at(c, stages):
    """Where γ and the pairs stand."""
    return c + 2 * stages + 3 * stages * stages


@leaf
def ends_at(c, stages):
    """Where the weights of algebraic unknowns stand; then follow 0, τ_k, 1 and what belongs to them."""
    return shifts_at(c, stages) + 1 + 2 * (stages // 2)


def gauss_work(stages: int, size) -> int:
    """Numbers of workspace of one step: factors, residuals of the stages, y and y' of one, solutions."""
    return size.n_linear + size.n_factors + stages // 2 * size.n_pair + (2 * stages + 2) * size.ny + 8


@cache
def table(stages: int) -> np.ndarray:
    """The numbers of the method."""
    c = (np.polynomial.legendre.leggauss(stages)[0] + 1.0) / 2.0
    return np.concatenate(numbers_of(c, looked_at(stages), *eigenvectors(stages)))


def exact_table(stages: int) -> list:
    """The same without rounding, but for the numbers of Newton's matrix, where doubles are enough."""
    from fractions import Fraction  # when it is needed: it imports decimal

    inside = np.array([*map(Fraction, looked_at(stages))])
    return [*np.concatenate(numbers_of(exact_nodes(stages), inside, *eigenvectors(stages)))]


def numbers_of(c: np.ndarray, inside: np.ndarray, T: np.ndarray, shifts: list) -> list:
    """The numbers that follow from nodes and from eigenvectors of a, in the order of fp."""
    with_start = np.concatenate([[0 * c[0]], c])
    apart = inside[:, None] - inside + np.eye(len(inside), dtype=int)
    return [
        c, lagrange_at(with_start, 1)[1:], lagrange_slopes(with_start)[1:, 1:].ravel(), T.ravel(), np.linalg.inv(T).ravel(),
        shifts, lagrange_at(c, 1), inside, np.diag(lagrange_slopes(inside)), 1 / np.prod(apart, axis=1),
    ]  # fmt: skip


@cache
def eigenvectors(stages: int) -> tuple[np.ndarray, list]:
    """T and γ, or 0, and α, β of each pair, of Newton's matrices."""
    c = (np.polynomial.legendre.leggauss(stages)[0] + 1.0) / 2.0
    values, vectors = np.linalg.eig(lagrange_slopes(np.concatenate([[0.0], c]))[1:, 1:])
    pairs = sorted(np.flatnonzero(values.imag > 1e-6), key=lambda k: values[k].imag)
    real = [int(np.argmin(np.abs(values.imag)))] if stages % 2 else []
    columns = [vectors[:, k].real for k in real]
    columns += [part for k in pairs for part in (vectors[:, k].real, vectors[:, k].imag)]
    shifts = [values[real[0]].real if real else 0.0, *(part for k in pairs for part in (values[k].real, values[k].imag))]
    return np.column_stack(columns), shifts


def looked_at(stages: int) -> np.ndarray:
    """0, τ_k, 1"""
    count = max(stages, 2)
    return (1.0 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2.0


def exact_nodes(stages: int) -> np.ndarray:
    """c to 2⁻²⁰⁰, in order: zeros of Legendre's polynomial by Newton's method."""
    from fractions import Fraction

    found = []
    for start in np.polynomial.legendre.leggauss(stages)[0]:
        x = Fraction(float(start))
        for _ in range(4):
            below, here = Fraction(1), x
            for k in range(1, stages):
                below, here = here, ((2 * k + 1) * x * here - k * below) / (k + 1)
            x -= here * (x * x - 1) / (stages * (x * here - below))
            x = Fraction(round(x * (1 << 200)), 1 << 200)
        found.append((x + 1) / 2)
    return np.array(found)


def lagrange_at(nodes: np.ndarray, theta) -> np.ndarray:
    """ℓ_j(θ), of doubles or fractions."""
    apart = nodes[:, None] - nodes + np.eye(len(nodes), dtype=int)
    from_here = np.where(np.eye(len(nodes)) > 0.0, 1, theta - nodes)
    return np.prod(from_here / apart, axis=1)


@inner
def residuals_at(size, stages):
    """Where residuals of the stages stand; then follow y and y' of a stage, then solutions."""
    return vectors_at(size, stages // 2)


@leaf
def predict(K, h, fp, c, stages, differential, ny):
    """Stages from the slopes at the start, and from the old multipliers."""
    for k in range(stages):
        row, node = K[Z + k], fp[c + k] * h
        for i in range(ny):
            row[i] = node * K[0, i] if i < differential else 0.0


@leaf
def add_changes(sizes, W, at, x, K, stages, h, fp, ny):
    """Z += changes; return the size of the largest in the error norm."""
    largest, rtol, powers, tolerances, rates = 0.0, fp[0], fp[2 : 2 + ny], sizes.at_sizes + TOLERANCES, sizes.at_rates
    for k in range(stages):
        row, steps = K[Z + k], W[at + k * ny : at + (k + 1) * ny]
        for i in range(ny):
            row[i] += steps[i]
            change = abs(steps[i]) * raised(h, W[rates + i], powers[i]) / (W[tolerances + i] + rtol * abs(x[i] + row[i]))
            if not change <= largest:
                largest = change
    return largest


@leaf
def new_point(xn, x, K, fp, c, stages, differential, ny):
    """y1 of differential unknowns; of the others the polynomial through their stages."""
    ends = ends_at(c, stages)
    for i in range(ny):
        at, total = c + stages if i < differential else ends, 0.0
        for k in range(stages):
            total += fp[at + k] * K[Z + k, i]
        xn[i] = x[i] + total


@inner
def factor(model, run, t, h, state, fp, c, stages):
    """Newton's matrices, linearized at a stage in the middle."""
    size, W = model.size, state.W
    ny = size.ny
    middle, at_y = (stages - 1) // 2, residuals_at(size, stages) + stages * ny
    stage_arguments(W, at_y, state.x, state.K, Z, fp, c, middle, stages, h, ny)
    linearize(model, t + fp[c + middle] * h, W, at_y, W, at_y + ny)
    run.jacobians += 1
    if stages % 2 == 1:
        return factor_systems(model, run, W, h, fp, shifts_at(c, stages), stages // 2)
    return factor_pairs(model, run, W, h, fp, shifts_at(c, stages), stages // 2)


@inner
def newton_update(model, run, h, state, fp, c, stages):
    """One Newton step for all stages from their residuals; return the size of the change in the error norm."""
    size, W = model.size, state.W
    ny, at_r = size.ny, residuals_at(size, stages)
    solved, T = at_r + (stages + 2) * ny, c + 2 * stages + stages * stages
    run.residuals += stages
    combine(W, at_r, solved, fp, T + stages * stages, -1.0, stages, ny)
    odd = stages % 2
    if odd == 1:
        solve_real(model, W, solved, at_r)
    for pair in range(stages // 2):
        first = (odd + 2 * pair) * ny
        solve_pair(model, W, pair, solved + first, at_r + first)
    combine(W, at_r, solved, fp, T, 1.0, stages, ny)
    return add_changes(size, W, solved, state.x, state.K, stages, h, fp, ny)


@inner
def solve_stages(model, method, run, t, h, state):
    """Stages of a step of length h from the start; they stand in K."""
    size, fp, stages = model.size, method.fp, method.ip[STAGES]
    x, K, W = state.x, state.K, state.W
    ny, differential, c = size.ny, size.nq + size.nv, 3 + size.ny
    at_r = residuals_at(size, stages)
    at_y = at_r + stages * ny
    predict(K, h, fp, c, stages, differential, ny)
    before, fresh, resting = 0.0, True, 0
    for iteration in range(MOST_ITERATIONS):
        if fresh and factor(model, run, t, h, state, fp, c, stages) != OK:
            return SINGULAR
        for stage in range(stages):
            stage_arguments(W, at_y, x, K, Z, fp, c, stage, stages, h, ny)
            call_model(model, EQUATIONS, t + fp[c + stage] * h, W, at_y, W, at_y + ny, W, at_r + stage * ny)
        change = newton_update(model, run, h, state, fp, c, stages)
        if not change <= 1e200:
            return NO_CONVERGENCE
        rate = change / before if iteration > 0 and before > 0.0 else 1.0
        # the first ratio is no rate: multipliers start far off but enter linearly
        to_come = change * min(1.0, rate) if iteration > 1 else change
        # one fall that fails to come is chance where steps are long, several are rounding
        resting = resting + 1 if rate >= AT_ROUNDING else 0
        limit = LOOSE if resting > 2 else NEAR_ROUNDING
        at_rest = iteration > 2 and resting > 0 and small(size, W, change, limit, x, h, fp, size.nq, differential, ny)
        if to_come <= fp[1] or at_rest:
            return OK
        fresh = iteration > 1 and rate > 0.3
        before = change
    return NO_CONVERGENCE


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for the stages, and take the new point from them."""
    size, stages = model.size, method.ip[STAGES]
    status = solve_stages(model, method, run, t, h, state)
    if status == OK:
        new_point(state.xn, state.x, state.K, method.fp, 3 + size.ny, stages, size.n_differential, size.ny)
    return status


@leaf
def keep_rise(xs, x, K, row, n):
    """What lies between a point and the start, into a row of K."""
    for i in range(n):
        K[row, i] = xs[i] - x[i]


@kernel(DENSE)
def dense(model, method, run, t, h, state):
    """Values and slopes at τ_k, by shorter steps from the start."""
    size, fp, stages = model.size, method.fp, method.ip[STAGES]
    x, xs, K = state.x, state.xs, state.K
    c = 3 + size.ny
    inside = ends_at(c, stages) + stages
    for k in range(1, stages - 1):
        shorter = fp[inside + k] * h
        status = solve_stages(model, method, run, t, shorter, state)
        if status != OK:
            return status
        new_point(xs, x, K, fp, c, stages, size.n_differential, size.ny)
        row = Z + stages + 2 * (k - 1)
        keep_rise(xs, x, K, row, size.nq + size.nv)
        status = evaluate(model, run, t + shorter, xs, K, row + 1, state.W)
        if status != OK:
            return status
    return OK


@leaf
def add_slope(out, weight, K, row, n):
    """out += weight times a row"""
    for i in range(n):
        out[i] += weight * K[row, i]


@leaf
def add_end(out, weight, x, xn, n):
    """out += weight (xn - x)"""
    for i in range(n):
        out[i] += weight * (xn[i] - x[i])


@kernel(INTERPOLATE)
def interpolate(model, method, theta, h, state, out):
    """Hermite's curve through all points of the step; a line for multipliers."""
    size, fp, stages = model.size, method.fp, method.ip[STAGES]
    x, xn, K = state.x, state.xn, state.K
    n, ny = size.nq + size.nv, size.ny
    inside = ends_at(3 + ny, stages) + stages
    for i in range(ny):
        out[i] = x[i] if i < n else x[i] + theta * (xn[i] - x[i])
    for k in range(stages):
        ell, node = fp[inside + 2 * stages + k], fp[inside + k]
        for j in range(stages):
            if j != k:
                ell *= theta - fp[inside + j]
        rise, slope = (1.0 - 2.0 * (theta - node) * fp[inside + stages + k]) * ell * ell, (theta - node) * ell * ell * h
        if k == 0:
            add_slope(out, slope, K, 0, n)
        elif k == stages - 1:
            add_end(out, rise, x, xn, n)
            add_slope(out, slope, K, 1, n)
        else:
            row = Z + stages + 2 * (k - 1)
            add_slope(out, rise, K, row, n)
            add_slope(out, slope, K, row + 1, n)
    return OK


class _Gauss(Integrator):
    """What Gauss's methods have in common."""

    adaptive, implicit, takes = False, True, "residual"
    highest_index = 2
    keeps_energy = True
    symmetric = True
    keeps_at_end = False
    multipliers_in_stages = True
    references = ("HW96", "HLW06", "ascher-petzold-1993")

    def lower(self) -> Lowered:
        s = (self.order or 0) // 2
        inside = (hermite.dense, hermite.interpolate) if s < 3 else (dense, interpolate)
        return Lowered(
            slots={
                "advance": advance, "finish": hermite.finish, "accept": accept, "dense": inside[0], "interpolate": inside[1],
            },
            ip=np.array([1, s], dtype=np.int64), fp=table(s), rows=Z + s + 2 * max(0, s - 2), errors=0,
            work=partial(gauss_work, s), wants_scales=True, exact_fp=partial(exact_table, s),
            unrolls=((Fn.NEWTON_FACTOR, Fn.NEWTON_SOLVE) if s % 2 else ()) + (Fn.COMPLEX_FACTOR, Fn.COMPLEX_SOLVE),
        )  # fmt: skip


class GaussLegendre4(_Gauss):
    """Gauss-Legendre method with two stages, order 4, fixed step; symplectic, damps nothing.

    Order 4 for q and v with formulations of index 0 and 1, and for systems without constraints, where it is symplectic.
    Its own multipliers belong to the stages. With index 2 the constraints
    hold in the stages alone, which leaves order 2 for v and λ; the projected Gauss method, with a `Projection` along the
    directions in which the multipliers act, has order 4 again. `Projection()` takes them by itself, if no metric is asked
    for: the mass metric for velocities of Index2 and GGL and where D="mass", the identity elsewhere; B of a Dae.
    So it projects unless told otherwise. With index 3 velocities do not converge: that is refused.
    """

    order = 4
    recommended = True


@refuses_unknown
@dataclass(frozen=True, repr=False)
class GaussLegendre(_Gauss):
    """Gauss-Legendre method with any number of stages, order twice as many, fixed step; symplectic, damps nothing.

    What `GaussLegendre4` says of two stages holds for s of them: order 2s with index 0 and 1, and projected with index 2.
    Without a projection v and λ of index 2 have order s or, with an odd number of stages, s + 1 and s - 1 (one stage: λ inside
    the step does not converge). Steps with saved times or events inside cost as much as s - 1 others.

    Parameters
    ----------
    stages : int
        1 (the midpoint rule) to 12.

    References
    ----------
    [HW96] Sec. IV.5, IV.8 and VII.4; [HLW06] Sec. II.1; [ascher-petzold-1993] for the projected method.
    """

    stages: int = 3
    order: int = field(init=False, default=6)

    def __post_init__(self):
        if type(self.stages) is not int or not 1 <= self.stages <= MOST_STAGES:
            raise BadArgument(f"stages={self.stages!r} must be a whole number from 1 to {MOST_STAGES}; the order is twice as much.")
        object.__setattr__(self, "order", 2 * self.stages)

    @property
    def turns_residuals(self) -> bool:  # type: ignore[override]
        """The stability function at infinity is (-1)^s."""
        return self.stages % 2 == 1

    def __repr__(self) -> str:
        return f"GaussLegendre(stages={self.stages})"
