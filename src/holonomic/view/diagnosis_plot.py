"""A picture of the indicators along a run."""

from __future__ import annotations

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from .plot import TIME, new_figure
from .styles import style_of

RATES = {
    "damped": "fastest decay", "oscillating": "fastest oscillation", "turning": "turning of the constraints",
    "explicit": "‖F C'‖", "projected": "‖Gᵀ(GGᵀ)⁻¹G'‖",
}  # fmt: skip
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
        ax.plot(
            t, limits, color=look.lines[-1], linestyle="--", linewidth=1.2, label="what an accurate explicit step bears"
        )
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
