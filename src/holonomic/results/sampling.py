"""States between the recorded ones, and model functions along a run.

Where every step was kept, the dense output of the step that contains a time is used: same order, same stabilization, same
numbers as with `save_at`. The step is taken again or, where its method looks back on earlier steps, read from what it left.
Where only chosen times were kept, the run is made again, once: its steps are the same, and so are the numbers. Where they do not
fit into memory it is made again for the times that are asked for. Where the dense output of a step is in doubt, that step is
taken anew.
"""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np

from ..errors import NOT_FINITE, OK, BadArgument, StepFailed
from ..kernels.memory import RUN
from ..kernels.signatures import Fn, Inside, Kept
from ..loop.lenience import NO_MODE
from ..loop.replay import along, doubts_inside, from_trail, replay
from ..model.given_numbers import floats
from ..native.callbacks import raise_what_was_raised
from ..planning.workspace import Workspace
from ..starting.initial import side_of
from .along_switches import enter_means
from .onto_constraints import OntoConstraints
from .switching import mode_history
from .trail import all_rows, in_all_rows, joined_states, remembered

STEPS_BYTES = 256 << 20  # that all steps of a run may take which kept only some times, where states between them are asked for
ROUNDING = 8 * np.finfo(float).eps  # a time this close to an end of the run is that end


