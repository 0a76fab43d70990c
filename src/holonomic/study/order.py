"""Observed order: how fast error and drift shrink with the step, measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import Posed, as_code
from ..errors import BadArgument
from ..integrators.runge_kutta import DOP853
from ..kernels.signatures import Fn
from ..simulate import simulate
from ..starting.initial import residuals

EPS = 2.220446049250313e-16
ROUNDOFF = 1e-12  # relative size below which an error says nothing about the method
DRIFT_ROUNDOFF = 1e-13  # the same for distances from the constraints: they do not accumulate
DRIFT_SAMPLES = 200  # rows of a run at which its drift is looked at


@dataclass(frozen=True, eq=False)
class Fit:
    """Sizes of one quantity over the step, and the slope of log size over log step.

    `used` marks the points above roundoff. `order` is infinite when there is none (the quantity is exact).
    With a single one, at the largest step, it is the slope to the next: roundoff can only make that smaller.
    It is NaN when a run blew up, or when the only point is not at the largest step.
    """

    steps: np.ndarray
    sizes: np.ndarray
    used: np.ndarray
    order: float

    @classmethod
    def of(cls, steps, sizes, roundoff: float) -> Fit:
        """Fit a line through the points above `roundoff`."""
        steps, sizes = np.asarray(steps, dtype=float), np.asarray(sizes, dtype=float)
        used = ~(sizes <= roundoff)
        if not np.all(np.isfinite(sizes)):
            order = np.nan
        elif not used.any():
            order = np.inf
        elif used.sum() > 1:
            order = np.polyfit(np.log(steps[used]), np.log(sizes[used]), 1)[0]
        elif used[0]:
            order = np.log(sizes[0] / max(sizes[1], EPS)) / np.log(steps[0] / steps[1])
        else:
            order = np.nan
        return cls(steps, sizes, used, float(order))

    @property
    def steepest(self) -> float:
        """The largest slope over three neighbouring points: those to both sides have other terms, or roundoff, among them.

        Where no three lie side by side above roundoff, `order`.
        """
        good = self.used & np.isfinite(self.sizes)
        slopes = [self._slope(slice(i, i + 3)) for i in range(len(good) - 2) if good[i : i + 3].all()]
        return max(slopes, default=self.order)

    def _slope(self, where) -> float:
        return float(np.polyfit(np.log(self.steps[where]), np.log(self.sizes[where]), 1)[0])

    @property
    def exact(self) -> bool:
        """True where every point is at roundoff."""
        return not self.used.any()


@dataclass(frozen=True, eq=False)
class ObservedOrder:
    """What `observed_order` measured: a `Fit` for each level of the error, and of the drift.

    `error` has "q", "v" and "lam" ("y" for an Ode), `drift` "position" and "velocity" (the largest scaled
    residual of the run). `print` shows the table.
    """

    integrator: Any
    stabilization: Any
    error: dict[str, Fit]
    drift: dict[str, Fit]

    @property
    def order(self) -> float:
        """Order of the worst of the state's levels."""
        return min((fit.order for fit in self._of_state()), key=_nan_first)

    @property
    def steepest(self) -> float:
        """The order that the best three neighbouring steps show, of the worst of the state's levels."""
        return min((fit.steepest for fit in self._of_state()), key=_nan_first)

    def _of_state(self) -> list[Fit]:
        return [self.error[name] for name in ("q", "v", "y") if name in self.error]

    def __repr__(self) -> str:
        fits = {f"error of {name}": fit for name, fit in self.error.items()}
        fits |= {f"drift, {name}": fit for name, fit in self.drift.items()}
        steps = next(iter(fits.values())).steps
        lines = [f"{self.integrator!r} with {self.stabilization!r}"]
        lines.append(f"{'step':>16}" + "".join(f"{step:>11.3g}" for step in steps) + "     order")
        for name, fit in fits.items():
            marks = np.where(fit.used, " ", "*")
            sizes = "".join(f"{size:>10.2e}{mark}" for size, mark in zip(fit.sizes, marks, strict=True))
            order = "exact" if fit.exact else f"{fit.order:.2f}"
            lines.append(f"{name:>16}{sizes}{order:>10}")
        if not all(fit.used.all() for fit in fits.values()):
            lines.append("* at roundoff, not used")
        return "\n".join(lines)


def _nan_first(value: float) -> float:
    return -np.inf if np.isnan(value) else value


