"""`holonomic cite`: BibTeX of exactly the methods that a run used, or would use."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadArgument, HolonomicError, IncompatibleMethods, UnknownArgument
from ..results.report import SOFTWARE, bibliography, bibtex, keys_of_run
from ..study.table import named_stabilizations
from .methods import KINDS, classes, make, nearest, refuse
from .run import load, simulate
from .view import loaded

EXAMPLES = """\b
Examples:
  holonomic cite run.nc                           methods of a saved run
  holonomic cite jansen --integrator Radau        what this run would use
  holonomic cite Projection                       one method
  holonomic cite eich-1993                        one paper, by the key that docs and messages use
  holonomic cite run.nc --software >> paper.bib   Numba, too
"""


def cite(
    target: Annotated[
        str,
        typer.Argument(
            metavar="RUN.nc|NAME|FILE.py|METHOD|KEY", help="A saved run, a problem, a file of yours, a method, or a paper."
        ),
    ],
    formulation: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic run'.")] = None,
    integrator: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic run'.")] = None,
    stabilization: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic run'.")] = None,
    step: Annotated[float | None, typer.Option(help="As in 'holonomic run'.")] = None,
    software: Annotated[bool, typer.Option("--software", help="Also the software that differentiates and compiles.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print keys and BibTeX as JSON.")] = False,
):
    """Print BibTeX of exactly the methods that a run used, or would use."""
    chosen = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
    options: dict[str, Any] = {kind: make(kind, text) for kind, text in chosen.items() if text is not None}
    if step is not None:
        options["step"] = step
    keys = keys_of(target, options)
    keys = tuple(dict.fromkeys(keys + (SOFTWARE if software else ())))
    text = bibtex(keys) if keys else ""
    if as_json:
        typer.echo(json.dumps({"keys": list(keys), "bibtex": text}, indent=2, ensure_ascii=False))
    elif keys:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"holonomic: nothing to cite for {target}: textbook methods.", err=True)


cite.__doc__ = f"{cite.__doc__}\n\n{EXAMPLES}"


def keys_of(target: str, options: dict[str, Any]) -> tuple[str, ...]:
    """Keys of a saved run, of a method by name, a key itself, or those of what a problem would be run with."""
    if Path(target).suffix == ".nc" or (Path(target).is_file() and not target.endswith(".py")):
        if options:
            refuse("a saved run has its methods already; leave --formulation, --integrator and --stabilization out.")
        return keys_of_run(loaded(target))
    for kind in KINDS:
        for name, method in classes(kind).items():
            if name.lower() == target.lower():
                return tuple(method.references)
    for name, method in named_stabilizations().items():
        if name.lower() == target.lower():
            return tuple(method().references)
    named = {key.lower(): key for key in bibliography()}
    if target.lower() in named:
        return (named[target.lower()],)
    check_known(target)
    try:
        return keys_of_run(simulate(load(target), options | {"max_steps": 1, "progress": False}))
    except (BadArgument, UnknownArgument, IncompatibleMethods) as problem:
        refuse(str(problem))
    except HolonomicError as problem:  # one step is enough to know the plan
        if problem.solution is None:
            refuse(f"{type(problem).__name__}: {problem}")
        return keys_of_run(problem.solution)


def check_known(target: str) -> None:
    """Refuse what is neither a problem nor a method nor a paper, naming the nearest of all."""
    from ..problems import catalogue

    problems = list(catalogue())
    if target.endswith(".py") or Path(target).exists() or target.lower().replace("_", "-") in map(str.lower, problems):
        return
    names = [*problems, *named_stabilizations(), *bibliography(), *(name for kind in KINDS for name in classes(kind))]
    refuse(f"there is no problem, method or paper {target!r}. {nearest(target, names)}")
