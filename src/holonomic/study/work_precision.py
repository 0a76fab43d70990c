"""work_precision(): error against time and evaluations, over a range of tolerances or steps."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..arguments import refuse_unknown
from ..integrators.base import Integrator
from ..model.given_numbers import axes, positive
from ..simulate import simulate
from .compare import Comparison, Row, as_list, measured, name_of, refuse_for_all
from .reference import truth_of
from .table import Table

TOLERANCES = tuple(10.0**-k for k in range(3, 11))


class WorkPrecision(Comparison):
    """What `work_precision` found: a comparison whose rows make up one curve per method."""

    def curves(self) -> dict[str, list[Row]]:
        """Return the rows of each method, from the coarsest to the finest, by the method's name."""
        found: dict[str, list[Row]] = {}
        for row in self:
            found.setdefault(self.label(row), []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: -(row.step or row.rtol or 0.0))
        return found

    def label(self, row: Row) -> str:
        """Return the method's name: integrator and stabilization, and the formulation where it varies."""
        names = [name for name in ("formulation", "integrator", "stabilization") if name in self._varying()]
        return " + ".join(getattr(row, name) for name in names or ["integrator", "stabilization"])

    def cost_at(self, error: float) -> Table:
        """Return what each method needs for a given error in q: interpolated between its runs, log over log.

        A method that does not get there, or gets there with every run, has no entry.
        """
        error = positive(error, "error", infinite="it is an error that runs have.")
        rows = []
        for name, runs in self.curves().items():
            runs = [row for row in runs if row.ok and np.isfinite(row.error_q) and row.error_q > 0]
            cells: list[Any] = [name]
            for cost in ("seconds", "evaluations"):
                known = [row for row in runs if getattr(row, cost) is not None]
                cells.append(crossing([row.error_q for row in known], [getattr(row, cost) for row in known], error))
            rows.append(tuple(cells))
        title = f"{self.name}: cost of an error of {error:g}"
        return Table(title, ("method", "time [s]", "evaluations"), tuple(rows))

    def plot(self, error: str = "error_q", costs: str | Sequence[str] = ("seconds", "evaluations"),
             style: str = "light", ax=None):  # fmt: skip
        """Draw error over cost, one line per method; return the Matplotlib figure.

        Parameters
        ----------
        error : {"error_q", "error_v", "energy_error", "drift_position", "drift_velocity"}
            What is on the vertical axis.
        costs : sequence of {"seconds", "evaluations", "steps"}
            What is on the horizontal axes, a panel for each.
        style : {"light", "dark"}
            Colours.
        ax : Axes or sequence of Axes, optional
            Where to draw, one for each cost; a new figure if not given.
        """
        from ..view.study_plots import work_precision_figure

        return work_precision_figure(self, error, costs, style, ax)


def crossing(errors, costs, wanted: float) -> float:
    """Return the cost at which log-log interpolation of a curve first reaches an error; NaN if it does not."""
    for i in range(len(errors) - 1):
        if errors[i] >= wanted > errors[i + 1]:
            part = np.log(errors[i] / wanted) / np.log(errors[i] / errors[i + 1])
            return float(np.exp(np.log(costs[i]) + part * np.log(costs[i + 1] / costs[i])))
    return np.nan


def work_precision(
    system,
    t_end=None,
    *positional,
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    rtol=TOLERANCES,
    step=(),
    atol=None,
    repeat: int = 5,
    **given,
) -> WorkPrecision:
    """Measure error against cost for several methods.

    Integrators with error control run at every `rtol`, the others with every `step`; the rest is as in
    `compare`. Time is the shortest of `repeat` runs without compiling.

    Parameters
    ----------
    system, t_end, integrator, stabilization, formulation, atol, repeat
        As in `compare`.
    rtol : sequence of float
        Tolerances for integrators with error control, 1e-3 to 1e-10.
    step : sequence of float
        Steps for integrators without, seconds.
    *positional, **given
        Nothing without a name. What else simulate takes: q0, v0, y0, ...

    Returns
    -------
    WorkPrecision
        With `.plot()`, `.cost_at(error)` and all that a `Comparison` has.

    Raises
    ------
    HolonomicError
        Arguments that no run can be made of.

    Examples
    --------
    >>> from holonomic import DOP853, RK45, work_precision
    >>> from holonomic.problems import pendulum
    >>> found = work_precision(pendulum(), 2.0, integrator=[RK45(), DOP853()], rtol=[1e-5, 1e-8], repeat=1)
    >>> [bool(row.error_q < 100 * row.rtol) for row in found]
    [True, True, True, True]
    """
    refuse_unknown(work_precision, positional, given, system, passed_on=simulate)
    choices = [as_list(choice) for choice in (formulation, integrator, stabilization)]
    steps, tolerances = ([] if axes(sizes) == 1 and not len(sizes) else as_list(sizes) for sizes in (step, rtol))
    here = refuse_for_all("work_precision", system, t_end, given, choices, steps, tolerances, atol, repeat)
    start = {"t_end": t_end, **given}
    truth = truth_of(system, here.system, start)
    rows = []
    for methods in itertools.product(*choices):
        sizes = _sizes(methods[1], tolerances, steps)
        rows += [measured(system, truth, start, *methods, size, atol, repeat) for size in sizes or [{}]]
    return WorkPrecision(name_of(system), rows, truth)


def _sizes(integrator, tolerances, steps) -> list[dict[str, float]]:
    fixed = isinstance(integrator, Integrator | type) and not integrator.adaptive
    if fixed and steps:
        return [{"step": float(h)} for h in steps]
    return [{"rtol": float(tol)} for tol in tolerances]
