"""Pictures of comparisons: drift over time, and error over cost."""

from __future__ import annotations

import numpy as np

from ..errors import BadArgument

MOST_POINTS = 400  # of one line; more of them only make a black band
SMALLEST = 1e-18  # drawn for an exact zero, which a logarithmic axis does not have
LINES = ("-", "--", ":", "-.")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31")
MARKERS = "osD^vPX*"
LEVEL_LABELS = {"position": "|g|", "velocity": "|G v + g_t|"}


def drift_figure(comparison, levels=None):
    """Draw the drift of every run over time, a panel per level; methods differ by colour, steps by line style."""
    from ..study.measure import drift

    rows = [row for row in comparison if row.solution is not None and len(row.solution.t) > 1]
    if not rows:
        raise BadArgument("there is nothing to draw: none of the runs took a step. See the reasons in the table.")
    drifts = [drift(row.solution) for row in rows]
    there = [level for level in LEVEL_LABELS if any(level in found for found in drifts)]
    wanted = there if levels is None else [levels] if isinstance(levels, str) else list(levels)
    missing = [level for level in wanted if level not in there]
    if missing or not wanted:
        raise BadArgument(f"there is no drift at level {missing[0] if missing else ''!r}; there is: {', '.join(there)}.")
    figure, axes = _panels(len(wanted), 2.9)
    methods = list(dict.fromkeys(comparison.label(row) for row in rows))
    sizes = list(dict.fromkeys((row.step, row.rtol) for row in rows))
    for ax, level in zip(axes, wanted, strict=True):
        for row, found in zip(rows, drifts, strict=True):
            if level not in found:
                continue
            method, size = methods.index(comparison.label(row)), sizes.index((row.step, row.rtol))
            t, largest = envelope(row.solution.t, found[level])
            ax.plot(
                t, largest, linewidth=1.1, color=COLOURS[method % len(COLOURS)], linestyle=LINES[size % len(LINES)],
                label=_line_label(comparison.label(row), row, len(sizes) > 1),
            )  # fmt: skip
        ax.set_yscale("log")
        _limits(ax)
        ode = rows[0].solution.plan.model.is_ode
        ax.set_ylabel("largest |change of the invariants|" if ode else f"largest {LEVEL_LABELS[level]}, {level} level")
        ax.grid(True, which="major", linewidth=0.4, alpha=0.5)
    axes[-1].set_xlabel("t [s]")
    axes[0].set_title(comparison.name, loc="left", fontsize=11)
    _legend(figure, axes[0])
    return figure


def envelope(t, rows, most: int = MOST_POINTS):
    """Return times and the largest |entry| of each row, or of each stretch of rows where there are too many."""
    largest = np.max(np.abs(rows), axis=1)
    largest = np.where(np.isfinite(largest), np.maximum(largest, SMALLEST), np.nan)
    if len(t) <= most:
        return t, largest
    cuts = np.linspace(0, len(t), most + 1).astype(int)[:-1]
    return t[cuts], np.fmax.reduceat(largest, cuts)


def work_precision_figure(study, error: str, costs):
    """Draw error over cost, a panel per cost; cheap and accurate is at the lower left.

    Integrators differ by colour, stabilizations by line and mark.
    """
    titles = {"seconds": "time", "evaluations": "evaluations of the field", "steps": "steps"}
    unknown = [cost for cost in costs if cost not in titles]
    if unknown:
        raise BadArgument(f"there is no cost {unknown[0]!r}; there is: {', '.join(titles)}.")
    curves = {name: [row for row in rows if row.ok] for name, rows in study.curves().items()}
    curves = {name: rows for name, rows in curves.items() if any(np.isfinite(getattr(row, error)) for row in rows)}
    if not curves:
        raise BadArgument("there is nothing to draw: none of the runs has an error. See the reasons in the table.")
    steppers = list(dict.fromkeys(_stepper(rows[0]) for rows in curves.values()))
    kept = list(dict.fromkeys(rows[0].stabilization for rows in curves.values()))
    figure, axes = _panels(len(costs), 3.6, side_by_side=True)
    for ax, cost in zip(axes, costs, strict=True):
        for name, rows in curves.items():
            x = np.array([getattr(row, cost) for row in rows], dtype=float)
            y = np.maximum([getattr(row, error) for row in rows], SMALLEST)
            colour, mark = steppers.index(_stepper(rows[0])), kept.index(rows[0].stabilization)
            ax.plot(
                x, y, label=name, color=COLOURS[colour % len(COLOURS)], marker=MARKERS[mark % len(MARKERS)],
                markersize=4, linewidth=1.1, linestyle=LINES[mark % len(LINES)],
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_yscale("log")
        _readable_ticks(ax.xaxis, "s" if cost == "seconds" else "")
        ax.set_xlabel(titles[cost])
        ax.grid(True, which="major", linewidth=0.4, alpha=0.5)
    agreement = study.reference.agreement
    if np.isfinite(agreement) and agreement > 0:
        for ax in axes:
            low, high = ax.get_ylim()
            if agreement > low:
                ax.axhspan(low, agreement, color="0.9", zorder=0)
                ax.set_ylim(low, high)
    axes[0].set_ylabel(f"{error.replace('_', ' of ')} at the end")
    axes[0].set_title(study.name, loc="left", fontsize=11)
    _legend(figure, axes[0])
    return figure


def _stepper(row) -> tuple[str, str]:
    return row.formulation, row.integrator


def _readable_ticks(axis, unit: str) -> None:
    """Ticks at 1, 2 and 5 as plain numbers: powers of ten alone are too few where costs span one decade."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(EngFormatter(unit=unit, sep=" " if unit else ""))
    axis.set_minor_formatter(NullFormatter())


def _panels(count: int, height: float, side_by_side: bool = False):
    from matplotlib.figure import Figure

    rows, columns = (1, count) if side_by_side else (count, 1)
    width = 3.9 * count + 0.8 if side_by_side else 7.2
    figure = Figure(figsize=(width, height * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=not side_by_side, sharey=side_by_side, squeeze=False)
    return figure, axes.ravel()


def _legend(figure, ax) -> None:
    handles, labels = ax.get_legend_handles_labels()
    columns = 2 if max(map(len, labels)) > 24 or len(labels) < 3 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8, frameon=False)


def _limits(ax) -> None:
    """Leave out what blew up, so that the other lines keep their shape."""
    low, high = ax.get_ylim()
    ax.set_ylim(max(low, SMALLEST / 2), min(high, 1e6))


def _line_label(method: str, row, several: bool) -> str:
    if not several:
        return method
    return f"{method}, h = {row.step:g}" if row.step is not None else f"{method}, rtol = {row.rtol or 1e-6:g}"
