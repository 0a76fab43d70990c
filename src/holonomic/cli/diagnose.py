"""`holonomic diagnose`: what a problem asks of a method."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import BadArgument, HolonomicError, IncompatibleMethods, UnknownArgument
from .files import FAILED, calling, check_place, save_picture
from .methods import refuse
from .run import load, number


def diagnose(
    target: Annotated[str, typer.Argument(metavar="NAME|FILE.py", help="A problem that comes with holonomic, or a file of yours.")],
    rtol: Annotated[float, typer.Option(help="Relative tolerance that is meant.")] = 1e-6,
    t_end: Annotated[float | None, typer.Option(help="When the run would stop, instead of the problem's own end.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="PATH", help="Simulate, and save a picture of the indicators.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the report.")] = False,
):
    """Say what a system asks of a method at its start: freedom, rank, stiffness, and what suits it.

    FILE.py defines what it does for 'holonomic run'.
    """
    from .. import diagnose as call

    check_place(picture, "picture")
    job = load(target)
    end = job.t_end if t_end is None else t_end
    try:
        with calling():
            found = call(job.what, end, **job.start, rtol=rtol)
            drawn = None if picture is None else found.plot()
    except (BadArgument, UnknownArgument, IncompatibleMethods) as problem:
        refuse(str(problem))
    except HolonomicError as problem:
        typer.echo(f"{type(problem).__name__}: {problem}", err=True)
        raise typer.Exit(FAILED) from None
    if drawn is not None:
        save_picture(drawn, picture)
    if as_json:
        typer.echo(json.dumps(_plain({"name": job.name} | found.as_dict()), indent=2, ensure_ascii=False))
    else:
        typer.echo(f"{job.name}\n{found}")


def _plain(value):
    """Return what JSON holds: numbers that are not finite become null."""
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return number(value)
