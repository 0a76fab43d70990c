"""compare(): the same problem by several methods, side by side."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import (
    Asked,
    GivenStart,
    Opened,
    Posed,
    absolute_tolerance,
    as_code,
    check_step,
    constraint_tolerance,
    opened,
    refuse_unknown,
    relative_tolerance,
)
from ..errors import BadArgument, Cancelled, HolonomicError, MissingExtra
from ..model.given_numbers import is_whole, positive
from ..planning.choice import check_method
from ..planning.reuse import model_of
from ..simulate import simulate
from ..starting.initial import check_initial
from .reference import Truth, energy_of, largest_drift, truth_of
from .table import Table, short_name, write_csv

REPEAT_BELOW = 2.0  # seconds; longer runs are timed once
MOST_REPEATS = 10_000  # of runs shorter than two seconds: hours
CHOICES = ("formulation", "integrator", "stabilization")
NUMBERS = {
    "error_q": "error q", "error_v": "error v", "drift_position": "drift position",
    "drift_velocity": "drift velocity", "energy_error": "energy error", "steps": "steps",
    "rejected": "rejected", "evaluations": "evaluations", "seconds": "time [s]",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Row:
    """One run: what was asked for, what came out, and why it did not work where it did not.

    Errors are the largest |x - reference| / max(1, |reference|) at the end; drift is the largest |g| and
    |G v + g_t| along the run; the energy error is the difference from the energy of the reference state, over
    the energy that moves (the largest kinetic one, or the largest change of the potential one). `evaluations`
    counts those of the field (None for implicit integrators, whose Newton iterations are not counted), `seconds`
    is the shortest of the timed runs, compiling left out. `reason` is empty when the run reached its end; for a
    run that stopped, drift and counters are those up to there.
    """

    formulation: str
    integrator: str
    stabilization: str
    step: float | None
    rtol: float | None
    error_q: float = np.nan
    error_v: float = np.nan
    drift_position: float = np.nan
    drift_velocity: float = np.nan
    energy_error: float = np.nan
    steps: int | None = None
    rejected: int | None = None
    evaluations: int | None = None
    seconds: float = np.nan
    reason: str = ""
    solution: Any = None

    @property
    def ok(self) -> bool:
        """True when the run reached its end."""
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the solution, by column name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "solution"}


class Comparison(Sequence[Row]):
    """What `compare` found: a table of runs. Rows are read by number and keep their solutions.

    `reference` says what the errors are measured against, and whether it is stored, exact or computed here.
    """

    def __init__(self, name: str, rows: Sequence[Row], reference: Truth):
        self.name, self.rows, self.reference = name, list(rows), reference

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def _varying(self) -> list[str]:
        # a row that never ran does not know what "auto" stands for
        return [name for name in CHOICES if len({getattr(row, name) for row in self} - {"auto"}) > 1]

    def label(self, row: Row) -> str:
        """Return what tells this row's methods from those of the other rows."""
        names = self._varying() or ["stabilization"]
        return " + ".join(getattr(row, name) for name in names)

    def table(self) -> Table:
        """Return the rows as a table, without columns that say nothing."""
        columns: dict[str, list] = {name: [getattr(row, name) for row in self] for name in CHOICES}
        if "formulation" not in self._varying():
            del columns["formulation"]
        for name in ("step", "rtol"):
            if any(getattr(row, name) is not None for row in self):
                columns[name] = [getattr(row, name) for row in self]
        for name, title in NUMBERS.items():
            values = [getattr(row, name) for row in self]
            if any(value is not None and not (isinstance(value, float) and np.isnan(value)) for value in values):
                columns[self._title(name, title)] = values
        marks = {reason: n for n, reason in enumerate(dict.fromkeys(row.reason for row in self if row.reason), 1)}
        if marks:
            columns["stopped"] = [f"[{marks[row.reason]}]" if row.reason else "" for row in self]
        footer = [f"reference: {self.reference.text}."] + [f"[{n}] {reason}" for reason, n in marks.items()]
        return Table(self.name, tuple(columns), tuple(zip(*columns.values(), strict=True)), tuple(footer))

    def _title(self, name: str, title: str) -> str:
        """An Ode has y instead of q and v, and one level of drift."""
        if any(row.solution is not None and not row.solution.plan.model.is_ode for row in self):
            return title
        return {"error_q": "error y", "drift_position": "drift"}.get(name, title)

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_html_(self) -> str:
        return self.table().html()

    def to_latex(self) -> str:
        """Return the table as LaTeX; it needs the package booktabs."""
        return self.table().latex()

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        return self.table().markdown()

    def to_dataframe(self):
        """Return the rows as a pandas DataFrame, the reasons among its columns."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra("to_dataframe() needs pandas: pip install 'holonomic[xarray]'.") from None
        return pandas.DataFrame([row.to_dict() for row in self])

    def to_csv(self, path) -> None:
        """Write the rows to a file, comma-separated, a column for each number and one for the reasons."""
        write_csv(path, [row.to_dict() for row in self])

    def plot(self, levels: str | Sequence[str] | None = None, *, style: str = "light", ax=None):
        """Draw the drift over time on a logarithmic axis, a line per run; return the Matplotlib figure.

        Parameters
        ----------
        levels : str or sequence of str, optional
            "position", "velocity", or both; all there are if not given.
        style : {"light", "dark"}
            Colours.
        ax : Axes or sequence of Axes, optional
            Where to draw, one for each level; a new figure if not given.
        """
        from ..view.study_plots import drift_figure

        return drift_figure(self, levels, style, ax)

    def view(self, **options):
        """Show all runs moving, one over the other, on a page; options are those of `Solution.view`."""
        from ..view import view

        rows = [row for row in self if row.solution is not None and len(row.solution.t) > 1]
        if not rows:
            raise BadArgument("there is nothing to view: none of the runs took a step. See the reasons in the table.")
        sizes = {(row.step, row.rtol) for row in rows}
        names = [self.label(row) + _size(row) * (len(sizes) > 1) for row in rows]
        return view([row.solution for row in rows], **{"names": names, "title": self.name} | options)


def _size(row: Row) -> str:
    return f", h = {row.step:g}" if row.step is not None else f", rtol = {row.rtol or 1e-6:g}"


def compare(
    system,
    t_end=None,
    *positional,
    integrator="auto",
    stabilization="auto",
    formulation="auto",
    step=None,
    rtol=None,
    atol=None,
    repeat: int = 3,
    **given,
) -> Comparison:
    """Run one problem with every combination of the given methods and put the results side by side.

    Each choice may be one or a list; all their combinations are run. A combination that does not apply, or a
    run that stops, becomes a row with the reason.

    Errors are measured at the end, against the exact state or the one stored with the problem. Without one, a
    reference is computed by DOP853 with projection at rtol 1e-12 and checked by RK45 with S_both2; the result
    says so and tells how far the two agree.

    Parameters
    ----------
    system : System, Ode or Problem
        What to simulate.
    t_end : float or (float, float), optional
        As in `simulate`; a problem has its own.
    integrator, stabilization, formulation : object or list of them
        As in `simulate`: "auto" means we choose, None without.
    step : float or list of float, optional
        Fixed steps, seconds.
    rtol : float or list of float, optional
        Tolerances for runs with error control. With `step`, too, both kinds of runs are made.
    atol : float, optional
        Absolute tolerance, as in `simulate`: each row is the run that it makes.
    repeat : int
        How often a run shorter than two seconds is timed; the shortest counts. Compiling is never timed.
    *positional, **given
        Nothing without a name. What else simulate takes: q0, v0, y0, events, ...

    Returns
    -------
    Comparison
        With `.plot()`, `.to_dataframe()`, `.to_latex()`.

    Raises
    ------
    HolonomicError
        Arguments that no run can be made of.

    Examples
    --------
    >>> from holonomic import RK4, Projection, S_both2, compare
    >>> from holonomic.problems import two_link_arm
    >>> found = compare(
    ...     two_link_arm(t_end=1.0), integrator=RK4(), step=1e-2, stabilization=[None, S_both2(), Projection()], repeat=1
    ... )
    >>> [f"{row.drift_position:.0e}" if row.drift_position > 1e-14 else "rounding" for row in found]
    ['6e-08', 'rounding', 'rounding']
    """
    refuse_unknown(compare, positional, given, system, passed_on=simulate)
    choices = [as_list(choice) for choice in (formulation, integrator, stabilization)]
    steps, tolerances = ([] if sizes is None else as_list(sizes) for sizes in (step, rtol))
    here = refuse_for_all("compare", system, t_end, given, choices, steps, tolerances, atol, repeat)
    start = {"t_end": t_end, **given}
    truth = truth_of(system, here.system, start)
    sizes = [{"step": h} for h in steps] + [{"rtol": tol} for tol in tolerances]
    with quietly():
        rows = [
            measured(system, truth, start, *methods, size, atol, repeat)
            for *methods, size in itertools.product(*choices, sizes or [{}])
        ]
    return Comparison(name_of(system), rows, truth)


def refuse_for_all(call: str, system, t_end, given: dict[str, Any], choices, steps, tolerances, atol, repeat) -> Opened:
    """Refuse, in the words of `simulate`, what no run of a comparison can mean; what a method refuses becomes a row.

    Returns what is compared, and its start.
    """
    if not is_whole(repeat, 1) or repeat > MOST_REPEATS:
        raise BadArgument(f"repeat={repeat!r} must be a whole number, from 1 to {MOST_REPEATS}.")
    for role, methods in zip(CHOICES, choices, strict=True):
        for method in methods:
            check_method(method, role)
    for h in steps:
        check_step(h)
    for tol in tolerances:
        relative_tolerance(positive(tol, "rtol"))
    start, asked = (kind(**{name: given[name] for name in kind._fields if name in given}) for kind in (GivenStart, Asked))
    if asked.checkpoint is not None or asked.every is not None or asked.resume:
        raise BadArgument(f"{call} makes several runs, and a checkpoint is of one: leave checkpoint=, every= and resume= out.")
    here = opened(call, system, t_end, start)
    model = model_of(here.system, here.q, here.v, here.t0, here.extras)
    absolute_tolerance(model, atol)
    constraint_tolerance(asked.constraint_tol, 1e-6)
    check_initial(model, start.initial, start.hold, start.redundant)
    asked.watched(here.system)
    asked.times(here.t0, here.t1)
    asked.limits()
    return here


def measured(what, truth: Truth, start, formulation, integrator, stabilization, size, atol, repeat, clock=time.perf_counter) -> Row:
    """Run one combination and measure it; a run that does not work gives a row with the reason.

    `clock` returns seconds: of the wall, or of this thread's processor time where several threads measure.
    """
    named = {
        "formulation": short_name(formulation), "integrator": short_name(integrator),
        "stabilization": short_name(stabilization), "step": _float(size.get("step")), "rtol": _float(size.get("rtol")),
    }  # fmt: skip
    options = {**start, **size, "formulation": formulation, "integrator": integrator}
    options |= {"stabilization": stabilization, "progress": False}
    if atol is not None and "step" not in size:
        options["atol"] = atol
    try:
        sol, seconds = timed(what, options, repeat, clock)
    except Cancelled:
        raise
    except HolonomicError as problem:
        sol, seconds = problem.solution, np.nan
        reason = f"{type(problem).__name__}: {problem}"
        if sol is None or not len(sol.t):
            return Row(**named, reason=reason)
        return Row(**named | _chosen(sol), **_numbers(sol, None), reason=reason, solution=sol)
    named |= _chosen(sol)
    return Row(**named, **_numbers(sol, truth), seconds=seconds, solution=sol)


def _chosen(sol) -> dict[str, str]:
    """What ran, by name, where the choice was left to us."""
    return {kind: short_name(getattr(sol.plan.choice, kind)) for kind in CHOICES}


@contextmanager
def quietly() -> Iterator[None]:
    """Without warnings of stiffness and redundancy, which are the same for all rows of a kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def timed(what, options: dict[str, Any], repeat: int, clock):
    """Return the solution and the shortest time of its runs, after one step that compiles what is missing."""
    options = as_code(what, options)
    try:
        simulate(what, **{**options, "max_steps": 1})
    except HolonomicError as problem:
        if problem.solution is None:
            raise
    best, sol = np.inf, None
    for _ in range(max(1, repeat)):
        began = clock()
        sol = simulate(what, **options)
        best = min(best, clock() - began)
        if best > REPEAT_BELOW:
            break
    return sol, best


