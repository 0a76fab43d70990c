"""Singular positions that a run went by with a method that has no passage of its own.

Where branches of motion meet, such a method may go on along another one, or lose accuracy, and its error estimate need
not see it. The step loop keeps the smallest pivot ratio at the ends of its steps, and the state there. Masses make that
ratio small as well, so the geometry decides: the smallest singular value of G, rows of length 1, along the motion through
that state, as far as the steps around it reach.
"""

from __future__ import annotations

import numpy as np

from ..errors import HolonomicError
from ..kernels.signatures import Fn
from ..loop.rows_apart import surely_apart
from ..starting.rank import terms

WORTH_A_LOOK = 0.2  # of the largest pivot ratio, which falls with the square of the singular value
NEARLY = 0.02  # of the larger singular value at the start or around: below that rows are nearly dependent
SURELY = 5.0  # times that: rows that pass a dependence come nearer than this to it at one of the points
CLOSER = 0.6  # of the largest singular value: a pivot ratio below a fifth of its largest makes it 0.45 by geometry alone
REACH = 1.5  # steps before and behind the end of a step
POINTS, ZOOMS = 24, 3
SHARE = 0.1  # of the largest: rows with less of the dependence are not named
MOST_NAMES = 6


def passed_singular(sol) -> str | None:
    """Say where a run of one plan came so close to a singular position that its branch is not sure; None: nowhere."""
    memory, noted = sol.trail.memory, sol.trail.noted
    if not without_passage(sol.trail.plan.model, memory.crosses):
        return None
    if not sol.trail.plan.model.may_pass:
        return _by_ratio(sol.trail.plan.model, memory)
    place = _of_least_ratio(memory, noted)
    return None if place is None else near_singular(sol.trail.plan, sol.trail.start, place, sol.trail.data)


def without_passage(model, crosses) -> bool:
    """Whether a run may come by a singular position that its method has no passage over."""
    return bool(not model.is_ode and model.n_lam and not crosses)


def near_singular(plan, start, place, data) -> str | None:
    """Say how near a singular position is to a place of a run, (t, step, state, slope), if its branch is not sure there."""
    model = plan.model
    if _surely_apart(model, plan, start, place, data):
        return None
    try:
        found = _closest(model, plan, start, place, data)
    except (HolonomicError, np.linalg.LinAlgError, ValueError):
        return None
    if found is None:
        return None
    t, least, usual, rows = found
    names = [repr(model.row_labels[row]) for row in rows[:MOST_NAMES]]
    more = f" and {len(rows) - MOST_NAMES} more" if len(rows) > MOST_NAMES else ""
    c = plan.choice
    way = f"with {c.stabilization!r}".replace("with None", "without stabilization")
    fixed = " and a fixed step" if c.step is not None else ""
    remedy = "Use DOP853() with Projection() and without step="
    return (
        f"the run went by a singular position, closest near t = {t:.6g}: there the constraint rows {', '.join(names)}{more} "
        f"are nearly dependent (smallest singular value of the scaled G {least:.1e}, otherwise up to {usual:.1e}). Branches of "
        f"motion meet there, and {c.integrator!r} {way}{fixed} may have left its own, or lost accuracy. {remedy}, which "
        "passes such positions, or change the geometry."
    )


def rank_falls(plan, t: float, x, states, data) -> bool:
    """Whether rows of G are much closer to dependent at (t, x) than they were at one of the states (t, x) of a run.

    Pivot ratios fall for other reasons, too: a mass that vanishes, light parts between heavy ones.
    """
    model = plan.model
    rank = min(model.n_lam if plan.rows is None else len(plan.rows), model.nv)
    data = data[: len(model.data())]

    def at(t, x) -> float:
        return _smallest(_scaled(model, t, x[: model.nq], x[model.nq : model.nq + model.nv], data), rank)

    try:
        here, usual = at(t, x), max(at(*state) for state in states)
    except (HolonomicError, np.linalg.LinAlgError, ValueError):
        return True  # cannot be told: believe the pivot ratio
    return here < CLOSER * usual


