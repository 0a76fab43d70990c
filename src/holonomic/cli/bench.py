"""`holonomic bench`: methods of a file of yours, checked and measured beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import HolonomicError
from .compare import numbers, parts_of
from .files import FAILED, fail
from .methods import KINDS, classes, complete, refuse
from .run import names_of

RUN_AS = "<run_path>"  # the module of what a file defines, as runpy calls it


def bench(
    file: Annotated[Path, typer.Argument(metavar="FILE.py", help="A file that defines methods.")],
    problems: Annotated[
        str, typer.Option(metavar="A,B,...", help="Problems to measure on, as in 'holonomic problems'.")
    ] = "pendulum,seven-body,heavy-top,two-link-arm",
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write tables (bench.md), a picture and all runs (.csv) there.")
    ] = None,
    rtol: Annotated[str | None, typer.Option(metavar="R,R,...", help="Relative tolerances, 1e-3 to 1e-10 if not given.")] = None,
    starts: Annotated[int, typer.Option(help="Starts close to each other that curves are medians over.")] = 3,
    workers: Annotated[int, typer.Option(help="Threads that measure side by side.")] = 1,
    check: Annotated[bool, typer.Option(help="Check order, drift and what else is declared.")] = True,
):
    """Check the methods of a file, and measure their work and precision beside ours.

    FILE.py defines classes of Integrator, Stabilization or Formulation that need no arguments; or `methods`, a list of objects.
    Ends with 1 where a method does not do what it declares.

    \b
    Examples:
      holonomic bench my_method.py --output bench
      holonomic bench my_method.py --problems car-axis,four-bars --starts 10 --workers 2
    """
    from ..problems import get
    from ..testing import bench as call

    found = methods_in(names_of(file))
    if not found:
        refuse(f"{file} defines no method: no class of Integrator, Stabilization or Formulation, and no list `methods`.")
    if output is not None and output.exists() and not output.is_dir():
        refuse(f"{output} is a file. Give --output a folder.")
    options: dict[str, Any] = {} if rtol is None else {"rtol": numbers("rtol", rtol)}
    try:
        chosen = [get(name) for name in parts_of(problems)]
        result = call(found, chosen, check=check, starts=starts, workers=workers, **options)
    except HolonomicError as problem:
        refuse(str(problem))
    typer.echo(str(result))
    if output is not None:
        try:
            result.save(output)
        except (OSError, HolonomicError) as problem:
            fail(f"{output} could not be written: {problem}")
    if check and not result.ok:
        raise typer.Exit(FAILED)


def methods_in(names: dict[str, Any]) -> list:
    """Return `methods`, or the classes of methods that a file itself defines."""
    if "methods" in names:
        given = names["methods"]
        return list(given) if isinstance(given, list | tuple) else [given]
    found = []
    for kind in KINDS:
        known = classes(kind).values()
        found += [each for each in names.values() if each in known and each.__module__ == RUN_AS and complete(kind, each)]
    return found
