"""The page of the documentation that shows every reproduced number."""

from __future__ import annotations

from collections.abc import Sequence

from .._version import __version__
from .agreement import agreement
from .report import Report

IMAGES = "images/reproduction"  # beside the page
HEAD = """# Reproduced papers

The tables, claims and figures of five papers, computed with this package's public methods. The page and its pictures are
written by

```sh
holonomic reproduce --page docs/reproduction.md
```

and one paper or one table is shown by `holonomic reproduce KEY [TABLE]`, with exit code 1 when a rule is broken;
`--figures FOLDER` draws its figures. Not every printed number comes out: for each paper a first table says how many of the
printed numbers are met to two digits (within 5 %, by which a number of two digits may be rounded), how many within a factor of 2
or 10, and what stands in the way of the others. *Roundoff or 0* are numbers below 1e-12 or printed as 0, of which the magnitude
counts; *print wrong* are misprints and numbers that no reading of the text gives, each with a remark. *Further rules* are those
on claims of the text, and on numbers that another program gave.

In the tables below *printed* is what the paper prints, or what its text claims; *ours* is what came out here. Where a paper
claims something in words alone ("unchanged", "of the same order"), the number in the rule is ours. Readings that the text
leaves open (which second-order method, where a matrix is frozen, which error decides over the step) were chosen because they
reproduce the print; they are stated above each table.
"""


def page(reports: Sequence[Report]) -> str:
    """Return the page as Markdown."""
    counts = [f"- [{r.paper.title}](#{_anchor(r.paper.title)}): {r.summary().rpartition(';')[0]}" for r in reports]
    made = f"Made with holonomic {__version__}."
    parts = [r.to_markdown(agreement(r).markdown(), *_figures(r)) for r in reports]
    return "\n\n".join([HEAD.rstrip(), "\n".join(counts), made, *parts]) + "\n"


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
