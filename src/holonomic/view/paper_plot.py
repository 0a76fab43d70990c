"""Pictures of published effects."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from .plot import TIME, new_figure
from .styles import style_of


def gap_figure(free: dict[str, object], kept: dict[str, object], style: str = "light") -> Figure:
    """Draw how far two bodies that should touch are apart, without and with projection: in µm, and on a log scale.

    Parameters
    ----------
    free, kept : dict
        Solutions by label; positions of constraints are minus the height of the gap.
    style : {"light", "dark"}
        Colours.
    """
    look = style_of(style)
    with matplotlib.rc_context(look.settings):
        figure = new_figure((7.2, 6.0))
        above, below = figure.subplots(2, 1, sharex=True)
        for runs, color in ((free, look.lines[1]), (kept, look.lines[0])):
            for shade, (label, sol) in zip(np.linspace(1.0, 0.5, len(runs))[::-1], runs.items(), strict=True):
                rows = sol.drift["position"]
                line = {"color": color, "alpha": shade, "linewidth": 1.2}
                above.plot(sol.t, -1e6 * rows.mean(axis=1), label=label, **line)
                below.semilogy(sol.t, np.maximum(np.abs(rows).max(axis=1), 1e-18), **line)
        above.set(ylabel="height above the rails, µm", title="Index 1 flies, projection keeps the wheels on the rails")
        above.legend()
        below.set(xlabel=TIME, ylabel="largest gap, m")
    return figure
