"""Plots of a run over time, and of one quantity over another."""

from __future__ import annotations

import io
import reprlib
from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from ..errors import BadArgument
from ..results.naming import is_dae
from .page_arguments import axes_given, whole
from .panels import UNIT, Panel, panel, velocity_name
from .styles import colours, style_of

STILL = {"agg", "cairo", "pdf", "pgf", "ps", "svg", "template"}  # backends without windows
STRETCHES = 100  # of time, for each of which the drift shows its largest value
MOST_POINTS = 10_000_000  # of a curve: each is a state of the run
MANY = 12  # lines from which a legend lists only some of them
MANY_EVENTS = 40  # from here on an event is marked at the edge alone

TIME = "time t  (s)"


class Picture(Figure):
    """A figure that notebooks show as it is, without pyplot."""

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=120)
        return buffer.getvalue()


def plot(sol, names: Sequence[str], *, ax=None, style: str = "light", points: int = 2000, **line) -> Figure:
    """Draw one axes per name; see `Solution.plot`."""
    if not names and sol.trail.named is not None:
        names = sol.trail.named.names
    if not names:
        model = sol.plan.model
        names = ("x" if is_dae(model) else "y" if model.is_ode else "q",)
        names += ("drift",) if len(sol.drift) else ()
    if not len(np.atleast_1d(sol.t)):
        raise BadArgument("there is nothing to plot: the solution has no times.")
    look = style_of(style)
    fine = _fine(sol, points)
    panels = [panel(fine, name) for name in names]
    given = axes_given(ax, names)
    with matplotlib.rc_context(look.settings):
        if given is None:
            figure = new_figure((7.6, 0.5 + 2.15 * len(panels)))
            given = list(figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0])
        t = np.atleast_1d(fine.t)
        for name, each, axes in zip(names, panels, given, strict=True):
            (_draw_drift if each.is_drift else _draw)(axes, t, each, look, line)
            if sol.error is not None and not each.is_drift:
                _draw_band(axes, t, each, sol, name, look)
            axes.set_title(_plain(each.title), loc="left")
            axes.set_title(each.unit, loc="right", fontweight="normal", fontsize=8.5)
            axes.margins(x=0)
        marked = _mark_events(sol, given, look)
        for each, axes in zip(panels, given, strict=True):
            _legend(axes, each, marked if axes is given[0] else [])
        if ax is None:
            given[-1].set_xlabel(TIME)
            given[0].set_xlim(*sorted((t[0], t[-1])) if len(t) > 1 else (t[0] - 0.5, t[0] + 0.5))
        else:
            for axes in given:
                axes.set_xlabel(axes.get_xlabel() or TIME)
    return figure_of(given[0])


def phase(sol, names: Sequence[str], *, ax: Axes | None = None, style="light", points=2000, **line) -> Figure:
    """Draw a coordinate's velocity over it, or a second quantity over the first; see `Solution.phase`."""
    if len(names) not in (1, 2):
        raise BadArgument('phase needs one coordinate, as in phase("beta"), or two quantities.')
    model = sol.plan.model
    fine = _fine(sol, points)
    first = panel(fine, names[0])
    if len(names) == 2:
        second = panel(fine, names[1])
    elif names[0] in model.coordinates and model.nv == model.nc:
        at = model.coordinates.index(names[0])
        unit = "rad/s" if model.turns[at] else UNIT
        second = Panel(velocity_name(names[0]), unit, np.atleast_2d(fine.v)[:, [at]], [""])
    else:
        raise BadArgument(f"phase({names[0]!r}) needs a coordinate with a velocity of its own; give two names.")
    if first.values.shape[1] != 1 or second.values.shape[1] != 1:
        raise BadArgument(f"phase draws one line: {' and '.join(names)} must be single numbers over time.")
    look = style_of(style)
    with matplotlib.rc_context(look.settings):
        t = np.atleast_1d(fine.t)
        x, y = (_broken(t, each.values)[1][:, 0] for each in (first, second))
        # one coordinate over another is a path: true proportions
        path = len(names) == 2 and first.unit == second.unit and set(names) <= set(model.coordinates)
        given = axes_given(ax, [" over ".join(names)])
        if given is None:
            wide, high = np.nanmax(x) - np.nanmin(x), np.nanmax(y) - np.nanmin(y)
            height = float(np.clip(5.2 * high / wide, 1.6, 6.0)) + 0.8 if path and wide > 0 else 4.6
            given = [new_figure((5.6, height)).subplots()]
        ax = given[0]
        colour = colours(look, 1)[0]
        _line(ax, x, y, {"color": colour, "linewidth": 1.3}, line)
        mark = {"linestyle": "none", "markersize": 6, "color": colour, "clip_on": False, "zorder": 3}
        ax.plot(x[0], y[0], marker="o", markerfacecolor=look.ground, label="start", **mark)
        ax.plot(x[-1], y[-1], marker="o", label="end", **mark)
        ax.set_xlabel(_plain(first.heading))
        ax.set_ylabel(_plain(second.heading))
        ax.margins(0.06)
        ax.legend(loc="best")
        if path:
            ax.set_aspect("equal")
    return figure_of(ax)