def observed_order(
    system,
    integrator,
    stabilization="auto",
    steps: Sequence[float] = (),
    *,
    t_end=None,
    q0=None,
    v0=None,
    y0=None,
    formulation="auto",
    exact: Callable | None = None,
    constraint_tol: float = 1e-14,
    roundoff: float = ROUNDOFF,
    drift_roundoff: float = DRIFT_ROUNDOFF,
) -> ObservedOrder:
    """Run a system with several fixed steps and fit the order of its error and of its drift.

    The size of an error is the largest |x - exact| / max(1, |exact|) over components and over the times that
    all runs have in common, so that an error which passes through zero does not look like order. The size of
    the drift is the largest |g_i| / ‖G_i‖ over max(1, ‖q‖) along the run (velocity level: over
    max(1, ‖v‖)). Points at roundoff are discarded.

    Parameters
    ----------
    system : Problem, System or Ode
        A problem brings its start, its end and, if it has one, its exact solution.
    integrator, stabilization, formulation
        As in `simulate`.
    steps : sequence of float
        Step sizes in seconds, at least two, each the interval over a whole number. The more of their grid
        points coincide, the better: for example the interval over 20, 40 and 80.
    t_end, q0, v0, y0
        As in `simulate`.
    exact : callable, optional
        t -> (q, v), or t -> y for an Ode. Otherwise the problem's own, or else a run with DOP853 and steps
        of at most a quarter of the smallest.
    constraint_tol : float
        As in `simulate`; tight, so that it does not hide the order of a projection.
    roundoff, drift_roundoff : float
        Sizes below which a point is discarded.

    Returns
    -------
    ObservedOrder
    """
    steps = sorted((float(step) for step in steps), reverse=True)
    if len(steps) < 2 or len(set(steps)) < len(steps) or not steps[-1] > 0:
        raise BadArgument(f"steps={steps} must be at least two different positive step sizes.")
    given = {"t_end": t_end, "q0": q0, "v0": v0, "y0": y0}
    given |= {"formulation": formulation, "constraint_tol": constraint_tol}
    given = as_code(system, given)
    methods = {"integrator": integrator, "stabilization": stabilization}
    runs = [simulate(system, **given, **methods, step=step) for step in steps]
    rows = _common_rows(runs)
    if exact is None and isinstance(system, Posed):
        exact = system.exact
    if exact is not None:
        known = _exactly(exact, runs[0], rows[0])
    else:
        known = _reference_run(system, given, steps[-1], runs[0], rows[0])
    errors, drifts = [], []
    for sol, at in zip(runs, rows, strict=True):
        errors.append(
            {
                name: float(np.max(np.abs(getattr(sol, name)[at] - want) / np.maximum(1.0, np.abs(want))))
                for name, want in known.items()
                if want.size
            }
        )
        drifts.append(drift_sizes(sol))
    return ObservedOrder(
        runs[0].plan.choice.integrator,
        runs[0].plan.choice.stabilization,
        {name: Fit.of(steps, [sizes[name] for sizes in errors], roundoff) for name in errors[0]},
        {name: Fit.of(steps, [sizes[name] for sizes in drifts], drift_roundoff) for name in drifts[0]},
    )


def _common_rows(runs) -> list[np.ndarray]:
    """Rows of each run at the times that all of them have, the start left out."""
    first, last = runs[0].t[0], runs[0].t[-1]
    places = [np.round((sol.t - first) / (last - first) * 1e9).astype(np.int64) for sol in runs]
    common = set(places[0]).intersection(*places[1:]) - {0}
    return [np.flatnonzero(np.isin(place, list(common))) for place in places]


def _exactly(exact: Callable, sol, rows) -> dict[str, np.ndarray]:
    values = [exact(t) for t in sol.t[rows]]
    if sol.plan.model.is_ode:
        return {"y": np.array(values)}
    return {"q": np.array([q for q, _ in values]), "v": np.array([v for _, v in values])}


def _reference_run(system, given, smallest: float, sol, rows) -> dict[str, np.ndarray]:
    """A run with DOP853 that steps on the common times."""
    times = np.concatenate([sol.t[:1], sol.t[rows]])
    apart = float(np.min(np.abs(np.diff(times))))
    given = {**given, "formulation": "auto"}  # an ODE is what DOP853 takes
    fine = simulate(system, **given, integrator=DOP853(), step=apart / np.ceil(4 * apart / smallest - 1e-6))
    at = [int(np.argmin(np.abs(fine.t - t))) for t in times[1:]]
    if not np.allclose(fine.t[at], times[1:], rtol=0, atol=1e-9 * abs(times[-1] - times[0])):
        raise BadArgument("the steps have no even grid in common. Choose the interval over whole numbers.")
    names = ("y",) if sol.plan.model.is_ode else ("q", "v", "lam")
    return {name: getattr(fine, name)[at] for name in names}


def drift_sizes(sol, samples: int = DRIFT_SAMPLES) -> dict[str, float]:
    """Return the largest scaled residual of a solution, by level, over at most `samples` of its rows.

    Positions: |g_i| / ‖G_i‖ over max(1, ‖q‖), invariants among them. Velocities: over max(1, ‖v‖).
    """
    model, data = sol.plan.model, sol.trail.data
    position, velocity = model.n_constraints + model.n_invariants, model.n_lam
    largest = {"position": 0.0} if position else {}
    largest |= {"velocity": 0.0} if velocity else {}
    for row in np.unique(np.linspace(0, len(sol.t) - 1, min(samples, len(sol.t))).astype(int)):
        t, q, v = sol.t[row], sol.q[row], sol.v[row]
        g, gv = residuals(model, t, q, v, data)
        x, nothing = np.concatenate([q, v]), np.zeros(0)
        for name, rows, r, factor, size in (
            ("position", position, g, Fn.POS_FACTOR, q),
            ("velocity", velocity, gv, Fn.VEL_FACTOR, v),
        ):
            if rows:
                per_norm = model.evaluate(factor, t, x, nothing, data)[1 : 1 + rows]
                worst = np.max(np.abs(r) * per_norm) / max(1.0, float(np.linalg.norm(size)))
                largest[name] = float(np.fmax(largest[name], worst)) if np.isfinite(worst) else np.nan
    return largest
