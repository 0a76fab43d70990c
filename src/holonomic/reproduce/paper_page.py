"""How far the printed numbers of a paper are met, table by table, and the page of the documentation that shows them all."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from .._version import __version__
from ..study.table import Table
from .paper import PaperTable
from .paper_report import Entry, Report
from .printed import CLASSES, DIGITS, DOUBLE, FURTHER, TENFOLD, WRONG, counted
from .rules import HOLDS, NOT_THE_PRINT


def what_it_is(table: PaperTable, entries: Sequence[Entry]) -> str:
    """Return in words what is reproduced of a table, from its counts."""
    counts = counted(entries)
    comparable = sum(counts[name] for name in (DIGITS, DOUBLE, TENFOLD, FURTHER))
    near = counts[DIGITS] + counts[DOUBLE]
    if not comparable:
        text = "no printed numbers to compare"
        text = f"claims of the text, {text}" if any(entry.said for entry in entries) else text
    elif counts[DIGITS] == comparable:
        text = "all others to two digits" if counts[WRONG] else "all to two digits"
    elif 2 * counts[DIGITS] > comparable:
        text = f"{counts[DIGITS]} of {comparable} to two digits"
    elif 2 * near > comparable:
        text = f"magnitude only, {near} of {comparable} within a factor 2 and {counts[DIGITS]} to two digits"
    else:
        text = f"structure only, {near} of {comparable} within a factor 2 and {counts[DIGITS]} to two digits"
    return f"{text}; {table.why}" if table.why else text


def agreement(report: Report) -> Table:
    """Return a row per table: printed numbers by how close they are met, further rules, and what that amounts to."""
    rows = []
    for table in report.tables:
        entries = [entry for entry in report if entry.table == table.id]
        counts = counted(entries)
        further = [entry for entry in entries if entry.said != "printed"]
        held = sum(entry.verdict in (HOLDS, NOT_THE_PRINT) for entry in further)
        cells = [str(counts[name]) if counts[name] else "" for name in CLASSES]
        rows.append((table.title.partition(":")[0], *cells, str(held) if held else "", what_it_is(table, entries)))
    return Table("", ("", *CLASSES, "further rules kept", "what is reproduced"), tuple(rows), ())


IMAGES = "images/reproduction"  # beside the page
HEAD = """# Reproduced papers

This page has the tables, claims and figures of five papers, computed with this package's public methods. This command writes
the page and its pictures:

```sh
holonomic reproduce --page docs/reproduction.md
```

`holonomic reproduce KEY [TABLE]` shows one paper or one table, with exit code 1 when a rule is broken; `--figures FOLDER`
draws its figures. Not every printed number comes out. For each paper a first table counts the printed numbers:

- *Two digits* are within 5 %, by which a number of two digits may be rounded. Other columns have those within a factor of 2
  or 10.
- *Roundoff or 0* are numbers below 1e-12 or printed as 0, of which the magnitude counts.
- *Print wrong* are misprints and numbers that no reading of the text gives, each with a remark.
- *Further rules* are those on claims of the text, and on numbers that another program gave.
- The last column says what stands in the way of the others.

That a rule holds does not say that a number is as in print: the line of each paper says both.

In the tables below *printed* is what the paper prints, or what its text claims; *ours* is what came out here. If a paper
claims something only in words ("unchanged", "of the same order"), the number in the rule is ours. The text leaves some
readings open: which second-order method, where a matrix is frozen, which error decides over the step. We chose those that
reproduce the print; each table states them.
"""


def page(reports: Sequence[Report]) -> str:
    """Return the page as Markdown."""
    counts = [f"- [{r.paper.title}](#{_anchor(r.paper.title)}): {r.summary().rpartition(';')[0]}" for r in reports]
    made = f"Made with holonomic {__version__}{_commit()}, {date.today():%Y-%m-%d}."
    parts = [r.to_markdown(agreement(r).markdown(), *_figures(r)) for r in reports]
    return "\n\n".join([HEAD.rstrip(), "\n".join(counts), made, *parts]) + "\n"


def _commit() -> str:
    """Return the commit of the sources, where they stand in a checkout."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True)
    except FileNotFoundError:  # no git
        return ""
    return f", commit {done.stdout.strip()}" if done.returncode == 0 else ""


def _figures(report: Report) -> list[str]:
    """Return pictures with what the print says of them and what is seen here."""
    parts = ["### Figures"] if report.drawings else []
    for drawing in report.drawings:
        parts += [
            f"**{drawing.figures}.** In print: {drawing.printed}",
            f"Here: {drawing.ours}",
            f"![{drawing.figures}]({IMAGES}/{report.file_of(drawing)})",
        ]
    return parts


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
