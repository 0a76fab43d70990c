"""Figures of published papers, drawn from the panels that their reproductions give."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib
from matplotlib.figure import Figure

from .plot import new_figure
from .styles import style_of

WIDTH = 9.0  # inches of a whole row
HEIGHT = {1: 3.0, 2: 2.4, 3: 2.1, 4: 1.9}  # of a row, by how many there are


def paper_figure(rows: Sequence[Sequence], style: str = "light") -> Figure:
    """Draw rows of panels.

    Parameters
    ----------
    rows : sequence of sequences of `holonomic.reproduce.drawing.Panel`
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
