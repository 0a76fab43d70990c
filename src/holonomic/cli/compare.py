"""`holonomic compare`: one problem by several methods, side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import HolonomicError
from .files import FAILED, calling, check_place, save_picture
from .methods import make, refuse
from .run import load, number


def compare(
    target: Annotated[str, typer.Argument(metavar="NAME|FILE.py", help="A problem that comes with holonomic, or a file of yours.")],
    integrator: Annotated[str, typer.Option(metavar="A,B,...", help="As in 'holonomic methods'.")] = "auto",
    stabilization: Annotated[
        str, typer.Option(metavar="A,B,...", help="For example none,baumgarte:20,S_both2,projection.")
    ] = "auto",
    formulation: Annotated[str, typer.Option(metavar="A,B,...", help="As in 'holonomic methods'.")] = "auto",
    step: Annotated[str | None, typer.Option(metavar="H,H,...", help="Fixed step sizes.")] = None,
    rtol: Annotated[str | None, typer.Option(metavar="R,R,...", help="Relative tolerances, where the step is controlled.")] = None,
    t_end: Annotated[float | None, typer.Option(help="When to stop, instead of the problem's own end.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="PATH", help="Save a picture of the drift over time.")] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write a page with all runs moving, one over the other.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the table.")] = False,
):
    """Run a problem with every combination of the given methods and put the results side by side.

    A combination that does not apply, or a run that stops, is a row with its reason. Settings of a method
    follow in brackets or after colons: Baumgarte(alpha=20) and baumgarte:20 are the same.

    \b
    Examples:
      holonomic compare pendulum --stabilization none,baumgarte:20,projection
      holonomic compare seven-body --integrator RK4 --step 1e-4,5e-5 --page runs.html
    """
    check_place(picture, "picture")
    check_place(page, "page")
    chosen = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
    options: dict[str, Any] = {kind: methods_of(kind, text) for kind, text in chosen.items()}
    options |= {name: numbers(name, text) for name, text in (("step", step), ("rtol", rtol)) if text is not None}
    job = load(target)
    found = run(job, t_end, options)
    if as_json:
        typer.echo(json.dumps(record(job.name, found), indent=2, ensure_ascii=False))
    else:
        typer.echo(str(found))
    if picture is not None:
        save_picture(found.plot(), picture)
    if page is not None and any(row.solution is not None for row in found):
        found.view(path=page)
    if not any(row.ok for row in found):
        raise typer.Exit(FAILED)


def run(job, t_end, options):
    """Call compare() and turn a refusal of the whole call into bad usage."""
    from ..study.compare import compare as call

    try:
        with calling():
            return call(job.what, job.t_end if t_end is None else t_end, **job.start, **options)
    except HolonomicError as problem:
        refuse(str(problem))


def methods_of(kind: str, text: str) -> list:
    """Turn a list such as `none,baumgarte:20,S_both2` into method objects."""
    return [make(kind, part) for part in parts_of(text)]


def parts_of(text: str) -> list[str]:
    """Split at the commas that stand outside brackets."""
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", text)]
    if not all(parts):
        refuse(f"{text!r} has an empty place between its commas.")
    return parts


def numbers(name: str, text: str) -> list[float]:
    """Turn `1e-2,1e-3` into numbers."""
    try:
        return [float(part) for part in parts_of(text)]
    except ValueError:
        refuse(f"--{name} {text!r} must be numbers with commas between them, such as 1e-2,1e-3.")


def record(name: str, found) -> dict:
    """Return the comparison as JSON holds it."""
    known = found.reference
    return {
        "name": name,
        "reference": {"kind": known.kind, "text": known.text, "agreement": number(known.agreement)},
        "rows": [{key: number(value) for key, value in row.to_dict().items()} for row in found],
    }