def _numbers(sol, truth: Truth | None) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        drift = largest_drift(sol)
    found: dict[str, Any] = {f"drift_{level}": size for level, size in drift.items()}
    found["steps"], found["rejected"] = sol.stats["steps"], sol.stats["rejected"] + sol.stats["failed attempts"]
    if not sol.plan.choice.integrator.implicit:
        found["evaluations"] = sol.stats["field evaluations"]
    if truth is not None:
        found["error_q"], found["error_v"] = truth.errors(sol)
        found["energy_error"] = _energy_error(sol, truth)
    return found


def _energy_error(sol, truth: Truth) -> float:
    model = sol.plan.model
    if model.is_ode or not model.has_potential or truth.q is None or truth.v is None or truth.components is not None:
        return np.nan
    energy = sol.energy
    moving = max(np.max(energy.kinetic), np.max(np.abs(energy.potential - energy.potential[0])))
    return abs(float(energy.total[-1]) - energy_of(sol, truth.t, truth.q, truth.v)) / (float(moving) or 1.0)


def as_list(choice) -> list:
    """Return a choice as a list of choices."""
    if isinstance(choice, str) or choice is None or isinstance(choice, type):
        return [choice]
    if isinstance(choice, list | tuple | np.ndarray | range):
        if not len(choice):
            raise BadArgument("a list of methods or steps must not be empty.")
        return list(choice)
    return [choice]


def _float(value) -> float | None:
    return None if value is None else float(value)


def name_of(system) -> str:
    """Return a title for tables and pictures."""
    return system.title if isinstance(system, Posed) else type(system).__name__