def _by_ratio(model, memory) -> str | None:
    """The same by the pivot ratio, which falls with the square of the singular value, where there is no G to look at."""
    if memory.h_least == 0.0 or not memory.rho_least < NEARLY**2 * memory.rho_most:
        return None
    return (
        f"near t = {memory.t_least:.6g} the smallest pivot ratio of {model.name} fell to {memory.rho_least:.1e}, from "
        f"{memory.rho_most:.1e}. Either masses are very different, or a singular position is near, where branches of motion "
        "meet and the run may have left its own. Compare with a run of a smaller rtol, or change the geometry."
    )


def _of_least_ratio(memory, noted):
    """(t, length of the step, state, slope) of the smallest pivot ratio, if that is small beside the largest."""
    if memory.h_least == 0.0 or not memory.rho_least < WORTH_A_LOOK * memory.rho_most:  # 0: the start, which has been checked
        return None
    x, slope = noted
    return memory.t_least, abs(memory.h_least), x, slope


def _scaled(model, t, q, v, data) -> np.ndarray:
    """G with rows of length 1."""
    G = terms(model, t, q, v, data)[2]
    return G / np.maximum(np.linalg.norm(G, axis=1), 1e-300)[:, None]


def _smallest(G, rank: int) -> float:
    """The smallest singular value that is not zero because rows are redundant."""
    return float(np.linalg.svd(G, compute_uv=False)[rank - 1]) if np.all(np.isfinite(G)) else np.inf


def _surely_apart(model, plan, start, place, data) -> bool:
    """Whether compiled code can tell that rows are far from dependent there: 0.02 ms, not 1.4."""
    if model.interpreted or len(model.extras) or model.n_lam > model.nv:
        return False
    nq, nv, nl = model.nq, model.nv, model.n_lam
    fns, lengths = model.table((Fn.TERMS,))
    t, h, x, slope = place
    rank = min(nl if plan.rows is None else len(plan.rows), nv)
    room = np.empty((nv, nl)), np.empty(nl), np.empty(nl, dtype=np.int64), np.empty(3 * nl), np.empty(nl)
    first = np.ascontiguousarray(start[1], dtype=float)[: nq + nv]
    begun, place = (float(start[0]), first), (float(t), np.ascontiguousarray(x), np.ascontiguousarray(slope))
    data = np.ascontiguousarray(data[: len(model.data())])
    return bool(surely_apart(
        fns, begun, place, data, (nq, nv, rank, POINTS), (REACH * h, SURELY * NEARLY),
        np.empty(lengths[Fn.TERMS]), room, np.empty(nq + nv), np.empty(nq + nv),
    ))  # fmt: skip


def _closest(model, plan, start, place, data):
    """(t, smallest singular value, usual one, rows that take part) around a place of a run; None where it is usual."""
    size, nq = model.nq + model.nv, model.nq
    t0, h, x, slope = place
    data, variant = data[: len(model.data())], plan.by_rows
    rank = min(model.n_lam if plan.rows is None else len(plan.rows), model.nv)

    def at(tau):
        there = x + tau * slope
        with np.errstate(all="ignore"):
            rates = model.evaluate(Fn.FIELD, t0 + tau, there, np.zeros(0), data, variant)[:nq]
        q = x[:nq] + 0.5 * tau * (slope[:nq] + rates)
        return _scaled(model, t0 + tau, q, there[nq:], data)

    first = np.asarray(start[1])
    usual = _smallest(_scaled(model, float(start[0]), first[:nq], first[nq:size], data), rank)
    low, high, best, least = -REACH * h, REACH * h, 0.0, np.inf
    for zoom in range(ZOOMS):
        taus = np.linspace(low, high, POINTS)
        found = np.array([_smallest(at(tau), rank) for tau in taus])
        if zoom == 0:
            usual = max(usual, float(np.max(found[np.isfinite(found)], initial=0.0)))
        k = int(np.argmin(found))
        if found[k] < least:
            best, least = float(taus[k]), float(found[k])
        low, high = taus[max(k - 1, 0)], taus[min(k + 1, POINTS - 1)]
    if not least < NEARLY * usual:
        return None
    U = np.linalg.svd(at(best), full_matrices=False)[0]
    weights = np.abs(U[:, rank - 1])
    rows_there = np.flatnonzero(weights > SHARE * np.max(weights))
    return t0 + best, least, usual, [int(row) for row in rows_there[np.argsort(-weights[rows_there], kind="stable")]]
