"""Dense output of Radau IIA: through the stages of a step and, where that converges, of the one before.

The curve u through start and stages misses a smooth motion by as much as its estimate e of the error times ν(θ), the stages
included: u + ν e is right to one power of h more. Where a stiff part is at rest e vanishes; the filtered estimate then allows
steps for which u is far above the tolerance: the stages are exact there, whatever lies between them. So Newton's form goes on
with the points of the step before, nearest first, taken from its own curve u + ν e,

    p(θ) = u + ν e + ω(θ) (D_1 + (θ - x_1)(D_2 + (θ - x_2)(D_3 + ...))),      x_j = -(1 - c) h_old / h,      ω = θ Π (θ - c_i)

as long as its terms fall. The last term, or the first that is larger again, is what the step loop holds against steps that are
looked into. Where terms do not fall at all, because the step before was of another kind, the curve is left as it is, and the
first term is its error. Beside the terms counts what ν e leaves: by stiffness, which E⁻¹ ∂R/∂y e tells, and by the change of e
since the step before.
"""

from __future__ import annotations

from ..errors import OK
from ..kernels.signatures import DENSE, INTERPOLATE
from ..kernels.sizes import TOLERANCES, raised
from ..native.layout import REAL, Layout, view_as
from ..native.marks import kernel, leaf
from .radau_nodes import missed, omega, stage_weight, table_at

# rows of K: field at both ends, control, estimate e of this step and of the last, what a stabilization moved the end of the
# last step by; then, as many of each as there are stages at most, stages Z of the last step and of this one, and D, which
# follows from the others
CONTROL, ERROR, OLD_ERROR, OLD_SHIFT, OLD_Z = 2, 3, 4, 5, 6
CONTROLS = Layout("Radau", (
    ("h_old", REAL, "length of the step before; 0: there was none"),
    ("h_factors", REAL, "step for which there are factors; 0: there are none"),
    ("jacobian_good", REAL, "1 while the Jacobian serves"),
    ("fresh", REAL, "1 where it is of this attempt"),
    ("retry", REAL, "1 where iterations took so long that the next step has a new one"),
    ("slowness", REAL, "θ/(1 - θ) of the last iteration"),
    ("tried", REAL, "1 after an attempt at this step"),
    ("stages", REAL, "of this step; 0: not chosen yet"),
    ("old_stages", REAL, "of the step before"),
    ("equal", REAL, "steps since the number of stages was changed"),
    ("contraction", REAL, "by which changes of the last iteration fell; 0: it took one"),
    ("failed", REAL, "1 where an iteration failed since the last step"),
    ("wait", REAL, "steps after which stages may be added"),
    ("left", REAL, "what ν e leaves by stiffness, in tolerances"),
    ("terms", REAL, "of Newton's form between the ends of this step"),
))  # fmt: skip
controls_of = view_as(CONTROLS, CONTROL)
# ip: the row of slopes at the new point, the most Newton steps, whether to give up early, fewest and most stages
LAST, ITERATIONS, EARLY, LOWEST, HIGHEST = range(5)
LOOKED = (0.30, 0.55, 0.80, 0.95)  # θ at which terms are measured
ENOUGH = 1.0  # of the tolerance, an error of the curve through the stages at which it is taken
SHARE = 0.1  # of the term before, what the last one counts for at least: it may be small by chance
# Of |E⁻¹ ∂R/∂y e| and of |e - e_old (h/h_old)^(s+1)|, what ν e leaves: 0.25 to 0.48 and 0.01 to 0.04 on y' = z (y - φ) + φ' with
# polynomials φ, for small z
BY_STIFFNESS, BY_CHANGE = 0.5, 0.05


def rows_of(stages: int) -> int:
    """Rows of K for so many stages at most."""
    return OLD_Z + 3 * stages


@leaf
def rise(theta):
    """How much of what a stabilization moved the end of a step by is seen at θ."""
    return theta * theta * (3.0 - 2.0 * theta)


