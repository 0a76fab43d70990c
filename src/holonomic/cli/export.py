"""`holonomic export`: a problem, or a system from a file, as a C library or as a functional mock-up unit."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadArgument, HolonomicError, IncompatibleMethods, UnknownArgument
from .files import FAILED, calling
from .methods import make, refuse
from .run import load, warn


def export(
    target: Annotated[str, typer.Argument(metavar="NAME|FILE.py", help="A problem that comes with holonomic, or a file of yours.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="Folder of the library, or file of the unit; else named as the run."),
    ] = None,
    fmu: Annotated[bool, typer.Option("--fmu", help="A functional mock-up unit instead of a C library.")] = False,
    version: Annotated[str, typer.Option(metavar="3.0|2.0", help="Version of FMI, with --fmu.")] = "3.0",
    check: Annotated[bool, typer.Option("--check", help="With --fmu: run the unit with FMPy and compare.")] = False,
    platform: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Such as linux-arm64; with --fmu it may be given several times.")
    ] = None,
    integrator: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic methods'.")] = None,
    stabilization: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic methods', or none.")] = None,
    formulation: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic methods'.")] = None,
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    step: Annotated[float | None, typer.Option(help="Fixed step size; without it the step is controlled.")] = None,
    max_step: Annotated[float | None, typer.Option(help="Longest step, where it is controlled.")] = None,
    t_end: Annotated[float | None, typer.Option(help="When runs end, instead of the problem's own end.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the paths.")] = False,
):
    """Write a simulation as a C library with its header, or as a functional mock-up unit.

    \b
    Examples:
      holonomic export seven-body
      holonomic export seven-body --fmu --check
      holonomic export crank.py --integrator RK4 --step 0.001 -o crank
    """
    chosen = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
    options: dict[str, Any] = {kind: make(kind, text) for kind, text in chosen.items() if text is not None}
    numbers = {"rtol": rtol, "step": step, "max_step": max_step}
    options |= {name: value for name, value in numbers.items() if value is not None}
    if check and not fmu:
        refuse("--check runs a unit: give --fmu, too.")
    if not fmu and platform is not None and len(platform) > 1:
        refuse("a library has one platform; a unit, with --fmu, may have several.")
    with warnings.catch_warnings():
        warnings.showwarning = warn
        job = load(target)
        span = job.t_end if t_end is None else t_end
        try:
            with calling():
                if fmu:
                    made = _unit(job, span, output, version, platform, check, options)
                else:
                    made = _library(job, span, output, platform, options)
        except (BadArgument, UnknownArgument, IncompatibleMethods) as problem:
            refuse(str(problem))
        except HolonomicError as problem:
            typer.echo(f"{type(problem).__name__}: {problem}", err=True)
            raise typer.Exit(FAILED) from None
    told = {"name": made["name"], "plan": made["plan"], "files": {path: Path(path).stat().st_size for path in made["files"]}}
    typer.echo(json.dumps(told, indent=2, ensure_ascii=False) if as_json else "\n".join(made["files"]))


def _library(job, span, output: Path | None, platform, options) -> dict[str, Any]:
    from .. import export as call

    made = call(job.what, span, **job.start, folder=output or Path(job.name), platform=(platform or [None])[0], **options)
    files = [made.header, made.library, made.example, made.cmake]
    return {"name": made.name, "plan": made.plan.why(), "files": list(map(str, files))}


def _unit(job, span, output: Path | None, version, platform, check, options) -> dict[str, Any]:
    from .. import export_fmu as call

    path = output or Path(f"{job.name}.fmu")
    made = call(job.what, span, **job.start, path=path, version=version, platforms=platform, check=check, **options)
    return {"name": made.name, "plan": made.plan.why(), "files": [str(made.path)]}
