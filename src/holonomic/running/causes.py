"""Clues to why a run ended, looked for at its last points: rows that become dependent, what grew, jumped or was not finite."""

from __future__ import annotations

import numpy as np

from ..errors import HolonomicError
from ..kernels.signatures import Fn
from ..starting.rank import rank_by_rows, terms

NEARLY_SINGULAR = 0.02  # of the smallest singular value at the start
TINY = 1e-5  # of the interval: shorter steps have a reason that can be found
VANISHED = 1e-10  # of a mass at the start: no mass becomes so small without vanishing
PROBES = 24  # points ahead of the last state at which functions are tried, each four times as far


def near_singular(run, plan) -> str | None:
    """Say which rows of G become dependent where a run ended, if they do: much more so than at its start."""
    model = plan.model
    if model.is_ode or not model.n_lam or plan.rows is not None:
        return None
    values, rows = [], None
    for t, x in (run.start, (run.t, run.x)):
        x = np.asarray(x)
        try:
            G = terms(model, float(t), x[: model.nq], x[model.nq : model.nq + model.nv], run.data)[2]
            values.append(np.linalg.svd(G / np.linalg.norm(G, axis=1)[:, None], compute_uv=False)[-1])
            rows = rank_by_rows(G)[1]
        except (np.linalg.LinAlgError, HolonomicError, ValueError):
            return None
    if not values[1] < NEARLY_SINGULAR * values[0]:
        return None
    return (
        f"singular position close to t = {run.t:.6g}: the row of {model.row_labels[int(rows[-1])]!r} becomes a combination "
        f"of the others (smallest singular value of the scaled G {values[1]:.1e}, {values[0]:.1e} at the start), and "
        f"{plan.choice.integrator!r} cannot pass it.{way_past(run)} See error.solution."
    )


def vanishing_mass(run, plan) -> str | None:
    """Say which coordinate has lost its mass where a run ended, if one has."""
    model = plan.model
    if model.is_ode:
        return None
    (t0, x0), nq = run.start, model.nq
    try:
        before = np.diag(terms(model, float(t0), x0[:nq], x0[nq : nq + model.nv], run.data)[0])
        now = np.diag(mass_and_rows(run, model)[0])
    except (HolonomicError, ValueError):
        return None
    gone = (before > 0.0) & ~(np.abs(now) > VANISHED * before)
    if not np.any(gone):
        return None
    which = int(np.argmax(gone))
    name = repr(model.coordinates[which]) if model.nv == model.nc else f"velocity {which}"
    return f"There the mass of {name} vanishes ({now[which]:.1e}, {before[which]:.3g} at the start)."


def way_past(run) -> str:
    """Name the methods that pass singular positions, where they are others than those of this run."""
    if run.memory.crosses or run.plan.model.is_ode:
        return ""
    fixed = "" if run.plan.choice.step is None else " and without step="
    if not run.plan.model.may_pass:
        return f' Use compile="now" with DOP853() and Projection(){fixed}, which passes such positions.'
    return f" Use DOP853() with Projection(){fixed}, which passes such positions."


def mass_and_rows(run, model) -> tuple[np.ndarray, np.ndarray]:
    """M and G at the last state."""
    M, _, G, _ = terms(model, run.t, run.x[: model.nq], run.x[model.nq : model.nq + model.nv], run.data)
    return M, G


def growth_of_multipliers(plan, sol) -> str | None:
    """Say by how much λ has grown at the end of a run, if that points to a singular position."""
    if plan.model.is_ode or not plan.model.n_lam or len(sol.t) < 3:
        return None
    size = np.max(np.abs(sol.lam), axis=1)
    for factor, word in ((1e6, "a millionfold"), (1e4, "ten thousandfold")):
        small = np.flatnonzero(size <= size[-1] / factor)
        # a λ that merely passes through zero does not count, nor one that follows a force without bounds
        if 0.0 < size[-1] and len(small) and np.median(size) <= size[-1] / 1e3:
            grew = growth_of_force(plan, sol, small[-1])
            return None if grew > np.sqrt(factor) else f"λ grew {word} in {len(size) - 1 - small[-1]} steps"
    return None


def growth_of_force(plan, sol, first: int) -> float:
    """Size of the force at the end of a run beside its size at an earlier step; 1 where that is not known."""
    model = plan.model
    t, x, _ = sol.trail.arrays
    try:
        before, after = (
            np.max(np.abs(terms(model, t[i], x[i, : model.nq], x[i, model.nq : model.nq + model.nv], sol.trail.data)[1]))
            for i in (first, -1)
        )
    except (HolonomicError, ValueError):
        return 1.0
    return float(after / before) if before > 0.0 else 1.0


