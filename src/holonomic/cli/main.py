"""The `holonomic` command, its subcommands, and the two short ones that list problems and look after the cache."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .._version import __version__
from ..arguments import in_bytes
from ..native import cachefolder
from ..notices import show_notices
from .bench import bench
from .cite import cite
from .compare import compare
from .diagnose import diagnose
from .export import export
from .methods import methods
from .reproduce import reproduce
from .run import run
from .view import view


def cache(clear: Annotated[bool, typer.Option("--clear", help="Remove all compiled code; it is made again when needed.")] = False):
    """Show or clear the folder of compiled models and methods."""
    if clear:
        freed, kept = cachefolder.clear()
        typer.echo(f"cleared {cachefolder.folder()}: {in_bytes(freed)} freed")
        if kept:
            stays = "1 file there stays" if len(kept) == 1 else f"{len(kept)} files there stay"
            typer.echo(f"{stays}, not holonomic's, damaged or not to be removed: {', '.join(map(str, kept[:3]))}")
        return
    typer.echo(str(cachefolder.folder()))
    total = 0
    for kind, meaning in (("models", "compiled models"), ("kernels", "compiled methods"), ("gpu", "programs for a GPU")):
        inside = [entry for entry in cachefolder.entries() if (cachefolder.folder() / kind) in entry[0].parents]
        amount = sum(entry[1] for entry in inside)
        total += amount
        typer.echo(f"  {meaning:<18} {len(inside):5d} files  {in_bytes(amount):>9}")
    typer.echo(f"  {'together':<18} {'':11}  {in_bytes(total):>9} of at most {in_bytes(cachefolder.LIMIT_BYTES)}")


def problems(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False):
    """List the problems that come with holonomic: names for 'run', 'view', 'compare', 'diagnose' and 'cite'."""
    from ..problems import catalogue

    rows = [problem_entry(name, make()) for name, make in catalogue().items()]
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


def problem_entry(name: str, problem) -> dict:
    """Return what a problem says of itself, ready for JSON."""
    known = {"t_end": float(problem.t_end), "notes": problem.notes, "source": problem.source}
    return {"name": name, "title": problem.title} | known


app = typer.Typer(
    help="Simulate constrained mechanical systems so that the answer stays on its constraints.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a fault of ours shows a plain traceback, good to copy into a report
)
app.command()(run)
app.command()(compare)
app.command()(bench)
app.command()(diagnose)
app.command()(view)
app.command()(export)
app.command()(reproduce)
app.command()(methods)
app.command()(problems)
app.command()(cite)
app.command()(cache)


def show_version(wanted: bool):
    if wanted:
        typer.echo(f"holonomic {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")] = False,
):
    show_notices()
