"""Pictures of studies: drift and error of comparisons, indicators along a run, figures of published papers."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Sequence

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from ..errors import BadArgument
from ..study.reference import drift
from .page_arguments import axes_given, texts, whole
from .panels import FLOOR
from .plot import TIME, figure_of, new_figure
from .styles import style_of

MOST_POINTS = 120  # of one line, each the largest of its stretch; more of them make a band of dips
HIGHEST = 1e6  # what blew up is cut here, so that the other lines keep their shape
LINES = ("-", "--", ":", "-.")
NAMELESS = ("System", "Mechanism", "Ode", "Dae")  # no title: nobody gave the system one
MARKERS = "osD^vPX*"
LEVELS = {"position": "Drift at position level, |g|", "velocity": "Drift at velocity level, |G v + g_t|"}
ERRORS = ("error_q", "error_v", "energy_error", "drift_position", "drift_velocity")
NOTHING = "there is nothing to draw: none of the runs has an error. See the reasons in the table."
COSTS = {"seconds": "time", "evaluations": "evaluations of the field", "steps": "steps"}


def drift_figure(comparison, levels=None, style: str = "light", ax=None) -> Figure:
    """Draw the drift of every run over time, a panel per level; methods differ by colour, steps by line style.

    Where there are more methods than colours, they begin again with the next line style.
    """
    rows = [row for row in comparison if row.solution is not None and len(row.solution.t) > 1]
    if not rows:
        raise BadArgument("there is nothing to draw: none of the runs took a step. See the reasons in the table.")
    drifts = [drift(row.solution) for row in rows]
    there = [level for level in LEVELS if any(level in found for found in drifts)]
    wanted = there if levels is None else texts(levels, "levels", "position")
    missing = [level for level in wanted if level not in there]
    if missing:
        raise BadArgument(f"there is no drift at level {missing[0]!r}; there is: {', '.join(there) or 'none'}.")
    if not wanted:
        raise BadArgument("there is no drift to draw: the system has neither constraints nor invariants.")
    methods = list(dict.fromkeys(comparison.label(row) for row in rows))
    sizes = list(dict.fromkeys((row.step, row.rtol) for row in rows))
    look = style_of(style)
    with matplotlib.rc_context(look.settings):
        axes = axes_given(ax, wanted, "panels")
        figure = new_figure((7.2, 2.7 * len(wanted) + 1.0)) if axes is None else None
        if axes is None:
            axes = figure.subplots(len(wanted), 1, sharex=True, squeeze=False).ravel()
        for ax, level in zip(axes, wanted, strict=True):
            for row, found in zip(rows, drifts, strict=True):
                if level not in found:
                    continue
                method, size = methods.index(comparison.label(row)), sizes.index((row.step, row.rtol))
                line = LINES[(size + method // len(look.lines)) % len(LINES)]
                ax.plot(
                    *envelope(row.solution.t, found[level]), linewidth=1.2, color=look.lines[method % len(look.lines)],
                    linestyle=line, label=_line_label(comparison.label(row), row, len(sizes) > 1),
                )  # fmt: skip
            ax.set_yscale("log")
            low, high = ax.get_ylim()
            ax.set_ylim(max(low, FLOOR / 2), min(high, HIGHEST))
            is_ode = rows[0].solution.plan.model.is_ode
            ax.set_title("Largest change of the invariants" if is_ode else LEVELS[level], loc="left")
        axes[-1].set_xlabel(TIME)
        return _finish(figure, axes[0], comparison.name)


def envelope(t, rows, most: int = MOST_POINTS) -> tuple[np.ndarray, np.ndarray]:
    """Return times and the largest |entry| of each row, or of each stretch of rows where there are too many."""
    largest = np.max(np.abs(rows), axis=1)
    largest = np.where(np.isfinite(largest), np.maximum(largest, FLOOR), np.nan)
    if len(t) <= most:
        return t, largest
    cuts = np.linspace(0, len(t), most + 1).astype(int)[:-1]
    return t[cuts], np.fmax.reduceat(largest, cuts)


def work_precision_figure(study, error: str, costs, style: str = "light", ax=None) -> Figure:
    """Draw error over cost, a panel per cost; cheap and accurate is at the lower left.

    Integrators differ by colour, stabilizations by line and mark. Where the reference was computed, errors that
    it cannot tell from zero lie in the grey band. Of several starts the median is drawn, and what 80 % of them have.
    """
    costs = texts(costs, "costs", "seconds")
    if not costs:
        raise BadArgument(f"there is no cost ''; there is: {', '.join(COSTS)}.")
    for cost in costs:
        _check_cost(cost)
    curves = _curves_of(study, error)
    if not curves:
        raise BadArgument(NOTHING)
    looks = MethodLines(curves.values())
    look = style_of(style)
    with matplotlib.rc_context(look.settings):
        axes = axes_given(ax, costs, "panels")
        figure = new_figure((3.9 * len(costs) + 0.8, 4.4)) if axes is None else None
        if axes is None:
            axes = figure.subplots(1, len(costs), sharey=True, squeeze=False).ravel()
        for ax, cost in zip(axes, costs, strict=True):
            _draw_curves(ax, study, curves, error, cost, looks, look)
        _shade(axes, study.reference.agreement)
        axes[0].set_ylabel(f"{error.replace('_', ' of ')} at the end")
        return _finish(figure, axes[0], study.name)


def work_precisions_figure(studies, error: str, cost: str, columns: int | None, style: str = "light") -> Figure:
    """Draw error over cost, a panel per problem, with one legend: a method has the same line in all panels."""
    _check_cost(cost)
    columns = min(3, math.isqrt(len(studies) - 1) + 1) if columns is None else whole(columns, "columns", 1, len(studies))
    curves = {name: _curves_of(study, error) for name, study in studies.items()}
    if not any(curves.values()):
        raise BadArgument(NOTHING)
    looks = MethodLines(row for each in curves.values() for row in each.values())
    lines = -(-len(studies) // columns)
    look = style_of(style)
    with matplotlib.rc_context(look.settings):
        figure = new_figure((3.3 * columns + 0.6, 2.9 * lines + 0.9))
        axes = figure.subplots(lines, columns, squeeze=False)
        for ax, (name, study) in zip(axes.ravel(), studies.items(), strict=False):
            _draw_curves(ax, study, curves[name], error, cost, looks, look)
            _shade([ax], study.reference.agreement)
            ax.set_title(name, loc="left")
        for ax in axes.ravel()[len(studies) :]:
            ax.set_visible(False)
        for line in axes:
            line[0].set_ylabel(f"{error.replace('_', ' of ')} at the end")
        known = {}
        for ax in axes.ravel():
            known |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
        columns = 2 if max(map(len, known)) > 24 or len(known) < 3 else 3
        figure.legend(known.values(), known, loc="outside lower center", ncols=columns)
    return figure


def _check_cost(cost) -> None:
    if not isinstance(cost, str) or cost not in COSTS:
        raise BadArgument(f"there is no cost {reprlib.repr(cost)}; there is: {', '.join(COSTS)}.")


def _curves_of(study, error: str) -> dict:
    """Return the first run of every method that has an error, by the method's name."""
    if not isinstance(error, str) or error not in ERRORS:
        raise BadArgument(f"error={reprlib.repr(error)}: choose {', '.join(map(repr, ERRORS))}.")
    bands = study.bands(error)
    known = {name: [row for row in rows if row.ok] for name, rows in study.curves().items()}
    return {name: rows[0] for name, rows in known.items() if rows and any(np.isfinite(each.middle) for each in bands[name])}


