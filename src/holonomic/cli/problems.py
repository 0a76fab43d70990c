"""`holonomic problems`: the problems that come with the package, by the names that other commands take."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table


def problems(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False):
    """List the problems that come with holonomic: names for 'run', 'view', 'compare', 'diagnose' and 'cite'."""
    from ..problems import catalogue

    rows = [describe(name, make()) for name, make in catalogue().items()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("name", "what it is", "ends at", "worth knowing"):
        table.add_column(title, no_wrap=title in ("name", "ends at"))
    for row in rows:
        table.add_row(row["name"], escape(row["title"]), f"{row['t_end']:g} s", escape(row["notes"]))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=140)  # a pipe has no width; 80 would break the titles
    console.print(table)


def describe(name: str, problem) -> dict:
    """Return what a problem says of itself, ready for JSON."""
    known = {"t_end": float(problem.t_end), "notes": problem.notes, "source": problem.source}
    return {"name": name, "title": problem.title} | known
