"""Observed order: how fast error and drift shrink with the step, measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BadArgument
from ..initial import residuals
from ..integrators.runge_kutta import DOP853
from ..kernels.signatures import Fn
from ..simulate import simulate

ROUNDOFF = 1e-12  # relative size below which an error says nothing about the method
DRIFT_ROUNDOFF = 1e-13  # the same for distances from the constraints: they do not accumulate
DRIFT_SAMPLES = 200  # rows of a run at which its drift is looked at


@dataclass(frozen=True, eq=False)
class Fit:
    """Sizes of one quantity over the step, and the slope of log size over log step.

    `used` marks the points above roundoff. `order` is infinite when none of them is above it (the quantity
    is exact), and NaN when one point is left: a line needs two.
    """

    steps: np.ndarray
    sizes: np.ndarray
    used: np.ndarray
    order: float

    @classmethod
    def of(cls, steps, sizes, roundoff: float) -> Fit:
        """Fit a line through the points above `roundoff`."""
        steps, sizes = np.asarray(steps, dtype=float), np.asarray(sizes, dtype=float)
        used = ~(sizes <= roundoff)  # NaN and infinity stay in: a run that blew up has no order
        if not used.any():
            order = np.inf
        elif used.sum() == 1 or not np.all(np.isfinite(sizes)):
            order = np.nan
        else:
            order = np.polyfit(np.log(steps[used]), np.log(sizes[used]), 1)[0]
        return cls(steps, sizes, used, float(order))

    @property
    def exact(self) -> bool:
        """True where every point is at roundoff."""
        return not self.used.any()


@dataclass(frozen=True, eq=False)
class ObservedOrder:
    """What `observed_order` measured: a `Fit` for each level of the error at the end, and of the drift.

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
        return min((self.error[name].order for name in ("q", "v", "y") if name in self.error), key=_nan_first)

    def __repr__(self) -> str:
        fits = {f"error of {name}": fit for name, fit in self.error.items()}
        fits |= {f"drift, {name}": fit for name, fit in self.drift.items()}
        steps = next(iter(fits.values())).steps
        lines = [f"{self.integrator!r} with {self.stabilization!r}"]
        lines.append(f"{'step':>16}" + "".join(f"{step:>11.3g}" for step in steps) + "     order")
        for name, fit in fits.items():
            cells = (f"{size:.2e}" + (" " if used else "*") for size, used in zip(fit.sizes, fit.used, strict=True))
            order = "exact" if fit.exact else f"{fit.order:.2f}"
            lines.append(f"{name:>16}" + "".join(f"{cell:>11}" for cell in cells) + f"{order:>10}")
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
    reference=None,
    roundoff: float = ROUNDOFF,
    drift_roundoff: float = DRIFT_ROUNDOFF,
) -> ObservedOrder:
    """Run a system with several fixed steps and fit the order of its error and of its drift.

    The size of an error is the largest |x - ref| / max(1, |ref|) at the end, component by component; the size
    of the drift is the largest |g_i| / ‖G_i‖ over max(1, ‖q‖) along the run (velocity level: over
    max(1, ‖v‖)). Points at roundoff are discarded.

    Parameters
    ----------
    system : Problem, System or Ode
        A problem brings its start, end and reference.
    integrator, stabilization, formulation
        As in `simulate`.
    steps : sequence of float
        Step sizes in seconds, at least two. Each should divide the interval: a shorter last step has
        another error.
    t_end, q0, v0, y0
        As in `simulate`.
    reference : Reference, or object with q, v and lam (or y), optional
        The state at the end. Otherwise the problem's own, or else a run with DOP853 at a quarter of the
        smallest step.
    roundoff, drift_roundoff : float
        Sizes below which a point is discarded.

    Returns
    -------
    ObservedOrder
    """
    steps = sorted((float(step) for step in steps), reverse=True)
    if len(steps) < 2 or len(set(steps)) < len(steps) or not steps[-1] > 0:
        raise BadArgument(f"steps={steps} must be at least two different positive step sizes.")
    given = {"t_end": t_end, "q0": q0, "v0": v0, "y0": y0, "formulation": formulation}
    known = _reference(system, given, steps[-1]) if reference is None else reference
    errors: dict[str, list[float]] = {}
    drifts: dict[str, list[float]] = {}
    for step in steps:
        sol = simulate(system, **given, integrator=integrator, stabilization=stabilization, step=step)
        for name, size in _errors(sol, known).items():
            errors.setdefault(name, []).append(size)
        for name, size in drift_sizes(sol).items():
            drifts.setdefault(name, []).append(size)
    return ObservedOrder(
        sol.plan.choice.integrator,
        sol.plan.choice.stabilization,
        {name: Fit.of(steps, sizes, roundoff) for name, sizes in errors.items()},
        {name: Fit.of(steps, sizes, drift_roundoff) for name, sizes in drifts.items()},
    )


def _reference(system, given: dict[str, Any], smallest: float):
    """The problem's reference at the end, or a run that is far more accurate than what is measured."""
    if hasattr(system, "reference"):
        end = given["t_end"]
        try:
            return system.reference(end if end is None or np.ndim(end) == 0 else end[1])
        except BadArgument:
            pass  # no reference at this time
    return simulate(system, **given, integrator=DOP853(), step=smallest / 4).end


def _errors(sol, known) -> dict[str, float]:
    names = ("y",) if sol.plan.model.is_ode else ("q", "v", "lam")
    found = {}
    for name in names:
        want = getattr(known, name, None)
        if want is not None and np.size(want):
            want = np.asarray(want, dtype=float)
            gap = np.abs(getattr(sol, name)[-1] - want) / np.maximum(1.0, np.abs(want))
            found[name] = float(np.max(gap))
    return found


def drift_sizes(sol, samples: int = DRIFT_SAMPLES) -> dict[str, float]:
    """Return the largest scaled residual of a solution, by level, over at most `samples` of its rows.

    Positions: |g_i| / ‖G_i‖ over max(1, ‖q‖), invariants among them. Velocities: over max(1, ‖v‖).
    """
    model, data = sol.plan.model, sol._data
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
