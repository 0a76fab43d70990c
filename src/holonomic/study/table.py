"""Tables in plain text, HTML and LaTeX: one list of columns for all three, and the short names of methods they show."""

from __future__ import annotations

import csv
import html
import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache

from ..errors import BadArgument
from ..files import writable, written
from ..stabilizations import post
from ..stabilizations.base import Stabilization


@dataclass(frozen=True)
class Table:
    """Rows of cells that are numbers or words, with a title above and remarks below.

    `remarks` maps a row's number to a remark under the table.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple, ...]
    footer: tuple[str, ...] = ()

    def text(self) -> str:
        """Return the table as plain text."""
        cells = [[show(value) for value in row] for row in self.rows]
        widths = [max(len(title), *(len(row[i]) for row in cells)) if cells else len(title) for i, title in enumerate(self.columns)]
        left = [self._is_words(i) for i in range(len(self.columns))]
        lines = [self.title] if self.title else []
        lines.append(_line(self.columns, widths, left))
        lines.append("  ".join("-" * width for width in widths))
        lines += [_line(row, widths, left) for row in cells]
        lines += self.footer
        return "\n".join(lines)

    def html(self) -> str:
        """Return the table as HTML, for notebooks."""
        head = "".join(f"<th>{html.escape(title)}</th>" for title in self.columns)
        body = []
        for row in self.rows:
            inner = "".join(
                f'<td style="text-align:{"left" if self._is_words(i) else "right"}">{html.escape(show(value))}</td>'
                for i, value in enumerate(row)
            )
            body.append(f"<tr>{inner}</tr>")
        foot = "".join(f"<p>{html.escape(line)}</p>" for line in self.footer)
        caption = f"<caption>{html.escape(self.title)}</caption>" if self.title else ""
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{foot}"

    def latex(self) -> str:
        """Return the table as LaTeX; it needs the package booktabs."""
        kinds = "".join("l" if self._is_words(i) else "r" for i in range(len(self.columns)))
        lines = [rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
        lines.append(" & ".join(escape(title) for title in self.columns) + r" \\")
        lines.append(r"\midrule")
        lines += [" & ".join(_latex_cell(value) for value in row) + r" \\" for row in self.rows]
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [f"% {line}" for line in (self.title, *self.footer) if line]
        return "\n".join(lines)

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = ["| " + " | ".join(self.columns) + " |"]
        lines.append("|" + "|".join(" --- " if self._is_words(i) else " ---: " for i in range(len(self.columns))) + "|")
        lines += ["| " + " | ".join(show(value).replace("|", r"\|") for value in row) + " |" for row in self.rows]
        return "\n".join(lines)

    def _is_words(self, column: int) -> bool:
        return any(isinstance(row[column], str) and row[column] for row in self.rows)


def write_csv(path, rows: Sequence[dict]) -> None:
    """Write rows of the same keys to a file, every digit kept; what is not known is an empty cell."""
    target = writable(path, "to_csv", devices=True)
    if not rows:
        raise BadArgument("to_csv: there is no row to write.")
    with written(target) as draft, open(draft, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(rows[0])
        writer.writerows([["" if show(value) == "" else value for value in row.values()] for row in rows])


def show(value) -> str:
    """Return a cell as text: numbers with three figures, nothing for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "inf"
    if value == 0:
        return "0"
    return f"{value:.2e}" if not 1e-2 <= abs(value) < 1e4 else f"{value:.3g}"


def escape(text: str) -> str:
    """Return text with the characters that mean something to LaTeX made harmless."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(c, "\\" + c if c in "&%$#_{}" else c) for c in text)


def _latex_cell(value) -> str:
    text = show(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and "e" in text:
        mantissa, exponent = text.split("e")
        return rf"${mantissa}\cdot 10^{{{int(exponent)}}}$"
    return escape(text)


def _line(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    parts = (cell.ljust(width) if side else cell.rjust(width) for cell, width, side in zip(cells, widths, left, strict=True))
    return "  ".join(parts).rstrip()


@cache
def named_stabilizations() -> dict:
    """Return the stabilizations that have a name of their own, S_both2 and the like: name -> function."""
    return {name: make for name, make in vars(post).items() if name.startswith("S_") and callable(make)}


def short_name(method) -> str:
    """Return the name of a method with those of its settings that are not the default ones.

    >>> from holonomic import Baumgarte, PostStabilization
    >>> short_name(Baumgarte(alpha=20)), short_name(PostStabilization("both", 2))
    ('Baumgarte(alpha=20)', 'S_both2')
    """
    if method is None or (isinstance(method, Stabilization) and method.acts == "none"):
        return "none"
    if isinstance(method, str):
        return method
    if isinstance(method, type):
        return method.__name__
    for name, make in named_stabilizations().items():
        if method == make():
            return name
    if "__repr__" in vars(type(method)) and not (is_dataclass(method) and type(method).__dataclass_params__.repr):
        return repr(method)  # written for this class: settings that its fields do not show as they were given
    if not is_dataclass(method):
        settings = {name: value for name, value in vars(method).items() if not name.startswith("_")}
    else:
        settings = {
            item.name: getattr(method, item.name)
            for item in fields(method)
            if item.repr and not _is_default(item, getattr(method, item.name))
        }
    if not settings:
        return type(method).__name__
    return f"{type(method).__name__}({', '.join(f'{name}={_plain(value)}' for name, value in settings.items())})"


def _is_default(item, value) -> bool:
    if item.default is not MISSING:
        return value is item.default or value == item.default
    return item.default_factory is not MISSING and value == item.default_factory()


def _plain(value) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    return getattr(value, "__name__", None) or repr(value)
