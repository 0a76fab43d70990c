"""The `holonomic` command and its subcommands."""

from __future__ import annotations

from typing import Annotated

import typer

from .._version import __version__
from .cache import cache
from .cite import cite
from .compare import compare
from .diagnose import diagnose
from .methods import methods
from .problems import problems
from .reproduce import reproduce
from .run import run
from .view import view

app = typer.Typer(
    help="Simulate constrained mechanical systems so that the answer stays on its constraints.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # a fault of ours shows a plain traceback, good to copy into a report
)
app.command()(run)
app.command()(compare)
app.command()(diagnose)
app.command()(view)
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
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
):
    pass
