"""The stages of a Radau step: a start from the step before, and Newton's method for all of them together.

The Jacobian is that of the middle of the step, foreseen from the step before: changes of Newton's method fall by what the
Jacobian changes over the step, and so it takes a fifth to a third fewer residuals than with that of the beginning. Steps grow no
longer than it converges well. Where Jacobians are kept, or multipliers were far off, one fall of the changes is no rate: q and v
fall at once and, with the multipliers, more slowly from then on. So both have their rates, and Jacobians are not kept for long.

Stiffness of the position may come from multipliers alone, as that of a string from its tension, and where these are foreseen
wrongly by a third, changes fall by a third, however short the step. But one change makes up for most of that. So where few more
do not suffice, models that factor at the cost of a solution have their Jacobian renewed, at the stages as they are by then.
"""

from __future__ import annotations

import math

from ..errors import NO_CONVERGENCE, OK, SINGULAR
from ..kernels.newton import AT_ROUNDING, ROUNDING, small, stalled
from ..kernels.newton_operators import factor_systems, linearize, solve_pair, solve_real, vectors_at
from ..kernels.signatures import ADVANCE, EQUATIONS, LINEARIZED, call_model, has_function
from ..kernels.sizes import TOLERANCES, raised
from ..native.marks import inner, kernel, leaf, part
from .radau_dense import EARLY, HIGHEST, ITERATIONS, LOWEST, OLD_Z, controls_of
from .radau_more import add_more, extrapolate_more, slope_more, to_eigenvectors_more
from .radau_nodes import stage_weight, table_at
from .radau_three import add_three, arguments_three, extrapolate_three, slope_three, to_eigenvectors_three

# Newton steps with three stages, and how many where the step is fixed: there giving up early gains nothing. [hairer-wanner-1999]
# allows 5 more for two more stages
MANY, PATIENT, MORE = 7, 30, 5
# What is to come beside the first change counts as in the last step, but for no less than this share: over a kink, behind which
# y' = -λ(t) (y - cos t) - sin t becomes stiff, one iteration left 45 rtol
DISTRUST = 0.02
# The most that a step may grow, and the contraction up to which it may: about where work per unit of time is least, if
# contraction goes with h². With 0.3 heavy top and cart-pole fail in a third of the attempts at order 13
GROWTH, CONTRACTION = 8.0, 0.15
# How many times longer than the one before a step may be for its Jacobian to be that of the foreseen middle
FORESEEN = 2.0
# Of the tolerance, what an iteration may leave. RADAU5 has 0.03, which adds up: 320 rtol instead of 6 for a pendulum over 10 s
BOUND = 0.005
# The contraction above which the next step has a Jacobian of its own: one fall is no rate, and with old Jacobians the second is
# far less. With 1e-3, as in RADAU5, ProjectedInvariants on the seven-body mechanism leaves 32 rtol at rtol 1e-10
STALE = 3e-4
# Where Jacobians are renewed: changes that have to suffice otherwise, how often in an attempt, the fall from which on the last
# change is taken back before, and the contraction up to which steps grow. A chain of 10⁴ rods, rtol 1e-3, 1 s: 38 attempts in
# the place of 168, a third of the time; with contractions of 0.15 53. With more stages, whose Jacobians differ, it does not help
SUFFICE, RENEWED, WILD, RENEWED_CONTRACTION = 2, 3, 3.0, 0.4


def radau_work(most: int, size) -> int:
    """Numbers of workspace that a step of so many stages takes: factors, and vectors.

    The vectors are the residuals of the stages, y and y' of one, solutions, and by what changes are measured.
    """
    pairs = (most - 1) // 2
    return size.n_linear + size.n_factors + pairs * size.n_pair + (2 * most + 3) * size.ny + 8


