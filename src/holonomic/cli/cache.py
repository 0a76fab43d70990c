"""`holonomic cache`: where compiled code is kept, how much there is, and how to be rid of it."""

from __future__ import annotations

from typing import Annotated

import typer

from ..kernels import cachefolder


def cache(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove all compiled code; it is made again when needed.")
    ] = False,
):
    """Show or clear the folder of compiled models and methods."""
    if clear:
        freed = cachefolder.clear()
        typer.echo(f"cleared {cachefolder.folder()}: {size(freed)} freed")
        return
    typer.echo(str(cachefolder.folder()))
    total = 0
    for kind, meaning in (("models", "compiled models"), ("kernels", "compiled methods")):
        inside = [
            entry for entry in cachefolder.entries() if (cachefolder.folder() / kind) in entry[0].parents
        ]
        amount = sum(entry[1] for entry in inside)
        total += amount
        typer.echo(f"  {meaning:<17} {len(inside):5d} files  {size(amount):>9}")
    typer.echo(f"  {'together':<17} {'':11}  {size(total):>9} of at most {size(cachefolder.LIMIT_BYTES)}")


def size(amount: float) -> str:
    """Return a number of bytes as people read it."""
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
