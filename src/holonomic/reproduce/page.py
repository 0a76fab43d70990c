"""The page of the documentation that shows every reproduced number."""

from __future__ import annotations

from collections.abc import Sequence

from .._version import __version__
from .report import Report

HEAD = """# Reproduced papers

Every table and every number that these papers give, computed with this package's public methods. The page is
written by

```sh
holonomic reproduce --page docs/reproduction.md
```

and one paper or one table is shown by `holonomic reproduce KEY [TABLE]`, with exit code 1 when a rule is
broken; `--figures FOLDER` draws effects that are best seen, such as the [flying wheelset](gallery.md#a-wheelset-that-flies).
*printed* is what the paper prints, or what its text claims; *ours* is what came out here. The rules come
from runs of another program: two printed digits are met within 5 to 8 %, numbers at the level of roundoff in
magnitude only. Where a paper claims something in words alone ("unchanged", "of the same order"), the number in the
rule is ours. Readings that the text leaves open (which second-order method, where a matrix is frozen, which
error decides over the step) were chosen because they reproduce the print; they are stated above each table. Where
the print itself cannot be reproduced, the remark below the table says why.
"""


def page(reports: Sequence[Report]) -> str:
    """Return the page as Markdown."""
    counts = [f"- [{r.paper.title}](#{_anchor(r.paper.title)}): {r.summary()}" for r in reports]
    made = f"Made with holonomic {__version__}; all together took {sum(r.seconds for r in reports):.0f} s."
    return "\n\n".join([HEAD.rstrip(), "\n".join(counts), made, *(r.to_markdown() for r in reports)]) + "\n"


def _anchor(title: str) -> str:
    kept = "".join(c for c in title.lower() if c.isalnum() or c in " -_")
    return kept.replace(" ", "-")
