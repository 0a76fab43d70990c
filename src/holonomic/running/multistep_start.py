"""Starting points of a multistep method with a fixed step, by DOP853 at tight tolerance."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import BadArgument
from ..integrators.fixed_steps import HISTORY
from ..integrators.runge_kutta import DOP853
from ..planning.choice import make_choice
from ..planning.reuse import plan_of
from ..results.sampling import multipliers, rows_for
from .run import Run

TIGHT = 1e-13


def start_multistep(run: Run, begin, t1: float, free: bool) -> None:
    """Write the first points of a run, put them into its history and go on behind them.

    Parameters
    ----------
    run : Run
        Begun, at its first point.
    begin : Start
        Where it starts.
    t1 : float
        Where it ends.
    free : bool
        Whether the start may miss the constraints; the points then are not projected.
    """
    plan, count = run.plan, run.plan.integrator.starting_points
    name, h, t0 = repr(plan.choice.integrator), run.memory.h_fixed, run.t
    steps = (t1 - t0) / h
    if abs(steps - round(steps)) > 1e-6 * max(1.0, abs(steps)) or round(steps) < count:
        nearest = max(round(steps), count)
        raise BadArgument(
            f"{name} keeps its steps even, but the interval is {steps:.6g} of them. Use step={abs(t1 - t0) / nearest:.9g}."
        )
    if run.inputs.next_break(t0, t1) != t1:
        raise BadArgument(f"{name} keeps its steps even and cannot end them where a table of inputs bends. Use BDF().")
    grid = t0 + h * np.arange(1, count + 1)
    wanted = run.save_t[(run.save_t - t0) * np.sign(h) > 0]
    wanted = wanted[(wanted - grid[-1]) * np.sign(h) <= 0]
    times = np.unique(np.concatenate([grid, wanted]))
    t, rows, k = _points(run, begin, times if h > 0 else times[::-1], free)
    for row in range(len(t)):
        if t[row] in wanted or (run.memory.keep_steps and t[row] in grid):
            run.record.write(t[row], rows[row], k[row], run.work.columns)
    run.memory.saved += len(wanted)
    at = {time: row for row, time in enumerate(t)}
    past = [run.x.copy(), *(rows[at[time]] for time in grid)]
    run.x[:] = past[-1]
    for j in range(2, count + 2):
        run.K[HISTORY + j - 2, : len(run.x)] = past[count + 1 - j]
    run.K[HISTORY + count, 0] = h
    run.go_to(grid[-1])


def _points(run: Run, begin, times: np.ndarray, free: bool):
    """Times, unknowns and (v', λ) at these times; what vanishes for exact solutions is zero."""
    from .walk import walk

    model, size = run.plan.model, run.plan.model.nq + run.plan.model.nv
    stabilization = None if free else "auto"
    choice = make_choice(model, "auto", DOP853(), stabilization, None, TIGHT, None, 1e-14)
    plan = plan_of(model, choice, {}, run.plan.rows)
    data = run.data[: len(model.data())].copy()
    other = Run(
        plan, data, run.t, run.x[:size].copy(), float(times[-1]), save_t=times, max_steps=1_000_000, max_step=np.inf,
        first=None, inputs=run.inputs,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few steps of a stiff system are no trouble
        sol = walk(other, plan, begin, run.t, float(times[-1]), None, False)
    (t, x, _), k = sol.trail.arrays, rows_for(sol, run.plan)
    rows = np.zeros((len(t), len(run.x)))
    rows[:, :size] = x[:, :size]
    at = size
    for block in run.plan.blocks[2:]:
        if block.name == "lam":
            lam = multipliers(sol) if model.is_ode else k[:, model.nv :]
            rows[:, at : at + block.size] = lam
        at += block.size
    return t, rows, k
