"""Papers as data: what they print, what we found by recomputing it, which rule an answer must meet, and their figures."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import BadArgument


@dataclass(frozen=True, eq=False)
class PaperTable:
    """One table of a paper, or a group of claims made in its text.

    Each row holds settings (method, step, ...) and, by name of the quantity, mappings with the printed number
    and the rule. `settings` says how the numbers were made, `status` how well they can be reproduced, `why` in few words
    what stands in the way of the printed digits.
    """

    id: str
    title: str
    settings: str
    status: str
    why: str
    rows: tuple[MappingProxyType[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper: its key in the bibliography, its title, and its tables by id."""

    key: str
    title: str
    tables: MappingProxyType[str, PaperTable]


@cache
def papers() -> dict[str, Paper]:
    """Return all papers that can be reproduced, by key."""
    folder = resources.files(__package__) / "data"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    found = [_read(file.read_text(encoding="utf-8")) for file in files]
    return {paper.key: paper for paper in found}


def _read(text: str) -> Paper:
    content = tomllib.loads(text)
    tables = {}
    for table in content["table"]:
        rows = tuple(MappingProxyType(row) for row in table["row"])
        tables[table["id"]] = PaperTable(
            table["id"], table["title"], table["settings"], table["status"], table.get("why", ""), rows
        )
    return Paper(content["key"], content["title"], MappingProxyType(tables))


def find(key: str) -> Paper:
    """Return a paper by its key."""
    known = papers()
    if key not in known:
        raise BadArgument(f"There is no paper {key!r} to reproduce. There are: {', '.join(known)}.")
    return known[key]


def find_table(paper: Paper, name: str) -> PaperTable:
    """Return a table of a paper by its id; "Table 6.1" and "table-6.1" are 6.1."""
    wanted = name.lower().replace("table", "").strip(" -_")
    if wanted not in paper.tables:
        raise BadArgument(f"{paper.key} has no table {name!r}. There are: {', '.join(paper.tables)}.")
    return paper.tables[wanted]


@dataclass(frozen=True, eq=False)
class Curve:
    """One line; `faint` for what is expected, behind what was computed."""

    x: np.ndarray
    y: np.ndarray
    label: str = ""
    faint: bool = False
    dashed: bool = False


@dataclass(frozen=True, eq=False)
class FigurePanel:
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
    panels: Callable[[], list[list[FigurePanel]]]