@leaf
def keep_shift(K, x, xn, last, ny):
    """Remember what the stabilization has moved the end of this step by; the last stage stands in row `last`."""
    shift, z = K[OLD_SHIFT, :], K[last]
    for i in range(ny):
        shift[i] = xn[i] - x[i] - z[i]


@leaf
def add(out, factor, row, ny):
    """out += factor row"""
    for i in range(ny):
        out[i] += factor * row[i]


@leaf
def add_curve(out, factor, theta, K, first, error, fp, c, stages, ny, n):
    """out += factor (u + ν e - y0) at θ, of the step whose stages and estimate stand in these rows of K.

    ν e counts for the first n unknowns, where they are not raised to an index above 1.
    """
    for j in range(stages):
        add(out, factor * stage_weight(fp, c, stages, j, theta), K[first + j], ny)
    powers, e, weight = fp[2 : 2 + ny], K[error], factor * missed(fp, c, stages, theta)
    for i in range(n):
        if powers[i] == 0.0:
            out[i] += weight * e[i]


@leaf
def old_node(fp, c, stages, j, w):
    """The j-th nearest point of the step before, on the scale of this one."""
    return -w if j == stages - 1 else (fp[c + stages - 2 - j] - 1.0) * w


@leaf
def divide(K, x, xn, fp, c, stages, old_c, old_stages, most, w, ny, n):
    """D_1, D_2, ... from the points of the step before."""
    z, d, old_last = OLD_Z + most, OLD_Z + 2 * most, OLD_Z + old_stages - 1
    last, old_end, shift = K[z + stages - 1], K[old_last], K[OLD_SHIFT, :]
    for j in range(old_stages):
        node, row = old_node(fp, old_c, old_stages, j, w), K[d + j]
        factor, here, there = 1.0 / omega(fp, c, stages, node), rise(node), rise(1.0 + node / w) - 1.0
        for i in range(ny):
            row[i] = factor * (there * shift[i] - old_end[i] - here * (xn[i] - x[i] - last[i]))
        add_curve(row, factor, 1.0 + node / w, K, OLD_Z, OLD_ERROR, fp, old_c, old_stages, ny, n)
        add_curve(row, -factor, node, K, z, ERROR, fp, c, stages, ny, n)
    for level in range(1, old_stages):
        for j in range(old_stages - 1, level - 1, -1):
            apart = old_node(fp, old_c, old_stages, j, w) - old_node(fp, old_c, old_stages, j - level, w)
            row, before = K[d + j], K[d + j - 1]
            for i in range(ny):
                row[i] = (row[i] - before[i]) / apart


@leaf
def term_size(sizes, state, row, factor, h, fp, ny):
    """The largest component of factor times a row beside its tolerance, index-raised unknowns times powers of h."""
    largest, rtol, powers, at, rates = 0.0, fp[0], fp[2 : 2 + ny], sizes.at_sizes + TOLERANCES, sizes.at_rates
    W, x, xn = state.W, state.x, state.xn
    for i in range(ny):
        scale = W[at + i] + rtol * max(abs(x[i]), abs(xn[i]))
        part = abs(row[i] * factor) * raised(h, W[rates + i], powers[i]) / scale
        if not part <= largest:
            largest = part
    return largest


@leaf
def factor_of_term(fp, c, stages, old_c, old_stages, j, w):
    """How large |ω(θ) (θ - x_1) .. (θ - x_j)| is inside the step."""
    largest = 0.0
    for theta in LOOKED:
        size = abs(omega(fp, c, stages, theta))
        for k in range(j):
            size *= theta - old_node(fp, old_c, old_stages, k, w)
        largest = max(largest, size)
    return largest