def states_at(sol, wanted) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (t, x, (v', λ)) of a run at times of any order; of two rows at one time the later counts."""
    unique, back = np.unique(check_times(wanted, *sol.span), return_inverse=True)
    forward = time_direction(sol)
    times = unique if forward > 0 else unique[::-1]
    back = back if forward > 0 else len(unique) - 1 - back
    t, x, k = sol.trail.arrays
    xs, ks = np.empty((len(times), x.shape[1])), np.empty((len(times), k.shape[1]))
    rows = np.searchsorted(t * forward, times * forward, side="right") - 1
    known = rows >= 0
    known[known] = t[rows[known]] == times[known]
    xs[known], ks[known] = x[rows[known]], k[rows[known]]
    end = (~known) & (times == sol.trail.final[0])
    xs[end], ks[end] = sol.trail.final[1], sol.trail.final[2]
    rest = np.flatnonzero(~known & ~end)
    if len(rest) and sol.trail.parts:
        xs[rest], ks[rest] = joined_states(sol.trail.parts, times[rest], forward)
        rest = rest[:0]
    if len(rest) and sol.trail.steps_kept:
        rest = rest[~_along_paths(sol, times, rest, xs, ks)]
    if len(rest) and sol.trail.looks_inside:
        ready = right_inside(sol, rows[rest])
        if np.any(ready):
            xs[rest[ready]], ks[rest[ready]] = _inside_steps(sol, times[rest[ready]], rows[rest[ready]])
        rest = rest[~ready]
    if len(rest) and not sol.trail.looks_inside:
        xs[rest], ks[rest] = _of_the_same_run(sol, times[rest])
    elif len(rest):
        xs[rest], ks[rest] = _repeated(sol, times[rest], rows[rest])
    return times[back], xs[back], ks[back]


def check_times(wanted, t0: float, t1: float) -> np.ndarray:
    """Return times as an array; refuse those outside the run, move those off by rounding to its ends."""
    try:
        times = floats(wanted)
    except (TypeError, ValueError):
        raise BadArgument(f"sol(t) needs a time or times in seconds, got {wanted!r}.") from None
    if times.ndim > 1:
        raise BadArgument(f"sol(t) needs one time or a row of times, got an array of shape {times.shape}.")
    times = times.reshape(-1)
    low, high = min(t0, t1), max(t0, t1)
    slack = ROUNDING * max(abs(low), abs(high))
    outside = ~((times >= low - slack) & (times <= high + slack))
    if np.any(outside):
        raise BadArgument(
            f"t = {times[outside][0]:.6g} lies outside the run, which covers {low:.6g} to {high:.6g} s. "
            "Ask for a time in between, or simulate longer."
        )
    return np.clip(times, low, high)


def time_direction(sol) -> float:
    """1 for a run forward in time, -1 for one backward."""
    t0, t1 = sol.span
    return 1.0 if t1 >= t0 else -1.0


def times_between(t: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times between recorded ones, so that there are about `points` in all, and where they belong.

    Every step gets equally many: steps are short where the solution bends.
    """
    widths = np.diff(t)
    steps = np.flatnonzero(widths)
    inside = max(0, points // len(steps) - 1) if len(steps) else 0
    parts = np.arange(1, inside + 1) / (inside + 1)
    return (t[steps, None] + widths[steps, None] * parts).ravel(), np.repeat(steps + 1, inside)


def _pieces(sol, t: np.ndarray):
    """Yield (data, first, last): stretches of rows at times t for which the run had the same data.

    Data change where a table of inputs has a break, where an event maps a state to other invariants, and with the modes of
    switches.
    """
    tables, places = sol.trail.inputs, sol.plan.model.data_places["invariants"]
    data = sol.trail.data.copy()
    forward = time_direction(sol)
    modes = _modes_before(sol, t) if sol.source.trail.modes is not None else None
    piece = np.searchsorted(tables.breaks, t, side="right" if forward > 0 else "left")
    since = _jumps_before(sol, t)
    change = (np.diff(piece) != 0) | (np.diff(since) != 0)
    if modes is not None:
        change |= np.diff(modes) != 0
    cuts = [0, *(np.flatnonzero(change) + 1).tolist(), len(t)]
    for first, last in pairwise(cuts):
        if last > first:
            tables.set(data, float(t[first]), forward)
            if since[first] >= 0:
                data[places] = kept_invariants(sol)[since[first]]
            if modes is not None:
                data[sol.plan.model.data_places["modes"]] = mode_history(sol)[1][modes[first]]
            yield data, first, last


def _jumps_before(sol, t: np.ndarray) -> np.ndarray:
    """How often the state had been mapped at each row; -1 where it does not matter."""
    jumps = jump_times(sol)
    if not (sol.plan.model.n_invariants and len(jumps)):
        return np.full(len(t), -1)
    forward = time_direction(sol)
    since = np.searchsorted(jumps * forward, t * forward, side="right")
    for row in range(len(t) - 2, -1, -1):  # of two rows at one time the first is the state before
        if t[row] == t[row + 1] and t[row] in jumps:
            since[row] = since[row + 1] - 1
    return since


def _modes_before(sol, t: np.ndarray) -> np.ndarray:
    """Which of the modes of the run holds at each row; at a change those after it."""
    forward = time_direction(sol)
    return np.maximum(0, np.searchsorted(mode_history(sol)[0] * forward, t * forward, side="right") - 1)


@remembered("jumps")
def jump_times(sol) -> np.ndarray:
    """Times at which events mapped the state, in the order of the run."""
    if sol.trail.parent is not None:
        return jump_times(sol.trail.parent)
    t = sol.trail.arrays[0]
    if sol.trail.steps_kept:
        return t[1:][np.diff(t) == 0]
    maps = [event.then is not None for event in sol.plan.events.values()]
    return np.array(list(dict.fromkeys(when for which, when, _, _ in sol.trail.events if which < len(maps) and maps[which])))


@remembered("kept invariants")
def kept_invariants(sol) -> np.ndarray:
    """Values at which the invariants were kept since the start and since each jump."""
    if sol.trail.parent is not None:
        return kept_invariants(sol.trail.parent)
    model = sol.plan.model
    t, x, _ = sol.trail.arrays
    # with every step kept the state after a jump is the second row at its time; else the next kept one serves
    rows = np.searchsorted(t * time_direction(sol), jump_times(sol) * time_direction(sol), side="right") - sol.trail.steps_kept
    states = [sol.trail.first, *((t[row], x[row]) for row in np.minimum(rows, len(t) - 1))]
    data = sol.trail.data.copy()
    data[model.data_places["invariants"]] = 0.0
    left = [model.evaluate(Fn.RESIDUAL, when, state, np.zeros(0), data) for when, state in states]
    return np.array(left)[:, model.n_constraints : model.n_constraints + model.n_invariants]


def _along_paths(sol, times, rest, xs, ks) -> np.ndarray:
    """Fill in states inside passages of singular positions, which no step can repeat; tell which they are."""
    done = np.zeros(len(rest), dtype=bool)
    size, nq = sol.plan.model.nq + sol.plan.model.nv, sol.plan.model.nq
    for path in sol.trail.paths:
        theta = (times[rest] - path.t) / path.h
        here = np.flatnonzero((theta > 0.0) & (theta < path.used))
        if not len(here):
            continue
        onto = OntoConstraints(sol.plan, next(_pieces(sol, np.array([path.t])))[0], Workspace(sol.plan).loop.state.W)
        for i in here:
            row = rest[i]
            xs[row, :size] = path.state(theta[i])
            if onto.settle(times[row], xs[row]) == OK:
                ks[row] = onto.row[nq:-1]
            else:  # on the position itself: the path alone knows
                xs[row, :size] = path.state(theta[i])
                ks[row], ks[row, : size - nq] = np.nan, path.slope(theta[i])[nq:]
        done[here] = True
    return done


def right_inside(sol, rows) -> np.ndarray:
    """Tell which of the steps that begin at these rows have dense output that is right to the tolerance."""
    plan = sol.plan
    if plan.integrator.one_step:
        return np.ones(len(rows), dtype=bool)
    steps, back = np.unique(rows, return_inverse=True)
    found = np.empty(len(steps))
    go = doubts_inside.py if plan.model.interpreted else doubts_inside
    go(plan.slots, plan.for_kernels(sol.trail.data), _method(plan), RUN.new(), _loop(sol), _kept(sol), steps, found)
    return (found <= 1.0)[back]


def _method(plan):
    """The method as it looks into a step."""
    return plan.method if plan.integrator.between is None else plan.method_with(plan.integrator.between)


def _loop(sol):
    """Arrays to look into steps with, as tight as the run was at its end."""
    work = Workspace(sol.plan)
    if sol.trail.sizes is not None:
        work.sizes[:] = sol.trail.sizes
    return work.loop


def _kept(sol) -> Kept:
    """What steps left."""
    t, x, _ = sol.trail.arrays
    return Kept(t, x, sol.trail.dense)


def _inside_steps(sol, times, rows):
    """Take the steps that contain these times again, or make their dense output from what they left."""
    plan, size = sol.plan, sol.plan.size
    kept, method = _kept(sol), _method(plan)
    t = kept.t
    lowered, loop, run = plan.integrator, _loop(sol), RUN.new()
    out = Inside(np.empty((len(times), size.nx)), np.empty((len(times), size.nk)))
    kernel = replay if lowered.one_step else from_trail
    go = kernel.py if plan.model.interpreted else kernel
    done = np.zeros(1, dtype=np.int64)
    for data, _, last in _pieces(sol, t[rows]):
        while True:
            status = go(plan.slots, plan.for_kernels(data), method, run, loop, kept, rows, times, last, out, done)
            raise_what_was_raised()
            if not (plan.supplies(status) or (status == NOT_FINITE and _loosened(plan, data))):
                break
        if status != OK:
            raise StepFailed(
                f"the state at t = {times[done[0]]:.6g} could not be brought onto the constraints (status "
                f"{status}). Its neighbours are recorded; a smaller rtol or step brings them closer.",
                sol,
            )
    return out.x, out.K


def _loosened(plan, data) -> bool:
    """Let values decide, as the run did in a step to a switch beyond which its mode has no numbers; tell whether that is new."""
    modes = data[plan.model.data_places["modes"]]  # a view
    strict = np.isinf(modes)
    modes[strict] = np.copysign(NO_MODE, modes[strict])
    return bool(np.any(strict))


def _repeated(sol, times, rows):
    """Take the steps anew that begin at these rows, with the same plan and events."""
    t, x, _ = sol.trail.arrays
    size = sol.plan.model.nq + sol.plan.model.nv
    out_x, out_k = [], []
    for row in np.unique(rows):
        data = next(_pieces(sol, t[row : row + 1]))[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said during the run itself
            found = sol.trail.repeat(sol, data, float(t[row]), x[row, :size], times[rows == row])
        out_x.append(found.trail.arrays[1])
        out_k.append(found.trail.arrays[2])
    return np.concatenate(out_x), np.concatenate(out_k)


def _of_the_same_run(sol, times):
    """States at times of which the run left nothing: it is made again."""
    if not sol.trail.steps_kept and sol.trail.bytes_of_steps <= STEPS_BYTES:
        return states_at(_with_every_step(sol), times)[1:]
    return _made_again(sol, times).trail.arrays[1:]


def states_of_steps(sol) -> tuple[np.ndarray, np.ndarray] | None:
    """Return times and states of every step of a run; None where it left too little to tell them.

    A run that kept some times alone is made again once.
    """
    if sol.trail.parts:
        pieces = [states_of_steps(part) for part in sol.trail.parts]
        if any(piece is None for piece in pieces):
            return None
        size = sol.plan.model.nq + sol.plan.model.nv
        return np.concatenate([t for t, _ in pieces]), np.concatenate([x[:, :size] for _, x in pieces])
    if sol.trail.steps_kept:
        return sol.trail.arrays[:2]
    if sol.trail.again is None or sol.trail.bytes_of_steps > STEPS_BYTES:
        return None
    return _with_every_step(sol).trail.arrays[:2]


@remembered("every step")
def _with_every_step(sol):
    """The same run, every step of it kept."""
    return _made_again(sol, None)


def _made_again(sol, times):
    data = next(_pieces(sol, np.array([sol.trail.first[0]])))[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said during the run itself
        return sol.trail.again(sol, data, times)


def values_along(sol, fn: Fn, b: np.ndarray | None = None, times: np.ndarray | None = None) -> np.ndarray:
    """Return a model function at every row of a solution, (time, number); `times` stand in for its own."""
    t, x, _ = sol.trail.arrays
    model = sol.plan.model
    fns, lengths = model.table((fn,))
    b = np.zeros((len(t), 0)) if b is None else np.ascontiguousarray(b)
    out = np.empty((len(t), lengths[fn]))
    go = along.py if model.interpreted else along
    for data, first, last in _pieces(sol, t):
        go(fns, int(fn), t if times is None else times, x, b, data, first, last, out)
        raise_what_was_raised()
    return out


@remembered("multipliers")
def multipliers(sol) -> np.ndarray:
    """Return λ of all rows (y of a Dae) as the states determine it.

    Where rows are redundant, "drop" is what the solve gives: zeros for as many rows as the rank is short. "minimum-norm" is
    the smallest λ with the same Gᵀλ, which is what the reactions depend on.
    """
    model, kept, k = sol.plan.model, sol.plan.rows, sol.trail.arrays[2]
    if model.is_ode and model.n_constraints:
        own = unknowns(sol).get("lam") if sol.plan.multipliers_of_steps else None
        if own is not None:
            return own
        y = values_along(sol, Fn.MULTIPLIERS)
        if sol.source.trail.modes is not None:
            t, x, _ = sol.trail.arrays
            enter_means(sol.plan, _pieces(sol, t), t, x, y)
        return y
    lam = k[:, model.nv :]
    if kept is None:
        return lam
    full = all_rows(lam, kept, model.n_lam)
    if sol.trail.begin.redundant == "drop":
        return full
    return smallest(jacobians(sol, values_along(sol, Fn.TERMS)), full, len(kept))


@remembered("reactions")
def forces(sol) -> np.ndarray:
    """Return -Gᵀλ, (time, nv)."""
    return values_along(sol, Fn.REACTIONS, multipliers(sol))


@remembered("energies")
def energies(sol) -> np.ndarray:
    """Return kinetic and potential energy, (time, 2)."""
    return values_along(sol, Fn.ENERGY)


@remembered("residuals")
def residuals(sol) -> np.ndarray:
    """Return residuals of positions, then of velocities, (time, row); where a run begins, of the side to which it goes."""
    t, start = sol.trail.arrays[0], sol.source.span[0]
    return values_along(sol, Fn.RESIDUAL, times=np.where(t == start, side_of(start, time_direction(sol.source)), t))


@remembered("settled")
def algebraic_variables(sol) -> np.ndarray:
    """Return the algebraic variables w, (time, variable)."""
    return values_along(sol, Fn.SETTLED) if sol.plan.model.nw else np.zeros((len(sol.trail.arrays[0]), 0))


@remembered("outputs")
def outputs(sol) -> dict[str, np.ndarray]:
    """Outputs of the system by name, (time, ...)."""
    model = sol.plan.model
    shapes = model.output_shapes
    if not shapes:
        return {}
    k = sol.trail.arrays[2]
    known = k if sol.plan.rows is None else np.hstack([k[:, : model.nv], multipliers(sol)])
    flat = values_along(sol, Fn.OUTPUTS, known)
    found, at = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name] = flat[:, at : at + size].reshape(len(flat), *shape)
        at += size
    return found


def rows_for(sol, plan) -> np.ndarray:
    """Return (v', λ) of a run with the multipliers of those rows that another plan solves for, and the same Gᵀλ."""
    model, k = plan.model, sol.trail.arrays[2]
    if k.shape[1] <= model.nv + plan.n_lam:
        return in_all_rows(plan, k) if k.shape[1] < model.nv + plan.n_lam else k
    G = jacobians(sol, values_along(sol, Fn.TERMS))
    own = np.linalg.pinv(np.swapaxes(G[:, list(plan.rows)], 1, 2))
    return np.hstack([k[:, : model.nv], np.einsum("tri,tki,tk->tr", own, G, k[:, model.nv :])])


def smallest(G: np.ndarray, lam: np.ndarray, rank: int) -> np.ndarray:
    """Return the smallest λ with the same Gᵀλ, of rows λ and matrices G of known rank: what is in the range of G."""
    there = np.isfinite(lam).all(axis=1) & np.isfinite(G).all(axis=(1, 2))
    found = np.full(lam.shape, np.nan)
    turned = np.linalg.svd(G[there], full_matrices=False)[0][:, :, :rank]
    found[there] = np.einsum("tkr,tjr,tj->tk", turned, turned, lam[there])
    return found


def unknowns(sol) -> dict[str, np.ndarray]:
    """Return what an implicit formulation solved for beside q and v, by name: "lam", "mu", "tau"."""
    if sol.trail.data is None:
        if sol.trail.unknowns is None:
            raise BadArgument("this file was written before files held sol.unknowns. Run it again and save it with sol.save(path).")
        return sol.trail.unknowns
    blocks, x = sol.plan.blocks[2:], sol.trail.arrays[1]
    ends = np.cumsum([sol.plan.model.nq + sol.plan.model.nv, *(block.size for block in blocks)])
    return {block.name: x[:, ends[i] : ends[i + 1]] for i, block in enumerate(blocks)}


def jacobians(sol, flat: np.ndarray) -> np.ndarray:
    """Return G of all rows at every time, out of the terms (q', M, f, G, γ)."""
    model = sol.plan.model
    at = model.nq + model.nv**2 + model.nv
    return flat[:, at : at + model.n_lam * model.nv].reshape(-1, model.n_lam, model.nv)