def jumping(run, plan) -> str | None:
    """Say which acceleration jumps where steps have become tiny: a force that switches back and forth."""
    model, h = plan.model, abs(float(run.memory.h_used or run.memory.h))
    if h > TINY * abs(run.memory.t_stop - run.start[0]):
        return None
    first, size = (0, model.nq) if model.is_ode else (model.nq, model.nv)
    slope = run.K[0, : model.nq + model.nv]

    def at(k):
        x = run.x[: model.nq + model.nv] + k * h * slope
        return model.evaluate(Fn.FIELD, run.t + k * h, x, np.zeros(0), run.data[: len(model.data())])[first : first + size]

    try:
        places = [-64.0, -16.0, -4.0, -1.0, 0.0, 1.0, 4.0, 16.0, 64.0]
        seen = np.array([at(k) for k in places])
        wide = np.abs(np.diff(seen, axis=0)) / (np.max(np.abs(seen), axis=0) + 1e-300)
        where, which = np.unravel_index(np.argmax(wide), wide.shape)
        low, high = places[where : where + 2]
        ends = [seen[where, which], seen[where + 1, which]]
        for _ in range(30):  # a jump stays, however close its two sides
            middle = 0.5 * (low + high)
            value = at(middle)[which]
            if abs(value - ends[0]) > abs(ends[1] - value):
                high, ends[1] = middle, value
            else:
                low, ends[0] = middle, value
    except (HolonomicError, ValueError):
        return None
    if not abs(ends[1] - ends[0]) > max(0.1 * np.max(np.abs(seen[:, which])), 1e-3 * np.max(np.abs(seen))):
        return None
    what, name = ("the derivative", f"y[{which}]") if model.is_ode else ("the acceleration", model.coordinates[which])
    return (
        f"There {what} of {name} jumps between {min(ends):.3g} and {max(ends):.3g}: a force that "
        "switches back and forth (chattering, as dry friction does at rest). Smooth the switch, for example by "
        "np.tanh(v / 1e-3), or stop at an event and go on with another system."
    )


def suspects(run, ahead: bool):
    """Points at which the last attempt may have failed: stages, the start, and (if asked) further ahead."""
    t, h = run.memory.t_failed, run.memory.h
    tried = int(run.memory.accepted + run.memory.rejected + run.memory.failed) > 0
    if tried:
        yield t, run.xs
        yield t + h, run.xn
    yield t, run.x
    if ahead and tried:
        slope = run.K[0, : len(run.x)]
        for k in range(PROBES):
            distance = 4.0**k * h
            if abs(distance) <= abs(run.memory.t_stop - t):
                yield t + distance, run.x + distance * slope


def too_long(run, plan) -> bool:
    """Whether it is a step of fixed length that failed, and all is regular where it begins: pivots are not much smaller there."""
    model = plan.model
    if model.is_ode or not (run.memory.fixed and plan.choice.integrator.implicit and np.all(np.isfinite(run.x))):
        return False
    places = [(float(t), np.asarray(x)[: model.nq + model.nv]) for t, x in (run.start, (run.t, run.x))]
    before, here = (model.evaluate(Fn.FIELD, t, x, np.zeros(0), run.data[: len(model.data())]) for t, x in places)
    return bool(np.all(np.isfinite(here)) and here[-1] > NEARLY_SINGULAR * before[-1])


def culprit(run, plan, ahead: bool):
    """Find a function that is not finite where the last attempts failed; return (its name, t, x) or None."""
    model = plan.model
    for t, x in suspects(run, ahead):
        if np.all(np.isfinite(x)):
            name = model.blame(t, x, run.data) or _blamed_event(run, plan, t, x)
            if name is not None:
                return name, t, x
    return None


def _blamed_event(run, plan, t, x) -> str | None:
    if not plan.events:
        return None
    model = plan.model
    field = model.evaluate(Fn.FIELD, t, x, np.zeros(0), run.data, plan.by_rows)
    values = model.evaluate(Fn.EVENTS, t, x, field[model.nq : -1], run.data, plan.with_events)
    bad = np.flatnonzero(np.isnan(values))
    if not len(bad):
        return None
    first = len(plan.events)
    return f"event {list(plan.events)[bad[0]]!r}" if bad[0] < first else f"the comparison {plan.switches[bad[0] - first]}"


def without_multipliers(run, plan) -> float | None:
    """Return a time at which the equations for λ have no unique solution, near where the last attempts failed."""
    model = plan.model
    for t, x in suspects(run, ahead=True):
        state = x[: model.nq + model.nv]
        if np.all(np.isfinite(state)):
            rho = model.evaluate(Fn.FIELD, t, state, np.zeros(0), run.data[: len(model.data())])[-1]
            if not rho > 0.0 and model.blame(t, state, run.data) is None:
                return float(t)
    return None
