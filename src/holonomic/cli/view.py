"""`holonomic view`: show runs moving, on a page in the browser."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadArgument, HolonomicError, IncompatibleMethods, UnknownArgument
from .files import FAILED
from .methods import make, refuse
from .run import load, simulate, warn

EXAMPLES = """\b
Examples:
  holonomic view jansen                       a problem of holonomic's
  holonomic view crank.py --signals A.force   a file of yours
  holonomic view run.nc                       saved by sol.save or run --save
  holonomic view a.nc b.nc -o both.html       one run over the other
  holonomic view pendulum --live              sliders: the page simulates anew
  holonomic view pendulum --sliders g=1:25,L=0.5:2,v0.y=-8:8

Exit code 1: a run failed (its page shows how far it came), or a file cannot be read. 2: bad usage.
"""


def view(
    targets: Annotated[
        list[str], typer.Argument(metavar="RUN.nc|NAME|FILE.py...", help="Saved runs, a problem by name, or files of yours.")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="Where to write the page; opens nothing.")
    ] = None,
    signals: Annotated[
        str, typer.Option(metavar="A,B,...", help="What to show beside the picture, such as A.force,slider.position.")
    ] = "",
    traces: Annotated[str, typer.Option(metavar="A,B,...", help="Points, bodies or joints whose paths are drawn.")] = "",
    forces: Annotated[bool, typer.Option("--forces", help="Draw the forces of joints from the start.")] = False,
    frames: Annotated[int | None, typer.Option(help="How many times are drawn.")] = None,
    stabilization: Annotated[str | None, typer.Option(metavar="NAME", help="For a problem or file, as in 'holonomic run'.")] = None,
    integrator: Annotated[str | None, typer.Option(metavar="NAME", help="For a problem or file, as in 'holonomic run'.")] = None,
    step: Annotated[float | None, typer.Option(help="Fixed step size, for a problem or file.")] = None,
    max_step: Annotated[float | None, typer.Option(help="Longest step, for a problem or file.")] = None,
    t_end: Annotated[float | None, typer.Option(help="When to stop, for a problem or file.")] = None,
    live: Annotated[bool, typer.Option("--live", help="A page with sliders that simulates anew, for a problem or file.")] = False,
    sliders: Annotated[
        str, typer.Option(metavar="A=LOW:HIGH,...", help="What to move on a live page: g=1:25,v0.y=-8:8,rtol=1e-9:1e-3.")
    ] = "",
    style: Annotated[str, typer.Option(metavar="NAME", help="auto, light or dark.")] = "auto",
    browser: Annotated[
        bool | None, typer.Option("--open/--no-open", help="Open the browser; by default in a terminal only.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print path, size and runs as JSON.")] = False,
):
    """Show runs moving: the mechanism beside its drift, energy and forces, on one page that works offline."""
    chosen = {"integrator": integrator, "stabilization": stabilization}
    options: dict[str, Any] = {kind: make(kind, text) for kind, text in chosen.items() if text is not None}
    if step is not None:
        options["step"] = step
    if max_step is not None:
        options["max_step"] = max_step
    options["progress"] = None if sys.stdout.isatty() and not as_json else False
    options = {name: value for name, value in options.items() if value is not None}
    if live or sliders:
        page, path = live_page(targets, t_end, options, sliders, output, {
            "signals": words(signals), "traces": words(traces), "frames": frames, "style": style,
        })  # fmt: skip
        told(page, path, as_json, browser, output)
        return
    runs, titles, failed = [], [], False
    for target in targets:
        sol, title, failure = run_of(target, t_end, options)
        runs.append(sol)
        titles.append(title)
        if failure:
            typer.echo(f"{target}: {failure}", err=True)
            failed = True
    names = None if len(runs) == 1 else [Path(target).stem for target in targets]
    path = output if output is not None else new_file(titles[0])
    try:
        page = runs[0].view(
            *runs[1:], path=path, names=names if names and len(set(names)) == len(names) else None,
            signals=words(signals), traces=words(traces), forces=forces, frames=frames,
            title=titles[0] if len(set(titles)) == 1 else " and ".join(titles), style=style,
        )  # fmt: skip
    except OSError as problem:
        refuse(f"the page {path} could not be written: {problem}")
    except HolonomicError as problem:
        refuse(str(problem))
    told(page, path, as_json, browser, output)
    if failed:
        raise typer.Exit(FAILED)


view.__doc__ = f"{view.__doc__}\n\n{EXAMPLES}"


def told(page, path: Path, as_json: bool, browser: bool | None, output: Path | None) -> None:
    """Say where the page is, and open it."""
    if as_json:
        tracks = page.scene.tracks
        about = [{"name": t.name, "frames": len(t.t), "end": float(t.t[-1]), "failure": t.failure or None} for t in tracks]
        found = {"path": str(path), "bytes": path.stat().st_size, "dimension": page.scene.dimension, "runs": about}
        typer.echo(json.dumps(found | {"notes": page.scene.notes}, indent=2, ensure_ascii=False))
    else:
        typer.echo(str(path))
    wanted = browser if browser is not None else output is None and sys.stdout.isatty() and not as_json
    if wanted and not page.open():
        typer.echo("no browser was found; open the page yourself.", err=True)


def live_page(targets: list[str], t_end: float | None, options: dict[str, Any], sliders: str, output: Path | None, shown):
    """Write a page that simulates; return it and its path."""
    from ..view import view

    if len(targets) != 1 or saved(targets[0]):
        refuse("--live shows one problem or one file of yours: a saved run has no model.")
    job = load(targets[0])
    path = output if output is not None else new_file(f"{job.title or job.name} live")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = warn
            page = view(
                job.what, job.t_end if t_end is None else t_end, live=ranges(sliders) or True, path=path, show=False,
                title=job.title or job.name, **shown, **job.start, **options,
            )  # fmt: skip
    except OSError as problem:
        refuse(f"the page {path} could not be written: {problem}")
    except HolonomicError as problem:
        refuse(str(problem))
    return page, path


def ranges(text: str) -> dict[str, tuple[float, float]]:
    """Sliders with their ranges: "g=1:25,L=0.5:2"."""
    found = {}
    for word in words(text):
        name, _, given = word.partition("=")
        low, _, high = given.partition(":")
        try:
            found[name.strip()] = float(low), float(high)
        except ValueError:
            refuse(f"--sliders {word}: write a name and its range, g=1:25.")
    return found


def saved(target: str) -> bool:
    """Whether a target is a file of a run."""
    return Path(target).suffix in (".nc", ".nc3", ".cdf") or (Path(target).is_file() and not target.endswith(".py"))


def run_of(target: str, t_end: float | None, options: dict[str, Any]):
    """Return a solution, its title, and why it failed or ""."""
    if saved(target):
        sol = loaded(target)
        return sol, Path(target).stem, sol.failure
    job = load(target)
    job.t_end = job.t_end if t_end is None else t_end
    with warnings.catch_warnings():
        warnings.showwarning = warn
        try:
            sol, failure = simulate(job, options), ""
        except (BadArgument, UnknownArgument, IncompatibleMethods) as problem:
            refuse(str(problem))
        except HolonomicError as problem:
            sol, failure = problem.solution, f"{type(problem).__name__}: {problem}"
    if sol is None or not len(sol.t):
        typer.echo(f"{target}: {failure}", err=True)
        raise typer.Exit(FAILED)
    return sol, job.title or job.name, failure


def loaded(path: str):
    """Read a saved run; a file that cannot be read is a failure, not bad usage."""
    from ..results.saving import load as read

    try:
        return read(path)
    except (HolonomicError, OSError) as problem:
        typer.echo(f"holonomic: {problem}", err=True)
        raise typer.Exit(FAILED) from None


def new_file(title: str) -> Path:
    """A file of our own in the folder for temporary files, named after what it shows."""
    name = "".join(c if c.isalnum() else "-" for c in title.lower()).strip("-")[:40] or "run"
    handle = tempfile.NamedTemporaryFile(prefix=f"holonomic-{name}-", suffix=".html", delete=False)
    handle.close()
    return Path(handle.name)


def words(text: str) -> list[str]:
    """Parts between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]
