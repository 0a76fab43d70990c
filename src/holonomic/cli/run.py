"""`holonomic run`: simulate a problem by name, or a system from a file, and report."""

from __future__ import annotations

import json
import math
import runpy
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .methods import make, nearest, plain

FAILED = 1  # the exit code of a run that stopped early; bad usage is 2


@dataclass
class Job:
    """What simulate() is called with, and what may be asked of the result."""

    name: str
    what: Any
    t_end: float | None
    start: dict[str, Any]
    problem: Any = None


def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.py", help="A problem that comes with holonomic, or a file of yours."
        ),
    ],
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    step: Annotated[
        float | None, typer.Option(help="Fixed step size; without it the step is controlled.")
    ] = None,
    integrator: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic methods'.")] = None,
    stabilization: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="As in 'holonomic methods', e.g. 'Baumgarte(alpha=20)', or none."),
    ] = None,
    t_end: Annotated[
        float | None, typer.Option(help="When to stop, instead of the problem's own end.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Save a picture of q and the drift.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless the run fails.")] = False,
):
    """Simulate a problem, or a system from a file, and report steps, drift and accuracy.

    FILE.py defines `problem`, or `system`, `t_end`, `q0` and `v0`.
    """
    from ..errors import BadArgument, HolonomicError, IncompatibleMethods, UnknownArgument

    job = load(target)
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "step": step}
    options = {name: value for name, value in options.items() if value is not None}
    if integrator is not None:
        options["integrator"] = make("integrator", integrator)
    if stabilization is not None:
        options["stabilization"] = make("stabilization", stabilization)
    if t_end is not None:
        job.t_end = t_end

    began = time.perf_counter()
    failure = None
    try:
        with busy(job.name, quiet or as_json):
            solution = simulate(job, options)
    except (BadArgument, UnknownArgument, IncompatibleMethods) as problem:
        raise typer.BadParameter(str(problem)) from None
    except HolonomicError as problem:
        failure, solution = problem, problem.solution
    seconds = time.perf_counter() - began

    if picture is not None and solution is not None:
        save(solution, picture)
    if as_json:
        typer.echo(json.dumps(record(job, solution, failure, seconds, picture), indent=2, ensure_ascii=False))
    elif not quiet and solution is not None:
        report(job, solution, failure, seconds, picture)
    if failure is not None:
        typer.echo(f"{type(failure).__name__}: {failure}", err=True)
        raise typer.Exit(FAILED)


def simulate(job: Job, options: dict[str, Any]):
    """Call simulate() with what was given, and nothing else, so that its defaults hold."""
    from .. import simulate as call

    if job.t_end is None:
        return call(job.what, **job.start, **options)
    return call(job.what, job.t_end, **job.start, **options)


def load(target: str) -> Job:
    """Find a problem by name, or read it from a file."""
    if target.endswith(".py"):
        return from_file(Path(target))
    from .. import problems

    try:
        problem = problems.get(target)
    except LookupError:
        raise typer.BadParameter(
            f"no problem is called {target!r}. {nearest(target, problems.names())}"
        ) from None
    return Job(problem.name, problem, None, {}, problem)


def from_file(path: Path) -> Job:
    """Run a user's file and take `problem`, or `system`, `t_end` and the start, from its names."""
    if not path.is_file():
        raise typer.BadParameter(f"there is no file {path}.")
    sys.path.insert(
        0, str(path.resolve().parent)
    )  # as when Python runs the file: it may import its neighbours
    try:
        names = runpy.run_path(str(path))
    finally:
        sys.path.pop(0)
    if "problem" in names:
        problem = names["problem"]
        return Job(getattr(problem, "name", path.stem), problem, None, {}, problem)
    missing = [name for name in ("system", "t_end") if name not in names]
    if missing:
        raise typer.BadParameter(
            f"{path} defines no {' and no '.join(missing)}. Define problem, or system, t_end, q0 and v0."
        )
    start = {name: names[name] for name in ("q0", "v0", "y0") if name in names}
    return Job(path.stem, names["system"], names["t_end"], start)


def busy(name: str, silent: bool):
    """Return a sign of life for people at a terminal, and nothing for pipes and files."""
    console = Console(stderr=True)
    if silent or not (console.is_terminal and sys.stdout.isatty()):
        return nullcontext()
    return console.status(f"running {name}")


def save(solution, path: Path) -> None:
    """Write the picture; the format follows the file name."""
    try:
        solution.plot("q", "drift").savefig(path, bbox_inches="tight")
    except (OSError, ValueError) as problem:
        typer.echo(f"the picture {path} could not be written: {problem}", err=True)
        raise typer.Exit(FAILED) from None


def digits(job: Job, solution, failure) -> float | None:
    """Return the correct digits against the problem's reference answer, where there is one for this end."""
    if job.problem is None or failure is not None or job.t_end not in (None, job.problem.t_end):
        return None
    found = job.problem.digits(solution)
    return None if found is None else float(found)


def report(job: Job, solution, failure, seconds: float, picture: Path | None) -> None:
    """Print the solution's own report, the accuracy, and where the picture is."""
    title = getattr(job.problem, "title", "")
    typer.echo(f"{job.name}: {title}" if title else job.name)
    typer.echo(str(solution))
    accuracy = digits(job, solution, failure)
    if accuracy is not None:
        typer.echo(f"{accuracy:.1f} correct digits against the reference answer")
    typer.echo(f"{seconds:.2f} s, compiling included")
    if picture is not None:
        typer.echo(f"picture: {picture}")


def record(job: Job, solution, failure, seconds: float, picture: Path | None) -> dict:
    """Return the run as JSON holds it: plan, statistics, largest drift by level, end state."""
    from .._version import __version__

    found: dict[str, Any] = {
        "name": job.name,
        "ok": failure is None,
        "message": None if failure is None else f"{type(failure).__name__}: {failure}",
        "seconds": round(seconds, 6),
        "version": __version__,
    }
    if solution is None:
        return found
    return found | {
        "digits": number(digits(job, solution, failure)),
        "plan": solution.plan.why(),
        "statistics": {name: number(value) for name, value in solution.stats.items()},
        "largest_drift": {level: number(abs(values).max()) for level, values in solution.drift.items()},
        "end": {
            "t": number(solution.t[-1]),
            "q": list(map(number, solution.q[-1])),
            "v": list(map(number, solution.v[-1])),
        },
        "picture": None if picture is None else str(picture),
    }


def number(value):
    """Return a NumPy number as a Python one; NaN and infinity, which JSON lacks, as None."""
    if hasattr(value, "item"):
        value = value.item() if getattr(value, "size", 1) == 1 else value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, dict | list) else plain(value)