@leaf
def choose_terms(sizes, state, h, w, fp, c, stages, old_c, old_stages, most, ny):
    """How many terms are taken; how wrong the curve is then, in tolerances; by which power of that a step is set."""
    K, d, first, before, doubt = state.K, OLD_Z + 2 * most, 0.0, 0.0, 0.0
    for j in range(old_stages):
        factor = factor_of_term(fp, c, stages, old_c, old_stages, j, w)
        size = term_size(sizes, state, K[d + j], factor, h, fp, ny)
        if j == 0:
            first = size
        elif not size <= before:
            # the last one may be small by chance, the next one then tells
            return (j - 1 if first > ENOUGH else 0), before if j == 1 else size, 1.0 / (stages + j)
        doubt = max(size, SHARE * before)
        before = size
    return (old_stages if first > ENOUGH else 0), doubt, 1.0 / (stages + old_stages)


@leaf
def change_size(W, at, K, q, x, xn, fp, ny, n):
    """The largest component of e - q e_old beside its tolerance, where ν e is taken."""
    largest, rtol, powers, e, old = 0.0, fp[0], fp[2 : 2 + ny], K[ERROR, :], K[OLD_ERROR, :]
    for i in range(n):
        if powers[i] == 0.0:
            largest = max(largest, abs(e[i] - q * old[i]) / (W[at + i] + rtol * max(abs(x[i]), abs(xn[i]))))
    return largest


@kernel(DENSE)
def dense(model, method, run, t, h, state):
    """Divided differences over two steps, and the error between their ends."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    ny, n = size.ny, min(size.n_differential, size.ny)
    stages, old_stages = int(control.stages), int(control.old_stages)
    # without a step before there is nothing to measure the curve by
    terms, doubt, exponent = 0, control.left, 1.0 / (stages + 2.0)
    if control.h_old != 0.0:
        w = control.h_old / h
        c, old_c = table_at(3 + ny, ip[LOWEST], stages), table_at(3 + ny, ip[LOWEST], old_stages)
        divide(K, x, xn, fp, c, stages, old_c, old_stages, ip[HIGHEST], w, ny, n)
        terms, doubt, exponent = choose_terms(size, state, h, w, fp, c, stages, old_c, old_stages, ip[HIGHEST], ny)
        left = control.left
        if old_stages == stages:
            left += BY_CHANGE * change_size(state.W, size.at_sizes + TOLERANCES, K, w ** -(stages + 1), x, xn, fp, ny, n)
        if not left <= doubt:
            doubt, exponent = left, 1.0 / (stages + 2.0)
    # with fixed steps there is no tolerance that it could miss
    control.terms, run.doubt, run.doubt_exponent = terms, doubt if ip[EARLY] == 1 else 0.0, exponent
    return OK


@kernel(INTERPOLATE)
def interpolate(model, method, theta, h, state, out):
    """The unknowns at t + θ h."""
    size = model.size
    ip, fp = method.ip, method.fp
    x, xn, K = state.x, state.xn, state.K
    control = controls_of(K)
    ny, n, stages, most = size.ny, min(size.n_differential, size.ny), int(control.stages), ip[HIGHEST]
    c = table_at(3 + ny, ip[LOWEST], stages)
    start_curve(x, xn, K[OLD_Z + most + stages - 1], rise(theta), ny, out)
    add_curve(out, 1.0, theta, K, OLD_Z + most, ERROR, fp, c, stages, ny, n)
    if control.terms > 0.0:
        factor, w, old_stages = omega(fp, c, stages, theta), control.h_old / h, int(control.old_stages)
        old_c = table_at(3 + ny, ip[LOWEST], old_stages)
        for j in range(int(control.terms)):
            add(out, factor, K[OLD_Z + 2 * most + j], ny)
            factor *= theta - old_node(fp, old_c, old_stages, j, w)
    return OK


@leaf
def start_curve(x, xn, last, seen, ny, out):
    """The beginning of the step, and as much as is seen of what a stabilization moved its end by."""
    for i in range(ny):
        out[i] = x[i] + seen * (xn[i] - x[i] - last[i])