class MethodLines:
    """Lines of methods: integrators differ by colour, stabilizations by line and mark."""

    def __init__(self, rows):
        rows = list(rows)
        self.steppers = list(dict.fromkeys(_stepper(row) for row in rows))
        self.kept = list(dict.fromkeys(row.stabilization for row in rows))

    def of(self, row, look) -> dict:
        colour, mark = self.steppers.index(_stepper(row)), self.kept.index(row.stabilization)
        return {
            "color": look.lines[colour % len(look.lines)], "marker": MARKERS[mark % len(MARKERS)], "markersize": 4,
            "linewidth": 1.2, "linestyle": LINES[(mark + colour // len(look.lines)) % len(LINES)],
        }  # fmt: skip


def _draw_curves(ax, study, curves, error: str, cost: str, looks: MethodLines, look) -> None:
    errors, costs = study.bands(error), study.bands(cost)
    for name, row in curves.items():
        points = [(c.middle, *e) for c, e in zip(costs[name], errors[name], strict=True) if np.isfinite(c.middle + e.middle)]
        if not points:  # implicit methods count no evaluations
            continue
        cheap, middle, low, high = np.maximum(np.array(points).T, FLOOR)
        line = looks.of(row, look)
        ax.plot(cheap, middle, label=name, **line)
        if study.starts > 1:
            ax.fill_between(cheap, low, high, color=line["color"], alpha=0.18, linewidth=0)
    ax.set_xscale("log")
    ax.set_yscale("log")
    _readable_ticks(ax.xaxis, "s" if cost == "seconds" else "")
    ax.set_xlabel(COSTS[cost])


def _stepper(row) -> tuple[str, str]:
    return row.formulation, row.integrator


def _shade(axes, agreement: float) -> None:
    if not (np.isfinite(agreement) and agreement > 0):
        return
    for ax in axes:
        low, high = ax.get_ylim()
        if agreement > low:
            ax.axhspan(low, agreement, color="0.5", alpha=0.15, zorder=0)
            ax.set_ylim(low, high)


def _readable_ticks(axis, unit: str) -> None:
    """Ticks as plain numbers, at 1, 2 and 5 where costs span two decades or less: powers of ten alone would be too few there."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if high <= CROWDED * low else (1.0,)))
    axis.set_major_formatter(EngFormatter(unit=unit, sep=" " if unit else ""))
    axis.set_minor_formatter(NullFormatter())


def _finish(figure: Figure | None, ax, name: str) -> Figure:
    """Title on top, legend of all panels below; in axes of the caller's a legend alone."""
    handles, labels = ax.get_legend_handles_labels()
    if figure is None:
        if labels:
            ax.legend(handles, labels, loc="best")
        return figure_of(ax)
    if name not in NAMELESS:
        figure.suptitle(name, x=0.01, ha="left", fontsize=11, fontweight="bold")
    if labels:
        columns = 2 if max(map(len, labels)) > 24 or len(labels) < 3 else 3
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)
    return figure


def _line_label(method: str, row, several: bool) -> str:
    if not several:
        return method
    return f"{method}, h = {row.step:g}" if row.step is not None else f"{method}, rtol = {row.rtol or 1e-6:g}"


RATES = {
    "damped": "fastest decay", "oscillating": "fastest oscillation", "turning": "turning of the constraints",
    "explicit": "‖F C'‖", "projected": "‖Gᵀ(GGᵀ)⁻¹G'‖",
}  # fmt: skip
CROWDED = 100.0  # largest over smallest cost, above which labels at 1, 2 and 5 would meet
SMALLEST = 1e-3  # of the largest rate: smaller ones would only stretch the axis


def indicators_figure(t: np.ndarray, found: list, style: str = "light") -> Figure:
    """Draw rates over time beside the rate that explicit steps can bear, and below them the margin of the rank."""
    look = style_of(style)
    limits = np.array([6.0 / each.step for each in found])
    constrained = found[0].margin is not None
    with matplotlib.rc_context(look.settings):
        figure = new_figure((7.2, 4.6 if constrained else 3.2))
        axes = figure.subplots(2 if constrained else 1, 1, sharex=True, squeeze=False).ravel()
        ax, drawn = axes[0], [limits]
        for colour, (name, label) in zip(look.lines, RATES.items(), strict=False):
            values = np.array([getattr(each, name) or 0.0 for each in found])
            if np.any(values > 0.0):
                drawn.append(values)
                ax.plot(t, np.where(values > 0.0, values, np.nan), color=colour, label=label, linewidth=1.4)
        ax.plot(t, limits, color=look.lines[-1], linestyle="--", linewidth=1.2, label="what an accurate explicit step bears")
        largest = max(float(np.max(values)) for values in drawn)
        ax.set_yscale("log")
        ax.set_ylim(bottom=SMALLEST * min(largest, float(np.min(limits))))
        ax.set_title("Rates in 1/s", loc="left")
        ax.legend(loc="best", ncols=2)
        if constrained:
            axes[1].plot(t, [each.margin for each in found], color=look.lines[0], linewidth=1.4)
            axes[1].set_ylim(bottom=0.0)
            axes[1].set_title("Margin of the rank: smallest singular value of G, rows of length 1", loc="left")
        axes[-1].set_xlabel(TIME)
    return figure


WIDTH = 9.0  # inches of a whole row
HEIGHT = {1: 3.0, 2: 2.4, 3: 2.1, 4: 1.9}  # of a row, by how many there are


def paper_figure(rows: Sequence[Sequence], style: str = "light") -> Figure:
    """Draw rows of panels.

    Parameters
    ----------
    rows : sequence of sequences of `holonomic.reproduce.paper.Panel`
        Rows of the same length.
    style : {"light", "dark"}
        Colours.
    """
    look = style_of(style)
    with matplotlib.rc_context(look.settings | {"axes.titlesize": 9.0}):
        figure = new_figure((WIDTH if len(rows[0]) > 1 else 0.6 * WIDTH, HEIGHT[len(rows)] * len(rows) + 0.3))
        axes = figure.subplots(len(rows), len(rows[0]), squeeze=False)
        for line, panels in zip(axes, rows, strict=True):
            for ax, panel in zip(line, panels, strict=True):
                _draw(ax, panel, look)
    return figure


def _draw(ax, panel, look) -> None:
    hue = iter(look.lines)
    for curve in panel.curves:
        if curve.faint:
            line = {"color": look.settings["axes.edgecolor"], "alpha": 0.45, "linewidth": 3.0, "zorder": 1}
        else:
            line = {"color": next(hue), "linewidth": 1.1, "linestyle": "--" if curve.dashed else "-"}
        ax.plot(curve.x, curve.y, label=curve.label or None, **line)
    if "x" in panel.log:
        ax.set_xscale("log")
    if "y" in panel.log:
        ax.set_yscale("log")
    if panel.limits is not None:
        ax.set_ylim(*panel.limits)
    ax.set(xlabel=panel.x, ylabel=panel.y)
    ax.set_title(panel.title, loc="left")
    if "y" not in panel.log:
        ax.ticklabel_format(axis="y", scilimits=(-3, 4))
    labels = sum(bool(curve.label) for curve in panel.curves)
    if labels:
        ax.legend(loc="best" if labels < 4 else "upper right", ncols=1 if labels < 4 else labels)