def _plain(name: str) -> str:
    """A user's name as it is, not as a formula."""
    return name.replace("$", r"\$")


def _fine(sol, points: int):
    """The run with points between its steps; a solution at chosen times stays as it is."""
    points = whole(points, "points", 2, MOST_POINTS)
    if sol.trail.parent is not None or len(sol.t) < 2:
        return sol
    return sol.with_times_between(points)


def _broken(t: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Part the curve where a time was recorded twice: the state jumped there."""
    jumps = np.flatnonzero(np.diff(t) == 0) + 1
    return np.insert(t, jumps, np.nan), np.insert(values, jumps, np.nan, axis=0)


def _draw(axes: Axes, t: np.ndarray, each: Panel, look, line: dict[str, Any]) -> None:
    count = each.values.shape[1]
    shades = colours(look, count)
    times, values = _broken(t, each.values)
    marker = {"marker": "o"} if len(t) == 1 else {}
    for i in range(count):
        dash = each.dashes[i] if each.dashes else "-"
        own: dict[str, Any] = {"color": shades[i], "linewidth": 1.4, "linestyle": dash, "label": _plain(each.labels[i])}
        _line(axes, times, values[:, i], own | marker, line)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-4, 5), useMathText=True)


def _draw_band(axes: Axes, t: np.ndarray, each: Panel, sol, name: str, look) -> None:
    """Draw the estimated error of a quantity on both sides of it; between the times of the run it is taken as linear."""
    forward = 1.0 if sol.t[-1] >= sol.t[0] else -1.0
    off = sol.error.of(lambda run: panel(run, name).values)
    for i, shade in enumerate(colours(look, each.values.shape[1])):
        width = np.interp(forward * t, forward * sol.t, off[:, i])
        times, edges = _broken(t, np.stack([each.values[:, i] - width, each.values[:, i] + width], axis=1))
        axes.fill_between(times, edges[:, 0], edges[:, 1], color=shade, alpha=0.25, linewidth=0)


def _line(axes: Axes, x: np.ndarray, y: np.ndarray, own: dict[str, Any], given: dict[str, Any]) -> None:
    """Draw one line, with what the caller wants of it."""
    try:
        axes.plot(x, y, **own | given)
    except (TypeError, ValueError, AttributeError, RuntimeError) as problem:
        if not given:
            raise
        wanted = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in given.items())
        said = str(problem).splitlines()[0].rstrip(".")
        raise BadArgument(f"Matplotlib does not draw a line with {wanted}: {said}.") from problem


def _draw_drift(axes: Axes, t: np.ndarray, each: Panel, look, line: dict[str, Any]) -> None:
    """Residuals swing over ten powers of ten within a step: show the largest of each stretch of time."""
    shades = colours(look, each.values.shape[1])
    edges = np.unique(np.linspace(0, len(t), min(STRETCHES, len(t)) + 1).astype(int))
    for i, values in enumerate(each.values.T):
        largest = np.maximum.reduceat(values, edges[:-1])
        own: dict[str, Any] = {"color": shades[i], "linewidth": 1.2, "drawstyle": "steps-post", "label": each.labels[i]}
        if len(t) == 1:
            own["marker"] = "o"
        _line(axes, t[np.append(edges[:-1], len(t) - 1)], np.append(largest, largest[-1]), own, line)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(numticks=7))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="y", which="minor", left=False)


def _mark_events(sol, axes: list[Axes], look) -> list:
    """Mark events by thin lines through all axes; return their handles for the legend."""
    found = []
    dashes = [(0, (4, 3)), (0, (1, 1.5)), (0, (6, 2, 1, 2))]
    for index, (name, log) in enumerate(sol.events.items()):
        if not len(log):
            continue
        shade = look.marks[index % len(look.marks)]
        own: dict[str, Any] = {"color": shade, "linewidth": 1.0, "linestyle": dashes[index % 3], "zorder": 1.5}
        high = 1.0 if len(log) <= MANY_EVENTS else 0.04
        for each in axes:
            for t in log.t:
                mark = each.axvline(t, ymax=high, **own)
        mark.set_label(f"{name} ({len(log)})" if len(log) > 1 else name)
        found.append(mark)
    return found


def _legend(axes: Axes, each: Panel, marked: list) -> None:
    handles = [line for line in axes.get_lines() if line.get_label() in map(_plain, each.labels) and line.get_label()]
    if len(handles) > MANY:
        handles = [handles[i] for i in np.unique(np.linspace(0, len(handles) - 1, 6).astype(int))]
    handles += marked
    if handles:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.03), borderaxespad=0.0)


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure of pyplot's where there are windows, so that plt.show() shows it; one of its own elsewhere."""
    from matplotlib import pyplot

    backend = matplotlib.get_backend().lower()
    if backend in STILL or "inline" in backend:
        return Picture(figsize=size, layout="constrained")
    return pyplot.figure(figsize=size, layout="constrained")


def figure_of(axes: Axes) -> Figure:
    """The figure that axes belong to."""
    figure = axes.get_figure()
    assert figure is not None
    return figure  # type: ignore[return-value]