@inner
def residuals_at(size, most):
    """Where residuals of the stages stand, one behind the other; then follow y and y' of a stage."""
    return vectors_at(size, (most - 1) // 2)


@inner
def arguments_at(size, most):
    """Where y of a stage stands, and y' behind it; then follow solutions."""
    return residuals_at(size, most) + most * size.ny


@inner
def solutions_at(size, most):
    """Where solutions stand; then follow the weights of changes."""
    return arguments_at(size, most) + 2 * size.ny


@inner
def weights_at(size, most):
    """Where the weights of changes stand."""
    return solutions_at(size, most) + most * size.ny


@leaf
def weigh(sizes, W, at, x, h, fp, ny):
    """What a change of each unknown is multiplied by: powers of the step over the tolerance."""
    powers, rtol, tolerances, rates = fp[2 : 2 + ny], fp[0], sizes.at_sizes + TOLERANCES, sizes.at_rates
    for i in range(ny):
        W[at + i] = raised(h, W[rates + i], powers[i]) / (W[tolerances + i] + rtol * abs(x[i]))


@leaf
def start_stages(K, h, fp, c, stages, old_c, old_stages, most, differential, ny):
    """Z from the curve of the last step, or from the slopes at the start."""
    control = controls_of(K)
    old, z = control.h_old, OLD_Z + most
    if stages == 3 and old_stages == 3 and old != 0.0:
        extrapolate_three(K, OLD_Z, z, fp, c, old_c, h / old, ny)
        return
    if old_stages > 3 and old != 0.0:
        extrapolate_more(K, OLD_Z, z, fp, c, stages, old_c, old_stages, h / old, ny)
        return
    for k in range(stages):
        row, node = K[z + k], fp[c + k]
        if old == 0.0:
            for i in range(ny):
                row[i] = node * h * K[0, i] if i < differential else 0.0
        else:
            end = K[OLD_Z + old_stages - 1]
            for i in range(ny):
                row[i] = -end[i]
            for j in range(old_stages):
                weight, before = stage_weight(fp, old_c, old_stages, j, 1.0 + node * h / old), K[OLD_Z + j]
                for i in range(ny):
                    row[i] += weight * before[i]


@leaf
def slope_of(W, at_slope, K, z, fp, weights, stages, h, ny):
    """Σ w_j Z_j / h"""
    if stages == 3:
        slope_three(W, at_slope, K, z, fp, weights, h, ny)
        return
    if stages == 5 or stages == 7:
        slope_more(W, at_slope, K, z, fp, weights, stages, h, ny)
        return
    slope = W[at_slope : at_slope + ny]
    for i in range(ny):
        slope[i] = 0.0
    for j in range(stages):
        weight, row = fp[weights + j] / h, K[z + j]
        for i in range(ny):
            slope[i] += weight * row[i]


@leaf
def stage_arguments(W, at_y, x, K, z, fp, c, stage, stages, h, ny):
    """y0 + Z_i and, behind it, Σ a_ij Z_j / h."""
    if stages == 3:
        arguments_three(W, at_y, x, K, z, fp, c + 6 + 3 * stage, stage, h, ny)
        return
    y, row = W[at_y : at_y + ny], K[z + stage]
    for i in range(ny):
        y[i] = x[i] + row[i]
    slope_of(W, at_y + ny, K, z, fp, c + 2 * stages + stage * stages, stages, h, ny)


@leaf
def combine(W, at_from, at_to, fp, matrix, sign, stages, ny):
    """Vectors at at_to = sign matrix times those at at_from."""
    for k in range(stages):
        out = W[at_to + k * ny : at_to + (k + 1) * ny]
        for i in range(ny):
            out[i] = 0.0
        for j in range(stages):
            weight, given = sign * fp[matrix + k * stages + j], W[at_from + j * ny : at_from + (j + 1) * ny]
            for i in range(ny):
                out[i] += weight * given[i]


@inner
def newton_update(model, run, state, h, fp, c, stages, most):
    """One Newton step for all stages from their residuals; return the sizes of the change."""
    size, W = model.size, state.W
    ny, at_r, solved = size.ny, residuals_at(size, most), solutions_at(size, most)
    T, inverse = c + 2 * stages + stages * stages, c + 2 * stages + 2 * stages * stages
    run.residuals += stages
    if stages == 3:
        to_eigenvectors_three(W, at_r, solved, fp, inverse, ny)
    else:
        to_eigenvectors_more(W, at_r, solved, fp, inverse, stages, ny)
    solve_real(model, W, solved, at_r)
    for pair in range((stages - 1) // 2):
        first = (1 + 2 * pair) * ny
        solve_pair(model, W, pair, solved + first, at_r + first)
    weights = weights_at(size, most)
    return add_steps(W, at_r, weights, state.K, OLD_Z + most, fp, T, stages, size.nq, size.nq + size.nv, ny)


@leaf
def add_steps(W, solved, weights, K, z, fp, T, stages, nq, differential, ny):
    """Z += steps; return the sizes of the change, RMS over all stages: of q or v, the larger counts, and of the rest."""
    if stages == 3:
        total_q = add_three(W, solved, weights, K, z, fp, T, 0, nq, ny)
        total_v = add_three(W, solved, weights, K, z, fp, T, nq, differential, ny)
        total_rest = add_three(W, solved, weights, K, z, fp, T, differential, ny, ny)
    else:
        total_q = add_more(W, solved, weights, K, z, fp, T, stages, 0, nq, ny)
        total_v = add_more(W, solved, weights, K, z, fp, T, stages, nq, differential, ny)
        total_rest = add_more(W, solved, weights, K, z, fp, T, stages, differential, ny, ny)
    moved = math.sqrt(total_q / (stages * nq))
    if differential > nq:
        moved = max(moved, math.sqrt(total_v / (stages * (differential - nq))))
    return moved, math.sqrt(total_rest / (stages * (ny - differential))) if ny > differential else 0.0


@leaf
def slowness_of(rate):
    """θ/(1 - θ): what is to come beside the last change."""
    return rate / (1.0 - rate) if rate < 0.99 else 100.0


@leaf
def fall_of(change, before):
    """By what a change is smaller than the one before."""
    return change / before if before > 0.0 else 0.0


@leaf
def mean_fall(rate, fall, iteration):
    """The rate by the last falls: those of an index above 1 need not be even."""
    return fall if iteration == 1 else (fall * rate) ** 0.5


@leaf
def take_start(W, at_y, x, K, differential, ny):
    """y and y' at the start of the step, as far as they are known."""
    for i in range(ny):
        W[at_y + i] = x[i]
        W[at_y + ny + i] = K[0, i] if i < differential else 0.0


@leaf
def new_point(xn, x, last, ny):
    """y0 + Z_s"""
    for i in range(ny):
        xn[i] = x[i] + last[i]


@leaf
def turn_back(W, at, n):
    """The opposite of n numbers."""
    for i in range(n):
        W[at + i] = -W[at + i]


@inner
def take_back(size, state, fp, c, stages, most):
    """Take the last Newton step back."""
    W, solved, weights = state.W, residuals_at(size, most), weights_at(size, most)
    turn_back(W, solved, stages * size.ny)
    T = c + 2 * stages + stages * stages
    add_steps(W, solved, weights, state.K, OLD_Z + most, fp, T, stages, size.nq, size.nq + size.nv, size.ny)


@inner
def linearize_inside(model, t, h, state, fp, c, stages, most):
    """The equations linearized at the middle stage."""
    size, W = model.size, state.W
    at_y = arguments_at(size, most)
    stage_arguments(W, at_y, state.x, state.K, OLD_Z + most, fp, c, stages // 2, stages, h, size.ny)
    linearize(model, t + fp[c + stages // 2] * h, W, at_y, W, at_y + size.ny)


@inner
def factor_stages(model, run, W, h, fp, c, stages):
    """Factors of the systems that stages fall apart into."""
    return factor_systems(model, run, W, h, fp, c + 2 * stages + 3 * stages * stages, (stages - 1) // 2)


@kernel(ADVANCE)
def advance(model, method, run, t, h, state):
    """Solve for the stages."""
    control, ip = controls_of(state.K), method.ip
    if control.stages == 0.0:
        control.stages = ip[LOWEST] if ip[EARLY] == 1 else ip[HIGHEST]
    return solve_stages(model, method, run, t, h, state, int(control.stages), int(control.old_stages))


@part
def solve_stages(model, method, run, t, h, state, stages, old_stages):
    """Solve for so many stages, after a step of so many."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K, W = state.x, state.xn, state.K, state.W
    control = controls_of(K)
    ny, differential, most = size.ny, size.nq + size.nv, ip[HIGHEST]
    c, old_c = table_at(3 + ny, ip[LOWEST], stages), table_at(3 + ny, ip[LOWEST], old_stages)
    z, at_r, at_y = OLD_Z + most, residuals_at(size, most), arguments_at(size, most)
    bound = fp[1]
    if ip[EARLY] == 1 and fp[2 + size.nq] == 0.0:  # of index 3 velocities count times h, and what is left of them adds up
        bound = max(fp[1], BOUND)
    control.fresh = 0.0
    renews = ip[EARLY] == 1 and stages == 3 and has_function(model, LINEARIZED)
    weigh(size, W, weights_at(size, most), x, h, fp, ny)
    for _ in range(2):
        start_stages(K, h, fp, c, stages, old_c, old_stages, most, differential, ny)
        if control.jacobian_good == 0.0:
            if control.h_old != 0.0 and h / control.h_old < FORESEEN and control.failed == 0.0:
                linearize_inside(model, t, h, state, fp, c, stages, most)
            else:
                take_start(W, at_y, x, K, differential, ny)
                linearize(model, t, W, at_y, W, at_y + ny)
            run.jacobians += 1
            control.jacobian_good = 1.0
            control.fresh = 1.0
            control.h_factors = 0.0
        if control.h_factors != h:
            if factor_stages(model, run, W, h, fp, c, stages) != OK:
                control.jacobian_good = 0.0
                return SINGULAR
            control.h_factors = h
        before, moved_before, rest_before, quickest, converged, done = 0.0, 0.0, 0.0, 1.0, False, 0
        rate, rate_moved, first, renewed = 0.0, 0.0, 0, 0
        slowness = max(control.slowness**0.8, DISTRUST) if control.slowness > 0.0 else 1.0
        if ip[EARLY] == 0:
            slowness = 1000.0
        slowness_moved = slowness
        run.advice_shrink = 0.5
        many = ip[ITERATIONS] + MORE * (stages - 3) // 2
        for iteration in range(many):
            for stage in range(stages):
                stage_arguments(W, at_y, x, K, z, fp, c, stage, stages, h, ny)
                call_model(model, EQUATIONS, t + fp[c + stage] * h, W, at_y, W, at_y + ny, W, at_r + stage * ny)
            moved, rest = newton_update(model, run, state, h, fp, c, stages, most)
            change = max(moved, rest)
            done += 1
            if not change <= 1e100:
                break
            if iteration > first:
                fall = fall_of(change, before)
                if ip[EARLY] == 1 and stalled(size, W, change, fall, quickest, x, h, fp, size.nq, differential, ny):
                    converged = True
                    break
                quickest = min(quickest, fall)
                rate = mean_fall(rate, fall, iteration - first)
                slowness = slowness_of(rate)
                # q and v fall at once where multipliers were far off, and with these, more slowly, from then on
                fall = max(fall_of(moved, moved_before), fall_of(rest, rest_before))
                rate_moved = mean_fall(rate_moved, fall, iteration - first)
                slowness_moved = slowness_of(rate_moved)
            if change == 0.0 or (slowness * change <= bound and slowness_moved * moved <= bound):
                converged = True
                break
            if (
                ip[EARLY] == 0
                and iteration > 0
                and rate >= AT_ROUNDING
                and small(size, W, change, ROUNDING, x, h, fp, size.nq, differential, ny)
            ):
                converged = True
                break
            if renews and renewed < RENEWED and iteration > first and slowness * rate**SUFFICE * change > bound:
                if rate > WILD:
                    take_back(size, state, fp, c, stages, most)
                linearize_inside(model, t, h, state, fp, c, stages, most)
                run.jacobians += 1
                control.fresh = 1.0
                if factor_stages(model, run, W, h, fp, c, stages) != OK:
                    control.jacobian_good = 0.0
                    return SINGULAR
                renewed += 1
                first, quickest, rate, rate_moved = iteration + 1, 1.0, 0.0, 0.0
                slowness = slowness_moved = 1.0
                continue
            if ip[EARLY] == 1 and iteration > max(1, first):
                if rate >= 0.99:
                    break
                if slowness * rate ** (many - 1 - iteration) * change > bound:
                    run.advice_shrink = max(0.25, min(0.8, (CONTRACTION / rate) ** 0.5))
                    break
            before, moved_before, rest_before = change, moved, rest
        control.slowness = slowness
        control.contraction = rate
        if converged:
            # where Newton converged at once the Jacobian is good for the next step too
            control.retry = 1.0 if rate > STALE else 0.0
            run.advice_keep = 0 if control.retry == 1.0 else 1
            run.advice_safety = min(1.0, (1.0 + 2.0 * many) / (done + 2.0 * many))
            # changes fall by what the Jacobian changes over the step, times the step
            most_rate = RENEWED_CONTRACTION if renews else CONTRACTION
            run.factor_max = min(GROWTH, max(1.0, (most_rate / max(rate, 1e-16)) ** 0.5))
            new_point(xn, x, K[z + stages - 1], ny)
            return OK
        control.slowness = 0.0
        if control.fresh == 1.0:
            break
        control.jacobian_good = 0.0
    # the middle of a shorter step is another one, and where this one was foreseen wrongly the start is safe
    control.failed = 1.0
    control.jacobian_good = 0.0
    return NO_CONVERGENCE
