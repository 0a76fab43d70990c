"""`holonomic reproduce`: compute the tables of a paper and compare them with the print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import HolonomicError
from .files import FAILED, check_place, fail
from .methods import refuse


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(metavar="KEY", help="A paper by its key; without it the papers are listed.")
    ] = None,
    table: Annotated[str | None, typer.Argument(metavar="TABLE", help="One of its tables, such as 6.1.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also draw the paper's figures, as PNG files in this folder.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Write all papers as a Markdown page instead, with pictures beside it.")
    ] = None,
):
    """Compute the tables and claims of a paper with holonomic's methods: printed, ours, rule, verdict.

    The exit code is 1 when a rule is broken.
    """
    from ..reproduce import papers
    from ..reproduce.paper_page import agreement

    if page is not None:
        if paper is not None or figures is not None or as_json:
            refuse("--page writes all papers as one page: leave KEY, --figures and --json out.")
        check_place(page, "page")
        write_page(page)
        return
    if paper is None:
        show_papers(as_json, papers())
        return
    report = computed(paper, table)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2, ensure_ascii=False))
    else:
        typer.echo(f"{report}\n\n{agreement(report).text()}")
    if figures is not None:
        if not draw(report, figures):
            typer.echo(f"{paper} has no figures beside its numbers", err=True)
    if not report.ok:
        raise typer.Exit(FAILED)


def draw(report, folder: Path) -> list[Path]:
    """Draw the figures of a paper into a folder, saying which."""
    try:
        drawn = report.save_figures(folder)
    except OSError as problem:
        fail(f"the figures could not be written to {folder}: {problem}")
    for path in drawn:
        typer.echo(f"drew {path}", err=True)
    return drawn


def computed(paper: str, table: str | None = None):
    """Reproduce, saying on stderr what is being computed."""
    from ..reproduce import reproduce as call

    try:
        return call(paper, table, tell=lambda title: typer.echo(f"{title} ...", err=True))
    except HolonomicError as problem:
        refuse(str(problem))


def show_papers(as_json: bool, known: dict) -> None:
    """List the papers with their tables."""
    if as_json:
        listed = [
            {"key": paper.key, "title": paper.title, "tables": {t.id: t.title for t in paper.tables.values()}}
            for paper in known.values()
        ]
        typer.echo(json.dumps(listed, indent=2, ensure_ascii=False))
        return
    for paper in known.values():
        typer.echo(f"{paper.key}\n  {paper.title}")
        for one in paper.tables.values():
            typer.echo(f"    {one.id:<22} {one.title}")


def write_page(path: Path) -> None:
    """Write the reports of all papers as one page, with pictures beside it."""
    from ..reproduce import papers
    from ..reproduce.paper_page import IMAGES, page

    reports = [computed(key) for key in papers()]
    path.write_text(page(reports), encoding="utf-8")
    for report in reports:
        draw(report, path.parent / IMAGES)
        typer.echo(f"{report.paper.key}: {report.summary()}")
    if not all(report.ok for report in reports):
        raise typer.Exit(FAILED)
