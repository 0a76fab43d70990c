"""What studies of work and precision give: curves of error over cost, of one problem or of many, from one start or several."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import BadArgument
from ..model.given_numbers import positive
from .compare import Comparison, Row
from .reference import Truth
from .table import Table, write_csv

COSTS = ("seconds", "evaluations")
INNER = (0.1, 0.9)  # shares of the starts between which a band lies


@dataclass(frozen=True, eq=False)
class Measured(Row):
    """One run of a study: a `Row`, with the problem's name and the number of the start, 0 being the given one."""

    problem: str = ""
    start: int = 0


class Interval(NamedTuple):
    """A number over several starts: the median, and between which values 80 % of the starts lie."""

    middle: float
    low: float
    high: float


def over_starts(values) -> Interval:
    """Return the interval of numbers that are all positive or not known; those are left out."""
    known = [value for value in values if value is not None and np.isfinite(value)]
    if not known:
        return Interval(np.nan, np.nan, np.nan)
    return Interval(*(float(np.quantile(known, share)) for share in (0.5, *INNER)))


class WorkPrecision(Comparison):
    """What `work_precision` found for one problem: a comparison whose rows make up one curve per method.

    With several starts there is a row for each of them; `references` has what each start is measured against.
    """

    def __init__(self, name: str, rows: Sequence[Row], references: Sequence[Truth]):
        super().__init__(name, rows, references[0])
        self.references = tuple(references)

    @property
    def starts(self) -> int:
        """How many starts there are."""
        return len(self.references)

    def curves(self, start: int = 0) -> dict[str, list[Row]]:
        """Return the rows of each method from one start, from the coarsest to the finest, by the method's name."""
        found: dict[str, list[Row]] = {}
        for row in self:
            if _start(row) == start:
                found.setdefault(self.label(row), []).append(row)
        for rows in found.values():
            rows.sort(key=lambda row: -(row.step or row.rtol or 0.0))
        return found

    def by_size(self) -> dict[str, list[list[Row]]]:
        """Return the rows of each method, those of one tolerance or step together, from the coarsest to the finest."""
        found: dict[str, dict[float, list[Row]]] = {}
        for row in self:
            found.setdefault(self.label(row), {}).setdefault(row.step or row.rtol or 0.0, []).append(row)
        return {method: [rows[size] for size in sorted(rows, reverse=True)] for method, rows in found.items()}

    def bands(self, name: str) -> dict[str, list[Interval]]:
        """Return a column of each method over all starts, from the coarsest to the finest.

        Where fewer than half of the starts came to their end, nothing is known.
        """
        return {method: [self._band(rows, name) for rows in sizes] for method, sizes in self.by_size().items()}

    def _band(self, rows: list[Row], name: str) -> Interval:
        ended = [getattr(row, name) for row in rows if row.ok]
        return over_starts(ended if 2 * len(ended) >= self.starts else ())

    def label(self, row: Row) -> str:
        """Return the method's name: integrator and stabilization, and the formulation where it varies."""
        names = [name for name in ("formulation", "integrator", "stabilization") if name in self._varying()]
        return " + ".join(getattr(row, name) for name in names or ["integrator", "stabilization"])

    def costs_at(self, error: float, cost: str = "seconds") -> dict[str, Interval]:
        """Return what each method needs for an error in q: interpolated between its runs, log over log.

        A method that does not get there with half of the starts, or gets there with every run, has NaN.
        """
        error = positive(error, "error", infinite="it is an error that runs have.")
        found: dict[str, list[float]] = {}
        for start in range(self.starts):
            for method, runs in self.curves(start).items():
                ended = [row for row in runs if row.ok and np.isfinite(row.error_q) and row.error_q > 0]
                known = [row for row in ended if getattr(row, cost) is not None]
                there = crossing([row.error_q for row in known], [getattr(row, cost) for row in known], error)
                found.setdefault(method, []).append(there)
        return {method: over_starts(costs if 2 * np.isfinite(costs).sum() >= len(costs) else ()) for method, costs in found.items()}

    def cost_at(self, error: float) -> Table:
        """Return what each method needs for a given error in q, as a table; see `costs_at`.

        With several starts, the median, and between which times 80 % of them lie.
        """
        seconds, evaluations = (self.costs_at(error, cost) for cost in COSTS)
        title, several = f"{self.name}: cost of an error of {error:g}", self.starts > 1
        columns = ("method", "time [s]", *(("from", "to") if several else ()), "evaluations")
        rows = tuple(
            (method, found.middle, *(found[1:] if several else ()), evaluations[method].middle) for method, found in seconds.items()
        )
        return Table(title, columns, rows, (_over(self.starts),) if several else ())

    def table(self) -> Table:
        """Return the rows as a table; with several starts, medians over them."""
        if self.starts == 1:
            return super().table()
        columns = ("error_q", "error_v", "drift_position", "drift_velocity", "steps", "evaluations", "seconds")
        rows = []
        for method, sizes in self.by_size().items():
            for of_all in sizes:
                bands = [self._band(of_all, name) for name in columns]
                cells = (*bands[0], *(band.middle for band in bands[1:]))
                rows.append((method, of_all[0].step, of_all[0].rtol, *cells, sum(not row.ok for row in of_all) or None))
        titles = (
            "method", "step", "rtol", "error q", "from", "to", "error v", "drift position", "drift velocity", "steps",
            "evaluations", "time [s]", "stopped",
        )  # fmt: skip
        kept = [k for k in range(len(titles)) if any(_said(row[k]) for row in rows)]
        cells = tuple(tuple(row[k] for k in kept) for row in rows)
        return Table(self.name, tuple(titles[k] for k in kept), cells, (_over(self.starts), f"reference: {self.reference.text}."))

    def plot(self, error: str = "error_q", costs: str | Sequence[str] = COSTS, style: str = "light", ax=None):
        """Draw error over cost, one line per method; return the Matplotlib figure.

        With several starts a line is the median, and around it lies what 80 % of the starts have.

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


class WorkPrecisions(Mapping[str, WorkPrecision]):
    """What `work_precision` found for several problems: each of them by its name, and all of them side by side."""

    def __init__(self, studies: Mapping[str, WorkPrecision]):
        self.studies = dict(studies)

    def __getitem__(self, name: str) -> WorkPrecision:
        if name not in self.studies:
            raise KeyError(f"{name!r} is not in this study; there is: {', '.join(self.studies)}.")
        return self.studies[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.studies)

    def __len__(self) -> int:
        return len(self.studies)

    @property
    def rows(self) -> list[Row]:
        """All runs, problem by problem."""
        return [row for study in self.studies.values() for row in study]

    def cost_at(self, error: float, cost: str = "seconds") -> Table:
        """Return what each method needs for a given error in q: a column per problem, and how far it is from the best.

        "times the best" is the geometric mean, over the problems on which a method reaches the error, of its cost over that of
        the method that is best there; "reached" says on how many of the problems.
        """
        if cost not in ("seconds", "evaluations", "steps"):
            raise BadArgument(f"cost={cost!r}: choose 'seconds', 'evaluations' or 'steps'.")
        found = {name: study.costs_at(error, cost) for name, study in self.studies.items()}
        methods = list(dict.fromkeys(method for costs in found.values() for method in costs))
        best = {name: min((each.middle for each in costs.values() if np.isfinite(each.middle)), default=np.nan)
                for name, costs in found.items()}  # fmt: skip
        rows = []
        for method in methods:
            costs = {name: each[method].middle for name, each in found.items() if method in each}
            ratios = [costs[name] / best[name] for name in costs if np.isfinite(costs[name])]
            mean = math.exp(np.mean(np.log(ratios))) if ratios else np.nan
            rows.append((method, *(costs.get(name, np.nan) for name in found), mean, f"{len(ratios)} of {len(found)}"))
        said = {"seconds": "time [s]"}.get(cost, cost)
        starts = max(study.starts for study in self.studies.values())
        footer = (f"{said}; where there is no number, the error is not reached, or every run is better.",)
        return Table(
            f"cost of an error of {error:g}", ("method", *found, "times the best", "reached"), tuple(rows),
            footer + ((_over(starts),) if starts > 1 else ()),
        )  # fmt: skip

    def __repr__(self) -> str:
        return "\n\n".join(self.cost_at(error).text() for error in (1e-3, 1e-6, 1e-9))

    def _repr_html_(self) -> str:
        return "".join(self.cost_at(error).html() for error in (1e-3, 1e-6, 1e-9))

    def to_dataframe(self):
        """Return all runs as a pandas DataFrame."""
        first = next(iter(self.studies.values()))
        return Comparison("", self.rows, first.reference).to_dataframe()

    def to_csv(self, path) -> None:
        """Write all runs to a file, comma-separated."""
        write_csv(path, [row.to_dict() for row in self.rows])

    def plot(self, error: str = "error_q", cost: str = "seconds", columns: int | None = None, style: str = "light"):
        """Draw error over cost, a panel per problem, the same line for a method in all of them; return the Matplotlib figure.

        Parameters
        ----------
        error, style
            As for one problem.
        cost : {"seconds", "evaluations", "steps"}
            What is on the horizontal axes.
        columns : int, optional
            Panels side by side; as many as make a square, and at most three, if not given.
        """
        from ..view.study_plots import work_precisions_figure

        return work_precisions_figure(self, error, cost, columns, style)


def _start(row: Row) -> int:
    return row.start if isinstance(row, Measured) else 0


def _over(starts: int) -> str:
    return f"medians over {starts} starts; from, to: 80 % of them lie there."


def _said(value) -> bool:
    return value is not None and not (isinstance(value, float) and np.isnan(value))


def crossing(errors, costs, wanted: float) -> float:
    """Return the cost at which log-log interpolation of a curve first reaches an error; NaN if it does not."""
    for i in range(len(errors) - 1):
        if errors[i] >= wanted > errors[i + 1]:
            part = np.log(errors[i] / wanted) / np.log(errors[i] / errors[i + 1])
            return float(np.exp(np.log(costs[i]) + part * np.log(costs[i + 1] / costs[i])))
    return np.nan
