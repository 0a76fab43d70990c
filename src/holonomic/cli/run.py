"""`holonomic run`: simulate a problem by name, or a system from a file, and report."""

from __future__ import annotations

import json
import math
import runpy
import sys
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..arguments import Posed
from ..errors import BadArgument, HolonomicError, IncompatibleMethods, UnknownArgument
from .files import FAILED, calling, check_place, reading
from .methods import make, plain, refuse

STARTS = ("q0", "v0", "y0", "s0", "w0", "x0", "dx0", "ddx0", "lam0")  # names of a file that are passed on
INTERRUPTED = 130  # what shells give for Ctrl-C


@dataclass
class RunRequest:
    """What simulate() is called with, and what may be asked of the result."""

    name: str
    what: Any
    t_end: float | None
    start: dict[str, Any]
    problem: Any = None
    title: str = ""


def run(
    target: Annotated[str, typer.Argument(metavar="NAME|FILE.py", help="A problem that comes with holonomic, or a file of yours.")],
    rtol: Annotated[float | None, typer.Option(help="Relative tolerance.")] = None,
    atol: Annotated[float | None, typer.Option(help="Absolute tolerance.")] = None,
    step: Annotated[float | None, typer.Option(help="Fixed step size; without it the step is controlled.")] = None,
    formulation: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic methods'.")] = None,
    integrator: Annotated[str | None, typer.Option(metavar="NAME", help="As in 'holonomic methods'.")] = None,
    stabilization: Annotated[
        str | None, typer.Option(metavar="NAME", help="As in 'holonomic methods', e.g. 'Baumgarte(alpha=20)', or none.")
    ] = None,
    t_end: Annotated[float | None, typer.Option(help="When to stop, instead of the problem's own end.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="PATH", help="Save a picture of q and the drift.")] = None,
    keep: Annotated[
        Path | None, typer.Option("--save", metavar="PATH", help="Save the run, for 'holonomic view' and holonomic.load.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of the report.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing unless the run fails.")] = False,
):
    """Simulate a problem, or a system from a file, and report steps, drift and accuracy.

    FILE.py defines `problem`; or `system`, `t_end` and its start, such as `q0` and `v0`; or `mechanism` and `t_end`.

    \b
    Examples:
      holonomic run seven-body
      holonomic run pendulum --integrator RK4 --step 0.01 --stabilization none
      holonomic run crank.py --save run.nc && holonomic view run.nc
    """
    check_place(picture, "picture")
    check_place(keep, "run")
    chosen = {"formulation": formulation, "integrator": integrator, "stabilization": stabilization}
    options: dict[str, Any] = {kind: make(kind, text) for kind, text in chosen.items() if text is not None}
    numbers = {"rtol": rtol, "atol": atol, "step": step}
    options |= {name: value for name, value in numbers.items() if value is not None}
    if quiet or as_json or not sys.stdout.isatty():
        options["progress"] = False

    began = time.perf_counter()
    failure = solution = None
    with warnings.catch_warnings():
        warnings.showwarning = warn
        job = load(target)
        job.t_end = job.t_end if t_end is None else t_end
        try:
            solution = simulate(job, options)
        except (BadArgument, UnknownArgument, IncompatibleMethods) as problem:
            refuse(str(problem))
        except HolonomicError as problem:
            failure, solution = problem, problem.solution
    seconds = time.perf_counter() - began

    if as_json:
        typer.echo(json.dumps(record(job, solution, failure, seconds), indent=2, ensure_ascii=False))
    elif not quiet and solution is not None:
        report(job, solution, failure, seconds)
    kept = picture is None or solution is None or save(solution, picture)
    if keep is not None and solution is not None:
        kept = save_run(solution, keep) and kept
    if failure is not None:
        typer.echo(f"{type(failure).__name__}: {failure}", err=True)
    if failure is not None or not kept:
        raise typer.Exit(FAILED)
    if solution is not None and solution.ended == "interrupted":
        raise typer.Exit(INTERRUPTED)


def warn(message, category, *where):
    """Show a warning as one line, without the place in our source that Python would add."""
    typer.echo(f"{category.__name__}: {message}", err=True)


def simulate(job: RunRequest, options: dict[str, Any]):
    """Call simulate() with what was given, and nothing else, so that its defaults hold."""
    from .. import simulate as call

    with calling():
        if job.t_end is None:
            return call(job.what, **job.start, **options)
        return call(job.what, job.t_end, **job.start, **options)


def load(target: str) -> RunRequest:
    """Find a problem by name, or read it from a file."""
    if target.endswith(".py"):
        return from_file(Path(target))
    from ..problems import get

    try:
        problem = get(target)
    except BadArgument as unknown:
        if Path(target).exists():
            refuse(f"{target} is no Python file: give a problem by name, or a FILE.py that defines one.")
        refuse(str(unknown))
    return RunRequest(problem.name, problem, None, {}, problem, problem.title)


def names_of(path: Path) -> dict[str, Any]:
    """Run a user's file, and return what it defines."""
    if not path.is_file():
        refuse(f"there is no file {path}.")
    # As when Python itself runs the file: it may import its neighbours.
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with reading(path):
            return runpy.run_path(str(path))
    finally:
        sys.path.pop(0)


def from_file(path: Path) -> RunRequest:
    """Take `problem`, or `system`, `t_end` and the start, from the names of a user's file."""
    names = names_of(path)
    if "problem" in names:
        problem = names["problem"]
        name, title = (problem.name, problem.title) if isinstance(problem, Posed) else (path.stem, "")
        return RunRequest(name, problem, None, {}, problem, title)
    what = names.get("system", names.get("mechanism"))
    missing = [name for name, there in (("system", what is not None), ("t_end", "t_end" in names)) if not there]
    if missing:
        refuse(
            f"{path} defines no {' and no '.join(missing)}. Define problem; or system, t_end and its start (q0 and v0, y0 of an "
            "Ode, x0 of a Dae); or mechanism and t_end."
        )
    start = {name: names[name] for name in STARTS if name in names}
    return RunRequest(path.stem, what, names["t_end"], start)


def save(solution, path: Path) -> bool:
    """Write the picture, in the format that the file name asks for; tell whether it worked."""
    try:
        solution.plot("q", "drift").savefig(path, bbox_inches="tight")
    except (OSError, ValueError) as problem:
        typer.echo(f"the picture {path} could not be written: {problem}", err=True)
        return False
    return True


def save_run(solution, path: Path) -> bool:
    """Write the run as a file; tell whether it worked."""
    try:
        solution.save(path)
    except (OSError, HolonomicError) as problem:
        typer.echo(f"the run {path} could not be saved: {problem}", err=True)
        return False
    return True


def digits(job: RunRequest, solution, failure) -> dict[str, float]:
    """Return the correct digits against the problem's reference answer; nothing where there is none."""
    if job.problem is None or failure is not None:
        return {}
    try:
        return job.problem.digits(solution)
    except BadArgument:  # no reference at any time of this run
        return {}


def report(job: RunRequest, solution, failure, seconds: float) -> None:
    """Print the solution's own report, the accuracy and the time."""
    typer.echo(f"{job.name}: {job.title}" if job.title else job.name)
    typer.echo(str(solution))
    correct = digits(job, solution, failure)
    if correct:
        parts = ", ".join(f"{name} {count:.1f}" for name, count in correct.items())
        typer.echo(f"correct digits against the reference answer: {parts}")
    typer.echo(f"{seconds:.2f} s, compiling included")


def record(job: RunRequest, solution, failure, seconds: float) -> dict:
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
        "digits": {name: number(count) for name, count in digits(job, solution, failure).items()},
        "plan": solution.plan.why(),
        "statistics": {name: number(value) for name, value in solution.stats.items()},
        "largest_drift": {level: number(abs(values).max(initial=0.0)) for level, values in solution.drift.items()},
        "end": end_state(solution),
    }


def end_state(solution) -> dict:
    """Return the last state: t, q and v, or t and y for an Ode."""
    end = solution.end
    letters = "y" if solution.plan.model.is_ode else "qv"
    return {"t": number(end.t)} | {letter: list(map(number, getattr(end, letter))) for letter in letters}


def number(value):
    """Return a NumPy number as a Python one; NaN and infinity, which JSON lacks, as None."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.item() if value.size == 1 else value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, dict | list) else plain(value)
