"""Drawings: the curves of a paper's figures as numbers, with what the print states about them and what came out here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Curve:
    """One line; `faint` for what is expected, behind what was computed."""

    x: np.ndarray
    y: np.ndarray
    label: str = ""
    faint: bool = False
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """Axes with curves; `log` names the logarithmic axes, `limits` are those of y."""

    title: str
    curves: list[Curve]
    x: str = "t  (s)"
    y: str = ""
    log: str = ""
    limits: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Drawing:
    """Figures of a paper, drawn from our own runs.

    Parameters
    ----------
    name : str
        Of the file.
    figures : str
        Which figures of the paper it stands beside.
    printed : str
        What the paper's text and captions state about them.
    ours : str
        What is seen here, and in what it agrees or not.
    panels : function
        Makes the rows of panels; runs what has to be run.
    """

    name: str
    figures: str
    printed: str
    ours: str
    panels: Callable[[], list[list[Panel]]]
