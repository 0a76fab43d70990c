"""Colours and lettering of the pictures, light and dark."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BadArgument


@dataclass(frozen=True)
class PlotStyle:
    """Settings of Matplotlib, colours of lines, and those of what stays in the background."""

    settings: dict[str, Any]
    lines: tuple[str, ...]
    marks: tuple[str, ...]  # of events
    ground: str
    sequence: str  # colour map for many lines
    ends: tuple[float, float]  # the part of it that stands out from the ground


def _settings(ground: str, ink: str, grid: str, edge: str) -> dict[str, Any]:
    return {
        "figure.facecolor": ground, "axes.facecolor": ground, "savefig.facecolor": ground,
        "text.color": ink, "axes.labelcolor": ink, "xtick.color": edge, "ytick.color": edge,
        "xtick.labelcolor": ink, "ytick.labelcolor": ink, "axes.titlecolor": ink,
        "axes.edgecolor": edge, "axes.linewidth": 0.8, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "axes.axisbelow": True, "grid.color": grid, "grid.linewidth": 0.6,
        "font.size": 9.0, "axes.titlesize": 10.0, "axes.titleweight": "bold", "axes.titlepad": 6.0,
        "axes.labelsize": 9.0, "legend.fontsize": 8.5, "legend.frameon": False, "legend.handlelength": 1.5,
        "legend.labelspacing": 0.35, "xtick.major.size": 3.0, "ytick.major.size": 3.0,
        "axes.unicode_minus": True, "mathtext.default": "regular", "savefig.dpi": 160, "figure.dpi": 110,
        "lines.solid_capstyle": "round", "lines.solid_joinstyle": "round",
    }  # fmt: skip


# Seven hues that people with any kind of colour vision tell apart: Okabe and Ito (2008), yellow darkened.
LOOKS = {
    "light": PlotStyle(
        _settings("#ffffff", "#20242b", "#e4e7ec", "#8a93a0"),
        ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#4a4a4a"),
        marks=("#7b6d8d", "#a4633a", "#3f7f7f"), ground="#ffffff", sequence="viridis", ends=(0.0, 0.88),
    ),
    "dark": PlotStyle(
        _settings("#14171c", "#e6e9ee", "#2a2f37", "#6f7885"),
        ("#56b4e9", "#ff9d5c", "#2fd3a5", "#e8a2cb", "#a3c9ff", "#f0d060", "#c9ced6"),
        marks=("#b7a6cf", "#d79b77", "#7fbcbc"), ground="#14171c", sequence="viridis", ends=(0.25, 1.0),
    ),
}  # fmt: skip


def style_of(name: str) -> PlotStyle:
    """Return a look by name."""
    if not isinstance(name, str) or name not in LOOKS:
        raise BadArgument(f"style={reprlib.repr(name)}: choose {' or '.join(map(repr, LOOKS))}.")
    return LOOKS[name]


def colours(look: PlotStyle, count: int) -> list[Any]:
    """Return colours for `count` lines: the hues, or for more lines than hues a sequence."""
    if count <= len(look.lines):
        return list(look.lines[:count])
    import matplotlib

    return list(matplotlib.colormaps[look.sequence](np.linspace(*look.ends, count)))
